//! What an operation writes of scheduled actions, kept back to be sent together with the commit.

use futures_util::future::join5;
use pawl_kernel::operations::AttemptRecord;
use pawl_kernel::ports::schedule::ATTEMPTS_KEPT;
use pawl_kernel::ports::store::DueTimer;
use pawl_kernel::schedule::ScheduledAction;
use pawl_kernel::time::Timestamp;

use crate::changes;
use crate::error::Outcome;
use crate::session::Session;
use crate::sql::{self, Sql};
use crate::value::{Columns, Text};

/// Prepared ahead, so that what is sent in one go stays in order.
static STATEMENTS: &[&Sql] = &[
    &sql::ACTIONS_UPDATE,
    &sql::ATTEMPTS_INSERT,
    &sql::ATTEMPTS_FORGET,
    &sql::TIMER_INSERT,
];

#[derive(Default)]
pub(crate) struct ScheduleWrites {
    pub(super) actions: Vec<ScheduledAction>,
    pub(super) attempts: Vec<AttemptRecord>,
    /// Of these actions only the latest attempts are left.
    pub(super) forget: Vec<String>,
    /// New rows of the incoming queue, with the time of their writing.
    pub(super) timers: Vec<(DueTimer, Timestamp)>,
}

impl ScheduleWrites {
    pub(crate) fn is_empty(&self) -> bool {
        // Nothing is forgotten where nothing is added.
        self.actions.is_empty() && self.attempts.is_empty() && self.timers.is_empty()
    }

    /// All of it, and then `commit`, in one go.
    pub(crate) async fn send_with(
        self,
        session: &Session,
        commit: impl Future<Output = Outcome<()>>,
    ) -> Outcome<()> {
        session.ready(STATEMENTS).await?;
        let (updated, added, forgotten, queued, committed) = join5(
            insert(session, &sql::ACTIONS_UPDATE, self.updates()),
            insert(session, &sql::ATTEMPTS_INSERT, self.history()),
            forget_attempts(session, &self.forget),
            insert(session, &sql::TIMER_INSERT, self.queued()),
            commit,
        )
        .await;
        updated?;
        added?;
        forgotten?;
        queued?;
        committed
    }

    fn updates(&self) -> Columns<'_> {
        let mut columns = Columns::new(sql::ACTIONS_UPDATE.kinds());
        for row in &self.actions {
            columns.text(row.id.as_str());
            columns.uuid(row.guid);
            columns.owned_text(Some(row.status.to_stored()));
            columns.time(row.due_at());
            columns.time(row.status.finished_at);
        }
        columns
    }

    fn history(&self) -> Columns<'_> {
        let mut columns = Columns::new(sql::ATTEMPTS_INSERT.kinds());
        for record in &self.attempts {
            let past = &record.past;
            columns.text(record.action_id.as_str());
            columns.count(record.generation);
            columns.count(past.attempt.ordinal);
            columns.int(past.attempt.number);
            columns.time(past.attempt.planned_at);
            columns.time(past.attempt.started_at);
            columns.time(past.finished_at);
            columns.text(past.ended.name());
            columns.owned_text(past.ended.error_to_stored());
        }
        columns
    }

    fn queued(&self) -> Columns<'_> {
        let mut columns = Columns::new(sql::TIMER_INSERT.kinds());
        for (timer, now) in &self.timers {
            changes::put_timer(&mut columns, timer.clone(), *now);
        }
        columns
    }
}

/// One statement with many rows, or nothing to do.
async fn insert(session: &Session, sql: &'static Sql, columns: Columns<'_>) -> Outcome<()> {
    if let Some(columns) = columns.non_empty() {
        session.rows(sql, &columns.params()).await?;
    }
    Ok(())
}

async fn forget_attempts(session: &Session, ids: &[String]) -> Outcome<()> {
    if !ids.is_empty() {
        let ids: Vec<Text<'_>> = ids.iter().map(|id| Text::new(id)).collect();
        let kept = i64::from(ATTEMPTS_KEPT);
        session.rows(&sql::ATTEMPTS_FORGET, &[&ids, &kept]).await?;
    }
    Ok(())
}

//! What `pawl bench timers` needs of a database: many actions at once, what became of them, and the plain design to
//! compare with: one table that is polled, and an action is made in the transaction that marks it as done.

use futures_util::future::join;
use pawl_kernel::ports::store::{TimerKind, shard_of};
use pawl_kernel::schedule::ScheduledAction;
use pawl_kernel::time::Timestamp;
use tokio_postgres::Row;

use super::Measure;
use crate::connect::{Connector, LOOKUPS};
use crate::error::{Fault, Outcome};
use crate::options::Options;
use crate::rows::Reader;
use crate::session::Session;
use crate::sql::{self, Sql};
use crate::value::{Columns, Plain as PlainText, Text, Time};

static ACTIONS_FILL: Sql = Sql::new(
    "baseline/actions_fill",
    include_str!("../../sql/baseline/actions_fill.sql"),
);
static PROCESSING_FILL: Sql = Sql::new(
    "baseline/processing_fill",
    include_str!("../../sql/baseline/processing_fill.sql"),
);
static ACTIONS_COUNT: Sql = Sql::new(
    "baseline/actions_count",
    include_str!("../../sql/baseline/actions_count.sql"),
);
static FIRED_ONCE: Sql = Sql::new(
    "baseline/actions_fired_once",
    include_str!("../../sql/baseline/actions_fired_once.sql"),
);
const PLAIN_SETUP: &str = include_str!("../../sql/baseline/plain_setup.sql");
static PLAIN_FILL: Sql = Sql::new(
    "baseline/plain_fill",
    include_str!("../../sql/baseline/plain_fill.sql"),
);
static PLAIN_DUE: Sql = Sql::new(
    "baseline/plain_due",
    include_str!("../../sql/baseline/plain_due.sql"),
);
static PLAIN_DONE: Sql = Sql::new(
    "baseline/plain_done",
    include_str!("../../sql/baseline/plain_done.sql"),
);
static PLAIN_COUNT: Sql = Sql::new(
    "baseline/plain_count",
    include_str!("../../sql/baseline/plain_count.sql"),
);

/// Where the rows of actions stand that are filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// As users leave them.
    Incoming,
    /// As workers leave them.
    Processing,
}

impl Measure {
    /// Actions and their rows in a queue, in one transaction.
    pub async fn fill_actions(
        &self,
        actions: &[ScheduledAction],
        queue: Queue,
        shards: u32,
        now: Timestamp,
    ) -> Result<(), String> {
        let filled = self.fill_all(actions, queue, shards, now).await;
        filled.map_err(|fault| fault.to_string())
    }

    async fn fill_all(
        &self,
        actions: &[ScheduledAction],
        queue: Queue,
        shards: u32,
        now: Timestamp,
    ) -> Outcome<()> {
        let session = &self.session;
        let places = match queue {
            Queue::Incoming => &sql::TIMER_INSERT,
            Queue::Processing => &PROCESSING_FILL,
        };
        session.ready(&[&ACTIONS_FILL, places]).await?;
        let mut rows = Columns::new(ACTIONS_FILL.kinds());
        let mut queued = Columns::new(places.kinds());
        for action in actions {
            rows.text(action.id.as_str());
            rows.uuid(action.guid);
            rows.owned_text(Some(action.meta.to_stored()));
            rows.owned_text(Some(action.spec.to_stored()));
            rows.owned_text(Some(action.status.to_stored()));
            rows.time(action.due_at());
            queued.int(shard_of(action.guid, shards));
            queued.time(now);
            queued.text(action.id.as_str());
            queued.uuid(action.guid);
            queued.time(action.due_at());
            queued.code(TimerKind::Action.code());
        }
        session.begin().await?;
        session.rows(&ACTIONS_FILL, &rows.params()).await?;
        session.rows(places, &queued.params()).await?;
        session.commit().await
    }

    /// After a fill: the planner knows of it, and nothing is left to be cleaned.
    pub async fn settle_actions(&self) -> Result<(), String> {
        self.script("VACUUM (ANALYZE)").await
    }

    /// How many actions there are whose ids begin so.
    pub async fn actions(&self, prefix: &str) -> Result<u64, String> {
        self.counted(&ACTIONS_COUNT, prefix).await
    }

    /// How many actions whose ids begin so have fired, once and with success.
    pub async fn fired_once(&self, prefix: &str) -> Result<u64, String> {
        self.counted(&FIRED_ONCE, prefix).await
    }

    async fn counted(&self, sql: &'static Sql, prefix: &str) -> Result<u64, String> {
        let rows = self.session.alone(sql, &[&Text::new(prefix)]).await;
        rows.and_then(|rows| count(&rows))
            .map_err(|fault| fault.to_string())
    }
}

/// The plain design, with a connection of its own like that of a worker.
pub struct PlainTimers {
    session: Session,
}

impl PlainTimers {
    /// With an empty table.
    pub async fn open(options: &Options) -> Result<Self, String> {
        let connector = Connector::new(options).map_err(|error| error.to_string())?;
        let opened = connector.open(LOOKUPS).await;
        let session = opened.map_err(|fault| fault.to_string())?;
        let plain = Self { session };
        plain.clear().await?;
        Ok(plain)
    }

    pub async fn clear(&self) -> Result<(), String> {
        let done = self.session.script(PLAIN_SETUP).await;
        done.map_err(|fault| fault.to_string())
    }

    pub async fn fill(&self, actions: &[ScheduledAction]) -> Result<(), String> {
        let mut rows = Columns::new(PLAIN_FILL.kinds());
        for action in actions {
            rows.text(action.id.as_str());
            rows.owned_text(Some(action.spec.to_stored()));
            rows.time(action.due_at());
        }
        let done = self.session.alone(&PLAIN_FILL, &rows.params()).await;
        done.map(drop).map_err(|fault| fault.to_string())
    }

    /// Makes one batch of what is due: 500 at most. Returns how many.
    pub async fn batch(
        &self,
        now: Timestamp,
        act: &mut (dyn FnMut(String, Timestamp) + Send),
    ) -> Result<usize, String> {
        let made = self.make(now, act).await;
        made.map_err(|fault| fault.to_string())
    }

    async fn make(
        &self,
        now: Timestamp,
        act: &mut (dyn FnMut(String, Timestamp) + Send),
    ) -> Outcome<usize> {
        let session = &self.session;
        session.ready(&[&PLAIN_DONE]).await?;
        let rows = session.begin_with(&PLAIN_DUE, &[&Time(now)]).await?;
        if rows.is_empty() {
            session.commit().await?;
            return Ok(0);
        }
        let due: Vec<(String, Timestamp)> = rows.iter().map(due).collect::<Outcome<_>>()?;
        let ids: Vec<Text<'_>> = due.iter().map(|(id, _)| Text::new(id)).collect();
        for (id, at) in &due {
            act(id.clone(), *at);
        }
        let now = Time(now);
        let done: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&ids, &now];
        let (marked, committed) = join(session.rows(&PLAIN_DONE, &done), session.commit()).await;
        marked?;
        committed?;
        Ok(due.len())
    }

    /// How many are marked as done.
    pub async fn done(&self) -> Result<u64, String> {
        let rows = self.session.alone(&PLAIN_COUNT, &[]).await;
        rows.and_then(|rows| count(&rows))
            .map_err(|fault| fault.to_string())
    }
}

fn due(row: &Row) -> Outcome<(String, Timestamp)> {
    let PlainText(id) = row.try_get(0)?;
    let Time(at) = row.try_get(2)?;
    Ok((id, at))
}

fn count(rows: &[Row]) -> Outcome<u64> {
    match rows.first() {
        Some(row) => Reader::new(row).count(),
        None => Err(Fault::Corrupt("no count".into())),
    }
}

//! Creating executions that quotas concern. What that means for the quotas, the kernel decides in the same transaction.

use std::collections::HashMap;

use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::Entrance;
use pawl_kernel::ports::store::{CreateOutcome, NewExecution};
use pawl_kernel::quota::QuotaUse;

use crate::creates;
use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::session::Session;
use crate::sql;
use crate::transaction::SessionTransaction;
use crate::value::{Columns, Text};

/// Creates executions that quotas concern. `None`: what was known of the quotas is old, and nothing was done. Each comes
/// back as it was written.
pub(crate) async fn create(
    session: &Session,
    news: &[&NewExecution],
    epoch: i64,
    shards: u32,
) -> Outcome<Option<Vec<(CreateOutcome, NewExecution)>>> {
    let more = [&sql::EXECUTIONS_BY_KEYS, &sql::EXECUTIONS_SET_QUOTAS];
    session.ready(&more).await?;
    session.ready(creates::BESIDE).await?;
    session.begin().await?;
    let mut existing = find_existing(session, news).await?;
    // Retries come alone.
    if let [new] = news
        && existing.is_empty()
        && let Some(before) = creates::already_retried(session, new).await?
    {
        // Its lock on the origin may have been waited for, while another process used the same key.
        existing = find_existing(session, news).await?;
        if existing.is_empty() {
            session.roll_back().await?;
            let answer = (
                CreateOutcome::AlreadyRetried(before),
                NewExecution::clone(new),
            );
            return Ok(Some(vec![answer]));
        }
    }
    let known = |new: &NewExecution| existing.get(new.execution.record.idempotency_key.as_ref()?);
    let mut fresh: Vec<NewExecution> = news
        .iter()
        .filter(|new| known(new).is_none())
        .map(|new| NewExecution::clone(new))
        .collect();
    let now = fresh.iter().map(|new| new.state.updated_at).max();
    let now = now.unwrap_or_default();
    let mut rows = SessionTransaction::begun(session, shards);
    let decided = Entrance::decide(&mut rows, &mut fresh, now).await;
    let mut entrance = rows.finish(decided)?;
    let refs: Vec<&NewExecution> = fresh.iter().collect();
    let Some(created) = creates::create(session, &refs, epoch, false).await? else {
        session.roll_back().await?;
        return Ok(None);
    };
    let is_new = |new: &&NewExecution| created.contains(&new.execution.head.id);
    let (written, late): (Vec<&NewExecution>, Vec<_>) = fresh.iter().partition(|new| is_new(new));
    for new in &late {
        // Another process was faster with the same idempotency key.
        entrance.take_back(new);
    }
    existing.extend(find_existing(session, &late).await?);
    let answers = answers(news, &existing, &written, &entrance)?;
    put_beside(session, &written, shards).await?;
    let entered = entrance.write(&mut rows, &written).await;
    rows.finish(entered)?;
    session.commit().await?;
    Ok(Some(answers))
}

type Existing = HashMap<String, ExecutionId>;

async fn find_existing(session: &Session, news: &[&NewExecution]) -> Outcome<Existing> {
    let keys = news
        .iter()
        .filter_map(|new| new.execution.record.idempotency_key.as_deref());
    let keys: Vec<Text<'_>> = keys.map(Text::new).collect();
    if keys.is_empty() {
        return Ok(Existing::new());
    }
    let rows = session.rows(&sql::EXECUTIONS_BY_KEYS, &[&keys]).await?;
    let read = |row| {
        let mut reader = Reader::new(row);
        let id = ExecutionId(reader.get()?);
        Ok((reader.text()?, id))
    };
    rows.iter().map(read).collect()
}

/// What the executions bring along besides their own two rows.
async fn put_beside(session: &Session, written: &[&NewExecution], shards: u32) -> Outcome<()> {
    let mut claims = Columns::new(sql::EXECUTIONS_SET_QUOTAS.kinds());
    for new in written {
        claims.uuid(new.execution.head.id.0);
        claims.owned_text(QuotaUse::to_column(&new.execution.head.quotas));
    }
    if let Some(claims) = claims.non_empty() {
        let params = claims.params();
        session.rows(&sql::EXECUTIONS_SET_QUOTAS, &params).await?;
    }
    creates::put_beside(session, written, shards).await
}

/// Before anything is committed: what cannot be answered must not happen.
fn answers(
    news: &[&NewExecution],
    existing: &Existing,
    written: &[&NewExecution],
    entrance: &Entrance,
) -> Outcome<Vec<(CreateOutcome, NewExecution)>> {
    let answer = |new: &&NewExecution| {
        let id = new.execution.head.id;
        let written = written.iter().find(|one| one.execution.head.id == id);
        let Some((written, created)) = written.zip(entrance.answer(id)) else {
            let key = new.execution.record.idempotency_key.as_ref();
            if let Some(id) = key.and_then(|key| existing.get(key)) {
                return Ok((CreateOutcome::Existing(*id), NewExecution::clone(new)));
            }
            // The execution that took the key first is gone again.
            return Err(Fault::Busy(
                "the idempotency key was just freed; try again".into(),
            ));
        };
        Ok((created, NewExecution::clone(written)))
    };
    news.iter().map(answer).collect()
}

//! Quotas on PostgreSQL: looking at them. [`create`] writes executions that they concern, [`line`] is the admission
//! queue, [`transaction`] what operations do to the rows, and [`recount`] counts them.

mod create;
mod line;
mod recount;
mod rows;
mod transaction;

use std::collections::BTreeSet;
use std::slice;
use std::time::Duration;

use async_trait::async_trait;
use pawl_kernel::execution::Subject;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::LanePlace;
use pawl_kernel::ports::quotas::{AdmissionPosition, BEFORE_MAX, Holder, Miscounts, QuotaReads};
use pawl_kernel::ports::store::{StoreError, StoreResult};
use pawl_kernel::quota::{Quota, QuotaName};

pub(crate) use create::create;
pub(crate) use line::GroupIds;
pub(crate) use rows::KnownNames;

use crate::error::Outcome;
use crate::rows::{Reader, subject};
use crate::session::Session;
use crate::value::Text;
use crate::{PostgresStore, sql};

const PAUSE: Duration = Duration::from_millis(25);
/// A transaction lasts as long as its process lets it; one whose process died lasts until the server ends it, which is
/// about as long again.
const LONGEST: u32 = 3;

#[async_trait]
impl QuotaReads for PostgresStore {
    async fn quotas(
        &self,
        set_only: bool,
        after: Option<QuotaName>,
        limit: u32,
    ) -> StoreResult<Vec<Quota>> {
        let done = self.readers.run(move |session| async move {
            let text = match set_only {
                true => &sql::QUOTAS_SET,
                false => &sql::QUOTAS_LIST,
            };
            let after = Text::new(after.as_ref().map_or("", QuotaName::as_str));
            let rows = session.alone(text, &[&after, &i64::from(limit)]).await?;
            rows.iter().map(rows::quota).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn quota(&self, name: QuotaName) -> StoreResult<Option<Quota>> {
        let done = self.readers.run(move |session| async move {
            let names = [Text::new(name.as_str())];
            let rows = session
                .alone(&sql::QUOTAS_LOAD, &[&names.as_slice()])
                .await?;
            rows.first().map(rows::quota).transpose()
        });
        let found = done.await.map_err(|fault| fault.of_read())?;
        Ok(found.filter(|quota| quota.limit().is_some()))
    }

    async fn holders(&self, name: QuotaName, limit: u32) -> StoreResult<Vec<Holder>> {
        let done = self.readers.run(move |session| async move {
            let name = Text::new(name.as_str());
            let rows = session
                .alone(&sql::QUOTA_HOLDERS, &[&name, &i64::from(limit)])
                .await?;
            let holder = |row| {
                let mut reader = Reader::new(row);
                Ok(Holder {
                    execution_id: ExecutionId(reader.get()?),
                    since: reader.time()?,
                })
            };
            rows.iter().map(holder).collect()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn admission_position(&self, id: ExecutionId) -> StoreResult<Option<AdmissionPosition>> {
        let done = self
            .readers
            .run(move |session| async move { admission_position(&session, id).await });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn has_line(&self) -> StoreResult<bool> {
        let done = self.vital.run(|session| async move {
            let rows = session.alone(&sql::ADMISSION_GROUPS_WAITING, &[]).await?;
            Ok(!rows.is_empty())
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn uncounted(&self, name: QuotaName) -> StoreResult<Option<i64>> {
        let done = self.readers.run(move |session| async move {
            let name = Text::new(name.as_str());
            let rows = session.alone(&sql::QUOTA_UNCOUNTED, &[&name]).await?;
            rows.first().map(|row| Reader::new(row).get()).transpose()
        });
        done.await.map_err(|fault| fault.of_read())
    }

    async fn settings_known(&self) -> StoreResult<()> {
        let patience = self.writers.time_limit * LONGEST;
        let mut left = self.writing().await?;
        for _ in 0..patience.as_millis() / PAUSE.as_millis() {
            if left.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
            let writing = self.writing().await?;
            left.retain(|transaction| writing.contains(transaction));
        }
        Err(StoreError::Unavailable(format!(
            "a transaction has been writing executions for more than {patience:?}; the quota holds for new executions, but \
             does not count all that were there before: set it again when that transaction has ended"
        )))
    }

    async fn miscounts(&self) -> StoreResult<Miscounts> {
        let look = self
            .upkeep
            .run(|session| async move { recount::look(&session).await });
        look.await.map_err(|fault| fault.of_read())
    }
}

impl PostgresStore {
    /// The transactions that are writing executions.
    async fn writing(&self) -> StoreResult<BTreeSet<String>> {
        let done = self.readers.run(|session| async move {
            let rows = session.alone(&sql::EXECUTIONS_WRITERS, &[]).await?;
            let transaction = |row| Reader::new(row).text();
            rows.iter().map(transaction).collect::<Outcome<_>>()
        });
        done.await.map_err(|fault| fault.of_read())
    }
}

/// In one transaction, also behind a pooler.
async fn admission_position(
    session: &Session,
    id: ExecutionId,
) -> Outcome<Option<AdmissionPosition>> {
    session
        .ready(&[
            &sql::EXECUTION_LOAD_HEAD,
            &sql::ADMISSION_LINE_KNOWN,
            &sql::ADMISSION_LINE_BEFORE,
        ])
        .await?;
    session.begin().await?;
    let place = find_place(session, id).await?;
    session.commit().await?;
    Ok(place)
}

async fn find_place(session: &Session, id: ExecutionId) -> Outcome<Option<AdmissionPosition>> {
    let found = session.rows(&sql::EXECUTION_LOAD_HEAD, &[&id.0]).await?;
    let Some(Subject { head, .. }) = found.first().map(subject).transpose()? else {
        return Ok(None);
    };
    let place = LanePlace::of(&head);
    let groups = BTreeSet::from([place.lane.group.clone()]);
    let ids = line::find_groups(session, &groups).await?;
    let there = line::known(session, &ids, slice::from_ref(&place)).await?;
    let lane = line::lane_row(&ids, &place.lane).filter(|_| there.contains(&id));
    let Some((group_id, key)) = lane else {
        return Ok(None);
    };
    let most = i64::try_from(BEFORE_MAX).unwrap_or(i64::MAX);
    let key = Text::new(&key);
    let before = session
        .rows(
            &sql::ADMISSION_LINE_BEFORE,
            &[&group_id, &key, &id.0, &most],
        )
        .await?;
    let names = head.quotas.iter().map(|claim| claim.name.clone());
    let quotas = rows::load(session, &names.collect()).await?;
    Ok(Some(AdmissionPosition {
        priority: head.priority,
        quotas: quotas.into_values().collect(),
        before: before
            .first()
            .map_or(Ok(0), |row| Reader::new(row).count())?,
    }))
}

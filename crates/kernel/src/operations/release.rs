//! A worker gives leases back.

use async_trait::async_trait;
use uuid::Uuid;

use super::{Access, Operation, Transaction, decide_each};
use crate::execution::Subject;
use crate::id::ExecutionId;
use crate::lifecycle::{self, Release};
use crate::ports::store::{Dispatch, StoreResult};
use crate::time::Timestamp;
use crate::transition::{Change, Decision};

#[derive(Clone, Debug)]
pub struct ReleaseLeases {
    /// Each execution with the token of its lease. A worker may have lost one lease of an execution and hold another.
    pub leases: Vec<(ExecutionId, Uuid)>,
    pub how: Release,
    pub now: Timestamp,
}

impl ReleaseLeases {
    fn decide(&self, row: &Subject) -> Option<Change> {
        let mut tokens = self.leases.iter().filter(|(id, _)| *id == row.head.id);
        tokens.find_map(|(_, token)| {
            lifecycle::release(&row.head, &row.state, *token, self.how, self.now)
        })
    }
}

#[async_trait]
impl Operation for ReleaseLeases {
    /// The messages that are due now.
    type Answer = Vec<Dispatch>;

    fn access(&self) -> Access {
        Access::Vital
    }

    async fn run(&self, rows: &mut dyn Transaction) -> StoreResult<Self::Answer> {
        let ids: Vec<ExecutionId> = self.leases.iter().map(|(id, _)| *id).collect();
        let subjects = rows.subjects(&ids).await?;
        let decisions = decide_each(subjects, |row| self.decide(row));
        let dispatches = decisions.iter().filter_map(Decision::dispatch).collect();
        rows.write(decisions).await?;
        Ok(dispatches)
    }
}

//! Counts and statistics with faults.

use async_trait::async_trait;
use uuid::Uuid;

use pawl_kernel::id::SchemaId;
use pawl_kernel::ports::overview::{ErrorTally, GroupBy, Look, OverviewStore, RunSample, Tally};
use pawl_kernel::ports::store::StoreResult;

use super::store::{FaultyStore, READ};

#[async_trait]
impl OverviewStore for FaultyStore {
    async fn tally(&self, looks: Vec<Look>, group: GroupBy, limit: u32) -> StoreResult<Vec<Tally>> {
        self.pass(READ, self.inner.tally(looks, group, limit)).await
    }

    async fn tally_errors(&self, look: Look, limit: u32) -> StoreResult<ErrorTally> {
        self.pass(READ, self.inner.tally_errors(look, limit)).await
    }

    async fn samples(
        &self,
        ranges: Vec<(Uuid, Uuid)>,
        schema_id: Option<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<Vec<RunSample>>> {
        self.pass(READ, self.inner.samples(ranges, schema_id, limit))
            .await
    }

    async fn newest_of(
        &self,
        schemas: Vec<SchemaId>,
        limit: u32,
    ) -> StoreResult<Vec<Vec<RunSample>>> {
        self.pass(READ, self.inner.newest_of(schemas, limit)).await
    }
}

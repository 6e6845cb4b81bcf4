//! One worker's view of the store.

use std::ops::Range;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::Thread;

use async_trait::async_trait;
use uuid::Uuid;

use pawl_kernel::execution::{LogRecord, Signal, Step};
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::lifecycle::ClaimRequest;
use pawl_kernel::operations::{AnyAnswer, AnyOperation, OperationStore};
use pawl_kernel::ports::store::{
    Beat, CatalogError, CatalogStore, Claim, CommitError, CreateOutcome, DueTimer, ExecutionFilter,
    ExecutionStore, ExecutionView, ExpiredLease, HeldShards, History, KeepRequest, LockRequest,
    NewExecution, Probe, PublishVersion, Pulse, QueryStore, RecoveryReads, SaveSchema,
    SchemaRecord, ShardPass, Store, StoreError, StoreResult, SweepPage, SweepRequest, TimerStore,
    VersionRecord,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{CommitReport, Transition, WaitTimer};

use super::{Fault, Faults};

pub struct FaultyStore {
    pub(super) inner: Arc<dyn Store>,
    faults: Arc<Faults>,
    at_once: bool,
}

pub(super) const READ: &[Fault] = &[Fault::ErrorBefore, Fault::Delay, Fault::CrashBefore];
pub(super) const WRITE: &[Fault] = &[
    Fault::ErrorBefore,
    Fault::ErrorAfter,
    Fault::Delay,
    Fault::CrashBefore,
    Fault::CrashAfter,
];

impl FaultyStore {
    pub fn new(inner: Arc<dyn Store>, faults: Arc<Faults>) -> Self {
        Self {
            inner,
            faults,
            at_once: false,
        }
    }

    /// For a store with threads of its own: the caller's thread stands still until it has answered, so that no simulated
    /// time passes meanwhile.
    pub fn answered_at_once(mut self) -> Self {
        self.at_once = true;
        self
    }

    async fn answer<T>(&self, call: impl Future<Output = T> + Send) -> T {
        match self.at_once {
            // Without tokio's turns, which would never come round again.
            true => stand_still(tokio::task::unconstrained(call)),
            false => call.await,
        }
    }

    /// The call is a future that has not begun, so that "before" is before.
    pub(super) async fn pass<T, E>(
        &self,
        possible: &[Fault],
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E>
    where
        E: From<StoreError>,
    {
        let call = self.answer(call);
        let crash = self.faults.crash();
        crash.check().await;
        match self.faults.draw(possible) {
            Some(Fault::ErrorBefore) => Err(StoreError::Unavailable("a fault".into()).into()),
            Some(Fault::ErrorAfter) => {
                call.await?;
                Err(StoreError::Unknown("a fault".into()).into())
            }
            Some(Fault::Delay) => {
                self.faults.dawdle().await;
                call.await
            }
            Some(Fault::CrashBefore) => crash.strike().await,
            Some(Fault::CrashAfter) => {
                // Whatever the answer was, no caller is left to hear it.
                let _ = call.await;
                crash.strike().await
            }
            _ => call.await,
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn stand_still<T>(call: impl Future<Output = T>) -> T {
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let mut call = std::pin::pin!(call);
    loop {
        match call.as_mut().poll(&mut context) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[async_trait]
impl ExecutionStore for FaultyStore {
    async fn create(&self, new: NewExecution) -> StoreResult<CreateOutcome> {
        self.pass(WRITE, self.inner.create(new)).await
    }

    async fn claim(&self, requests: Vec<ClaimRequest>, now: Timestamp) -> StoreResult<Vec<Claim>> {
        self.pass(WRITE, self.inner.claim(requests, now)).await
    }

    async fn commit(&self, transition: Transition) -> Result<CommitReport, CommitError> {
        self.pass(WRITE, self.inner.commit(transition)).await
    }

    async fn probe(&self, id: ExecutionId) -> StoreResult<Option<Probe>> {
        self.pass(READ, self.inner.probe(id)).await
    }

    async fn heartbeat(
        &self,
        leases: Vec<(ExecutionId, Uuid)>,
        until: Timestamp,
    ) -> StoreResult<Vec<Beat>> {
        self.pass(WRITE, self.inner.heartbeat(leases, until)).await
    }

    async fn open_signals(&self, id: ExecutionId) -> StoreResult<(u64, Vec<Signal>)> {
        self.pass(READ, self.inner.open_signals(id)).await
    }

    async fn history(&self, id: ExecutionId, seq: u64) -> StoreResult<History> {
        self.pass(READ, self.inner.history(id, seq)).await
    }
}

#[async_trait]
impl OperationStore for FaultyStore {
    async fn transact(&self, operation: Arc<dyn AnyOperation>) -> StoreResult<AnyAnswer> {
        self.pass(WRITE, self.inner.transact(operation)).await
    }
}

#[async_trait]
impl RecoveryReads for FaultyStore {
    async fn leases_held(&self, limit: u32) -> StoreResult<Vec<ExecutionId>> {
        self.pass(READ, self.inner.leases_held(limit)).await
    }

    async fn leases_expired(&self, now: Timestamp, limit: u32) -> StoreResult<Vec<ExpiredLease>> {
        self.pass(READ, self.inner.leases_expired(now, limit)).await
    }

    async fn sweep_page(&self, request: SweepRequest) -> StoreResult<SweepPage> {
        self.pass(READ, self.inner.sweep_page(request)).await
    }
}

#[async_trait]
impl TimerStore for FaultyStore {
    async fn lock_shards(&self, request: LockRequest) -> StoreResult<Vec<u32>> {
        self.pass(WRITE, self.inner.lock_shards(request)).await
    }

    async fn keep_shards(&self, request: KeepRequest) -> StoreResult<HeldShards> {
        self.pass(WRITE, self.inner.keep_shards(request)).await
    }

    async fn unlock_shards(
        &self,
        locks: Vec<Uuid>,
        only: Option<Vec<u32>>,
        now: Timestamp,
    ) -> StoreResult<()> {
        self.pass(WRITE, self.inner.unlock_shards(locks, only, now))
            .await
    }

    async fn collect(
        &self,
        pass: ShardPass,
        shards: &[u32],
        now: Timestamp,
        limit: u32,
    ) -> StoreResult<Vec<DueTimer>> {
        self.pass(WRITE, self.inner.collect(pass, shards, now, limit))
            .await
    }

    async fn upcoming(
        &self,
        shards: &[u32],
        due: Range<Timestamp>,
        limit: u32,
    ) -> StoreResult<Vec<DueTimer>> {
        self.pass(READ, self.inner.upcoming(shards, due, limit))
            .await
    }

    async fn next_due(&self, shards: &[u32]) -> StoreResult<Option<Timestamp>> {
        self.pass(READ, self.inner.next_due(shards)).await
    }

    async fn register_timers(&self, timers: Vec<WaitTimer>, now: Timestamp) -> StoreResult<()> {
        self.pass(WRITE, self.inner.register_timers(timers, now))
            .await
    }
}

#[async_trait]
impl CatalogStore for FaultyStore {
    async fn save_schema(&self, save: SaveSchema) -> Result<SchemaRecord, CatalogError> {
        self.pass(WRITE, self.inner.save_schema(save)).await
    }

    async fn publish_version(&self, wanted: PublishVersion) -> Result<SchemaRecord, CatalogError> {
        self.pass(WRITE, self.inner.publish_version(wanted)).await
    }

    async fn schema(&self, key: &str) -> StoreResult<Option<SchemaRecord>> {
        self.pass(READ, self.inner.schema(key)).await
    }

    async fn schema_by_external_id(&self, external_id: i64) -> StoreResult<Option<SchemaRecord>> {
        let found = self.inner.schema_by_external_id(external_id);
        self.pass(READ, found).await
    }

    async fn schemas(
        &self,
        text: Option<String>,
        after: Option<String>,
        limit: u32,
    ) -> StoreResult<Vec<SchemaRecord>> {
        self.pass(READ, self.inner.schemas(text, after, limit))
            .await
    }

    async fn versions(&self, id: SchemaId) -> StoreResult<Vec<VersionRecord>> {
        self.pass(READ, self.inner.versions(id)).await
    }

    async fn version(&self, id: SchemaId, version: u32) -> StoreResult<Option<VersionRecord>> {
        self.pass(READ, self.inner.version(id, version)).await
    }

    async fn set_active(&self, id: SchemaId, active: bool, now: Timestamp) -> StoreResult<bool> {
        self.pass(WRITE, self.inner.set_active(id, active, now))
            .await
    }

    async fn delete_schema(&self, id: SchemaId, now: Timestamp) -> StoreResult<bool> {
        self.pass(WRITE, self.inner.delete_schema(id, now)).await
    }
}

#[async_trait]
impl QueryStore for FaultyStore {
    async fn execution(&self, id: ExecutionId) -> StoreResult<Option<ExecutionView>> {
        self.pass(READ, self.inner.execution(id)).await
    }

    async fn executions(
        &self,
        filter: ExecutionFilter,
        before: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>> {
        self.pass(READ, self.inner.executions(filter, before, limit))
            .await
    }

    async fn count_executions(&self, filter: ExecutionFilter) -> StoreResult<u64> {
        self.pass(READ, self.inner.count_executions(filter)).await
    }

    async fn steps(
        &self,
        id: ExecutionId,
        after_seq: u64,
        limit: u32,
    ) -> StoreResult<Vec<(Step, u64)>> {
        self.pass(READ, self.inner.steps(id, after_seq, limit))
            .await
    }

    async fn logs(
        &self,
        id: ExecutionId,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<(u64, LogRecord)>> {
        self.pass(READ, self.inner.logs(id, after, limit)).await
    }

    async fn signals(&self, id: ExecutionId) -> StoreResult<Vec<Signal>> {
        self.pass(READ, self.inner.signals(id)).await
    }

    async fn open_executions(
        &self,
        after: Option<ExecutionId>,
        limit: u32,
    ) -> StoreResult<Vec<ExecutionView>> {
        self.pass(READ, self.inner.open_executions(after, limit))
            .await
    }

    async fn timer_shards(&self, waits: Vec<(ExecutionId, Uuid)>) -> StoreResult<Vec<Option<u32>>> {
        self.pass(READ, self.inner.timer_shards(waits)).await
    }

    async fn execution_by_key(&self, key: &str) -> StoreResult<Option<ExecutionId>> {
        self.pass(READ, self.inner.execution_by_key(key)).await
    }

    async fn about(&self) -> StoreResult<Vec<(String, String)>> {
        self.pass(READ, self.inner.about()).await
    }

    async fn pulse(&self) -> StoreResult<Pulse> {
        self.pass(READ, self.inner.pulse()).await
    }
}

//! A store with a schema in it, and short names for what cases do all the time.

use std::sync::Arc;

use futures_util::future::join;
use uuid::Uuid;

use pawl_kernel::execution::{Execution, State, Status, Step};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{ClaimRequest, Command, CommitRefusal, Refusal, Skip};
use pawl_kernel::ports::store::{
    Claim, ClaimedExecution, CommandApplied, CommandError, CommitError, CreateOutcome, DueTimer,
    ExecutionView, NewExecution, Store,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{CommitReport, Transition};

use crate::fixture::{self, at, claim_request, commit, pass, uuid};

pub struct Scene {
    pub store: Arc<dyn Store>,
}

impl Scene {
    /// Saves the schema `flow-1`, which all executions of fixtures run.
    pub async fn open(store: Arc<dyn Store>) -> Self {
        store.save_schema(fixture::schema(1)).await.unwrap();
        Self { store }
    }

    pub async fn create(&self, n: u64) -> ExecutionId {
        self.create_as(fixture::new_execution(n)).await
    }

    pub async fn create_as(&self, new: NewExecution) -> ExecutionId {
        let id = new.execution.head.id;
        assert_eq!(self.store.create(new).await.unwrap(), CreateOutcome::New);
        id
    }

    pub async fn ask(&self, request: ClaimRequest, now: Timestamp) -> Claim {
        let mut claims = self.store.claim(vec![request], now).await.unwrap();
        assert_eq!(claims.len(), 1, "one answer per request");
        claims.remove(0)
    }

    /// Claims with the token `uuid(token)`; it must succeed.
    pub async fn claim(&self, id: ExecutionId, token: u64, now: Timestamp) -> ClaimedExecution {
        taken(self.ask(claim_request(id, token, now), now).await)
    }

    pub async fn refused(&self, id: ExecutionId, now: Timestamp) -> Skip {
        skipped(self.ask(claim_request(id, 999, now), now).await)
    }

    pub async fn commit(&self, transition: Transition) -> CommitReport {
        self.store.commit(transition).await.unwrap()
    }

    /// Both are sent before either is answered.
    pub async fn create_and_commit(&self, new: &NewExecution, first: Transition) -> CommitReport {
        let (created, committed) =
            join(self.store.create(new.clone()), self.store.commit(first)).await;
        assert_eq!(created.unwrap(), CreateOutcome::New);
        committed.unwrap()
    }

    pub async fn commit_refused(&self, transition: Transition) -> CommitRefusal {
        match self.store.commit(transition).await {
            Err(CommitError::Refused(refusal)) => refusal,
            other => panic!("expected a refusal, got {other:?}"),
        }
    }

    /// Claims, commits so many steps and lets go.
    pub async fn advance(&self, id: ExecutionId, steps: u64, now: Timestamp) -> CommitReport {
        let claimed = self.claim(id, 500, now).await;
        self.commit(commit(&claimed.state, now).steps(steps).build())
            .await
    }

    /// Claims and falls asleep until then; the wait is `uuid(n)`.
    pub async fn sleep(&self, id: ExecutionId, n: u64, wake_at: Timestamp, now: Timestamp) {
        let claimed = self.claim(id, 600, now).await;
        let wait = fixture::sleep(n, wake_at);
        self.commit(commit(&claimed.state, now).wait(wait).build())
            .await;
    }

    /// Runs to the end.
    pub async fn finish(&self, id: ExecutionId, status: Status, now: Timestamp) -> CommitReport {
        let claimed = self.claim(id, 700, now).await;
        self.commit(commit(&claimed.state, now).steps(1).end(status).build())
            .await
    }

    pub async fn command(
        &self,
        id: ExecutionId,
        command: Command,
        now: Timestamp,
    ) -> CommandApplied {
        self.store.command(id, command, now).await.unwrap()
    }

    pub async fn command_refused(
        &self,
        id: ExecutionId,
        command: Command,
        now: Timestamp,
    ) -> Refusal {
        match self.store.command(id, command, now).await {
            Err(CommandError::Refused(refusal)) => refusal,
            other => panic!("expected a refusal, got {other:?}"),
        }
    }

    pub async fn signal(&self, id: ExecutionId, signal_id: &str, name: &str) -> CommandApplied {
        let signal = fixture::signal(signal_id, name, at(5));
        self.command(id, Command::Signal(signal), at(5)).await
    }

    pub async fn view(&self, id: ExecutionId) -> ExecutionView {
        self.store.execution(id).await.unwrap().unwrap()
    }

    pub async fn execution(&self, id: ExecutionId) -> Execution {
        self.view(id).await.execution
    }

    pub async fn state(&self, id: ExecutionId) -> State {
        self.view(id).await.state
    }

    pub async fn status(&self, id: ExecutionId) -> Status {
        self.execution(id).await.head.status
    }

    pub async fn steps(&self, id: ExecutionId) -> Vec<(Step, u64)> {
        self.store.steps(id, 0, 10_000).await.unwrap()
    }

    pub async fn has_timer(&self, id: ExecutionId, wait: u64) -> bool {
        let found = self.store.timer_shards(vec![(id, uuid(wait))]).await;
        found.unwrap()[0].is_some()
    }

    /// Locks every shard for `uuid(guid)`; it must be free.
    pub async fn lock_all(&self, guid: u64, now: Timestamp) -> Vec<u32> {
        let request = fixture::lock_request(guid, now);
        let shards = self.store.lock_shards(request).await.unwrap();
        assert!(!shards.is_empty(), "the shards are free");
        shards
    }

    /// How many timer rows there are, stale ones included. Leaves all shards unlocked.
    pub async fn timer_rows(&self) -> usize {
        let shards = self.lock_all(555, at(1_000_000)).await;
        let rows = self.due(555, &shards, at(2_000_000)).await.len();
        self.store
            .unlock_shards(vec![uuid(555)], None, at(1_000_000))
            .await
            .unwrap();
        rows
    }

    /// Collects, and returns what is due before then.
    pub async fn due(&self, guid: u64, shards: &[u32], before: Timestamp) -> Vec<DueTimer> {
        let guid: Uuid = uuid(guid);
        let store = &self.store;
        store
            .collect(pass(guid), shards, at(0), 1000)
            .await
            .unwrap();
        store
            .upcoming(shards, fixture::due_before(before), 1000)
            .await
            .unwrap()
    }
}

pub(super) fn taken(claim: Claim) -> ClaimedExecution {
    match claim {
        Claim::Taken(claimed) => *claimed,
        other => panic!("expected the lease, got {other:?}"),
    }
}

pub(super) fn skipped(claim: Claim) -> Skip {
    match claim {
        Claim::Skipped(skip) => skip,
        other => panic!("expected a skip, got {other:?}"),
    }
}

pub(super) fn ended(claim: Claim) -> CommitReport {
    match claim {
        Claim::Ended(applied) => applied,
        other => panic!("expected an end, got {other:?}"),
    }
}

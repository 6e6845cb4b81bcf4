//! One worker's view of a store, on which the test can play tricks.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pawl_kernel::execution::{LogRecord, Signal, Step};
use pawl_kernel::id::{ExecutionId, KeyId, SchemaId};
use pawl_kernel::lifecycle::{ClaimRequest, Command};
use pawl_kernel::operations::{AnyAnswer, AnyOperation, OperationStore};
use pawl_kernel::ports::history::{HistoryReads, LogQuery, StepOutline};
use pawl_kernel::ports::keys::{KeyError, KeyHash, KeyRecord, KeyStore, NewKey};
use pawl_kernel::ports::letters::{
    DeadLetter, LetterFilter, LetterList, LetterPage, LetterStore, LetterTally, NewLetter,
};
use pawl_kernel::ports::overview::{ErrorTally, GroupBy, Look, OverviewStore, RunSample, Tally};
use pawl_kernel::ports::quotas::{AdmissionPosition, Holder, Miscounts, QuotaReads};
use pawl_kernel::ports::retention::{
    OutdatedPage, OutdatedRequest, ReclaimReport, RemovalReport, RemoveRequest, RetentionStore,
};
use pawl_kernel::ports::schedule::{ActionFilter, DuePlace, QueueRow, ScheduleStore};
use pawl_kernel::ports::sessions::{NewSession, SessionRecord, SessionStore};
use pawl_kernel::ports::store::{
    Beat, CatalogError, CatalogStore, Claim, CommitError, CreateOutcome, DueTimer, ExecutionFilter,
    ExecutionStore, ExecutionView, ExpiredLease, HeldShards, History, KeepRequest, LockRequest,
    NewExecution, Probe, PublishVersion, Pulse, QueryStore, RecoveryReads, SaveSchema,
    SchemaRecord, ShardPass, Store, StoreError, StoreResult, SweepPage, SweepRequest, TimerStore,
    VersionRecord,
};
use pawl_kernel::ports::webhooks::{WebhookRow, WebhookStore};
use pawl_kernel::ports::workers::{WorkerRecord, WorkerStore};
use pawl_kernel::quota::{Quota, QuotaName};
use pawl_kernel::schedule::{PastAttempt, ScheduledAction};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{CommitReport, Transition, WaitTimer};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::clock::{Bell, Gate};

pub(crate) struct Stage {
    inner: Arc<dyn Store>,
    bell: Bell,
    script: Mutex<Script>,
}

#[derive(Default)]
struct Script {
    commits: VecDeque<Trick>,
    creates: VecDeque<Trick>,
    /// Creates that were sent just now: a commit right behind one shares its transaction.
    sent: BTreeMap<ExecutionId, SentCreate>,
    creates_seen: usize,
    commits_seen: usize,
    whisper: Option<(Signal, Timestamp)>,
    beats: Vec<Vec<ExecutionId>>,
    silence: Option<Arc<Gate>>,
    late: Option<Transition>,
    removal: Option<(&'static str, RemoveRequest)>,
}

type SentCreate = (NewExecution, oneshot::Sender<StoreResult<CreateOutcome>>);

/// What happens to a commit, and to the create that it was sent behind.
#[derive(Clone)]
pub(crate) enum Trick {
    None,
    /// It is written and nobody hears of it.
    AnswerLost,
    /// It is not written and nobody hears of it.
    RequestLost,
    /// Nobody hears of it, and it is written only when it is sent again, just before. Behind a create: the execution is
    /// there, its first transition is not.
    Late,
    Unavailable,
    /// It waits here before it is sent.
    Wait(Arc<Gate>),
}

impl Stage {
    pub(crate) fn new(inner: Arc<dyn Store>, bell: Bell) -> Arc<Self> {
        Arc::new(Self {
            inner,
            bell,
            script: Mutex::default(),
        })
    }

    /// The next commits meet these, one each.
    pub(crate) fn plan(&self, tricks: impl IntoIterator<Item = Trick>) {
        self.script.lock().unwrap().commits.extend(tricks);
    }

    /// The same for executions that are created without a commit right behind: their request or their answer is lost.
    pub(crate) fn plan_create(&self, trick: Trick) {
        self.script.lock().unwrap().creates.push_back(trick);
    }

    /// This signal arrives just after the next look at the inbox.
    pub(crate) fn whisper(&self, signal: Signal, now: Timestamp) {
        self.script.lock().unwrap().whisper = Some((signal, now));
    }

    /// Commits that were sent so far, also those still at a gate.
    pub(crate) fn commits_seen(&self) -> usize {
        self.script.lock().unwrap().commits_seen
    }

    /// Executions that were created without a transition.
    pub(crate) fn creates_seen(&self) -> usize {
        self.script.lock().unwrap().creates_seen
    }

    /// Whose leases each heartbeat asked for.
    pub(crate) fn beats(&self) -> Vec<Vec<ExecutionId>> {
        self.script.lock().unwrap().beats.clone()
    }

    /// From now on heartbeats are not answered before the gate opens.
    pub(crate) fn silence_beats(&self, gate: Arc<Gate>) {
        self.script.lock().unwrap().silence = Some(gate);
    }

    /// Retention strikes just after the next call of this verb.
    pub(crate) fn remove_after(&self, verb: &'static str, request: RemoveRequest) {
        self.script.lock().unwrap().removal = Some((verb, request));
    }

    async fn interfere(&self, verb: &str) {
        let removal = {
            let removal = &mut self.script.lock().unwrap().removal;
            removal.take_if(|(at, _)| *at == verb)
        };
        if let Some((_, request)) = removal {
            assert_eq!(self.inner.remove(request).await.unwrap().executions, 1);
        }
    }

    fn next_trick(&self) -> Trick {
        let mut script = self.script.lock().unwrap();
        script.commits_seen += 1;
        script.commits.pop_front().unwrap_or(Trick::None)
    }

    async fn create_alone(&self, new: NewExecution) -> StoreResult<CreateOutcome> {
        let trick = {
            let mut script = self.script.lock().unwrap();
            script.creates_seen += 1;
            script.creates.pop_front()
        };
        match trick {
            Some(Trick::RequestLost) => Err(unknown()),
            Some(Trick::AnswerLost) => self.inner.create(new).await.and_then(|_| Err(unknown())),
            _ => self.inner.create(new).await,
        }
    }

    /// Both in one transaction.
    async fn play_both(
        &self,
        trick: Trick,
        (new, told): SentCreate,
        first: Transition,
    ) -> Result<CommitReport, CommitError> {
        let error = match trick {
            Trick::Unavailable => StoreError::Unavailable("a trick".into()),
            _ => unknown(),
        };
        if let Trick::Wait(gate) = &trick {
            gate.pass().await;
        }
        if !matches!(trick, Trick::RequestLost | Trick::Unavailable) {
            assert_eq!(self.inner.create(new).await?, CreateOutcome::New);
        }
        let applied = match trick {
            Trick::None | Trick::Wait(_) | Trick::AnswerLost => self.inner.commit(first).await,
            _ => Err(error.clone().into()),
        };
        match trick {
            Trick::None | Trick::Wait(_) => {
                told.send(Ok(CreateOutcome::New)).unwrap();
                applied
            }
            _ => {
                told.send(Err(error.clone())).unwrap();
                Err(error.into())
            }
        }
    }

    async fn play(
        &self,
        trick: Trick,
        transition: Transition,
    ) -> Result<CommitReport, CommitError> {
        let late = self.script.lock().unwrap().late.take();
        if let Some(late) = late {
            self.inner.commit(late).await?;
        }
        match trick {
            Trick::None => self.inner.commit(transition).await,
            Trick::AnswerLost => {
                self.inner.commit(transition).await?;
                Err(unknown().into())
            }
            Trick::RequestLost => Err(unknown().into()),
            Trick::Late => {
                self.script.lock().unwrap().late = Some(transition);
                Err(unknown().into())
            }
            Trick::Unavailable => Err(StoreError::Unavailable("a trick".into()).into()),
            Trick::Wait(gate) => {
                gate.pass().await;
                self.inner.commit(transition).await
            }
        }
    }
}

fn unknown() -> StoreError {
    StoreError::Unknown("a trick".into())
}

/// Passes every verb of a role on and rings the bell.
macro_rules! forward {
    ($role:ident { $($verb:ident($($name:ident: $kind:ty),*) -> $answer:ty;)* }) => {
        #[async_trait]
        impl $role for Stage {
            $(async fn $verb(&self, $($name: $kind),*) -> $answer {
                let answer = self.inner.$verb($($name),*).await;
                self.interfere(stringify!($verb)).await;
                self.bell.ring();
                answer
            })*
        }
    };
}

#[async_trait]
impl ExecutionStore for Stage {
    async fn create(&self, new: NewExecution) -> StoreResult<CreateOutcome> {
        let id = new.execution.head.id;
        let (told, answer) = oneshot::channel();
        self.script.lock().unwrap().sent.insert(id, (new, told));
        // What was sent together with it comes now.
        tokio::task::yield_now().await;
        let alone = self.script.lock().unwrap().sent.remove(&id);
        let created = match alone {
            Some((new, _)) => self.create_alone(new).await,
            None => answer.await.unwrap(),
        };
        self.bell.ring();
        created
    }

    async fn claim(&self, requests: Vec<ClaimRequest>, now: Timestamp) -> StoreResult<Vec<Claim>> {
        let claims = self.inner.claim(requests, now).await;
        self.bell.ring();
        claims
    }

    async fn commit(&self, transition: Transition) -> Result<CommitReport, CommitError> {
        let trick = self.next_trick();
        self.bell.ring();
        let sent = self
            .script
            .lock()
            .unwrap()
            .sent
            .remove(&transition.execution_id);
        let result = match sent {
            Some(create) => self.play_both(trick, create, transition).await,
            None => self.play(trick, transition).await,
        };
        self.bell.ring();
        result
    }

    async fn probe(&self, id: ExecutionId) -> StoreResult<Option<Probe>> {
        self.inner.probe(id).await
    }

    async fn heartbeat(
        &self,
        leases: Vec<(ExecutionId, Uuid)>,
        until: Timestamp,
    ) -> StoreResult<Vec<Beat>> {
        let asked = leases.iter().map(|(id, _)| *id).collect();
        let silence = self.script.lock().unwrap().silence.clone();
        if let Some(gate) = silence {
            gate.pass().await;
        }
        let beats = self.inner.heartbeat(leases, until).await;
        self.script.lock().unwrap().beats.push(asked);
        self.bell.ring();
        beats
    }

    async fn open_signals(&self, id: ExecutionId) -> StoreResult<(u64, Vec<Signal>)> {
        let seen = self.inner.open_signals(id).await?;
        let whisper = self.script.lock().unwrap().whisper.take();
        if let Some((signal, now)) = whisper {
            let command = Command::Signal(signal);
            self.inner.command(id, command, now).await.unwrap();
        }
        Ok(seen)
    }

    async fn history(&self, id: ExecutionId, seq: u64) -> StoreResult<History> {
        self.inner.history(id, seq).await
    }
}

forward!(OperationStore {
    transact(operation: Arc<dyn AnyOperation>) -> StoreResult<AnyAnswer>;
});

forward!(RecoveryReads {
    leases_held(limit: u32) -> StoreResult<Vec<ExecutionId>>;
    leases_expired(now: Timestamp, limit: u32) -> StoreResult<Vec<ExpiredLease>>;
    sweep_page(request: SweepRequest) -> StoreResult<SweepPage>;
});

forward!(TimerStore {
    lock_shards(request: LockRequest) -> StoreResult<Vec<u32>>;
    keep_shards(request: KeepRequest) -> StoreResult<HeldShards>;
    unlock_shards(locks: Vec<Uuid>, only: Option<Vec<u32>>, now: Timestamp) -> StoreResult<()>;
    collect(pass: ShardPass, shards: &[u32], now: Timestamp, limit: u32) -> StoreResult<Vec<DueTimer>>;
    upcoming(shards: &[u32], due: Range<Timestamp>, limit: u32) -> StoreResult<Vec<DueTimer>>;
    next_due(shards: &[u32]) -> StoreResult<Option<Timestamp>>;
    register_timers(timers: Vec<WaitTimer>, now: Timestamp) -> StoreResult<()>;
});

forward!(ScheduleStore {
    action(id: &str) -> StoreResult<Option<ScheduledAction>>;
    actions(filter: ActionFilter, after: Option<String>, limit: u32) -> StoreResult<Vec<ScheduledAction>>;
    actions_by_due(before: Option<Timestamp>, after: Option<DuePlace>, limit: u32) -> StoreResult<Vec<ScheduledAction>>;
    attempts(id: &str, before: Option<(u64, u64)>, limit: u32) -> StoreResult<Vec<(u64, PastAttempt)>>;
    queued(id: &str) -> StoreResult<Vec<QueueRow>>;
});

forward!(CatalogStore {
    save_schema(save: SaveSchema) -> Result<SchemaRecord, CatalogError>;
    publish_version(wanted: PublishVersion) -> Result<SchemaRecord, CatalogError>;
    schema(key: &str) -> StoreResult<Option<SchemaRecord>>;
    schema_by_external_id(external_id: i64) -> StoreResult<Option<SchemaRecord>>;
    schemas(text: Option<String>, after: Option<String>, limit: u32) -> StoreResult<Vec<SchemaRecord>>;
    versions(id: SchemaId) -> StoreResult<Vec<VersionRecord>>;
    version(id: SchemaId, version: u32) -> StoreResult<Option<VersionRecord>>;
    set_active(id: SchemaId, active: bool, now: Timestamp) -> StoreResult<bool>;
    delete_schema(id: SchemaId, now: Timestamp) -> StoreResult<bool>;
});

forward!(QueryStore {
    execution(id: ExecutionId) -> StoreResult<Option<ExecutionView>>;
    executions(filter: ExecutionFilter, before: Option<ExecutionId>, limit: u32) -> StoreResult<Vec<ExecutionView>>;
    count_executions(filter: ExecutionFilter) -> StoreResult<u64>;
    steps(id: ExecutionId, after_seq: u64, limit: u32) -> StoreResult<Vec<(Step, u64)>>;
    logs(id: ExecutionId, after: u64, limit: u32) -> StoreResult<Vec<(u64, LogRecord)>>;
    signals(id: ExecutionId) -> StoreResult<Vec<Signal>>;
    open_executions(after: Option<ExecutionId>, limit: u32) -> StoreResult<Vec<ExecutionView>>;
    timer_shards(waits: Vec<(ExecutionId, Uuid)>) -> StoreResult<Vec<Option<u32>>>;
    execution_by_key(key: &str) -> StoreResult<Option<ExecutionId>>;
    about() -> StoreResult<Vec<(String, String)>>;
    pulse() -> StoreResult<Pulse>;
});

forward!(HistoryReads {
    outline(id: ExecutionId, after: u64, up_to: u64, limit: u32) -> StoreResult<Vec<StepOutline>>;
    log_page(query: LogQuery) -> StoreResult<Vec<(u64, LogRecord)>>;
    signal_page(id: ExecutionId, after: u64, limit: u32) -> StoreResult<Vec<(u64, Signal)>>;
    execution_briefs(filter: ExecutionFilter, before: Option<ExecutionId>, limit: u32) -> StoreResult<Vec<ExecutionView>>;
});

forward!(OverviewStore {
    tally(looks: Vec<Look>, group: GroupBy, limit: u32) -> StoreResult<Vec<Tally>>;
    tally_errors(look: Look, limit: u32) -> StoreResult<ErrorTally>;
    samples(ranges: Vec<(Uuid, Uuid)>, schema_id: Option<SchemaId>, limit: u32) -> StoreResult<Vec<Vec<RunSample>>>;
    newest_of(schemas: Vec<SchemaId>, limit: u32) -> StoreResult<Vec<Vec<RunSample>>>;
});

forward!(KeyStore {
    add_key(key: NewKey) -> Result<KeyRecord, KeyError>;
    key_by_hash(hash: KeyHash) -> StoreResult<Option<KeyRecord>>;
    key(key: &str) -> StoreResult<Option<KeyRecord>>;
    keys(before: Option<KeyId>, limit: u32) -> StoreResult<Vec<KeyRecord>>;
    revoke_key(id: KeyId, now: Timestamp) -> StoreResult<Option<KeyRecord>>;
    touch_key(id: KeyId, now: Timestamp, unless_after: Timestamp) -> StoreResult<bool>;
});

forward!(SessionStore {
    add_session(session: NewSession) -> StoreResult<()>;
    session(hash: KeyHash) -> StoreResult<Option<SessionRecord>>;
    touch_session(hash: KeyHash, now: Timestamp, unless_after: Timestamp) -> StoreResult<bool>;
    end_session(hash: KeyHash) -> StoreResult<bool>;
});

forward!(LetterStore {
    add_letter(letter: NewLetter) -> StoreResult<u64>;
    dead_letters(open_only: bool, after: u64, limit: u32) -> StoreResult<Vec<DeadLetter>>;
    letters(filter: LetterFilter, page: LetterPage, limit: u32, look: u32) -> StoreResult<LetterList>;
    count_letters(filter: LetterFilter, max: u32, look: u32) -> StoreResult<LetterTally>;
    dead_letter(id: u64) -> StoreResult<Option<(DeadLetter, Option<String>)>>;
    mark_requeued(id: u64, requeued_as: Option<ExecutionId>, now: Timestamp) -> StoreResult<bool>;
});

forward!(WorkerStore {
    report_worker(report: WorkerRecord, forget_before: Timestamp) -> StoreResult<()>;
    remove_worker(id: &str) -> StoreResult<()>;
    workers(since: Timestamp) -> StoreResult<Vec<WorkerRecord>>;
});

forward!(QuotaReads {
    quotas(set_only: bool, after: Option<QuotaName>, limit: u32) -> StoreResult<Vec<Quota>>;
    quota(name: QuotaName) -> StoreResult<Option<Quota>>;
    holders(name: QuotaName, limit: u32) -> StoreResult<Vec<Holder>>;
    admission_position(id: ExecutionId) -> StoreResult<Option<AdmissionPosition>>;
    has_line() -> StoreResult<bool>;
    uncounted(name: QuotaName) -> StoreResult<Option<i64>>;
    settings_known() -> StoreResult<()>;
    miscounts() -> StoreResult<Miscounts>;
});

forward!(RetentionStore {
    published_versions(after: Option<SchemaId>, limit: u32) -> StoreResult<Vec<(SchemaId, u32)>>;
    outdated(request: OutdatedRequest) -> StoreResult<OutdatedPage>;
    remove(request: RemoveRequest) -> StoreResult<RemovalReport>;
    outdated_actions(finished_before: Timestamp, limit: u32) -> StoreResult<Vec<String>>;
    remove_actions(ids: Vec<String>, finished_before: Timestamp) -> StoreResult<RemovalReport>;
    reclaim(now: Timestamp) -> StoreResult<ReclaimReport>;
    maintain(now: Timestamp) -> StoreResult<()>;
});

forward!(WebhookStore {
    webhook_revision() -> StoreResult<u64>;
    webhooks() -> StoreResult<(u64, Vec<WebhookRow>)>;
    webhooks_of(schemas: Vec<SchemaId>) -> StoreResult<Vec<WebhookRow>>;
    answer_of(id: ExecutionId) -> StoreResult<Option<String>>;
});

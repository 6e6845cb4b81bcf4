//! The verbs, each with arguments drawn by chance: mostly sensible, at times late or wrong.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use serde_json::json;
use uuid::Uuid;

use pawl_kernel::execution::{DebugMode, State, Status, Wait, WaitKind};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{ClaimRequest, Command, ContinueMode, Release};
use pawl_kernel::ports::store::{
    Claim, CreateOutcome, Dispatch, DueTimer, NewExecution, PublishVersion, SaveMode, SaveSchema,
    SourceFormat, SourceText, Store, StoreResult, TimerKind, lease,
};
use pawl_kernel::schema::definition::OnStuck;
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::Transition;

use super::{Story, in_order, told};
use crate::fixture::{self, pass};

impl Story {
    pub(super) async fn verb(&mut self) {
        if self.rng.chance(400) {
            self.now = self.later(20);
        }
        if self.quotas && self.rng.chance(300) {
            return self.quota_verb().await;
        }
        match self.rng.below(100) {
            9..12 if !self.quotas => self.create_and_commit().await,
            0..12 => self.create().await,
            12..32 => self.claim().await,
            32..57 => self.commit().await,
            57..70 => self.command().await,
            70..78 => self.timers().await,
            78..82 => self.reap().await,
            82..86 => self.sweep().await,
            86..89 => self.release().await,
            89..92 => self.heartbeat().await,
            92..97 => self.schemas().await,
            97 => self.clear_leases().await,
            _ => self.look().await,
        }
    }

    pub(super) async fn create(&mut self) {
        let new = self.new_execution().await;
        self.note("create", &(new.execution.head.id, &new.state.wait));
        let answer = self
            .both(async |store| told(store.create(new.clone()).await))
            .await;
        if matches!(
            answer,
            Ok(CreateOutcome::New | CreateOutcome::Admitted | CreateOutcome::InLine)
        ) {
            self.created = self.created.max(self.number(&new));
        }
    }

    /// An execution and its first transition, both sent before either is answered.
    async fn create_and_commit(&mut self) {
        let mut new = self.new_execution().await;
        let token = self.rng.uuid();
        new.execution.record.idempotency_key = None;
        new.execution.record.retry_of = None;
        new.execution.head.quotas.clear();
        new.execution.head.status = Status::Running;
        new.execution.head.started_at = Some(self.now);
        new.state.wait = None;
        new.state.lease = Some(lease("worker", token, self.later(40)));
        new.state.recoveries = 1;
        let first = self.transition(&new.state).await;
        self.note(
            "create and commit",
            &(new.execution.head.id, first.steps.len(), &first.next),
        );
        let (created, _) = self
            .both(async |store| {
                let both = join(store.create(new.clone()), store.commit(first.clone()));
                let (created, committed) = both.await;
                (told(created), told(committed))
            })
            .await;
        if created.is_ok() {
            self.created = self.created.max(self.number(&new));
        }
    }

    fn number(&self, new: &NewExecution) -> u64 {
        let id = new.execution.head.id;
        let mut numbers = 1..=self.executions;
        numbers.find(|n| fixture::execution_id(*n) == id).unwrap()
    }

    /// Only what has ended is retried.
    async fn ended_execution(&mut self) -> Option<ExecutionId> {
        let id = fixture::execution_id(1 + self.rng.below(self.created));
        let view = self.stores[0].execution(id).await.unwrap();
        view.filter(|view| view.execution.head.status.is_terminal())
            .map(|_| id)
    }

    async fn new_execution(&mut self) -> NewExecution {
        // Once all are made, the last one's number comes again: refused, or found by its key.
        let n = (self.created + 1).min(self.executions);
        let mut new = fixture::new_execution(n);
        new.execution.head.created_at = self.now;
        new.execution.record.idempotency_key = match self.rng.below(3) {
            0 => Some(format!("key-{}", self.rng.below(4))),
            _ => None,
        };
        new.state.updated_at = self.now;
        if self.rng.chance(200) {
            new.execution.head.debug_mode = true;
            new.state.debug = DebugMode::Step;
        }
        if self.rng.chance(150) {
            new.execution.head.status = Status::Pending;
            new.state.wait = Some(self.wait(WaitKind::Start));
        }
        if self.created > 0 && self.rng.chance(200) {
            new.execution.record.retry_of = self.ended_execution().await;
            new.again = self.rng.chance(300);
        }
        if self.quotas {
            self.claims(&mut new);
        }
        new
    }

    fn wait(&mut self, kind: WaitKind) -> Wait {
        let event = kind == WaitKind::Event;
        let timed = !event || self.rng.chance(500);
        Wait {
            kind,
            id: self.rng.uuid(),
            wake_at: timed.then(|| self.later(30)),
            name: event.then(|| self.signal_name()),
        }
    }

    fn signal_name(&mut self) -> String {
        (*self.rng.pick(&["paid", "shipped"])).to_owned()
    }

    pub(super) async fn claim(&mut self) {
        let count = 1 + self.rng.below(3);
        let requests: Vec<ClaimRequest> = (0..count).map(|_| self.claim_request()).collect();
        let (now, shown) = (self.now, requests.iter().map(|r| r.execution_id));
        self.note("claim", &shown.collect::<Vec<_>>());
        let answers = self
            .both(async |store| told(store.claim(requests.clone(), now).await))
            .await;
        for claim in answers.unwrap_or_default() {
            if let Claim::Taken(claimed) = claim {
                self.claimed.push(claimed.state);
            }
        }
    }

    fn claim_request(&mut self) -> ClaimRequest {
        let id = self.any_id();
        let mut request = fixture::claim_request(id, 0, self.now);
        request.lease.token = self.rng.uuid();
        request.lease.until = self.later(40);
        request.message_seq = match self.rng.below(3) {
            0 => Some(self.rng.below(6)),
            _ => None,
        };
        request.redelivered = self.rng.chance(300);
        request.allow_suspect = self.rng.chance(800);
        request.max_recoveries = 3;
        request
    }

    pub(super) async fn commit(&mut self) {
        let Some(state) = self.state_to_commit().await else {
            return;
        };
        let transition = self.transition(&state).await;
        let t = &transition;
        self.note(
            "commit",
            &(
                t.execution_id,
                t.expected_seq,
                t.lease_token,
                t.inbox_seen,
                t.steps.len(),
                &t.next,
            ),
        );
        self.same(async |store| told(store.commit(transition.clone()).await))
            .await;
    }

    /// The row of an execution with a lease, or a state that a claim returned some time ago.
    async fn state_to_commit(&mut self) -> Option<State> {
        if self.rng.chance(150) && !self.claimed.is_empty() {
            return Some(self.rng.pick(&self.claimed).clone());
        }
        let mut leased = Vec::new();
        for n in 1..=self.created {
            let id = fixture::execution_id(n);
            let view = self.stores[0].execution(id).await.unwrap();
            leased.extend(view.map(|view| view.state).filter(|s| s.lease.is_some()));
        }
        (!leased.is_empty()).then(|| self.rng.pick(&leased).clone())
    }

    async fn transition(&mut self, state: &State) -> Transition {
        let steps = self.rng.below(3);
        let mut commit = fixture::commit(state, self.now).steps(steps);
        if self.rng.chance(200) {
            commit = commit.snapshot(&format!("{{\"after\":{}}}", state.seq + steps));
        }
        if self.rng.chance(200) {
            commit = commit.log("a line").log("another");
        }
        let (_, open) = self.open_signals(state.execution_id).await;
        if steps > 0 && self.rng.chance(500) {
            commit = open.first().into_iter().fold(commit, |c, id| c.take(id));
        }
        if self.rng.chance(300) {
            commit = commit.effect("effect-key");
        }
        if self.rng.chance(300) {
            let error = format!(r#"{{"code":"SHAKY","n":{}}}"#, self.rng.below(9));
            commit = commit.failed(&error);
        }
        commit = match self.rng.below(10) {
            0..3 => commit,
            3..6 => commit.keep(self.later(40)),
            6 => commit.wait(self.wait(WaitKind::Sleep)),
            7 => commit.wait(self.wait(WaitKind::Event)),
            8 => commit.wait(self.wait(WaitKind::Retry)),
            _ => commit.end(*self.rng.pick(&[Status::Completed, Status::Failed])),
        };
        let seen = self.rng.chance(500).then_some(state.inbox);
        let (commit_id, spent) = (self.rng.uuid(), self.rng.below(1000));
        let with = commit.with(|t| {
            t.commit_id = commit_id;
            t.inbox_seen = seen;
            (t.calls_spent, t.bytes_spent) = (spent, spent * 10);
        });
        with.build()
    }

    async fn open_signals(&self, id: ExecutionId) -> (u64, Vec<String>) {
        let ask = async |store: Arc<dyn Store>| told(store.open_signals(id).await);
        let (inbox, open) = self.both(ask).await.unwrap();
        (inbox, open.into_iter().map(|signal| signal.id).collect())
    }

    async fn command(&mut self) {
        let (id, now, command) = (self.any_id(), self.now, self.some_command());
        self.note("command", &(id, &command));
        self.same(async |store| told(store.command(id, command.clone(), now).await))
            .await;
    }

    fn some_command(&mut self) -> Command {
        let expect_seq = self.rng.chance(300).then(|| self.rng.below(5));
        match self.rng.below(20) {
            0..3 => Command::Pause,
            3 => Command::Debug,
            4..8 => Command::Resume,
            8 => Command::Stop,
            9..14 => self.some_signal(),
            14 => fixture::edit("limit", json!({"at": self.rng.below(9)})),
            15..18 => fixture::go_on(ContinueMode::Step, expect_seq),
            18 => fixture::go_on(self.some_nodes(), expect_seq),
            _ => fixture::go_on(ContinueMode::Run, expect_seq),
        }
    }

    fn some_nodes(&mut self) -> ContinueMode {
        let count = 1 + self.rng.below(2);
        let nodes = (0..count).map(|n| format!("node_{}", 3 + n));
        ContinueMode::Until(nodes.collect())
    }

    fn some_signal(&mut self) -> Command {
        self.signals += u64::from(self.rng.chance(800));
        let name = self.signal_name();
        let id = format!("signal-{}", self.signals);
        Command::Signal(fixture::signal(&id, &name, self.now))
    }

    /// A whole pass of a timer service. Which shard a row is in is the store's own choice.
    async fn timers(&mut self) {
        if self.rng.chance(200) {
            self.timer_guid = self.rng.uuid();
        }
        let (guid, now, before) = (self.timer_guid, self.now, self.later(20));
        self.note("timers", &guid);
        self.same(async |store| told(timer_pass(&*store, guid, now, before).await))
            .await;
        if self.rng.chance(200) {
            self.same(async |store| told(store.unlock_shards(vec![guid], None, now).await))
                .await;
        }
    }

    async fn reap(&mut self) {
        let on_stuck = *self
            .rng
            .pick(&[OnStuck::Requeue, OnStuck::Requeue, OnStuck::Fail]);
        let now = self.now;
        self.note("reap", &on_stuck);
        let expired = self
            .both(async |store| {
                let mut list = told(store.expired(now, 1000).await)?;
                list.sort_by_key(|row| row.execution_id);
                Ok::<_, String>(list)
            })
            .await;
        let mut ids: Vec<_> = expired.unwrap().iter().map(|e| e.execution_id).collect();
        ids.push(self.any_id());
        for id in ids {
            self.same(async |store| told(store.reap(id, on_stuck, now).await))
                .await;
        }
    }

    async fn sweep(&mut self) {
        let mut request = fixture::sweep_request(self.now);
        for idle_since in &mut request.idle_since {
            *idle_since = self.now.minus(Duration::from_secs(self.rng.below(15)));
        }
        self.note("sweep", &request);
        self.same(async |store| told(store.sweep(request.clone()).await.map(|s| s.due)))
            .await;
    }

    /// Tokens that are right, and some that no longer are.
    fn some_leases(&mut self) -> Vec<(ExecutionId, Uuid)> {
        let count = self.rng.below(3);
        let mut leases: Vec<(ExecutionId, Uuid)> = Vec::new();
        for _ in 0..count {
            let known: Vec<_> = self.claimed.iter().filter_map(lease_of).collect();
            if !known.is_empty() {
                // The newest are the likeliest to be alive.
                let newest = &known[known.len().saturating_sub(4)..];
                leases.push(*self.rng.pick(newest));
            }
        }
        leases
    }

    async fn release(&mut self) {
        let (leases, now) = (self.some_leases(), self.now);
        self.note("release", &leases);
        let how = [Release::Unbegun, Release::Begun, Release::NotHere][self.rng.below(3) as usize];
        self.same(async |store| told(in_order(store.release(leases.clone(), how, now).await)))
            .await;
    }

    async fn heartbeat(&mut self) {
        let mut leases = self.some_leases();
        leases.sort_unstable();
        leases.dedup();
        let until = self.now.plus(Duration::from_secs(60));
        self.note("heartbeat", &leases);
        self.same(async |store| {
            let mut beats = told(store.heartbeat(leases.clone(), until).await)?;
            beats.sort_by_key(|beat| (beat.execution_id, beat.token));
            Ok::<_, String>(beats)
        })
        .await;
    }

    async fn clear_leases(&mut self) {
        let now = self.now;
        self.note("clear_leases", &());
        self.same(async |store| told(store.clear_leases(now).await))
            .await;
    }

    async fn schemas(&mut self) {
        let (n, now) = (2 + self.rng.below(3), self.now);
        let (id, active) = (fixture::schema_id(n), self.rng.chance(500));
        match self.rng.below(8) {
            0..5 => self.save_schema(n).await,
            5 => self.publish_version(n).await,
            6 => {
                self.note("set_active", &(n, active));
                self.same(async |store| told(store.set_active(id, active, now).await))
                    .await;
            }
            _ => {
                self.note("delete_schema", &n);
                self.same(async |store| told(store.delete_schema(id, now).await))
                    .await;
            }
        }
    }

    async fn save_schema(&mut self, n: u64) {
        let id = fixture::schema_id(n);
        let known = self.stores[0].version(id, 1).await.unwrap().is_some();
        let content = *self.rng.pick(&["a", "b", "c"]);
        let if_version = self.rng.chance(400).then(|| 1 + self.rng.below(3) as u32);
        let mut save = fixture::schema_version(n, content, if_version);
        save.now = self.now;
        if !known {
            save.mode = SaveMode::Create;
        }
        if let SaveMode::Update { publish, .. } = &mut save.mode {
            *publish = self.rng.chance(700);
        }
        if self.rng.chance(300) {
            save.source = Some(SourceText {
                text: format!("text {}", self.rng.below(2)),
                format: SourceFormat::Yaml,
            });
        }
        if self.rng.chance(200) {
            save.name = format!("flow-{}", 1 + self.rng.below(4));
        }
        if self.rng.chance(300) {
            let number = self.rng.below(3);
            save.definition = format!(r#"{{"language":1,"external_id":{number}}}"#);
            save.hash = format!("{}-{number}", save.hash);
        }
        self.note("save_schema", &save);
        let save: SaveSchema = save;
        self.same(async |store| told(store.save_schema(save.clone()).await))
            .await;
    }

    async fn publish_version(&mut self, n: u64) {
        let wanted = PublishVersion {
            id: fixture::schema_id(n),
            version: 1 + self.rng.below(4) as u32,
            now: self.now,
        };
        self.note("publish_version", &wanted);
        self.same(async |store| told(store.publish_version(wanted.clone()).await))
            .await;
    }

    async fn look(&mut self) {
        let (id, seq) = (self.any_id(), self.rng.below(8));
        self.note("look", &(id, seq));
        self.same(async |store| told(store.history(id, seq).await))
            .await;
        self.same(async |store| told(store.probe(id).await)).await;
        self.same(async |store| told(store.steps(id, seq, 3).await))
            .await;
    }
}

fn lease_of(state: &State) -> Option<(ExecutionId, Uuid)> {
    let lease = state.lease.as_ref()?;
    Some((state.execution_id, lease.token))
}

/// What a pass came to, without the numbers of shards.
#[derive(Debug)]
#[expect(dead_code, reason = "compared as debug text")]
struct VerbPass {
    locked: bool,
    kept: bool,
    collected: Vec<(Timestamp, String, Uuid, TimerKind)>,
    next_due: Option<Timestamp>,
    upcoming: Vec<(Timestamp, String, Uuid, TimerKind)>,
    fired: Vec<Dispatch>,
}

async fn timer_pass(
    store: &dyn Store,
    guid: Uuid,
    now: Timestamp,
    before: Timestamp,
) -> StoreResult<VerbPass> {
    let mut request = fixture::lock_request(0, now);
    request.guid = guid;
    let locked = store.lock_shards(request).await?;
    let shards = store
        .keep_shards(fixture::keep_request(guid, now))
        .await?
        .shards();
    let moved = store.collect(pass(guid), &shards, now, 10_000).await?;
    let mut collected: Vec<_> = moved.iter().map(without_shard).collect();
    collected.sort_unstable();
    let next_due = store.next_due(&shards).await?;
    let due = store
        .upcoming(&shards, fixture::due_before(before), 10_000)
        .await?;
    let mut upcoming: Vec<_> = due.iter().map(without_shard).collect();
    upcoming.sort_unstable();
    let fired = in_order(store.fire(pass(guid), due, now).await)?;
    Ok(VerbPass {
        locked: !locked.is_empty(),
        kept: !shards.is_empty(),
        collected,
        next_due,
        upcoming,
        fired,
    })
}

fn without_shard(timer: &DueTimer) -> (Timestamp, String, Uuid, TimerKind) {
    (timer.at, timer.action_id.clone(), timer.guid, timer.kind)
}

//! Rows and requests for tests, made from small numbers: the same number gives the same id, and ids of
//! executions sort like their numbers.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use pawl_kernel::execution::{
    DebugMode, Ending, Execution, Head, LogRecord, Position, PriorityClass, Record, Signal, State,
    Status, Step, StepStatus, Wait, WaitKind,
};
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::lifecycle::{ClaimRequest, Command, ContinueMode};
use pawl_kernel::ports::store::{
    KeepRequest, LockRequest, NewExecution, SaveMode, SaveSchema, ShardPass, SweepRequest,
};
use pawl_kernel::schedule::{Author, Override, Put, Spec, read_spec};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{Next, Snapshot, Transition};

use crate::clock::EPOCH;

/// How long the leases of fixtures live, in seconds.
pub const LEASE: i64 = 30;

/// So many seconds after the start of time.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(EPOCH.as_micros() + seconds * 1_000_000)
}

pub fn uuid(n: u64) -> Uuid {
    uuid::Builder::from_random_bytes(u128::from(n).to_be_bytes()).into_uuid()
}

pub fn execution_id(n: u64) -> ExecutionId {
    let millis = EPOCH.as_micros() as u64 / 1000 + n;
    let bytes = uuid::Builder::from_unix_timestamp_millis(millis, &[7; 10]).into_uuid();
    ExecutionId(bytes)
}

pub fn schema_id(n: u64) -> SchemaId {
    SchemaId(uuid(1_000_000 + n))
}

/// A schema to be created, named `flow-n`.
pub fn schema(n: u64) -> SaveSchema {
    let name = format!("flow-{n}");
    SaveSchema {
        id: schema_id(n),
        description: Some(format!("the flow number {n}")),
        definition: format!(r#"{{"language":1,"name":"{name}","nodes":[],"edges":[]}}"#),
        hash: format!("hash-{n}-1"),
        name,
        source: None,
        note: None,
        created_by: "user:1".into(),
        now: at(0),
        mode: SaveMode::Create,
    }
}

/// The next version of a schema that [`schema`] made.
pub fn schema_version(n: u64, content: &str, if_version: Option<u32>) -> SaveSchema {
    let id = schema_id(n);
    SaveSchema {
        definition: format!(r#"{{"language":1,"content":"{content}"}}"#),
        hash: format!("hash-{n}-{content}"),
        now: at(10),
        mode: SaveMode::Update {
            id,
            if_version,
            publish: true,
        },
        ..schema(n)
    }
}

/// An execution of `flow-1`, queued at `start_1`.
pub fn new_execution(n: u64) -> NewExecution {
    NewExecution::new(execution(n), state(n))
}

fn execution(n: u64) -> Execution {
    let head = Head {
        id: execution_id(n),
        schema_id: schema_id(1),
        schema_version: 1,
        status: Status::Queued,
        priority: PriorityClass::Normal,
        debug_mode: false,
        base_seq: 0,
        created_at: at(n as i64),
        queued_at: Some(at(n as i64)),
        started_at: None,
        finished_at: None,
        quotas: Vec::new(),
    };
    let record = Record {
        tenant: None,
        labels: None,
        created_by: "user:1".into(),
        correlation_id: format!("correlation-{n}"),
        idempotency_key: None,
        parent_id: None,
        parent_seq: None,
        child_index: None,
        retry_of: None,
        retried_as: None,
        forked_from: None,
        trial: false,
        initial: Arc::from(r#"{"input":{},"variables":{}}"#),
        output: None,
        error: None,
    };
    Execution { head, record }
}

fn state(n: u64) -> State {
    State {
        execution_id: execution_id(n),
        seq: 0,
        position: Position::at("start_1".into(), None, at(n as i64)),
        wait: None,
        hold: None,
        control: None,
        inbox: 0,
        lease: None,
        commit_id: None,
        recoveries: 0,
        interrupted: false,
        debug: DebugMode::Off,
        deadline_at: at(365 * 86_400),
        next_sweep_at: None,
        calls_spent: 0,
        bytes_spent: 0,
        version: 1,
        updated_at: at(n as i64),
    }
}

/// The first delivery of the message for seq 0, by a worker that draws `uuid(token)`.
pub fn claim_request(id: ExecutionId, token: u64, now: Timestamp) -> ClaimRequest {
    let until = now.plus(Duration::from_secs(LEASE as u64));
    ClaimRequest {
        execution_id: id,
        message_seq: None,
        redelivered: false,
        lease: pawl_kernel::ports::store::lease(&format!("worker-{token}"), uuid(token), until),
        allow_suspect: true,
        max_recoveries: 5,
    }
}

pub fn step(seq: u64, now: Timestamp) -> Step {
    Step {
        seq,
        node_id: format!("node_{seq}").into(),
        node_type: "log".into(),
        prev_node_id: (seq > 1).then(|| format!("node_{}", seq - 1).into()),
        next_node_id: Some(format!("node_{}", seq + 1).into()),
        handle: Some("success".into()),
        input: Some(format!(r#"{{"message":"{seq}"}}"#)),
        output: Some(format!(r#"{{"n":{seq}}}"#)),
        changes: Some(format!(r#"{{"last":{seq}}}"#)),
        status: StepStatus::Success,
        error: None,
        attempts: None,
        started_at: now,
        finished_at: now,
    }
}

pub fn log_line(seq: u64, message: &str, now: Timestamp) -> LogRecord {
    LogRecord {
        seq,
        node_id: format!("node_{seq}").into(),
        level: "info",
        message: message.to_owned(),
        at: now,
    }
}

/// What a worker that was handed `state` would commit. Goes on by a new message unless told otherwise.
pub fn commit(state: &State, now: Timestamp) -> Commit {
    let token = state.lease.as_ref().map(|lease| lease.token);
    Commit(Transition {
        execution_id: state.execution_id,
        expected_seq: state.seq,
        lease_token: token.unwrap_or_else(Uuid::nil),
        commit_id: Uuid::from_u64_pair(state.execution_id.0.as_u64_pair().0, state.version),
        inbox_seen: None,
        steps: Arc::default(),
        logs: Arc::default(),
        consumed: Vec::new(),
        snapshot: None,
        next: Next::Continue {
            position: state.position.clone(),
            keep_until: None,
        },
        calls_spent: state.calls_spent,
        bytes_spent: state.bytes_spent,
        now,
    })
}

/// A transition under construction.
#[derive(Clone, Debug)]
pub struct Commit(Transition);

impl Commit {
    pub fn build(self) -> Transition {
        self.0
    }

    /// Adds so many steps, and moves to the node after them.
    pub fn steps(mut self, count: u64) -> Self {
        let (seq, now) = (self.0.expected_seq, self.0.now);
        self.0.steps = Arc::new((seq + 1..=seq + count).map(|n| step(n, now)).collect());
        let node: Arc<str> = format!("node_{}", seq + count + 1).into();
        let previous = self.0.steps.last().map(|step| step.node_id.clone());
        *self.position() = Position::at(node, previous, now);
        self
    }

    /// Keeps the lease.
    pub fn keep(mut self, until: Timestamp) -> Self {
        let position = self.position().clone();
        self.0.next = Next::Continue {
            position,
            keep_until: Some(until),
        };
        self
    }

    pub fn wait(mut self, wait: Wait) -> Self {
        let position = self.position().clone();
        self.0.next = Next::Wait { position, wait };
        self
    }

    pub fn end(mut self, status: Status) -> Self {
        let position = self.position().clone();
        let error = r#"{"code":"BROKEN","message":"it broke"}"#;
        let ending = Ending {
            status,
            output: (status == Status::Completed).then(|| r#"{"done":true}"#.to_owned()),
            error: (status != Status::Completed).then(|| error.to_owned()),
        };
        self.0.next = Next::End { position, ending };
        self
    }

    /// The node to come may have an effect.
    pub fn effect(mut self, key: &str) -> Self {
        self.position().effect_key = Some(key.to_owned());
        self
    }

    /// A try of the node to come has failed with this error, and another one is due.
    pub fn failed(mut self, error: &str) -> Self {
        let position = self.position();
        position.attempt += 1;
        position.last_error = Some(error.to_owned());
        self
    }

    pub fn snapshot(mut self, context: &str) -> Self {
        self.0.snapshot = Some(Snapshot {
            seq: self.0.expected_seq + self.0.steps.len() as u64,
            context: context.to_owned(),
        });
        self
    }

    pub fn log(mut self, message: &str) -> Self {
        let line = log_line(self.0.expected_seq + 1, message, self.0.now);
        Arc::make_mut(&mut self.0.logs).push(line);
        self
    }

    /// Takes this signal with the step just added.
    pub fn take(mut self, signal_id: &str) -> Self {
        let seq = self.0.expected_seq + self.0.steps.len() as u64;
        self.0.consumed.push((signal_id.to_owned(), seq));
        self
    }

    /// Whatever else a test wants.
    pub fn with(mut self, change: impl FnOnce(&mut Transition)) -> Self {
        change(&mut self.0);
        self
    }

    fn position(&mut self) -> &mut Position {
        match &mut self.0.next {
            Next::Continue { position, .. }
            | Next::Wait { position, .. }
            | Next::End { position, .. } => position,
        }
    }
}

pub fn sleep(n: u64, wake_at: Timestamp) -> Wait {
    Wait {
        kind: WaitKind::Sleep,
        id: uuid(n),
        wake_at: Some(wake_at),
        name: None,
    }
}

pub fn event(n: u64, name: &str, wake_at: Option<Timestamp>) -> Wait {
    Wait {
        kind: WaitKind::Event,
        id: uuid(n),
        wake_at,
        name: Some(name.to_owned()),
    }
}

pub fn signal(id: &str, name: &str, now: Timestamp) -> Signal {
    Signal {
        id: id.to_owned(),
        name: name.to_owned(),
        payload: format!(r#"{{"from":"{id}"}}"#),
        consumed_seq: None,
        created_at: now,
    }
}

pub fn go_on(mode: ContinueMode, expect_seq: Option<u64>) -> Command {
    Command::Continue {
        mode,
        variables: Map::new(),
        expect_seq,
    }
}

pub fn edit(name: &str, value: Value) -> Command {
    Command::Continue {
        mode: ContinueMode::Step,
        variables: Map::from_iter([(name.to_owned(), value)]),
        expect_seq: None,
    }
}

/// Every free shard, where free means no heartbeat for ten seconds.
pub fn lock_request(guid: u64, now: Timestamp) -> LockRequest {
    LockRequest {
        guid: uuid(guid),
        owner: format!("worker-{guid}"),
        now,
        stale_before: now.minus(Duration::from_secs(10)),
        unlocked_by: None,
        max: 1024,
    }
}

/// A pass under one lock; its own name is that of the lock plus a million.
pub fn pass(lock: Uuid) -> ShardPass {
    ShardPass {
        locks: vec![lock],
        sync: Uuid::from_u128(lock.as_u128() + 1_000_000),
    }
}

/// No other worker is alive.
pub fn keep_request(guid: Uuid, now: Timestamp) -> KeepRequest {
    KeepRequest {
        locks: vec![guid],
        owner: "worker".into(),
        now,
        alive_since: now.plus(Duration::from_secs(1)),
    }
}

/// Everything due before then.
pub fn due_before(end: Timestamp) -> Range<Timestamp> {
    Timestamp::default()..end
}

/// Ten seconds of idleness, ten seconds of back-off, all in one page.
pub fn sweep_request(now: Timestamp) -> SweepRequest {
    SweepRequest {
        now,
        idle_since: [now.minus(Duration::from_secs(10)); 3],
        back_off: Duration::from_secs(10),
        after: None,
        limit: 10_000,
    }
}

/// What an action is to do, as on the wire but without its start.
pub fn spec(start_at: Timestamp, mut value: Value) -> Spec {
    value["start_at"] = json!(start_at.to_string());
    read_spec(&value, "", Author::Engine, start_at).unwrap()
}

/// A mock action that fires once, with so many retries.
pub fn once(start_at: Timestamp, max_retries: u32) -> Spec {
    let policy = json!({"once": {"retry": {"max_retries": max_retries}}});
    spec(start_at, json!({"policy": policy, "action": {"mock": {}}}))
}

/// A mock action that fires every so many seconds.
pub fn periodic(start_at: Timestamp, seconds: u64) -> Spec {
    let policy = json!({"periodic": {"period": format!("{seconds}s")}});
    spec(start_at, json!({"policy": policy, "action": {"mock": {}}}))
}

/// An action that starts `flow-1` every so many seconds, unless the one before still runs.
pub fn starting(start_at: Timestamp, seconds: u64) -> Spec {
    let policy = json!({"periodic": {"period": format!("{seconds}s"), "overlap": "skip"}});
    let action = json!({"start_execution": {"schema": "flow-1", "input": {}}});
    spec(start_at, json!({"policy": policy, "action": action}))
}

/// A write with the guid `uuid(guid)`, refused if there is an action of this id.
pub fn put(id: &str, guid: u64, spec: Spec) -> Put {
    Put {
        id: id.to_owned(),
        guid: uuid(guid),
        spec,
        notes: Map::new(),
        mode: Override::None,
        written_by: "user:1".into(),
    }
}

//! The rows of an execution: what it is (`executions`), where it stands (`execution_state`) and what
//! it did (`execution_steps`). Plain data; every decision about it is in [`crate::lifecycle`].

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::effect;
use crate::id::ExecutionId;
use crate::id::SchemaId;
use crate::quota::QuotaUse;
use crate::schema::definition::Priority;
use crate::time::Timestamp;

macro_rules! coded_enum {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $code:literal $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($variant = $code),+ }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The number in the database.
            pub const fn code(self) -> i64 {
                self as i64
            }

            pub fn from_code(code: i64) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.code() == code)
            }

            /// The name in the API.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    };
}

coded_enum!(
    /// Seed 000's numbers first, ours after.
    Status {
        Pending = 1 "pending",
        Running = 2 "running",
        Paused = 3 "paused",
        Completed = 4 "completed",
        Failed = 5 "failed",
        Stopped = 6 "stopped",
        Queued = 7 "queued",
        Sleeping = 8 "sleeping",
        Waiting = 9 "waiting",
        WaitingDebug = 10 "waiting_debug",
        FailedStuck = 11 "failed_stuck",
    }
);

impl Status {
    /// Ends that leave something to do, until the execution is retried.
    pub const UNRESOLVED: [Self; 3] = [Self::Failed, Self::Stopped, Self::FailedStuck];

    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Stopped | Self::FailedStuck
        )
    }
}

coded_enum!(StepStatus { Success = 1 "success", Failed = 2 "failed", Skipped = 3 "skipped" });

coded_enum!(
    /// Why a position blocks. `Start` and `Admission` block before the first node: a time, a place in line.
    WaitKind {
        Sleep = 1 "sleep",
        Retry = 2 "retry",
        Event = 3 "event",
        Children = 4 "children",
        Start = 5 "start",
        Admission = 6 "admission",
    }
);

coded_enum!(
    /// A person's wish that nothing new starts.
    Hold { Pause = 1 "pause", Debug = 2 "debug" }
);

coded_enum!(
    /// A person's wish that the execution ends.
    Control { Stop = 1 "stop" }
);

coded_enum!(PriorityClass { High = 1 "high", Normal = 2 "normal", Low = 3 "low" });

impl From<Priority> for PriorityClass {
    fn from(priority: Priority) -> Self {
        match priority {
            Priority::High => Self::High,
            Priority::Normal => Self::Normal,
            Priority::Low => Self::Low,
        }
    }
}

/// A row of `executions`: what decisions look at, and what only people and nodes read.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    pub head: Head,
    pub record: Record,
}

impl Execution {
    /// The execution that this one took its first steps over from.
    pub fn origin(&self) -> Option<ExecutionId> {
        self.record.retry_of.or(self.record.forked_from)
    }
}

/// The columns of `executions` that decisions look at. Changes only on block, unblock and end.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    pub id: ExecutionId,
    pub schema_id: SchemaId,
    pub schema_version: u32,
    pub status: Status,
    pub priority: PriorityClass,
    pub debug_mode: bool,
    /// Steps up to here belong to the execution this one was retried or forked from; its own start after it.
    pub base_seq: u64,
    pub created_at: Timestamp,
    pub queued_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// The quotas it counts against; nearly always none.
    pub quotas: Vec<QuotaUse>,
}

impl Head {
    /// Has a worker run a node of it? An edit that it was created with is a step, and no node.
    pub fn has_begun(&self, state: &State) -> bool {
        state.seq > self.base_seq && self.started_at.is_some()
    }

    pub fn can_be_retried(&self) -> bool {
        Status::UNRESOLVED.contains(&self.status)
    }
}

/// The columns of `executions` that no decision looks at: texts (the start record may be a megabyte) and relations.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub tenant: Option<String>,
    /// A JSON object as text.
    pub labels: Option<String>,
    pub created_by: String,
    pub correlation_id: String,
    pub idempotency_key: Option<String>,
    pub parent_id: Option<ExecutionId>,
    pub parent_seq: Option<u64>,
    pub child_index: Option<u32>,
    pub retry_of: Option<ExecutionId>,
    /// The newest retry of this one.
    pub retried_as: Option<ExecutionId>,
    pub forked_from: Option<ExecutionId>,
    /// An editor's test, which lists and statistics leave out; its start record says how it is run.
    pub trial: bool,
    /// The start record as JSON text: `{input, webhook, user, variables}`.
    pub initial: Arc<str>,
    pub output: Option<String>,
    pub error: Option<String>,
}

/// What a decision of [`crate::lifecycle`] is about: the two rows of an execution, without the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    pub head: Head,
    pub state: State,
}

/// The right of one worker to run one execution until a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub owner: String,
    /// Random per claim: earlier holders of the lease are fenced off by it.
    pub token: Uuid,
    pub until: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    pub kind: WaitKind,
    /// Drawn anew for every wait; a timer resumes only the wait it was made for.
    pub id: Uuid,
    pub wake_at: Option<Timestamp>,
    /// The event's name, for `Event`.
    pub name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum DebugMode {
    #[default]
    Off,
    /// Stop after every committed step.
    Step,
    /// Run until the position is one of these nodes, then step.
    Until(Vec<String>),
}

impl DebugMode {
    pub fn to_column(&self) -> Option<String> {
        match self {
            Self::Off => None,
            Self::Step => Some("step".into()),
            Self::Until(nodes) => Some(match &nodes[..] {
                [node] => format!("to:{node}"),
                nodes => format!("until:{}", json!(nodes)),
            }),
        }
    }

    pub fn from_column(text: Option<&str>) -> Self {
        match text {
            None => Self::Off,
            Some(text) => match (text.strip_prefix("to:"), text.strip_prefix("until:")) {
                (Some(node), _) => Self::Until(vec![node.to_owned()]),
                (None, Some(nodes)) => serde_json::from_str(nodes).map_or(Self::Step, Self::Until),
                (None, None) => Self::Step,
            },
        }
    }
}

/// Where an execution stands: the node it is at, and all that a try of that node must keep over a crash.
#[derive(Clone, Debug, PartialEq)]
pub struct Position {
    pub node_id: Arc<str>,
    pub prev_node_id: Option<Arc<str>>,
    /// `now()` of expressions, and the start of sleeps and timeouts.
    pub entered_at: Timestamp,
    /// Failed tries so far at this position.
    pub attempt: u32,
    /// JSON list of the tries so far, for the step's `attempts`.
    pub attempts: Option<String>,
    /// Set in the commit before an effect may start.
    pub effect_key: Option<String>,
    /// The next try does not start before this (a short retry delay, waited for under the lease).
    pub not_before: Option<Timestamp>,
    /// Why the try before failed, as JSON text, while the next one is due.
    pub last_error: Option<String>,
}

impl Position {
    pub fn at(node_id: Arc<str>, prev_node_id: Option<Arc<str>>, entered_at: Timestamp) -> Self {
        Self {
            node_id,
            prev_node_id,
            entered_at,
            attempt: 0,
            attempts: None,
            effect_key: None,
            not_before: None,
            last_error: None,
        }
    }
}

/// A row of `execution_state`: small and hot.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub execution_id: ExecutionId,
    /// Number of the last committed step.
    pub seq: u64,
    pub position: Position,
    pub wait: Option<Wait>,
    pub hold: Option<Hold>,
    pub control: Option<Control>,
    /// Counts what arrived from outside; a commit that enters a wait must have seen all of it.
    pub inbox: u64,
    pub lease: Option<Lease>,
    /// The id of the last commit: tells whether a commit with an unknown result happened.
    pub commit_id: Option<Uuid>,
    /// Claims since the last commit.
    pub recoveries: u32,
    /// The holder of a lease vanished while an effect may have been running.
    pub interrupted: bool,
    pub debug: DebugMode,
    pub deadline_at: Timestamp,
    pub next_sweep_at: Option<Timestamp>,
    pub calls_spent: u64,
    pub bytes_spent: u64,
    /// +1 with every commit or control write: the cursor of the event stream.
    pub version: u64,
    pub updated_at: Timestamp,
}

impl State {
    pub fn has_live_lease(&self, now: Timestamp) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.until > now)
    }

    /// May an effect of this position have begun by `now`? Not before its try was due.
    pub fn effect_may_have_begun(&self, now: Timestamp) -> bool {
        let due = self.position.not_before.is_none_or(|at| at <= now);
        due && self.position.effect_key.is_some()
    }

    /// Is the effect to come one that an earlier execution began, so that the same request has to go out again?
    pub fn repeats_an_effect(&self) -> bool {
        let key = self.position.effect_key.as_deref();
        key.is_some_and(|key| !effect::belongs_to(key, self.execution_id))
    }

    /// Could a worker run this now, if no other worker does?
    pub fn is_runnable(&self) -> bool {
        self.wait.is_none() && self.hold.is_none() && self.control.is_none()
    }
}

/// A row of `execution_steps`: one finished visit to a node. Payloads are JSON text.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub seq: u64,
    pub node_id: Arc<str>,
    pub node_type: Arc<str>,
    pub prev_node_id: Option<Arc<str>>,
    pub next_node_id: Option<Arc<str>>,
    /// The exit it left by; none of a visit that ended the execution by itself, of an edit, and of steps that were stored
    /// before exits were.
    pub handle: Option<Cow<'static, str>>,
    pub input: Option<String>,
    pub output: Option<String>,
    /// What the step did to `variables`: a JSON object of name to new value.
    pub changes: Option<String>,
    pub status: StepStatus,
    pub error: Option<String>,
    pub attempts: Option<String>,
    pub started_at: Timestamp,
    pub finished_at: Timestamp,
}

/// The node id and type of the step that a person's edit of variables or of the input makes.
pub const EDIT_NODE: &str = "$edit";

/// What a person changes before an execution goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edit {
    pub variables: Map<String, Value>,
    /// Takes the place of the whole input.
    pub input: Option<Value>,
}

impl Edit {
    pub fn is_empty(&self) -> bool {
        self.variables.is_empty() && self.input.is_none()
    }

    /// An edit is a step too, so that the context stays the fold of the steps.
    pub fn step(&self, seq: u64, position: &Position, at: Timestamp) -> Step {
        let changes = (!self.variables.is_empty()).then(|| json!(self.variables).to_string());
        let input = self.input.as_ref();
        Step {
            seq,
            node_id: EDIT_NODE.into(),
            node_type: EDIT_NODE.into(),
            prev_node_id: position.prev_node_id.clone(),
            next_node_id: Some(position.node_id.clone()),
            handle: None,
            input: None,
            output: input.map(|input| json!({"input": input}).to_string()),
            changes,
            status: StepStatus::Success,
            error: None,
            attempts: None,
            started_at: at,
            finished_at: at,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct LogRecord {
    pub seq: u64,
    pub node_id: Arc<str>,
    pub level: &'static str,
    pub message: String,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    pub id: String,
    pub name: String,
    /// JSON text.
    pub payload: String,
    pub consumed_seq: Option<u64>,
    pub created_at: Timestamp,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    pub status: Status,
    pub output: Option<String>,
    pub error: Option<String>,
}

/// One try of a node, as listed in a step's `attempts`.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct Attempt {
    pub attempt: u32,
    pub started_at: String,
    pub finished_at: String,
    pub error: Option<serde_json::Value>,
}

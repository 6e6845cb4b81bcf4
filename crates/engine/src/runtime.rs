//! What passes and commands work with, handed over once by the wiring. A background service takes what it needs of it when
//! it is made, and keeps no more than that.

use std::sync::{Arc, Mutex};

use pawl_kernel::id::{Entropy, ExecutionId};
use pawl_kernel::node::{NodeError, Registry};
use pawl_kernel::ports::queue::Queue;
use pawl_kernel::ports::store::{Dispatch, Store};
use pawl_kernel::redact::Redactor;
use pawl_kernel::secrets::{self, CarriedSecrets, Reader, SecretReads};
use pawl_kernel::time::{Clock, Timestamp};
use pawl_kernel::transition::CommitReport;
use pawl_kernel::webhook::answer::Answer;
use serde_json::{Map, Value};

use crate::admission::AdmissionQueue;
use crate::announcer::Announcer;
use crate::context_cache::ContextCache;
use crate::evaluation::Evaluations;
use crate::graphs::Graphs;
use crate::hints::Hints;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::publisher::Publisher;
use crate::sync::lock;

/// Cheap to clone: one count for all of it.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

pub struct Inner {
    pub store: Arc<dyn Store>,
    pub queue: Arc<dyn Queue>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub registry: Arc<Registry>,
    pub graphs: Arc<Graphs>,
    pub hints: Arc<Hints>,
    pub metrics: Arc<Metrics>,
    pub(crate) publisher: Publisher,
    pub(crate) announcer: Announcer,
    pub(crate) admission: Arc<AdmissionQueue>,
    pub(crate) contexts: ContextCache,
    pub(crate) evaluations: Evaluations,
    pub redactor: Arc<Redactor>,
    pub options: Arc<Options>,
    /// What was found to be wrong around the engine, for the doctor: name and detail.
    problems: Mutex<Vec<(&'static str, String)>>,
}

impl std::ops::Deref for Runtime {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Runtime {
    /// What `secrets` holds for a reader that reads these; and what it is to ask before it sends them anywhere.
    pub(crate) fn secrets(
        &self,
        reads: &SecretReads,
        reader: Reader<'_>,
    ) -> Result<(Map<String, Value>, CarriedSecrets), NodeError> {
        let (values, scopes) = (&self.options.secrets, &self.options.secret_scopes);
        let (given, carried) = if reads.is_empty() {
            Default::default()
        } else {
            secrets::resolve(values, scopes, reads, reader)?
        };
        Ok((given, carried.hidden_by(&self.redactor)))
    }

    pub fn new(
        store: Arc<dyn Store>,
        queue: Arc<dyn Queue>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        registry: Arc<Registry>,
        options: Options,
    ) -> Self {
        let node_types = registry.iter().map(|node| node.spec().node_type);
        let metrics = Metrics::new(node_types);
        let (hints, admission) = (Arc::<Hints>::default(), Arc::<AdmissionQueue>::default());
        let announcer = Announcer::new(
            hints.clone(),
            admission.clone(),
            metrics.executions.clone(),
            clock.clone(),
        );
        Self(Arc::new(Inner {
            graphs: Arc::new(Graphs::new(store.clone(), registry.clone())),
            redactor: Arc::new(Redactor::new(options.secrets.values())),
            publisher: Publisher::new(queue.clone(), clock.clone(), metrics.queue.clone()),
            announcer,
            hints,
            admission,
            metrics: Arc::new(metrics),
            contexts: ContextCache::default(),
            evaluations: Evaluations::new(clock.clone(), options.expression_time),
            options: Arc::new(options),
            problems: Mutex::default(),
            store,
            queue,
            clock,
            entropy,
            registry,
        }))
    }

    /// For the doctor to tell, until the process ends.
    pub fn note_problem(&self, problem: &'static str, detail: String) {
        lock(&self.problems).push((problem, detail));
    }

    pub(crate) fn problems(&self) -> Vec<(&'static str, String)> {
        lock(&self.problems).clone()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Publishes a message. One that cannot be published is left to the sweeper: the row says that it is due.
    pub(crate) async fn publish(&self, dispatch: Dispatch) {
        self.publisher.publish(dispatch).await;
    }

    /// A timer was committed.
    pub(crate) fn timer_set(&self, at: Timestamp) {
        self.announcer.timer_set(at);
    }

    /// An execution has joined the admission queue, or a limit has changed.
    pub(crate) fn admission_changed(&self) {
        self.announcer.admission_changed();
    }

    /// What a service or command, not its worker, did to an execution.
    pub(crate) fn announce(&self, id: ExecutionId, applied: &CommitReport) {
        self.announcer.announce(id, applied);
    }

    /// What a commit did, and the answer that it holds.
    pub(crate) fn announce_commit(
        &self,
        id: ExecutionId,
        applied: &CommitReport,
        answer: Option<Answer>,
    ) {
        self.announcer.announce_commit(id, applied, answer);
    }
}

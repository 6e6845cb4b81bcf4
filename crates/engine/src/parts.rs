//! The things every service of the engine works with, handed over once by the wiring.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use pawl_kernel::id::{Entropy, ExecutionId};
use pawl_kernel::node::{NodeError, Registry};
use pawl_kernel::ports::queue::{Message, Queue};
use pawl_kernel::ports::store::{Dispatch, Store};
use pawl_kernel::redact::Redactor;
use pawl_kernel::secrets::{self, CarriedSecrets, Reader, SecretReads};
use pawl_kernel::time::{Clock, Timestamp};
use pawl_kernel::transition::Applied;
use pawl_kernel::webhook::answer::Answer;
use serde_json::{Map, Value};

use crate::context_cache::ContextCache;
use crate::evaluation::Evaluations;
use crate::graphs::Graphs;
use crate::hints::{Hints, News};
use crate::metrics::Metrics;
use crate::options::Options;
use crate::scheduler::Lines;

/// Timers due later than this are found by looking, which happens more often.
const NEAR_FUTURE: Duration = Duration::from_secs(90);

/// Cheap to clone: one count for all of it.
#[derive(Clone)]
pub struct Parts(Arc<Inner>);

pub struct Inner {
    pub store: Arc<dyn Store>,
    pub queue: Arc<dyn Queue>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub registry: Arc<Registry>,
    pub graphs: Arc<Graphs>,
    pub hints: Arc<Hints>,
    pub metrics: Arc<Metrics>,
    pub(crate) lines: Lines,
    pub(crate) contexts: ContextCache,
    pub(crate) evaluations: Evaluations,
    pub redactor: Arc<Redactor>,
    pub options: Arc<Options>,
    /// What was found to be wrong around the engine, for the doctor: name and detail.
    problems: Mutex<Vec<(&'static str, String)>>,
}

impl std::ops::Deref for Parts {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Parts {
    /// What `secrets` holds for a reader that reads these; and what it is to ask before it sends them anywhere.
    pub(crate) fn secrets(
        &self,
        reads: &SecretReads,
        reader: Reader<'_>,
    ) -> Result<(Map<String, Value>, CarriedSecrets), NodeError> {
        let (values, scopes) = (&self.options.secrets, &self.options.secret_scopes);
        let (given, carried) = match reads.is_empty() {
            true => Default::default(),
            false => secrets::resolve(values, scopes, reads, reader)?,
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
        Self(Arc::new(Inner {
            graphs: Arc::new(Graphs::new(store.clone(), registry.clone())),
            redactor: Arc::new(Redactor::new(options.secrets.values())),
            hints: Arc::new(Hints::default()),
            metrics: Arc::new(Metrics::new(
                registry.iter().map(|node| node.spec().node_type),
            )),
            lines: Lines::default(),
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
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems.push((problem, detail));
    }

    pub(crate) fn problems(&self) -> Vec<(&'static str, String)> {
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        problems.clone()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Publishes a message. One that cannot be published is left to the sweeper: the row says that it is due.
    pub(crate) async fn publish(&self, dispatch: Dispatch) {
        let id = dispatch.execution_id;
        let message = Message::new(dispatch, self.now());
        let published = self.queue.publish(message).await;
        self.metrics.queue.published(&published);
        if let Err(error) = published {
            tracing::warn!(execution_id = %id, %error, "not published; the sweeper will");
        }
    }

    /// Many messages, without waiting for one broker's word after the other.
    pub(crate) async fn publish_all(&self, dispatches: Vec<Dispatch>) {
        const AT_ONCE: usize = 64;
        futures_util::stream::iter(dispatches)
            .for_each_concurrent(AT_ONCE, |dispatch| self.publish(dispatch))
            .await;
    }

    /// A timer was committed. Those who look regularly find the far ones in time without a word.
    pub(crate) fn timer_set(&self, at: Timestamp) {
        if at <= self.now().plus(NEAR_FUTURE) {
            self.hints.timer(at);
        }
    }

    /// Tells everybody what somebody other than its worker did to an execution. It may have held places in quotas.
    pub(crate) fn announce(&self, id: ExecutionId, applied: &Applied) {
        if applied.ended.is_some() {
            self.places_freed();
        }
        self.announce_commit(id, applied, None);
    }

    /// Tells everybody what a commit did, and the answer that it holds.
    pub(crate) fn announce_commit(
        &self,
        id: ExecutionId,
        applied: &Applied,
        answer: Option<Answer>,
    ) {
        if applied.frees_places {
            self.places_freed();
        }
        // Before anybody hears of it: who waited for the end finds it counted.
        if let Some(status) = applied.ended {
            self.metrics.executions.ended(id, status, self.now());
            tracing::debug!(execution_id = %id, status = status.name(), "ended");
        }
        let news = News {
            version: applied.version,
            ended: applied.ended,
            responded: answer.is_some(),
        };
        if let Some(answer) = answer {
            self.hints.answered(id, answer);
        }
        self.hints.changed(id, news);
        if let Some(at) = applied.wake_at {
            self.timer_set(at);
        }
    }
}

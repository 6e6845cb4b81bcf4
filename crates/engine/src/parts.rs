//! The things every service of the engine works with, handed over once by the wiring.

use std::sync::Arc;

use pawl_kernel::id::{Entropy, ExecutionId};
use pawl_kernel::node::Registry;
use pawl_kernel::ports::queue::{Message, Queue};
use pawl_kernel::ports::store::{Dispatch, Store};
use pawl_kernel::time::{Clock, Timestamp};
use pawl_kernel::transition::Applied;

use crate::graphs::Graphs;
use crate::hints::{Hints, News};
use crate::options::Options;
use crate::redact::Redactor;

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
    pub redactor: Arc<Redactor>,
    pub options: Arc<Options>,
}

impl std::ops::Deref for Parts {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Parts {
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
            options: Arc::new(options),
            store,
            queue,
            clock,
            entropy,
            registry,
        }))
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Publishes a message. One that cannot be published is left to the sweeper: the row says that it is due.
    pub(crate) async fn publish(&self, dispatch: Dispatch) {
        let id = dispatch.execution_id;
        let message = Message::new(dispatch, self.now());
        if let Err(error) = self.queue.publish(message).await {
            tracing::warn!(execution_id = %id, %error, "not published; the sweeper will");
        }
    }

    /// Tells everybody in this process what a commit did.
    pub(crate) fn announce(&self, id: ExecutionId, applied: &Applied) {
        self.hints.changed(
            id,
            News {
                version: applied.version,
                ended: applied.ended,
            },
        );
        if let Some(at) = applied.wake_at {
            self.hints.timer(at);
        }
    }
}

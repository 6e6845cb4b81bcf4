//! One worker: consumer, heartbeat, timers and reaper on the same parts.

use std::sync::Arc;

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{Dispatch, ExecutionFilter, StoreResult};
use tokio_util::sync::CancellationToken;

use crate::consumer::{Adopter, Consumer};
use crate::heartbeat;
use crate::parts::Parts;
use crate::reaper::Reaper;
use crate::running::Running;
use crate::timers::Timers;

pub struct Worker {
    parts: Parts,
    running: Arc<Running>,
    consumer: Consumer,
}

/// What others in the process may ask of a worker.
#[derive(Clone)]
pub struct Handle {
    running: Arc<Running>,
    pub adopter: Adopter,
}

impl Handle {
    /// Tells the worker that an execution it may be running was stopped.
    pub fn stop_requested(&self, id: ExecutionId) {
        self.running.stop(id);
    }
}

impl Worker {
    pub fn new(parts: Parts) -> Self {
        let running = Arc::new(Running::default());
        let consumer = Consumer::new(parts.clone(), running.clone());
        Self {
            parts,
            running,
            consumer,
        }
    }

    pub fn handle(&self) -> Handle {
        Handle {
            running: self.running.clone(),
            adopter: self.consumer.adopter(),
        }
    }

    /// Runs until `stop` is cancelled and what is in flight has finished. Dropping the future is a crash: every
    /// service stops where it is.
    pub async fn run(self, stop: CancellationToken) {
        let services = async {
            tokio::join!(
                heartbeat::run(self.parts.clone(), self.running.clone()),
                Timers::new(self.parts.clone()).run(),
                Reaper::new(self.parts.clone()).run(self.running.clone()),
            )
        };
        tokio::select! {
            biased;
            () = self.consumer.run(stop) => {}
            _ = services => {}
        }
    }
}

/// Publishes a message for every execution that can run. Called once at the start of an embedded engine, whose
/// queue lived in the memory of a process that is gone.
pub async fn queue_everything(parts: &Parts) -> StoreResult<u64> {
    let filter = ExecutionFilter {
        statuses: vec![Status::Running, Status::Queued],
        ..ExecutionFilter::default()
    };
    let mut due = Vec::new();
    let mut before = None;
    loop {
        let page = parts
            .store
            .executions(filter.clone(), before, 1_000)
            .await?;
        let Some(last) = page.last() else { break };
        before = Some(last.execution.id);
        let runnable = page
            .iter()
            .filter(|view| view.state.is_runnable() && view.state.lease.is_none());
        due.extend(runnable.map(|view| Dispatch::of(&view.execution, &view.state)));
    }
    let queued = due.len() as u64;
    // The list comes newest first; who has waited longest goes first.
    for dispatch in due.into_iter().rev() {
        parts.publish(dispatch).await;
    }
    Ok(queued)
}

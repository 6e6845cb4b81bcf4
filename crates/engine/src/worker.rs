//! One worker: the services of its roles on one runtime.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::hints::Hint;
use pawl_kernel::ports::store::{Dispatch, ExecutionFilter, StoreResult};
use pawl_kernel::ports::workers::TIMERS_ROLE;
use tokio_util::sync::CancellationToken;

use crate::admission::Admission;
use crate::consumer::Consumer;
use crate::heartbeat::{Heartbeat, StopCheck};
use crate::presence::Presence;
use crate::reaper::Reaper;
use crate::retention::Retention;
use crate::running::RunningPasses;
use crate::runtime::Runtime;
use crate::service::{Service, ServiceRunner};
use crate::slot_pool::SlotPool;
use crate::timers::{Takings, Timers};

/// Taking the worker off the list in the store takes no longer than this.
const DEREGISTER_TIME: Duration = Duration::from_secs(2);

/// What a worker does. Any number of workers may have each role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// Runs executions.
    pub engine: bool,
    /// Wakes what waits.
    pub timers: bool,
    /// Admits what stands in line for a quota.
    pub scheduler: bool,
    /// Finds what was lost.
    pub reaper: bool,
}

impl Roles {
    pub const ALL: Self = Self {
        engine: true,
        timers: true,
        scheduler: true,
        reaper: true,
    };
    pub const NONE: Self = Self {
        engine: false,
        timers: false,
        scheduler: false,
        reaper: false,
    };

    /// `engine,timers`; `Err`: the name that is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut roles = Self::NONE;
        for name in text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            match name {
                "engine" => roles.engine = true,
                TIMERS_ROLE => roles.timers = true,
                "scheduler" => roles.scheduler = true,
                "reaper" => roles.reaper = true,
                "all" => roles = Self::ALL,
                other => return Err(other.to_owned()),
            }
        }
        Ok(roles)
    }

    pub fn names(self) -> Vec<String> {
        [
            (self.engine, "engine"),
            (self.timers, TIMERS_ROLE),
            (self.scheduler, "scheduler"),
            (self.reaper, "reaper"),
        ]
        .into_iter()
        .filter(|(has, _)| *has)
        .map(|(_, name)| name.to_owned())
        .collect()
    }
}

pub struct Worker {
    runtime: Runtime,
    roles: Roles,
    running: Arc<RunningPasses>,
    consumer: Consumer,
}

/// What others in the process may ask of a worker.
#[derive(Clone)]
pub struct Handle {
    running: Arc<RunningPasses>,
    runtime: Runtime,
    /// `None`: this worker runs no executions.
    pub slot_pool: Option<SlotPool>,
}

impl Handle {
    /// Tells the worker that an execution it may be running was stopped.
    pub fn stop_requested(&self, id: ExecutionId) {
        self.running.stop(id);
    }

    /// Takes in a hint from another process.
    pub fn hear(&self, hint: &Hint) {
        if let Hint::Stop { execution_id } = hint {
            self.running.stop(*execution_id);
        }
        self.runtime.hints.heard(hint, self.runtime.now());
    }

    /// Executions in this worker's hands.
    pub fn busy(&self) -> usize {
        self.running.held().len()
    }
}

impl Worker {
    /// A worker with every role.
    pub fn new(runtime: Runtime) -> Self {
        Self::with_roles(runtime, Roles::ALL)
    }

    pub fn with_roles(runtime: Runtime, roles: Roles) -> Self {
        let running = Arc::new(RunningPasses::default());
        let consumer = Consumer::new(runtime.clone(), running.clone());
        Self {
            runtime,
            roles,
            running,
            consumer,
        }
    }

    pub fn handle(&self) -> Handle {
        Handle {
            running: self.running.clone(),
            runtime: self.runtime.clone(),
            slot_pool: self.roles.engine.then(|| self.consumer.slot_pool()),
        }
    }

    /// Runs until `stop` is cancelled and what is in flight has finished; the services go on until then. Dropping the
    /// future is a crash: every service stops where it is, and passes that run where a caller waits for them end when it
    /// does not any more.
    pub async fn run(self, stop: CancellationToken) {
        let handle = self.handle();
        let Self {
            runtime,
            roles,
            running,
            consumer,
        } = self;
        let (stop_timers, stop_services) = (stop.child_token(), CancellationToken::new());
        let timers = Timers::of_worker(runtime.clone(), handle, stop_timers.clone());
        let (takings, actions_over) = (timers.takings(), timers.finished());
        let runner = ServiceRunner::new(&runtime, stop_services.clone());
        let services = services(&runtime, roles, &running, timers, &runner);
        let main = async {
            if roles.engine {
                consumer.run(stop).await;
            } else {
                stop.cancelled().await;
            }
            if roles.timers {
                // Also where it is the queue that has ended.
                stop_timers.cancel();
                let deadline = runtime.now().plus(runtime.options.grace);
                tokio::select! {
                    () = actions_over.cancelled() => {}
                    () = runtime.clock.sleep_until(deadline) => {}
                }
            }
            stop_services.cancel();
        };
        join(main, services.collect::<()>()).await;
        deregister(&runtime, roles, &takings).await;
    }
}

/// The services of these roles. Each has a waker of its own: the consumer wakes the worker's task for every execution, and
/// they have nothing to do then.
fn services(
    runtime: &Runtime,
    roles: Roles,
    running: &Arc<RunningPasses>,
    timers: Timers,
    runner: &ServiceRunner,
) -> FuturesUnordered<BoxFuture<'static, ()>> {
    let services = FuturesUnordered::new();
    if roles.engine {
        services.push(boxed(runner, Heartbeat::new(runtime, running.clone())));
        services.push(boxed(runner, StopCheck::new(runtime, running.clone())));
    }
    if roles.timers {
        services.push(boxed(runner, timers));
    }
    if roles.reaper {
        services.push(boxed(runner, Reaper::of_worker(runtime, running.clone())));
        services.push(boxed(runner, Retention::new(runtime)));
    }
    if roles.scheduler {
        services.push(boxed(runner, Admission::new(runtime)));
    }
    if roles != Roles::NONE {
        services.push(boxed(
            runner,
            Presence::new(runtime, roles, running.clone()),
        ));
    }
    services
}

fn boxed(runner: &ServiceRunner, service: impl Service + 'static) -> BoxFuture<'static, ()> {
    runner.clone().run(service).boxed()
}

/// The other workers need not wait until they miss this one.
async fn deregister(runtime: &Runtime, roles: Roles, takings: &Takings) {
    let leave = async {
        if roles.timers {
            let _ = runtime
                .store
                .unlock_shards(takings.guids(), None, runtime.now())
                .await;
        }
        if roles != Roles::NONE {
            let _ = runtime
                .store
                .remove_worker(&runtime.options.worker_id)
                .await;
        }
    };
    let deadline = runtime.now().plus(DEREGISTER_TIME);
    tokio::select! {
        () = leave => {}
        () = runtime.clock.sleep_until(deadline) => {}
    }
}

/// Publishes a message for every execution that can run. Called once at the start of an embedded engine, whose
/// queue lived in the memory of a process that is gone.
pub async fn queue_everything(runtime: &Runtime) -> StoreResult<u64> {
    let filter = ExecutionFilter {
        statuses: vec![Status::Running, Status::Queued],
        ..ExecutionFilter::default()
    };
    let mut due = Vec::new();
    let mut before = None;
    loop {
        let page = runtime
            .store
            .executions(filter.clone(), before, 1_000)
            .await?;
        let Some(last) = page.last() else { break };
        before = Some(last.execution.head.id);
        let runnable = page
            .iter()
            .filter(|view| view.state.is_runnable() && view.state.lease.is_none());
        due.extend(runnable.map(|view| Dispatch::of(&view.execution.head, &view.state)));
    }
    let queued = due.len() as u64;
    // The list comes newest first; who has waited longest goes first.
    for dispatch in due.into_iter().rev() {
        runtime.publish(dispatch).await;
    }
    Ok(queued)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_and_named() {
        assert_eq!(Roles::parse("all"), Ok(Roles::ALL));
        assert_eq!(Roles::parse(""), Ok(Roles::NONE));
        let two = Roles::parse(" timers, reaper").unwrap();
        assert_eq!(two.names(), ["timers", "reaper"]);
        assert_eq!(Roles::parse("engine,cook"), Err("cook".to_owned()));
    }
}

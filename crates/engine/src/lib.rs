//! The loops that run executions. Start reading at [`pass`]: one worker's pass over one execution.
//!
//! [`worker`] puts the services together; [`control`] is what API and CLI call; [`insight`] answers why an
//! execution is where it is. The engine knows no concrete store, queue, node type or server.

mod actions;
pub mod admission;
mod announcer;
mod backlog;
pub mod consumer;
mod context_cache;
pub mod control;
mod evaluation;
mod graphs;
mod heartbeat;
mod hints;
pub mod insight;
pub mod metrics;
mod options;
mod pass;
mod pending_create;
mod presence;
mod publisher;
pub mod reaper;
pub mod retention;
mod running;
mod runtime;
mod service;
pub mod slot_pool;
mod sync;
mod timers;
pub mod worker;

pub use actions::{MockHook, MockRun};
pub use graphs::{GraphError, Graphs};
pub use hints::{AllWatcher, Hints, News, Roundup, Watcher};
pub use metrics::Metrics;
pub use options::Options;
pub use pawl_kernel::redact::Redactor;
pub use presence::alive_since;
pub use runtime::Runtime;
pub use service::{NextTick, Service, ServiceRunner};

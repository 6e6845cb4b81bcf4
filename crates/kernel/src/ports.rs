//! What the engine needs from the world, as traits. A store or queue is one crate that implements them and
//! passes the conformance suite in `testkit`.

pub mod batches;
pub mod catalog;
pub mod control;
mod filter;
pub mod hints;
pub mod history;
pub mod keys;
pub mod letters;
pub mod overview;
pub mod queue;
pub mod quotas;
pub mod recovery;
pub mod retention;
pub mod schedule;
pub mod sessions;
pub mod store;
mod timers;
pub mod webhooks;
pub mod workers;

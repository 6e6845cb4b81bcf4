//! What the engine needs from the world, as traits. A store or queue is one crate that implements them and
//! passes the conformance suite in `testkit`.

pub mod queue;
pub mod store;

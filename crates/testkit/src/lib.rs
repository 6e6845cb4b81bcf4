//! What tests need and production never sees: a store and a queue in memory that are right by being plain, a
//! clock and chance that a seed decides, faults, and the suites that every store and queue must pass.
//!
//! Reading order: [`clock`], [`model`] and [`model_queue`], [`faults`], [`nodes`], [`fixture`],
//! [`conformance`], [`differential`], [`warnings`].

// A failed unwrap is a failed test, which is what this crate is for.
#![allow(clippy::unwrap_used)]

pub mod clock;
pub mod conformance;
pub mod crowd;
pub mod differential;
pub mod exposition;
pub mod faults;
pub mod fixture;
pub mod model;
pub mod model_queue;
pub mod nodes;
pub mod warnings;

//! Everything here runs against a real RabbitMQ: a private one that all tests share, each in a vhost of its own, and
//! one more for each test that breaks it.

// A failed unwrap is a failed test.
#![allow(clippy::unwrap_used)]

#[path = "broker/alarm.rs"]
mod alarm;
#[path = "broker/conformance.rs"]
mod conformance;
#[path = "broker/dead_letters.rs"]
mod dead_letters;
#[path = "broker/declaring.rs"]
mod declaring;
#[path = "broker/errors.rs"]
mod errors;
#[path = "broker/external.rs"]
mod external;
#[path = "broker/hints.rs"]
mod hints;
#[path = "broker/publisher.rs"]
mod publisher;
#[path = "broker/publishing.rs"]
mod publishing;
#[path = "broker/recovery.rs"]
mod recovery;
#[path = "broker/sharing.rs"]
mod sharing;
#[path = "broker/support.rs"]
mod support;
#[path = "broker/tls.rs"]
mod tls;

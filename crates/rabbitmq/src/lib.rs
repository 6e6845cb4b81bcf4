//! RabbitMQ for Pawl.
//!
//! Reading order: [`Options`], [`Topology`] (what is on the broker), `wire` (messages as bytes), `link` and `supervisor`
//! (a connection and how it is kept), `publishing` with `desk` and `flights`, `consuming` with `inbox` and `settle`,
//! [`RabbitQueue`] (both together), then [`DeadLetterDrain`], [`HintBus`] and [`Publisher`], which stand for themselves.
//!
//! lapin logs what it sees under its own name, bodies of returned messages included: a program must silence it
//! (`lapin=off`), everything worth knowing is said here.

mod address;
mod confirm_publisher;
mod consuming;
mod dead_letter_sender;
mod drain;
mod error;
mod external;
mod flights;
mod hints;
mod inbox;
mod link;
mod options;
mod outcome;
mod publisher;
mod publishing;
mod queue;
mod settle;
mod stats;
mod stream;
mod supervisor;
mod table;
mod topology;
mod wire;

pub use address::BrokerUrl;
pub use drain::{DeadLetterDrain, DeadLetterMessage};
pub use error::BrokerError;
pub use external::ExternalStart;
pub use hints::{HintBus, Hints};
pub use options::{Options, Ports, QueueType, Start};
pub use pawl_kernel::ports::hints::Hint;
pub use publisher::{PublishError, PublishRequest, Publisher};
pub use queue::RabbitQueue;
pub use stats::{ConnectionStats, QueueStats, Stats};
pub use topology::Topology;
pub use wire::asks_for_start;

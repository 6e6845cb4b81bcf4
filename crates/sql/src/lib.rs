//! Transactions on users' databases, each exactly once.
//!
//! A [`Plan`] is what a schema says: statements that were checked when it was saved. A [`Script`] evaluates what stands
//! around them. [`Connections::run`] carries both out in one transaction on a database of the configuration, with a row in
//! `pawl_applied` of that database as its first statement: a step that comes again with the same effect key, after a
//! crash or at the same time, gets the result that was stored.
//!
//! Reading order: [`Plan`] (and `lexer`, `guard`, `placeholders` below it), `transaction` (the protocol), `retry`, then the
//! two databases. What is not here: expressions, which belong to the kernel, and the decision whether a failed step is
//! tried again, which belongs to the engine.

mod connections;
mod exact;
mod expect;
mod fault;
mod guard;
mod lexer;
mod node;
mod placeholders;
mod plan;
mod postgres;
mod results;
mod retry;
mod script;
mod settings;
mod sqlite;
mod transaction;

pub use connections::Connections;
pub use expect::{Comparison, Expectation};
pub use guard::{Problem, Verb};
pub use lexer::Dialect;
pub use node::SqlNode;
pub use placeholders::{CompiledStatement, Params, Slots, compile};
pub use plan::{Isolation, Plan, Statement};
pub use script::{Scope, Script};
pub use settings::{Settings, SettingsError, is_database};
pub use transaction::{TransactionReport, Work};

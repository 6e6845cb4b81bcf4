//! The pure heart of Pawl. Nothing in here waits, reads a clock, opens a socket or speaks SQL.
//!
//! Reading order: [`id`] and [`time`], [`schema`] (text to graph), [`node`], [`execution`] (the rows),
//! [`transition`] and [`lifecycle`] (every decision about one execution), [`operations`] (every transaction), [`quota`] (who may start), [`schedule`] (what is done
//! later), [`input`] (what an execution may be started with), [`webhook`] (what is called from outside), [`context`], [`ports`] (what the engine needs).

pub mod context;
pub mod diagnostic;
pub mod digest;
pub mod effect;
pub mod execution;
pub mod expr;
pub mod id;
pub mod input;
pub mod json;
pub mod lifecycle;
pub mod migration;
pub mod node;
pub mod operations;
pub mod percent;
pub mod planted;
pub mod ports;
pub mod quota;
pub mod recent;
pub mod redact;
pub mod schedule;
pub mod schema;
pub mod secrets;
pub mod start_key;
pub mod statistics;
pub mod text;
pub mod time;
pub mod transition;
pub mod trial;
pub mod user;
pub mod variables;
pub mod visit;
pub mod webhook;

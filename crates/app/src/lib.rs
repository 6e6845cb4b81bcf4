//! The binary's library: the only place where store, queue, nodes, engine and HTTP meet.
//!
//! [`wiring`] puts an engine together, [`api`] serves it, [`cli`] is what people type; [`wire`] is what the two say
//! to each other.

pub mod api;
pub mod bench;
pub mod cli;
pub mod config;
pub mod echo;
mod gzip;
pub mod process;
mod services;
pub mod system;
mod ui;
mod wire;
pub mod wiring;

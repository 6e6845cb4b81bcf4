//! The HTTP interface over real sockets, on a real store in a folder of its own.

// Helpers of tests stand outside the functions that clippy knows as tests.
#![allow(clippy::unwrap_used)]

#[path = "api/access.rs"]
mod access;
#[path = "api/actions.rs"]
mod actions;
#[path = "api/branches.rs"]
mod branches;
#[path = "api/client.rs"]
mod client;
#[path = "api/contract.rs"]
mod contract;
#[path = "api/control.rs"]
mod control;
#[path = "api/debugger.rs"]
mod debugger;
#[path = "api/doors.rs"]
mod doors;
#[path = "api/drawing.rs"]
mod drawing;
#[path = "api/editing.rs"]
mod editing;
#[path = "api/effects.rs"]
mod effects;
#[path = "api/evaluation.rs"]
mod evaluation;
#[path = "api/events.rs"]
mod events;
#[path = "api/executions.rs"]
mod executions;
#[path = "api/history.rs"]
mod history;
#[path = "api/hook.rs"]
mod hook;
#[path = "api/hostile.rs"]
mod hostile;
#[path = "api/input.rs"]
mod input;
#[path = "api/keys.rs"]
mod keys;
#[path = "api/letters.rs"]
mod letters;
#[path = "api/lineage.rs"]
mod lineage;
#[path = "api/live.rs"]
mod live;
#[path = "api/metrics.rs"]
mod metrics;
#[path = "api/notes.rs"]
mod notes;
#[path = "api/operations.rs"]
mod operations;
#[path = "api/overview.rs"]
mod overview;
#[path = "api/quotas.rs"]
mod quotas;
#[path = "api/retention.rs"]
mod retention;
#[path = "api/runs.rs"]
mod runs;
#[path = "api/schedule.rs"]
mod schedule;
#[path = "api/schemas.rs"]
mod schemas;
#[path = "api/secrets.rs"]
mod secrets;
#[path = "api/server.rs"]
mod server;
#[path = "api/session.rs"]
mod session;
#[path = "api/shell.rs"]
mod shell;
#[path = "api/trials.rs"]
mod trials;
#[path = "api/triggers.rs"]
mod triggers;
#[path = "api/users.rs"]
mod users;
#[path = "common/waiting.rs"]
#[allow(dead_code)]
mod waiting;
#[path = "api/webhooks.rs"]
mod webhooks;

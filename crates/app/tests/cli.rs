//! The real binary, from outside: what it prints, how it exits, what it leaves on disk.

#![allow(clippy::unwrap_used)]

#[path = "cli/branches.rs"]
mod branches;
#[path = "cli/client.rs"]
mod client;
#[path = "cli/dev.rs"]
mod dev;
#[path = "cli/editor.rs"]
mod editor;
#[path = "cli/examples.rs"]
mod examples;
#[path = "cli/gc.rs"]
mod gc;
#[path = "cli/hostile.rs"]
mod hostile;
#[path = "cli/keys.rs"]
mod keys;
#[path = "cli/log.rs"]
mod log;
#[path = "cli/quotas.rs"]
mod quotas;
#[path = "cli/run.rs"]
mod run;
#[path = "cli/schedule.rs"]
mod schedule;
#[path = "cli/settings.rs"]
mod settings;
#[path = "cli/support.rs"]
mod support;
#[path = "cli/tries.rs"]
mod tries;

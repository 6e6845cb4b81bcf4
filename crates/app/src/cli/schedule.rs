//! `pawl schedule …`: what is to be done later, once or again and again.

mod look;
mod words;
mod write;

use super::Common;
use super::client::Server;
use super::failure::Done;

#[derive(clap::Subcommand)]
pub(super) enum ScheduleCommand {
    /// Write an action: from a file, or from flags for the common cases.
    Put(Box<PutArgs>),
    /// Scheduled actions by id, those of cron triggers among them.
    List(ActionListArgs),
    /// One action: when it fires next, and what has become of it so far.
    Show(OneAction),
    /// Remove it with its history.
    Delete(OneAction),
    /// Let it fire now; a schedule goes on as planned.
    Run(OneAction),
    /// Let nothing new begin.
    Pause(OneAction),
    /// Go on after a pause; what was missed is left out.
    Resume(OneAction),
    /// Its attempts, newest first.
    History(ActionHistoryArgs),
    /// When an action would fire, without writing it.
    Preview(PreviewArgs),
}

#[derive(clap::Args)]
pub(super) struct OneAction {
    /// The action's id.
    id: String,
    #[command(flatten)]
    server: Server,
}

/// When.
#[derive(clap::Args)]
#[group(multiple = true)]
pub(super) struct WhenArgs {
    /// Once, at this time: 2026-12-01T09:00:00Z.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["after", "every", "cron"])]
    at: Option<String>,
    /// Once, after this time: 5m.
    #[arg(id = "after", long = "in", value_name = "TIME", conflicts_with_all = ["every", "cron"])]
    after: Option<String>,
    /// Again and again, from now on: 1h.
    #[arg(long, value_name = "TIME", conflicts_with = "cron")]
    every: Option<String>,
    /// By a cron line: '0 9 * * MON-FRI', with seconds first if there are six fields.
    #[arg(long, value_name = "LINE", allow_hyphen_values = true)]
    cron: Option<String>,
    /// Whose clocks the cron line means; UTC if left out.
    #[arg(long, value_name = "ZONE", requires = "cron")]
    timezone: Option<String>,
}

/// What.
#[derive(clap::Args)]
pub(super) struct WhatArgs {
    /// Start an execution of this schema.
    #[arg(long, value_name = "SCHEMA", conflicts_with = "callback")]
    start: Option<String>,
    /// Its input: JSON, `@file`, or `-` for stdin.
    #[arg(
        long,
        value_name = "JSON|@FILE|-",
        requires = "start",
        allow_hyphen_values = true
    )]
    input: Option<String>,
    /// Call this address.
    #[arg(long, value_name = "URL")]
    callback: Option<String>,
    /// How to call it; POST if left out.
    #[arg(long, value_name = "METHOD", requires = "callback")]
    method: Option<String>,
    /// What to send: JSON, `@file`, or `-` for stdin.
    #[arg(
        long,
        value_name = "JSON|@FILE|-",
        requires = "callback",
        allow_hyphen_values = true
    )]
    body: Option<String>,
    /// A header to send; may be given several times.
    #[arg(long = "header", value_name = "NAME: VALUE", requires = "callback")]
    headers: Vec<String>,
}

#[derive(clap::Args)]
pub(super) struct PutArgs {
    /// Its id: letters, digits and `-_.@`.
    id: String,
    /// The body as JSON or YAML, `-` for stdin; without it the flags say when and what.
    #[arg(value_name = "FILE")]
    file: Option<String>,
    #[command(flatten)]
    when: WhenArgs,
    #[command(flatten)]
    what: WhatArgs,
    /// How often to try again after a failure.
    #[arg(long, value_name = "N", conflicts_with = "file")]
    retries: Option<u32>,
    /// If there is one of this id: none (refuse), meta_and_spec_only (keep its status, and its next time unless the policy changed), all (begin anew).
    #[arg(long = "override", value_name = "MODE")]
    mode: Option<String>,
    #[command(flatten)]
    server: Server,
}

#[derive(clap::Args)]
pub(super) struct ActionListArgs {
    /// Only ids that begin like this.
    #[arg(long)]
    prefix: Option<String>,
    /// Only those that are over.
    #[arg(long, conflicts_with = "open")]
    finished: bool,
    /// Only those that are not over.
    #[arg(long)]
    open: bool,
    /// Only those due before this time: 2026-12-01T09:00:00Z.
    #[arg(long, value_name = "TIME")]
    due_before: Option<String>,
    /// How many.
    #[arg(long, default_value_t = 50)]
    limit: u32,
    /// Where the last page ended.
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    server: Server,
}

#[derive(clap::Args)]
pub(super) struct ActionHistoryArgs {
    #[command(flatten)]
    one: OneAction,
    /// How many.
    #[arg(long, default_value_t = 50)]
    limit: u32,
    /// Where the last page ended.
    #[arg(long)]
    cursor: Option<String>,
}

#[derive(clap::Args)]
pub(super) struct PreviewArgs {
    /// A file as `put` takes it, `-` for stdin; without it the flags say when.
    #[arg(value_name = "FILE")]
    file: Option<String>,
    #[command(flatten)]
    when: WhenArgs,
    /// How many firings, 1 to 1000.
    #[arg(long, default_value_t = 10)]
    count: u32,
    #[command(flatten)]
    server: Server,
}

pub(super) async fn schedule(command: ScheduleCommand, common: &Common) -> Done {
    use ScheduleCommand as C;
    let json = common.json;
    match command {
        C::Put(args) => write::put(*args, json).await,
        C::List(args) => look::list(args, json).await,
        C::Show(one) => look::show(one, json).await,
        C::Delete(one) => write::delete(one, json).await,
        C::Run(one) => write::command(one, "run", json).await,
        C::Pause(one) => write::command(one, "pause", json).await,
        C::Resume(one) => write::command(one, "resume", json).await,
        C::History(args) => look::history(args, json).await,
        C::Preview(args) => look::preview(args, json).await,
    }
}

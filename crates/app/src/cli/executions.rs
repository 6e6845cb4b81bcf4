//! `pawl executions …`: what runs, what ran, and what people want of it.

mod act;
mod counts;
mod events;
mod look;

use super::Common;
use super::client::Server;
use super::failure::Done;

#[derive(clap::Subcommand)]
pub(super) enum ExecutionCommand {
    /// Executions, newest first.
    List(ListArgs),
    /// How many there are, by status, node or schema; counted up to 10 000.
    Count(CountArgs),
    /// What went wrong lately, by error code, schema and node.
    Errors(ErrorsArgs),
    /// One execution.
    Show(OneExecution),
    /// Start one, and wait for its end if asked to.
    Start(StartArgs),
    /// What it did, step by step.
    Steps(HistoryArgs),
    /// What its nodes wrote: `log`, the console of `code`, warnings.
    Logs(LogArgs),
    /// What expressions see: now, or before and after a step.
    Context {
        #[command(flatten)]
        one: OneExecution,
        /// The step; without it the context as it is now.
        #[arg(long)]
        seq: Option<u64>,
    },
    /// Follow it until it ends.
    #[command(visible_alias = "follow")]
    Events(OneExecution),
    /// Why it is not moving, who or what holds it, until when.
    Explain(OneExecution),
    /// Two runs side by side; a failed one is compared with the last good one.
    Diff {
        #[command(flatten)]
        one: OneExecution,
        /// The other execution.
        #[arg(long, value_name = "ID")]
        with: Option<String>,
        /// Without the steps that a retry or fork took over.
        #[arg(long)]
        no_inherited: bool,
    },
    /// Pause after the current node.
    Pause(OneExecution),
    /// Go on after a pause.
    Resume(OneExecution),
    /// End it.
    Stop(OneExecution),
    /// Hand it to the debugger after the node that it is at; `continue` goes on.
    Debug(OneExecution),
    /// Go on in debug mode: one step, to a node, or to the end.
    Continue(ContinueArgs),
    /// Repeat a failed execution from its failed step, as a new one.
    Retry(RetryArgs),
    /// Go on from any step with other variables or another input, as a new execution.
    Fork(ForkArgs),
    /// Send an event to it.
    Signal(SignalArgs),
    /// Write a note on it, which `show` and `steps` show.
    Note {
        #[command(flatten)]
        one: OneExecution,
        /// The note.
        text: String,
    },
}

#[derive(clap::Args)]
pub(super) struct OneExecution {
    /// The execution's id.
    id: String,
    #[command(flatten)]
    server: Server,
}

#[derive(clap::Args)]
pub(super) struct HistoryArgs {
    #[command(flatten)]
    one: OneExecution,
    /// Only from this step on.
    #[arg(long, value_name = "SEQ")]
    from: Option<u64>,
    /// Only up to this step.
    #[arg(long, value_name = "SEQ")]
    to: Option<u64>,
    /// Without the steps that a retry or fork took over.
    #[arg(long)]
    no_inherited: bool,
}

#[derive(clap::Args)]
pub(super) struct LogArgs {
    #[command(flatten)]
    one: OneExecution,
    /// The lowest level shown: debug, info, warn or error.
    #[arg(long)]
    level: Option<String>,
    /// Only lines of this node.
    #[arg(long)]
    node: Option<String>,
}

#[derive(clap::Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    filter: FilterArgs,
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
pub(super) struct CountArgs {
    #[command(flatten)]
    filter: FilterArgs,
    /// By status, node or schema.
    #[arg(long, value_name = "GROUP", default_value = "status")]
    by: String,
    #[command(flatten)]
    server: Server,
}

#[derive(clap::Args)]
pub(super) struct ErrorsArgs {
    /// Only created since then, as 2026-01-31T00:00:00Z; a day ago if not given.
    #[arg(long)]
    since: Option<String>,
    /// Only of this schema.
    #[arg(long)]
    schema: Option<String>,
    /// Only with this error code.
    #[arg(long, value_name = "CODE")]
    error_code: Option<String>,
    #[command(flatten)]
    server: Server,
}

/// Which executions.
#[derive(clap::Args)]
pub(super) struct FilterArgs {
    /// Only these, separated by commas: running, sleeping, waiting, failed, …
    #[arg(long)]
    status: Option<String>,
    /// Only of this schema.
    #[arg(long)]
    schema: Option<String>,
    /// Only with this text in id, labels, keys or error.
    #[arg(long)]
    text: Option<String>,
    /// Only created since then, as 2026-01-31T00:00:00Z.
    #[arg(long)]
    since: Option<String>,
    /// Only with this label.
    #[arg(long, value_name = "NAME:VALUE")]
    label: Option<String>,
    /// Only of this tenant.
    #[arg(long)]
    tenant: Option<String>,
    /// Only started by this caller.
    #[arg(long, value_name = "CALLER")]
    created_by: Option<String>,
    /// Only of this version of the schema.
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// Only standing at this node.
    #[arg(long)]
    node: Option<String>,
    /// Only ended with this error code.
    #[arg(long, value_name = "CODE")]
    error_code: Option<String>,
    /// Only retries of this execution.
    #[arg(long, value_name = "ID")]
    retry_of: Option<String>,
    /// Only forks of this execution.
    #[arg(long, value_name = "ID")]
    forked_from: Option<String>,
    /// Only ended since then.
    #[arg(long, value_name = "TIME")]
    finished_since: Option<String>,
    /// Only those that took, or have taken, longer than this: 30s, 2h.
    #[arg(long, value_name = "DURATION")]
    longer_than: Option<String>,
    /// Only what failed, got stuck or was stopped and has not been retried.
    #[arg(long)]
    unresolved: bool,
    /// Only trial runs, which are left out otherwise.
    #[arg(long)]
    trial: bool,
}

#[derive(clap::Args)]
pub(super) struct StartArgs {
    /// Name or id of the schema.
    schema: String,
    /// JSON, `@file`, or `-` for stdin.
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    input: Option<String>,
    /// A variable to start with; may be given several times.
    #[arg(long = "var", value_name = "NAME=JSON")]
    variables: Vec<String>,
    /// This version instead of the latest.
    #[arg(long)]
    version: Option<u32>,
    /// Stop after every step until `continue`.
    #[arg(long)]
    debug: bool,
    /// high, normal or low.
    #[arg(long)]
    priority: Option<String>,
    #[arg(long)]
    tenant: Option<String>,
    /// The same key starts the same execution only once.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Not before this time, as 2026-12-01T09:00:00Z.
    #[arg(long, value_name = "TIME")]
    start_at: Option<String>,
    /// As a test, which lists and statistics leave out.
    #[arg(long)]
    trial: bool,
    /// A test in which the pinned outputs of the schema stand in for their nodes.
    #[arg(long)]
    pins: bool,
    /// A test that ends behind this node.
    #[arg(long, value_name = "NODE")]
    stop_after: Option<String>,
    #[command(flatten)]
    wait: WaitFlag,
    #[command(flatten)]
    server: Server,
}

#[derive(clap::Args)]
pub(super) struct WaitFlag {
    /// Wait for the end, at most this long (30s if no time is given).
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "30s")]
    wait: Option<String>,
}

#[derive(clap::Args)]
pub(super) struct ContinueArgs {
    #[command(flatten)]
    one: OneExecution,
    /// Run on without stopping.
    #[arg(long, conflicts_with_all = ["to", "until"])]
    run: bool,
    /// Run to this node.
    #[arg(long, value_name = "NODE", conflicts_with = "until")]
    to: Option<String>,
    /// Run until it comes to one of these nodes; may be given several times.
    #[arg(long, value_name = "NODE")]
    until: Vec<String>,
    /// A variable to change first; may be given several times.
    #[arg(long = "var", value_name = "NAME=JSON")]
    variables: Vec<String>,
    /// Only if it stands after this step.
    #[arg(long, value_name = "SEQ")]
    expect_seq: Option<u64>,
}

#[derive(clap::Args)]
pub(super) struct RetryArgs {
    #[command(flatten)]
    one: OneExecution,
    /// A variable to change first; may be given several times.
    #[arg(long = "var", value_name = "NAME=JSON")]
    variables: Vec<String>,
    /// The version to go on with: `latest` or a number.
    #[arg(long, value_name = "latest|N")]
    version: Option<String>,
    /// Raise the limit of steps.
    #[arg(long)]
    max_steps: Option<u64>,
    /// Raise the limit of outgoing calls.
    #[arg(long)]
    max_calls: Option<u64>,
    /// Give it so much time from now on.
    #[arg(long)]
    max_duration: Option<String>,
    /// Let the failed effect happen again even where the other side remembers it, or as another request.
    #[arg(long)]
    new_effect_key: bool,
    /// Retry it although it was retried before.
    #[arg(long)]
    again: bool,
    /// The same key makes the same retry only once.
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Stop after every step until `continue`.
    #[arg(long)]
    debug: bool,
    #[command(flatten)]
    wait: WaitFlag,
}

#[derive(clap::Args)]
pub(super) struct ForkArgs {
    #[command(flatten)]
    one: OneExecution,
    /// The last step to take over.
    #[arg(long, value_name = "SEQ")]
    from: u64,
    /// A variable to change; may be given several times.
    #[arg(long = "var", value_name = "NAME=JSON")]
    variables: Vec<String>,
    /// Another input: JSON, `@file`, or `-` for stdin.
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    input: Option<String>,
    /// The version to go on with: `latest` or a number.
    #[arg(long, value_name = "latest|N")]
    version: Option<String>,
    /// Stop after every step until `continue`.
    #[arg(long)]
    debug: bool,
    #[command(flatten)]
    wait: WaitFlag,
}

#[derive(clap::Args)]
pub(super) struct SignalArgs {
    #[command(flatten)]
    one: OneExecution,
    /// The name of the event.
    name: String,
    /// JSON, `@file`, or `-` for stdin.
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    payload: Option<String>,
    /// A signal with the same id counts once.
    #[arg(long, value_name = "ID")]
    signal_id: Option<String>,
}

pub(super) async fn execution(command: ExecutionCommand, common: &Common) -> Done {
    use ExecutionCommand as C;
    let json = common.json;
    match command {
        C::List(args) => look::list(args, json).await,
        C::Count(args) => counts::count(args, json).await,
        C::Errors(args) => counts::errors(args, json).await,
        C::Show(one) => look::show(one, json).await,
        C::Steps(args) => look::steps(args, json).await,
        C::Logs(args) => look::logs(args, json).await,
        C::Context { one, seq } => look::context(one, seq, json).await,
        C::Explain(one) => look::explain(one, json).await,
        C::Diff {
            one,
            with,
            no_inherited,
        } => look::diff(one, with.as_deref(), no_inherited, json).await,
        C::Events(one) => events::follow(one, json).await,
        C::Start(args) => act::start(args, json).await,
        C::Pause(one) => act::plain(one, "pause", json).await,
        C::Resume(one) => act::plain(one, "resume", json).await,
        C::Stop(one) => act::plain(one, "stop", json).await,
        C::Debug(one) => act::plain(one, "debug", json).await,
        C::Continue(args) => act::go_on(args, json).await,
        C::Retry(args) => act::retry(args, json).await,
        C::Fork(args) => act::fork(args, json).await,
        C::Signal(args) => act::signal(args, json).await,
        C::Note { one, text } => act::note(one, text, json).await,
    }
}

//! What people type. [`main`] parses, starts the runtime and turns the result into an exit code:
//! 0 done, 1 failed, 2 bad input.
//!
//! `dev` and `run` carry an engine in this process; all other commands that need one talk to it over HTTP.

mod browser;
mod client;
mod cluster;
mod connections;
mod dev;
mod dlq;
mod doctor;
mod examples;
mod executions;
mod failure;
mod gc;
mod keys;
mod lifetime;
mod local;
mod node_types;
mod packs;
mod quotas;
mod run;
mod schedule;
mod schemas;
mod signals;
mod source;
mod table;
mod terminal;
mod text;
mod validate;
mod workers;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use failure::{Done, Failure};

#[derive(Parser)]
#[command(name = "pawl", version, about = "Durable workflows from one binary")]
#[command(
    after_help = "Start with `pawl dev`, or run one file with `pawl run examples/order-check.yaml`.\n\
                        Exit codes: 0 done, 1 failed, 2 bad input."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: Common,
}

/// What every command understands.
#[derive(clap::Args, Clone, Debug)]
struct Common {
    /// Print JSON for programs instead of text for people.
    #[arg(long, global = true)]
    json: bool,
    /// Write the log (to stderr) as JSON lines; PAWL_LOG sets what is logged, like `info` or `pawl_engine=debug`.
    #[arg(long, global = true)]
    log_json: bool,
    /// The configuration file; `pawl.toml` in the working folder if it is there.
    #[arg(long, global = true, value_name = "FILE", env = "PAWL_CONFIG")]
    config: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Run everything in one process on a data folder: API, worker, timers.
    Dev(dev::DevArgs),
    /// Serve the API of a cluster on PostgreSQL and RabbitMQ.
    Server(cluster::ServerArgs),
    /// Run executions, timers and recovery of a cluster.
    Worker(cluster::WorkerArgs),
    /// Run one schema to its end and show its steps.
    Run(run::RunArgs),
    /// Check schema files and report every problem at once.
    Validate(validate::ValidateArgs),
    /// Schemas of a running Pawl.
    #[command(subcommand, visible_alias = "schemas")]
    Schema(schemas::SchemaCommand),
    /// Executions of a running Pawl.
    #[command(subcommand, visible_alias = "execution")]
    Executions(Box<executions::ExecutionCommand>),
    /// Scheduled actions: what is to be done later, once or again and again.
    #[command(subcommand, visible_alias = "schedules")]
    Schedule(schedule::ScheduleCommand),
    /// Find executions that nothing will move, and repair them.
    Doctor(doctor::DoctorArgs),
    /// Remove what is past its retention now, instead of within the hour.
    Gc(gc::GcArgs),
    /// Dead letters: executions and messages that could not be processed.
    #[command(subcommand)]
    Dlq(dlq::LetterCommand),
    /// API keys: who may use a running Pawl.
    #[command(subcommand, visible_alias = "keys")]
    Key(keys::KeyCommand),
    /// Quotas: how many executions may be under way at once.
    #[command(subcommand, visible_alias = "quotas")]
    Quota(quotas::QuotaCommand),
    /// Databases and brokers of the configuration.
    #[command(subcommand, visible_alias = "connections")]
    Connection(connections::ConnectionCommand),
    /// Workflows that ship with Pawl, with their tables.
    #[command(subcommand, visible_alias = "packs")]
    Pack(packs::PackCommand),
    /// Who runs the executions, and what they are doing.
    Workers(workers::WorkersArgs),
    /// What node types there are, and how one is configured.
    NodeTypes(node_types::NodeTypesArgs),
    /// Measure this machine and this release, as ratios against a baseline.
    Bench(BenchArgs),
    /// Print the description of the HTTP API (OpenAPI 3.1), for programs that make types of it.
    Openapi,
    /// Print a completion script for a shell.
    Completions { shell: Shell },
}

#[derive(clap::Args)]
struct BenchArgs {
    /// What to measure: `engine` for all of it, `pure` or `effect` for one flow, `timers` for scheduled actions; on a cluster also `strict` and `crew`.
    what: Option<String>,
    /// A tenth of the work: for a look, not for a figure.
    #[arg(long)]
    quick: bool,
    /// Measure in this folder instead of a temporary one.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Measure a cluster: on this PostgreSQL database, in a namespace of its own.
    #[arg(long, value_name = "URL", requires = "broker_url")]
    database_url: Option<String>,
    /// And with this RabbitMQ broker.
    #[arg(long, value_name = "URL", requires = "database_url")]
    broker_url: Option<String>,
    #[arg(long, hide = true)]
    slots: Option<usize>,
}

pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help that cannot be written has no reader.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let json = cli.common.json;
    if let Err(failure) = start_log(&cli.common) {
        return failure::exit_code(Err(failure), json);
    }
    match cli.command {
        Command::Bench(args) => bench(args, json),
        command => failure::exit_code(run_to_end(command, &cli.common), json),
    }
}

/// It starts engines and runtimes of its own.
fn bench(args: BenchArgs, json: bool) -> ExitCode {
    let arguments = crate::bench::Arguments {
        what: args.what,
        json,
        quick: args.quick,
        data: args.data,
        places: args
            .database_url
            .zip(args.broker_url)
            .map(|(database_url, broker_url)| crate::bench::ServerUrls {
                database_url,
                broker_url,
            }),
        slots: args.slots,
    };
    crate::bench::run(&arguments)
}

fn run_to_end(command: Command, common: &Common) -> Done {
    let runtime = crate::system::runtime()
        .map_err(|error| Failure::failed(format!("cannot start the runtime: {error}")))?;
    let result = runtime.block_on(Box::pin(dispatch(command, common)));
    // A thread that still reads the terminal must not keep the process alive.
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

async fn dispatch(command: Command, common: &Common) -> Done {
    match command {
        Command::Dev(args) => dev::dev(args, common).await,
        Command::Server(args) => Box::pin(cluster::server(args, common)).await,
        Command::Worker(args) => Box::pin(cluster::worker(args, common)).await,
        Command::Run(args) => run::run(args, common).await,
        Command::Validate(args) => validate::validate(args, common),
        Command::Schema(command) => schemas::schema(command, common).await,
        Command::Executions(command) => executions::execution(*command, common).await,
        Command::Schedule(command) => schedule::schedule(command, common).await,
        Command::Doctor(args) => doctor::doctor(args, common).await,
        Command::Gc(args) => gc::gc(args, common).await,
        Command::Dlq(command) => dlq::letter(command, common).await,
        Command::Key(command) => keys::key(command, common).await,
        Command::Quota(command) => quotas::quota(command, common).await,
        Command::Connection(command) => connections::connection(command, common).await,
        Command::Pack(command) => packs::pack(command, common).await,
        Command::Workers(args) => workers::workers(args, common).await,
        Command::NodeTypes(args) => node_types::node_types(args, common).await,
        Command::Openapi => openapi(),
        Command::Completions { shell } => completions(shell),
        Command::Bench(_) => Ok(()),
    }
}

/// As a server with keys describes itself.
fn openapi() -> Done {
    let text = crate::api::openapi_text().map_err(Failure::failed)?;
    terminal::print(&text)
}

fn completions(shell: Shell) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "pawl", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))
}

/// Trouble, and who used the rights of an administrator.
const USUAL_LOG: &str = "warn,pawl::audit=info";

/// Never logged, whatever PAWL_LOG says. The broker's client logs bodies and headers of messages and the password in its
/// address, the database's client the parameters of queries, hashes of keys among them, the client for HTTP and TLS the
/// names of hosts, in which there may be a secret; what is worth knowing of them we say ourselves.
const SILENT: [&str; 6] = [
    "lapin",
    "amq_protocol",
    "tokio_postgres",
    "hyper",
    "hyper_util",
    "rustls",
];

fn is_silent(target: &str) -> bool {
    SILENT.iter().any(|name| target.starts_with(name))
}

fn start_log(common: &Common) -> Done {
    let filter = std::env::var("PAWL_LOG").unwrap_or_else(|_| USUAL_LOG.into());
    let filter = EnvFilter::try_new(&filter).map_err(|error| {
        Failure::bad_input(format!("PAWL_LOG=`{filter}` is no log filter: {error}"))
    })?;
    let colour = terminal::Style::stderr().is_on();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colour);
    // Not a directive of the filter: a longer one, like `lapin::channel=trace`, would win over it.
    let careful = filter_fn(|about| !is_silent(about.target()));
    let started = match common.log_json {
        // Fields stand beside the message, where a search finds them.
        true => log
            .json()
            .flatten_event(true)
            .finish()
            .with(careful)
            .try_init(),
        false => log.finish().with(careful).try_init(),
    };
    started.map_err(|error| Failure::failed(format!("cannot start the log: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_log_what_passes_through_them_are_silent() {
        for target in [
            "hyper::proto::h1::io",
            "hyper_util::client::legacy::connect::dns",
            "rustls::client::hs",
            "lapin::channel",
            "tokio_postgres::query",
        ] {
            assert!(is_silent(target), "{target}");
        }
        assert!(!is_silent("pawl::audit") && !is_silent("pawl_engine::worker"));
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}

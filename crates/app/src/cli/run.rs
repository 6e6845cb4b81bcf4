//! `pawl run`: one schema to its end in an engine that is thrown away afterwards.

mod debugger;
mod follow;
mod report;
mod screen;

use std::path::{Path, PathBuf};

use pawl_engine::control::{Control, StartRequest};
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::execution::Status;
use pawl_kernel::id::{ExecutionId, random};
use pawl_kernel::ports::store::ExecutionView;
use pawl_kernel::schema;
use pawl_kernel::schema::definition::Definition;
use pawl_kernel::user;
use serde_json::{Map, Value};

use self::debugger::Debugger;
use self::follow::Follower;
use self::screen::{Screen, Target};
use super::failure::{Done, Failure};
use super::local::{self, DEVELOPER, Local};
use super::signals::Signals;
use super::terminal::{self, Style};
use super::{Common, source};
use crate::config::Config;
use crate::system::SystemEntropy;
use crate::wiring;

#[derive(clap::Args)]
pub(super) struct RunArgs {
    /// The schema, YAML or JSON. Without a `name` it is called like the file.
    file: PathBuf,
    /// What expressions see as `input`: JSON, `@file`, or `-` for stdin.
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    input: Option<String>,
    /// A variable to start with; may be given several times.
    #[arg(long = "var", value_name = "NAME=JSON")]
    variables: Vec<String>,
    /// Stop after every step and ask what to do.
    #[arg(long)]
    debug: bool,
    /// Keep the data in this folder instead of throwing it away.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Everything that is needed to start, checked.
struct RunJob {
    definition: Definition,
    input: Option<Value>,
    variables: Map<String, Value>,
    debug: bool,
    json: bool,
}

pub(super) async fn run(args: RunArgs, common: &Common) -> Done {
    let result = Box::pin(run_checked(args, common)).await;
    match &result {
        Err(Failure::BadInput(message)) if common.json => {
            terminal::print_json(&report::invalid("INVALID_INPUT", message, &[]))?;
        }
        Err(Failure::Unfit(problems)) if common.json => {
            terminal::print_json(&report::unfit(problems))?;
        }
        _ => {}
    }
    result
}

async fn run_checked(args: RunArgs, common: &Common) -> Done {
    if args.debug && args.input.as_deref() == Some("-") {
        return Err(Failure::bad_input(
            "--debug and --input - both read stdin; give the input as @file",
        ));
    }
    let config = local::config(common)?;
    let definition = load(&args.file, &config, common.json)?;
    let job = RunJob {
        definition,
        input: args
            .input
            .as_deref()
            .map(|text| source::json_argument("--input", text))
            .transpose()?,
        variables: source::variables(&args.variables)?,
        debug: args.debug,
        json: common.json,
    };
    let mut signals = Signals::listen()?;
    let folder = Folder::of(args.data)?;
    let mut local = Box::pin(Local::start(folder.path(), &config, 0)).await?;
    let control = local.control().clone();
    let result = tokio::select! {
        done = Box::pin(execute(&control, &job, &mut signals)) => done,
        // With a service gone, the wait would never end.
        broken = local.broken() => Err(Failure::failed(broken.to_string())),
    };
    drop(control);
    if !matches!(result, Err(Failure::Said(ABORTED))) {
        local.shutdown().await;
    }
    result
}

/// The exit code after a second Ctrl-C, when nothing is to be waited for.
const ABORTED: u8 = 130;

/// Reads and checks the file, and shows what is wrong with it.
fn load(file: &Path, config: &Config, json: bool) -> Result<Definition, Failure> {
    let text = source::schema_text(file).map_err(Failure::bad_input)?;
    let registry = wiring::registry(config, true)?;
    let name = file.file_stem().map(|stem| stem.to_string_lossy());
    let shown = file.display().to_string();
    let loaded = schema::load_named(name.as_deref(), Some(&shown), &text, &registry);
    if !loaded.diagnostics.is_empty() {
        let drawn = schema::render_diagnostics(&text, &loaded.diagnostics, Style::stderr().is_on());
        terminal::complain(drawn.trim_end());
    }
    loaded
        .definition
        .map_or_else(|| refuse(&loaded.diagnostics, json), Ok)
}

fn refuse<T>(diagnostics: &[Diagnostic], json: bool) -> Result<T, Failure> {
    let errors = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error())
        .count();
    let message = format!("the schema has {}", super::validate::some(errors, "error"));
    if json {
        terminal::print_json(&report::invalid("INVALID_SCHEMA", &message, diagnostics))?;
    }
    terminal::complain(&message);
    Err(Failure::Said(2))
}

async fn execute(control: &Control, job: &RunJob, signals: &mut Signals) -> Done {
    let id = start(control, job).await?;
    let target = match (job.json, job.debug) {
        (false, _) => Target::Stdout,
        (true, true) => Target::Stderr,
        (true, false) => Target::Nowhere,
    };
    let screen = Screen::new(target, &job.definition);
    screen.title(&job.definition.name, id)?;
    let debugger = job.debug.then(Debugger::start);
    let view = Box::pin(Follower::new(control, id, screen).until_end(debugger, signals)).await?;
    if job.json {
        terminal::print_json(&report::report(control, &view).await?)?;
    } else {
        report::show_end(&view)?;
    }
    match view.execution.head.status {
        Status::Completed => Ok(()),
        _ => Err(Failure::Said(1)),
    }
}

async fn start(control: &Control, job: &RunJob) -> Result<ExecutionId, Failure> {
    let schema = local::save(control, &job.definition, None).await?;
    let request = StartRequest {
        schema: schema.name.into(),
        input: job.input.clone(),
        variables: job.variables.clone(),
        user: Some(user::developer()),
        debug_mode: job.debug,
        created_by: DEVELOPER.into(),
        ..StartRequest::default()
    };
    Ok(control
        .start_version(schema.id, schema.latest_version, request)
        .await?
        .id)
}

/// Where the engine works: the folder asked for, or one that goes away with this value.
enum Folder {
    Kept(PathBuf),
    Temporary(PathBuf),
}

impl Folder {
    fn of(asked: Option<PathBuf>) -> Result<Self, Failure> {
        if let Some(folder) = asked {
            return Ok(Self::Kept(folder));
        }
        let folder = std::env::temp_dir().join(format!("pawl-run-{}", random(&SystemEntropy)));
        make_private(&folder).map_err(|error| {
            Failure::failed(format!("cannot make {}: {error}", folder.display()))
        })?;
        Ok(Self::Temporary(folder))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(folder) | Self::Temporary(folder) => folder,
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Self::Temporary(folder) = self
            && let Err(error) = std::fs::remove_dir_all(&*folder)
        {
            tracing::warn!(folder = %folder.display(), %error, "the temporary folder could not be removed");
        }
    }
}

/// The error of an execution as JSON.
fn error_of(view: &ExecutionView) -> Value {
    parsed(view.execution.record.error.as_deref())
}

/// Stored JSON text; nothing is null.
fn parsed(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or(Value::Null)
}

/// Payloads lie in it, in a place that all users of the machine share.
fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

//! Commands that change something. Each answer is the execution as it is then.

use http::Method;
use serde::Serialize;
use serde_json::Value;
use url::Url;

use super::super::client::{self, Client, Content};
use super::super::failure::{Done, Failure};
use super::super::{source, terminal, text};
use super::look;
use super::{ContinueArgs, ForkArgs, OneExecution, RetryArgs, SignalArgs, StartArgs, WaitFlag};
use crate::wire::{
    ContinueMode, ContinueRequest, Execution, ForkRequest, NewNote, Reference, RetryRequest, Span,
    StartRequest, Text, TrialRequest,
};

pub(super) async fn start(args: StartArgs, json: bool) -> Done {
    let client = Client::new(&args.server)?;
    let input = args
        .input
        .as_deref()
        .map(|text| source::json_argument("--input", text))
        .transpose()?;
    let is_trial = args.trial || args.pins || args.stop_after.is_some();
    let body = only_given(&StartRequest {
        schema: Some(Reference::Text(args.schema)),
        input,
        variables: Some(source::variables(&args.variables)?),
        version: args.version.map(u64::from),
        debug_mode: args.debug.then_some(true),
        priority: args.priority.map(Text),
        tenant: args.tenant.map(Text),
        idempotency_key: args.idempotency_key.map(Text),
        start_at: args.start_at.map(Text),
        trial: is_trial.then(|| TrialRequest {
            pins: args.pins.then_some(true),
            stop_after: args.stop_after.map(Text),
        }),
        ..StartRequest::default()
    })?;
    let url = waiting(client.at(&["executions"]), &args.wait);
    let started = client.ask(Method::POST, url, Content::Json(body)).await?;
    started_one(&started, &args.wait, json)
}

pub(super) async fn plain(one: OneExecution, verb: &str, json: bool) -> Done {
    let client = Client::new(&one.server)?;
    let answer = client
        .post(&["executions", &one.id, verb], Content::None)
        .await?;
    brief(&answer, json)
}

pub(super) async fn go_on(args: ContinueArgs, json: bool) -> Done {
    let client = Client::new(&args.one.server)?;
    let nodes: Vec<String> = args.to.into_iter().chain(args.until).collect();
    let mode = match (nodes.is_empty(), args.run) {
        (false, _) => ContinueMode::Until(nodes),
        (true, true) => ContinueMode::Run,
        (true, false) => ContinueMode::Step,
    };
    let body = only_given(&ContinueRequest {
        mode: Some(mode),
        variables: Some(source::variables(&args.variables)?),
        expect_seq: args.expect_seq,
    })?;
    let answer = client
        .post(
            &["executions", &args.one.id, "continue"],
            Content::Json(body),
        )
        .await?;
    warn(&client::read(&answer)?);
    brief(&answer, json)
}

pub(super) async fn retry(args: RetryArgs, json: bool) -> Done {
    let client = Client::new(&args.one.server)?;
    let body = only_given(&RetryRequest {
        variables: Some(source::variables(&args.variables)?),
        max_steps: args.max_steps,
        max_calls: args.max_calls,
        max_duration: args.max_duration.map(Span::Text),
        version: args.version.as_deref().map(version),
        new_effect_key: args.new_effect_key.then_some(true),
        again: args.again.then_some(true),
        idempotency_key: args.idempotency_key.map(Text),
        debug_mode: args.debug.then_some(true),
    })?;
    let url = waiting(
        client.at(&["executions", &args.one.id, "retry"]),
        &args.wait,
    );
    let started = client.ask(Method::POST, url, Content::Json(body)).await?;
    started_one(&started, &args.wait, json)
}

/// `latest`, or a number as a number. Anything else goes to the server as it is, which says what it should be.
fn version(text: &str) -> Value {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u64>().ok().filter(|_| digits);
    number.map_or_else(|| text.into(), Value::from)
}

pub(super) async fn fork(args: ForkArgs, json: bool) -> Done {
    let client = Client::new(&args.one.server)?;
    let input = args
        .input
        .as_deref()
        .map(|text| source::json_argument("--input", text))
        .transpose()?;
    if input == Some(Value::Null) {
        let message = "--input: null is no input; leave it out to keep the input as it was";
        return Err(Failure::bad_input(message));
    }
    let body = only_given(&ForkRequest {
        from_seq: Some(args.from),
        version: args.version.as_deref().map(version),
        variables: Some(source::variables(&args.variables)?),
        input,
        debug_mode: args.debug.then_some(true),
    })?;
    let url = waiting(client.at(&["executions", &args.one.id, "fork"]), &args.wait);
    let started = client.ask(Method::POST, url, Content::Json(body)).await?;
    started_one(&started, &args.wait, json)
}

pub(super) async fn signal(args: SignalArgs, json: bool) -> Done {
    let client = Client::new(&args.one.server)?;
    let payload = args
        .payload
        .as_deref()
        .map(|text| source::json_argument("--payload", text))
        .transpose()?;
    let mut url = client.at(&["executions", &args.one.id, "signals", &args.name]);
    if let Some(id) = &args.signal_id {
        url.query_pairs_mut().append_pair("id", id);
    }
    let content = payload.map_or(Content::None, Content::Json);
    let answer = client.ask(Method::POST, url, content).await?;
    brief(&answer, json)
}

/// What was left out is not sent: the server has its own defaults.
fn only_given(body: &impl Serialize) -> Result<Value, Failure> {
    let body = serde_json::to_value(body).map_err(|error| Failure::failed(error.to_string()))?;
    let Value::Object(fields) = body else {
        return Ok(body);
    };
    let given = |value: &Value| {
        !value.is_null() && value.as_object().is_none_or(|fields| !fields.is_empty())
    };
    let fields = fields.into_iter();
    // An empty input is one, and so is an empty trial.
    let whole = |name: &str| matches!(name, "input" | "trial");
    let fields = fields.filter(|(name, value)| whole(name) && !value.is_null() || given(value));
    Ok(Value::Object(fields.collect()))
}

fn waiting(mut url: Url, flag: &WaitFlag) -> Url {
    if let Some(time) = &flag.wait {
        url.query_pairs_mut().append_pair("wait", time);
    }
    url
}

/// What the server thinks that the user may not have meant.
fn warn(execution: &Execution<'_>) {
    for warning in execution.warnings.iter() {
        terminal::complain(&format!("warning: {}", text::clean(warning)));
    }
}

/// With `--wait` the end decides the exit code, as in `pawl run`.
fn started_one(answer: &Value, flag: &WaitFlag, json: bool) -> Done {
    let execution: Execution = client::read(answer)?;
    warn(&execution);
    if flag.wait.is_none() {
        return brief(answer, json);
    }
    if json {
        terminal::print_json(answer)?;
    } else {
        look::describe(&execution)?;
    }
    match execution.status.as_str() {
        "failed" | "failed_stuck" | "stopped" => Err(Failure::Said(1)),
        _ => Ok(()),
    }
}

fn brief(answer: &Value, json: bool) -> Done {
    if json {
        return terminal::print_json(answer);
    }
    let execution: Execution = client::read(answer)?;
    let status = text::line(&execution.status);
    let style = terminal::Style::stdout();
    let shown = style.paint(terminal::status_colour(&status), &status);
    let node = text::line(&execution.current_node_id);
    terminal::say(&format!("{} {shown} at {node}", execution.id))
}

pub(super) async fn note(one: OneExecution, text: String, json: bool) -> Done {
    let client = Client::new(&one.server)?;
    let body = only_given(&NewNote { text })?;
    let path = ["executions", &one.id, "notes"];
    let answer = client.post(&path, Content::Json(body)).await?;
    if json {
        return terminal::print_json(&answer);
    }
    terminal::say(&look::note_line(&client::read(&answer)?))
}

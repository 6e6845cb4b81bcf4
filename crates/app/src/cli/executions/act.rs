//! Commands that change something. Each answer is the execution as it is then.

use http::Method;
use serde_json::{Map, Value, json};
use url::Url;

use super::super::client::{Client, Content};
use super::super::failure::{Done, Failure};
use super::super::schemas::field;
use super::super::{source, terminal, text};
use super::look;
use super::{ContinueArgs, ForkArgs, One, RetryArgs, SignalArgs, StartArgs, WaitFlag};

pub(super) async fn start(args: StartArgs, json: bool) -> Done {
    let client = Client::new(&args.server)?;
    let input = args
        .input
        .as_deref()
        .map(|text| source::json_argument("--input", text))
        .transpose()?;
    let body = only_given(json!({
        "schema": args.schema,
        "input": input,
        "variables": source::variables(&args.variables)?,
        "version": args.version,
        "debug_mode": args.debug.then_some(true),
        "priority": args.priority,
        "tenant": args.tenant,
        "idempotency_key": args.idempotency_key,
        "start_at": args.start_at,
    }));
    let url = waiting(client.at(&["executions"]), &args.wait);
    let started = client.ask(Method::POST, url, Content::Json(body)).await?;
    started_one(&started, &args.wait, json)
}

pub(super) async fn plain(one: One, verb: &str, json: bool) -> Done {
    let client = Client::new(&one.server)?;
    let answer = client
        .post(&["executions", &one.id, verb], Content::None)
        .await?;
    brief(&answer, json)
}

pub(super) async fn go_on(args: ContinueArgs, json: bool) -> Done {
    let client = Client::new(&args.one.server)?;
    let mode = match (&args.to, args.run) {
        (Some(node), _) => json!({"to": node}),
        (None, true) => json!("run"),
        (None, false) => json!("step"),
    };
    let variables = source::variables(&args.variables)?;
    let body =
        only_given(json!({"mode": mode, "variables": variables, "expect_seq": args.expect_seq}));
    let answer = client
        .post(
            &["executions", &args.one.id, "continue"],
            Content::Json(body),
        )
        .await?;
    warn(&answer);
    brief(&answer, json)
}

pub(super) async fn retry(args: RetryArgs, json: bool) -> Done {
    let client = Client::new(&args.one.server)?;
    let body = only_given(json!({
        "variables": source::variables(&args.variables)?,
        "max_steps": args.max_steps,
        "max_calls": args.max_calls,
        "max_duration": args.max_duration,
        "version": args.version.as_deref().map(version),
        "new_effect_key": args.new_effect_key.then_some(true),
        "again": args.again.then_some(true),
        "idempotency_key": args.idempotency_key,
        "debug_mode": args.debug.then_some(true),
    }));
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
    let body = only_given(json!({
        "from_seq": args.from,
        "version": args.version.as_deref().map(version),
        "variables": source::variables(&args.variables)?,
        "input": input,
        "debug_mode": args.debug.then_some(true),
    }));
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
fn only_given(body: Value) -> Value {
    let Value::Object(fields) = body else {
        return body;
    };
    let given = |value: &Value| {
        !value.is_null() && value.as_object().is_none_or(|fields| !fields.is_empty())
    };
    Value::Object(
        fields
            .into_iter()
            .filter(|(name, value)| name == "input" && !value.is_null() || given(value))
            .collect::<Map<_, _>>(),
    )
}

fn waiting(mut url: Url, flag: &WaitFlag) -> Url {
    if let Some(time) = &flag.wait {
        url.query_pairs_mut().append_pair("wait", time);
    }
    url
}

/// What the server thinks that the user may not have meant.
fn warn(execution: &Value) {
    for warning in execution["warnings"].as_array().into_iter().flatten() {
        let warning = text::clean(warning.as_str().unwrap_or_default());
        terminal::complain(&format!("warning: {warning}"));
    }
}

/// With `--wait` the end decides the exit code, as in `pawl run`.
fn started_one(execution: &Value, flag: &WaitFlag, json: bool) -> Done {
    warn(execution);
    if flag.wait.is_none() {
        return brief(execution, json);
    }
    match json {
        true => terminal::print_json(execution)?,
        false => look::describe(execution)?,
    }
    match execution["status"].as_str() {
        Some("failed" | "failed_stuck" | "stopped") => Err(Failure::Said(1)),
        _ => Ok(()),
    }
}

fn brief(execution: &Value, json: bool) -> Done {
    if json {
        return terminal::print_json(execution);
    }
    let status = field(execution, "status");
    let style = terminal::Style::stdout();
    let shown = style.paint(terminal::status_colour(&status), &status);
    terminal::say(&format!(
        "{} {shown} at {}",
        field(execution, "id"),
        field(execution, "current_node_id")
    ))
}

//! One attempt: an action becomes work, and whatever goes wrong becomes a failure that can be shown.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use pawl_kernel::expr::Meter;
use pawl_kernel::input::INVALID_INPUT;
use pawl_kernel::node::{NodeCall, NodeError};
use pawl_kernel::ports::store::StoreError;
use pawl_kernel::schedule::headers;
use pawl_kernel::schedule::{Action, AttemptOutcome, Failure, Overlap, Run};
use pawl_kernel::schema::graph::LateTexts;
use pawl_kernel::secrets::{CarriedSecrets, Reader};
use pawl_kernel::time::{Timestamp, format_duration};
use serde_json::{Map, Value, json};

use super::MockRun;
use crate::control::{Control, ControlError, OWN_PREFIX, StartRequest};
use crate::pass::panic_text;

/// What went wrong, before secrets are taken out of it.
struct Problem {
    code: String,
    message: String,
}

impl Problem {
    fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }
}

/// Over by `deadline`, whatever happens.
pub(super) async fn make(control: &Control, run: &Run, deadline: Timestamp) -> AttemptOutcome {
    let runtime = control.runtime();
    let time = deadline.since(runtime.now());
    let work = AssertUnwindSafe(Box::pin(act(control, run, time))).catch_unwind();
    let result = tokio::select! {
        biased;
        result = work => result.unwrap_or_else(|panic| Err(panicked(run, &*panic))),
        () = runtime.clock.sleep_until(deadline) => Err(timed_out(run, time)),
    };
    match result {
        Ok(()) => AttemptOutcome::Success,
        Err(mut problem) => {
            // Before it is cut to length: half a secret is not found any more.
            runtime.redactor.text(&mut problem.code);
            runtime.redactor.text(&mut problem.message);
            AttemptOutcome::Failed(Failure::new(problem.code, problem.message))
        }
    }
}

async fn act(control: &Control, run: &Run, time: Duration) -> Result<(), Problem> {
    match &run.row.spec.action {
        Action::HttpCallback {
            method,
            url,
            headers,
            body,
            ..
        } => {
            let (headers, secrets) = rendered_headers(control, run, headers).await?;
            // No caller uses the content of the answer, so it is not parsed.
            let config = json!({
                "method": method, "url": url, "headers": headers, "body": body, "response": "base64",
            });
            call_node(control, "http_request", config, secrets, run, time).await
        }
        Action::RabbitmqPublish {
            connection,
            exchange,
            routing_key,
            message,
        } => {
            let config = publish_config(connection.as_deref(), exchange, routing_key, message);
            let secrets = CarriedSecrets::default();
            call_node(control, "rabbitmq_publish", config, secrets, run, time).await
        }
        Action::StartExecution { schema, input } => start(control, run, schema, input).await,
        Action::Mock { fail_first, takes } => pretend(control, run, *fail_first, *takes).await,
    }
}

/// A secret whose scope lists schemas must list `schedule:ID` for this.
async fn rendered_headers(
    control: &Control,
    run: &Run,
    headers: &Map<String, Value>,
) -> Result<(Map<String, Value>, CarriedSecrets), Problem> {
    let reader = Reader {
        name: &format!("schedule:{}", run.row.id),
        guards: true,
    };
    let reads = headers::secret_reads(headers);
    let runtime = control.runtime();
    let resolved = runtime.secrets(&reads, reader);
    let (secrets, carried) = resolved.map_err(|error| node_problem(&error))?;
    let render = |meter: &mut Meter| headers::render(headers, &secrets, meter);
    let rendered = runtime.evaluations.evaluate_in_turn(render).await;
    let rendered = rendered.map_err(|error| Problem::new(error.code.as_str(), error.message))?;
    Ok((rendered, carried))
}

/// As the config of the node: what is left out or empty means the same there.
fn publish_config(
    connection: Option<&str>,
    exchange: &str,
    routing_key: &str,
    message: &Value,
) -> Value {
    json!({"connection": connection, "exchange": exchange, "routing_key": routing_key, "message": message})
}

/// The same code that runs nodes, with its client, its guards and its idempotency keys.
async fn call_node(
    control: &Control,
    node_type: &str,
    config: Value,
    secrets: CarriedSecrets,
    run: &Run,
    timeout: Duration,
) -> Result<(), Problem> {
    let runtime = control.runtime();
    let Some(handler) = runtime.registry.get(node_type) else {
        let message = format!("this worker has no node type `{node_type}`");
        return Err(Problem::new("UNKNOWN_NODE_TYPE", message));
    };
    let id = run.row.id.as_str();
    let nothing = Map::new();
    let call = NodeCall {
        node_id: id,
        config,
        execution_id: id,
        correlation_id: id,
        seq: run.attempt.ordinal,
        attempt: run.attempt.number,
        entered_at: run.attempt.planned_at,
        now: runtime.now(),
        effect_key: Some(&run.key),
        timeout,
        limits: runtime.options.payload,
        context: &nothing,
        previous: None,
        names: &BTreeMap::new(),
        late: LateTexts::default(),
        secrets,
    };
    let ran = handler.run(call).await;
    ran.map(|_| ()).map_err(|error| node_problem(&error))
}

fn node_problem(error: &NodeError) -> Problem {
    Problem::new(error.code.clone(), error.message.clone())
}

/// Started again under the same key it is the same execution.
async fn start(control: &Control, run: &Run, schema: &str, input: &Value) -> Result<(), Problem> {
    for planned_at in replaced(run) {
        stop_started_at(control, run, planned_at).await?;
    }
    let request = StartRequest {
        schema: schema.into(),
        input: (!input.is_null()).then(|| input.clone()),
        user: run.row.meta.user.clone(),
        idempotency_key: Some(run.row.start_key(run.attempt.planned_at)),
        labels: Map::from_iter([("scheduled_action".to_owned(), json!(run.row.id))]),
        created_by: started_by(&run.row.id),
        ..StartRequest::default()
    };
    let started = control.start(request).await;
    started.map(|_| ()).map_err(control_problem)
}

/// `cron:…` for a trigger, whose id is like that already; `schedule:…` for what people wrote.
fn started_by(id: &str) -> String {
    match id.starts_with(OWN_PREFIX) {
        true => id.to_owned(),
        false => format!("schedule:{id}"),
    }
}

/// The planned times of the firings whose executions must make way. A retry looks again: the attempt before may have
/// failed at just that.
fn replaced(run: &Run) -> Vec<Timestamp> {
    let repeat = run.row.spec.policy.repeat();
    let cancels = repeat.is_some_and(|repeat| repeat.overlap == Overlap::CancelPrevious);
    match run.cancel_previous || (cancels && run.attempt.number > 1) {
        true => run.row.previous_times(),
        false => Vec::new(),
    }
}

async fn stop_started_at(
    control: &Control,
    run: &Run,
    planned_at: Timestamp,
) -> Result<(), Problem> {
    let key = run.row.start_key(planned_at);
    let found = control.runtime().store.execution_by_key(&key).await;
    let Some(id) = found.map_err(store_problem)? else {
        return Ok(());
    };
    match control.stop(id).await {
        // It has ended in the meantime, or retention has taken it.
        Ok(_)
        | Err(ControlError::Conflict(_) | ControlError::Refused(_) | ControlError::NotFound(_)) => {
            Ok(())
        }
        Err(error) => Err(control_problem(error)),
    }
}

async fn pretend(
    control: &Control,
    run: &Run,
    fail_first: u32,
    takes: Duration,
) -> Result<(), Problem> {
    let runtime = control.runtime();
    let now = runtime.now();
    if let Some(hook) = &runtime.options.on_mock {
        (hook.0)(MockRun {
            action_id: run.row.id.clone(),
            key: run.key.clone(),
            attempt: run.attempt.number,
            planned_at: run.attempt.planned_at,
            at: now,
        });
    }
    if !takes.is_zero() {
        runtime.clock.sleep_until(now.plus(takes)).await;
    }
    if run.attempt.number <= fail_first {
        let message = format!("told to fail {fail_first} time(s)");
        return Err(Problem::new("MOCK_FAILED", message));
    }
    Ok(())
}

fn control_problem(error: ControlError) -> Problem {
    let message = error.to_string();
    match error {
        ControlError::NotFound(_) => Problem::new("NOT_FOUND", message),
        ControlError::Conflict(_)
        | ControlError::Refused(_)
        | ControlError::AlreadyRetried { .. } => Problem::new("CONFLICT", message),
        ControlError::Invalid { code, .. } => Problem::new(code, message),
        ControlError::InvalidInput(_) => Problem::new(INVALID_INPUT, message),
        ControlError::Store(error) => store_problem(error),
    }
}

fn store_problem(error: StoreError) -> Problem {
    Problem::new("UNAVAILABLE", error.to_string())
}

fn timed_out(run: &Run, time: Duration) -> Problem {
    let message = format!(
        "`{}` did not finish within {}",
        run.row.spec.action.name(),
        format_duration(time)
    );
    Problem::new("NODE_TIMEOUT", message)
}

fn panicked(run: &Run, panic: &(dyn std::any::Any + Send)) -> Problem {
    let (id, kind, text) = (&run.row.id, run.row.spec.action.name(), panic_text(panic));
    tracing::error!(action_id = %id, panic = text, "an action panicked");
    Problem::new("INTERNAL_ERROR", format!("`{kind}` has a bug: {text}"))
}

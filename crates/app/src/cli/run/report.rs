//! What is left of a run: one object for programs, a few lines for people.

use pawl_engine::control::Control;
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::execution::{Execution, Status, Step};
use pawl_kernel::input::{INVALID_INPUT, InputProblems};
use pawl_kernel::ports::store::ExecutionView;
use serde_json::{Value, json};

use super::super::failure::{Done, Failure};
use super::super::terminal::{self, Style};
use super::super::text;
use super::{error_of, parsed};

const PAGE: u32 = 500;

/// `pawl run --json`.
pub(super) async fn report(control: &Control, view: &ExecutionView) -> Result<Value, Failure> {
    let context = control.context_at(view, view.state.seq).await?;
    Ok(json!({
        "execution_id": view.execution.head.id.to_string(),
        "status": view.execution.head.status.name(),
        "output": parsed(view.execution.record.output.as_deref()),
        "error": error_of(view),
        "context": context.roots(),
        "steps": steps(control, &view.execution).await?,
    }))
}

async fn steps(control: &Control, execution: &Execution) -> Result<Vec<Value>, Failure> {
    let mut all = Vec::new();
    let mut after = 0;
    loop {
        let page = control
            .runtime()
            .store
            .steps(execution.head.id, after, PAGE)
            .await?;
        let Some((last, _)) = page.last() else {
            return Ok(all);
        };
        after = last.seq;
        all.extend(page.iter().map(|(step, _)| step_json(step)));
    }
}

fn step_json(step: &Step) -> Value {
    json!({
        "seq": step.seq,
        "node_id": &*step.node_id,
        "node_type": &*step.node_type,
        "status": step.status.name(),
        "input": parsed(step.input.as_deref()),
        "output": parsed(step.output.as_deref()),
        "error": parsed(step.error.as_deref()),
        "attempts": parsed(step.attempts.as_deref()),
        "started_at": step.started_at.to_string(),
        "finished_at": step.finished_at.to_string(),
    })
}

/// The same object for a run that could not begin.
pub(super) fn invalid(code: &str, message: &str, diagnostics: &[Diagnostic]) -> Value {
    not_begun(code, message, json!({"diagnostics": diagnostics}))
}

/// The same for an input that does not fit.
pub(super) fn unfit(problems: &InputProblems) -> Value {
    let details = json!({"problems": problems.list, "more": problems.more});
    not_begun(INVALID_INPUT, &problems.to_string(), details)
}

fn not_begun(code: &str, message: &str, details: Value) -> Value {
    json!({
        "execution_id": null,
        "status": "invalid",
        "output": null,
        "error": {"code": code, "message": message, "retryable": false, "details": details},
        "context": null,
        "steps": [],
    })
}

pub(super) fn show_end(view: &ExecutionView) -> Done {
    let style = Style::stdout();
    let execution = &view.execution;
    let took = execution
        .head
        .finished_at
        .map(|end| text::duration(end.since(execution.head.created_at)))
        .unwrap_or_default();
    let steps =
        super::super::validate::some((view.state.seq - execution.head.base_seq) as usize, "step");
    let name = execution.head.status.name();
    let shown = match execution.head.status {
        Status::Completed => style.green(name),
        _ => style.red(name),
    };
    terminal::say(&format!("\n{shown} in {took}, {steps}"))?;
    show_error(&error_of(view))?;
    match parsed(execution.record.output.as_deref()) {
        Value::Null => Ok(()),
        output => terminal::say(&text::clean(&format!("{output:#}"))),
    }
}

fn show_error(error: &Value) -> Done {
    if error.is_null() {
        return Ok(());
    }
    terminal::say(&text::error(error, 2_000))?;
    match error["details"]["hint"].as_str() {
        Some(hint) => terminal::say(&format!("hint: {}", text::clean(hint))),
        None => Ok(()),
    }
}

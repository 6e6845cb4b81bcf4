//! The expression language for editors: the functions, and what a text gives at a point of an execution.

use axum::extract::State;
use pawl_engine::control::WrittenPlace;
use pawl_kernel::expr::{ExprError, TextMode, WrittenText, functions};
use serde_json::{Map, Value};

use super::ApiState;
use super::body::JsonBody;
use super::error::{ApiError, ApiResult};
use super::fields::{self, unknown_name};
use super::path::{execution_id, no_execution};
use super::reply;
use crate::wire::{
    EvaluateRequest, Evaluation, EvaluationError, EvaluationPlace, ExpressionFunction, Name, Page,
};

/// No field of a node holds a longer text with expressions.
const TEXT_MAX: usize = 64 << 10;
/// A longer value is for reading in full elsewhere, not for a line under a field.
const SHOWN_MAX: usize = 256 << 10;

pub(super) async fn list() -> ApiResult {
    Ok(reply::ok(&Page {
        items: functions().iter().map(ExpressionFunction::from).collect(),
        next: None,
    }))
}

/// An expression that fails is an answer, not an error of the request.
pub(super) async fn evaluate(State(state): State<ApiState>, JsonBody(body): JsonBody) -> ApiResult {
    let asked: EvaluateRequest = fields::read(body)?;
    let mode = mode(&asked.mode.0)?;
    if asked.text.len() > TEXT_MAX {
        return Err(ApiError::invalid_request(format!(
            "`text` has {} bytes; up to {TEXT_MAX} are evaluated",
            asked.text.len()
        )));
    }
    let (roots, place) = roots(&state, asked.at).await?;
    let result = match WrittenText::compile(&asked.text, mode) {
        Ok(text) => state.control.evaluate_written(&text, &roots, &place).await,
        Err(error) => Err(error),
    };
    Ok(reply::ok(&evaluation(result, &asked.text)))
}

fn mode(name: &str) -> ApiResult<TextMode> {
    let names = TextMode::ALL.map(TextMode::name);
    TextMode::from_name(name).ok_or_else(|| {
        ApiError::invalid_request(format!("`mode`: {}", unknown_name("mode", name, &names)))
    })
}

async fn roots(
    state: &ApiState,
    at: EvaluationPlace,
) -> ApiResult<(Map<String, Value>, WrittenPlace)> {
    match (at.execution, at.seq, at.context) {
        (Some(execution), Some(seq), None) => {
            let id = execution_id(&execution.0);
            let id = id.ok_or_else(|| no_execution(&execution.0))?;
            let roots = state.control.roots_after(id, seq).await?;
            let execution_id = id.to_string();
            let seq = seq.saturating_add(1);
            Ok((roots, WrittenPlace { execution_id, seq }))
        }
        (None, None, Some(context)) => Ok((context, WrittenPlace::default())),
        _ => Err(ApiError::invalid_request(
            "`at` must be {\"execution\": ID, \"seq\": NUMBER} or {\"context\": OBJECT}",
        )),
    }
}

fn evaluation(result: Result<Value, ExprError>, text: &str) -> Evaluation {
    let mut told = Evaluation {
        ok: result.is_ok(),
        value: None,
        kind: None,
        cut: false,
        bytes: None,
        error: None,
    };
    match result {
        Ok(value) => {
            told.kind = Some(Name::new(kind(&value)));
            let bytes = value.to_string().len();
            told.cut = bytes > SHOWN_MAX;
            if told.cut {
                told.bytes = Some(bytes as u64);
            } else {
                told.value = Some(value);
            }
        }
        Err(error) => told.error = Some(EvaluationError::of(error, text)),
    }
    told
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

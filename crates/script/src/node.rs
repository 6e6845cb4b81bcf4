//! `code`: JavaScript that shapes data.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pawl_kernel::node::FieldKind::Text;
use pawl_kernel::node::FieldMode::Raw;
use pawl_kernel::node::field::required;
use pawl_kernel::node::{self, NodeCall, NodeError, NodeHandler, NodeSpec, Outcome};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::{Answer, Document, Job, LogLevel, LogLine, Pool, ScriptError};

/// What a failed run wrote last, shown with its error.
const LOGS_SHOWN: usize = 20;

static SPEC: NodeSpec = NodeSpec {
    node_type: "code",
    title: "Code",
    category: "data",
    doc: "Runs JavaScript in a process of its own that can be killed: no host, no network, no files, limits on time, \
          memory and output. The source is the body of a function, never interpolated: it returns `{json: …}`, a list \
          of such items, or a plain value, and may `await`.\n\nIt sees the names of n8n, `$json` and \
          `$input.item.json` (the output of the step before), `$('id or name').item.json`, `$('Webhook').item.json` \
          (the payload, also as body, with headers, query, params, method and path), `$execution.id`, `$now`, and Pawl's own `webhook`, `input`, \
          `steps`, `variables`, `env`, `user` and `execution`. Never secrets. `console.log` goes to the execution's log. \
          Repeated after a crash it does the same: the time is that of the entry, `Math.random` is seeded.",
    pure: false,
    handles: &["success", "error"],
    fields: &[required("source", Text, Raw, "The body of the function.")
        .titled("JavaScript")
        .in_language("javascript")],
    output: "What the code returns.",
    example: "source: |\n  const items = input.items ?? [];\n  return { json: { count: items.length, total: items.reduce((sum, item) => sum + item.price, 0) } };",
};

pub struct CodeNode {
    pool: Arc<Pool>,
}

impl CodeNode {
    pub fn new(pool: Arc<Pool>) -> Self {
        Self { pool }
    }
}

#[async_trait]
impl NodeHandler for CodeNode {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    /// A script has neither network nor files.
    fn acts_outside(&self) -> bool {
        false
    }

    async fn run(&self, call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let margin = MARGIN.min(call.timeout / 2);
        let job = Job {
            source: call.config["source"].as_str().unwrap_or_default().into(),
            data: Arc::new(Document::new(
                Cow::Borrowed(call.context),
                call.previous.map(Cow::Borrowed),
                Cow::Borrowed(call.names),
            )),
            entered_at_ms: call.entered_at.as_micros() / 1_000,
            seed: seed(&call),
            time: None,
            until: Instant::now().checked_add(call.timeout - margin),
            owner: owner(&call),
        };
        match self.pool.run(job).await {
            Ok(Answer { value, logs }) => Ok(Outcome::Done {
                handle: "success".into(),
                output: value,
                changes: Map::new(),
                logs: logs.into_iter().map(line).collect(),
            }),
            Err(error) => Err(failed(error)),
        }
    }
}

/// So that the code's own limit speaks before the node's; of a short time it is half.
const MARGIN: Duration = Duration::from_millis(400);

/// The same for every try of this visit, by a retry of the execution too.
fn seed(call: &NodeCall<'_>) -> u64 {
    let visit = || format!("{}:{}", call.execution_id, call.seq);
    let text = call.effect_key.map_or_else(visit, str::to_owned);
    // FNV-1a: any spread will do.
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Who the run is of, for the sharing of children.
fn owner(call: &NodeCall<'_>) -> Option<Arc<str>> {
    let schema = call.context.get("execution")?.get("schema")?;
    Some(schema.as_str()?.into())
}

fn line(line: LogLine) -> node::LogLine {
    let level = match line.level {
        LogLevel::Debug => node::LogLevel::Debug,
        LogLevel::Info => node::LogLevel::Info,
        LogLevel::Warn => node::LogLevel::Warn,
        LogLevel::Error => node::LogLevel::Error,
    };
    node::LogLine {
        level,
        message: line.message,
    }
}

fn failed(error: ScriptError) -> NodeError {
    let logs: Vec<Value> = error
        .logs
        .iter()
        .rev()
        .take(LOGS_SHOWN)
        .rev()
        .map(|line| json!({"level": line.level, "message": line.message}))
        .collect();
    let details = json!({
        "name": error.name, "line": error.line, "column": error.column, "stack": error.stack, "logs": logs,
    });
    let place = match (error.line, error.column) {
        (Some(line), Some(column)) => format!(" (line {line}, column {column})"),
        _ => String::new(),
    };
    let failed = NodeError::new(error.code.name(), format!("{}{place}", error.message))
        .details(details)
        .with_logs(error.logs.into_iter().map(line).collect());
    match error.code.retryable() {
        true => failed.retryable(),
        false => failed,
    }
}

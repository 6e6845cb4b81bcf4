//! `log`: writes one line to the log of the execution.

use async_trait::async_trait;
use pawl_kernel::node::FieldKind::{Any, Choice};
use pawl_kernel::node::FieldMode::Template;
use pawl_kernel::node::form::output_object;
use pawl_kernel::node::{LogLevel, LogLine, NodeCall, NodeError, NodeHandler, NodeSpec, Outcome};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::parse;
use pawl_kernel::node::field::{defaulted, required};

static SPEC: NodeSpec = NodeSpec {
    node_type: "log",
    title: "Log",
    category: "flow",
    doc: "Writes a line to the log of the execution. Text is written as it is, anything else as compact JSON. \
          A line longer than 64 KiB is cut, and says so.",
    pure: true,
    handles: &[],
    fields: &[
        defaulted(
            "level",
            Choice(&["debug", "info", "warn", "error"]),
            Template,
            "\"info\"",
            "How loud the line is.",
        ),
        required("message", Any, Template, "What to write."),
    ],
    output: "`{\"level\", \"message\"}`: the line as it was written.",
    example: "level: info\nmessage: \"got status {{steps.http_1.output.status_code}}\"",
};

const LINE_BYTES_MAX: usize = 64 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(default)]
    level: LogLevel,
    #[serde(deserialize_with = "parse::present")]
    message: Option<Value>,
}

pub(crate) struct Log;

#[async_trait]
impl NodeHandler for Log {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    fn output_schema(&self) -> Value {
        output_object(&[
            ("level", json!({"enum": ["debug", "info", "warn", "error"]})),
            ("message", json!({"type": "string"})),
        ])
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let config: Config = parse::config(&mut call)?;
        let message = cut(line(config.message.unwrap_or_default()));
        Ok(Outcome::Done {
            handle: "success".into(),
            output: json!({"level": config.level, "message": message}),
            changes: Map::new(),
            logs: vec![LogLine {
                level: config.level,
                message,
            }],
        })
    }
}

fn line(message: Value) -> String {
    match message {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn cut(mut line: String) -> String {
    let bytes = line.len();
    if bytes > LINE_BYTES_MAX {
        line.truncate(line.floor_char_boundary(LINE_BYTES_MAX));
        line.push_str(&format!("…(cut, {bytes} bytes)"));
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{LINE_BYTES_MAX, Log};
    use crate::testing::{error, output, run};

    async fn message(config: Value) -> String {
        output(&Log, config, "success").await["message"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    #[tokio::test]
    async fn writes_text_as_it_is_and_values_as_json() {
        assert_eq!(
            message(json!({"message": "hi \"you\""})).await,
            "hi \"you\""
        );
        assert_eq!(
            message(json!({"message": {"a": [1, null]}})).await,
            r#"{"a":[1,null]}"#
        );
        assert_eq!(message(json!({"message": null})).await, "null");
    }

    #[tokio::test]
    async fn the_line_is_in_the_logs_with_its_level() {
        let Ok(pawl_kernel::node::Outcome::Done { logs, .. }) =
            run(&Log, json!({"level": "warn", "message": "x"})).await
        else {
            panic!("not done")
        };
        assert_eq!(
            serde_json::to_value(logs).unwrap(),
            json!([{"level": "warn", "message": "x"}])
        );
    }

    #[tokio::test]
    async fn a_long_line_is_cut_between_characters_and_says_so() {
        let long = "я".repeat(LINE_BYTES_MAX);
        let cut = message(json!({"message": long})).await;
        assert!(
            cut.ends_with("я…(cut, 131072 bytes)"),
            "{}",
            &cut[cut.len() - 60..]
        );
        assert!(cut.len() <= LINE_BYTES_MAX + 40);
    }

    #[tokio::test]
    async fn unknown_level_is_refused() {
        error(&Log, json!({"level": "loud", "message": "x"}), "TYPE_ERROR").await;
    }

    #[tokio::test]
    async fn a_message_is_needed() {
        error(&Log, json!({}), "TYPE_ERROR").await;
    }
}

//! `fail`: fails with an error of the author's making.

use async_trait::async_trait;
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::node::FieldKind::{Any, Integer, Text};
use pawl_kernel::node::FieldMode::Template;
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::parse;
use pawl_kernel::node::field::{optional, required};

static SPEC: NodeSpec = NodeSpec {
    node_type: "fail",
    title: "Fail",
    category: "flow",
    doc: "Fails with an error code of your own. Like any failing node it goes on by its `error` edge if it has \
          one; else the execution fails with this code. It is never retried.",
    pure: true,
    handles: &[],
    fields: &[
        required("code", Text, Template, "Upper case, like `OUT_OF_STOCK`."),
        optional("message", Text, Template, "What went wrong, for people."),
        optional(
            "status",
            Integer { min: 400, max: 599 },
            Template,
            "The HTTP status for a webhook that waits, which is then told message and details too.",
        ),
        optional("details", Any, Template, "What else to say: an object."),
    ],
    output: "None: the step has an `error` with `code` and `message`.",
    example: "code: OUT_OF_STOCK\nmessage: \"only {{variables.left}} left\"",
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    code: String,
    message: Option<String>,
    status: Option<u16>,
    #[serde(default)]
    details: Map<String, Value>,
}

pub(crate) struct Fail;

#[async_trait]
impl NodeHandler for Fail {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    fn check(&self, config: &Value) -> Vec<Diagnostic> {
        let problem = parse::literal(config.get("code")).and_then(|code| check_code(code).err());
        problem
            .map(|message| Diagnostic::error("INVALID_ERROR_CODE", "/code", message))
            .into_iter()
            .collect()
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let node_id = call.node_id;
        let config: Config = parse::config(&mut call)?;
        check_code(&config.code).map_err(parse::type_error)?;
        let message = config
            .message
            .unwrap_or_else(|| format!("`{node_id}` failed with {}", config.code));
        let mut details = config.details;
        if let Some(status) = config.status {
            details.insert("status".into(), status.into());
        }
        let failed = NodeError::new(config.code, message);
        Err(match details.is_empty() {
            true => failed,
            false => failed.details(details.into()),
        })
    }
}

const CODE_CHARS_MAX: usize = 100;

fn check_code(code: &str) -> Result<(), String> {
    let fits = code.len() <= CODE_CHARS_MAX
        && code.starts_with(|first: char| first.is_ascii_uppercase())
        && code
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if fits {
        return Ok(());
    }
    Err(format!(
        "`{code}` is no error code; write it in capitals with digits and _, like OUT_OF_STOCK \
         (at most {CODE_CHARS_MAX} characters)"
    ))
}

#[cfg(test)]
mod tests {
    use pawl_kernel::node::NodeHandler;
    use serde_json::json;

    use super::Fail;
    use crate::testing::error;

    #[tokio::test]
    async fn fails_with_code_and_message() {
        let told = error(
            &Fail,
            json!({"code": "OUT_OF_STOCK", "message": "none left"}),
            "OUT_OF_STOCK",
        )
        .await;
        assert_eq!(
            (told.message.as_str(), told.retryable),
            ("none left", false)
        );
    }

    #[tokio::test]
    async fn it_can_speak_to_the_caller_of_a_webhook() {
        let config = json!({"code": "GONE", "status": 410, "details": {"since": "today"}});
        let told = error(&Fail, config, "GONE").await;
        assert_eq!(told.details, json!({"status": 410, "since": "today"}));
    }

    #[tokio::test]
    async fn a_message_is_made_up_when_missing() {
        let told = error(&Fail, json!({"code": "E2"}), "E2").await;
        assert_eq!(told.message, "`node_1` failed with E2");
    }

    #[tokio::test]
    async fn codes_are_upper_case() {
        let long = "A".repeat(101);
        for code in ["", "lower", "1A", "_A", "A-B", "A B", "Ä", long.as_str()] {
            error(&Fail, json!({"code": code}), "TYPE_ERROR").await;
            assert_eq!(Fail.check(&json!({"code": code})).len(), 1, "{code}");
        }
        assert!(Fail.check(&json!({"code": "{{input.code}}"})).is_empty());
    }

    #[tokio::test]
    async fn a_code_is_needed() {
        error(&Fail, json!({"message": "x"}), "TYPE_ERROR").await;
    }
}

//! `respond`: answers the caller of a webhook while the execution goes on.

use async_trait::async_trait;
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::node::FieldKind::{self, Any, Integer, Map};
use pawl_kernel::node::FieldMode::Template;
use pawl_kernel::node::form::output_object;
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome};
use pawl_kernel::webhook::answer::{self, Answer, STATUS_MAX, STATUS_MIN};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::parse;
use pawl_kernel::node::field::{defaulted, optional};

static SPEC: NodeSpec = NodeSpec {
    node_type: answer::NODE_TYPE,
    title: "Respond",
    category: "flow",
    doc: "Answers the caller of a webhook with `respond: respond_node`. The answer is sent as soon as the step is \
          committed, and the execution goes on by `success`. The first answer counts; a later one is a warning in the \
          log. Without anybody who waits it does nothing but leave its output.",
    pure: true,
    handles: &[],
    fields: &[
        defaulted(
            "status",
            Integer {
                min: STATUS_MIN as i64,
                max: STATUS_MAX as i64,
            },
            Template,
            "200",
            "The status of the answer.",
        ),
        optional(
            "headers",
            Map(&FieldKind::Any),
            Template,
            "Names and texts; a list of texts is a header that comes several times. Those of the connection are the \
             server's own.",
        ),
        optional(
            "body",
            Any,
            Template,
            "Text is sent as text, `{base64, content_type}` as these bytes, anything else as JSON. Left out: no body.",
        ),
    ],
    output: "`{status, headers, body}` as they were sent.",
    example: "status: 201\nheaders:\n  X-Order: \"{{webhook.params.id}}\"\nbody:\n  accepted: true",
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(default)]
    status: Value,
    #[serde(default)]
    headers: Value,
    #[serde(default)]
    body: Value,
}

pub(crate) struct Respond;

#[async_trait]
impl NodeHandler for Respond {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    fn output_schema(&self) -> Value {
        output_object(&[
            ("status", json!({"type": "integer"})),
            ("headers?", json!({"type": "object"})),
            ("body?", json!({})),
        ])
    }

    fn check(&self, config: &Value) -> Vec<Diagnostic> {
        let headers = config["headers"].as_object();
        let problem = |(name, value): (&String, &Value)| {
            let checked = match parse::literal(Some(value)) {
                Some(text) => answer::check_header(name, text),
                None => answer::check_name(name),
            };
            let pointer = format!("/headers/{}", name.replace('~', "~0").replace('/', "~1"));
            Some(Diagnostic::error("INVALID_HEADER", pointer, checked.err()?))
        };
        let headers = headers.into_iter().flatten();
        headers.filter_map(problem).collect()
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let config: Config = parse::config(&mut call)?;
        let or = |value: Value, default: Value| if value.is_null() { default } else { value };
        let said = [
            ("status", or(config.status, 200.into())),
            ("headers", or(config.headers, json!({}))),
            ("body", config.body),
        ];
        let said = said
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        let said: Value = said.collect();
        // What cannot be sent fails here, where it is seen, and not on its way to the caller.
        Answer::read(&said).map_err(parse::type_error)?;
        Ok(Outcome::Respond { answer: said })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{error, run};

    #[tokio::test]
    async fn the_answer_is_the_output() {
        let plain = json!({"status": 200, "headers": {}, "body": null});
        assert_eq!(
            run(&Respond, Value::Null).await,
            Ok(Outcome::Respond { answer: plain })
        );
        let said = json!({"status": 404, "headers": {"X-A": "b"}, "body": {"error": "NOT_FOUND"}});
        assert_eq!(
            run(&Respond, said.clone()).await,
            Ok(Outcome::Respond { answer: said })
        );
    }

    #[tokio::test]
    async fn what_cannot_be_sent_is_an_error() {
        for config in [
            json!({"status": 99}),
            json!({"status": "ok"}),
            json!({"headers": {"Content-Length": 5}}),
            json!({"headers": {"X-A": "b\r\nX-C: d"}}),
            json!({"headers": "X-A: b"}),
            json!({"status": 204, "body": "x"}),
            json!({"boddy": 1}),
        ] {
            error(&Respond, config, "TYPE_ERROR").await;
        }
    }

    #[test]
    fn headers_are_checked_when_the_schema_is_saved() {
        let config = json!({"headers": {
            "X-Fine": "{{input.a}}", "Connection": "{{input.b}}", "X-B": "a\nb", "a b": 5, "x/y": 1,
        }});
        let found = Respond.check(&config);
        let pointers: Vec<&str> = found.iter().map(|one| one.pointer.as_str()).collect();
        assert_eq!(
            pointers,
            [
                "/headers/Connection",
                "/headers/X-B",
                "/headers/a b",
                "/headers/x~1y"
            ]
        );
        assert!(found.iter().all(|one| one.code == "INVALID_HEADER"));
        assert!(Respond.check(&json!({"body": 1})).is_empty());
    }
}

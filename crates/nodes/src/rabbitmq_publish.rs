//! `rabbitmq_publish`: hands a message to a broker and waits for its confirmation.

use std::sync::Arc;

use async_trait::async_trait;
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::node::FieldKind::{Any, Boolean, Map as MapOf, Text};
use pawl_kernel::node::FieldMode::{Raw, Template};
use pawl_kernel::node::form::output_object;
use pawl_kernel::node::{NodeCall, NodeError, NodeHandler, NodeSpec, Outcome};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::brokers::{Brokers, NotPublished, OutgoingMessage};
use crate::{Environment, parse};
use pawl_kernel::node::field::{defaulted, optional, required};

static SPEC: NodeSpec = NodeSpec {
    node_type: "rabbitmq_publish",
    title: "Publish to RabbitMQ",
    category: "effects",
    doc: "Publishes a message to RabbitMQ. The node is done when the broker has confirmed that a queue has the \
          message; where no queue would get it, the node fails with `UNROUTABLE`. The broker is named by \
          `connection`, whose address stands in the configuration (`[connections.NAME] url = \"amqp://…\"`), never \
          in a schema. Left out on a cluster it is the broker that the cluster itself runs on, unless the configuration \
          says `[broker] publish = false`; elsewhere the node fails with `NO_CONNECTION`. Queues and exchanges that Pawl \
          declares for itself are refused with `FORBIDDEN_ADDRESS`.\n\nEvery try of a step carries the same `message_id` (the effect key), so a consumer that \
          remembers ids sees the message once; `correlation_id` is that of the execution.",
    pure: false,
    handles: &["success", "error"],
    fields: &[
        optional(
            "connection",
            Text,
            Raw,
            "The name of a connection in the configuration; left out on a cluster, its own broker.",
        )
        .names_from("connections"),
        optional(
            "exchange",
            Text,
            Template,
            "The exchange; left out or empty, the message goes straight to `queue`.",
        ),
        optional(
            "queue",
            Text,
            Template,
            "The queue, for a message that goes through no exchange of yours.",
        ),
        optional(
            "routing_key",
            Text,
            Template,
            "What the exchange routes by; without an exchange the same as `queue`.",
        ),
        required(
            "message",
            Any,
            Template,
            "Text is sent as it is, anything else as JSON.",
        ),
        optional(
            "headers",
            MapOf(&Any),
            Template,
            "Headers by name; those that are null are left out.",
        ),
        defaulted(
            "persistent",
            Boolean,
            Template,
            "true",
            "The broker keeps the message on disk.",
        ),
    ],
    output: "`{message_id, exchange, routing_key, bytes}`.",
    example: "connection: events\nexchange: orders\nrouting_key: order.paid\nmessage: { order: \"{{input.order_id}}\" }",
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    connection: Option<String>,
    exchange: Option<String>,
    queue: Option<String>,
    routing_key: Option<String>,
    message: Value,
    headers: Option<Map<String, Value>>,
    #[serde(default = "yes")]
    persistent: bool,
}

fn yes() -> bool {
    true
}

pub(crate) struct RabbitmqPublish {
    brokers: Arc<dyn Brokers>,
}

impl RabbitmqPublish {
    pub(crate) fn new(environment: &Environment) -> Self {
        Self {
            brokers: environment.brokers.clone(),
        }
    }
}

/// How the scope of a secret names the cluster's own broker, which no connection names.
const OWN_BROKER: &str = "[broker]";

#[async_trait]
impl NodeHandler for RabbitmqPublish {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    fn output_schema(&self) -> Value {
        output_object(&[
            ("message_id", json!({"type": "string"})),
            ("exchange", json!({"type": "string"})),
            ("routing_key", json!({"type": "string"})),
            ("bytes", json!({"type": "integer"})),
        ])
    }

    fn check(&self, config: &Value) -> Vec<Diagnostic> {
        [check_address(config), self.check_connection(config)]
            .into_iter()
            .flatten()
            .collect()
    }

    fn guards_secrets(&self) -> bool {
        true
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let config: Config = parse::config(&mut call)?;
        let connection = given(&config.connection);
        call.secrets
            .check_connection(connection.unwrap_or(OWN_BROKER))?;
        let (exchange, routing_key) = address(&config)?;
        let (body, content_type) = body(&config.message);
        let mut headers = config.headers.unwrap_or_default();
        headers.retain(|_, value| !value.is_null());
        let message = OutgoingMessage {
            exchange,
            routing_key,
            body,
            content_type,
            headers,
            persistent: config.persistent,
            message_id: call.effect_key.unwrap_or_default().to_owned(),
            correlation_id: call.correlation_id.to_owned(),
        };
        let output = json!({
            "message_id": message.message_id,
            "exchange": message.exchange,
            "routing_key": message.routing_key,
            "bytes": message.body.len(),
        });
        self.brokers
            .publish(connection, message, call.timeout)
            .await
            .map_err(failed)?;
        Ok(Outcome::done(output))
    }
}

impl RabbitmqPublish {
    /// A schema may be saved before its connection is set up; it gets a warning, not a refusal.
    fn check_connection(&self, config: &Value) -> Option<Diagnostic> {
        let name = match config.get("connection") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name.as_str()).filter(|name| !name.is_empty()),
            Some(_) => return None,
        };
        if self.brokers.knows(name) {
            return None;
        }
        let (place, message, hint) = match name {
            Some(name) => (
                "/connection",
                format!(
                    "there is no connection `{name}` here; running this will fail with NO_CONNECTION"
                ),
                format!("add [connections.{name}] with url = \"amqp://…\" to pawl.toml"),
            ),
            None => (
                "",
                "no `connection` is named, and there is no broker of Pawl's own here; running this will fail with \
                 NO_CONNECTION"
                    .to_owned(),
                "name a connection of pawl.toml; on a cluster its own broker is used".to_owned(),
            ),
        };
        Some(Diagnostic::warning("NO_CONNECTION", place, message).hint(hint))
    }
}

/// What is left out may also be written as empty, as forms do it.
fn given(value: &Option<String>) -> Option<&str> {
    value.as_deref().filter(|text| !text.is_empty())
}

fn check_address(config: &Value) -> Option<Diagnostic> {
    let has = |name: &str| match config.get(name) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    };
    let problem = address_problem(has("exchange"), has("queue"), has("routing_key"))?;
    Some(Diagnostic::error("INVALID_FIELD", "", problem))
}

fn address_problem(exchange: bool, queue: bool, routing_key: bool) -> Option<&'static str> {
    match (exchange, queue, routing_key) {
        (false, false, false) => {
            Some("name a `queue` (or its name as `routing_key`), or an `exchange`")
        }
        (true, true, _) => {
            Some("`queue` and `exchange` exclude each other: an exchange finds the queues itself")
        }
        (_, true, true) => Some("`queue` and `routing_key` exclude each other"),
        _ => None,
    }
}

/// Exchange and routing key. Without an exchange the key is the name of a queue.
fn address(config: &Config) -> Result<(String, String), NodeError> {
    let exchange = given(&config.exchange);
    let (queue, routing_key) = (given(&config.queue), given(&config.routing_key));
    match address_problem(exchange.is_some(), queue.is_some(), routing_key.is_some()) {
        Some(problem) => Err(parse::type_error(problem)),
        None => Ok((
            exchange.unwrap_or_default().to_owned(),
            queue.or(routing_key).unwrap_or_default().to_owned(),
        )),
    }
}

fn body(message: &Value) -> (Vec<u8>, &'static str) {
    match message {
        Value::String(text) => (text.clone().into_bytes(), "text/plain; charset=utf-8"),
        other => (other.to_string().into_bytes(), "application/json"),
    }
}

fn failed(error: NotPublished) -> NodeError {
    let message = error.to_string();
    match error {
        NotPublished::NoConnection(_) => NodeError::new("NO_CONNECTION", message),
        NotPublished::Forbidden(_) => NodeError::new("FORBIDDEN_ADDRESS", message),
        NotPublished::Unroutable(_) => NodeError::new("UNROUTABLE", message),
        NotPublished::Refused(_) => NodeError::new("BROKER_REFUSED", message),
        NotPublished::Unconfirmed(_) => NodeError::new("NOT_CONFIRMED", message).retryable(),
        NotPublished::Unreachable(_) => NodeError::new("CONNECTION_FAILED", message).retryable(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;
    use std::time::Duration;

    use pawl_kernel::secrets::{self, CarriedSecrets, Patterns, Reader, SecretScope, SecretScopes};

    use super::*;
    use crate::brokers::no_connection;
    use crate::testing::{call, error, output};

    /// A broker that keeps what it gets, or refuses it.
    #[derive(Default)]
    struct Kept {
        sent: Mutex<Vec<OutgoingMessage>>,
        refusal: Option<NotPublished>,
        /// It runs on a broker of its own.
        own: bool,
    }

    #[async_trait]
    impl Brokers for Kept {
        fn knows(&self, name: Option<&str>) -> bool {
            name.map_or(self.own, |name| name == "events")
        }

        async fn publish(
            &self,
            name: Option<&str>,
            message: OutgoingMessage,
            _: Duration,
        ) -> Result<(), NotPublished> {
            if !self.knows(name) {
                return Err(no_connection(name));
            }
            self.sent.lock().unwrap().push(message);
            self.refusal.clone().map_or(Ok(()), Err)
        }
    }

    fn node(kept: &Arc<Kept>) -> RabbitmqPublish {
        RabbitmqPublish {
            brokers: kept.clone(),
        }
    }

    #[tokio::test]
    async fn json_and_text_are_sent_under_the_effect_key() {
        let kept = Arc::new(Kept::default());
        let config = json!({"connection": "events", "queue": "q", "message": {"b": 1, "a": [2]}, "headers": {"x": 1, "y": null}});
        let answer = output(&node(&kept), config, "success").await;
        assert_eq!(answer["message_id"], "exe_1:7");
        let config = json!({"connection": "events", "exchange": "e", "routing_key": "k", "message": "plain", "persistent": false});
        output(&node(&kept), config, "success").await;
        let sent = kept.sent.lock().unwrap();
        assert_eq!(sent[0].body, br#"{"b":1,"a":[2]}"#);
        assert_eq!(
            (sent[0].exchange.as_str(), sent[0].routing_key.as_str()),
            ("", "q")
        );
        assert_eq!(Value::Object(sent[0].headers.clone()), json!({"x": 1}));
        assert!(sent[0].persistent && !sent[1].persistent);
        assert_eq!(
            (sent[1].body.as_slice(), sent[1].content_type),
            (&b"plain"[..], "text/plain; charset=utf-8")
        );
        assert_eq!(
            (sent[1].exchange.as_str(), sent[1].routing_key.as_str()),
            ("e", "k")
        );
        assert_eq!(sent[1].correlation_id, "cor_1");
    }

    #[tokio::test]
    async fn without_a_connection_it_is_the_broker_of_the_program() {
        let kept = Arc::new(Kept {
            own: true,
            ..Kept::default()
        });
        for config in [
            json!({"queue": "q", "message": 1}),
            json!({"connection": null, "queue": "q", "message": 1}),
            json!({"connection": "", "routing_key": "q", "message": 1}),
            json!({"exchange": "", "queue": "q", "routing_key": "", "message": 1}),
            json!({"exchange": "", "routing_key": "q", "message": 1}),
        ] {
            let sent = output(&node(&kept), config.clone(), "success").await;
            assert_eq!(
                (&sent["exchange"], &sent["routing_key"]),
                (&json!(""), &json!("q")),
                "{config}"
            );
            assert!(node(&kept).check(&config).is_empty(), "{config}");
            let refused = error(&node(&Arc::default()), config, "NO_CONNECTION").await;
            assert!(refused.message.contains("no `connection` is named"));
        }
        assert_eq!(kept.sent.lock().unwrap().len(), 5);
    }

    /// `connections` of the one secret that the message carries.
    fn carrying(connections: &[&str]) -> CarriedSecrets {
        let names = connections.iter().map(|name| (*name).to_owned());
        let scope = SecretScope {
            connections: Some(Patterns::new(names)),
            ..SecretScope::default()
        };
        let texts = json!({"x": "{{secrets.token}}"});
        let reads = pawl_kernel::schedule::headers::secret_reads(texts.as_object().unwrap());
        let scopes = SecretScopes::from([("token".to_owned(), Arc::new(scope))]);
        let reader = Reader {
            name: "flow",
            guards: true,
        };
        let resolved = secrets::resolve(&BTreeMap::new(), &scopes, &reads, reader);
        resolved.unwrap().1
    }

    #[tokio::test]
    async fn a_secret_goes_to_its_connections_alone_the_own_broker_has_a_name_for_that() {
        let kept = Arc::new(Kept {
            own: true,
            ..Kept::default()
        });
        let node = node(&kept);
        assert!(node.guards_secrets());
        let own = json!({"queue": "q", "message": "open sesame"});
        let empty = json!({"connection": "", "queue": "q", "message": "open sesame"});
        let named = json!({"connection": "events", "queue": "q", "message": "open sesame"});
        for (connections, config, expected) in [
            (&["events"][..], &named, None),
            (&["ev*"], &named, None),
            (&["[broker]"], &own, None),
            (&["[broker]"], &empty, None),
            (&["*"], &own, None),
            (&[], &named, Some("events")),
            (&["[broker]", "event"], &named, Some("events")),
            (&[], &own, Some("[broker]")),
            (&["events", "", "broker"], &own, Some("[broker]")),
            (&["events", "", "broker"], &empty, Some("[broker]")),
        ] {
            let before = kept.sent.lock().unwrap().len();
            let mut call = call(config.clone());
            call.secrets = carrying(connections);
            let refused = node.run(call).await.err();
            let sent = kept.sent.lock().unwrap().len() - before;
            assert_eq!(sent, usize::from(expected.is_none()), "{connections:?}");
            let code = refused.as_ref().map(|error| error.code.as_ref());
            assert_eq!(code, expected.map(|_| "SECRET_NOT_ALLOWED"), "{refused:?}");
            if let (Some(error), Some(place)) = (refused, expected) {
                let place = format!("the connection `{place}`");
                assert!(error.message.contains(&place), "{error:?}");
            }
        }
    }

    #[tokio::test]
    async fn every_refusal_has_its_code() {
        let text = || "why".to_owned();
        for (refusal, code, retryable) in [
            (NotPublished::Unroutable(text()), "UNROUTABLE", false),
            (NotPublished::Forbidden(text()), "FORBIDDEN_ADDRESS", false),
            (NotPublished::Refused(text()), "BROKER_REFUSED", false),
            (NotPublished::Unconfirmed(text()), "NOT_CONFIRMED", true),
            (NotPublished::Unreachable(text()), "CONNECTION_FAILED", true),
        ] {
            let kept = Arc::new(Kept {
                refusal: Some(refusal),
                ..Kept::default()
            });
            let config = json!({"connection": "events", "queue": "q", "message": 1});
            assert_eq!(error(&node(&kept), config, code).await.retryable, retryable);
        }
        let config = json!({"connection": "none", "queue": "q", "message": 1});
        error(&node(&Arc::default()), config, "NO_CONNECTION").await;
    }

    #[tokio::test]
    async fn nonsense_is_refused() {
        for config in [
            json!({"connection": "events", "message": 1}),
            json!({"connection": "events", "queue": "", "message": 1}),
            json!({"connection": "events", "queue": "q", "exchange": "e", "message": 1}),
            json!({"connection": "events", "queue": 7, "message": 1}),
        ] {
            error(&node(&Arc::default()), config, "TYPE_ERROR").await;
        }
    }

    #[test]
    fn saving_warns_of_a_missing_connection_and_refuses_a_senseless_address() {
        let node = node(&Arc::default());
        let codes = |config: Value| -> Vec<(&'static str, bool)> {
            let found = node.check(&config);
            found.iter().map(|one| (one.code, one.is_error())).collect()
        };
        assert_eq!(codes(json!({"connection": "events", "queue": "q"})), []);
        assert_eq!(
            codes(json!({"connection": "x", "queue": "q"})),
            [("NO_CONNECTION", false)]
        );
        assert_eq!(codes(json!({"queue": "q"})), [("NO_CONNECTION", false)]);
        assert_eq!(
            codes(json!({"connection": "events", "routing_key": "k"})),
            []
        );
        for senseless in [
            json!({"connection": "events"}),
            json!({"connection": "events", "queue": "q", "exchange": "e"}),
            json!({"connection": "events", "queue": "q", "routing_key": "k"}),
            json!({"connection": "events", "exchange": "", "queue": ""}),
        ] {
            assert_eq!(codes(senseless), [("INVALID_FIELD", true)]);
        }
    }
}

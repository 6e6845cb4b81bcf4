//! `http_request`: one call to another system.
//!
//! `build` turns the config into a request, the client sends it, `answer` turns the response into an
//! output or an error. Retrying is the engine's.

mod accept;
mod answer;
mod build;
mod retry_after;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::node::FieldKind::{
    Any, Boolean, Choice, Either, Integer, List, Map as MapOf, Object, Text,
};
use pawl_kernel::node::FieldMode::{Raw, Template, Url as UrlText};
use pawl_kernel::node::form::output_object;
use pawl_kernel::node::{
    FieldKind, FieldSpec, NodeCall, NodeError, NodeHandler, NodeSpec, Outcome,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::http::{HttpClient, HttpError};
use crate::{Environment, parse};
use pawl_kernel::node::field::{defaulted, optional, required};

static SPEC: NodeSpec = NodeSpec {
    node_type: "http_request",
    title: "HTTP request",
    category: "effects",
    doc: "Calls an HTTP API and gives its answer. A status of 400 or more is an error (`HTTP_STATUS`, with the \
          answer in `error.details`), unless `accept` names it. With `retry` on the node, failed connections, \
          timeouts and the statuses 408, 425, 429 and 5xx are tried again, no sooner than `Retry-After` asks \
          for.\n\nEvery try of a step sends the same `Idempotency-Key`, so an API that knows the header does \
          the work once. `X-Correlation-Id` holds the correlation id of the execution. Headers of your own win \
          over both.\n\nInternal addresses (loopback, private, link-local, cloud metadata) are refused unless \
          the configuration allows them. Redirects are followed within that rule; to another origin only \
          harmless headers go along and never a body: where the status asks for that (307, 308), the node fails with \
          `REDIRECT_REFUSED`. Answers are never unpacked: the node asks for them uncompressed.",
    pure: false,
    handles: &["success", "error"],
    fields: &[
        defaulted(
            "method",
            Choice(METHODS),
            Template,
            "\"GET\"",
            "The HTTP method.",
        ),
        required(
            "url",
            Text,
            UrlText,
            "Where to call. Values inside path and query are percent-encoded.",
        )
        .titled("URL"),
        optional(
            "headers",
            MapOf(&SCALAR),
            Template,
            "Headers by name; those that are null are left out. `Host` and the headers of the connection are not \
             yours to set.",
        ),
        optional(
            "query",
            MapOf(&Any),
            Template,
            "Parameters added to the URL; a list repeats the name, null leaves it out.",
        ),
        optional(
            "body",
            Any,
            Template,
            "Text is sent as it is, anything else as JSON, or as a form if `Content-Type` says \
             `application/x-www-form-urlencoded`. Null sends nothing.",
        ),
        optional(
            "auth",
            Object(AUTH_FIELDS),
            Template,
            "Credentials; they are not sent on to other origins.",
        ),
        optional(
            "accept",
            List(&ACCEPTED),
            Template,
            "Statuses of 400 and more that are no error: `404`, `4xx`, `400-499`.",
        ),
        defaulted(
            "response",
            Choice(&["auto", "json", "text", "base64"]),
            Template,
            "\"auto\"",
            "How to read the body. `auto` goes by the content type: JSON, else text, else `{\"base64\": …}`. JSON with a \
             key that comes twice or an integer beyond 64 bits is `INVALID_JSON`; read it as `text`.",
        ),
        defaulted(
            "max_bytes",
            Integer {
                min: 0,
                max: MAX_BYTES_MAX,
            },
            Template,
            "1048576",
            "A longer body is an error, `RESPONSE_TOO_LARGE`; mind the limit of a step's output too.",
        )
        .titled("Largest body"),
        defaulted(
            "follow_redirects",
            Either(&[
                Boolean,
                Integer {
                    min: 0,
                    max: REDIRECTS_MAX as i64,
                },
            ]),
            Template,
            "true",
            "Whether to follow redirects, or how many; `true` means up to 5.",
        ),
    ],
    output: "`{\"status_code\": 200, \"headers\": {…}, \"body\": …}`. Header names are in lower case; repeated \
             headers are joined with a comma, `set-cookie` is a list. An empty body is null.",
    example: "method: POST\nurl: \"https://api.example.com/users/{{input.user_id}}/orders\"\nauth:\n  \
              type: bearer\n  token: \"{{secrets.api_token}}\"\nbody:\n  amount: \"{{variables.amount}}\"\n\
              accept: [404, 409]",
};

const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const SCALAR: FieldKind = Either(&[Text, FieldKind::Number, Boolean]);
const ACCEPTED: FieldKind = Either(&[Integer { min: 100, max: 599 }, Text]);
const MAX_BYTES_MAX: i64 = 16 << 20;
const MAX_BYTES_DEFAULT: usize = 1 << 20;
const REDIRECTS_MAX: u32 = 20;
const REDIRECTS_DEFAULT: u32 = 5;

const AUTH_FIELDS: &[FieldSpec] = &[
    required(
        "type",
        Choice(&["basic", "bearer", "header"]),
        Raw,
        "The kind of credentials.",
    )
    .titled("Kind"),
    optional("username", Text, Template, "For `basic`.").only_when("type", &["basic"]),
    optional("password", Text, Template, "For `basic`.")
        .names_from("secrets")
        .only_when("type", &["basic"]),
    optional("token", Text, Template, "For `bearer`.")
        .names_from("secrets")
        .only_when("type", &["bearer"]),
    optional(
        "name",
        Text,
        Template,
        "For `header`: its name, like `X-Api-Key`.",
    )
    .only_when("type", &["header"]),
    optional("value", Text, Template, "For `header`: its value.")
        .names_from("secrets")
        .only_when("type", &["header"]),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    method: Option<String>,
    url: String,
    headers: Option<Map<String, Value>>,
    query: Option<Map<String, Value>>,
    #[serde(default)]
    body: Value,
    auth: Option<Auth>,
    accept: Option<Vec<Value>>,
    #[serde(default)]
    response: Reading,
    max_bytes: Option<usize>,
    follow_redirects: Option<Follow>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum Auth {
    Basic {
        username: String,
        password: Option<String>,
    },
    Bearer {
        token: String,
    },
    Header {
        name: String,
        value: String,
    },
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Reading {
    #[default]
    Auto,
    Json,
    Text,
    Base64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Follow {
    Yes(bool),
    UpTo(u32),
}

pub(crate) struct HttpRequest {
    client: Arc<HttpClient>,
}

impl HttpRequest {
    pub(crate) fn new(environment: &Environment) -> Self {
        Self {
            client: environment.http.clone(),
        }
    }
}

#[async_trait]
impl NodeHandler for HttpRequest {
    fn spec(&self) -> &'static NodeSpec {
        &SPEC
    }

    fn output_schema(&self) -> Value {
        output_object(&[
            ("status_code", json!({"type": "integer"})),
            ("headers", json!({"type": "object"})),
            ("body", json!({})),
        ])
    }

    fn check(&self, config: &Value) -> Vec<Diagnostic> {
        [
            check_url(config),
            check_headers(config),
            check_auth(config),
            check_accept(config),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn guards_secrets(&self) -> bool {
        true
    }

    async fn run(&self, mut call: NodeCall<'_>) -> Result<Outcome, NodeError> {
        let config: Config = parse::config(&mut call)?;
        let accepted = accept::read(config.accept.as_deref().unwrap_or_default())
            .map_err(parse::type_error)?;
        let reading = config.response;
        let request = build::request(config, &call)?;
        let method = request.method.clone();
        let response = self.client.send(request).await.map_err(failed)?;
        let asked = answer::AnswerExpectation {
            method,
            reading,
            accepted,
            now: call.now,
        };
        answer::outcome(&asked, &response).map(Outcome::done)
    }
}

fn failed(error: HttpError) -> NodeError {
    let retryable = error.kind.is_retryable() || error.status.is_some_and(answer::is_retryable);
    let details = error.status.map_or(
        Value::Null,
        |status| json!({"status_code": status.as_u16()}),
    );
    let failed = NodeError::new(error.kind.code(), error.message).details(details);
    match retryable {
        true => failed.retryable(),
        false => failed,
    }
}

fn check_url(config: &Value) -> Option<Diagnostic> {
    let url = parse::literal(config.get("url"))?;
    let problem = build::url(url).err()?;
    Some(Diagnostic::error("INVALID_URL", "/url", problem.message))
}

fn check_headers(config: &Value) -> Option<Diagnostic> {
    let names = config.get("headers")?.as_object()?.keys();
    let mut problems = names
        .filter(|name| !name.contains("{{"))
        .filter_map(|name| {
            let problem = build::header_name(name).err()?;
            let pointer = format!("/headers/{}", name.replace('~', "~0").replace('/', "~1"));
            Some(Diagnostic::error(
                "INVALID_HEADER",
                pointer,
                problem.message,
            ))
        });
    problems.next()
}

/// Which fields belong to which kind; the kinds themselves are checked by the spec.
fn check_auth(config: &Value) -> Option<Diagnostic> {
    let auth = config.get("auth")?.as_object()?;
    let kind = auth.get("type")?.as_str()?;
    let (needed, also): (&[&str], &[&str]) = match kind {
        "basic" => (&["username"], &["password"]),
        "bearer" => (&["token"], &[]),
        "header" => (&["name", "value"], &[]),
        _ => return None,
    };
    if let Some(missing) = needed.iter().find(|field| !auth.contains_key(**field)) {
        let message = format!("`auth` of type `{kind}` needs `{missing}`");
        return Some(Diagnostic::error("MISSING_FIELD", "/auth", message));
    }
    let known = |field: &&str| *field == "type" || needed.contains(field) || also.contains(field);
    let stray = auth
        .keys()
        .map(String::as_str)
        .find(|field| !known(field))?;
    let message = format!("`auth` of type `{kind}` has no `{stray}`");
    Some(Diagnostic::error(
        "INVALID_FIELD",
        format!("/auth/{stray}"),
        message,
    ))
}

fn check_accept(config: &Value) -> Option<Diagnostic> {
    let entries = config.get("accept")?.as_array()?;
    let is_final = |entry: &Value| entry.as_str().is_none_or(|text| !text.contains("{{"));
    let literals: Vec<Value> = entries
        .iter()
        .filter(|entry| is_final(entry))
        .cloned()
        .collect();
    let problem = accept::read(&literals).err()?;
    Some(Diagnostic::error("INVALID_FIELD", "/accept", problem))
}

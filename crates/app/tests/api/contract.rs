//! Every answer that a test gets is held against the OpenAPI document: the status is one of the route's, the media type
//! is the one it names, and the body fits the schema. The document is the one that a server gives, once per test run.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use pawl::api::{self, ApiState, Limits};
use pawl::config::Config;
use pawl::wiring::EmbeddedEngine;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::client::{Answer, Request, send_unchecked};

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    // A test's own runtime must not be blocked on, and ends with its test.
    let fetched = std::thread::spawn(|| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(Box::pin(fetch()))
    });
    fetched.join().unwrap()
});

async fn fetch() -> Value {
    let folder = tempfile::tempdir().unwrap();
    let config = Config::default();
    let engine = Box::pin(EmbeddedEngine::start(folder.path(), &config));
    let engine = engine.await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let state = ApiState::new(engine.control.clone(), Limits::default());
    let server = tokio::spawn(api::serve(listener, state, stop.clone()));
    let request = Request::new("GET", "/api/openapi.json");
    let answer = send_unchecked(address, request).await;
    stop.cancel();
    server.await.unwrap().unwrap();
    engine.shutdown().await;
    answer.expect(200)
}

/// The answer to these bytes. What is no request has no route to be judged by.
pub(crate) fn check(request: &[u8], answer: &Answer) {
    let Some((method, path)) = request_line(request) else {
        return;
    };
    // Broken HTTP is refused before it is a request, without a word.
    let is_broken = answer.body.is_empty() && matches!(answer.status, 400 | 414 | 431);
    if method == "HEAD" || is_broken || is_of_flow(path, answer) || is_of_ui(path, answer) {
        return;
    }
    let place = format!("{method} {path}: {} {}", answer.status, answer.text());
    match route(method, path) {
        Some(route) => check_route(route, answer, &place),
        None => check_refusal(answer, &place),
    }
}

/// What a server-sent event carries.
pub(crate) fn check_event(name: &str, data: &Value) {
    let schema = if name == "step" { "Step" } else { "Execution" };
    let reference = format!("#/components/schemas/{schema}");
    check_value(&json!({"$ref": reference}), data, &format!("event {name}"));
}

fn request_line(request: &[u8]) -> Option<(&str, &str)> {
    let line = request.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let path = target.split('?').next()?;
    path.starts_with('/').then_some((method, path))
}

/// A flow that answers a webhook says what it likes.
fn is_of_flow(path: &str, answer: &Answer) -> bool {
    let names_execution = answer.header("x-pawl-execution-id").is_some();
    path.starts_with("/webhook/") && names_execution && answer.status != 202
}

/// The page and the files of the UI are no part of the API.
fn is_of_ui(path: &str, answer: &Answer) -> bool {
    let kind = answer.header("content-type").unwrap_or_default();
    let is_page = kind.starts_with("text/html") && !path.starts_with("/api/");
    is_page || (path.starts_with("/assets/") && answer.status < 400)
}

/// The description of the route that takes this path: the one with the fewest runtime that take anything.
fn route(method: &str, path: &str) -> Option<&'static Value> {
    let open_parts = |known: &str| known.matches('{').count();
    let paths = DOCUMENT["paths"].as_object().unwrap().iter();
    let fitting = paths.filter(|(known, _)| fits(known, path));
    let (known, methods) = fitting.min_by_key(|(known, _)| open_parts(known))?;
    // Webhooks take every method.
    let is_webhook = known.starts_with("/webhook/");
    let method = if is_webhook { "POST" } else { method };
    methods.get(method.to_lowercase())
}

fn fits(known: &str, path: &str) -> bool {
    let (known, path): (Vec<&str>, Vec<&str>) =
        (known.split('/').collect(), path.split('/').collect());
    let takes_rest = known.last() == Some(&"{path}") && known.len() <= path.len();
    let fits = |(known, part): (&&str, &&str)| known == part || known.starts_with('{');
    (known.len() == path.len() || takes_rest) && known.iter().zip(&path).all(fits)
}

fn check_route(route: &Value, answer: &Answer, place: &str) {
    let responses = &route["responses"];
    let listed = responses.get(answer.status.to_string());
    let response = match listed {
        Some(response) => response,
        None if answer.status >= 400 => &responses["default"],
        None => panic!("the document does not list this status: {place}"),
    };
    let Some(content) = response.get("content") else {
        assert!(answer.body.is_empty(), "a body where none is due: {place}");
        return;
    };
    let kind = answer.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    let Some(media) = content.get(kind) else {
        panic!("`{kind}` is not the media type of the document: {place}");
    };
    if kind == "application/json" {
        check_value(&media["schema"], &answer.json(), place);
    }
}

/// What no route takes is refused in the one shape of all refusals; the small server of workers says nothing.
fn check_refusal(answer: &Answer, place: &str) {
    assert!(answer.status >= 400, "no route, and yet: {place}");
    if !answer.body.is_empty() {
        let schema = json!({"$ref": "#/components/schemas/Error"});
        check_value(&schema, &answer.json(), place);
    }
}

fn check_value(schema: &Value, value: &Value, place: &str) {
    let problems = problems(schema, value);
    assert!(problems.is_empty(), "{problems:?}\nin {place}");
}

/// What of a value does not fit.
pub(crate) fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let validator = validator(schema);
    let problems = validator.iter_errors(value);
    problems
        .map(|problem| format!("{problem} at `{}`", problem.instance_path()))
        .collect()
}

fn validator(schema: &Value) -> Arc<Validator> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap();
    let build = || {
        let mut whole = schema.clone();
        whole["components"] = DOCUMENT["components"].clone();
        let options = jsonschema::options().should_validate_formats(true);
        Arc::new(options.build(&whole).unwrap())
    };
    known
        .entry(schema.to_string())
        .or_insert_with(build)
        .clone()
}

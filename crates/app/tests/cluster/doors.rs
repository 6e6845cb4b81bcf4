//! What must not get in by messages or out by requests, on PostgreSQL and RabbitMQ.

use lapin::BasicProperties;
use serde_json::{Value, json};

use crate::broker::{Stranger, WORK};
use crate::flows::chain;
use crate::operating::metrics_of;
use crate::process::{Launch, Server};
use crate::site::{Site, eventually};
use crate::strangers::{ACCEPTING, greeting, letters};

const SECRET: &str = "open-sesame-422";
/// The same as base64.
const CODED: &str = "b3Blbi1zZXNhbWUtNDIy";

fn knowing<'a>(site: &'a Site, words: &[&str]) -> Launch<'a> {
    site.launch(words).with("PAWL_SECRET_TOKEN", SECRET)
}

/// No row of the table holds it.
async fn is_not_in(site: &Site, table: &str) {
    for text in [SECRET, CODED] {
        let sql = format!("SELECT t::text FROM {table} t WHERE t::text LIKE '%{text}%'");
        assert_eq!(site.rows(&sql).await, Vec::<Vec<String>>::new(), "{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_in_a_start_by_message_is_not_stored() {
    let site = Site::with("message_secrets", ACCEPTING).await;
    let _worker = knowing(&site, &["worker"]).start().await;
    let words = ["server", "--listen", "127.0.0.1:0"];
    let server = knowing(&site, &words).serve().await;
    site.save(&greeting()).await;
    let stranger = Stranger::connect(&site.broker).await;
    let body = json!({"execution_id": "order-1", "schema_id": "greet", "action": "start",
        "context": {"name": SECRET, "coded": CODED, SECRET: 1}, "input": {"deep": [format!("x{SECRET}x")]},
        "labels": {"team": SECRET}, "tenant": format!("of {SECRET}")});
    let properties =
        BasicProperties::default().with_correlation_id(format!("call {SECRET}").into());
    stranger
        .publish_with(WORK, body.to_string().as_bytes(), properties)
        .await;
    let run = eventually("it has run", async || {
        let page = server.get("/api/executions?status=completed").await.body;
        page["items"].as_array()?.first().cloned()
    })
    .await;
    for (field, expected) in [
        ("correlation_id", json!("call ***")),
        ("labels", json!({"team": "***"})),
        ("tenant", json!("of ***")),
        ("output", json!({"text": "hello ***"})),
    ] {
        assert_eq!(run[field], expected, "{field}");
    }
    let path = format!("/api/executions/{}/context", run["id"].as_str().unwrap());
    let context = server.get(&path).await.body["context"].clone();
    assert_eq!(
        (
            &context["variables"]["name"],
            &context["variables"]["coded"]
        ),
        (&json!("***"), &json!("***"))
    );
    assert_eq!(context["input"], json!({"deep": ["x***x"]}));
    for table in ["executions", "execution_steps", "dead_letters"] {
        is_not_in(&site, table).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_in_a_dead_letter_is_not_stored() {
    let site = Site::with("letter_secrets", ACCEPTING).await;
    let _worker = knowing(&site, &["worker"]).start().await;
    let words = ["server", "--listen", "127.0.0.1:0"];
    let server = knowing(&site, &words).serve().await;
    site.save(&greeting()).await;
    let stranger = Stranger::connect(&site.broker).await;
    let start = |key: &str, schema: &str| {
        json!({"execution_id": key, "schema_id": schema, "action": "start", "context": {"a": SECRET, "b": CODED}})
            .to_string()
    };
    // Not found, a key that cannot be altered, and nothing that can be read.
    let cases = [
        (start("order-1", SECRET), "no schema `***`"),
        (start(SECRET, "greet"), "the idempotency key"),
        (format!("garbage {SECRET} {CODED}"), "no message"),
    ];
    for (count, (body, word)) in cases.into_iter().enumerate() {
        stranger.publish(WORK, body.as_bytes()).await;
        let buried = letters(&server, count + 1).await[count].clone();
        let path = format!("/api/dead-letters/{}", buried["id"]);
        let letter = server.get(&path).await.body;
        let reason = letter["reason"].as_str().unwrap();
        assert!(reason.contains(word), "{reason}");
        let kept = letter["message"].as_str().unwrap();
        assert!(kept.contains("***"), "{kept}");
        for text in [SECRET, CODED] {
            assert!(!letter.to_string().contains(text), "{letter}");
        }
    }
    assert_eq!(site.number("SELECT count(*) FROM executions").await, 0);
    is_not_in(&site, "dead_letters").await;
}

/// The setting of `POST /api/executions` is the setting of messages.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_may_be_as_large_as_a_body_of_the_api() {
    let more = format!("{ACCEPTING}[limits]\nrequest_body = 2000\n");
    let site = Site::with("message_limit", &more).await;
    let (_worker, server) = (site.worker().await, site.server().await);
    site.save(&greeting()).await;
    let stranger = Stranger::connect(&site.broker).await;
    stranger.declare("answers").await;
    let body = |key: &str, bytes: usize| {
        let start = json!({"execution_id": key, "schema_id": "greet", "action": "start", "context": {"name": "Ada"}});
        let start = start.to_string();
        format!("{start}{}", " ".repeat(bytes - start.len()))
    };
    let (taken, _) = stranger
        .ask(WORK, body("small", 2000).as_bytes(), ("answers", "a"))
        .await;
    assert_eq!(taken["created"], true, "{taken}");
    let (refused, _) = stranger
        .ask(WORK, body("large", 2001).as_bytes(), ("answers", "b"))
        .await;
    assert_eq!(refused["error"], "INVALID_REQUEST", "{refused}");
    let letter = &letters(&server, 1).await[0];
    let reason = letter["reason"].as_str().unwrap();
    for word in ["2001 bytes", "at most 2000", "limits.request_body"] {
        assert!(reason.contains(word), "{reason}");
    }
    assert_eq!(site.number("SELECT count(*) FROM executions").await, 1);
    // The other door has the same size.
    let body = json!({"schema": "greet", "variables": {"name": "x".repeat(2000)}});
    let refused = server.post("/api/executions", &body).await;
    assert_eq!(refused.status, 413, "{}", refused.body);
}

/// `127.0.0.1:PORT` of an address with a scheme.
fn place(url: &str) -> String {
    let (_, rest) = url.split_once("://").unwrap();
    let place = rest.split('/').next().unwrap();
    place.rsplit('@').next().unwrap().to_owned()
}

/// How a run that calls this address ends: the code, or the status.
async fn call(server: &Server, address: &str) -> (String, String) {
    let name = format!("call-{}", address.replace([':', '/', '.'], "-"));
    let node =
        json!({"id": "call", "type": "http_request", "config": {"method": "GET", "url": address}});
    let saved = server.post("/api/schemas", &chain(&name, vec![node])).await;
    assert!([201, 409].contains(&saved.status), "{}", saved.body);
    let body = json!({"schema": name});
    let run = server.post("/api/executions?wait=30s", &body).await.body;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match run["error"]["code"].as_str() {
        Some(code) => (code.to_owned(), text(&run["error"]["message"])),
        None => (text(&run["status"]), String::new()),
    }
}

/// Loopback is allowed in `[http]`, and they are all there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_workflow_calls_what_pawl_is_made_of() {
    let site = Site::fresh("own_places").await;
    let services = [place(&site.database), place(&site.broker.url)];
    let forbidden = async |server: &Server, own: String| {
        let outside = call(server, site.world.url()).await;
        assert_eq!(outside.0, "completed", "{outside:?}");
        for place in services.iter().chain([&own]) {
            let (code, message) = call(server, &format!("http://{place}/")).await;
            assert_eq!(code, "FORBIDDEN_ADDRESS", "{place}: {message}");
            assert!(message.contains("Pawl itself"), "{message}");
        }
    };
    // One process that is all of it.
    let words = ["server", "--listen", "127.0.0.1:0", "--roles", "all"];
    let whole = site.launch(&words).serve().await;
    forbidden(&whole, whole.address.to_string()).await;
    drop(whole);
    // A worker that has a page of its own.
    let launch = site.launch(&["worker", "--metrics-listen", "127.0.0.1:0"]);
    let (_worker, banner) = launch.start().await;
    let server = site.server().await;
    forbidden(&server, metrics_of(&banner).to_string()).await;
}

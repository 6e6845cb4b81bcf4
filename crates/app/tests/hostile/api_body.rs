//! Bodies of requests.

use serde_json::json;

use crate::client::Request;
use crate::tally::Tally;
use crate::world::{Place, World};

const DOOR: &str = "API body";
const START: &str = "/api/executions";

fn inputs() -> Vec<(String, Request, &'static str)> {
    let json_to = |path: &str, body: &str| {
        let what = format!("{path} {body}");
        (
            what,
            Request::new("POST", path).body("application/json", body),
        )
    };
    let long = "x".repeat(300);
    let texts: Vec<(&str, String, &'static str)> = vec![
        (START, String::new(), "400 INVALID_JSON"),
        (START, "x".into(), "400 INVALID_JSON"),
        (START, "{".into(), "400 INVALID_JSON"),
        (START, "[]".into(), "422 INVALID_REQUEST"),
        (START, "null".into(), "422 INVALID_REQUEST"),
        (START, "\"orders\"".into(), "422 INVALID_REQUEST"),
        (START, "{}".into(), "422 INVALID_REQUEST"),
        (
            START,
            "{\"schema\":\"a\",\"schema\":\"b\"}".into(),
            "400 INVALID_JSON",
        ),
        (START, "{\"schema\":5}".into(), "422 INVALID_REQUEST"),
        (START, "{\"schema\":\"\"}".into(), "422 INVALID_REQUEST"),
        (START, "{\"schema\":\"no-such\"}".into(), "404 NOT_FOUND"),
        (
            START,
            "{\"schema\":\"a\\u0000b\"}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            START,
            "{\"schema\":\"../../etc/passwd\"}".into(),
            "404 NOT_FOUND",
        ),
        (
            START,
            "{\"schema\":\"'; DROP TABLE executions; --\"}".into(),
            "404 NOT_FOUND",
        ),
        (
            START,
            format!("{{\"schema\":\"{long}\"}}"),
            "422 INVALID_REQUEST",
        ),
        (START, "{\"schma\":\"known\"}".into(), "422 INVALID_REQUEST"),
        (
            START,
            "{\"schema\":\"known\",\"lease_token\":1}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            START,
            "{\"schema\":\"known\",\"__proto__\":{}}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            START,
            "{\"schema\":\"known\",\"version\":-1}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            START,
            "{\"schema\":\"known\",\"version\":1.5}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            START,
            "{\"schema\":\"known\",\"version\":99999999999999999999}".into(),
            "400 INVALID_JSON",
        ),
        (
            START,
            "{\"schema\":\"known\",\"version\":7}".into(),
            "404 NOT_FOUND",
        ),
        (
            START,
            "{\"schema\":\"known\",\"input\":1e400}".into(),
            "400 INVALID_JSON",
        ),
        (
            START,
            "{\"schema\":\"known\",\"input\":\"\\ud800\"}".into(),
            "400 INVALID_JSON",
        ),
        (
            START,
            format!("{{\"schema\":\"known\",\"input\":{}", "[".repeat(100_000)),
            "400 INVALID_JSON",
        ),
        (
            START,
            "{\"schema\":\"known\",\"variables\":[]}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            START,
            "{\"schema\":\"known\",\"labels\":{\"a\":{}}}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            START,
            "{\"schema\":\"known\",\"priority\":\"urgent\"}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            START,
            "{\"schema\":\"known\",\"debug_mode\":\"yes\"}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            START,
            format!("{{\"schema\":\"known\",\"tenant\":\"{long}\"}}"),
            "422 INVALID_REQUEST",
        ),
        (
            START,
            "{\"schema\":\"known\",\"tenant\":\"a\\u001b[2J\"}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            START,
            "{\"schema\":\"known\",\"start_at\":\"tomorrow\"}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            START,
            "{\"schema\":\"known\",\"start_at\":1}".into(),
            "422 INVALID_REQUEST",
        ),
        ("/api/executions/bulk", "{}".into(), "422 INVALID_REQUEST"),
        (
            "/api/executions/bulk",
            "{\"action\":\"delete\",\"filter\":{}}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            "/api/executions/bulk",
            "{\"action\":\"stop\",\"filter\":{\"status\":\"all\"}}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            "/api/gc",
            "{\"dry_run\":null}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            "/api/gc",
            "{\"dry_run\":\"false\"}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            "/api/gc",
            "{\"dry_run\":true,\"after\":\"x\"}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            "/api/keys",
            "{\"name\":\"a b\",\"role\":\"admin\"}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            "/api/keys",
            "{\"name\":\"a\",\"role\":\"root\"}".into(),
            "422 INVALID_REQUEST",
        ),
        (
            "/api/keys",
            "{\"name\":\"a\",\"role\":\"viewer\",\"expires_in\":-1}".into(),
            "422 INVALID_REQUEST",
        ),
        ("/api/executions/x/stop", "{".into(), "400 INVALID_JSON"),
        (
            "/api/executions/00000000-0000-0000-0000-000000000000/fork",
            "{\"from_seq\":-1}".into(),
            "422 INVALID_REQUEST",
        ),
        ("/api/doctor", "{\"fix\":1}".into(), "422 INVALID_REQUEST"),
        (
            "/api/dead-letters/1/requeue",
            "[]".into(),
            "422 INVALID_REQUEST",
        ),
        (
            "/api/scheduled-actions/preview",
            "{\"spec\":{}}".into(),
            "422 INVALID_ACTION",
        ),
    ];
    let mut all: Vec<(String, Request, &'static str)> = texts
        .into_iter()
        .map(|(path, body, expected)| {
            let (what, request) = json_to(path, &body);
            (what, request, expected)
        })
        .collect();
    let start = |kind: &str, body: Vec<u8>| Request::new("POST", START).body(kind, body);
    let known = json!({"schema": "known"}).to_string().into_bytes();
    for (what, request, expected) in [
        (
            "not UTF-8",
            start("application/json", b"{\"schema\":\"\xff\"}".to_vec()),
            "400 INVALID_JSON",
        ),
        (
            "another type",
            start("text/plain", known.clone()),
            "415 UNSUPPORTED_MEDIA_TYPE",
        ),
        (
            "a form",
            start(
                "application/x-www-form-urlencoded",
                b"schema=known".to_vec(),
            ),
            "415 UNSUPPORTED_MEDIA_TYPE",
        ),
        (
            "packed",
            start("application/json", known.clone()).header("Content-Encoding", "br"),
            "415 UNSUPPORTED_MEDIA_TYPE",
        ),
        (
            "too large",
            start("application/json", vec![b' '; 2 << 20]),
            "413 LIMIT_EXCEEDED",
        ),
        (
            "announced and never sent",
            start("application/json", Vec::new()).header("Content-Length", "9"),
            "408 REQUEST_TIMEOUT",
        ),
        (
            "from another page",
            start("application/json", known).header("Origin", "http://evil.example"),
            "403 FORBIDDEN",
        ),
    ] {
        all.push((what.to_owned(), request, expected));
    }
    all
}

pub(crate) async fn knock(world: &World, tally: &mut Tally) {
    for place in &world.places {
        let known = place.schema(|schema| schema["name"] = json!("known"));
        let saved = place
            .answer(Request::new("POST", "/api/schemas").json(&known))
            .await;
        assert_eq!(saved, "201");
    }
    for (what, request, expected) in inputs() {
        tally.count(DOOR);
        let act = async |place: &Place| place.answer(request.clone()).await;
        world.everywhere(tally, &what, expected, act).await;
    }
}

//! Calls of webhooks by strangers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pawl_kernel::expr::{Expression, Limits, Meter, Scope};
use pawl_kernel::time::Clock as _;
use serde_json::json;

use crate::client::Request;
use crate::tally::Tally;
use crate::world::{Place, SECRET, World};

const DOOR: &str = "webhook";

fn post(path: &str) -> Request {
    Request::new("POST", &format!("/webhook/{path}"))
}

fn json_body(path: &str, body: impl Into<Vec<u8>>) -> Request {
    post(path).body("application/json", body)
}

/// The seconds, by the same clock as the server's.
fn now() -> i64 {
    pawl::system::SystemClock.now().as_micros() / 1_000_000
}

/// By the language of expressions, which has it too.
fn hmac(key: &str, text: &str) -> String {
    let roots = json!({"key": key, "text": text});
    let compiled = Expression::compile("hmac_sha256(key, text)").unwrap();
    let scope = Scope::new(roots.as_object().unwrap(), 0, "", 0);
    let value = compiled.evaluate(&scope, &mut Meter::new(Limits::default()));
    value.unwrap().as_str().unwrap().to_owned()
}

fn simple(path: &str, key: &str, stamp: &str, body: &str) -> Request {
    let kind = match body.starts_with('{') {
        true => "application/json",
        false => "text/plain",
    };
    let signature = hmac(key, &format!("{stamp}.{body}"));
    post(path)
        .body(kind, body)
        .header("X-Pawl-Timestamp", stamp)
        .header("X-Pawl-Signature", &format!("sha256={signature}"))
}

fn standard(path: &str, id: &str, stamp: &str, body: &str) -> Request {
    let signed = format!("{id}.{stamp}.{body}");
    let hex = hmac(SECRET, &signed);
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    let signature = STANDARD.encode(bytes);
    json_body(path, body)
        .header("webhook-id", id)
        .header("webhook-timestamp", stamp)
        .header("webhook-signature", &format!("v1,{signature}"))
}

/// What it is, the call, and the answer.
fn inputs() -> Vec<(&'static str, Request, &'static str)> {
    let deep = "[".repeat(100_000);
    let stamp = now().to_string();
    let key = "Idempotency-Key";
    vec![
        (
            "no path",
            Request::new("POST", "/webhook/"),
            "404 NOT_FOUND",
        ),
        ("unknown path", post("nowhere"), "404 NOT_FOUND"),
        ("dots", post("../api/schemas"), "404 NOT_FOUND"),
        ("escaped dots", post("%2e%2e/api/schemas"), "404 NOT_FOUND"),
        ("escaped slash", post("a%2Fb"), "404 NOT_FOUND"),
        ("NUL in the path", post("open%00"), "404 NOT_FOUND"),
        ("not UTF-8 in the path", post("%ff%fe"), "404 NOT_FOUND"),
        ("two slashes", post("/open"), "404 NOT_FOUND"),
        ("other case", post("OPEN"), "404 NOT_FOUND"),
        ("a long path", post(&"a/".repeat(5_000)), "404 NOT_FOUND"),
        (
            "an entry of no schema",
            post("00000000-0000-0000-0000-000000000000/s"),
            "404 NOT_FOUND",
        ),
        (
            "another method",
            Request::new("GET", "/webhook/open"),
            "405 METHOD_NOT_ALLOWED",
        ),
        (
            "an invented method",
            Request::new("BREW", "/webhook/open"),
            "405 METHOD_NOT_ALLOWED",
        ),
        (
            "not JSON",
            json_body("open", "{\"a\":1,}"),
            "422 INVALID_JSON",
        ),
        (
            "a name twice",
            json_body("open", "{\"a\":1,\"a\":2}"),
            "422 INVALID_JSON",
        ),
        (
            "a number too large",
            json_body("open", "1e400"),
            "422 INVALID_JSON",
        ),
        (
            "half a surrogate",
            json_body("open", "\"\\ud800\""),
            "422 INVALID_JSON",
        ),
        (
            "not UTF-8",
            json_body("open", b"\"\xff\"".to_vec()),
            "422 INVALID_JSON",
        ),
        ("deep", json_body("open", deep), "422 INVALID_JSON"),
        (
            "large",
            json_body("open", vec![b' '; 2 << 20]),
            "413 LIMIT_EXCEEDED",
        ),
        (
            "over its own limit",
            json_body("small", vec![b' '; 1_001]),
            "413 LIMIT_EXCEEDED",
        ),
        (
            "packed",
            json_body("open", "{}").header("Content-Encoding", "gzip"),
            "415 UNSUPPORTED_MEDIA_TYPE",
        ),
        (
            "another charset",
            post("open").body("application/json; charset=utf-16", "{}"),
            "415 UNSUPPORTED_MEDIA_TYPE",
        ),
        (
            "a form that is not UTF-8",
            post("open").body("application/x-www-form-urlencoded", "a=%ff"),
            "422 INVALID_ENCODING",
        ),
        (
            "a query that is not UTF-8",
            post("open?a=%ff"),
            "422 INVALID_ENCODING",
        ),
        (
            "a long key",
            json_body("open", "{}").header(key, &"k".repeat(5_000)),
            "400 INVALID_HEADER",
        ),
        (
            "two keys",
            json_body("open", "{}").header(key, "a").header(key, "b"),
            "400 INVALID_HEADER",
        ),
        (
            "from another page",
            json_body("open", "{}").header("Origin", "http://evil.example"),
            "403 FORBIDDEN",
        ),
        (
            "from a nameless page",
            json_body("open", "{}").header("Origin", "null"),
            "403 FORBIDDEN",
        ),
        (
            "from another site",
            json_body("open", "{}").header("Sec-Fetch-Site", "cross-site"),
            "403 FORBIDDEN",
        ),
        (
            "another host",
            json_body("open", "{}").header("Host", "evil.example"),
            "403 FORBIDDEN",
        ),
        ("no token", json_body("token", "{}"), "401 UNAUTHORIZED"),
        (
            "a wrong token",
            json_body("token", "{}").header("Authorization", "Bearer x"),
            "401 UNAUTHORIZED",
        ),
        (
            "two tokens",
            json_body("token", "{}")
                .header("Authorization", "Bearer x")
                .header("Authorization", &format!("Bearer {SECRET}")),
            "401 UNAUTHORIZED",
        ),
        (
            "no signature",
            json_body("signed", "{}"),
            "401 UNAUTHORIZED",
        ),
        (
            "signed with another key",
            simple("signed", "another", &stamp, "{}"),
            "401 UNAUTHORIZED",
        ),
        (
            "signed long ago",
            simple("signed", SECRET, "1000000000", "{}"),
            "401 UNAUTHORIZED",
        ),
        (
            "signed when",
            simple("signed", SECRET, "now", "{}"),
            "401 UNAUTHORIZED",
        ),
        (
            "signed with an empty id",
            standard("signed", "", &stamp, "{}"),
            "401 UNAUTHORIZED",
        ),
        (
            "signed, with a key beside",
            simple("signed", SECRET, &stamp, "{}").header(key, "k"),
            "400 INVALID_HEADER",
        ),
    ]
}

/// One signature, sent in two ways: what it is, the call that is taken, and the one that is not.
fn replays() -> Vec<(&'static str, Request, Request)> {
    let time = now();
    let (stamp, later) = (time.to_string(), (time + 1).to_string());
    let both = format!("{stamp}.{{\"n\":4}}");
    vec![
        (
            "the same again",
            simple("signed", SECRET, &stamp, "{\"n\":1}"),
            simple("signed", SECRET, &stamp, "{\"n\":1}"),
        ),
        (
            "the same elsewhere, under another spelling of the secret",
            simple("signed", SECRET, &stamp, "{\"n\":2}"),
            simple("shouted", SECRET, &stamp, "{\"n\":2}"),
        ),
        (
            "the same id elsewhere",
            standard("signed", "msg_1", &stamp, "{\"n\":3}"),
            standard("shouted", "msg_1", &stamp, "{\"n\":3}"),
        ),
        (
            "the same in the other form",
            standard("signed", &later, &stamp, "{\"n\":4}"),
            simple("signed", SECRET, &later, &both),
        ),
    ]
}

async fn prepare(place: &Place) {
    let hmac = |secret: &str| json!({"type": "hmac", "secret": secret});
    let token = |secret: &str| json!({"type": "header", "secret": secret});
    for (path, more) in [
        ("open", json!({})),
        ("small", json!({"max_body": 1_000})),
        ("token", json!({"auth": token("sender")})),
        ("signed", json!({"auth": hmac("sender")})),
        ("shouted", json!({"auth": hmac("SENDER")})),
    ] {
        let schema = place.schema(|schema| {
            let mut trigger = json!({"type": "webhook", "path": path});
            trigger
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            schema["triggers"] = json!([trigger]);
            schema["nodes"][1]["config"] = json!({"output": 1});
        });
        let saved = place
            .answer(Request::new("POST", "/api/schemas").json(&schema))
            .await;
        assert_eq!(saved, "201", "{path}");
    }
}

pub(crate) async fn knock(world: &World, tally: &mut Tally) {
    for place in &world.places {
        prepare(place).await;
    }
    for (what, call, expected) in inputs() {
        tally.count(DOOR);
        let act = async |place: &Place| place.answer(call.clone()).await;
        world.everywhere(tally, what, expected, act).await;
    }
    for (what, first, again) in replays() {
        tally.count(DOOR);
        let act = async |place: &Place| {
            let taken = place.answer(first.clone()).await;
            format!("{taken}, {}", place.answer(again.clone()).await)
        };
        // At another schema it is a conflict with what the first has started.
        let expected = "202, 409 REPLAYED|202, 409 CONFLICT";
        world.everywhere(tally, what, expected, act).await;
    }
}

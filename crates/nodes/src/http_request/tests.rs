//! The node over real sockets on loopback.

use std::time::Duration;

use pawl_kernel::node::{NodeError, NodeHandler};
use serde_json::{Value, json};

use super::HttpRequest;
use crate::Environment;
use crate::http::{AddressPolicy, HttpLimits};
use crate::testing::server::{Answer, Server, header, reply};
use crate::testing::{call, error, output};

fn node() -> HttpRequest {
    let policy = AddressPolicy {
        allow: vec!["127.0.0.1".parse().unwrap()],
        ..AddressPolicy::default()
    };
    HttpRequest::new(&Environment::new(policy, HttpLimits::default()))
}

/// `config` with the URL of the server in it.
async fn answer(server: &Server, mut config: Value) -> Value {
    config["url"] = server.url("/x").into();
    output(&node(), config, "success").await
}

async fn failure(server: &Server, mut config: Value, code: &str) -> NodeError {
    config["url"] = server.url("/x?key=1").into();
    error(&node(), config, code).await
}

/// What a node with this config sends.
async fn sent(config: Value) -> String {
    let server = Server::saying(reply("200 OK", "", "")).await;
    answer(&server, config).await;
    server.requests().remove(0)
}

async fn refused(config: Value, code: &str) -> NodeError {
    let mut whole = json!({"url": "http://127.0.0.1:1/"});
    whole
        .as_object_mut()
        .unwrap()
        .extend(config.as_object().unwrap().clone());
    error(&node(), whole, code).await
}

#[tokio::test]
async fn json_comes_back_as_json() {
    let head = "content-type: application/json; charset=utf-8\r\nX-Two: a\r\nx-two: b\r\nset-cookie: c=1\r\nset-cookie: d=2\r\n";
    let server = Server::saying(reply("201 Created", head, r#"{"id": 9007199254740993}"#)).await;
    let output = answer(&server, json!({})).await;
    assert_eq!(output["status_code"], 201);
    assert_eq!(output["body"], json!({"id": 9_007_199_254_740_993_i64}));
    assert_eq!(output["headers"]["x-two"], "a, b");
    assert_eq!(output["headers"]["set-cookie"], json!(["c=1", "d=2"]));
}

#[tokio::test]
async fn every_call_says_who_it_is() {
    let request = sent(json!({})).await;
    assert!(request.starts_with("GET /x HTTP/1.1\r\n"), "{request}");
    for (name, value) in [
        ("idempotency-key", "exe_1:7"),
        ("x-correlation-id", "cor_1"),
        ("user-agent", concat!("pawl/", env!("CARGO_PKG_VERSION"))),
        ("accept-encoding", "identity"),
    ] {
        assert_eq!(header(&request, name), Some(value), "{name}");
    }
    assert_eq!(header(&request, "content-type"), None);
    let own = sent(
        json!({"headers": {"IDEMPOTENCY-KEY": "mine", "X-Correlation-ID": 5, "x-none": null}}),
    )
    .await;
    assert_eq!(header(&own, "idempotency-key"), Some("mine"));
    assert_eq!(header(&own, "x-correlation-id"), Some("5"));
    assert_eq!(own.to_lowercase().matches("idempotency-key").count(), 1);
    assert_eq!(header(&own, "x-none"), None);
}

async fn check_body(config: Value, content_type: &str, body: &str) {
    let mut config = config;
    config["method"] = json!("post");
    let request = sent(config).await;
    assert_eq!(
        header(&request, "content-type"),
        Some(content_type),
        "{request}"
    );
    assert_eq!(request.split_once("\r\n\r\n").unwrap().1, body);
    assert_eq!(
        header(&request, "content-length"),
        Some(body.len().to_string().as_str())
    );
}

#[tokio::test]
async fn bodies_of_every_kind() {
    let form = json!({"Content-Type": "application/x-www-form-urlencoded"});
    check_body(
        json!({"body": {"a": [1, null]}}),
        "application/json",
        r#"{"a":[1,null]}"#,
    )
    .await;
    check_body(json!({"body": [1]}), "application/json", "[1]").await;
    check_body(json!({"body": true}), "application/json", "true").await;
    check_body(
        json!({"body": "héllo"}),
        "text/plain; charset=utf-8",
        "héllo",
    )
    .await;
    check_body(
        json!({"body": "<a/>", "headers": {"content-type": "application/xml"}}),
        "application/xml",
        "<a/>",
    )
    .await;
    let fields = json!({"a": "x y&z", "b": [1, 2], "c": null});
    check_body(
        json!({"body": fields, "headers": form}),
        "application/x-www-form-urlencoded",
        "a=x+y%26z&b=1&b=2",
    )
    .await;
    let none = sent(json!({"method": "POST"})).await;
    assert_eq!(
        (
            header(&none, "content-type"),
            header(&none, "content-length")
        ),
        (None, Some("0"))
    );
    refused(json!({"body": {"a": {}}, "headers": {"content-type": "application/x-www-form-urlencoded"}}), "TYPE_ERROR").await;
}

#[tokio::test]
async fn parameters_are_encoded() {
    let request =
        sent(json!({"query": {"q": "a b&c", "n": 1.5, "list": ["x", true], "none": null}})).await;
    assert!(
        request.starts_with("GET /x?q=a+b%26c&n=1.5&list=x&list=true HTTP"),
        "{request}"
    );
    refused(json!({"query": {"q": {"a": 1}}}), "TYPE_ERROR").await;
}

#[tokio::test]
async fn credentials_of_every_kind() {
    let basic = sent(json!({"auth": {"type": "basic", "username": "u", "password": "p:ä"}})).await;
    assert_eq!(header(&basic, "authorization"), Some("Basic dTpwOsOk"));
    let bearer = sent(json!({"auth": {"type": "bearer", "token": "t"}})).await;
    assert_eq!(header(&bearer, "authorization"), Some("Bearer t"));
    let own = sent(json!({"auth": {"type": "header", "name": "X-Api-Key", "value": "v"}})).await;
    assert_eq!(header(&own, "x-api-key"), Some("v"));
    for auth in [
        json!({"type": "basic", "username": "a:b"}),
        json!({"type": "bearer", "token": "a\r\nb"}),
        json!({"type": "bearer"}),
        json!({"type": "bearer", "token": "t", "username": "u"}),
        json!({"type": "header", "name": "a b", "value": "v"}),
        json!({"type": "digest"}),
        json!({}),
    ] {
        refused(json!({"auth": auth}), "TYPE_ERROR").await;
    }
}

#[tokio::test]
async fn nothing_can_be_smuggled_through_headers() {
    for value in ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "\u{7f}"] {
        let error = refused(json!({"headers": {"X-A": value}}), "TYPE_ERROR").await;
        assert!(
            error.message.contains("`X-A`") && !error.message.contains(value),
            "{}",
            error.message
        );
    }
    for name in [
        "",
        "a b",
        "a\r\nb",
        "a:b",
        "ключ",
        "Content-Length",
        "Host",
        "transfer-encoding",
        "Connection",
        "Upgrade",
    ] {
        refused(json!({"headers": {name: "1"}}), "TYPE_ERROR").await;
    }
    refused(json!({"headers": {"X-A": [1]}}), "TYPE_ERROR").await;
}

#[tokio::test]
async fn urls_that_are_refused() {
    for url in [
        "",
        "example.com/x",
        "/x",
        "ftp://example.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
        "http://u@example.com/",
        "http://example.com@127.0.0.1/",
        "http://u:p@example.com/",
        "http://exa mple.com/",
        "http://example.com/a\r\nHost: x",
        "http://exam\tple.com/",
        "http://example.com/a/../b",
        "http://example.com/users/..",
        "http://example.com/%2e%2E/x",
        "http://example.com/.%2e/x",
        "http://h/a\\..\\b",
        "http://example.com:65536/",
        "http://[::1%25eth0]/",
    ] {
        error(&node(), json!({"url": url}), "INVALID_URL").await;
    }
    for url in [
        "http://127.0.0.2/",
        "http://localhost.localdomain@h/",
        "http://127.0.0.1#@example.com/",
    ] {
        let told = node().run(call(json!({"url": url}))).await.unwrap_err();
        assert!(
            ["FORBIDDEN_ADDRESS", "INVALID_URL", "CONNECTION_FAILED"].contains(&told.code.as_ref()),
            "{url}"
        );
    }
    let forbidden = error(
        &node(),
        json!({"url": "http://169.254.169.254/latest"}),
        "FORBIDDEN_ADDRESS",
    )
    .await;
    assert!(!forbidden.retryable);
}

#[tokio::test]
async fn a_bad_status_is_an_error_with_the_answer_in_it() {
    let head = "content-type: application/json\r\nretry-after: 7\r\n";
    let server = Server::saying(reply("503 Service Unavailable", head, r#"{"why": "busy"}"#)).await;
    let error = failure(&server, json!({}), "HTTP_STATUS").await;
    assert_eq!(
        (error.retryable, error.retry_after),
        (true, Some(Duration::from_secs(7)))
    );
    assert_eq!(error.details["status_code"], 503);
    assert_eq!(error.details["body"], json!({"why": "busy"}));
    assert_eq!(error.details["headers"]["retry-after"], "7");
    assert!(
        error
            .message
            .ends_with("/x answered 503 Service Unavailable"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn the_status_is_the_error_even_if_the_body_is_broken_too() {
    let head = "content-type: application/json\r\n";
    let server = Server::saying(reply("500 Internal Server Error", head, "<html>oops")).await;
    assert_eq!(
        failure(&server, json!({}), "HTTP_STATUS").await.details["body"],
        "<html>oops"
    );
    let large = Server::saying(reply("500 Internal Server Error", "", "x".repeat(20))).await;
    let error = failure(&large, json!({"max_bytes": 10}), "RESPONSE_TOO_LARGE").await;
    assert_eq!(
        (error.retryable, error.details),
        (true, json!({"status_code": 500}))
    );
}

#[tokio::test]
async fn which_statuses_are_tried_again() {
    for (status, retryable) in [
        (400, false),
        (401, false),
        (404, false),
        (408, true),
        (425, true),
        (429, true),
        (500, true),
        (599, true),
    ] {
        let server = Server::saying(reply(&format!("{status} X"), "", "")).await;
        assert_eq!(
            failure(&server, json!({}), "HTTP_STATUS").await.retryable,
            retryable,
            "{status}"
        );
    }
}

#[tokio::test]
async fn accepted_statuses_are_answers() {
    let server = Server::saying(reply("404 Not Found", "", "none")).await;
    for accept in [json!([404]), json!(["4xx"]), json!([500, "400-410"])] {
        let output = answer(&server, json!({"accept": accept})).await;
        assert_eq!(
            (&output["status_code"], &output["body"]),
            (&json!(404), &json!("none"))
        );
    }
    failure(&server, json!({"accept": ["5xx"]}), "HTTP_STATUS").await;
    failure(&server, json!({"accept": ["often"]}), "TYPE_ERROR").await;
}

async fn check_reading(response: &str, head: &str, body: &[u8], expected: Value) {
    let server = Server::saying(reply("200 OK", head, body)).await;
    let output = answer(&server, json!({"response": response})).await;
    assert_eq!(output["body"], expected, "{response} {head}");
}

const JSON: &str = "content-type: application/vnd.api+json\r\n";
const TEXT: &str = "content-type: text/plain\r\n";

#[tokio::test]
async fn bodies_are_read_as_asked() {
    check_reading("auto", JSON, b"[1]", json!([1])).await;
    check_reading("auto", JSON, b"\xef\xbb\xbf[1]", json!([1])).await;
    check_reading("auto", JSON, b"", Value::Null).await;
    check_reading("auto", TEXT, b"[1]", json!("[1]")).await;
    check_reading("auto", "", "привет".as_bytes(), json!("привет")).await;
    check_reading("auto", TEXT, b"\xff\xfe\x00", json!({"base64": "//4A"})).await;
    check_reading(
        "auto",
        "content-type: text/xml\r\n",
        b"<!DOCTYPE a>",
        json!("<!DOCTYPE a>"),
    )
    .await;
    check_reading("json", TEXT, b"{\"a\":\"\\u0000\"}", json!({"a": "\u{0}"})).await;
    check_reading("json", TEXT, b"-0", json!(-0.0)).await;
    check_reading("text", JSON, b"[1]", json!("[1]")).await;
    check_reading("text", TEXT, b"", json!("")).await;
    check_reading("base64", JSON, b"\xff\xfe\x00", json!("//4A")).await;
}

#[tokio::test]
async fn policy_of_responses() {
    let cases = include_str!("../../../../tests/json_policy.json");
    for case in serde_json::from_str::<Vec<Value>>(cases).unwrap() {
        let body = case["text"].as_str().unwrap();
        match case.get("kept") {
            Some(kept) => check_reading("auto", JSON, body.as_bytes(), kept.clone()).await,
            None => {
                let server = Server::saying(reply("200 OK", JSON, body)).await;
                let code = match case["refused"] == "Depth" {
                    true => "LIMIT_EXCEEDED",
                    false => "INVALID_JSON",
                };
                failure(&server, json!({}), code).await;
            }
        }
    }
}

#[tokio::test]
async fn json_that_is_none() {
    let long = "9".repeat(400);
    for body in [
        "<html>",
        "{",
        "[1,]",
        "{} {}",
        "// c\n1",
        "NaN",
        "1e400",
        "{\"a\":\"\\ud800\"}",
        "\"\\udc00\"",
        "'a'",
        long.as_str(),
    ] {
        let server = Server::saying(reply("200 OK", JSON, body)).await;
        let error = failure(&server, json!({}), "INVALID_JSON").await;
        assert_eq!(
            (error.retryable, &error.details["body"]),
            (false, &json!(body))
        );
        let text = Server::saying(reply("200 OK", TEXT, body)).await;
        failure(&text, json!({"response": "json"}), "INVALID_JSON").await;
    }
    let empty = Server::saying(reply("200 OK", JSON, "")).await;
    failure(&empty, json!({"response": "json"}), "INVALID_JSON").await;
    let binary = Server::saying(reply("200 OK", "content-type: text/plain\r\n", b"\xff")).await;
    failure(&binary, json!({"response": "text"}), "TYPE_ERROR").await;
    let packed = "content-type: application/json\r\ncontent-encoding: gzip\r\n";
    let gzip = Server::saying(reply("200 OK", packed, b"\x1f\x8b\x08")).await;
    assert!(
        failure(&gzip, json!({}), "INVALID_JSON")
            .await
            .message
            .contains("compressed (gzip)")
    );
}

#[tokio::test]
async fn json_that_is_too_deep() {
    let nested = |depth: usize| format!("{}\"]]{{\\\"\"{}", "[".repeat(depth), "]".repeat(depth));
    check_reading(
        "auto",
        JSON,
        nested(64).as_bytes(),
        serde_json::from_str(&nested(64)).unwrap(),
    )
    .await;
    for body in [nested(65), "[".repeat(100_000), "{\"a\":".repeat(100_000)] {
        let server = Server::saying(reply("200 OK", JSON, body)).await;
        failure(&server, json!({}), "LIMIT_EXCEEDED").await;
    }
}

#[tokio::test]
async fn answers_without_a_body() {
    let server = Server::saying("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await;
    assert_eq!(
        answer(&server, json!({"response": "json"})).await["body"],
        Value::Null
    );
    let head = Server::saying(format!(
        "HTTP/1.1 200 OK\r\n{JSON}content-length: 5000000\r\n\r\n"
    ))
    .await;
    let output = answer(&head, json!({"method": "HEAD", "response": "json"})).await;
    assert_eq!(
        (&output["body"], &output["headers"]["content-length"]),
        (&Value::Null, &json!("5000000"))
    );
}

#[tokio::test]
async fn redirects_are_followed_as_asked() {
    let server = Server::start("127.0.0.1", |request| {
        Answer::Bytes(match request.contains(" /x ") {
            true => reply("302 Found", "location: /y\r\n", ""),
            false => reply("200 OK", "", "there"),
        })
    })
    .await;
    for follow in [json!(true), json!(1), Value::Null] {
        assert_eq!(
            answer(&server, json!({"follow_redirects": follow})).await["body"],
            "there"
        );
    }
    for follow in [json!(false), json!(0)] {
        let output = answer(&server, json!({"follow_redirects": follow})).await;
        assert_eq!(
            (&output["status_code"], &output["headers"]["location"]),
            (&json!(302), &json!("/y"))
        );
    }
    refused(json!({"follow_redirects": 21}), "TYPE_ERROR").await;
}

#[tokio::test]
async fn a_redirect_to_a_forbidden_address_or_for_ever() {
    let inner = Server::saying(reply("302 Found", "location: http://127.0.0.2:1/\r\n", "")).await;
    failure(&inner, json!({}), "FORBIDDEN_ADDRESS").await;
    let round = Server::saying(reply("302 Found", "location: /x\r\n", "")).await;
    assert!(
        !failure(&round, json!({}), "REDIRECT_REFUSED")
            .await
            .retryable
    );
    assert_eq!(round.requests().len(), 6);
}

#[tokio::test]
async fn size_is_limited() {
    let server = Server::saying(reply("200 OK", "", "x".repeat(11))).await;
    assert_eq!(
        answer(&server, json!({"max_bytes": 11})).await["body"],
        "xxxxxxxxxxx"
    );
    let error = failure(&server, json!({"max_bytes": 10}), "RESPONSE_TOO_LARGE").await;
    assert!(
        error.message.contains("raise `max_bytes`") && !error.retryable,
        "{}",
        error.message
    );
    refused(json!({"max_bytes": 17 << 20}), "TYPE_ERROR").await;
    refused(json!({"max_bytes": -1}), "TYPE_ERROR").await;
}

#[tokio::test]
async fn nobody_there_is_worth_another_try() {
    assert!(refused(json!({}), "CONNECTION_FAILED").await.retryable);
    assert!(
        refused(json!({"url": "http://name.invalid/"}), "DNS_FAILED")
            .await
            .retryable
    );
}

#[tokio::test]
async fn configs_that_do_not_fit() {
    for config in [
        json!({"method": "STEAL"}),
        json!({"method": "GE T"}),
        json!({"url": null}),
        json!({"url": 5}),
        json!({"response": "xml"}),
        json!({"headers": []}),
        json!({"timeout": 5}),
        json!({"accept": 404}),
    ] {
        refused(config, "TYPE_ERROR").await;
    }
}

#[test]
fn checked_when_saved() {
    let found = |config: Value| {
        let mut found = node().check(&config);
        assert!(found.len() <= 1, "{found:?}");
        found
            .pop()
            .map(|problem| problem.pointer)
            .unwrap_or_default()
    };
    assert_eq!(found(json!({"url": "https://{{input.host}}/a/../b"})), "");
    assert_eq!(
        found(json!({"url": "https://h/", "accept": [404, "{{x}}"]})),
        ""
    );
    assert_eq!(found(json!({"url": "ftp://h/"})), "/url");
    assert_eq!(
        found(json!({"url": "https://h/", "headers": {"X-A": "1", "hOsT": "evil"}})),
        "/headers/hOsT"
    );
    assert_eq!(
        found(json!({"url": "https://h/", "headers": {"{{input.name}}": "evil"}})),
        ""
    );
    assert_eq!(found(json!({"accept": ["some"]})), "/accept");
    assert_eq!(found(json!({"auth": {"type": "bearer"}})), "/auth");
    assert_eq!(
        found(json!({"auth": {"type": "basic", "username": "u", "token": "t"}})),
        "/auth/token"
    );
    assert_eq!(
        found(json!({"auth": {"type": "header", "name": "a", "value": "{{secrets.k}}"}})),
        ""
    );
}

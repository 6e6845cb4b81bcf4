//! Inputs that nobody sends by accident. Each is refused with the agreed shape or taken with its one meaning;
//! none breaks the server, which must answer the next request as before.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Answer, Request, send_raw};
use crate::server::{Server, id, linear};

/// Nothing takes longer, whatever it is.
const ANSWER_TIME: Duration = Duration::from_secs(5);

fn start(body: impl Into<Vec<u8>>) -> Request {
    Request::new("POST", "/api/executions?wait=20s").body("application/json", body)
}

/// A start whose `input` is this text.
fn input(text: &str) -> Request {
    start(format!(
        "{{\"schema\":\"orders\",\"input\":{{\"v\":{text}}}}}"
    ))
}

/// The same table that goes through the other edges: bodies of the API and of webhooks.
#[tokio::test(flavor = "multi_thread")]
async fn json_policy_of_the_api_and_webhooks() {
    let server = Server::start().await;
    let mut schema = linear("orders");
    schema["triggers"] = json!([{"type": "webhook", "path": "policy", "respond": "immediately"}]);
    server.post("/api/schemas", schema).await.expect(201);
    let cases = include_str!("../../../../tests/json_policy.json");
    for case in serde_json::from_str::<Vec<Value>>(cases).unwrap() {
        let text = case["text"].as_str().unwrap();
        let api = input(text);
        let hook = Request::new("POST", "/webhook/policy").body("application/json", text);
        match case.get("kept") {
            Some(kept) => {
                let run = server.send(api).await.expect(201);
                let path = format!("/api/executions/{}/context", id(&run));
                let context = server.get(&path).await.expect(200);
                assert_eq!(context["context"]["input"]["v"], *kept, "{case}");
                server.send(hook).await.expect(202);
            }
            None => {
                check(&server, text, api, 400, "INVALID_JSON").await;
                check(&server, text, hook, 422, "INVALID_JSON").await;
            }
        }
    }
    server.close().await;
}

fn nested(open: &str, close: &str, depth: usize) -> String {
    format!("{}1{}", open.repeat(depth), close.repeat(depth))
}

async fn check(server: &Server, label: &str, request: Request, status: u16, code: &str) -> Answer {
    let began = Instant::now();
    let answer = server.send(request).await;
    assert!(
        began.elapsed() < ANSWER_TIME,
        "{label} took {:?}",
        began.elapsed()
    );
    assert_eq!(
        answer.status,
        status,
        "{label}: {}",
        shorten(&answer.text())
    );
    if code.is_empty() {
        return answer;
    }
    let body = answer.json();
    assert_eq!(body["error"], code, "{label}: {body}");
    assert!(
        body["message"]
            .as_str()
            .is_some_and(|text| text.len() < 1_000),
        "{label}"
    );
    answer
}

fn shorten(text: &str) -> String {
    text.chars().take(300).collect()
}

async fn still_well(server: Server) {
    server.get("/health/ready").await.expect(200);
    assert_eq!(
        server.run_to_end(json!({"schema": "orders"})).await["status"],
        "completed"
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_without_one_meaning_are_refused() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let bad_json: Vec<(&str, Request)> = vec![
        ("empty body", start("")),
        ("white space", start(" \n\t ")),
        ("half an object", start("{\"schema\":")),
        ("100000 lists", start("[".repeat(100_000))),
        ("100000 objects", start("{\"a\":".repeat(100_000))),
        ("65 levels", start(nested("[", "]", 65))),
        ("65 levels in input", input(&nested("[", "]", 63))),
        (
            "duplicate key",
            start("{\"schema\":\"orders\",\"schema\":\"other\"}"),
        ),
        ("duplicate key, escaped", input("{\"a\":1,\"\\u0061\":2}")),
        ("lone high surrogate", input("\"\\ud800\"")),
        ("lone low surrogate", input("\"\\udfff\"")),
        ("surrogates in wrong order", input("\"\\udc00\\ud800\"")),
        (
            "invalid UTF-8",
            start(b"{\"schema\":\"\xff\xfe\"}".to_vec()),
        ),
        (
            "overlong encoding",
            start(b"{\"schema\":\"\xc0\xaf\"}".to_vec()),
        ),
        (
            "UTF-8 surrogate",
            start(b"{\"schema\":\"\xed\xa0\x80\"}".to_vec()),
        ),
        ("byte order mark", start("\u{feff}{}")),
        ("UTF-16", start(b"\xff\xfe{\0}\0".to_vec())),
        ("1e400", input("1e400")),
        ("-1e400", input("-1e400")),
        ("NaN", input("NaN")),
        ("Infinity", input("Infinity")),
        ("-Infinity", input("-Infinity")),
        ("2^64", input("18446744073709551616")),
        ("-2^63-1", input("-9223372036854775809")),
        ("400 digits", input(&"9".repeat(400))),
        ("leading zero", input("007")),
        ("hexadecimal", input("0x10")),
        ("raw NUL in text", input("\"\0\"")),
        ("raw line break in text", input("\"a\nb\"")),
        ("comment", start("{\"schema\":\"orders\" /* x */}")),
        ("trailing comma", start("{\"schema\":\"orders\",}")),
        ("two documents", start("{\"schema\":\"orders\"} {}")),
        ("single quotes", start("{'schema':'orders'}")),
    ];
    for (label, request) in bad_json {
        check(&server, label, request, 400, "INVALID_JSON").await;
    }
    let wrong_shape: Vec<(&str, Request)> = vec![
        ("null", start("null")),
        ("true", start("true")),
        ("1", start("1")),
        ("text", start("\"orders\"")),
        ("list", start("[]")),
        ("__proto__", start("{\"schema\":\"orders\",\"__proto__\":{\"admin\":true}}")),
        ("constructor", start("{\"schema\":\"orders\",\"constructor\":1}")),
        ("NUL in field name", start("{\"schema\":\"orders\",\"\\u0000\":1}")),
        ("control character in key", start("{\"schema\":\"orders\",\"idempotency_key\":\"a\\nb\"}")),
        ("long key", start(format!("{{\"schema\":\"orders\",\"idempotency_key\":\"{}\"}}", "k".repeat(256)))),
        ("many labels", start(json!({"schema": "orders", "labels": (0..65).map(|n| (n.to_string(), json!("x"))).collect::<serde_json::Map<_, _>>()}).to_string())),
        ("mass assignment: id", start("{\"schema\":\"orders\",\"id\":\"x\"}")),
        ("mass assignment: status", start("{\"schema\":\"orders\",\"status\":\"completed\"}")),
        ("mass assignment: lease_token", start("{\"schema\":\"orders\",\"lease_token\":\"x\"}")),
        ("mass assignment: created_by", start("{\"schema\":\"orders\",\"created_by\":\"admin\"}")),
        ("mass assignment: user", start("{\"schema\":\"orders\",\"user\":{\"id\":2}}")),
        ("files object", start("{\"schema\":\"orders\",\"files\":{\"a\":{\"filepath\":\"/etc/passwd\"}}}")),
    ];
    for (label, request) in wrong_shape {
        check(&server, label, request, 422, "INVALID_REQUEST").await;
    }
    still_well(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strange_but_clear_values_come_back_as_they_went() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let many: Value = (0..50_000)
        .map(|n| (format!("k{n}"), json!(n)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let values = [
        json!("\0"),
        json!({"\0": 1}),
        json!({"__proto__": {"x": 1}, "constructor": 2, "prototype": 3, "toString": 4}),
        json!(9_007_199_254_740_993_u64),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(0.1 + 0.2),
        json!(-0.0),
        json!(1e-320),
        json!("👩‍👩‍👧‍👦 \u{202e}rtl\u{200b} а\u{0301}"),
        json!("e\u{0301}".repeat(10_000)),
        json!("{{secrets.x}} {{input}}"),
        json!("<img src=x onerror=alert(1)>"),
        serde_json::from_str(&nested("[", "]", 61)).unwrap(),
        many,
    ];
    for value in values {
        let answer = server
            .post(
                "/api/executions?wait=20s",
                json!({"schema": "orders", "input": {"v": value}}),
            )
            .await;
        let run = answer.expect(201);
        assert_eq!(
            run["status"],
            "completed",
            "{}",
            shorten(&value.to_string())
        );
        let context = server
            .get(&format!("/api/executions/{}/context", id(&run)))
            .await
            .expect(200);
        assert_eq!(
            context["context"]["input"]["v"],
            value,
            "{}",
            shorten(&value.to_string())
        );
    }
    still_well(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_are_bounded_to_the_byte() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let limit = 1 << 20;
    let sized = |bytes: usize| {
        let frame = "{\"schema\":\"orders\",\"input\":{\"v\":\"\"}}".len();
        input(&format!("\"{}\"", "x".repeat(bytes - frame)))
    };
    check(&server, "1 MiB - 1", sized(limit - 1), 201, "").await;
    check(&server, "1 MiB", sized(limit), 201, "").await;
    let over = check(
        &server,
        "1 MiB + 1",
        sized(limit + 1),
        413,
        "LIMIT_EXCEEDED",
    )
    .await;
    assert_eq!(over.json()["details"]["limit_bytes"], limit);
    check(&server, "6 MiB", sized(6 << 20), 413, "LIMIT_EXCEEDED").await;

    let claims = Request::new("POST", "/api/executions")
        .header("Content-Type", "application/json")
        .header("Content-Length", "300000000");
    check(&server, "300 MB announced", claims, 413, "LIMIT_EXCEEDED").await;

    let mut chunked = Request::new("POST", "/api/executions")
        .header("Content-Type", "application/json")
        .header("Transfer-Encoding", "chunked");
    let chunk = format!("{:x}\r\n{}\r\n", 65_536, "x".repeat(65_536));
    chunked.body = (chunk.repeat(20) + "0\r\n\r\n").into_bytes();
    check(
        &server,
        "chunks without end",
        chunked,
        413,
        "LIMIT_EXCEEDED",
    )
    .await;

    let schema = Request::new("POST", "/api/schemas").body(
        "application/yaml",
        format!("name: x # {}", "x".repeat(4 << 20)),
    );
    check(&server, "schema over 4 MiB", schema, 413, "LIMIT_EXCEEDED").await;
    still_well(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn types_and_encodings_that_are_not_read_are_refused() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let body = json!({"schema": "orders"}).to_string();
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/xml",
        "application/jsonp",
        "application/json; charset=utf-16",
        "",
        "application/yaml",
    ] {
        let request = Request::new("POST", "/api/executions").body(kind, body.clone());
        check(&server, kind, request, 415, "UNSUPPORTED_MEDIA_TYPE").await;
    }
    let mut untyped = Request::new("POST", "/api/executions");
    untyped.body = body.clone().into_bytes();
    check(&server, "no type", untyped, 415, "UNSUPPORTED_MEDIA_TYPE").await;
    for coding in ["gzip", "br", "gzip, gzip", "deflate"] {
        let request = start(body.clone()).header("Content-Encoding", coding);
        check(&server, coding, request, 415, "UNSUPPORTED_MEDIA_TYPE").await;
    }
    for kind in [
        "application/json; charset=UTF-8",
        "APPLICATION/JSON",
        "application/vnd.pawl+json",
    ] {
        let request = Request::new("POST", "/api/executions").body(kind, body.clone());
        check(&server, kind, request, 201, "").await;
    }
    let entity = "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>";
    let request = Request::new("POST", "/api/schemas").body("text/xml", entity);
    check(
        &server,
        "external entity",
        request,
        415,
        "UNSUPPORTED_MEDIA_TYPE",
    )
    .await;
    still_well(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_that_name_nothing_are_not_found() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let real = server.run_to_end(json!({"schema": "orders"})).await;
    let real = id(&real).to_owned();
    let long = "a".repeat(2_000);
    let ids = [
        "0",
        "-1",
        "null",
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        &real.replace('-', ""),
        &format!("%7B{real}%7D"),
        &format!("urn:uuid:{real}"),
        &format!("{real}%00"),
        &format!("{real}%20"),
        "%ff%fe",
        "%00",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "%252e%252e",
        "'%20OR%201=1--",
        "%F0%9F%91%A9%E2%80%8D%F0%9F%91%A9",
        &long,
    ];
    for bad in ids {
        for path in [
            format!("/api/executions/{bad}"),
            format!("/api/executions/{bad}/steps"),
            format!("/api/schemas/{bad}"),
            format!("/api/node-types/{bad}"),
        ] {
            check(&server, &path, Request::new("GET", &path), 404, "NOT_FOUND").await;
        }
        let path = format!("/api/executions/{bad}/stop");
        check(
            &server,
            &path,
            Request::new("POST", &path),
            404,
            "NOT_FOUND",
        )
        .await;
    }
    still_well(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_and_cursors_are_checked() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let long = "A".repeat(4_000);
    for query in [
        "limit=0",
        "limit=501",
        "limit=-1",
        "limit=+5",
        "limit=1e2",
        "limit=99999999999999999999",
        "limit=x",
        "limit=1&limit=2",
        "status=done",
        "status=completed,,failed",
        "since=yesterday",
        "since=0",
        "since=1e300",
        "until=NaN",
        "statuz=completed",
        "__proto__=1",
        "offset=3",
    ] {
        check(
            &server,
            query,
            Request::new("GET", &format!("/api/executions?{query}")),
            400,
            "INVALID_QUERY",
        )
        .await;
    }
    let steps = "dDox"; // A cursor of another list.
    for forged in [
        "x",
        "%00",
        "ZTo",
        "ZToxMjM",
        steps,
        "ZTowMDAwMDAwMA==",
        "../../etc",
        &long,
    ] {
        let path = format!("/api/executions?cursor={forged}");
        check(
            &server,
            forged,
            Request::new("GET", &path),
            400,
            "INVALID_CURSOR",
        )
        .await;
    }
    for wait in ["-1", "x", "1e300", "NaN", "P1Y"] {
        let path = format!("/api/executions/00000000-0000-7000-8000-000000000000?wait={wait}");
        check(
            &server,
            wait,
            Request::new("GET", &path),
            400,
            "INVALID_QUERY",
        )
        .await;
    }
    check(
        &server,
        "did you mean",
        Request::new("GET", "/api/executions?statu=failed"),
        400,
        "INVALID_QUERY",
    )
    .await;
    still_well(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_refused() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let address = server.address.to_string();
    let port = server.address.port();
    let body = json!({"schema": "orders"});
    let list = || Request::new("GET", "/api/executions");
    for host in [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.nip.io",
        "localhost.evil.example",
        "10.0.0.1",
        "0.0.0.0",
        "[::2]:1",
        "localhost.",
    ] {
        check(&server, host, list().header("Host", host), 403, "FORBIDDEN").await;
    }
    for host in [
        "a@localhost",
        "127.0.0.1:80@evil.example",
        "127.0.0.1:evil",
        "[127.0.0.1",
    ] {
        let request = list().header("Host", host);
        check(&server, host, request, 400, "INVALID_HEADER").await;
    }
    for host in [
        "localhost",
        "LOCALHOST:1",
        "127.0.0.1",
        "127.0.0.2:9",
        "[::1]:8080",
        "pawl.localhost",
    ] {
        check(&server, host, list().header("Host", host), 200, "").await;
    }
    for (label, request) in [
        (
            "foreign origin",
            start(body.to_string()).header("Origin", "https://evil.example"),
        ),
        (
            "origin null",
            start(body.to_string()).header("Origin", "null"),
        ),
        (
            "another port",
            start(body.to_string()).header("Origin", "http://127.0.0.1:1"),
        ),
        (
            "origin on a read",
            list().header("Origin", "https://evil.example"),
        ),
        (
            "cross site",
            start(body.to_string()).header("Sec-Fetch-Site", "cross-site"),
        ),
        (
            "same site",
            start(body.to_string()).header("Sec-Fetch-Site", "same-site"),
        ),
        (
            "event stream",
            Request::new("GET", "/api/executions/x/events")
                .header("Origin", "https://evil.example"),
        ),
    ] {
        check(&server, label, request, 403, "FORBIDDEN").await;
    }
    let own = start(body.to_string())
        .header("Origin", &format!("http://{address}"))
        .header("Sec-Fetch-Site", "same-origin");
    check(&server, "own origin", own, 201, "").await;
    let own = start(body.to_string())
        .header("Host", &format!("localhost:{port}"))
        .header("Origin", &format!("http://localhost:{port}"));
    check(&server, "own origin by name", own, 201, "").await;
    check(
        &server,
        "two hosts",
        list()
            .header("Host", "localhost")
            .header("Host", "evil.example"),
        400,
        "INVALID_HEADER",
    )
    .await;
    let absolute = Request::new("GET", "http://evil.example/api/executions");
    check(
        &server,
        "absolute request line",
        absolute,
        400,
        "INVALID_HEADER",
    )
    .await;
    let overridden =
        Request::new("GET", "/api/schemas/orders").header("X-HTTP-Method-Override", "DELETE");
    check(&server, "method override", overridden, 200, "").await;
    still_well(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_are_bounded_and_framing_is_checked() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let address = server.address;
    let big = Request::new("GET", "/api/executions").header("X-Big", &"a".repeat(100_000));
    assert_eq!(server.send(big).await.status, 431);
    let many = (0..1_000).fold(Request::new("GET", "/api/executions"), |request, n| {
        request.header(&format!("X-{n}"), "1")
    });
    assert_eq!(server.send(many).await.status, 431);
    let host =
        format!("Host: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n");
    for (label, raw) in [
        (
            "both lengths",
            format!(
                "POST /api/executions HTTP/1.1\r\n{host}Content-Length: 5\r\nContent-Length: 6\r\n\r\n{{}}   "
            ),
        ),
        (
            "length that is none",
            format!("POST /api/executions HTTP/1.1\r\n{host}Content-Length: -1\r\n\r\n"),
        ),
        (
            "bad chunk",
            format!(
                "POST /api/executions HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n"
            ),
        ),
        (
            "header without colon",
            format!("GET / HTTP/1.1\r\n{host}nonsense\r\n\r\n"),
        ),
        (
            "NUL in header",
            format!("GET / HTTP/1.1\r\n{host}X-A: a\0b\r\n\r\n"),
        ),
        ("no version", "GET /\r\n\r\n".to_owned()),
        (
            "not HTTP",
            "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n".to_owned(),
        ),
        (
            "no host",
            "GET /api/executions HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
        ),
    ] {
        assert_eq!(
            send_raw(address, raw.as_bytes()).await.status,
            400,
            "{label}"
        );
    }
    for (label, request) in [
        (
            "long idempotency key",
            start("{\"schema\":\"orders\"}").header("Idempotency-Key", &"k".repeat(256)),
        ),
        (
            "empty idempotency key",
            start("{\"schema\":\"orders\"}").header("Idempotency-Key", ""),
        ),
        (
            "correlation id beyond ASCII",
            start("{\"schema\":\"orders\"}").header("X-Correlation-Id", "é"),
        ),
        (
            "long correlation id",
            start("{\"schema\":\"orders\"}").header("X-Correlation-Id", &"k".repeat(5_000)),
        ),
    ] {
        check(&server, label, request, 400, "INVALID_HEADER").await;
    }
    // A body that is shorter than announced: the client hangs up, nothing was started.
    let mut stream = TcpStream::connect(address).await.unwrap();
    let half =
        format!("POST /api/executions HTTP/1.1\r\n{host}Content-Length: 500\r\n\r\n{{\"schema\":");
    stream.write_all(half.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert_eq!(
        server.get("/api/executions").await.expect(200)["items"],
        json!([])
    );
    still_well(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_sender_is_not_waited_for() {
    let limits = pawl::api::Limits {
        body_time: Duration::from_millis(50),
        header_time: Duration::from_millis(50),
        ..Default::default()
    };
    let server = Server::with(limits).await;
    server.save(linear("orders")).await;
    let request = Request::new("POST", "/api/executions")
        .header("Content-Type", "application/json")
        .header("Content-Length", "100");
    check(
        &server,
        "body that never comes",
        request,
        408,
        "REQUEST_TIMEOUT",
    )
    .await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: local")
        .await
        .unwrap();
    let mut rest = Vec::new();
    let closed = tokio::time::timeout(ANSWER_TIME, stream.read_to_end(&mut rest)).await;
    assert!(
        closed.is_ok(),
        "a header that never ends must not hold the connection"
    );
    still_well(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_schemas_are_findings() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let laughs = "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f]\nname: x\n";
    let nodes: Vec<Value> = (0..5_000)
        .map(|n| json!({"id": format!("n{n}"), "type": "log"}))
        .collect();
    for (label, kind, text) in [
        ("nothing", "application/yaml", String::new()),
        ("billion laughs", "application/yaml", laughs.to_owned()),
        ("deep YAML", "application/yaml", "- ".repeat(50_000) + "x"),
        ("deep flow", "application/yaml", "[".repeat(50_000)),
        ("a tag", "application/yaml", "name: !!python/object/apply:os.system ['id']".to_owned()),
        ("two documents", "application/yaml", "name: a\n---\nname: b\n".to_owned()),
        ("5000 nodes", "application/json", json!({"name": "x", "nodes": nodes, "edges": []}).to_string()),
        ("traversal in name", "application/json", json!({"name": "../../x", "nodes": [], "edges": []}).to_string()),
        ("emoji in name", "application/json", json!({"name": "👩‍👩‍👧", "nodes": [], "edges": []}).to_string()),
        ("negative retry", "application/json", json!({"name": "x", "nodes": [{"id": "s", "type": "start", "retry": {"max_attempts": -1}}], "edges": []}).to_string()),
        ("endless timeout", "application/json", json!({"name": "x", "nodes": [{"id": "s", "type": "start", "timeout": 1e12}], "edges": []}).to_string()),
    ] {
        let save = Request::new("POST", "/api/schemas").body(kind, text.clone());
        check(&server, label, save, 422, "INVALID_SCHEMA").await;
        let validate = Request::new("POST", "/api/schemas/validate").body(kind, text);
        let answer = check(&server, label, validate, 200, "").await;
        assert_eq!(answer.json()["valid"], false, "{label}");
    }
    let not_text =
        Request::new("POST", "/api/schemas").body("application/yaml", b"name: \xff".to_vec());
    check(&server, "not UTF-8", not_text, 400, "INVALID_ENCODING").await;
    still_well(server).await;
}

//! Webhooks over real sockets: who is let in, what the execution sees, and what the caller is told.

use std::time::Duration;

use pawl_kernel::time::Clock;
use serde_json::{Value, json};

use crate::client::{self, Answer, Request};
use crate::server::Server;

/// start → the nodes in between, in a row.
fn row(name: &str, trigger: Value, nodes: Vec<Value>) -> Value {
    let mut all = vec![json!({"id": "start_1", "type": "start"})];
    all.extend(nodes);
    let pairs = all.windows(2);
    let edges: Vec<Value> = pairs
        .map(|pair| json!({"source": pair[0]["id"], "target": pair[1]["id"]}))
        .collect();
    json!({"name": name, "triggers": [trigger], "nodes": all, "edges": edges})
}

fn node(id: &str, kind: &str, config: Value) -> Value {
    json!({"id": id, "type": kind, "config": config})
}

/// A webhook with these fields besides.
fn hook(path: &str, more: Value) -> Value {
    let mut trigger = json!({"type": "webhook", "path": path});
    for (name, value) in more.as_object().unwrap() {
        trigger[name] = value.clone();
    }
    trigger
}

/// Answers at its end with all that it sees of the request.
fn mirror(name: &str, trigger: Value) -> Value {
    row(
        name,
        trigger,
        vec![node("end_1", "end", json!({"output": "{{webhook}}"}))],
    )
}

impl Server {
    /// Nothing proves anything here but what the request says itself.
    async fn call(&self, request: Request) -> Answer {
        client::send(self.address, request).await
    }

    async fn hook(&self, path: &str, body: Value) -> Answer {
        self.call(Request::new("POST", &format!("/webhook/{path}")).json(&body))
            .await
    }

    async fn count(&self, schema: &str) -> usize {
        let path = format!("/api/executions?schema={schema}");
        let page = self.get(&path).await.expect(200);
        page["items"].as_array().unwrap().len()
    }
}

/// Seconds since 1970.
fn now() -> i64 {
    pawl::system::SystemClock.now().as_micros() / 1_000_000
}

#[tokio::test(flavor = "multi_thread")]
async fn the_respond_node_answers_and_the_run_goes_on() {
    let server = Server::start().await;
    let respond = json!({
        "status": 201,
        "headers": {"X-Order": "{{webhook.params.id}}", "Set-Cookie": ["a=1", "b=2"]},
        "body": {"sum": "{{webhook.payload.a + webhook.payload.b}}", "id": "{{webhook.params.id}}"},
    });
    let schema = row(
        "answers",
        hook("orders/:id/check", json!({"respond": "respond_node"})),
        vec![
            node("answer", "respond", respond),
            node("wait_1", "wait_event", json!({"name": "go"})),
            node(
                "end_1",
                "end",
                json!({"output": "{{steps.answer.output.status}}"}),
            ),
        ],
    );
    server.save(schema).await;
    let answer = server
        .hook("orders/7%2F8/check", json!({"a": 2, "b": 3}))
        .await;
    assert_eq!(answer.expect(201), json!({"sum": 5, "id": "7/8"}));
    assert_eq!(answer.header("x-order"), Some("7/8"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let cookies = answer
        .headers
        .iter()
        .filter(|(name, _)| name == "set-cookie");
    assert_eq!(cookies.count(), 2);
    // It has answered and waits: nobody held it up.
    let id = answer.header("x-pawl-execution-id").unwrap().to_owned();
    server.until(&id, "waiting").await;
    let path = format!("/api/executions/{id}/signals/go");
    server.post(&path, json!({})).await;
    let ended = server
        .get(&format!("/api/executions/{id}?wait=30s"))
        .await
        .expect(200);
    assert_eq!(
        (&ended["status"], &ended["output"]),
        (&json!("completed"), &json!(201))
    );
    assert_eq!(ended["created_by"], "webhook:answers/0");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_request_as_expressions_see_it() {
    let server = Server::start().await;
    let trigger = hook(
        "mirror/:id",
        json!({"respond": "last_node", "method": "ANY"}),
    );
    server.save(mirror("mirror", trigger)).await;
    let request = Request::new("PUT", "/webhook/mirror/a%20b?x=1&y=2&x=3&empty")
        .header("X-Two", "1")
        .header("X-Two", "2")
        .header("Authorization", "Bearer abc")
        .header("Cookie", "session=abc")
        .json(&json!({"n": 1.5, "t": "\u{0}ж"}));
    let seen = server.call(request).await.expect(200);
    assert_eq!(seen["payload"], json!({"n": 1.5, "t": "\u{0}ж"}));
    assert_eq!(
        seen["query"],
        json!({"x": ["1", "3"], "y": "2", "empty": ""})
    );
    assert_eq!(seen["params"], json!({"id": "a b"}));
    assert_eq!(
        (&seen["method"], &seen["path"]),
        (&json!("PUT"), &json!("mirror/a%20b"))
    );
    let headers = &seen["headers"];
    assert_eq!(headers["x-two"], "1, 2");
    assert_eq!(
        (&headers["authorization"], &headers["cookie"]),
        (&json!("***"), &json!("***"))
    );
    // Bodies by their type; nothing is null.
    for (kind, body, expected) in [
        (
            "application/x-www-form-urlencoded",
            "a=1&a=2&b=%D0%B6",
            json!({"a": ["1", "2"], "b": "ж"}),
        ),
        ("text/plain", "{\"a\":1}", json!("{\"a\":1}")),
        (
            "application/octet-stream",
            "ab",
            json!({"base64": "YWI=", "content_type": "application/octet-stream"}),
        ),
        ("application/json", "", Value::Null),
    ] {
        let request = Request::new("POST", "/webhook/mirror/1").body(kind, body);
        assert_eq!(
            server.call(request).await.expect(200)["payload"],
            expected,
            "{kind}"
        );
    }
    let plain = server
        .call(Request::new("GET", "/webhook/mirror/1"))
        .await
        .expect(200);
    assert_eq!(
        (&plain["payload"], &plain["method"]),
        (&Value::Null, &json!("GET"))
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_and_texts_go_back_as_they_are() {
    let server = Server::start().await;
    let config = json!({"headers": {"Content-Type": "{{webhook.query.type}}"}, "body": "{{webhook.payload}}"});
    let trigger = hook("echo", json!({"respond": "respond_node"}));
    server
        .save(row(
            "echo",
            trigger,
            vec![node("answer", "respond", config)],
        ))
        .await;
    let request = Request::new("POST", "/webhook/echo?type=image/png")
        .body("image/png", [0_u8, 255, 10].as_slice());
    let answer = server.call(request).await;
    assert_eq!(
        (answer.status, answer.body.as_slice()),
        (200, [0, 255, 10].as_slice())
    );
    assert_eq!(answer.header("content-type"), Some("image/png"));
    let request =
        Request::new("POST", "/webhook/echo?type=text/html").body("text/plain", "<script>");
    let answer = server.call(request).await;
    assert_eq!(answer.text(), "<script>");
    // A page of a webhook can do nothing with the API beside it.
    let policy = answer.header("content-security-policy").unwrap();
    assert!(
        policy.contains("sandbox") && policy.contains("default-src 'none'"),
        "{policy}"
    );
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    server.close().await;
}

/// Policies add up: a flow can give itself less than the sandbox, never more.
#[tokio::test(flavor = "multi_thread")]
async fn no_answer_gets_out_of_the_sandbox_or_at_the_session() {
    let server = Server::start().await;
    let policy = "script-src 'unsafe-inline'";
    let page = json!({"Content-Type": "text/html", "Content-Security-Policy": policy});
    let cookie = json!({"Set-Cookie": "{{webhook.payload}}"});
    for (name, headers) in [("page", page), ("cookie", cookie)] {
        let config = json!({"headers": headers, "body": "x"});
        let trigger = hook(name, json!({"respond": "respond_node"}));
        let answer = node("answer", "respond", config);
        server.save(row(name, trigger, vec![answer])).await;
    }
    let page = server.hook("page", json!(1)).await;
    let policies = page.headers.iter();
    let policies = policies.filter(|(name, _)| name == "content-security-policy");
    let policies: Vec<&str> = policies.map(|(_, text)| text.as_str()).collect();
    assert_eq!(
        policies,
        [policy, "sandbox allow-forms allow-scripts allow-popups"]
    );
    assert_eq!(server.hook("cookie", json!("a=1")).await.status, 200);
    for own in ["pawl_session=x", "__Host-pawl_session=x; Secure; Path=/"] {
        let answer = server.hook("cookie", json!(own)).await;
        assert_eq!(answer.status, 500, "{own}: {}", answer.text());
        assert_eq!(answer.header("set-cookie"), None);
    }
    let literal = row(
        "literal",
        hook("literal", json!({"respond": "respond_node"})),
        vec![node(
            "answer",
            "respond",
            json!({"headers": {"Clear-Site-Data": "*"}}),
        )],
    );
    let refused = server.post("/api/schemas", literal).await;
    refused.refuses(422, "INVALID_SCHEMA");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_answers_where_nobody_else_does() {
    let server = Server::start().await;
    let last = json!({"respond": "last_node"});
    // An error that names no status was not made for callers.
    for (name, status, told) in [
        (
            "fails",
            json!(423),
            json!({"message": "as planned", "by": "ann"}),
        ),
        (
            "breaks",
            json!(null),
            json!({"message": "the execution failed", "by": null}),
        ),
    ] {
        let mut config =
            json!({"code": "LOCKED", "message": "as planned", "details": {"by": "ann"}});
        config["status"] = status.clone();
        if status.is_null() {
            config.as_object_mut().unwrap().remove("status");
        }
        let nodes = vec![node("fail_1", "fail", config)];
        server
            .save(row(name, hook(name, last.clone()), nodes))
            .await;
        let expected = status.as_u64().unwrap_or(500) as u16;
        let failed = server.hook(name, json!({})).await.expect(expected);
        assert_eq!(failed["error"], "LOCKED");
        assert_eq!(failed["message"], told["message"], "{failed}");
        assert_eq!(failed["by"], told["by"], "{failed}");
        assert!(failed["execution_id"].is_string(), "{failed}");
    }
    // A run that was to answer by a node and did not.
    let silent = json!({"respond": "respond_node"});
    let nodes = vec![node("end_1", "end", json!({"output": {"n": 1}}))];
    server
        .save(row("silent", hook("silent", silent.clone()), nodes))
        .await;
    assert_eq!(
        server.hook("silent", json!({})).await.expect(200),
        json!({"n": 1})
    );
    let nodes = vec![node(
        "answer",
        "respond",
        json!({"headers": {"X-A": "{{webhook.payload.a}}"}}),
    )];
    server
        .save(row("splits", hook("splits", silent), nodes))
        .await;
    let split = server.hook("splits", json!({"a": "b\r\nX-Evil: 1"})).await;
    assert_eq!(split.expect(500)["error"], "TYPE_ERROR");
    assert_eq!(split.header("x-evil"), None);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn immediately_means_on_disk() {
    let server = Server::start().await;
    server.save(mirror("now", hook("now", json!({})))).await;
    let answer = server.hook("now", json!({"n": 1})).await;
    let body = answer.expect(202);
    let id = body["execution_id"].as_str().unwrap();
    assert_eq!(body["status_url"], format!("/api/executions/{id}"));
    assert_eq!(answer.header("location"), body["status_url"].as_str());
    let ended = server
        .get(&format!("/api/executions/{id}?wait=30s"))
        .await
        .expect(200);
    assert_eq!(ended["output"]["payload"], json!({"n": 1}));
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_time_that_is_over_says_where_to_look() {
    let server = Server::start().await;
    for respond in ["last_node", "respond_node"] {
        let trigger = hook(
            &format!("slow-{respond}"),
            json!({"respond": respond, "wait": "1s"}),
        );
        let nodes = vec![
            node("wait_1", "wait_event", json!({"name": "go"})),
            node("answer", "respond", json!({"body": "late"})),
        ];
        let name = format!("slow-{}", respond.replace('_', "-"));
        server.save(row(&name, trigger, nodes)).await;
        let answer = server.hook(&format!("slow-{respond}"), json!({})).await;
        let body = answer.expect(202);
        assert!(answer.header("retry-after").is_some());
        let id = body["execution_id"].as_str().unwrap();
        server
            .post(&format!("/api/executions/{id}/signals/go"), json!({}))
            .await;
        server.until(id, "completed").await;
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_run_is_told_as_such() {
    let server = Server::start().await;
    let trigger = hook("stopped", json!({"respond": "respond_node"}));
    let nodes = vec![node("wait_1", "wait_event", json!({"name": "go"}))];
    server.save(row("stopped", trigger, nodes)).await;
    let stop = async {
        let runs = loop {
            let page = server
                .get("/api/executions?status=waiting")
                .await
                .expect(200);
            if page["items"][0]["id"].is_string() {
                break page;
            }
            tokio::task::yield_now().await;
        };
        let id = runs["items"][0]["id"].as_str().unwrap();
        server
            .command(&format!("/api/executions/{id}/stop"))
            .await
            .expect(200);
    };
    let (answer, ()) = tokio::join!(server.hook("stopped", json!({})), stop);
    assert_eq!(answer.expect(409)["error"], "STOPPED");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_first_answer_counts() {
    let server = Server::start().await;
    let nodes = vec![
        node("first", "respond", json!({"body": "first"})),
        node("second", "respond", json!({"body": "second"})),
        node("end_1", "end", json!({})),
    ];
    server
        .save(row(
            "twice",
            hook("twice", json!({"respond": "respond_node"})),
            nodes,
        ))
        .await;
    let answer = server.hook("twice", json!({})).await;
    assert_eq!(answer.text(), "first");
    let id = answer.header("x-pawl-execution-id").unwrap();
    server.until(id, "completed").await;
    let logs = server
        .get(&format!("/api/executions/{id}/logs"))
        .await
        .expect(200);
    let line = &logs["items"][0];
    assert_eq!(
        (&line["level"], &line["node_id"]),
        (&json!("warn"), &json!("second")),
        "{logs}"
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_methods_and_what_is_not_there() {
    let server = Server::start().await;
    let last = |method: &str| json!({"respond": "last_node", "method": method});
    server
        .save(mirror("fixed", hook("a/new", last("GET"))))
        .await;
    server
        .save(mirror("varies", hook("a/:id", last("GET"))))
        .await;
    let get = |path: &'static str| server.call(Request::new("GET", path));
    assert_eq!(get("/webhook/a/new").await.expect(200)["params"], json!({}));
    assert_eq!(
        get("/webhook/a/old").await.expect(200)["params"],
        json!({"id": "old"})
    );
    assert_eq!(
        get("/webhook/a/%2e%2e").await.expect(200)["params"],
        json!({"id": ".."})
    );
    assert_eq!(
        get("/webhook/a/%252f").await.expect(200)["params"],
        json!({"id": "%2f"})
    );
    for path in [
        "/webhook/",
        "/webhook",
        "/webhook/a",
        "/webhook/a/",
        "/webhook/a/b/c",
        "/webhook/A/new",
        "/webhook/a/%ff",
        "/webhook/a/%",
        "/webhook//a/new",
        "/webhook/a/%00/../x",
    ] {
        get(path).await.refuses(404, "NOT_FOUND");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"] {
        let request =
            Request::new(method, "/webhook/a/new").header("X-HTTP-Method-Override", "GET");
        let refused = server.call(request).await;
        refused.refuses(405, "METHOD_NOT_ALLOWED");
        assert_eq!(refused.header("allow"), Some("GET"), "{method}");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhooks_follow_their_schema_at_once() {
    let server = Server::start().await;
    let last = json!({"respond": "last_node"});
    server.hook("a", json!(1)).await.refuses(404, "NOT_FOUND");
    server
        .save(mirror("follows", hook("a", last.clone())))
        .await;
    server.hook("a", json!(1)).await.expect(200);
    let put = Request::new("PUT", "/api/schemas/follows")
        .json(&mirror("follows", hook("b", last.clone())));
    server.send(put).await.expect(200);
    server.hook("a", json!(1)).await.refuses(404, "NOT_FOUND");
    server.hook("b", json!(1)).await.expect(200);
    server
        .command("/api/schemas/follows/deactivate")
        .await
        .expect(200);
    server.hook("b", json!(1)).await.refuses(404, "NOT_FOUND");
    server
        .command("/api/schemas/follows/activate")
        .await
        .expect(200);
    server.hook("b", json!(1)).await.expect(200);
    let other = server
        .post("/api/schemas", mirror("other", hook("b", last)))
        .await;
    let refused = other.refuses(409, "CONFLICT");
    assert!(
        refused["message"].as_str().unwrap().contains("follows"),
        "{refused}"
    );
    server
        .send(Request::new("DELETE", "/api/schemas/follows"))
        .await
        .expect(204);
    server.hook("b", json!(1)).await.refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_was_given_is_hard_to_guess_and_stays() {
    let server = Server::start().await;
    let bare = json!({"type": "webhook", "respond": "last_node"});
    let saved = server.save(mirror("given", bare.clone())).await;
    let path = saved["definition"]["triggers"][0]["path"].as_str().unwrap();
    assert!(
        path.len() == 32 && path.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{path}"
    );
    server.hook(path, json!(1)).await.expect(200);
    let put = Request::new("PUT", "/api/schemas/given");
    let mut again = mirror("given", bare);
    let same = server.send(put.json(&again)).await.expect(200);
    assert_eq!(same["version"], 1, "the same text is no new version");
    again["description"] = json!("changed");
    let next = server
        .send(Request::new("PUT", "/api/schemas/given").json(&again))
        .await
        .expect(200);
    assert_eq!(
        (
            &next["version"],
            next["definition"]["triggers"][0]["path"].as_str()
        ),
        (&json!(2), Some(path))
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_one_webhook_and_nothing_else_does() {
    let server = Server::with_secrets(&[("shop_token", "t0k3n-of-the-shop")]).await;
    let auth = |secret: &str| json!({"respond": "last_node", "auth": {"type": "header", "secret": secret}});
    server
        .save(mirror("guarded", hook("guarded", auth("SHOP_TOKEN"))))
        .await;
    server
        .save(mirror("unready", hook("unready", auth("missing"))))
        .await;
    let named = json!({"respond": "last_node", "auth": {"type": "header", "header": "X-Token", "secret": "shop_token"}});
    server.save(mirror("named", hook("named", named))).await;
    let post = |path: &str| {
        Request::new("POST", &format!("/webhook/{path}")).json(&json!({"a": "t0k3n-of-the-shop"}))
    };
    let good = server
        .call(post("guarded").header("Authorization", "Bearer t0k3n-of-the-shop"))
        .await
        .expect(200);
    assert_eq!(good["headers"]["authorization"], "***");
    assert_eq!(
        good["payload"]["a"], "***",
        "a secret does not get in by another way"
    );
    for request in [
        post("guarded"),
        post("guarded").header("Authorization", "Bearer t0k3n-of-the-sho"),
        post("guarded").header("Authorization", "t0k3n-of-the-shop"),
        post("guarded").header(
            "Authorization",
            &format!("Bearer {}", crate::server::ADMIN_KEY),
        ),
        post("guarded")
            .header("Authorization", "Bearer t0k3n-of-the-shop")
            .header("Authorization", "Bearer t0k3n-of-the-shop"),
        post("named").header("Authorization", "Bearer t0k3n-of-the-shop"),
    ] {
        let refused = server.call(request).await;
        refused.refuses(401, "UNAUTHORIZED");
        assert!(!refused.text().contains("t0k3n"), "{}", refused.text());
    }
    let seen = server
        .call(post("named").header("X-Token", "t0k3n-of-the-shop"))
        .await
        .expect(200);
    assert_eq!(seen["headers"]["x-token"], "***");
    for value in ["", "Bearer ", "Bearer missing"] {
        server
            .call(post("unready").header("Authorization", value))
            .await
            .refuses(503, "NOT_CONFIGURED");
    }
    assert_eq!(
        (server.count("guarded").await, server.count("unready").await),
        (1, 0)
    );
    server.close().await;
}

/// Signed as `signing` says: of a body, at a time.
fn signed(path: &str, key: &str, stamp: i64, body: &str) -> Request {
    let signature = hmac_hex(key, &format!("{stamp}.{body}"));
    Request::new("POST", &format!("/webhook/{path}"))
        .header("X-Pawl-Timestamp", &stamp.to_string())
        .header("X-Pawl-Signature", &format!("sha256={signature}"))
        .body("application/json", body)
}

/// By the language of expressions, which has it too.
fn hmac_hex(key: &str, text: &str) -> String {
    use pawl_kernel::expr::{Expression, Limits, Meter, Scope};
    let roots = json!({"key": key, "text": text});
    let compiled = Expression::compile("hmac_sha256(key, text)").unwrap();
    let scope = Scope::new(roots.as_object().unwrap(), 0, "", 0);
    let value = compiled
        .evaluate(&scope, &mut Meter::new(Limits::default()))
        .unwrap();
    value.as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signature_is_good_once_and_for_its_body() {
    const KEY: &str = "the-key-of-the-sender";
    let server = Server::with_secrets(&[("sender", KEY)]).await;
    let auth = json!({"respond": "last_node", "auth": {"type": "hmac", "secret": "sender"}});
    server.save(mirror("signed", hook("signed", auth))).await;
    let stamp = now();
    let seen = server
        .call(signed("signed", KEY, stamp, "{\"n\":1}"))
        .await
        .expect(200);
    assert_eq!(
        (&seen["payload"]["n"], &seen["headers"]["x-pawl-signature"]),
        (&json!(1), &json!("***"))
    );
    server
        .call(signed("signed", KEY, stamp, "{\"n\":1}"))
        .await
        .refuses(409, "REPLAYED");
    // A key beside the signature would make every repetition look new.
    let keyed = signed("signed", KEY, stamp, "{\"n\":1}").header("Idempotency-Key", "another");
    server.call(keyed).await.refuses(400, "INVALID_HEADER");
    for stamp in [stamp - 310, stamp + 310, 0] {
        server
            .call(signed("signed", KEY, stamp, "{}"))
            .await
            .refuses(401, "UNAUTHORIZED");
    }
    server
        .call(signed("signed", "another-key", stamp, "{}"))
        .await
        .refuses(401, "UNAUTHORIZED");
    let mut changed = signed("signed", KEY, stamp, "{\"n\":2}");
    changed.body = b"{\"n\":3}".to_vec();
    server.call(changed).await.refuses(401, "UNAUTHORIZED");
    server
        .hook("signed", json!({}))
        .await
        .refuses(401, "UNAUTHORIZED");
    assert_eq!(server.count("signed").await, 1);
    // Many at once: one is taken.
    let same = || server.call(signed("signed", KEY, stamp, "{\"n\":9}"));
    let answers = futures_util::future::join_all((0..20).map(|_| same())).await;
    let taken = answers.iter().filter(|answer| answer.status == 200).count();
    let replayed = answers.iter().filter(|answer| answer.status == 409).count();
    assert_eq!((taken, replayed), (1, 19));
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_request_is_taken_at_one_entrance_only() {
    const KEY: &str = "the-key-of-the-sender";
    let server = Server::with_secrets(&[("sender", KEY)]).await;
    let auth = json!({"respond": "last_node", "auth": {"type": "hmac", "secret": "sender"}});
    let mut house = mirror("house", hook("front", auth.clone()));
    // An open door beside it opens no entry.
    let open = json!({"type": "webhook", "path": "open", "method": "GET", "name": "a"});
    house["triggers"].as_array_mut().unwrap().push(open);
    let side = json!({"id": "side", "type": "end", "entry": true, "config": {"output": 1}});
    house["nodes"].as_array_mut().unwrap().push(side);
    let id = server.save(house).await["id"].as_str().unwrap().to_owned();
    server.save(mirror("other", hook("other", auth))).await;
    let side = format!("{id}/side");
    server
        .hook(&side, json!({}))
        .await
        .refuses(401, "UNAUTHORIZED");
    let stamp = now();
    let call = |path: &str| server.call(signed(path, KEY, stamp, "{}"));
    call("front").await.expect(200);
    for path in ["front", &side, "other"] {
        assert_eq!(call(path).await.status, 409, "{path}");
    }
    let fresh = signed(&side, KEY, stamp, "{\"n\":1}");
    assert_eq!(server.call(fresh).await.expect(200), json!(1));
    assert_eq!(
        (server.count("house").await, server.count("other").await),
        (2, 0)
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn standard_webhooks_may_be_sent_again_under_their_id() {
    const KEY: &str = "the-key-of-the-sender";
    let server = Server::with_secrets(&[("sender", KEY)]).await;
    let auth = json!({"respond": "last_node", "auth": {"type": "hmac", "secret": "sender"}});
    server
        .save(mirror("standard", hook("standard", auth)))
        .await;
    let send = |id: &str, stamp: i64, body: &str| {
        let hex = hmac_hex(KEY, &format!("{id}.{stamp}.{body}"));
        let bytes: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect();
        let signature = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes);
        let request = Request::new("POST", "/webhook/standard")
            .header("webhook-id", id)
            .header("webhook-timestamp", &stamp.to_string())
            .header("webhook-signature", &format!("v1,{signature}"));
        server.call(request.body("application/json", body))
    };
    let stamp = now();
    let first = send("msg_1", stamp, "{\"n\":1}").await;
    let again = send("msg_1", stamp + 1, "{\"n\":1}").await;
    assert_eq!(first.expect(200), again.expect(200));
    send("msg_1", stamp, "{\"n\":1}")
        .await
        .refuses(409, "REPLAYED");
    let other = send("msg_1", stamp, "{\"n\":2}").await;
    other.refuses(422, "IDEMPOTENCY_MISMATCH");
    assert_eq!(server.count("standard").await, 1);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_sites_start_nothing() {
    let server = Server::start().await;
    let get = json!({"respond": "last_node", "method": "ANY"});
    server.save(mirror("linked", hook("linked", get))).await;
    let call = |method: &str, headers: &[(&str, &str)]| {
        let request = Request::new(method, "/webhook/linked");
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(name, value)
        });
        server.call(request)
    };
    let elsewhere = ("Sec-Fetch-Site", "cross-site");
    for method in ["GET", "HEAD", "POST"] {
        let image = [
            elsewhere,
            ("Sec-Fetch-Mode", "no-cors"),
            ("Sec-Fetch-Dest", "image"),
        ];
        assert_eq!(call(method, &image).await.status, 403, "{method}");
        let origin = [("Origin", "https://evil.example")];
        assert_eq!(call(method, &origin).await.status, 403, "{method}");
    }
    assert_eq!(server.count("linked").await, 0);
    // A link in a message that a person follows, and a page that goes there by itself.
    let link = [
        elsewhere,
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
        ("Sec-Fetch-User", "?1"),
    ];
    assert_eq!(call("GET", &link[..3]).await.status, 403);
    call("GET", &link).await.expect(200);
    assert_eq!(call("POST", &link).await.status, 403);
    assert_eq!(server.count("linked").await, 1);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_gets_the_same_answer() {
    let server = Server::start().await;
    let nodes = vec![
        node(
            "set_1",
            "variable_set",
            json!({"variable": "drawn", "value": "{{uuid()}}"}),
        ),
        node(
            "answer",
            "respond",
            json!({"status": 201, "body": {"drawn": "{{variables.drawn}}"}}),
        ),
    ];
    server
        .save(row(
            "once",
            hook("once", json!({"respond": "respond_node"})),
            nodes,
        ))
        .await;
    let post = |key: &str, body: Value| {
        let request = Request::new("POST", "/webhook/once").json(&body);
        server.call(request.header("Idempotency-Key", key))
    };
    let answers =
        futures_util::future::join_all((0..10).map(|_| post("k1", json!({"n": 1})))).await;
    let first = answers[0].expect(201);
    for answer in &answers {
        assert_eq!(answer.expect(201), first);
    }
    assert_eq!(server.count("once").await, 1);
    post("k1", json!({"n": 2}))
        .await
        .refuses(422, "IDEMPOTENCY_MISMATCH");
    assert_ne!(post("k2", json!({"n": 1})).await.expect(201), first);
    assert_eq!(post("k1", json!({"n": 1})).await.expect(201), first);
    assert_eq!(server.count("once").await, 2);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_marked_entry_is_an_entrance_under_the_same_rules() {
    let server = Server::with_secrets(&[("door", "open-sesame")]).await;
    let trigger = hook(
        "front",
        json!({"respond": "last_node", "auth": {"type": "header", "secret": "door"}}),
    );
    let mut schema = mirror("house", trigger);
    let nodes = schema["nodes"].as_array_mut().unwrap();
    nodes.push(json!({"id": "side", "type": "end", "entry": true, "config": {"output": "{{webhook.payload}}"}}));
    nodes.push(json!({"id": "wall", "type": "end", "entry": true, "disabled": false}));
    let id = server.save(schema).await["id"].as_str().unwrap().to_owned();
    let entry = |node: &str, token: &str| {
        let request = Request::new("POST", &format!("/webhook/{id}/{node}")).json(&json!({"n": 1}));
        server.call(request.header("Authorization", &format!("Bearer {token}")))
    };
    assert_eq!(
        entry("side", "open-sesame").await.expect(200),
        json!({"n": 1})
    );
    entry("side", "open").await.refuses(401, "UNAUTHORIZED");
    entry("end_1", "open-sesame")
        .await
        .refuses(404, "NOT_FOUND");
    entry("nowhere", "open-sesame")
        .await
        .refuses(404, "NOT_FOUND");
    let get = Request::new("GET", &format!("/webhook/{id}/side"));
    server.call(get).await.refuses(404, "NOT_FOUND");
    // A schema that says nothing of who may call it is called by nobody.
    let mut closed = crate::server::linear("closed");
    closed["nodes"][1]["entry"] = json!(true);
    let id = server.save(closed).await["id"].as_str().unwrap().to_owned();
    server
        .hook(&format!("{id}/set_1"), json!({}))
        .await
        .refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_and_rates_are_kept() {
    let server = Server::start().await;
    let small = hook("small", json!({"respond": "last_node", "max_body": 20}));
    server
        .save(row("small", small, vec![node("end_1", "end", json!({}))]))
        .await;
    server
        .hook("small", json!("x".repeat(18)))
        .await
        .expect(200);
    server
        .hook("small", json!("x".repeat(19)))
        .await
        .refuses(413, "LIMIT_EXCEEDED");
    let usual = hook("usual", json!({"respond": "last_node"}));
    server
        .save(row("usual", usual, vec![node("end_1", "end", json!({}))]))
        .await;
    server
        .hook("usual", json!("x".repeat((1 << 20) - 2)))
        .await
        .expect(200);
    server
        .hook("usual", json!("x".repeat((1 << 20) - 1)))
        .await
        .refuses(413, "LIMIT_EXCEEDED");
    let rare = hook("rare", json!({"respond": "last_node", "rate": "2/h"}));
    server
        .save(row("rare", rare, vec![node("end_1", "end", json!({}))]))
        .await;
    for _ in 0..2 {
        server.hook("rare", json!(1)).await.expect(200);
    }
    let refused = server.hook("rare", json!(1)).await;
    refused.refuses(429, "RATE_LIMITED");
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=1_800).contains(&seconds), "{seconds}");
    assert_eq!(server.count("rare").await, 2);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_bodies_start_nothing() {
    let server = Server::start().await;
    server
        .save(mirror(
            "hostile",
            hook("hostile", json!({"respond": "last_node"})),
        ))
        .await;
    let post = |kind: &str, body: Vec<u8>| {
        server.call(Request::new("POST", "/webhook/hostile").body(kind, body))
    };
    let deep = |open: &str, times: usize| open.repeat(times).into_bytes();
    for body in [
        deep("[", 100_000),
        deep("{\"a\":", 100_000),
        format!("{}1{}", "[".repeat(65), "]".repeat(65)).into_bytes(),
        b"{\"a\":1,\"a\":2}".to_vec(),
        b"\"\\ud800\"".to_vec(),
        b"\"\xc0\xaf\"".to_vec(),
        b"1e400".to_vec(),
        b"18446744073709551616".to_vec(),
        b"{/**/}".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
    ] {
        post("application/json", body)
            .await
            .refuses(422, "INVALID_JSON");
    }
    let zipped = Request::new("POST", "/webhook/hostile")
        .header("Content-Encoding", "gzip")
        .body("application/json", "{}");
    server
        .call(zipped)
        .await
        .refuses(415, "UNSUPPORTED_MEDIA_TYPE");
    assert_eq!(server.count("hostile").await, 0);
    // Odd, and kept as it is.
    for text in [
        r#"{"__proto__":{"a":1},"constructor":null,"toString":1}"#,
        r#"{"files":{"x":{"filepath":"/etc/passwd"}}}"#,
        r#""{{secrets.x}} {{webhook.headers}}""#,
        r#"{"k\u0000":"\u0000","z":"👩‍👩‍👧 \u202e x"}"#,
        "9007199254740993",
        "[-0.0, 0.30000000000000004, true]",
        "null",
    ] {
        let seen = post("application/json", text.as_bytes().to_vec())
            .await
            .expect(200);
        let expected: Value = serde_json::from_str(text).unwrap();
        assert_eq!(seen["payload"], expected, "{text}");
    }
    let bomb: String = (0..40_000).map(|n| format!("k{n}=v&")).collect();
    let form = post("application/x-www-form-urlencoded", bomb.into_bytes())
        .await
        .expect(200);
    assert_eq!(form["payload"].as_object().unwrap().len(), 40_000);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_down_says_where_to_look() {
    let server = Server::start().await;
    let trigger = hook("patient", json!({"respond": "respond_node", "wait": "5m"}));
    let nodes = vec![node("wait_1", "wait_event", json!({"name": "go"}))];
    server.save(row("patient", trigger, nodes)).await;
    let stop = async {
        while server
            .get("/api/executions?status=waiting")
            .await
            .expect(200)["items"][0]
            .is_null()
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        server.stop.cancel();
    };
    let (answer, ()) = tokio::join!(server.hook("patient", json!({})), stop);
    assert!(answer.expect(202)["execution_id"].is_string());
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn triggers_are_checked_when_the_schema_is_saved() {
    let server = Server::start().await;
    let refused = |trigger: Value| server.post("/api/schemas", mirror("bad", trigger));
    let codes = |answer: Answer| -> Vec<String> {
        let body = answer.refuses(422, "INVALID_SCHEMA");
        let found = body["details"].as_array().unwrap();
        found
            .iter()
            .map(|one| one["code"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        codes(refused(hook("a/*", json!({"rate": "1/y"}))).await),
        ["BAD_PATH", "BAD_RATE"]
    );
    assert_eq!(
        codes(refused(hook("a", json!({"auth": {}}))).await),
        ["MISSING_FIELD"]
    );
    let mut twice = mirror("twice", hook("a/:b", json!({"method": "ANY"})));
    let triggers = twice["triggers"].as_array_mut().unwrap();
    triggers.push(hook("a/:c", json!({"method": "GET"})));
    assert_eq!(
        codes(server.post("/api/schemas", twice).await),
        ["DUPLICATE_PATH"]
    );
    let header = node(
        "answer",
        "respond",
        json!({"headers": {"Content-Length": "5"}}),
    );
    let schema = row("header", hook("a", json!({})), vec![header]);
    assert_eq!(
        codes(server.post("/api/schemas", schema).await),
        ["INVALID_HEADER"]
    );
    server.close().await;
}

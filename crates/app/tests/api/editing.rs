//! What a schema editor asks: texts, drafts, layouts, pins, forms, expressions and names.

use serde_json::{Value, json};

use crate::client::{Answer, Request};
use crate::server::{Server, id, linear};

const YAML: &str = "# Greets.\nname: greet\nnodes:\n  - { id: s, type: start }\n  - { id: e, type: end, config: { output: \"v1\" } }\nedges:\n  - { source: s, target: e } # the only way\n";

fn yaml(method: &str, path: &str, text: &str) -> Request {
    Request::new(method, path).body("application/yaml", text)
}

/// The same schema with another output.
fn greeting(output: &str) -> String {
    YAML.replace("v1", output)
}

async fn output(server: &Server, start: Value) -> Value {
    server.run_to_end(start).await["output"].clone()
}

fn numbers(schema: &Value) -> (u64, u64, u64) {
    let number = |field: &str| schema[field].as_u64().unwrap();
    (
        number("version"),
        number("latest_version"),
        number("published_version"),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_keeps_its_text() {
    let server = Server::start().await;
    let saved = server.send(yaml("POST", "/api/schemas", YAML)).await;
    assert_eq!(saved.expect(201)["source"], YAML);
    let shown = server.get("/api/schemas/greet").await.expect(200);
    assert_eq!(
        (&shown["source"], &shown["source_format"]),
        (&json!(YAML), &json!("yaml"))
    );

    // Another text is another version with the same content.
    let retold = YAML.replace("# Greets.", "# Greets everybody.");
    let put = server
        .send(yaml("PUT", "/api/schemas/greet", &retold))
        .await;
    let second = put.expect(200);
    assert_eq!(
        (&second["version"], &second["hash"]),
        (&json!(2), &shown["hash"])
    );
    let again = server
        .send(yaml("PUT", "/api/schemas/greet", &retold))
        .await;
    assert_eq!(again.expect(200)["version"], 2);

    let as_json = Request::new("PUT", "/api/schemas/greet").json(&shown["definition"]);
    let third = server.send(as_json).await.expect(200);
    assert_eq!(
        (&third["version"], &third["source_format"]),
        (&json!(3), &json!("json"))
    );
    let first = server.get("/api/schemas/greet?version=1").await.expect(200);
    assert_eq!(first["source"], YAML);
    let listed = server.get("/api/schemas").await.expect(200);
    assert_eq!(listed["items"][0].get("source"), None, "lists are short");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_runs_only_by_its_number() {
    let server = Server::start().await;
    server
        .send(yaml("POST", "/api/schemas?note=first", YAML))
        .await
        .expect(201);
    let path = "/api/schemas/greet?publish=false&note=say%20more%20%F0%9F%A6%80";
    let draft = server
        .send(yaml("PUT", path, &greeting("v2")))
        .await
        .expect(200);
    assert_eq!(numbers(&draft), (2, 2, 1));
    assert_eq!(output(&server, json!({"schema": "greet"})).await, "v1");
    assert_eq!(
        output(&server, json!({"schema": "greet", "version": 2})).await,
        "v2"
    );

    let versions = server.get("/api/schemas/greet/versions").await.expect(200);
    let line = |at: usize| &versions["items"][at];
    assert_eq!(
        (&line(0)["note"], &line(0)["published"]),
        (&json!("say more 🦀"), &json!(false))
    );
    assert_eq!(
        (&line(1)["note"], &line(1)["published"]),
        (&json!("first"), &json!(true))
    );
    assert_eq!(line(0)["has_source"], true);

    let publish = |version: Value| server.post("/api/schemas/greet/publish", version);
    let published = publish(json!({"version": 2})).await.expect(200);
    assert_eq!(numbers(&published), (2, 2, 2));
    assert_eq!(output(&server, json!({"schema": "greet"})).await, "v2");
    let back = publish(json!({"version": 1})).await.expect(200);
    assert_eq!(numbers(&back), (1, 2, 1));
    assert_eq!(output(&server, json!({"schema": "greet"})).await, "v1");
    publish(json!({"version": 9}))
        .await
        .refuses(404, "NOT_FOUND");
    publish(json!({"version": "2"}))
        .await
        .refuses(422, "INVALID_REQUEST");
    publish(json!({})).await.refuses(422, "INVALID_REQUEST");
    server
        .post("/api/schemas/nothing/publish", json!({"version": 1}))
        .await
        .refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn saves_are_published_unless_they_say_otherwise() {
    let server = Server::start().await;
    server
        .send(yaml("POST", "/api/schemas", YAML))
        .await
        .expect(201);
    let plain = server
        .send(yaml("PUT", "/api/schemas/greet", &greeting("v2")))
        .await;
    assert_eq!(numbers(&plain.expect(200)), (2, 2, 2));
    let draft = yaml("PUT", "/api/schemas/greet?publish=false", &greeting("v3"));
    assert_eq!(numbers(&server.send(draft).await.expect(200)), (3, 3, 2));
    // The draft as it is, published by a save.
    let same = yaml("PUT", "/api/schemas/greet?publish=true", &greeting("v3"));
    assert_eq!(numbers(&server.send(same).await.expect(200)), (3, 3, 3));

    let long = "x".repeat(501);
    for query in [
        "publish=maybe",
        "note=",
        &format!("note={long}"),
        "draft=true",
    ] {
        let path = format!("/api/schemas/greet?{query}");
        let refused = server.send(yaml("PUT", &path, &greeting("v4"))).await;
        refused.refuses(400, "INVALID_QUERY");
    }
    let unfinished = yaml(
        "PUT",
        "/api/schemas/greet?publish=false",
        "name: greet\nnodes: []\n",
    );
    server.send(unfinished).await.refuses(422, "INVALID_SCHEMA");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn triggers_follow_the_published_version() {
    let server = Server::start().await;
    let hooked = |path: &str, cron: &str| {
        let mut schema = linear("hooked");
        schema["triggers"] = json!([
            {"type": "webhook", "path": path, "respond": "last_node"},
            {"type": "cron", "cron": cron, "name": "daily"},
        ]);
        schema
    };
    let saved = server.save(hooked("old", "0 5 * * *")).await;
    let cron = format!(
        "/api/scheduled-actions/cron:{}:daily",
        saved["id"].as_str().unwrap()
    );
    let line = async || {
        let action = server.get(&cron).await.expect(200);
        action["spec"]["policy"]["cron"]["expr"].clone()
    };
    let draft = Request::new("PUT", "/api/schemas/hooked?publish=false");
    server
        .send(draft.json(&hooked("new", "0 6 * * *")))
        .await
        .expect(200);
    assert_eq!(server.post("/webhook/old", json!({})).await.status, 200);
    assert_eq!(server.post("/webhook/new", json!({})).await.status, 404);
    assert_eq!(line().await, "0 5 * * *");
    let publish = json!({"version": 2});
    server
        .post("/api/schemas/hooked/publish", publish)
        .await
        .expect(200);
    assert_eq!(server.post("/webhook/old", json!({})).await.status, 404);
    assert_eq!(server.post("/webhook/new", json!({})).await.status, 200);
    assert_eq!(line().await, "0 6 * * *");

    // A draft may want a path that belongs to another schema; to be used it must get it.
    let mut other = hooked("new", "0 6 * * *");
    other["name"] = "other".into();
    server
        .post("/api/schemas", other.clone())
        .await
        .refuses(409, "CONFLICT");
    server.save(linear("other")).await;
    let draft = Request::new("PUT", "/api/schemas/other?publish=false");
    server.send(draft.json(&other)).await.expect(200);
    let refused = server
        .post("/api/schemas/other/publish", json!({"version": 2}))
        .await;
    assert_eq!(
        refused.refuses(409, "CONFLICT")["details"]["schema"],
        "hooked"
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn diagnostics_point_into_the_text_that_was_sent() {
    let server = Server::start().await;
    server
        .send(yaml("POST", "/api/schemas", YAML))
        .await
        .expect(201);
    let wrong = YAML.replace("type: end", "type: ennd");
    let places = |answer: &Answer, status: u16| {
        let body = answer.expect(status);
        let found = body.get("diagnostics").unwrap_or(&body["details"]);
        let named = |one: &&Value| one["code"] == "UNKNOWN_NODE_TYPE";
        let first = found.as_array().unwrap().iter().find(named).unwrap();
        (
            first["line"].clone(),
            first["column"].clone(),
            first["hint"].clone(),
        )
    };
    let at = (json!(5), json!(20), json!("did you mean `end`?"));
    let put = server.send(yaml("PUT", "/api/schemas/greet", &wrong)).await;
    assert_eq!(places(&put, 422), at);
    let checked = server
        .send(yaml("POST", "/api/schemas/validate", &wrong))
        .await;
    assert_eq!(places(&checked, 200), at);

    let wrong = "{\n  \"name\": \"greet\",\n  \"nodes\": [\n    {\"id\": \"s\", \"type\": \"strat\"}\n  ]\n}";
    let as_json =
        |method: &str, path: &str| Request::new(method, path).body("application/json", wrong);
    let put = server.send(as_json("PUT", "/api/schemas/greet")).await;
    let (line, column, _) = places(&put, 422);
    assert_eq!((line, column), (json!(4), json!(25)));
    let broken =
        Request::new("PUT", "/api/schemas/greet").body("application/json", "{\n \"name\": }");
    let told = server.send(broken).await.refuses(400, "INVALID_JSON");
    assert_eq!(
        (&told["details"]["line"], &told["details"]["column"]),
        (&json!(2), &json!(10))
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expressions_are_evaluated_where_they_stand() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server
        .run_to_end(json!({"schema": "orders", "input": {"n": 7}}))
        .await;
    let at = |seq: u64| json!({"execution": id(&run), "seq": seq});
    let ask = |text: &str, mode: &str, at: Value| {
        let body = json!({"text": text, "mode": mode, "at": at});
        let server = &server;
        async move { server.post("/api/expressions/evaluate", body).await }
    };
    let total = ask("{{variables.total}} + 1", "expression", at(2))
        .await
        .expect(200);
    assert_eq!(total, json!({"ok": true, "value": 8, "type": "integer"}));
    let text = ask("n={{input.n}}", "template", at(0)).await.expect(200);
    assert_eq!(
        (&text["value"], &text["type"]),
        (&json!("n=7"), &json!("string"))
    );
    let null = ask("null", "expression", at(0)).await.expect(200);
    assert_eq!(
        (null.get("value"), &null["type"]),
        (Some(&Value::Null), &json!("null"))
    );
    let url = ask(
        "/a/{{input.q}}",
        "url",
        json!({"context": {"input": {"q": "b c"}}}),
    )
    .await;
    assert_eq!(url.expect(200)["value"], "/a/b%20c");

    // Before its step, a variable is not there; the place is counted as JavaScript counts.
    let early = ask("'🦀' + variables.total", "expression", at(1))
        .await
        .expect(200);
    let error = &early["error"];
    assert_eq!(
        (&early["ok"], &error["code"]),
        (&json!(false), &json!("UNDEFINED_PATH"))
    );
    assert_eq!((&error["start"], &error["end"]), (&json!(7), &json!(22)));
    let secret = ask("{{secrets.key}}", "template", at(2)).await.expect(200);
    assert_eq!(secret["error"]["code"], "EXPRESSION_ERROR");
    let endless = "len(map(range(100000), x => map(range(100000), y => x * y)))";
    let stopped = ask(endless, "expression", at(2)).await.expect(200);
    assert_eq!(stopped["error"]["code"], "LIMIT_EXCEEDED");
    let large = ask("range(60000)", "expression", at(2)).await.expect(200);
    assert_eq!((&large["cut"], large.get("value")), (&json!(true), None));
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_evaluated_is_refused() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server.run_to_end(json!({"schema": "orders"})).await;
    let ask = async |body: Value| server.post("/api/expressions/evaluate", body).await;
    let context = json!({"context": {}});
    let (run, unknown) = (id(&run), "01a1e0f5-1856-7d0e-88d2-6567e1663034");
    for (at, status, code) in [
        (json!({"execution": run, "seq": 99}), 404, "NOT_FOUND"),
        (json!({"execution": unknown, "seq": 0}), 404, "NOT_FOUND"),
        (json!({"execution": "x", "seq": 0}), 404, "NOT_FOUND"),
        (json!({"execution": run}), 422, "INVALID_REQUEST"),
        (json!({"execution": run, "seq": -1}), 422, "INVALID_REQUEST"),
        (
            json!({"execution": run, "seq": 0, "context": {}}),
            422,
            "INVALID_REQUEST",
        ),
        (json!({"context": []}), 422, "INVALID_REQUEST"),
        (json!({}), 422, "INVALID_REQUEST"),
    ] {
        let body = json!({"text": "1", "mode": "expression", "at": at});
        ask(body).await.refuses(status, code);
    }
    let long = " ".repeat(65 << 10);
    for body in [
        json!({"text": "1", "mode": "sql", "at": context}),
        json!({"text": long, "mode": "template", "at": context}),
        json!({"text": 1, "mode": "template", "at": context}),
        json!({"mode": "template", "at": context}),
    ] {
        ask(body).await.refuses(422, "INVALID_REQUEST");
    }
    let listed = server.get("/api/expressions/functions").await.expect(200);
    let all = listed["items"].as_array().unwrap();
    let upper = all.iter().find(|one| one["name"] == "upper").unwrap();
    assert!(
        upper["signature"].as_str().unwrap().starts_with("upper("),
        "{upper}"
    );
    for one in all {
        let example = json!({"text": one["example"], "mode": "expression", "at": context});
        let told = ask(example).await.expect(200);
        let wanted: Value = serde_json::from_str(one["result"].as_str().unwrap()).unwrap();
        assert!(
            told["value"] == wanted || one["name"] == "uuid" || one["name"] == "now",
            "{one} {told}"
        );
    }
    server.close().await;
}

/// The address of a webhook is written down elsewhere: no draft changes the one that is live.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_leaves_the_address_of_a_live_webhook_alone() {
    let server = Server::start().await;
    let schema = |triggers: Value| {
        let mut schema = linear("hooked");
        schema["triggers"] = triggers;
        schema
    };
    let hook = json!([{"type": "webhook", "name": "hook", "respond": "last_node"}]);
    let path = |shown: &Value| {
        let found = shown["definition"]["triggers"][0]["path"].as_str();
        found.unwrap().to_owned()
    };
    let saved = server.save(schema(hook.clone())).await;
    let live = path(&saved);
    let put = async |how: &str, triggers: Value| {
        let request = Request::new("PUT", &format!("/api/schemas/hooked?publish={how}"));
        let answer = server.send(request.json(&schema(triggers))).await;
        answer.expect(200)
    };
    put("false", json!([])).await;
    let drafted = put("false", hook.clone()).await;
    assert_eq!(path(&drafted), live);
    let named = json!([{"type": "webhook", "name": "other", "respond": "last_node"}]);
    let other = path(&put("false", named.clone()).await);
    assert_ne!(other, live);
    assert_eq!(path(&put("true", named).await), other, "that of the draft");
    let url = format!("/webhook/{other}");
    assert_eq!(server.post(&url, json!({})).await.status, 200);
    server.close().await;
}

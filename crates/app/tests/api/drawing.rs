//! What an editor keeps beside the versions, and what it draws forms from.

use pawl_kernel::schema::source::Source;
use serde_json::{Map, Value, json};

use crate::client::Request;
use crate::server::{Server, linear};

const LAYOUT: &str = "/api/schemas/orders/layout";

fn put(path: &str, body: &Value) -> Request {
    Request::new("PUT", path).json(body)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layout_is_kept_apart_from_the_versions() {
    let server = Server::start().await;
    let mut placed = linear("orders");
    placed["nodes"][0]["position"] = json!({"x": 12.5, "y": -3});
    server.save(placed).await;
    let none = server.get(LAYOUT).await;
    assert_eq!(none.header("etag"), Some("\"0\""));
    let none = none.expect(200);
    assert_eq!(
        none["positions"],
        json!({"start_1": {"x": 12.5, "y": -3.0}})
    );
    assert_eq!(
        (&none["revision"], &none["updated_by"]),
        (&json!(0), &Value::Null)
    );

    let drawn = json!({
        "positions": {"start_1": {"x": 0, "y": 8.25}, "gone": {"x": 1, "y": 2}},
        "notes": [{"id": "n", "x": 1, "y": 2, "width": 100, "height": 50, "text": "look <b>here</b>", "color": "amber"}],
        "groups": [{"id": "g", "x": 1, "y": 2, "width": 100, "height": 50, "title": "first part"}],
    });
    let saved = server
        .send(put(LAYOUT, &drawn).header("If-Match", "\"0\""))
        .await;
    assert_eq!(saved.header("etag"), Some("\"1\""));
    let saved = saved.expect(200);
    assert_eq!(
        (&saved["revision"], &saved["updated_by"]),
        (&json!(1), &json!("dev"))
    );
    assert_eq!(
        saved["notes"],
        json!([{"id": "n", "x": 1.0, "y": 2.0, "width": 100.0, "height": 50.0, "text": "look <b>here</b>", "color": "amber"}])
    );
    assert_eq!(server.get(LAYOUT).await.expect(200), saved);
    let late = server
        .send(put(LAYOUT, &drawn).header("If-Match", "\"0\""))
        .await;
    let late = late.refuses(412, "PRECONDITION_FAILED");
    assert_eq!(late["details"], json!({"latest": 1, "expected": 0}));
    let empty = server.send(put(LAYOUT, &json!({}))).await.expect(200);
    assert_eq!(
        (&empty["revision"], &empty["positions"]),
        (&json!(2), &json!({}))
    );
    let schema = server.get("/api/schemas/orders").await.expect(200);
    assert_eq!(schema["version"], 1);
    server
        .get("/api/schemas/nothing/layout")
        .await
        .refuses(404, "NOT_FOUND");
    server
        .send(put("/api/schemas/nothing/layout", &json!({})))
        .await
        .refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_layouts_are_refused() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let note = |text: String, x: f64| json!({"id": "n", "x": x, "y": 0, "width": 1, "height": 1, "text": text});
    let many: Map<String, Value> = (0..5_001)
        .map(|n| (n.to_string(), json!({"x": 0, "y": 0})))
        .collect();
    let two = [note(String::new(), 0.0), note(String::new(), 0.0)];
    for body in [
        json!({"positions": many}),
        json!({"positions": {"a": {"x": 1e9, "y": 0}}}),
        json!({"positions": {"a": {"x": "1", "y": 0}}}),
        json!({"positions": {"a": {"x": 1}}}),
        json!({"positions": {"": {"x": 1, "y": 1}}}),
        json!({"positions": {"a".repeat(201): {"x": 1, "y": 1}}}),
        json!({"positions": []}),
        json!({"notes": vec![note("x".into(), 0.0); 501]}),
        json!({"notes": [note("x".repeat(4_001), 0.0)]}),
        json!({"notes": [note("x".into(), -1e8)]}),
        json!({"notes": two}),
        json!({"groups": [{"id": "g", "x": 0, "y": 0, "width": -1, "height": 1, "title": ""}]}),
        json!({"groups": [{"id": "g"}]}),
        json!({"positons": {}}),
    ] {
        let shown = body.to_string();
        let answer = server.send(put(LAYOUT, &body)).await;
        assert_eq!(
            answer.status,
            422,
            "{} {}",
            &shown[..shown.len().min(80)],
            answer.text()
        );
        answer.refuses(422, "INVALID_REQUEST");
    }
    let wide: Vec<Value> = (0..200)
        .map(|n| json!({"id": n.to_string(), "x": 0, "y": 0, "width": 1, "height": 1, "text": "я".repeat(2_000)}))
        .collect();
    let large = server.send(put(LAYOUT, &json!({"notes": wide}))).await;
    large.refuses(413, "LIMIT_EXCEEDED");
    assert_eq!(server.get(LAYOUT).await.expect(200)["revision"], 0);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_are_pinned_by_node() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let path = "/api/schemas/orders/pins/fetch%20it";
    server.get(path).await.refuses(404, "NOT_FOUND");
    let body = json!({"output": {"status": 200, "big": 9007199254740993_i64}, "handle": "success"});
    let pinned = server.send(put(path, &body)).await.expect(200);
    assert_eq!(
        (&pinned["node"], &pinned["handle"]),
        (&json!("fetch it"), &json!("success"))
    );
    assert_eq!(server.get(path).await.expect(200), pinned);
    assert_eq!(pinned["output"], body["output"]);
    server
        .send(put(path, &json!({"output": null})))
        .await
        .expect(200);
    let pin = server.get(path).await.expect(200);
    assert_eq!(
        (pin.get("output"), &pin["bytes"]),
        (Some(&Value::Null), &json!(4))
    );
    let listed = server.get("/api/schemas/orders/pins").await.expect(200);
    assert_eq!(listed["items"][0]["node"], "fetch it");
    assert_eq!(listed["items"][0].get("output"), None);

    for wrong in [
        json!({}),
        json!({"outptu": 1}),
        json!({"output": 1, "handle": 1}),
    ] {
        server
            .send(put(path, &wrong))
            .await
            .refuses(422, "INVALID_REQUEST");
    }
    let large = json!({"output": "x".repeat(256 << 10)});
    server
        .send(put(path, &large))
        .await
        .refuses(413, "LIMIT_EXCEEDED");
    let nowhere = "/api/schemas/nothing/pins/a";
    server
        .send(put(nowhere, &json!({"output": 1})))
        .await
        .refuses(404, "NOT_FOUND");
    let remove = Request::new("DELETE", path);
    assert_eq!(server.send(remove.clone()).await.status, 204);
    server.send(remove).await.refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn editors_write_and_viewers_look() {
    let server = Server::locked().await;
    server.save(linear("orders")).await;
    let (viewer, _) = server.key("vera", "viewer").await;
    let pin = "/api/schemas/orders/pins/a";
    for request in [
        put(LAYOUT, &json!({})),
        put(pin, &json!({"output": 1})),
        Request::new("DELETE", pin),
        Request::new("POST", "/api/schemas/orders/publish").json(&json!({"version": 1})),
    ] {
        server
            .send_as(&viewer, request)
            .await
            .refuses(403, "FORBIDDEN");
    }
    let evaluate = json!({"text": "1 + 1", "mode": "expression", "at": {"context": {}}});
    let evaluate = Request::new("POST", "/api/expressions/evaluate").json(&evaluate);
    server.send_as(&viewer, evaluate).await.expect(200);
    for path in [
        LAYOUT,
        "/api/schemas/orders/pins",
        "/api/secrets",
        "/api/format.json",
    ] {
        server
            .send_as(&viewer, Request::new("GET", path))
            .await
            .expect(200);
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_told_and_values_never() {
    let server = Server::with_options(|options| {
        options
            .secrets
            .insert("stripe".into(), "sk_live_123456".into());
        options.env.insert("REGION".into(), "eu-1".into());
        options.connections.insert("shop".into(), "postgres");
    })
    .await;
    let names = async |path: &str| server.get(path).await.expect(200)["items"].clone();
    assert_eq!(names("/api/secrets").await, json!([{"name": "stripe"}]));
    assert_eq!(
        names("/api/connections").await,
        json!([{"name": "shop", "kind": "postgres"}])
    );
    let env = names("/api/env").await;
    assert!(
        env.as_array().unwrap().contains(&json!({"name": "REGION"})),
        "{env}"
    );
    assert!(!env.to_string().contains("eu-1"));
    // What is kept for others to read is kept without secrets.
    server.save(linear("orders")).await;
    let path = "/api/schemas/orders/pins/a";
    let body = json!({"output": {"token": "sk_live_123456"}});
    assert_eq!(
        server.send(put(path, &body)).await.expect(200)["output"],
        json!({"token": "***"})
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn node_types_say_how_to_draw_their_forms() {
    let server = Server::start().await;
    let one = async |name: &str| {
        server
            .get(&format!("/api/node-types/{name}"))
            .await
            .expect(200)
    };
    let switch = one("switch").await;
    assert_eq!(switch["exits_from"], "/cases/*/name");
    let case = &switch["config_schema"]["properties"]["cases"];
    assert_eq!(case["title"], "Cases");
    let http = one("http_request").await;
    let fields = &http["config_schema"]["properties"];
    assert_eq!(
        (&fields["url"]["x-pawl-language"], &fields["url"]["title"]),
        (&json!("url"), &json!("URL"))
    );
    assert_eq!(
        http["output_schema"]["properties"]["status_code"]["type"],
        "integer"
    );
    let auth = fields["auth"].to_string();
    assert!(
        auth.contains(r#""x-pawl-when":{"field":"type","in":["bearer"]}"#),
        "{auth}"
    );
    assert!(auth.contains(r#""x-pawl-source":"secrets""#), "{auth}");
    let code = one("code").await;
    assert_eq!(
        code["config_schema"]["properties"]["source"]["x-pawl-language"],
        "javascript"
    );
    let sql = one("sql").await;
    let connection = &sql["config_schema"]["properties"]["connection"];
    assert_eq!(connection["x-pawl-source"], "connections");
    assert!(
        sql["config_schema"]
            .to_string()
            .contains(r#""x-pawl-language":"sql""#)
    );
    let listed = server.get("/api/node-types").await.expect(200);
    for kind in listed["items"].as_array().unwrap() {
        jsonschema::validator_for(&kind["output_schema"]).unwrap();
        jsonschema::validator_for(&kind["config_schema"]).unwrap();
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_format_takes_what_is_taken() {
    let server = Server::start().await;
    let format = server.get("/api/format.json").await.expect(200);
    let format = jsonschema::validator_for(&format).unwrap();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let mut seen = 0;
    for folder in ["examples", "tests/flows"] {
        for entry in std::fs::read_dir(format!("{root}{folder}")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|kind| kind != "yaml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let Ok(source) = Source::parse(None, &text) else {
                continue;
            };
            let schema = source.value().get("schema").unwrap_or(source.value());
            let answer = server
                .post("/api/schemas/validate", schema.clone())
                .await
                .expect(200);
            if answer["valid"] == true {
                let wrong: Vec<String> = format
                    .iter_errors(schema)
                    .map(|error| format!("{} {error}", error.instance_path()))
                    .collect();
                assert!(wrong.is_empty(), "{}: {wrong:?}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "only {seen} schemas were looked at");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_format_refuses_what_is_refused() {
    let server = Server::start().await;
    let format = server.get("/api/format.json").await.expect(200);
    let format = jsonschema::validator_for(&format).unwrap();
    let full = json!({
        "name": "all", "language": 1, "description": "d", "external_id": 3,
        "settings": {"max_steps": 5, "max_duration": "1h", "node_timeout": 3, "max_nodes_per_message": 1, "on_stuck": "fail",
            "max_calls": 3, "concurrency": {"limit": 2, "key": "{{input.id}}"}, "priority": "low", "tenant": "t", "retention": "forever"},
        "triggers": [
            {"type": "webhook", "path": "a/:id", "method": "ANY", "respond": "respond_node", "wait": "10s", "max_body": 9, "rate": "9/s",
             "auth": {"type": "hmac", "secret": "S", "tolerance": "1m"}, "name": "w", "disabled": false},
            {"type": "cron", "cron": "@daily", "timezone": "UTC", "overlap": "skip", "catch_up": "last", "input": {"a": 1}, "name": "c"},
        ],
        "nodes": [
            {"id": "s", "type": "start", "position": {"x": 1, "y": 2}},
            {"id": "h", "type": "http_request", "name": "call", "config": {"url": "http://h"}, "timeout": "3s", "on_error": "continue",
             "on_interrupt": "fail", "disabled": false, "entry": true,
             "retry": {"enabled": true, "max_attempts": 2, "delay": 1, "backoff": "fixed", "max_delay": "1m", "jitter": false}},
        ],
        "edges": [{"source": "s", "target": "h", "sourceHandle": null}],
    });
    let valid = async |schema: &Value| {
        let answer = server
            .post("/api/schemas/validate", schema.clone())
            .await
            .expect(200);
        answer["valid"] == true
    };
    assert!(valid(&full).await);
    assert!(
        format.is_valid(&full),
        "{:?}",
        format
            .iter_errors(&full)
            .map(|one| one.to_string())
            .collect::<Vec<_>>()
    );
    for (pointer, wrong) in [
        ("/name", json!("Not Good")),
        ("/external_id", json!(-1)),
        ("/settings/max_steps", json!(0)),
        ("/settings/priority", json!("urgent")),
        ("/settings/concurrency", json!({"key": "a"})),
        ("/settings/nonsense", json!(1)),
        ("/triggers/0/method", json!("BREW")),
        ("/triggers/0/auth", json!({"type": "none"})),
        ("/triggers/0/type", json!("mail")),
        ("/triggers/1/overlap", json!("both")),
        ("/nodes/1/type", json!("http")),
        (
            "/nodes/1/config",
            json!({"url": "http://h", "methd": "GET"}),
        ),
        ("/nodes/1/config", json!({})),
        ("/nodes/1/retry/backoff", json!("slow")),
        ("/nodes/1/on_error", json!("retry")),
        ("/edges/0/target", json!(7)),
        ("/nonsense", json!(1)),
    ] {
        let mut changed = full.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        changed.pointer_mut(parent).unwrap()[name] = wrong;
        assert!(!format.is_valid(&changed), "{pointer}");
        assert!(!valid(&changed).await, "{pointer}");
    }
    server.close().await;
}

use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, linear};

const YAML: &str = "
name: from-yaml
nodes:
  - { id: start_1, type: start }
  - { id: end_1, type: end }
edges:
  - { source: start_1, target: end_1 }
";

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_is_saved_shown_listed_and_deleted() {
    let server = Server::start().await;
    let answer = server
        .send(Request::new("POST", "/api/schemas").json(&linear("orders")))
        .await;
    let saved = answer.expect(201);
    assert_eq!(
        (saved["name"].as_str(), saved["version"].as_u64()),
        (Some("orders"), Some(1))
    );
    assert_eq!(answer.header("etag"), Some("\"1\""));
    let place = format!("/api/schemas/{}", saved["id"].as_str().unwrap());
    assert_eq!(answer.header("location"), Some(place.as_str()));

    for path in [
        place.as_str(),
        "/api/schemas/orders",
        "/api/schemas/orders?version=1",
    ] {
        let answer = server.get(path).await;
        let shown = answer.expect(200);
        assert_eq!(answer.header("etag"), Some("\"1\""));
        assert_eq!(shown["definition"]["nodes"][1]["id"], "set_1");
        assert_eq!(
            (shown["active"].as_bool(), shown["created_by"].as_str()),
            (Some(true), Some("dev"))
        );
    }
    server
        .get("/api/schemas/orders?version=2")
        .await
        .refuses(404, "NOT_FOUND");
    server
        .get("/api/schemas/nothing")
        .await
        .refuses(404, "NOT_FOUND");

    let deleted = server
        .send(Request::new("DELETE", "/api/schemas/orders"))
        .await;
    assert_eq!((deleted.status, deleted.body.len()), (204, 0));
    server
        .get("/api/schemas/orders")
        .await
        .refuses(404, "NOT_FOUND");
    server
        .send(Request::new("DELETE", "/api/schemas/orders"))
        .await
        .refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_a_schema_is_shown_and_belongs_to_it_alone() {
    let server = Server::start().await;
    let numbered = |name: &str, number: Value| {
        let mut schema = linear(name);
        schema["external_id"] = number;
        schema
    };
    let saved = server.save(numbered("first", json!(123))).await;
    assert_eq!(saved["external_id"], 123);
    assert_eq!(saved["definition"]["external_id"], 123);
    server.save(linear("second")).await;
    let listed = server.get("/api/schemas").await.expect(200);
    assert_eq!(listed["items"][0]["external_id"], 123);
    assert_eq!(listed["items"][1]["external_id"], Value::Null);
    let new = server
        .post("/api/schemas", numbered("third", json!(123)))
        .await;
    let update = Request::new("PUT", "/api/schemas/second").json(&numbered("second", json!(123)));
    for answer in [new, server.send(update).await] {
        let told = answer.refuses(409, "CONFLICT");
        assert_eq!(
            told["details"],
            json!({"external_id": 123, "schema": "first"})
        );
    }
    for wrong in [json!("123"), json!(-1), json!(1.5), json!(u64::MAX)] {
        let answer = server.post("/api/schemas", numbered("wrong", wrong)).await;
        let told = answer.refuses(422, "INVALID_SCHEMA");
        assert_eq!(told["details"][0]["pointer"], "/external_id", "{told}");
    }
    let deleted = Request::new("DELETE", "/api/schemas/first");
    assert_eq!(server.send(deleted).await.status, 204);
    server.save(numbered("third", json!(123))).await;
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn yaml_is_taken_by_type_and_by_look() {
    let server = Server::start().await;
    for (index, kind) in [
        "application/yaml",
        "text/yaml; charset=utf-8",
        "application/x-yaml",
    ]
    .iter()
    .enumerate()
    {
        let text = YAML.replace("from-yaml", &format!("yaml-{index}"));
        server
            .send(Request::new("POST", "/api/schemas").body(kind, text))
            .await
            .expect(201);
    }
    let mut plain = Request::new("POST", "/api/schemas");
    plain.body = YAML.as_bytes().to_vec();
    server.send(plain).await.expect(201);
    let as_text = Request::new("POST", "/api/schemas").body("text/plain", YAML);
    server
        .send(as_text)
        .await
        .refuses(415, "UNSUPPORTED_MEDIA_TYPE");
    let as_json = Request::new("POST", "/api/schemas").body("application/json", YAML);
    server.send(as_json).await.refuses(400, "INVALID_JSON");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_follow_if_match() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let mut changed = linear("orders");
    changed["description"] = json!("second");
    let put = |tag: Option<&str>, body: &serde_json::Value| {
        let request = Request::new("PUT", "/api/schemas/orders").json(body);
        match tag {
            Some(tag) => request.header("If-Match", tag),
            None => request,
        }
    };
    let answer = server.send(put(Some("\"1\""), &changed)).await;
    assert_eq!(answer.expect(200)["version"], 2);
    assert_eq!(answer.header("etag"), Some("\"2\""));
    let refused = server
        .send(put(Some("\"1\""), &linear("orders")))
        .await
        .refuses(412, "PRECONDITION_FAILED");
    assert_eq!(refused["details"], json!({"latest": 2, "expected": 1}));
    server
        .send(put(Some("nonsense"), &changed))
        .await
        .refuses(400, "INVALID_HEADER");

    // The same content is the same version.
    assert_eq!(
        server.send(put(Some("2"), &changed)).await.expect(200)["version"],
        2
    );
    assert_eq!(
        server.send(put(None, &linear("orders"))).await.expect(200)["version"],
        3
    );

    let renamed = server
        .send(put(None, &linear("other")))
        .await
        .refuses(422, "INVALID_SCHEMA");
    assert_eq!(renamed["details"][0]["code"], "NAME_MISMATCH");
    let nowhere = Request::new("PUT", "/api/schemas/nothing").json(&linear("nothing"));
    server.send(nowhere).await.refuses(404, "NOT_FOUND");

    let versions = server.get("/api/schemas/orders/versions").await.expect(200);
    let numbers: Vec<u64> = versions["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["version"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [3, 2, 1]);
    let old = server
        .get("/api/schemas/orders?version=2")
        .await
        .expect(200);
    assert_eq!(
        (&old["version"], &old["latest_version"]),
        (&json!(2), &json!(3))
    );
    assert_eq!(old["definition"]["description"], "second");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_name_and_a_wrong_schema_are_refused() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    server
        .post("/api/schemas", linear("orders"))
        .await
        .refuses(409, "CONFLICT");

    let wrong = json!({"name": "x", "nodes": [{"id": "a", "type": "strat"}, {"id": "a", "type": "end"}], "edges": [{"source": "a", "target": "b"}]});
    let refused = server
        .post("/api/schemas", wrong.clone())
        .await
        .refuses(422, "INVALID_SCHEMA");
    let problems = refused["details"].as_array().unwrap();
    assert!(problems.len() >= 2, "{refused}");
    assert!(
        problems
            .iter()
            .all(|problem| problem["line"].is_u64() && problem["code"].is_string())
    );
    for (code, params) in [
        ("UNKNOWN_NODE_TYPE", json!({"type": "strat"})),
        ("DUPLICATE_ID", json!({"node": "a"})),
        ("UNKNOWN_NODE", json!({"node": "b", "end": "target"})),
    ] {
        let told = problems.iter().find(|problem| problem["code"] == code);
        assert_eq!(told.map(|told| &told["params"]), Some(&params), "{code}");
    }

    let checked = server
        .post("/api/schemas/validate", wrong)
        .await
        .expect(200);
    assert_eq!(checked["valid"], false);
    assert_eq!(
        checked["diagnostics"].as_array().unwrap().len(),
        problems.len()
    );
    let good = server
        .post("/api/schemas/validate", linear("fine"))
        .await
        .expect(200);
    assert_eq!(
        (&good["valid"], &good["name"]),
        (&json!(true), &json!("fine"))
    );
    let broken =
        Request::new("POST", "/api/schemas/validate").body("application/json", "{\n \"name\": }");
    let broken = server.send(broken).await.expect(200);
    assert_eq!(
        (&broken["valid"], &broken["diagnostics"][0]["line"]),
        (&json!(false), &json!(2))
    );
    server
        .get("/api/schemas/fine")
        .await
        .refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deactivated_schema_does_not_start() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let off = server
        .command("/api/schemas/orders/deactivate")
        .await
        .expect(200);
    assert_eq!(off["active"], false);
    server
        .post("/api/executions", json!({"schema": "orders"}))
        .await
        .refuses(409, "CONFLICT");
    let on = server
        .command("/api/schemas/orders/activate")
        .await
        .expect(200);
    assert_eq!(on["active"], true);
    server.run_to_end(json!({"schema": "orders"})).await;
    server
        .command("/api/schemas/nothing/activate")
        .await
        .refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_are_listed_in_pages() {
    let server = Server::start().await;
    for index in 0..5 {
        server.save(linear(&format!("flow-{index}"))).await;
    }
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = server
            .get(&format!("/api/schemas?limit=2&cursor={cursor}"))
            .await
            .expect(200);
        names.extend(
            page["items"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| item["name"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    names.sort();
    assert_eq!(names, ["flow-0", "flow-1", "flow-2", "flow-3", "flow-4"]);
    let found = server.get("/api/schemas?text=flow-3").await.expect(200);
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    server.close().await;
}

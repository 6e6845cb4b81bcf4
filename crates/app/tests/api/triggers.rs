//! Cron triggers follow their schema.

use serde_json::{Value, json};

use crate::client::{PATIENCE, Request};
use crate::schedule::path;
use crate::server::{Server, linear};

fn ticking(line: &str) -> Value {
    let mut schema = linear("ticking");
    schema["triggers"] = json!([{"type": "cron", "name": "tick", "cron": line, "input": {"n": 5}}]);
    schema
}

impl Server {
    /// Waits until so many executions of the schema have begun.
    async fn started(&self, count: usize) -> Vec<Value> {
        let look = async {
            loop {
                let page = self.get("/api/executions?schema=ticking").await.expect(200);
                let runs = page["items"].as_array().unwrap();
                if runs.len() >= count {
                    return runs.clone();
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(PATIENCE, look).await.expect("no run")
    }

    async fn update(&self, schema: &Value) -> Value {
        let put = Request::new("PUT", "/api/schemas/ticking").json(schema);
        self.send(put).await.expect(200)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_lives_with_its_schema() {
    let server = Server::start().await;
    let schema = server.save(ticking("* * * * * *")).await;
    let id = format!("cron:{}:tick", schema["id"].as_str().unwrap());
    let one = path(&id);
    let runs = server.started(2).await;
    assert_eq!(runs[0]["created_by"], id);
    let listed = server
        .get("/api/scheduled-actions?prefix=cron:")
        .await
        .expect(200);
    let action = &listed["items"][0];
    assert_eq!(
        (&action["id"], &action["meta"]["schema"]),
        (&json!(id), &json!("ticking"))
    );
    assert_eq!(action["meta"]["written_by"], "schema:ticking");
    for refused in [server.delete(&one).await, server.put(&one, json!({})).await] {
        let refused = refused.refuses(409, "CONFLICT");
        assert!(
            refused["message"].as_str().unwrap().contains("trigger"),
            "{refused}"
        );
    }

    server
        .command("/api/schemas/ticking/deactivate")
        .await
        .expect(200);
    let paused = server.get(&one).await.expect(200);
    assert!(paused["status"]["paused_at"].is_string(), "{paused}");
    let refused = server.command(&format!("{one}/resume")).await;
    let refused = refused.refuses(409, "CONFLICT");
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("activate the schema")
    );
    server
        .command("/api/schemas/ticking/activate")
        .await
        .expect(200);
    let begun = server.started(0).await.len();
    server.started(begun + 1).await;

    server.command(&format!("{one}/pause")).await.expect(200);
    server.update(&ticking("@daily")).await;
    let changed = server.get(&one).await.expect(200);
    assert_eq!(changed["spec"]["policy"]["cron"]["expr"], "@daily");
    assert!(
        changed["status"]["paused_at"].is_string(),
        "a person's pause stays"
    );
    for word in ["deactivate", "activate"] {
        let path = format!("/api/schemas/ticking/{word}");
        server.command(&path).await.expect(200);
        let still = server.get(&one).await.expect(200);
        assert!(still["status"]["paused_at"].is_string(), "after {word}");
    }
    server.command(&format!("{one}/resume")).await.expect(200);
    let begun = server.started(0).await.len();
    server.command(&format!("{one}/run")).await.expect(200);
    server.started(begun + 1).await;

    server.update(&linear("ticking")).await;
    server.get(&one).await.refuses(404, "NOT_FOUND");
    server.update(&ticking("@hourly")).await;
    server.get(&one).await.expect(200);
    server.delete("/api/schemas/ticking").await.expect(204);
    server.get(&one).await.refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_that_makes_no_sense_keeps_a_schema_from_being_saved() {
    let server = Server::start().await;
    for (line, zone, code, pointer) in [
        ("* *", "UTC", "BAD_CRON", "/triggers/0/cron"),
        ("0 0 31 4 *", "UTC", "NEVER_FIRES", "/triggers/0/cron"),
        ("@daily", "Mars/X", "BAD_TIME_ZONE", "/triggers/0/timezone"),
    ] {
        let mut schema = ticking(line);
        schema["triggers"][0]["timezone"] = json!(zone);
        let refused = server.post("/api/schemas", schema.clone()).await;
        let refused = refused.refuses(422, "INVALID_SCHEMA");
        let found = &refused["details"][0];
        assert_eq!(
            (&found["code"], &found["pointer"]),
            (&json!(code), &json!(pointer))
        );
        let checked = server
            .post("/api/schemas/validate", schema)
            .await
            .expect(200);
        assert_eq!(
            (&checked["valid"], &checked["diagnostics"][0]["code"]),
            (&json!(false), &json!(code))
        );
    }
    let listed = server.get("/api/scheduled-actions").await.expect(200);
    assert_eq!(listed["items"], json!([]));
    server.close().await;
}

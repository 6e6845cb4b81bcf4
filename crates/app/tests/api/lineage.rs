//! Histories of retries and forks: what they took over, and what is said when their origin is not kept any more.

use serde_json::{Value, json};

use crate::server::{Server, fragile, id, linear, waiting};

fn path(run: &Value, what: &str) -> String {
    format!("/api/executions/{}/{what}", id(run))
}

/// The nodes of a page of steps, and whether each was taken over.
fn brief(page: &Value) -> Vec<(&str, bool)> {
    let items = page["items"].as_array().unwrap().iter();
    items
        .map(|step| (step["node_id"].as_str().unwrap(), step["inherited"] == true))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_shows_the_steps_it_took_over() {
    let server = Server::start().await;
    server.save(fragile("fragile")).await;
    let run = server
        .run_to_end(json!({"schema": "fragile", "variables": {"ok": false}}))
        .await;
    let retry = async |run: &Value| {
        let path = path(run, "retry?wait=30s");
        server.post(&path, json!({})).await.expect(201)
    };
    let first = retry(&run).await;
    let second = retry(&first).await;
    for retried in [&first, &second] {
        assert_eq!(retried["base_seq"], 2);
        let all = server.get(&path(retried, "steps")).await.expect(200);
        assert_eq!(
            brief(&all),
            [("start_1", true), ("check_1", true), ("fail_1", false)]
        );
        assert_eq!(all.get("gone"), None);
        let own = path(retried, "steps?inherited=false");
        let own = server.get(&own).await.expect(200);
        assert_eq!(brief(&own), [("fail_1", false)]);
    }
    let with = format!("diff?with={}", id(&second));
    let same = server.get(&path(&run, &with)).await.expect(200);
    assert_eq!(same["same_path"], true, "{same}");
    let steps = same["steps"].as_array().unwrap();
    let taken_over = steps.iter().map(|step| step["right"]["inherited"] == true);
    assert_eq!(taken_over.collect::<Vec<_>>(), [true, true, false]);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_can_leave_out_what_was_taken_over() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server.run_to_end(json!({"schema": "orders"})).await;
    let body = json!({"from_seq": 2});
    let fork = server.post(&path(&run, "fork?wait=30s"), body).await;
    let fork = fork.expect(201);
    let diff = async |query: &str| {
        let path = path(&run, &format!("diff?with={}{query}", id(&fork)));
        server.get(&path).await
    };
    for query in ["", "&inherited=true"] {
        let whole = diff(query).await.expect(200);
        assert_eq!(whole["same_path"], true, "{whole}");
        assert_eq!(whole["first_divergence"], Value::Null, "{whole}");
    }
    let own = diff("&inherited=false").await.expect(200);
    assert_eq!(own["same_path"], false, "{own}");
    assert_eq!(own["first_divergence"]["index"], 1, "{own}");
    let steps = own["steps"].as_array().unwrap().iter();
    let sides = steps.map(|step| {
        let node = step["node_id"].as_str().unwrap();
        (node, step["left"].is_null(), step["right"].is_null())
    });
    assert_eq!(
        sides.collect::<Vec<_>>(),
        [
            ("start_1", false, true),
            ("set_1", false, true),
            ("log_1", false, false),
            ("end_1", false, false),
        ]
    );
    assert!(!own["steps"].to_string().contains("inherited"), "{own}");
    diff("&inherited=perhaps")
        .await
        .refuses(400, "INVALID_QUERY");
    server.close().await;
}

/// A run, stopped, and an open fork of it with a step of its own; then the stopped run goes.
async fn orphan(server: &Server) -> (Value, Value) {
    let mut schema = waiting("approval");
    schema["settings"] = json!({"retention": "0s"});
    server.save(schema).await;
    let run = server.run(json!({"schema": "approval"})).await;
    server.until(id(&run), "waiting").await;
    server.command(&path(&run, "stop")).await.expect(200);
    server.until(id(&run), "stopped").await;
    let body = json!({"from_seq": 1, "variables": {"x": 1}});
    let fork = server.post(&path(&run, "fork"), body).await.expect(201);
    server.until(id(&fork), "waiting").await;
    let whole = server.get(&path(&fork, "steps")).await.expect(200);
    assert_eq!(brief(&whole), [("start_1", true), ("$edit", false)]);
    assert_eq!(whole.get("gone"), None);
    let collected = server.command("/api/gc").await.expect(200);
    assert_eq!(collected["executions"], 1, "{collected}");
    (run, fork)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_says_what_retention_removed_of_it() {
    let server = Server::start().await;
    let (run, fork) = orphan(&server).await;
    let steps = async |query: &str| {
        let path = path(&fork, &format!("steps{query}"));
        server.get(&path).await.expect(200)
    };
    let left = steps("").await;
    assert_eq!(brief(&left), [("$edit", false)]);
    let gone = &left["gone"];
    assert_eq!(
        (&gone["up_to"], &gone["execution_id"]),
        (&json!(1), &run["id"])
    );
    let message = gone["message"].as_str().unwrap();
    assert!(
        message.contains("steps 1 to 1") && message.contains(id(&run)),
        "{message}"
    );
    let own = steps("?inherited=false").await;
    assert_eq!(
        (brief(&own), own.get("gone")),
        (vec![("$edit", false)], None)
    );

    let other = server.run(json!({"schema": "approval"})).await;
    server.until(id(&other), "waiting").await;
    let diff = async |query: &str| {
        let query = format!("diff?with={}{query}", id(&other));
        server.get(&path(&fork, &query)).await.expect(200)
    };
    let told = diff("").await;
    assert_eq!(told["left"]["gone"], *gone, "{told}");
    assert_eq!(told["right"].get("gone"), None, "{told}");
    let told = diff("&inherited=false").await;
    assert_eq!(told["left"].get("gone"), None, "{told}");

    let context = |seq: u64| path(&fork, &format!("steps/{seq}/context"));
    let refused = server.get(&context(1)).await.refuses(404, "NOT_FOUND");
    assert!(refused["message"].as_str().unwrap().contains(id(&run)));
    let edit = server.get(&context(2)).await.expect(200);
    assert_eq!(edit["after"]["variables"], json!({"x": 1}));

    // It has all that it needs.
    server
        .post(&path(&fork, "signals/go"), json!({"yes": true}))
        .await
        .expect(202);
    let ended = format!("/api/executions/{}?wait=30s", id(&fork));
    let ended = server.get(&ended).await.expect(200);
    assert_eq!(ended["status"], "completed", "{ended}");
    server.close().await;
}

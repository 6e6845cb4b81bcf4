use serde_json::{Value, json};

use crate::server::{Server, fragile, id, linear, waiting};

#[tokio::test(flavor = "multi_thread")]
async fn steps_contexts_and_logs_tell_what_happened() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server
        .run_to_end(json!({"schema": "orders", "input": {"n": 3}}))
        .await;
    let base = format!("/api/executions/{}", id(&run));

    let first = server
        .get(&format!("{base}/steps?limit=3"))
        .await
        .expect(200);
    let second = server
        .get(&format!(
            "{base}/steps?limit=3&cursor={}",
            first["next"].as_str().unwrap()
        ))
        .await
        .expect(200);
    assert_eq!(second["next"], Value::Null);
    let steps: Vec<&Value> = [&first, &second]
        .into_iter()
        .flat_map(|page| page["items"].as_array().unwrap())
        .collect();
    let nodes: Vec<&str> = steps
        .iter()
        .map(|step| step["node_id"].as_str().unwrap())
        .collect();
    assert_eq!(nodes, ["start_1", "set_1", "log_1", "end_1"]);
    let set = steps[1];
    assert_eq!(
        (&set["seq"], &set["status"], &set["node_type"]),
        (&json!(2), &json!("success"), &json!("variable_set"))
    );
    assert_eq!(
        (&set["changes"], &set["next_node_id"], &set["prev_node_id"]),
        (&json!({"total": 3}), &json!("log_1"), &json!("start_1"))
    );
    assert!(
        set["duration_ms"].is_number()
            && set["started_at"].is_string()
            && set["finished_at"].is_string()
    );

    let context = server
        .get(&format!("{base}/steps/2/context"))
        .await
        .expect(200);
    assert_eq!(context["seq"], 2);
    assert_eq!(context["before"]["variables"], json!({}));
    assert_eq!(context["after"]["variables"], json!({"total": 3}));
    let changed = context["difference"].as_array().unwrap();
    assert!(
        changed
            .iter()
            .any(|change| change["path"] == "/variables/total" && change["after"] == 3),
        "{changed:?}"
    );

    let now = server.get(&format!("{base}/context")).await.expect(200);
    assert_eq!(
        (&now["seq"], &now["context"]["variables"]["total"]),
        (&json!(4), &json!(3))
    );

    let logs = server.get(&format!("{base}/logs")).await.expect(200);
    assert_eq!(logs["items"][0]["message"], "total is 3");
    assert_eq!(
        (&logs["items"][0]["level"], &logs["items"][0]["node_id"]),
        (&json!("info"), &json!("log_1"))
    );

    for path in [
        "/steps/0/context",
        "/steps/5/context",
        "/steps/x/context",
        "/steps/-1/context",
        "/steps/99999999999999999999/context",
    ] {
        server
            .get(&format!("{base}{path}"))
            .await
            .refuses(404, "NOT_FOUND");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_says_why() {
    let server = Server::start().await;
    server.save(waiting("approval")).await;
    let run = server.run(json!({"schema": "approval"})).await;
    server.until(id(&run), "waiting").await;
    let told = server
        .get(&format!("/api/executions/{}/explain", id(&run)))
        .await
        .expect(200);
    assert_eq!(told["reason"], "waiting_for_event");
    assert!(told["sentence"].as_str().unwrap().contains("`go`"));
    assert!(told["facts"]["timer_shard"].is_u64(), "{told}");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_is_compared_with_the_last_good_one() {
    let server = Server::start().await;
    server.save(fragile("fragile")).await;
    let early = server
        .run_to_end(json!({"schema": "fragile", "variables": {"ok": false}}))
        .await;
    let diff = |run: &Value| format!("/api/executions/{}/diff", id(run));
    server.get(&diff(&early)).await.refuses(404, "NOT_FOUND");
    let good = server
        .run_to_end(json!({"schema": "fragile", "variables": {"ok": true}}))
        .await;
    let bad = server
        .run_to_end(json!({"schema": "fragile", "variables": {"ok": false}}))
        .await;
    assert_eq!(
        (&bad["status"], &bad["error"]["code"]),
        (&json!("failed"), &json!("BROKEN"))
    );
    for failed in [&bad, &early] {
        let told = server.get(&diff(failed)).await.expect(200);
        assert_eq!(
            (&told["left"]["id"], &told["right"]["id"]),
            (&failed["id"], &good["id"])
        );
        assert_eq!(told["same_path"], false);
        assert_eq!(told["first_divergence"]["index"], 2);
    }
    server.get(&diff(&good)).await.refuses(400, "INVALID_QUERY");
    let with = format!("{}?with={}", diff(&good), id(&good));
    assert_eq!(server.get(&with).await.expect(200)["same_path"], true);
    server
        .get(&format!("{}?with=nonsense", diff(&good)))
        .await
        .refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_signals_ends_at_so_many_bytes() {
    let limits = pawl::api::Limits {
        page_bytes: 10_000,
        ..Default::default()
    };
    let server = Server::with(limits).await;
    server.save(waiting("orders")).await;
    let run = server.run(json!({"schema": "orders"})).await;
    server.until(id(&run), "waiting").await;
    let signals = format!("/api/executions/{}/signals", id(&run));
    for n in 0..5 {
        let payload = json!([n, "x".repeat(6_000)]);
        let other = format!("{signals}/other-{n}");
        server.post(&other, payload).await.expect(202);
    }
    let (mut sizes, mut names, mut cursor) = (Vec::new(), Vec::new(), String::new());
    loop {
        let page = server.get(&format!("{signals}?limit=3{cursor}")).await;
        let page = page.expect(200);
        let items = page["items"].as_array().unwrap().clone();
        sizes.push(items.len());
        names.extend(items.iter().map(|item| item["name"].clone()));
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(sizes, [2, 2, 1]);
    assert_eq!(names, [0, 1, 2, 3, 4].map(|n| json!(format!("other-{n}"))));
    server.close().await;
}

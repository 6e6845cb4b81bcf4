//! Filters, counts, errors and statistics of many executions.

use serde_json::{Value, json};

use crate::server::{Server, fragile, id, linear, waiting};

/// Why the condition of `fragile` fails where its variable is not set.
const MISSING: &str = "`variables.ok` is not defined: `variables` has no `ok`";

/// Two that failed (one of them retried), three that completed, one that waits.
async fn lived_in() -> (Server, Vec<Value>) {
    let server = Server::start().await;
    for schema in [linear("orders"), fragile("checks"), waiting("waits")] {
        server.save(schema).await;
    }
    let mut runs = Vec::new();
    for (schema, labels) in [
        ("checks", json!({"team": "red"})),
        ("checks", json!({"team": "blue", "n": 7})),
        ("orders", json!({"team": "red"})),
        ("orders", json!({})),
        ("orders", json!({})),
    ] {
        let body = json!({"schema": schema, "labels": labels});
        runs.push(server.run_to_end(body).await);
    }
    let open = server.run(json!({"schema": "waits"})).await;
    runs.push(server.until(id(&open), "waiting").await);
    let retry = format!("/api/executions/{}/retry?wait=30s", id(&runs[0]));
    let body = json!({"variables": {"ok": true}});
    runs.push(server.post(&retry, body).await.expect(201));
    (server, runs)
}

async fn found(server: &Server, filter: &str) -> Vec<String> {
    let list = server.get(&format!("/api/executions?{filter}")).await;
    let list = list.expect(200);
    let items = list["items"].as_array().unwrap();
    items.iter().map(|one| id(one).to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_counts_and_bulk_take_the_same_filters() {
    let (server, runs) = lived_in().await;
    let run = |at: usize| id(&runs[at]).to_owned();
    let begun = runs[0]["created_at"].as_str().unwrap();
    for (filter, expected) in [
        ("label=team:red&schema=orders".to_owned(), vec![2]),
        ("label=team:blue".into(), vec![1]),
        ("label=n:7".into(), vec![1]),
        ("error_code=UNDEFINED_PATH&unresolved=true".into(), vec![1]),
        ("error_code=OTHER".into(), vec![]),
        ("node=wait_1".into(), vec![5]),
        (format!("retry_of={}", run(0)), vec![6]),
        (format!("forked_from={}", run(0)), vec![]),
        (format!("ids={},{}", run(1), run(5)), vec![5, 1]),
        ("created_by=nobody".into(), vec![]),
        ("version=2".into(), vec![]),
        ("longer_than=1h".into(), vec![]),
        (
            format!("finished_since={begun}&schema=checks&status=failed&version=1"),
            vec![1, 0],
        ),
    ] {
        let expected: Vec<String> = expected.into_iter().map(run).collect();
        assert_eq!(found(&server, &filter).await, expected, "{filter}");
        let counts = server
            .get(&format!("/api/executions/counts?{filter}"))
            .await;
        let counts = counts.expect(200);
        assert_eq!(counts["total"], expected.len(), "{filter}: {counts}");
    }
    let filter =
        json!({"label": "team:red", "version": 1, "ids": [run(2), run(1)], "longer_than": "0s"});
    let body = json!({"action": "stop", "filter": filter});
    let dry = server.post("/api/executions/bulk", body).await.expect(200);
    assert_eq!(
        (&dry["matched"], &dry["applicable"]),
        (&json!(1), &json!(0))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_says_nothing_is_refused() {
    let server = Server::start().await;
    for filter in [
        "label=team",
        "version=0",
        "retry_of=x",
        "forked_from=",
        "ids=a,b",
        "finished_since=5",
        "longer_than=soon",
    ] {
        for path in ["/api/executions", "/api/executions/counts"] {
            let answer = server.get(&format!("{path}?{filter}")).await;
            answer.refuses(400, "INVALID_QUERY");
        }
    }
    for filter in [
        json!({"label": "team"}),
        json!({"version": 0}),
        json!({"ids": []}),
        json!({"ids": [1]}),
        json!({"retry_of": "x"}),
        json!({"node": 5}),
    ] {
        let body = json!({"action": "stop", "filter": filter});
        let answer = server.post("/api/executions/bulk", body).await;
        answer.refuses(422, "INVALID_REQUEST");
    }
    for path in [
        "/api/executions/counts?group=colour",
        "/api/stats?step=1ms",
        "/api/stats?since=2026-01-01T00:00:00Z&until=2026-02-01T00:00:00Z&step=1m",
        "/api/stats?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z",
        "/api/executions/errors?limit=0",
    ] {
        server.get(path).await.refuses(400, "INVALID_QUERY");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_told_by_status_node_and_schema() {
    let (server, _) = lived_in().await;
    let told = async |query: &str| {
        let counts = server.get(&format!("/api/executions/counts{query}")).await;
        let counts = counts.expect(200);
        assert_eq!(
            (&counts["capped"], &counts["capped_at"]),
            (&json!(false), &json!(10_000))
        );
        let groups = counts["groups"].as_array().unwrap().iter();
        let groups = groups.map(|group| {
            let name = group.get("schema").unwrap_or(&group["key"]);
            format!("{} {}", name.as_str().unwrap(), group["count"])
        });
        groups.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(told("").await, "completed 4, failed 2, waiting 1");
    assert_eq!(
        told("?group=schema&status=failed,waiting").await,
        "checks 2, waits 1"
    );
    assert_eq!(told("?group=node&status=waiting").await, "wait_1 1");
    assert_eq!(told("?schema=checks").await, "completed 1, failed 2");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_grouped_with_their_newest_run() {
    let (server, runs) = lived_in().await;
    let errors = server.get("/api/executions/errors").await.expect(200);
    let groups = errors["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 1, "{errors}");
    let expected = json!({
        "code": "UNDEFINED_PATH", "schema_id": runs[0]["schema_id"], "schema": "checks", "node": "check_1", "count": 2,
        "unresolved": 1, "last": runs[1]["id"], "last_at": runs[1]["created_at"], "last_message": MISSING,
    });
    assert_eq!(groups[0], expected);
    assert_eq!(
        (&errors["total"], &errors["capped"]),
        (&json!(2), &json!(false))
    );
    for query in [
        "schema=orders",
        "error_code=OTHER",
        "since=2100-01-01T00:00:00Z",
    ] {
        let none = server.get(&format!("/api/executions/errors?{query}")).await;
        assert_eq!(none.expect(200)["groups"], json!([]), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_count_every_run_once() {
    let (server, _) = lived_in().await;
    let sum = |stats: &Value, field: &str| -> u64 {
        let buckets = stats["buckets"].as_array().unwrap().iter();
        buckets.map(|bucket| bucket[field].as_u64().unwrap()).sum()
    };
    let stats = server.get("/api/stats").await.expect(200);
    assert_eq!(stats["step_ms"], 60_000);
    assert_eq!(stats["buckets"].as_array().unwrap().len(), 60);
    let told = [
        "started",
        "open",
        "completed",
        "failed",
        "stopped",
        "failed_stuck",
    ];
    assert_eq!(told.map(|field| sum(&stats, field)), [7, 1, 4, 2, 0, 0]);
    assert_eq!(
        (&stats["sampled"], &stats["looked_at"]),
        (&json!(1.0), &json!(7))
    );
    let last = stats["buckets"].as_array().unwrap().iter();
    let busy: Vec<&Value> = last.filter(|bucket| bucket["started"] != 0).collect();
    assert!(
        busy.iter()
            .any(|bucket| bucket["p95_ms"].as_f64() > Some(0.0)),
        "{busy:?}"
    );
    assert!(busy.iter().all(|bucket| bucket["estimated"] == false));
    let one = server
        .get("/api/stats?schema=checks&step=10m")
        .await
        .expect(200);
    assert_eq!((sum(&one, "started"), sum(&one, "failed")), (3, 2));
    assert_eq!(one["buckets"].as_array().unwrap().len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_says_its_sentence_as_data() {
    let (server, runs) = lived_in().await;
    let explained = async |at: usize| {
        let path = format!("/api/executions/{}/explain", id(&runs[at]));
        server.get(&path).await.expect(200)
    };
    let waiting = explained(5).await;
    assert_eq!(waiting["reason"], "waiting_for_event");
    let params = &waiting["params"];
    assert_eq!(
        (&params["event"], &params["node"]),
        (&json!("go"), &json!("wait_1"))
    );
    assert!(params["in_ms"].as_u64() > Some(3_000_000), "{params}");
    let failed = explained(1).await;
    let expected = json!({
        "status": "failed", "at": runs[1]["finished_at"], "error_code": "UNDEFINED_PATH", "error_message": MISSING,
        "can_retry": true,
    });
    assert_eq!(failed["params"], expected);
    assert_eq!(explained(0).await["params"]["retried_as"], runs[6]["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_schemas_can_say_what_goes_on() {
    let (server, runs) = lived_in().await;
    let mut triggered = linear("triggered");
    triggered["triggers"] = json!([
        {"type": "cron", "name": "nightly", "cron": "0 3 * * *"},
        {"type": "webhook", "name": "hook", "method": "POST", "path": "orders/:id"},
    ]);
    server.save(triggered).await;
    let plain = server.get("/api/schemas").await.expect(200);
    assert!(plain["items"][0].get("summary").is_none());
    let list = server.get("/api/schemas?include=summary").await.expect(200);
    let summary = |name: &str| {
        let items = list["items"].as_array().unwrap().iter();
        let found: Vec<&Value> = items.filter(|one| one["name"] == name).collect();
        found[0]["summary"].clone()
    };
    let checks = summary("checks");
    let last = checks["last"].as_array().unwrap().iter();
    let last: Vec<(&Value, &Value)> = last.map(|one| (&one["id"], &one["status"])).collect();
    let expected = [6, 1, 0].map(|at| (&runs[at]["id"], &runs[at]["status"]));
    assert_eq!(last, expected);
    assert_eq!(
        (&checks["open"], &summary("waits")["open"]),
        (&json!(0), &json!(1))
    );
    let triggered = summary("triggered");
    let kinds: Vec<String> = (triggered["triggers"].as_array().unwrap().iter())
        .map(|one| {
            format!(
                "{} {}: {}",
                one["kind"].as_str().unwrap(),
                one["name"].as_str().unwrap(),
                one["text"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "webhook hook: POST /webhook/orders/:id",
            "cron nightly: 0 3 * * *"
        ]
    );
    assert!(
        triggered["next_at"]
            .as_str()
            .is_some_and(|at| at.contains("T03:00:00")),
        "{triggered}"
    );
    assert_eq!(triggered["last"], json!([]));
    let wrong = server.get("/api/schemas?include=all").await;
    wrong.refuses(400, "INVALID_QUERY");
}

/// The text of an error is read as far as a list reads it.
#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_errors_tells_the_beginning_of_its_message() {
    let server = Server::start().await;
    let mut schema = linear("loud");
    schema["nodes"][2] = json!({"id": "log_1", "type": "fail", "config": {
        "code": "LOUD", "message": "{{input.text}}", "details": {"body": "{{input.details}}"},
    }});
    schema["nodes"].as_array_mut().unwrap().pop();
    schema["edges"].as_array_mut().unwrap().pop();
    server.save(schema).await;
    let input = json!({"text": "ж".repeat(300), "details": "x".repeat(100_000)});
    server
        .run_to_end(json!({"schema": "loud", "input": input}))
        .await;
    let errors = server.get("/api/executions/errors").await.expect(200);
    assert_eq!(errors["groups"][0]["last_message"], "ж".repeat(200));
    // A value of the wrong type is quoted, but not at any length.
    let input = json!({"text": {"long": "x".repeat(100_000)}, "details": ""});
    let ended = server
        .run_to_end(json!({"schema": "loud", "input": input}))
        .await;
    let message = ended["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("the config of `log_1` does not fit") && message.len() < 1_500);
    server.close().await;
}

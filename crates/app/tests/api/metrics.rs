//! What `/metrics` says after things have happened, and that nobody can make it say too much.

use std::collections::BTreeSet;

use pawl::api::metrics;
use pawl_testkit::exposition::Exposition;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::client::{self, Request};
use crate::operations::ROUTES;
use crate::server::{Server, fragile, id, linear, waiting};

async fn scrape(server: &Server) -> Exposition {
    let answer = server.get("/metrics").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(
        answer.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    Exposition::parse(&answer.text()).unwrap_or_else(|problem| panic!("{problem}"))
}

/// Waits until so many executions have ended: who asks for one may see its end before the worker has counted it.
async fn after(server: &Server, ended: f64) -> Exposition {
    loop {
        let page = scrape(server).await;
        let all = &page.families["pawl_executions_ended_total"].samples;
        let count: f64 = all.iter().map(|sample| sample.value).sum();
        if count >= ended {
            return page;
        }
        tokio::task::yield_now().await;
    }
}

/// start → call a port where nobody listens, three times → end.
async fn unlucky(name: &str) -> Value {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    json!({
        "name": name,
        "nodes": [
            {"id": "start_1", "type": "start"},
            {"id": "call_1", "type": "http_request", "config": {"url": format!("http://{nobody}/")},
             "retry": {"max_attempts": 3, "delay": "10ms", "jitter": false}},
            {"id": "end_1", "type": "end"},
        ],
        "edges": [
            {"source": "start_1", "target": "call_1"},
            {"source": "call_1", "target": "end_1"},
        ],
    })
}

fn sleepy(name: &str) -> Value {
    json!({
        "name": name,
        "nodes": [
            {"id": "start_1", "type": "start"},
            {"id": "sleep_1", "type": "sleep", "config": {"duration": "30ms"}},
            {"id": "end_1", "type": "end"},
        ],
        "edges": [
            {"source": "start_1", "target": "sleep_1"},
            {"source": "sleep_1", "target": "end_1"},
        ],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_number_is_exact() {
    let server = Server::start().await;
    for schema in [
        linear("linear"),
        fragile("fragile"),
        unlucky("unlucky").await,
        sleepy("sleepy"),
        waiting("waiting"),
    ] {
        server.save(schema).await;
    }
    for name in ["linear", "linear", "linear", "unlucky", "sleepy"] {
        server.run_to_end(json!({"schema": name})).await;
    }
    for _ in 0..2 {
        let body = json!({"schema": "fragile", "variables": {"ok": false}});
        server.run_to_end(body).await;
    }
    let run = server.run(json!({"schema": "waiting"})).await;
    server.until(id(&run), "waiting").await;
    let stop = format!("/api/executions/{}/stop", id(&run));
    server.command(&stop).await.expect(200);
    let page = after(&server, 8.0).await;
    check_executions(&page);
    check_nodes(&page);
    check_commits_and_messages(&page);
    check_requests(&page);
    server.close().await;
}

fn check_executions(page: &Exposition) {
    assert_eq!(page.value("pawl_executions_started_total", &[]), 8.0);
    for (status, count) in [
        ("completed", 4.0),
        ("failed", 3.0),
        ("stopped", 1.0),
        ("failed_stuck", 0.0),
    ] {
        let label = [("status", status)];
        let ended = page.value("pawl_executions_ended_total", &label);
        let timed = page.value("pawl_execution_duration_seconds_count", &label);
        assert_eq!((ended, timed), (count, count), "{status}");
    }
    let lived = page.value(
        "pawl_execution_duration_seconds_sum",
        &[("status", "completed")],
    );
    assert!((0.03..60.0).contains(&lived), "{lived}");
    // linear 3 × 4, sleepy 3, unlucky 1, fragile 2 × 2, waiting 1; failed: call_1 and fail_1 twice.
    let steps = |status| page.value("pawl_steps_total", &[("status", status)]);
    assert_eq!(
        [steps("success"), steps("failed"), steps("skipped")],
        [21.0, 3.0, 0.0]
    );
}

fn check_nodes(page: &Exposition) {
    let tries = |kind| page.value("pawl_node_duration_seconds_count", &[("node_type", kind)]);
    // A sleep is tried once more when it wakes.
    assert_eq!(tries("start"), 8.0);
    assert_eq!(tries("variable_set"), 3.0);
    assert_eq!(tries("http_request"), 3.0);
    assert_eq!(tries("sleep"), 2.0);
    assert_eq!(tries("wait_event"), 1.0);
    assert_eq!(tries("fail"), 2.0);
    assert_eq!(tries("end"), 4.0);
    let retries = |kind| page.value("pawl_node_retries_total", &[("node_type", kind)]);
    assert_eq!((retries("http_request"), retries("fail")), (2.0, 0.0));
    let errors = &page.families["pawl_node_errors_total"].samples;
    let errors: Vec<(&str, &str, f64)> = errors
        .iter()
        .map(|sample| {
            let label = |name: &str| sample.labels[name].as_str();
            (label("node_type"), label("code"), sample.value)
        })
        .collect();
    let expected = [
        ("fail", "BROKEN", 2.0),
        ("http_request", "CONNECTION_FAILED", 3.0),
    ];
    assert_eq!(errors, expected);
}

fn check_commits_and_messages(page: &Exposition) {
    // linear and fragile 1 each, unlucky 1 before and after each of three tries, sleepy 2, waiting 1.
    assert_eq!(page.value("pawl_commit_duration_seconds_count", &[]), 12.0);
    assert_eq!(page.value("pawl_commit_steps_count", &[]), 12.0);
    assert_eq!(page.value("pawl_commit_steps_sum", &[]), 24.0);
    // Executions are born with their lease; only the one that slept came by message.
    assert_eq!(page.value("pawl_messages_published_total", &[]), 1.0);
    assert_eq!(page.value("pawl_messages_received_total", &[]), 1.0);
    assert_eq!(page.value("pawl_message_age_seconds_count", &[]), 1.0);
    assert_eq!(page.value("pawl_timers_fired_total", &[]), 1.0);
    assert_eq!(page.value("pawl_timer_lateness_seconds_count", &[]), 1.0);
    for class in ["high", "normal", "low"] {
        let label = [("class", class)];
        assert_eq!(page.value("pawl_queue_depth", &label), 0.0);
    }
    let jobs = page.value("pawl_store_batch_jobs_sum", &[]);
    let batches = page.value("pawl_store_batch_jobs_count", &[]);
    assert!(batches > 0.0 && jobs >= batches, "{jobs} in {batches}");
    assert_eq!(page.value("pawl_workers", &[]), 1.0);
    assert!(page.value("pawl_worker_slots", &[]) > 0.0);
    assert_eq!(page.value("pawl_broker_up", &[]), 1.0);
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    assert_eq!(page.value("pawl_build_info", &version), 1.0);
    assert!(page.value("pawl_process_resident_memory_bytes", &[]) > 1e6);
    assert!(page.value("pawl_process_open_fds", &[]) > 3.0);
    assert!(page.value("pawl_process_start_time_seconds", &[]) > 1.6e9);
}

fn check_requests(page: &Exposition) {
    let count = |method, route, status| {
        let labels = [("method", method), ("route", route), ("status", status)];
        page.value("pawl_http_requests_total", &labels)
    };
    assert_eq!(count("POST", "/api/schemas", "2xx"), 5.0);
    assert_eq!(count("POST", "/api/executions", "2xx"), 8.0);
    assert_eq!(count("POST", "/api/executions/{id}/stop", "2xx"), 1.0);
    let labels = [("method", "POST"), ("route", "/api/executions")];
    let name = "pawl_http_request_duration_seconds_count";
    assert_eq!(page.value(name, &labels), 8.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_that_people_make_up_are_no_labels() {
    let server = Server::start().await;
    for number in 0..50 {
        for path in [
            format!("/nothing/{number}"),
            format!("/api/executions/{number}%22%0A"),
            format!("/api/schemas/no-such-{number}"),
        ] {
            assert_eq!(server.get(&path).await.status, 404, "{path}");
        }
    }
    server.send(Request::new("BREW", "/api/schemas")).await;
    let foreign = Request::new("GET", "/").header("Host", "evil.example");
    assert_eq!(server.send(foreign).await.status, 403);
    let page = scrape(&server).await;
    let known: BTreeSet<&str> = ROUTES
        .iter()
        .map(|(route, _)| route.split_once(' ').unwrap().1)
        .chain(["unmatched"])
        .collect();
    let shown = page.label_values("pawl_http_requests_total", "route");
    assert!(shown.is_subset(&known), "{shown:?}");
    let refused = |method, route| {
        let labels = [("method", method), ("route", route), ("status", "4xx")];
        page.value("pawl_http_requests_total", &labels)
    };
    assert_eq!(refused("GET", "/api/executions/{id}"), 50.0);
    assert_eq!(refused("GET", "/api/schemas/{id}"), 50.0);
    assert_eq!(refused("other", "unmatched"), 52.0);
    let methods = page.label_values("pawl_http_requests_total", "method");
    assert_eq!(methods, ["GET", "other"].into());
    server.close().await;
}

/// One execution that fails ten thousand times, each time with another code.
#[tokio::test(flavor = "multi_thread")]
async fn codes_that_people_make_up_are_bounded() {
    let server = Server::start().await;
    let schema = json!({
        "name": "inventive",
        "settings": {"max_steps": 50_000, "max_nodes_per_message": 5_000},
        "nodes": [
            {"id": "start_1", "type": "start"},
            {"id": "fail_1", "type": "fail", "config": {"code": "CODE_{{variables.n}}"}},
            {"id": "next_1", "type": "variable_set", "config": {"variable": "n", "value": "{{variables.n + 1}}"}},
            {"id": "more_1", "type": "condition", "config": {"expression": "{{variables.n}} < 10000"}},
            {"id": "end_1", "type": "end"},
        ],
        "edges": [
            {"source": "start_1", "target": "fail_1"},
            {"source": "fail_1", "target": "next_1", "sourceHandle": "error"},
            {"source": "next_1", "target": "more_1"},
            {"source": "more_1", "target": "fail_1", "sourceHandle": "true"},
            {"source": "more_1", "target": "end_1", "sourceHandle": "false"},
        ],
    });
    server.save(schema).await;
    let body = json!({"schema": "inventive", "variables": {"n": 0}});
    let run = server.run_to_end(body).await;
    assert_eq!(run["status"], "completed", "{run}");
    let page = after(&server, 1.0).await;
    let codes = page.label_values("pawl_node_errors_total", "code");
    assert_eq!(codes.len(), 201);
    let of = |code| {
        let labels = [("node_type", "fail"), ("code", code)];
        page.value("pawl_node_errors_total", &labels)
    };
    assert_eq!(
        (of("CODE_0"), of("CODE_199"), of("other")),
        (1.0, 1.0, 9_800.0)
    );
    let broken = json!({
        "name": "broken",
        "nodes": [{"id": "start_1", "type": "start"}, {"id": "x", "type": "a\"b\n} 1"}],
        "edges": [{"source": "start_1", "target": "x"}],
    });
    server.post("/api/schemas", broken).await.expect(422);
    scrape(&server).await;
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_viewers_see_the_numbers_and_everybody_the_health() {
    let server = Server::locked().await;
    let (viewer, _) = server.key("prometheus", "viewer").await;
    let ask = |path: &str| Request::new("GET", path);
    let nobody = server.send_as("", ask("/metrics")).await;
    nobody.refuses(401, "UNAUTHORIZED");
    let page = server.send_as(&viewer, ask("/metrics")).await;
    assert!(Exposition::parse(&page.text()).is_ok());
    for path in ["/health/live", "/health/ready"] {
        let answer = server.send_as("", ask(path)).await;
        assert_eq!(answer.expect(200), json!({"status": "ok"}));
    }
    server.close().await;
}

/// What a worker without an API answers.
#[tokio::test(flavor = "multi_thread")]
async fn the_small_server_has_three_pages() {
    let server = Server::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let runtime = server.runtime().clone();
    let small = tokio::spawn(metrics::serve(listener, runtime, stop.clone()));
    let get = async |path: &str| client::send(address, Request::new("GET", path)).await;
    let page = get("/metrics").await;
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let page = Exposition::parse(&page.text()).unwrap();
    assert_eq!(page.value("pawl_workers", &[]), 1.0);
    for path in ["/health/live", "/health/ready"] {
        assert_eq!(get(path).await.expect(200), json!({"status": "ok"}));
    }
    get("/api/executions").await.refuses(404, "NOT_FOUND");
    let post = client::send(address, Request::new("POST", "/metrics")).await;
    assert_eq!(post.status, 405);
    stop.cancel();
    small.await.unwrap().unwrap();
    server.close().await;
}

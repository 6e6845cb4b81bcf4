//! Expressions that want the whole machine: they end, and meanwhile the server answers.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::client::{self, Request};
use crate::server::Server;

fn hook(name: &str, output: &str) -> Value {
    json!({
        "name": name,
        "triggers": [{"type": "webhook", "path": name, "respond": "last_node"}],
        "nodes": [
            {"id": "s", "type": "start"},
            {"id": "v", "type": "transform", "config": {"output": output}},
        ],
        "edges": [{"source": "s", "target": "v"}],
    })
}

/// Of a, b and c, in an order that leads an automaton into ever new states.
fn random_letters(count: usize) -> String {
    let mut state = 1_u64;
    let letter = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ["a", "b", "c"][(state >> 33) as usize % 3]
    };
    (0..count).map(letter).collect()
}

/// The median time of ten asks for `/health/live`.
async fn health(server: &Server) -> Duration {
    let times = asked_ten_times(server).await;
    times[times.len() / 2]
}

/// The times of ten asks for `/health/live`, one after the other; the longest comes last.
async fn asked_ten_times(server: &Server) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..10 {
        let began = Instant::now();
        server.get("/health/live").await.expect(200);
        times.push(began.elapsed());
    }
    times.sort();
    times
}

/// As on a machine of two cores: one thread serves everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn health_is_answered_under_expressions_that_want_it_all() {
    let server = Server::start().await;
    let everyday = "{{len(regex_replace(webhook.payload.t, '<[^>]*>|&', ' '))}}";
    let states = "{{matches(webhook.payload.t, '([ab][a-c]{60}){6}[^a-c]')}}";
    let steps = "{{reduce(range(15000), 0, (sum, x) => sum + x)}}";
    let texts = ["<&".repeat(200_000), random_letters(360_000), String::new()];
    for (name, output) in [
        ("striptags", everyday),
        ("states", states),
        ("steps", steps),
    ] {
        server.save(hook(name, output)).await;
    }
    let address = server.address;
    let calls = (0..64).map(|number| {
        let kind = number % 3;
        let path = ["/webhook/striptags", "/webhook/states", "/webhook/steps"][kind];
        let request = Request::new("POST", path).json(&json!({"t": texts[kind]}));
        async move { client::send(address, request).await.status }
    });
    let (ended, time) = tokio::join!(join_all(calls), health(&server));
    assert!(time < Duration::from_secs(1), "{time:?}");
    for (number, status) in ended.into_iter().enumerate() {
        assert_eq!(status == 200, number % 3 == 2, "{number}: {status}");
    }
    let failed = server.get("/api/executions?status=failed&limit=1").await;
    let error = failed.expect(200)["items"][0]["error"].clone();
    assert_eq!(error["code"], "LIMIT_EXCEEDED", "{error}");
    server.close().await;
}

/// start → 64 nodes, each of which is just short enough for the thread that serves everything: a pattern is compiled.
fn chain(name: &str) -> Value {
    let output = r"{{matches('', '^\\w{20}')}}";
    let node = |number| json!({"id": format!("v{number}"), "type": "transform", "config": {"output": output}});
    let edge =
        |number| json!({"source": format!("v{number}"), "target": format!("v{}", number + 1)});
    let mut schema = hook(name, output);
    let start = json!({"id": "v0", "type": "start"});
    schema["nodes"] = std::iter::once(start).chain((1..=64).map(node)).collect();
    schema["edges"] = (0..64).map(edge).collect();
    schema
}

/// None of the asks waits for a pass to end, let alone for all of them. Both times grow alike on a busy machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn health_is_answered_under_chains_of_short_expressions() {
    let server = Server::start().await;
    server.save(chain("chain")).await;
    let address = server.address;
    let calls = (0..16).map(|_| {
        let request = Request::new("POST", "/webhook/chain").json(&json!({}));
        async move { client::send(address, request).await.status }
    });
    let calls = async {
        let began = Instant::now();
        (join_all(calls).await, began.elapsed())
    };
    let ((ended, all), asks) = tokio::join!(calls, asked_ten_times(&server));
    let longest = asks[asks.len() - 1];
    assert!(longest * 3 < all, "{longest:?} of {all:?}");
    assert!(ended.iter().all(|status| *status == 200), "{ended:?}");
    server.close().await;
}

/// What is evaluated before there is an execution: for whom it is, and beside which others it may run.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn health_is_answered_under_admissions_that_want_it_all() {
    let server = Server::start().await;
    let everyday = "{{len(regex_replace(webhook.payload.t, '<[^>]*>|&', ' '))}}";
    let states = "{{matches(webhook.payload.t, '([ab][a-c]{60}){6}[^a-c]')}}";
    let steps = "t{{reduce(range(15000), 0, (sum, x) => sum + x)}}";
    let names = ["tenant", "key", "long"];
    let settings = [
        json!({"tenant": everyday}),
        json!({"concurrency": {"limit": 100, "key": states}}),
        json!({"tenant": steps}),
    ];
    let texts = ["<&".repeat(200_000), random_letters(360_000), String::new()];
    for (name, settings) in names.iter().zip(settings) {
        let mut schema = hook(name, "{{1 + 1}}");
        schema["settings"] = settings;
        server.save(schema).await;
    }
    let address = server.address;
    let calls = (0..64).map(|number| {
        let (name, text) = (names[number % 3], &texts[number % 3]);
        let request = Request::new("POST", &format!("/webhook/{name}")).json(&json!({"t": text}));
        async move { client::send(address, request).await }
    });
    let (ended, time) = tokio::join!(join_all(calls), health(&server));
    assert!(time < Duration::from_secs(1), "{time:?}");
    for (number, answer) in ended.iter().enumerate() {
        if number % 3 == 2 {
            assert_eq!(answer.expect(200), 2, "{number}");
            continue;
        }
        let refused = answer.refuses(422, "EXPRESSION_ERROR");
        let setting = ["settings.tenant: ", "settings.concurrency.key: "][number % 3];
        let message = refused["message"].as_str().unwrap();
        assert!(message.starts_with(setting), "{number}: {message}");
    }
    for name in &names[..2] {
        let none = server.get(&format!("/api/executions?schema={name}")).await;
        assert_eq!(none.expect(200)["items"], json!([]), "nothing was started");
    }
    let long = server.get("/api/executions?schema=long&limit=1").await;
    assert_eq!(long.expect(200)["items"][0]["tenant"], "t112492500");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_evaluation_has_a_deadline() {
    let server = Server::with_options(|options| options.expression_time = Duration::ZERO).await;
    server.save(hook("short", "{{1 + 1}}")).await;
    let long = "{{reduce(range(15000), 0, (sum, x) => sum + x)}}";
    server.save(hook("long", long)).await;
    let short = server.run_to_end(json!({"schema": "short"})).await;
    assert_eq!(short["output"], 2);
    let long = server.run_to_end(json!({"schema": "long"})).await;
    assert_eq!(long["error"]["code"], "LIMIT_EXCEEDED", "{long}");
    let error = long["error"].to_string();
    assert!(
        error.contains("raise `expression_time` in [limits]"),
        "{error}"
    );
    server.close().await;
}

/// Each text between the statements is short; all of them together are not.
#[tokio::test(flavor = "multi_thread")]
async fn the_texts_of_many_items_share_a_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    std::fs::write(&file, "").unwrap();
    let settings = format!(
        "[connections.shop]\nurl = \"sqlite:{}\"\n[limits]\nexpression_time = \"10ms\"",
        file.display()
    );
    let server = Server::with_bound_secrets(&[], &settings).await;
    let statement = json!({"id": "all", "for_each": "{{range(input.items)}}", "sql": "SELECT $1 AS found",
                           "params": ["{{matches(input.t, 'x+y')}}"]});
    let config = json!({"connection": "shop", "readonly": true, "statements": [statement]});
    let mut schema = hook("items", "");
    schema["nodes"][1] = json!({"id": "v", "type": "sql", "config": config});
    server.save(schema).await;
    let run = async |items: u32| {
        let input = json!({"items": items, "t": "z".repeat(48_000)});
        let body = json!({"schema": "items", "input": input});
        server.run_to_end(body).await
    };
    let one = run(1).await;
    assert_eq!(one["status"], "completed", "{one}");
    let many = run(500).await;
    assert_eq!(many["error"]["code"], "LIMIT_EXCEEDED", "{many}");
    let message = many["error"]["message"].as_str().unwrap();
    assert!(message.contains("`expression_time`"), "{message}");
    server.close().await;
}

/// What others ask of the machine must not end an execution that only waits for its turn.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_a_turn_takes_nothing_of_the_nodes_time() {
    let patient = |options: &mut pawl_engine::Options| {
        options.expression_time = Duration::from_secs(60);
    };
    let server = Server::with_options(patient).await;
    let long = "{{reduce(range(15000), 0, (sum, x) => sum + x)}}";
    let mut schema = hook("queue", long);
    schema["settings"] = json!({"node_timeout": "1ms"});
    server.save(schema).await;
    let runs = (0..64).map(|_| server.run_to_end(json!({"schema": "queue"})));
    for run in join_all(runs).await {
        assert_eq!(run["output"], 112_492_500, "{run}");
    }
    server.close().await;
}

//! The one stream of a page.

use std::time::{Duration, Instant};

use pawl_kernel::ports::letters::NewLetter;
use serde_json::{Value, json};

use crate::client::{Events, Request};
use crate::contract;
use crate::server::{Server, id, linear, waiting};

async fn open(server: &Server, topics: &str) -> Events {
    let path = format!("/api/events?topics={topics}");
    let mut events = Events::open(server.address, Request::new("GET", &path)).await;
    assert_eq!((events.status, &*events.kind), (200, "text/event-stream"));
    let (name, hello) = events.next_named().await.unwrap();
    check("HelloEvent", &hello);
    assert_eq!(name, "hello");
    events
}

fn check(schema: &str, data: &Value) {
    let schema = json!({"$ref": format!("#/components/schemas/{schema}")});
    assert_eq!(contract::problems(&schema, data), Vec::<String>::new());
}

async fn next(events: &mut Events, expected: &str, schema: &str) -> Value {
    let (name, data) = events.next_named().await.expect("the stream ended");
    assert_eq!(name, expected, "{data}");
    check(schema, &data);
    data
}

async fn next_run(events: &mut Events) -> Value {
    next(events, "run", "RunEvent").await
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_executions_are_told_once_a_second() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    server.run_to_end(json!({"schema": "orders"})).await;
    let mut events = open(&server, "executions").await;
    let begun = Instant::now();
    let mut told = Vec::new();
    let mut made = Vec::new();
    for _ in 0..20 {
        let run = server.run_to_end(json!({"schema": "orders"})).await;
        made.push(run["id"].clone());
    }
    let mut messages = 0_u32;
    while !made.iter().all(|id| told.contains(id)) {
        let runs = next(&mut events, "runs", "RunsEvent").await;
        assert_eq!(runs["more"], false);
        told.extend(runs["ids"].as_array().unwrap().iter().cloned());
        messages += 1;
    }
    let most = begun.elapsed().as_secs() as u32 + 1;
    assert!(messages <= most, "{messages} in {most} s");
    assert!(
        told.iter().all(|id| made.contains(id)),
        "what was before is not told"
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_told_as_in_a_stream_of_its_own() {
    let server = Server::start().await;
    server.save(waiting("orders")).await;
    let run = server.run(json!({"schema": "orders"})).await;
    let mut events = open(&server, &format!("run:{}", id(&run))).await;
    let mut seqs = Vec::new();
    let seen = loop {
        let told = next_run(&mut events).await;
        assert_eq!(told["id"], run["id"]);
        match told["kind"].as_str().unwrap() {
            "step" => seqs.push(told["step"]["seq"].clone()),
            "status" if told["execution"]["status"] == "waiting" => break told["version"].clone(),
            "status" => {}
            other => panic!("{other}: {told}"),
        }
    };
    assert_eq!(seqs, [1]);
    let path = format!("/api/executions/{}/signals/go", id(&run));
    let payload = json!({"big": "x".repeat(100)});
    server.post(&path, payload.clone()).await.expect(202);
    let mut last = Value::Null;
    while last["kind"] != "end" {
        last = next_run(&mut events).await;
        if last["kind"] == "step" {
            seqs.push(last["step"]["seq"].clone());
        }
    }
    assert_eq!(seqs, [1, 2, 3]);
    assert_eq!(last["execution"]["output"]["payload"], payload);

    // A client that opens the stream again hears what came after, here without payloads.
    let topics = format!("run:{}@{seen}&brief=true", id(&run));
    let mut again = open(&server, &topics).await;
    let mut kinds = Vec::new();
    while kinds.last() != Some(&json!("end")) {
        let told = next_run(&mut again).await;
        assert_eq!(
            (&told["step"]["output"], &told["execution"]["output"]),
            (&Value::Null, &Value::Null)
        );
        kinds.push(told["kind"].clone());
    }
    assert_eq!(kinds, ["step", "step", "end"]);
    // One that knew the end hears it once more, and nothing else.
    let topics = format!("run:{}@{}", id(&run), last["version"]);
    assert_eq!(
        next_run(&mut open(&server, &topics).await).await["kind"],
        "end"
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_not_there_is_gone_and_the_others_go_on() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server.run_to_end(json!({"schema": "orders"})).await;
    let unknown = "01a1e0f5-1856-7d0e-88d2-6567e1663034";
    let mut events = open(&server, &format!("run:{unknown},run:{}", id(&run))).await;
    let gone = next_run(&mut events).await;
    assert_eq!(gone, json!({"id": unknown, "version": 0, "kind": "gone"}));
    while next_run(&mut events).await["kind"] != "end" {}
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_and_schemas_are_told_within_seconds() {
    let server = Server::start().await;
    let mut events = open(&server, "letters,schemas").await;
    // The first look: the page may have been read before the last change.
    next(&mut events, "letters", "ChangeEvent").await;
    next(&mut events, "schemas", "ChangeEvent").await;
    let mut late = open(&server, "schemas").await;
    next(&mut late, "schemas", "ChangeEvent").await;
    server.save(linear("orders")).await;
    next(&mut events, "schemas", "ChangeEvent").await;
    let letter = NewLetter {
        execution_id: None,
        reason: "lost".into(),
        message: None,
        now: server.runtime().clock.now(),
    };
    server.store().add_letter(letter).await.unwrap();
    next(&mut events, "letters", "ChangeEvent").await;
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_gives_signs_of_life_and_ends_with_the_server() {
    let limits = pawl::api::Limits {
        reread: Duration::from_millis(100),
        ..pawl::api::Limits::default()
    };
    let server = Server::with(limits).await;
    let mut events = open(&server, "executions").await;
    assert!(events.comment().await.contains("still here"));
    assert!(events.comment().await.contains("still here"));
    server.close().await;
    assert_eq!(events.next_named().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_that_are_none_are_refused() {
    let server = Server::start().await;
    for query in [
        "",
        "?topics=all",
        "?topics=executions,",
        "?topics=run:x",
        "?topics=executions&brief=maybe",
    ] {
        let path = format!("/api/events{query}");
        server.get(&path).await.refuses(400, "INVALID_QUERY");
    }
    server.close().await;
}

/// A run with a long history to tell holds up neither the others nor the rest of the stream.
#[tokio::test(flavor = "multi_thread")]
async fn runs_take_turns() {
    let server = Server::start().await;
    server.save(crate::runs::looping("loop")).await;
    server.save(waiting("orders")).await;
    let long = server
        .run_to_end(json!({"schema": "loop", "input": {"n": 900}}))
        .await;
    let short = server.run(json!({"schema": "orders"})).await;
    server.until(id(&short), "waiting").await;
    let topics = format!("schemas,run:{},run:{}", id(&long), id(&short));
    let mut events = open(&server, &topics).await;
    let (mut steps, mut heard, mut changes) = (0, None, None);
    loop {
        let (name, data) = events.next_named().await.unwrap();
        if name == "schemas" {
            changes.get_or_insert(steps);
        } else if data["id"] == short["id"] {
            heard.get_or_insert(steps);
        } else if data["kind"] == "end" {
            break;
        } else {
            steps += 1;
        }
    }
    assert!(steps > 900, "{steps}");
    assert!(heard.is_some_and(|after| after <= 200), "{heard:?}");
    assert!(changes.is_some_and(|after| after < steps), "{changes:?}");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_lines_are_told_where_they_are_wanted() {
    let server = Server::start().await;
    let mut schema = waiting("orders");
    let log = |id: &str, text: &str| json!({"id": id, "type": "log", "config": {"message": text}});
    let nodes = schema["nodes"].as_array_mut().unwrap();
    nodes.extend([log("before", "it begins"), log("after", "it goes on")]);
    schema["edges"] = json!([
        {"source": "start_1", "target": "before"},
        {"source": "before", "target": "wait_1"},
        {"source": "wait_1", "target": "after"},
        {"source": "after", "target": "end_1"},
    ]);
    server.save(schema).await;
    let run = server.run(json!({"schema": "orders"})).await;
    let known = server.until(id(&run), "waiting").await;
    let topics = format!("run:{}@{}", id(&run), known["event_version"]);
    let mut events = open(&server, &format!("{topics}&logs=true")).await;
    let mut plain = open(&server, &topics).await;
    let own = format!("/api/executions/{}/events?logs=true", id(&run));
    let mut own = Events::open(server.address, Request::new("GET", &own)).await;
    let path = format!("/api/executions/{}/signals/go", id(&run));
    server.post(&path, json!({})).await.expect(202);
    let told = async |events: &mut Events| {
        let mut lines = Vec::new();
        loop {
            let (name, data) = events.next_named().await.unwrap();
            match &*name {
                "log" => lines.push(data),
                "end" => return lines,
                _ if data["kind"] == "end" => return lines,
                _ => {}
            }
        }
    };
    let lines = told(&mut events).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    check("LogEvent", &lines[0]);
    assert_eq!(lines[0]["id"], run["id"]);
    assert_eq!(lines[0]["line"]["message"], "it goes on");
    assert_eq!(told(&mut own).await, [lines[0]["line"].clone()]);
    assert_eq!(told(&mut plain).await, [Value::Null; 0]);
    server.close().await;
}

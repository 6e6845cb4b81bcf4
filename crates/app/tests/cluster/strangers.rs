//! Other programs that start executions by message, and what becomes of starts that failed.

use lapin::BasicProperties;
use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::ExecutionId;
use serde_json::{Value, json};
use xtask::services::fresh_database;

use crate::broker::{Broker, Stranger, WORK};
use crate::flows::chain;
use crate::operating::{metrics_of, page, sample};
use crate::process::Server;
use crate::site::{Site, blocking, eventually};

pub(crate) const ACCEPTING: &str = "[broker]\naccept_external = true\n";

fn start(key: &str, schema: &str) -> Vec<u8> {
    let body = json!({"execution_id": key, "schema_id": schema, "action": "start", "context": {"name": "Ada"}});
    body.to_string().into_bytes()
}

pub(crate) fn greeting() -> Value {
    let greet = json!({"id": "greet", "type": "variable_set",
        "config": {"variable": "text", "value": "hello {{variables.name}}"}});
    let mut flow = chain("greet", vec![greet]);
    flow["nodes"][2]["config"] = json!({"output": {"text": "{{variables.text}}"}});
    flow
}

pub(crate) async fn letters(server: &Server, count: usize) -> Vec<Value> {
    eventually("the letters are kept", async || {
        let page = server.get("/api/dead-letters").await.body;
        let items = page["items"].as_array()?.clone();
        (items.len() == count).then_some(items)
    })
    .await
}

async fn requeue(server: &Server, letter: &Value) -> crate::wire::Answer {
    let path = format!("/api/dead-letters/{}/requeue", letter["id"]);
    server.post(&path, &json!({})).await
}

/// One names itself like an execution of ours would.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_became_a_dead_letter_can_be_requeued() {
    let site = Site::with("requeued_starts", ACCEPTING).await;
    let (_worker, server) = (site.worker().await, site.server().await);
    let stranger = Stranger::connect(&site.broker).await;
    let keys = ["order-8", "0190b2c4-0000-7000-8000-000000000001"];
    for key in keys {
        stranger.publish(WORK, &start(key, "greet")).await;
    }
    let buried = letters(&server, 2).await;
    let too_early = requeue(&server, &buried[0]).await;
    assert_eq!(too_early.status, 409, "{}", too_early.body);
    let why = too_early.body["message"].as_str().unwrap();
    assert!(why.contains("no schema `greet`"), "{why}");
    site.save(&greeting()).await;
    let mut ids: Vec<ExecutionId> = Vec::new();
    for letter in &buried {
        let first = requeue(&server, letter).await;
        assert_eq!(
            (first.status, &first.body["action"]),
            (201, &json!("start"))
        );
        let id = first.body["execution"]["id"].as_str().unwrap();
        assert_eq!(first.body["letter"]["requeued_as"], id);
        let again = requeue(&server, letter).await;
        assert_eq!(
            (again.status, &again.body["execution"]["id"]),
            (200, &json!(id))
        );
        ids.push(id.parse().unwrap());
    }
    site.completed(&ids).await;
    for id in &ids {
        let output = site.view(*id).await.execution.record.output;
        assert_eq!(output.as_deref(), Some(r#"{"text":"hello Ada"}"#));
    }
    // The same message by the queue is the same start.
    stranger.publish(WORK, &start(keys[0], "greet")).await;
    site.drained(0).await;
    assert_eq!(site.number("SELECT count(*) FROM executions").await, 2);
    // Even when the first is gone and its key is free: it was started once.
    for table in ["execution_steps", "execution_state"] {
        site.rows(&format!("DELETE FROM {table}")).await;
    }
    site.rows("DELETE FROM executions").await;
    assert_eq!(requeue(&server, &buried[0]).await.status, 409);
    assert_eq!(site.number("SELECT count(*) FROM executions").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_starts_are_not_accepted_their_letters_stay() {
    let site = Site::fresh("refused_starts").await;
    site.save(&greeting()).await;
    let (_worker, server) = (site.worker().await, site.server().await);
    let stranger = Stranger::connect(&site.broker).await;
    let key = "0190b2c4-0000-7000-8000-000000000001";
    stranger.publish(WORK, &start(key, "greet")).await;
    let letter = &letters(&server, 1).await[0];
    let refused = requeue(&server, letter).await;
    let why = refused.body["message"].as_str().unwrap();
    assert_eq!(refused.status, 409);
    assert!(why.contains("broker.accept_external"), "{why}");
    assert_eq!(site.number("SELECT count(*) FROM executions").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_schema_decides_on_the_priority_unless_the_queue_does() {
    let site = Site::with("start_priority", ACCEPTING).await;
    let mut flow = greeting();
    flow["settings"] = json!({"priority": "low"});
    site.save(&flow).await;
    let _worker = site.worker().await;
    let stranger = Stranger::connect(&site.broker).await;
    for (queue, wanted) in [
        ("", PriorityClass::Low),
        (".high", PriorityClass::High),
        (".low", PriorityClass::Low),
    ] {
        let key = format!("order{queue}");
        let queue = format!("{WORK}{queue}");
        stranger.publish(&queue, &start(&key, "greet")).await;
        let sql = format!("SELECT id FROM executions WHERE idempotency_key = 'amqp:{key}'");
        let id: ExecutionId = eventually("it is started", async || {
            let rows = site.rows(&sql).await;
            rows.first().map(|row| row[0].parse().unwrap())
        })
        .await;
        assert_eq!(
            site.view(id).await.execution.head.priority,
            wanted,
            "{queue}"
        );
    }
}

/// The message that a program written for the first design sends, by the letter, about an execution that is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_number_for_the_schema_is_a_hint_like_any_other() {
    let site = Site::with("number_hint", ACCEPTING).await;
    let schema = site.save(&greeting_without_name()).await;
    let id = site.start(&schema).await;
    let stranger = Stranger::connect(&site.broker).await;
    let body = json!({"execution_id": id.to_string(), "schema_id": 123, "current_node_id": "start", "debug_mode": false});
    stranger.publish(WORK, body.to_string().as_bytes()).await;
    let (_worker, server) = (site.worker().await, site.server().await);
    site.completed(&[id]).await;
    site.drained(0).await;
    // Letters are kept in the order they came in: one about the first would be there before this one.
    stranger.publish(WORK, b"garbage").await;
    let reason = letters(&server, 1).await[0]["reason"].to_string();
    assert!(reason.contains("no message"), "{reason}");
    let all = site.rows("SELECT reason FROM dead_letters").await;
    assert_eq!(all.len(), 1, "{all:?}");
}

/// A start by message is a start by the API, but for its form.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_by_message_takes_what_the_api_takes() {
    let site = Site::with("whole_start", ACCEPTING).await;
    let mut flow = greeting();
    flow["external_id"] = json!(123);
    site.save(&flow).await;
    let (_worker, server) = (site.worker().await, site.server().await);
    let stranger = Stranger::connect(&site.broker).await;
    stranger.declare("answers").await;
    let body = json!({
        "execution_id": "order-1", "schema_id": 123, "action": "start", "context": {"name": "Ada"},
        "input": {"n": 1}, "version": 1, "debug_mode": true, "priority": "high", "tenant": "acme",
        "labels": {"team": "blue"}, "start_at": "2020-01-01T00:00:00Z",
    });
    let body = body.to_string().into_bytes();
    let (answer, correlation) = stranger.ask(WORK, &body, ("answers", "call-1")).await;
    assert_eq!(correlation.as_deref(), Some("call-1"));
    assert_eq!(
        (&answer["key"], &answer["created"]),
        (&json!("order-1"), &json!(true))
    );
    assert!(answer["status"].is_string(), "{answer}");
    let id = answer["execution_id"].as_str().unwrap();
    let run = server.get(&format!("/api/executions/{id}")).await.body;
    for (field, expected) in [
        ("idempotency_key", json!("amqp:order-1")),
        ("correlation_id", json!("call-1")),
        ("created_by", json!("amqp")),
        ("debug_mode", json!(true)),
        ("priority", json!("high")),
        ("tenant", json!("acme")),
        ("labels", json!({"team": "blue"})),
        ("version", json!(1)),
    ] {
        assert_eq!(run[field], expected, "{field}");
    }
    // The same again is the same execution, and says so.
    let (again, _) = stranger.ask(WORK, &body, ("answers", "call-2")).await;
    assert_eq!(
        (&again["execution_id"], &again["created"]),
        (&json!(id), &json!(false))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_that_is_refused_is_answered_and_buried() {
    let site = Site::with("refused_answers", ACCEPTING).await;
    let (_worker, server) = (site.worker().await, site.server().await);
    let stranger = Stranger::connect(&site.broker).await;
    stranger.declare("answers").await;
    let unknown = json!({"execution_id": "k", "schema_id": 404, "action": "start"}).to_string();
    let nul =
        json!({"execution_id": "a\u{0}b", "schema_id": "greet", "action": "start"}).to_string();
    let huge = vec![b' '; (1 << 20) + 1];
    let cases: [(&[u8], &str, &str); 4] = [
        (unknown.as_bytes(), "NOT_FOUND", "`external_id` 404"),
        (nul.as_bytes(), "INVALID_REQUEST", "control characters"),
        (b"garbage", "INVALID_REQUEST", "no message"),
        (&huge, "INVALID_REQUEST", "1048577 bytes"),
    ];
    for (count, (body, code, text)) in cases.into_iter().enumerate() {
        let (answer, _) = stranger.ask(WORK, body, ("answers", "c")).await;
        assert_eq!(answer["error"], code, "{answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(text), "{message}");
        let buried = letters(&server, count + 1).await;
        let reason = buried[count]["reason"].as_str().unwrap();
        assert!(reason.contains(text), "{reason}");
    }
    // The number is there now: the letter of the first starts it.
    let mut flow = greeting();
    flow["external_id"] = json!(404);
    flow["nodes"][1]["config"]["value"] = json!("hello");
    site.save(&flow).await;
    let first = &letters(&server, 4).await[0];
    let requeued = requeue(&server, first).await;
    assert_eq!(requeued.status, 201, "{}", requeued.body);
    assert_eq!(requeued.body["execution"]["idempotency_key"], "amqp:k");
}

/// The letter says what does not fit, and starts it when the schema takes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_whose_input_does_not_fit_is_answered_and_buried() {
    let site = Site::with("unfit_starts", ACCEPTING).await;
    let (_worker, server) = (site.worker().await, site.server().await);
    let stranger = Stranger::connect(&site.broker).await;
    stranger.declare("answers").await;
    let mut flow = greeting();
    flow["input"] = json!({"required": ["n"], "properties": {"n": {"type": "integer"}}});
    site.save(&flow).await;
    let message = |input: Value| {
        let body = json!({"execution_id": "k", "schema_id": "greet", "action": "start", "input": input,
            "context": {"name": "Ada"}});
        body.to_string().into_bytes()
    };
    let bad = message(json!({"n": "private-9"}));
    let (answer, _) = stranger.ask(WORK, &bad, ("answers", "c")).await;
    assert_eq!(answer["error"], "INVALID_INPUT", "{answer}");
    let letter = &letters(&server, 1).await[0];
    for text in [&answer["message"], &letter["reason"]] {
        let text = text.as_str().unwrap();
        assert!(
            text.contains("/n: it must be an integer, not a string"),
            "{text}"
        );
        assert!(!text.contains("private-9"), "{text}");
    }
    assert_eq!(site.number("SELECT count(*) FROM executions").await, 0);
    assert_eq!(requeue(&server, letter).await.status, 422);

    let good = message(json!({"n": 1}));
    let (answer, _) = stranger.ask(WORK, &good, ("answers", "d")).await;
    assert_eq!(answer["created"], true, "{answer}");
    // By now the schema wants more; what has begun has begun.
    flow["input"]["required"] = json!(["n", "m"]);
    let changed = server.send("PUT", "/api/schemas/greet", Some(&flow)).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    let (again, _) = stranger.ask(WORK, &good, ("answers", "e")).await;
    assert_eq!(
        (&again["execution_id"], &again["created"]),
        (&answer["execution_id"], &json!(false))
    );
}

/// As large as a body of the API: far more than a message of our own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_start_is_taken_and_survives_as_a_letter() {
    let site = Site::with("large_start", ACCEPTING).await;
    let (_worker, server) = (site.worker().await, site.server().await);
    let stranger = Stranger::connect(&site.broker).await;
    let body = json!({"execution_id": "large", "schema_id": "greet", "action": "start",
        "context": {"name": "x".repeat(900_000)}});
    stranger.publish(WORK, body.to_string().as_bytes()).await;
    let buried = letters(&server, 1).await;
    let reason = buried[0]["reason"].as_str().unwrap();
    assert!(reason.contains("no schema `greet`"), "{reason}");
    let mut flow = greeting_without_name();
    flow["nodes"][2]["config"] = json!({"output": "{{len(variables.name)}}"});
    site.save(&flow).await;
    let requeued = requeue(&server, &buried[0]).await;
    assert_eq!(requeued.status, 201, "{}", requeued.body);
    let id = requeued.body["execution"]["id"].as_str().unwrap();
    site.completed(&[id.parse().unwrap()]).await;
}

/// An answer that goes nowhere is counted, and neither holds up nor repeats anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_cannot_be_delivered_changes_nothing() {
    let site = Site::with("lost_answers", ACCEPTING).await;
    site.save(&greeting()).await;
    let launch = site.launch(&["worker", "--metrics-listen", "127.0.0.1:0"]);
    let (worker, banner) = launch.start().await;
    let stranger = Stranger::connect(&site.broker).await;
    // One has no queue, the others are Pawl's own.
    let lost = ["nobody-has-this", WORK, "schema_execution_dlq"];
    for reply_to in lost {
        let properties = BasicProperties::default().with_reply_to(reply_to.into());
        let body = start(&format!("order for {reply_to}"), "greet");
        stranger.publish_with(WORK, &body, properties).await;
        worker.says(&format!("reply_to=\"{reply_to}\"")).await;
    }
    site.drained(0).await;
    assert_eq!(site.number("SELECT count(*) FROM executions").await, 3);
    assert_eq!(site.number("SELECT count(*) FROM dead_letters").await, 0);
    let (_, metrics) = page(metrics_of(&banner), "/metrics").await;
    assert_eq!(sample(&metrics, "pawl_answers_lost_total"), 3.0);
}

/// Whatever a queue was declared with, it is used, and that is said once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_another_program_declared_first_is_used() {
    let broker = Broker::shared("declared_first").await;
    let stranger = Stranger::connect(&broker).await;
    stranger.declare_otherwise(WORK).await;
    let database = blocking(|| fresh_database("declared_first").unwrap()).await;
    let site = Site::on(database, broker).await;
    let schema = site.save(&greeting_without_name()).await;
    let (worker, server) = (site.worker().await, site.server().await);
    let id = site.start(&schema).await;
    site.completed(&[id]).await;
    stranger.publish(WORK, b"garbage").await;
    letters(&server, 1).await;
    site.broker.close_connections().await;
    let id = site.start(&schema).await;
    site.completed(&[id]).await;
    let told = |log: &str| log.matches("with other properties").count();
    assert_eq!(told(&worker.log()), 1, "{}", worker.log());
}

fn greeting_without_name() -> Value {
    let mut flow = greeting();
    flow["nodes"][1]["config"]["value"] = json!("hello");
    flow
}

/// Without a connection a node uses the broker of the cluster; what is Pawl's own there stays Pawl's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_publish_to_the_clusters_broker_but_not_to_pawls_queues() {
    let mut site = Site::with("own_broker", "[broker]\nprefix = \"blue.\"\n").await;
    let connection = format!("[connections.same]\nurl = \"{}\"\n", site.broker.url);
    site.settings += &connection;
    let (_worker, server) = (site.worker().await, site.server().await);
    let stranger = Stranger::connect(&site.broker).await;
    stranger.declare("mine").await;
    let publish = |name: &str, config: Value| {
        let node = json!({"id": "publish", "type": "rabbitmq_publish", "config": config});
        chain(name, vec![node])
    };
    let run = async |flow: Value| {
        let saved = server.post("/api/schemas", &flow).await;
        assert_eq!(saved.status, 201, "{}", saved.body);
        let body = json!({"schema": flow["name"]});
        server.post("/api/executions?wait=30s", &body).await.body
    };
    let seeds = json!({"exchange": "", "routing_key": "mine", "message": {"a": 1}});
    let done = run(publish("own", seeds)).await;
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(site.broker.depth("mine").await.ready, 1);
    let forbidden = [
        json!({"queue": "blue.schema_execution_queue", "message": 1}),
        json!({"queue": "blue.schema_execution_dlq", "message": 1}),
        json!({"exchange": "blue.schema_execution_dlx", "message": 1}),
        json!({"exchange": "blue.pawl.hints", "message": 1}),
        json!({"connection": "same", "queue": "blue.schema_execution_queue.high", "message": 1}),
    ];
    for (number, config) in forbidden.into_iter().enumerate() {
        let refused = run(publish(&format!("forbidden-{number}"), config.clone())).await;
        assert_eq!(
            refused["error"]["code"], "FORBIDDEN_ADDRESS",
            "{config} {refused}"
        );
    }
    assert_eq!(site.number("SELECT count(*) FROM dead_letters").await, 0);
}

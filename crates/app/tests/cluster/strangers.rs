//! Other programs that start executions by message, and what becomes of starts that failed.

use pawl_kernel::execution::PriorityClass;
use pawl_kernel::id::ExecutionId;
use serde_json::{Value, json};

use crate::broker::{Stranger, WORK};
use crate::flows::chain;
use crate::process::Server;
use crate::site::{Site, eventually};

const ACCEPTING: &str = "[broker]\naccept_external = true\n";

fn start(key: &str, schema: &str) -> Vec<u8> {
    let body = json!({"execution_id": key, "schema_id": schema, "action": "start", "context": {"name": "Ada"}});
    body.to_string().into_bytes()
}

fn greeting() -> Value {
    let greet = json!({"id": "greet", "type": "variable_set",
        "config": {"variable": "text", "value": "hello {{variables.name}}"}});
    let mut flow = chain("greet", vec![greet]);
    flow["nodes"][2]["config"] = json!({"output": {"text": "{{variables.text}}"}});
    flow
}

async fn letters(server: &Server, count: usize) -> Vec<Value> {
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
        let output = site.view(*id).await.execution.output;
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
        assert_eq!(site.view(id).await.execution.priority, wanted, "{queue}");
    }
}

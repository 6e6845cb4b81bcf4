//! Dead letters: listed, shown, requeued.

use std::time::Duration;

use pawl_kernel::execution::Lease;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::letters::NewLetter;
use pawl_kernel::schema::definition::OnStuck;
use pawl_kernel::time::Clock;
use pawl_testkit::fixture;
use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, fragile, id, linear, waiting};

async fn letter(server: &Server, execution: Option<&str>, message: Option<&str>) -> u64 {
    let letter = NewLetter {
        execution_id: execution.map(|id| id.parse().unwrap()),
        reason: "delivered too often".into(),
        message: message.map(str::to_owned),
        now: fixture::at(0),
    };
    server.store().add_letter(letter).await.unwrap()
}

async fn requeue(server: &Server, letter: u64) -> crate::client::Answer {
    let path = format!("/api/dead-letters/{letter}/requeue");
    server.command(&path).await
}

/// An execution whose worker has vanished, and that therefore ended as `failed_stuck`.
async fn stuck(server: &Server, schema: &str) -> ExecutionId {
    let saved = server
        .get(&format!("/api/schemas/{schema}"))
        .await
        .expect(200);
    let now = pawl::system::SystemClock.now();
    let mut new = fixture::new_execution(1);
    new.execution.head.schema_id = saved["id"].as_str().unwrap().parse().unwrap();
    new.state.deadline_at = now.plus(Duration::from_secs(3_600));
    new.state.lease = Some(Lease {
        owner: "a worker that is gone".into(),
        token: fixture::uuid(1),
        until: now.minus(Duration::from_secs(60)),
    });
    let id = new.execution.head.id;
    let store = server.store();
    store.create(new).await.unwrap();
    // The engine's own reaper may be faster; for it the schema says the same.
    store.reap(id, OnStuck::Fail, now).await.unwrap();
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_execution_goes_on_as_a_new_one() {
    let server = Server::start().await;
    let mut schema = linear("orders");
    schema["settings"] = json!({"on_stuck": "fail"});
    server.save(schema).await;
    let old = stuck(&server, "orders").await.to_string();
    let list = server.get("/api/dead-letters?open=true").await.expect(200);
    let found = &list["items"][0];
    assert_eq!(found["execution_id"], old);
    assert_eq!(
        (&found["requeued_at"], &found["message_bytes"]),
        (&Value::Null, &Value::Null)
    );
    let number = found["id"].as_u64().unwrap();

    let first = requeue(&server, number).await;
    let told = first.expect(201);
    let new = id(&told["execution"]).to_owned();
    assert_eq!(
        (&told["action"], &told["execution"]["retry_of"]),
        (&json!("retry"), &json!(old))
    );
    assert_eq!(
        first.header("location"),
        Some(format!("/api/executions/{new}").as_str())
    );
    assert_eq!(told["letter"]["requeued_as"], new);
    let ended = server
        .get(&format!("/api/executions/{new}?wait=30s"))
        .await
        .expect(200);
    assert_eq!(ended["status"], "completed", "{ended}");

    let again = requeue(&server, number).await.expect(200);
    assert_eq!(
        id(&again["execution"]),
        new,
        "the same retry, however often it is asked for"
    );
    assert_eq!(again["letter"], told["letter"]);
    let twin = letter(&server, Some(&old), None).await;
    assert_eq!(
        id(&requeue(&server, twin).await.expect(200)["execution"]),
        new
    );
    let retries = server
        .get(&format!("/api/executions?text=requeue:{old}"))
        .await
        .expect(200);
    assert_eq!(retries["items"].as_array().unwrap().len(), 1);
    let open = server.get("/api/dead-letters?open=true").await.expect(200);
    assert_eq!(open["items"], json!([]));
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_requeued_depends_on_the_execution() {
    let server = Server::start().await;
    for schema in [linear("linear"), waiting("waiting"), fragile("fragile")] {
        server.save(schema).await;
    }
    let open = server.run(json!({"schema": "waiting"})).await;
    server.until(id(&open), "waiting").await;
    let number = letter(&server, Some(id(&open)), None).await;
    for _ in 0..2 {
        let told = requeue(&server, number).await.expect(200);
        assert_eq!(
            (&told["action"], &told["execution"]["status"]),
            (&json!("look"), &json!("waiting"))
        );
        assert_eq!(id(&told["execution"]), id(&open));
    }

    let done = server.run_to_end(json!({"schema": "linear"})).await;
    let number = letter(&server, Some(id(&done)), None).await;
    assert_eq!(requeue(&server, number).await.expect(200)["action"], "none");

    let failed = server
        .run_to_end(json!({"schema": "fragile", "variables": {"ok": false}}))
        .await;
    let number = letter(&server, Some(id(&failed)), None).await;
    assert_eq!(
        requeue(&server, number).await.expect(201)["action"],
        "retry"
    );

    server
        .command(&format!("/api/executions/{}/stop", id(&open)))
        .await
        .expect(200);
    server.until(id(&open), "stopped").await;
    let number = letter(&server, Some(id(&open)), None).await;
    let refusal = requeue(&server, number).await.refuses(409, "CONFLICT");
    assert!(
        refusal["message"].as_str().unwrap().contains("stopped"),
        "{refusal}"
    );

    let gone = fixture::execution_id(404).to_string();
    let number = letter(&server, Some(&gone), None).await;
    let refusal = requeue(&server, number).await.refuses(409, "CONFLICT");
    assert!(
        refusal["message"].as_str().unwrap().contains("gone"),
        "{refusal}"
    );
    let list = server.get("/api/dead-letters?open=true").await.expect(200);
    assert_eq!(
        list["items"].as_array().unwrap().len(),
        2,
        "what was refused stays open"
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requeued_execution_runs_as_its_caller() {
    let server = Server::locked().await;
    let mut flow = fragile("fragile");
    flow["nodes"][2]["config"]["message"] = json!("{{user.id}} {{execution.started_by}}");
    server.save(flow).await;
    let start = json!({"schema": "fragile", "variables": {"ok": false}});
    let failed = server.run_to_end(start).await;
    let number = letter(&server, Some(id(&failed)), None).await;
    let (key, key_id) = server.key("ops", "operator").await;
    let request = Request::new("POST", &format!("/api/dead-letters/{number}/requeue"));
    let told = server.send_as(&key, request).await.expect(201);
    let path = format!("/api/executions/{}?wait=30s", id(&told["execution"]));
    let made = server.get(&path).await.expect(200);
    assert_eq!(made["retry_of"], failed["id"]);
    assert_eq!(made["created_by"], "key:ops");
    assert_eq!(made["error"]["message"], format!("{key_id} key:ops"));
    assert_ne!(made["error"]["message"], failed["error"]["message"]);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_are_one() {
    let server = Server::start().await;
    server.save(fragile("fragile")).await;
    let start = json!({"schema": "fragile", "variables": {"ok": false}});
    let failed = server.run_to_end(start).await;
    let number = letter(&server, Some(id(&failed)), None).await;
    let all = futures_util::future::join_all((0..8).map(|_| requeue(&server, number))).await;
    let made = all.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(made, 1);
    let first = all[0].json()["execution"]["id"].clone();
    for answer in &all {
        let told = answer.json();
        assert_eq!(told["execution"]["id"], first, "{told}");
        assert_eq!(told["letter"]["requeued_as"], first, "{told}");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_cannot_be_read_are_shown_and_stay() {
    let server = Server::start().await;
    let start = json!({"execution_id": "7", "action": "start", "schema_id": "x"}).to_string();
    for (message, wanted) in [
        ("", "cannot be read"),
        ("{\"execution_id\": 7", "cannot be read"),
        ("null", "cannot be read"),
        ("\0\u{1b}[2J<script>\u{202e}", "cannot be read"),
        ("{\"action\": \"dance\"}", "cannot be read"),
        (&"[".repeat(100_000), "cannot be read"),
        (&start, "start from another program"),
    ] {
        let number = letter(&server, None, Some(message)).await;
        let shown = server
            .get(&format!("/api/dead-letters/{number}"))
            .await
            .expect(200);
        assert_eq!(
            (&shown["message"], &shown["execution_id"]),
            (&json!(message), &Value::Null)
        );
        assert_eq!(shown["message_bytes"], message.len());
        let refusal = requeue(&server, number).await.refuses(409, "CONFLICT");
        let sentence = refusal["message"].as_str().unwrap();
        assert!(
            sentence.contains(wanted) && sentence.contains("POST /api/executions"),
            "{sentence}"
        );
    }
    let list = server.get("/api/dead-letters?open=true").await;
    assert!(list.body.len() < 10_000, "lists carry no messages");
    assert_eq!(list.expect(200)["items"].as_array().unwrap().len(), 7);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_oldest_first_page_by_page() {
    let server = Server::start().await;
    for _ in 0..5 {
        letter(&server, None, None).await;
    }
    let page = server.get("/api/dead-letters?limit=3").await.expect(200);
    let next = page["next"].as_str().unwrap();
    let rest = server
        .get(&format!("/api/dead-letters?limit=3&cursor={next}"))
        .await
        .expect(200);
    let ids: Vec<u64> = [&page, &rest]
        .iter()
        .flat_map(|page| page["items"].as_array().unwrap())
        .map(|item| item["id"].as_u64().unwrap())
        .collect();
    assert!(ids.len() == 5 && ids.is_sorted(), "{ids:?}");
    assert_eq!(rest["next"], Value::Null);
    for query in ["open=perhaps", "limit=0", "after=3", "open=true&open=true"] {
        server
            .get(&format!("/api/dead-letters?{query}"))
            .await
            .refuses(400, "INVALID_QUERY");
    }
    for bad in [
        "0",
        "x",
        "-1",
        "+1",
        "1e3",
        "%00",
        "99999999999999999999",
        "9999",
    ] {
        server
            .get(&format!("/api/dead-letters/{bad}"))
            .await
            .refuses(404, "NOT_FOUND");
        server
            .command(&format!("/api/dead-letters/{bad}/requeue"))
            .await
            .refuses(404, "NOT_FOUND");
    }
    let slipped =
        Request::new("POST", "/api/dead-letters/1/requeue").json(&json!({"execution_id": "x"}));
    server.send(slipped).await.refuses(422, "INVALID_REQUEST");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_are_found_by_reason_in_either_order_and_counted() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server.run_to_end(json!({"schema": "orders"})).await;
    let (first, second) = (
        letter(&server, Some(id(&run)), None).await,
        letter(&server, None, Some("no JSON")).await,
    );
    let listed = async |query: &str| -> Vec<u64> {
        let list = server.get(&format!("/api/dead-letters?{query}")).await;
        let list = list.expect(200);
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["id"].as_u64().unwrap()).collect()
    };
    assert_eq!(listed("order=newest").await, [second, first]);
    assert_eq!(
        listed("order=oldest&reason=TOO%20often").await,
        [first, second]
    );
    assert_eq!(listed("reason=other").await, [0; 0]);
    let page = server
        .get("/api/dead-letters?order=newest&limit=1")
        .await
        .expect(200);
    let cursor = page["next"].as_str().unwrap();
    assert_eq!(
        listed(&format!("order=newest&cursor={cursor}")).await,
        [first]
    );
    let other = server
        .get(&format!("/api/dead-letters?cursor={cursor}"))
        .await;
    other.refuses(400, "INVALID_CURSOR");
    let wrong = server.get("/api/dead-letters?order=largest").await;
    wrong.refuses(400, "INVALID_QUERY");
    let count = server
        .get("/api/dead-letters/count?open=true&reason=often")
        .await;
    assert_eq!(
        count.expect(200),
        json!({"count": 2, "capped": false, "capped_at": 10_000})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn many_letters_go_on_at_once_after_they_were_counted() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server.run_to_end(json!({"schema": "orders"})).await;
    let (done, unreadable) = (
        letter(&server, Some(id(&run)), None).await,
        letter(&server, None, Some("no JSON")).await,
    );
    let bulk = async |body: Value| server.post("/api/dead-letters/bulk", body).await;
    let dry = bulk(json!({"filter": {"reason": "often"}, "action": "requeue"}))
        .await
        .expect(200);
    assert_eq!(
        (&dry["matched"], &dry["outcomes"]),
        (&json!(2), &Value::Null)
    );
    let real = json!({"filter": {"open": true, "ids": [done, unreadable]}, "action": "requeue", "dry_run": false});
    let real = bulk(real).await.expect(200);
    let outcomes =
        json!({"looked": 0, "retried": 0, "started": 0, "nothing": 1, "refused": 1, "failed": 0});
    assert_eq!(real["outcomes"], outcomes);
    assert_eq!((&real["matched"], &real["next"]), (&json!(2), &Value::Null));
    assert_eq!(
        (&real["refused"][0]["id"], &real["refused"][0]["error"]),
        (&json!(unreadable), &json!("CONFLICT"))
    );
    let left = server.get("/api/dead-letters?open=true").await.expect(200);
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    for body in [
        json!({"action": "requeue"}),
        json!({"filter": {}, "action": "burn"}),
        json!({"filter": {}}),
        json!({"filter": {"open": false}, "action": "requeue"}),
        json!({"filter": {"ids": []}, "action": "requeue"}),
        json!({"filter": {"reason": null}, "action": "requeue"}),
    ] {
        bulk(body).await.refuses(422, "INVALID_REQUEST");
    }
}

//! Two installations on the same services, and messages of other programs.

use pawl_kernel::id::ExecutionId;
use serde_json::{Value, json};

use crate::broker::{Stranger, WORK};
use crate::flows::{calls, chain};
use crate::site::{Site, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_installations_share_a_database_and_a_vhost() {
    let settings =
        |name: &str| format!("[database]\nschema = \"{name}\"\n[broker]\nprefix = \"{name}.\"\n");
    let one = Site::with("sharing", &settings("one")).await;
    let two = one.beside(&settings("two")).await;
    // The same name, another content.
    let schema = one.save(&calls("work", one.world.url(), &["of-one"])).await;
    two.save(&calls("work", two.world.url(), &["of-two"])).await;
    let first = one.member("worker-of-one").join().await;
    let (mine, theirs) = (
        one.start_many(&schema, 10).await,
        two.start_many(&schema, 10).await,
    );
    one.completed(&mine).await;
    // Nobody works for the second yet.
    assert_eq!(
        two.number("SELECT count(*) FROM executions WHERE status = 7")
            .await,
        10
    );
    assert_eq!(two.world.all_calls().len(), 0);
    assert_eq!(two.number("SELECT count(*) FROM workers").await, 0);
    assert!(one.desk.control.view(theirs[0]).await.is_err());
    let second = two.member("worker-of-two").join().await;
    two.completed(&theirs).await;
    first.shutdown().await;
    let more = two.start_many(&schema, 5).await;
    two.completed(&more).await;
    for (site, count) in [(&one, 10), (&two, 15)] {
        assert_eq!(site.number("SELECT count(*) FROM executions").await, count);
        assert_eq!(site.world.all_calls().len() as u64, count);
        site.world.each_key_once();
        site.sound().await;
    }
    second.shutdown().await;
}

fn start(key: &str, schema: &str, context: &Value) -> Vec<u8> {
    let body =
        json!({"execution_id": key, "schema_id": schema, "action": "start", "context": context});
    body.to_string().into_bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_programs_start_and_resume_by_message() {
    let site = Site::with("external", "[broker]\naccept_external = true\n").await;
    let greet = json!({"id": "greet", "type": "variable_set",
        "config": {"variable": "text", "value": "hello {{variables.name}}"}});
    let mut flow = chain("greet", vec![greet]);
    flow["nodes"][2]["config"] =
        json!({"output": {"text": "{{variables.text}}", "n": "{{variables.n}}"}});
    site.save(&flow).await;
    let nap = json!({"id": "nap", "type": "sleep", "config": {"duration": "1h"}});
    let nap = site.save(&chain("nap", vec![nap])).await;
    let (worker, server) = (site.worker().await, site.server().await);
    let stranger = Stranger::connect(&site.broker).await;

    let context = json!({"name": "Ada", "n": 7});
    for _ in 0..4 {
        stranger
            .publish(WORK, &start("order-7", "greet", &context))
            .await;
    }
    let id: ExecutionId = eventually("it is started", async || {
        let ids = site.rows("SELECT id FROM executions").await;
        ids.first().map(|row| row[0].parse().unwrap())
    })
    .await;
    site.completed(&[id]).await;
    site.drained(0).await;
    // Also when it is over.
    let again = start("order-7", "greet", &context);
    stranger.publish(WORK, &again).await;
    site.drained(0).await;
    let view = site.view(id).await;
    assert_eq!(
        view.execution.record.output.as_deref(),
        Some(r#"{"text":"hello Ada","n":7}"#)
    );
    assert_eq!(site.number("SELECT count(*) FROM executions").await, 1);

    let (asleep, paused) = (site.start(&nap).await, site.start(&nap).await);
    for id in [asleep, paused] {
        eventually("it sleeps", async || {
            (site.view(id).await.execution.head.status.name() == "sleeping").then_some(())
        })
        .await;
    }
    site.desk.control.pause(paused).await.unwrap();
    let before = [
        site.fingerprint(asleep).await,
        site.fingerprint(paused).await,
    ];
    for id in [asleep, paused] {
        let resume = json!({"execution_id": id.to_string(), "action": "resume"}).to_string();
        stranger.publish(WORK, resume.as_bytes()).await;
    }
    site.drained(0).await;
    assert_eq!(
        [
            site.fingerprint(asleep).await,
            site.fingerprint(paused).await
        ],
        before
    );

    let letters: [(&[u8], &str); 4] = [
        (b"\xff\xfenonsense", "no message"),
        (b"{\"seq\": 1}", "execution_id"),
        (
            b"{\"execution_id\": \"x\", \"schema_id\": \"s\", \"action\": \"dance\"}",
            "dance",
        ),
        (
            &start("order-8", "no-such-schema", &context),
            "no-such-schema",
        ),
    ];
    for (body, _) in letters {
        stranger.publish(WORK, body).await;
    }
    let kept = eventually("all letters are kept", async || {
        let page = server.get("/api/dead-letters").await.body;
        (page["items"].as_array()?.len() == 4).then_some(page)
    })
    .await;
    for (_, word) in letters {
        let reasons: Vec<&str> = kept["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|letter| letter["reason"].as_str().unwrap())
            .collect();
        assert!(
            reasons.iter().any(|reason| reason.contains(word)),
            "{word}: {reasons:?}"
        );
    }
    drop(worker);
}

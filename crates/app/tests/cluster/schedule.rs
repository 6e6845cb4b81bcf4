//! Scheduled actions and cron triggers over PostgreSQL and RabbitMQ: written at a server, fired by a worker.

use std::time::Duration;

use serde_json::{Value, json};

use crate::broker::{Stranger, WORK};
use crate::flows::calls;
use crate::process::Server;
use crate::site::{Site, eventually};

fn path(id: &str) -> String {
    format!("/api/scheduled-actions/{id}")
}

impl Site {
    fn soon(&self) -> String {
        self.now().plus(Duration::from_millis(300)).to_string()
    }
}

async fn put(server: &Server, id: &str, start_at: &str, action: Value) -> Value {
    let spec = json!({"start_at": start_at, "policy": {"once": {}}, "action": action});
    let body = json!({"spec": spec});
    let answer = server.send("PUT", &path(id), Some(&body)).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body
}

/// Waits until it is over, and says how.
async fn over(server: &Server, id: &str) -> Value {
    eventually(&format!("{id} is over"), async || {
        let action = server.get(&path(id)).await.body;
        action["finished_at"].is_string().then_some(action)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_writes_a_worker_fires() {
    let site = Site::fresh("schedule_fires").await;
    let (server, worker) = (site.server().await, site.worker().await);
    let url = format!("{}/hook", site.world.url());
    let start_at = site.soon();
    let made = put(
        &server,
        "hook",
        &start_at,
        json!({"http_callback": {"url": url}}),
    )
    .await;
    assert_eq!(made["meta"]["written_by"], "key:PAWL_ADMIN_KEY");
    let call = site.world.call("hook", 1).await;
    assert_eq!(call.key, format!("hook:{}:{start_at}", made["generation"]));
    let done = over(&server, "hook").await;
    assert_eq!(done["status"]["successful"], 1, "{done}");
    let started = done["status"]["last"]["started_at"].as_str().unwrap();
    assert!(started >= start_at.as_str(), "{done}");
    site.world.each_key_once();

    let stranger = Stranger::connect(&site.broker).await;
    stranger.declare("inbox").await;
    let publish =
        json!({"rabbitmq_publish": {"routing_key": "inbox", "message": {"hello": "world"}}});
    put(&server, "letter", &site.soon(), publish).await;
    let sent = over(&server, "letter").await;
    assert_eq!(sent["status"]["finished"], "done", "{sent}");
    assert_eq!(site.broker.depth("inbox").await.ready, 1);
    let forged = json!({"rabbitmq_publish": {"exchange": "", "routing_key": WORK, "message": {"action": "start"}}});
    put(&server, "forged", &site.soon(), forged).await;
    let refused = over(&server, "forged").await;
    let error = &refused["status"]["last"]["error"];
    assert_eq!(error["code"], "FORBIDDEN_ADDRESS", "{refused}");
    drop(worker);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn starts_come_late_or_by_the_clock() {
    let site = Site::fresh("schedule_starts").await;
    let (server, worker) = (site.server().await, site.worker().await);
    let mut flow = calls("ticking", site.world.url(), &["tick"]);
    flow["triggers"] = json!([{"type": "cron", "cron": "* * * * * *"}]);
    let saved = server.post("/api/schemas", &flow).await;
    assert_eq!(saved.status, 201, "{}", saved.body);
    site.world.call("tick", 2).await;
    let off = server
        .post("/api/schemas/ticking/deactivate", &json!({}))
        .await;
    assert_eq!(off.status, 200, "{}", off.body);
    let id = format!("cron:{}:0", saved.body["id"].as_str().unwrap());
    let paused = server.get(&path(&id)).await.body;
    assert!(paused["status"]["paused_at"].is_string(), "{paused}");

    let later = site
        .save(&calls("later", site.world.url(), &["late"]))
        .await;
    let start_at = site.soon();
    let body = json!({"schema": later, "start_at": start_at});
    let run = server.post("/api/executions", &body).await;
    assert_eq!((run.status, &run.body["status"]), (201, &json!("pending")));
    let ended = format!(
        "/api/executions/{}?wait=30s",
        run.body["id"].as_str().unwrap()
    );
    let ended = server.get(&ended).await.body;
    assert_eq!(ended["status"], "completed", "{ended}");
    assert!(
        ended["started_at"].as_str().unwrap() >= start_at.as_str(),
        "{ended}"
    );
    drop(worker);
}

/// The schema was saved by somebody who died before its trigger was in step; nobody restarts anything on purpose.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_finds_the_triggers_that_nobody_kept() {
    let site = Site::fresh("schedule_mends").await;
    let mut flow = calls("ticking", site.world.url(), &["tick"]);
    flow["triggers"] = json!([{"type": "cron", "cron": "* * * * * *"}]);
    site.save(&flow).await;
    let worker = site.worker().await;
    site.world.call("tick", 1).await;
    drop(worker);
}

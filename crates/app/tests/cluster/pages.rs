//! What pages of the UI rest on, on PostgreSQL and RabbitMQ: sessions, the stream of events, outlines, counts, drafts. The
//! same on SQLite: `api/session.rs`, `api/live.rs`, `api/runs.rs`, `api/overview.rs`, `api/editing.rs`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::flows::chain;
use crate::process::{KEY, Server};
use crate::site::{PATIENCE, Site, eventually};
use crate::wire::{self, header};

/// A request that is not read to its end at once.
struct Talk {
    stream: TcpStream,
    /// What has come so far.
    said: String,
}

impl Talk {
    async fn open(server: &Server, request: &str) -> Self {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        Self {
            stream,
            said: String::new(),
        }
    }

    async fn events(server: &Server, topics: &str, headers: &str) -> Self {
        let host = server.address;
        let path = format!("/api/events?topics={topics}");
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n");
        let mut talk = Self::open(server, &request).await;
        talk.hears("event: hello").await;
        talk
    }

    /// `false`: it is over.
    async fn reads(&mut self) -> bool {
        let mut chunk = vec![0; 64 << 10];
        let read = self.stream.read(&mut chunk).await.unwrap_or(0);
        self.said.push_str(&String::from_utf8_lossy(&chunk[..read]));
        read > 0
    }

    async fn hears(&mut self, text: &str) {
        let heard = async {
            while !self.said.contains(text) {
                assert!(self.reads().await, "it ended");
            }
        };
        let heard = tokio::time::timeout(PATIENCE, heard).await;
        heard.unwrap_or_else(|_| panic!("`{text}` was not told: {}", self.said));
    }

    /// With its last chunk; the connection may be kept for the next request.
    async fn ends(&mut self) {
        let ended = async { while !self.said.ends_with("\r\n0\r\n\r\n") && self.reads().await {} };
        tokio::time::timeout(PATIENCE, ended).await.unwrap();
    }
}

/// The cookie that this key gets.
async fn log_in(server: &Server, key: &str) -> String {
    let body = json!({"key": key}).to_string();
    let request = format!(
        "POST /api/session HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    let mut talk = Talk::open(server, &request).await;
    talk.ends().await;
    let set = header(&talk.said, "set-cookie").unwrap_or_else(|| panic!("{}", talk.said));
    set.split(';').next().unwrap().to_owned()
}

async fn asks(server: &Server, cookie: &str) -> u16 {
    let head = format!("cookie: {cookie}\r\n");
    let answer = wire::send_with(server.address, "GET", "/api/me", None, &head).await;
    answer.unwrap().status
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_holds_on_every_server_and_ends_everywhere_with_its_key() {
    let site = Site::fresh("sessions").await;
    let (one, other) = (site.server().await, site.server().await);
    let body = json!({"name": "ann", "role": "viewer"});
    let made = one.post("/api/keys", &body).await.body;
    let cookie = log_in(&one, made["key"].as_str().unwrap()).await;
    assert_eq!(
        (asks(&one, &cookie).await, asks(&other, &cookie).await),
        (200, 200)
    );
    let head = format!("cookie: {cookie}\r\n");
    let mut stream = Talk::events(&other, "executions", &head).await;
    let path = format!("/api/keys/{}", made["id"].as_str().unwrap());
    let revoked = one.send("DELETE", &path, None).await;
    assert!(revoked.status < 300, "{}", revoked.body);
    let since = Instant::now();
    assert_eq!(
        asks(&one, &cookie).await,
        401,
        "at once where it was revoked"
    );
    stream.ends().await;
    eventually("the other server has heard of it", async || {
        (asks(&other, &cookie).await == 401).then_some(())
    })
    .await;
    // Five seconds, and what a machine under load needs on top.
    assert!(
        since.elapsed() < Duration::from_secs(10),
        "{:?}",
        since.elapsed()
    );

    let cookie = log_in(&one, KEY).await;
    assert_eq!(asks(&other, &cookie).await, 200);
    let head = format!("cookie: {cookie}\r\nsec-fetch-site: same-origin\r\n");
    let closed = wire::send_with(one.address, "DELETE", "/api/session", None, &head).await;
    assert_eq!(closed.unwrap().status, 204);
    eventually("it is logged out everywhere", async || {
        (asks(&other, &cookie).await == 401).then_some(())
    })
    .await;
}

fn quick(name: &str) -> Value {
    chain(
        name,
        vec![json!({"id": "set", "type": "variable_set", "config": {"variable": "n", "value": 7}})],
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_worker_does_is_told_on_the_streams_of_every_server() {
    let site = Site::fresh("streams").await;
    let (one, other) = (site.server().await, site.server().await);
    let wait =
        json!({"id": "wait", "type": "wait_event", "config": {"name": "go", "timeout": "1h"}});
    site.save(&chain("orders", vec![wait])).await;
    let worker = site.worker().await;
    let run = one
        .post("/api/executions", &json!({"schema": "orders"}))
        .await
        .body;
    let id = run["id"].as_str().unwrap();
    eventually("it waits", async || {
        let run = one.get(&format!("/api/executions/{id}")).await.body;
        (run["status"] == "waiting").then_some(())
    })
    .await;
    let key = format!("authorization: Bearer {KEY}\r\n");
    let topics = format!("executions,schemas,run:{id}");
    let mut streams = Vec::new();
    for server in [&one, &other] {
        let mut stream = Talk::events(server, &topics, &key).await;
        stream.hears("event: schemas").await;
        stream.hears("\"status\":\"waiting\"").await;
        stream.said.clear();
        streams.push(stream);
    }
    let path = format!("/api/executions/{id}/signals/go");
    one.post(&path, &json!({})).await;
    for stream in &mut streams {
        stream.hears("\"kind\":\"end\"").await;
        stream.hears("event: runs").await;
        assert!(stream.said.contains(id), "{}", stream.said);
    }
    // Of schemas no hint tells; a server looks by itself.
    one.post("/api/schemas", &quick("new")).await;
    streams[1].hears("event: schemas").await;
    drop(worker);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drafts_outlines_and_counts() {
    let site = Site::fresh("drafts").await;
    let (server, _worker) = (site.server().await, site.worker().await);
    let saved = server.post("/api/schemas", &quick("orders")).await;
    assert_eq!(saved.status, 201, "{}", saved.body);
    let mut draft = quick("orders");
    draft["nodes"][1]["config"]["value"] = json!(8);
    let drafted = server
        .send("PUT", "/api/schemas/orders?publish=false", Some(&draft))
        .await;
    let versions = ["latest_version", "published_version"];
    assert_eq!(versions.map(|name| &drafted.body[name]), [2, 1]);
    let run = async |rest: Value| {
        let mut body = json!({"schema": "orders"});
        body.as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        server.post("/api/executions?wait=30s", &body).await.body
    };
    let (live, tried) = (run(json!({})).await, run(json!({"version": 2})).await);
    assert_eq!(
        (&live["version"], &tried["version"]),
        (&json!(1), &json!(2))
    );

    let path =
        |run: &Value, rest: &str| format!("/api/executions/{}{rest}", run["id"].as_str().unwrap());
    let outline = server.get(&path(&live, "/outline")).await.body;
    assert_eq!(
        (&outline["seq"], &outline["node"]),
        (&json!(3), &json!([0, 1, 2]))
    );
    let with = tried["id"].as_str().unwrap();
    let diff = server
        .get(&path(&live, &format!("/diff?view=outline&with={with}")))
        .await;
    let same = diff.body["steps"].as_array().unwrap().iter();
    let same: Vec<&Value> = same.map(|pair| &pair["same"]).collect();
    assert_eq!(same, [true, false, true]);

    for (group, key, field) in [
        ("status", json!("completed"), "key"),
        ("schema", json!("orders"), "schema"),
    ] {
        let counts = server
            .get(&format!("/api/executions/counts?group={group}"))
            .await
            .body;
        assert_eq!(counts["total"], 2, "{counts}");
        assert_eq!(
            (&counts["groups"][0][field], &counts["groups"][0]["count"]),
            (&key, &json!(2))
        );
    }
    let published = server
        .post("/api/schemas/orders/publish", &json!({"version": 2}))
        .await;
    assert_eq!(published.body["published_version"], 2);
    assert_eq!(run(json!({})).await["version"], 2);
    let summary = server.get("/api/schemas?include=summary").await.body;
    assert_eq!(
        summary["items"][0]["summary"]["last"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

//! What the people see who run a cluster: logs, metrics, health.

use std::net::SocketAddr;

use pawl_engine::worker::Roles;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::flows::chain;
use crate::site::Site;

/// Status and text of a page that asks for no key.
pub(crate) async fn page(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

pub(crate) fn metrics_of(banner: &Value) -> SocketAddr {
    let url = banner["metrics"].as_str().unwrap();
    url.strip_prefix("http://").unwrap().parse().unwrap()
}

pub(crate) fn sample(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|rest| rest.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in {text}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_serves_its_metrics_and_health() {
    let site = Site::fresh("worker_metrics").await;
    let flow = site.save(&chain("short", vec![])).await;
    let launch = site.launch(&["worker", "--metrics-listen", "127.0.0.1:0"]);
    let (mut worker, banner) = launch.start().await;
    let address = metrics_of(&banner);
    assert!(address.ip().is_loopback());
    let ids = site.start_many(&flow, 3).await;
    site.completed(&ids).await;
    let ok = (200, "{\"status\":\"ok\"}".to_owned());
    assert_eq!(page(address, "/health/live").await, ok);
    assert_eq!(page(address, "/health/ready").await, ok);
    let (status, text) = page(address, "/metrics").await;
    assert_eq!(status, 200);
    let ended = "pawl_executions_ended_total{status=\"completed\"}";
    assert_eq!(sample(&text, ended), 3.0);
    assert_eq!(sample(&text, "pawl_workers "), 1.0);
    assert_eq!(page(address, "/api/executions").await.0, 404);
    worker.signal("TERM");
    assert!(worker.ended().await.success());
    assert!(TcpStream::connect(address).await.is_err());
}

/// A flag, a variable, or a line of the configuration; without any of them nothing is listened on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_address_of_the_metrics_can_be_set_in_three_ways() {
    let mut site = Site::fresh("worker_metrics_set").await;
    let (_worker, banner) = site.launch(&["worker"]).start().await;
    assert_eq!(banner["metrics"], Value::Null);
    let launch = site.launch(&["worker"]);
    let launch = launch.with("PAWL_METRICS_LISTEN", "localhost:0");
    let (_worker, banner) = launch.start().await;
    assert_eq!(page(metrics_of(&banner), "/health/live").await.0, 200);
    site.settings = format!("metrics_listen = \"127.0.0.1:0\"\n{}", site.settings);
    let (_worker, banner) = site.launch(&["worker"]).start().await;
    assert_eq!(page(metrics_of(&banner), "/health/live").await.0, 200);
}

/// The clients of broker and database log what passes through them: bodies, headers, parameters.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_setting_of_the_log_shows_what_is_in_messages() {
    const CANARY: &str = "canary-in-a-header";
    let mut site = Site::fresh("careful_log").await;
    let connection = format!("[connections.own]\nurl = \"{}\"\n", site.broker.url);
    site.settings += &connection;
    let publish = json!({"id": "publish", "type": "rabbitmq_publish", "on_error": "continue", "config": {
        "connection": "own", "queue": "nobody-has-this", "message": "canary-in-a-body",
        "headers": {"token": "{{secrets.canary}}"},
    }});
    let worker = site.launch(&["worker"]).with("PAWL_SECRET_CANARY", CANARY);
    let filter = "trace,lapin=trace,lapin::returned_messages=trace,tokio_postgres::query=debug";
    let (worker, _) = worker.with("PAWL_LOG", filter).start().await;
    // Saved by a process that knows the connection.
    let member = site.member("desk-2").with_roles(Roles::NONE).join().await;
    let desk = std::mem::replace(&mut site.desk, member);
    let flow = site.save(&chain("lost", vec![publish])).await;
    let id = site.start(&flow).await;
    site.completed(&[id]).await;
    let log = worker.log();
    assert!(log.contains("DEBUG"), "the filter counts: {log}");
    let steps = site.rows("SELECT t::text FROM execution_steps t").await;
    let text = format!("{steps:?} {:?}", site.view(id).await.execution.record.error);
    assert!(text.contains("UNROUTABLE"), "it was returned: {text}");
    let body: Vec<u8> = b"canary-in-a-body".to_vec();
    for bad in [
        CANARY,
        "canary-in-a-body",
        &format!("{body:?}"),
        "lapin::",
        "amq_protocol",
        "tokio_postgres::",
        "with parameters",
    ] {
        let line = log.lines().find(|line| line.contains(bad));
        assert_eq!(line, None, "{bad}");
    }
    desk.shutdown().await;
}

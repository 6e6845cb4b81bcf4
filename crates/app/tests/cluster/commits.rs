//! Commits whose answer is lost, and what has to happen between a commit and the acknowledgement.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pawl_engine::worker::Roles;
use pawl_kernel::id::ExecutionId;
use serde_json::{Value, json};
use xtask::services::Proxy;

use crate::broker::{Depth, Stranger, WORK};
use crate::flows::{calls, strict};
use crate::site::{PATIENCE, Site, blocking, eventually};
use crate::tap::{Tap, port_of};

/// What the outside world answers becomes part of the commit.
fn answer_of(path: &str) -> Vec<u8> {
    format!("\"path\":\"{path}\"").into_bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d11_commit_of_unknown_result() {
    let site = Site::fresh("d11").await;
    let flow = calls("two", site.world.url(), &["pay", "ship"]);
    let schema = site.save(&flow).await;
    let port = port_of(&site.database);
    let proxy = std::sync::Arc::new(blocking(move || Proxy::start(port).unwrap()).await);
    let tap = Tap::start(proxy.port()).await;
    let worker = site
        .member("one")
        .with_database(tap.instead_of(&site.database));
    let worker = worker.join().await;
    // The commit that goes on under the lease, and the one that ends the execution.
    for path in ["pay", "ship"] {
        // It has happened, and the answer is lost.
        proxy.cut_on_next(&answer_of(path));
        let id = site.start(&schema).await;
        let cut = proxy.clone();
        let cut = blocking(move || cut.wait_for_cut(PATIENCE)).await;
        assert!(cut, "the commit of {path} was not cut");
        site.completed(&[id]).await;
        assert_eq!(site.path(id).await, ["start", "pay", "ship", "end"]);
        // It has not happened, and only the connection's end is known.
        tap.lose_on(&answer_of(path));
        let id = site.start(&schema).await;
        tap.caught().await;
        site.completed(&[id]).await;
        assert_eq!(site.path(id).await, ["start", "pay", "ship", "end"]);
    }
    site.world.each_key_once();
    assert_eq!(site.world.all_calls().len(), 8);
    site.sound().await;
    drop(worker);
}

/// The step is on disk, the next message is not: no other message than the one that died with its worker leads on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d12_death_between_commit_and_publish() {
    let site = Site::fresh("d12").await;
    let flow = strict(calls("two", site.world.url(), &["a", "b"]));
    let schema = site.save(&flow).await;
    let tap = Tap::start(port_of(&site.broker.url)).await;
    let launch = site.launch(&["worker"]);
    let (first, _) = launch
        .with_broker(tap.instead_of(&site.broker.url))
        .start()
        .await;
    site.world.shut("a");
    let id = site.start(&schema).await;
    site.world.call("a", 1).await;
    tap.hold_on(b"\"current_node_id\":\"b\"");
    site.world.open("a");
    tap.caught().await;
    assert_eq!(site.path(id).await, ["start", "a"]);
    assert_eq!(site.owner(id).await, "");
    // It only runs what it is given: nobody sweeps.
    let engine = Roles::parse("engine").unwrap();
    let second = site.member("second").with_roles(engine).join().await;
    let killed = Instant::now();
    first.kill();
    let next = site.world.call("b", 1).await;
    let took = next.at.duration_since(killed);
    println!("crash between commit and publish: next step after {took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    site.completed(&[id]).await;
    site.world.each_key_once();
    site.sound().await;
    drop(second);
}

impl Site {
    /// Starts executions until this many wait at the shut door and the rest in the queue.
    async fn crowd(&self, schema: &str, at_the_door: usize, all: usize) -> Vec<ExecutionId> {
        let ids = self.start_many(schema, all).await;
        self.world.call("a", at_the_door).await;
        ids
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d13_publish_to_a_queue_that_is_gone() {
    let site = Site::fresh("d13a").await;
    let flow = strict(calls("two", site.world.url(), &["a", "b"]));
    let schema = site.save(&flow).await;
    let worker = site.member("one").with_slots(4).join().await;
    site.world.shut("a");
    let ids = site.crowd(&schema, 4, 20).await;
    let stranger = Stranger::connect(&site.broker).await;
    // With it go the messages of those that wait.
    stranger.delete(WORK).await;
    site.world.open("a");
    site.completed(&ids).await;
    site.drained(0).await;
    site.world.each_key_once();
    site.sound().await;
    drop(worker);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d13_publish_to_a_queue_that_is_full() {
    let site = Site::fresh("d13b").await;
    let flow = strict(calls("two", site.world.url(), &["a", "b"]));
    let schema = site.save(&flow).await;
    let worker = site.member("one").with_slots(1).join().await;
    let full = r#"{"max-length": 1, "overflow": "reject-publish"}"#;
    let words: &[&str] = &[
        "set_policy",
        "--vhost",
        "VHOST",
        "full",
        "^schema_execution_queue$",
    ];
    site.broker.ctl(&[words, &[full]].concat()).await;
    site.world.shut("a");
    let ids = site.crowd(&schema, 1, 6).await;
    // One in hand, at most one in the queue: the others were accepted without a message, and belong to the sweeper.
    let Depth { ready, held } = site.broker.depth(WORK).await;
    assert!(held == 1 && ready <= 1, "{ready} ready");
    site.world.open("a");
    eventually("somebody has passed the door", async || {
        let sql = "SELECT count(*) FROM execution_state WHERE seq >= 2";
        (site.number(sql).await >= 1).then_some(())
    })
    .await;
    site.broker
        .ctl(&["clear_policy", "--vhost", "VHOST", "full"])
        .await;
    site.completed(&ids).await;
    site.world.each_key_once();
    site.sound().await;
    drop(worker);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d13_publish_without_an_answer() {
    let site = Site::fresh("d13c").await;
    let flow = strict(calls("two", site.world.url(), &["a", "b"]));
    let schema = site.save(&flow).await;
    let tap = Tap::start(port_of(&site.broker.url)).await;
    let deaf = site.member("deaf").with_slots(1);
    let deaf = deaf
        .with_broker(tap.instead_of(&site.broker.url))
        .join()
        .await;
    site.world.shut("a");
    site.world.shut("b");
    let id = site.start(&schema).await;
    site.world.call("a", 1).await;
    let other = site.member("other").join().await;
    tap.mute(true);
    site.world.open("a");
    site.world.call("b", 1).await;
    assert_eq!(site.owner(id).await, "other");
    // The deaf one gives up waiting, leaves it to the sweeper and acknowledges.
    site.drained(1).await;
    tap.mute(false);
    site.world.open("b");
    site.completed(&[id]).await;
    let later = site.start_many(&schema, 4).await;
    site.completed(&later).await;
    site.world.each_key_once();
    site.sound().await;
    drop((deaf, other));
}

fn start_body(key: &str, mark: &str) -> Value {
    json!({"schema": "pay", "input": {"mark": mark}, "idempotency_key": key})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d51_start_asked_for_twice() {
    let site = Site::fresh("d51").await;
    site.save(&calls("pay", site.world.url(), &["pay"])).await;
    let port = port_of(&site.database);
    let proxy = std::sync::Arc::new(blocking(move || Proxy::start(port).unwrap()).await);
    let tap = Tap::start(proxy.port()).await;
    let launch = site.launch(&["server", "--listen", "127.0.0.1:0"]);
    let server = launch
        .with_database(tap.instead_of(&site.database))
        .serve()
        .await;
    let worker = site.member("one").join().await;
    let ask =
        async |key: &str, mark: &str| server.post("/api/executions", &start_body(key, mark)).await;

    // Many at once.
    let all = futures_util::future::join_all((0..30).map(|_| ask("many", "m"))).await;
    let mut answers: BTreeMap<u16, usize> = BTreeMap::new();
    for answer in &all {
        *answers.entry(answer.status).or_default() += 1;
        assert_eq!(answer.body["id"], all[0].body["id"]);
    }
    assert_eq!(answers, BTreeMap::from([(200, 29), (201, 1)]));

    // The row was written and nobody knows; then, the row was not written and nobody knows.
    proxy.cut_on_next(b"the-first-mark");
    let unknown = ask("first", "the-first-mark").await;
    println!(
        "a start of unknown result is answered {} {}",
        unknown.status, unknown.body
    );
    let first = ask("first", "the-first-mark").await;
    assert_eq!(first.status, 200);
    tap.lose_on(b"the-second-mark");
    let lost = ask("second", "the-second-mark").await;
    assert!(lost.status >= 500 && unknown.status >= 500);
    let second = ask("second", "the-second-mark").await;
    assert_eq!(second.status, 201);
    let ids = [&all[0], &first, &second]
        .map(|answer| answer.body["id"].as_str().unwrap().parse().unwrap());
    site.completed(&ids).await;
    assert_eq!(site.number("SELECT count(*) FROM executions").await, 3);
    site.world.each_key_once();
    drop(worker);
}

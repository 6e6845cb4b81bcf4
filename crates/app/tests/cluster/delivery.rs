//! Messages that come twice, late, in the wrong order or back from the dead. The row decides; a message only wakes.

use std::collections::HashSet;

use pawl_kernel::id::ExecutionId;
use serde_json::{Value, json};

use crate::broker::{Depth, Spy, Stranger, WORK};
use crate::flows::{calls, chain, seed, strict};
use crate::site::{Site, eventually};
use crate::tap::{Tap, port_of};

fn look(id: ExecutionId, seq: u64) -> Vec<u8> {
    json!({"execution_id": id.to_string(), "seq": seq})
        .to_string()
        .into_bytes()
}

impl Site {
    /// Waits until all messages are dealt with, but for this many in the hands of workers.
    pub(crate) async fn drained(&self, held: u64) {
        for queue in [
            "schema_execution_queue.high",
            WORK,
            "schema_execution_queue.low",
        ] {
            let held = if queue == WORK { held } else { 0 };
            eventually(&format!("{queue} has {held} messages"), async || {
                let depth = self.broker.depth(queue).await;
                (depth == Depth { ready: 0, held }).then_some(())
            })
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d05_duplicate_delivery_while_running() {
    let site = Site::fresh("d05").await;
    let schema = site.save(&calls("pay", site.world.url(), &["pay"])).await;
    let workers = [
        site.member("one").join().await,
        site.member("two").join().await,
    ];
    site.world.shut("pay");
    let id = site.start(&schema).await;
    site.world.call("pay", 1).await;
    let owner = site.owner(id).await;
    let stranger = Stranger::connect(&site.broker).await;
    // The one before, the one in hand, one from the future, and one that knows nothing.
    for _ in 0..3 {
        for seq in [0, 1, 7] {
            stranger.publish(WORK, &look(id, seq)).await;
        }
        let bare = json!({"execution_id": id.to_string()}).to_string();
        stranger.publish(WORK, bare.as_bytes()).await;
    }
    site.drained(1).await;
    assert_eq!(site.owner(id).await, owner);
    site.world.open("pay");
    site.completed(&[id]).await;
    site.world.each_key_once();
    site.sound().await;
    drop(workers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d14_death_between_publish_and_acknowledgement() {
    let site = Site::fresh("d14").await;
    let flow = strict(calls("two", site.world.url(), &["a", "b"]));
    let schema = site.save(&flow).await;
    let tap = Tap::start(port_of(&site.broker.url)).await;
    // One slot, so that the broker gives it no second message.
    let launch = site.launch(&["worker", "--slots", "1"]);
    let launch = launch.with_broker(tap.instead_of(&site.broker.url));
    let (first, _) = launch.start().await;
    site.world.shut("a");
    site.world.shut("b");
    let id = site.start(&schema).await;
    site.world.call("a", 1).await;
    let second = site.member("second").join().await;
    // The broker hears the first worker, but the first worker will never hear that it did.
    tap.mute(true);
    site.world.open("a");
    site.world.call("b", 1).await;
    assert_eq!(site.owner(id).await, "second");
    // Both messages are out: the one of `a` unacknowledged, the one of `b` in the second worker's hands.
    assert_eq!(site.broker.depth(WORK).await, Depth { ready: 0, held: 2 });
    first.kill();
    site.drained(1).await;
    assert_eq!(site.owner(id).await, "second");
    site.world.open("b");
    site.completed(&[id]).await;
    site.drained(0).await;
    site.world.each_key_once();
    assert_eq!(site.path(id).await, ["start", "a", "b", "end"]);
    site.sound().await;
    drop(second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d15_acknowledgement_lost_with_its_channel() {
    let site = Site::fresh("d15").await;
    let schema = site.save(&calls("pay", site.world.url(), &["pay"])).await;
    let workers = [
        site.member("one").join().await,
        site.member("two").join().await,
    ];
    site.world.shut("pay");
    let id = site.start(&schema).await;
    site.world.call("pay", 1).await;
    let owner = site.owner(id).await;
    site.broker.close_connections().await;
    // It is delivered anew, seen to be in somebody's hands, and acknowledged.
    site.drained(0).await;
    assert_eq!(site.owner(id).await, owner);
    site.world.open("pay");
    site.completed(&[id]).await;
    // The workers have noticed and connected again.
    let later = site.start_many(&schema, 5).await;
    site.completed(&later).await;
    site.world.each_key_once();
    site.sound().await;
    drop(workers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d16_every_message_several_times() {
    let site = Site::fresh("d16").await;
    let schema = site.save(&seed("seed", site.world.url())).await;
    let spy = Spy::on(&site.broker).await;
    let workers = [
        site.member("one").join().await,
        site.member("two").join().await,
    ];
    let stranger = Stranger::connect(&site.broker).await;
    let ids = site.start_many(&schema, 10).await;
    let mut copied = HashSet::new();
    while copied.len() < 5 * ids.len() {
        let seen = spy.until_work(copied.len() + 1).await;
        for message in seen {
            if copied.insert(message.bytes.clone()) {
                for _ in 0..copied.len() % 4 + 1 {
                    stranger.publish(&message.queue, &message.bytes).await;
                }
            }
        }
    }
    site.completed(&ids).await;
    site.drained(0).await;
    for id in &ids {
        let path = ["start", "http_1", "condition_1", "var_set_1", "end_1"];
        assert_eq!(site.path(*id).await, path);
    }
    site.world.each_key_once();
    site.sound().await;
    drop(workers);
}

/// Something that waits, is held or has ended is not even written to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d18_old_messages_change_nothing() {
    let site = Site::fresh("d18").await;
    let sleep = json!({"id": "nap", "type": "sleep", "config": {"duration": "1h"}});
    let fail = json!({"id": "no", "type": "fail", "config": {"code": "NO", "message": "no"}});
    let good = site.save(&chain("good", vec![])).await;
    let bad = site.save(&chain("bad", vec![fail])).await;
    let nap = site.save(&chain("nap", vec![sleep])).await;
    let spy = Spy::on(&site.broker).await;
    let worker = site.member("one").join().await;
    let mut ids = Vec::new();
    for schema in [&good, &bad, &nap, &nap, &nap] {
        ids.push(site.start(schema).await);
    }
    for id in &ids[2..] {
        eventually("it sleeps", async || {
            (site.view(*id).await.execution.head.status.name() == "sleeping").then_some(())
        })
        .await;
    }
    site.desk.control.stop(ids[3]).await.unwrap();
    site.desk.control.pause(ids[4]).await.unwrap();
    for (id, status) in ids
        .iter()
        .zip(["completed", "failed", "sleeping", "stopped", "paused"])
    {
        eventually(&format!("{id} is {status}"), async || {
            (site.view(*id).await.execution.head.status.name() == status).then_some(())
        })
        .await;
    }
    site.drained(0).await;
    let mut before = Vec::new();
    for id in &ids {
        before.push(site.fingerprint(*id).await);
    }
    let stranger = Stranger::connect(&site.broker).await;
    let recorded = spy.work();
    assert_eq!(recorded.len(), ids.len());
    for message in recorded {
        let id = message.body()["execution_id"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        for body in [message.bytes, look(id, 0), look(id, 1), look(id, 99)] {
            stranger.publish(&message.queue, &body).await;
        }
    }
    site.drained(0).await;
    for (id, before) in ids.iter().zip(before) {
        assert_eq!(site.fingerprint(*id).await, before, "{id} was written to");
    }
    drop(worker);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d17_messages_in_any_order() {
    let site = Site::fresh("d17").await;
    let set = |name: &str, value: &str| -> Value {
        json!({"id": name, "type": "variable_set", "config": {"variable": name, "value": value}})
    };
    let nodes = vec![
        set("a", "1"),
        set("b", "{{variables.a}} 2"),
        set("c", "{{variables.b}} 3"),
    ];
    let schema = site.save(&strict(chain("sets", nodes))).await;
    let stranger = Stranger::connect(&site.broker).await;
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    let ids = site.start_many(&schema, orders.len()).await;
    for (id, order) in ids.iter().zip(orders) {
        for seq in order {
            // Later ones by the faster queue.
            let queue = [
                "schema_execution_queue.low",
                WORK,
                "schema_execution_queue.high",
            ][seq as usize];
            stranger.publish(queue, &look(*id, seq)).await;
        }
    }
    let worker = site.member("one").join().await;
    site.completed(&ids).await;
    site.drained(0).await;
    let hash = "SELECT DISTINCT md5(string_agg(concat_ws('|', seq, node_id, prev_node_id, next_node_id, output, changes), \
                ',' ORDER BY seq)) FROM execution_steps GROUP BY execution_id";
    assert_eq!(site.rows(hash).await.len(), 1, "the same end by any order");
    assert_eq!(site.path(ids[0]).await, ["start", "a", "b", "c", "end"]);
    site.sound().await;
    drop(worker);
}

/// The example of the first seed, as its text has it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn seed_000_in_strict_mode_is_five_messages() {
    let site = Site::fresh("seed").await;
    let schema = site.save(&seed("seed", site.world.url())).await;
    let spy = Spy::on(&site.broker).await;
    let workers = [
        site.member("one").join().await,
        site.member("two").join().await,
    ];
    let id = site.start(&schema).await;
    site.completed(&[id]).await;
    site.drained(0).await;
    let messages = spy.until_work(5).await;
    let bodies: Vec<Value> = messages.iter().map(|message| message.body()).collect();
    let nodes: Vec<&str> = bodies
        .iter()
        .map(|body| body["current_node_id"].as_str().unwrap())
        .collect();
    assert_eq!(
        nodes,
        ["start", "http_1", "condition_1", "var_set_1", "end_1"]
    );
    let schema_id = site.view(id).await.execution.head.schema_id.to_string();
    for (seq, (message, body)) in messages.iter().zip(&bodies).enumerate() {
        assert_eq!(
            (message.exchange.as_str(), message.queue.as_str()),
            ("", WORK)
        );
        assert_eq!(message.delivery_mode, Some(2), "persistent");
        let fields = [
            "execution_id",
            "schema_id",
            "current_node_id",
            "seq",
            "debug_mode",
            "published_at",
        ];
        let names: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(names, fields);
        assert_eq!(body["execution_id"], id.to_string());
        assert_eq!(body["schema_id"], schema_id);
        assert_eq!(
            (&body["seq"], &body["debug_mode"]),
            (&json!(seq), &json!(false))
        );
        let at: jiff::Timestamp = body["published_at"].as_str().unwrap().parse().unwrap();
        assert!((jiff::Timestamp::now().as_second() - at.as_second()).abs() < 120);
    }
    let view = site.view(id).await;
    assert_eq!(
        view.execution.record.output.as_deref(),
        Some(r#"{"result":"success"}"#)
    );
    drop(workers);
}

//! Services that go away, come back, lose everything or go back in time. Each of these cases breaks a server of its own,
//! and one after the other, since they share it.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pawl_kernel::id::ExecutionId;
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};
use xtask::services::{
    Postgres, PostgresOptions, RabbitMq, RabbitNode, RabbitOptions, fresh_database,
};

use crate::broker::{Broker, Depth, WORK};
use crate::flows::{calls, strict};
use crate::process::Process;
use crate::site::{Site, blocking, eventually};

/// Everything goes on by itself this long after the service is back.
const BACK: Duration = Duration::from_secs(15);

type Own<T> = Mutex<Option<Arc<T>>>;
static BROKER: Own<RabbitMq> = Mutex::const_new(None);
static DATABASE: Own<Postgres> = Mutex::const_new(None);

/// A server that this test may break.
struct Mine<T: 'static> {
    server: Arc<T>,
    _turn: MutexGuard<'static, Option<Arc<T>>>,
}

impl<T: Send + Sync + 'static> Mine<T> {
    async fn of(place: &'static Own<T>, start: fn() -> T) -> Self {
        let mut turn = place.lock().await;
        let server = match turn.take() {
            Some(server) => server,
            None => Arc::new(blocking(start).await),
        };
        *turn = Some(server.clone());
        Self {
            server,
            _turn: turn,
        }
    }

    /// Orders to a server block.
    async fn order<R: Send + 'static>(&self, order: fn(&T) -> R) -> R {
        let server = self.server.clone();
        blocking(move || order(&server)).await
    }
}

async fn my_broker() -> Mine<RabbitMq> {
    Mine::of(&BROKER, || {
        RabbitMq::start(RabbitOptions::default()).unwrap()
    })
    .await
}

async fn my_database() -> Mine<Postgres> {
    Mine::of(&DATABASE, || {
        Postgres::start(PostgresOptions::default()).unwrap()
    })
    .await
}

async fn site_on(broker: &Mine<RabbitMq>, name: &'static str) -> Site {
    let node = RabbitNode::clone(&broker.server);
    let database = blocking(move || fresh_database(name).unwrap()).await;
    let vhost = blocking(move || Broker::fresh(node, name)).await;
    Site::on(database, vhost).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d33_broker_restarted_wiped_and_purged() {
    let broker = my_broker().await;
    let database = blocking(|| fresh_database("d33").unwrap()).await;
    // The vhost that a wiped broker has.
    let place = Broker::default_vhost(RabbitNode::clone(&broker.server));
    let site = Site::on(database, place).await;
    let flow = calls(
        "three",
        site.world.url(),
        &["a?ms=30", "b?ms=30", "c?ms=30"],
    );
    let schema = site.save(&strict(flow)).await;
    let workers = [
        site.member("one").with_slots(4).join().await,
        site.member("two").with_slots(4).join().await,
    ];
    let mut ids = Vec::new();
    type Wreck = fn(&RabbitMq);
    let wrecks: [(&str, Wreck); 3] = [
        ("killed", |broker| {
            broker.kill();
            broker.start_again().unwrap();
        }),
        ("wiped", |broker| broker.wipe().unwrap()),
        ("purged", |broker| {
            let code = "{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, \
                        <<\"schema_execution_queue\">>)), {ok, N} = rabbit_amqqueue:purge(Q), true = N > 0, ok.";
            broker.eval(code).unwrap();
        }),
    ];
    for (wreck, order) in wrecks {
        let before = ids.len();
        ids.extend(site.start_many(&schema, 25).await);
        site.world.call("b", before + 5).await;
        broker.order(order).await;
        let back = Instant::now();
        site.completed(&ids).await;
        println!(
            "broker {wreck}: 25 executions done {:?} after it was back",
            back.elapsed()
        );
    }
    site.world.each_key_once();
    site.sound().await;
    drop(workers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d34_broker_down_for_a_while() {
    let broker = my_broker().await;
    let site = site_on(&broker, "d34").await;
    let flow = strict(calls("pay", site.world.url(), &["pay", "ship"]));
    let schema = site.save(&flow).await;
    let (server, worker) = (site.server().await, site.worker().await);
    site.world.shut("pay");
    let running = site.start(&schema).await;
    site.world.call("pay", 1).await;
    broker.order(RabbitMq::kill).await;
    let (down, busy) = (Instant::now(), (worker.busy(), server.process.busy()));
    site.world.open("pay");
    let mut ids = vec![running];
    for number in 0..5 {
        let body = json!({"schema": schema, "idempotency_key": format!("{number}")});
        let answer = server.post("/api/executions", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        ids.push(answer.body["id"].as_str().unwrap().parse().unwrap());
    }
    // What was in hand is finished as far as it goes without a message.
    eventually("the step in hand is committed", async || {
        (site.path(running).await == ["start", "pay"]).then_some(())
    })
    .await;
    // Who comes or goes meanwhile is not held up.
    let mut passenger = site.worker().await;
    leaves(&mut passenger).await;
    tokio::time::sleep(Duration::from_secs(8).saturating_sub(down.elapsed())).await;
    broker.order(|broker| broker.start_again().unwrap()).await;
    let (away, used) = (
        down.elapsed(),
        (worker.busy() - busy.0, server.process.busy() - busy.1),
    );
    println!(
        "broker away for {away:?}: the worker used {:?}, the server {:?}",
        used.0, used.1
    );
    assert!(used.0 + used.1 < away / 2, "a loop that burns");
    let put_off = site.number("SELECT max(sweeps) FROM execution_state").await;
    assert!(
        put_off <= 1,
        "put off {put_off} times, each time for longer, while nobody could send a message"
    );
    let back = Instant::now();
    site.completed(&ids).await;
    println!("broker back: all goes on after {:?}", back.elapsed());
    assert!(back.elapsed() < BACK, "{:?}", back.elapsed());
    site.world.each_key_once();
    site.sound().await;
}

/// Ends in good order although the services do not answer.
async fn leaves(process: &mut Process) {
    let told = Instant::now();
    process.signal("TERM");
    let code = process.ended().await.code();
    assert_eq!(code, Some(0), "{}", process.log());
    println!("SIGTERM during an outage: left after {:?}", told.elapsed());
    assert!(told.elapsed() < Duration::from_secs(15));
}

async fn watermark(site: &Site, share: &str) {
    let code = format!("vm_memory_monitor:set_vm_memory_high_watermark({share}), ok.");
    site.broker.eval(code).await;
}

/// Also the third way in which D13 has a publish fail: the broker takes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d35_memory_alarm() {
    let broker = my_broker().await;
    let site = site_on(&broker, "d35").await;
    let flow = strict(calls("two", site.world.url(), &["a", "b"]));
    let schema = site.save(&flow).await;
    let (slots, all) = (2, 12);
    let worker = site.member("one").with_slots(slots).join().await;
    site.world.shut("a");
    let mut ids = site.start_many(&schema, all).await;
    site.world.call("a", slots).await;
    watermark(&site, "0.00001").await;
    site.world.open("a");
    eventually("what is in hand is committed", async || {
        let done = "SELECT count(*) FROM execution_state WHERE seq >= 2";
        (site.number(done).await >= slots as u64).then_some(())
    })
    .await;
    // Accepted all the same, and soon.
    let begun = Instant::now();
    ids.extend(site.start_many(&schema, 3).await);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    eventually("everybody knows of the alarm", async || {
        worker.queue.stats().await.blocked.map(drop)
    })
    .await;
    let calls = site.world.all_calls().len();
    assert!(
        calls <= 2 * slots,
        "{calls} calls that nobody could hand on"
    );
    watermark(&site, "0.4").await;
    let cleared = Instant::now();
    site.completed(&ids).await;
    println!(
        "memory alarm: {calls} calls during it, all done {:?} after it",
        cleared.elapsed()
    );
    site.world.each_key_once();
    site.sound().await;
    drop(worker);
}

/// The broker closes a channel whose message it has waited for too long; everything on it is delivered again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d38_consumer_timeout() {
    let broker = my_broker().await;
    let site = site_on(&broker, "d38").await;
    let patience = |timeout: u32, tick: u32| {
        let set = |name, value| format!("application:set_env(rabbit, {name}, {value}), ");
        set("consumer_timeout", timeout) + &set("channel_tick_interval", tick) + "ok."
    };
    site.broker.eval(patience(2_000, 300)).await;
    let mut long = calls("long", site.world.url(), &["long"]);
    long["nodes"][1]["timeout"] = json!("6m");
    let long = site.save(&long).await;
    let slow = site.save(&calls("slow", site.world.url(), &["slow"])).await;
    let quick = site
        .save(&strict(calls("quick", site.world.url(), &["quick"])))
        .await;
    let worker = site.member("one").join().await;
    let reconnects = async || worker.queue.stats().await.consuming.unwrap().reconnects;
    site.world.shut("long");
    site.world.shut("slow");

    // One that may outlast the broker's patience gives its message back first.
    let mut ids = vec![site.start(&long).await];
    let begun = site.world.call("long", 1).await.at;
    site.drained(0).await;
    while begun.elapsed() < Duration::from_secs(4) {
        let others = site.start_many(&quick, 2).await;
        site.completed(&others).await;
    }
    assert_eq!(reconnects().await, 0, "nobody lost patience");

    // One that takes longer than its operator allows costs the channel, but nothing happens twice.
    ids.push(site.start(&slow).await);
    site.world.call("slow", 1).await;
    eventually("the broker closes the channel", async || {
        (reconnects().await > 0).then_some(())
    })
    .await;
    site.drained(0).await;
    site.world.open("long");
    site.world.open("slow");
    ids.extend(site.start_many(&quick, 3).await);
    site.completed(&ids).await;
    site.broker.eval(patience(1_800_000, 60_000)).await;
    site.world.each_key_once();
    site.sound().await;
    drop(worker);
}

fn copy_folder(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

/// The database goes back to an earlier state, and the messages in the broker are ahead of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d31_database_rewound() {
    let database = my_database().await;
    let url = database
        .order(|server| server.create_database("d31").unwrap())
        .await;
    let site = Site::on(url, Broker::shared("d31").await).await;
    let flow = strict(calls("three", site.world.url(), &["a", "b", "c"]));
    let schema = site.save(&flow).await;
    let survivor = site.member("survivor").with_slots(4).join().await;
    let (doomed, _) = site.launch(&["worker", "--slots", "8"]).start().await;
    site.world.shut("b");
    let ids = site.start_many(&schema, 8).await;
    site.world.call("b", 8).await;
    let snapshot = tempfile::tempdir().unwrap();
    let kept = snapshot.path().join("kept");
    database.order(|server| server.stop_fast().unwrap()).await;
    copy_folder(&database.server.data_dir(), &kept);
    database.order(|server| server.start_again().unwrap()).await;

    // They go on; and one is started that will never have been.
    site.world.shut("c");
    site.world.open("b");
    site.world.call("c", 8).await;
    let forgotten = eventually("the database takes starts again", async || {
        let request = pawl_engine::control::StartRequest {
            schema: schema.clone().into(),
            ..Default::default()
        };
        site.desk.control.start(request).await.ok()
    })
    .await;
    site.world.call("c", 9).await;
    doomed.kill();
    database.order(|server| server.stop_fast().unwrap()).await;
    std::fs::remove_dir_all(database.server.data_dir()).unwrap();
    copy_folder(&kept, &database.server.data_dir());
    database.order(|server| server.start_again().unwrap()).await;

    let helper = site.member("helper").join().await;
    site.world.open("c");
    site.completed(&ids).await;
    site.drained(0).await;
    assert!(site.desk.control.view(forgotten.id).await.is_err());
    repeated_under_their_keys(&site, &ids);
    assert_eq!(site.number("SELECT count(*) FROM dead_letters").await, 0);
    site.sound().await;
    drop((survivor, helper));
}

/// What the database has forgotten is done again, under the same key.
fn repeated_under_their_keys(site: &Site, ids: &[ExecutionId]) {
    for id in ids {
        for (path, seq) in [("a", 2), ("b", 3), ("c", 4)] {
            let key = format!("{id}:{seq}");
            let mut calls = site.world.calls(path);
            calls.retain(|call| call.execution() == *id);
            assert!(
                !calls.is_empty() && calls.iter().all(|call| call.key == key),
                "{calls:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn database_back_within_15_s() {
    let database = my_database().await;
    let url = database
        .order(|server| server.create_database("back").unwrap())
        .await;
    let site = Site::on(url, Broker::shared("back").await).await;
    let flow = strict(calls("pay", site.world.url(), &["pay", "ship"]));
    let schema = site.save(&flow).await;
    let (server, worker) = (site.server().await, site.worker().await);
    site.world.shut("pay");
    let ids = site.start_many(&schema, 5).await;
    site.world.call("pay", 5).await;
    let mut leaver = site.worker().await;
    database.order(|server| server.kill().unwrap()).await;
    let (down, busy) = (Instant::now(), worker.busy());
    site.world.open("pay");
    let refused = server
        .post("/api/executions", &json!({"schema": schema}))
        .await;
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert_eq!(server.get("/health/ready").await.status, 503);
    leaves(&mut leaver).await;
    // Longer than a lease: whatever was in hand is lost by then.
    tokio::time::sleep(Duration::from_secs(6).saturating_sub(down.elapsed())).await;
    let (away, used) = (down.elapsed(), worker.busy() - busy);
    println!("database away for {away:?}: the worker used {used:?}");
    assert!(used < away / 2, "a loop that burns");
    database.order(|server| server.start_again().unwrap()).await;
    let back = Instant::now();
    site.completed(&ids).await;
    println!("database back: all goes on after {:?}", back.elapsed());
    assert!(back.elapsed() < BACK, "{:?}", back.elapsed());
    let answer = server
        .post("/api/executions?wait=20", &json!({"schema": schema}))
        .await;
    assert_eq!(
        (answer.status, &answer.body["status"]),
        (201, &json!("completed"))
    );
    assert!(Depth { ready: 0, held: 0 } == site.broker.depth(WORK).await);
    site.sound().await;
}

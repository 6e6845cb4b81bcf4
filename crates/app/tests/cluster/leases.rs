//! Workers that stop, are slow, or die of what they run: what they held goes on elsewhere, and what they still say is
//! not heard.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pawl_engine::worker::Roles;
use serde_json::json;

use crate::flows::{calls, chain, strict};
use crate::process::Process;
use crate::site::{Site, eventually, within};
use crate::tap::{Tap, port_of};
use crate::world::Call;

/// All calls of a path are about the same effect.
fn one_key(calls: &[Call]) {
    assert!(
        calls.iter().all(|call| call.key == calls[0].key),
        "{calls:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d19_zombie_that_was_stopped_in_its_node() {
    let site = Site::fresh("d19a").await;
    let schema = site
        .save(&calls("two", site.world.url(), &["a", "b"]))
        .await;
    let zombie = site.worker().await;
    site.world.shut("a");
    let id = site.start(&schema).await;
    site.world.call("a", 1).await;
    zombie.signal("STOP");
    let other = site.member("other").join().await;
    site.world.call("a", 2).await;
    site.world.open("a");
    site.completed(&[id]).await;
    let before = site.fingerprint(id).await;
    // It has the answer to its call now, and finds that it has lost the lease.
    zombie.signal("CONT");
    zombie.says("pass abandoned").await;
    site.drained(0).await;
    assert_eq!(site.fingerprint(id).await, before);
    one_key(&site.world.calls("a"));
    assert_eq!(
        (site.world.calls("a").len(), site.world.calls("b").len()),
        (2, 1)
    );
    // It is none the worse for it.
    other.shutdown().await;
    let later = site.start_many(&schema, 3).await;
    site.completed(&later).await;
    site.sound().await;
}

/// The commit itself is late: it reaches the database when another worker is in the same node, is one node further, and
/// when all is over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d19_zombie_whose_commit_comes_late() {
    let site = Site::fresh("d19b").await;
    let flow = calls("two", site.world.url(), &["a", "b"]);
    let schema = site.save(&flow).await;
    let tap = Tap::start(port_of(&site.database)).await;
    for door in [Some("a"), Some("b"), None] {
        let launch = site.launch(&["worker"]);
        let launch = launch.with_database(tap.instead_of(&site.database));
        let (zombie, _) = launch.start().await;
        tap.hold_on(b"\"path\":\"a\"");
        let id = site.start(&schema).await;
        tap.caught().await;
        zombie.signal("STOP");
        let mine = |path: &str| {
            let mut calls = site.world.calls(path);
            calls.retain(|call| call.execution() == id);
            calls
        };
        site.world.shut(door.unwrap_or("nowhere"));
        let other = site.member("other").join().await;
        match door {
            None => site.completed(&[id]).await,
            Some(door) => {
                // The zombie was the first at `a`.
                let expected = if door == "a" { 2 } else { 1 };
                let came = async || (mine(door).len() == expected).then_some(());
                eventually("the other is at the door", came).await;
            }
        }
        let before = site.fingerprint(id).await;
        tap.let_go();
        zombie.signal("CONT");
        zombie.says("pass abandoned").await;
        match door {
            None => assert_eq!(site.fingerprint(id).await, before),
            Some(door) => {
                assert_eq!(site.owner(id).await, "other");
                site.world.open(door);
                site.completed(&[id]).await;
            }
        }
        assert_eq!(site.path(id).await, ["start", "a", "b", "end"]);
        one_key(&mine("a"));
        assert_eq!((mine("a").len(), mine("b").len()), (2, 1));
        other.shutdown().await;
        zombie.kill();
    }
    site.sound().await;
}

/// The message itself is late: others have gone on without it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d19_zombie_whose_message_comes_late() {
    let site = Site::fresh("d19c").await;
    let flow = strict(calls("two", site.world.url(), &["a", "b"]));
    let schema = site.save(&flow).await;
    let tap = Tap::start(port_of(&site.broker.url)).await;
    let launch = site.launch(&["worker"]);
    let (zombie, _) = launch
        .with_broker(tap.instead_of(&site.broker.url))
        .start()
        .await;
    tap.hold_on(b"\"current_node_id\":\"b\"");
    let id = site.start(&schema).await;
    tap.caught().await;
    zombie.signal("STOP");
    let other = site.member("other").join().await;
    site.completed(&[id]).await;
    let before = site.fingerprint(id).await;
    tap.let_go();
    zombie.signal("CONT");
    let later = site.start_many(&schema, 3).await;
    site.completed(&later).await;
    site.drained(0).await;
    assert_eq!(site.fingerprint(id).await, before);
    site.world.each_key_once();
    site.sound().await;
    drop(other);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d22_database_slower_than_the_lease() {
    let site = Site::fresh("d22").await;
    let schema = site.save(&calls("pay", site.world.url(), &["pay"])).await;
    let tap = Tap::start(port_of(&site.database)).await;
    let slow = site
        .member("slow")
        .with_database(tap.instead_of(&site.database));
    let slow = slow.join().await;
    site.world.shut("pay");
    let id = site.start(&schema).await;
    site.world.call("pay", 1).await;
    // Half as long again as a lease, for every piece that goes to the database.
    tap.delay(Duration::from_millis(7_500));
    let other = site.member("other").join().await;
    site.world.call("pay", 2).await;
    site.world.open("pay");
    site.completed(&[id]).await;
    let before = site.fingerprint(id).await;
    // The slow one has its say at last.
    tap.delay(Duration::ZERO);
    slow.shutdown().await;
    assert_eq!(site.fingerprint(id).await, before);
    one_key(&site.world.calls("pay"));
    assert_eq!(site.path(id).await, ["start", "pay", "end"]);
    site.sound().await;
    drop(other);
}

/// The owner of the timers has read what is due and is cut off before it can say so; another takes its locks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d25_timer_fired_by_two_owners() {
    let site = Site::fresh("d25").await;
    let nap = json!({"id": "nap", "type": "sleep", "config": {"duration": "2s"}});
    let after = calls("x", site.world.url(), &["after"])["nodes"][1].clone();
    let schema = site.save(&chain("nap", vec![nap, after])).await;
    let timers = Roles::parse("timers").unwrap();
    let tap = Tap::start(port_of(&site.database)).await;
    let first = site.member("first").with_roles(timers);
    let first = first
        .with_database(tap.instead_of(&site.database))
        .join()
        .await;
    let locks = async |owner: &str| {
        let sql = format!(
            "SELECT count(*) FROM shard_locks WHERE locked AND last_locked_by LIKE '{owner} pawl/%'"
        );
        site.number(&sql).await
    };
    let shards = site.number("SELECT count(*) FROM shard_locks").await;
    eventually("the first owns all timers", async || {
        (locks("first").await == shards).then_some(())
    })
    .await;
    let engine = Roles::parse("engine").unwrap();
    let worker = site.member("worker").with_roles(engine).join().await;
    let id = site.start(&schema).await;
    eventually("it sleeps", async || {
        (site.view(id).await.execution.head.status.name() == "sleeping").then_some(())
    })
    .await;
    // An owner of timers that does nothing else needs a transaction only to fire.
    tap.hold_on(b"BEGIN");
    tap.caught().await;
    let second = site.member("second").with_roles(timers).join().await;
    site.world.call("after", 1).await;
    assert_eq!(locks("second").await, shards);
    site.completed(&[id]).await;
    let before = site.fingerprint(id).await;
    tap.let_go();
    first.shutdown().await;
    site.drained(0).await;
    assert_eq!(site.fingerprint(id).await, before);
    assert_eq!(site.path(id).await, ["start", "nap", "after", "end"]);
    site.world.each_key_once();
    site.sound().await;
    drop((worker, second));
}

/// Every worker that calls `poison` dies of it.
async fn kill_whoever_calls(site: Arc<Site>, mut workers: Vec<Process>) -> (Vec<Process>, usize) {
    let mut deaths = 0;
    loop {
        let poisoned = site.world.calls("poison").len();
        if poisoned == deaths {
            let stuck = "SELECT count(*) FROM executions WHERE status = 11";
            if site.number(stuck).await > 0 {
                return (workers, deaths);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        }
        deaths += 1;
        let id = site.world.calls("poison")[deaths - 1].execution();
        let owner = site.owner(id).await;
        let pid: u32 = owner.rsplit('/').next().unwrap().parse().unwrap();
        let place = workers.iter().position(|worker| worker.pid == pid).unwrap();
        workers.swap_remove(place).kill();
        workers.push(site.worker().await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d45_poison_node_among_healthy_ones() {
    let site = Site::with("d45", "max_recoveries = 3").await;
    let healthy = site
        .save(&calls("healthy", site.world.url(), &["ok?ms=100"]))
        .await;
    let poison = site
        .save(&calls("poison", site.world.url(), &["poison"]))
        .await;
    site.world.shut("poison");
    let site = Arc::new(site);
    let workers = vec![site.worker().await, site.worker().await];
    let killer = tokio::spawn(kill_whoever_calls(site.clone(), workers));
    let mut ids = site.start_many(&healthy, 50).await;
    let culprit = site.start(&poison).await;
    ids.extend(site.start_many(&healthy, 50).await);
    let begun = Instant::now();
    let (workers, deaths) = killer.await.unwrap();
    println!(
        "poison: {deaths} workers died, given up after {:?}",
        begun.elapsed()
    );
    site.completed(&ids).await;
    let view = site.ended(culprit).await;
    assert_eq!(view.execution.head.status.name(), "failed_stuck");
    // The first run, and as many recoveries as are allowed.
    assert_eq!(deaths, 1 + 3);
    one_key(&site.world.calls("poison"));
    let letters = format!("SELECT reason FROM dead_letters WHERE execution_id = '{culprit}'");
    let letters = site.rows(&letters).await;
    assert!(
        letters.len() == 1 && letters[0][0].contains("poison"),
        "{letters:?}"
    );
    site.drained(0).await;
    site.sound().await;
    drop(workers);
}

/// Slow nodes hold no connection, and what keeps their leases alive has one of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d54_few_connections_and_many_slow_nodes() {
    let pools = "[database]\ncommitters = 1\nwriters = 1\nreaders = 1\n";
    let site = Site::with("d54", pools).await;
    let schema = site.save(&calls("pay", site.world.url(), &["pay"])).await;
    let worker = site.member("one").with_slots(50).join().await;
    let other = site.member("two").with_slots(50).join().await;
    site.world.shut("pay");
    let ids = site.start_many(&schema, 50).await;
    site.world.call("pay", 50).await;
    // Every lease is renewed beyond what it had at first, twice.
    let ends = async || {
        site.number("SELECT extract(epoch FROM min(lease_until))::bigint FROM execution_state")
            .await
    };
    let first = ends().await;
    within(
        Duration::from_secs(40),
        "all leases are renewed",
        async || {
            assert!(site.desk.control.view(ids[0]).await.is_ok());
            (ends().await >= first + 10).then_some(())
        },
    )
    .await;
    site.world.open("pay");
    site.completed(&ids).await;
    assert_eq!(
        site.world.calls("pay").len(),
        50,
        "nobody was taken for dead"
    );
    site.sound().await;
    drop((worker, other));
}

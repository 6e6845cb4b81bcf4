//! How fast and how fair: recovery after a death, an idle cluster, priorities.

use std::time::{Duration, Instant};

use pawl_kernel::execution::PriorityClass;

use crate::flows::{calls, chain};
use crate::site::{Site, eventually};
use crate::tap::{Tap, port_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_worker_replaced_within_its_lease_and_5_s() {
    let site = Site::usual("death", "lease = \"10s\"\n").await;
    let schema = site.save(&calls("pay", site.world.url(), &["pay"])).await;
    let victim = site.worker().await;
    site.world.shut("pay");
    let id = site.start(&schema).await;
    site.world.call("pay", 1).await;
    let heir = site.worker().await;
    let killed = Instant::now();
    victim.kill();
    let next = site.world.call("pay", 2).await;
    let took = next.at.duration_since(killed);
    println!("worker killed: next step after {took:?} with a lease of 10 s");
    assert!(took < Duration::from_secs(15), "{took:?}");
    site.world.open("pay");
    site.completed(&[id]).await;
    site.sound().await;
    drop(heir);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_cluster_hardly_asks() {
    const WATCHED: Duration = Duration::from_secs(40);
    let site = Site::usual("idle", "").await;
    let schema = site.save(&chain("nothing", vec![])).await;
    let mut cluster = Vec::new();
    for words in [
        &["server", "--listen", "127.0.0.1:0"][..],
        &["worker"],
        &["worker"],
    ] {
        let tap = Tap::start(port_of(&site.database)).await;
        let launch = site
            .launch(words)
            .with_database(tap.instead_of(&site.database));
        cluster.push((words[0], launch.start().await, tap));
    }
    let id = site.start(&schema).await;
    site.completed(&[id]).await;
    // Until both have their share of the timers they have something to settle.
    site.shared_by(2, 8).await;
    let asked = || cluster.iter().map(|(_, _, tap)| tap.questions());
    let before: Vec<u64> = asked().collect();
    tokio::time::sleep(WATCHED).await;
    for ((role, _, _), (after, before)) in cluster.iter().zip(asked().zip(before)) {
        let rate = (after - before) as f64 / WATCHED.as_secs_f64();
        println!("idle {role}: {rate:.2} questions to the database per second");
        assert!(rate < 1.0, "{role}: {rate}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn low_priority_is_not_starved() {
    let site = Site::usual("priority", "").await;
    let schema = site
        .save(&calls("work", site.world.url(), &["work?ms=5"]))
        .await;
    for _ in 0..100 {
        site.start_as(&schema, PriorityClass::Low).await;
    }
    for _ in 0..300 {
        site.start_as(&schema, PriorityClass::High).await;
    }
    let worker = site.member("one").with_slots(4).join().await;
    let open = "SELECT count(*) FROM executions WHERE finished_at IS NULL";
    eventually("all are done", async || {
        (site.number(open).await == 0).then_some(())
    })
    .await;
    // While there was something to run of both.
    let high = PriorityClass::High.code();
    let share = format!(
        "SELECT count(*) FILTER (WHERE priority <> {high}) * 1000 / count(*) FROM executions WHERE finished_at <= \
         (SELECT min(last) FROM (SELECT max(finished_at) AS last FROM executions GROUP BY priority) AS ends)"
    );
    let share = site.number(&share).await;
    println!(
        "priorities: low gets {}.{} % beside high",
        share / 10,
        share % 10
    );
    assert!(share >= 40, "{share} of 1000");
    drop(worker);
}

//! What people and deployments do to a running cluster: stop, continue, restart, mix versions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pawl_engine::control::StartRequest;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::node::Registry;
use serde_json::json;

use crate::broker::Spy;
use crate::flows::{calls, chain, strict};
use crate::member::config;
use crate::site::{Site, eventually};
use crate::tap::{Tap, port_of};

/// Two people stop it, this long after its start. Returns when the first of them had an answer, if any was a yes.
async fn stopped_twice(site: Arc<Site>, id: ExecutionId, after: Duration) -> Option<Instant> {
    tokio::time::sleep(after).await;
    let stop = || async {
        let answer = site.desk.control.stop(id).await;
        (answer.is_ok(), Instant::now())
    };
    let (one, two) = tokio::join!(stop(), stop());
    let yes = [one, two].into_iter().filter(|(yes, _)| *yes);
    yes.map(|(_, at)| at).min()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d39_stop_at_every_moment_of_a_step() {
    let site = Arc::new(Site::fresh("d39").await);
    let flow = calls(
        "three",
        site.world.url(),
        &["a?ms=40", "b?ms=40", "c?ms=40"],
    );
    let schema = site.save(&flow).await;
    let workers = [
        site.member("one").join().await,
        site.member("two").join().await,
    ];
    let mut stops = Vec::new();
    for number in 0..60 {
        let id = site.start(&schema).await;
        let after = Duration::from_millis(number * 5 % 200);
        stops.push((id, tokio::spawn(stopped_twice(site.clone(), id, after))));
    }
    let (mut stopped, mut completed) = (0, 0);
    for (id, answer) in stops {
        let answered = answer.await.unwrap();
        let status = site.ended(id).await.execution.head.status.name();
        let mut calls = site.world.all_calls();
        calls.retain(|call| call.execution() == id);
        match status {
            "stopped" => stopped += 1,
            "completed" => completed += 1,
            other => panic!("{id} is {other}"),
        }
        // It was answered with a no: then it had run to its end.
        let Some(answered) = answered else {
            assert_eq!(status, "completed");
            continue;
        };
        let late = calls.iter().filter(|call| call.at > answered).count();
        assert!(
            late <= 1,
            "{late} calls of {id} began after the stop was answered"
        );
        for call in calls {
            let seq = call.key.rsplit(':').next().unwrap();
            let sql = format!(
                "SELECT count(*) FROM execution_steps WHERE execution_id = '{id}' AND seq = {seq}"
            );
            assert_eq!(
                site.number(&sql).await,
                1,
                "{} was done and not recorded",
                call.key
            );
        }
    }
    println!("stop: {stopped} stopped, {completed} were faster");
    assert!(stopped >= 10 && site.drained_of_leases().await);
    site.world.each_key_once();
    site.sound().await;
    drop(workers);
}

impl Site {
    async fn drained_of_leases(&self) -> bool {
        let held = "SELECT count(*) FROM execution_state WHERE lease_token IS NOT NULL";
        self.number(held).await == 0
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d41_continue_pressed_by_fifty_people() {
    let site = Site::fresh("d41").await;
    let note = |id: &str| json!({"id": id, "type": "log", "config": {"message": id}});
    let schema = site.save(&chain("notes", vec![note("a"), note("b")])).await;
    let (server, worker) = (site.server().await, site.member("one").join().await);
    let body = json!({"schema": schema, "debug_mode": true});
    let started = server.post("/api/executions", &body).await;
    let id: ExecutionId = started.body["id"].as_str().unwrap().parse().unwrap();
    for seq in 1..=3 {
        eventually("it waits for the debugger", async || {
            let view = site.view(id).await;
            let waits = view.execution.head.status.name() == "waiting_debug";
            (waits && view.state.seq == seq).then_some(())
        })
        .await;
        let path = format!("/api/executions/{id}/continue");
        let body = json!({"mode": "step", "expect_seq": seq});
        let presses = (0..50).map(|_| server.post(&path, &body));
        let answers = futures_util::future::join_all(presses).await;
        let count = |status| {
            answers
                .iter()
                .filter(|answer| answer.status == status)
                .count()
        };
        assert_eq!((count(200), count(409)), (1, 49));
    }
    site.completed(&[id]).await;
    assert_eq!(site.path(id).await, ["start", "a", "b", "end"]);
    site.sound().await;
    drop(worker);
}

/// A worker that leaves takes nothing with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d43_terminated_worker_leaves_nothing_behind() {
    let site = Site::with("d43", "grace = \"2s\"\n").await;
    let schema = site
        .save(&calls("two", site.world.url(), &["a", "b"]))
        .await;
    // One whose message was acknowledged long before its end.
    let mut long = calls("long", site.world.url(), &["a"]);
    long["nodes"][1]["timeout"] = json!("6m");
    let long = site.save(&long).await;
    let mut leaver = site.worker().await;
    site.world.shut("a");
    let mut ids = site.start_many(&schema, 2).await;
    ids.push(site.start(&long).await);
    site.world.call("a", 3).await;
    site.drained(2).await;
    let locks = async || {
        site.number("SELECT count(*) FROM shard_locks WHERE locked")
            .await
    };
    eventually("it owns the timers", async || {
        (locks().await > 0).then_some(())
    })
    .await;
    // Its nodes do not finish in time: somebody else runs them at once, without waiting for a lease to run out.
    let told = Instant::now();
    leaver.signal("TERM");
    assert_eq!(leaver.ended().await.code(), Some(0), "{}", leaver.log());
    let took = told.elapsed();
    assert!(took < Duration::from_secs(10), "left after {took:?}");
    assert!(site.drained_of_leases().await, "leases are left");
    assert_eq!(site.number("SELECT count(*) FROM workers").await, 0);
    assert_eq!(locks().await, 0);
    let heir = site.worker().await;
    let up = Instant::now();
    let next = site.world.call("a", 6).await;
    println!(
        "SIGTERM: left after {took:?}, goes on {:?} after the next was up",
        next.at.duration_since(up)
    );
    assert!(next.at.duration_since(up) < Duration::from_secs(3));
    site.world.open("a");
    site.completed(&ids).await;
    for id in ids {
        let view = site.view(id).await;
        assert_eq!(view.state.recoveries, 0);
    }
    site.sound().await;
    drop(heir);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d43_terminated_worker_finishes_what_it_can() {
    let site = Site::fresh("d43b").await;
    let schema = site
        .save(&calls("two", site.world.url(), &["a", "b"]))
        .await;
    let mut leaver = site.worker().await;
    site.world.shut("a");
    site.world.shut("b");
    let id = site.start(&schema).await;
    site.world.call("a", 1).await;
    leaver.signal("TERM");
    // The word has been heard: no message is taken any more.
    eventually("it consumes no more", async || {
        site.start(&schema).await;
        (site.broker.depth(crate::broker::WORK).await.ready > 0).then_some(())
    })
    .await;
    let heir = site.member("heir").join().await;
    site.world.open("a");
    assert_eq!(leaver.ended().await.code(), Some(0), "{}", leaver.log());
    site.world.call("b", 1).await;
    assert_eq!(site.owner(id).await, "heir");
    site.world.open("b");
    site.completed(&[id]).await;
    site.world.each_key_once();
    site.sound().await;
    drop(heir);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d43_second_signal_does_not_wait() {
    let site = Site::fresh("d43c").await;
    let schema = site.save(&calls("pay", site.world.url(), &["pay"])).await;
    let (mut worker, mut server) = (site.worker().await, site.server().await);
    site.world.shut("pay");
    let id = site.start(&schema).await;
    site.world.call("pay", 1).await;
    let workers = "SELECT count(*) FROM workers";
    worker.signal("TERM");
    // The first has been heard: no message is taken any more.
    let later = eventually("it consumes no more", async || {
        let later = site.start(&schema).await;
        (site.broker.depth(crate::broker::WORK).await.ready > 0).then_some(later)
    })
    .await;
    assert_eq!(site.number(workers).await, 1, "it waits for its node");
    let second = Instant::now();
    worker.signal("TERM");
    assert_eq!(worker.ended().await.code(), Some(1));
    let took = second.elapsed();
    println!("second SIGTERM: gone after {took:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
    server.process.signal("TERM");
    assert_eq!(server.process.ended().await.code(), Some(0));
    // What it held is found like that of any worker that vanished.
    let heir = site.member("heir").join().await;
    site.world.call("pay", 2).await;
    site.world.open("pay");
    site.completed(&[id, later]).await;
    drop(heir);
}

/// Messages that were delivered too often and given up by the broker do no harm to their executions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d46_delivery_limit_hits_the_innocent() {
    let limit = "[broker]\nqueue_type = \"quorum\"\ndelivery_limit = 2\n";
    let site = Site::with("d46", limit).await;
    let schema = site.save(&calls("pay", site.world.url(), &["pay"])).await;
    let tap = Tap::start(port_of(&site.database)).await;
    let ids = site.start_many(&schema, 5).await;
    let letters = "SELECT count(DISTINCT execution_id) FROM dead_letters WHERE reason LIKE 'delivered too often%'";
    let mut deaths = 0;
    let waiting = async |place: usize| site.desk.queue.stats().await.queues[place].messages;
    while waiting(3).await < Some(5) {
        assert!(deaths < 5, "the limit is not kept");
        // Each dies before it could claim what it was given.
        tap.hold_on(ids[0].0.as_bytes());
        let engine = site.launch(&["worker", "--roles", "engine"]);
        let launch = engine.with_database(tap.instead_of(&site.database));
        let (victim, _) = launch.start().await;
        tap.caught().await;
        victim.kill();
        deaths += 1;
        eventually("the messages are back, or given up", async || {
            (waiting(1).await == Some(5) || waiting(3).await == Some(5)).then_some(())
        })
        .await;
    }
    println!("delivery limit 2: given up after {deaths} deaths");
    let worker = site.member("one").join().await;
    eventually("the letters are kept", async || {
        (site.number(letters).await == 5).then_some(())
    })
    .await;
    site.completed(&ids).await;
    site.world.each_key_once();
    site.sound().await;
    drop(worker);
}

/// A worker of an older version, which does not know `http_request` yet.
fn old_registry(site: &Site) -> Registry {
    let full = pawl::wiring::registry(&config(&site.settings), true).unwrap();
    let old = full
        .iter()
        .filter(|one| one.spec().node_type != "http_request");
    Registry::new(old.cloned().collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn d49_workers_of_two_versions() {
    let site = Site::fresh("d49").await;
    let flow = strict(calls("pay", site.world.url(), &["pay"]));
    let schema = site.save(&flow).await;
    let spy = Spy::on(&site.broker).await;
    let old = site
        .member("old")
        .with_registry(old_registry(&site))
        .join()
        .await;
    let server = site.server().await;
    let id = site.start(&schema).await;
    eventually("it stands before what nobody can run", async || {
        (site.path(id).await == ["start"] && site.owner(id).await.is_empty()).then_some(())
    })
    .await;
    let path = format!("/api/executions/{id}/explain");
    let explained = eventually("somebody explains", async || {
        let answer = server.get(&path).await.body;
        (answer["reason"] == "no_worker_for_type").then_some(answer)
    })
    .await;
    let sentence = explained["sentence"].as_str().unwrap();
    assert!(sentence.contains("`http_request`"), "{sentence}");
    // It is offered again, more and more rarely, and never in a loop.
    let begun = Instant::now();
    let offered = spy.until_work(4).await.len();
    assert!(
        begun.elapsed() > Duration::from_secs(1),
        "{offered} at once"
    );
    let new = site.member("new").join().await;
    site.completed(&[id]).await;
    let explained = server.get(&path).await.body;
    assert_eq!(explained["reason"], "ended");

    // Side by side, each takes what comes; the old one gives back what it cannot run.
    let ids = site.start_many(&schema, 10).await;
    site.completed(&ids).await;
    let messages = spy.work().len() - offered;
    println!(
        "two versions: {messages} messages for {} executions of three steps",
        ids.len() + 1
    );
    assert!(messages <= 11 * 8, "{messages} messages");
    site.world.each_key_once();
    site.sound().await;
    drop((old, new));
}

/// A server hears of what a worker does in another process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stop_and_wait_reach_other_processes_quickly() {
    let site = Site::usual("hints", "").await;
    let schema = site
        .save(&calls("pay", site.world.url(), &["pay?ms=200"]))
        .await;
    let endless = site
        .save(&calls("endless", site.world.url(), &["endless"]))
        .await;
    let (server, worker) = (site.server().await, site.worker().await);
    let mut delays = Vec::new();
    for _ in 0..10 {
        let answer = server
            .post("/api/executions?wait=30", &json!({"schema": schema}))
            .await;
        let now = jiff::Timestamp::now();
        assert_eq!(
            (answer.status, &answer.body["status"]),
            (201, &json!("completed"))
        );
        let ended: jiff::Timestamp = answer.body["finished_at"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        delays.push(Duration::try_from(now.duration_since(ended)).unwrap_or_default());
    }
    delays.sort();
    println!(
        "?wait: answered {:?} after the end, at most {:?}",
        delays[5], delays[9]
    );
    assert!(delays[9] < Duration::from_secs(2), "{delays:?}");
    site.world.shut("endless");
    let mut stops = Vec::new();
    for number in 0..5 {
        let request = StartRequest {
            schema: endless.clone().into(),
            ..StartRequest::default()
        };
        let id = site.desk.control.start(request).await.unwrap().id;
        site.world.call("endless", number + 1).await;
        let begun = Instant::now();
        let answer = server
            .post(&format!("/api/executions/{id}/stop"), &json!({}))
            .await;
        assert_eq!(answer.status, 200);
        let view = site.ended(id).await;
        stops.push(begun.elapsed());
        assert_eq!(view.execution.head.status.name(), "stopped");
    }
    stops.sort();
    println!(
        "stop of a running node elsewhere: {:?}, at most {:?}",
        stops[2], stops[4]
    );
    assert!(stops[4] < Duration::from_millis(1_500), "{stops:?}");
    drop(worker);
}

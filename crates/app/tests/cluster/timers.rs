//! Scheduled actions on real processes: workers with the role `timers` share the shards, and one of them is killed.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use crate::process::Process;
use crate::site::{Site, eventually};

/// Actions, and how many of them are due each second.
const ACTIONS: usize = 1_500;
const PER_SECOND: usize = 75;
/// A lock counts as free after ten seconds without its owner; what was due meanwhile is late by so much and a little.
const LATE_MAX_MS: u64 = 12_000;

async fn timers(site: &Site) -> Process {
    let (process, _) = site.launch(&["worker", "--roles", "timers"]).start().await;
    process
}

impl Site {
    /// Called back `after` from now, once, however often it must be tried.
    async fn call_back(&self, id: &str, after: Duration) {
        let body = json!({"spec": {
            "start_at": self.now().plus(after).to_string(),
            "policy": {"once": {"retry": {"max_retries": 5}}},
            "action": {"http_callback": {"url": format!("{}/{id}", self.world.url())}},
        }});
        let written = self.desk.control.put_action(id, &body, "test").await;
        written.unwrap();
    }

    /// Who holds how many shards, by their name.
    async fn owners(&self) -> Vec<(String, u64)> {
        let held =
            "SELECT last_locked_by, count(*) FROM shard_locks WHERE locked GROUP BY 1 ORDER BY 1";
        let rows = self.rows(held).await;
        let owner = |row: &Vec<String>| (row[0].clone(), row[1].parse().unwrap());
        rows.iter().map(owner).collect()
    }

    /// So many workers have all shards, each of them at least so many.
    pub(crate) async fn shared_by(&self, workers: usize, each: u64) {
        eventually(&format!("{workers} workers share the shards"), async || {
            let owners = self.owners().await;
            let all: u64 = owners.iter().map(|(_, shards)| shards).sum();
            let least = owners.iter().map(|(_, shards)| *shards).min()?;
            let shared = owners.len() == workers && all == 16 && least >= each;
            shared.then_some(())
        })
        .await;
    }

    async fn finished_at_least(&self, count: usize) {
        let finished = "SELECT count(*) FROM scheduled_actions WHERE finished_at IS NOT NULL";
        eventually(&format!("{count} actions are finished"), async || {
            (self.number(finished).await >= count as u64).then_some(())
        })
        .await;
    }
}

/// With the settings that people have: the lock of a dead worker is free after ten seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_three_timer_workers_is_killed_under_load() {
    let site = Site::usual("timer-workers", "").await;
    let mut workers = vec![
        timers(&site).await,
        timers(&site).await,
        timers(&site).await,
    ];
    site.shared_by(3, 4).await;
    let lead = Duration::from_secs(3);
    for number in 0..ACTIONS {
        let after = lead + Duration::from_millis((number * 1_000 / PER_SECOND) as u64);
        site.call_back(&format!("action-{number}"), after).await;
    }
    site.finished_at_least(ACTIONS / 4).await;
    workers.remove(1).kill();
    site.finished_at_least(ACTIONS).await;
    site.shared_by(2, 4).await;

    let count = |what: &str| format!("SELECT count(*) FROM scheduled_actions WHERE {what}");
    let done = "(status->>'successful')::int = 1 AND status->>'finished' = 'done'";
    assert_eq!(site.number(&count(done)).await, ACTIONS as u64);
    let called: BTreeSet<String> = site
        .world
        .all_calls()
        .into_iter()
        .map(|call| call.path)
        .collect();
    assert_eq!(called.len(), ACTIONS, "every one of them was called");
    let late = "SELECT coalesce(max((extract(epoch FROM started_at - planned_at) * 1000)::bigint), 0) \
                FROM action_attempts";
    let late = site.number(late).await;
    let early = "SELECT count(*) FROM action_attempts WHERE started_at < planned_at";
    assert_eq!(site.number(early).await, 0);
    let interrupted = count("(status->>'interrupted')::int > 0");
    let interrupted = site.number(&interrupted).await;
    eprintln!(
        "{ACTIONS} actions, late by at most {late} ms, {interrupted} interrupted by the kill"
    );
    assert!(late < LATE_MAX_MS, "late by {late} ms");
    drop(workers);
}

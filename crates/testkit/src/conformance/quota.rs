//! Quotas: who is admitted, who stands in line, and what is given back.

use std::time::Duration;

use pawl_kernel::execution::{Control, PriorityClass, Status, Wait, WaitKind};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{Command, Release, Skip};
use pawl_kernel::ports::quotas::{AdmissionReport, SetQuota};
use pawl_kernel::ports::store::{CreateOutcome, NewExecution};
use pawl_kernel::quota::{Quota, QuotaName, QuotaSource, QuotaUse};
use pawl_kernel::schema::definition::OnStuck;
use pawl_kernel::time::Timestamp;

use super::{Scene, StoreCase, cases};
use crate::fixture::{
    self, LEASE, at, commit, execution_id, new_execution, pass, sweep_request, uuid,
};

pub(super) const CASES: &[StoreCase] = cases!["quota":
    a_quota_that_nobody_set_is_no_quota,
    there_is_room_or_there_is_a_line,
    whoever_stands_in_line_is_pending,
    nobody_runs_what_stands_in_line,
    an_end_lets_the_next_one_in,
    every_way_to_end_gives_back,
    an_end_gives_back_once,
    the_oldest_goes_first,
    nobody_overtakes_those_in_line,
    classes_take_turns,
    keys_take_turns,
    all_its_quotas_must_have_room,
    at_most_as_many_as_asked_for,
    a_stop_in_line_leaves_it,
    a_pause_in_line_steps_aside,
    a_signal_in_line_changes_nothing,
    a_delayed_start_stands_in_line_later,
    a_delayed_start_that_was_paused_comes_to_the_line_by_resume,
    a_delayed_start_that_was_stopped_never_does,
    a_key_seen_before_takes_no_place,
    the_schema_sets_a_limit_by_itself,
    the_newest_version_has_its_say,
    an_operator_wins_over_the_schema,
    a_raised_limit_lets_more_in,
    a_lowered_limit_waits_for_ends,
    a_removed_quota_holds_nobody,
    a_quota_set_again_knows_who_was_there,
    a_rate_spreads_admissions,
    a_rate_of_a_key_opens_its_lane,
    lists_what_limits_somebody,
    tells_who_holds_a_quota,
    tells_the_place_in_line,
    counts_in_who_was_there_before,
    counts_in_everybody_once,
    counts_in_nobody_else,
    nothing_is_miscounted,
];

fn name(text: &str) -> QuotaName {
    text.parse().unwrap()
}

/// An execution that counts against these, if they are set.
fn counted(n: u64, quotas: &[&str]) -> NewExecution {
    let mut new = new_execution(n);
    let claims = quotas.iter().map(|text| QuotaUse::if_set(name(text)));
    new.execution.head.quotas = claims.collect();
    new
}

/// An execution whose schema says so many of this key.
fn keyed(n: u64, key: &str, limit: u32, version: u32) -> NewExecution {
    let mut new = new_execution(n);
    new.execution.head.quotas = vec![QuotaUse::with_limit(name(key), limit, version)];
    new
}

fn of_class(mut new: NewExecution, class: PriorityClass) -> NewExecution {
    new.execution.head.priority = class;
    new
}

impl Scene {
    async fn set(&self, quota: &str, limit: u32) -> Quota {
        self.set_with(quota, limit, None).await
    }

    async fn set_with(&self, quota: &str, limit: u32, rate: Option<&str>) -> Quota {
        let set = SetQuota {
            name: name(quota),
            limit,
            rate: rate.map(|rate| rate.parse().unwrap()),
            source: QuotaSource::Api,
        };
        self.store.set_quota(set, at(0)).await.unwrap()
    }

    async fn enter(&self, new: NewExecution) -> CreateOutcome {
        self.store.create(new).await.unwrap()
    }

    async fn admit(&self, now: Timestamp) -> Vec<ExecutionId> {
        admitted(&self.store.admit(now, 100).await.unwrap())
    }

    /// Used and waiting.
    async fn use_of(&self, quota: &str) -> (u64, u64) {
        let found = self.store.quota(name(quota)).await.unwrap();
        found.map_or((0, 0), |quota| (quota.used, quota.waiting))
    }

    async fn end(&self, n: u64, now: Timestamp) {
        self.finish(execution_id(n), Status::Completed, now).await;
    }

    /// Ends the holder of a place and admits the next, again and again; returns who was admitted.
    async fn turn_over(&self, rounds: usize) -> Vec<ExecutionId> {
        let mut all = Vec::new();
        let mut running = self.admit(at(100)).await;
        for round in 0..rounds {
            let Some(id) = running.pop() else { break };
            self.finish(id, Status::Completed, at(200 + round as i64))
                .await;
            let next = self.admit(at(200 + round as i64)).await;
            all.extend(&next);
            running.extend(next);
        }
        all
    }
}

fn admitted(look: &AdmissionReport) -> Vec<ExecutionId> {
    let ids = look.dispatches.iter().map(|dispatch| dispatch.execution_id);
    ids.collect()
}

async fn a_quota_that_nobody_set_is_no_quota(scene: Scene) {
    let answer = scene
        .enter(counted(1, &["schema:flow-1", "tenant:acme"]))
        .await;
    assert_eq!(answer, CreateOutcome::New);
    let execution = scene.execution(execution_id(1)).await;
    assert_eq!(
        (execution.head.status, execution.head.quotas),
        (Status::Queued, vec![])
    );
    assert_eq!(scene.store.quotas(false, None, 10).await.unwrap(), []);
    assert_eq!(
        scene.store.admit(at(9), 10).await.unwrap(),
        AdmissionReport::default()
    );
}

async fn there_is_room_or_there_is_a_line(scene: Scene) {
    scene.set("schema:flow-1", 2).await;
    let answers = [
        CreateOutcome::Admitted,
        CreateOutcome::Admitted,
        CreateOutcome::InLine,
    ];
    for (n, expected) in (1..).zip(answers) {
        let answer = scene
            .enter(counted(n, &["schema:flow-1", "tenant:none"]))
            .await;
        assert_eq!(answer, expected);
        let execution = scene.execution(execution_id(n)).await;
        let claims = vec![QuotaUse::if_set(name("schema:flow-1"))];
        assert_eq!(execution.head.quotas, claims, "only what is set");
    }
    assert_eq!(scene.use_of("schema:flow-1").await, (2, 1));
    assert!(scene.admit(at(10)).await.is_empty());
}

/// Whatever it was meant to be born as.
async fn whoever_stands_in_line_is_pending(scene: Scene) {
    scene.set("tenant:acme", 0).await;
    let mut new = counted(1, &["tenant:acme"]);
    new.execution.head.status = Status::Running;
    new.execution.head.started_at = Some(at(1));
    new.state.recoveries = 1;
    new.state.lease = Some(fixture::claim_request(execution_id(1), 5, at(1)).lease);
    assert_eq!(scene.enter(new).await, CreateOutcome::InLine);
    let view = scene.view(execution_id(1)).await;
    let (execution, state) = (view.execution, view.state);
    assert_eq!(execution.head.status, Status::Pending);
    assert_eq!(
        (execution.head.queued_at, execution.head.started_at),
        (None, None)
    );
    assert_eq!((state.lease, state.recoveries), (None, 0));
    let wait = state.wait.unwrap();
    assert_eq!((wait.kind, wait.wake_at), (WaitKind::Admission, None));
}

async fn nobody_runs_what_stands_in_line(scene: Scene) {
    scene.set("tenant:acme", 0).await;
    scene.enter(counted(1, &["tenant:acme"])).await;
    let id = execution_id(1);
    assert_eq!(scene.refused(id, at(5)).await, Skip::Waiting);
    let sweep = scene.store.sweep(sweep_request(at(1000))).await.unwrap();
    assert_eq!(sweep.due, []);
}

async fn an_end_lets_the_next_one_in(scene: Scene) {
    scene.set("schema:flow-1", 1).await;
    for n in 1..=3 {
        scene.enter(counted(n, &["schema:flow-1"])).await;
    }
    assert!(scene.admit(at(10)).await.is_empty());
    scene.end(1, at(11)).await;
    assert_eq!(scene.use_of("schema:flow-1").await, (0, 2));
    let look = scene.store.admit(at(12), 10).await.unwrap();
    assert_eq!(
        (admitted(&look), look.waiting),
        (vec![execution_id(2)], true)
    );
    let view = scene.view(execution_id(2)).await;
    assert_eq!(view.execution.head.status, Status::Queued);
    assert_eq!(view.execution.head.queued_at, Some(at(12)));
    assert_eq!((&view.state.wait, view.state.version), (&None, 2));
    let entered_at = view.state.position.entered_at;
    assert_eq!(entered_at, at(12), "the line is no part of the first node");
    assert_eq!(look.dispatches[0].node_id, view.state.position.node_id);
    scene.end(2, at(13)).await;
    let last = scene.store.admit(at(14), 10).await.unwrap();
    assert_eq!(
        (admitted(&last), last.waiting),
        (vec![execution_id(3)], false)
    );
}

async fn every_way_to_end_gives_back(scene: Scene) {
    scene.set("tenant:acme", 9).await;
    for n in 1..=6 {
        scene.enter(counted(n, &["tenant:acme"])).await;
    }
    let id = execution_id;
    scene.end(1, at(10)).await;
    scene.command(id(2), Command::Stop, at(10)).await;
    // A worker that vanished, with the schema saying that this is the end.
    scene.claim(id(3), 3, at(10)).await;
    let late = at(11 + LEASE);
    scene.store.reap(id(3), OnStuck::Fail, late).await.unwrap();
    // A stop that its holder applies, one that a shutdown applies, one that the reaper applies.
    let claimed = scene.claim(id(4), 4, late).await;
    scene.command(id(4), Command::Stop, late).await;
    let go_on = commit(&claimed.state, late).steps(1).keep(at(500));
    assert!(scene.commit(go_on.build()).await.ended.is_some());
    scene.claim(id(5), 5, late).await;
    scene.command(id(5), Command::Stop, late).await;
    let lease = vec![(id(5), uuid(5))];
    scene
        .store
        .release(lease, Release::Unbegun, late)
        .await
        .unwrap();
    assert_eq!(scene.state(id(6)).await.control, None::<Control>);
    // A claim that finds that too many workers have died of it.
    for token in 0..5 {
        scene
            .claim(id(6), 60 + token, at(100 + 40 * token as i64))
            .await;
    }
    let last = fixture::claim_request(id(6), 99, at(900));
    super::scene::ended(scene.ask(last, at(900)).await);
    for n in 1..=6 {
        assert!(scene.status(id(n)).await.is_terminal(), "{n}");
    }
    assert_eq!(scene.use_of("tenant:acme").await, (0, 0));
    assert_eq!(
        scene.store.holders(name("tenant:acme"), 9).await.unwrap(),
        []
    );
}

async fn an_end_gives_back_once(scene: Scene) {
    scene.set("tenant:acme", 3).await;
    for n in 1..=2 {
        scene.enter(counted(n, &["tenant:acme"])).await;
    }
    let id = execution_id(1);
    scene.command(id, Command::Stop, at(5)).await;
    scene.command(id, Command::Stop, at(6)).await;
    scene.store.clear_leases(at(7)).await.unwrap();
    assert_eq!(scene.use_of("tenant:acme").await, (1, 0));
}

async fn the_oldest_goes_first(scene: Scene) {
    scene.set("schema:flow-1", 0).await;
    for n in [3, 1, 4, 2] {
        scene.enter(counted(n, &["schema:flow-1"])).await;
    }
    scene.set("schema:flow-1", 10).await;
    assert_eq!(scene.admit(at(9)).await, [1, 2, 3, 4].map(execution_id));
}

/// Although there would be room, at this moment, for the execution that comes now.
async fn nobody_overtakes_those_in_line(scene: Scene) {
    scene.set("schema:flow-1", 1).await;
    scene.enter(counted(1, &["schema:flow-1"])).await;
    scene.enter(counted(2, &["schema:flow-1"])).await;
    scene.end(1, at(5)).await;
    let late = scene.enter(counted(3, &["schema:flow-1"])).await;
    assert_eq!(late, CreateOutcome::InLine);
    assert_eq!(scene.admit(at(6)).await, [execution_id(2)]);
}

async fn classes_take_turns(scene: Scene) {
    scene.set("schema:flow-1", 1).await;
    let classes = [
        PriorityClass::High,
        PriorityClass::Normal,
        PriorityClass::Low,
    ];
    scene.enter(counted(1, &["schema:flow-1"])).await;
    for n in 2..=91 {
        let class = classes[n as usize % 3];
        scene
            .enter(of_class(counted(n, &["schema:flow-1"]), class))
            .await;
    }
    scene.end(1, at(99)).await;
    let order = scene.turn_over(32).await;
    let mut counts = [0; 3];
    for id in &order[..31] {
        counts[scene.execution(*id).await.head.priority.code() as usize - 1] += 1;
    }
    // Thirty of each wait; 16 to 4 to 1 while there are enough.
    assert!((22..=24).contains(&counts[0]), "{counts:?}");
    assert!((5..=7).contains(&counts[1]), "{counts:?}");
    assert!((1..=3).contains(&counts[2]), "{counts:?}");
}

/// One key with a long line does not keep another one waiting.
async fn keys_take_turns(scene: Scene) {
    scene.set("schema:flow-1", 1).await;
    for n in 1..=30 {
        let key = if n < 30 {
            "key:flow-1/long"
        } else {
            "key:flow-1/short"
        };
        let mut new = keyed(n, key, 5, 1);
        new.execution
            .head
            .quotas
            .push(QuotaUse::if_set(name("schema:flow-1")));
        scene.enter(new).await;
    }
    scene.end(1, at(99)).await;
    let order = scene.turn_over(6).await;
    assert!(order[..2].contains(&execution_id(30)), "{order:?}");
}

async fn all_its_quotas_must_have_room(scene: Scene) {
    scene.set("schema:flow-1", 5).await;
    scene.set("tenant:a", 1).await;
    scene.set("tenant:b", 1).await;
    let quotas = |tenant| ["schema:flow-1", tenant];
    for n in 1..=3 {
        scene.enter(counted(n, &quotas("tenant:a"))).await;
    }
    scene.enter(counted(4, &quotas("tenant:b"))).await;
    // Executions wait for the schema's quota too, so the fourth stood in line; nothing else keeps it.
    assert_eq!(scene.admit(at(9)).await, [execution_id(4)]);
    assert_eq!(scene.use_of("schema:flow-1").await, (2, 2));
    assert_eq!(scene.use_of("tenant:a").await, (1, 2));
    scene.end(1, at(10)).await;
    assert_eq!(scene.admit(at(11)).await, [execution_id(2)]);
}

async fn at_most_as_many_as_asked_for(scene: Scene) {
    scene.set("schema:flow-1", 0).await;
    for n in 1..=5 {
        scene.enter(counted(n, &["schema:flow-1"])).await;
    }
    scene.set("schema:flow-1", 4).await;
    let first = scene.store.admit(at(9), 3).await.unwrap();
    assert_eq!((admitted(&first).len(), first.waiting), (3, true));
    let second = scene.store.admit(at(9), 3).await.unwrap();
    assert_eq!((admitted(&second).len(), second.waiting), (1, true));
}

async fn a_stop_in_line_leaves_it(scene: Scene) {
    scene.set("tenant:acme", 1).await;
    for n in 1..=3 {
        scene.enter(counted(n, &["tenant:acme"])).await;
    }
    let stopped = scene.command(execution_id(2), Command::Stop, at(5)).await;
    assert_eq!(stopped.status, Status::Stopped);
    assert_eq!(scene.use_of("tenant:acme").await, (1, 1));
    scene.end(1, at(6)).await;
    assert_eq!(scene.admit(at(7)).await, [execution_id(3)]);
    assert_eq!(scene.use_of("tenant:acme").await, (1, 0));
}

/// It takes no place while it is paused, and is as old as before when it comes back.
async fn a_pause_in_line_steps_aside(scene: Scene) {
    scene.set("tenant:acme", 1).await;
    for n in 1..=4 {
        scene.enter(counted(n, &["tenant:acme"])).await;
    }
    let id = execution_id(2);
    let paused = scene.command(id, Command::Pause, at(5)).await;
    assert_eq!(paused.status, Status::Paused);
    assert_eq!(scene.use_of("tenant:acme").await, (1, 2));
    scene.end(1, at(6)).await;
    assert_eq!(scene.admit(at(7)).await, [execution_id(3)]);
    let resumed = scene.command(id, Command::Resume, at(8)).await;
    assert_eq!((resumed.status, resumed.dispatch), (Status::Pending, None));
    scene.end(3, at(9)).await;
    assert_eq!(scene.admit(at(10)).await, [id]);
}

async fn a_signal_in_line_changes_nothing(scene: Scene) {
    scene.set("tenant:acme", 0).await;
    scene.enter(counted(1, &["tenant:acme"])).await;
    let signalled = scene.signal(execution_id(1), "s", "paid").await;
    assert_eq!(
        (signalled.status, signalled.dispatch),
        (Status::Pending, None)
    );
    assert_eq!(scene.use_of("tenant:acme").await, (0, 1));
    scene.set("tenant:acme", 1).await;
    assert_eq!(scene.admit(at(6)).await, [execution_id(1)]);
    assert_eq!(scene.state(execution_id(1)).await.inbox, 1);
}

/// Starts at second 50.
fn delayed(n: u64, quotas: &[&str]) -> NewExecution {
    let mut new = counted(n, quotas);
    new.execution.head.status = Status::Pending;
    new.execution.head.queued_at = None;
    new.state.wait = Some(Wait {
        kind: WaitKind::Start,
        id: uuid(n),
        wake_at: Some(at(50)),
        name: None,
    });
    new
}

async fn fire_all(scene: &Scene, now: Timestamp) -> usize {
    let shards = scene.lock_all(70, now).await;
    let due = scene
        .due(70, &shards, now.plus(Duration::from_secs(1)))
        .await;
    let fired = scene.store.fire(pass(uuid(70)), due, now).await.unwrap();
    scene
        .store
        .unlock_shards(vec![uuid(70)], None, at(1))
        .await
        .unwrap();
    fired.len()
}

async fn a_delayed_start_stands_in_line_later(scene: Scene) {
    scene.set("tenant:acme", 1).await;
    assert_eq!(
        scene.enter(delayed(1, &["tenant:acme"])).await,
        CreateOutcome::New
    );
    assert_eq!(scene.use_of("tenant:acme").await, (0, 0), "not yet");
    // Room that no execution uses yet is for the first that comes.
    assert_eq!(
        scene.enter(counted(2, &["tenant:acme"])).await,
        CreateOutcome::Admitted
    );
    assert_eq!(fire_all(&scene, at(60)).await, 0, "no message for it");
    assert_eq!(scene.status(execution_id(1)).await, Status::Pending);
    assert_eq!(scene.use_of("tenant:acme").await, (1, 1));
    scene.end(2, at(61)).await;
    assert_eq!(scene.admit(at(62)).await, [execution_id(1)]);
    assert_eq!(
        scene.execution(execution_id(1)).await.head.queued_at,
        Some(at(62))
    );
}

async fn a_delayed_start_that_was_paused_comes_to_the_line_by_resume(scene: Scene) {
    scene.set("tenant:acme", 1).await;
    scene.enter(delayed(1, &["tenant:acme"])).await;
    let id = execution_id(1);
    scene.command(id, Command::Pause, at(5)).await;
    fire_all(&scene, at(60)).await;
    assert_eq!(scene.status(id).await, Status::Paused);
    assert_eq!(scene.use_of("tenant:acme").await, (0, 0));
    assert!(scene.admit(at(61)).await.is_empty());
    scene.command(id, Command::Resume, at(62)).await;
    assert_eq!(scene.admit(at(63)).await, [id]);
}

async fn a_delayed_start_that_was_stopped_never_does(scene: Scene) {
    scene.set("tenant:acme", 1).await;
    scene.enter(delayed(1, &["tenant:acme"])).await;
    scene.command(execution_id(1), Command::Stop, at(5)).await;
    fire_all(&scene, at(60)).await;
    assert_eq!(scene.use_of("tenant:acme").await, (0, 0));
    assert!(scene.admit(at(61)).await.is_empty());
}

async fn a_key_seen_before_takes_no_place(scene: Scene) {
    scene.set("tenant:acme", 2).await;
    let with_key = |n| {
        let mut new = counted(n, &["tenant:acme"]);
        new.execution.record.idempotency_key = Some("order-1".into());
        new
    };
    assert_eq!(scene.enter(with_key(1)).await, CreateOutcome::Admitted);
    let again = scene.enter(with_key(2)).await;
    assert_eq!(again, CreateOutcome::Existing(execution_id(1)));
    assert_eq!(scene.use_of("tenant:acme").await, (1, 0));
}

async fn the_schema_sets_a_limit_by_itself(scene: Scene) {
    let key = "key:flow-1/ACME";
    assert_eq!(
        scene.enter(keyed(1, key, 1, 1)).await,
        CreateOutcome::Admitted
    );
    assert_eq!(
        scene.enter(keyed(2, key, 1, 1)).await,
        CreateOutcome::InLine
    );
    let other = scene.enter(keyed(3, "key:flow-1/other", 1, 1)).await;
    assert_eq!(
        other,
        CreateOutcome::Admitted,
        "keys do not mind each other"
    );
    let quota = scene.store.quota(name(key)).await.unwrap().unwrap();
    assert_eq!((quota.limit(), quota.source), (Some(1), None));
    scene.end(1, at(5)).await;
    assert_eq!(scene.admit(at(6)).await, [execution_id(2)]);
    scene.end(2, at(7)).await;
    scene.end(3, at(7)).await;
    assert_eq!(
        scene.store.quotas(false, None, 9).await.unwrap(),
        [],
        "no trace"
    );
}

async fn the_newest_version_has_its_say(scene: Scene) {
    let key = "key:flow-1/ACME";
    scene.enter(keyed(1, key, 1, 2)).await;
    scene.enter(keyed(2, key, 9, 1)).await;
    assert!(
        scene.admit(at(3)).await.is_empty(),
        "an old version raises nothing"
    );
    scene.enter(keyed(3, key, 2, 3)).await;
    assert_eq!(scene.admit(at(4)).await, [execution_id(2)]);
}

async fn an_operator_wins_over_the_schema(scene: Scene) {
    let key = "key:flow-1/ACME";
    scene.set(key, 2).await;
    for n in 1..=3 {
        scene.enter(keyed(n, key, 1, 1)).await;
    }
    assert_eq!(scene.use_of(key).await, (2, 1));
    assert!(scene.store.remove_quota(name(key), at(5)).await.unwrap());
    let quota = scene.store.quota(name(key)).await.unwrap().unwrap();
    assert_eq!((quota.limit(), quota.used), (Some(1), 2));
    assert!(!scene.store.remove_quota(name(key), at(6)).await.unwrap());
    scene.end(1, at(7)).await;
    assert!(scene.admit(at(8)).await.is_empty());
    scene.end(2, at(9)).await;
    assert_eq!(scene.admit(at(10)).await, [execution_id(3)]);
}

async fn a_raised_limit_lets_more_in(scene: Scene) {
    for quota in ["tenant:acme", "key:flow-1/ACME"] {
        let offset = if quota.starts_with("key") { 10 } else { 0 };
        scene.set(quota, 1).await;
        for n in 1..=4 {
            scene.enter(counted(offset + n, &[quota])).await;
        }
        assert!(scene.admit(at(5)).await.is_empty());
        scene.set(quota, 3).await;
        let more = [2, 3].map(|n| execution_id(offset + n));
        assert_eq!(scene.admit(at(6)).await, more);
    }
}

async fn a_lowered_limit_waits_for_ends(scene: Scene) {
    for quota in ["tenant:acme", "key:flow-1/ACME"] {
        let offset = if quota.starts_with("key") { 10 } else { 0 };
        scene.set(quota, 3).await;
        for n in 1..=4 {
            scene.enter(counted(offset + n, &[quota])).await;
        }
        scene.set(quota, 1).await;
        for n in 1..=2 {
            scene.end(offset + n, at(5)).await;
            assert!(scene.admit(at(6)).await.is_empty(), "{quota}");
        }
        scene.end(offset + 3, at(7)).await;
        assert_eq!(scene.admit(at(8)).await, [execution_id(offset + 4)]);
    }
}

async fn a_removed_quota_holds_nobody(scene: Scene) {
    for quota in ["tenant:acme", "key:flow-1/ACME"] {
        let offset = if quota.starts_with("key") { 10 } else { 0 };
        scene.set(quota, 1).await;
        for n in 1..=3 {
            scene.enter(counted(offset + n, &[quota])).await;
        }
        assert!(scene.store.remove_quota(name(quota), at(5)).await.unwrap());
        assert_eq!(scene.store.quota(name(quota)).await.unwrap(), None);
        let rest = [2, 3].map(|n| execution_id(offset + n));
        assert_eq!(scene.admit(at(6)).await, rest, "{quota}");
    }
}

async fn a_quota_set_again_knows_who_was_there(scene: Scene) {
    scene.set("tenant:acme", 5).await;
    for n in 1..=2 {
        scene.enter(counted(n, &["tenant:acme"])).await;
    }
    scene
        .store
        .remove_quota(name("tenant:acme"), at(3))
        .await
        .unwrap();
    assert_eq!(
        scene.enter(counted(3, &["tenant:acme"])).await,
        CreateOutcome::New
    );
    assert_eq!(scene.execution(execution_id(3)).await.head.quotas, []);
    let quota = scene.set("tenant:acme", 2).await;
    assert_eq!(quota.used, 2);
    assert_eq!(
        scene.enter(counted(4, &["tenant:acme"])).await,
        CreateOutcome::InLine
    );
}

async fn a_rate_spreads_admissions(scene: Scene) {
    scene.set_with("tenant:acme", 100, Some("2/s")).await;
    for n in 1..=4 {
        let mut new = counted(n, &["tenant:acme"]);
        new.state.updated_at = at(10);
        scene.enter(new).await;
    }
    assert_eq!(
        scene.use_of("tenant:acme").await,
        (1, 3),
        "the first at once"
    );
    let half = at(10).plus(Duration::from_millis(500));
    let early = scene.store.admit(at(10), 10).await.unwrap();
    assert_eq!(
        (admitted(&early), early.look_again_at),
        (vec![], Some(half))
    );
    let look = scene.store.admit(half, 10).await.unwrap();
    assert_eq!(admitted(&look), [execution_id(2)]);
    assert_eq!(look.look_again_at, Some(at(11)));
    let later = scene.store.admit(at(60), 10).await.unwrap();
    assert_eq!(admitted(&later).len(), 1, "nothing is saved up");
    // Full by its limit, it is no use to look again for its rate.
    scene.set_with("tenant:acme", 3, Some("2/s")).await;
    let full = scene.store.admit(at(70), 10).await.unwrap();
    assert_eq!((full.waiting, full.look_again_at), (true, None));
}

async fn a_rate_of_a_key_opens_its_lane(scene: Scene) {
    let key = "key:flow-1/ACME";
    scene.set_with(key, 100, Some("1/s")).await;
    for n in 1..=3 {
        let mut new = keyed(n, key, 7, 1);
        new.state.updated_at = at(10);
        scene.enter(new).await;
    }
    let early = scene.store.admit(at(10), 10).await.unwrap();
    assert_eq!(
        (admitted(&early), early.look_again_at),
        (vec![], Some(at(11)))
    );
    assert_eq!(scene.admit(at(11)).await, [execution_id(2)]);
    assert!(scene.admit(at(11)).await.is_empty());
    assert_eq!(scene.admit(at(12)).await, [execution_id(3)]);
}

async fn lists_what_limits_somebody(scene: Scene) {
    scene.set("tenant:b", 2).await;
    scene.set_with("tenant:a", 1, Some("100/m")).await;
    scene.enter(keyed(1, "key:flow-1/x", 3, 1)).await;
    let all = scene.store.quotas(false, None, 10).await.unwrap();
    let names: Vec<&str> = all.iter().map(|quota| quota.name.as_str()).collect();
    assert_eq!(names, ["key:flow-1/x", "tenant:a", "tenant:b"]);
    assert_eq!(all[1].rate.unwrap().to_string(), "100/m");
    assert_eq!((all[0].used, all[0].source), (1, None));
    let page = scene
        .store
        .quotas(false, Some(all[0].name.clone()), 1)
        .await
        .unwrap();
    assert_eq!(page, [all[1].clone()]);
    let one = scene.store.quota(name("tenant:b")).await.unwrap();
    assert_eq!(one, Some(all[2].clone()));
    assert_eq!(scene.store.quota(name("tenant:c")).await.unwrap(), None);
}

async fn tells_who_holds_a_quota(scene: Scene) {
    scene.set("tenant:acme", 2).await;
    for n in 1..=3 {
        scene.enter(counted(n, &["tenant:acme"])).await;
    }
    let holders = scene.store.holders(name("tenant:acme"), 9).await.unwrap();
    let seen: Vec<_> = holders.iter().map(|h| (h.execution_id, h.since)).collect();
    assert_eq!(seen, [(execution_id(1), at(1)), (execution_id(2), at(2))]);
    scene.end(1, at(5)).await;
    scene.admit(at(6)).await;
    let holders = scene.store.holders(name("tenant:acme"), 1).await.unwrap();
    assert_eq!(holders[0].execution_id, execution_id(2));
    let none = scene.store.holders(name("tenant:other"), 9).await.unwrap();
    assert_eq!(none, []);
}

async fn tells_the_place_in_line(scene: Scene) {
    scene.set("tenant:acme", 1).await;
    scene.set("schema:flow-1", 9).await;
    for n in 1..=4 {
        scene
            .enter(counted(n, &["tenant:acme", "schema:flow-1"]))
            .await;
    }
    let place = async |n| {
        scene
            .store
            .admission_position(execution_id(n))
            .await
            .unwrap()
    };
    assert_eq!(place(1).await, None);
    assert_eq!(place(404).await, None);
    let fourth = place(4).await.unwrap();
    assert_eq!((fourth.before, fourth.priority), (2, PriorityClass::Normal));
    let full: Vec<bool> = fourth.quotas.iter().map(|q| !q.has_room(at(9))).collect();
    let names: Vec<&str> = fourth.quotas.iter().map(|q| q.name.as_str()).collect();
    assert_eq!(
        (names, full),
        (vec!["schema:flow-1", "tenant:acme"], vec![false, true])
    );
}

async fn counts_in_who_was_there_before(scene: Scene) {
    scene.set("tenant:acme", 2).await;
    scene.create(1).await;
    scene.enter(counted(2, &["tenant:acme"])).await;
    scene.enter(counted(3, &["tenant:acme"])).await;
    scene.enter(counted(4, &["tenant:acme"])).await;
    scene.enter(delayed(5, &["tenant:acme"])).await;
    scene.enter(delayed(6, &[])).await;
    scene.create(7).await;
    scene.end(7, at(8)).await;
    let quota = scene.set("schema:flow-1", 3).await;
    assert_eq!(quota.used, 0);
    let ids: Vec<ExecutionId> = (1..=8).map(execution_id).collect();
    let count = scene.store.count_in(quota.name.clone(), ids.clone(), at(9));
    assert_eq!(count.await.unwrap(), 6, "all but the one that has ended");
    let again = scene.store.count_in(quota.name.clone(), ids, at(9)).await;
    assert_eq!(again.unwrap(), 0);
    assert_eq!(scene.use_of("schema:flow-1").await, (3, 1));
    assert_eq!(scene.use_of("tenant:acme").await, (2, 1));
    scene.end(2, at(10)).await;
    assert_eq!(scene.use_of("schema:flow-1").await, (2, 1));
    assert_eq!(scene.admit(at(11)).await, [execution_id(4)]);
    fire_all(&scene, at(60)).await;
    assert_eq!(scene.use_of("schema:flow-1").await, (3, 2));
    assert!(scene.admit(at(61)).await.is_empty());
    scene.end(1, at(62)).await;
    assert_eq!(scene.admit(at(63)).await, [execution_id(6)]);
}

fn of_tenant(n: u64, tenant: &str) -> NewExecution {
    let mut new = new_execution(n);
    new.execution.record.tenant = Some(tenant.into());
    new
}

impl Scene {
    /// Every execution that the quota concerns.
    async fn count_in(&self, quota: &str) -> u64 {
        let counted = self.store.count_rest(name(quota), at(9));
        counted.await.unwrap()
    }
}

/// A quota knows whether an execution is left to be counted: who asks again, perhaps after half of it was done, gets
/// the rest, and then nothing is looked at any more.
async fn counts_in_everybody_once(scene: Scene) {
    for n in 1..=4 {
        scene.enter(of_tenant(n, "acme")).await;
    }
    scene.end(4, at(5)).await;
    scene.set("tenant:acme", 1).await;
    // So far its process came.
    let some = vec![execution_id(2)];
    let counted = scene.store.count_in(name("tenant:acme"), some, at(6)).await;
    assert_eq!(counted.unwrap(), 1);
    scene.set("tenant:acme", 2).await;
    assert_eq!(scene.count_in("tenant:acme").await, 2);
    assert_eq!(scene.use_of("tenant:acme").await, (3, 0));
    // Done is done: this one would have said by itself that it counts.
    scene.enter(of_tenant(5, "acme")).await;
    scene.set("tenant:acme", 3).await;
    assert_eq!(scene.count_in("tenant:acme").await, 0);
    // While it is not set no execution counts, so that there is something to do again.
    let removed = scene.store.remove_quota(name("tenant:acme"), at(7)).await;
    assert!(removed.unwrap());
    assert_eq!(scene.count_in("tenant:acme").await, 0);
    scene.set("tenant:acme", 3).await;
    assert_eq!(scene.count_in("tenant:acme").await, 1);
    assert_eq!(scene.use_of("tenant:acme").await, (4, 0));
}

async fn counts_in_nobody_else(scene: Scene) {
    scene.enter(of_tenant(1, "acme")).await;
    scene.enter(of_tenant(2, "other")).await;
    scene.create(3).await;
    for quota in [
        "tenant:acme",
        "schema:flow-1",
        "schema:none",
        "key:flow-1/x",
    ] {
        assert_eq!(scene.count_in(quota).await, 0, "{quota} is not set");
        scene.set(quota, 9).await;
    }
    assert_eq!(scene.count_in("tenant:acme").await, 1);
    assert_eq!(scene.count_in("schema:flow-1").await, 3);
    assert_eq!(scene.count_in("schema:none").await, 0);
    assert_eq!(scene.count_in("key:flow-1/x").await, 0);
    let claims = |quotas: &[&str]| -> Vec<QuotaUse> {
        let claims = quotas.iter().map(|quota| QuotaUse::if_set(name(quota)));
        claims.collect()
    };
    let first = scene.execution(execution_id(1)).await.head.quotas;
    assert_eq!(first, claims(&["schema:flow-1", "tenant:acme"]));
    let second = scene.execution(execution_id(2)).await.head.quotas;
    assert_eq!(second, claims(&["schema:flow-1"]));
}

async fn nothing_is_miscounted(scene: Scene) {
    scene.set("tenant:acme", 2).await;
    for n in 1..=5 {
        scene.enter(counted(n, &["tenant:acme"])).await;
    }
    scene.command(execution_id(4), Command::Pause, at(6)).await;
    scene.end(1, at(7)).await;
    scene.admit(at(8)).await;
    let ids: Vec<ExecutionId> = (1..=6).map(execution_id).collect();
    for fix in [false, true] {
        let wrong = scene.store.check_counted(ids.clone(), fix, at(9)).await;
        assert_eq!(wrong.unwrap(), []);
        assert_eq!(scene.store.recount(fix, at(9)).await.unwrap(), []);
    }
}

//! Shard locks and timers.

use std::collections::{BTreeMap, BTreeSet};

use pawl_kernel::execution::Status;
use pawl_kernel::lifecycle::{Command, Skip};
use pawl_kernel::ports::store::{ClusterView, DueTimer, TimerKind};
use pawl_kernel::ports::workers::WorkerRecord;
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::WaitTimer;
use uuid::Uuid;

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, due_before, event, keep_request, lock_request, pass, uuid};

pub(super) const CASES: &[StoreCase] = cases!["timer":
    locks_are_taken_once,
    locks_are_shared_out,
    a_stale_lock_is_taken_over,
    a_heartbeat_keeps_locks,
    unlocked_shards_are_free_at_once,
    some_locks_are_given_back,
    what_was_given_back_just_now_can_be_left_to_others,
    a_heartbeat_tells_of_the_others,
    a_worker_holds_shards_under_several_takings,
    the_shard_longest_unserved_comes_first,
    collect_moves_each_row_once,
    collect_needs_the_lock,
    upcoming_is_sorted_and_limited,
    upcoming_has_two_ends,
    next_due_is_the_soonest,
    shards_are_looked_at_one_by_one,
    fires_and_dispatches,
    never_fires_early_and_loses_nothing,
    fires_only_its_own_wait,
    fires_once,
    fires_only_under_the_lock,
    a_shard_taken_again_refuses_what_was_sent_before,
    fires_while_paused,
    a_stale_row_is_deleted,
    a_batch_fires_what_it_can,
    a_row_is_found_in_either_queue,
    a_registered_timer_fires_like_any_other,
];

async fn locks_are_taken_once(scene: Scene) {
    let mine = scene.lock_all(1, at(0)).await;
    let distinct: BTreeSet<u32> = mine.iter().copied().collect();
    assert_eq!(distinct.len(), mine.len());
    let theirs = scene.store.lock_shards(lock_request(2, at(1))).await;
    assert!(theirs.unwrap().is_empty());
    let again = scene.store.lock_shards(lock_request(1, at(1))).await;
    assert!(again.unwrap().is_empty(), "held shards are not free");
}

async fn locks_are_shared_out(scene: Scene) {
    let mut request = lock_request(1, at(0));
    request.max = 2;
    let mine = scene.store.lock_shards(request).await.unwrap();
    assert_eq!(mine.len(), 2);
    let theirs = scene.lock_all(2, at(0)).await;
    assert!(mine.iter().all(|shard| !theirs.contains(shard)));
}

async fn a_stale_lock_is_taken_over(scene: Scene) {
    let before = scene.lock_all(1, at(0)).await;
    let none = scene.store.lock_shards(lock_request(2, at(9))).await;
    assert!(none.unwrap().is_empty(), "not stale yet");
    let after = scene.lock_all(2, at(11)).await;
    assert_eq!(after.len(), before.len());
    let kept = scene
        .store
        .keep_shards(keep_request(uuid(1), at(12)))
        .await
        .unwrap()
        .shards();
    assert!(kept.is_empty(), "the old owner has lost them");
}

async fn a_heartbeat_keeps_locks(scene: Scene) {
    let mine = scene.lock_all(1, at(0)).await;
    let mut kept = scene
        .store
        .keep_shards(keep_request(uuid(1), at(8)))
        .await
        .unwrap()
        .shards();
    kept.sort_unstable();
    let mut expected = mine.clone();
    expected.sort_unstable();
    assert_eq!(kept, expected);
    let theirs = scene.store.lock_shards(lock_request(2, at(15))).await;
    assert!(theirs.unwrap().is_empty());
}

async fn unlocked_shards_are_free_at_once(scene: Scene) {
    let mine = scene.lock_all(1, at(0)).await;
    scene
        .store
        .unlock_shards(vec![uuid(7)], None, at(1))
        .await
        .unwrap();
    let kept = scene
        .store
        .keep_shards(keep_request(uuid(1), at(1)))
        .await
        .unwrap()
        .shards();
    assert_eq!(kept.len(), mine.len(), "somebody else's unlock is nothing");
    scene
        .store
        .unlock_shards(vec![uuid(1)], None, at(1))
        .await
        .unwrap();
    let kept = scene
        .store
        .keep_shards(keep_request(uuid(1), at(1)))
        .await
        .unwrap()
        .shards();
    assert!(kept.is_empty());
    assert_eq!(scene.lock_all(2, at(1)).await.len(), mine.len());
}

async fn some_locks_are_given_back(scene: Scene) {
    let mine = scene.lock_all(1, at(0)).await;
    let some = vec![mine[0], mine[2]];
    let store = &scene.store;
    store
        .unlock_shards(vec![uuid(7)], Some(some.clone()), at(1))
        .await
        .unwrap();
    store
        .unlock_shards(vec![uuid(1)], Some(some.clone()), at(1))
        .await
        .unwrap();
    let kept = store.keep_shards(keep_request(uuid(1), at(1))).await;
    assert_eq!(kept.unwrap().shards(), [&mine[1..2], &mine[3..]].concat());
    assert_eq!(scene.lock_all(2, at(1)).await, some);
    store
        .unlock_shards(vec![uuid(1)], Some(Vec::new()), at(1))
        .await
        .unwrap();
    let kept = store.keep_shards(keep_request(uuid(1), at(1))).await;
    assert_eq!(kept.unwrap().shards().len(), mine.len() - 2);
}

async fn what_was_given_back_just_now_can_be_left_to_others(scene: Scene) {
    let all = scene.lock_all(1, at(0)).await;
    let store = &scene.store;
    store
        .unlock_shards(vec![uuid(1)], None, at(5))
        .await
        .unwrap();
    let request = |by: i64| {
        let mut request = lock_request(2, at(8));
        request.unlocked_by = Some(at(by));
        request
    };
    assert!(store.lock_shards(request(4)).await.unwrap().is_empty());
    assert_eq!(store.lock_shards(request(5)).await.unwrap(), all);
}

async fn a_heartbeat_tells_of_the_others(scene: Scene) {
    let store = &scene.store;
    let ask = async |alive_since: i64| {
        let mut request = keep_request(uuid(1), at(10));
        request.owner = "me".into();
        request.alive_since = at(alive_since);
        store.keep_shards(request).await.unwrap()
    };
    let new = ask(0).await;
    let locks = new.cluster.locks;
    assert!(locks >= 16 && new.shards().is_empty(), "{new:?}");
    let never = Some(Timestamp::default());
    let nobody = (new.cluster.unlocked_since, new.cluster.silent_since);
    assert_eq!(nobody, (never, None), "nobody ever had one");
    for (guid, now, max) in [(1, 3, 2), (2, 4, 3), (3, 2, 5), (4, 5, 100)] {
        let mut request = lock_request(guid, at(now));
        request.max = max;
        store.lock_shards(request).await.unwrap();
    }
    store
        .unlock_shards(vec![uuid(4)], None, at(6))
        .await
        .unwrap();
    for (id, roles, seconds) in [
        ("me", vec!["timers"], 9),
        ("a", vec!["engine", "timers"], 9),
        ("b", vec!["timers"], 5),
        ("no-timers", vec!["engine"], 9),
    ] {
        let report = WorkerRecord {
            id: id.to_owned(),
            roles: roles.into_iter().map(str::to_owned).collect(),
            node_types: Vec::new(),
            slots: 1,
            busy: 0,
            doing: Vec::new(),
            version: "1".to_owned(),
            started_at: at(0),
            heartbeat_at: at(seconds),
        };
        store.report_worker(report, at(0)).await.unwrap();
    }
    let kept = ask(6).await;
    assert_eq!(kept.shards().len(), 2);
    let expected = ClusterView {
        locks,
        others: 1,
        most_of_another: 5,
        unlocked_since: Some(at(6)),
        silent_since: Some(at(2)),
    };
    assert_eq!(kept.cluster, expected);
    assert_eq!(ask(5).await.cluster.others, 2);
}

async fn a_worker_holds_shards_under_several_takings(scene: Scene) {
    let store = &scene.store;
    let take = async |guid: u64, owner: &str, max: u32| {
        let mut request = lock_request(guid, at(1));
        request.owner = owner.into();
        request.max = max;
        store.lock_shards(request).await.unwrap()
    };
    let (first, second) = (take(1, "me", 2).await, take(2, "me", 3).await);
    take(3, "other", 4).await;
    take(4, "other", 1).await;
    let both = || vec![uuid(1), uuid(2)];
    let keep = async |now: i64| {
        let mut request = keep_request(uuid(1), at(now));
        request.locks = both();
        store.keep_shards(request).await.unwrap()
    };
    let kept = keep(5).await;
    let under = |shards: &[u32], guid: u64| shards.iter().map(|s| (*s, uuid(guid))).collect();
    let mut expected: BTreeMap<u32, Uuid> = under(&first, 1);
    expected.extend::<BTreeMap<u32, Uuid>>(under(&second, 2));
    assert_eq!(kept.locks, expected);
    assert_eq!(kept.cluster.most_of_another, 5, "of both takings together");
    let some = Some(vec![first[0], second[0]]);
    store.unlock_shards(both(), some, at(6)).await.unwrap();
    assert_eq!(keep(7).await.shards(), [first[1], second[1], second[2]]);
    store.unlock_shards(both(), None, at(8)).await.unwrap();
    assert!(keep(9).await.locks.is_empty());
}

async fn the_shard_longest_unserved_comes_first(scene: Scene) {
    let all = scene.lock_all(1, at(0)).await;
    scene
        .store
        .unlock_shards(vec![uuid(1)], None, at(1))
        .await
        .unwrap();
    let mut request = lock_request(2, at(5));
    request.max = all.len() as u32 - 1;
    let served = scene.store.lock_shards(request).await.unwrap();
    scene
        .store
        .unlock_shards(vec![uuid(2)], None, at(1))
        .await
        .unwrap();
    let mut request = lock_request(3, at(6));
    request.max = 1;
    let oldest = scene.store.lock_shards(request).await.unwrap();
    assert_eq!(oldest.len(), 1);
    assert!(!served.contains(&oldest[0]));
}

async fn collect_moves_each_row_once(scene: Scene) {
    sleepers(&scene, 3).await;
    let shards = scene.lock_all(9, at(5)).await;
    let store = &scene.store;
    let moved = store
        .collect(pass(uuid(9)), &shards, at(5), 2)
        .await
        .unwrap();
    assert_eq!(moved.len(), 2, "no more than asked for");
    let moved = store
        .collect(pass(uuid(9)), &shards, at(5), 1000)
        .await
        .unwrap();
    assert_eq!(moved.len(), 1);
    let moved = store
        .collect(pass(uuid(9)), &shards, at(5), 1000)
        .await
        .unwrap();
    assert_eq!(moved, []);
    assert_eq!(scene.due(9, &shards, at(9999)).await.len(), 3);
}

async fn collect_needs_the_lock(scene: Scene) {
    sleepers(&scene, 2).await;
    let shards = scene.lock_all(9, at(5)).await;
    let stranger = scene
        .store
        .collect(pass(uuid(8)), &shards, at(5), 1000)
        .await;
    assert_eq!(stranger.unwrap(), []);
    let upcoming = scene
        .store
        .upcoming(&shards, due_before(at(9999)), 10)
        .await
        .unwrap();
    assert!(upcoming.is_empty());
}

async fn upcoming_is_sorted_and_limited(scene: Scene) {
    for (n, wake) in [(1, 300), (2, 100), (3, 200)] {
        let id = scene.create(n).await;
        scene.sleep(id, 70 + n, at(wake), at(4)).await;
    }
    let shards = scene.lock_all(9, at(5)).await;
    let due = scene.due(9, &shards, at(300)).await;
    let guids: Vec<_> = due.iter().map(|timer| timer.guid).collect();
    assert_eq!(guids, [uuid(72), uuid(73)], "`before` is not included");
    let first = scene
        .store
        .upcoming(&shards, due_before(at(999)), 1)
        .await
        .unwrap();
    assert_eq!(first[0].at, at(100));
    assert_eq!(first.len(), 1);
}

async fn upcoming_has_two_ends(scene: Scene) {
    sleepers(&scene, 5).await;
    let shards = scene.lock_all(9, at(5)).await;
    scene.due(9, &shards, at(0)).await;
    let store = &scene.store;
    let between = async |from: i64, to: i64, limit: u32| {
        let found = store.upcoming(&shards, at(from)..at(to), limit).await;
        let times = found.unwrap().into_iter().map(|timer| timer.at);
        times.collect::<Vec<_>>()
    };
    assert_eq!(between(102, 104, 10).await, [at(102), at(103)]);
    assert_eq!(between(102, 999, 1).await, [at(102)]);
    assert_eq!(between(104, 104, 10).await, []);
}

async fn next_due_is_the_soonest(scene: Scene) {
    let shards = scene.lock_all(9, at(0)).await;
    assert_eq!(scene.store.next_due(&shards).await.unwrap(), None);
    sleepers(&scene, 3).await;
    scene.due(9, &shards, at(0)).await;
    let next = scene.store.next_due(&shards).await.unwrap();
    assert_eq!(next, Some(at(101)));
    assert_eq!(scene.store.next_due(&[]).await.unwrap(), None);
}

async fn shards_are_looked_at_one_by_one(scene: Scene) {
    sleepers(&scene, 20).await;
    let shards = scene.lock_all(9, at(30)).await;
    scene.due(9, &shards, at(0)).await;
    let mut found = 0;
    for shard in shards {
        let due = scene
            .store
            .upcoming(&[shard], due_before(at(9999)), 100)
            .await
            .unwrap();
        assert!(due.iter().all(|timer| timer.shard_id == shard));
        found += due.len();
    }
    assert_eq!(found, 20);
}

async fn fires_and_dispatches(scene: Scene) {
    sleepers(&scene, 1).await;
    let shards = scene.lock_all(9, at(101)).await;
    let due = scene.due(9, &shards, at(102)).await;
    let id = crate::fixture::execution_id(1);
    assert_eq!((due[0].at, due[0].guid), (at(101), uuid(71)));
    assert_eq!(due[0].action_id, id.to_string());
    let fired = scene.store.fire(pass(uuid(9)), due, at(101)).await.unwrap();
    assert_eq!((fired.len(), fired[0].execution_id), (1, id));
    let state = scene.state(id).await;
    assert_eq!((state.wait, state.updated_at), (None, at(101)));
    assert_eq!(scene.timer_rows().await, 0);
    scene.claim(id, 10, at(102)).await;
}

async fn never_fires_early_and_loses_nothing(scene: Scene) {
    sleepers(&scene, 1).await;
    let id = crate::fixture::execution_id(1);
    let shards = scene.lock_all(9, at(100)).await;
    let due = scene.due(9, &shards, at(999)).await;
    let early = scene.store.fire(pass(uuid(9)), due.clone(), at(100)).await;
    assert!(early.unwrap().is_empty());
    assert!(scene.state(id).await.wait.is_some());
    assert!(
        scene.has_timer(id, 71).await,
        "an early look loses no timer"
    );
    let fired = scene.store.fire(pass(uuid(9)), due, at(101)).await.unwrap();
    assert_eq!(fired.len(), 1);
}

async fn fires_only_its_own_wait(scene: Scene) {
    let id = scene.create(1).await;
    waiting_for_event(&scene, id, 1, 50).await;
    scene.signal(id, "s1", "paid").await;
    waiting_for_event(&scene, id, 2, 55).await;
    let shards = scene.lock_all(9, at(60)).await;
    let mut due = scene.due(9, &shards, at(60)).await;
    assert_eq!(due.len(), 2);
    // Both are due, but only the row of the first wait, which is over, is fired.
    due.retain(|timer| timer.guid == uuid(1));
    let fired = scene.store.fire(pass(uuid(9)), due, at(60)).await.unwrap();
    assert!(fired.is_empty());
    assert_eq!(scene.state(id).await.wait.unwrap().id, uuid(2));
    assert!(scene.has_timer(id, 2).await);
    let left = scene
        .store
        .upcoming(&shards, due_before(at(999)), 10)
        .await
        .unwrap();
    assert_eq!(left.len(), 1, "the stale row is gone");
}

async fn fires_once(scene: Scene) {
    sleepers(&scene, 1).await;
    let shards = scene.lock_all(9, at(101)).await;
    let due = scene.due(9, &shards, at(999)).await;
    let twice = [due.clone(), due.clone()].concat();
    let fired = scene
        .store
        .fire(pass(uuid(9)), twice, at(101))
        .await
        .unwrap();
    assert_eq!(fired.len(), 1);
    let again = scene.store.fire(pass(uuid(9)), due, at(102)).await.unwrap();
    assert!(again.is_empty());
}

async fn fires_only_under_the_lock(scene: Scene) {
    sleepers(&scene, 1).await;
    let id = crate::fixture::execution_id(1);
    let shards = scene.lock_all(9, at(101)).await;
    let due = scene.due(9, &shards, at(999)).await;
    scene.lock_all(8, at(150)).await;
    let zombie = scene.store.fire(pass(uuid(9)), due.clone(), at(151)).await;
    assert!(zombie.unwrap().is_empty());
    assert!(scene.state(id).await.wait.is_some());
    let owner = scene.store.fire(pass(uuid(8)), due, at(151)).await.unwrap();
    assert_eq!(owner.len(), 1);
}

/// Taken by the same worker.
async fn a_shard_taken_again_refuses_what_was_sent_before(scene: Scene) {
    sleepers(&scene, 2).await;
    let store = &scene.store;
    let shards = scene.lock_all(9, at(101)).await;
    let due = scene.due(9, &shards, at(999)).await;
    store
        .unlock_shards(vec![uuid(9)], None, at(102))
        .await
        .unwrap();
    let mut again = lock_request(10, at(103));
    again.owner = lock_request(9, at(103)).owner;
    assert_eq!(store.lock_shards(again).await.unwrap(), shards);
    let late = store.fire(pass(uuid(9)), due.clone(), at(104)).await;
    assert!(late.unwrap().is_empty());
    let kept = store.keep_shards(keep_request(uuid(9), at(104))).await;
    assert!(kept.unwrap().locks.is_empty());
    store
        .unlock_shards(vec![uuid(9)], None, at(104))
        .await
        .unwrap();
    let now = store.fire(pass(uuid(10)), due, at(104)).await;
    assert_eq!(now.unwrap().len(), 2, "and the lock is still there");
}

async fn fires_while_paused(scene: Scene) {
    sleepers(&scene, 1).await;
    let id = crate::fixture::execution_id(1);
    scene.command(id, Command::Pause, at(50)).await;
    let shards = scene.lock_all(9, at(101)).await;
    let due = scene.due(9, &shards, at(999)).await;
    let fired = scene.store.fire(pass(uuid(9)), due, at(101)).await.unwrap();
    assert!(fired.is_empty(), "nothing runs while it is paused");
    assert!(scene.state(id).await.wait.is_none());
    assert_eq!(scene.status(id).await, Status::Paused);
    assert_eq!(scene.refused(id, at(102)).await, Skip::Held);
    let resumed = scene.command(id, Command::Resume, at(103)).await;
    assert!(resumed.dispatch.is_some());
}

async fn a_stale_row_is_deleted(scene: Scene) {
    sleepers(&scene, 1).await;
    let id = crate::fixture::execution_id(1);
    scene.command(id, Command::Stop, at(50)).await;
    let shards = scene.lock_all(9, at(101)).await;
    let due = scene.due(9, &shards, at(999)).await;
    assert_eq!(due.len(), 1, "left for the shard's owner");
    let fired = scene.store.fire(pass(uuid(9)), due, at(101)).await.unwrap();
    assert!(fired.is_empty());
    assert_eq!(scene.timer_rows().await, 0);
    assert_eq!(scene.status(id).await, Status::Stopped);
}

async fn a_batch_fires_what_it_can(scene: Scene) {
    sleepers(&scene, 4).await;
    let shards = scene.lock_all(9, at(101)).await;
    let mut due: Vec<DueTimer> = scene.due(9, &shards, at(9999)).await;
    due.insert(1, ghost(shards[0]));
    scene
        .command(crate::fixture::execution_id(2), Command::Stop, at(50))
        .await;
    let fired = scene.store.fire(pass(uuid(9)), due, at(103)).await.unwrap();
    let ids: BTreeSet<_> = fired.iter().map(|fired| fired.execution_id).collect();
    let expected = [1, 3].map(crate::fixture::execution_id);
    assert_eq!(ids, BTreeSet::from(expected));
    let left = scene
        .store
        .upcoming(&shards, due_before(at(9999)), 10)
        .await
        .unwrap();
    assert_eq!(left.len(), 1, "the fourth is not due");
}

async fn a_row_is_found_in_either_queue(scene: Scene) {
    sleepers(&scene, 1).await;
    let id = crate::fixture::execution_id(1);
    let asked = vec![(id, uuid(71)), (id, uuid(72))];
    let incoming = scene.store.timer_shards(asked.clone()).await.unwrap();
    assert!(incoming[0].is_some() && incoming[1].is_none());
    let shards = scene.lock_all(9, at(5)).await;
    let due = scene.due(9, &shards, at(999)).await;
    let processing = scene.store.timer_shards(asked).await.unwrap();
    assert_eq!(processing, [Some(due[0].shard_id), None]);
}

async fn a_registered_timer_fires_like_any_other(scene: Scene) {
    sleepers(&scene, 1).await;
    let id = crate::fixture::execution_id(1);
    let registered = [(71, 101), (5, 20)].map(|(wait, wake)| WaitTimer {
        execution_id: id,
        wait_id: uuid(wait),
        at: at(wake),
    });
    let store = &scene.store;
    store
        .register_timers(registered.to_vec(), at(6))
        .await
        .unwrap();
    assert!(scene.has_timer(id, 71).await);
    let shards = scene.lock_all(9, at(101)).await;
    let due = scene.due(9, &shards, at(999)).await;
    let fired = scene.store.fire(pass(uuid(9)), due, at(101)).await.unwrap();
    assert_eq!(fired.len(), 1, "however many rows, a wait ends once");
    assert_eq!(scene.timer_rows().await, 0);
}

/// Executions 1 to `count`, asleep until second 100 + n; their waits are `uuid(70 + n)`.
async fn sleepers(scene: &Scene, count: u64) {
    for n in 1..=count {
        let id = scene.create(n).await;
        scene.sleep(id, 70 + n, at(100 + n as i64), at(4)).await;
    }
}

async fn waiting_for_event(scene: &Scene, id: pawl_kernel::id::ExecutionId, n: u64, wake: i64) {
    let claimed = scene.claim(id, 20 + n, at(5)).await;
    let wait = event(n, "paid", Some(at(wake)));
    let transition = crate::fixture::commit(&claimed.state, at(5)).wait(wait);
    scene.commit(transition.build()).await;
}

/// A timer that no row stands for.
fn ghost(shard_id: u32) -> DueTimer {
    DueTimer {
        at: at(50),
        shard_id,
        action_id: crate::fixture::execution_id(404).to_string(),
        guid: uuid(404),
        kind: TimerKind::Wait,
    }
}

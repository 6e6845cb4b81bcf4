//! Reaper, sweeper and the start of an embedded store.

use std::time::Duration;

use pawl_kernel::execution::{PriorityClass, Status};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{Command, CommitRefusal, Release};
use pawl_kernel::ports::store::{Dispatch, SweepRequest};
use pawl_kernel::schema::definition::OnStuck;
use pawl_kernel::time::Timestamp;

use super::{Scene, StoreCase, cases};
use crate::fixture::{LEASE, at, commit, execution_id, new_execution, schema_id, sweep_request};

pub(super) const CASES: &[StoreCase] = cases!["recovery":
    expired_lists_leases_that_ran_out,
    expired_goes_by_the_lease_not_the_status,
    expired_is_limited,
    reap_requeues,
    reap_marks_an_effect_as_interrupted,
    reap_fails_when_the_schema_says_so,
    reap_applies_a_stop,
    reap_of_a_paused_execution_brings_no_message,
    reap_leaves_living_leases_alone,
    two_reapers_one_takeover,
    a_reaped_holder_is_fenced,
    clear_leases_frees_all,
    sweep_finds_what_could_run,
    sweep_finds_a_lease_long_over,
    sweep_backs_off,
    sweep_starts_afresh_after_a_commit,
    sweep_goes_page_by_page,
    sweep_says_seq_and_priority,
    sweep_has_patience_by_class,
    what_is_not_for_here_is_swept_later_and_later,
];

async fn expired_lists_leases_that_ran_out(scene: Scene) {
    for n in 1..=2 {
        let id = scene.create(n).await;
        scene.claim(id, n, at(10 * n as i64)).await;
    }
    scene.create(3).await;
    assert!(expired(&scene, at(LEASE + 9)).await.is_empty());
    assert_eq!(expired(&scene, at(LEASE + 10)).await, [execution_id(1)]);
    let both = expired(&scene, at(LEASE + 20)).await;
    assert_eq!(both, [1, 2].map(execution_id));
    let row = scene.store.expired(at(LEASE + 10), 10).await.unwrap();
    assert_eq!((row[0].schema_id, row[0].schema_version), (schema_id(1), 1));
}

/// A command to an execution whose holder has vanished leaves status and lease to the reaper.
async fn expired_goes_by_the_lease_not_the_status(scene: Scene) {
    for n in 1..=2 {
        let id = scene.create(n).await;
        scene.claim(id, n, at(0)).await;
    }
    let late = at(LEASE + 1);
    let signal = crate::fixture::signal("s", "paid", late);
    let signalled = scene.command(execution_id(1), Command::Signal(signal), late);
    assert_eq!(signalled.await.status, Status::Running);
    let paused = scene.command(execution_id(2), Command::Pause, late).await;
    assert_eq!(paused.status, Status::Running);
    assert_eq!(
        expired(&scene, at(LEASE + 2)).await,
        [1, 2].map(execution_id)
    );
}

async fn expired_is_limited(scene: Scene) {
    for n in 1..=5 {
        let id = scene.create(n).await;
        scene.claim(id, n, at(1)).await;
    }
    let some = scene.store.expired(at(100), 3).await.unwrap();
    assert_eq!(some.len(), 3);
}

async fn reap_requeues(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(0)).await;
    let reaped = reap(&scene, id, OnStuck::Requeue, at(40)).await.unwrap();
    assert_eq!(reaped.unwrap().execution_id, id);
    let view = scene.view(id).await;
    assert_eq!(view.execution.head.status, Status::Queued);
    assert_eq!((view.state.lease, view.state.recoveries), (None, 1));
    assert!(!view.state.interrupted);
}

async fn reap_marks_an_effect_as_interrupted(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(0)).await;
    let enter = commit(&claimed.state, at(1)).steps(1).effect("k");
    scene.commit(enter.keep(at(40)).build()).await;
    let reaped = reap(&scene, id, OnStuck::Requeue, at(41)).await.unwrap();
    assert_eq!(reaped.unwrap().seq, 1);
    assert!(scene.state(id).await.interrupted);
    assert_eq!(scene.status(id).await, Status::Running);
    assert!(scene.claim(id, 11, at(42)).await.state.interrupted);
}

async fn reap_fails_when_the_schema_says_so(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(0)).await;
    let reaped = reap(&scene, id, OnStuck::Fail, at(40)).await.unwrap();
    assert!(reaped.is_none(), "nothing to run");
    let execution = scene.execution(id).await;
    assert_eq!(execution.head.status, Status::FailedStuck);
    assert_eq!(execution.head.finished_at, Some(at(40)));
    let letters = scene.store.dead_letters(true, 0, 10).await.unwrap();
    assert_eq!((letters.len(), letters[0].execution_id), (1, Some(id)));
}

async fn reap_applies_a_stop(scene: Scene) {
    for (n, on_stuck) in [(1, OnStuck::Requeue), (2, OnStuck::Fail)] {
        let id = scene.create(n).await;
        scene.claim(id, 10, at(5)).await;
        scene.command(id, Command::Stop, at(6)).await;
        reap(&scene, id, on_stuck, at(50)).await.unwrap();
        assert_eq!(scene.status(id).await, Status::Stopped);
    }
}

async fn reap_of_a_paused_execution_brings_no_message(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(0)).await;
    scene.command(id, Command::Pause, at(1)).await;
    let reaped = reap(&scene, id, OnStuck::Requeue, at(40)).await.unwrap();
    assert!(reaped.is_none());
    assert_eq!(scene.status(id).await, Status::Paused);
}

async fn reap_leaves_living_leases_alone(scene: Scene) {
    let id = scene.create(1).await;
    assert!(reap(&scene, id, OnStuck::Fail, at(1)).await.is_none());
    scene.claim(id, 10, at(1)).await;
    assert!(reap(&scene, id, OnStuck::Fail, at(LEASE)).await.is_none());
    let unknown = execution_id(404);
    assert!(reap(&scene, unknown, OnStuck::Fail, at(99)).await.is_none());
    assert!(scene.state(id).await.lease.is_some());
}

async fn two_reapers_one_takeover(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(0)).await;
    assert!(reap(&scene, id, OnStuck::Requeue, at(40)).await.is_some());
    assert!(reap(&scene, id, OnStuck::Requeue, at(40)).await.is_none());
}

async fn a_reaped_holder_is_fenced(scene: Scene) {
    let id = scene.create(1).await;
    let zombie = scene.claim(id, 10, at(0)).await;
    reap(&scene, id, OnStuck::Requeue, at(40)).await.unwrap();
    let late = commit(&zombie.state, at(41)).steps(1).build();
    assert_eq!(scene.commit_refused(late).await, CommitRefusal::Fenced);
}

async fn clear_leases_frees_all(scene: Scene) {
    for n in 1..=3 {
        let id = scene.create(n).await;
        scene.claim(id, n, at(5)).await;
    }
    scene.command(execution_id(3), Command::Stop, at(6)).await;
    scene.create(4).await;
    assert_eq!(scene.store.clear_leases(at(7)).await.unwrap(), 3);
    assert_eq!(scene.store.clear_leases(at(7)).await.unwrap(), 0);
    assert_eq!(scene.status(execution_id(3)).await, Status::Stopped);
    for n in [1, 2] {
        let view = scene.view(execution_id(n)).await;
        assert_eq!(view.execution.head.status, Status::Queued);
        assert!(view.state.lease.is_none());
    }
}

async fn sweep_finds_what_could_run(scene: Scene) {
    for n in 1..=8 {
        scene.create(n).await;
    }
    let ids = (1..=8).map(execution_id).collect::<Vec<_>>();
    scene.claim(ids[1], 2, at(70)).await;
    scene.sleep(ids[2], 3, at(500), at(9)).await;
    scene.command(ids[3], Command::Pause, at(9)).await;
    scene.finish(ids[4], Status::Completed, at(9)).await;
    scene.advance(ids[5], 1, at(95)).await;
    scene.advance(ids[6], 1, at(20)).await;
    let found = sweep(&scene, sweep_request(at(100))).await;
    // 2 had a lease until just now, 3 waits, 4 is held, 5 has ended, 6 was busy just now.
    assert_eq!(found, [ids[0], ids[6], ids[7]]);
}

async fn sweep_finds_a_lease_long_over(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(1)).await;
    let early = sweep(&scene, sweep_request(at(LEASE + 10))).await;
    assert!(early.is_empty(), "idle for less than ten seconds");
    assert_eq!(sweep(&scene, sweep_request(at(LEASE + 11))).await, [id]);
}

async fn sweep_backs_off(scene: Scene) {
    let id = scene.create(1).await;
    let version = scene.state(id).await.version;
    // Idle since second 1; each sweep puts the next one off, twice as long every time.
    for (second, due) in [
        (10, false),
        (11, true),
        (11, false),
        (20, false),
        (21, true),
        (31, false),
        (40, false),
        (41, true),
        (61, false),
        (80, false),
        (81, true),
    ] {
        let found = sweep(&scene, sweep_request(at(second))).await;
        assert_eq!(!found.is_empty(), due, "at second {second}");
    }
    let state = scene.state(id).await;
    assert_eq!(state.version, version, "a sweep is no news");
    assert_eq!(state.updated_at, at(1));
}

async fn sweep_starts_afresh_after_a_commit(scene: Scene) {
    let id = scene.create(1).await;
    sweep(&scene, sweep_request(at(50))).await;
    assert!(scene.state(id).await.next_sweep_at.is_some());
    scene.advance(id, 1, at(51)).await;
    assert_eq!(scene.state(id).await.next_sweep_at, None);
    assert!(sweep(&scene, sweep_request(at(60))).await.is_empty());
    assert_eq!(sweep(&scene, sweep_request(at(61))).await, [id]);
}

/// A long queue of one class is no reason to wait for the others.
async fn sweep_has_patience_by_class(scene: Scene) {
    for (n, class) in (1..).zip(PriorityClass::ALL) {
        let mut new = new_execution(n);
        new.execution.head.priority = *class;
        scene.store.create(new).await.unwrap();
    }
    let mut request = sweep_request(at(100));
    // High, normal, low: the last has been idle for not long enough.
    request.idle_since = [at(90), at(90), Timestamp::default()];
    assert_eq!(sweep(&scene, request).await, [1, 2].map(execution_id));
    assert_eq!(
        sweep(&scene, sweep_request(at(100))).await,
        [execution_id(3)]
    );
}

async fn what_is_not_for_here_is_swept_later_and_later(scene: Scene) {
    let id = scene.create(1).await;
    let entered = scene.state(id).await.position.entered_at;
    for (after, pause) in [(4, 10), (60, 30), (10_000, 60)] {
        let now = entered.plus(Duration::from_secs(after));
        let claimed = scene.claim(id, after, now).await;
        let token = claimed.state.lease.unwrap().token;
        let released = scene
            .store
            .release(vec![(id, token)], Release::NotHere, now)
            .await;
        assert_eq!(
            released.unwrap(),
            [],
            "the next one to get the message would be this one"
        );
        let due = now.plus(Duration::from_secs(pause));
        let state = scene.state(id).await;
        assert_eq!((state.next_sweep_at, state.recoveries), (Some(due), 0));
        let early = sweep_request(due.minus(Duration::from_secs(1)));
        assert_eq!(sweep(&scene, early).await, []);
    }
    let later = entered.plus(Duration::from_secs(10_060));
    assert_eq!(sweep(&scene, sweep_request(later)).await, [id]);
}

async fn sweep_goes_page_by_page(scene: Scene) {
    for n in 1..=7 {
        scene.create(n).await;
    }
    for (limit, now) in [(3, at(100)), (1, at(200)), (7, at(300))] {
        let mut request = sweep_request(now);
        request.limit = limit;
        let found = sweep_pages(&scene, request).await;
        assert_eq!(found, (1..=7).map(execution_id).collect::<Vec<_>>());
    }
}

async fn sweep_pages(scene: &Scene, mut request: SweepRequest) -> Vec<ExecutionId> {
    let mut found = Vec::new();
    for _ in 0..20 {
        let page = scene.store.sweep(request.clone()).await.unwrap();
        assert!(page.due.len() <= request.limit as usize);
        found.extend(page.due.iter().map(|due| due.execution_id));
        request.after = page.next;
        if request.after.is_none() {
            return found;
        }
    }
    panic!("the pages come to no end");
}

async fn sweep_says_seq_and_priority(scene: Scene) {
    let mut new = new_execution(1);
    new.execution.head.priority = PriorityClass::Low;
    let schema_id = new.execution.head.schema_id;
    let id = scene.create_as(new).await;
    scene.advance(id, 3, at(2)).await;
    let sweep = scene.store.sweep(sweep_request(at(100))).await.unwrap();
    let view = scene.store.execution(id).await.unwrap().unwrap();
    let expected = Dispatch {
        execution_id: id,
        schema_id,
        node_id: view.state.position.node_id,
        seq: 3,
        debug_mode: false,
        priority: PriorityClass::Low,
    };
    assert_eq!(sweep.due, [expected]);
}

async fn expired(scene: &Scene, now: Timestamp) -> Vec<ExecutionId> {
    let rows = scene.store.expired(now, 100).await.unwrap();
    let mut ids: Vec<ExecutionId> = rows.iter().map(|row| row.execution_id).collect();
    ids.sort_unstable();
    ids
}

/// Outer `None`: nothing was reaped. Inner: the message due.
async fn reap(
    scene: &Scene,
    id: ExecutionId,
    on_stuck: OnStuck,
    now: Timestamp,
) -> Option<Option<Dispatch>> {
    let reaped = scene.store.reap(id, on_stuck, now).await.unwrap()?;
    assert_eq!(reaped.applied.dispatch, reaped.dispatch.is_some());
    Some(reaped.dispatch)
}

async fn sweep(scene: &Scene, request: SweepRequest) -> Vec<ExecutionId> {
    let sweep = scene.store.sweep(request).await.unwrap();
    assert!(sweep.next.is_none(), "all in one page");
    sweep.due.iter().map(|due| due.execution_id).collect()
}

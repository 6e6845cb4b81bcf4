//! Taking the lease.

use pawl_kernel::execution::Status;
use pawl_kernel::lifecycle::{Command, ContinueMode, Release, Skip};

use super::scene::{ended, skipped, taken};
use super::{Scene, StoreCase, cases};
use crate::fixture::{LEASE, at, claim_request, commit, execution_id, go_on, uuid};

pub(super) const CASES: &[StoreCase] = cases!["claim":
    takes_the_lease_and_starts_the_execution,
    keeps_the_first_start_time,
    a_live_lease_is_refused,
    a_wait_is_refused,
    a_pause_is_refused,
    the_debugger_is_refused,
    an_ended_execution_is_refused,
    an_unknown_execution_is_skipped,
    an_older_message_is_a_duplicate,
    an_older_message_redelivered_goes_on,
    a_message_from_the_future_goes_on,
    a_message_at_the_states_seq_goes_on,
    an_expired_lease_can_be_taken_over,
    a_takeover_during_an_effect_marks_it_interrupted,
    a_suspect_needs_its_place,
    too_many_recoveries_end_as_stuck,
    a_batch_is_answered_in_order,
    one_execution_twice_in_a_batch_is_taken_once,
    an_empty_batch_is_fine,
];

async fn takes_the_lease_and_starts_the_execution(scene: Scene) {
    let id = scene.create(1).await;
    let before = scene.state(id).await;
    let claimed = scene.claim(id, 10, at(2)).await;
    assert_eq!(claimed.execution.head.status, Status::Running);
    assert_eq!(claimed.execution.head.started_at, Some(at(2)));
    assert_eq!(claimed.state.recoveries, 1);
    assert_eq!(claimed.state.version, before.version + 1);
    let lease = claimed.state.lease.clone().unwrap();
    assert_eq!((lease.token, lease.until), (uuid(10), at(2 + LEASE)));
    assert_eq!(lease.owner, "worker-10");
    let view = scene.view(id).await;
    assert_eq!(view.execution, claimed.execution, "the answer is the row");
    assert_eq!(view.state, claimed.state);
}

async fn keeps_the_first_start_time(scene: Scene) {
    let id = scene.create(1).await;
    scene.advance(id, 1, at(2)).await;
    let claimed = scene.claim(id, 11, at(9)).await;
    assert_eq!(claimed.execution.head.started_at, Some(at(2)));
}

async fn a_live_lease_is_refused(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(1)).await;
    assert_eq!(scene.refused(id, at(LEASE)).await, Skip::Leased);
    assert_eq!(
        scene.state(id).await.recoveries,
        1,
        "a refusal counts nothing"
    );
}

async fn a_wait_is_refused(scene: Scene) {
    let id = scene.create(1).await;
    scene.sleep(id, 1, at(100), at(1)).await;
    assert_eq!(scene.refused(id, at(200)).await, Skip::Waiting);
}

async fn a_pause_is_refused(scene: Scene) {
    let id = scene.create(1).await;
    scene.command(id, Command::Pause, at(1)).await;
    assert_eq!(scene.refused(id, at(2)).await, Skip::Held);
}

async fn the_debugger_is_refused(scene: Scene) {
    let id = super::command::in_debugger(&scene).await;
    assert_eq!(scene.refused(id, at(2)).await, Skip::Held);
    let go = go_on(ContinueMode::Step, None);
    scene.command(id, go, at(3)).await;
    scene.claim(id, 11, at(4)).await;
}

async fn an_ended_execution_is_refused(scene: Scene) {
    let id = scene.create(1).await;
    scene.finish(id, Status::Failed, at(1)).await;
    assert_eq!(scene.refused(id, at(2)).await, Skip::Ended);
}

async fn an_unknown_execution_is_skipped(scene: Scene) {
    assert_eq!(scene.refused(execution_id(404), at(1)).await, Skip::Unknown);
}

async fn an_older_message_is_a_duplicate(scene: Scene) {
    let id = scene.create(1).await;
    scene.advance(id, 2, at(1)).await;
    let mut request = claim_request(id, 10, at(2));
    request.message_seq = Some(1);
    assert_eq!(skipped(scene.ask(request, at(2)).await), Skip::Duplicate);
}

async fn an_older_message_redelivered_goes_on(scene: Scene) {
    let id = scene.create(1).await;
    scene.advance(id, 2, at(1)).await;
    let mut request = claim_request(id, 10, at(2));
    request.message_seq = Some(1);
    request.redelivered = true;
    assert_eq!(taken(scene.ask(request, at(2)).await).state.seq, 2);
}

async fn a_message_from_the_future_goes_on(scene: Scene) {
    let id = scene.create(1).await;
    scene.advance(id, 2, at(1)).await;
    let mut request = claim_request(id, 10, at(2));
    request.message_seq = Some(99);
    assert_eq!(taken(scene.ask(request, at(2)).await).state.seq, 2);
}

async fn a_message_at_the_states_seq_goes_on(scene: Scene) {
    let id = scene.create(1).await;
    scene.advance(id, 2, at(1)).await;
    let mut request = claim_request(id, 10, at(2));
    request.message_seq = Some(2);
    taken(scene.ask(request, at(2)).await);
}

async fn an_expired_lease_can_be_taken_over(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(0)).await;
    let claimed = scene.claim(id, 11, at(LEASE)).await;
    assert_eq!(claimed.state.recoveries, 2);
    assert!(!claimed.state.interrupted, "no effect was under way");
    assert_eq!(claimed.state.lease.unwrap().token, uuid(11));
}

async fn a_takeover_during_an_effect_marks_it_interrupted(scene: Scene) {
    let id = scene.create(1).await;
    let first = scene.claim(id, 10, at(0)).await;
    let enter = commit(&first.state, at(1)).steps(1).keep(at(40));
    scene.commit(enter.effect("key-2").build()).await;
    let second = scene.claim(id, 11, at(40)).await;
    assert!(second.state.interrupted);
    assert_eq!(second.state.position.effect_key.as_deref(), Some("key-2"));
}

async fn a_suspect_needs_its_place(scene: Scene) {
    let id = scene.create(1).await;
    scene.claim(id, 10, at(0)).await;
    scene.claim(id, 11, at(100)).await;
    let mut request = claim_request(id, 12, at(200));
    request.allow_suspect = false;
    let claim = scene.ask(request.clone(), at(200)).await;
    assert_eq!(skipped(claim), Skip::Suspect);
    assert_eq!(scene.state(id).await.recoveries, 2);
    request.allow_suspect = true;
    taken(scene.ask(request, at(200)).await);
}

async fn too_many_recoveries_end_as_stuck(scene: Scene) {
    let id = scene.create(1).await;
    for n in 0..5 {
        scene.claim(id, 10 + n, at(100 * n as i64)).await;
    }
    let claim = scene.ask(claim_request(id, 20, at(900)), at(900)).await;
    assert_eq!(ended(claim).ended, Some(Status::FailedStuck));
    let execution = scene.execution(id).await;
    assert_eq!(execution.head.status, Status::FailedStuck);
    assert_eq!(execution.head.finished_at, Some(at(900)));
    assert!(execution.record.error.unwrap().contains("STUCK"));
    let letters = scene.store.dead_letters(true, 0, 10).await.unwrap();
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].execution_id, Some(id));
    assert_eq!(letters[0].created_at, at(900));
    assert!(letters[0].reason.contains("start_1"));
    assert!(scene.state(id).await.lease.is_none());
}

async fn a_batch_is_answered_in_order(scene: Scene) {
    let free = scene.create(1).await;
    let leased = scene.create(2).await;
    let ended = scene.create(3).await;
    scene.claim(leased, 10, at(1)).await;
    scene.finish(ended, Status::Completed, at(1)).await;
    let ids = [ended, execution_id(404), free, leased];
    let requests = ids.map(|id| claim_request(id, 20, at(2))).to_vec();
    let mut claims = scene.store.claim(requests, at(2)).await.unwrap();
    assert_eq!(claims.len(), 4);
    assert_eq!(skipped(claims.pop().unwrap()), Skip::Leased);
    assert_eq!(taken(claims.pop().unwrap()).execution.head.id, free);
    assert_eq!(skipped(claims.pop().unwrap()), Skip::Unknown);
    assert_eq!(skipped(claims.pop().unwrap()), Skip::Ended);
}

async fn one_execution_twice_in_a_batch_is_taken_once(scene: Scene) {
    let id = scene.create(1).await;
    let requests = vec![claim_request(id, 10, at(1)), claim_request(id, 11, at(1))];
    let mut claims = scene.store.claim(requests, at(1)).await.unwrap();
    assert_eq!(skipped(claims.pop().unwrap()), Skip::Leased);
    taken(claims.pop().unwrap());
    let state = scene.state(id).await;
    assert_eq!(
        (state.recoveries, state.lease.unwrap().token),
        (1, uuid(10))
    );
}

async fn an_empty_batch_is_fine(scene: Scene) {
    assert!(
        scene
            .store
            .claim(Vec::new(), at(1))
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        scene
            .store
            .release(Vec::new(), Release::Unbegun, at(1))
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        scene
            .store
            .heartbeat(Vec::new(), at(1))
            .await
            .unwrap()
            .is_empty()
    );
}

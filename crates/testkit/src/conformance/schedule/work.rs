//! Scheduled actions as the owners of shards fire them.

use serde_json::json;

use pawl_kernel::execution::Status;
use pawl_kernel::ports::schedule::{ActionCommand, RecordRequest, ShardHolder, SyncMark};
use pawl_kernel::ports::store::{DueTimer, TimerKind};
use pawl_kernel::schedule::retry::INTERRUPTIONS_MAX;
use pawl_kernel::schedule::{
    ActionEnding, AttemptEnd, AttemptOutcome, Failure, Override, Put, RecordResult, RecordedAction,
    Run, ScheduleLimits, SkipReason,
};
use pawl_kernel::time::Timestamp;

use super::super::{Scene, StoreCase, cases};
use crate::fixture::{self, at, execution_id, once, pass, periodic, put, uuid};

pub(in crate::conformance) const CASES: &[StoreCase] = cases!["schedule":
    a_due_action_begins_once,
    nothing_begins_early,
    nothing_begins_without_the_lock,
    nothing_is_recorded_without_the_lock,
    a_success_ends_what_fires_once,
    a_success_of_many_goes_on,
    a_failure_is_tried_again,
    a_failure_without_retries_is_the_end,
    what_was_not_made_is_due_again,
    what_was_interrupted_is_found,
    what_is_past_its_deadline_ends,
    a_stale_row_is_dropped,
    a_row_without_an_action_is_dropped,
    a_batch_begins_what_it_can,
    a_row_that_is_not_there_begins_nothing,
    a_write_during_an_attempt_queues_anew,
    a_pause_during_an_attempt_counts_it,
    a_new_life_during_an_attempt_keeps_its_end_for_the_history,
    a_deletion_during_an_attempt_leaves_nothing,
    a_second_record_changes_nothing,
    a_record_after_the_next_attempt_changes_nothing,
    an_action_may_have_the_id_of_an_execution,
    a_firing_meets_the_execution_before,
    many_are_recorded_at_once,
    an_end_is_recorded_under_the_lock_of_its_beginning,
    a_row_tells_who_has_it_and_what_was_done_with_it,
];

/// The owner of all shards.
pub(in crate::conformance) struct Worker<'a> {
    scene: &'a Scene,
    lock: u64,
    shards: Vec<u32>,
}

pub(in crate::conformance) type Attempted = (DueTimer, Run);

impl<'a> Worker<'a> {
    pub(in crate::conformance) async fn new(scene: &'a Scene, lock: u64, now: Timestamp) -> Self {
        Self {
            scene,
            lock,
            shards: scene.lock_all(lock, now).await,
        }
    }

    pub(in crate::conformance) async fn rows(&self) -> Vec<DueTimer> {
        self.scene.due(self.lock, &self.shards, at(9_000_000)).await
    }

    async fn begin_these(&self, due: Vec<DueTimer>, now: Timestamp) -> Vec<Attempted> {
        let begun = self.scene.store.begin_actions(
            pass(uuid(self.lock)),
            due,
            ScheduleLimits::default(),
            now,
        );
        begun.await.unwrap()
    }

    /// Whatever is due.
    pub(in crate::conformance) async fn begin(&self, now: Timestamp) -> Vec<Attempted> {
        let mut due = self.rows().await;
        due.retain(|timer| timer.at <= now);
        self.begin_these(due, now).await
    }

    /// The one attempt that begins now.
    pub(in crate::conformance) async fn only_run(&self, now: Timestamp) -> Attempted {
        let mut begun = self.begin(now).await;
        assert_eq!(begun.len(), 1, "{begun:?}");
        begun.remove(0)
    }

    async fn record_these(
        &self,
        requests: Vec<RecordRequest>,
        now: Timestamp,
    ) -> Vec<Option<RecordResult>> {
        let store = &self.scene.store;
        let done = store.record_actions(
            pass(uuid(self.lock)).sync,
            requests,
            ScheduleLimits::default(),
            now,
        );
        done.await.unwrap()
    }

    async fn try_record(
        &self,
        run: &Attempted,
        outcome: AttemptOutcome,
        fresh: u64,
        now: Timestamp,
    ) -> Option<RecordResult> {
        let requests = vec![request(self.lock, run, outcome, fresh)];
        let mut records = self.record_these(requests, now).await;
        assert_eq!(records.len(), 1, "one answer per request");
        records.remove(0)
    }

    /// It must be taken.
    pub(in crate::conformance) async fn record(
        &self,
        run: &Attempted,
        outcome: AttemptOutcome,
        fresh: u64,
        now: Timestamp,
    ) -> RecordedAction {
        match self.try_record(run, outcome, fresh, now).await {
            Some(RecordResult::Written(recorded)) => *recorded,
            other => panic!("expected a record, got {other:?}"),
        }
    }

    async fn record_late(&self, run: &Attempted, outcome: AttemptOutcome, now: Timestamp) {
        let late = self.try_record(run, outcome, 404, now).await;
        assert!(matches!(late, Some(RecordResult::Late(_))), "{late:?}");
    }
}

fn request(lock: u64, run: &Attempted, outcome: AttemptOutcome, fresh: u64) -> RecordRequest {
    RecordRequest {
        lock: uuid(lock),
        timer: run.0.clone(),
        ticket: run.1.ticket.clone(),
        attempt: run.1.attempt.clone(),
        outcome,
        fresh: uuid(fresh),
    }
}

fn failed() -> AttemptOutcome {
    AttemptOutcome::Failed(Failure::new("HTTP_STATUS", "503\u{0} Ä"))
}

fn keeping(put: Put) -> Put {
    let mode = Override::MetaAndSpecOnly;
    Put { mode, ..put }
}

async fn a_due_action_begins_once(scene: Scene) {
    let made = scene.put(put("a", 1, once(at(100), 2)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let (timer, run) = worker.only_run(at(100)).await;
    assert_eq!((timer.action_id.as_str(), timer.guid), ("a", uuid(1)));
    assert_eq!((run.attempt.number, run.attempt.ordinal), (1, 1));
    assert_eq!(run.key, made.key(at(100)));
    assert_eq!(scene.action("a").await, run.row);
    let rows = worker.rows().await;
    assert_eq!(rows.len(), 1);
    assert_eq!(Some(rows[0].at), run.row.due_at(), "the time to look again");
    scene.check_queued("a").await;
    assert!(worker.begin(at(101)).await.is_empty());
    let again = worker.begin_these(vec![timer], at(101)).await;
    assert!(again.is_empty());
    assert_eq!(scene.action("a").await, run.row);
    scene.check_queued("a").await;
}

async fn nothing_begins_early(scene: Scene) {
    let made = scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(50)).await;
    let due = worker.rows().await;
    let early = worker.begin_these(due, at(99)).await;
    assert!(early.is_empty());
    assert_eq!(scene.action("a").await, made);
    scene.check_queued("a").await;
    assert_eq!(worker.begin(at(100)).await.len(), 1);
}

async fn nothing_begins_without_the_lock(scene: Scene) {
    let made = scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let zombie = Worker::new(&scene, 9, at(100)).await;
    let due = zombie.rows().await;
    let owner = Worker::new(&scene, 8, at(150)).await;
    let begun = zombie.begin_these(due, at(151)).await;
    assert!(begun.is_empty());
    assert_eq!(scene.action("a").await, made);
    owner.only_run(at(151)).await;
}

async fn nothing_is_recorded_without_the_lock(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 1)), at(5)).await;
    let zombie = Worker::new(&scene, 9, at(100)).await;
    let run = zombie.only_run(at(100)).await;
    let owner = Worker::new(&scene, 8, at(150)).await;
    let record = zombie
        .try_record(&run, AttemptOutcome::Success, 50, at(151))
        .await;
    assert_eq!(record, None);
    assert_eq!(scene.action("a").await, run.1.row);
    assert!(scene.past("a").await.is_empty());
    let (_, next) = owner.only_run(at(152)).await;
    assert_eq!((next.attempt.number, &next.key), (2, &run.1.key));
    assert_eq!(next.row.status.interrupted, 1);
}

async fn a_success_ends_what_fires_once(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let run = worker.only_run(at(100)).await;
    let recorded = worker
        .record(&run, AttemptOutcome::Success, 50, at(102))
        .await;
    let row = scene.action("a").await;
    assert_eq!(row, recorded.row);
    assert_eq!(row.status.finished, Some(ActionEnding::Done));
    assert_eq!((row.status.finished_at, row.guid), (Some(at(102)), uuid(1)));
    assert!(!recorded.requeue);
    assert!(worker.rows().await.is_empty());
    scene.check_queued("a").await;
    let past = scene.past("a").await;
    assert_eq!(past.len(), 1);
    assert_eq!(
        (past[0].0, &past[0].1),
        (row.status.generation, &recorded.past.unwrap())
    );
    assert_eq!(past[0].1.finished_at, at(102));
}

async fn a_success_of_many_goes_on(scene: Scene) {
    scene.put(put("a", 1, periodic(at(100), 60)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    for n in 0..3 {
        let now = at(100 + 60 * n);
        let run = worker.only_run(now).await;
        assert_eq!(run.1.attempt.planned_at, now);
        worker.record(&run, AttemptOutcome::Success, 50, now).await;
        let rows = worker.rows().await;
        assert_eq!((rows.len(), rows[0].at), (1, at(160 + 60 * n)));
        scene.check_queued("a").await;
    }
    assert_eq!(scene.action("a").await.status.successful, 3);
}

async fn a_failure_is_tried_again(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 1)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let run = worker.only_run(at(100)).await;
    let recorded = worker.record(&run, failed(), 50, at(101)).await;
    let retry_at = recorded.row.due_at().unwrap();
    assert!(at(101) < retry_at && retry_at < at(110), "{retry_at}");
    assert_eq!(worker.rows().await[0].at, retry_at);
    scene.check_queued("a").await;
    let (_, second) = worker.only_run(retry_at).await;
    assert_eq!((second.attempt.number, &second.key), (2, &run.1.key));
    assert_eq!(second.row.status.failed, 1);
    let past = scene.past("a").await;
    let AttemptOutcome::Failed(failure) = failed() else {
        panic!()
    };
    assert_eq!(past[0].1.ended, AttemptEnd::Failed(failure));
}

async fn a_failure_without_retries_is_the_end(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let run = worker.only_run(at(100)).await;
    worker.record(&run, failed(), 50, at(101)).await;
    let status = scene.action("a").await.status;
    assert_eq!(status.finished, Some(ActionEnding::OutOfRetries));
    assert!(worker.rows().await.is_empty());
}

async fn what_was_not_made_is_due_again(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let run = worker.only_run(at(100)).await;
    let recorded = worker
        .record(&run, AttemptOutcome::NotMade, 50, at(101))
        .await;
    assert_eq!(
        (recorded.past, recorded.row.due_at()),
        (None, Some(at(101)))
    );
    assert!(scene.past("a").await.is_empty());
    scene.check_queued("a").await;
    let (_, again) = worker.only_run(at(101)).await;
    assert_eq!((again.attempt.number, again.attempt.ordinal), (1, 2));
}

async fn what_was_interrupted_is_found(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 1)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let (_, first) = worker.only_run(at(100)).await;
    let look_again = first.row.due_at().unwrap();
    let (_, second) = worker.only_run(look_again).await;
    assert_eq!((second.attempt.number, &second.key), (2, &first.key));
    let past = scene.past("a").await;
    assert_eq!(past.len(), 1);
    assert_eq!(Some(&past[0].1), second.interrupted.as_ref());
    assert_eq!(past[0].1.ended, AttemptEnd::Interrupted);
    assert_eq!(past[0].1.attempt, first.attempt);
    // An action that interrupts every worker is over some time, without any worker having said so.
    let mut look = second.row.due_at().unwrap();
    for _ in 1..INTERRUPTIONS_MAX {
        let (_, run) = worker.only_run(look).await;
        look = run.row.due_at().unwrap();
    }
    assert!(worker.begin(look).await.is_empty());
    let status = scene.action("a").await.status;
    assert_eq!(status.finished, Some(ActionEnding::OutOfRetries));
    let past = scene.past("a").await;
    assert_eq!(past.len() as u32, INTERRUPTIONS_MAX + 1);
    assert!(worker.rows().await.is_empty());
}

async fn what_is_past_its_deadline_ends(scene: Scene) {
    let value = json!({"policy": {"once": {}}, "action": {"mock": {}},
        "deadline": at(200).to_string()});
    scene
        .put(put("a", 1, fixture::spec(at(100), value)), at(5))
        .await;
    let worker = Worker::new(&scene, 9, at(201)).await;
    assert!(worker.begin(at(201)).await.is_empty());
    let status = scene.action("a").await.status;
    assert_eq!(status.finished, Some(ActionEnding::Deadline));
    assert!(worker.rows().await.is_empty());
    scene.check_queued("a").await;
}

async fn a_stale_row_is_dropped(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let kept = scene
        .put(keeping(put("a", 2, once(at(100), 3))), at(6))
        .await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let mut due = worker.rows().await;
    assert_eq!(due.len(), 2);
    due.retain(|timer| timer.guid == uuid(1));
    let begun = worker.begin_these(due, at(100)).await;
    assert!(begun.is_empty());
    assert_eq!(scene.action("a").await, kept);
    let left = worker.rows().await;
    assert_eq!((left.len(), left[0].guid), (1, uuid(2)));
}

async fn a_row_without_an_action_is_dropped(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    scene.store.delete_action("a").await.unwrap();
    let worker = Worker::new(&scene, 9, at(100)).await;
    assert_eq!(worker.rows().await.len(), 1);
    let begun = worker.begin(at(100)).await;
    assert!(begun.is_empty());
    assert!(worker.rows().await.is_empty());
}

async fn a_batch_begins_what_it_can(scene: Scene) {
    let id = scene.create(1).await;
    scene.sleep(id, 71, at(100), at(4)).await;
    for (n, id) in ["c", "a", "b", "gone"].into_iter().enumerate() {
        scene
            .put(put(id, 1 + n as u64, once(at(100), 0)), at(5))
            .await;
    }
    scene.put(put("later", 9, once(at(500), 0)), at(5)).await;
    scene.store.delete_action("gone").await.unwrap();
    let worker = Worker::new(&scene, 9, at(100)).await;
    let mut due = worker.rows().await;
    due.sort_by(|one, other| other.action_id.cmp(&one.action_id));
    let twice = [due.clone(), due].concat();
    let begun = worker.begin_these(twice.clone(), at(100)).await;
    let ids: Vec<_> = begun.iter().map(|(_, run)| &run.row.id).collect();
    assert_eq!(ids, ["c", "b", "a"], "in the order given, each once");
    for id in ["a", "b", "c", "later"] {
        scene.check_queued(id).await;
    }
    assert_eq!(worker.rows().await.len(), 5, "the wait is left alone");
    let fired = scene.store.fire(pass(uuid(9)), twice, at(100)).await;
    assert_eq!(fired.unwrap().len(), 1);
    assert_eq!(worker.rows().await.len(), 4, "the actions are left alone");
}

async fn a_row_that_is_not_there_begins_nothing(scene: Scene) {
    let made = scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let mut ghost = worker.rows().await.remove(0);
    ghost.at = at(99);
    let begun = worker.begin_these(vec![ghost], at(100)).await;
    assert!(begun.is_empty());
    assert_eq!(scene.action("a").await, made);
    scene.check_queued("a").await;
}

async fn a_write_during_an_attempt_queues_anew(scene: Scene) {
    scene.put(put("a", 1, periodic(at(100), 60)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let run = worker.only_run(at(100)).await;
    let kept = scene
        .put(keeping(put("a", 2, periodic(at(100), 30))), at(101))
        .await;
    assert_eq!(kept.status, run.1.row.status);
    scene.check_queued("a").await;
    let recorded = worker
        .record(&run, AttemptOutcome::Success, 50, at(102))
        .await;
    assert!(recorded.requeue);
    let row = scene.action("a").await;
    assert_eq!((row.guid, row.due_at()), (uuid(50), Some(at(130))));
    assert_eq!(row.status.successful, 1);
    scene.check_queued("a").await;
    let guids: Vec<_> = worker.rows().await.iter().map(|row| row.guid).collect();
    assert!(!guids.contains(&uuid(1)), "its own row is gone");
    let (_, next) = worker.only_run(at(130)).await;
    assert_eq!(next.attempt.planned_at, at(130));
    scene.check_queued("a").await;
}

async fn a_pause_during_an_attempt_counts_it(scene: Scene) {
    scene.put(put("a", 1, periodic(at(100), 60)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let run = worker.only_run(at(100)).await;
    scene.order("a", ActionCommand::Pause, 2, at(101)).await;
    scene.check_queued("a").await;
    worker
        .record(&run, AttemptOutcome::Success, 50, at(102))
        .await;
    let row = scene.action("a").await;
    assert_eq!((row.status.successful, row.due_at()), (1, None));
    assert!(worker.rows().await.is_empty());
    scene.order("a", ActionCommand::Resume, 3, at(103)).await;
    scene.check_queued("a").await;
    assert_eq!(scene.action("a").await.due_at(), Some(at(160)));
}

async fn a_new_life_during_an_attempt_keeps_its_end_for_the_history(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let run = worker.only_run(at(100)).await;
    let mode = Override::All;
    let request = Put {
        mode,
        ..put("a", 2, once(at(300), 0))
    };
    let anew = scene.put(request, at(101)).await;
    worker.record_late(&run, failed(), at(102)).await;
    assert_eq!(scene.action("a").await, anew);
    scene.check_queued("a").await;
    let past = scene.past("a").await;
    assert_eq!(past.len(), 1);
    assert_eq!(past[0].0, run.1.ticket.generation);
    assert_eq!(past[0].1.attempt, run.1.attempt);
    assert_eq!(past[0].1.ended.name(), "failed");
    // The old row is dropped when its time has come.
    let look_again = run.1.row.due_at().unwrap();
    assert!(worker.begin(look_again).await.is_empty());
    assert_eq!(worker.rows().await.len(), 1);
    scene.check_queued("a").await;
}

async fn a_deletion_during_an_attempt_leaves_nothing(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let run = worker.only_run(at(100)).await;
    scene.store.delete_action("a").await.unwrap();
    worker
        .record_late(&run, AttemptOutcome::Success, at(102))
        .await;
    assert!(scene.past("a").await.is_empty());
    assert_eq!(scene.store.action("a").await.unwrap(), None);
}

async fn a_second_record_changes_nothing(scene: Scene) {
    scene.put(put("a", 1, periodic(at(100), 60)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let run = worker.only_run(at(100)).await;
    let recorded = worker
        .record(&run, AttemptOutcome::Success, 50, at(101))
        .await;
    let past = scene.past("a").await;
    worker.record_late(&run, failed(), at(102)).await;
    assert_eq!(scene.action("a").await, recorded.row);
    assert_eq!(scene.past("a").await, past);
    scene.check_queued("a").await;
}

async fn a_record_after_the_next_attempt_changes_nothing(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 5)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let slow = worker.only_run(at(100)).await;
    let look_again = slow.1.row.due_at().unwrap();
    let next = worker.only_run(look_again).await;
    worker
        .record_late(&slow, AttemptOutcome::Success, look_again)
        .await;
    assert_eq!(scene.action("a").await, next.1.row);
    let past = scene.past("a").await;
    assert_eq!(past.len(), 1);
    assert_eq!(
        past[0].1.ended,
        AttemptEnd::Interrupted,
        "as it was counted"
    );
    scene.check_queued("a").await;
    worker
        .record(&next, AttemptOutcome::Success, 50, look_again)
        .await;
}

async fn an_action_may_have_the_id_of_an_execution(scene: Scene) {
    let id = scene.create(1).await;
    scene.sleep(id, 71, at(100), at(4)).await;
    let name = id.to_string();
    scene.put(put(&name, 1, once(at(100), 0)), at(5)).await;
    let kept = keeping(put(&name, 2, once(at(100), 0)));
    scene.put(kept, at(6)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let due = worker.rows().await;
    let kind_of = |guid| due.iter().find(|row| row.guid == uuid(guid)).unwrap().kind;
    let kinds = [1, 2, 71].map(kind_of);
    assert_eq!(
        kinds,
        [TimerKind::Action, TimerKind::Action, TimerKind::Wait]
    );
    let fired = scene.store.fire(pass(uuid(9)), due, at(100)).await;
    assert_eq!(fired.unwrap().len(), 1);
    let begun = worker.begin(at(100)).await;
    assert_eq!(begun.len(), 1);
    assert_eq!(begun[0].0.guid, uuid(2));
    assert!(scene.state(id).await.wait.is_none());
    let left = worker.rows().await;
    assert_eq!((left.len(), left[0].guid), (1, uuid(2)));
    scene.check_queued(&name).await;
}

async fn a_firing_meets_the_execution_before(scene: Scene) {
    let spec = fixture::starting(at(100), 60);
    scene.put(put("a", 1, spec), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let run = worker.only_run(at(100)).await;
    let mut new = fixture::new_execution(1);
    new.execution.record.idempotency_key = Some(run.1.row.start_key(run.1.attempt.planned_at));
    scene.create_as(new).await;
    worker
        .record(&run, AttemptOutcome::Success, 50, at(101))
        .await;
    assert!(worker.begin(at(160)).await.is_empty(), "it still runs");
    let row = scene.action("a").await;
    let skip = row.status.last_skip.clone().unwrap();
    assert_eq!(
        (skip.reason, row.due_at()),
        (SkipReason::Overlap, Some(at(220)))
    );
    scene.check_queued("a").await;
    scene
        .finish(execution_id(1), Status::Completed, at(170))
        .await;
    let (_, next) = worker.only_run(at(220)).await;
    assert_eq!(next.attempt.planned_at, at(220));
}

async fn an_end_is_recorded_under_the_lock_of_its_beginning(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 1)), at(5)).await;
    let before = Worker::new(&scene, 9, at(100)).await;
    let run = before.only_run(at(100)).await;
    let unlocked = scene.store.unlock_shards(vec![uuid(9)], None, at(100));
    unlocked.await.unwrap();
    // The same worker takes the shards again.
    let mut again = fixture::lock_request(10, at(101));
    again.owner = fixture::lock_request(9, at(101)).owner;
    scene.store.lock_shards(again).await.unwrap();
    let record = before
        .try_record(&run, AttemptOutcome::Success, 50, at(102))
        .await;
    assert_eq!(record, None);
    assert_eq!(scene.action("a").await, run.1.row);
    scene.check_queued("a").await;
}

async fn a_row_tells_who_has_it_and_what_was_done_with_it(scene: Scene) {
    let row = async || {
        let mut rows = scene.store.queued("a").await.unwrap();
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows.remove(0)
    };
    let mark = |now: i64| {
        Some(SyncMark {
            at: at(now),
            sync: pass(uuid(9)).sync,
        })
    };
    scene.put(put("a", 1, once(at(100), 1)), at(5)).await;
    let new = row().await;
    assert_eq!((new.holder, new.added_at), (None, at(5)));
    assert_eq!((new.moved, new.rescheduled), (None, None));
    let worker = Worker::new(&scene, 9, at(6)).await;
    let holder = Some(ShardHolder {
        owner: "worker-9".into(),
        lock: uuid(9),
    });
    assert_eq!(row().await.holder, holder);
    // Rows are collected at the beginning of time.
    let due = worker.rows().await;
    let moved = row().await;
    assert_eq!((moved.added_at, moved.moved), (at(5), mark(0)));
    assert_eq!((moved.shard_id, moved.rescheduled), (due[0].shard_id, None));
    let run = worker.only_run(at(100)).await;
    let begun = row().await;
    assert_eq!((begun.moved, begun.rescheduled), (mark(0), mark(100)));
    worker.record(&run, failed(), 50, at(101)).await;
    let recorded = row().await;
    assert_eq!((recorded.moved, recorded.rescheduled), (mark(0), mark(101)));
    assert_eq!((recorded.added_at, recorded.holder), (at(5), holder));
    let unlocked = scene.store.unlock_shards(vec![uuid(9)], None, at(102));
    unlocked.await.unwrap();
    assert_eq!(row().await.holder, None);
}

async fn many_are_recorded_at_once(scene: Scene) {
    for (n, id) in ["c", "a", "b", "d"].into_iter().enumerate() {
        scene
            .put(put(id, 1 + n as u64, once(at(100), 1)), at(5))
            .await;
    }
    let worker = Worker::new(&scene, 9, at(100)).await;
    let runs = worker.begin(at(100)).await;
    assert_eq!(runs.len(), 4);
    scene.store.delete_action("d").await.unwrap();
    let outcome = |run: &Attempted| match run.0.action_id.as_str() {
        "a" => failed(),
        "b" => AttemptOutcome::NotMade,
        _ => AttemptOutcome::Success,
    };
    let mut requests: Vec<_> = runs
        .iter()
        .map(|run| request(worker.lock, run, outcome(run), 60))
        .collect();
    // Another worker's shard, and one that comes twice.
    let mut foreign = requests[0].clone();
    foreign.timer.shard_id = 4_000;
    requests.insert(0, foreign);
    requests.push(requests[1].clone());
    let records = worker.record_these(requests.clone(), at(101)).await;
    assert_eq!(records.len(), 6);
    assert_eq!(records[0], None);
    for (request, record) in requests.iter().zip(&records).skip(1).take(4) {
        let gone = request.timer.action_id == "d";
        assert_eq!(matches!(record, Some(RecordResult::Late(_))), gone);
    }
    assert!(matches!(records[5], Some(RecordResult::Late(_))));
    for id in ["a", "b", "c"] {
        scene.check_queued(id).await;
    }
    assert_eq!(scene.past("a").await.len(), 1);
    assert!(scene.past("b").await.is_empty());
    assert!(scene.action("c").await.status.is_finished());
}

//! Scheduled actions as users write and see them.

pub(super) mod work;

use serde_json::{Map, json};

use pawl_kernel::ports::schedule::{
    ATTEMPTS_KEPT, ActionCommand, ActionError, ActionFilter, DuePlace, PutEffect, PutError,
};
use pawl_kernel::schedule::{
    ActionRefusal, AttemptEnd, AttemptOutcome, Override, PastAttempt, Put, ScheduledAction, Spec,
};
use pawl_kernel::time::Timestamp;
use pawl_kernel::user::Writer;

use super::{Scene, StoreCase, cases};
use crate::fixture::{self, at, once, periodic, put, uuid};

use work::Worker;

pub(super) const CASES: &[StoreCase] = cases!["schedule":
    put_makes_an_action_and_its_row,
    put_gives_back_every_text,
    put_refuses_what_exists,
    put_says_whether_there_was_one,
    put_may_keep_the_status,
    put_may_begin_anew,
    the_same_write_again_changes_nothing,
    delete_forgets_all,
    pause_takes_the_row_away_and_resume_brings_it_back,
    run_now_is_due_at_once,
    commands_are_refused_with_a_reason,
    the_same_command_again_changes_nothing,
    actions_are_listed_by_page,
    actions_are_listed_by_what_they_are,
    actions_are_listed_as_they_are_due,
    the_history_has_pages,
    the_history_is_bounded,
];

impl Scene {
    pub(super) async fn put(&self, put: Put, now: Timestamp) -> ScheduledAction {
        self.store.put_action(put, now).await.unwrap().0
    }

    pub(super) async fn action(&self, id: &str) -> ScheduledAction {
        self.store.action(id).await.unwrap().unwrap()
    }

    pub(super) async fn order(
        &self,
        id: &str,
        command: ActionCommand,
        guid: u64,
        now: Timestamp,
    ) -> ScheduledAction {
        let done = self.store.command_action(id, command, uuid(guid), now);
        done.await.unwrap()
    }

    async fn order_refused(
        &self,
        id: &str,
        command: ActionCommand,
        now: Timestamp,
    ) -> ActionRefusal {
        let done = self.store.command_action(id, command, uuid(404), now).await;
        match done {
            Err(ActionError::Refused(refusal)) => refusal,
            other => panic!("expected a refusal, got {other:?}"),
        }
    }

    /// The action is due some time and has one row, or is not and has none.
    pub(super) async fn check_queued(&self, id: &str) {
        let due = self.action(id).await.due_at();
        let rows = self.store.queued(id).await.unwrap();
        assert_eq!(rows.len(), usize::from(due.is_some()), "{id} at {due:?}");
    }

    async fn listed(&self, filter: ActionFilter) -> Vec<String> {
        let found = self.store.actions(filter, None, 100).await.unwrap();
        found.into_iter().map(|row| row.id).collect()
    }

    async fn listed_by_due(
        &self,
        before: Option<Timestamp>,
        after: Option<DuePlace>,
        limit: u32,
    ) -> Vec<String> {
        let found = self.store.actions_by_due(before, after, limit).await;
        found.unwrap().into_iter().map(|row| row.id).collect()
    }

    pub(super) async fn past(&self, id: &str) -> Vec<(u64, PastAttempt)> {
        self.store.attempts(id, None, 1000).await.unwrap()
    }
}

fn over(mode: Override, put: Put) -> Put {
    Put { mode, ..put }
}

async fn put_makes_an_action_and_its_row(scene: Scene) {
    assert_eq!(scene.store.action("a").await.unwrap(), None);
    assert!(scene.store.queued("a").await.unwrap().is_empty());
    let made = scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    assert_eq!(made.due_at(), Some(at(100)));
    assert_eq!((made.guid, made.meta.created_at), (uuid(1), at(5)));
    assert_eq!(scene.action("a").await, made);
    scene.check_queued("a").await;
    let shards = scene.lock_all(9, at(6)).await;
    let due = scene.due(9, &shards, at(999)).await;
    assert_eq!(due.len(), 1);
    assert_eq!((due[0].at, due[0].guid), (at(100), uuid(1)));
    assert_eq!(due[0].action_id, "a");
    scene.check_queued("a").await;
}

async fn put_gives_back_every_text(scene: Scene) {
    let texts = json!({"a\u{0}b": "\u{0}\u{10ffff}", "käse": [1.5, null, true, -7]});
    let action = json!({"http_callback": {
        "method": "POST", "url": "https://example.com/x?y=ä", "headers": {"X-A": "b"}, "body": texts,
    }});
    let policy = json!({"cron": {"expr": "*/5 8-18 * * MON-FRI", "timezone": "Europe/Berlin",
        "overlap": "queue", "catch_up": "all", "retry": {"max_retries": 2, "backoff": 1.5}}});
    let spec = fixture::spec(at(0), json!({"policy": policy, "action": action}));
    let request = Put {
        notes: Map::from_iter([("texts".to_owned(), texts)]),
        written_by: Writer::with_user("user:\u{0}ü", json!({"id": "\u{0}ü"})),
        ..put("a.b_c@d-1", 1, spec)
    };
    let made = scene.put(request.clone(), at(5)).await;
    let kept = scene.action("a.b_c@d-1").await;
    assert_eq!(kept, made);
    assert_eq!((kept.spec, kept.meta.notes), (request.spec, request.notes));
    assert_eq!(kept.meta.written_by, request.written_by.name);
    assert_eq!(kept.meta.user, request.written_by.user);
}

async fn put_refuses_what_exists(scene: Scene) {
    let made = scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let again = put("a", 2, once(at(200), 0));
    let refused = scene.store.put_action(again, at(6)).await;
    assert!(matches!(refused, Err(PutError::Exists(_))), "{refused:?}");
    assert_eq!(scene.action("a").await, made);
    assert_eq!(scene.timer_rows().await, 1);
}

async fn put_says_whether_there_was_one(scene: Scene) {
    for (guid, mode, expected) in [
        (1, Override::All, PutEffect::Created),
        (2, Override::All, PutEffect::Replaced),
        (3, Override::MetaAndSpecOnly, PutEffect::Replaced),
    ] {
        let request = Put {
            mode,
            ..put("a", guid, once(at(100), 0))
        };
        let (_, effect) = scene.store.put_action(request, at(5)).await.unwrap();
        assert_eq!(effect, expected, "{mode:?}");
    }
    let request = put("b", 4, once(at(100), 0));
    for _ in 0..2 {
        let (_, effect) = scene
            .store
            .put_action(request.clone(), at(5))
            .await
            .unwrap();
        assert_eq!(effect, PutEffect::Created);
    }
}

async fn put_may_keep_the_status(scene: Scene) {
    let made = scene.put(put("a", 1, periodic(at(100), 60)), at(5)).await;
    let request = over(
        Override::MetaAndSpecOnly,
        put("a", 2, periodic(at(100), 30)),
    );
    let kept = scene.put(request, at(7)).await;
    assert_eq!((kept.guid, &kept.status), (uuid(2), &made.status));
    assert_eq!((kept.meta.created_at, kept.meta.updated_at), (at(5), at(7)));
    assert_eq!(scene.action("a").await, kept);
    scene.check_queued("a").await;
    assert_eq!(
        scene.timer_rows().await,
        2,
        "the old row is left to workers"
    );
}

async fn put_may_begin_anew(scene: Scene) {
    let made = scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let request = over(Override::All, put("a", 2, once(at(50), 0)));
    let anew = scene.put(request, at(5)).await;
    assert!(anew.status.generation > made.status.generation);
    assert_eq!(anew.due_at(), Some(at(50)));
    assert_eq!(scene.action("a").await, anew);
    scene.check_queued("a").await;
}

async fn the_same_write_again_changes_nothing(scene: Scene) {
    let first = put("a", 1, once(at(100), 0));
    let made = scene.put(first.clone(), at(5)).await;
    assert_eq!(scene.put(first, at(6)).await, made);
    let request = over(Override::All, put("a", 2, once(at(90), 0)));
    let anew = scene.put(request.clone(), at(7)).await;
    assert_eq!(scene.put(request, at(8)).await, anew);
    assert_eq!(scene.timer_rows().await, 2, "one for each write");
}

async fn delete_forgets_all(scene: Scene) {
    scene.put(put("a", 1, periodic(at(100), 60)), at(5)).await;
    scene.put(put("b", 2, periodic(at(500), 60)), at(5)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let run = worker.only_run(at(100)).await;
    worker
        .record(&run, AttemptOutcome::Success, 50, at(101))
        .await;
    assert_eq!(scene.past("a").await.len(), 1);
    assert!(scene.store.delete_action("a").await.unwrap());
    assert!(!scene.store.delete_action("a").await.unwrap());
    assert_eq!(scene.store.action("a").await.unwrap(), None);
    assert!(scene.past("a").await.is_empty());
    // Its row is dropped when it is due, and no other action's.
    assert!(worker.begin(at(160)).await.is_empty());
    assert_eq!(worker.rows().await.len(), 1);
    scene.check_queued("b").await;
}

async fn pause_takes_the_row_away_and_resume_brings_it_back(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let paused = scene.order("a", ActionCommand::Pause, 2, at(6)).await;
    assert_eq!((paused.due_at(), paused.guid), (None, uuid(2)));
    assert_eq!(scene.action("a").await, paused);
    scene.check_queued("a").await;
    let again = scene.order("a", ActionCommand::Pause, 3, at(7)).await;
    assert_eq!(again, paused, "it is so already");
    let worker = Worker::new(&scene, 9, at(150)).await;
    assert!(worker.begin(at(150)).await.is_empty());
    assert!(worker.rows().await.is_empty(), "the stale row is gone");
    let resumed = scene.order("a", ActionCommand::Resume, 4, at(151)).await;
    assert_eq!(resumed.due_at(), Some(at(100)), "merely late");
    scene.check_queued("a").await;
    assert_eq!(worker.begin(at(151)).await.len(), 1);
}

async fn run_now_is_due_at_once(scene: Scene) {
    scene.put(put("a", 1, periodic(at(1000), 60)), at(5)).await;
    let hurried = scene.order("a", ActionCommand::RunNow, 2, at(50)).await;
    assert_eq!(hurried.due_at(), Some(at(50)));
    scene.check_queued("a").await;
    let worker = Worker::new(&scene, 9, at(50)).await;
    let run = worker.only_run(at(50)).await;
    assert_eq!(run.1.attempt.planned_at, at(50));
    worker
        .record(&run, AttemptOutcome::Success, 50, at(51))
        .await;
    assert_eq!(scene.action("a").await.due_at(), Some(at(1000)));
    scene.check_queued("a").await;
}

async fn commands_are_refused_with_a_reason(scene: Scene) {
    let unknown = scene
        .store
        .command_action("a", ActionCommand::Pause, uuid(1), at(1))
        .await;
    assert!(matches!(unknown, Err(ActionError::NotFound)), "{unknown:?}");
    scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let refusal = scene.order_refused("a", ActionCommand::Resume, at(6)).await;
    assert_eq!(refusal, ActionRefusal::NotPaused);
    let worker = Worker::new(&scene, 9, at(100)).await;
    let run = worker.only_run(at(100)).await;
    let refusal = scene
        .order_refused("a", ActionCommand::RunNow, at(101))
        .await;
    assert_eq!(refusal, ActionRefusal::UnderWay(at(100)));
    worker
        .record(&run, AttemptOutcome::Success, 50, at(102))
        .await;
    let refusal = scene
        .order_refused("a", ActionCommand::Pause, at(103))
        .await;
    assert!(matches!(refusal, ActionRefusal::Finished(_)), "{refusal:?}");
}

async fn the_same_command_again_changes_nothing(scene: Scene) {
    scene.put(put("a", 1, once(at(100), 0)), at(5)).await;
    let hurried = scene.order("a", ActionCommand::RunNow, 2, at(50)).await;
    let again = scene.order("a", ActionCommand::RunNow, 2, at(51)).await;
    assert_eq!(again, hurried);
    assert_eq!(scene.timer_rows().await, 2);
}

async fn actions_are_listed_by_page(scene: Scene) {
    for (n, id) in ["b", "a", "d", "a-1", "B", "c", "a.2"].iter().enumerate() {
        let request = put(id, n as u64, once(at(100), 0));
        scene.put(request, at(5)).await;
    }
    let mut seen: Vec<String> = Vec::new();
    loop {
        let after = seen.last().cloned();
        let page = scene
            .store
            .actions(ActionFilter::default(), after, 3)
            .await
            .unwrap();
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 3);
        seen.extend(page.into_iter().map(|row| row.id));
    }
    assert_eq!(seen, ["B", "a", "a-1", "a.2", "b", "c", "d"]);
    let prefixed = |prefix: &str| ActionFilter {
        prefix: Some(prefix.into()),
        ..ActionFilter::default()
    };
    assert_eq!(scene.listed(prefixed("a")).await, ["a", "a-1", "a.2"]);
    let page = scene
        .store
        .actions(prefixed("a"), Some("a".into()), 1)
        .await
        .unwrap();
    assert_eq!(page[0].id, "a-1");
    assert!(scene.listed(prefixed("x")).await.is_empty());
}

async fn actions_are_listed_by_what_they_are(scene: Scene) {
    for (n, (id, start)) in [("a", 100), ("b", 200), ("c", 300), ("d", 100)]
        .into_iter()
        .enumerate()
    {
        scene
            .put(put(id, n as u64, once(at(start), 0)), at(5))
            .await;
    }
    scene.order("d", ActionCommand::Pause, 10, at(6)).await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    let run = worker.only_run(at(100)).await;
    worker
        .record(&run, AttemptOutcome::Success, 50, at(101))
        .await;
    let filter = |finished| ActionFilter {
        finished,
        ..ActionFilter::default()
    };
    assert_eq!(scene.listed(filter(Some(true))).await, ["a"]);
    assert_eq!(scene.listed(filter(Some(false))).await, ["b", "c", "d"]);
    assert_eq!(scene.listed(filter(None)).await.len(), 4);
}

async fn actions_are_listed_as_they_are_due(scene: Scene) {
    let actions = [
        ("over", 90),
        ("z", 200),
        ("a", 300),
        ("c", 200),
        ("p2", 100),
        ("p1", 400),
    ];
    for (n, (id, start)) in actions.into_iter().enumerate() {
        let request = put(id, n as u64, once(at(start), 0));
        scene.put(request, at(5)).await;
    }
    scene.order("p1", ActionCommand::Pause, 10, at(6)).await;
    scene.order("p2", ActionCommand::Pause, 11, at(6)).await;
    let worker = Worker::new(&scene, 9, at(90)).await;
    let run = worker.only_run(at(90)).await;
    worker
        .record(&run, AttemptOutcome::Success, 50, at(91))
        .await;
    let expected = ["c", "z", "a", "p1", "p2"];
    assert_eq!(scene.listed_by_due(None, None, 100).await, expected);
    let (mut seen, mut after) = (Vec::new(), None);
    while let [id] = &scene.listed_by_due(None, after, 1).await[..] {
        after = Some(DuePlace::of(&scene.action(id).await));
        seen.push(id.clone());
    }
    assert_eq!(seen, expected);
    let both = DuePlace {
        due: Some(at(200)),
        id: "c".into(),
    };
    let rest = scene.listed_by_due(None, Some(both), 3).await;
    assert_eq!(rest, ["z", "a", "p1"], "what is due and what is not");
    let soon = scene.listed_by_due(Some(at(300)), None, 100).await;
    assert_eq!(soon, ["c", "z"], "before that, and none that is paused");
    let none = DuePlace {
        due: None,
        id: "p1".into(),
    };
    let soon = scene.listed_by_due(Some(at(999)), Some(none), 100).await;
    assert!(soon.is_empty());
}

/// Fires so many times, one second after the other.
async fn fire(scene: &Scene, spec: Spec, count: i64) {
    let start = spec.start_at;
    scene.put(put("a", 1, spec), start).await;
    let worker = Worker::new(scene, 9, start).await;
    for n in 0..count {
        let now = Timestamp::from_micros(start.as_micros() + n * 1_000_000);
        let run = worker.only_run(now).await;
        worker
            .record(&run, AttemptOutcome::Success, 1000 + n as u64, now)
            .await;
    }
}

async fn the_history_has_pages(scene: Scene) {
    fire(&scene, periodic(at(100), 1), 5).await;
    let all = scene.past("a").await;
    let generation = scene.action("a").await.status.generation;
    let place = |(generation, past): &(u64, PastAttempt)| (*generation, past.attempt.ordinal);
    let places: Vec<_> = all.iter().map(place).collect();
    let expected: Vec<_> = (1..=5).rev().map(|ordinal| (generation, ordinal)).collect();
    assert_eq!(places, expected);
    assert!(
        all.iter()
            .all(|(_, past)| past.ended == AttemptEnd::Success)
    );
    assert_eq!(all[0].1.attempt.planned_at, at(104));
    assert_eq!(scene.action("a").await.status.last, Some(all[0].1.clone()));
    let page = scene.store.attempts("a", Some(expected[1]), 2).await;
    assert_eq!(page.unwrap(), all[2..4]);
    assert!(scene.past("b").await.is_empty());
}

async fn the_history_is_bounded(scene: Scene) {
    let count = i64::from(ATTEMPTS_KEPT) + 60;
    fire(&scene, periodic(at(100), 1), count).await;
    let kept = scene.past("a").await;
    let most = ATTEMPTS_KEPT as usize + 20;
    assert!((ATTEMPTS_KEPT as usize..most).contains(&kept.len()));
    assert_eq!(kept[0].1.attempt.ordinal, count as u64, "the latest stay");
    assert_eq!(scene.action("a").await.status.successful, count as u64);
}

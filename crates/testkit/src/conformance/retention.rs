//! Removing what ended long ago.

use std::time::Duration;

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{Command, Refusal, Skip};
use pawl_kernel::ports::letters::NewLetter;
use pawl_kernel::ports::retention::{
    Cutoff, KEY_KEPT, OutdatedPage, OutdatedRequest, RemovalReport, RemoveRequest,
};
use pawl_kernel::ports::schedule::ActionFilter;
use pawl_kernel::ports::store::CreateOutcome;
use pawl_kernel::schedule::{AttemptOutcome, Override};
use pawl_kernel::time::Timestamp;

use super::scene::Scene;
use super::schedule::work::Worker;
use super::{StoreCase, cases};
use crate::fixture::{self, at, commit, execution_id, once, pass, periodic, put, schema_id};

pub(super) const CASES: &[StoreCase] = cases!("retention":
    what_ended_goes_with_all_that_belongs_to_it,
    what_is_open_stays,
    what_ended_lately_stays,
    a_key_is_answered_for_a_day_and_then_free,
    children_stay_as_long_as_their_parent_is_open,
    pages_are_in_order_and_of_one_schema,
    what_is_gone_is_unknown,
    a_timer_of_what_is_gone_wakes_nobody,
    numbers_of_letters_are_not_used_again,
    deleted_schemas_are_still_listed,
    finished_actions_go_with_their_history,
    upkeep_harms_nothing,
);

const DAY: i64 = 86_400;

/// Keeps everything for an hour.
fn hour(now: Timestamp) -> Cutoff {
    Cutoff::new(now, Duration::from_secs(3_600))
}

impl Scene {
    async fn outdated(&self, cutoff: Cutoff) -> Vec<ExecutionId> {
        self.outdated_page(cutoff, None, 1_000).await.ids
    }

    async fn outdated_page(
        &self,
        cutoff: Cutoff,
        after: Option<ExecutionId>,
        limit: u32,
    ) -> OutdatedPage {
        let request = OutdatedRequest {
            schema_id: schema_id(1),
            cutoff,
            after,
            limit,
        };
        self.store.outdated(request).await.unwrap()
    }

    async fn remove(&self, ids: &[ExecutionId], cutoff: Cutoff) -> RemovalReport {
        let request = RemoveRequest {
            ids: ids.to_vec(),
            cutoff,
            all_gone_before: None,
        };
        self.store.remove(request).await.unwrap()
    }

    async fn exists(&self, id: ExecutionId) -> bool {
        self.store.execution(id).await.unwrap().is_some()
    }
}

async fn what_ended_goes_with_all_that_belongs_to_it(scene: Scene) {
    let (id, other) = (scene.create(1).await, scene.create(2).await);
    for one in [id, other] {
        scene.signal(one, "s1", "news").await;
        scene.signal(one, "s2", "news").await;
        let claimed = scene.claim(one, 1, at(10)).await;
        let rich = commit(&claimed.state, at(10)).steps(3).snapshot("{}");
        scene.commit(rich.log("a").log("b").build()).await;
        scene.finish(one, Status::Failed, at(20)).await;
        let letter = NewLetter {
            execution_id: Some(one),
            reason: "why not".into(),
            message: None,
            now: at(20),
        };
        scene.store.add_letter(letter).await.unwrap();
    }
    let cutoff = hour(at(DAY));
    assert_eq!(scene.outdated(cutoff).await, [id, other]);
    let removed = scene.remove(&[id], cutoff).await;
    let expected = RemovalReport {
        executions: 1,
        history: 4 + 1 + 2,
        signals: 2,
        dead_letters: 1,
        actions: 0,
    };
    assert_eq!(removed, expected);
    assert!(!scene.exists(id).await);
    assert!(scene.steps(id).await.is_empty());
    assert!(scene.store.logs(id, 0, 10).await.unwrap().is_empty());
    assert!(scene.store.signals(id).await.unwrap().is_empty());
    let history = scene.store.history(id, 4).await.unwrap();
    assert!(history.snapshot.is_none() && history.steps.is_empty());
    // Nothing of the other one.
    assert_eq!(scene.steps(other).await.len(), 4);
    assert_eq!(scene.store.logs(other, 0, 10).await.unwrap().len(), 2);
    assert_eq!(scene.store.signals(other).await.unwrap().len(), 2);
    let letters = scene.store.dead_letters(false, 0, 10).await.unwrap();
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].execution_id, Some(other));
    assert_eq!(scene.remove(&[id], cutoff).await, RemovalReport::default());
}

async fn what_is_open_stays(scene: Scene) {
    let ids: Vec<ExecutionId> = (1..=5).map(execution_id).collect();
    for n in 1..=5 {
        scene.create(n).await;
    }
    scene.claim(ids[1], 1, at(5)).await;
    scene.command(ids[2], Command::Pause, at(5)).await;
    scene.sleep(ids[3], 77, at(900 * DAY), at(5)).await;
    scene.advance(ids[4], 2, at(5)).await;
    let cutoff = hour(at(300 * DAY));
    assert!(scene.outdated(cutoff).await.is_empty());
    assert_eq!(scene.remove(&ids, cutoff).await, RemovalReport::default());
    for id in ids {
        assert!(scene.exists(id).await);
    }
    assert_eq!(scene.steps(execution_id(5)).await.len(), 2);
}

/// Also if it was created long ago; and a page that was read earlier is no permission.
async fn what_ended_lately_stays(scene: Scene) {
    let id = scene.create(1).await;
    scene.finish(id, Status::Completed, at(10 * DAY)).await;
    let early = hour(at(10 * DAY + 3_600));
    assert!(scene.outdated(early).await.is_empty());
    assert_eq!(scene.remove(&[id], early).await, RemovalReport::default());
    let late = hour(at(10 * DAY + 3_601));
    assert_eq!(scene.outdated(late).await, [id]);
    assert_eq!(scene.remove(&[id], early).await, RemovalReport::default());
    assert_eq!(scene.remove(&[id], late).await.executions, 1);
}

async fn a_key_is_answered_for_a_day_and_then_free(scene: Scene) {
    let keyed = |n: u64| {
        let mut new = fixture::new_execution(n);
        new.execution.record.idempotency_key = Some("order-7".into());
        new
    };
    let id = scene.create_as(keyed(1)).await;
    scene.finish(id, Status::Completed, at(10)).await;
    let day = KEY_KEPT.as_secs() as i64;
    let early = hour(at(10 + day));
    assert!(scene.outdated(early).await.is_empty());
    assert_eq!(scene.remove(&[id], early).await, RemovalReport::default());
    let again = scene.store.create(keyed(2)).await.unwrap();
    assert_eq!(again, CreateOutcome::Existing(id));
    let late = hour(at(11 + day));
    assert_eq!(scene.outdated(late).await, [id]);
    assert_eq!(scene.remove(&[id], late).await.executions, 1);
    let again = scene.store.create(keyed(3)).await.unwrap();
    assert_eq!(again, CreateOutcome::New);
}

async fn children_stay_as_long_as_their_parent_is_open(scene: Scene) {
    let parent = scene.create(1).await;
    let mut new = fixture::new_execution(2);
    new.execution.record.parent_id = Some(parent);
    new.execution.record.parent_seq = Some(1);
    new.execution.record.child_index = Some(0);
    let child = scene.create_as(new).await;
    let mut orphan = fixture::new_execution(3);
    orphan.execution.record.parent_id = Some(execution_id(900));
    let orphan = scene.create_as(orphan).await;
    scene.finish(child, Status::Completed, at(10)).await;
    scene.finish(orphan, Status::Completed, at(10)).await;
    let cutoff = hour(at(DAY));
    assert_eq!(scene.outdated(cutoff).await, [orphan]);
    assert_eq!(
        scene.remove(&[child], cutoff).await,
        RemovalReport::default()
    );
    scene.finish(parent, Status::Completed, at(DAY)).await;
    assert_eq!(scene.outdated(cutoff).await, [child, orphan]);
    assert_eq!(scene.remove(&[child, orphan], cutoff).await.executions, 2);
    assert!(scene.exists(parent).await);
}

async fn pages_are_in_order_and_of_one_schema(scene: Scene) {
    scene.store.save_schema(fixture::schema(2)).await.unwrap();
    let mut ended = Vec::new();
    for n in 1..=20 {
        let mut new = fixture::new_execution(n);
        if n % 5 == 0 {
            new.execution.head.schema_id = schema_id(2);
        }
        let id = scene.create_as(new).await;
        // Every third is open.
        if n % 3 != 0 {
            scene.finish(id, Status::Stopped, at(50)).await;
            if n % 5 != 0 {
                ended.push(id);
            }
        }
    }
    let cutoff = hour(at(DAY));
    let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = scene.outdated_page(cutoff, after, 4).await;
        assert!(page.ids.len() <= 4);
        found.extend(page.ids);
        pages += 1;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, ended);
    // 16 rows in pages of 4, and a last one that finds the end.
    assert!((4..=5).contains(&pages), "{pages} pages");
    // What is removed on the way does not confuse the next page.
    let first = scene.outdated_page(cutoff, None, 4).await;
    scene.remove(&first.ids, cutoff).await;
    let second = scene.outdated_page(cutoff, first.next, 100).await;
    assert_eq!([first.ids, second.ids].concat(), ended);
}

async fn what_is_gone_is_unknown(scene: Scene) {
    let id = scene.create(1).await;
    scene.finish(id, Status::Completed, at(10)).await;
    scene.remove(&[id], hour(at(DAY))).await;
    assert_eq!(scene.refused(id, at(DAY)).await, Skip::Unknown);
    let refusal = scene.command_refused(id, Command::Pause, at(DAY)).await;
    assert_eq!(refusal, Refusal::NotFound);
    assert!(scene.store.probe(id).await.unwrap().is_none());
}

async fn a_timer_of_what_is_gone_wakes_nobody(scene: Scene) {
    let id = scene.create(1).await;
    scene.sleep(id, 77, at(2 * DAY), at(10)).await;
    scene.command(id, Command::Stop, at(20)).await;
    assert_eq!(scene.status(id).await, Status::Stopped);
    scene.remove(&[id], hour(at(DAY))).await;
    let shards = scene.lock_all(9, at(3 * DAY)).await;
    let due = scene.due(9, &shards, at(3 * DAY)).await;
    let guid = fixture::uuid(9);
    let woken = scene
        .store
        .fire(pass(guid), due, at(3 * DAY))
        .await
        .unwrap();
    assert!(woken.is_empty());
    scene
        .store
        .unlock_shards(vec![guid], None, at(1))
        .await
        .unwrap();
    assert_eq!(scene.timer_rows().await, 0);
}

async fn numbers_of_letters_are_not_used_again(scene: Scene) {
    let id = scene.create(1).await;
    scene.finish(id, Status::Failed, at(10)).await;
    let letter = |execution_id| NewLetter {
        execution_id,
        reason: "why not".into(),
        message: None,
        now: at(20),
    };
    let first = scene.store.add_letter(letter(Some(id))).await.unwrap();
    assert_eq!(scene.remove(&[id], hour(at(DAY))).await.dead_letters, 1);
    let second = scene.store.add_letter(letter(None)).await.unwrap();
    assert!(second > first);
}

async fn deleted_schemas_are_still_listed(scene: Scene) {
    for n in 2..=5 {
        scene.store.save_schema(fixture::schema(n)).await.unwrap();
    }
    let update = fixture::schema_version(3, "new", None);
    scene.store.save_schema(update).await.unwrap();
    let deleted = scene.store.delete_schema(schema_id(4), at(10)).await;
    assert!(deleted.unwrap());
    let mut expected: Vec<_> = (1..=5)
        .map(|n| (schema_id(n), 1 + u32::from(n == 3)))
        .collect();
    expected.sort();
    let mut found = Vec::new();
    loop {
        let after = found.last().map(|(id, _)| *id);
        let page = scene.store.published_versions(after, 2).await.unwrap();
        if page.is_empty() {
            break;
        }
        found.extend(page);
    }
    assert_eq!(found, expected);
}

async fn upkeep_harms_nothing(scene: Scene) {
    let (id, old) = (scene.create(1).await, scene.create(2).await);
    scene.advance(id, 3, at(10)).await;
    scene.finish(old, Status::Completed, at(10)).await;
    scene.store.maintain(at(20)).await.unwrap();
    scene.store.maintain(at(20)).await.unwrap();
    let cutoff = hour(at(DAY));
    assert_eq!(scene.remove(&[old], cutoff).await.executions, 1);
    scene.store.reclaim(at(DAY)).await.unwrap();
    scene.store.reclaim(at(900 * DAY)).await.unwrap();
    assert_eq!(scene.steps(id).await.len(), 3);
    scene.advance(id, 1, at(DAY)).await;
    assert_eq!(scene.steps(id).await.len(), 4);
}

async fn finished_actions_go_with_their_history(scene: Scene) {
    for (n, id) in ["late", "early", "reborn"].into_iter().enumerate() {
        let start = at(100 - n as i64);
        scene
            .put(put(id, 1 + n as u64, once(start, 0)), at(5))
            .await;
    }
    scene
        .put(put("often", 9, periodic(at(100), 60)), at(5))
        .await;
    let worker = Worker::new(&scene, 9, at(100)).await;
    for (now, count) in [(at(99), 2), (at(100), 2)] {
        let runs = worker.begin(now).await;
        assert_eq!(runs.len(), count);
        for run in &runs {
            worker.record(run, AttemptOutcome::Success, 50, now).await;
        }
    }
    let store = &scene.store;
    let old = async |before: i64, limit: u32| {
        let found = store.outdated_actions(at(before), limit).await;
        found.unwrap()
    };
    assert!(old(99, 10).await.is_empty(), "they ended at 99");
    assert_eq!(old(100, 10).await, ["early", "reborn"]);
    assert_eq!(old(101, 1).await, ["early"]);
    let all = old(101, 10).await;
    assert_eq!(all, ["early", "reborn", "late"], "what goes on stays");
    let mut anew = put("reborn", 40, once(at(500), 0));
    anew.mode = Override::All;
    scene.put(anew, at(200)).await;
    let removed = store.remove_actions(all, at(100)).await.unwrap();
    assert_eq!((removed.actions, removed.history), (1, 1));
    let left = store.actions(ActionFilter::default(), None, 10).await;
    let left: Vec<String> = left.unwrap().into_iter().map(|row| row.id).collect();
    assert_eq!(left, ["late", "often", "reborn"]);
    let history = store.attempts("early", None, 10).await.unwrap();
    assert!(history.is_empty());
    assert_eq!(store.attempts("late", None, 10).await.unwrap().len(), 1);
}

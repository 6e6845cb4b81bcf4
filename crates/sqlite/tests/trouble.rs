//! What happens when the disk is full, when one write of many is bad, and when texts are strange.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use pawl_kernel::execution::Status;
use pawl_kernel::ports::history::HistoryReads;
use pawl_kernel::ports::overview::{GroupBy, Look, OverviewStore};
use pawl_kernel::ports::schedule::{ActionFilter, ScheduleStore};
use pawl_kernel::ports::store::{
    Along, Claim, CommitError, CreateOutcome, ExecutionFilter, ExecutionStore, NewExecution,
    QueryStore, RecoveryStore, StoreError, TimerStore, lease,
};
use pawl_kernel::schedule::ScheduleLimits;
use pawl_sqlite::{Options, SqliteStore};
use pawl_testkit::fixture::{self, at, commit, execution_id, new_execution, pass};
use tempfile::TempDir;
use tokio::task::JoinSet;

fn limited(folder: &TempDir, pages: u32) -> SqliteStore {
    let options = Options {
        max_pages: Some(pages),
        ..Options::default()
    };
    SqliteStore::open(folder.path(), options).unwrap()
}

fn large(n: u64) -> NewExecution {
    let mut new = new_execution(n);
    new.execution.record.initial = "x".repeat(50_000).into();
    new
}

#[tokio::test]
async fn a_full_disk_is_named_and_passes() {
    let folder = TempDir::new().unwrap();
    let store = limited(&folder, 100);
    let mut created = 0;
    let error = loop {
        match store.create(large(created)).await {
            Ok(_) => created += 1,
            Err(error) => break error,
        }
        assert!(created < 100, "the limit does not bind");
    };
    assert!(created > 0);
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    assert!(error.to_string().contains("disk is full"), "{error}");

    let listed = store
        .executions(Default::default(), None, 1_000)
        .await
        .unwrap();
    assert_eq!(
        listed.len() as u64,
        created,
        "what was there before is intact"
    );
    assert!(
        store
            .execution(execution_id(created))
            .await
            .unwrap()
            .is_none()
    );

    drop(store);
    let store = limited(&folder, 10_000);
    assert_eq!(
        store.create(large(created)).await.unwrap(),
        CreateOutcome::New
    );
    assert_eq!(
        store.count_executions(Default::default()).await.unwrap(),
        created + 1
    );
}

/// A hundred writes at once, one of them impossible: the others are committed, each in its own right.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_bad_write_fails_alone() {
    let folder = TempDir::new().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path(), Options::default()).unwrap());
    store.create(new_execution(50)).await.unwrap();
    let mut jobs = JoinSet::new();
    for n in 0..100 {
        let store = Arc::clone(&store);
        jobs.spawn(async move { (n, store.create(new_execution(n)).await) });
    }
    for (n, result) in jobs.join_all().await {
        match result {
            Ok(_) => assert_ne!(n, 50),
            Err(error) => {
                assert_eq!(n, 50);
                assert!(matches!(error, StoreError::Rejected(_)), "{error}");
            }
        }
    }
    assert_eq!(
        store.count_executions(Default::default()).await.unwrap(),
        100
    );
}

#[tokio::test]
async fn steps_with_a_gap_are_refused_and_change_nothing() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    store.create(new_execution(1)).await.unwrap();
    let request = fixture::claim_request(execution_id(1), 7, at(2));
    let claims = store.claim(vec![request], at(2)).await.unwrap();
    let [Claim::Taken(claimed)] = &claims[..] else {
        panic!("{claims:?}");
    };
    let gap = commit(&claimed.state, at(3))
        .steps(2)
        .with(|t| std::sync::Arc::make_mut(&mut t.steps)[1].seq = 3)
        .build();
    let error = store.commit(gap).await.unwrap_err();
    assert!(
        matches!(error, CommitError::Store(StoreError::Rejected(_))),
        "{error}"
    );
    let good = commit(&claimed.state, at(3))
        .steps(2)
        .end(Status::Completed)
        .build();
    assert_eq!(store.commit(good).await.unwrap().seq, 2);
}

/// A create that is held back for the commit behind it is not lost with that commit.
#[tokio::test]
async fn a_bad_commit_behind_a_create_fails_alone() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let mut new = new_execution(1);
    new.state.lease = Some(lease("w1", fixture::uuid(7), at(30)));
    let mut first = commit(&new.state, at(2)).steps(1).build();
    first.consumed = vec![("nobody sent this".into(), 1)];
    let (created, committed) = tokio::join!(biased; store.create(new.clone()), store.commit(first));
    assert_eq!(created.unwrap(), CreateOutcome::New);
    let error = committed.unwrap_err();
    assert!(
        matches!(error, CommitError::Store(StoreError::Rejected(_))),
        "{error}"
    );
    let id = new.execution.head.id;
    let view = store.execution(id).await.unwrap().unwrap();
    assert_eq!((view.execution, &view.state), (new.execution, &new.state));
    assert!(store.steps(id, 0, 9).await.unwrap().is_empty());
    let second = commit(&new.state, at(3)).steps(1).build();
    assert_eq!(store.commit(second).await.unwrap().seq, 1);
}

/// Jobs of others may come between a create and its first commit.
#[tokio::test]
async fn what_is_sent_between_a_create_and_its_commit_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let leased = |n| {
        let mut new = new_execution(n);
        new.state.lease = Some(lease("w1", fixture::uuid(7), at(30)));
        new
    };
    let (one, other) = (leased(1), leased(2));
    let first = |new: &NewExecution| commit(&new.state, at(2)).steps(2).build();
    let (_, _, beats, committed, second) = tokio::join!(
        biased;
        store.create(one.clone()),
        store.create(other.clone()),
        store.heartbeat(vec![(execution_id(2), fixture::uuid(7))], at(60)),
        store.commit(first(&one)),
        store.commit(first(&other)),
    );
    assert_eq!(beats.unwrap().len(), 1);
    assert_eq!((committed.unwrap().seq, second.unwrap().seq), (2, 2));
    for id in [1, 2] {
        assert_eq!(store.steps(execution_id(id), 0, 9).await.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn texts_keep_their_nul_characters() {
    let folder = TempDir::new().unwrap();
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    let text = "a\0b\u{1f}\u{7f}é漢\u{10ffff}\0";
    let mut new = new_execution(1);
    new.execution.record.initial = text.into();
    new.execution.record.labels = Some(text.into());
    new.execution.record.idempotency_key = Some(text.into());
    new.state.position.node_id = text.into();
    store.create(new.clone()).await.unwrap();
    let view = store.execution(execution_id(1)).await.unwrap().unwrap();
    assert_eq!(view.execution, new.execution);
    assert_eq!(view.state, new.state);

    let mut same_key = new_execution(2);
    same_key.execution.record.idempotency_key = Some(text.into());
    let existing = CreateOutcome::Existing(execution_id(1));
    assert_eq!(store.create(same_key).await.unwrap(), existing);
    let mut cut_key = new_execution(3);
    cut_key.execution.record.idempotency_key = Some("a".into());
    assert_eq!(store.create(cut_key).await.unwrap(), CreateOutcome::New);
}

/// A newer program has left something behind that this one does not know: only its owner waits.
#[tokio::test]
async fn one_unreadable_row_stops_nobody_else() {
    let folder = TempDir::new().unwrap();
    let open = || SqliteStore::open(folder.path(), Options::default()).unwrap();
    let store = open();
    for n in 1..=3 {
        store.create(new_execution(n)).await.unwrap();
        let request = fixture::claim_request(execution_id(n), n, at(0));
        let mut claims = store.claim(vec![request], at(0)).await.unwrap();
        let Claim::Taken(claimed) = claims.remove(0) else {
            panic!("not taken")
        };
        let sleep = commit(&claimed.state, at(0)).steps(1);
        let sleep = sleep.wait(fixture::sleep(n, at(1)));
        store.commit(sleep.build()).await.unwrap();
    }
    drop(store);
    let file = folder.path().join("pawl.db");
    let connection = rusqlite::Connection::open(file).unwrap();
    let damage = "UPDATE execution_state SET hold = 99 WHERE execution_id = ?1";
    let id = execution_id(2).0;
    assert_eq!(connection.execute(damage, [id.as_bytes()]).unwrap(), 1);
    drop(connection);
    let store = open();
    assert_eq!(store.clear_leases(at(2)).await.unwrap(), 0);
    let request = fixture::lock_request(7, at(5));
    let guid = request.guid;
    let shards = store.lock_shards(request).await.unwrap();
    store
        .collect(pass(guid), &shards, at(5), 100)
        .await
        .unwrap();
    let due = store
        .upcoming(&shards, fixture::due_before(at(5)), 100)
        .await
        .unwrap();
    assert_eq!(due.len(), 3);
    assert_eq!(store.fire(pass(guid), due, at(5)).await.unwrap().len(), 2);
    let left = store
        .upcoming(&shards, fixture::due_before(at(100)), 100)
        .await
        .unwrap();
    assert_eq!(left.len(), 1, "put off, not lost");
    assert!(left[0].at > at(60));
    let sweep = store.sweep(fixture::sweep_request(at(500))).await.unwrap();
    assert_eq!(sweep.due.len(), 2);
}

#[tokio::test]
async fn one_unreadable_action_stops_nobody_else() {
    let folder = TempDir::new().unwrap();
    let open = || SqliteStore::open(folder.path(), Options::default()).unwrap();
    let store = open();
    for (n, id) in ["a", "b", "c"].into_iter().enumerate() {
        let request = fixture::put(id, 1 + n as u64, fixture::once(at(1), 0));
        store.put_action(request, at(0)).await.unwrap();
    }
    drop(store);
    let connection = rusqlite::Connection::open(folder.path().join("pawl.db")).unwrap();
    let damage = "UPDATE scheduled_actions SET status = '{}' WHERE id = 'b'";
    assert_eq!(connection.execute(damage, []).unwrap(), 1);
    drop(connection);
    let store = open();
    let request = fixture::lock_request(7, at(5));
    let guid = request.guid;
    let shards = store.lock_shards(request).await.unwrap();
    store
        .collect(pass(guid), &shards, at(5), 100)
        .await
        .unwrap();
    let due = store
        .upcoming(&shards, fixture::due_before(at(5)), 100)
        .await
        .unwrap();
    let begun = store.begin_actions(pass(guid), due, ScheduleLimits::default(), at(5));
    assert_eq!(begun.await.unwrap().len(), 2);
    let mut left = store
        .upcoming(&shards, fixture::due_before(at(999)), 100)
        .await
        .unwrap();
    left.retain(|timer| timer.action_id == "b");
    assert_eq!(left.len(), 1, "put off, not lost");
    assert!(left[0].at > at(60));
    let listed = store.actions(ActionFilter::default(), None, 10).await;
    assert_eq!(listed.unwrap().len(), 2);
    let unreadable = store.action("b").await;
    assert!(matches!(unreadable, Err(StoreError::Corrupt(_))));
}

/// Many executions, and statements that may take no time at all.
async fn hurried(folder: &TempDir) -> SqliteStore {
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    for n in 0..2_000 {
        store.create(new_execution(n)).await.unwrap();
    }
    drop(store);
    let options = Options {
        statement_time: std::time::Duration::ZERO,
        ..Options::default()
    };
    SqliteStore::open(folder.path(), options).unwrap()
}

#[tokio::test]
async fn what_a_request_looks_for_has_a_deadline_and_upkeep_has_none() {
    let folder = TempDir::new().unwrap();
    let store = hurried(&folder).await;
    let nothing = ExecutionFilter {
        text: Some("no such text".into()),
        ..ExecutionFilter::default()
    };
    let look = Look {
        filter: nothing.clone(),
        along: Along::Newest,
    };
    let answers = [
        store.executions(nothing.clone(), None, 50).await.map(drop),
        store
            .execution_briefs(nothing.clone(), None, 50)
            .await
            .map(drop),
        store.count_executions(nothing).await.map(drop),
        store
            .tally(vec![look.clone()], GroupBy::Node, 20_000)
            .await
            .map(drop),
        store.tally_errors(look, 20_000).await.map(drop),
    ];
    for answer in answers {
        assert!(matches!(answer, Err(StoreError::TooLong(_))), "{answer:?}");
    }
    // Longer, and for no request; the deadline of a statement before it is not its own.
    let open = store.open_executions(None, 10_000).await.unwrap();
    assert_eq!(open.len(), 2_000);
    let few = store.executions(Default::default(), None, 50).await;
    assert_eq!(few.unwrap().len(), 50);
}

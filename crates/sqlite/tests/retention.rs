//! What is removed gives its space back to the disk, beside everything else.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::retention::{Cutoff, OutdatedRequest, RemoveRequest, RetentionStore};
use pawl_kernel::ports::store::{Claim, ExecutionStore, QueryStore};
use pawl_sqlite::{Options, SqliteStore};
use pawl_testkit::fixture::{self, at};
use tempfile::TempDir;

const PAYLOAD: usize = 20_000;

async fn live(store: &SqliteStore, n: u64, ended: bool) -> ExecutionId {
    let new = fixture::new_execution(n);
    let id = new.execution.head.id;
    store.create(new).await.unwrap();
    let request = fixture::claim_request(id, n, at(1));
    let claims = store.claim(vec![request], at(1)).await.unwrap();
    let Some(Claim::Taken(claimed)) = claims.into_iter().next() else {
        panic!("not taken");
    };
    let mut commit = fixture::commit(&claimed.state, at(2)).steps(3);
    if ended {
        commit = commit.end(Status::Completed);
    }
    let large = commit.with(|transition| {
        for step in Arc::make_mut(&mut transition.steps) {
            step.output = Some(format!("\"{}\"", "x".repeat(PAYLOAD)));
        }
    });
    store.commit(large.build()).await.unwrap();
    id
}

fn size(folder: &Path) -> u64 {
    std::fs::metadata(folder.join("pawl.db")).unwrap().len()
}

async fn remove_all(store: &SqliteStore, cutoff: Cutoff) -> u64 {
    let schema_id = fixture::schema_id(1);
    let (mut removed, mut after) = (0, None);
    loop {
        let request = OutdatedRequest {
            schema_id,
            cutoff,
            after,
            limit: 100,
        };
        let page = store.outdated(request).await.unwrap();
        let request = RemoveRequest {
            ids: page.ids,
            cutoff,
            all_gone_before: None,
        };
        removed += store.remove(request).await.unwrap().executions;
        after = page.next;
        if after.is_none() {
            return removed;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_gets_smaller() {
    let folder = TempDir::new().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path(), Options::default()).unwrap());
    let mut kept = Vec::new();
    for n in 0..300 {
        let id = live(&store, n, n % 10 != 0).await;
        if n % 10 == 0 {
            kept.push(id);
        }
    }
    store.close();
    drop(store);
    let full = size(folder.path());
    let store = Arc::new(SqliteStore::open(folder.path(), Options::default()).unwrap());
    let started = Instant::now();
    let cutoff = Cutoff::new(at(86_400), Duration::from_secs(60));
    assert_eq!(remove_all(&store, cutoff).await, 270);
    let mut bytes = 0;
    loop {
        let reclaimed = store.reclaim(at(86_400)).await.unwrap();
        bytes += reclaimed.bytes;
        if !reclaimed.more {
            break;
        }
    }
    println!("{bytes} bytes given back in {:?}", started.elapsed());
    for id in kept {
        assert_eq!(store.steps(id, 0, 10).await.unwrap().len(), 3);
    }
    store.close();
    drop(store);
    let left = size(folder.path());
    println!("{full} bytes before, {left} after");
    assert!(left * 5 < full, "{left} of {full}");
    // The index of free pages shrinks too.
    let shrunk = full - left;
    assert!(
        bytes <= shrunk && bytes * 10 > shrunk * 9,
        "{bytes} of {shrunk}"
    );
}

/// A file from before, made without that mode: nothing breaks, pages are used again.
#[tokio::test]
async fn a_file_that_cannot_shrink_is_no_error() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("pawl.db");
    let old = rusqlite::Connection::open(&file).unwrap();
    old.execute_batch("PRAGMA auto_vacuum = 0; CREATE TABLE x (n INTEGER); DROP TABLE x")
        .unwrap();
    drop(old);
    let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
    for n in 0..20 {
        live(&store, n, true).await;
    }
    let cutoff = Cutoff::new(at(86_400), Duration::from_secs(60));
    assert_eq!(remove_all(&store, cutoff).await, 20);
    let reclaimed = store.reclaim(at(86_400)).await.unwrap();
    assert_eq!((reclaimed.bytes, reclaimed.more), (0, false));
    live(&store, 100, true).await;
}

//! Opening a data folder: who may, and what is said if it cannot be.

use std::path::Path;

use pawl_kernel::ports::store::{ExecutionStore, QueryStore, StoreError};
use pawl_sqlite::{LockError, MigrationError, OpenError, Options, SqliteStore};
use pawl_testkit::fixture;
use tempfile::TempDir;

fn open(folder: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(folder, Options::default())
}

fn refusal(folder: &Path) -> OpenError {
    match open(folder) {
        Ok(_) => panic!("{} was opened", folder.display()),
        Err(error) => error,
    }
}

#[test]
fn a_missing_folder_is_made() {
    let folder = TempDir::new().unwrap();
    open(&folder.path().join("a/b")).unwrap();
    assert!(folder.path().join("a/b/pawl.db").exists());
}

#[test]
fn a_second_opener_is_told_who_is_there() {
    let folder = TempDir::new().unwrap();
    let first = open(folder.path()).unwrap();
    let error = refusal(folder.path());
    assert!(matches!(error, OpenError::Lock(LockError::InUse { .. })));
    let text = error.to_string();
    assert!(
        text.contains(&folder.path().display().to_string()),
        "{text}"
    );
    assert!(text.contains(&std::process::id().to_string()), "{text}");
    drop(first);
    open(folder.path()).unwrap();
}

#[test]
fn a_file_in_place_of_the_folder() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, "not a folder").unwrap();
    let error = refusal(&file);
    assert!(
        matches!(error, OpenError::Lock(LockError::Unusable { .. })),
        "{error}"
    );
}

/// Even root cannot make files in /proc, so this needs no other user.
#[test]
fn a_folder_that_takes_no_files() {
    let error = refusal(Path::new("/proc/self/task"));
    assert!(error.to_string().contains("can write to"), "{error}");
}

/// The folder takes a lock file, but the database cannot be made.
#[test]
fn a_database_that_cannot_be_written() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("pawl.db")).unwrap();
    let error = refusal(folder.path());
    assert!(matches!(error, OpenError::NotWritable { .. }), "{error}");
}

#[test]
fn another_kind_of_file_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("pawl.db");
    std::fs::write(&file, "PK\u{3}\u{4} this is something else entirely").unwrap();
    let error = refusal(folder.path());
    assert!(matches!(error, OpenError::NotADatabase { .. }), "{error}");
    assert!(std::fs::read(&file).unwrap().starts_with(b"PK"));
}

#[test]
fn a_damaged_database_is_named() {
    let folder = TempDir::new().unwrap();
    drop(open(folder.path()).unwrap());
    let file = folder.path().join("pawl.db");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[16..4096].fill(0xab);
    std::fs::write(&file, bytes).unwrap();
    let error = refusal(folder.path());
    assert!(matches!(error, OpenError::NotADatabase { .. }), "{error}");
    assert!(error.to_string().contains("pawl.db"), "{error}");
}

#[test]
fn a_newer_database_is_refused() {
    let folder = TempDir::new().unwrap();
    drop(open(folder.path()).unwrap());
    let connection = rusqlite::Connection::open(folder.path().join("pawl.db")).unwrap();
    let future = "INSERT INTO schema_migrations VALUES (999, '0999_future', 'x', 0)";
    connection.execute_batch(future).unwrap();
    drop(connection);
    let error = refusal(folder.path());
    let newer = matches!(
        error,
        OpenError::Migration {
            source: MigrationError::Newer { found: 999, .. },
            ..
        }
    );
    assert!(newer, "{error}");
}

#[tokio::test]
async fn everything_is_there_after_opening_again() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path()).unwrap();
    store.create(fixture::new_execution(1)).await.unwrap();
    store.close();
    let error = store.create(fixture::new_execution(2)).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    assert!(store.execution(fixture::execution_id(1)).await.is_err());
    drop(store);
    let wal = std::fs::metadata(folder.path().join("pawl.db-wal"));
    assert_eq!(
        wal.map_or(0, |data| data.len()),
        0,
        "closing empties the log"
    );
    let store = open(folder.path()).unwrap();
    let view = store.execution(fixture::execution_id(1)).await.unwrap();
    assert!(view.is_some());
}

/// The log is folded into the file a little after the last write, and space is given back.
#[tokio::test]
async fn an_idle_store_tidies_up_once() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path()).unwrap();
    store.create(fixture::new_execution(1)).await.unwrap();
    let wal = folder.path().join("pawl.db-wal");
    assert_ne!(std::fs::metadata(&wal).unwrap().len(), 0);
    for _ in 0..100 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        if std::fs::metadata(&wal).unwrap().len() == 0 {
            return;
        }
    }
    panic!("the log was not emptied");
}

/// A closed store that is still referenced must not let another process in.
#[test]
fn the_lock_is_held_until_the_store_is_gone() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path()).unwrap();
    store.close();
    store.close();
    assert!(matches!(refusal(folder.path()), OpenError::Lock(_)));
    drop(store);
    open(folder.path()).unwrap();
}

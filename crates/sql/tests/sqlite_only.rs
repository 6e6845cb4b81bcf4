//! What only SQLite does: its types, files, and other programs on the same file.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use std::time::Duration;

use pawl_sql::{Dialect, Plan, Settings};
use serde_json::{Value, json};
use support::{Bed, DB, connections, within, work};

fn one(sql: &str, params: Value) -> Value {
    json!({"statements": [{"id": "a", "sql": sql, "params": params}], "output": "=a.row"})
}

/// What `pawl connection prepare` makes is for its owner, also in a folder that others may enter.
#[cfg(unix)]
#[tokio::test]
async fn a_file_made_here_is_private_and_one_that_is_there_keeps_its_rights() {
    use std::fs::{File, Permissions, metadata, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let prepared = async |name: &str| {
        let path = folder.path().join(name);
        let database = connections(Settings::new(format!("sqlite:{}", path.display())));
        database.prepare(DB).await.unwrap();
        metadata(&path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(prepared("new.db").await, 0o600);
    let old = folder.path().join("old.db");
    File::create(&old).unwrap();
    set_permissions(&old, Permissions::from_mode(0o640)).unwrap();
    assert_eq!(prepared("old.db").await, 0o640);
}

#[tokio::test]
async fn types_come_and_go_without_loss() {
    let bed = Bed::sqlite().await;
    bed.raw("CREATE TABLE t (i INTEGER, r REAL, s TEXT, b BLOB, flag BOOLEAN, doc JSON, at DATETIME, big NUMERIC)");
    let sql = "INSERT INTO t VALUES (:i, :r, :s, :b, :flag, :doc, :at, :i) RETURNING *";
    let params = json!({"i": i64::MIN, "r": 0.1, "s": "a\u{0}b", "b": {"base64": "AP8="}, "flag": true,
                        "doc": {"a": [1, null]}, "at": "2026-01-31T12:00:00Z"});
    let expected = json!({"i": i64::MIN, "r": 0.1, "s": "a\u{0}b", "b": "AP8=", "flag": true, "doc": {"a": [1, null]},
                          "at": "2026-01-31T12:00:00Z", "big": i64::MIN});
    // The same from RETURNING and from SELECT.
    assert_eq!(bed.done(one(sql, params), "x:1").await, expected);
    assert_eq!(
        bed.done(one("SELECT * FROM t", json!([])), "x:2").await,
        expected
    );
    // What is computed has no declaration.
    let computed = one(
        "SELECT flag + 0 AS flag, doc || '' AS doc, 9e999 AS far, x'68' AS b, NULL AS n FROM t",
        json!([]),
    );
    let expected =
        json!({"flag": 1, "doc": "{\"a\":[1,null]}", "far": "Infinity", "b": "aA==", "n": null});
    assert_eq!(bed.done(computed, "x:3").await, expected);
    bed.raw("UPDATE t SET doc = '{', s = CAST(x'ff' AS TEXT)");
    for column in ["doc", "s"] {
        let error = bed
            .error(one(&format!("SELECT {column} FROM t"), json!([])), "x:4")
            .await;
        assert_eq!(error.code, "TYPE_ERROR");
        assert!(
            error.message.contains(&format!("column `{column}`")),
            "{}",
            error.message
        );
    }
    let error = bed
        .error(one("SELECT ?1 AS a", json!([u64::MAX])), "x:5")
        .await;
    assert!(error.message.contains("parameter 1"), "{}", error.message);
    bed.raw("CREATE TABLE strict (i INTEGER) STRICT");
    let error = bed
        .error(
            one("INSERT INTO strict VALUES (?1)", json!(["secret"])),
            "x:6",
        )
        .await;
    assert_eq!(error.code, "TYPE_ERROR");
    assert!(!error.message.contains("secret"), "{}", error.message);
}

#[tokio::test]
async fn another_program_that_writes_is_waited_for_as_long_as_there_is_time() {
    let bed = Bed::sqlite().await;
    bed.raw("CREATE TABLE t (i INTEGER)");
    let other = bed.file();
    other
        .execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)")
        .unwrap();
    let mut short = work(one("INSERT INTO t VALUES (2)", json!([])), "x:1");
    short.time_limit = Duration::from_millis(200);
    let error = within(Duration::from_millis(200), bed.connections.run(short))
        .await
        .unwrap_err();
    assert_eq!(error.code, "NODE_TIMEOUT");
    // Reading is not in its way.
    assert_eq!(bed.scalar("SELECT count(*) FROM t").await, 0);
    let (connections, config) = (
        bed.again(|settings| settings.lock_timeout = Duration::from_millis(1)),
        one("INSERT INTO t VALUES (2)", json!([])),
    );
    let waiting = tokio::spawn(async move { connections.run(work(config, "x:1")).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!waiting.is_finished());
    other.execute_batch("COMMIT").unwrap();
    waiting.await.unwrap().unwrap();
    assert_eq!(bed.scalar("SELECT count(*) FROM t").await, 2);
}

#[tokio::test]
async fn a_constraint_that_is_checked_at_the_end_fails_the_commit_and_nothing_is_left() {
    let bed = Bed::sqlite().await;
    bed.raw(
        "CREATE TABLE p (id INTEGER PRIMARY KEY);
         CREATE TABLE c (id INTEGER REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED)",
    );
    let error = bed
        .error(one("INSERT INTO c VALUES (7)", json!([])), "x:1")
        .await;
    assert_eq!(error.code, "FOREIGN_KEY_VIOLATION", "{error:?}");
    assert_eq!(
        (
            bed.scalar("SELECT count(*) FROM c").await,
            bed.remembered().await
        ),
        (json!(0), 0)
    );
    bed.raw("INSERT INTO p VALUES (7)");
    bed.done(one("INSERT INTO c VALUES (7)", json!([])), "x:1")
        .await;
}

#[tokio::test]
async fn a_statement_that_ends_the_transaction_by_a_clause_of_its_own_is_an_error() {
    let bed = Bed::sqlite().await;
    bed.raw("CREATE TABLE t (i INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)");
    let config = json!({"statements": [
        {"id": "a", "sql": "INSERT INTO t VALUES (2)"},
        {"id": "b", "sql": "INSERT OR ROLLBACK INTO t VALUES (1)"},
        {"id": "c", "sql": "INSERT INTO t VALUES (3)"},
    ]});
    assert_eq!(bed.error(config, "x:1").await.code, "UNIQUE_VIOLATION");
    assert_eq!(
        (
            bed.scalar("SELECT count(*) FROM t").await,
            bed.remembered().await
        ),
        (json!(1), 0)
    );
    // A trigger of the database can do it too.
    bed.raw(
        "CREATE TRIGGER no BEFORE DELETE ON t BEGIN SELECT RAISE(ROLLBACK, 'never delete'); END",
    );
    let error = bed.error(one("DELETE FROM t", json!([])), "x:2").await;
    assert!(error.message.contains("never delete"), "{error:?}");
    bed.done(one("INSERT INTO t VALUES (4)", json!([])), "x:3")
        .await;
}

#[tokio::test]
async fn files_that_are_none_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.db");
    let reading = || work(one("SELECT 1 AS one", json!([])), "x:1");
    let database = connections(Settings::new(format!("sqlite:{}", missing.display())));
    let error = database.run(reading()).await.unwrap_err();
    assert_eq!(
        (error.code.as_ref(), error.retryable),
        ("CONNECTION_FAILED", true)
    );
    assert!(
        error.message.contains("`pawl connection prepare db`"),
        "{}",
        error.message
    );
    assert!(!missing.exists());
    database.prepare(DB).await.unwrap();
    assert_eq!(
        database.run(reading()).await.unwrap().output,
        json!({"one": 1})
    );
    let text = folder.path().join("text.db");
    std::fs::write(
        &text,
        "this is no database, but it is long enough to look at".repeat(50),
    )
    .unwrap();
    let database = connections(Settings::new(format!("sqlite:{}", text.display())));
    let error = database.run(reading()).await.unwrap_err();
    assert_eq!(
        (error.code.as_ref(), error.retryable),
        ("CONNECTION_FAILED", false),
        "{error:?}"
    );
}

#[tokio::test]
async fn large_values_are_refused_while_they_grow() {
    let bed = Bed::sqlite().await;
    for sql in [
        "SELECT length(randomblob(500000000)) AS n",
        "SELECT length(randomblob(2200000)) AS n",
        "SELECT length(replace(printf('%.2000000c', 'a'), 'a', 'ab')) AS n",
    ] {
        let run = bed.error(one(sql, json!([])), "x:1");
        let error = within(Duration::from_secs(1), run).await;
        assert_eq!(error.code, "LIMIT_EXCEEDED", "{error:?}");
        assert!(
            error.message.contains("`max_bytes` in [connections.db]"),
            "{}",
            error.message
        );
    }
    let fits = one("SELECT length(randomblob(2000000)) AS n", json!([]));
    assert_eq!(bed.done(fits, "x:2").await, json!({"n": 2_000_000}));
}

#[tokio::test]
async fn a_file_that_was_replaced_is_opened_anew() {
    let bed = Bed::sqlite().await;
    bed.raw("CREATE TABLE t (i INTEGER)");
    let insert = || one("INSERT INTO t VALUES (1)", json!([]));
    bed.done(insert(), "x:1").await;
    let path = bed.url.strip_prefix("sqlite:").unwrap();
    for ending in ["", "-wal", "-shm"] {
        // What is not there need not be removed.
        let _ = std::fs::remove_file(format!("{path}{ending}"));
    }
    assert_eq!(bed.error(insert(), "x:2").await.code, "CONNECTION_FAILED");
    bed.connections.prepare(DB).await.unwrap();
    bed.raw("CREATE TABLE t (i INTEGER)");
    bed.done(insert(), "x:2").await;
    assert_eq!(bed.scalar("SELECT count(*) FROM t").await, 1);
}

/// What calls itself for every part of a text ends before the stack does.
#[tokio::test]
async fn statements_that_nest_deeply_end_with_an_answer() {
    let bed = Bed::sqlite().await;
    bed.raw(
        "CREATE TABLE t (i INTEGER); CREATE TRIGGER again AFTER INSERT ON t BEGIN INSERT INTO t VALUES (new.i + 1); END",
    );
    let many = |part: &str, end: &str, count: usize| format!("{}{end}", part.repeat(count));
    let texts = [
        "SELECT printf('%.25000c', 'a') LIKE replace(printf('%.25000c', 'x'), 'x', '%a') AS n"
            .to_owned(),
        "SELECT printf('%.25000c', 'a') GLOB replace(printf('%.25000c', 'x'), 'x', '*a') AS n"
            .to_owned(),
        format!("SELECT {}1{} AS n", "(".repeat(20_000), ")".repeat(20_000)),
        format!("SELECT {} AS n", many("1 + ", "1", 20_000)),
        format!("SELECT {} AS n", many("NOT ", "1", 20_000)),
        format!("SELECT {} AS n", many("- ", "1", 20_000)),
        format!("SELECT {} AS n", many("CASE WHEN 1 THEN ", "1", 5_000)),
        many("SELECT 1 AS n UNION ALL ", "SELECT 2", 10_000),
        format!(
            "{}SELECT 1 AS n{}",
            "SELECT * FROM (".repeat(2_000),
            ")".repeat(2_000)
        ),
        format!(
            "SELECT 1 AS n WHERE {}1{}",
            "EXISTS (SELECT 1 WHERE ".repeat(2_000),
            ")".repeat(2_000)
        ),
        format!(
            "SELECT {}1{} AS n",
            "abs(".repeat(20_000),
            ")".repeat(20_000)
        ),
        "SELECT json(replace(printf('%.100000c', 'x'), 'x', '[')) AS n".to_owned(),
        "SELECT json_extract('[]', '$' || replace(printf('%.100000c', 'x'), 'x', '[0]')) AS n"
            .to_owned(),
        "INSERT INTO t VALUES (1) RETURNING i AS n".to_owned(),
    ];
    for (number, text) in texts.iter().enumerate() {
        let key = format!("x:{number}");
        let run = bed.run(one(text, json!([])), &key);
        let ended = within(Duration::from_secs(2), run).await;
        if let Err(error) = ended {
            assert!(
                ["SQL_ERROR", "LIMIT_EXCEEDED", "INVALID_SQL"].contains(&error.code.as_ref()),
                "{number}: {error:?}"
            );
        }
    }
}

#[tokio::test]
async fn ordinary_tables_are_within_the_limits() {
    let bed = Bed::sqlite().await;
    let columns: Vec<String> = (0..190)
        .map(|n| format!("c{n} TEXT CHECK (c{n} LIKE '%x%')"))
        .collect();
    bed.raw(&format!(
        "CREATE TABLE wide ({}); CREATE INDEX i ON wide (instr(c0, 'x'))",
        columns.join(", ")
    ));
    let values = vec!["'xy'"; 190].join(", ");
    bed.done(
        one(&format!("INSERT INTO wide VALUES ({values})"), json!([])),
        "x:1",
    )
    .await;
    let row = bed
        .done(
            one(
                "SELECT * FROM wide WHERE instr(c0, 'x') = 1 AND c1 GLOB 'x*'",
                json!([]),
            ),
            "x:2",
        )
        .await;
    assert_eq!(row.as_object().unwrap().len(), 190);
}

#[tokio::test]
async fn each_item_has_the_time_of_a_statement() {
    let bed = Bed::sqlite().await;
    let connections = bed.again(|settings| settings.statement_timeout = Duration::from_millis(400));
    let slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT max(i) AS c FROM n";
    let config = json!({"statements": [{"id": "a", "sql": slow, "for_each": vec![1; 40]}], "output": "=a.count"});
    let started = std::time::Instant::now();
    assert_eq!(
        connections.run(work(config, "x:1")).await.unwrap().output,
        40
    );
    assert!(
        started.elapsed() > Duration::from_millis(400),
        "too quick to show anything"
    );
}

/// Many values that are each within the limit make a result that is not a value of the user's.
#[tokio::test]
async fn a_result_larger_than_a_value_is_kept_and_found_again() {
    let bed = Bed::sqlite().await;
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) \
               SELECT i, printf('%.1000000c', 'x') AS text FROM n";
    for replayed in [false, true] {
        let mut large = work(
            json!({"statements": [{"id": "a", "sql": sql}], "output": "=a.rows"}),
            "x:1",
        );
        large.limits.output_bytes = 8 << 20;
        let applied = bed.connections.run(large).await.unwrap();
        assert_eq!(
            (applied.replayed, applied.output.as_array().unwrap().len()),
            (replayed, 5)
        );
    }
}

/// There is one connection that writes, and `temp` is searched before the file.
#[tokio::test]
async fn no_temporary_table_takes_the_place_of_a_real_one() {
    let bed = Bed::sqlite().await;
    bed.raw("CREATE TABLE stock (sku TEXT, n INTEGER); INSERT INTO stock VALUES ('a', 10)");
    for sql in [
        "CREATE TABLE temp.stock AS SELECT * FROM main.stock",
        "CREATE VIEW temp.stock AS SELECT 'a' AS sku, 99 AS n",
        "CREATE TEMP TABLE stock (sku TEXT, n INTEGER)",
    ] {
        let config = json!({"statements": [{"id": "a", "sql": sql}]});
        let found = Plan::read(&config, Some(Dialect::Sqlite)).unwrap_err();
        assert!(found[0].message.contains("`temp`"), "{sql}: {found:?}");
    }
    let take = one(
        "UPDATE stock SET n = n - 1 WHERE sku = 'a' RETURNING n",
        json!([]),
    );
    assert_eq!(bed.done(take.clone(), "x:1").await, json!({"n": 9}));
    assert_eq!(bed.done(take, "x:2").await, json!({"n": 8}));
    assert_eq!(bed.scalar("SELECT n FROM stock").await, 8);
}

//! Statements of `sql` nodes. What could leave the transaction, the database or the process is refused when it is saved;
//! the rest fails alone.

use serde_json::json;

use crate::tally::Tally;
use crate::world::{Place, World, open_books};

const DOOR: &str = "SQL";

/// At both databases these end alike.
const EVERYWHERE: &[(&str, &str)] = &[
    ("", "invalid INVALID_SQL"),
    (" ; ", "invalid INVALID_SQL"),
    ("--", "invalid INVALID_SQL"),
    ("/*", "invalid INVALID_SQL"),
    ("SELECT 1; SELECT 2", "invalid INVALID_SQL"),
    ("SELECT 1; DROP TABLE stock", "invalid INVALID_SQL"),
    ("SELECT '", "invalid INVALID_SQL"),
    ("SELECT \"", "invalid INVALID_SQL"),
    ("SELECT \u{0}1", "invalid INVALID_SQL"),
    ("BEGIN", "invalid INVALID_SQL"),
    ("COMMIT", "invalid INVALID_SQL"),
    ("ROLLBACK", "invalid INVALID_SQL"),
    ("END", "invalid INVALID_SQL"),
    ("SAVEPOINT a", "invalid INVALID_SQL"),
    ("RELEASE a", "invalid INVALID_SQL"),
    ("/* x */ COMMIT", "invalid INVALID_SQL"),
    (
        "ATTACH DATABASE '/tmp/evil.db' AS evil",
        "invalid INVALID_SQL",
    ),
    ("DETACH DATABASE main", "invalid INVALID_SQL"),
    ("PRAGMA journal_mode = DELETE", "invalid INVALID_SQL"),
    ("PRAGMA writable_schema = 1", "invalid INVALID_SQL"),
    ("VACUUM", "invalid INVALID_SQL"),
    ("VACUUM INTO '/tmp/evil.db'", "invalid INVALID_SQL"),
    (
        "SELECT load_extension('/tmp/evil.so')",
        "invalid INVALID_SQL",
    ),
    ("SELECT writefile('/tmp/evil', 'x')", "invalid INVALID_SQL"),
    ("SELECT readfile('/etc/passwd')", "invalid INVALID_SQL"),
    (
        "CREATE TRIGGER t AFTER INSERT ON stock BEGIN SELECT 1; END",
        "invalid INVALID_SQL",
    ),
    (
        "CREATE TEMPORARY TRIGGER t AFTER INSERT ON stock BEGIN SELECT 1; END",
        "invalid INVALID_SQL",
    ),
    ("SELECT * FROM no_such_table", "failed SQL_ERROR"),
    ("SELECT no_such_function(1)", "failed SQL_ERROR"),
    ("DELETE FROM pawl_applied", "invalid INVALID_SQL"),
    ("DROP TABLE pawl_applied", "invalid INVALID_SQL"),
    ("COPY stock TO PROGRAM 'id'", "invalid INVALID_SQL"),
    ("SELECT :missing", "invalid INVALID_SQL"),
    ("SELECT $2", "invalid INVALID_SQL"),
    ("SELECT {{input.sql}}", "failed SQL_ERROR"),
];

/// What only SQLite has.
const SQLITE: &[(&str, &str)] = &[
    ("CREATE TABLE temp.x (a)", "invalid INVALID_SQL"),
    ("CREATE TABLE \"temp\".stock (a)", "invalid INVALID_SQL"),
    ("CREATE TEMP TABLE stock AS SELECT 1", "invalid INVALID_SQL"),
    ("CREATE VIEW temp.v AS SELECT 1", "invalid INVALID_SQL"),
    ("DROP TABLE temp.stock", "invalid INVALID_SQL"),
    ("DELETE FROM [pawl_applied]", "invalid INVALID_SQL"),
    (
        "INSERT INTO temp.sqlite_master VALUES (1, 2, 3, 4, 5)",
        "failed SQL_ERROR",
    ),
];

/// What only PostgreSQL has.
const POSTGRES: &[(&str, &str)] = &[
    (
        "CREATE VIEW v AS SELECT * FROM pg_settings",
        "invalid INVALID_SQL",
    ),
    (
        "CREATE TEMP VIEW v AS SELECT * FROM pg_catalog.\"pg_settings\"",
        "invalid INVALID_SQL",
    ),
    (
        "UPDATE pg_settings SET setting = '0' WHERE name = 'statement_timeout'",
        "invalid INVALID_SQL",
    ),
    ("SET statement_timeout = 0", "invalid INVALID_SQL"),
    ("RESET ALL", "invalid INVALID_SQL"),
    (
        "SELECT set_config('role', 'x', false)",
        "invalid INVALID_SQL",
    ),
    ("SELECT pg_advisory_lock(1)", "invalid INVALID_SQL"),
    ("SELECT (1::bigint).pg_advisory_lock", "invalid INVALID_SQL"),
    ("SELECT pg_read_file('/etc/passwd')", "invalid INVALID_SQL"),
    ("SELECT lo_import('/etc/passwd')", "invalid INVALID_SQL"),
    ("DELETE FROM U&\"p\\0061wl_applied\"", "invalid INVALID_SQL"),
    ("DO $$ BEGIN PERFORM 1; END $$", "invalid INVALID_SQL"),
    ("LISTEN x", "invalid INVALID_SQL"),
    ("PREPARE p AS SELECT 1", "invalid INVALID_SQL"),
    ("CREATE TABLE temp.x (a int)", "failed SQL_ERROR"),
    ("CREATE TABLE pg_catalog.x (a int)", "failed SQL_ERROR"),
];

/// Tries a statement at one connection, everywhere.
async fn try_at(
    world: &World,
    tally: &mut Tally,
    connection: &str,
    (statement, expected): (&str, &str),
) {
    let act = async |place: &Place| {
        let ask = |schema: &mut serde_json::Value| {
            schema["nodes"][1]["type"] = json!("sql");
            schema["nodes"][1]["config"] = json!({
                "connection": connection,
                "statements": [{"id": "q", "sql": statement}],
            });
        };
        place.run(ask, json!({"sql": "1; DROP TABLE stock"})).await
    };
    let what = format!("{connection}: {statement}");
    world.everywhere(tally, &what, expected, act).await;
}

pub(crate) async fn knock(world: &World, tally: &mut Tally) {
    for (inputs, connections) in [
        (EVERYWHERE, &["shop", "books"][..]),
        (SQLITE, &["shop"]),
        (POSTGRES, &["books"]),
    ] {
        for input in inputs {
            tally.count(DOOR);
            for connection in connections {
                try_at(world, tally, connection, *input).await;
            }
        }
    }
    let shop = rusqlite::Connection::open(world.folder.path().join("shop.db")).unwrap();
    let names = "SELECT group_concat(name) FROM (SELECT name FROM sqlite_master WHERE sql NOT NULL ORDER BY name)";
    let names: String = shop.query_row(names, [], |row| row.get(0)).unwrap();
    assert_eq!(names, "pawl_applied,stock", "nothing came and nothing went");
    let names = "SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class \
                 WHERE relkind IN ('r', 'v') AND relnamespace = 'public'::regnamespace";
    let books = open_books(&world.books).await;
    let names: String = books.query_one(names, &[]).await.unwrap().get(0);
    assert_eq!(names, "pawl_applied,stock", "nothing came and nothing went");
}

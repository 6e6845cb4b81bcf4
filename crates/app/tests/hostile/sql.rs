//! Statements of `sql` nodes. What could leave the transaction, the database or the process is refused when it is saved;
//! the rest fails alone.

use serde_json::json;

use crate::tally::Tally;
use crate::world::{Place, World};

const DOOR: &str = "SQL";

const INPUTS: &[(&str, &str)] = &[
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

pub(crate) async fn knock(world: &World, tally: &mut Tally) {
    for (statement, expected) in INPUTS {
        tally.count(DOOR);
        let act = async |place: &Place| {
            let ask = |schema: &mut serde_json::Value| {
                schema["nodes"][1]["type"] = json!("sql");
                schema["nodes"][1]["config"] = json!({
                    "connection": "shop",
                    "statements": [{"id": "q", "sql": statement}],
                });
            };
            place.run(ask, json!({"sql": "1; DROP TABLE stock"})).await
        };
        world.everywhere(tally, statement, expected, act).await;
    }
    let shop = world.folder.path().join("shop.db");
    let tables = rusqlite::Connection::open(shop).unwrap();
    let count: u32 = tables
        .query_row(
            "SELECT count(*) FROM sqlite_master WHERE name = 'stock'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(count, 1, "the table is still there");
}

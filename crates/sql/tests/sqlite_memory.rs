//! Memory that statements on SQLite take. Alone in its process: what others take would count too.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use serde_json::json;
use support::Bed;

#[tokio::test]
async fn memory_that_no_row_shows_is_limited() {
    let bed = Bed::sqlite().await;
    // One text of two gigabytes, before there is a row to count.
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
               SELECT length(json_group_array(hex(zeroblob(500000)))) AS n FROM n";
    let config = json!({"statements": [{"id": "a", "sql": sql}], "output": "=a.row"});
    let error = bed.error(config, "x:1").await;
    assert_eq!(
        (error.code.as_ref(), error.retryable),
        ("LIMIT_EXCEEDED", true),
        "{error:?}"
    );
    assert!(error.message.contains("memory"), "{}", error.message);
    // And it is given back.
    let config = json!({"statements": [{"id": "a", "sql": "SELECT 1 AS n"}], "output": "=a.row"});
    assert_eq!(bed.done(config, "x:2").await, json!({"n": 1}));
}

//! Statements on SQLite that take all the time and memory there is. One after the other, in a process of their own: memory
//! is measured for the whole of it.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use support::{Bed, within, work};
use tokio::sync::Mutex;

static ALONE: Mutex<()> = Mutex::const_new(());

fn one(sql: &str, params: Value) -> Value {
    json!({"statements": [{"id": "a", "sql": sql, "params": params}], "output": "=a.row"})
}

/// Each is one instruction, or a few of them, that would take minutes or gigabytes.
#[tokio::test]
async fn statements_that_nothing_interrupts_end_in_time_all_the_same() {
    let _alone = ALONE.lock().await;
    let bed = Bed::sqlite().await;
    let usual = bed.again(|settings| settings.statement_timeout = Duration::from_millis(300));
    let large = bed.again(|settings| {
        settings.statement_timeout = Duration::from_millis(300);
        settings.max_bytes = 40 << 20;
    });
    let pattern = "'%' || printf('%.900c', 'a') || 'b'";
    let columns = |count: usize, of: &str| {
        let each = |n: usize| format!("{} AS c{n}", of.replace('#', &n.to_string()));
        (0..count).map(each).collect::<Vec<_>>().join(", ")
    };
    let texts = [
        (&large, "SELECT instr(printf('%.8000000c', 'a'), printf('%.4000000c', 'a') || 'b') AS n".to_owned()),
        (&large, "SELECT length(replace(printf('%.8000000c', 'a'), printf('%.4000000c', 'a') || 'b', '')) AS n".to_owned()),
        (&large, format!("SELECT printf('%.8000000c', 'a') LIKE {pattern} AS n")),
        (&large, format!("SELECT printf('%.8000000c', 'a') GLOB replace({pattern}, '%', '*') AS n")),
        (&large, "SELECT length(trim(printf('%.8000000c', 'a'), printf('%.8000000c', 'b') || 'a')) AS n".to_owned()),
        (&large, "SELECT length(unhex(printf('%.8000000c', '-'), printf('%.8000000c', '+') || '-')) AS n".to_owned()),
        (&large, "SELECT printf('%.8000000c', 'a') GLOB '*[' || printf('%.200000c', 'b') || ']' AS n".to_owned()),
        (&large, "SELECT unhex(replace(hex(zeroblob(500000)), '00', '80')) LIKE printf('%.900c', '%') || 'a' AS n".to_owned()),
        (&usual, format!("SELECT {}", columns(58, "printf('%.1000000c', 'a') LIKE printf('%.1000000c', 'b')"))),
        (&usual, format!("SELECT {}", columns(600, "length(hex(zeroblob(1000000 + #)))"))),
        (&usual, format!("SELECT {}", columns(38, "length(hex(zeroblob(1000000 + #)))"))),
        (&usual, format!("SELECT {}", columns(58, "hex(zeroblob(1000000 + #))"))),
        (&usual, format!("SELECT {}", columns(500, "hex(zeroblob(33000000))"))),
        (&usual, format!("SELECT {}", columns(38, "length(hex(zeroblob(20000000 + #)))"))),
    ];
    for (number, (connections, text)) in texts.into_iter().enumerate() {
        // A key of its own for each: what was done before would only be told again.
        let mut hostile = work(one(&text, json!([])), &format!("x:{number}"));
        hostile.time_limit = Duration::from_secs(5);
        let ended = within(Duration::from_millis(300), connections.run(hostile)).await;
        if let Err(error) = ended {
            let known = [
                "STATEMENT_TIMEOUT",
                "LIMIT_EXCEEDED",
                "INVALID_SQL",
                "SQL_ERROR",
            ];
            assert!(known.contains(&error.code.as_ref()), "{text}: {error:?}");
        }
        // The thread is free again, not only its caller.
        let next = work(one("SELECT 1 AS n", json!([])), &format!("y:{number}"));
        let next = connections.run(next);
        let next = within(Duration::from_millis(100), next).await.unwrap();
        assert_eq!(next.output, json!({"n": 1}));
    }
}

#[tokio::test]
async fn memory_that_no_row_shows_is_limited() {
    let _alone = ALONE.lock().await;
    let bed = Bed::sqlite().await;
    // One text of two gigabytes, before there is a row to count.
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
               SELECT length(json_group_array(hex(zeroblob(500000)))) AS n FROM n";
    let error = bed.error(one(sql, json!([])), "x:1").await;
    assert_eq!(
        (error.code.as_ref(), error.retryable),
        ("LIMIT_EXCEEDED", true),
        "{error:?}"
    );
    assert!(error.message.contains("memory"), "{}", error.message);
    // And it is given back.
    let next = bed.done(one("SELECT 1 AS n", json!([])), "x:2").await;
    assert_eq!(next, json!({"n": 1}));
}

//! What statements give, what they may not do, and how they end: results, limits, errors, time. The same on both
//! databases.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

#[macro_use]
mod support;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use pawl_sql::Dialect;
use serde_json::{Value, json};
use support::{Bed, until, within, work};

const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS c FROM n";
const MANY: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";

fn one(sql: &str, params: Value) -> Value {
    json!({"statements": [{"id": "a", "sql": sql, "params": params}], "output": "=a"})
}

async fn results_are_rows_counts_and_what_was_affected(bed: Bed) {
    bed.raw("CREATE TABLE t (id integer, name text)");
    let config = json!({"statements": [
        {"id": "put", "sql": "INSERT INTO t VALUES (1, 'a'), (2, 'b') RETURNING id"},
        {"id": "get", "sql": "SELECT id, name FROM t WHERE id = :id ORDER BY id", "params": {"id": "=put.rows.1.id"}},
        {"id": "change", "sql": "UPDATE t SET name = $1 WHERE id > $2", "params": ["=get.row.name", 0]},
        {"id": "none", "sql": "SELECT id FROM t WHERE id > 9"},
        {"id": "make", "sql": "CREATE TABLE u (id integer)"},
        {"id": "both", "sql": "WITH x AS (SELECT 7 AS id) INSERT INTO t SELECT id, 'c' FROM x"},
    ]});
    let output = bed.done(config, "x:1").await;
    assert_eq!(
        output["put"],
        json!({"rows": [{"id": 1}, {"id": 2}], "row": {"id": 1}, "count": 2, "affected": 2})
    );
    assert_eq!(output["get"]["row"], json!({"id": 2, "name": "b"}));
    assert_eq!(output["get"]["affected"], 0);
    assert_eq!(
        output["change"],
        json!({"rows": [], "row": null, "count": 0, "affected": 2})
    );
    assert_eq!(
        output["none"],
        json!({"rows": [], "row": null, "count": 0, "affected": 0})
    );
    assert_eq!(output["make"]["affected"], 0);
    assert_eq!(output["both"]["affected"], 1);
    assert_eq!(
        bed.scalar("SELECT count(*) FROM t WHERE name = 'b'").await,
        2
    );
}

async fn for_each_of_a_thousand(bed: Bed) {
    bed.raw("CREATE TABLE t (id integer PRIMARY KEY, name text)");
    let items: Vec<Value> = (0..1_000)
        .map(|n| json!({"n": n, "name": format!("n{n}")}))
        .collect();
    let config = json!({"statements": [
        {"id": "put", "sql": "INSERT INTO t VALUES (:n, :name) RETURNING id", "for_each": items,
         "params": {"n": "=item.n", "name": "=item.name"}},
        {"id": "change", "sql": "UPDATE t SET name = 'x' WHERE id = $1", "for_each": "=put.rows", "params": ["=index"]},
        {"id": "nothing", "sql": "DELETE FROM t", "for_each": []},
    ]});
    let output = bed.done(config, "x:1").await;
    assert_eq!(output["put"]["affected"], 1_000);
    assert_eq!(output["put"]["rows"][999], json!({"id": 999}));
    assert_eq!(output["put"]["items"][999]["row"], json!({"id": 999}));
    assert_eq!(output["change"]["affected"], 1_000);
    assert_eq!(
        output["nothing"],
        json!({"items": [], "rows": [], "row": null, "count": 0, "affected": 0})
    );
    assert_eq!(
        bed.scalar("SELECT count(*) FROM t WHERE name = 'x'").await,
        1_000
    );
    // One that fails takes all with it, and says which it was.
    let items: Vec<Value> = (2_000..2_200)
        .map(|n| if n == 2_150 { json!(5) } else { json!(n) })
        .collect();
    let config = json!({"statements": [
        {"id": "put", "sql": "INSERT INTO t VALUES ($1, 'y')", "for_each": items, "params": ["=item"]},
    ]});
    let error = bed.error(config, "x:2").await;
    assert_eq!(error.code, "UNIQUE_VIOLATION");
    assert_eq!(error.details["item"], 150);
    assert!(
        error.message.starts_with("statement `put`, item 150: "),
        "{}",
        error.message
    );
    assert_eq!(bed.scalar("SELECT count(*) FROM t").await, 1_000);
}

async fn errors_of_the_database_have_codes_and_no_values(bed: Bed) {
    bed.raw(
        "CREATE TABLE p (id integer PRIMARY KEY, name text NOT NULL CHECK (length(name) < 100), code text UNIQUE);
         CREATE TABLE c (id integer REFERENCES p (id));
         INSERT INTO p VALUES (1, 'a', 'secret-code')",
    );
    for (sql, params, code) in [
        (
            "INSERT INTO p VALUES (2, 'b', $1)",
            json!(["secret-code"]),
            "UNIQUE_VIOLATION",
        ),
        (
            "INSERT INTO p VALUES ($1, 'b', 'x')",
            json!([1]),
            "UNIQUE_VIOLATION",
        ),
        (
            "INSERT INTO c VALUES ($1)",
            json!([77]),
            "FOREIGN_KEY_VIOLATION",
        ),
        (
            "INSERT INTO p VALUES (3, $1, 'y')",
            json!(["secret".repeat(50)]),
            "CHECK_VIOLATION",
        ),
        (
            "INSERT INTO p VALUES (3, $1, 'secret')",
            json!([null]),
            "NOT_NULL_VIOLATION",
        ),
        ("SELECT * FROM nowhere", json!([]), "SQL_ERROR"),
        ("SELECT nothing FROM p", json!([]), "SQL_ERROR"),
        ("SELECT FROM WHERE", json!([]), "SQL_ERROR"),
    ] {
        let error = bed.error(one(sql, params), "x:1").await;
        assert_eq!(error.code, code, "{sql}: {error:?}");
        assert!(!error.retryable, "{sql}");
        assert_eq!(error.details["statement"], "a");
        let shown = error.to_value().to_string();
        assert!(!shown.contains("secret"), "{shown}");
    }
    assert_eq!(bed.remembered().await, 0);
}

async fn hostile_values_stay_data(bed: Bed) {
    bed.raw("CREATE TABLE t (id integer PRIMARY KEY, name text)");
    let hostile = [
        "'; DROP TABLE t; --",
        "\\'; COMMIT; --",
        "$1",
        ":name",
        "{{secrets.x}}",
        "%s%n",
        "\u{202e}\u{200b}\u{1F468}\u{200D}\u{1F469}",
        "NULL",
        "{\"a\",\"b\"}",
        &"9".repeat(400),
        &"x".repeat(100_000),
    ];
    for (id, text) in hostile.iter().enumerate() {
        let config = one(
            "INSERT INTO t VALUES (:id, :name) RETURNING name",
            json!({"id": id, "name": text}),
        );
        let output = bed.done(config, &format!("x:{id}")).await;
        assert_eq!(output["row"]["name"], **text);
    }
    assert_eq!(bed.scalar("SELECT count(*) FROM t").await, hostile.len());
    // A value can never be a name.
    let error = bed
        .error(one("SELECT * FROM $1", json!(["t"])), "y:1")
        .await;
    assert_eq!(error.code, "SQL_ERROR", "{error:?}");
    let mut deep = json!(1);
    for _ in 0..70 {
        deep = json!([deep]);
    }
    let error = bed
        .error(one("INSERT INTO t VALUES (99, $1)", json!([deep])), "y:2")
        .await;
    assert_eq!(error.code, "LIMIT_EXCEEDED", "{error:?}");
}

async fn limits_are_errors_that_name_them(bed: Bed) {
    bed.raw("CREATE TABLE t (id integer)");
    let connections = bed.again(|settings| {
        settings.max_rows = 100;
        settings.max_bytes = 10_000;
    });
    let long = match bed.dialect {
        Dialect::Postgres => "SELECT repeat('x', 20000) AS long",
        Dialect::Sqlite => "SELECT printf('%.20000c', 'x') AS long",
    };
    let cases = [
        (
            json!({"statements": [{"id": "a", "sql": MANY}]}),
            "`max_rows` in [connections.db]",
        ),
        (
            json!({"statements": [{"id": "a", "sql": long}]}),
            "`max_bytes` in [connections.db]",
        ),
        (
            json!({"statements": [{"id": "a", "sql": "INSERT INTO t VALUES ($1)", "params": ["=index"],
                                   "for_each": vec![1; 101]}]}),
            "`max_rows`",
        ),
    ];
    for (config, part) in cases {
        let run = within(Duration::from_secs(2), connections.run(work(config, "x:1")));
        let error = run.await.unwrap_err();
        assert_eq!(error.code, "LIMIT_EXCEEDED");
        assert!(error.message.contains(part), "{}", error.message);
    }
    // What the engine would refuse afterwards is refused before the commit.
    let mut large = work(
        one(
            "INSERT INTO t VALUES (1) RETURNING 'abcdefghij' AS text",
            json!([]),
        ),
        "x:1",
    );
    large.limits.output_bytes = 20;
    let error = connections.run(large).await.unwrap_err();
    assert_eq!(error.code, "LIMIT_EXCEEDED");
    assert!(
        error.message.contains("`step_output` in [limits]"),
        "{}",
        error.message
    );
    assert_eq!(bed.scalar("SELECT count(*) FROM t").await, 0);
    // The connections are as good as new.
    for n in 0..10 {
        connections
            .run(work(
                one("INSERT INTO t VALUES (1)", json!([])),
                &format!("y:{n}"),
            ))
            .await
            .unwrap();
    }
}

async fn columns_of_one_name_are_refused_before_anything_happens(bed: Bed) {
    bed.raw("CREATE TABLE t (id integer)");
    let config = one(
        "INSERT INTO t VALUES (1) RETURNING id AS a, id AS a",
        json!([]),
    );
    let error = bed.error(config, "x:1").await;
    assert_eq!(error.code, "DUPLICATE_COLUMN");
    assert_eq!(bed.scalar("SELECT count(*) FROM t").await, 0);
}

async fn endless_statements_end_in_time(bed: Bed) {
    bed.raw("CREATE TABLE t (id integer)");
    let connections = bed.again(|settings| settings.statement_timeout = Duration::from_millis(300));
    let config = json!({"statements": [{"id": "a", "sql": "INSERT INTO t VALUES (1)"}, {"id": "b", "sql": ENDLESS}]});
    let run = connections.run(work(config.clone(), "x:1"));
    let error = within(Duration::from_millis(300), run).await.unwrap_err();
    assert_eq!(
        (error.code.as_ref(), error.retryable),
        ("STATEMENT_TIMEOUT", true)
    );
    assert!(error.message.contains("statement `b`"), "{}", error.message);
    let mut short = work(config, "x:1");
    short.time_limit = Duration::from_millis(300);
    let error = within(Duration::from_millis(300), bed.connections.run(short))
        .await
        .unwrap_err();
    assert_eq!(
        (error.code.as_ref(), error.retryable),
        ("NODE_TIMEOUT", true)
    );
    assert_eq!(bed.scalar("SELECT count(*) FROM t").await, 0);
    assert_eq!(bed.remembered().await, 0);
}

/// Reads a counter and writes what it read plus one: right only if nobody came in between.
fn count_up() -> Value {
    json!({"isolation": "serializable", "statements": [
        {"id": "get", "sql": "SELECT n + 1 AS n FROM counters WHERE id = 1"},
        {"id": "set", "sql": "UPDATE counters SET n = $1 WHERE id = 1", "params": ["=get.row.n"], "expect": "one"},
    ], "output": "=get.row.n"})
}

async fn transactions_in_each_others_way_are_tried_again(bed: Bed) {
    bed.raw("CREATE TABLE counters (id integer PRIMARY KEY, n integer); INSERT INTO counters VALUES (1, 0)");
    let clients = (0..4).map(|client| {
        let connections = bed.connections.clone();
        tokio::spawn(async move {
            for n in 0..10 {
                let key = format!("{client}:{n}");
                // What is still in the way after all tries comes back to the engine, which tries again.
                while let Err(error) = connections.run(work(count_up(), &key)).await {
                    assert!(error.retryable, "{error:?}");
                }
            }
        })
    });
    for client in join_all(clients).await {
        client.unwrap();
    }
    assert_eq!(bed.scalar("SELECT n FROM counters").await, 40);
    assert_eq!(bed.remembered().await, 40);
}

async fn a_full_pool_is_waited_for_and_then_named(bed: Bed) {
    bed.raw("CREATE TABLE t (id integer)");
    let connections = bed.again(|settings| {
        settings.pool_size = 1;
        settings.pool_timeout = Duration::from_millis(300);
        settings.statement_timeout = Duration::from_secs(3);
    });
    let endless = json!({"readonly": true, "statements": [{"id": "a", "sql": ENDLESS}]});
    let quick = json!({"readonly": true, "statements": [{"id": "a", "sql": "SELECT 1 AS one"}], "output": "=a.row.one"});
    let busy = Arc::clone(&connections);
    let hog = tokio::spawn(async move { busy.run(work(endless, "x:1")).await });
    let error = until(Duration::from_secs(2), async || {
        let run = connections.run(work(quick.clone(), "x:2"));
        within(Duration::from_millis(300), run).await.err()
    })
    .await;
    assert_eq!(
        (error.code.as_ref(), error.retryable),
        ("POOL_TIMEOUT", true),
        "{error:?}"
    );
    assert!(
        error.message.contains("`pool_size` in [connections.db]"),
        "{}",
        error.message
    );
    hog.abort();
    let next = until(Duration::from_secs(2), async || {
        connections.run(work(quick.clone(), "x:3")).await.ok()
    });
    assert_eq!(next.await.output, 1);
}

async fn a_readonly_node_cannot_write(bed: Bed) {
    bed.raw("CREATE TABLE t (id integer)");
    if bed.dialect == Dialect::Postgres {
        let sneaky = "WITH x AS (INSERT INTO t VALUES (1) RETURNING id) SELECT * FROM x";
        let config = json!({"readonly": true, "statements": [{"id": "a", "sql": sneaky}]});
        let error = bed.error(config, "x:1").await;
        assert_eq!(error.code, "READ_ONLY", "{error:?}");
    }
    assert_eq!(bed.scalar("SELECT count(*) FROM t").await, 0);
    assert_eq!(bed.remembered().await, 0);
}

async fn a_closed_pool_says_so(bed: Bed) {
    bed.connections.close();
    let error = bed.error(one("SELECT 1 AS one", json!([])), "x:1").await;
    assert_eq!(error.code, "CONNECTION_FAILED");
    assert!(error.message.contains("closed"), "{}", error.message);
}

on_both! {
    results_are_rows_counts_and_what_was_affected
    for_each_of_a_thousand
    errors_of_the_database_have_codes_and_no_values
    hostile_values_stay_data
    limits_are_errors_that_name_them
    columns_of_one_name_are_refused_before_anything_happens
    endless_statements_end_in_time
    transactions_in_each_others_way_are_tried_again
    a_full_pool_is_waited_for_and_then_named
    a_readonly_node_cannot_write
    a_closed_pool_says_so
}

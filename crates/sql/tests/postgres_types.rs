//! Types of PostgreSQL, there and back.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use serde_json::{Value, json};
use support::Bed;

fn one(sql: &str, params: Value) -> Value {
    json!({"readonly": true, "statements": [{"id": "a", "sql": sql, "params": params}], "output": "=a.row.v"})
}

async fn value(bed: &Bed, sql: &str, params: Value) -> Value {
    match bed.run(one(sql, params), "-").await {
        Ok(applied) => applied.output,
        Err(error) => panic!("{sql}: {error:?}"),
    }
}

#[tokio::test]
async fn what_goes_in_comes_out() {
    let bed = Bed::postgres("types_back").await;
    bed.raw(
        "CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE DOMAIN age AS integer CHECK (VALUE >= 0);
         CREATE TYPE point3 AS (x integer, label text)",
    );
    let digits = format!("-{}.{}", "9".repeat(400), "1".repeat(30));
    for (ty, sent, expected) in [
        ("smallint", json!(-32_768), json!(-32_768)),
        ("integer", json!("17"), json!(17)),
        ("bigint", json!(i64::MAX), json!(i64::MAX)),
        (
            "bigint",
            json!(9_007_199_254_740_993_i64),
            json!(9_007_199_254_740_993_i64),
        ),
        ("real", json!(0.1), json!(0.1)),
        ("double precision", json!(1e300), json!(1e300)),
        ("double precision", json!("NaN"), json!("NaN")),
        ("double precision", json!("-Infinity"), json!("-Infinity")),
        ("numeric", json!(0.1), json!("0.1")),
        ("numeric", json!(1e21), json!("1000000000000000000000")),
        ("numeric", json!(digits), json!(digits)),
        ("numeric(20, 4)", json!("12345.6"), json!("12345.6000")),
        ("numeric", json!("NaN"), json!("NaN")),
        (
            "numeric",
            json!("0.000000000000000000012"),
            json!("0.000000000000000000012"),
        ),
        ("boolean", json!(true), json!(true)),
        ("text", json!("ä\u{1F600}"), json!("ä\u{1F600}")),
        ("varchar(3)", json!("abc"), json!("abc")),
        ("char(3)", json!("ab"), json!("ab ")),
        ("name", json!("n"), json!("n")),
        ("mood", json!("glad"), json!("glad")),
        ("age", json!(7), json!(7)),
        (
            "uuid",
            json!("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"),
            json!("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ),
        (
            "timestamptz",
            json!("2026-01-31T13:00:00+01:00"),
            json!("2026-01-31T12:00:00.000000Z"),
        ),
        (
            "timestamptz",
            json!("2026-01-31T12:00:00.123456Z"),
            json!("2026-01-31T12:00:00.123456Z"),
        ),
        (
            "timestamptz",
            json!("2026-01-31"),
            json!("2026-01-31T00:00:00.000000Z"),
        ),
        ("timestamptz", json!("infinity"), json!("infinity")),
        (
            "timestamp",
            json!("2026-01-31T12:00:00"),
            json!("2026-01-31T12:00:00.000000"),
        ),
        ("date", json!("2024-02-29"), json!("2024-02-29")),
        ("date", json!("0044-03-15 BC"), json!("0044-03-15 BC")),
        ("time", json!("23:59:59.5"), json!("23:59:59.500000")),
        (
            "timetz",
            json!("12:00:00+02:00"),
            json!("12:00:00.000000+02:00"),
        ),
        (
            "interval",
            json!("P1Y2M3DT4H5M6.5S"),
            json!("P1Y2M3DT4H5M6.5S"),
        ),
        (
            "json",
            json!({"b": 1, "a": ["\u{0}"]}),
            json!({"b": 1, "a": ["\u{0}"]}),
        ),
        (
            "jsonb",
            json!({"a": [1, null, "x"]}),
            json!({"a": [1, null, "x"]}),
        ),
        ("jsonb", json!("text"), json!("text")),
        ("bytea", json!("AP8="), json!("AP8=")),
        ("bytea", json!({"base64": ""}), json!("")),
        ("inet", json!("10.0.0.1/8"), json!("10.0.0.1/8")),
        ("inet", json!("::1"), json!("::1")),
        ("cidr", json!("10.0.0.0/8"), json!("10.0.0.0/8")),
        (
            "macaddr",
            json!("08:00:2b:01:02:03"),
            json!("08:00:2b:01:02:03"),
        ),
        ("varbit", json!("10110"), json!("10110")),
        ("integer[]", json!([1, null, 3]), json!([1, null, 3])),
        (
            "integer[]",
            json!([[1, 2], [3, 4]]),
            json!([[1, 2], [3, 4]]),
        ),
        ("text[]", json!([]), json!([])),
        (
            "text[]",
            json!(["a\"b", "c,d", "{}", "NULL", "\\"]),
            json!(["a\"b", "c,d", "{}", "NULL", "\\"]),
        ),
        ("numeric[]", json!([1, "2.50"]), json!(["1", "2.50"])),
        ("jsonb[]", json!([{"a": 1}, [2]]), json!([{"a": 1}, [2]])),
        ("mood[]", json!(["sad", "glad"]), json!(["sad", "glad"])),
        (
            "point3",
            json!("(1,\"a b\")"),
            json!({"x": 1, "label": "a b"}),
        ),
        ("text", json!(null), json!(null)),
        ("integer[]", json!(null), json!(null)),
    ] {
        let sql = format!("SELECT $1::{ty} AS v");
        assert_eq!(value(&bed, &sql, json!([sent])).await, expected, "{ty}");
    }
    // What comes out goes in again.
    let far = value(
        &bed,
        "SELECT '0044-03-15 12:00:00+00 BC'::timestamptz AS v",
        json!([]),
    )
    .await;
    assert_eq!(far, "0044-03-15T12:00:00.000000Z BC");
    assert_eq!(
        value(&bed, "SELECT $1::timestamptz AS v", json!([far])).await,
        far
    );
}

#[tokio::test]
async fn columns_of_other_kinds() {
    let bed = Bed::postgres("types_out").await;
    bed.raw("CREATE TABLE pairs (a integer, b text[])");
    for (sql, expected) in [
        ("SELECT count(*) AS v FROM pairs", json!(0)),
        (
            "SELECT sum(n::bigint) AS v FROM generate_series(1, 3) n",
            json!("6"),
        ),
        ("SELECT 'x' AS v", json!("x")),
        ("SELECT ROW(1, 'a', NULL) AS v", json!([1, "a", null])),
        (
            "SELECT p AS v FROM (VALUES (1, ARRAY['x'])) AS p (a, b)",
            json!([1, ["x"]]),
        ),
        (
            "SELECT ROW(1, ARRAY['x'])::pairs AS v",
            json!({"a": 1, "b": ["x"]}),
        ),
        (
            "SELECT array_agg(ROW(n, ARRAY['y'])::pairs) AS v FROM generate_series(1, 2) n",
            json!([{"a": 1, "b": ["y"]}, {"a": 2, "b": ["y"]}]),
        ),
        ("SELECT pg_notify('a', 'b') AS v", json!(null)),
        ("SELECT '1 day'::interval * -1 AS v", json!("P-1D")),
        ("SELECT 5::oid AS v", json!(5)),
        ("SELECT 'x'::\"char\" AS v", json!("x")),
        ("SELECT '(1,2)'::point::text AS v", json!("(1,2)")),
    ] {
        assert_eq!(value(&bed, sql, json!([])).await, expected, "{sql}");
    }
    for (sql, ty) in [
        ("SELECT '(1,2)'::point AS v", "point"),
        ("SELECT int4range(1, 5) AS v", "int4range"),
        ("SELECT to_tsvector('a b') AS v", "tsvector"),
        ("SELECT '$1.00'::money AS v", "money"),
        ("SELECT ARRAY['(1,2)'::point] AS v", "_point"),
    ] {
        let error = bed.error(one(sql, json!([])), "-").await;
        assert_eq!(error.code, "TYPE_ERROR", "{sql}");
        assert!(
            error.message.contains(ty) && error.message.contains("`v::text`"),
            "{}",
            error.message
        );
    }
    for sql in [
        r#"SELECT '"\ud800"'::json AS v"#,
        "SELECT '1e400'::json AS v",
    ] {
        let error = bed.error(one(sql, json!([])), "-").await;
        assert_eq!(error.code, "TYPE_ERROR", "{sql}");
        assert!(error.message.contains("column `v`"), "{}", error.message);
    }
}

#[tokio::test]
async fn values_that_do_not_fit_name_the_parameter_and_not_the_value() {
    let bed = Bed::postgres("types_bad").await;
    bed.raw("CREATE TYPE mood AS ENUM ('sad', 'glad')");
    for (ty, sent) in [
        ("integer", json!("secret")),
        ("smallint", json!(40_000)),
        ("bigint", json!(1.5)),
        ("boolean", json!("secret")),
        ("numeric", json!("1secret")),
        ("numeric", json!("1e1e1")),
        ("uuid", json!("secret")),
        ("timestamptz", json!("now")),
        ("timestamptz", json!("2026-99-99T secret")),
        ("date", json!("2026-02-30")),
        ("interval", json!("secret")),
        ("bytea", json!("secret!")),
        ("text", json!("secret\u{0}")),
        ("text", json!(true)),
        ("jsonb", json!({"secret": "\u{0}"})),
        ("integer[]", json!(["secret"])),
        ("integer[]", json!(5)),
        ("integer[]", json!([[1], [2, 3]])),
        ("mood", json!("secret")),
        ("inet", json!("secret")),
    ] {
        let sql = format!("SELECT 1::integer + $1, $2::{ty}");
        let config = json!({"readonly": true, "statements": [{"id": "find", "sql": sql, "params": [1, sent]}]});
        let error = bed.error(config, "-").await;
        assert_eq!(error.code, "TYPE_ERROR", "{ty}: {error:?}");
        assert!(
            error.message.starts_with("statement `find`: parameter 2: "),
            "{ty}: {}",
            error.message
        );
        assert!(
            !error.to_value().to_string().contains("secret"),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn numbers_in_json_that_would_lose_digits_are_refused_with_a_remedy() {
    let bed = Bed::postgres("digits").await;
    for number in ["12345678901234567890123", "0.12345678901234567890123"] {
        for ty in ["json", "jsonb"] {
            let sql = |cast: &str| format!("SELECT ('{{\"n\": {number}}}'::{ty}){cast} AS doc");
            let run = |sql: String| {
                let config = json!({"readonly": true, "statements": [{"id": "a", "sql": sql}], "output": "=a.row.doc"});
                bed.run(config, "-")
            };
            let error = run(sql("")).await.unwrap_err();
            assert_eq!(error.code, "TYPE_ERROR");
            assert!(
                error.message.contains("column `doc`") && error.message.contains("::text"),
                "{}",
                error.message
            );
            let text = run(sql("::text")).await.unwrap().output;
            assert!(text.as_str().unwrap().contains(number), "{text}");
        }
    }
}

//! What only a look at the tables can show: the cost of an admission, and rows that have gone astray.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pawl_kernel::operations::{
    AdmissionLook, AdmitExecutions, CheckCounts, Operation, RecountQuota, StoreQuota,
};
use pawl_kernel::ports::quotas::{Miscount, Recount, SetQuota};
use pawl_kernel::quota::{self, AdmissionState, QuotaSource};
use pawl_kernel::time::Timestamp;
use pawl_testkit::fixture::{at, execution_id, new_execution};

use super::*;
use crate::{changes, hot, migrations};

fn database() -> Connection {
    hot::forget_all();
    let mut connection = Connection::open_in_memory().unwrap();
    migrations::apply(&mut connection).unwrap();
    connection
}

fn name(text: &str) -> QuotaName {
    text.parse().unwrap()
}

fn run<O: Operation>(connection: &mut Connection, operation: O) -> O::Answer {
    let mut rows = ConnectionTransaction::new(connection, 1);
    finish_now(operation.run(&mut rows)).unwrap()
}

fn set(connection: &mut Connection, quota: &str, limit: u32) {
    let set = SetQuota {
        name: name(quota),
        limit,
        rate: None,
        source: QuotaSource::Api,
    };
    run(connection, StoreQuota { set, now: at(0) });
}

fn create(connection: &mut Connection, n: u64, claims: Vec<QuotaUse>) {
    let mut new = new_execution(n);
    new.execution.head.quotas = claims;
    let entry = enter(connection, &new, 1).unwrap().unwrap();
    let claims = &entry.new.execution.head.quotas;
    assert!(changes::create(connection, &entry.new, claims, 1).unwrap());
    entry.write(connection, 1).unwrap();
}

/// Copies the execution 1, which stands in line, so often. `claims`: an expression for the quotas of the copy number
/// `numbers.i`; `more`: statements that put the copies in line.
fn multiply(connection: &Connection, count: u64, claims: &str, more: &str) {
    let prepare = format!(
        "CREATE TEMP TABLE numbers AS
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
            SELECT i, cast(printf('%016d', i) AS BLOB) AS id FROM n;
        CREATE TEMP TABLE one AS SELECT * FROM executions;
        CREATE TEMP TABLE one_state AS SELECT * FROM execution_state;"
    );
    connection.execute_batch(&prepare).unwrap();
    for (table, one) in [("executions", "one"), ("execution_state", "one_state")] {
        let names = columns(connection, table);
        let value = |name: &String| match name.as_str() {
            "id" | "execution_id" => "numbers.id".to_owned(),
            "quotas" => claims.to_owned(),
            other => format!("one.{other}"),
        };
        let values: Vec<String> = names.iter().map(value).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        let copy =
            format!("INSERT INTO {table} ({names}) SELECT {values} FROM numbers, temp.{one} one");
        connection.execute_batch(&copy).unwrap();
    }
    connection.execute_batch(more).unwrap();
}

fn columns(connection: &Connection, table: &str) -> Vec<String> {
    let mut statement = connection
        .prepare("SELECT name FROM pragma_table_info(?1)")
        .unwrap();
    let names = statement.query_map([table], |row| row.get(0)).unwrap();
    names.collect::<Result<_, _>>().unwrap()
}

/// Instructions of the database's machine that one look of the scheduler takes, in which it admits one.
fn cost_of_one(connection: &mut Connection) -> u64 {
    let steps = Arc::new(AtomicU64::new(0));
    let counter = steps.clone();
    let count = move || {
        counter.fetch_add(1, Ordering::Relaxed);
        false
    };
    connection.progress_handler(1, Some(count)).unwrap();
    let (now, max) = (at(9_000), 64);
    let look = run(connection, AdmitExecutions { now, max }).admitted;
    assert_eq!((look.dispatches.len(), look.waiting), (1, true));
    connection
        .progress_handler(0, None::<fn() -> bool>)
        .unwrap();
    steps.load(Ordering::Relaxed)
}

fn compare(what: &str, short: u64, long: u64) {
    println!("{what}: {short} instructions with 100 in line, {long} with 100000");
    assert!(long < short * 3 / 2, "{what}: {short} and {long}");
}

#[test]
fn one_line_may_be_long() {
    let cost = |count: u64| {
        let mut connection = database();
        set(&mut connection, "schema:flow-1", 0);
        let claim = QuotaUse::if_set(name("schema:flow-1"));
        create(&mut connection, 1, vec![claim]);
        let line = "INSERT INTO admission_line SELECT group_id, key, numbers.id FROM admission_line, numbers;
            UPDATE admission_lanes SET waiting = (SELECT count(*) FROM admission_line);
            UPDATE quotas SET waiting = (SELECT count(*) FROM admission_line);";
        multiply(&connection, count, "one.quotas", line);
        set(&mut connection, "schema:flow-1", 1);
        cost_of_one(&mut connection)
    };
    compare("one lane", cost(100), cost(100_000));
}

/// Every execution has a key of its own; the schema's quota has room for one. `closed`: all keys but one are full.
fn cost_with_keys(count: u64, closed: bool) -> u64 {
    let mut connection = database();
    set(&mut connection, "schema:flow-1", 0);
    let key = QuotaUse::with_limit(name("key:flow-1/x"), 1, 1);
    let schema = QuotaUse::if_set(name("schema:flow-1"));
    create(&mut connection, 1, vec![key, schema]);
    let open_at = if closed { "NULL" } else { "0" };
    let used = i32::from(closed);
    let lanes = format!(
        "INSERT INTO admission_line SELECT group_id, 'key:flow-1/' || numbers.i, numbers.id FROM admission_line, numbers;
        INSERT INTO admission_lanes
            SELECT group_id, 'key:flow-1/' || numbers.i, turn, 1, {open_at} FROM admission_lanes, numbers;
        CREATE TEMP TABLE one_quota AS SELECT * FROM quotas WHERE name = 'key:flow-1/x';
        INSERT INTO quotas
            SELECT 'key:flow-1/' || numbers.i, source, max_running, rate, 1, settings_version, {used}, 1, next_at,
                   share_now, share_high, share_normal, share_low, updated_at, uncounted
            FROM one_quota, numbers;
        UPDATE quotas SET waiting = (SELECT count(*) FROM admission_line) WHERE name = 'schema:flow-1';"
    );
    let claims = "replace(one.quotas, 'key:flow-1/x', 'key:flow-1/' || numbers.i)";
    multiply(&connection, count, claims, &lanes);
    set(&mut connection, "schema:flow-1", if closed { 2 } else { 1 });
    cost_of_one(&mut connection)
}

#[test]
fn there_may_be_many_keys() {
    let cost = |count| cost_with_keys(count, false);
    compare("as many lanes", cost(100), cost(100_000));
}

#[test]
fn there_may_be_many_full_keys() {
    let cost = |count| cost_with_keys(count, true);
    compare("as many lanes that are closed", cost(100), cost(100_000));
}

/// Three of `tenant:acme`, of which one runs and two stand in line.
fn three() -> Connection {
    let mut connection = database();
    set(&mut connection, "tenant:acme", 1);
    for n in 1..=3 {
        let claim = QuotaUse::if_set(name("tenant:acme"));
        create(&mut connection, n, vec![claim]);
    }
    connection
}

/// As [`QuotaStore::admit`](pawl_kernel::ports::quotas::QuotaStore::admit) does.
fn admitted(connection: &mut Connection) -> Vec<ExecutionId> {
    let mut ids = Vec::new();
    loop {
        let (now, max) = (at(50), 64);
        let AdmissionLook {
            admitted,
            has_strays,
        } = run(connection, AdmitExecutions { now, max });
        let dispatches = admitted.dispatches.iter();
        ids.extend(dispatches.map(|dispatch| dispatch.execution_id));
        if !has_strays {
            return ids;
        }
    }
}

/// As [`QuotaStore::recount`](pawl_kernel::ports::quotas::QuotaStore::recount) does.
fn recount(connection: &mut Connection, fix: bool, now: Timestamp) -> StoreResult<Vec<Recount>> {
    let found = recount::look(connection).unwrap();
    if !fix {
        return Ok(found.quotas);
    }
    let mut names = found.of_lanes;
    names.extend(found.quotas.into_iter().map(|wrong| wrong.name));
    let names = names.into_iter();
    let mend = |name| run(connection, RecountQuota { name, now });
    Ok(names.filter_map(mend).collect())
}

fn check(connection: &mut Connection, id: ExecutionId, fix: bool) -> Option<Miscount> {
    let (ids, now) = (vec![id], at(9));
    let wrong = run(connection, CheckCounts { ids, fix, now });
    wrong.first().map(|(_, miscount)| *miscount)
}

#[test]
fn who_fell_out_of_the_line_is_put_back() {
    let mut connection = three();
    connection
        .execute_batch(
            "DELETE FROM admission_line; DELETE FROM admission_lanes; DELETE FROM admission_groups;
            UPDATE quotas SET waiting = 0",
        )
        .unwrap();
    let id = execution_id(2);
    let mut check = |fix| check(&mut connection, id, fix);
    assert_eq!(check(false), Some(Miscount::NotInLine));
    assert_eq!(check(true), Some(Miscount::NotInLine));
    assert_eq!(check(false), None);
    assert_eq!(recount(&mut connection, false, at(9)).unwrap(), []);
    set(&mut connection, "tenant:acme", 2);
    assert_eq!(admitted(&mut connection), [id]);
}

#[test]
fn who_is_not_counted_is_counted_again() {
    let mut connection = three();
    connection
        .execute_batch("DELETE FROM quota_holders; UPDATE quotas SET used = 0")
        .unwrap();
    let mut check = |fix| check(&mut connection, execution_id(1), fix);
    assert_eq!(check(true), Some(Miscount::NotHolding));
    assert_eq!(check(false), None);
    assert!(
        admitted(&mut connection).is_empty(),
        "the limit holds again"
    );
}

#[test]
fn counters_are_made_what_the_rows_say() {
    let mut connection = three();
    connection
        .execute_batch(
            "UPDATE quotas SET used = 7, waiting = 0; UPDATE admission_lanes SET waiting = 9",
        )
        .unwrap();
    let wrong = recount(&mut connection, true, at(9)).unwrap();
    assert_eq!(wrong.len(), 1);
    let Recount {
        used,
        really_used,
        waiting,
        really_waiting,
        ..
    } = &wrong[0];
    assert_eq!(
        (*used, *really_used, *waiting, *really_waiting),
        (7, 1, 0, 2)
    );
    assert_eq!(recount(&mut connection, false, at(9)).unwrap(), []);
    set(&mut connection, "tenant:acme", 5);
    assert_eq!(admitted(&mut connection), [2, 3].map(execution_id));
}

/// A row of the line whose execution does not stand there is dropped, and the next one comes.
#[test]
fn a_stray_row_in_line_does_no_harm() {
    let mut connection = three();
    let stray = execution_id(0);
    connection
        .execute(
            "INSERT INTO admission_line SELECT group_id, key, ?1 FROM admission_lanes",
            [stray.0.as_bytes()],
        )
        .unwrap();
    connection
        .execute_batch("UPDATE admission_lanes SET waiting = 3; UPDATE quotas SET waiting = 3, max_running = 2")
        .unwrap();
    assert_eq!(admitted(&mut connection), [execution_id(2)]);
    assert_eq!(recount(&mut connection, false, at(9)).unwrap(), []);
    let Subject { head, state } = execution_rows::load_subject(&connection, execution_id(2))
        .unwrap()
        .unwrap();
    assert_eq!(
        quota::admission_state(&head, &state),
        AdmissionState::Holding
    );
}

/// An execution that has ended holds nothing, whatever the rows say.
#[test]
fn a_stray_holder_is_let_go() {
    let mut connection = three();
    connection
        .execute_batch(
            "UPDATE executions SET status = 6 WHERE id IN (SELECT execution_id FROM quota_holders)",
        )
        .unwrap();
    assert!(admitted(&mut connection).is_empty());
    assert_eq!(recount(&mut connection, true, at(9)).unwrap().len(), 1);
    assert_eq!(admitted(&mut connection), [execution_id(2)]);
    let holders = holders(&connection, &name("tenant:acme"), 9).unwrap();
    assert_eq!(holders.len(), 1);
}

/// Two of one key, of which the schema allows one at a time.
fn two_of_a_key() -> Connection {
    let mut connection = database();
    for n in 1..=2 {
        let claim = QuotaUse::with_limit(name("key:flow-1/x"), 1, 3);
        create(&mut connection, n, vec![claim]);
    }
    connection
}

#[test]
fn a_quota_whose_row_is_gone_is_found_and_comes_back_with_its_limit() {
    let mut connection = two_of_a_key();
    connection.execute_batch("DELETE FROM quotas").unwrap();
    let wrong = recount(&mut connection, true, at(9)).unwrap();
    let wrong: Vec<_> = wrong
        .iter()
        .map(|wrong| (wrong.name.as_str(), wrong.really_used, wrong.really_waiting))
        .collect();
    assert_eq!(wrong, [("key:flow-1/x", 1, 1)]);
    assert_eq!(recount(&mut connection, false, at(9)).unwrap(), []);
    let quota = rows::load(&connection, &name("key:flow-1/x"))
        .unwrap()
        .unwrap();
    assert_eq!((quota.limit(), quota.settings_version), (Some(1), 3));
    assert!(
        admitted(&mut connection).is_empty(),
        "the limit holds again"
    );
}

#[test]
fn a_lane_that_is_gone_comes_back() {
    let mut connection = three();
    connection
        .execute_batch("DELETE FROM admission_lanes")
        .unwrap();
    set(&mut connection, "tenant:acme", 2);
    assert!(admitted(&mut connection).is_empty());
    let is_right = |connection: &Connection| {
        let found = recount::look(connection).unwrap();
        found.quotas.is_empty() && found.of_lanes.is_empty()
    };
    assert!(!is_right(&connection));
    recount(&mut connection, true, at(9)).unwrap();
    assert!(is_right(&connection));
    assert_eq!(admitted(&mut connection), [execution_id(2)]);
}

/// At the head of its lane it would keep all others waiting.
#[test]
fn an_execution_that_cannot_be_decoded_keeps_no_other_waiting() {
    let mut connection = three();
    set(&mut connection, "tenant:acme", 2);
    let unreadable = execution_id(2);
    let spoil = |connection: &Connection, priority: u32| {
        let values = rusqlite::params![unreadable.0.as_bytes(), priority];
        let update = "UPDATE executions SET priority = ?2 WHERE id = ?1";
        connection.execute(update, values).unwrap();
    };
    let before: u32 = connection
        .query_row(
            "SELECT priority FROM executions WHERE id = ?1",
            [unreadable.0.as_bytes()],
            |row| row.get(0),
        )
        .unwrap();
    spoil(&connection, 99);
    assert_eq!(admitted(&mut connection), [execution_id(3)]);
    spoil(&connection, before);
    assert_eq!(
        check(&mut connection, unreadable, true),
        Some(Miscount::NotInLine),
        "the doctor finds it, and gives it a place"
    );
    set(&mut connection, "tenant:acme", 3);
    assert_eq!(admitted(&mut connection), [unreadable]);
}

//! How the server does what it is asked: in the page, and never by reading a whole table.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use std::time::Duration;

use futures_util::future::join_all;
use pawl_kernel::execution::Status;
use pawl_kernel::id::ids_at;
use pawl_kernel::lifecycle::Command;
use pawl_kernel::lifecycle::Release;
use pawl_kernel::ports::letters::{LetterFilter, LetterPage, LetterStore};
use pawl_kernel::ports::overview::{GroupBy, Look, OverviewStore, errors_by};
use pawl_kernel::ports::schedule::{ActionCommand, DuePlace, RecordRequest, ScheduleStore};
use pawl_kernel::ports::store::{
    ControlStore, ExecutionFilter, ExecutionStore, LockRequest, QueryStore, RecoveryStore,
    TimerStore,
};
use pawl_kernel::ports::webhooks::WebhookStore;
use pawl_kernel::schedule::{AttemptOutcome, Put, ScheduleLimits};
use pawl_kernel::schema::definition::OnStuck;
use pawl_kernel::time::Timestamp;
use pawl_postgres::{Options, PostgresStore};
use pawl_testkit::fixture::{self, pass};
use support::{Held, database, now, open, own_server, token, until};
use uuid::Uuid;

/// From birth to end: claimed, four commits under the lease, given up, taken again, ended.
async fn live(store: &PostgresStore) {
    let mut held = Held::new(store, now()).await;
    for _ in 0..4 {
        held.advance(store).await;
    }
    let lease = held.state.lease.as_ref().unwrap().token;
    store
        .release(vec![(held.id(), lease)], Release::Unbegun, now())
        .await
        .unwrap();
    let held = Held::claim(store, held.id(), now()).await.unwrap();
    held.finish(store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updates_of_the_state_stay_in_their_page() {
    const EXECUTIONS: usize = 2_000;
    let database = database("hot");
    let options = Options {
        committers: 2,
        ..database.options()
    };
    let store = open(options.clone()).await;
    for _ in 0..EXECUTIONS / 100 {
        join_all((0..100).map(|_| live(&store))).await;
    }
    drop(store);
    let counts = "SELECT n_tup_upd || ' ' || n_tup_hot_upd || ' ' || round(100.0 * n_tup_hot_upd / greatest(n_tup_upd, 1), 1) \
                  FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname = 'execution_state'";
    // The server counts a moment later.
    let counted = until(Duration::from_secs(20), async || {
        let counted = database.psql(&options.schema, counts);
        let updates: usize = counted.split(' ').next()?.parse().ok()?;
        (updates >= EXECUTIONS * 8).then_some(counted)
    })
    .await;
    println!("execution_state: updates, in their page, per cent: {counted}");
    let share: f64 = counted.split(' ').nth(2).unwrap().parse().unwrap();
    // Nearly all: how many pages have room at a moment also depends on when old versions are pruned.
    assert!(share >= 90.0, "{counted}");
    let indexes = "SELECT string_agg(indexname, ',') FROM pg_indexes WHERE schemaname = current_schema() \
                   AND tablename = 'execution_state'";
    assert_eq!(
        database.psql(&options.schema, indexes),
        "execution_state_pkey"
    );
}

/// One of everything that a cluster does all the time.
async fn do_everything(store: &PostgresStore) {
    let mut held = Held::several(store, 3).await;
    for one in &mut held {
        one.advance(store).await;
    }
    // The slow way: somebody has written to the row since.
    let id = held[0].id();
    store.command(id, Command::Pause, now()).await.unwrap();
    store.command(id, Command::Resume, now()).await.unwrap();
    let signal = fixture::signal("s1", "news", now());
    store
        .command(id, Command::Signal(signal), now())
        .await
        .unwrap();
    held[0].advance(store).await;
    let logged = fixture::commit(&held[0].state, now())
        .steps(1)
        .log("a line")
        .snapshot("{}")
        .take("s1");
    store
        .commit(
            logged
                .with(|transition| transition.inbox_seen = Some(1))
                .build(),
        )
        .await
        .unwrap();
    let token_of = |one: &Held| one.state.lease.as_ref().unwrap().token;
    let leases = held.iter().map(|one| (one.id(), token_of(one))).collect();
    store
        .heartbeat(leases, now().plus(Duration::from_secs(60)))
        .await
        .unwrap();
    let wait = fixture::sleep(token(), now());
    store
        .commit(fixture::commit(&held[1].state, now()).wait(wait).build())
        .await
        .unwrap();
    fire(store).await;
    let later = now().plus(Duration::from_secs(2_000));
    store.expired(later, 100).await.unwrap();
    store
        .reap(held[2].id(), OnStuck::Requeue, later)
        .await
        .unwrap();
    store.sweep(fixture::sweep_request(later)).await.unwrap();
    store.probe(id).await.unwrap();
    store.open_signals(id).await.unwrap();
    store.history(id, 1).await.unwrap();
    act(store).await;
}

/// The life of a scheduled action.
async fn act(store: &PostgresStore) {
    let guid = Uuid::from_u128(u128::from(token()));
    let name = format!("action-{guid}");
    let request = Put {
        guid,
        ..fixture::put(&name, 0, fixture::starting(now(), 60))
    };
    store.put_action(request, now()).await.unwrap();
    for minutes in 1..4 {
        assert_eq!(attempt(store, guid, minutes).await, 1);
    }
    let other = Uuid::from_u128(u128::from(token()));
    let pause = store.command_action(&name, ActionCommand::Pause, other, now());
    pause.await.unwrap();
    assert!(store.delete_action(&name).await.unwrap());
    // The row that it has left is dropped.
    assert_eq!(attempt(store, guid, 10).await, 0);
    store.unlock_shards(vec![guid], None, now()).await.unwrap();
}

/// Makes what is due so many minutes from now; returns how many were made.
async fn attempt(store: &PostgresStore, guid: Uuid, minutes: u64) -> usize {
    let later = now().plus(Duration::from_secs(60 * minutes));
    let request = LockRequest {
        guid,
        owner: "me".into(),
        now: later,
        stale_before: later,
        unlocked_by: None,
        max: 100,
    };
    store.lock_shards(request).await.unwrap();
    let shards = store
        .keep_shards(fixture::keep_request(guid, later))
        .await
        .unwrap()
        .shards();
    store
        .collect(pass(guid), &shards, later, 100)
        .await
        .unwrap();
    let due = store
        .upcoming(&shards, fixture::due_before(later), 100)
        .await
        .unwrap();
    let begun = store.begin_actions(pass(guid), due, ScheduleLimits::default(), later);
    let runs = begun.await.unwrap().into_iter();
    let requests = runs.map(|(timer, run)| RecordRequest {
        lock: guid,
        timer,
        ticket: run.ticket,
        attempt: run.attempt,
        outcome: AttemptOutcome::Success,
        fresh: guid,
    });
    let records = store.record_actions(guid, requests.collect(), ScheduleLimits::default(), later);
    records.await.unwrap().len()
}

async fn fire(store: &PostgresStore) {
    let guid = Uuid::from_u128(u128::from(token()));
    let later = now().plus(Duration::from_secs(60));
    let request = LockRequest {
        guid,
        owner: "me".into(),
        now: later,
        stale_before: later,
        unlocked_by: None,
        max: 100,
    };
    let shards = store.lock_shards(request).await.unwrap();
    store
        .collect(pass(guid), &shards, later, 100)
        .await
        .unwrap();
    let due = store
        .upcoming(&shards, fixture::due_before(later), 100)
        .await
        .unwrap();
    assert_eq!(due.len(), 1);
    store.fire(pass(guid), due, later).await.unwrap();
    store
        .keep_shards(fixture::keep_request(guid, later))
        .await
        .unwrap();
    store.unlock_shards(vec![guid], None, later).await.unwrap();
}

/// Rows of executions that have ended, without a word to the planner.
fn fill(database: &support::Database, schema: &str, count: u32) {
    let executions = format!(
        "INSERT INTO executions (id, schema_id, schema_version, status, priority, debug_mode, created_by, correlation_id, \
         base_seq, created_at, initial) \
         SELECT gen_random_uuid(), gen_random_uuid(), 1, {}, 2, false, 'me', 'x', 0, now(), '{{}}' FROM generate_series(1, {count})",
        Status::Completed.code()
    );
    let states = "INSERT INTO execution_state (execution_id, seq, current_node_id, entered_at, attempt, inbox, recoveries, \
                  interrupted, deadline_at, calls_spent, bytes_spent, version, updated_at) \
                  SELECT id, 1, 'end', now(), 0, 0, 0, false, now(), 0, 0, 3, now() FROM executions e \
                  WHERE NOT EXISTS (SELECT 1 FROM execution_state s WHERE s.execution_id = e.id)";
    database.psql(schema, &format!("{executions}; {states}"));
}

/// The plans that the server has logged, each after the text of its statement.
fn plans(log: &str) -> Vec<(&str, &str)> {
    let blocks = log.split("Query Text:").skip(1);
    blocks
        .map(|block| block.split(" LOG:  ").next().unwrap())
        .map(|block| block.split_at(plan_begins(block)))
        .collect()
}

/// The first node of the plan stands on the line of the first cost.
fn plan_begins(block: &str) -> usize {
    let cost = block.find("  (cost=").unwrap_or(block.len());
    block[..cost].rfind('\n').unwrap_or(cost)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_plan_reads_a_whole_table_however_it_came_about() {
    let (server, database) = own_server(&[
        ("session_preload_libraries", "auto_explain"),
        ("auto_explain.log_min_duration", "0"),
        ("autovacuum", "off"),
    ]);
    let options = database.options();
    let store = open(options.clone()).await;
    // Plans are made here, on empty tables, and kept.
    do_everything(&store).await;
    fill(&database, &options.schema, 100_000);
    do_everything(&store).await;
    // And by connections that have seen nothing but the full tables.
    let other = open(options.clone()).await;
    do_everything(&other).await;
    let log = server.log();
    let plans = plans(&log);
    for file in [
        "transitions_write",
        "states_lock",
        "execution_heads_load",
        "executions_load",
        "state_heartbeat",
    ] {
        let path = format!("{}/sql/{file}.sql", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let first = text.lines().next().unwrap();
        let ours = plans.iter().filter(|(query, _)| query.contains(first));
        let plans: Vec<&str> = ours.map(|(_, plan)| *plan).collect();
        assert!(plans.len() >= 3, "{file} was planned {} times", plans.len());
        let by_key = |plan: &&str| plan.contains("Index Scan using execution_state_pkey");
        assert!(plans.iter().all(by_key), "{file}: {plans:?}");
    }
    let whole = [
        "Seq Scan on execution_state",
        "Seq Scan on executions",
        "Seq Scan on execution_steps",
        "Seq Scan on scheduled_actions",
        "Seq Scan on action_attempts",
        "Seq Scan on processing_queue",
        "Seq Scan on incoming_queue",
    ];
    let mut bad = Vec::new();
    for (query, plan) in &plans {
        let ours = !query.contains("generate_series")
            && !query.contains("NOT EXISTS (SELECT 1 FROM execution_state");
        if ours && whole.iter().any(|whole| plan.contains(whole)) {
            bad.push(format!(
                "{}\n{plan}",
                query.lines().next().unwrap_or_default()
            ));
        }
    }
    println!("{} plans looked at", plans.len());
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Lists, counts and statistics with a long history behind them.
async fn look_over(store: &PostgresStore) {
    let filters = [
        ExecutionFilter::default(),
        ExecutionFilter {
            statuses: vec![Status::Failed, Status::Queued],
            ..ExecutionFilter::default()
        },
        ExecutionFilter {
            schema_id: Some(fixture::schema_id(1)),
            ..ExecutionFilter::default()
        },
        ExecutionFilter {
            retry_of: Some(fixture::execution_id(1)),
            ..ExecutionFilter::default()
        },
        ExecutionFilter {
            forked_from: Some(fixture::execution_id(1)),
            ..ExecutionFilter::default()
        },
        ExecutionFilter {
            ids: Some(vec![fixture::execution_id(1), fixture::execution_id(2)]),
            ..ExecutionFilter::default()
        },
        ExecutionFilter {
            created_after: Some(now().minus(Duration::from_secs(60))),
            ..ExecutionFilter::default()
        },
    ];
    for filter in filters {
        let list = store.executions(filter.clone(), None, 50);
        list.await.unwrap();
        for group in GroupBy::ALL {
            let looks = [filter.along()].map(|along| Look {
                filter: filter.clone(),
                along,
            });
            store.tally(looks.to_vec(), group, 200).await.unwrap();
        }
    }
    errors_by(store, &ExecutionFilter::default()).await.unwrap();
    let (from, to) = (
        ids_at(now().minus(Duration::from_secs(60))).0,
        ids_at(now()).0,
    );
    for schema in [None, Some(fixture::schema_id(1))] {
        store.samples(vec![(from, to)], schema, 100).await.unwrap();
    }
    let schemas = vec![fixture::schema_id(1), fixture::schema_id(2)];
    store.newest_of(schemas.clone(), 20).await.unwrap();
    store.webhooks_of(schemas).await.unwrap();
    look_over_actions(store).await;
    look_over_letters(store).await;
}

/// A page each, at the beginning and further on.
async fn look_over_actions(store: &PostgresStore) {
    let due = Some(now().plus(Duration::from_secs(50_000)));
    let place = |due: Option<Timestamp>| DuePlace {
        due,
        id: "action-7".into(),
    };
    for after in [None, Some(place(due)), Some(place(None))] {
        for before in [None, due.map(|due| due.plus(Duration::from_secs(60)))] {
            let page = store.actions_by_due(before, after.clone(), 50);
            page.await.unwrap();
        }
    }
}

async fn look_over_letters(store: &PostgresStore) {
    for reason in [None, Some("rare".to_owned())] {
        let filter = LetterFilter {
            open_only: true,
            reason,
            ids: None,
        };
        for page in [LetterPage::After(0), LetterPage::Before(None)] {
            let letters = store.letters(filter.clone(), page, 50, 200);
            letters.await.unwrap();
        }
        store.count_letters(filter, 100, 200).await.unwrap();
    }
    let named = LetterFilter {
        ids: Some(vec![1, 2, 3]),
        ..LetterFilter::default()
    };
    let letters = store.letters(named, LetterPage::After(0), 50, 200);
    letters.await.unwrap();
}

/// Actions that are open, a few of them paused, and letters that were dealt with but for a few.
fn fill_others(database: &support::Database, schema: &str, count: u32) {
    let actions = format!(
        "INSERT INTO scheduled_actions (id, guid, meta, spec, status, scheduled_at) \
         SELECT 'action-' || n, gen_random_uuid(), '{{}}', '{{}}', '{{}}', CASE WHEN n % 100 > 0 THEN now() + n * interval '1s' END \
         FROM generate_series(1, {count}) n"
    );
    let letters = format!(
        "INSERT INTO dead_letters (reason, created_at, requeued_at) \
         SELECT 'common', now(), CASE WHEN n % 100 > 0 THEN now() END FROM generate_series(1, {count}) n"
    );
    database.psql(schema, &format!("{actions}; {letters}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_over_a_long_history_goes_along_an_index() {
    let (server, database) = own_server(&[
        ("session_preload_libraries", "auto_explain"),
        ("auto_explain.log_min_duration", "0"),
        ("auto_explain.log_nested_statements", "on"),
        ("autovacuum", "off"),
    ]);
    let options = database.options();
    let store = open(options.clone()).await;
    let held = Held::several(&store, 3).await;
    fill(&database, &options.schema, 100_000);
    fill_others(&database, &options.schema, 50_000);
    database.psql(&options.schema, "ANALYZE");
    let before = server.log().len();
    look_over(&store).await;
    drop(held);
    let log = server.log();
    let plans = plans(&log[before..]);
    let ours: Vec<_> = plans
        .iter()
        .filter(|(query, _)| query.contains("FROM executions"))
        .collect();
    assert!(ours.len() >= 20, "{} plans", ours.len());
    for (query, plan) in ours {
        assert!(!plan.contains("Seq Scan on executions"), "{query}\n{plan}");
    }
    for (table, index, sorted) in [
        ("FROM scheduled_actions", "scheduled_actions_due", false),
        ("FROM dead_letters", "dead_letters_", true),
    ] {
        let ours: Vec<_> = plans
            .iter()
            .filter(|(query, _)| query.contains(table))
            .collect();
        assert!(ours.len() >= 4, "{table}: {} plans", ours.len());
        for (query, plan) in ours {
            assert!(plan.contains(index), "{query}\n{plan}");
            assert!(sorted || !plan.contains("Sort"), "{query}\n{plan}");
            let is_open = query.contains("requeued_at IS NULL AND id");
            let along = !is_open || plan.contains("dead_letters_open");
            assert!(along, "{query}\n{plan}");
        }
    }
}

//! What only PostgreSQL does: connections that break, roles, sessions, deadlocks, servers that are hostile.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use pawl_kernel::node::NodeError;
use pawl_sql::{Connections, Dialect, Params, Plan, Scope, Script, Settings};
use serde_json::{Map, Value, json};
use support::{Bed, DB, Data, connections, until, within, work};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use xtask::services::{Postgres, PostgresOptions, Proxy, psql};

fn insert(text: &str) -> Value {
    json!({"statements": [{"id": "a", "sql": "INSERT INTO t VALUES ($1) RETURNING 'mark' || 'er' AS m", "params": [text]}],
           "output": "=a.row.m"})
}

async fn own_server() -> (Postgres, Proxy, Arc<Connections>) {
    let server = Postgres::start(PostgresOptions::default()).unwrap();
    server.psql("CREATE TABLE t (name text)").unwrap();
    let proxy = Proxy::start(server.port()).unwrap();
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", proxy.port());
    let connections = connections(Settings::new(url));
    connections.prepare(DB).await.unwrap();
    (server, proxy, connections)
}

fn count(server: &Postgres, name: &str) -> String {
    let sql = format!("SELECT count(*) FROM t WHERE name = '{name}'");
    server.psql(&sql).unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_connections_cost_nothing() {
    let (server, proxy, connections) = own_server().await;
    connections.run(work(insert("warm"), "x:0")).await.unwrap();
    // The server has committed, the answer is lost: the next try finds what was stored.
    proxy.cut_on_next(b"COMMIT\0");
    let applied = connections.run(work(insert("after"), "x:1")).await.unwrap();
    assert!(proxy.wait_for_cut(Duration::from_secs(1)));
    assert_eq!((applied.output, applied.replayed), (json!("marker"), true));
    assert_eq!(count(&server, "after"), "1");
    // Lost before the commit: it is done anew.
    proxy.cut_on_next(b"\"marker\"");
    let applied = connections
        .run(work(insert("before"), "x:2"))
        .await
        .unwrap();
    assert!(proxy.wait_for_cut(Duration::from_secs(1)));
    assert_eq!((applied.output, applied.replayed), (json!("marker"), false));
    assert_eq!(count(&server, "before"), "1");
    // A network that swallows everything: the time limit holds, and afterwards all is well.
    proxy.stall(true);
    let mut short = work(insert("stalled"), "x:3");
    short.time_limit = Duration::from_millis(400);
    let error = within(Duration::from_millis(400), connections.run(short))
        .await
        .unwrap_err();
    assert_eq!(
        (error.code.as_ref(), error.retryable),
        ("NODE_TIMEOUT", true)
    );
    proxy.stall(false);
    connections
        .run(work(insert("stalled"), "x:3"))
        .await
        .unwrap();
    assert_eq!(count(&server, "stalled"), "1");
    // Nobody there.
    proxy.refuse(true);
    proxy.cut();
    let error = within(
        Duration::from_secs(1),
        connections.run(work(insert("gone"), "x:4")),
    )
    .await
    .unwrap_err();
    assert_eq!(
        (error.code.as_ref(), error.retryable),
        ("CONNECTION_FAILED", true)
    );
    proxy.refuse(false);
    connections.run(work(insert("gone"), "x:4")).await.unwrap();
}

/// The time is over while the server commits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_without_an_answer_is_in_doubt_until_the_next_try() {
    let (server, _proxy, connections) = own_server().await;
    server
        .psql(
            "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(new.name::float8); RETURN new; END $$;
             CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slowly()",
        )
        .unwrap();
    let run = |seconds: &str, key: &str| {
        let mut work = work(insert(seconds), key);
        work.time_limit = Duration::from_millis(500);
        connections.run(work)
    };
    // A little late is in time.
    assert_eq!(run("0.52", "x:1").await.unwrap().output, "marker");
    let error = within(Duration::from_millis(500), run("5", "x:2"))
        .await
        .unwrap_err();
    assert_eq!(
        (error.code.as_ref(), error.retryable),
        ("NODE_TIMEOUT", true)
    );
    assert!(
        error.message.contains("not known whether"),
        "{}",
        error.message
    );
    assert_eq!(count(&server, "5"), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_restarted_is_used_again() {
    let (server, _proxy, connections) = own_server().await;
    let many = (0..4).map(|n| connections.run(work(insert("before"), &format!("x:{n}"))));
    for one in futures_util::future::join_all(many).await {
        one.unwrap();
    }
    for (round, restart) in [Postgres::restart_immediate, |server: &Postgres| {
        server.stop_fast()?;
        server.start_again()
    }]
    .into_iter()
    .enumerate()
    {
        restart(&server).unwrap();
        let applied = connections
            .run(work(insert("after"), &format!("y:{round}")))
            .await
            .unwrap();
        assert_eq!(applied.output, "marker");
        assert_eq!(count(&server, "after"), (round + 1).to_string());
    }
}

#[tokio::test]
async fn roles_and_sessions_stay_as_they_were() {
    let bed = Bed::postgres("roles").await;
    bed.raw(
        "CREATE TABLE t (name text);
         GRANT SELECT, UPDATE ON pawl_applied TO pg_monitor;
         CREATE FUNCTION become() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN SET ROLE pg_monitor; RETURN 1; END $$;
         CREATE FUNCTION change(name text, value text) RETURNS text LANGUAGE sql AS 'SELECT set_config(name, value, true)';
         CREATE FUNCTION mess() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
            PERFORM set_config('application_name', 'evil', false);
            PERFORM pg_advisory_lock(42);
            CREATE TEMP TABLE left_over (a integer);
            RETURN 1; END $$",
    );
    let connections = bed.again(|settings| settings.pool_size = 1);
    let call = |sql: &str| {
        json!({"statements": [
        {"id": "a", "sql": "INSERT INTO t VALUES ('x')"}, {"id": "b", "sql": sql}]})
    };
    let error = connections
        .run(work(call("SELECT become()"), "x:1"))
        .await
        .unwrap_err();
    assert_eq!(error.code, "TRANSACTION_BROKEN", "{error:?}");
    assert_eq!(bed.scalar("SELECT count(*) FROM t").await, 0);
    for (name, value) in [
        ("statement_timeout", "0"),
        ("lock_timeout", "0"),
        ("standard_conforming_strings", "off"),
        ("synchronous_commit", "off"),
        ("search_path", "pg_catalog, public"),
        ("role", "pg_monitor"),
    ] {
        let sql = format!("SELECT change('{name}', '{value}')");
        let error = connections.run(work(call(&sql), "x:1")).await.unwrap_err();
        assert_eq!(error.code, "TRANSACTION_BROKEN", "{name}: {error:?}");
        assert_eq!(bed.scalar("SELECT count(*) FROM t").await, 0);
    }
    connections
        .run(work(call("SELECT mess()"), "x:2"))
        .await
        .unwrap();
    let after = json!({"readonly": true, "statements": [
        {"id": "name", "sql": "SELECT current_setting('application_name') AS v, current_user = session_user AS same"},
        {"id": "locks", "sql": "SELECT count(*) AS v FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 \
                                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"},
        {"id": "temp", "sql": "SELECT to_regclass('left_over') IS NULL AS v"},
    ]});
    let output = connections.run(work(after, "x:3")).await.unwrap().output;
    assert_eq!(output["name"]["row"], json!({"v": "pawl", "same": true}));
    assert_eq!(
        (&output["locks"]["row"]["v"], &output["temp"]["row"]["v"]),
        (&json!(0), &json!(true))
    );
}

/// Functions of the database may do what no text of a statement may: nothing of it reaches the next one.
#[tokio::test]
async fn nothing_outlives_its_transaction_on_a_shared_connection() {
    let bed = Bed::postgres("outlives").await;
    bed.raw(
        "CREATE FUNCTION leave(what text) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN EXECUTE what; RETURN 1; END $$",
    );
    let connections = bed.again(|settings| settings.pool_size = 1);
    let look = json!({"readonly": true, "statements": [{"id": "a", "sql":
        "SELECT current_setting('work_mem') AS work_mem, current_setting('search_path') AS path, \
         current_setting('default_transaction_read_only') AS ro, current_user = session_user AS same, \
         (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks, \
         (SELECT count(*) FROM pg_listening_channels()) AS channels, \
         (SELECT count(*) FROM pg_prepared_statements WHERE from_sql) AS prepared, \
         (SELECT count(*) FROM pg_cursors) AS cursors, \
         (SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema()) AS tables, \
         (SELECT count(*) FROM pg_type WHERE typnamespace = pg_my_temp_schema()) AS types"}], "output": "=a.row"});
    let fresh = connections
        .run(work(look.clone(), "-"))
        .await
        .unwrap()
        .output;
    let leave = |what: &str| json!({"statements": [{"id": "a", "sql": "SELECT leave($1)", "params": [what]}], "output": "=a.row"});
    for (number, what) in [
        "SET work_mem = '99MB'",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
        "SELECT set_config('role', 'pg_monitor', false), set_config('role', 'none', false)",
        "SELECT pg_advisory_lock(42)",
        "LISTEN a_channel",
        "PREPARE left_over AS SELECT 1",
        "DECLARE left_over CURSOR WITH HOLD FOR SELECT 1",
        "CREATE TEMP TABLE left_over (a integer)",
        "CREATE TEMP VIEW left_over AS SELECT 1",
        "CREATE TYPE pg_temp.left_over AS (a integer)",
    ]
    .into_iter()
    .enumerate()
    {
        let done = connections
            .run(work(leave(what), &format!("x:{number}")))
            .await;
        assert!(done.is_ok(), "{what}: {done:?}");
        let seen = connections
            .run(work(look.clone(), "-"))
            .await
            .unwrap()
            .output;
        assert_eq!(seen, fresh, "{what}");
    }
}

#[tokio::test]
async fn commits_are_waited_for_even_where_the_database_says_otherwise() {
    let bed = Bed::postgres("sync").await;
    let name = bed.url.rsplit('/').next().unwrap();
    bed.raw(&format!(
        "ALTER DATABASE {name} SET synchronous_commit = off"
    ));
    let shown = "SELECT current_setting('synchronous_commit') AS v";
    assert_eq!(bed.scalar(shown).await, "on");
}

#[tokio::test]
async fn a_lock_that_others_hold_is_waited_for_and_then_named() {
    let bed = Bed::postgres("locks").await;
    bed.raw("CREATE TABLE t (name text); INSERT INTO t VALUES ('a')");
    let (other, connection) = tokio_postgres::connect(&bed.url, tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    other
        .batch_execute("BEGIN; UPDATE t SET name = 'b'")
        .await
        .unwrap();
    let connections = bed.again(|settings| settings.lock_timeout = Duration::from_millis(300));
    for sql in ["UPDATE t SET name = 'c'", "LOCK TABLE t"] {
        let config = json!({"statements": [{"id": "a", "sql": sql}]});
        let run = connections.run(work(config, "x:1"));
        let error = within(Duration::from_millis(300), run).await.unwrap_err();
        assert_eq!(
            (error.code.as_ref(), error.retryable),
            ("LOCK_TIMEOUT", true)
        );
    }
    // The row that another run of this step holds is waited for as long as there is time.
    other
        .batch_execute("INSERT INTO pawl_applied VALUES ('x:2')")
        .await
        .unwrap();
    let config = json!({"statements": [{"id": "a", "sql": "SELECT 1"}]});
    let mut patient = work(config, "x:2");
    patient.time_limit = Duration::from_secs(1);
    let started = std::time::Instant::now();
    let run = connections.run(patient);
    let error = within(Duration::from_secs(1), run).await.unwrap_err();
    assert!(error.retryable, "{error:?}");
    assert!(started.elapsed() > Duration::from_millis(900), "{error:?}");
}

/// Both are in the middle before either goes on, the first time.
struct Meeting {
    data: Data,
    barrier: Arc<Barrier>,
    tries: AtomicU32,
}

impl Script for Meeting {
    fn for_each(
        &self,
        n: usize,
        results: &Map<String, Value>,
    ) -> Result<Option<Vec<Value>>, NodeError> {
        self.data.for_each(n, results)
    }
    fn params(&self, n: usize, scope: &Scope<'_>) -> Result<Params, NodeError> {
        self.data.params(n, scope)
    }
    fn expect(&self, statement: usize, _: &Map<String, Value>) -> Result<(), NodeError> {
        if statement == 0 && self.tries.fetch_add(1, Ordering::SeqCst) == 0 {
            // Whoever blocks says so, or others would wait behind it.
            tokio::task::block_in_place(|| self.barrier.wait());
        }
        Ok(())
    }
    fn output(&self, _: &Map<String, Value>) -> Result<Value, NodeError> {
        Ok(json!(self.tries.load(Ordering::SeqCst)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn deadlocks_are_tried_again() {
    let bed = Bed::postgres("deadlock").await;
    let name = bed.url.rsplit('/').next().unwrap();
    bed.raw(&format!(
        "ALTER DATABASE {name} SET deadlock_timeout = '50ms';
         CREATE TABLE t (id integer PRIMARY KEY, n integer); INSERT INTO t VALUES (1, 0), (2, 0)"
    ));
    let barrier = Arc::new(Barrier::new(2));
    let run = |first: i64, second: i64, key: &str| {
        let update = "UPDATE t SET n = n + 1 WHERE id = $1";
        let config = json!({"statements": [{"id": "a", "sql": update, "params": [first]},
                                           {"id": "b", "sql": update, "params": [second]}]});
        let mut work = work(config.clone(), key);
        work.script = Arc::new(Meeting {
            data: Data(config),
            barrier: barrier.clone(),
            tries: AtomicU32::new(0),
        });
        let connections = bed.connections.clone();
        tokio::spawn(async move { connections.run(work).await.unwrap().output })
    };
    let (one, two) = (run(1, 2, "x:1"), run(2, 1, "x:2"));
    let tries = (
        one.await.unwrap().as_u64().unwrap(),
        two.await.unwrap().as_u64().unwrap(),
    );
    assert!(
        tries.0 + tries.1 >= 3,
        "nobody was in anybody's way: {tries:?}"
    );
    assert_eq!(bed.scalar("SELECT sum(n) FROM t").await, 4);
}

#[tokio::test]
async fn a_constraint_that_is_checked_at_the_end_fails_the_commit_and_nothing_is_left() {
    let bed = Bed::postgres("deferred").await;
    bed.raw(
        "CREATE TABLE p (id integer PRIMARY KEY);
         CREATE TABLE c (id integer REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED)",
    );
    let config = json!({"statements": [{"id": "a", "sql": "INSERT INTO c VALUES (7)"}]});
    assert_eq!(bed.error(config, "x:1").await.code, "FOREIGN_KEY_VIOLATION");
    assert_eq!(
        (
            bed.scalar("SELECT count(*) FROM c").await,
            bed.remembered().await
        ),
        (json!(0), 0)
    );
}

#[tokio::test]
async fn a_table_that_changes_under_a_prepared_statement_is_read_anew() {
    let bed = Bed::postgres("replan").await;
    bed.raw("CREATE TABLE t (a integer); INSERT INTO t VALUES (1)");
    let connections = bed.again(|settings| settings.pool_size = 1);
    let config = || json!({"readonly": true, "statements": [{"id": "a", "sql": "SELECT * FROM t"}], "output": "=a.row"});
    assert_eq!(
        connections.run(work(config(), "-")).await.unwrap().output,
        json!({"a": 1})
    );
    bed.raw("ALTER TABLE t ADD COLUMN b text DEFAULT 'x'");
    assert_eq!(
        connections.run(work(config(), "-")).await.unwrap().output,
        json!({"a": 1, "b": "x"})
    );
}

#[tokio::test]
async fn a_role_without_rights_is_told_which_and_a_schema_can_be_chosen() {
    let bed = Bed::postgres("rights").await;
    let role = bed.url.rsplit('/').next().unwrap().to_owned();
    bed.raw(&format!(
        "CREATE SCHEMA shop; CREATE ROLE {role} LOGIN PASSWORD 'hunter2'; GRANT USAGE ON SCHEMA shop TO {role};
         GRANT USAGE ON SCHEMA public TO {role}; CREATE TABLE shop.t (a integer); GRANT ALL ON shop.t TO {role}"
    ));
    let settings = |user: &str| {
        let mut settings = Settings::new(bed.url.replace("postgres@", &format!("{user}@")));
        settings.schema = Some("shop".into());
        settings
    };
    let own = connections(settings("postgres"));
    own.prepare(DB).await.unwrap();
    assert_eq!(
        bed.scalar("SELECT to_regclass('shop.pawl_applied') IS NULL")
            .await,
        false
    );
    let guest = connections(settings(&format!("{role}:hunter2")));
    let config = || json!({"statements": [{"id": "a", "sql": "INSERT INTO t VALUES (1)"}], "output": "=a.affected"});
    let error = guest.run(work(config(), "x:1")).await.unwrap_err();
    assert_eq!(error.code, "NOT_PREPARED");
    assert!(
        error.message.contains("GRANT SELECT, INSERT"),
        "{}",
        error.message
    );
    assert!(!error.message.contains("hunter2"));
    bed.raw(&format!(
        "GRANT SELECT, INSERT, UPDATE, DELETE ON shop.pawl_applied TO {role}"
    ));
    assert_eq!(guest.run(work(config(), "x:1")).await.unwrap().output, 1);
    for (sql, code) in [
        ("SELECT rolpassword FROM pg_authid", "SQL_ERROR"),
        ("CREATE SCHEMA mine", "SQL_ERROR"),
        ("TRUNCATE public.pawl", "SQL_ERROR"),
    ] {
        let config = json!({"statements": [{"id": "a", "sql": sql}]});
        let error = guest.run(work(config, "x:2")).await.unwrap_err();
        assert_eq!(error.code, code, "{sql}");
    }
    bed.raw("CREATE SCHEMA pawl; CREATE TABLE pawl.api_keys (a text)");
    let can_write = async |who: &Connections| who.can_write_to_store(DB, "pawl").await.unwrap();
    assert!(can_write(&own).await && !can_write(&guest).await);
    guest.close();
    own.close();
    until(Duration::from_secs(5), async || {
        psql(&bed.url, &format!("DROP OWNED BY {role}; DROP ROLE {role}")).ok()
    })
    .await;
}

/// What the guard of texts refuses does something on a real server: each of these would have got through.
#[tokio::test]
async fn refused_functions_and_catalogs_are_refused_before_the_server_sees_them() {
    let bed = Bed::postgres("refused").await;
    for sql in [
        "SELECT (42::bigint).pg_advisory_lock",
        "SELECT (0).pg_terminate_backend",
        "SELECT (0).\"pg_cancel_backend\"",
        "SELECT * FROM ts_stat('SELECT set_config(''lock_timeout'', ''0'', false)::tsvector')",
        "SELECT ts_rewrite('a'::tsquery, 'SELECT ''a''::tsquery, ''b''::tsquery')",
        "SELECT query_to_xml('SELECT 1', true, true, '')",
        "SELECT table_to_xml('pg_class', true, true, '')",
        "SELECT schema_to_xml('public', true, true, '')",
        "SELECT database_to_xml(true, true, '')",
        "SELECT pg_reload_conf()",
        "SELECT pg_read_file('PG_VERSION')",
        "SELECT pg_ls_dir('.')",
        "SELECT pg_ls_logdir()",
        "SELECT pg_stat_file('PG_VERSION')",
        "SELECT lo_import('/etc/hostname')",
        "UPDATE pg_settings SET setting = '0' WHERE name = 'lock_timeout'",
        "WITH x AS (UPDATE pg_catalog.pg_settings SET setting = '0' RETURNING 1) SELECT * FROM x",
        "DELETE FROM pg_description",
        "CREATE VIEW v AS SELECT name, setting FROM pg_settings",
        "SELECT setseed(0.5)",
        "CREATE SCHEMA s CREATE TABLE a (b int) GRANT SELECT ON a TO PUBLIC",
        "CREATE TABLE x AS EXECUTE s0",
    ] {
        let config = json!({"statements": [{"id": "a", "sql": sql}]});
        let found = Plan::read(&config, Some(Dialect::Postgres)).unwrap_err();
        assert_eq!(found.len(), 1, "{sql}: {found:?}");
        // The server itself would have done it, but for these.
        let refused_anyway = ["s0", "logdir", "RETURNING"];
        if !refused_anyway.iter().any(|part| sql.contains(part)) {
            bed.raw(&format!("BEGIN; {sql}; ROLLBACK"));
        }
    }
}

#[tokio::test]
async fn rows_and_values_without_end_end_early() {
    let bed = Bed::postgres("flood").await;
    let connections = bed.again(|settings| settings.max_bytes = 1 << 20);
    for sql in [
        "SELECT generate_series(1, 1000000000000) AS n",
        "SELECT repeat('x', 30000000) AS n",
        "SELECT repeat('x', 100000) AS n FROM generate_series(1, 9000)",
    ] {
        let config = json!({"readonly": true, "statements": [{"id": "a", "sql": sql}]});
        let run = connections.run(work(config, "-"));
        let error = within(Duration::from_secs(4), run).await.unwrap_err();
        assert_eq!(error.code, "LIMIT_EXCEEDED", "{sql}: {error:?}");
    }
    let busy = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() \
                AND state = 'active'";
    until(Duration::from_secs(2), async || {
        (bed.scalar(busy).await == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn tls_is_checked_as_asked() {
    let options = PostgresOptions {
        tls: true,
        ..PostgresOptions::default()
    };
    let server = Postgres::start(options).unwrap();
    let base = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
    let with = |mode: &str, trust: bool| {
        let mut settings = Settings::new(format!("{base}?sslmode={mode}"));
        settings.root_certificates = trust.then(|| server.authority().unwrap().to_owned());
        connections(settings)
    };
    for (mode, trust, fits) in [
        ("disable", false, false),
        ("prefer", false, true),
        ("require", false, true),
        ("verify-ca", false, false),
        ("verify-ca", true, true),
        ("verify-full", true, true),
    ] {
        let prepared = with(mode, trust).prepare(DB).await;
        assert_eq!(prepared.is_ok(), fits, "{mode} {trust}: {prepared:?}");
    }
    // Cancelling goes the same way.
    let connections = with("verify-full", true);
    let mut slow = work(
        json!({"statements": [{"id": "a", "sql": "SELECT pg_sleep(3600)"}]}),
        "x:1",
    );
    slow.time_limit = Duration::from_millis(300);
    let error = within(Duration::from_millis(300), connections.run(slow))
        .await
        .unwrap_err();
    assert_eq!(error.code, "NODE_TIMEOUT");
    let busy = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'";
    until(Duration::from_secs(2), async || {
        (server.psql(busy).unwrap().trim() == "0").then_some(())
    })
    .await;
}

/// What a server does that means no good, after it was greeted.
#[derive(Clone, Copy)]
enum Malice {
    Silence,
    FloodAtOnce,
    FloodLater,
    HugeMessage,
    Nonsense,
}

async fn hostile(malice: Malice) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, malice));
        }
    });
    port
}

async fn serve(mut stream: TcpStream, malice: Malice) -> std::io::Result<()> {
    let mut buffer = [0; 4096];
    // Encryption is asked for first, and refused.
    stream.read_exact(&mut buffer[..8]).await?;
    stream.write_all(b"N").await?;
    let _greeting = stream.read(&mut buffer).await?;
    let notice = b"N\0\0\0\x10SERROR\0Mx\0\0\0";
    match malice {
        Malice::Silence => return std::future::pending().await,
        Malice::FloodAtOnce => loop {
            stream.write_all(&notice.repeat(1_000)).await?;
        },
        Malice::FloodLater | Malice::HugeMessage | Malice::Nonsense => {}
    }
    stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").await?;
    let _question = stream.read(&mut buffer).await?;
    match malice {
        Malice::HugeMessage => {
            stream.write_all(b"D\x7f\xff\xff\xff").await?;
            loop {
                stream.write_all(&[0; 65_536]).await?;
            }
        }
        Malice::Nonsense => {
            stream
                .write_all(b"\xff\xff\xff\xff\xff\xff\xff\xff")
                .await?;
            std::future::pending().await
        }
        _ => loop {
            stream.write_all(&notice.repeat(1_000)).await?;
        },
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_servers_are_left_in_time() {
    for malice in [
        Malice::Silence,
        Malice::FloodAtOnce,
        Malice::FloodLater,
        Malice::HugeMessage,
        Malice::Nonsense,
    ] {
        let port = hostile(malice).await;
        let mut settings = Settings::new(format!("postgres://me@127.0.0.1:{port}/db"));
        settings.connect_timeout = Duration::from_millis(300);
        settings.max_bytes = 1 << 20;
        let mut asking = work(
            json!({"statements": [{"id": "a", "sql": "SELECT 1"}]}),
            "x:1",
        );
        asking.time_limit = Duration::from_secs(2);
        let run = connections(settings);
        let error = within(Duration::from_secs(2), run.run(asking))
            .await
            .unwrap_err();
        assert!(
            matches!(error.code.as_ref(), "CONNECTION_FAILED" | "NODE_TIMEOUT"),
            "{}: {error:?}",
            malice as u8
        );
        assert!(error.retryable);
    }
}

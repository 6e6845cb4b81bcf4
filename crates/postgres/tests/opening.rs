//! Opening a store: TLS, namespaces, migrations, servers that cannot be written to, and what people are told.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use std::path::Path;
use std::time::Duration;

use pawl_kernel::ports::store::{ExecutionStore, QueryStore, StoreError};
use pawl_kernel::time::Clock;
use pawl_postgres::{MigrationError, OpenError, PostgresStore};
use support::{Database, Held, id_at, new_at, now, open, options, refused};
use xtask::services::{Postgres, PostgresOptions, psql};

const PASSWORD: &str = "hunter2secret";

fn tls_server() -> Postgres {
    Postgres::start(PostgresOptions {
        tls: true,
        ..PostgresOptions::default()
    })
    .unwrap()
}

fn address(server: &Postgres, host: &str, more: &str) -> String {
    let port = server.port();
    format!("postgres://postgres:{PASSWORD}@{host}:{port}/postgres?{more}")
}

fn escaped(path: &Path) -> String {
    path.display().to_string().replace('/', "%2F")
}

/// Opens, and uses, a store.
async fn works(url: &str) {
    let store = open(options(url)).await;
    Held::new(&store, now()).await.advance(&store).await;
    store.close();
}

async fn explained(url: &str) -> String {
    let error = refused(options(url)).await.to_string();
    assert!(!error.contains(PASSWORD), "a password in: {error}");
    error
}

#[tokio::test]
async fn tls_is_as_strict_as_sslmode_says() {
    let (server, stranger) = (tls_server(), tls_server());
    let authority = escaped(server.authority().unwrap());
    let other = escaped(stranger.authority().unwrap());
    for more in [
        "sslmode=require".to_owned(),
        "sslmode=prefer".to_owned(),
        format!("sslmode=verify-ca&sslrootcert={authority}"),
        format!("sslmode=verify-full&sslrootcert={authority}"),
    ] {
        works(&address(&server, "127.0.0.1", &more)).await;
    }
    works(&address(
        &server,
        "localhost",
        &format!("sslmode=verify-full&sslrootcert={authority}"),
    ))
    .await;
    // The name is wrong, the authority right.
    let elsewhere = "db.example.com";
    works(&address(
        &server,
        elsewhere,
        &format!("hostaddr=127.0.0.1&sslmode=verify-ca&sslrootcert={authority}"),
    ))
    .await;
    for (host, more, said) in [
        (
            "127.0.0.1",
            format!("sslmode=verify-full&sslrootcert={other}"),
            "invalid peer certificate",
        ),
        (
            "127.0.0.1",
            format!("sslmode=verify-ca&sslrootcert={other}"),
            "invalid peer certificate",
        ),
        // Nobody's usual authorities know the one of a test.
        (
            "127.0.0.1",
            "sslmode=verify-full".to_owned(),
            "invalid peer certificate",
        ),
        (
            elsewhere,
            format!("hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={authority}"),
            "not valid for name \"db.example.com\"",
        ),
        ("127.0.0.1", "sslmode=disable".to_owned(), "no encryption"),
    ] {
        let error = explained(&address(&server, host, &more)).await;
        assert!(error.contains(said), "{more}: {error}");
        assert!(error.contains(&server.port().to_string()), "{error}");
    }
}

#[tokio::test]
async fn files_of_authorities_that_cannot_be_used_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("no certificates.pem");
    std::fs::write(&empty, "nothing\n").unwrap();
    let missing = folder.path().join("missing.pem");
    for file in [&empty, &missing] {
        let more = escaped(file).replace(' ', "%20");
        let url = format!(
            "postgres://postgres:{PASSWORD}@127.0.0.1:1/x?sslmode=verify-full&sslrootcert={more}"
        );
        let error = explained(&url).await;
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(error.contains(name), "{error}");
    }
}

/// Characters that should have been escaped make other parts of the address out of a password.
#[tokio::test]
async fn passwords_are_in_no_error() {
    for url in [
        "postgres://me:hunter2secret@127.0.0.1:1/none",
        "postgres://me:what?hunter2secret@127.0.0.1:1/none",
        "postgres://me:what?a=hunter2secret@127.0.0.1:1/none",
        "postgres://me:what/hunter2secret@127.0.0.1:1/none",
        "postgres://me:what#hunter2secret@127.0.0.1:1/none",
        "postgres://me:wh@t:hunter2secret@127.0.0.1:1/none",
        "postgres://me:hunter2secret%ZZ@127.0.0.1:1/none",
        "postgres://me:hunter2secret@127.0.0.1:notaport/none",
        "postgres://me@127.0.0.1:1/none?password=hunter2secret",
        "postgres://me@127.0.0.1:1/none?sslmode=hunter2secret",
        "host=127.0.0.1 password=hunter2secret",
    ] {
        explained(url).await;
    }
}

#[tokio::test]
async fn two_installations_share_a_database_and_see_nothing_of_each_other() {
    let database = support::database("namespaces");
    let (one, other) = (database.store().await, database.store().await);
    let held = Held::new(&one, now()).await;
    assert!(one.execution(held.id()).await.unwrap().is_some());
    assert!(other.execution(held.id()).await.unwrap().is_none());
    // The same id in both: no key is shared.
    let mut twin = new_at(held.now);
    twin.execution.head.id = held.id();
    twin.state.execution_id = held.id();
    other.create(twin).await.unwrap();
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') \
                  AND schemaname NOT LIKE 'pawl\\_%'";
    assert_eq!(psql(&database.url, tables).unwrap(), "0");
}

#[tokio::test]
async fn names_that_are_not_plain_are_refused() {
    let long = "a".repeat(51);
    for name in [
        "", "Pawl", "a b", "a;b", "a\"b", "a-b", "1a", "pg_mine", "ä", "a,b", "a.b", &long,
    ] {
        let mut options = options("postgres://postgres@127.0.0.1:1/none");
        options.schema = name.into();
        let error = refused(options).await;
        assert!(matches!(error, OpenError::Address(_)), "{name}: {error}");
        assert!(error.to_string().contains("plain name"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_processes_migrate_an_empty_database_once() {
    let database = support::database("migrate");
    let options = database.options();
    let opening = (0..8).map(|_| tokio::spawn(PostgresStore::open(options.clone())));
    let opened = futures_util::future::join_all(opening).await;
    for store in opened {
        let store = store.unwrap().unwrap();
        Held::new(&store, now()).await.advance(&store).await;
        store.close();
    }
    let applied = "SELECT count(*), count(DISTINCT name) = count(*) FROM schema_migrations";
    let alone = database.options();
    open(alone.clone()).await.close();
    let (crowd, alone) = (
        database.psql(&options.schema, applied),
        database.psql(&alone.schema, applied),
    );
    assert_eq!(crowd, alone);
    assert!(crowd.ends_with("|t"), "{crowd}");
}

/// One that fails holds up none before it, and the next start goes on with it.
#[tokio::test]
async fn each_migration_is_a_transaction_of_its_own() {
    let database = support::database("halfway");
    let options = database.options();
    let alter = |sql: &str| database.psql("public", sql);
    let schema = &options.schema;
    alter(&format!(
        "CREATE SCHEMA {schema}; CREATE TABLE {schema}.schema_revision (other integer)"
    ));
    let error = refused(options.clone()).await;
    assert!(matches!(error, OpenError::Migration { .. }), "{error}");
    let newest = format!("SELECT max(version) FROM {schema}.schema_migrations");
    // The one before that which makes the table.
    assert_eq!(alter(&newest), "21");
    alter(&format!("DROP TABLE {schema}.schema_revision"));
    open(options.clone()).await.close();
    assert_ne!(alter(&newest), "21");
}

#[tokio::test]
async fn a_newer_or_an_altered_database_is_refused() {
    let database = support::database("versions");
    let options = database.options();
    open(options.clone()).await.close();
    let alter = |sql: &str| database.psql(&options.schema, sql);
    alter("UPDATE schema_migrations SET checksum = 'x' || checksum WHERE version = 2");
    let error = refused(options.clone()).await;
    let changed = matches!(&error, OpenError::Migration { source: MigrationError::Changed { name }, .. } if name == "0002_schemas");
    assert!(changed, "{error}");
    alter("UPDATE schema_migrations SET checksum = substr(checksum, 2) WHERE version = 2");
    open(options.clone()).await.close();
    alter("INSERT INTO schema_migrations SELECT 9999, '9999_future', 'x', now()");
    let error = refused(options.clone()).await;
    let newer = matches!(
        &error,
        OpenError::Migration {
            source: MigrationError::Newer { found: 9999, .. },
            ..
        }
    );
    assert!(newer, "{error}");
}

/// A standby answers questions; so does a primary that somebody has set to read only.
#[tokio::test]
async fn a_server_that_is_read_only_is_unavailable_and_says_why() {
    let (server, database) = support::own_server(&[]);
    let options = database.options();
    let store = open(options.clone()).await;
    let mut held = Held::new(&store, now()).await;
    held.advance(&store).await;
    server
        .psql("ALTER SYSTEM SET default_transaction_read_only = on")
        .unwrap();
    server.psql("SELECT pg_reload_conf()").unwrap();
    // The server reads its settings some time after it was told to: commits before that succeed.
    let error = support::until(Duration::from_secs(10), async || {
        let step = held.step();
        match store.commit(step.clone()).await {
            Ok(applied) => {
                held.committed(&step, &applied);
                None
            }
            Err(error) => Some(error),
        }
    })
    .await;
    assert!(support::unavailable(&error), "{error}");
    assert!(error.to_string().contains("read-only"), "{error}");
    let error = store.create(new_at(now())).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    assert!(
        store.execution(held.id()).await.unwrap().is_some(),
        "reading works"
    );
    let error = refused(options).await;
    assert!(error.to_string().contains("read-only"), "{error}");
    psql(&server.url(), "SET default_transaction_read_only = off; ALTER SYSTEM RESET default_transaction_read_only; SELECT pg_reload_conf()").unwrap();
    support::until(Duration::from_secs(10), async || {
        store.commit(held.step()).await.ok()
    })
    .await;
}

/// Behind a pooler the settings of a connection do not last: without being told, the store must not begin to work.
#[tokio::test]
async fn a_pooler_that_nobody_mentioned_is_noticed() {
    let (server, _) = support::own_server(&[]);
    let pooler =
        xtask::services::PgBouncer::start(server.port(), xtask::services::PoolMode::Transaction)
            .unwrap();
    let error = refused(options(&pooler.url("postgres"))).await.to_string();
    assert!(error.contains("pooler"), "{error}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(server.psql(tables).unwrap(), "0");
}

#[tokio::test]
async fn the_clock_is_the_servers() {
    let database = support::database("clock");
    let options = database.options();
    let store = open(options.clone()).await;
    let client = support::client(&database.url, &options.schema).await;
    let clock = store.clock();
    let mut last = clock.now();
    for _ in 0..200 {
        let before = clock.now();
        let row = client
            .query_one(
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
                &[],
            )
            .await
            .unwrap();
        let after = clock.now();
        let server: i64 = row.get(0);
        let near = before.as_micros() - 20_000..=after.as_micros() + 20_000;
        assert!(near.contains(&server), "{server} is not in {near:?}");
        assert!(last <= before && before <= after, "time went back");
        last = after;
    }
}

/// Nothing in an address may be guessed: the database is what the store says it is.
#[tokio::test]
async fn the_store_says_where_it_is() {
    let database: Database = support::database("about");
    let options = database.options();
    let store = open(options.clone()).await;
    let facts = store.about().await.unwrap();
    let fact = |name: &str| {
        facts
            .iter()
            .find(|(known, _)| known == name)
            .unwrap()
            .1
            .clone()
    };
    assert_eq!(fact("schema"), options.schema);
    assert_eq!(fact("fsync"), "on");
    assert!(store.execution(id_at(now())).await.unwrap().is_none());
}

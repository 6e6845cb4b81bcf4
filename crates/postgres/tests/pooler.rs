//! Behind PgBouncer in transaction mode: no setting, prepared statement or lock may outlive a transaction.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use std::sync::Arc;

use futures_util::future::join_all;
use pawl_kernel::ports::store::{QueryStore, Store};
use pawl_postgres::Options;
use pawl_testkit::conformance;
use support::{Database, Held, open, own_server};
use xtask::services::{PgBouncer, PoolMode};

fn behind(pooler: &PgBouncer) -> Database {
    Database::at(pooler.url("postgres"))
}

fn told(database: &Database) -> Options {
    Options {
        pooler: true,
        ..database.options()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_conforms_behind_a_pooler() {
    let (server, _) = own_server(&[]);
    let pooler = PgBouncer::start(server.port(), PoolMode::Transaction).unwrap();
    let database = behind(&pooler);
    conformance::store(async || open(told(&database)).await as Arc<dyn Store>).await;
}

/// Eight connections and more of each store, two of the pooler: whoever keeps one for himself starves the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_stores_share_two_connections() {
    let (server, _) = own_server(&[]);
    let pooler = PgBouncer::start_with(server.port(), PoolMode::Transaction, 2).unwrap();
    let database = behind(&pooler);
    let options = Options {
        committers: 2,
        writers: 3,
        ..told(&database)
    };
    let stores = join_all((0..4).map(|_| open(options.clone()))).await;
    let working = stores.iter().map(|store| {
        let store = store.clone();
        tokio::spawn(async move {
            let held = Held::several(&store, 25).await;
            join_all(held.into_iter().map(async |mut one| {
                for _ in 0..8 {
                    one.advance(&store).await;
                }
                one.finish(&store).await;
                assert_eq!(store.steps(one.id(), 0, 100).await.unwrap().len(), 9);
            }))
            .await;
        })
    });
    for done in join_all(working).await {
        done.unwrap();
    }
    let used = server.psql(
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    );
    assert_eq!(used.unwrap(), "2");
}

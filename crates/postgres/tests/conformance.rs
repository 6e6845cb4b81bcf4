//! The store keeps the promises of the ports, on a real server.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use std::sync::Arc;

use pawl_kernel::ports::store::Store;
use pawl_postgres::{Options, PostgresStore};
use pawl_testkit::differential;
use pawl_testkit::model::ModelStore;
use pawl_testkit::{conformance, crowd};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_conforms() {
    let database = support::database("conforms");
    conformance::store(async || database.store().await as Arc<dyn Store>).await;
}

/// The same random commands, the same answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_does_what_the_model_does() {
    let database = support::database("differs");
    for seed in 1..=40 {
        let model = Arc::new(ModelStore::default());
        differential::compare(seed, 60, model, database.store().await).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_counts_as_the_model_does() {
    let database = support::database("counts");
    for seed in 1..=40 {
        let model = Arc::new(ModelStore::default());
        let store = database.store().await;
        differential::compare_with_quotas(seed, 100, model, store).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_schedules_as_the_model_does() {
    let database = support::database("schedules");
    for seed in 1..=100 {
        let model = Arc::new(ModelStore::default());
        let store = database.store().await;
        differential::compare_schedules(seed, 60, model, store).await;
    }
}

/// Three processes on one database: no limit is ever exceeded, and nobody waits for each other in a circle.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_schedulers_keep_every_limit() {
    let database = support::database("crowd");
    let options = database.options();
    let mut stores: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..3 {
        stores.push(support::open(options.clone()).await);
    }
    crowd::at_the_door(stores.try_into().ok().unwrap(), 120).await;
}

#[tokio::test]
async fn every_statement_can_be_prepared() {
    let database = support::database("prepares");
    let store = database.store().await;
    store.check_statements().await.unwrap();
}

#[tokio::test]
async fn nonsense_addresses_are_explained() {
    for (url, said) in [
        ("mysql://x", "postgres://"),
        ("postgres://127.0.0.1:1/none", "127.0.0.1:1/none"),
    ] {
        let error = match PostgresStore::open(Options::new(url)).await {
            Ok(_) => panic!("{url} was opened"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(said), "{error}");
    }
}

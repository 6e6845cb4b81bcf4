//! Keeps `pawl_applied` in users' databases small: what a committed step has noted there is never asked for again.

use std::sync::Arc;
use std::time::Duration;

use pawl_engine::{NextTick, Service};
use pawl_kernel::effect;
use pawl_kernel::execution::{Status, StepStatus};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::node::NodeError;
use pawl_kernel::ports::store::{QueryStore, StoreError, StoreResult};
use pawl_kernel::time::Timestamp;
use pawl_sql::Connections;

/// Long enough for a worker that was thought dead to find out that it is late.
const AGE: Duration = Duration::from_secs(3_600);
const LOOK_EVERY: Duration = Duration::from_secs(600);

pub(crate) struct AppliedKeeper {
    store: Arc<dyn QueryStore>,
    databases: Connections,
}

#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("{}", .0.message)]
    Database(NodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Service for AppliedKeeper {
    fn name(&self) -> &'static str {
        "applied_rows"
    }

    fn first_tick(&self) -> NextTick {
        NextTick::After(LOOK_EVERY)
    }

    /// One database that cannot be tidied up is no reason to leave the others.
    async fn tick(&mut self, _now: Timestamp) -> StoreResult<NextTick> {
        for name in self.databases.names() {
            match self.tidy(name, AGE).await {
                Ok(removed) => tracing::debug!(removed, connection = name, "tidied up"),
                // Nothing was ever written there.
                Err(Trouble::Database(error)) if error.code == "NOT_PREPARED" => {}
                Err(error) => {
                    tracing::warn!(%error, connection = name, "pawl_applied could not be tidied up");
                }
            }
        }
        Ok(NextTick::After(LOOK_EVERY))
    }
}

impl AppliedKeeper {
    pub(crate) fn new(store: Arc<dyn QueryStore>, databases: Connections) -> Self {
        Self { store, databases }
    }

    /// Returns how many rows were removed.
    async fn tidy(&self, connection: &str, age: Duration) -> Result<u64, Trouble> {
        let (mut after, mut removed) = (String::new(), 0);
        loop {
            let keys = self.databases.old_keys(connection, &after, age).await;
            let keys = keys.map_err(Trouble::Database)?;
            let Some(last) = keys.last().cloned() else {
                return Ok(removed);
            };
            let committed = self.committed(keys).await?;
            let done = self.databases.forget(connection, &committed).await;
            removed += done.map_err(Trouble::Database)?;
            after = last;
        }
    }

    async fn committed(&self, keys: Vec<String>) -> StoreResult<Vec<String>> {
        let mut committed = Vec::new();
        for key in keys {
            let is_done = match read(&key) {
                Some((id, seq)) => self.is_committed(id, seq).await?,
                None => effect::is_of_trial(&key),
            };
            if is_done {
                committed.push(key);
            }
        }
        Ok(committed)
    }

    /// A step that failed may be tried again under its key, unless its execution has come to a good end. An execution that
    /// is not here belongs to another Pawl on the same database.
    async fn is_committed(&self, id: ExecutionId, seq: u64) -> StoreResult<bool> {
        let steps = self.store.steps(id, seq.saturating_sub(1), 1).await?;
        match steps.first() {
            Some((step, _)) if step.seq == seq && step.status == StepStatus::Success => Ok(true),
            Some((step, _)) if step.seq == seq => {
                let view = self.store.execution(id).await?;
                Ok(view.is_some_and(|view| view.execution.head.status == Status::Completed))
            }
            _ => Ok(false),
        }
    }
}

/// An effect key as [`pawl_kernel::effect::key`] writes it.
fn read(key: &str) -> Option<(ExecutionId, u64)> {
    let (id, seq) = key.split_once(':')?;
    Some((id.parse().ok()?, seq.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use pawl_engine::control::StartRequest;
    use pawl_kernel::id::SchemaId;
    use pawl_kernel::ports::store::{SaveMode, SaveSchema};
    use pawl_kernel::schema;
    use serde_json::{Value, json};

    use super::*;
    use crate::config::Config;
    use crate::wiring::{EmbeddedEngine, databases};

    fn insert(id: &str, sql: &str) -> Value {
        json!({"id": id, "type": "sql", "on_error": "continue", "config":
            {"connection": "shop", "statements": [{"id": "a", "sql": sql}]}})
    }

    /// To its good end.
    async fn run(engine: &EmbeddedEngine, schema: &Value) -> ExecutionId {
        let runtime = engine.control.runtime();
        let definition = schema::load(None, &schema.to_string(), &runtime.registry).definition;
        let definition = definition.unwrap();
        let save = SaveSchema {
            id: SchemaId(uuid::Uuid::from_u128(7)),
            name: definition.name.clone(),
            description: None,
            definition: schema::to_stored_json(&definition),
            hash: schema::content_hash(&definition),
            source: None,
            note: None,
            created_by: "test".into(),
            now: runtime.clock.now(),
            mode: SaveMode::Create,
        };
        runtime.store.save_schema(save).await.unwrap();
        let request = StartRequest {
            schema: definition.name.into(),
            created_by: "test".into(),
            watch: true,
            ..StartRequest::default()
        };
        let started = engine.control.start(request).await.unwrap();
        let mut watcher = started.watcher.unwrap();
        while watcher.changed().await.ended.is_none() {}
        let view = engine.control.view(started.id).await.unwrap();
        let end = view.execution;
        assert_eq!(end.head.status, Status::Completed, "{:?}", end.record.error);
        started.id
    }

    #[tokio::test]
    async fn only_what_committed_steps_have_noted_goes() {
        let folder = tempfile::tempdir().unwrap();
        let shop = folder.path().join("shop.db");
        rusqlite::Connection::open(&shop)
            .and_then(|file| file.execute_batch("CREATE TABLE t (n INTEGER)"))
            .unwrap();
        let text = format!("[connections.shop]\nurl = \"sqlite:{}\"", shop.display());
        let config: Config = toml::from_str(&text).unwrap();
        let engine = EmbeddedEngine::start(&folder.path().join("data"), &config)
            .await
            .unwrap();
        let databases = databases(&config).unwrap();
        databases.prepare("shop").await.unwrap();
        let keeper = AppliedKeeper::new(engine.control.runtime().store.clone(), databases);
        let schema = json!({"name": "s", "nodes": [
            {"id": "start_1", "type": "start"}, insert("one", "INSERT INTO t VALUES (1)"),
            insert("two", "INSERT INTO nowhere VALUES (1)"), {"id": "end_1", "type": "end"},
        ], "edges": [
            {"source": "start_1", "target": "one"}, {"source": "one", "target": "two"},
            {"source": "two", "target": "end_1"},
        ]});
        let done = run(&engine, &schema).await;
        // Another Pawl's, no key at all, one that is under way.
        let file = rusqlite::Connection::open(&shop).unwrap();
        let add = "INSERT INTO pawl_applied (effect_key) VALUES (?1)";
        let strangers = [
            format!("{}:1", uuid::Uuid::from_u128(1)),
            "what:ever".into(),
            format!("{done}:900"),
        ];
        for key in &strangers {
            file.execute(add, [key]).unwrap();
        }
        assert_eq!(keeper.tidy("shop", AGE).await.unwrap(), 0);
        assert_eq!(keeper.tidy("shop", Duration::ZERO).await.unwrap(), 1);
        assert_eq!(keeper.tidy("shop", Duration::ZERO).await.unwrap(), 0);
        let left: i64 = file
            .query_row("SELECT count(*) FROM pawl_applied", [], |row| row.get(0))
            .unwrap();
        assert_eq!(left, strangers.len() as i64);
        engine.shutdown().await;
    }
}

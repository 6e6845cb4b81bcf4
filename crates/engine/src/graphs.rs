//! Compiled schema versions, kept in memory: a version never changes, so an entry is right for ever.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use pawl_kernel::id::SchemaId;
use pawl_kernel::node::Registry;
use pawl_kernel::ports::store::{Store, StoreError};
use pawl_kernel::schema::definition::Definition;
use pawl_kernel::schema::graph::Graph;

use crate::sync::lock;

/// How many versions stay compiled; beyond it the least recently used is forgotten.
const CAPACITY: usize = 1_000;

pub struct Graphs {
    store: Arc<dyn Store>,
    registry: Arc<Registry>,
    cache: Mutex<Cache>,
}

#[derive(Default)]
struct Cache {
    graphs: HashMap<(SchemaId, u32), (Arc<Graph>, u64)>,
    uses: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("version {version} of schema {schema_id} does not exist")]
    Missing { schema_id: SchemaId, version: u32 },
    #[error("version {version} of schema {schema_id} cannot be run: {reason}")]
    Broken {
        schema_id: SchemaId,
        version: u32,
        reason: String,
    },
}

impl Graphs {
    pub fn new(store: Arc<dyn Store>, registry: Arc<Registry>) -> Self {
        Self {
            store,
            registry,
            cache: Mutex::default(),
        }
    }

    pub async fn get(&self, schema_id: SchemaId, version: u32) -> Result<Arc<Graph>, GraphError> {
        if let Some(graph) = lock(&self.cache).look_up(schema_id, version) {
            return Ok(graph);
        }
        let graph = Arc::new(Box::pin(self.load(schema_id, version)).await?);
        lock(&self.cache).remember(schema_id, version, graph.clone());
        Ok(graph)
    }

    async fn load(&self, schema_id: SchemaId, version: u32) -> Result<Graph, GraphError> {
        let record = self.store.version(schema_id, version).await?;
        let record = record.ok_or(GraphError::Missing { schema_id, version })?;
        let broken = |reason: String| GraphError::Broken {
            schema_id,
            version,
            reason,
        };
        let definition: Definition =
            serde_json::from_str(&record.definition).map_err(|error| broken(error.to_string()))?;
        let graph = Graph::compile(definition, &self.registry).map_err(|problems| {
            let texts: Vec<String> = problems
                .into_iter()
                .map(|problem| problem.message)
                .collect();
            broken(texts.join("; "))
        })?;
        Ok(graph.owned_by(record.owner()))
    }
}

impl Cache {
    fn look_up(&mut self, schema_id: SchemaId, version: u32) -> Option<Arc<Graph>> {
        self.uses += 1;
        let entry = self.graphs.get_mut(&(schema_id, version))?;
        entry.1 = self.uses;
        Some(entry.0.clone())
    }

    fn remember(&mut self, schema_id: SchemaId, version: u32, graph: Arc<Graph>) {
        if self.graphs.len() >= CAPACITY {
            let oldest = self
                .graphs
                .iter()
                .min_by_key(|(_, entry)| entry.1)
                .map(|(key, _)| *key);
            oldest.map(|key| self.graphs.remove(&key));
        }
        self.graphs.insert((schema_id, version), (graph, self.uses));
    }
}

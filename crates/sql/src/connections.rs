//! Connections by name, whatever database is behind them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::node::NodeError;

use crate::lexer::Dialect;
use crate::postgres::Postgres;
use crate::settings::{Address, Settings, SettingsError};
use crate::sqlite::Sqlite;
use crate::transaction::{TransactionReport, Work};

/// The databases of the configuration. Nothing is opened before it is needed.
#[derive(Default)]
pub struct Connections {
    by_name: BTreeMap<String, Database>,
}

enum Database {
    Postgres(Arc<Postgres>),
    Sqlite(Arc<Sqlite>),
}

impl Connections {
    pub fn new(
        settings: impl IntoIterator<Item = (String, Settings)>,
    ) -> Result<Self, SettingsError> {
        let mut by_name = BTreeMap::new();
        for (name, settings) in settings {
            let database = database(&name, settings).map_err(|reason| SettingsError {
                name: name.clone(),
                reason,
            })?;
            by_name.insert(name, database);
        }
        Ok(Self { by_name })
    }

    /// `None`: there is no such database.
    pub fn dialect(&self, name: &str) -> Option<Dialect> {
        self.by_name.get(name).map(|database| match database {
            Database::Postgres(_) => Dialect::Postgres,
            Database::Sqlite(_) => Dialect::Sqlite,
        })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    fn get(&self, name: &str) -> Result<&Database, NodeError> {
        self.by_name.get(name).ok_or_else(|| no_connection(name))
    }

    /// Does the work exactly once for its effect key, however often it is asked for. Dropping the future rolls back what
    /// is not committed yet.
    pub async fn run(&self, work: Work) -> Result<TransactionReport, NodeError> {
        match self.get(&work.connection)? {
            Database::Postgres(postgres) => postgres.run(work).await,
            Database::Sqlite(sqlite) => sqlite.run(work).await,
        }
    }

    /// Makes a database fit for use: creates `pawl_applied` if it is not there.
    pub async fn prepare(&self, name: &str) -> Result<(), NodeError> {
        match self.get(name)? {
            Database::Postgres(postgres) => postgres.prepare().await,
            Database::Sqlite(sqlite) => sqlite.prepare().await,
        }
    }

    /// Can its statements write to the tables of a Pawl store (on PostgreSQL in this schema)?
    pub async fn can_write_to_store(&self, name: &str, schema: &str) -> Result<bool, NodeError> {
        match self.get(name)? {
            Database::Postgres(postgres) => postgres.can_write_to_store(schema).await,
            Database::Sqlite(sqlite) => sqlite.can_write_to_store().await,
        }
    }

    /// Removes what is remembered of effects whose steps are committed. Returns how many there were.
    pub async fn forget(&self, name: &str, effect_keys: &[String]) -> Result<u64, NodeError> {
        match self.get(name)? {
            Database::Postgres(postgres) => postgres.forget(effect_keys).await,
            Database::Sqlite(sqlite) => sqlite.forget(effect_keys).await,
        }
    }

    /// Effect keys that were noted so long ago, a page of them in order, after `after`.
    pub async fn old_keys(
        &self,
        name: &str,
        after: &str,
        age: Duration,
    ) -> Result<Vec<String>, NodeError> {
        match self.get(name)? {
            Database::Postgres(postgres) => postgres.old_keys(after, age).await,
            Database::Sqlite(sqlite) => sqlite.old_keys(after, age).await,
        }
    }

    /// Closes what is idle; what is under way ends, and nothing new begins.
    pub fn close(&self) {
        for database in self.by_name.values() {
            match database {
                Database::Postgres(postgres) => postgres.close(),
                Database::Sqlite(sqlite) => sqlite.close(),
            }
        }
    }
}

fn database(name: &str, settings: Settings) -> Result<Database, String> {
    settings.check()?;
    Ok(match Address::parse(&settings.url)? {
        Address::Postgres(server) => {
            Database::Postgres(Arc::new(Postgres::new(name, server, settings)?))
        }
        Address::Sqlite(file) => Database::Sqlite(Arc::new(Sqlite::new(name, file, settings))),
    })
}

fn no_connection(name: &str) -> NodeError {
    let name = name.escape_debug();
    NodeError::new(
        "NO_CONNECTION",
        format!(
            "there is no connection `{name}` to a database; add [connections.{name}] with url = \"postgres://…\" or \
             url = \"sqlite:…\" to pawl.toml"
        ),
    )
}

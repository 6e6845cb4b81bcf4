//! A database of its own for each test, the same test on both kinds, and a script made of data.

// Every test target uses its own part of this.
#![allow(
    dead_code,
    unused_macros,
    clippy::unwrap_used,
    clippy::disallowed_methods
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use pawl_kernel::node::{NodeError, PayloadLimits};
use pawl_sql::{
    Connections, Dialect, Expectation, Params, Plan, Scope, Script, Settings, TransactionReport,
    Work,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// One test function, run on PostgreSQL and on SQLite.
macro_rules! on_both {
    ($($name:ident)*) => {
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::support::Bed::postgres(stringify!($name)).await).await;
            })*
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::support::Bed::sqlite().await).await;
            })*
        }
    };
}

/// The name of the one connection.
pub(crate) const DB: &str = "db";

pub(crate) struct Bed {
    pub(crate) dialect: Dialect,
    pub(crate) url: String,
    pub(crate) connections: Arc<Connections>,
    folder: Option<TempDir>,
}

impl Bed {
    /// A new database with `pawl_applied` in it.
    pub(crate) async fn postgres(name: &str) -> Self {
        let name: String = name.chars().take(30).collect();
        let url = xtask::services::fresh_database(&format!("sql_{name}")).unwrap();
        Self::at(Dialect::Postgres, url, None).await
    }

    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("user.db").display());
        Self::at(Dialect::Sqlite, url, Some(folder)).await
    }

    async fn at(dialect: Dialect, url: String, folder: Option<TempDir>) -> Self {
        let bed = Self {
            dialect,
            connections: connections(Settings::new(&url)),
            url,
            folder,
        };
        bed.connections.prepare(DB).await.unwrap();
        bed
    }

    /// Another process, so to speak.
    pub(crate) fn again(&self, change: impl FnOnce(&mut Settings)) -> Arc<Connections> {
        let mut settings = Settings::new(&self.url);
        change(&mut settings);
        connections(settings)
    }

    /// Runs a script on a connection that is none of ours.
    pub(crate) fn raw(&self, sql: &str) {
        match self.dialect {
            Dialect::Postgres => drop(xtask::services::psql(&self.url, sql).unwrap()),
            Dialect::Sqlite => self.file().execute_batch(sql).unwrap(),
        }
    }

    pub(crate) fn file(&self) -> rusqlite::Connection {
        let path = self.url.strip_prefix("sqlite:").unwrap();
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        connection
    }

    pub(crate) async fn run(
        &self,
        config: Value,
        key: &str,
    ) -> Result<TransactionReport, NodeError> {
        self.connections.run(work(config, key)).await
    }

    /// The output of something that must succeed.
    pub(crate) async fn done(&self, config: Value, key: &str) -> Value {
        self.run(config, key).await.unwrap().output
    }

    pub(crate) async fn error(&self, config: Value, key: &str) -> NodeError {
        match self.run(config, key).await {
            Ok(applied) => panic!("it was done: {applied:?}"),
            Err(error) => error,
        }
    }

    /// The first column of the first row.
    pub(crate) async fn scalar(&self, sql: &str) -> Value {
        let connections = self.again(|_| {});
        let config =
            json!({"readonly": true, "statements": [{"id": "a", "sql": sql}], "output": "=a.row"});
        let row = connections.run(work(config, "-")).await.unwrap().output;
        row.as_object().unwrap().values().next().unwrap().clone()
    }

    /// Every result in `pawl_applied`.
    pub(crate) fn applied(&self) -> String {
        let sql = "SELECT result FROM pawl_applied";
        match self.dialect {
            Dialect::Postgres => xtask::services::psql(&self.url, sql).unwrap(),
            Dialect::Sqlite => {
                let file = self.file();
                let mut statement = file.prepare(sql).unwrap();
                let rows = statement
                    .query_map([], |row| row.get::<_, String>(0))
                    .unwrap();
                rows.map(Result::unwrap).collect()
            }
        }
    }

    pub(crate) async fn remembered(&self) -> i64 {
        match self.dialect {
            Dialect::Sqlite => self
                .file()
                .query_row("SELECT count(*) FROM pawl_applied", [], |row| row.get(0))
                .unwrap(),
            Dialect::Postgres => {
                let text = xtask::services::psql(&self.url, "SELECT count(*) FROM pawl_applied");
                text.unwrap().trim().parse().unwrap()
            }
        }
    }
}

pub(crate) fn connections(settings: Settings) -> Arc<Connections> {
    Arc::new(Connections::new([(DB.to_owned(), settings)]).unwrap())
}

pub(crate) fn work(config: Value, key: &str) -> Work {
    let plan = Plan::read(&config, None).unwrap_or_else(|problems| panic!("{problems:?}"));
    Work {
        connection: DB.into(),
        plan: Arc::new(plan),
        script: Arc::new(Data(config)),
        effect_key: Some(key.into()),
        time_limit: Duration::from_secs(20),
        limits: PayloadLimits::default(),
    }
}

/// A script that is the config itself. A text `=results.a.row.id` stands for a value that earlier statements gave,
/// `=item` and `=index` for those of a `for_each`.
pub(crate) struct Data(pub(crate) Value);

impl Data {
    fn statement(&self, index: usize) -> &Value {
        &self.0["statements"][index]
    }

    fn value(&self, written: &Value, scope: &Scope<'_>) -> Value {
        let Some(path) = written.as_str().and_then(|text| text.strip_prefix('=')) else {
            return written.clone();
        };
        let mut names = path.split('.');
        let root = match names.next().unwrap() {
            "item" => scope.item.unwrap().clone(),
            "index" => json!(scope.index.unwrap()),
            name => scope.results[name].clone(),
        };
        names.fold(root, |value, name| match name.parse::<usize>() {
            Ok(index) => value[index].clone(),
            Err(_) => value[name].clone(),
        })
    }
}

fn only(results: &Map<String, Value>) -> Scope<'_> {
    Scope {
        results,
        item: None,
        index: None,
    }
}

impl Script for Data {
    fn for_each(
        &self,
        statement: usize,
        results: &Map<String, Value>,
    ) -> Result<Option<Vec<Value>>, NodeError> {
        let Some(written) = self.statement(statement).get("for_each") else {
            return Ok(None);
        };
        let items = self.value(written, &only(results));
        Ok(Some(items.as_array().unwrap().clone()))
    }

    fn params(&self, statement: usize, scope: &Scope<'_>) -> Result<Params, NodeError> {
        Ok(match &self.statement(statement)["params"] {
            Value::Array(values) => Params::List(
                values
                    .iter()
                    .map(|value| self.value(value, scope))
                    .collect(),
            ),
            Value::Object(values) => Params::Map(
                values
                    .iter()
                    .map(|(name, value)| (name.clone(), self.value(value, scope)))
                    .collect(),
            ),
            _ => Params::List(Vec::new()),
        })
    }

    fn expect(&self, statement: usize, results: &Map<String, Value>) -> Result<(), NodeError> {
        let config = self.statement(statement);
        let Some(text) = config["expect"].as_str() else {
            return Ok(());
        };
        let expectation = Expectation::parse(text).unwrap();
        let result = &results[config["id"].as_str().unwrap()];
        expectation.check(result).map_err(|reason| {
            let code = config["error"].as_str().unwrap_or("EXPECTATION_FAILED");
            NodeError::new(code.to_owned(), reason)
        })
    }

    fn output(&self, results: &Map<String, Value>) -> Result<Value, NodeError> {
        Ok(match self.0.get("output") {
            None => Value::Object(results.clone()),
            Some(written) => self.value(written, &only(results)),
        })
    }
}

/// Ends in time, with half a second for the machine.
pub(crate) async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let done = work.await;
    let took = started.elapsed();
    assert!(
        took <= limit + Duration::from_millis(500),
        "it took {took:?}"
    );
    done
}

/// Asks again until there is an answer.
pub(crate) async fn until<T>(limit: Duration, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(started.elapsed() < limit, "nothing within {limit:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

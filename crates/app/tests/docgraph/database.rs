//! The user's database, looked at from outside.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::NoTls;
use xtask::services::{fresh_database, psql};

use crate::site::blocking;

const TABLES: [&str; 12] = [
    "atoms",
    "docs",
    "sections",
    "prompts",
    "artifacts",
    "baselines",
    "structure_links",
    "proposal_links",
    "revision_links",
    "semantic_links",
    "created_with",
    "baseline_items",
];

#[derive(Clone, Debug)]
pub(crate) enum Database {
    Postgres(String),
    Sqlite(PathBuf),
}

/// A transaction of the test.
pub(crate) enum Open {
    Postgres(tokio_postgres::Client),
    Sqlite(rusqlite::Connection),
}

impl Open {
    pub(crate) async fn commit(self) {
        match self {
            Self::Postgres(client) => client.batch_execute("COMMIT").await.unwrap(),
            Self::Sqlite(file) => file.execute_batch("COMMIT").unwrap(),
        }
    }
}

impl Database {
    pub(crate) async fn postgres(name: &str) -> Self {
        let short: String = name.chars().take(30).collect();
        let made = blocking(move || fresh_database(&format!("graph_{short}"))).await;
        Self::Postgres(made.unwrap())
    }

    /// As `[connections]` has it.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Postgres(url) => url.clone(),
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
        }
    }

    fn file(path: &PathBuf, patience: Duration) -> rusqlite::Connection {
        let file = rusqlite::Connection::open(path).unwrap();
        file.busy_timeout(patience).unwrap();
        file
    }

    pub(crate) async fn execute(&self, sql: &str) {
        let (this, sql) = (self.clone(), sql.to_owned());
        blocking(move || match this {
            Self::Postgres(url) => drop(psql(&url, &sql).unwrap()),
            Self::Sqlite(path) => Self::file(&path, Duration::from_secs(10))
                .execute_batch(&sql)
                .unwrap(),
        })
        .await;
    }

    /// Begins a transaction with these statements, and leaves it open.
    pub(crate) async fn begin(&self, sql: &str) -> Open {
        match self {
            Self::Postgres(url) => {
                let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
                tokio::spawn(connection);
                let begin = format!("BEGIN; {sql}");
                client.batch_execute(&begin).await.unwrap();
                Open::Postgres(client)
            }
            Self::Sqlite(path) => {
                let file = Self::file(path, Duration::from_secs(10));
                let begin = format!("BEGIN IMMEDIATE; {sql}");
                file.execute_batch(&begin).unwrap();
                Open::Sqlite(file)
            }
        }
    }

    /// The rows of a question for one column of text.
    pub(crate) async fn column(&self, sql: &str) -> Vec<String> {
        let (this, sql) = (self.clone(), sql.to_owned());
        blocking(move || match this {
            Self::Postgres(url) => {
                let said = psql(&url, &sql).unwrap();
                let lines = said.lines().filter(|line| !line.is_empty());
                lines.map(str::to_owned).collect()
            }
            Self::Sqlite(path) => {
                let file = Self::file(&path, Duration::from_secs(10));
                let mut asked = file.prepare(&sql).unwrap();
                let rows = asked.query_map([], |row| row.get(0)).unwrap();
                rows.map(Result::unwrap).collect()
            }
        })
        .await
    }

    /// For questions that count.
    pub(crate) async fn number(&self, sql: &str) -> i64 {
        let asked = format!("SELECT CAST(({sql}) AS text)");
        self.column(&asked).await[0].parse().unwrap()
    }

    /// Every row of every table of the pack.
    pub(crate) async fn rows(&self) -> Vec<String> {
        let mut rows = Vec::new();
        for table in TABLES {
            let sql = match self {
                Self::Postgres(_) => {
                    format!("SELECT '{table} ' || CAST(t AS text) FROM {table} t ORDER BY 1")
                }
                Self::Sqlite(_) => {
                    let names = format!("SELECT name FROM pragma_table_info('{table}')");
                    let names = self.column(&names).await.join(", ");
                    format!("SELECT '{table} ' || json_array({names}) FROM {table} ORDER BY 1")
                }
            };
            rows.extend(self.column(&sql).await);
        }
        rows
    }

    /// The same database for somebody who can be told from others there.
    pub(crate) fn url_of(&self, name: &str) -> String {
        let url = self.url();
        let sign = if url.contains('?') { '&' } else { '?' };
        format!("{url}{sign}application_name={name}")
    }

    /// Is a transaction open that has written? On PostgreSQL one of `name`, on SQLite there is nobody else.
    pub(crate) async fn is_in_use(&self, name: &str) -> bool {
        match self {
            Self::Postgres(_) => {
                let open = format!(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                     AND backend_xid IS NOT NULL AND application_name = '{name}'"
                );
                self.number(&open).await > 0
            }
            Self::Sqlite(path) => {
                let path = path.clone();
                blocking(move || {
                    let file = Self::file(&path, Duration::ZERO);
                    file.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_err()
                })
                .await
            }
        }
    }
}

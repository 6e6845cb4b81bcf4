//! What the benchmark needs of a database besides the store: a baseline for pgbench, a long history, and what the
//! server says of its own work.

pub mod timers;

use tokio_postgres::types::ToSql;

use crate::connect::{Connector, LISTS};
use crate::error::Outcome;
use crate::options::Options;
use crate::rows::Reader;
use crate::session::Session;
use crate::{OpenError, sql};

/// The script for pgbench.
pub const PGBENCH_SCRIPT: &str = include_str!("../sql/baseline/step.sql");
const SETUP: &str = include_str!("../sql/baseline/setup.sql");
const FILL_SETUP: &str = include_str!("../sql/baseline/fill_setup.sql");
const FILL: &str = include_str!("../sql/baseline/fill.sql");
const FILL_BATCH: u64 = 20_000;

/// Counters of the server, to be read before and after.
#[derive(Clone, Copy, Debug)]
pub struct Counters {
    pub transactions: f64,
    pub wal_bytes: f64,
}

/// A connection of the benchmark's own.
pub struct Measure {
    session: Session,
    schema: String,
}

impl Measure {
    /// Makes the namespace of the baseline.
    pub async fn open(options: &Options) -> Result<Self, OpenError> {
        let unreachable = |fault: crate::error::Fault| OpenError::Unreachable(fault.to_string());
        let connector = Connector::new(options)?;
        let session = connector.open(LISTS).await.map_err(unreachable)?;
        let schema = options.schema.clone();
        session
            .script(&format!(
                "CREATE SCHEMA IF NOT EXISTS {schema}; SET statement_timeout = '300s'"
            ))
            .await
            .map_err(unreachable)?;
        Ok(Self { session, schema })
    }

    pub async fn prepare_pgbench(&self) -> Result<(), String> {
        self.script(SETUP).await
    }

    pub async fn counters(&self) -> Result<Counters, String> {
        let row = self.row(&sql::SERVER_COUNTERS, &[]).await;
        row.map_err(|fault| fault.to_string())
    }

    async fn row(
        &self,
        sql: &'static sql::Sql,
        params: &[&(dyn ToSql + Sync)],
    ) -> Outcome<Counters> {
        let rows = self.session.alone(sql, params).await?;
        match rows.first() {
            Some(row) => {
                let mut reader = Reader::new(row);
                Ok(Counters {
                    transactions: reader.get()?,
                    wal_bytes: reader.get()?,
                })
            }
            None => Err(crate::error::Fault::Corrupt("no counters".into())),
        }
    }

    /// `finished` executions with five steps each, and `queued` ones.
    pub async fn fill(&self, schema_id: &str, finished: u64, queued: u64) -> Result<(), String> {
        self.script(FILL_SETUP).await?;
        let mut from = 1;
        while from <= finished + queued {
            let to = (from + FILL_BATCH - 1).min(finished + queued);
            let text = FILL
                .replace("{schema_id}", schema_id)
                .replace("{finished}", &finished.to_string())
                .replace("{from}", &from.to_string())
                .replace("{to}", &to.to_string());
            self.script(&text).await?;
            from = to + 1;
        }
        self.script("ANALYZE executions, execution_state, execution_steps")
            .await
    }

    /// Takes the namespace away again.
    pub async fn drop_namespace(&self) -> Result<(), String> {
        self.script(&format!("DROP SCHEMA {} CASCADE", self.schema))
            .await
    }

    async fn script(&self, text: &str) -> Result<(), String> {
        let done = self.session.script(text).await;
        done.map_err(|fault| fault.to_string())
    }
}

//! One connection to a file, and the transaction on it. Nothing here waits for anything but the disk: the futures are
//! ready when they are first asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pawl_kernel::node::NodeError;
use rusqlite::limits::Limit;
use rusqlite::{CachedStatement, Row};
use serde_json::{Map, Value};

use super::fault::{because, of};
use super::functions::StopFlag;
use super::stop::Stop;
use super::values::{ColumnDisplay, bind, read, shown};
use crate::fault::{Fault, not_prepared};
use crate::guard::Verb;
use crate::lexer::Dialect;
use crate::placeholders::CompiledStatement;
use crate::results::{Budget, Rows, check_columns, weight};
use crate::settings::Settings;
use crate::transaction::{Claim, Session};

const CLAIM: &str = include_str!("../../sql/sqlite/claim.sql");
const STORED: &str = include_str!("../../sql/sqlite/stored.sql");
const FILL: &str = include_str!("../../sql/sqlite/fill.sql");
const LEFT: &str = include_str!("../../sql/sqlite/left.sql");
/// Instructions between two looks at the clock: usually a microsecond, but each may make a value as large as is allowed.
/// SQLite looks at jumps only; how much there can be between two jumps is for the guard of texts.
const LOOK_AFTER: i32 = 50;
/// Between two tries to get what another process holds.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// Which file it is, whatever its name.
pub(crate) type Identity = (u64, u64);

pub(crate) struct FileConnection {
    inner: rusqlite::Connection,
    file: Option<Identity>,
    /// Our own statements may do what those of users may not.
    ours: Arc<AtomicBool>,
    obeyed: StopFlag,
    name: Arc<str>,
    stop: Arc<Stop>,
    statement_timeout: Duration,
    lock_timeout: Duration,
}

impl FileConnection {
    pub(crate) fn new(
        inner: rusqlite::Connection,
        ours: Arc<AtomicBool>,
        obeyed: StopFlag,
        file: Option<Identity>,
        name: Arc<str>,
        settings: &Settings,
    ) -> Self {
        Self {
            inner,
            file,
            ours,
            stop: obeyed.get(),
            obeyed,
            name,
            statement_timeout: settings.statement_timeout,
            lock_timeout: settings.lock_timeout,
        }
    }

    pub(crate) fn is_of(&self, file: Option<Identity>) -> bool {
        self.file.is_some() && self.file == file
    }

    fn fault(&self, error: &rusqlite::Error) -> Fault {
        of(error, &self.name, &self.stop)
    }

    /// What users may not do, and with values as large as a result may be.
    fn as_ours<T>(&self, work: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let usual = self.inner.limit(Limit::SQLITE_LIMIT_LENGTH)?;
        self.inner.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::MAX)?;
        self.ours.store(true, Ordering::Relaxed);
        let done = work();
        self.ours.store(false, Ordering::Relaxed);
        self.inner.set_limit(Limit::SQLITE_LIMIT_LENGTH, usual)?;
        done
    }

    /// From here on everything ends when `stop` says so.
    pub(crate) fn obey(&mut self, stop: Arc<Stop>) -> Result<(), Fault> {
        self.stop = stop.clone();
        self.obeyed.set(stop.clone());
        let watch = move || stop.look().is_some();
        let set = self.inner.progress_handler(LOOK_AFTER, Some(watch));
        set.map_err(|error| self.fault(&error))
    }

    /// The one who writes is waited for as long as there is time: it may be an earlier run of this very step.
    pub(crate) fn begin(&self, readonly: bool) -> Result<(), Fault> {
        let text = match readonly {
            true => "BEGIN DEFERRED",
            false => "BEGIN IMMEDIATE",
        };
        loop {
            if let Some(reason) = self.stop.reason() {
                return Err(because(reason).into());
            }
            match self.as_ours(|| self.inner.execute_batch(text)) {
                Ok(()) => return Ok(()),
                Err(error) if is_busy(&error) => self.stop.pause(BUSY_PAUSE),
                Err(error) => return Err(self.fault(&error)),
            }
        }
    }

    /// A caller that cancels in the middle of this changes nothing: it still gets the outcome.
    pub(crate) fn commit(&self) -> Result<(), Fault> {
        let started = Instant::now();
        loop {
            if self.inner.is_autocommit() {
                return Err(broken());
            }
            self.stop.begin_commit().map_err(because)?;
            let Err(error) = self.as_ours(|| self.inner.execute_batch("COMMIT")) else {
                return Ok(());
            };
            self.stop.end_commit();
            if !is_busy(&error) {
                return Err(self.fault(&error));
            }
            if started.elapsed() >= self.lock_timeout {
                return Err(locked().into());
            }
            self.stop.pause(BUSY_PAUSE);
        }
    }

    /// Ends what is left of a transaction. False: it cannot be used again.
    pub(crate) fn clean(&self) -> bool {
        self.stop.end_statement();
        if !self.inner.is_autocommit() {
            let done = self.as_ours(|| self.inner.execute_batch("ROLLBACK"));
            if done.is_err() || !self.inner.is_autocommit() {
                return false;
            }
        }
        self.is_as_opened()
    }

    /// Is there nothing on it that would outlive the transaction? What is refused cannot have been made; this is the line
    /// behind that.
    fn is_as_opened(&self) -> bool {
        let left = self.as_ours(|| self.inner.prepare_cached(LEFT)?.exists([]));
        matches!(left, Ok(false))
    }

    /// One of our own statements: how many rows were affected.
    pub(crate) fn own(&self, text: &str, values: &[&str]) -> Result<usize, Fault> {
        let done = self.as_ours(|| {
            let mut statement = self.inner.prepare_cached(text)?;
            statement.execute(rusqlite::params_from_iter(values))
        });
        done.map_err(|error| self.claim_fault(&error))
    }

    /// The first column of what one of our own statements finds.
    pub(crate) fn own_texts(&self, text: &str, values: &[String]) -> Result<Vec<String>, Fault> {
        let found = self.as_ours(|| {
            let mut statement = self.inner.prepare_cached(text)?;
            let rows = statement.query_map(rusqlite::params_from_iter(values), |row| row.get(0))?;
            rows.collect()
        });
        found.map_err(|error| self.claim_fault(&error))
    }

    fn claim_fault(&self, error: &rusqlite::Error) -> Fault {
        if error.to_string().contains("no such table") {
            return not_prepared(&self.name).into();
        }
        self.fault(error)
    }

    fn stored(&self, key: &str) -> Result<Option<String>, Fault> {
        let found = self.as_ours(|| {
            let mut statement = self.inner.prepare_cached(STORED)?;
            statement.query_row([key], |row| row.get(0))
        });
        found.map_err(|error| self.fault(&error))
    }

    fn run_all(
        &self,
        compiled: &CompiledStatement,
        lists: Vec<Vec<Value>>,
        budget: &Budget,
    ) -> Result<Vec<Rows>, (usize, Fault)> {
        let fault = |error: rusqlite::Error| self.fault(&error);
        let prepared = self.inner.prepare_cached(&compiled.text).map_err(fault);
        let mut statement = prepared.map_err(|fault| (0, fault))?;
        let columns = columns(&statement).map_err(|error| (0, error.into()))?;
        let mut all = Vec::with_capacity(lists.len());
        for (index, values) in lists.into_iter().enumerate() {
            self.stop.begin_statement(self.statement_timeout);
            let rows = self.run_one(&mut statement, &columns, values, budget);
            let rows = rows.map_err(|fault| (index, fault))?;
            let affected = match compiled.verb {
                Verb::Write => self.inner.changes(),
                Verb::Read | Verb::Define => 0,
            };
            all.push(Rows { rows, affected });
        }
        Ok(all)
    }

    fn run_one(
        &self,
        statement: &mut CachedStatement<'_>,
        columns: &[(String, ColumnDisplay)],
        values: Vec<Value>,
        budget: &Budget,
    ) -> Result<Vec<Value>, Fault> {
        let fault = |error: rusqlite::Error| self.fault(&error);
        for (index, value) in values.into_iter().enumerate() {
            let cell = bind(value).map_err(|reason| {
                NodeError::new("TYPE_ERROR", format!("parameter {}: {reason}", index + 1))
            })?;
            statement
                .raw_bind_parameter(index + 1, cell)
                .map_err(fault)?;
        }
        let mut rows = statement.raw_query();
        let mut read = Vec::new();
        while let Some(row) = rows.next().map_err(fault)? {
            budget.take_row()?;
            read.push(read_row(row, columns, budget)?);
        }
        Ok(read)
    }
}

fn columns(statement: &CachedStatement<'_>) -> Result<Vec<(String, ColumnDisplay)>, NodeError> {
    check_columns(statement.column_names())?;
    let column =
        |column: rusqlite::Column<'_>| (column.name().to_owned(), shown(column.decl_type()));
    Ok(statement.columns().map(column).collect())
}

fn read_row(
    row: &Row<'_>,
    columns: &[(String, ColumnDisplay)],
    budget: &Budget,
) -> Result<Value, NodeError> {
    let mut fields = Map::with_capacity(columns.len());
    for (index, (name, shown)) in columns.iter().enumerate() {
        let unreadable =
            |reason: String| NodeError::new("TYPE_ERROR", format!("column `{name}`: {reason}"));
        let cell = row
            .get_ref(index)
            .map_err(|error| unreadable(error.to_string()))?;
        let value = read(cell, *shown).map_err(unreadable)?;
        budget.take_bytes(name.len() + weight(&value))?;
        fields.insert(name.clone(), value);
    }
    Ok(Value::Object(fields))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

fn locked() -> NodeError {
    NodeError::new(
        "LOCK_TIMEOUT",
        "others were reading the file in a way that kept it from being written for longer than `lock_timeout` of the \
         connection",
    )
    .retryable()
}

fn broken() -> Fault {
    NodeError::new(
        "TRANSACTION_BROKEN",
        "the statements ended their transaction; nothing more was done",
    )
    .into()
}

impl Session for FileConnection {
    const DIALECT: Dialect = Dialect::Sqlite;

    async fn claim(&mut self, key: &str) -> Result<Claim, Fault> {
        if self.own(CLAIM, &[key])? == 1 {
            return Ok(Claim::Taken);
        }
        Ok(Claim::Stored(self.stored(key)?))
    }

    async fn run(
        &mut self,
        statement: &CompiledStatement,
        lists: Vec<Vec<Value>>,
        budget: &Budget,
    ) -> Result<Vec<Rows>, (usize, Fault)> {
        self.stop.begin_statement(self.statement_timeout);
        let done = self.run_all(statement, lists, budget);
        self.stop.end_statement();
        done
    }

    async fn fill(&mut self, key: &str, result: &str) -> Result<(), Fault> {
        if self.inner.is_autocommit() || self.own(FILL, &[key, result])? != 1 {
            return Err(broken());
        }
        Ok(())
    }
}

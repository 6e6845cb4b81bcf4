//! Transactions on PostgreSQL: a pool of connections, and the care for what goes wrong with them.
//!
//! A transaction runs in a task of its own. A caller who goes away, or a deadline, stops it: the server is asked to
//! cancel, and the connection is closed instead of going back, so that nothing stays open in either place.

mod bind;
mod calendar;
mod connect;
mod fault;
mod meter;
mod numeric;
mod read;
mod session;
mod tls;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pawl_kernel::node::NodeError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_postgres::Row;
use tokio_util::sync::CancellationToken;

use crate::fault::{Fault, FaultKind, busy, cancelled, in_doubt, late, not_prepared, unreachable};
use crate::plan::{Isolation, Plan};
use crate::results::Budget;
use crate::retry::Tries;
use crate::settings::{Server, Settings, check_schema};
use crate::transaction::{TransactionReport, Work, carry_out};
use bind::Parameter;
use connect::Connector;
use session::{ServerConnection, Times};

pub(crate) use read::float;

const PREPARE: &str = include_str!("../sql/postgres/prepare.sql");
const FORGET: &str = include_str!("../sql/postgres/forget.sql");
const OLD: &str = include_str!("../sql/postgres/old.sql");
const STORE: &str = include_str!("../sql/postgres/store.sql");
/// The server ends a transaction that we have forgotten: this process was frozen, or is gone without a word.
const IDLE_LIMIT: Duration = Duration::from_secs(10);
/// Making a connection fit for the next one.
const CLEAN_LIMIT: Duration = Duration::from_secs(2);
/// The server counts in 32 bits.
const TIMEOUT_MAX: Duration = Duration::from_millis(i32::MAX as u64);
/// For the answer to a commit, after the time is over.
const COMMIT_GRACE: Duration = Duration::from_millis(250);
const UPKEEP_LIMIT: Duration = Duration::from_secs(30);
/// Keys in one statement.
const KEYS_AT_ONCE: usize = 1_000;

pub(crate) struct Postgres {
    name: Arc<str>,
    settings: Settings,
    connector: Connector,
    places: Arc<Semaphore>,
    idle: Mutex<Vec<ServerConnection>>,
}

/// A connection, and the right to have one.
struct PooledConnection {
    connection: ServerConnection,
    _place: OwnedSemaphorePermit,
}

impl Postgres {
    pub(crate) fn new(name: &str, server: Server, settings: Settings) -> Result<Self, String> {
        if let Some(schema) = &settings.schema {
            check_schema(schema)?;
        }
        Ok(Self {
            name: name.into(),
            connector: Connector::new(server, &settings)?,
            places: Arc::new(Semaphore::new(settings.pool_size.max(1))),
            idle: Mutex::default(),
            settings,
        })
    }

    pub(crate) async fn run(self: &Arc<Self>, work: Work) -> Result<TransactionReport, NodeError> {
        let stop = CancellationToken::new();
        let _stops_when_dropped = stop.clone().drop_guard();
        let this = self.clone();
        let task = tokio::spawn(async move { this.tried(&work, &stop).await });
        task.await.unwrap_or_else(|error| {
            Err(NodeError::new(
                "SQL_ERROR",
                format!("a task failed: {error}"),
            ))
        })
    }

    async fn tried(
        self: &Arc<Self>,
        work: &Work,
        stop: &CancellationToken,
    ) -> Result<TransactionReport, NodeError> {
        let deadline = Instant::now() + work.time_limit;
        let key = work.effect_key.as_deref().unwrap_or_default();
        let mut tries = Tries::default();
        loop {
            let fault = match self.attempt(work, stop, deadline).await {
                Ok(applied) => return Ok(applied),
                Err(fault) => fault,
            };
            let pause = tries
                .after(fault, key, deadline)
                .map_err(|fault| *fault.error)?;
            tokio::select! {
                () = stop.cancelled() => return Err(cancelled()),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn attempt(
        self: &Arc<Self>,
        work: &Work,
        stop: &CancellationToken,
        deadline: Instant,
    ) -> Result<TransactionReport, Fault> {
        let interrupted = async {
            tokio::select! {
                () = stop.cancelled() => cancelled(),
                () = tokio::time::sleep_until(deadline) => late(work.time_limit),
            }
        };
        tokio::pin!(interrupted);
        let begin = self.begin_text(&work.plan, deadline);
        let mut held = tokio::select! {
            biased;
            error = &mut interrupted => return Err(error.into()),
            held = self.begun(&begin) => held?,
        };
        let outcome = self.ended(&mut held.connection, work, interrupted).await;
        // Given up in the middle, what was asked last is still under way; lost, there is nothing to go back to.
        let lost = match &outcome {
            Ok(done) => done
                .as_ref()
                .is_err_and(|fault| fault.kind == FaultKind::Lost),
            Err(_) => true,
        };
        if lost {
            held.connection.set_doubtful();
        }
        self.give_back(held);
        outcome.unwrap_or_else(|error| Err(error.into()))
    }

    /// The answer; or the error of the interruption. A commit that is under way has a little more time: its
    /// answer is worth more than the time.
    async fn ended(
        &self,
        connection: &mut ServerConnection,
        work: &Work,
        interrupted: impl Future<Output = NodeError>,
    ) -> Result<Result<TransactionReport, Fault>, NodeError> {
        let committing = AtomicBool::new(false);
        let transacted = self.transact(connection, work, &committing);
        tokio::pin!(transacted);
        let error = tokio::select! {
            biased;
            done = &mut transacted => return Ok(done),
            error = interrupted => error,
        };
        if !committing.load(Ordering::Relaxed) {
            return Err(error);
        }
        let answered = tokio::time::timeout(COMMIT_GRACE, transacted).await;
        answered.map_err(|_| in_doubt(COMMIT_GRACE))
    }

    async fn transact(
        &self,
        connection: &mut ServerConnection,
        work: &Work,
        committing: &AtomicBool,
    ) -> Result<TransactionReport, Fault> {
        let budget = Budget::new(&self.name, self.settings.max_rows, self.settings.max_bytes);
        let applied = carry_out(connection, work, &budget).await?;
        committing.store(true, Ordering::Relaxed);
        connection.commit().await?;
        Ok(applied)
    }

    fn times(&self) -> Times {
        Times {
            statement: self.settings.statement_timeout,
            lock: self.settings.lock_timeout,
        }
    }

    /// Until the claim, a transaction that writes waits for locks as long as there is time.
    fn begin_text(&self, plan: &Plan, deadline: Instant) -> String {
        let left = deadline.saturating_duration_since(Instant::now());
        let times = match plan.readonly {
            true => self.times(),
            false => Times {
                statement: left.clamp(Duration::from_millis(1), TIMEOUT_MAX),
                lock: Duration::ZERO,
            },
        };
        self.begin_with(plan.isolation, plan.readonly, times)
    }

    fn begin_with(&self, isolation: Isolation, readonly: bool, times: Times) -> String {
        let access = if readonly { "READ ONLY" } else { "READ WRITE" };
        let mut text = format!(
            "BEGIN ISOLATION LEVEL {} {access}; {}; \
             SET LOCAL idle_in_transaction_session_timeout = {}; SET LOCAL timezone = 'UTC'; \
             SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL standard_conforming_strings = on",
            isolation.sql(),
            times.sql(),
            IDLE_LIMIT.as_millis(),
        );
        if let Some(schema) = &self.settings.schema {
            text.push_str(&format!("; SET LOCAL search_path = {schema}"));
        }
        text
    }

    async fn place(&self) -> Result<OwnedSemaphorePermit, Fault> {
        let limit = self.settings.pool_timeout;
        match tokio::time::timeout(limit, self.places.clone().acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) => Err(unreachable(&self.name, "it is closed").into()),
            Err(_) => Err(busy(&self.name, limit).into()),
        }
    }

    /// A connection with a transaction begun. One that has been idle may be dead without knowing; then there is
    /// another.
    async fn begun(&self, begin: &str) -> Result<PooledConnection, Fault> {
        let place = self.place().await?;
        while let Some(mut connection) = self.take_idle() {
            let begun = connection.begin(begin, self.settings.max_bytes, self.times());
            let begun = tokio::time::timeout(self.settings.connect_timeout, begun).await;
            if let Ok(Ok(())) = begun {
                return Ok(PooledConnection {
                    connection,
                    _place: place,
                });
            }
            // What befell this one has probably befallen the others.
            self.drop_idle();
        }
        let opened = self.connector.open().await;
        let opened = opened.map_err(|reason| Fault::lost(unreachable(&self.name, &reason)))?;
        let mut connection = ServerConnection::new(opened, self.name.clone()).await?;
        connection
            .begin(begin, self.settings.max_bytes, self.times())
            .await?;
        Ok(PooledConnection {
            connection,
            _place: place,
        })
    }

    fn take_idle(&self) -> Option<ServerConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| idle.pop()).find(ServerConnection::is_usable)
    }

    fn drop_idle(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.clear();
    }

    /// No caller waits for this; but the place is not free before it is done.
    fn give_back(self: &Arc<Self>, held: PooledConnection) {
        let this = self.clone();
        tokio::spawn(async move {
            let connection = held.connection;
            if !connection.is_usable() {
                return this.connector.cancel(connection.cancel_token()).await;
            }
            let cleaned = tokio::time::timeout(CLEAN_LIMIT, connection.clean()).await;
            if let Ok(Ok(true)) = cleaned
                && !this.places.is_closed()
            {
                let mut idle = this.idle.lock().unwrap_or_else(PoisonError::into_inner);
                idle.push(connection);
            }
            drop(held._place);
        });
    }

    /// Creates `pawl_applied` if it is not there.
    pub(crate) async fn prepare(self: &Arc<Self>) -> Result<(), NodeError> {
        for last in [false, true] {
            match self.maintain(PREPARE, &[]).await {
                // Two at the same time: one of them gets this error, and finds the table the next time.
                Err(fault) if !last && is_twin(&fault) => {}
                other => return other.map(drop).map_err(|fault| *fault.error),
            }
        }
        Ok(())
    }

    /// Removes rows of steps that are recorded elsewhere.
    pub(crate) async fn forget(self: &Arc<Self>, keys: &[String]) -> Result<u64, NodeError> {
        let mut removed = 0;
        for some in keys.chunks(KEYS_AT_ONCE) {
            let list = serde_json::json!(some);
            let list = bind::parameter(&list, &tokio_postgres::types::Type::TEXT_ARRAY);
            let list = list.map_err(|reason| NodeError::new("TYPE_ERROR", reason))?;
            let done = self.maintain(FORGET, &[list]).await;
            removed += done.map_err(|fault| self.without_table(fault))?.1;
        }
        Ok(removed)
    }

    /// Keys older than this, in order, after `after`.
    pub(crate) async fn old_keys(
        self: &Arc<Self>,
        after: &str,
        age: Duration,
    ) -> Result<Vec<String>, NodeError> {
        let age = format!("{} microseconds", age.as_micros());
        let mut values = Vec::new();
        for text in [after, age.as_str()] {
            let value = serde_json::json!(text);
            let value = bind::parameter(&value, &tokio_postgres::types::Type::TEXT);
            values.push(value.map_err(|reason| NodeError::new("TYPE_ERROR", reason))?);
        }
        let found = self.maintain(OLD, &values).await;
        let (rows, _) = found.map_err(|fault| self.without_table(fault))?;
        Ok(rows.iter().filter_map(|row| row.try_get(0).ok()).collect())
    }

    /// Does this schema hold tables of a Pawl store that the role can write to?
    pub(crate) async fn can_write_to_store(
        self: &Arc<Self>,
        schema: &str,
    ) -> Result<bool, NodeError> {
        let schema = Parameter(Some(schema.to_owned()));
        let found = self.maintain(STORE, &[schema]).await;
        let (rows, _) = found.map_err(|fault| *fault.error)?;
        Ok(!rows.is_empty())
    }

    fn without_table(&self, fault: Fault) -> NodeError {
        match fault.error.details.get("sqlstate") {
            Some(state) if state == "42P01" => not_prepared(&self.name),
            _ => *fault.error,
        }
    }

    /// One of our own statements, alone.
    async fn maintain(
        self: &Arc<Self>,
        text: &str,
        values: &[Parameter],
    ) -> Result<(Vec<Row>, u64), Fault> {
        let done = tokio::time::timeout(UPKEEP_LIMIT, self.maintained(text, values));
        done.await
            .unwrap_or_else(|_| Err(late(UPKEEP_LIMIT).into()))
    }

    async fn maintained(
        self: &Arc<Self>,
        text: &str,
        values: &[Parameter],
    ) -> Result<(Vec<Row>, u64), Fault> {
        let begin = self.begin_with(Isolation::ReadCommitted, false, self.times());
        let mut held = self.begun(&begin).await?;
        let done = held.connection.own(text, values).await?;
        held.connection.commit().await?;
        self.give_back(held);
        Ok(done)
    }

    pub(crate) fn close(&self) {
        self.places.close();
        self.drop_idle();
    }
}

fn is_twin(fault: &Fault) -> bool {
    let state = fault.error.details.get("sqlstate");
    state.is_some_and(|state| state == "23505" || state == "42P07")
}

//! One connection to PostgreSQL, in or between transactions.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, try_join_all};
use futures_util::{TryStreamExt, pin_mut};
use pawl_kernel::node::NodeError;
use serde_json::{Map, Value};
use tokio_postgres::types::ToSql;
use tokio_postgres::{CancelToken, Client, Row, SimpleQueryMessage, Statement};

use super::bind::{Parameter, parameter};
use super::connect::OpenedConnection;
use super::fault::of;
use super::meter::Meter;
use super::read::{Raw, Room, Unreadable, is_readable, value};
use crate::fault::{Fault, not_prepared};
use crate::guard::Verb;
use crate::lexer::Dialect;
use crate::placeholders::CompiledStatement;
use crate::results::{Budget, Rows, check_columns, weight};
use crate::transaction::{Claim, Session};

const CLAIM: &str = include_str!("../../sql/postgres/claim.sql");
const STORED: &str = include_str!("../../sql/postgres/stored.sql");
const FILL: &str = include_str!("../../sql/postgres/fill.sql");
const CLEAN: &str = include_str!("../../sql/postgres/clean.sql");
const LEFT: &str = include_str!("../../sql/postgres/left.sql");
/// Statements kept ready on a connection.
const PREPARED_MAX: usize = 200;
/// What a server may say while no rows are asked for.
const TALK_BYTES: usize = 1 << 20;
const UNDEFINED_TABLE: &str = "42P01";

pub(crate) struct ServerConnection {
    client: Client,
    meter: Meter,
    /// Of the connection in the configuration, for messages.
    name: Arc<str>,
    prepared: HashMap<String, Statement>,
    /// The transaction, the role and the settings that claimed.
    stamp: String,
    times: Times,
    /// Answers are still to come that no caller waits for: of no use to any other step.
    doubtful: bool,
    /// Commits of this role are not waited for until they are safe, unless asked.
    needs_sync: bool,
    /// What the session was like when it was opened.
    opened: String,
}

/// How long statements may run and wait for locks.
#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) statement: Duration,
    pub(crate) lock: Duration,
}

impl Times {
    /// For the rest of a transaction.
    pub(crate) fn sql(self) -> String {
        format!(
            "SET LOCAL statement_timeout = {}; SET LOCAL lock_timeout = {}",
            self.statement.as_millis(),
            self.lock.as_millis()
        )
    }
}

impl ServerConnection {
    pub(crate) async fn new(opened: OpenedConnection, name: Arc<str>) -> Result<Self, Fault> {
        let mut connection = Self {
            client: opened.client,
            meter: opened.meter,
            name,
            prepared: HashMap::new(),
            stamp: String::new(),
            times: Times::default(),
            doubtful: false,
            needs_sync: false,
            opened: String::new(),
        };
        let sync = connection.told("SHOW synchronous_commit").await?;
        connection.needs_sync = sync == "off";
        connection.opened = connection.told(LEFT).await?;
        Ok(connection)
    }

    /// The last value of what statements without parameters answer.
    async fn told(&self, text: &str) -> Result<String, Fault> {
        let answer = self.client.simple_query(text).await;
        let answer = answer.map_err(|error| self.fault(&error))?;
        let values = answer.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Ok(values.last().unwrap_or_default().to_owned())
    }

    pub(crate) fn is_usable(&self) -> bool {
        !self.doubtful && !self.client.is_closed()
    }

    pub(crate) fn cancel_token(&self) -> CancelToken {
        self.client.cancel_token()
    }

    /// No step is to use it again.
    pub(crate) fn set_doubtful(&mut self) {
        self.doubtful = true;
    }

    fn fault(&self, error: &tokio_postgres::Error) -> Fault {
        of(error, &self.name)
    }

    /// `text` begins a transaction; so many bytes may come back in it. After the claim, statements have these times.
    pub(crate) async fn begin(
        &mut self,
        text: &str,
        bytes: usize,
        times: Times,
    ) -> Result<(), Fault> {
        self.times = times;
        self.meter
            .allow(bytes.saturating_mul(4).saturating_add(TALK_BYTES));
        self.stamp.clear();
        let sync = match self.needs_sync {
            true => "; SET LOCAL synchronous_commit = on",
            false => "",
        };
        self.batch(&format!("{text}{sync}")).await
    }

    /// Statements without parameters, in one go.
    pub(crate) async fn batch(&self, text: &str) -> Result<(), Fault> {
        let done = self.client.batch_execute(text).await;
        done.map_err(|error| self.fault(&error))
    }

    pub(crate) async fn commit(&self) -> Result<(), Fault> {
        self.batch("COMMIT").await
    }

    /// Ends whatever is left of a transaction, and everything that would outlive it. False: something does all the same,
    /// and it cannot be used again.
    pub(crate) async fn clean(&self) -> Result<bool, Fault> {
        self.meter.allow(TALK_BYTES);
        let (cleaned, left) = join(self.batch(CLEAN), self.told(LEFT)).await;
        cleaned?;
        Ok(left? == self.opened)
    }

    async fn prepare(&mut self, text: &str) -> Result<Statement, Fault> {
        if let Some(known) = self.prepared.get(text) {
            return Ok(known.clone());
        }
        let prepared = self.client.prepare(text).await;
        let prepared = prepared.map_err(|error| self.fault(&error))?;
        if self.prepared.len() >= PREPARED_MAX {
            self.prepared.clear();
        }
        self.prepared.insert(text.to_owned(), prepared.clone());
        Ok(prepared)
    }

    /// One of our own statements: its rows, and how many were affected.
    pub(crate) async fn own(
        &mut self,
        text: &str,
        values: &[Parameter],
    ) -> Result<(Vec<Row>, u64), Fault> {
        let statement = self.prepare(text).await?;
        self.asked(&statement, values).await
    }

    async fn asked(
        &self,
        statement: &Statement,
        values: &[Parameter],
    ) -> Result<(Vec<Row>, u64), Fault> {
        let asked = async {
            let stream = self.client.query_raw(statement, values).await?;
            pin_mut!(stream);
            let mut rows = Vec::new();
            while let Some(row) = stream.try_next().await? {
                rows.push(row);
            }
            Ok((rows, stream.rows_affected().unwrap_or(0)))
        };
        asked.await.map_err(|error| self.fault(&error))
    }

    async fn run_one(
        &self,
        statement: &Statement,
        verb: Verb,
        values: &[Parameter],
        budget: &Budget,
    ) -> Result<Rows, Fault> {
        let fault = |error: tokio_postgres::Error| {
            if self.meter.is_exceeded() {
                return budget.too_large().into();
            }
            self.fault(&error)
        };
        let values = values.iter().map(|value| value as &(dyn ToSql + Sync));
        let stream = self.client.query_raw(statement, values).await;
        let stream = stream.map_err(fault)?;
        pin_mut!(stream);
        let mut rows = Vec::new();
        while let Some(row) = stream.try_next().await.map_err(fault)? {
            budget.take_row()?;
            rows.push(read_row(&row, budget)?);
        }
        let affected = match verb {
            Verb::Write => stream.rows_affected().unwrap_or(0),
            Verb::Read | Verb::Define => 0,
        };
        Ok(Rows { rows, affected })
    }
}

fn read_row(row: &Row, budget: &Budget) -> Result<Value, NodeError> {
    let mut fields = Map::with_capacity(row.len());
    for (index, column) in row.columns().iter().enumerate() {
        let unreadable = |reason: String| {
            let message = format!("column `{}`: {reason}", column.name());
            NodeError::new("TYPE_ERROR", message)
        };
        let raw: Option<Raw<'_>> = row
            .try_get(index)
            .map_err(|error| unreadable(error.to_string()))?;
        let read = match raw {
            None => Value::Null,
            Some(Raw(bytes)) => {
                let mut room = Room::new(budget.left());
                value(column.type_(), bytes, &mut room).map_err(|reason| match reason {
                    Unreadable::Reason(reason) => unreadable(reason),
                    Unreadable::TooLarge => budget.too_large(),
                })?
            }
        };
        budget.take_bytes(column.name().len() + weight(&read))?;
        fields.insert(column.name().to_owned(), read);
    }
    Ok(Value::Object(fields))
}

/// What can be known to go wrong with the rows before there are any.
fn check_result(statement: &Statement) -> Result<(), NodeError> {
    check_columns(statement.columns().iter().map(|column| column.name()))?;
    let odd = statement
        .columns()
        .iter()
        .find(|column| !is_readable(column.type_()));
    match odd {
        None => Ok(()),
        Some(column) => Err(NodeError::new(
            "TYPE_ERROR",
            format!(
                "column `{}` has the type {}, which has no form in JSON; write `{}::text`",
                column.name(),
                column.type_().name(),
                column.name()
            ),
        )),
    }
}

fn parameters(statement: &Statement, values: &[Value]) -> Result<Vec<Parameter>, NodeError> {
    let kinds = statement.params();
    if kinds.len() != values.len() {
        return Err(NodeError::new(
            "INVALID_SQL",
            format!(
                "it takes {} values and was given {}",
                kinds.len(),
                values.len()
            ),
        ));
    }
    let each = values.iter().zip(kinds).enumerate();
    each.map(|(index, (value, kind))| {
        parameter(value, kind).map_err(|reason| {
            NodeError::new("TYPE_ERROR", format!("parameter {}: {reason}", index + 1))
        })
    })
    .collect()
}

impl Session for ServerConnection {
    const DIALECT: Dialect = Dialect::Postgres;

    async fn claim(&mut self, key: &str) -> Result<Claim, Fault> {
        let key = [Parameter(Some(key.to_owned()))];
        let statement = self.prepare(CLAIM).await;
        let statement = statement.map_err(|fault| self.claim_fault(fault))?;
        // The claim waits as long as there is time; what comes after it does not. Both go out at once, in this order.
        let times = self.times.sql();
        let (claimed, limited) = join(self.asked(&statement, &key), self.batch(&times)).await;
        let claimed = claimed.map_err(|fault| self.claim_fault(fault))?;
        limited?;
        if let Some(row) = claimed.0.first() {
            self.stamp = row.try_get(0).map_err(|error| self.fault(&error))?;
            return Ok(Claim::Taken);
        }
        let (rows, _) = self.own(STORED, &key).await?;
        match rows.first() {
            Some(row) => Ok(Claim::Stored(row.try_get(0).map_err(|_| {
                NodeError::new(
                    "NOT_PREPARED",
                    "the table `pawl_applied` is not as Pawl makes it: `result` must be text",
                )
            })?)),
            // Removed in between.
            None => Err(Fault::contended(NodeError::new(
                "SERIALIZATION_FAILURE",
                "the row of this step in `pawl_applied` was there and is gone",
            ))),
        }
    }

    async fn run(
        &mut self,
        statement: &CompiledStatement,
        lists: Vec<Vec<Value>>,
        budget: &Budget,
    ) -> Result<Vec<Rows>, (usize, Fault)> {
        let first = |fault: Fault| (0, fault);
        let prepared = self.prepare(&statement.text).await.map_err(first)?;
        check_result(&prepared).map_err(|error| (0, error.into()))?;
        let mut encoded = Vec::with_capacity(lists.len());
        for (index, values) in lists.iter().enumerate() {
            let values = parameters(&prepared, values).map_err(|error| (index, error.into()))?;
            encoded.push(values);
        }
        // From here on rows may be on their way.
        self.doubtful = true;
        let runs = encoded.iter().enumerate().map(|(index, values)| {
            let run = self.run_one(&prepared, statement.verb, values, budget);
            async move { run.await.map_err(|fault| (index, fault)) }
        });
        let done = try_join_all(runs).await;
        // An answer of the server is the last word on a statement.
        self.doubtful = match &done {
            Ok(_) => false,
            Err((_, fault)) => fault.error.details.get("sqlstate").is_none(),
        };
        done
    }

    async fn fill(&mut self, key: &str, result: &str) -> Result<(), Fault> {
        let text = |text: &str| Parameter(Some(text.to_owned()));
        let time = |time: Duration| text(&format!("{} milliseconds", time.as_millis()));
        let times = [time(self.times.statement), time(self.times.lock)];
        let values = [text(key), text(result), text(&self.stamp)];
        let values: Vec<Parameter> = values.into_iter().chain(times).collect();
        let (_, filled) = self.own(FILL, &values).await?;
        if filled == 1 {
            return Ok(());
        }
        Err(NodeError::new(
            "TRANSACTION_BROKEN",
            "the statements ended their transaction, or changed their role or the settings they run under (isolation, \
             search_path, statement_timeout, lock_timeout, synchronous_commit, standard_conforming_strings); nothing was \
             done",
        )
        .into())
    }
}

impl ServerConnection {
    fn claim_fault(&self, fault: Fault) -> Fault {
        let state = fault.error.details.get("sqlstate").and_then(Value::as_str);
        match state {
            Some(UNDEFINED_TABLE) => not_prepared(&self.name).into(),
            Some("42501") => NodeError::new(
                "NOT_PREPARED",
                format!(
                    "the role of connection `{}` may not use the table `pawl_applied`: GRANT SELECT, INSERT, UPDATE, \
                     DELETE ON pawl_applied to it",
                    self.name
                ),
            )
            .into(),
            // The successor of a run that is not quite dead has nothing better to do than to wait for it.
            Some("55P03" | "57014") => {
                let mut fault = fault;
                fault.error.message =
                    "another run of this very step has its transaction open all the time".into();
                Fault::contended(*fault.error)
            }
            _ => fault,
        }
    }
}

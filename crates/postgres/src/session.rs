//! One connection, and pools of them.
//!
//! A session is used by one caller at a time and thrown away after anything that leaves it in doubt. Work runs in a
//! task of its own, so that a caller who goes away cannot cut a transaction in half.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{join, join3};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use crate::connect::Connector;
use crate::error::{Fault, Outcome};
use crate::sql::Sql;

pub(crate) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

pub(crate) struct Session {
    client: Client,
    prepared: Mutex<HashMap<&'static str, Statement>>,
    /// Behind a pooler: what each transaction begins with instead of settings of the connection.
    prelude: Option<String>,
    /// How often the server was asked anything, on all sessions of the process.
    questions: Arc<AtomicU64>,
}

impl Session {
    pub(crate) fn new(client: Client, prelude: Option<String>, questions: Arc<AtomicU64>) -> Self {
        Self {
            client,
            prepared: Mutex::default(),
            prelude,
            questions,
        }
    }

    fn client(&self) -> &Client {
        self.questions.fetch_add(1, Ordering::Relaxed);
        &self.client
    }

    fn is_open(&self) -> bool {
        !self.client.is_closed()
    }

    /// Prepares statements, so that what follows can be sent in one go. Behind a pooler nothing is prepared.
    pub(crate) async fn ready(&self, statements: &[&'static Sql]) -> Outcome<()> {
        if self.prelude.is_some() {
            return Ok(());
        }
        for sql in statements {
            if self.known(sql).is_none() {
                let statement = self.client().prepare_typed(sql.text, sql.kinds()).await?;
                self.prepared
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(sql.name, statement);
            }
        }
        Ok(())
    }

    fn known(&self, sql: &Sql) -> Option<Statement> {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        prepared.get(sql.name).cloned()
    }

    /// Inside a transaction, or as a part of what is sent in one go: the statement must be [`Session::ready`].
    pub(crate) async fn rows(&self, sql: &'static Sql, params: Params<'_>) -> Outcome<Vec<Row>> {
        match self.known(sql) {
            Some(statement) => Ok(self.client().query(&statement, params).await?),
            None => {
                let typed: Vec<_> = params
                    .iter()
                    .copied()
                    .zip(sql.kinds().iter().cloned())
                    .collect();
                Ok(self.client().query_typed(sql.text, &typed).await?)
            }
        }
    }

    /// One statement that is a transaction of its own.
    pub(crate) async fn alone(&self, sql: &'static Sql, params: Params<'_>) -> Outcome<Vec<Row>> {
        self.ready(&[sql]).await?;
        match &self.prelude {
            None => self.rows(sql, params).await,
            Some(_) => {
                let (begun, rows, committed) =
                    join3(self.begin(), self.rows(sql, params), self.commit()).await;
                begun?;
                let rows = rows?;
                committed?;
                Ok(rows)
            }
        }
    }

    pub(crate) async fn begin(&self) -> Outcome<()> {
        let text = self.prelude.as_deref().unwrap_or("BEGIN");
        Ok(self.client().batch_execute(text).await?)
    }

    pub(crate) async fn commit(&self) -> Outcome<()> {
        Ok(self.client().batch_execute("COMMIT").await?)
    }

    pub(crate) async fn roll_back(&self) -> Outcome<()> {
        Ok(self.client().batch_execute("ROLLBACK").await?)
    }

    /// Begins a transaction and asks its first question with one trip to the server.
    pub(crate) async fn begin_with(
        &self,
        sql: &'static Sql,
        params: Params<'_>,
    ) -> Outcome<Vec<Row>> {
        self.ready(&[sql]).await?;
        let (begun, rows) = join(self.begin(), self.rows(sql, params)).await;
        begun?;
        rows
    }

    /// One statement without parameters whose text was made here, because names cannot be parameters.
    pub(crate) async fn rows_of(&self, text: &str) -> Outcome<Vec<Row>> {
        Ok(self.client().query_typed(text, &[]).await?)
    }

    /// Several statements without parameters: migrations and the like.
    pub(crate) async fn script(&self, text: &str) -> Outcome<()> {
        Ok(self.client().batch_execute(text).await?)
    }
}

/// A number of sessions, opened when they are needed.
pub(crate) struct Pool {
    connector: Arc<Connector>,
    idle: Mutex<Vec<Arc<Session>>>,
    places: Arc<Semaphore>,
    /// One piece of work takes no longer, or its result is unknown.
    pub(crate) time_limit: Duration,
    /// Settings of the connections of this pool.
    settings: &'static str,
}

impl Pool {
    pub(crate) fn new(
        connector: Arc<Connector>,
        size: usize,
        time_limit: Duration,
        settings: &'static str,
    ) -> Self {
        Self {
            connector,
            idle: Mutex::default(),
            places: Arc::new(Semaphore::new(size.max(1))),
            time_limit,
            settings,
        }
    }

    fn take_idle(&self) -> Option<Arc<Session>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| idle.pop()).find(|session| session.is_open())
    }

    fn put_back(&self, session: Arc<Session>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(session);
    }

    async fn place(&self) -> Outcome<OwnedSemaphorePermit> {
        let waiting = self.places.clone().acquire_owned();
        match tokio::time::timeout(self.time_limit, waiting).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) => Err(Fault::Unreachable("the store is closed".into())),
            Err(_) => Err(Fault::Unreachable(format!(
                "all connections to the database were busy for {:?}",
                self.time_limit
            ))),
        }
    }

    /// Does one piece of work on a session. If it fails, the transaction it may have begun is rolled back, and a
    /// session in doubt is closed.
    pub(crate) async fn run<T, F, W>(self: &Arc<Self>, work: W) -> Outcome<T>
    where
        T: Send + 'static,
        W: FnOnce(Arc<Session>) -> F + Send + 'static,
        F: Future<Output = Outcome<T>> + Send,
    {
        let pool = self.clone();
        let task = tokio::spawn(async move { pool.run_here(work).await });
        task.await.unwrap_or_else(|error| {
            Err(Fault::Corrupt(format!(
                "a task of the store failed: {error}"
            )))
        })
    }

    /// For callers that run in a task of the store already.
    pub(crate) async fn run_here<T, F, W>(&self, work: W) -> Outcome<T>
    where
        W: FnOnce(Arc<Session>) -> F,
        F: Future<Output = Outcome<T>>,
    {
        let _place = self.place().await?;
        let session = match self.take_idle() {
            Some(session) => session,
            None => Arc::new(self.connector.open(self.settings).await?),
        };
        let done = tokio::time::timeout(self.time_limit, work(session.clone())).await;
        let done = done.unwrap_or(Err(Fault::Late(self.time_limit)));
        match &done {
            Ok(_) => self.put_back(session),
            Err(fault) if fault.breaks_connection() => drop(session),
            Err(_) => {
                let clean = tokio::time::timeout(self.time_limit, session.roll_back()).await;
                if matches!(clean, Ok(Ok(()))) {
                    self.put_back(session);
                }
            }
        }
        done
    }

    pub(crate) fn close(&self) {
        self.places.close();
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

//! Executions that run before they are written. What one does without waiting for anything is written together with
//! it, in one transaction; before it waits, it is written by itself. Whoever asked for it hears of it only then.

use std::sync::Arc;

use pawl_kernel::context::Context;
use pawl_kernel::ports::store::{NewExecution, StoreError, StoreResult};
use tokio::sync::oneshot;

use crate::parts::Parts;

/// An execution that is in nobody's store yet.
pub(crate) struct Birth {
    pub(crate) new: Arc<NewExecution>,
    /// What expressions see at its start, if that is known without reading it.
    pub(crate) context: Option<Context>,
    told: oneshot::Sender<StoreResult<()>>,
}

/// What became of it.
pub(crate) struct BirthNews(oneshot::Receiver<StoreResult<()>>);

impl Birth {
    pub(crate) fn of(new: NewExecution, context: Context) -> (Self, BirthNews) {
        let (told, news) = oneshot::channel();
        let birth = Self {
            new: Arc::new(new),
            context: Some(context),
            told,
        };
        (birth, BirthNews(news))
    }

    /// Writes it without a transition. False: it is not there, and whoever asked for it knows.
    pub(crate) async fn alone(self, parts: &Parts) -> bool {
        let new = NewExecution::clone(&self.new);
        let created = match parts.store.create(new).await {
            Ok(_) => Ok(()),
            Err(StoreError::Unknown(reason)) => self.look_up(parts, reason).await,
            Err(error) => Err(error),
        };
        let is_there = created.is_ok();
        self.tell(parts, created);
        is_there
    }

    async fn look_up(&self, parts: &Parts, reason: String) -> StoreResult<()> {
        match parts.store.probe(self.new.execution.id).await? {
            Some(_) => Ok(()),
            None => Err(StoreError::Unavailable(reason)),
        }
    }

    /// It is on disk, or it never will be.
    pub(crate) fn tell(self, parts: &Parts, created: StoreResult<()>) {
        let id = self.new.execution.id;
        match &created {
            Ok(()) => {
                parts.metrics.executions.started.increment();
                tracing::debug!(execution_id = %id, "created");
            }
            Err(error) => tracing::warn!(execution_id = %id, %error, "not created"),
        }
        // Whoever asked may have gone away.
        let _ = self.told.send(created);
    }
}

impl BirthNews {
    /// A worker that goes away with the execution in its hands has written it or not.
    pub(crate) async fn heard(self) -> StoreResult<()> {
        let gone = || StoreError::Unknown("the worker went away while this was under way".into());
        self.0.await.unwrap_or_else(|_| Err(gone()))
    }
}

//! Executions that run before they are written. What one does in a moment and without waiting is written together with
//! it, in one transaction; before it waits or takes longer, it is written by itself. Whoever asked for it hears of it only
//! then.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::context::Context;
use pawl_kernel::ports::store::{NewExecution, StoreError, StoreResult};
use pawl_kernel::time::Timestamp;
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

    /// Writes it without a transition, and returns how long its lease lasts. `None`: it is not there, and whoever asked
    /// for it knows.
    pub(crate) async fn alone(self, parts: &Parts) -> Option<Timestamp> {
        let mut new = NewExecution::clone(&self.new);
        // What it did until now took its time.
        let until = parts.now().plus(parts.options.lease);
        if let Some(lease) = &mut new.state.lease {
            lease.until = until;
        }
        let created = match parts.store.create(new).await {
            Ok(_) => Ok(()),
            Err(error @ StoreError::Unknown(_)) => match self.is_there(parts).await {
                true => Ok(()),
                // It may be there again after a restart: nobody is told that it is not.
                false => Err(error),
            },
            Err(error) => Err(error),
        };
        let until = created.is_ok().then_some(until);
        self.tell(parts, created);
        until
    }

    /// Looks until the store has an opinion, or the lease may be over.
    async fn is_there(&self, parts: &Parts) -> bool {
        let give_up_at = parts.now().plus(parts.options.lease / 2);
        loop {
            match parts.store.probe(self.new.execution.head.id).await {
                Ok(found) => return found.is_some(),
                Err(_) if parts.now() >= give_up_at => return false,
                Err(_) => {
                    let again = parts.now().plus(Duration::from_millis(50));
                    parts.clock.sleep_until(again).await;
                }
            }
        }
    }

    /// It is on disk, or it is not, or nobody knows.
    pub(crate) fn tell(self, parts: &Parts, created: StoreResult<()>) {
        let id = self.new.execution.head.id;
        match &created {
            Ok(()) => {
                parts.metrics.executions.started.increment();
                tracing::debug!(execution_id = %id, "created");
            }
            Err(error) => tracing::warn!(execution_id = %id, %error, "not known to be created"),
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

//! The tasks that must run for as long as the process does. One that ends before is a bug, and a process that lives on
//! without it looks healthy and does nothing: the command that started it learns of it, and ends.
//!
//! Below are those that belong to no worker: they need databases of users or the broker, which the engine does not know.

pub(crate) mod applied;
pub(crate) mod letters;
pub(crate) mod starts;

use std::fmt;

use futures_util::future::select_all;
use pawl_kernel::ports::store::StoreError;
use tokio::task::{JoinError, JoinHandle};

#[derive(Default)]
pub(crate) struct Services(Vec<(&'static str, JoinHandle<()>)>);

/// A service that is no longer there.
#[derive(Debug)]
pub struct ServiceFailure {
    name: &'static str,
    /// `None`: it returned.
    cause: Option<JoinError>,
}

impl fmt::Display for ServiceFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Some(cause) => write!(f, "{} failed: {cause}", self.name),
            None => write!(f, "{} ended by itself", self.name),
        }
    }
}

impl Services {
    pub(crate) fn add(
        &mut self,
        name: &'static str,
        task: impl Future<Output = ()> + Send + 'static,
    ) {
        self.0.push((name, tokio::spawn(task)));
    }

    /// Waits for the first that ends. Cancelling loses nothing.
    pub(crate) async fn broken(&mut self) -> ServiceFailure {
        if self.0.is_empty() {
            return std::future::pending().await;
        }
        let tasks = self.0.iter_mut().map(|(_, task)| task);
        let (end, place, _) = select_all(tasks).await;
        let (name, _) = self.0.swap_remove(place);
        ServiceFailure {
            name,
            cause: end.err(),
        }
    }

    /// Waits for all of them, after they were asked to end.
    pub(crate) async fn finish(self) {
        for (service, task) in self.0 {
            if let Err(error) = task.await {
                tracing::error!(%error, service, "it did not end well");
            }
        }
    }

    pub(crate) fn abort(&self) {
        for (_, task) in &self.0 {
            task.abort();
        }
    }
}

/// Will the same write be refused for ever?
fn is_final(error: &StoreError) -> bool {
    match error {
        StoreError::Rejected(_) | StoreError::Corrupt(_) => true,
        StoreError::Unavailable(_) | StoreError::TooLong(_) | StoreError::Unknown(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test]
    async fn a_panic_and_an_end_are_noticed_and_the_rest_goes_on() {
        let stop = CancellationToken::new();
        let mut services = Services::default();
        services.add("the steady one", stop.clone().cancelled_owned());
        let (go, gone) = tokio::sync::oneshot::channel::<()>();
        services.add("the clumsy one", async move {
            let _ = gone.await;
            panic!("dropped everything");
        });
        services.add("the lazy one", async {});
        assert_eq!(
            services.broken().await.to_string(),
            "the lazy one ended by itself"
        );
        let none = tokio::time::timeout(std::time::Duration::from_millis(20), services.broken());
        assert!(none.await.is_err(), "the others run");
        go.send(()).unwrap();
        let broken = services.broken().await.to_string();
        assert!(broken.starts_with("the clumsy one failed"), "{broken}");
        assert!(broken.contains("dropped everything"), "{broken}");
        stop.cancel();
        services.finish().await;
    }
}

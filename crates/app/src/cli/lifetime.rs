//! How long a process runs: until it is asked to end, or until something has ended that it cannot do without. A process
//! that lived on then would look healthy and do nothing; one that exits is started anew by its supervisor.

use std::io;
use std::time::Duration;

use super::failure::{Done, Failure};
use super::signals::Signals;
use crate::wiring::ServiceFailure;

/// With something broken the rest may never finish. Leases see to it that others go on.
const FINISHED_AFTER_ALL: Duration = Duration::from_secs(60);

/// `broken`: says what has ended by itself.
pub(super) async fn until_asked(
    asked: impl Future<Output = ()>,
    broken: impl Future<Output = ServiceFailure>,
) -> Done {
    tokio::select! {
        biased;
        () = asked => Ok(()),
        broken = broken => {
            tracing::error!(%broken, "the process ends, so that it can be started anew");
            Err(Failure::failed(format!("{broken}; the process ends, so that it can be started anew")))
        }
    }
}

/// Ends as `end` says when everything is put away. A second signal does not wait for anything.
pub(super) async fn leave(
    end: Done,
    put_away: impl Future<Output = ()>,
    signals: &mut Signals,
) -> Done {
    let broken = end.is_err();
    let overdue = async {
        match broken {
            true => tokio::time::sleep(FINISHED_AFTER_ALL).await,
            false => std::future::pending().await,
        }
    };
    tokio::select! {
        () = put_away => end,
        () = overdue => end,
        () = signals.next() => Err(Failure::Said(1)),
    }
}

/// A server as a service: the watcher of services reports its end, this function its error.
pub(super) async fn serving(server: impl Future<Output = io::Result<()>>) {
    if let Err(error) = server.await {
        tracing::error!(%error, "the server did not end well");
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;
    use crate::services::Services;

    async fn panicking() -> ServiceFailure {
        let mut services = Services::default();
        services.add("the worker", async { panic!("out of luck") });
        services.broken().await
    }

    #[tokio::test]
    async fn a_service_that_panics_ends_the_process_with_1() {
        let Err(Failure::Failed(why)) = until_asked(pending(), panicking()).await else {
            panic!("it went on, or ended well");
        };
        assert!(why.contains("the worker failed"), "{why}");
        assert!(why.contains("out of luck"), "{why}");
    }

    #[tokio::test]
    async fn asked_to_end_it_ends_well() {
        assert!(until_asked(ready(()), panicking()).await.is_ok());
        assert!(until_asked(ready(()), pending()).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_broken_process_does_not_wait_for_ever() {
        let mut signals = Signals::listen().unwrap();
        let end = leave(Err(Failure::failed("broken")), pending(), &mut signals).await;
        assert!(matches!(end, Err(Failure::Failed(_))));
        assert!(leave(Ok(()), ready(()), &mut signals).await.is_ok());
    }
}

//! Connections: how many, how slow, and how they end.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use futures_util::future::Either;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::{TowerToHyperService, TowerToHyperServiceFuture};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::webhooks::{Answering, Entrance};
use super::{ApiState, Limits, router};

/// Accepting fails when the process is out of file descriptors; trying again at once would only burn time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` is cancelled; then open streams end, requests in flight get a short grace.
pub async fn serve(
    listener: TcpListener,
    state: ApiState,
    stop: CancellationToken,
) -> io::Result<()> {
    let limits = state.limits;
    let state = state.stopping_with(stop.clone());
    let front = Front {
        webhooks: Some(Arc::new(Entrance::new(&state))),
        app: TowerToHyperService::new(router(state)),
    };
    accept_all(listener, front, limits, stop).await
}

/// The same for any routes.
pub(super) async fn run(
    listener: TcpListener,
    app: Router,
    limits: Limits,
    stop: CancellationToken,
) -> io::Result<()> {
    let front = Front {
        webhooks: None,
        app: TowerToHyperService::new(app),
    };
    accept_all(listener, front, limits, stop).await
}

/// What a connection talks to.
#[derive(Clone)]
struct Front {
    webhooks: Option<Arc<Entrance>>,
    app: TowerToHyperService<Router>,
}

type Incoming = hyper::Request<hyper::body::Incoming>;

impl Service<Incoming> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Answering, TowerToHyperServiceFuture<Router, Incoming>>;

    fn call(&self, request: Incoming) -> Self::Future {
        match &self.webhooks {
            Some(webhooks) if webhooks.takes(request.uri().path()) => {
                Either::Left(webhooks.answer(request))
            }
            _ => Either::Right(self.app.call(request)),
        }
    }
}

async fn accept_all(
    listener: TcpListener,
    front: Front,
    limits: Limits,
    stop: CancellationToken,
) -> io::Result<()> {
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = open.join_next(), if !open.is_empty() => continue,
            accepted = accept(&listener, &places) => accepted,
        };
        if let Some((stream, place)) = accepted {
            open.spawn(connection(
                stream,
                place,
                front.clone(),
                limits,
                stop.clone(),
            ));
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(limits.grace, async {
        while open.join_next().await.is_some() {}
    })
    .await;
    open.shutdown().await;
    Ok(())
}

/// Waits for a free place first, so that beyond the limit connections queue in the kernel.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, place)),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

async fn connection(
    stream: TcpStream,
    _place: OwnedSemaphorePermit,
    front: Front,
    limits: Limits,
    stop: CancellationToken,
) -> Result<(), Infallible> {
    // Answers are small and somebody waits for them.
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(limits.header_bytes);
    let served = builder.serve_connection(TokioIo::new(stream), front);
    tokio::pin!(served);
    let result = tokio::select! {
        result = served.as_mut() => result,
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection ended badly");
    }
    Ok(())
}

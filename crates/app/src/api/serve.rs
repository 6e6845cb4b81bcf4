//! Connections: how many, how slow, and how they end.
//!
//! A connection beyond the limits is let in for the probes alone: it can ask once for `/health/*` or `/metrics`, quickly, and
//! for nothing else.

mod places;
mod stall;

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::response::{IntoResponse, Response};
use futures_util::future::Either;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::{TowerToHyperService, TowerToHyperServiceFuture};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::direct::{Answering, DirectRoute};
use super::error::ApiError;
use super::{ApiState, Limits, router, routes};
pub(super) use places::peer_of;
use places::{ConnectionPlace, ConnectionPlaces, Full, Reserve};
use stall::Impatient;

/// Accepting fails when the process is out of file descriptors; trying again at once would only burn time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// A probe knows what it wants to ask, and has been answered by then.
const PROBE_HEADER_TIME: Duration = Duration::from_secs(2);
const PROBE_TIME: Duration = Duration::from_secs(10);

/// Serves until `stop` is cancelled; then open streams end, requests in flight get a short grace.
pub async fn serve(
    listener: TcpListener,
    state: ApiState,
    stop: CancellationToken,
) -> io::Result<()> {
    let limits = state.limits;
    let state = state.stopping_with(stop.clone());
    let front = Front::new(routes::direct(&state), router(state));
    accept_all(listener, front, limits, stop).await
}

/// The same for any routes.
pub(super) async fn run(
    listener: TcpListener,
    app: Router,
    limits: Limits,
    stop: CancellationToken,
) -> io::Result<()> {
    accept_all(listener, Front::new(Vec::new(), app), limits, stop).await
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

/// What a connection talks to.
#[derive(Clone)]
struct Front {
    direct: Arc<[DirectRoute]>,
    app: TowerToHyperService<Router>,
    peer: Peer,
}

impl Front {
    fn new(direct: Vec<DirectRoute>, app: Router) -> Self {
        Self {
            direct: direct.into(),
            app: TowerToHyperService::new(app),
            peer: Peer(Ipv4Addr::UNSPECIFIED.into()),
        }
    }

    fn facing(&self, peer: Peer) -> Self {
        Self {
            peer,
            ..self.clone()
        }
    }

    fn route(&self, mut request: Incoming) -> TowerToHyperServiceFuture<Router, Incoming> {
        request.extensions_mut().insert(self.peer);
        self.app.call(request)
    }
}

type Incoming = hyper::Request<hyper::body::Incoming>;

impl Service<Incoming> for Front {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Answering, TowerToHyperServiceFuture<Router, Incoming>>;

    fn call(&self, request: Incoming) -> Self::Future {
        let path = request.uri().path();
        match self.direct.iter().find(|route| route.takes(path)) {
            Some(route) => Either::Left(route.answer(request, self.peer)),
            None => Either::Right(self.route(request)),
        }
    }
}

/// What a connection beyond the limits talks to.
struct ProbesOnly {
    front: Front,
    full: Full,
    asked: Arc<AtomicBool>,
}

impl Service<Incoming> for ProbesOnly {
    type Response = Response;
    type Error = Infallible;
    type Future =
        Either<Ready<Result<Response, Infallible>>, TowerToHyperServiceFuture<Router, Incoming>>;

    fn call(&self, request: Incoming) -> Self::Future {
        self.asked.store(true, Ordering::Relaxed);
        match is_probe(request.uri().path()) {
            true => Either::Right(self.front.route(request)),
            false => Either::Left(ready(Ok(too_many(self.full)))),
        }
    }
}

fn is_probe(path: &str) -> bool {
    path == "/metrics" || path.starts_with("/health/")
}

fn too_many(full: Full) -> Response {
    ApiError::unavailable(match full {
        Full::Server => "the server has all the connections it may have ([server] connections); try again",
        Full::Peer => {
            "your address has all the connections it may have ([server] connections_per_peer); close some, or try again"
        }
    })
    .into_response()
}

async fn accept_all(
    listener: TcpListener,
    front: Front,
    limits: Limits,
    stop: CancellationToken,
) -> io::Result<()> {
    let places = ConnectionPlaces::new(limits.connections, limits.connections_per_peer);
    let mut reserve = Reserve::default();
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(_) = open.join_next(), if !open.is_empty() => continue,
            accepted = accept(&listener) => accepted,
        };
        let Some((stream, peer)) = accepted else {
            continue;
        };
        let front = front.facing(Peer(peer));
        match places.take(peer) {
            Ok(place) => {
                open.spawn(usual(stream, place, front, limits, stop.clone()));
            }
            Err(full) if reserve.make_room() => {
                let asked = Arc::new(AtomicBool::new(false));
                let probes = ProbesOnly {
                    front,
                    full,
                    asked: asked.clone(),
                };
                reserve.add(
                    open.spawn(beyond(stream, probes, limits, stop.clone())),
                    asked,
                );
            }
            Err(_) => drop(stream),
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

async fn accept(listener: &TcpListener) -> Option<(TcpStream, IpAddr)> {
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer.ip())),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

async fn usual(
    stream: TcpStream,
    _place: ConnectionPlace,
    front: Front,
    limits: Limits,
    stop: CancellationToken,
) {
    let builder = builder(limits.header_time, limits.header_bytes);
    connection(stream, &builder, front, limits.write_time, stop).await;
}

/// One request, and soon.
async fn beyond(stream: TcpStream, probes: ProbesOnly, limits: Limits, stop: CancellationToken) {
    let mut builder = builder(
        limits.header_time.min(PROBE_HEADER_TIME),
        limits.header_bytes,
    );
    builder.keep_alive(false);
    let talk = connection(stream, &builder, probes, limits.write_time, stop);
    let _ = tokio::time::timeout(PROBE_TIME, talk).await;
}

fn builder(header_time: Duration, header_bytes: usize) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(header_time)
        .max_buf_size(header_bytes);
    builder
}

async fn connection<S>(
    stream: TcpStream,
    builder: &http1::Builder,
    service: S,
    write_time: Duration,
    stop: CancellationToken,
) where
    S: Service<Incoming, Response = Response, Error = Infallible>,
{
    // Answers are small and the caller waits for them.
    let _ = stream.set_nodelay(true);
    let stream = TokioIo::new(Impatient::new(stream, write_time));
    let served = builder.serve_connection(stream, service);
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
}

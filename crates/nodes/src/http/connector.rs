//! Connects to vetted addresses only: looks the name up itself, refuses it if *any* answer is forbidden,
//! connects to the very address it checked, and looks at the other end once more.

use std::error::Error;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use super::address::{AddressPolicy, Judgement};
use super::error::{HttpError, HttpErrorKind};

/// A resolver that does not answer must not use up the time of the request.
const OWN_LOOKUP: Duration = Duration::from_secs(1);

type BoxError = Box<dyn Error + Send + Sync>;
type BoxFuture<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

#[derive(Clone)]
pub(super) struct Connector {
    policy: Arc<AddressPolicy>,
    limit: Duration,
}

impl Connector {
    pub(super) fn new(policy: Arc<AddressPolicy>, limit: Duration) -> Self {
        Self { policy, limit }
    }

    async fn connect(self, uri: Uri) -> Result<TokioIo<TcpStream>, HttpError> {
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let default_port = if uri.scheme_str() == Some("https") {
            443
        } else {
            80
        };
        let port = uri.port_u16().unwrap_or(default_port);
        let addresses = self.resolve(host, port).await?;
        let stream = connect_any(&addresses, self.limit)
            .await
            .map_err(|reason| {
                HttpError::new(
                    HttpErrorKind::Connection,
                    format!("no connection to `{host}:{port}`: {reason}"),
                )
            })?;
        match stream.peer_addr() {
            Ok(peer) if self.is_own(&stream, peer) => Err(HttpError::own(host, port)),
            Ok(peer) if addresses.contains(&peer) => Ok(TokioIo::new(stream)),
            _ => Err(HttpError::forbidden(host)),
        }
    }

    /// Both ends are this machine, at a port that Pawl listens at on all of its addresses.
    fn is_own(&self, stream: &TcpStream, peer: SocketAddr) -> bool {
        self.policy.denies_own_port(peer.port())
            && stream
                .local_addr()
                .is_ok_and(|local| local.ip().to_canonical() == peer.ip().to_canonical())
    }

    async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, HttpError> {
        if !self.policy.permits_name(host) {
            return Err(HttpError::forbidden(host));
        }
        let unknown = || {
            HttpError::new(
                HttpErrorKind::Dns,
                format!("there is no address for `{host}`"),
            )
        };
        let found = tokio::net::lookup_host((host, port))
            .await
            .map_err(|_| unknown())?;
        let addresses: Vec<_> = found.collect();
        if addresses.is_empty() {
            return Err(unknown());
        }
        // One forbidden answer spoils them all: a name that mixes them is an attack or a mistake.
        let judged = |wanted: Judgement| {
            let mut all = addresses.iter();
            all.any(|address| self.policy.judge(*address) == wanted)
        };
        match () {
            () if judged(Judgement::Forbidden) => Err(HttpError::forbidden(host)),
            () if judged(Judgement::Own) => Err(HttpError::own(host, port)),
            () if self.lead_to_own_name(&addresses).await => Err(HttpError::own(host, port)),
            () => Ok(addresses),
        }
    }

    async fn lead_to_own_name(&self, addresses: &[SocketAddr]) -> bool {
        for (name, port) in &self.policy.deny_own_names {
            // Without an answer nothing is known to be refused; this process cannot reach it by that name either.
            let looking = tokio::net::lookup_host((name.as_str(), *port));
            let Ok(Ok(mut own)) = timeout(OWN_LOOKUP, looking).await else {
                continue;
            };
            if own.any(|own| addresses.contains(&own)) {
                return true;
            }
        }
        false
    }
}

/// Tries the addresses in turn, each with its share of the time, so that a dead IPv6 route leaves some
/// for IPv4.
async fn connect_any(addresses: &[SocketAddr], limit: Duration) -> Result<TcpStream, String> {
    let share = limit / u32::try_from(addresses.len()).unwrap_or(u32::MAX);
    let mut reason = String::new();
    for address in addresses {
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Requests are written whole; waiting to fill packets only adds delay.
                stream
                    .set_nodelay(true)
                    .map_err(|error| error.to_string())?;
                return Ok(stream);
            }
            Ok(Err(error)) => reason = error.to_string(),
            Err(_) => reason = "it took too long".to_owned(),
        }
    }
    Err(reason)
}

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = HttpError;
    type Future = BoxFuture<Self::Response, HttpError>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

/// Bounds what it wraps, handshake included.
#[derive(Clone)]
pub(super) struct TimedConnector<S> {
    inner: S,
    limit: Duration,
}

impl<S> TimedConnector<S> {
    pub(super) fn new(inner: S, limit: Duration) -> Self {
        Self { inner, limit }
    }
}

impl<S> Service<Uri> for TimedConnector<S>
where
    S: Service<Uri, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<S::Response, BoxError>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let limit = self.limit;
        let host = uri.host().unwrap_or_default().to_owned();
        let connecting = self.inner.call(uri);
        Box::pin(async move {
            let connected = timeout(limit, connecting).await;
            connected.unwrap_or_else(|_| {
                let message = format!("no connection to `{host}` within {limit:?}");
                Err(HttpError::new(HttpErrorKind::Connection, message).into())
            })
        })
    }
}

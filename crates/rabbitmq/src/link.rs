//! One connection to a broker: opened with a limit on its time, cut off for certain when dropped.

use std::net::{Shutdown, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use lapin::options::ConfirmSelectOptions;
use lapin::tcp::AsyncTcpStream;
use lapin::uri::{AMQPScheme, AMQPUri};
use lapin::{Channel, Connection, ConnectionProperties, Event};
use tokio::time::timeout;

use crate::address::BrokerUrl;
use crate::error::{BrokerError, plain};
use crate::options::Options;
use crate::stream::{self, BrokerStream};

/// A farewell is a courtesy; we do not wait long for the answer.
const FAREWELL: Duration = Duration::from_secs(2);

/// Everything needed to open a connection.
#[derive(Clone, Debug)]
pub(crate) struct Dial {
    pub(crate) url: BrokerUrl,
    pub(crate) ca_certificates: Option<String>,
    /// For each call, and for connecting as a whole.
    pub(crate) limit: Duration,
    /// Shown in the broker's list of connections.
    pub(crate) name: String,
}

impl Dial {
    pub(crate) fn new(options: &Options, purpose: &str) -> Self {
        Self {
            url: options.url.clone(),
            ca_certificates: options.ca_certificates.clone(),
            limit: options.call_timeout,
            name: format!("{} {purpose}", options.name),
        }
    }
}

/// What an open connection tells of itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The broker takes no messages on this connection for now; its reason.
    Blocked(String),
    Unblocked,
    Lost(String),
}

pub(crate) struct Link {
    connection: Connection,
    limit: Duration,
    /// Last, so that lapin's own farewells are under way before the socket goes.
    _cutter: Cutter,
}

impl Link {
    pub(crate) async fn open(dial: &Dial) -> Result<Self, BrokerError> {
        let cutter = Cutter::default();
        // On the heap: the future is large, and this is far from any hot path.
        match timeout(dial.limit, Box::pin(connect(dial, cutter.0.clone()))).await {
            Ok(Ok(connection)) => Ok(Self {
                connection,
                limit: dial.limit,
                _cutter: cutter,
            }),
            Ok(Err(error)) => Err(BrokerError::connecting(&dial.url, &error)),
            Err(_) => Err(BrokerError::Unreachable {
                url: dial.url.to_string(),
                reason: format!("no answer within {:?}", dial.limit),
            }),
        }
    }

    /// Runs one call under the limit for calls.
    pub(crate) async fn call<T>(
        &self,
        what: &str,
        call: impl Future<Output = lapin::Result<T>>,
    ) -> Result<T, BrokerError> {
        match timeout(self.limit, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(BrokerError::calling(what, &error)),
            Err(_) => Err(self.too_slow(what)),
        }
    }

    pub(crate) fn too_slow(&self, what: &str) -> BrokerError {
        BrokerError::Timeout {
            what: what.to_owned(),
            after: self.limit,
        }
    }

    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    pub(crate) async fn channel(&self) -> Result<Channel, BrokerError> {
        self.call("open a channel", self.connection.create_channel())
            .await
    }

    /// A channel whose every message is confirmed; without it lapin reports success for anything.
    pub(crate) async fn confirming_channel(&self) -> Result<Channel, BrokerError> {
        let channel = self.channel().await?;
        self.call(
            "switch on confirms",
            channel.confirm_select(ConfirmSelectOptions::default()),
        )
        .await?;
        Ok(channel)
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.connection.status().connected()
    }

    pub(crate) fn is_blocked(&self) -> bool {
        self.connection.status().blocked()
    }

    /// To be called once per link: listeners would share the events among them.
    pub(crate) fn listen(&self) -> Listener {
        Listener {
            events: Box::pin(self.connection.events_listener()),
            status: self.connection.status().clone(),
        }
    }

    /// Says goodbye, so that the broker need not find out by itself. To be called while the channels and consumers still
    /// live: lapin closes those that are dropped, and takes it for a failure if the connection is closing already.
    pub(crate) async fn close(&self) {
        let goodbye = self.connection.close(200, "goodbye".into());
        match timeout(FAREWELL.min(self.limit), goodbye).await {
            Ok(Ok(())) => {}
            other => tracing::debug!(?other, "the broker did not hear our goodbye"),
        }
    }
}

pub(crate) struct Listener {
    events: Pin<Box<dyn Stream<Item = Event> + Send>>,
    status: lapin::ConnectionStatus,
}

impl Listener {
    pub(crate) async fn news(&mut self) -> News {
        loop {
            match self.events.next().await {
                Some(Event::ConnectionBlocked(reason)) => return News::Blocked(reason),
                Some(Event::ConnectionUnblocked) => return News::Unblocked,
                // An error of a channel comes here too; the task that uses the channel notices.
                Some(Event::Error(error)) if !self.status.connected() => {
                    return News::Lost(plain(&error));
                }
                Some(_) => {}
                None => return News::Lost("the connection was closed".into()),
            }
        }
    }
}

async fn connect(dial: &Dial, socket: Arc<Socket>) -> lapin::Result<Connection> {
    let properties = ConnectionProperties::default()
        .with_connection_name(dial.name.as_str().into())
        .with_client_property("product".into(), "pawl".into());
    let (limit, authorities) = (dial.limit, dial.ca_certificates.clone());
    Connection::connector(
        dial.url.uri().clone(),
        stream::runtime(),
        async move |uri: AMQPUri, _| {
            let addresses = resolve(&uri, limit).await?;
            let stream = in_time(limit, BrokerStream::connect(&addresses)).await?;
            socket.keep(&stream)?;
            let stream = match uri.scheme {
                AMQPScheme::AMQP => BrokerStream::plain(stream),
                AMQPScheme::AMQPS => {
                    let host = &uri.authority.host;
                    let greeting = BrokerStream::encrypt(stream, host, authorities.as_deref());
                    in_time(limit, greeting).await?
                }
            };
            Ok(AsyncTcpStream::Plain(stream))
        },
        properties,
    )
    .await
}

async fn resolve(uri: &AMQPUri, limit: Duration) -> std::io::Result<Vec<SocketAddr>> {
    let name = (uri.authority.host.as_str(), uri.authority.port);
    let addresses = in_time(limit, tokio::net::lookup_host(name)).await?;
    Ok(addresses.collect())
}

/// The one who waits for the connection gives up after `limit` too; this one is for lapin's thread, which would wait on.
async fn in_time<T>(
    limit: Duration,
    work: impl Future<Output = std::io::Result<T>>,
) -> std::io::Result<T> {
    timeout(limit, work)
        .await
        .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
}

/// A second handle to lapin's socket. lapin's thread sits on a silent peer for ever, even when everything that belongs
/// to the connection is dropped; shutting the socket down ends it.
#[derive(Default)]
struct Socket(Mutex<SocketState>);

#[derive(Default)]
enum SocketState {
    #[default]
    Unopened,
    Open(std::net::TcpStream),
    Cut,
}

impl Socket {
    fn keep(&self, stream: &tokio::net::TcpStream) -> std::io::Result<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, SocketState::Cut) {
            // No task waits for this connection any more.
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        *state = SocketState::Open(second_handle(stream)?);
        Ok(())
    }

    fn cut(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let SocketState::Open(socket) = std::mem::replace(&mut *state, SocketState::Cut) {
            // An error means that it is closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(unix)]
fn second_handle(stream: &tokio::net::TcpStream) -> std::io::Result<std::net::TcpStream> {
    use std::os::fd::AsFd;
    Ok(stream.as_fd().try_clone_to_owned()?.into())
}

#[cfg(windows)]
fn second_handle(stream: &tokio::net::TcpStream) -> std::io::Result<std::net::TcpStream> {
    use std::os::windows::io::AsSocket;
    Ok(stream.as_socket().try_clone_to_owned()?.into())
}

#[derive(Default)]
struct Cutter(Arc<Socket>);

impl Drop for Cutter {
    fn drop(&mut self) {
        self.0.cut();
    }
}

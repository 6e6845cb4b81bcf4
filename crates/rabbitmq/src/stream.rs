//! The stream to a broker, plain or encrypted, and the runtime that lapin runs on with it.
//!
//! lapin's own TLS brings a reader of PKCS#12 key stores along, over forty crates that Pawl never uses. A runtime of ours whose
//! stream may be encrypted takes its place; everything else is tokio's.

use std::future::Future;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use async_rs::traits::{Executor, Reactor, RuntimeKit};
use async_rs::util::Task;
use async_rs::{Runtime, Tokio};
use futures_util::Stream;
use futures_util::io::{AsyncRead, AsyncWrite};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};

pub(crate) enum BrokerStream {
    Plain(Compat<TcpStream>),
    /// Much larger than the other one.
    Encrypted(Box<Compat<TlsStream<TcpStream>>>),
}

impl BrokerStream {
    pub(crate) async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(addresses).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    pub(crate) fn plain(stream: TcpStream) -> Self {
        Self::Plain(stream.compat())
    }

    /// `authorities` (PEM) are trusted beside those of the system.
    pub(crate) async fn encrypt(
        stream: TcpStream,
        host: &str,
        authorities: Option<&str>,
    ) -> io::Result<Self> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let config = tls_config(authorities).map_err(io::Error::other)?;
        let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
        Ok(Self::Encrypted(Box::new(connecting.await?.compat())))
    }
}

fn tls_config(authorities: Option<&str>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    for error in &system.errors {
        tracing::warn!(%error, "a certificate of the system cannot be read");
    }
    roots.add_parsable_certificates(system.certs);
    for certificate in CertificateDer::pem_slice_iter(authorities.unwrap_or_default().as_bytes()) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    // Named, because the default of the process is ambiguous as soon as another crate brings a second provider.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

impl BrokerStream {
    fn reader(self: Pin<&mut Self>) -> Pin<&mut (dyn AsyncRead + Send + Unpin)> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream),
            Self::Encrypted(stream) => Pin::new(&mut **stream),
        }
    }

    fn writer(self: Pin<&mut Self>) -> Pin<&mut (dyn AsyncWrite + Send + Unpin)> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream),
            Self::Encrypted(stream) => Pin::new(&mut **stream),
        }
    }
}

impl AsyncRead for BrokerStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.reader().poll_read(context, buffer)
    }
}

impl AsyncWrite for BrokerStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writer().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.writer().poll_write_vectored(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer().poll_flush(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer().poll_close(context)
    }
}

/// Tokio's tasks and timers with [`BrokerStream`] for a stream.
#[derive(Clone, Debug)]
pub(crate) struct BrokerRuntime(Tokio);

/// On the runtime that the caller is in.
pub(crate) fn runtime() -> Runtime<BrokerRuntime> {
    Runtime::new(BrokerRuntime(Tokio::current()))
}

impl RuntimeKit for BrokerRuntime {}

impl Executor for BrokerRuntime {
    type Task<T: Send + 'static> = <Tokio as Executor>::Task<T>;

    fn block_on<T, F: Future<Output = T>>(&self, work: F) -> T {
        self.0.block_on(work)
    }

    fn spawn<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        work: F,
    ) -> Task<Self::Task<T>> {
        self.0.spawn(work)
    }

    fn spawn_blocking<T: Send + 'static, F: FnOnce() -> T + Send + 'static>(
        &self,
        work: F,
    ) -> Task<Self::Task<T>> {
        self.0.spawn_blocking(work)
    }
}

impl Reactor for BrokerRuntime {
    type TcpStream = BrokerStream;
    type Sleep = <Tokio as Reactor>::Sleep;

    /// For sockets that lapin would open otherwise; it opens none.
    fn register<H: Read + Write + Send + 'static>(
        &self,
        _: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        Err::<BrokerStream, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, time: Duration) -> Self::Sleep {
        self.0.sleep(time)
    }

    fn interval(&self, time: Duration) -> impl Stream<Item = Instant> + Send + 'static {
        self.0.interval(time)
    }

    fn tcp_connect_addr(
        &self,
        address: SocketAddr,
    ) -> impl Future<Output = io::Result<Self::TcpStream>> + Send + 'static {
        connect_plain(address)
    }
}

async fn connect_plain(address: SocketAddr) -> io::Result<BrokerStream> {
    let stream = BrokerStream::connect(&[address]).await?;
    Ok(BrokerStream::plain(stream))
}

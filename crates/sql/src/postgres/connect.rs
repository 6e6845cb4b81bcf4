//! Opening connections, and asking a server to stop what it does for one.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{CancelToken, Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fault::chain;
use super::meter::{Meter, MeteredStream};
use super::tls;
use crate::settings::{Encryption, Server, Settings};

/// What a server may say before the first question.
const GREETING_BYTES: usize = 1 << 20;
/// For the request to cancel.
const CANCEL_LIMIT: Duration = Duration::from_secs(1);

pub(crate) struct Connector {
    server: Server,
    config: Config,
    tls: Option<MakeRustlsConnect>,
    limit: Duration,
}

pub(crate) struct OpenedConnection {
    pub(crate) client: Client,
    pub(crate) meter: Meter,
}

impl Connector {
    pub(crate) fn new(server: Server, settings: &Settings) -> Result<Self, String> {
        let tls = tls::connector(server.encryption, settings.root_certificates.as_deref())?;
        let mut config = Config::new();
        config
            .user(&server.user)
            .dbname(&server.database)
            .application_name(&server.application_name)
            .ssl_mode(match server.encryption {
                Encryption::Disable => SslMode::Disable,
                Encryption::Prefer => SslMode::Prefer,
                _ => SslMode::Require,
            });
        if let Some(password) = &server.password {
            config.password(password);
        }
        Ok(Self {
            server,
            config,
            tls,
            limit: settings.connect_timeout,
        })
    }

    /// Host and database, for people; never the password.
    fn address(&self) -> String {
        let Server {
            host,
            port,
            database,
            ..
        } = &self.server;
        format!("{host}:{port}/{database}")
    }

    /// The error is for people.
    pub(crate) async fn open(&self) -> Result<OpenedConnection, String> {
        match tokio::time::timeout(self.limit, self.opened()).await {
            Ok(Ok(opened)) => Ok(opened),
            Ok(Err(reason)) => Err(format!("{reason} at {}", self.address())),
            Err(_) => Err(format!(
                "no answer within {:?} from {}",
                self.limit,
                self.address()
            )),
        }
    }

    async fn stream(&self, meter: &Meter) -> std::io::Result<MeteredStream> {
        let stream = TcpStream::connect((self.server.host.as_str(), self.server.port)).await?;
        stream.set_nodelay(true)?;
        Ok(MeteredStream::new(stream, meter.clone()))
    }

    async fn opened(&self) -> Result<OpenedConnection, String> {
        let meter = Meter::default();
        meter.allow(GREETING_BYTES);
        let stream = self
            .stream(&meter)
            .await
            .map_err(|error| error.to_string())?;
        let client = match &self.tls {
            None => {
                let connected = self.config.connect_raw(stream, NoTls).await;
                let (client, connection) = connected.map_err(|error| chain(&error))?;
                drive(connection);
                client
            }
            Some(tls) => {
                let tls = for_host(tls, &self.server.host)?;
                let connected = self.config.connect_raw(stream, tls).await;
                let (client, connection) = connected.map_err(|error| chain(&error))?;
                drive(connection);
                client
            }
        };
        Ok(OpenedConnection { client, meter })
    }

    /// Best effort: the server also gives up by itself, but later.
    pub(crate) async fn cancel(&self, token: CancelToken) {
        let asking = async {
            let meter = Meter::default();
            meter.allow(GREETING_BYTES);
            let stream = self
                .stream(&meter)
                .await
                .map_err(|error| error.to_string())?;
            let asked = match &self.tls {
                None => token.cancel_query_raw(stream, NoTls).await,
                Some(tls) => {
                    let tls = for_host(tls, &self.server.host)?;
                    token.cancel_query_raw(stream, tls).await
                }
            };
            asked.map_err(|error| chain(&error))
        };
        match tokio::time::timeout(CANCEL_LIMIT, asking).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(error, "a query could not be cancelled"),
            Err(_) => tracing::debug!("cancelling a query took too long"),
        }
    }
}

fn for_host(
    tls: &MakeRustlsConnect,
    host: &str,
) -> Result<<MakeRustlsConnect as MakeTlsConnect<MeteredStream>>::TlsConnect, String> {
    MakeTlsConnect::<MeteredStream>::make_tls_connect(&mut tls.clone(), host)
        .map_err(|error| error.to_string())
}

/// The half of a connection that talks to the socket; it ends with the client.
fn drive<S, T>(connection: tokio_postgres::Connection<S, T>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(
                error = chain(&error),
                "a connection to a user's database ended"
            );
        }
    });
}

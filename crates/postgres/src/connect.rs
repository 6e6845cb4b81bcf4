//! Opening connections: address, TLS, and the settings each connection begins with.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use pawl_pgtls::Trust;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::OpenError;
use crate::error::{Fault, Outcome, chain};
use crate::options::Options;
use crate::session::Session;

/// Point lookups only: plans that are right for any size of the tables, made once. Not compiled: these plans look
/// expensive to the planner, and compiling one costs a thousand times what running it does.
pub(crate) const LOOKUPS: &str = "-c enable_seqscan=off -c enable_mergejoin=off -c enable_bitmapscan=off \
                                  -c plan_cache_mode=force_generic_plan -c jit=off";
/// Lists and details: whatever the planner thinks best for these very values. A plan for any value would have to lock
/// every partition of the history.
pub(crate) const LISTS: &str = "-c plan_cache_mode=force_custom_plan -c jit=off";

/// What a person can do about it, by a part of the reason.
const HINTS: &[(&str, &str)] = &[
    (
        "invalid peer certificate",
        "; sslmode=verify-ca and verify-full trust the authorities in the file `sslrootcert`, and verify-full wants \
         the host's name in the certificate",
    ),
    (
        "no encryption",
        "; this server wants sslmode=require or stricter",
    ),
    (
        "unsupported startup parameter",
        "; there is a pooler in between, say so with `pooler = true` in [database]",
    ),
];

/// Milliseconds after which the server ends a transaction whose client has gone silent: a process that was frozen must
/// not keep its locks.
const IDLE_LIMIT: u32 = 10_000;

pub(crate) struct Connector {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    schema: String,
    pooler: bool,
    statement_timeout: Duration,
    lock_timeout: Duration,
    connect_timeout: Duration,
    /// See [`Session`].
    pub(crate) questions: Arc<AtomicU64>,
}

/// Names and ports of the servers of an address; nothing for sockets in the file system, or for what is no address.
pub fn places_of(url: &str) -> Vec<(String, u16)> {
    let Some(config) = read_url(url)
        .ok()
        .and_then(|(address, ..)| address.parse::<Config>().ok())
    else {
        return Vec::new();
    };
    let ports = config.get_ports();
    let port = |place: usize| ports.get(place).or(ports.first()).copied().unwrap_or(5432);
    // Where an address is given beside the name, the name is not looked up.
    let given = config.get_hostaddrs();
    let hosts = config.get_hosts().iter().enumerate();
    let named = hosts
        .filter(|(place, _)| given.get(*place).is_none())
        .filter_map(|(place, host)| match host {
            Host::Tcp(name) => Some((name.trim_matches(['[', ']']).to_owned(), port(place))),
            Host::Unix(_) => None,
        });
    let given = given
        .iter()
        .enumerate()
        .map(|(place, address)| (address.to_string(), port(place)));
    named.chain(given).collect()
}

impl Connector {
    pub(crate) fn new(options: &Options) -> Result<Self, OpenError> {
        let (address, trust, authorities) = read_url(&options.url)?;
        let mut config: Config = address
            .parse()
            .map_err(|error| OpenError::Address(chain(&error)))?;
        if config.get_application_name().is_none() {
            config.application_name("pawl");
        }
        config.connect_timeout(options.connect_timeout);
        // A server that has vanished is noticed within half a minute, even by a connection that only waits.
        config.keepalives_idle(Duration::from_secs(10));
        config.keepalives_interval(Duration::from_secs(5));
        config.keepalives_retries(3);
        config.tcp_user_timeout(Duration::from_secs(20));
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(tls(trust, authorities.as_deref())?),
        };
        check_schema(&options.schema)?;
        Ok(Self {
            config,
            tls,
            schema: options.schema.clone(),
            pooler: options.pooler,
            statement_timeout: options.statement_timeout,
            lock_timeout: options.lock_timeout,
            connect_timeout: options.connect_timeout,
            questions: Arc::default(),
        })
    }

    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    /// Host and database, for people; never the password.
    pub(crate) fn address(&self) -> String {
        let host = self
            .config
            .get_hosts()
            .first()
            .map_or("localhost".into(), |host| match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(path) => path.display().to_string(),
            });
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        format!(
            "{host}:{port}/{}",
            self.config.get_dbname().unwrap_or("postgres")
        )
    }

    pub(crate) async fn open(&self, settings: &str) -> Outcome<Session> {
        let mut config = self.config.clone();
        if !self.pooler {
            config.options(self.startup(settings));
        }
        let opening = async {
            match &self.tls {
                None => {
                    let (client, connection) = config.connect(NoTls).await?;
                    drive(connection);
                    Ok(client)
                }
                Some(tls) => {
                    let (client, connection) = config.connect(tls.clone()).await?;
                    drive(connection);
                    Ok(client)
                }
            }
        };
        let limit = self.connect_timeout * 2;
        let client = match tokio::time::timeout(limit, opening).await {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(self.unreachable(&chain(&error))),
            Err(_) => return Err(self.unreachable(&format!("no answer within {limit:?}"))),
        };
        Ok(Session::new(
            client,
            self.pooler.then(|| self.prelude(settings)),
            self.questions.clone(),
        ))
    }

    fn unreachable(&self, reason: &str) -> Fault {
        let hint = HINTS.iter().find(|(sign, _)| reason.contains(sign));
        let hint = hint.map_or("", |(_, hint)| hint);
        Fault::Unreachable(format!("{reason} at {}{hint}", self.address()))
    }

    /// Did the connection take the settings it was opened with? Behind a pooler that the settings do not name it did
    /// not, and the tables would end up wherever the server's own settings point to.
    pub(crate) fn check_settings(&self, search_path: &str) -> Result<(), OpenError> {
        if search_path == self.schema {
            return Ok(());
        }
        Err(OpenError::Address(format!(
            "the connection to {} did not take its settings: there is a pooler in between; say so with \
             `pooler = true` in [database]",
            self.address()
        )))
    }

    fn startup(&self, settings: &str) -> String {
        format!(
            "-c search_path={} -c statement_timeout={} -c lock_timeout={} \
             -c idle_in_transaction_session_timeout={IDLE_LIMIT} -c default_transaction_isolation=read\\ committed -c timezone=UTC {settings}",
            self.schema,
            self.statement_timeout.as_millis(),
            self.lock_timeout.as_millis(),
        )
    }

    /// What a transaction behind a pooler begins with.
    fn prelude(&self, settings: &str) -> String {
        let local: String = settings
            .split("-c ")
            .map(str::trim)
            .filter(|setting| !setting.is_empty())
            .map(|setting| format!("; SET LOCAL {setting}"))
            .collect();
        format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path = {}; SET LOCAL statement_timeout = {}; \
             SET LOCAL lock_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = {IDLE_LIMIT}{local}",
            self.schema,
            self.statement_timeout.as_millis(),
            self.lock_timeout.as_millis(),
        )
    }
}

/// The half of a connection that talks to the socket; it ends with the session.
fn drive<S, T>(connection: tokio_postgres::Connection<S, T>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(error = chain(&error), "a connection to the database ended");
        }
    });
}

/// The name becomes part of statements; only plain names need no quoting.
fn check_schema(name: &str) -> Result<(), OpenError> {
    let plain =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let begins = name.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_');
    if begins && name.chars().all(plain) && name.len() <= 50 && !name.starts_with("pg_") {
        return Ok(());
    }
    Err(OpenError::Address(format!(
        "database.schema `{name}` must be a plain name: a-z, 0-9 and _, beginning with a letter, at most 50 letters"
    )))
}

/// Takes out of the URL what the driver does not know: the stricter modes of TLS and the file of authorities.
fn read_url(url: &str) -> Result<(String, Trust, Option<PathBuf>), OpenError> {
    let known = ["postgres://", "postgresql://"]
        .iter()
        .any(|scheme| url.starts_with(scheme));
    if !known {
        return Err(OpenError::Address(
            "the database's address must look like postgres://user:password@host:5432/database"
                .into(),
        ));
    }
    let Some((base, query)) = url.split_once('?') else {
        return Ok((url.to_owned(), Trust::Anybody, None));
    };
    let mut trust = Trust::Anybody;
    let mut authorities = None;
    let mut kept = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslmode", "verify-ca")) => {
                trust = Trust::Authority;
                kept.push("sslmode=require");
            }
            Some(("sslmode", "verify-full")) => {
                trust = Trust::Name;
                kept.push("sslmode=require");
            }
            Some(("sslrootcert", file)) => authorities = Some(PathBuf::from(unescaped(file))),
            _ => kept.push(pair),
        }
    }
    Ok((format!("{base}?{}", kept.join("&")), trust, authorities))
}

/// `%2F` is a slash. What is no escape stays as it is.
fn unescaped(text: &str) -> String {
    let bytes = pawl_kernel::percent::decoded(text.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

fn tls(trust: Trust, authorities: Option<&Path>) -> Result<MakeRustlsConnect, OpenError> {
    let unusable = |reason| OpenError::Tls(format!("sslrootcert {reason}"));
    pawl_pgtls::connector(trust, authorities).map_err(unusable)
}

//! Connections as the configuration has them: `[connections.NAME]`.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use url::Url;

#[derive(Clone)]
pub struct Settings {
    /// `postgres://user:password@host:5432/database?sslmode=…` or `sqlite:PATH`.
    pub url: String,
    /// Connections to the database that are open at the same time. On SQLite: for reading; there is one for writing.
    pub pool_size: usize,
    /// Waiting for one of them.
    pub pool_timeout: Duration,
    pub connect_timeout: Duration,
    pub statement_timeout: Duration,
    /// Waiting for what another transaction has locked.
    pub lock_timeout: Duration,
    /// Rows that the statements of one transaction may give back.
    pub max_rows: usize,
    /// And bytes.
    pub max_bytes: usize,
    /// PostgreSQL: where tables without a schema in their name are looked for, `pawl_applied` among them. One name, or
    /// several with commas.
    pub schema: Option<String>,
    /// PostgreSQL: a file with the authorities to trust, for `sslmode=verify-ca` and `verify-full`.
    pub root_certificates: Option<PathBuf>,
}

impl Settings {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            pool_size: 8,
            pool_timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(10),
            lock_timeout: Duration::from_secs(5),
            max_rows: 10_000,
            max_bytes: 8 << 20,
            schema: None,
            root_certificates: None,
        }
    }
}

impl Settings {
    /// What is zero would be endless for one database and nothing for the other.
    pub(crate) fn check(&self) -> Result<(), String> {
        let least = Duration::from_millis(1);
        let times = [
            ("pool_timeout", self.pool_timeout),
            ("connect_timeout", self.connect_timeout),
            ("statement_timeout", self.statement_timeout),
            ("lock_timeout", self.lock_timeout),
        ];
        let numbers = [
            ("pool_size", self.pool_size),
            ("max_rows", self.max_rows),
            ("max_bytes", self.max_bytes),
        ];
        if let Some((name, _)) = times.iter().find(|(_, time)| *time < least) {
            return Err(format!("`{name}` must be a millisecond or more"));
        }
        match numbers.iter().find(|(_, number)| *number == 0) {
            Some((name, _)) => Err(format!("`{name}` must be 1 or more")),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Settings {
    /// Without the address: there may be a password in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("pool_size", &self.pool_size)
            .field("statement_timeout", &self.statement_timeout)
            .field("lock_timeout", &self.lock_timeout)
            .field("max_rows", &self.max_rows)
            .field("max_bytes", &self.max_bytes)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

/// Why a connection in the configuration is not one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("[connections.{name}] {reason}")]
pub struct SettingsError {
    pub name: String,
    pub reason: String,
}

/// Is it the address of a database, and not of a broker or the like?
pub fn is_database(url: &str) -> bool {
    ["postgres:", "postgresql:", "sqlite:"]
        .iter()
        .any(|scheme| url.starts_with(scheme))
}

/// Where a database is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Address {
    Postgres(Server),
    Sqlite(PathBuf),
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Server {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    pub(crate) database: String,
    pub(crate) encryption: Encryption,
    pub(crate) application_name: String,
}

/// `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    Disable,
    Prefer,
    /// Encrypted, whichever server it is.
    Require,
    /// A known authority has signed.
    VerifyCa,
    /// And the name is right.
    VerifyFull,
}

const SQLITE_HINT: &str = "write url = \"sqlite:/path/to/file.db\"";
const POSTGRES_HINT: &str =
    "write url = \"postgres://user:password@host:5432/database?sslmode=verify-full\"";

impl Address {
    /// Nothing of the address is in the error but names of parameters: there may be a password anywhere.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        if let Some(rest) = url.strip_prefix("sqlite:") {
            return sqlite(rest.strip_prefix("//").unwrap_or(rest));
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return postgres(url).map(Self::Postgres);
        }
        Err(format!(
            "the url is of no database that Pawl knows; {POSTGRES_HINT}, or {SQLITE_HINT}"
        ))
    }
}

fn sqlite(path: &str) -> Result<Address, String> {
    if path.is_empty() || path.contains(":memory:") {
        return Err(format!("names no file; {SQLITE_HINT}"));
    }
    if path.contains(['?', '\0']) || path.starts_with("file:") {
        return Err(format!(
            "has parameters in the path, which are not supported; {SQLITE_HINT}"
        ));
    }
    Ok(Address::Sqlite(PathBuf::from(path)))
}

fn postgres(text: &str) -> Result<Server, String> {
    let unreadable = || {
        format!(
            "the url cannot be read (an @ or / in a password is written %40 or %2F); {POSTGRES_HINT}"
        )
    };
    let url = Url::parse(text).map_err(|_| unreadable())?;
    let host = url.host_str().unwrap_or_default();
    if host.is_empty() || host.contains(['%', '/']) {
        return Err(format!(
            "the url must name a host: sockets of the file system are not supported; {POSTGRES_HINT}"
        ));
    }
    if host.contains(',') {
        return Err("several hosts are not supported; name one, or a proxy that knows them".into());
    }
    let user = unescaped(url.username());
    let database = unescaped(url.path().trim_start_matches('/'));
    if user.is_empty() || database.is_empty() {
        return Err(format!(
            "the url must name a user and a database; {POSTGRES_HINT}"
        ));
    }
    let mut server = Server {
        host: host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned(),
        port: url.port().unwrap_or(5432),
        user,
        password: url.password().map(unescaped),
        database,
        encryption: Encryption::Prefer,
        application_name: "pawl".into(),
    };
    for (name, value) in url.query_pairs() {
        parameter(&mut server, &name, &value)?;
    }
    Ok(server)
}

/// Only what is known to be harmless.
fn parameter(server: &mut Server, name: &str, value: &str) -> Result<(), String> {
    match name {
        "sslmode" => {
            server.encryption = match value {
                "disable" => Encryption::Disable,
                "prefer" => Encryption::Prefer,
                "require" => Encryption::Require,
                "verify-ca" => Encryption::VerifyCa,
                "verify-full" => Encryption::VerifyFull,
                _ => {
                    return Err(
                        "sslmode is one of disable, prefer, require, verify-ca, verify-full".into(),
                    );
                }
            };
            Ok(())
        }
        "application_name" if value.len() <= 63 && !value.contains('\0') => {
            server.application_name = value.to_owned();
            Ok(())
        }
        _ => Err(format!(
            "the parameter `{}` in the url is not allowed; {}",
            name.escape_debug(),
            instead(name)
        )),
    }
}

fn instead(name: &str) -> &'static str {
    match name {
        "options" | "search_path" | "currentSchema" => {
            "settings of the session are `schema`, `statement_timeout` and `lock_timeout` beside the url; others belong \
             to the role (ALTER ROLE … SET …)"
        }
        "sslrootcert" => "name the file as `root_certificates` beside the url",
        "host" | "hostaddr" | "port" | "user" | "password" | "dbname" => {
            "it has a place of its own: postgres://user:password@host:5432/database"
        }
        "service" | "servicefile" | "passfile" | "sslcert" | "sslkey" => {
            "files of the machine are not read for it; write the url in full"
        }
        "connect_timeout" => "write `connect_timeout` beside the url",
        _ => "allowed are sslmode and application_name",
    }
}

/// `%2F` is a slash. What is no escape stays as it is.
fn unescaped(text: &str) -> String {
    let bytes = pawl_kernel::percent::decoded(text.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The names become part of statements; only plain names need no quoting.
pub(crate) fn check_schema(names: &str) -> Result<(), String> {
    names
        .split(',')
        .try_for_each(|name| check_name(name.trim()))
}

fn check_name(name: &str) -> Result<(), String> {
    let plain =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let begins = name.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_');
    if begins && name.chars().all(plain) && name.len() <= 63 {
        return Ok(());
    }
    Err(format!(
        "schema `{}` must be a plain name: a-z, 0-9 and _, beginning with a letter",
        name.escape_debug()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str) -> Server {
        match Address::parse(url) {
            Ok(Address::Postgres(server)) => server,
            Ok(Address::Sqlite(_)) => panic!("{url}: a file"),
            Err(error) => panic!("{url}: {error}"),
        }
    }

    #[test]
    fn addresses_are_read() {
        let read = server("postgres://me:p%40ss%2F@db.example:6432/shop?sslmode=verify-full");
        assert_eq!((read.host.as_str(), read.port), ("db.example", 6432));
        assert_eq!(read.password.as_deref(), Some("p@ss/"));
        assert_eq!((read.user.as_str(), read.database.as_str()), ("me", "shop"));
        assert_eq!(read.encryption, Encryption::VerifyFull);
        let read = server("postgresql://me@[::1]/shop?application_name=x");
        assert_eq!((read.host.as_str(), read.port), ("::1", 5432));
        assert_eq!(read.application_name, "x");
        for url in ["sqlite:a/b.db", "sqlite://a/b.db"] {
            let path = PathBuf::from("a/b.db");
            assert!(Address::parse(url) == Ok(Address::Sqlite(path)), "{url}");
        }
        let path = PathBuf::from("/a/b.db");
        assert!(Address::parse("sqlite:///a/b.db") == Ok(Address::Sqlite(path)));
    }

    #[test]
    fn settings_that_make_no_sense_are_named() {
        let mut settings = Settings::new("sqlite:a.db");
        assert_eq!(settings.check(), Ok(()));
        settings.max_rows = 0;
        assert_eq!(settings.check(), Err("`max_rows` must be 1 or more".into()));
        settings.lock_timeout = Duration::ZERO;
        assert!(settings.check().unwrap_err().contains("`lock_timeout`"));
        assert!(check_schema("shop, public").is_ok());
        assert!(check_schema("shop; DROP TABLE t").is_err());
        assert!(check_schema("").is_err());
    }

    #[test]
    fn hostile_addresses_are_refused_without_telling_the_password() {
        for url in [
            "postgres://me:hunter2@%2Fvar%2Frun%2Fpostgresql/db",
            "postgres:///db?host=/var/run&password=hunter2",
            "postgres://me:hunter2@h/db?host=/var/run/postgresql",
            "postgres://me:hunter2@h/db?sslrootcert=/etc/shadow",
            "postgres://me:hunter2@h/db?options=-c%20role%3Dadmin",
            "postgres://me:hunter2@h/db?service=x",
            "postgres://me:hunter2@h/db?sslmode=maybe",
            "postgres://me:hunter2@h1,h2/db",
            "postgres://me:hunter2@h:99999/db",
            "postgres://me:hunter2@h/",
            "postgres://h/hunter2",
            "mysql://me:hunter2@h/db",
            "sqlite:",
            "sqlite::memory:",
            "sqlite:file:x?mode=memory",
            "sqlite:hunter2.db?mode=ro",
        ] {
            match Address::parse(url) {
                Ok(_) => panic!("{url} was accepted"),
                Err(error) => assert!(!error.contains("hunter2"), "{error}"),
            }
        }
        let shown = format!("{:?}", Settings::new("postgres://me:hunter2@h/db"));
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

//! Where the database is and how it is to be used.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Options {
    /// `postgres://user:password@host:port/database?sslmode=…`; `sslmode` is `disable`, `prefer`, `require`,
    /// `verify-ca` or `verify-full`, `sslrootcert` names a file with the authorities to trust.
    pub url: String,
    /// The namespace of all tables: several installations can share one database.
    pub schema: String,
    /// A pooler in transaction mode stands between us and the server: nothing may outlive a transaction.
    pub pooler: bool,
    /// New timers are spread over this many shards. Shards of an earlier, larger number stay in use.
    pub timer_shards: u32,
    /// Connections that commit, each for its share of the executions.
    pub committers: usize,
    /// Connections for claims and commands.
    pub writers: usize,
    /// Connections for lists and details.
    pub readers: usize,
    pub connect_timeout: Duration,
    /// A statement is given up by the server after this time.
    pub statement_timeout: Duration,
    /// Waiting for a row that another transaction has locked.
    pub lock_timeout: Duration,
    /// A whole transaction, as seen from here; then its result is unknown.
    pub transaction_timeout: Duration,
}

impl Options {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            schema: "pawl".into(),
            pooler: false,
            timer_shards: 16,
            committers: 2,
            writers: 3,
            readers: 4,
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(3),
            transaction_timeout: Duration::from_secs(10),
        }
    }
}

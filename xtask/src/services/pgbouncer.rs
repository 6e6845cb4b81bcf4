//! A private PgBouncer in front of a PostgreSQL server.

use std::fmt;
use std::fs;
use std::net::TcpStream;
use std::time::Duration;

use super::folder::Folder;
use super::install::{Need, install_missing, plain_tool};
use super::ports;
use super::process::{Account, Daemon, log_path, tail, until};

const START_LIMIT: Duration = Duration::from_secs(20);
const NAME: &str = "pgbouncer";

/// When a server connection goes back to the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolMode {
    /// When the client disconnects.
    Session,
    /// After each transaction.
    Transaction,
    /// After each statement.
    Statement,
}

impl fmt::Display for PoolMode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            PoolMode::Session => "session",
            PoolMode::Transaction => "transaction",
            PoolMode::Statement => "statement",
        })
    }
}

/// A running pooler; dropping it stops it.
pub struct PgBouncer {
    _daemon: Daemon,
    port: u16,
    folder: Folder,
}

impl PgBouncer {
    /// Installs PgBouncer if need be and starts it in front of the server on 127.0.0.1:`target_port`.
    pub fn start(target_port: u16, pool_mode: PoolMode) -> Result<PgBouncer, String> {
        Self::start_with(target_port, pool_mode, 20)
    }

    /// With so many connections to the server per database, however many clients there are.
    pub fn start_with(
        target_port: u16,
        pool_mode: PoolMode,
        pool_size: u32,
    ) -> Result<PgBouncer, String> {
        install_missing(&[Need::PgBouncer])?;
        let mut last = String::new();
        for _ in 0..5 {
            match Self::start_on(ports::free()?, target_port, pool_mode, pool_size) {
                Err(reason) if reason.contains("in use") => last = reason,
                done => return done,
            }
        }
        Err(last)
    }

    fn start_on(
        port: u16,
        target_port: u16,
        pool_mode: PoolMode,
        pool_size: u32,
    ) -> Result<PgBouncer, String> {
        // Any account but root's, which it refuses.
        let account = Account::of("nobody")?;
        let folder = Folder::create(NAME)?;
        let config = folder.file(
            "pgbouncer.ini",
            &configuration(port, target_port, pool_mode, pool_size),
            account,
        )?;
        let mut command = account.command(plain_tool(NAME)?, "KILL");
        command.arg(config).current_dir(folder.path());
        let mut daemon = Daemon::start(&folder, NAME, command, "KILL")?;
        let open = until(START_LIMIT, || match daemon.ended() {
            true => Some(false),
            false => TcpStream::connect(("127.0.0.1", port)).ok().map(|_| true),
        });
        let pooler = PgBouncer {
            _daemon: daemon,
            port,
            folder,
        };
        match open {
            Some(true) => Ok(pooler),
            _ => Err(format!("pgbouncer failed:\n{}", tail(&pooler.log(), 10))),
        }
    }

    /// The address of a database behind the pooler.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Everything that the pooler has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(log_path(&self.folder, NAME)).unwrap_or_default()
    }
}

fn configuration(port: u16, target_port: u16, pool_mode: PoolMode, pool_size: u32) -> String {
    // Two startup parameters that common clients send and the pooler cannot keep per client; any other is an error
    // that a test should see.
    format!(
        "[databases]\n\
         * = host=127.0.0.1 port={target_port} user=postgres\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = any\n\
         pool_mode = {pool_mode}\n\
         max_client_conn = 500\n\
         default_pool_size = {pool_size}\n\
         ignore_startup_parameters = extra_float_digits, options\n"
    )
}

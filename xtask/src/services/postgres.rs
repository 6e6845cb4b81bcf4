//! A private PostgreSQL server with the durability of a stock installation.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::folder::Folder;
use super::install::{Need, install_missing, postgres_tool};
use super::ports;
use super::process::{self, Account, Daemon, log_path, run, tail, until};
use super::tls::{self, Certificate};

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(30);
const PSQL_LIMIT: Duration = Duration::from_secs(60);
const NAME: &str = "postgres";

/// How the server is set up.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// `max_connections`, 200 unless told.
    pub max_connections: u32,
    /// More settings for postgresql.conf, which win over ours.
    pub settings: Vec<(String, String)>,
    /// Only TLS connections, with a certificate for 127.0.0.1 and localhost.
    pub tls: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        PostgresOptions {
            max_connections: 200,
            settings: Vec::new(),
            tls: false,
        }
    }
}

/// A running server; dropping it stops it and removes its data.
pub struct Postgres {
    running: Mutex<Option<Daemon>>,
    account: Account,
    port: u16,
    certificate: Option<Certificate>,
    // Last, so that it goes after the server.
    folder: Folder,
}

impl Postgres {
    /// Installs PostgreSQL if need be, makes a new data folder and starts a server on a free port.
    pub fn start(options: PostgresOptions) -> Result<Postgres, String> {
        install_missing(&[Need::Postgres])?;
        let account = Account::of("postgres")?;
        let folder = Folder::create(NAME)?;
        folder.room("data", account)?;
        initdb(&folder, account)?;
        let certificate = match options.tls {
            true => Some(tls::certificate(&folder, account)?),
            false => None,
        };
        configure(&folder, account, &options, certificate.as_ref())?;
        let mut server = Postgres {
            running: Mutex::new(None),
            account,
            port: 0,
            certificate,
            folder,
        };
        for _ in 0..5 {
            server.port = ports::free()?;
            match server.start_again() {
                Err(reason) if reason.contains("Address already in use") => continue,
                done => return done.map(|()| server),
            }
        }
        Err("PostgreSQL found every port taken".into())
    }

    /// The address of its database `postgres`, with the superuser `postgres`.
    pub fn url(&self) -> String {
        self.database_url("postgres")
    }

    /// The address of one of its databases.
    pub fn database_url(&self, database: &str) -> String {
        let tls = match self.certificate {
            Some(_) => "?sslmode=require",
            None => "",
        };
        format!(
            "postgres://postgres@127.0.0.1:{}/{database}{tls}",
            self.port
        )
    }

    /// The port on 127.0.0.1, the same over restarts.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The certificate authority that clients must trust, if the server speaks TLS.
    pub fn authority(&self) -> Option<&Path> {
        self.certificate
            .as_ref()
            .map(|files| files.authority.as_path())
    }

    /// The data folder.
    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The process number of the postmaster, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.daemon().as_ref().map(Daemon::pid)
    }

    /// Everything that the server has logged since its first start.
    pub fn log(&self) -> String {
        fs::read_to_string(log_path(&self.folder, NAME)).unwrap_or_default()
    }

    /// The version, as in `15.18`.
    pub fn version(&self) -> Result<String, String> {
        self.psql("SHOW server_version")
            .map(|text| text.split(' ').next().unwrap_or_default().to_string())
    }

    /// Makes a database and returns its address.
    pub fn create_database(&self, name: &str) -> Result<String, String> {
        self.psql(&format!("CREATE DATABASE \"{name}\""))?;
        Ok(self.database_url(name))
    }

    /// What psql prints for these statements in the database `postgres`.
    pub fn psql(&self, sql: &str) -> Result<String, String> {
        psql(&self.url(), sql)
    }

    /// Stops cleanly but at once: clients are disconnected, data is checkpointed (SIGINT).
    pub fn stop_fast(&self) -> Result<(), String> {
        self.stop("INT")
    }

    /// Stops without a checkpoint, so that the next start must recover (SIGQUIT).
    pub fn kill(&self) -> Result<(), String> {
        self.stop("QUIT")
    }

    /// Ends the postmaster and all its children with SIGKILL: a power cut as far as processes can tell.
    pub fn kill_hard(&self) {
        if let Some(mut daemon) = self.daemon().take() {
            let children = process::children(daemon.pid());
            let mut pids = vec![daemon.pid()];
            pids.extend(children.iter().map(|child| child.pid));
            process::signal("KILL", &pids);
            daemon.kill();
            // The next start refuses while one of them is still attached to the shared memory.
            until(STOP_LIMIT, || {
                children.iter().all(|child| !child.alive()).then_some(())
            });
        }
    }

    /// Starts a stopped server with the same data and port, and waits until it takes connections.
    pub fn start_again(&self) -> Result<(), String> {
        let mut running = self.daemon();
        if running.as_mut().is_some_and(|daemon| !daemon.ended()) {
            return Err("PostgreSQL is already running".into());
        }
        // SIGQUIT, as a clean stop syncs every file of every test's database first, for a folder that is then deleted.
        let mut command = self.account.command(postgres_tool("postgres")?, "QUIT");
        command
            .arg("-D")
            .arg(self.data_dir())
            .args(["-p", &self.port.to_string()])
            .current_dir(self.folder.path());
        let mut daemon = Daemon::start(&self.folder, NAME, command, "QUIT")?;
        self.wait_until_ready(&mut daemon)?;
        *running = Some(daemon);
        Ok(())
    }

    /// A crash and a recovery: [`kill`](Self::kill), then [`start_again`](Self::start_again).
    pub fn restart_immediate(&self) -> Result<(), String> {
        self.kill()?;
        self.start_again()
    }

    fn daemon(&self) -> MutexGuard<'_, Option<Daemon>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self, signal: &str) -> Result<(), String> {
        match self.daemon().take() {
            Some(mut daemon) => daemon.stop(signal, STOP_LIMIT),
            None => Ok(()),
        }
    }

    /// The postmaster writes its number and its state to a file; the same that `pg_ctl -w` waits for.
    fn wait_until_ready(&self, daemon: &mut Daemon) -> Result<(), String> {
        let own = daemon.pid().to_string();
        let file = self.data_dir().join("postmaster.pid");
        let ready = until(START_LIMIT, || {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let mut lines = text.lines();
            let fresh = lines.next() == Some(&own);
            if fresh && lines.nth(6).is_some_and(|state| state.trim() == "ready") {
                return Some(true);
            }
            daemon.ended().then_some(false)
        });
        match ready {
            Some(true) => Ok(()),
            Some(false) => Err(format!("PostgreSQL ended:\n{}", tail(&self.log(), 10))),
            None => Err(format!(
                "PostgreSQL was not ready within {} s:\n{}",
                START_LIMIT.as_secs(),
                tail(&self.log(), 10)
            )),
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The checkpoint is not needed, but unlike SIGKILL this leaves no shared memory behind.
        let _ = self.kill();
    }
}

fn initdb(folder: &Folder, account: Account) -> Result<(), String> {
    let mut command = account.command(postgres_tool("initdb")?, "KILL");
    command
        .args(["-D", "data", "-U", "postgres", "--auth=trust"])
        // Not synced: a machine that fails now loses a test run. The server itself syncs as it always does.
        .args(["--no-sync", "--no-instructions"])
        .args(["--no-locale", "--encoding=UTF8"])
        .current_dir(folder.path());
    run("initdb", command, "", START_LIMIT).map(drop)
}

fn configure(
    folder: &Folder,
    account: Account,
    options: &PostgresOptions,
    certificate: Option<&Certificate>,
) -> Result<(), String> {
    let connections = options.max_connections.to_string();
    let mut settings: Vec<(&str, &str)> = vec![
        ("listen_addresses", "127.0.0.1"),
        ("unix_socket_directories", ""),
        ("max_connections", &connections),
        // The stock values, said aloud: tests of crashes and benchmarks rest on them.
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        // In the data folder, where nothing stays behind after SIGKILL; /dev/shm is tiny in containers.
        ("dynamic_shared_memory_type", "mmap"),
        ("log_line_prefix", "%m [%p] %u@%d "),
    ];
    let files = certificate.map(|files| {
        (
            files.certificate.display().to_string(),
            files.key.display().to_string(),
        )
    });
    if let Some((certificate, key)) = &files {
        settings.extend([
            ("ssl", "on"),
            ("ssl_cert_file", certificate.as_str()),
            ("ssl_key_file", key.as_str()),
        ]);
        folder.file(
            "data/pg_hba.conf",
            "hostssl all all 127.0.0.1/32 trust\n",
            account,
        )?;
    }
    let more = options
        .settings
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let text: String = settings
        .into_iter()
        .chain(more)
        .map(|(name, value)| format!("{name} = '{}'\n", value.replace('\'', "''")))
        .collect();
    folder.file("data/postgresql.auto.conf", &text, account)?;
    Ok(())
}

/// What the program psql prints for these statements: unaligned, without headings; stops at the first error.
pub fn psql(url: &str, sql: &str) -> Result<String, String> {
    let mut command = Account::ourselves().command(postgres_tool("psql")?, "KILL");
    command
        .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url])
        .current_dir("/");
    run("psql", command, sql, PSQL_LIMIT).map(|text| text.trim_end().to_string())
}

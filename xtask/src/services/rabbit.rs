//! A private RabbitMQ broker with an epmd of its own.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::folder::Folder;
use super::install::{Need, install_missing, plain_tool, rabbit_tool};
use super::ports;
use super::process::{Account, Daemon, log_path, tail, until};
use super::rabbit_node::{RabbitNode, account};

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(30);
const NAME: &str = "rabbit";

/// How the broker is set up.
#[derive(Clone, Debug, Default)]
pub struct RabbitOptions {
    /// Lines for rabbitmq.conf, such as `consumer_timeout = 1000`.
    pub config: Vec<String>,
}

/// A running broker; dropping it stops it and removes its data. Orders go through [`RabbitNode`].
pub struct RabbitMq {
    running: Mutex<Option<Daemon>>,
    // Erlang would start one that outlives the node; one of ours ends with us.
    _epmd: Daemon,
    node: RabbitNode,
    // Last, so that it goes after the broker.
    folder: Folder,
}

impl Deref for RabbitMq {
    type Target = RabbitNode;

    fn deref(&self) -> &RabbitNode {
        &self.node
    }
}

impl RabbitMq {
    /// Installs RabbitMQ if need be and starts a broker with new data on free ports.
    pub fn start(options: RabbitOptions) -> Result<RabbitMq, String> {
        install_missing(&[Need::RabbitMq])?;
        let mut last = String::new();
        for _ in 0..5 {
            match Self::start_once(&options) {
                // One of the three ports was taken between our look and its start.
                Err(reason) if reason.to_lowercase().contains("in use") => last = reason,
                done => return done,
            }
        }
        Err(last)
    }

    fn start_once(options: &RabbitOptions) -> Result<RabbitMq, String> {
        let account = account()?;
        let folder = Folder::create(NAME)?;
        let node = RabbitNode {
            folder: folder.path().into(),
            // Not the machine's name, which does not resolve everywhere.
            name: format!("{}@localhost", ports::unique("pawl-test")),
            port: ports::free()?,
            distribution: ports::free()?,
            epmd: ports::free()?,
        };
        furnish(&folder, account, options)?;
        node.save()?;
        let broker = RabbitMq {
            running: Mutex::new(None),
            _epmd: start_epmd(&folder, &node)?,
            node,
            folder,
        };
        broker.start_again()?;
        Ok(broker)
    }

    /// The port on 127.0.0.1, the same over restarts.
    pub fn port(&self) -> u16 {
        self.node.port
    }

    /// The process number of the Erlang machine, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.daemon().as_ref().map(Daemon::pid)
    }

    /// Everything that the broker has logged since its first start.
    pub fn log(&self) -> String {
        fs::read_to_string(log_path(&self.folder, NAME)).unwrap_or_default()
    }

    /// The version, as in `3.10.8`.
    pub fn version(&self) -> Result<String, String> {
        let script = rabbit_tool("rabbitmq-server")?;
        let version = script
            .ancestors()
            .filter_map(|folder| {
                folder
                    .file_name()?
                    .to_str()?
                    .strip_prefix("rabbitmq_server-")
            })
            .next();
        Ok(version.unwrap_or("of unknown version").to_string())
    }

    /// Ends the Erlang machine with SIGKILL.
    pub fn kill(&self) {
        drop(self.daemon().take());
    }

    /// Stops cleanly, which takes seconds.
    pub fn stop(&self) -> Result<(), String> {
        match self.daemon().take() {
            Some(mut daemon) => daemon.stop("TERM", STOP_LIMIT),
            None => Ok(()),
        }
    }

    /// Starts a stopped broker with the same data and port, and waits until it speaks AMQP.
    pub fn start_again(&self) -> Result<(), String> {
        let mut running = self.daemon();
        if running.as_mut().is_some_and(|daemon| !daemon.ended()) {
            return Err("RabbitMQ is already running".into());
        }
        let command = self.server_command()?;
        let mut daemon = Daemon::start(&self.folder, NAME, command, "KILL")?;
        let ready = until(START_LIMIT, || match daemon.ended() {
            true => Some(false),
            false => speaks_amqp(self.port()).then_some(true),
        });
        match ready {
            Some(true) => {
                *running = Some(daemon);
                Ok(())
            }
            Some(false) => Err(format!("RabbitMQ ended:\n{}", tail(&self.log(), 20))),
            None => Err(format!(
                "RabbitMQ was not ready within {} s:\n{}",
                START_LIMIT.as_secs(),
                tail(&self.log(), 20)
            )),
        }
    }

    /// Loses everything: kills the broker, deletes its data and starts it again, with the vhost `/` only.
    pub fn wipe(&self) -> Result<(), String> {
        self.kill();
        let data = self.node.folder.join("home/mnesia");
        fs::remove_dir_all(&data)
            .map_err(|error| format!("deleting {}: {error}", data.display()))?;
        self.start_again()
    }

    fn daemon(&self) -> MutexGuard<'_, Option<Daemon>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn server_command(&self) -> Result<std::process::Command, String> {
        let home = self.node.folder.join("home");
        let mut command = self.node.command(rabbit_tool("rabbitmq-server")?)?;
        command
            // The script then becomes the Erlang machine instead of a shell that waits for it, so that signals and
            // the death of our process reach the broker itself.
            .env("RUNNING_UNDER_SYSTEMD", "true")
            .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODE_PORT", self.node.port.to_string())
            .env("RABBITMQ_DIST_PORT", self.node.distribution.to_string())
            .env(
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
                "-kernel inet_dist_use_interface {127,0,0,1}",
            )
            .env("RABBITMQ_MNESIA_BASE", home.join("mnesia"))
            .env("RABBITMQ_LOG_BASE", home.join("log"))
            // To its output, which is our log file.
            .env("RABBITMQ_LOGS", "-")
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", home.join("plugins"))
            .env("RABBITMQ_CONFIG_FILE", home.join("rabbitmq.conf"));
        Ok(command)
    }
}

/// The home folder with everything that the broker reads.
fn furnish(folder: &Folder, account: Account, options: &RabbitOptions) -> Result<(), String> {
    folder.room("home", account)?;
    let cookie = ports::unique("pawl").to_uppercase();
    folder.file("home/.erlang.cookie", &cookie, account)?;
    folder.file("home/plugins", "[].\n", account)?;
    let config: String = options
        .config
        .iter()
        .map(|line| format!("{line}\n"))
        .collect();
    folder.file("home/rabbitmq.conf", &config, account)?;
    Ok(())
}

fn start_epmd(folder: &Folder, node: &RabbitNode) -> Result<Daemon, String> {
    let mut command = node.command(plain_tool("epmd")?)?;
    command.args(["-address", "127.0.0.1", "-port", &node.epmd.to_string()]);
    let mut daemon = Daemon::start(folder, "epmd", command, "KILL")?;
    let open = until(START_LIMIT, || match daemon.ended() {
        true => Some(false),
        false => TcpStream::connect(("127.0.0.1", node.epmd))
            .ok()
            .map(|_| true),
    });
    match open {
        Some(true) => Ok(daemon),
        _ => {
            let said = fs::read_to_string(log_path(folder, "epmd")).unwrap_or_default();
            Err(format!("epmd ended:\n{}", tail(&said, 5)))
        }
    }
}

/// An open port is not enough: the broker must answer the protocol's greeting.
fn speaks_amqp(port: u16) -> bool {
    let patience = Duration::from_secs(2);
    let greet = || -> std::io::Result<bool> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_read_timeout(Some(patience))?;
        stream.write_all(b"AMQP\x00\x00\x09\x01")?;
        let mut first = [0; 1];
        stream.read_exact(&mut first)?;
        // A method frame: Connection.Start.
        Ok(first == [1])
    };
    greet().unwrap_or(false)
}

//! Orders to a private RabbitMQ node, also from a process that did not start it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::install::{plain_tool, rabbit_tool};
use super::ports::unique;
use super::process::{Account, run};

/// The longest that rabbitmqctl may take.
const CTL_LIMIT: Duration = Duration::from_secs(60);
/// The file in the node's folder that says how to reach it.
const FILE: &str = "node";

/// How to reach a node that is ours: its name, its ports and the home folder with its cookie.
#[derive(Clone, Debug)]
pub struct RabbitNode {
    pub(super) folder: PathBuf,
    pub(super) name: String,
    pub(super) port: u16,
    pub(super) distribution: u16,
    pub(super) epmd: u16,
}

impl RabbitNode {
    /// Reads what the starter of a node left in its folder, see [`RabbitNode::folder`].
    pub fn attach(folder: &Path) -> Result<RabbitNode, String> {
        let file = folder.join(FILE);
        let text = fs::read_to_string(&file)
            .map_err(|error| format!("no RabbitMQ of ours in {}: {error}", file.display()))?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let port = |at: usize| words.get(at).and_then(|word| word.parse().ok());
        match (words.first(), port(1), port(2), port(3)) {
            (Some(name), Some(port), Some(distribution), Some(epmd)) => Ok(RabbitNode {
                folder: folder.into(),
                name: name.to_string(),
                port,
                distribution,
                epmd,
            }),
            _ => Err(format!("{}: not four words", file.display())),
        }
    }

    pub(super) fn save(&self) -> Result<(), String> {
        let RabbitNode {
            name,
            port,
            distribution,
            epmd,
            ..
        } = self;
        let file = self.folder.join(FILE);
        fs::write(&file, format!("{name} {port} {distribution} {epmd}\n"))
            .map_err(|error| format!("writing {}: {error}", file.display()))
    }

    /// The folder to attach to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The address of the vhost `/`.
    pub fn url(&self) -> String {
        self.vhost_url("%2f")
    }

    /// The address of a vhost.
    pub fn vhost_url(&self, vhost: &str) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/{vhost}", self.port)
    }

    /// Makes a vhost that `guest` may use and returns its address; a few hundredths of a second.
    pub fn add_vhost(&self, name: &str) -> Result<String, String> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        if !name.chars().all(plain) {
            return Err(format!("not a plain name for a vhost: {name}"));
        }
        let code = format!(
            "ok = rabbit_vhost:add(<<\"{name}\">>, <<\"pawl\">>), \
             ok = rabbit_auth_backend_internal:set_permissions(\
             <<\"guest\">>, <<\"{name}\">>, <<\".*\">>, <<\".*\">>, <<\".*\">>, <<\"pawl\">>)."
        );
        self.eval(&code)?;
        Ok(self.vhost_url(name))
    }

    /// A vhost with a name of its own.
    pub fn fresh_vhost(&self, prefix: &str) -> Result<String, String> {
        self.add_vhost(&unique(prefix))
    }

    /// Evaluates an Erlang expression (with its full stop) in the node.
    ///
    /// With erl_call, which answers in milliseconds where rabbitmqctl starts a whole Erlang first.
    pub fn eval(&self, code: &str) -> Result<String, String> {
        let Ok(program) = plain_tool("erl_call") else {
            return self.ctl(&["eval", code]);
        };
        let mut command = self.command(program)?;
        // Callers of the same name would push each other out.
        command.args(["-h", &unique("caller"), "-sname", &self.name]);
        command.args(["-timeout", "60", "-e"]);
        let printed = run("erl_call", command, &format!("{code}\n"), CTL_LIMIT)?;
        printed
            .strip_prefix("{ok, ")
            .and_then(|text| text.strip_suffix('}'))
            .map(str::to_string)
            .ok_or_else(|| format!("RabbitMQ: {code}: {printed}"))
    }

    /// What rabbitmqctl prints for these arguments, without headings.
    pub fn ctl(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = self.command(rabbit_tool("rabbitmqctl")?)?;
        command.args(["--quiet", "--node", &self.name]);
        command.args(arguments);
        let what = format!("rabbitmqctl {}", arguments.join(" "));
        run(&what, command, "", CTL_LIMIT)
    }

    /// Throws away the messages of a queue that no consumer has taken yet.
    pub fn purge(&self, vhost: &str, queue: &str) -> Result<(), String> {
        self.ctl(&["purge_queue", "--vhost", vhost, queue])
            .map(drop)
    }

    /// A command of Erlang's world in the node's environment and under its account.
    pub(super) fn command(&self, program: PathBuf) -> Result<Command, String> {
        let home = self.folder.join("home");
        // SIGKILL: the node's data goes with us, and a clean stop takes seconds.
        let mut command = account()?.command(program, "KILL");
        command
            .current_dir(&home)
            .env("HOME", &home)
            .env("ERL_EPMD_PORT", self.epmd.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
            .env("RABBITMQ_NODENAME", &self.name)
            // Any free port: the usual eleven are not enough for many tests at once.
            .env("RABBITMQ_CTL_DIST_PORT_MIN", "0")
            .env("RABBITMQ_CTL_DIST_PORT_MAX", "0");
        Ok(command)
    }
}

/// Neither root, which should not run a broker, nor the package's user, whose files are the system broker's.
pub(super) fn account() -> Result<Account, String> {
    Account::of("nobody")
}

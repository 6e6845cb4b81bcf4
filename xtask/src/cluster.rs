//! `cargo xtask cluster`: a server and two workers on a private PostgreSQL and RabbitMQ, for a person to play with.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use xtask::services::{AMQP_URL, POSTGRES_URL, TestServices};

/// Runs without the services that `pawl dev` brings along.
const EXAMPLE: &str = "examples/approval.yaml";
const WORKERS: usize = 2;

/// Good enough for a cluster that lives as long as this command, on loopback.
const ADMIN_KEY: &str = "local-cluster-admin-key";

/// Everything it started ends with it, however it ends.
pub(crate) fn run(
    program: &Path,
    listen: Option<&str>,
    services: &TestServices,
) -> Result<(), String> {
    let places = Places::of(services)?;
    let mut server = places.start(
        program,
        &[
            "server",
            "--json",
            "--listen",
            listen.unwrap_or("127.0.0.1:8080"),
        ],
    )?;
    let url = first_line(&mut server).and_then(|line| text_of(&line, "url"));
    let url = url.ok_or("the server did not start; its words are above")?;
    let mut workers = Vec::new();
    for _ in 0..WORKERS {
        let mut worker = places.start(program, &["worker", "--json"])?;
        first_line(&mut worker).ok_or("a worker did not start; its words are above")?;
        workers.push(worker);
    }
    println!(
        "\nPawl on PostgreSQL and RabbitMQ: a server and {WORKERS} workers. Ctrl-C stops all of it, and the data is gone.\n"
    );
    println!("  API       {url}   docs {url}/api/docs");
    println!("  Key       {ADMIN_KEY}");
    println!("  Database  {}", places.database);
    println!("  Broker    {}\n", places.broker);
    println!("In another terminal:\n");
    println!("  export PAWL_URL={url} PAWL_KEY={ADMIN_KEY}");
    println!(
        "  pawl workers                          # kill -9 one of them, and see the other take over"
    );
    println!("  pawl schema save {EXAMPLE}");
    println!(
        "  pawl executions start approval --input '{{\"amount\": 900, \"patience\": \"1h\"}}'"
    );
    println!("  pawl executions explain ID\n");
    wait_for_any(&mut server, &mut workers)
}

struct Places {
    database: String,
    broker: String,
}

impl Places {
    fn of(services: &TestServices) -> Result<Self, String> {
        let variables = services.variables();
        let value = |wanted: &str| {
            let found = variables.iter().find(|(name, _)| *name == wanted);
            found
                .map(|(_, value)| value.clone())
                .or_else(|| std::env::var(wanted).ok())
                .ok_or(format!("{wanted} is not known"))
        };
        Ok(Self {
            database: value(POSTGRES_URL)?,
            broker: value(AMQP_URL)?,
        })
    }

    fn start(&self, program: &Path, words: &[&str]) -> Result<Child, String> {
        // The kernel ends the child with us, also if we are killed.
        Command::new("setpriv")
            .args(["--pdeathsig", "TERM"])
            .arg(program)
            .args(words)
            .env("PAWL_DATABASE_URL", &self.database)
            .env("PAWL_BROKER_URL", &self.broker)
            .env("PAWL_ADMIN_KEY", ADMIN_KEY)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", program.display()))
    }
}

fn first_line(child: &mut Child) -> Option<String> {
    let mut line = String::new();
    let output = child.stdout.take()?;
    BufReader::new(output).read_line(&mut line).ok()?;
    (!line.is_empty()).then_some(line)
}

/// Enough JSON for a line that we print ourselves.
fn text_of(line: &str, field: &str) -> Option<String> {
    let (_, rest) = line.split_once(&format!("\"{field}\":\""))?;
    rest.split_once('"').map(|(value, _)| value.to_owned())
}

/// A worker may be killed: that is what a cluster is for. Without its server there is nothing to look at.
#[allow(clippy::disallowed_methods)] // Nothing but the processes themselves could tell.
fn wait_for_any(server: &mut Child, workers: &mut Vec<Child>) -> Result<(), String> {
    loop {
        std::thread::sleep(std::time::Duration::from_millis(500));
        workers.retain_mut(|worker| match worker.try_wait() {
            Ok(Some(status)) => {
                println!("worker {} ended ({status}); the others go on", worker.id());
                false
            }
            _ => true,
        });
        if let Ok(Some(status)) = server.try_wait() {
            return Err(format!("the server ended by itself: {status}"));
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_is_there() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert!(root.join(super::EXAMPLE).is_file());
    }
}

//! One server of each kind for many tests: those of `cargo xtask test`, or our own as soon as a test asks.

use std::path::Path;
use std::sync::OnceLock;

use super::install::{Need, install_missing};
use super::ports::unique;
use super::postgres::{Postgres, PostgresOptions, psql};
use super::rabbit::{RabbitMq, RabbitOptions};
use super::rabbit_node::RabbitNode;

/// The variable with the address of a PostgreSQL server for tests: a superuser's, or one who may create databases.
pub const POSTGRES_URL: &str = "PAWL_TEST_POSTGRES_URL";
/// The variable with the address of a RabbitMQ broker for tests.
pub const AMQP_URL: &str = "PAWL_TEST_AMQP_URL";
/// The variable with the folder of that broker if it is one of ours, see [`RabbitNode::attach`].
pub const AMQP_NODE: &str = "PAWL_TEST_AMQP_NODE";

/// The address of the PostgreSQL server that tests share; the first call may start it.
pub fn shared_postgres() -> Result<String, String> {
    static OURS: OnceLock<Result<Postgres, String>> = OnceLock::new();
    if let Some(given) = given(POSTGRES_URL) {
        return Ok(given);
    }
    OURS.get_or_init(|| Postgres::start(PostgresOptions::default()))
        .as_ref()
        .map(Postgres::url)
        .map_err(String::clone)
}

/// The address of the RabbitMQ broker that tests share; the first call may start it.
pub fn shared_rabbit() -> Result<String, String> {
    match given(AMQP_URL) {
        Some(given) => Ok(given),
        None => our_rabbit().map(|broker| broker.url()),
    }
}

/// A new database in the shared server, for one test.
pub fn fresh_database(prefix: &str) -> Result<String, String> {
    let server = shared_postgres()?;
    let name = unique(prefix);
    psql(&server, &format!("CREATE DATABASE {name}"))?;
    Ok(with_database(&server, &name))
}

/// A new vhost in the shared broker, for one test; the broker's own address if it is not ours.
pub fn fresh_vhost(prefix: &str) -> Result<String, String> {
    match (given(AMQP_URL), given(AMQP_NODE)) {
        (None, _) => our_rabbit()?.fresh_vhost(prefix),
        (Some(_), Some(folder)) => RabbitNode::attach(Path::new(&folder))?.fresh_vhost(prefix),
        (Some(url), None) => Ok(url),
    }
}

fn our_rabbit() -> Result<&'static RabbitMq, String> {
    static OURS: OnceLock<Result<RabbitMq, String>> = OnceLock::new();
    OURS.get_or_init(|| RabbitMq::start(RabbitOptions::default()))
        .as_ref()
        .map_err(String::clone)
}

fn given(variable: &str) -> Option<String> {
    std::env::var(variable)
        .ok()
        .filter(|value| !value.is_empty())
}

/// The same address with another database: what stands between the authority and the question mark.
fn with_database(url: &str, name: &str) -> String {
    let (address, query) = match url.split_once('?') {
        Some((address, query)) => (address, format!("?{query}")),
        None => (url, String::new()),
    };
    let authority = address.find("://").map_or(0, |at| at + 3);
    let server = match address[authority..].find('/') {
        Some(slash) => &address[..authority + slash],
        None => address,
    };
    format!("{server}/{name}{query}")
}

/// The servers for a whole test run, except those that the person has named in the environment.
pub struct TestServices {
    postgres: Option<Postgres>,
    rabbit: Option<RabbitMq>,
}

impl TestServices {
    /// Installs what is missing and starts both servers side by side.
    pub fn start() -> Result<TestServices, String> {
        let postgres = given(POSTGRES_URL).is_none();
        let rabbit = given(AMQP_URL).is_none();
        install_missing(&[
            Need::Postgres,
            Need::RabbitMq,
            Need::PgBouncer,
            Need::OpenSsl,
        ])?;
        std::thread::scope(|scope| {
            let database = scope.spawn(|| {
                postgres
                    .then(|| Postgres::start(PostgresOptions::default()))
                    .transpose()
            });
            let broker = rabbit
                .then(|| RabbitMq::start(RabbitOptions::default()))
                .transpose();
            let database = database
                .join()
                .unwrap_or_else(|_| Err("starting PostgreSQL panicked".into()));
            Ok(TestServices {
                postgres: database?,
                rabbit: broker?,
            })
        })
    }

    /// The variables that tell tests where the servers are.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let database = self
            .postgres
            .iter()
            .map(|server| (POSTGRES_URL, server.url()));
        let broker = self.rabbit.iter().flat_map(|broker| {
            let folder = broker.folder().display().to_string();
            [(AMQP_URL, broker.url()), (AMQP_NODE, folder)]
        });
        database.chain(broker).collect()
    }

    /// What runs, in one line.
    pub fn summary(&self) -> Result<String, String> {
        let database = match &self.postgres {
            Some(server) => format!("PostgreSQL {} on port {}", server.version()?, server.port()),
            None => format!("PostgreSQL from {POSTGRES_URL}"),
        };
        let broker = match &self.rabbit {
            Some(broker) => format!("RabbitMQ {} on port {}", broker.version()?, broker.port()),
            None => format!("RabbitMQ from {AMQP_URL}"),
        };
        Ok(format!("{database}, {broker}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_database_of_an_address_changes() {
        for (url, changed) in [
            ("postgres://me@host:1/old", "postgres://me@host:1/new"),
            ("postgres://me@host", "postgres://me@host/new"),
            (
                "postgresql://host/old?sslmode=require",
                "postgresql://host/new?sslmode=require",
            ),
            ("postgres:///old?host=/run", "postgres:///new?host=/run"),
        ] {
            assert_eq!(with_database(url, "new"), changed);
        }
    }
}

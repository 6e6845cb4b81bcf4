//! `pawl pack …`: workflows that ship with Pawl, tables and schemas, put in place by one command.
//!
//! A pack is what a user could have written: SQL for its tables, and schemas that name a connection of the configuration.
//! It is carried in the binary, so that there is nothing to download and the two always fit each other.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::id::time_ordered;
use pawl_kernel::node::{NodeError, PayloadLimits};
use pawl_kernel::time::Clock as _;
use pawl_sql::{Connections, Dialect, Params, Plan, Scope, Script, Work};
use serde_json::{Map, Value, json};

use super::client::{self, Client, Server};
use super::failure::{Done, Failure};
use super::schemas;
use super::table::Table;
use super::{Common, local, terminal, text};
use crate::system::{SystemClock, SystemEntropy};
use crate::wire::SavedSchema;
use crate::wiring;

/// Stands in the schemas for the name of the connection.
const PLACEHOLDER: &str = "$CONNECTION";
const TABLES_TIME: Duration = Duration::from_secs(60);

struct Pack {
    name: &'static str,
    about: &'static str,
    postgres: &'static str,
    sqlite: &'static str,
    /// Name and text.
    schemas: &'static [(&'static str, &'static str)],
}

macro_rules! schema {
    ($pack:literal, $name:literal) => {
        (
            concat!($pack, "-", $name),
            include_str!(concat!(
                "../../../../packs/",
                $pack,
                "/schemas/",
                $name,
                ".yaml"
            )),
        )
    };
}

const ALL: &[Pack] = &[Pack {
    name: "docgraph",
    about: "Documents of atoms: proposals, merges under compare-and-swap, locks, baselines, AI analysis",
    postgres: include_str!("../../../../packs/docgraph/tables.postgres.sql"),
    sqlite: include_str!("../../../../packs/docgraph/tables.sqlite.sql"),
    schemas: &[
        schema!("docgraph", "create-document"),
        schema!("docgraph", "create-section"),
        schema!("docgraph", "create-atom"),
        schema!("docgraph", "create-prompt"),
        schema!("docgraph", "read-structure"),
        schema!("docgraph", "read-atom"),
        schema!("docgraph", "list-baselines"),
        schema!("docgraph", "list-errors"),
        schema!("docgraph", "analyze"),
        schema!("docgraph", "merge"),
        schema!("docgraph", "create-baseline"),
        schema!("docgraph", "propose"),
        schema!("docgraph", "reject"),
        schema!("docgraph", "lock"),
        schema!("docgraph", "unlock"),
        schema!("docgraph", "archive"),
        schema!("docgraph", "unlock-expired"),
    ],
}];

#[derive(clap::Subcommand)]
pub(super) enum PackCommand {
    /// What there is to install.
    List,
    /// Create the tables of a pack on a connection, and save its schemas. Again: what is missing or has changed.
    Install {
        /// The name of the pack.
        name: String,
        /// A database of the configuration; the running Pawl must know it under the same name.
        #[arg(long)]
        connection: String,
        #[command(flatten)]
        server: Server,
    },
}

pub(super) async fn pack(command: PackCommand, common: &Common) -> Done {
    match command {
        PackCommand::List => list(common.json),
        PackCommand::Install {
            name,
            connection,
            server,
        } => {
            let pack = find(&name)?;
            let databases = wiring::databases(&local::config(common)?)?;
            let client = Client::new(&server)?;
            pack.create_tables(&databases, &connection).await?;
            let saved = pack.save_schemas(&client, &connection).await?;
            report(pack, &connection, saved, common.json)
        }
    }
}

fn find(name: &str) -> Result<&'static Pack, Failure> {
    ALL.iter().find(|pack| pack.name == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|pack| pack.name).collect();
        Failure::bad_input(format!(
            "there is no pack `{name}`; there are: {}",
            names.join(", ")
        ))
    })
}

fn list(json: bool) -> Done {
    if json {
        let item = |pack: &Pack| {
            let schemas: Vec<&str> = pack.schemas.iter().map(|(name, _)| *name).collect();
            json!({"name": pack.name, "about": pack.about, "schemas": schemas})
        };
        let items: Vec<Value> = ALL.iter().map(item).collect();
        return terminal::print_json(&json!({"items": items}));
    }
    let mut table = Table::new(["NAME", "SCHEMAS", "ABOUT"]);
    for pack in ALL {
        table.row([
            pack.name.into(),
            pack.schemas.len().to_string().into(),
            pack.about.into(),
        ]);
    }
    table.print()
}

fn report(pack: &Pack, connection: &str, saved: Vec<Value>, json: bool) -> Done {
    if saved.iter().flat_map(warnings).any(is_no_connection) {
        terminal::complain(&format!(
            "the running Pawl has no connection `{connection}`: add [connections.{connection}] to the pawl.toml it reads, in a \
             cluster to that of every server and worker, and start it again"
        ));
    }
    if json {
        let item = |schema: &Value| {
            let warnings: Vec<&Value> = warnings(schema).collect();
            json!({"name": schema["name"], "version": schema["version"], "warnings": warnings})
        };
        let schemas: Vec<Value> = saved.iter().map(item).collect();
        let done = json!({"name": pack.name, "connection": connection, "schemas": schemas});
        return terminal::print_json(&done);
    }
    for schema in &saved {
        let saved: SavedSchema = client::read(schema)?;
        schemas::warn(&saved);
        let (name, version) = (text::line(&saved.schema.name), saved.schema.version);
        terminal::say(&format!("saved {name} as version {version}"))?;
    }
    terminal::say(&format!("`{}` is installed on `{connection}`", pack.name))
}

fn warnings(schema: &Value) -> impl Iterator<Item = &Value> {
    schema["warnings"].as_array().into_iter().flatten()
}

fn is_no_connection(warning: &Value) -> bool {
    warning["code"] == "NO_CONNECTION"
}

impl Pack {
    fn tables(&self, dialect: Dialect) -> Vec<&'static str> {
        let text = match dialect {
            Dialect::Postgres => self.postgres,
            Dialect::Sqlite => self.sqlite,
        };
        statements(text)
    }

    /// All of them or none. They say IF NOT EXISTS, so that no existing data are touched.
    async fn create_tables(&self, databases: &Connections, connection: &str) -> Done {
        let Some(dialect) = databases.dialect(connection) else {
            return Err(Failure::bad_input(format!(
                "--connection: there is no database `{connection}` in the configuration; add [connections.{connection}] \
                 with url = \"postgres://…\" or \"sqlite:…\" to pawl.toml"
            )));
        };
        let failed = |error: NodeError| Failure::failed(error.message);
        databases.prepare(connection).await.map_err(failed)?;
        let key = format!(
            "pack:{}:{}",
            self.name,
            time_ordered(SystemClock.now(), &SystemEntropy)
        );
        let work = Work {
            connection: connection.to_owned(),
            plan: Arc::new(plan(&self.tables(dialect), dialect)?),
            script: Arc::new(NothingAround),
            effect_key: Some(key.clone()),
            time_limit: TABLES_TIME,
            limits: PayloadLimits::default(),
        };
        databases.run(work).await.map_err(failed)?;
        // Every installation looks again: what was dropped since must come back.
        let forgotten = databases.forget(connection, &[key]).await;
        forgotten.map_err(failed)?;
        Ok(())
    }

    async fn save_schemas(&self, client: &Client, connection: &str) -> Result<Vec<Value>, Failure> {
        let mut saved = Vec::with_capacity(self.schemas.len());
        for (_, text) in self.schemas {
            let text = on_connection(text, connection);
            saved.push(schemas::put(client, text).await?);
        }
        Ok(saved)
    }
}

/// The name as YAML text, whatever is in it.
fn on_connection(schema: &str, connection: &str) -> String {
    schema.replace(PLACEHOLDER, &json!(connection).to_string())
}

/// They end with a semicolon at the end of a line; nothing else in our files does.
fn statements(text: &'static str) -> Vec<&'static str> {
    let is_code = |line: &str| !line.trim().is_empty() && !line.starts_with("--");
    text.split(";\n")
        .filter(|part| part.lines().any(is_code))
        .collect()
}

fn plan(statements: &[&str], dialect: Dialect) -> Result<Plan, Failure> {
    let numbered = statements.iter().enumerate();
    let statements: Vec<Value> = numbered
        .map(|(number, sql)| json!({"id": format!("table_{number}"), "sql": sql}))
        .collect();
    Plan::read(&json!({"statements": statements}), Some(dialect)).map_err(|found| {
        let problem = found.first().map_or("", |first| first.message.as_str());
        Failure::failed(format!("the tables of the pack cannot be read: {problem}"))
    })
}

/// Tables have no parameters, expectations or results.
struct NothingAround;

impl Script for NothingAround {
    fn for_each(&self, _: usize, _: &Map<String, Value>) -> Result<Option<Vec<Value>>, NodeError> {
        Ok(None)
    }

    fn params(&self, _: usize, _: &Scope<'_>) -> Result<Params, NodeError> {
        Ok(Params::List(Vec::new()))
    }

    fn expect(&self, _: usize, _: &Map<String, Value>) -> Result<(), NodeError> {
        Ok(())
    }

    fn output(&self, _: &Map<String, Value>) -> Result<Value, NodeError> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use pawl_kernel::schema;

    use super::*;
    use crate::config::Config;

    /// A configuration with one database of each kind.
    fn config() -> Config {
        let mut config = Config::default();
        for (name, url) in [
            ("lite", "sqlite:docgraph.db"),
            ("big", "postgres://me@localhost/docgraph"),
        ] {
            let section = json!({"url": url});
            let section = serde_json::from_value(section).unwrap();
            config.connections.insert(name.into(), section);
        }
        config
    }

    #[test]
    fn every_schema_is_valid_on_every_database_and_has_its_own_name() {
        let registry = wiring::registry(&config(), true).unwrap();
        for pack in ALL {
            for (name, text) in pack.schemas {
                for connection in ["lite", "big"] {
                    let text = on_connection(text, connection);
                    let loaded = schema::load(Some(name), &text, &registry);
                    let shown = schema::render_diagnostics(&text, &loaded.diagnostics, false);
                    assert!(loaded.diagnostics.is_empty(), "{shown}");
                    let definition = loaded.definition.unwrap_or_else(|| panic!("{shown}"));
                    assert_eq!(definition.name, *name);
                }
            }
        }
    }

    #[test]
    fn tables_are_plans_with_the_same_names_on_both() {
        for pack in ALL {
            let names = |dialect| -> Vec<String> {
                let statements = pack.tables(dialect);
                assert!(plan(&statements, dialect).is_ok());
                let after = |text: &str| text.split("IF NOT EXISTS ").nth(1).unwrap().to_owned();
                let name = |text: &&str| after(text).split(' ').next().unwrap().to_owned();
                statements.iter().map(name).collect()
            };
            assert_eq!(names(Dialect::Postgres), names(Dialect::Sqlite));
            assert!(names(Dialect::Sqlite).contains(&"baseline_items".to_owned()));
        }
    }

    #[test]
    fn the_name_of_a_connection_stays_a_name() {
        let text = on_connection("connection: $CONNECTION\n", "a\": {b}");
        assert_eq!(text, "connection: \"a\\\": {b}\"\n");
    }
}

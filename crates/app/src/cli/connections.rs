//! `pawl connection …`: the databases and brokers of the configuration.

use serde_json::json;

use super::failure::{Done, Failure};
use super::table::Table;
use super::{Common, local, terminal};
use crate::wiring;

#[derive(clap::Subcommand)]
pub(super) enum ConnectionCommand {
    /// Make a database fit for the node `sql`: creates the table `pawl_applied` if it is not there.
    Prepare {
        /// A connection of the configuration.
        name: String,
    },
    /// The connections of the configuration, without their addresses.
    List,
}

pub(super) async fn connection(command: ConnectionCommand, common: &Common) -> Done {
    let config = local::config(common)?;
    match command {
        ConnectionCommand::Prepare { name } => {
            let databases = wiring::databases(&config)?;
            let prepared = databases.prepare(&name).await;
            prepared.map_err(|error| Failure::failed(error.message))?;
            let exposed = wiring::exposure(&databases, &name, &config.database.schema).await;
            let warning = exposed.unwrap_or_else(|error| {
                let reason = error.message;
                Some(format!(
                    "whether it reaches Pawl's own tables was not checked: {reason}"
                ))
            });
            if common.json {
                return terminal::print_json(
                    &json!({"name": name, "prepared": true, "warning": warning}),
                );
            }
            if let Some(warning) = warning {
                terminal::complain(&format!("warning: {warning}"));
            }
            terminal::say(&format!("`{name}` is ready for transactions"))
        }
        ConnectionCommand::List => {
            let kind = |url: &str| url.split(':').next().unwrap_or_default().to_owned();
            let all = config
                .connections
                .iter()
                .map(|(name, one)| (name, kind(&one.url)));
            if common.json {
                let items: Vec<_> = all
                    .map(|(name, kind)| json!({"name": name, "kind": kind}))
                    .collect();
                return terminal::print_json(&json!({"items": items}));
            }
            let mut table = Table::new(["NAME", "KIND"]);
            for (name, kind) in all {
                table.row([name.as_str().into(), kind.into()]);
            }
            table.print()
        }
    }
}

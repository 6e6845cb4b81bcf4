//! `pawl workers`: who runs the executions.

use serde_json::Value;

use super::client::{Client, Server};
use super::failure::Done;
use super::schemas::{field, items};
use super::table::Table;
use super::{Common, terminal, text};

#[derive(clap::Args)]
pub(super) struct WorkersArgs {
    #[command(flatten)]
    server: Server,
}

pub(super) async fn workers(args: WorkersArgs, common: &Common) -> Done {
    let client = Client::new(&args.server)?;
    let answer = client.get(&["workers"]).await?;
    if common.json {
        return terminal::print_json(&answer);
    }
    let mut table = Table::new(["ID", "ROLES", "BUSY", "VERSION", "STARTED", "LAST REPORT"]);
    for item in items(&answer) {
        table.row([
            field(item, "id").into(),
            names(&item["roles"]).into(),
            format!("{} of {}", field(item, "busy"), field(item, "slots")).into(),
            field(item, "version").into(),
            text::api_time(&item["started_at"]).into(),
            text::api_time(&item["heartbeat_at"]).into(),
        ]);
    }
    table.print()
}

fn names(list: &Value) -> String {
    let names = list.as_array().into_iter().flatten();
    let names: Vec<&str> = names.filter_map(Value::as_str).collect();
    names.join(", ")
}

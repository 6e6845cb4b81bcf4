//! `pawl workers`: who runs the executions.

use super::client::{self, Client, Server};
use super::failure::Done;
use super::table::Table;
use super::{Common, terminal, text};
use crate::wire::{Page, Worker};

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
    let page: Page<Worker> = client::read(&answer)?;
    for item in &page.items {
        table.row([
            item.id.as_ref().into(),
            item.roles.join(", ").into(),
            format!("{} of {}", item.busy, item.slots).into(),
            item.version.as_ref().into(),
            text::time(item.started_at).into(),
            text::time(item.heartbeat_at).into(),
        ]);
    }
    table.print()
}

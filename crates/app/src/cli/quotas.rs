//! `pawl quota …`: how many executions may be under way at once.

use http::Method;

use super::client::{self, Client, Content, Server};
use super::failure::{Done, Failure};
use super::table::Table;
use super::{Common, terminal, text};
use crate::wire::{Page, Quota, SetQuota, Text};

#[derive(clap::Subcommand)]
pub(super) enum QuotaCommand {
    /// All quotas, with who uses them and how many wait.
    List {
        #[command(flatten)]
        server: Server,
    },
    /// Set a limit: at most so many executions at once.
    Set {
        /// `schema:NAME`, `tenant:NAME` or `key:SCHEMA/VALUE`.
        quota: String,
        /// How many may be under way at once; 0 admits no execution.
        limit: u32,
        /// At most so many starts in a time, like `10/s` or `100/m`.
        #[arg(long)]
        rate: Option<String>,
        #[command(flatten)]
        server: Server,
    },
    /// Remove a limit; executions that wait for it continue.
    Remove {
        /// `schema:NAME`, `tenant:NAME` or `key:SCHEMA/VALUE`.
        quota: String,
        #[command(flatten)]
        server: Server,
    },
}

pub(super) async fn quota(command: QuotaCommand, common: &Common) -> Done {
    let json = common.json;
    match command {
        QuotaCommand::List { server } => list(&Client::new(&server)?, json).await,
        QuotaCommand::Set {
            quota,
            limit,
            rate,
            server,
        } => set(&Client::new(&server)?, &quota, limit, rate, json).await,
        QuotaCommand::Remove { quota, server } => {
            remove(&Client::new(&server)?, &quota, json).await
        }
    }
}

async fn list(client: &Client, json: bool) -> Done {
    let mut url = client.at(&["quotas"]);
    url.query_pairs_mut().append_pair("limit", "500");
    let answer = client.get_url(url).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let mut table = Table::new(["QUOTA", "LIMIT", "USED", "WAITING", "RATE", "SET BY"]);
    let page: Page<Quota> = client::read(&answer)?;
    for item in &page.items {
        table.row([
            full_name(item).into(),
            text::optional(item.limit).into(),
            item.used.to_string().into(),
            item.waiting.to_string().into(),
            text::optional(item.rate.as_ref()).into(),
            item.source.as_str().into(),
        ]);
    }
    table.print()
}

async fn set(client: &Client, quota: &str, limit: u32, rate: Option<String>, json: bool) -> Done {
    let (kind, name) = parts(quota)?;
    let url = client.at(&["quotas", kind, name]);
    let body = Content::of(&SetQuota {
        limit: Some(limit.into()),
        rate: rate.map(Text),
    })?;
    let answer = client.ask(Method::PUT, url, body).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let quota: Quota = client::read(&answer)?;
    terminal::say(&format!(
        "{}: at most {}, {} in use, {} waiting",
        full_name(&quota),
        text::optional(quota.limit),
        quota.used,
        quota.waiting,
    ))
}

async fn remove(client: &Client, quota: &str, json: bool) -> Done {
    let (kind, name) = parts(quota)?;
    let url = client.at(&["quotas", kind, name]);
    let answer = client.ask(Method::DELETE, url, Content::None).await?;
    match json {
        true => terminal::print_json(&answer),
        false => terminal::say(&format!("removed {}", text::clean(quota))),
    }
}

fn full_name(item: &Quota<'_>) -> String {
    format!("{}:{}", item.kind, text::line(&item.name))
}

fn parts(quota: &str) -> Result<(&str, &str), Failure> {
    quota.split_once(':').ok_or_else(|| {
        Failure::bad_input(format!(
            "`{}` is no quota; write schema:NAME, tenant:NAME or key:SCHEMA/VALUE",
            text::clean(quota)
        ))
    })
}

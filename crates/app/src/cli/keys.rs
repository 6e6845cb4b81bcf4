//! `pawl key …`: who may use a running Pawl.

use http::Method;

use super::client::{self, Client, Content, Server};
use super::failure::Done;
use super::schemas::pair;
use super::table::Table;
use super::{Common, terminal, text};
use crate::wire::{CreatedKey, Key, NewKey, Page, Span, Text};

#[derive(clap::Subcommand)]
pub(super) enum KeyCommand {
    /// Make a key and show it, this once.
    Create {
        /// What it is for; what it starts is marked as `key:NAME`.
        name: String,
        /// What it may do; each role includes those before it: viewer, operator, editor, admin.
        #[arg(long)]
        role: String,
        /// The address of its owner: `user.email` in what it starts.
        #[arg(long, value_name = "ADDRESS")]
        email: Option<String>,
        /// How long it is good, like `90d`; for ever if left out.
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        #[command(flatten)]
        server: Server,
    },
    /// All keys, newest first, without their secrets.
    List {
        #[command(flatten)]
        server: Server,
    },
    /// Take a key back, within five seconds everywhere.
    Revoke {
        /// Name or id of the key to revoke.
        which: String,
        #[command(flatten)]
        server: Server,
    },
}

pub(super) async fn key(command: KeyCommand, common: &Common) -> Done {
    let json = common.json;
    match command {
        KeyCommand::Create {
            name,
            role,
            email,
            expires,
            server,
        } => {
            let wanted = NewKey {
                name: Some(Text(name)),
                role: Some(Text(role)),
                email: email.map(Text),
                expires_in: expires.map(Span::Text),
            };
            create(&Client::new(&server)?, &wanted, json).await
        }
        KeyCommand::List { server } => list(&Client::new(&server)?, json).await,
        KeyCommand::Revoke { which, server } => revoke(&Client::new(&server)?, &which, json).await,
    }
}

async fn create(client: &Client, wanted: &NewKey, json: bool) -> Done {
    let answer = client.post(&["keys"], Content::of(wanted)?).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let CreatedKey { record, key } = client::read(&answer)?;
    pair("name", &record.name)?;
    pair("id", &record.id.to_string())?;
    pair("role", &text::line(&record.role))?;
    pair("email", &text::optional(record.email.as_ref()))?;
    pair("expires", &text::time(record.expires_at))?;
    pair("key", &key)?;
    terminal::complain("Keep the key now: it is stored nowhere and never shown again.");
    Ok(())
}

async fn list(client: &Client, json: bool) -> Done {
    let mut url = client.at(&["keys"]);
    url.query_pairs_mut().append_pair("limit", "500");
    let answer = client.get_url(url).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let mut table = Table::new([
        "NAME",
        "ROLE",
        "EMAIL",
        "CREATED",
        "BY",
        "LAST USED",
        "EXPIRES",
        "REVOKED",
        "ID",
    ]);
    let page: Page<Key> = client::read(&answer)?;
    for item in &page.items {
        table.row([
            item.name.as_ref().into(),
            item.role.as_str().into(),
            text::optional(item.email.as_ref()).into(),
            text::time(item.created_at).into(),
            item.created_by.as_ref().into(),
            text::time(item.last_used_at).into(),
            text::time(item.expires_at).into(),
            text::time(item.revoked_at).into(),
            item.id.to_string().into(),
        ]);
    }
    table.print()
}

async fn revoke(client: &Client, which: &str, json: bool) -> Done {
    let url = client.at(&["keys", which]);
    let answer = client.ask(Method::DELETE, url, Content::None).await?;
    match json {
        true => terminal::print_json(&answer),
        false => terminal::say(&format!("revoked {}", text::clean(which))),
    }
}

//! `pawl key …`: who may use a running Pawl.

use http::Method;
use serde_json::{Value, json};

use super::client::{Client, Content, Server};
use super::failure::Done;
use super::schemas::{field, items, pair};
use super::table::Table;
use super::{Common, terminal, text};

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
            let body = json!({"name": name, "role": role, "email": email, "expires_in": expires});
            create(&Client::new(&server)?, body, json).await
        }
        KeyCommand::List { server } => list(&Client::new(&server)?, json).await,
        KeyCommand::Revoke { which, server } => revoke(&Client::new(&server)?, &which, json).await,
    }
}

async fn create(client: &Client, body: Value, json: bool) -> Done {
    let answer = client.post(&["keys"], Content::Json(body)).await?;
    if json {
        return terminal::print_json(&answer);
    }
    pair("name", &field(&answer, "name"))?;
    pair("id", &field(&answer, "id"))?;
    pair("role", &field(&answer, "role"))?;
    pair("email", &field(&answer, "email"))?;
    pair("expires", &text::api_time(&answer["expires_at"]))?;
    pair("key", &field(&answer, "key"))?;
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
    for item in items(&answer) {
        table.row([
            field(item, "name").into(),
            field(item, "role").into(),
            field(item, "email").into(),
            text::api_time(&item["created_at"]).into(),
            field(item, "created_by").into(),
            text::api_time(&item["last_used_at"]).into(),
            text::api_time(&item["expires_at"]).into(),
            text::api_time(&item["revoked_at"]).into(),
            field(item, "id").into(),
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

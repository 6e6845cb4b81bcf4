//! `pawl schema …`: the catalog of a running Pawl.

use std::path::PathBuf;

use http::Method;
use serde_json::Value;

use super::client::{Client, Content, Server};
use super::failure::{Done, Failure};
use super::table::{self, Table};
use super::{Common, source, terminal, text};

#[derive(clap::Subcommand)]
pub(super) enum SchemaCommand {
    /// All schemas.
    List {
        /// Only those with this text in name or description.
        #[arg(long)]
        text: Option<String>,
        #[command(flatten)]
        server: Server,
    },
    /// One schema, with its definition.
    Show(Which),
    /// Save a file: as a new schema, or as a new version of the one with its name.
    Save {
        file: PathBuf,
        #[command(flatten)]
        server: Server,
    },
    /// All versions, newest first.
    Versions(Which),
    /// Let it be started.
    Activate(Which),
    /// Let it not be started any more; what runs goes on.
    Deactivate(Which),
    /// Remove it from the catalog; what runs goes on.
    Delete(Which),
    /// Print the definition alone, as JSON that `save` takes.
    Export(Which),
}

#[derive(clap::Args)]
pub(super) struct Which {
    /// Name or id.
    schema: String,
    /// This version instead of the latest (show and export).
    #[arg(long)]
    version: Option<u32>,
    #[command(flatten)]
    server: Server,
}

pub(super) async fn schema(command: SchemaCommand, common: &Common) -> Done {
    let json = common.json;
    match command {
        SchemaCommand::List { text, server } => {
            list(&Client::new(&server)?, text.as_deref(), json).await
        }
        SchemaCommand::Save { file, server } => save(&Client::new(&server)?, &file, json).await,
        SchemaCommand::Show(which) => show(which, json).await,
        SchemaCommand::Versions(which) => versions(which, json).await,
        SchemaCommand::Activate(which) => switch(which, "activate", json).await,
        SchemaCommand::Deactivate(which) => switch(which, "deactivate", json).await,
        SchemaCommand::Delete(which) => delete(which, json).await,
        SchemaCommand::Export(which) => export(which).await,
    }
}

async fn list(client: &Client, wanted: Option<&str>, json: bool) -> Done {
    let mut url = client.at(&["schemas"]);
    url.query_pairs_mut()
        .append_pair("limit", "500")
        .extend_pairs(wanted.map(|text| ("text", text)));
    let answer = client.get_url(url).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let mut table = Table::new([
        "NAME",
        "EXTERNAL ID",
        "VERSION",
        "ACTIVE",
        "UPDATED",
        "DESCRIPTION",
    ]);
    for item in items(&answer) {
        table.row([
            field(item, "name").into(),
            field(item, "external_id").into(),
            field(item, "version").into(),
            if item["active"] == true { "yes" } else { "no" }.into(),
            text::api_time(&item["updated_at"]).into(),
            field(item, "description").into(),
        ]);
    }
    table.print()
}

async fn save(client: &Client, file: &std::path::Path, json: bool) -> Done {
    let text = source::schema_text(file).map_err(Failure::bad_input)?;
    let answer = put(client, text).await?;
    if json {
        return terminal::print_json(&answer);
    }
    for warning in answer["warnings"].as_array().into_iter().flatten() {
        terminal::complain(&text::diagnostic_line(warning));
    }
    terminal::say(&format!(
        "saved {} as version {}",
        field(&answer, "name"),
        field(&answer, "version")
    ))
}

/// Saves it as a new schema, or as a new version of the one with its name.
pub(super) async fn put(client: &Client, text: String) -> Result<Value, Failure> {
    match client
        .post(&["schemas"], Content::Schema(text.clone()))
        .await
    {
        Err(Failure::Refused { status: 409, body }) => {
            let Some(name) = body["details"]["name"].as_str() else {
                return Err(Failure::Refused { status: 409, body });
            };
            let place = client.at(&["schemas", name]);
            client.ask(Method::PUT, place, Content::Schema(text)).await
        }
        other => other,
    }
}

async fn fetch(which: &Which) -> Result<Value, Failure> {
    let client = Client::new(&which.server)?;
    let mut url = client.at(&["schemas", &which.schema]);
    if let Some(version) = which.version {
        url.query_pairs_mut()
            .append_pair("version", &version.to_string());
    }
    client.get_url(url).await
}

async fn show(which: Which, json: bool) -> Done {
    let schema = fetch(&which).await?;
    if json {
        return terminal::print_json(&schema);
    }
    for name in [
        "name",
        "id",
        "external_id",
        "version",
        "latest_version",
        "active",
        "description",
        "hash",
    ] {
        pair(name, &field(&schema, name))?;
    }
    pair("updated", &text::api_time(&schema["updated_at"]))?;
    let definition = &schema["definition"];
    terminal::say("")?;
    let mut nodes = Table::new(["NODE", "TYPE", "GOES ON TO"]);
    for node in definition["nodes"].as_array().into_iter().flatten() {
        nodes.row([
            field(node, "id").into(),
            field(node, "type").into(),
            exits(definition, &node["id"]).into(),
        ]);
    }
    nodes.print()
}

/// `good (true), bad (false)`.
fn exits(definition: &Value, id: &Value) -> String {
    let edges = definition["edges"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|edge| edge["source"] == *id);
    let shown = edges.map(|edge| match field(edge, "sourceHandle").as_str() {
        "" | "success" => field(edge, "target"),
        handle => format!("{} ({handle})", field(edge, "target")),
    });
    shown.collect::<Vec<_>>().join(", ")
}

async fn versions(which: Which, json: bool) -> Done {
    let client = Client::new(&which.server)?;
    let answer = client.get(&["schemas", &which.schema, "versions"]).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let mut table = Table::new(["VERSION", "CREATED", "BY", "HASH"]);
    for item in items(&answer) {
        let time = text::api_time(&item["created_at"]);
        table.row([
            field(item, "version").into(),
            time.into(),
            field(item, "created_by").into(),
            field(item, "hash").into(),
        ]);
    }
    table.print()
}

async fn switch(which: Which, verb: &str, json: bool) -> Done {
    let client = Client::new(&which.server)?;
    let answer = client
        .post(&["schemas", &which.schema, verb], Content::None)
        .await?;
    match json {
        true => terminal::print_json(&answer),
        false => terminal::say(&format!("{verb}d {}", text::clean(&which.schema))),
    }
}

async fn delete(which: Which, json: bool) -> Done {
    let client = Client::new(&which.server)?;
    let answer = client
        .ask(
            Method::DELETE,
            client.at(&["schemas", &which.schema]),
            Content::None,
        )
        .await?;
    match json {
        true => terminal::print_json(&answer),
        false => terminal::say(&format!("deleted {}", text::clean(&which.schema))),
    }
}

async fn export(which: Which) -> Done {
    let schema = fetch(&which).await?;
    terminal::print_json(&schema["definition"])
}

/// The rows of a list, whether it comes in pages or as a plain list.
pub(super) fn items(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["items"]
        .as_array()
        .or_else(|| answer.as_array())
        .into_iter()
        .flatten()
}

/// A field as text; what is missing is empty.
pub(super) fn field(value: &Value, name: &str) -> String {
    text::brief(&value[name], usize::MAX)
}

/// One line of a description.
pub(super) fn pair(name: &str, value: &str) -> Done {
    if value.is_empty() {
        return Ok(());
    }
    let style = terminal::Style::stdout();
    let label = format!("{:<17} ", name.replace('_', " "));
    terminal::say(&format!("{}{}", style.dim(&label), text::clean(value)))
}

/// A status cell of an API object.
pub(super) fn status_cell(value: &Value) -> table::Cell {
    table::status(value["status"].as_str().unwrap_or_default())
}

//! `pawl schema …`: the catalog of a running Pawl.

use std::path::{Path, PathBuf};

use http::Method;
use serde_json::{Value, json};

use super::client::{self, Client, Content, Server};
use super::failure::{Done, Failure};
use super::table::Table;
use super::{Common, source, terminal, text};
use crate::wire::{Definition, Page, SavedSchema, Schema, Version};

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
    Show(OneSchema),
    /// Save a file: as a new schema, or as a new version of the one with its name.
    Save {
        file: PathBuf,
        #[command(flatten)]
        how: SaveOptions,
        #[command(flatten)]
        server: Server,
    },
    /// Use a stored version from now on: a draft, or an older one to take a mistake back.
    Publish {
        /// Name or id.
        schema: String,
        /// The number of the version.
        version: u32,
        #[command(flatten)]
        server: Server,
    },
    /// All versions, newest first.
    Versions(OneSchema),
    /// Let it be started.
    Activate(OneSchema),
    /// Stop new executions from starting; open ones continue.
    Deactivate(OneSchema),
    /// Remove it from the catalog; what runs goes on.
    Delete(OneSchema),
    /// Print the definition alone, as JSON that `save` takes.
    Export(OneSchema),
}

#[derive(clap::Args)]
pub(super) struct SaveOptions {
    /// Save a version that starts and triggers do not use until it is published; the schema must exist.
    #[arg(long)]
    draft: bool,
    /// What has changed; shown with the version.
    #[arg(long)]
    note: Option<String>,
}

#[derive(clap::Args)]
pub(super) struct OneSchema {
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
        SchemaCommand::Save { file, how, server } => {
            save(&Client::new(&server)?, &file, &how, json).await
        }
        SchemaCommand::Publish {
            schema,
            version,
            server,
        } => publish(&Client::new(&server)?, &schema, version, json).await,
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
    let page: Page<Schema> = client::read(&answer)?;
    for item in &page.items {
        table.row([
            item.name.as_ref().into(),
            text::optional(item.external_id).into(),
            item.version.to_string().into(),
            if item.active { "yes" } else { "no" }.into(),
            text::time(item.updated_at).into(),
            text::optional(item.description.as_ref()).into(),
        ]);
    }
    table.print()
}

async fn save(client: &Client, file: &Path, how: &SaveOptions, json: bool) -> Done {
    let text = source::schema_text(file).map_err(Failure::bad_input)?;
    let answer = match how.draft {
        true => put_draft(client, text, how).await?,
        false => put_noted(client, text, how.note.as_deref()).await?,
    };
    if json {
        return terminal::print_json(&answer);
    }
    let saved: SavedSchema = client::read(&answer)?;
    warn(&saved);
    let (name, version) = (text::line(&saved.schema.name), saved.schema.version);
    let published = saved.schema.published_version;
    terminal::say(&match published == version {
        true => format!("saved {name} as version {version}"),
        false => format!(
            "saved {name} as version {version}, a draft: version {published} stays in use until \
             `pawl schema publish {name} {version}`"
        ),
    })
}

/// A new schema is in use at once, so a draft needs one that exists.
async fn put_draft(client: &Client, text: String, how: &SaveOptions) -> Result<Value, Failure> {
    let Some(name) = source::name_of(&text) else {
        return Err(Failure::bad_input(
            "the schema has no name, so that no draft of it can be saved",
        ));
    };
    let mut place = client.at(&["schemas", &name]);
    place
        .query_pairs_mut()
        .append_pair("publish", "false")
        .extend_pairs(how.note.as_deref().map(|note| ("note", note)));
    let saved = client.ask(Method::PUT, place, Content::Schema(text)).await;
    match saved {
        Err(Failure::Refused { status: 404, .. }) => Err(Failure::bad_input(format!(
            "there is no schema `{}` yet, and the first version of a schema is always in use; save it without --draft",
            text::clean(&name)
        ))),
        other => other,
    }
}

async fn publish(client: &Client, schema: &str, version: u32, json: bool) -> Done {
    let body = Content::Json(json!({"version": version}));
    let answer = client.post(&["schemas", schema, "publish"], body).await?;
    match json {
        true => terminal::print_json(&answer),
        false => terminal::say(&format!(
            "version {version} of {} is in use now",
            text::clean(schema)
        )),
    }
}

pub(super) fn warn(saved: &SavedSchema<'_>) {
    for warning in &saved.warnings {
        terminal::complain(&text::diagnostic_line(warning));
    }
}

/// Saves it as a new schema, or as a new version of the one with its name.
pub(super) async fn put(client: &Client, text: String) -> Result<Value, Failure> {
    put_noted(client, text, None).await
}

async fn put_noted(client: &Client, text: String, note: Option<&str>) -> Result<Value, Failure> {
    let noted = |parts: &[&str]| {
        let mut place = client.at(parts);
        if let Some(note) = note {
            place.query_pairs_mut().append_pair("note", note);
        }
        place
    };
    let create = Content::Schema(text.clone());
    match client.ask(Method::POST, noted(&["schemas"]), create).await {
        Err(Failure::Refused { status: 409, body }) => {
            let Some(name) = body["details"]["name"].as_str() else {
                return Err(Failure::Refused { status: 409, body });
            };
            let place = noted(&["schemas", name]);
            client.ask(Method::PUT, place, Content::Schema(text)).await
        }
        other => other,
    }
}

async fn fetch(which: &OneSchema) -> Result<Value, Failure> {
    let client = Client::new(&which.server)?;
    let mut url = client.at(&["schemas", &which.schema]);
    if let Some(version) = which.version {
        url.query_pairs_mut()
            .append_pair("version", &version.to_string());
    }
    client.get_url(url).await
}

async fn show(which: OneSchema, json: bool) -> Done {
    let answer = fetch(&which).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let schema: Schema = client::read(&answer)?;
    pair("name", &text::line(&schema.name))?;
    pair("id", &schema.id.to_string())?;
    pair("external_id", &text::optional(schema.external_id))?;
    pair("version", &schema.version.to_string())?;
    pair("latest_version", &schema.latest_version.to_string())?;
    pair("published_version", &schema.published_version.to_string())?;
    pair("active", &schema.active.to_string())?;
    pair("description", &text::optional(schema.description.as_ref()))?;
    pair("note", &text::optional(schema.note.as_ref()))?;
    pair("hash", &text::optional(schema.hash.as_ref()))?;
    pair("updated", &text::time(schema.updated_at))?;
    terminal::say("")?;
    let mut nodes = Table::new(["NODE", "TYPE", "GOES ON TO"]);
    if let Some(definition) = &schema.definition {
        let definition: Definition = client::read(&definition.value())?;
        for node in &definition.nodes {
            nodes.row([
                node.id.as_str().into(),
                node.node_type.as_str().into(),
                exits(&definition, &node.id).into(),
            ]);
        }
    }
    nodes.print()
}

/// `good (true), bad (false)`.
fn exits(definition: &Definition, id: &str) -> String {
    let edges = definition.edges.iter().flatten();
    let edges = edges.filter(|edge| edge.source == id);
    let shown = edges.map(|edge| match edge.source_handle.as_deref() {
        None | Some("" | "success") => edge.target.clone(),
        Some(handle) => format!("{} ({handle})", edge.target),
    });
    shown.collect::<Vec<_>>().join(", ")
}

async fn versions(which: OneSchema, json: bool) -> Done {
    let client = Client::new(&which.server)?;
    let answer = client.get(&["schemas", &which.schema, "versions"]).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let mut table = Table::new(["VERSION", "IN USE", "CREATED", "BY", "NOTE", "HASH"]);
    let page: Page<Version> = client::read(&answer)?;
    for item in &page.items {
        table.row([
            item.version.to_string().into(),
            if item.published { "yes" } else { "" }.into(),
            text::time(item.created_at).into(),
            item.created_by.as_ref().into(),
            text::optional(item.note.as_ref()).into(),
            item.hash.as_ref().into(),
        ]);
    }
    table.print()
}

async fn switch(which: OneSchema, verb: &str, json: bool) -> Done {
    let client = Client::new(&which.server)?;
    let answer = client
        .post(&["schemas", &which.schema, verb], Content::None)
        .await?;
    match json {
        true => terminal::print_json(&answer),
        false => terminal::say(&format!("{verb}d {}", text::clean(&which.schema))),
    }
}

async fn delete(which: OneSchema, json: bool) -> Done {
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

async fn export(which: OneSchema) -> Done {
    let schema: Schema = client::read(&fetch(&which).await?)?;
    let definition = schema.definition.map(|found| found.value().into_owned());
    terminal::print_json(&definition.unwrap_or_default())
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

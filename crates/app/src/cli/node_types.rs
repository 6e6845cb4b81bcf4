//! `pawl node-types`: what a schema can be made of. Answered by this binary; by a server if one is named.

use serde_json::{Value, json};

use super::client::{self, Client, Server};
use super::failure::{Done, Failure};
use super::schemas::pair;
use super::table::Table;
use super::{Common, local, terminal, text};
use crate::wire::{NodeType, Page};
use crate::wiring;

#[derive(clap::Args)]
pub(super) struct NodeTypesArgs {
    /// Show this type in full.
    node_type: Option<String>,
    /// Ask the Pawl that runs here instead of this binary.
    #[arg(long, env = "PAWL_URL")]
    url: Option<String>,
    /// The API key, sent as a bearer token.
    #[arg(long, env = "PAWL_KEY", hide_env_values = true)]
    key: Option<String>,
}

pub(super) async fn node_types(args: NodeTypesArgs, common: &Common) -> Done {
    let answer = match &args.url {
        Some(url) => {
            from_server(
                &Server::new(url, args.key.clone()),
                args.node_type.as_deref(),
            )
            .await?
        }
        None => from_binary(args.node_type.as_deref(), common)?,
    };
    match (common.json, &args.node_type) {
        (true, _) => terminal::print_json(&answer),
        (false, Some(_)) => show(&client::read(&answer)?),
        (false, None) => list(&client::read(&answer)?),
    }
}

async fn from_server(server: &Server, node_type: Option<&str>) -> Result<Value, Failure> {
    let client = Client::new(server)?;
    match node_type {
        Some(name) => client.get(&["node-types", name]).await,
        None => client.get(&["node-types"]).await,
    }
}

fn from_binary(node_type: Option<&str>, common: &Common) -> Result<Value, Failure> {
    let registry = wiring::registry(&local::config(common)?, true)?;
    let Some(name) = node_type else {
        let handlers = registry.iter();
        let items: Vec<NodeType> = handlers.map(|handler| NodeType::of(&**handler)).collect();
        return Ok(json!(Page { items, next: None }));
    };
    let found = registry.get(name);
    let found = found.map(|handler| json!(NodeType::of(&**handler)));
    found.ok_or_else(|| {
        let known: Vec<&str> = registry.types().collect();
        Failure::bad_input(format!(
            "there is no node type `{name}`; there is {}",
            known.join(", ")
        ))
    })
}

fn list(page: &Page<NodeType>) -> Done {
    let mut table = Table::new(["TYPE", "CATEGORY", "EXITS", "WHAT IT DOES"]);
    for item in &page.items {
        table.row([
            item.node_type.as_ref().into(),
            item.category.as_ref().into(),
            item.handles.join(", ").into(),
            item.summary.as_str().into(),
        ]);
    }
    table.print()
}

fn show(spec: &NodeType) -> Done {
    let style = terminal::Style::stdout();
    let (name, title) = (text::line(&spec.node_type), text::line(&spec.title));
    terminal::say(&format!("{} – {title}\n", style.bold(&name)))?;
    terminal::say(&format!("{}\n", text::clean(&spec.doc)))?;
    show_fields(&spec.config_schema)?;
    terminal::say("")?;
    pair("exits", &spec.handles.join(", "))?;
    pair("output", &text::line(&spec.output))?;
    let example = text::clean(&spec.example).replace('\n', "\n  ");
    terminal::say(&format!("\nexample:\n  {example}"))
}

/// The properties of a JSON schema.
fn show_fields(schema: &Value) -> Done {
    let required: Vec<&Value> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let mut fields = Table::new(["FIELD", "NEEDED", "DEFAULT", "WHAT IT IS"]);
    for (name, kind) in schema["properties"].as_object().into_iter().flatten() {
        let needed = if required.iter().any(|known| *known == name) {
            "yes"
        } else {
            ""
        };
        fields.row([
            name.as_str().into(),
            needed.into(),
            text::brief(&kind["default"], usize::MAX).into(),
            text::brief(&kind["description"], usize::MAX).into(),
        ]);
    }
    fields.print()
}

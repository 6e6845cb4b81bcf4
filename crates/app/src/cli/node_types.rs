//! `pawl node-types`: what a schema can be made of. Answered by this binary; by a server if one is named.

use serde_json::{Value, json};

use super::client::{Client, Server};
use super::failure::{Done, Failure};
use super::schemas::{field, items, pair};
use super::table::Table;
use super::{Common, local, terminal, text};
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
        (false, Some(_)) => show(&answer),
        (false, None) => list(&answer),
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
        let all: Vec<Value> = registry
            .iter()
            .map(|handler| handler.spec().to_value())
            .collect();
        return Ok(json!({"items": all, "next": null}));
    };
    let found = registry.get(name).map(|handler| handler.spec().to_value());
    found.ok_or_else(|| {
        let known: Vec<&str> = registry.types().collect();
        Failure::bad_input(format!(
            "there is no node type `{name}`; there is {}",
            known.join(", ")
        ))
    })
}

fn list(answer: &Value) -> Done {
    let mut table = Table::new(["TYPE", "CATEGORY", "EXITS", "WHAT IT DOES"]);
    for item in items(answer) {
        table.row([
            field(item, "type").into(),
            field(item, "category").into(),
            names(&item["handles"]).into(),
            field(item, "summary").into(),
        ]);
    }
    table.print()
}

fn names(list: &Value) -> String {
    let names = list
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    names.collect::<Vec<_>>().join(", ")
}

fn show(spec: &Value) -> Done {
    let style = terminal::Style::stdout();
    terminal::say(&format!(
        "{} – {}\n",
        style.bold(&field(spec, "type")),
        field(spec, "title")
    ))?;
    terminal::say(&format!(
        "{}\n",
        text::clean(spec["doc"].as_str().unwrap_or_default())
    ))?;
    let schema = &spec["config_schema"];
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
            field(kind, "default").into(),
            field(kind, "description").into(),
        ]);
    }
    fields.print()?;
    terminal::say("")?;
    pair("exits", &names(&spec["handles"]))?;
    pair("output", &field(spec, "output"))?;
    terminal::say(&format!(
        "\nexample:\n  {}",
        text::clean(spec["example"].as_str().unwrap_or_default()).replace('\n', "\n  ")
    ))
}

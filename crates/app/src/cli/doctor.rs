//! `pawl doctor`: does everything open have somebody or something that will move it?

use http::Method;
use serde_json::Value;

use super::client::{Client, Content, Server};
use super::failure::{Done, Failure};
use super::schemas::{field, pair};
use super::table::Table;
use super::{Common, terminal, validate};

#[derive(clap::Args)]
pub(super) struct DoctorArgs {
    /// Repair what can be repaired.
    #[arg(long)]
    fix: bool,
    #[command(flatten)]
    server: Server,
}

/// Exit 1 if something is wrong and was not repaired: so it can watch over an installation.
pub(super) async fn doctor(args: DoctorArgs, common: &Common) -> Done {
    let client = Client::new(&args.server)?;
    let method = if args.fix { Method::POST } else { Method::GET };
    let report = client
        .ask(method, client.at(&["doctor"]), Content::None)
        .await?;
    match common.json {
        true => terminal::print_json(&report)?,
        false => show(&report)?,
    }
    match findings(&report).any(|finding| finding["fixed"] != true) {
        true => Err(Failure::Said(1)),
        false => Ok(()),
    }
}

fn findings(report: &Value) -> impl Iterator<Item = &Value> {
    report["findings"].as_array().into_iter().flatten()
}

fn show(report: &Value) -> Done {
    for (name, value) in facts(&report["about"]) {
        pair(&name, &value)?;
    }
    let open = report["open_executions"].as_u64().unwrap_or(0) as usize;
    let count = findings(report).count();
    terminal::say(&format!(
        "{} looked at, {}",
        validate::some(open, "open execution"),
        validate::some(count, "problem")
    ))?;
    if count == 0 {
        return Ok(());
    }
    let mut table = Table::new(["EXECUTION", "SCHEMA", "PROBLEM", "FIXED", "DETAIL"]);
    for finding in findings(report) {
        let fixed = if finding["fixed"] == true {
            "yes"
        } else {
            "no"
        };
        let subject = match field(finding, "execution_id") {
            id if id.is_empty() => field(finding, "quota"),
            id => id,
        };
        table.row([
            subject.into(),
            field(finding, "schema").into(),
            field(finding, "problem").into(),
            fixed.into(),
            field(finding, "detail").into(),
        ]);
    }
    table.print()
}

/// Name and value, from an object or from a list of pairs.
fn facts(about: &Value) -> Vec<(String, String)> {
    let shown = |value: &Value| super::text::brief(value, usize::MAX);
    match about {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), shown(value)))
            .collect(),
        Value::Array(pairs) => pairs
            .iter()
            .map(|pair| (shown(&pair[0]), shown(&pair[1])))
            .collect(),
        _ => Vec::new(),
    }
}

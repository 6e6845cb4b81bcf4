//! Commands that count many executions.

use url::Url;

use super::super::client::{self, Client};
use super::super::failure::Done;
use super::super::table::{self, Table};
use super::super::{terminal, text};
use super::{CountArgs, ErrorsArgs, FilterArgs};
use crate::wire::{CountGroup, ErrorList, ExecutionCounts};

impl FilterArgs {
    /// Adds what was given to a query.
    pub(super) fn write(&self, url: &mut Url) {
        let version = self.version.map(|version| version.to_string());
        let wanted = [
            ("status", &self.status),
            ("schema", &self.schema),
            ("text", &self.text),
            ("since", &self.since),
            ("label", &self.label),
            ("tenant", &self.tenant),
            ("created_by", &self.created_by),
            ("version", &version),
            ("node", &self.node),
            ("error_code", &self.error_code),
            ("retry_of", &self.retry_of),
            ("forked_from", &self.forked_from),
            ("finished_since", &self.finished_since),
            ("longer_than", &self.longer_than),
        ];
        let given = wanted
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)));
        let unresolved = self.unresolved.then_some(("unresolved", "true"));
        let trial = self.trial.then_some(("trial", "true"));
        let given: Vec<(&str, &str)> = given.chain(unresolved).chain(trial).collect();
        // An empty list of pairs would leave a lone question mark.
        if !given.is_empty() {
            url.query_pairs_mut().extend_pairs(given);
        }
    }
}

pub(super) async fn count(args: CountArgs, json: bool) -> Done {
    let client = Client::new(&args.server)?;
    let mut url = client.at(&["executions", "counts"]);
    args.filter.write(&mut url);
    url.query_pairs_mut().append_pair("group", &args.by);
    let answer = client.get_url(url).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let counts: ExecutionCounts<'_> = client::read(&answer)?;
    let mut table = Table::new(["GROUP", "COUNT"]);
    for group in &counts.groups {
        let name = group.schema.as_ref().unwrap_or(&group.key);
        let name = match counts.group.as_str() {
            "status" => table::status(name),
            _ => name.as_ref().into(),
        };
        table.row([name, figure(group).into()]);
    }
    table.print()?;
    match counts.capped {
        true => terminal::say("there may be more: only the newest are looked at"),
        false => Ok(()),
    }
}

fn figure(group: &CountGroup<'_>) -> String {
    let more = if group.capped { "+" } else { "" };
    format!("{}{more}", group.count)
}

pub(super) async fn errors(args: ErrorsArgs, json: bool) -> Done {
    let client = Client::new(&args.server)?;
    let mut url = client.at(&["executions", "errors"]);
    let wanted = [
        ("since", &args.since),
        ("schema", &args.schema),
        ("error_code", &args.error_code),
    ];
    let given = wanted
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_deref()?)));
    let given: Vec<(&str, &str)> = given.collect();
    if !given.is_empty() {
        url.query_pairs_mut().extend_pairs(given);
    }
    let answer = client.get_url(url).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let found: ErrorList<'_> = client::read(&answer)?;
    let mut table = Table::new([
        "CODE", "SCHEMA", "NODE", "COUNT", "OPEN", "LAST", "AT", "MESSAGE",
    ]);
    for group in &found.groups {
        table.row([
            group.code.as_ref().into(),
            group.schema.as_ref().into(),
            group.node.as_ref().into(),
            group.count.to_string().into(),
            group.unresolved.to_string().into(),
            group.last.to_string().into(),
            text::time(group.last_at).into(),
            group.last_message.as_str().into(),
        ]);
    }
    table.print()?;
    match found.capped {
        true => terminal::say("there may be more: only the newest are looked at"),
        false => Ok(()),
    }
}

//! Commands that only look.

use serde_json::{Value, json};

use super::super::client::{Client, Content};
use super::super::failure::{Done, Failure};
use super::super::schemas::{field, items, pair};
use super::super::table::{self, Table};
use super::super::validate::some;
use super::super::{source, terminal, text};
use super::words;
use super::{HistoryArgs, ListArgs, One, PreviewArgs};

/// Firings that `show` shows.
const FIRINGS_SHOWN: &str = "5";

pub(super) async fn list(args: ListArgs, json: bool) -> Done {
    let client = Client::new(&args.server)?;
    let mut url = client.at(&["scheduled-actions"]);
    let finished = match (args.finished, args.open) {
        (true, _) => Some("true".to_owned()),
        (_, true) => Some("false".to_owned()),
        _ => None,
    };
    let wanted = [
        ("prefix", &args.prefix),
        ("finished", &finished),
        ("due_before", &args.due_before),
        ("cursor", &args.cursor),
    ];
    let given = wanted
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_deref()?)));
    url.query_pairs_mut()
        .extend_pairs(given)
        .append_pair("limit", &args.limit.to_string());
    let answer = client.get_url(url).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let mut table = Table::new([
        "ID", "WHAT", "SCHEDULE", "STATE", "NEXT", "LAST", "OK", "FAILED",
    ]);
    for item in items(&answer) {
        let status = &item["status"];
        table.row([
            field(item, "id").into(),
            words::what(item).into(),
            words::schedule(&item["spec"]).into(),
            table::status(&words::state(item)),
            words::next_time(item).into(),
            text::api_time(&status["last"]["started_at"]).into(),
            field(status, "successful").into(),
            failures(status).to_string().into(),
        ]);
    }
    table.print()?;
    more(&answer)
}

fn failures(status: &Value) -> u64 {
    let count = |name: &str| status[name].as_u64().unwrap_or(0);
    count("failed") + count("interrupted")
}

fn more(answer: &Value) -> Done {
    match answer["next"].as_str() {
        Some(cursor) => terminal::say(&format!("more: --cursor {cursor}")),
        None => Ok(()),
    }
}

pub(super) async fn show(one: One, json: bool) -> Done {
    let client = Client::new(&one.server)?;
    let mut action = client.get(&["scheduled-actions", &one.id]).await?;
    let mut url = client.at(&["scheduled-actions", &one.id, "firings"]);
    url.query_pairs_mut().append_pair("count", FIRINGS_SHOWN);
    let firings = client.get_url(url).await?;
    if json {
        action["firings"] = firings["items"].clone();
        return terminal::print_json(&action);
    }
    describe(&action)?;
    describe_status(&action["status"])?;
    for (place, at) in items(&firings).enumerate() {
        let label = if place == 0 { "next firings" } else { "" };
        pair(label, &text::api_time(at))?;
    }
    Ok(())
}

fn describe(action: &Value) -> Done {
    let (meta, spec) = (&action["meta"], &action["spec"]);
    pair("id", &field(action, "id"))?;
    pair("does", &words::what(action))?;
    pair("schedule", &words::schedule(spec))?;
    pair("state", &words::state(action))?;
    pair("fires", &words::next(action))?;
    pair("deadline", &text::api_time(&spec["deadline"]))?;
    pair("shard", &field(action, "shard"))?;
    pair("owner", &field(action, "owner"))?;
    pair("lock guid", &field(action, "lock_guid"))?;
    pair("queued", &text::api_time(&action["queued_at"]))?;
    for (name, at, sync) in [
        ("moved", "moved_at", "moved_by_sync"),
        ("rescheduled", "rescheduled_at", "rescheduled_by_sync"),
    ] {
        let at = text::api_time(&action[at]);
        if !at.is_empty() {
            pair(name, &format!("{at} by the pass {}", field(action, sync)))?;
        }
    }
    let written = text::api_time(&meta["updated_at"]);
    pair(
        "written",
        &format!("{written} by {}", field(meta, "written_by")),
    )?;
    let known = ["created_at", "updated_at", "written_by"];
    let notes = meta.as_object().into_iter().flatten();
    for (name, value) in notes.filter(|(name, _)| !known.contains(&name.as_str())) {
        pair(name, &text::brief(value, usize::MAX))?;
    }
    Ok(())
}

fn describe_status(status: &Value) -> Done {
    let in_a_row = status["consecutive_failures"].as_u64().unwrap_or(0) as usize;
    let counters = format!(
        "{} successful, {} failed, {} interrupted; {} in a row",
        field(status, "successful"),
        field(status, "failed"),
        field(status, "interrupted"),
        some(in_a_row, "failure"),
    );
    pair("attempts", &counters)?;
    let current = text::api_time(&status["current"]["started_at"]);
    if !current.is_empty() {
        pair("now", &format!("an attempt since {current}"))?;
    }
    let last = &status["last"];
    if !last.is_null() {
        let at = text::api_time(&last["started_at"]);
        pair("last attempt", &format!("{at} {}", words::outcome(last)))?;
    }
    let skip = &status["last_skip"];
    if !skip.is_null() {
        let (from, until) = (
            text::api_time(&skip["from"]),
            text::api_time(&skip["until"]),
        );
        let reason = field(skip, "reason").replace('_', " ");
        pair("left out", &format!("{from} to {until} ({reason})"))?;
    }
    Ok(())
}

pub(super) async fn history(args: HistoryArgs, json: bool) -> Done {
    let client = Client::new(&args.one.server)?;
    let mut url = client.at(&["scheduled-actions", &args.one.id, "attempts"]);
    url.query_pairs_mut()
        .append_pair("limit", &args.limit.to_string())
        .extend_pairs(args.cursor.iter().map(|cursor| ("cursor", cursor)));
    let answer = client.get_url(url).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let mut table = Table::new(["PLANNED", "TRY", "STARTED", "TOOK", "OUTCOME", "ERROR"]);
    for item in items(&answer) {
        table.row([
            text::api_time(&item["planned_at"]).into(),
            field(item, "number").into(),
            text::api_time(&item["started_at"]).into(),
            text::api_duration(&item["started_at"], &item["finished_at"]).into(),
            table::status(item["outcome"].as_str().unwrap_or_default()),
            text::error(&item["error"], 200).into(),
        ]);
    }
    table.print()?;
    more(&answer)
}

pub(super) async fn preview(args: PreviewArgs, json: bool) -> Done {
    let mut body = match &args.file {
        Some(_) if args.when.is_given() => {
            return Err(Failure::bad_input(
                "give a file, or flags that say when, not both",
            ));
        }
        Some(file) => source::document(file)?,
        None => unnamed(&args)?,
    };
    if let Value::Object(fields) = &mut body {
        fields.insert("count".into(), json!(args.count));
    }
    let client = Client::new(&args.server)?;
    let path = ["scheduled-actions", "preview"];
    let answer = client.post(&path, Content::Json(body)).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let mut table = Table::new(["HERE", "UTC"]);
    for at in items(&answer) {
        table.row([
            text::api_time(at).into(),
            text::brief(at, usize::MAX).into(),
        ]);
    }
    table.print()
}

/// What it would do does not matter for when it would do it.
fn unnamed(args: &PreviewArgs) -> Result<Value, Failure> {
    let action = json!({"start_execution": {"schema": "any"}});
    let mut spec = json!({"policy": args.when.policy(None)?, "action": action});
    if let Some(at) = args.when.start_at()? {
        spec["start_at"] = json!(at);
    }
    Ok(json!({"spec": spec}))
}

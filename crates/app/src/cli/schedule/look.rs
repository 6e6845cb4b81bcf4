//! Commands that only look.

use serde_json::{Value, json};

use super::super::client::{self, Client, Content};
use super::super::failure::{Done, Failure};
use super::super::schemas::pair;
use super::super::table::{self, Table};
use super::super::validate::some;
use super::super::{source, terminal, text};
use super::words;
use super::{ActionHistoryArgs, ActionListArgs, OneAction, PreviewArgs};
use crate::wire::{ActionStatus, Attempt, Page, PlannedTime, ScheduledAction};

/// Firings that `show` shows.
const FIRINGS_SHOWN: &str = "5";

pub(super) async fn list(args: ActionListArgs, json: bool) -> Done {
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
    let page: Page<ScheduledAction> = client::read(&answer)?;
    for item in &page.items {
        let status = &item.status;
        let last = status.last.as_ref();
        table.row([
            item.id.as_ref().into(),
            words::what(item).into(),
            words::schedule(&item.spec).into(),
            table::status(&words::state(item)),
            words::next_time(item).into(),
            text::time(last.map(|last| last.started_at)).into(),
            status.successful.to_string().into(),
            (status.failed + status.interrupted).to_string().into(),
        ]);
    }
    table.print()?;
    more(page.next)
}

fn more(next: Option<String>) -> Done {
    match next {
        Some(cursor) => terminal::say(&format!("more: --cursor {cursor}")),
        None => Ok(()),
    }
}

pub(super) async fn show(one: OneAction, json: bool) -> Done {
    let client = Client::new(&one.server)?;
    let mut action = client.get(&["scheduled-actions", &one.id]).await?;
    let mut url = client.at(&["scheduled-actions", &one.id, "firings"]);
    url.query_pairs_mut().append_pair("count", FIRINGS_SHOWN);
    let firings = client.get_url(url).await?;
    if json {
        action["firings"] = firings["items"].clone();
        return terminal::print_json(&action);
    }
    let action: ScheduledAction = client::read(&action)?;
    describe(&action)?;
    describe_place(&action)?;
    describe_meta(&action)?;
    describe_status(&action.status)?;
    let firings: Page<PlannedTime> = client::read(&firings)?;
    for (place, PlannedTime(at)) in firings.items.into_iter().enumerate() {
        let label = if place == 0 { "next firings" } else { "" };
        pair(label, &text::time(at))?;
    }
    Ok(())
}

fn describe(action: &ScheduledAction<'_>) -> Done {
    pair("id", &text::line(&action.id))?;
    pair("does", &words::what(action))?;
    pair("schedule", &words::schedule(&action.spec))?;
    pair("state", &words::state(action))?;
    pair("fires", &words::next(action))?;
    pair("deadline", &text::time(action.spec.deadline))
}

fn describe_place(action: &ScheduledAction<'_>) -> Done {
    let Some(place) = &action.place else {
        return Ok(());
    };
    pair("shard", &text::optional(place.shard))?;
    pair("owner", &text::optional(place.owner.as_ref()))?;
    pair("lock guid", &text::optional(place.lock_guid))?;
    pair("queued", &text::time(place.queued_at))?;
    for (name, at, sync) in [
        ("moved", place.moved_at, place.moved_by_sync),
        (
            "rescheduled",
            place.rescheduled_at,
            place.rescheduled_by_sync,
        ),
    ] {
        if at.is_some() {
            let (at, sync) = (text::time(at), text::optional(sync));
            pair(name, &format!("{at} by the pass {sync}"))?;
        }
    }
    Ok(())
}

fn describe_meta(action: &ScheduledAction<'_>) -> Done {
    let meta = &action.meta;
    let (at, by) = (text::time(meta.updated_at), text::line(&meta.written_by));
    pair("written", &format!("{at} by {by}"))?;
    for (name, value) in &meta.notes {
        pair(name, &text::brief(value, usize::MAX))?;
    }
    Ok(())
}

fn describe_status(status: &ActionStatus) -> Done {
    let in_a_row = usize::try_from(status.consecutive_failures).unwrap_or(usize::MAX);
    let counters = format!(
        "{} successful, {} failed, {} interrupted; {} in a row",
        status.successful,
        status.failed,
        status.interrupted,
        some(in_a_row, "failure"),
    );
    pair("attempts", &counters)?;
    if let Some(current) = &status.current {
        let since = text::time(current.started_at);
        pair("now", &format!("an attempt since {since}"))?;
    }
    if let Some(last) = &status.last {
        let at = text::time(last.started_at);
        pair("last attempt", &format!("{at} {}", words::outcome(last)))?;
    }
    if let Some(skip) = &status.last_skip {
        let (from, until) = (text::time(skip.from), text::time(skip.until));
        let reason = skip.reason.as_str().replace('_', " ");
        pair("left out", &format!("{from} to {until} ({reason})"))?;
    }
    Ok(())
}

pub(super) async fn history(args: ActionHistoryArgs, json: bool) -> Done {
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
    let page: Page<Attempt> = client::read(&answer)?;
    for item in &page.items {
        table.row([
            text::time(item.planned_at).into(),
            item.number.to_string().into(),
            text::time(item.started_at).into(),
            text::between(item.started_at, item.finished_at).into(),
            table::status(item.outcome.as_str()),
            words::error(item, 200).into(),
        ]);
    }
    table.print()?;
    more(page.next)
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
    let mut table = Table::new(["LOCAL", "UTC"]);
    let page: Page<PlannedTime> = client::read(&answer)?;
    for PlannedTime(at) in page.items {
        table.row([text::time(at).into(), at.0.to_string().into()]);
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

//! Commands that only look.

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::client::{self, Client};
use super::super::failure::{Done, Failure};
use super::super::schemas::pair;
use super::super::table::{self, Table};
use super::super::terminal::{self, Colour, Style};
use super::super::text;
use super::{HistoryArgs, ListArgs, LogArgs, OneExecution};
use crate::wire::{
    Change, Comparison, CurrentContext, CurrentWait, Execution, ExplainAnswer, GoneSteps, LogLine,
    Note, Page, ShownStep, Step, StepContext, StepPage, StepPair, StepPlace,
};

pub(super) async fn list(args: ListArgs, json: bool) -> Done {
    let client = Client::new(&args.server)?;
    let mut url = client.at(&["executions"]);
    args.filter.write(&mut url);
    let cursor = args.cursor.as_deref().map(|cursor| ("cursor", cursor));
    url.query_pairs_mut()
        .extend_pairs(cursor)
        .append_pair("limit", &args.limit.to_string());
    let answer = client.get_url(url).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let mut table = Table::new([
        "ID", "SCHEMA", "STATUS", "NODE", "STEPS", "CREATED", "TOOK", "ERROR",
    ]);
    let page: Page<Execution> = client::read(&answer)?;
    for item in &page.items {
        table.row([
            item.id.to_string().into(),
            format!("{} v{}", item.schema, item.version).into(),
            table::status(item.status.as_str()),
            item.current_node_id.as_ref().into(),
            item.seq.to_string().into(),
            text::time(item.created_at).into(),
            text::between(item.created_at, item.finished_at).into(),
            error_code(item).into(),
        ]);
    }
    table.print()?;
    match page.next {
        Some(cursor) => terminal::say(&format!("more: --cursor {cursor}")),
        None => Ok(()),
    }
}

/// How it ended, or why the node it stands at failed before it is tried again; and where it went on, if it did.
fn error_code(execution: &Execution<'_>) -> String {
    let error = execution.error.as_ref().or(execution.last_error.as_ref());
    let code = error.map(|error| text::brief(&error.value()["code"], usize::MAX));
    let code = code.unwrap_or_default();
    match execution.retried_as {
        Some(retry) => format!("{code} (retried as {retry})"),
        None => code,
    }
}

pub(super) async fn show(one: OneExecution, json: bool) -> Done {
    let execution = Client::new(&one.server)?
        .get(&["executions", &one.id])
        .await?;
    if json {
        return terminal::print_json(&execution);
    }
    describe(&client::read(&execution)?)
}

/// An execution for people.
pub(super) fn describe(execution: &Execution<'_>) -> Done {
    let status = execution.status.as_str();
    let created_at = execution.created_at;
    pair("id", &execution.id.to_string())?;
    pair(
        "schema",
        &format!("{} v{}", execution.schema, execution.version),
    )?;
    // The only coloured value; `pair` takes plain text.
    let shown = Style::stdout().paint(terminal::status_colour(status), &text::line(status));
    terminal::say(&format!(
        "{}{shown}",
        Style::stdout().dim(&format!("{:<18}", "status"))
    ))?;
    pair("node", &text::line(&execution.current_node_id))?;
    pair("steps", &execution.seq.to_string())?;
    let (at, by) = (text::time(created_at), text::line(&execution.created_by));
    pair("created", &format!("{at} by {by}"))?;
    pair("finished", &text::time(execution.finished_at))?;
    pair("took", &text::between(created_at, execution.finished_at))?;
    pair("retry_of", &text::optional(execution.retry_of))?;
    pair("retried_as", &text::optional(execution.retried_as))?;
    pair("forked_from", &text::optional(execution.forked_from))?;
    if execution.trial {
        pair("trial", "yes: lists and statistics leave it out")?;
    }
    pair("tenant", &text::optional(execution.tenant.as_ref()))?;
    let key = execution.idempotency_key.as_ref();
    pair("idempotency_key", &text::optional(key))?;
    pair("hold", &text::optional(execution.hold.as_ref()))?;
    describe_wait(execution.wait.as_ref())?;
    describe_end(execution)?;
    say_notes(&execution.notes)
}

fn say_notes(notes: &[Note<'_>]) -> Done {
    notes
        .iter()
        .try_for_each(|note| terminal::say(&note_line(note)))
}

/// A note for people, on lines of its own.
pub(super) fn note_line(note: &Note<'_>) -> String {
    let (at, by) = (text::time(note.created_at), text::line(&note.created_by));
    // Indented: a line of the text must not pass for a note of its own.
    let text = text::clean(&note.text).replace('\n', "\n    ");
    format!("note of {at} by {by}: {text}")
}

fn describe_end(execution: &Execution<'_>) -> Done {
    if let Some(error) = &execution.last_error {
        let failed = execution.attempt.saturating_sub(1);
        let error = text::error(&error.value(), usize::MAX);
        pair("last error", &format!("{error} (try {failed})"))?;
    }
    let error = text::payload_error(execution.error.as_ref(), usize::MAX);
    pair("error", &error)?;
    match &execution.output {
        None => Ok(()),
        Some(output) => {
            let output = format!("{:#}", output.value());
            terminal::say(&format!("output\n{}", text::clean(&output)))
        }
    }
}

fn describe_wait(wait: Option<&CurrentWait<'_>>) -> Done {
    let Some(wait) = wait else {
        return Ok(());
    };
    let until = match text::time(wait.wake_at) {
        until if until.is_empty() => until,
        until => format!(" until {until}"),
    };
    let name = text::optional(wait.name.as_ref());
    pair("waits for", format!("{} {name}{until}", wait.kind).trim())
}

pub(super) async fn steps(args: HistoryArgs, json: bool) -> Done {
    let one = args.one;
    let numbers = [("from", args.from), ("to", args.to)];
    let numbers = numbers.map(|(name, number)| Some((name, number?.to_string())));
    let own = args.no_inherited.then(|| ("inherited", "false".to_owned()));
    let query: Vec<(&str, String)> = numbers.into_iter().flatten().chain(own).collect();
    let client = Client::new(&one.server)?;
    let all = all_pages(&client, &one.id, "steps", &query).await?;
    if json {
        return terminal::print_json(&all);
    }
    let mut table = Table::new(["SEQ", "NODE", "TYPE", "STATUS", "TOOK", "RESULT"]);
    let shown = client.get(&["executions", &one.id]).await?;
    let execution: Execution<'_> = client::read(&shown)?;
    let page: StepPage = client::read(&all)?;
    for step in &page.items {
        table.row([
            step.seq.to_string().into(),
            step.node_id.as_ref().into(),
            step.node_type.as_ref().into(),
            table::status(step.status.as_str()),
            text::between(step.started_at, step.finished_at).into(),
            result(step).into(),
        ]);
    }
    table.print()?;
    let taken_over = page.items.iter().filter(|step| step.inherited);
    if let Some(last) = taken_over.map(|step| step.seq).max() {
        terminal::say(&format!(
            "steps up to {last} were taken over; --no-inherited leaves them out"
        ))?;
    }
    say_gone(page.gone.as_ref())?;
    say_notes(&execution.notes)
}

/// What of the beginning is not kept any more.
fn say_gone(gone: Option<&GoneSteps>) -> Done {
    match gone {
        Some(gone) => terminal::say(&text::clean(&gone.message)),
        None => Ok(()),
    }
}

/// The error, or the output, or what the step did to variables.
pub(super) fn result(step: &Step<'_>) -> String {
    const CHARS: usize = 200;
    match (&step.error, &step.output, &step.changes) {
        (Some(error), _, _) => text::error(&error.value(), CHARS),
        (None, Some(output), _) => text::output(&output.value(), CHARS),
        (None, None, Some(changes)) => text::brief(&changes.value(), CHARS),
        (None, None, None) => String::new(),
    }
}

pub(super) async fn logs(args: LogArgs, json: bool) -> Done {
    let one = args.one;
    let wanted = [("level", args.level), ("node", args.node)];
    let wanted = wanted.map(|(name, text)| Some((name, text?)));
    let query: Vec<(&str, String)> = wanted.into_iter().flatten().collect();
    let all = all_pages(&Client::new(&one.server)?, &one.id, "logs", &query).await?;
    if json {
        return terminal::print_json(&all);
    }
    let style = Style::stdout();
    let page: Page<LogLine> = client::read(&all)?;
    for line in &page.items {
        let colour = match line.level.as_str() {
            "error" => Colour::Red,
            "warn" => Colour::Yellow,
            _ => Colour::Cyan,
        };
        let time = style.dim(&text::time(line.at));
        let level = style.paint(colour, &format!("{:<5}", text::line(line.level.as_str())));
        terminal::say(&format!(
            "{time} {level} {}: {}",
            text::line(&line.node_id),
            text::clean(&line.message)
        ))?;
    }
    Ok(())
}

/// What every list of an execution's history has.
#[derive(Deserialize)]
struct AnyPage {
    items: Vec<Value>,
    next: Option<String>,
    gone: Option<Value>,
}

/// All pages of a list as one.
async fn all_pages(
    client: &Client,
    id: &str,
    what: &str,
    query: &[(&str, String)],
) -> Result<Value, Failure> {
    let mut all = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut url = client.at(&["executions", id, what]);
        url.query_pairs_mut()
            .append_pair("limit", "500")
            .extend_pairs(query)
            .extend_pairs(cursor.iter().map(|cursor| ("cursor", cursor)));
        let page: AnyPage = client::read(&client.get_url(url).await?)?;
        all.extend(page.items);
        if page.next.is_some() {
            cursor = page.next;
            continue;
        }
        let mut whole = json!({"items": all, "next": null});
        if let Some(gone) = page.gone {
            whole["gone"] = gone;
        }
        return Ok(whole);
    }
}

pub(super) async fn context(one: OneExecution, seq: Option<u64>, json: bool) -> Done {
    let client = Client::new(&one.server)?;
    let Some(seq) = seq else {
        let now = client.get(&["executions", &one.id, "context"]).await?;
        if json {
            return terminal::print_json(&now);
        }
        let now: CurrentContext = client::read(&now)?;
        return terminal::print_json(&Value::Object(now.context.into_owned()));
    };
    let step = client
        .get(&["executions", &one.id, "steps", &seq.to_string(), "context"])
        .await?;
    if json {
        return terminal::print_json(&step);
    }
    let step: StepContext = client::read(&step)?;
    let after = Value::Object(step.after);
    terminal::say(&format!(
        "after step {seq}:\n{}\n\nwhat the step changed:",
        text::clean(&format!("{after:#}"))
    ))?;
    differences(&step.difference)
}

fn differences(list: &[Change]) -> Done {
    let mut table = Table::new(["PATH", "WHAT", "BEFORE", "AFTER"]);
    let shown = |value: &Option<Value>| {
        let text = value.as_ref().map(Value::to_string);
        text::cut(&text.unwrap_or_default(), 120)
    };
    for change in list {
        table.row([
            change.path.as_str().into(),
            change.op.as_str().into(),
            shown(&change.before).into(),
            shown(&change.after).into(),
        ]);
    }
    table.print()
}

pub(super) async fn explain(one: OneExecution, json: bool) -> Done {
    let answer = Client::new(&one.server)?
        .get(&["executions", &one.id, "explain"])
        .await?;
    if json {
        return terminal::print_json(&answer);
    }
    let found: ExplainAnswer = client::read(&answer)?;
    terminal::say(&format!("{}\n", text::line(&found.sentence)))?;
    for (name, value) in &found.facts {
        pair(name, &text::brief(value, usize::MAX))?;
    }
    Ok(())
}

pub(super) async fn diff(one: OneExecution, with: Option<&str>, own: bool, json: bool) -> Done {
    let client = Client::new(&one.server)?;
    let mut url = client.at(&["executions", &one.id, "diff"]);
    if own {
        url.query_pairs_mut().append_pair("inherited", "false");
    }
    if let Some(other) = with {
        url.query_pairs_mut().append_pair("with", other);
    }
    let answer = client.get_url(url).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let found: Comparison = client::read(&answer)?;
    for (side, run) in [("left", &found.left), ("right", &found.right)] {
        let what = format!("{} {} {} v{}", run.id, run.status, run.schema, run.version);
        pair(side, &what)?;
        say_gone(run.gone.as_ref())?;
    }
    pair("first divergence", &divergence(&found))?;
    terminal::say("")?;
    let mut table = Table::new(["NODE", "LEFT", "RIGHT", "DIFFERENCE"]);
    for step in &found.steps {
        let name = match step.visit {
            visit if visit > 1 => format!("{} #{visit}", step.node_id),
            _ => step.node_id.clone(),
        };
        table.row([
            name.into(),
            side_text(step.left.as_ref()).into(),
            side_text(step.right.as_ref()).into(),
            changes(step).into(),
        ]);
    }
    table.print()
}

fn divergence(found: &Comparison) -> String {
    let Some(found) = &found.first_divergence else {
        return "none: both took the same path with the same values".into();
    };
    let node = |side: Option<&StepPlace>| text::optional(side.map(|side| &side.node_id));
    format!(
        "step {}, {}: {} / {}",
        found.index,
        found.what,
        node(found.left.as_ref()),
        node(found.right.as_ref())
    )
}

fn side_text(step: Option<&ShownStep>) -> String {
    match step {
        None => "–".into(),
        Some(step) if step.inherited => format!("{}, taken over", step.status),
        Some(step) => {
            // As JSON writes it.
            let took = json!(step.duration_ms);
            format!("{} {took} ms", step.status)
        }
    }
}

fn changes(step: &StepPair) -> String {
    let value = |value: &Option<Value>| {
        let text = value.as_ref().map(|value| text::brief(value, 40));
        text.unwrap_or_default()
    };
    let shown = |change: &Change| {
        let (before, after) = (value(&change.before), value(&change.after));
        format!("{}: {before} → {after}", change.path)
    };
    let list = step.difference.iter().map(shown);
    list.collect::<Vec<_>>().join("; ")
}

//! Commands that only look.

use serde_json::{Value, json};

use super::super::client::Client;
use super::super::failure::{Done, Failure};
use super::super::schemas::{field, items, pair, status_cell};
use super::super::table::Table;
use super::super::terminal::{self, Colour, Style};
use super::super::text;
use super::{HistoryArgs, ListArgs, One};

pub(super) async fn list(args: ListArgs, json: bool) -> Done {
    let client = Client::new(&args.server)?;
    let mut url = client.at(&["executions"]);
    let wanted = [
        ("status", &args.status),
        ("schema", &args.schema),
        ("text", &args.text),
        ("since", &args.since),
        ("cursor", &args.cursor),
    ];
    let given = wanted
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_deref()?)));
    let unresolved = args.unresolved.then_some(("unresolved", "true"));
    url.query_pairs_mut()
        .extend_pairs(given.chain(unresolved))
        .append_pair("limit", &args.limit.to_string());
    let answer = client.get_url(url).await?;
    if json {
        return terminal::print_json(&answer);
    }
    let mut table = Table::new([
        "ID", "SCHEMA", "STATUS", "NODE", "STEPS", "CREATED", "TOOK", "ERROR",
    ]);
    for item in items(&answer) {
        table.row([
            field(item, "id").into(),
            format!("{} v{}", field(item, "schema"), field(item, "version")).into(),
            status_cell(item),
            field(item, "current_node_id").into(),
            field(item, "seq").into(),
            text::api_time(&item["created_at"]).into(),
            text::api_duration(&item["created_at"], &item["finished_at"]).into(),
            error_code(item).into(),
        ]);
    }
    table.print()?;
    match answer["next"].as_str() {
        Some(cursor) => terminal::say(&format!("more: --cursor {cursor}")),
        None => Ok(()),
    }
}

/// How it ended, or why the node it stands at failed before it is tried again; and where it went on, if it did.
fn error_code(execution: &Value) -> String {
    let code = match &execution["error"] {
        Value::Null => field(&execution["last_error"], "code"),
        error => field(error, "code"),
    };
    match execution["retried_as"].as_str() {
        Some(retry) => format!("{code} (retried as {retry})"),
        None => code,
    }
}

pub(super) async fn show(one: One, json: bool) -> Done {
    let execution = Client::new(&one.server)?
        .get(&["executions", &one.id])
        .await?;
    match json {
        true => terminal::print_json(&execution),
        false => describe(&execution),
    }
}

/// An execution for people.
pub(super) fn describe(execution: &Value) -> Done {
    let status = field(execution, "status");
    pair("id", &field(execution, "id"))?;
    pair(
        "schema",
        &format!(
            "{} v{}",
            field(execution, "schema"),
            field(execution, "version")
        ),
    )?;
    // The only coloured value; `pair` takes plain text.
    let shown = Style::stdout().paint(terminal::status_colour(&status), &status);
    terminal::say(&format!(
        "{}{shown}",
        Style::stdout().dim(&format!("{:<18}", "status"))
    ))?;
    pair("node", &field(execution, "current_node_id"))?;
    pair("steps", &field(execution, "seq"))?;
    pair(
        "created",
        &format!(
            "{} by {}",
            text::api_time(&execution["created_at"]),
            field(execution, "created_by")
        ),
    )?;
    pair("finished", &text::api_time(&execution["finished_at"]))?;
    pair(
        "took",
        &text::api_duration(&execution["created_at"], &execution["finished_at"]),
    )?;
    for name in [
        "retry_of",
        "retried_as",
        "forked_from",
        "tenant",
        "idempotency_key",
        "hold",
    ] {
        pair(name, &field(execution, name))?;
    }
    describe_wait(&execution["wait"])?;
    if !execution["last_error"].is_null() {
        let failed = execution["attempt"].as_u64().unwrap_or(1).saturating_sub(1);
        let error = text::error(&execution["last_error"], usize::MAX);
        pair("last error", &format!("{error} (try {failed})"))?;
    }
    pair("error", &text::error(&execution["error"], usize::MAX))?;
    match &execution["output"] {
        Value::Null => Ok(()),
        output => terminal::say(&format!("output\n{}", text::clean(&format!("{output:#}")))),
    }
}

fn describe_wait(wait: &Value) -> Done {
    let kind = field(wait, "kind");
    if kind.is_empty() {
        return Ok(());
    }
    let until = text::api_time(&wait["wake_at"]);
    let until = if until.is_empty() {
        until
    } else {
        format!(" until {until}")
    };
    pair(
        "waits for",
        format!("{kind} {}{until}", field(wait, "name")).trim(),
    )
}

pub(super) async fn steps(args: HistoryArgs, json: bool) -> Done {
    let one = args.one;
    let own: &[(&str, &str)] = match args.no_inherited {
        true => &[("inherited", "false")],
        false => &[],
    };
    let client = Client::new(&one.server)?;
    let all = all_pages(&client, &one.id, "steps", own).await?;
    if json {
        return terminal::print_json(&all);
    }
    let mut table = Table::new(["SEQ", "NODE", "TYPE", "STATUS", "TOOK", "RESULT"]);
    for step in items(&all) {
        table.row([
            field(step, "seq").into(),
            field(step, "node_id").into(),
            field(step, "node_type").into(),
            status_cell(step),
            text::api_duration(&step["started_at"], &step["finished_at"]).into(),
            result(step).into(),
        ]);
    }
    table.print()?;
    let taken_over = items(&all).filter(|step| step["inherited"] == true);
    let taken_over = taken_over.filter_map(|step| step["seq"].as_u64()).max();
    if let Some(last) = taken_over {
        terminal::say(&format!(
            "steps up to {last} were taken over; --no-inherited leaves them out"
        ))?;
    }
    say_gone(&all["gone"])
}

/// What of the beginning is not kept any more.
fn say_gone(gone: &Value) -> Done {
    match gone["message"].as_str() {
        Some(message) => terminal::say(&text::clean(message)),
        None => Ok(()),
    }
}

/// The error, or the output, or what the step did to variables.
pub(super) fn result(step: &Value) -> String {
    const CHARS: usize = 200;
    match (&step["error"], &step["output"]) {
        (Value::Null, Value::Null) => text::brief(&step["changes"], CHARS),
        (Value::Null, output) => text::output(output, CHARS),
        (error, _) => text::error(error, CHARS),
    }
}

pub(super) async fn logs(one: One, json: bool) -> Done {
    let all = all_pages(&Client::new(&one.server)?, &one.id, "logs", &[]).await?;
    if json {
        return terminal::print_json(&all);
    }
    let style = Style::stdout();
    for line in items(&all) {
        let level = field(line, "level");
        let colour = match level.as_str() {
            "error" => Colour::Red,
            "warn" => Colour::Yellow,
            _ => Colour::Cyan,
        };
        let time = style.dim(&text::api_time(&line["at"]));
        let level = style.paint(colour, &format!("{level:<5}"));
        terminal::say(&format!(
            "{time} {level} {}: {}",
            field(line, "node_id"),
            text::clean(line["message"].as_str().unwrap_or_default())
        ))?;
    }
    Ok(())
}

/// All pages of a list as one.
async fn all_pages(
    client: &Client,
    id: &str,
    what: &str,
    query: &[(&str, &str)],
) -> Result<Value, Failure> {
    let mut all = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut url = client.at(&["executions", id, what]);
        url.query_pairs_mut()
            .append_pair("limit", "500")
            .extend_pairs(query)
            .extend_pairs(cursor.iter().map(|cursor| ("cursor", cursor)));
        let page = client.get_url(url).await?;
        all.extend(items(&page).cloned());
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => {
                let mut whole = json!({"items": all, "next": null});
                if let Some(gone) = page.get("gone") {
                    whole["gone"] = gone.clone();
                }
                return Ok(whole);
            }
        }
    }
}

pub(super) async fn context(one: One, seq: Option<u64>, json: bool) -> Done {
    let client = Client::new(&one.server)?;
    let Some(seq) = seq else {
        let now = client.get(&["executions", &one.id, "context"]).await?;
        return terminal::print_json(if json { &now } else { &now["context"] });
    };
    let step = client
        .get(&["executions", &one.id, "steps", &seq.to_string(), "context"])
        .await?;
    if json {
        return terminal::print_json(&step);
    }
    terminal::say(&format!(
        "after step {seq}:\n{}\n\nwhat the step changed:",
        text::clean(&format!("{:#}", step["after"]))
    ))?;
    differences(&step["difference"])
}

fn differences(list: &Value) -> Done {
    let mut table = Table::new(["PATH", "WHAT", "BEFORE", "AFTER"]);
    for change in list.as_array().into_iter().flatten() {
        let value = |name: &str| {
            change
                .get(name)
                .map(|value| text::cut(&value.to_string(), 120))
                .unwrap_or_default()
        };
        table.row([
            field(change, "path").into(),
            field(change, "op").into(),
            value("before").into(),
            value("after").into(),
        ]);
    }
    table.print()
}

pub(super) async fn explain(one: One, json: bool) -> Done {
    let answer = Client::new(&one.server)?
        .get(&["executions", &one.id, "explain"])
        .await?;
    if json {
        return terminal::print_json(&answer);
    }
    terminal::say(&format!("{}\n", field(&answer, "sentence")))?;
    for (name, value) in answer["facts"].as_object().into_iter().flatten() {
        pair(name, &text::brief(value, usize::MAX))?;
    }
    Ok(())
}

pub(super) async fn diff(one: One, with: Option<&str>, own: bool, json: bool) -> Done {
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
    for side in ["left", "right"] {
        let run = &answer[side];
        pair(
            side,
            &format!(
                "{} {} {} v{}",
                field(run, "id"),
                field(run, "status"),
                field(run, "schema"),
                field(run, "version")
            ),
        )?;
        say_gone(&run["gone"])?;
    }
    pair("first divergence", &divergence(&answer["first_divergence"]))?;
    terminal::say("")?;
    let mut table = Table::new(["NODE", "LEFT", "RIGHT", "DIFFERENCE"]);
    for step in answer["steps"].as_array().into_iter().flatten() {
        let name = match step["visit"].as_u64() {
            Some(visit) if visit > 1 => format!("{} #{visit}", field(step, "node_id")),
            _ => field(step, "node_id"),
        };
        table.row([
            name.into(),
            side_text(&step["left"]).into(),
            side_text(&step["right"]).into(),
            changes(step).into(),
        ]);
    }
    table.print()
}

fn divergence(found: &Value) -> String {
    match found {
        Value::Null => "none: both took the same path with the same values".into(),
        found => {
            let node = |side: &str| field(&found[side], "node_id");
            format!(
                "step {}, {}: {} / {}",
                field(found, "index"),
                field(found, "what"),
                node("left"),
                node("right")
            )
        }
    }
}

fn side_text(step: &Value) -> String {
    match step {
        Value::Null => "–".into(),
        step if step["inherited"] == true => format!("{}, taken over", field(step, "status")),
        step => format!(
            "{} {} ms",
            field(step, "status"),
            field(step, "duration_ms")
        ),
    }
}

fn changes(step: &Value) -> String {
    let shown = |change: &Value| {
        let value = |name: &str| text::brief(&change[name], 40);
        format!(
            "{}: {} → {}",
            field(change, "path"),
            value("before"),
            value("after")
        )
    };
    let list = step["difference"].as_array().into_iter().flatten();
    list.map(shown).collect::<Vec<_>>().join("; ")
}

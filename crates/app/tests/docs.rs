//! The documentation says what the program does: generated parts are up to date, examples are valid, links
//! lead somewhere, commands and routes exist. `cargo xtask docs` writes the generated parts anew.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use pawl::api::{self, ApiState, Limits};
use pawl::config::Config;
use pawl::wiring::{self, EmbeddedEngine};
use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::node::{FieldKind, FieldMode, FieldSpec, NodeSpec, Registry};
use pawl_kernel::schema;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

// --- files -----------------------------------------------------------------------------------------------

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md and docs/*.md: the name as seen from the root, and the text.
fn pages() -> Vec<(String, String)> {
    let folder = std::fs::read_dir(root().join("docs")).unwrap();
    let mut names: Vec<String> = folder
        .map(|entry| format!("docs/{}", entry.unwrap().file_name().into_string().unwrap()))
        .filter(|name| name.ends_with(".md"))
        .collect();
    names.push("README.md".into());
    names.sort();
    assert!(names.len() > 10, "the documentation is missing: {names:?}");
    names
        .into_iter()
        .map(|name| {
            let text = std::fs::read_to_string(root().join(&name)).unwrap();
            (name, text)
        })
        .collect()
}

/// A fenced block: the word after the fence, the line it begins at, and what is in it.
struct Block {
    kind: String,
    line: usize,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(kind), None) => {
                open = Some(Block {
                    kind: kind.trim().into(),
                    line: number + 2,
                    text: String::new(),
                });
            }
            (Some(_), Some(block)) => found.push(block),
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block is not closed");
    found
}

/// The page without its fenced blocks.
fn prose(page: &str) -> String {
    let mut inside = false;
    let mut text = String::new();
    for line in page.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if !inside {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// Compares the region `name` of a page with what it should be; with UPDATE_DOCS=1 it is written instead.
fn check_region(page: &str, name: &str, wanted: &str) {
    let path = root().join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let begin = format!("<!-- generated:{name} -->\n");
    let (before, rest) = text
        .split_once(&begin)
        .unwrap_or_else(|| panic!("{page} has no region {name}"));
    let (now, after) = rest
        .split_once("<!-- /generated -->")
        .unwrap_or_else(|| panic!("the region {name} of {page} does not end"));
    let wanted = format!("\n{}\n\n", wanted.trim());
    if now == wanted {
        return;
    }
    if std::env::var("UPDATE_DOCS").is_ok_and(|value| value == "1") {
        let fresh = format!("{before}{begin}{wanted}<!-- /generated -->{after}");
        // Other tests read the page at the same time: they find the old one or the new one.
        let beside = path.with_extension("md.new");
        std::fs::write(&beside, fresh).unwrap();
        return std::fs::rename(&beside, &path).unwrap();
    }
    let differs = now
        .lines()
        .zip(wanted.lines())
        .find(|(old, new)| old != new);
    panic!(
        "the region {name} of {page} is out of date; run `cargo xtask docs`.\nFirst difference: {differs:#?}"
    );
}

// --- node types ------------------------------------------------------------------------------------------

fn registry() -> Registry {
    wiring::registry(&Config::default(), true).unwrap()
}

const CATEGORIES: &[&str] = &["flow", "data", "time", "effects"];

/// All specs, by category and name.
fn specs(registry: &Registry) -> Vec<&'static NodeSpec> {
    let mut specs: Vec<&'static NodeSpec> = registry.iter().map(|handler| handler.spec()).collect();
    let rank = |spec: &&NodeSpec| {
        let known = CATEGORIES.iter().position(|name| *name == spec.category);
        (known.unwrap_or(usize::MAX), spec.node_type)
    };
    specs.sort_by_key(rank);
    specs
}

#[test]
fn nodes_page_is_fresh() {
    let registry = registry();
    let specs = specs(&registry);
    let mut page = String::from("| type | category | what it does |\n|---|---|---|\n");
    for spec in &specs {
        let (name, category) = (spec.node_type, spec.category);
        let summary = cell(spec.summary());
        writeln!(page, "| [`{name}`](#{name}) | {category} | {summary} |").unwrap();
    }
    for spec in specs {
        section(spec, &mut page);
    }
    check_region("docs/nodes.md", "nodes", &page);
}

fn section(spec: &NodeSpec, page: &mut String) {
    let kind = if spec.pure { "pure" } else { "effectful" };
    write!(
        page,
        "\n## {}\n\n{} · {} · {kind}\n\n{}\n\n",
        spec.node_type,
        spec.title,
        spec.category,
        spec.doc.trim()
    )
    .unwrap();
    if spec.fields.is_empty() {
        page.push_str("It has no config.\n\n");
    } else {
        page.push_str(
            "| field | type | default | expressions | what it is |\n|---|---|---|---|---|\n",
        );
        rows("", spec.fields, page);
        page.push('\n');
    }
    let handles: Vec<String> = match (spec.node_type, spec.handles) {
        ("end", _) => vec!["none".into()],
        ("fail", _) => vec!["`error`".into()],
        (_, []) => vec!["`success`".into()],
        (_, named) => named.iter().map(|name| format!("`{name}`")).collect(),
    };
    write!(
        page,
        "**Exits:** {}. **Output:** {}\n\n```yaml\n{}```\n",
        handles.join(", "),
        spec.output.trim(),
        node(spec, &format!("my_{}", spec.node_type))
    )
    .unwrap();
}

fn rows(prefix: &str, fields: &[FieldSpec], page: &mut String) {
    for field in fields {
        let default = match (field.required, field.default) {
            (true, _) => "required".into(),
            (false, Some(text)) => format!("`{text}`"),
            (false, None) => String::new(),
        };
        let mode = match field.mode {
            FieldMode::Template => "`{{ }}`",
            FieldMode::Url => "`{{ }}`, encoded",
            FieldMode::LateTemplate => "`{{ }}`, when it is its turn",
            FieldMode::LateExpression => {
                "whole field is an expression, evaluated when the statement runs"
            }
            FieldMode::Expression => "is one",
            FieldMode::Raw => "none",
        };
        let name = format!("{prefix}{}", field.name);
        writeln!(
            page,
            "| `{name}` | {} | {} | {mode} | {} |",
            cell(&kind_text(&field.kind)),
            cell(&default),
            cell(field.doc)
        )
        .unwrap();
        if let Some((marks, inner)) = nested(&field.kind) {
            rows(&format!("{name}{marks}."), inner, page);
        }
    }
}

/// The fields inside an object, a list of objects or a map of them.
fn nested(kind: &FieldKind) -> Option<(&'static str, &'static [FieldSpec])> {
    match kind {
        FieldKind::Object(fields) => Some(("", fields)),
        FieldKind::List(FieldKind::Object(fields)) => Some(("[]", fields)),
        FieldKind::Map(FieldKind::Object(fields)) => Some(("{}", fields)),
        _ => None,
    }
}

fn kind_text(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Text => "text".into(),
        FieldKind::Boolean => "boolean".into(),
        FieldKind::Integer { min, max } => format!("integer {min} to {max}"),
        FieldKind::Number => "number".into(),
        FieldKind::Duration => "duration".into(),
        FieldKind::Choice(names) => names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(" "),
        FieldKind::Map(value) => format!("object of {}", kind_text(value)),
        FieldKind::List(item) => format!("list of {}", kind_text(item)),
        FieldKind::Object(_) => "object".into(),
        FieldKind::Either(kinds) => kinds.iter().map(kind_text).collect::<Vec<_>>().join(" or "),
        FieldKind::Any => "any".into(),
    }
}

/// Text for one cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// A node with the spec's example as its config.
fn node(spec: &NodeSpec, id: &str) -> String {
    let mut text = format!("- id: {id}\n  type: {}\n", spec.node_type);
    let example = spec.example.trim();
    if !matches!(example, "" | "{}") {
        text.push_str("  config:\n");
        for line in example.lines() {
            writeln!(text, "    {line}").unwrap();
        }
    }
    text
}

#[test]
fn examples_of_node_types_are_valid() {
    let registry = registry();
    for spec in specs(&registry) {
        let mut nodes = node(spec, "it");
        let mut edges = String::new();
        if spec.node_type != "start" {
            nodes.push_str("- { id: begin, type: start }\n");
            // Examples read what a call before them gave.
            nodes.push_str(
                "- { id: http_1, type: http_request, config: { url: 'https://example.com' } }\n",
            );
            edges.push_str("- { source: begin, target: http_1 }\n");
            edges.push_str("- { source: http_1, target: it }\n");
        }
        if spec.node_type != "end" {
            nodes.push_str("- { id: done, type: end }\n");
            let exit = spec.handles.first().unwrap_or(&"success");
            writeln!(
                edges,
                "- {{ source: it, target: done, sourceHandle: {exit} }}"
            )
            .unwrap();
        }
        let text = format!("name: example\nnodes:\n{nodes}edges:\n{edges}");
        check_schema(spec.node_type, &text, &registry);
    }
}

fn check_schema(place: &str, text: &str, registry: &Registry) {
    let loaded = schema::load(Some(place), text, registry);
    let errors: Vec<Diagnostic> = loaded
        .diagnostics
        .into_iter()
        .filter(Diagnostic::is_error)
        .collect();
    assert!(
        errors.is_empty(),
        "{}",
        schema::render_diagnostics(text, &errors, false)
    );
}

#[test]
fn schemas_in_the_docs_are_valid() {
    let registry = registry();
    let mut count = 0;
    for (page, text) in pages() {
        for block in blocks(&text) {
            let has = |name: &str| block.text.lines().any(|line| line.starts_with(name));
            if block.kind == "yaml" && has("name:") && has("nodes:") {
                check_schema(&format!("{page}:{}", block.line), &block.text, &registry);
                count += 1;
            }
        }
    }
    assert!(count >= 3, "only {count} schemas found");
}

#[test]
fn configurations_in_the_docs_are_valid() {
    let mut count = 0;
    for (page, text) in pages() {
        for block in blocks(&text).iter().filter(|block| block.kind == "toml") {
            let read = toml::from_str::<Config>(&block.text);
            assert!(read.is_ok(), "{page}:{}: {read:?}", block.line);
            count += 1;
        }
    }
    assert!(count > 0, "no configuration found");
}

// --- expressions and error codes -------------------------------------------------------------------------

#[test]
fn function_table_is_fresh() {
    check_region(
        "docs/expressions.md",
        "functions",
        &pawl_kernel::expr::reference_markdown(),
    );
}

#[test]
fn validation_codes_are_fresh() {
    let mut table = String::from("| code | what is wrong |\n|---|---|\n");
    for (code, meaning) in schema::CODES {
        writeln!(table, "| `{code}` | {} |", cell(meaning)).unwrap();
    }
    check_region("docs/errors.md", "validation-codes", &table);
}

#[test]
fn codes_of_scheduled_actions_are_fresh() {
    let mut table = String::from("| code | what is wrong |\n|---|---|\n");
    for (code, meaning) in pawl_kernel::schedule::codes::CODES {
        writeln!(table, "| `{code}` | {} |", cell(meaning)).unwrap();
    }
    check_region("docs/errors.md", "schedule-codes", &table);
}

/// A hint that sends people to a node type has to send them to one that is there.
#[test]
fn diagnostics_name_only_node_types_that_exist() {
    let registry = registry();
    let mut files = Vec::new();
    for folder in [
        "kernel/src/schema",
        "kernel/src/webhook",
        "kernel/src/schedule",
        "nodes/src",
        "sql/src",
        "script/src",
    ] {
        rust_files(&root().join("crates").join(folder), &mut files);
    }
    let mut count = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for line in code.lines().filter(|line| line.contains('"')) {
            for name in node_types_in(line) {
                assert!(registry.get(name).is_some(), "{}: {line}", file.display());
                count += 1;
            }
        }
    }
    assert!(count > 5, "only {count} mentions found");
}

/// X of "a `X` node", "type `X`" and "type: X".
fn node_types_in(line: &str) -> Vec<&str> {
    let is_name =
        |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let quoted = line.split("` node").take(line.matches("` node").count());
    let quoted = quoted.filter_map(|before| before.rsplit('`').next());
    let typed = line.split("type `").skip(1);
    let typed = typed.filter_map(|after| after.split('`').next());
    let written = line.split("type: ").skip(1);
    let written = written.filter_map(|after| after.split([' ', '`', '}', ',']).next());
    quoted.chain(typed).chain(written).filter(is_name).collect()
}

#[test]
fn mentions_of_node_types_are_found() {
    let line = "\"use a `parallel` node or one of type `end`, as in `{ id: a, type: log }`\"";
    assert_eq!(node_types_in(line), ["parallel", "end", "log"]);
    assert!(node_types_in("let message = format!(\"there is no node type `{}`\");").is_empty());
}

/// The codes in the first column of every table of errors.md, table by table.
fn documented_codes() -> Vec<BTreeSet<String>> {
    let page = std::fs::read_to_string(root().join("docs/errors.md")).unwrap();
    let mut tables: Vec<BTreeSet<String>> = vec![BTreeSet::new()];
    for line in page.lines() {
        let code = line
            .strip_prefix("| `")
            .and_then(|rest| rest.split_once('`'));
        match (code, tables.last_mut()) {
            (Some((code, _)), Some(table)) if is_code(code) => {
                assert!(
                    table.insert(code.into()),
                    "{code} stands twice in one table"
                );
            }
            _ if !line.starts_with('|') => tables.push(BTreeSet::new()),
            _ => {}
        }
    }
    tables.retain(|table| !table.is_empty());
    tables
}

fn is_code(text: &str) -> bool {
    text.len() > 3
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

#[test]
fn error_codes_are_unique_and_complete() {
    let tables = documented_codes();
    assert!(tables.len() >= 4, "errors.md has {} tables", tables.len());
    let by_hand = tables.iter().flatten().map(String::as_str);
    let schedule = pawl_kernel::schedule::codes::CODES;
    let generated = schema::CODES.iter().chain(schedule).map(|(code, _)| *code);
    let documented: BTreeSet<&str> = by_hand.chain(generated).collect();
    let missing: Vec<String> = codes_in_the_source()
        .into_iter()
        .filter(|code| !documented.contains(code.as_str()))
        .collect();
    assert!(missing.is_empty(), "errors.md does not explain {missing:?}");
}

/// Codes as the program writes them down: the first text after one of these.
const CODE_MARKS: &[&str] = &[
    "NodeError::new(",
    "error(",
    "Diagnostic::error(",
    "Diagnostic::warning(",
    "StatusCode::",
    "\"code\": ",
    "code: ",
];
/// In files called error.rs a `match` gives each kind its code.
const MATCH_MARK: &str = " => ";

fn codes_in_the_source() -> BTreeSet<String> {
    let mut files = Vec::new();
    for krate in ["kernel", "engine", "nodes", "script", "sql", "app"] {
        rust_files(&root().join("crates").join(krate).join("src"), &mut files);
    }
    let mut codes = BTreeSet::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let in_match = file.ends_with("error.rs").then_some(&MATCH_MARK);
        for mark in CODE_MARKS.iter().chain(in_match) {
            for rest in code.split(mark).skip(1) {
                codes.extend(code_after(mark, rest));
            }
        }
    }
    assert!(codes.len() > 30, "only {codes:?}");
    codes
}

fn code_after(mark: &str, rest: &str) -> Option<String> {
    // A status is followed by the code that goes with it: `StatusCode::CONFLICT, "CONFLICT"`.
    let rest = match mark {
        "StatusCode::" => rest.split_once(',')?.1,
        _ => rest,
    };
    let text = rest.trim_start().strip_prefix('"')?.split_once('"')?.0;
    is_code(text).then(|| text.to_owned())
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" && name != "bench" {
            rust_files(&path, files);
        } else if name.ends_with(".rs") && !name.contains("test") {
            files.push(path);
        }
    }
}

// --- metrics ---------------------------------------------------------------------------------------------

#[test]
fn metrics_page_is_fresh() {
    let mut page = String::from("| metric | kind | labels | what it is |\n|---|---|---|---|\n");
    for about in api::metrics::descriptions() {
        let labels: Vec<String> = about
            .labels
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            about.name,
            about.kind.name(),
            labels.join(" "),
            cell(about.help)
        )
        .unwrap();
    }
    check_region("docs/metrics.md", "metrics", &page);
}

/// Every name in the rules for alarms is one that there is.
#[test]
fn alarms_name_metrics_that_exist() {
    let names: Vec<&str> = api::metrics::descriptions()
        .iter()
        .map(|about| about.name)
        .collect();
    let mut count = 0;
    for (page, text) in pages() {
        for block in blocks(&text).iter().filter(|block| block.kind == "promql") {
            let is_sign = |letter: char| !letter.is_ascii_alphanumeric() && letter != '_';
            for word in block.text.split(is_sign) {
                if !word.starts_with("pawl_") {
                    continue;
                }
                let endings = ["", "_bucket", "_sum", "_count"];
                let base = endings
                    .iter()
                    .filter_map(|ending| word.strip_suffix(ending));
                assert!(
                    base.clone().any(|base| names.contains(&base)),
                    "{page}:{}: {word}",
                    block.line
                );
                count += 1;
            }
        }
    }
    assert!(count > 10, "only {count} metrics in alarms");
}

// --- commands --------------------------------------------------------------------------------------------

/// One command, with the help that the binary prints for it.
struct HelpPage {
    /// `executions start`; empty for the program itself.
    words: Vec<String>,
    /// Other names of its last word.
    aliases: Vec<String>,
    help: String,
}

static HELP: LazyLock<Vec<HelpPage>> = LazyLock::new(|| {
    let mut pages = Vec::new();
    collect_help(Vec::new(), Vec::new(), &mut pages);
    pages
});

fn collect_help(words: Vec<String>, aliases: Vec<String>, pages: &mut Vec<HelpPage>) {
    let help = help(&words);
    let section = help.split_once("\nCommands:\n").map(|(_, rest)| rest);
    let section = section.and_then(|rest| rest.split("\n\n").next());
    let children: Vec<String> = section
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect();
    pages.push(HelpPage {
        words: words.clone(),
        aliases,
        help,
    });
    for line in children {
        let name = line.split_whitespace().next().unwrap().to_owned();
        if name == "help" {
            continue;
        }
        let aliases = line
            .split_once("[aliases: ")
            .or_else(|| line.split_once("[alias: "))
            .and_then(|(_, rest)| rest.split_once(']'))
            .map(|(names, _)| names.split(", ").map(str::to_owned).collect());
        let mut inner = words.clone();
        inner.push(name);
        collect_help(inner, aliases.unwrap_or_default(), pages);
    }
}

/// What the binary prints, whatever the environment of the test holds.
fn help(words: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pawl"))
        .args(words)
        .arg("--help")
        .env_clear()
        .output()
        .unwrap();
    assert!(output.status.success(), "pawl {words:?} --help failed");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

#[test]
fn cli_page_is_fresh() {
    let mut page = String::new();
    for HelpPage { words, help, .. } in HELP.iter() {
        let level = "#".repeat(2 + words.len().saturating_sub(1));
        let title = format!("pawl {}", words.join(" "));
        write!(
            page,
            "{level} {}\n\n```text\n{}\n```\n\n",
            title.trim(),
            own_help(words, help).trim()
        )
        .unwrap();
    }
    check_region("docs/cli.md", "commands", &page);
}

/// The options that every command has are shown once, with the program itself.
fn own_help(words: &[String], help: &str) -> String {
    const COMMON: &[&str] = &["--json ", "--log-json ", "--config ", "-h, --help "];
    let is_common = |line: &&str| COMMON.iter().any(|name| line.trim().starts_with(name));
    let shown = help
        .lines()
        .filter(|line| words.is_empty() || !is_common(line));
    let text: String = shown.map(|line| format!("{line}\n")).collect();
    match text.trim_end().strip_suffix("Options:") {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

/// Commands in a block, with continued lines joined and prompts, assignments and comments taken off.
fn commands(block: &Block) -> Vec<Vec<String>> {
    if !matches!(block.kind.as_str(), "sh" | "console") {
        return Vec::new();
    }
    let joined = block.text.replace("\\\n", " ");
    joined
        .lines()
        .map(|line| {
            line.trim()
                .trim_start_matches("$ ")
                .split(" # ")
                .next()
                .unwrap()
                .split_whitespace()
                .map(str::to_owned)
                .skip_while(|word| word.contains('=') && !word.starts_with('-'))
                .collect::<Vec<_>>()
        })
        .filter(|words: &Vec<String>| !words.is_empty())
        .collect()
}

#[test]
fn commands_in_the_docs_exist() {
    let mut count = 0;
    for (page, text) in pages() {
        for block in blocks(&text) {
            for words in commands(&block) {
                let own: &[String] = match words[0].as_str() {
                    "pawl" => &words[1..],
                    "cargo" if words.starts_with(&RUN.map(String::from)) => &words[RUN.len()..],
                    _ => continue,
                };
                count += 1;
                check_command(&format!("{page}:{}", block.line), own);
            }
        }
    }
    assert!(count > 20, "only {count} commands found");
}

/// Literal ones; what a command makes is not known here.
#[test]
fn admin_keys_in_the_docs_are_accepted() {
    const MARK: &str = "PAWL_ADMIN_KEY=";
    let mut count = 0;
    for (page, text) in pages() {
        for block in blocks(&text) {
            for given in block.text.split(MARK).skip(1) {
                let quote = given.chars().next().filter(|mark| "'\"".contains(*mark));
                let value = match quote {
                    Some(quote) => given[1..].split(quote).next(),
                    None => given.split_whitespace().next(),
                };
                let value = value.unwrap_or_default();
                let place = format!("{page}:{}", block.line);
                let made = value.starts_with('$');
                let accepted = made || api::check_admin_key(Some(value)).is_ok();
                assert!(accepted, "{place}: `{value}` is refused");
                count += 1;
            }
        }
    }
    assert!(count > 0, "no key found");
}

const RUN: [&str; 4] = ["cargo", "run", "--release", "--"];

fn check_command(place: &str, words: &[String]) {
    let shown = words.join(" ");
    let mut found = &HELP[0];
    for word in words {
        let depth = found.words.len();
        let inner = HELP.iter().find(|page| {
            page.words.len() == depth + 1
                && page.words[..depth] == found.words[..]
                && (page.words[depth] == *word || page.aliases.contains(word))
        });
        match inner {
            Some(inner) => found = inner,
            None => break,
        }
    }
    let has_children = HELP.iter().any(|page| {
        page.words.len() == found.words.len() + 1 && page.words.starts_with(&found.words)
    });
    let rest = &words[found.words.len()..];
    let is_flag = |word: &String| word.starts_with('-');
    assert!(
        !has_children || rest.first().is_none_or(is_flag),
        "{place}: there is no command `pawl {shown}`"
    );
    for flag in rest.iter().filter(|word| word.starts_with("--")) {
        let name = flag.split('=').next().unwrap();
        assert!(
            found
                .help
                .split_whitespace()
                .any(|word| word.trim_end_matches(',') == name),
            "{place}: `pawl {}` has no `{name}`",
            found.words.join(" ")
        );
    }
}

// --- routes ----------------------------------------------------------------------------------------------

/// The OpenAPI document, as the server gives it.
static OPENAPI: LazyLock<Value> = LazyLock::new(|| {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(Box::pin(fetch_openapi()))
});

async fn fetch_openapi() -> Value {
    let folder = tempfile::tempdir().unwrap();
    let embedded = Box::pin(EmbeddedEngine::start(folder.path(), &Config::default()))
        .await
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let state = ApiState::new(embedded.control.clone(), Limits::default());
    let server = tokio::spawn(api::serve(listener, state, stop.clone()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request =
        format!("GET /api/openapi.json HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    stop.cancel();
    server.await.unwrap().unwrap();
    embedded.shutdown().await;
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

/// Method, path and description of every route.
fn routes() -> Vec<(String, String, &'static Value)> {
    let paths = OPENAPI["paths"].as_object().unwrap();
    paths
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap();
            methods
                .iter()
                .map(|(method, route)| (method.to_uppercase(), path.clone(), route))
        })
        .collect()
}

#[test]
fn route_table_is_fresh() {
    let mut page = String::new();
    let mut tag = "";
    for (method, path, route) in routes() {
        let own_tag = route["tags"][0].as_str().unwrap();
        if own_tag != tag {
            tag = own_tag;
            write!(
                page,
                "\n### {tag}\n\n| route | what it does | role | parameters | body | answers |\n|---|---|---|---|---|---|\n"
            )
            .unwrap();
        }
        writeln!(
            page,
            "| `{method} {path}` | {} | {} | {} | {} | {} |",
            cell(route["summary"].as_str().unwrap()),
            route["x-role"].as_str().unwrap_or("–"),
            parameters(route),
            body(route),
            answers(route)
        )
        .unwrap();
    }
    check_region("docs/api.md", "routes", &page);
}

fn parameters(route: &Value) -> String {
    let all = route["parameters"].as_array().into_iter().flatten();
    let shown = all.filter_map(|parameter| {
        let name = parameter["name"].as_str()?;
        match parameter["in"].as_str()? {
            "query" => Some(format!("`?{name}`")),
            "header" => Some(format!("`{name}:`")),
            _ => None,
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn body(route: &Value) -> String {
    let content = route["requestBody"]["content"].as_object();
    let kind = content.and_then(|content| content.values().next());
    let schema = kind.and_then(|kind| kind["schema"]["$ref"].as_str());
    match schema.and_then(|path| path.rsplit('/').next()) {
        Some("Any") => "any JSON".into(),
        Some(name) => format!("`{name}`"),
        None if content.is_some() => "any JSON".into(),
        None => String::new(),
    }
}

fn answers(route: &Value) -> String {
    let answers = route["responses"].as_object().unwrap();
    let codes = answers.keys().filter(|code| *code != "default");
    codes.cloned().collect::<Vec<_>>().join(", ")
}

#[test]
fn routes_in_the_docs_exist() {
    let routes = routes();
    let mut count = 0;
    for (page, text) in pages() {
        for block in blocks(&text) {
            for words in commands(&block).iter().filter(|words| words[0] == "curl") {
                let address = words
                    .iter()
                    .map(|word| word.trim_matches(['\'', '"']))
                    .find_map(|word| word.split_once("127.0.0.1:8080"))
                    .unwrap_or_else(|| panic!("{page}:{}: curl calls nothing", block.line));
                let path = address.1.split('?').next().unwrap();
                let place = format!("{page}:{}", block.line);
                assert!(
                    routes.iter().any(|(_, known, _)| fits(known, path)),
                    "{place}: there is no route {path}"
                );
                count += 1;
            }
        }
    }
    assert!(count > 10, "only {count} calls found");
}

fn fits(route: &str, path: &str) -> bool {
    let (route, path): (Vec<&str>, Vec<&str>) =
        (route.split('/').collect(), path.split('/').collect());
    // The last part takes whatever is left.
    let takes_rest = route.last().is_some_and(|last| last.starts_with("{path}"));
    (route.len() == path.len() || (takes_rest && route.len() <= path.len()))
        && route
            .iter()
            .zip(path)
            .all(|(known, part)| known.starts_with('{') || *known == part)
}

// --- links -----------------------------------------------------------------------------------------------

#[test]
fn links_lead_somewhere() {
    let mut count = 0;
    for (page, text) in pages() {
        let folder = root().join(&page).parent().unwrap().to_owned();
        for link in links(&prose(&text)) {
            if link.contains("://") {
                continue;
            }
            count += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => root().join(&page),
                file => folder.join(file),
            };
            assert!(target.exists(), "{page}: the link {link} leads nowhere");
            if !anchor.is_empty() {
                let text = std::fs::read_to_string(&target).unwrap();
                assert!(
                    anchors(&text).contains(anchor),
                    "{page}: {link}: there is no such heading"
                );
            }
        }
    }
    assert!(count > 20, "only {count} links found");
}

fn links(text: &str) -> Vec<String> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(link, _)| link.to_owned())
        .collect()
}

/// Headings as they are linked to: lower case, words joined by hyphens, signs left out.
fn anchors(page: &str) -> BTreeSet<String> {
    prose(page)
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            line.trim_start_matches('#')
                .trim()
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

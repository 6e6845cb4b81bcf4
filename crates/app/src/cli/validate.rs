//! `pawl validate`: every problem of every file at once.

use std::path::{Path, PathBuf};

use pawl_kernel::diagnostic::{Diagnostic, Severity};
use pawl_kernel::node::Registry;
use pawl_kernel::schema;
use serde_json::json;

use super::failure::{Done, Failure};
use super::terminal::{self, Style};
use super::{Common, local, source};
use crate::wiring;

#[derive(clap::Args)]
pub(super) struct ValidateArgs {
    /// Schema files, or folders to look through for *.yaml, *.yml and *.json.
    #[arg(required = true, value_name = "FILE")]
    paths: Vec<PathBuf>,
}

/// What was found in one file.
struct FileReport {
    path: PathBuf,
    text: String,
    diagnostics: Vec<Diagnostic>,
}

pub(super) fn validate(args: ValidateArgs, common: &Common) -> Done {
    let registry = wiring::registry(&local::config(common)?, true)?;
    let mut files = Vec::new();
    for path in &args.paths {
        collect(path, 0, &mut files).map_err(Failure::bad_input)?;
    }
    if files.is_empty() {
        return Err(Failure::bad_input(
            "no schema files (*.yaml, *.yml, *.json) there",
        ));
    }
    let checked: Vec<FileReport> = files
        .into_iter()
        .map(|path| check(path, &registry))
        .collect();
    match common.json {
        true => show_json(&checked)?,
        false => show(&checked)?,
    }
    match count(&checked, Diagnostic::is_error) {
        0 => Ok(()),
        _ => Err(Failure::Said(2)),
    }
}

/// Files as named; of folders what looks like a schema, in the order of names.
fn collect(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), String> {
    const DEPTH_MAX: usize = 32;
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let problem = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let entries: Result<Vec<_>, _> = std::fs::read_dir(path).map_err(problem)?.collect();
    let mut entries = entries.map_err(problem)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        // A link to a folder could lead round in circles.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !hidden
            && ((is_folder && depth < DEPTH_MAX)
                || (!is_folder && looks_like_schema(&entry.path())))
        {
            collect(&entry.path(), depth + 1, files)?;
        }
    }
    Ok(())
}

fn looks_like_schema(path: &Path) -> bool {
    path.is_file()
        && path
            .extension()
            .is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known))
}

fn check(path: PathBuf, registry: &Registry) -> FileReport {
    let file = path.display().to_string();
    match source::schema_text(&path) {
        Ok(text) => {
            let diagnostics = schema::load(Some(&file), &text, registry).diagnostics;
            FileReport {
                path,
                text,
                diagnostics,
            }
        }
        Err(message) => {
            let mut problem = Diagnostic::error("UNREADABLE_FILE", "", message);
            problem.file = Some(file);
            FileReport {
                path,
                text: String::new(),
                diagnostics: vec![problem],
            }
        }
    }
}

fn show(checked: &[FileReport]) -> Done {
    let style = Style::stdout();
    for file in checked {
        if file.diagnostics.is_empty() {
            terminal::say(&format!(
                "{} {}",
                style.green("ok"),
                super::text::clean(&file.path.display().to_string())
            ))?;
        } else {
            terminal::print(&schema::render_diagnostics(
                &file.text,
                &file.diagnostics,
                style.is_on(),
            ))?;
        }
    }
    let of = |severity| count(checked, |found| found.severity == severity);
    let mut words = vec![
        some(checked.len(), "file"),
        some(of(Severity::Error), "error"),
        some(of(Severity::Warning), "warning"),
    ];
    let notes = of(Severity::Note);
    if notes > 0 {
        words.push(some(notes, "note"));
    }
    terminal::say(&words.join(", "))
}

fn show_json(checked: &[FileReport]) -> Done {
    let all: Vec<&Diagnostic> = checked.iter().flat_map(|file| &file.diagnostics).collect();
    terminal::print_json(&json!(all))
}

fn count(checked: &[FileReport], which: impl Fn(&Diagnostic) -> bool) -> usize {
    checked
        .iter()
        .flat_map(|file| &file.diagnostics)
        .filter(|diagnostic| which(diagnostic))
        .count()
}

/// `no errors`, `1 error`, `2 errors`.
pub(super) fn some(count: usize, noun: &str) -> String {
    match count {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        many => format!("{many} {noun}s"),
    }
}

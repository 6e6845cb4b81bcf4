//! The house rules that no compiler checks, each with its reason.

mod ui;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use words::type_names;

/// A function fits one screen.
const FUNCTION_LINES: usize = 70;
/// A file can be read in one sitting; tests do not count.
const FILE_LINES: usize = 600;

pub(crate) fn check(root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for path in rust_files(&root.join("crates"))
        .into_iter()
        .chain(rust_files(&root.join("xtask")))
    {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let shown = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .display()
            .to_string();
        check_file(&shown, &text, &mut problems);
    }
    check_nodes(root, &mut problems);
    check_architecture(root, &mut problems);
    words::check(root, &mut problems);
    ui::check(root, &mut problems);
    problems
}

pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.ends_with("target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

pub(crate) fn is_test_code(path: &str) -> bool {
    path.contains("/tests/")
        || path.contains("/tests.rs")
        || path.contains("testkit/")
        || path.contains("/testing")
}

fn check_file(path: &str, text: &str, problems: &mut Vec<String>) {
    if is_test_code(path) {
        return check_ignored(path, text, problems);
    }
    let body = without_tests(text);
    let lines = body.lines().count();
    if lines > FILE_LINES {
        problems.push(format!(
            "{path}: {lines} lines without tests, at most {FILE_LINES}"
        ));
    }
    check_functions(path, body, problems);
    check_sql(path, body, problems);
    check_ignored(path, text, problems);
}

/// The source up to its module of tests. Single items for tests may stand above it.
pub(crate) fn without_tests(text: &str) -> &str {
    let mark = concat!("#[cfg(", "test)]\nmod tests {");
    text.split(mark).next().unwrap_or(text)
}

fn check_functions(path: &str, body: &str, problems: &mut Vec<String>) {
    let long = function_lengths(body).filter(|(_, length)| *length > FUNCTION_LINES);
    problems.extend(long.map(|(start, length)| {
        format!("{path}:{start}: a function of {length} lines, at most {FUNCTION_LINES}")
    }));
}

/// Where each function begins and how many lines it has, from the indentation of formatted code.
pub(crate) fn function_lengths(body: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut open: Option<(usize, String)> = None;
    body.lines().enumerate().filter_map(move |(number, line)| {
        let indent = &line[..line.len() - line.trim_start().len()];
        match &open {
            None if is_function_start(line.trim_start()) => {
                let ends_here = line.trim_end().ends_with([';', '}']);
                open = (!ends_here).then(|| (number, format!("{indent}}}")));
                line.trim_end().ends_with('}').then_some((number + 1, 1))
            }
            // A declaration over several lines, in a trait.
            Some((_, end))
                if line.trim_end().ends_with(';') && line.starts_with(&end.replace('}', ")")) =>
            {
                open = None;
                None
            }
            Some((start, end)) if line == end => {
                let found = (start + 1, number - start + 1);
                open = None;
                Some(found)
            }
            _ => None,
        }
    })
}

fn is_function_start(line: &str) -> bool {
    let mut rest = line;
    if let Some((_, behind)) = line
        .strip_prefix("pub(in ")
        .and_then(|path| path.split_once(") "))
    {
        rest = behind;
    }
    for word in [
        "pub(crate) ",
        "pub(super) ",
        "pub ",
        "const ",
        "async ",
        "unsafe ",
    ] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    rest.starts_with("fn ")
}

/// SQL lives in the `.sql` files of the stores, where both can be read side by side.
fn check_sql(path: &str, body: &str, problems: &mut Vec<String>) {
    let starts = ["\"SELECT ", "\"INSERT INTO ", "\"UPDATE ", "\"DELETE FROM "];
    for (number, line) in body.lines().enumerate() {
        if starts.iter().any(|start| line.contains(start))
            && !path.contains("bench")
            && !path.starts_with("xtask")
        {
            problems.push(format!(
                "{path}:{}: SQL text outside a .sql file",
                number + 1
            ));
        }
    }
}

fn check_ignored(path: &str, text: &str, problems: &mut Vec<String>) {
    let mark = concat!("#[", "ignore");
    for (number, _) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.trim_start().starts_with(mark))
    {
        problems.push(format!(
            "{path}:{}: a test that does not run proves nothing",
            number + 1
        ));
    }
}

/// Every node type has a golden flow.
fn check_nodes(root: &Path, problems: &mut Vec<String>) {
    let Ok(library) = fs::read_to_string(root.join("crates/nodes/src/lib.rs")) else {
        return;
    };
    let types: Vec<&str> = library
        .lines()
        .filter_map(|line| {
            line.trim()
                .strip_prefix("Arc::new(")?
                .split_once("::")
                .map(|(module, _)| module)
        })
        .collect();
    if types.len() < 12 {
        problems
            .push("crates/nodes/src/lib.rs: fewer than twelve node types are registered".into());
    }
    for node_type in types {
        if !root.join(format!("tests/flows/{node_type}.yaml")).exists() {
            problems.push(format!(
                "tests/flows/{node_type}.yaml is missing: every node type has a golden flow"
            ));
        }
    }
}

/// A map that names places which are not there misleads.
fn check_architecture(root: &Path, problems: &mut Vec<String>) {
    let Ok(text) = fs::read_to_string(root.join("ARCHITECTURE.md")) else {
        return problems.push("ARCHITECTURE.md is missing".into());
    };
    let paths = text.split('`').skip(1).step_by(2).filter(|word| {
        ["crates/", "xtask/", "docs/", "examples/", "tests/"]
            .iter()
            .any(|start| word.starts_with(start))
    });
    for path in paths.filter(|path| !path.contains(['*', '<', ' ', '…'])) {
        if !root.join(path).exists() {
            problems.push(format!(
                "ARCHITECTURE.md names {path}, which does not exist"
            ));
        }
    }
}

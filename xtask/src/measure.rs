//! How large the house is: lines, functions, comments, names and repeated places, for each crate.
//!
//! Counted from formatted source without its tests. Rough on purpose: a table to compare with the one before a change.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use crate::tidy::{function_lengths, is_test_code, rust_files, type_names, without_tests};

/// Places that share so many lines in a row count as repeated.
const RUN: usize = 6;

#[derive(Default)]
struct Measure {
    files: usize,
    lines: usize,
    comments: usize,
    functions: Vec<usize>,
    test_lines: usize,
    /// How many types have each name.
    types: BTreeMap<String, usize>,
    repeated: usize,
}

pub(crate) fn print(root: &Path) {
    let head = [
        "crate",
        "files",
        "lines",
        "fns",
        "median",
        "p95",
        "max",
        "comment %",
        "types",
        "names used twice",
        "repeated places",
        "test lines",
    ];
    println!("| {} |", head.join(" | "));
    println!("|---{}|", "|---:".repeat(head.len() - 1));
    let mut folders: Vec<_> = fs::read_dir(root.join("crates"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    folders.push(root.join("xtask"));
    let mut all = Measure::default();
    for folder in folders {
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let measure = measure(&folder);
        row(&name, &measure);
        all.add(measure);
    }
    row("all", &all);
}

fn measure(folder: &Path) -> Measure {
    let mut measure = Measure::default();
    let mut bodies = Vec::new();
    for path in rust_files(folder) {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let shown = path.display().to_string();
        if is_test_code(&shown) && !shown.contains("testkit/") {
            measure.test_lines += text.lines().count();
            continue;
        }
        let body = without_tests(&text);
        measure.files += 1;
        measure.lines += body.lines().count();
        measure.test_lines += text.lines().count() - body.lines().count();
        measure.comments += body
            .lines()
            .filter(|line| line.trim_start().starts_with("//"))
            .count();
        measure
            .functions
            .extend(function_lengths(body).map(|(_, length)| length));
        for (_, name) in type_names(body) {
            *measure.types.entry(name).or_default() += 1;
        }
        bodies.push(telling_lines(body));
    }
    measure.repeated = repeated(&bodies);
    measure
}

/// Lines that say something: without empty lines, imports, comments and closing brackets.
fn telling_lines(body: &str) -> Vec<String> {
    body.lines()
        .map(str::trim)
        .filter(|line| line.len() > 3 && !line.starts_with("//") && !line.starts_with("use "))
        .map(str::to_owned)
        .collect()
}

/// Stretches of [`RUN`] lines or more that stand elsewhere too. A stretch counts once in each place.
fn repeated(bodies: &[Vec<String>]) -> usize {
    let mut counts: HashMap<&[String], usize> = HashMap::new();
    for window in bodies.iter().flat_map(|body| body.windows(RUN)) {
        *counts.entry(window).or_default() += 1;
    }
    let stretches = |body: &Vec<String>| {
        let twice: Vec<bool> = body.windows(RUN).map(|window| counts[window] > 1).collect();
        let first = usize::from(twice.first() == Some(&true));
        first + twice.windows(2).filter(|pair| !pair[0] && pair[1]).count()
    };
    bodies.iter().map(stretches).sum()
}

impl Measure {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.lines += other.lines;
        self.comments += other.comments;
        self.functions.extend(other.functions);
        self.test_lines += other.test_lines;
        self.repeated += other.repeated;
        for (name, count) in other.types {
            *self.types.entry(name).or_default() += count;
        }
    }
}

fn row(name: &str, measure: &Measure) {
    let mut lengths = measure.functions.clone();
    lengths.sort_unstable();
    let at = |share: usize| {
        lengths
            .get(lengths.len() * share / 100)
            .copied()
            .unwrap_or(0)
    };
    let most = lengths.last().copied().unwrap_or(0);
    let comments = measure.comments * 1000 / measure.lines.max(1);
    let twice = measure.types.values().filter(|count| **count > 1).count();
    println!(
        "| {name} | {} | {} | {} | {} | {} | {most} | {}.{} | {} | {twice} | {} | {} |",
        measure.files,
        measure.lines,
        lengths.len(),
        at(50),
        at(95),
        comments / 10,
        comments % 10,
        measure.types.values().sum::<usize>(),
        measure.repeated,
        measure.test_lines,
    );
}

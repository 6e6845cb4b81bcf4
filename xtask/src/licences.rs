//! What the dependencies may be: licences from the list in `xtask/licences.txt`, sources from one registry.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Everything that is wrong, one line each.
pub(crate) fn check(root: &Path, cargo: &str) -> Result<Vec<String>, String> {
    let allowed = read(&root.join("xtask/licences.txt"))?;
    let allowed: BTreeSet<&str> = allowed
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let mut problems = refused(&tree(cargo)?, &allowed);
    problems.extend(foreign_sources(&read(&root.join("Cargo.lock"))?));
    Ok(problems)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// `NAME VERSION|LICENCE`, a line for each crate. `cargo tree` knows what `cargo metadata` knows, and needs no JSON to be read.
fn tree(cargo: &str) -> Result<String, String> {
    let words =
        "tree --workspace --locked --target all -e normal,build,dev --prefix none --no-dedupe";
    let output = Command::new(cargo)
        .args(words.split(' '))
        .args(["--format", "{p}|{l}"])
        .output()
        .map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn refused(tree: &str, allowed: &BTreeSet<&str>) -> Vec<String> {
    // A cycle through dev-dependencies is cut off with a star, whatever is asked.
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)"));
    let crates: BTreeSet<&str> = lines.filter(|line| !line.is_empty()).collect();
    let split = crates.into_iter().filter_map(|line| line.split_once('|'));
    let bad = split.filter(|(_, licence)| !is_allowed(licence, allowed));
    bad.map(|(name, licence)| {
        let licence = if licence.is_empty() { "none" } else { licence };
        format!("{name}: its licence is {licence}, which is not in xtask/licences.txt")
    })
    .collect()
}

/// An SPDX expression: `AND` binds tighter than `OR`, an old `/` means `OR`, `WITH` adds permissions only.
fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let fits = any_of(&mut words, allowed);
    fits && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words<'_>, allowed: &BTreeSet<&str>) -> bool {
    let mut fits = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        fits |= all_of(words, allowed);
    }
    fits
}

fn all_of(words: &mut Words<'_>, allowed: &BTreeSet<&str>) -> bool {
    let mut fits = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        fits &= one(words, allowed);
    }
    fits
}

fn one(words: &mut Words<'_>, allowed: &BTreeSet<&str>) -> bool {
    let fits = match words.next() {
        Some("(") => {
            let fits = any_of(words, allowed);
            words.next() == Some(")") && fits
        }
        Some(name) => allowed.contains(name),
        None => false,
    };
    if words.next_if_eq(&"WITH").is_some() {
        words.next();
    }
    fits
}

/// A crate from a git address or a second registry is code that no other project has looked at.
fn foreign_sources(lock: &str) -> Vec<String> {
    let sources = lock
        .lines()
        .filter_map(|line| line.strip_prefix("source = "));
    let sources: BTreeSet<&str> = sources.collect();
    let registries = sources.iter().filter(|source| source.contains("registry+"));
    let second = (registries.count() > 1).then(|| "Cargo.lock names more than one registry".into());
    let others = sources
        .iter()
        .filter(|source| !source.contains("registry+"));
    let others = others.map(|source| format!("Cargo.lock: {source} is not a registry"));
    second.into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let allowed = BTreeSet::from(["MIT", "ISC", "Apache-2.0"]);
        for good in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(GPL-3.0 OR ISC) AND MIT",
            "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
            "ISC AND (Apache-2.0 OR GPL-2.0) AND MIT",
            "(GPL-2.0 OR GPL-3.0) OR MIT",
        ] {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in [
            "",
            "AGPL-3.0",
            "MIT AND AGPL-3.0",
            "MIT AND (AGPL-3.0 OR GPL-3.0)",
            "(MIT",
            "MIT MIT",
        ] {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn crates_and_sources() {
        let allowed = BTreeSet::from(["MIT"]);
        let found = refused("a v1|MIT\nb v2|AGPL-3.0\nb v2|AGPL-3.0\nc v3|\n", &allowed);
        assert_eq!(found.len(), 2, "{found:?}");
        let lock = "source = \"registry+one\"\nsource = \"registry+one\"\n";
        assert_eq!(foreign_sources(lock), [""; 0]);
        let lock = format!("{lock}source = \"registry+two\"\nsource = \"git+elsewhere\"\n");
        assert_eq!(foreign_sources(&lock).len(), 2);
    }
}

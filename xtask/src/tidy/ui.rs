//! The rules of `ui/` that hold between files. Those within a file (colours, texts, HTML out of text) are in the linter of
//! the UI, which knows its language.

use std::fs;
use std::path::{Path, PathBuf};

/// A file can be read in one sitting. Texts are a list, and generated types are not read.
const FILE_LINES: usize = 300;

pub(super) fn check(root: &Path, problems: &mut Vec<String>) {
    let folder = root.join("ui/src");
    for path in sources(&folder) {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let own = path.strip_prefix(&folder).unwrap_or(&path);
        check_file(&own.display().to_string(), &text, problems);
    }
    let lock = fs::read_to_string(root.join("ui/package-lock.json")).unwrap_or_default();
    if lock.contains("\"resolved\": \"http") {
        problems.push("ui/package-lock.json names the address of a registry; .npmrc has omit-lockfile-registry-resolved".into());
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if path.is_dir() {
            files.extend(sources(&path));
        } else if ending.is_some_and(|ending| ["ts", "tsx", "css"].contains(&ending)) {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// `own`: the path below `ui/src`.
fn check_file(own: &str, text: &str, problems: &mut Vec<String>) {
    let lines = text.lines().count();
    let is_list = own.starts_with("messages/") || own == "api/types.ts";
    if lines > FILE_LINES && !is_list {
        problems.push(format!("ui/src/{own}: {lines} lines, at most {FILE_LINES}"));
    }
    for (number, line) in text.lines().enumerate() {
        let target = imported(line).map(|target| resolve(own, target));
        let wrong = target.and_then(|target| wrong_import(own, &target));
        let calls =
            line.contains("fetch(") && !line.contains("prefetch(") && !line.contains("refetch(");
        let wrong = match wrong {
            None if calls
                && is_call(line)
                && !own.starts_with("api/")
                && !own.contains(".test.") =>
            {
                Some("calls are made in api/ only".to_owned())
            }
            found => found,
        };
        if let Some(wrong) = wrong {
            problems.push(format!("ui/src/{own}:{}: {wrong}", number + 1));
        }
    }
}

/// The word `fetch` alone, not the end of another one, a method or a comment.
fn is_call(line: &str) -> bool {
    let before = line.split("fetch(").next().unwrap_or_default();
    let is_word =
        !before.ends_with(|letter: char| letter.is_alphanumeric() || "_.`'\"".contains(letter));
    is_word && !before.contains("//") && !before.trim_start().starts_with('*')
}

/// What stands behind `from` or in `import(…)`, if it is a path.
fn imported(line: &str) -> Option<&str> {
    let rest = line.split_once(" from ").map(|(_, rest)| rest);
    let rest = rest.or_else(|| line.split_once("import(").map(|(_, rest)| rest))?;
    let rest = rest.trim_start().strip_prefix(['\'', '"'])?;
    let target = rest.split(['\'', '"']).next()?;
    target.starts_with('.').then_some(target)
}

/// From `features/run/Run.tsx`, `../../api/live` is `api/live`.
fn resolve(own: &str, target: &str) -> String {
    let mut parts: Vec<&str> = own.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts.join("/")
}

fn wrong_import(own: &str, target: &str) -> Option<String> {
    let feature = |path: &str| {
        let name = path.strip_prefix("features/")?.split('/').next()?;
        Some(name.to_owned())
    };
    if own.starts_with("graph/") && !target.starts_with("graph/") {
        return Some("graph/ imports nothing but itself".into());
    }
    match (feature(own), feature(target)) {
        (Some(own), Some(other)) if own != other => {
            Some(format!("a feature imports no other feature: {other}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(own: &str, text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        check_file(own, text, &mut problems);
        problems
    }

    #[test]
    fn features_know_nothing_of_each_other() {
        let own = "features/run/Run.tsx";
        for fine in [
            "import { a } from './Steps';",
            "import { b } from '../../api/live';",
            "const c = import('../run/Debug');",
            "import x from 'react';",
        ] {
            assert_eq!(found(own, fine), Vec::<String>::new(), "{fine}");
        }
        for wrong in [
            "import { a } from '../runs/Table';",
            "const c = import(\"../editor/Form\");",
        ] {
            assert_eq!(found(own, wrong).len(), 1, "{wrong}");
        }
        assert_eq!(
            found("graph/layout.ts", "import { a } from '../api/json';").len(),
            1
        );
        assert!(found("graph/layout.ts", "import { a } from './model';").is_empty());
    }

    #[test]
    fn calls_are_made_in_one_place() {
        let call = "  const answer = await fetch('/api/me');";
        assert_eq!(found("frame/session.ts", call).len(), 1);
        for (own, line) in [
            ("api/client.ts", call),
            ("frame/session.ts", "void query.refetch();"),
            ("frame/session.ts", "prefetch(route);"),
            ("frame/session.ts", "// fetch( is not used here"),
            ("frame/session.test.ts", call),
        ] {
            assert_eq!(found(own, line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn long_files_are_named() {
        let long = "x\n".repeat(FILE_LINES + 1);
        assert_eq!(found("frame/Frame.tsx", &long).len(), 1);
        assert!(found("messages/en.ts", &long).is_empty());
    }
}

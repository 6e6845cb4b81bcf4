//! What comes from files, flags and stdin, read with limits and checked before anything starts.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path};

use pawl_kernel::schema::render_diagnostics;
use pawl_kernel::schema::source::Source;
use serde_json::{Map, Value};

use super::failure::Failure;

/// The limit on a schema's bytes; the loader checks it too, but must not be handed a disk image.
const SCHEMA_BYTES_MAX: u64 = 4 << 20;
const CODE_BYTES_MAX: u64 = 1 << 20;
const INPUT_BYTES_MAX: u64 = 16 << 20;

/// The text of a schema file, or a sentence why not.
pub(super) fn schema_text(path: &Path) -> Result<String, String> {
    let shown = path.display();
    if path.is_dir() {
        return Err(format!("{shown} is a folder, not a schema file"));
    }
    let bytes = read_limited(path, SCHEMA_BYTES_MAX)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        format!(
            "{shown} is not text: byte {} is not UTF-8",
            error.utf8_error().valid_up_to() + 1
        )
    })?;
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Err(format!("{shown} is empty"));
    }
    inline_sources(path, text)
}

/// The `name` of a schema, if the text can be read and has one.
pub(super) fn name_of(text: &str) -> Option<String> {
    let source = Source::parse(None, text).ok()?;
    Some(source.value().get("name")?.as_str()?.to_owned())
}

/// `source: {file: …}` of a `code` node becomes the text of that file: a server reads no files for its clients.
/// Whatever else is wrong with the schema is for its loader to say.
fn inline_sources(schema: &Path, text: String) -> Result<String, String> {
    if !text.contains("file") {
        return Ok(text);
    }
    let Ok(source) = Source::parse(None, &text) else {
        return Ok(text);
    };
    let mut value = source.value().clone();
    let nodes = value.get_mut("nodes").and_then(Value::as_array_mut);
    let mut any = false;
    for node in nodes.into_iter().flatten() {
        if node["type"] == "code"
            && let Some(file) = node["config"]["source"]["file"].as_str()
        {
            node["config"]["source"] = Value::String(code_text(schema, file)?);
            any = true;
        }
    }
    Ok(if any { value.to_string() } else { text })
}

/// Beside the schema or below it: one by another author must not get at other files.
fn code_text(schema: &Path, file: &str) -> Result<String, String> {
    let shown = schema.display();
    let relative = Path::new(file);
    let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !relative.components().all(inside) {
        return Err(format!(
            "{shown}: source `{file}` must be a path below the folder of the schema, without `..`"
        ));
    }
    let folder = match schema.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let path = folder.join(relative);
    let real = |path: &Path| {
        let problem = |error| format!("{shown}: cannot read source {}: {error}", path.display());
        path.canonicalize().map_err(problem)
    };
    if !real(&path)?.starts_with(real(folder)?) {
        return Err(format!(
            "{shown}: source `{file}` is a link that leads out of the folder of the schema"
        ));
    }
    let bytes = read_limited(&path, CODE_BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))
}

/// A document in JSON or YAML, from a file or from stdin (`-`).
pub(super) fn document(place: &str) -> Result<Value, Failure> {
    let (name, text) = match place {
        "-" => ("stdin", read_stdin().and_then(stdin_text)),
        path => (path, schema_text(Path::new(path))),
    };
    let text = text.map_err(Failure::bad_input)?;
    if text.trim_start().starts_with('{') {
        let bad = |reason| Failure::bad_input(format!("{name}: {reason}"));
        return parse_json(text.as_bytes()).map_err(bad);
    }
    match Source::parse(Some(name), &text) {
        Ok(source) => Ok(source.value().clone()),
        Err(found) => Err(Failure::bad_input(
            render_diagnostics(&text, &found, false).trim_end(),
        )),
    }
}

fn stdin_text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| "stdin is not UTF-8".to_owned())
}

fn read_limited(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let problem = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let file = File::open(path).map_err(problem)?;
    read_at_most(file, limit).map_err(problem)?.ok_or_else(|| {
        format!(
            "{} is larger than the limit of {} MiB",
            path.display(),
            limit >> 20
        )
    })
}

fn read_at_most(from: impl Read, limit: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    from.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// `--input`: JSON itself, `@file`, or `-` for stdin.
pub(super) fn json_argument(name: &str, argument: &str) -> Result<Value, Failure> {
    let bad = |reason: String| Failure::bad_input(format!("{name}: {reason}"));
    let text = match (argument, argument.strip_prefix('@')) {
        ("-", _) => read_stdin().map_err(bad)?,
        (_, Some(path)) => read_limited(Path::new(path), INPUT_BYTES_MAX).map_err(bad)?,
        (text, None) => text.as_bytes().to_vec(),
    };
    parse_json(&text).map_err(bad)
}

fn read_stdin() -> Result<Vec<u8>, String> {
    match read_at_most(std::io::stdin().lock(), INPUT_BYTES_MAX) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(format!("stdin has more than {} MiB", INPUT_BYTES_MAX >> 20)),
        Err(error) => Err(format!("cannot read stdin: {error}")),
    }
}

/// By the API's own rules: no number is rounded, no key given twice.
fn parse_json(text: &[u8]) -> Result<Value, String> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    crate::api::read_json(text)
}

/// `--var name=json`, any number of them.
pub(super) fn variables(arguments: &[String]) -> Result<Map<String, Value>, Failure> {
    arguments
        .iter()
        .map(|argument| variable(argument).map_err(Failure::bad_input))
        .collect()
}

pub(super) fn variable(argument: &str) -> Result<(String, Value), String> {
    let Some((name, json)) = argument.split_once('=') else {
        return Err(format!("`{argument}` is no variable; write name=json"));
    };
    let name = name.trim();
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    if !is_name {
        return Err(format!(
            "`{name}` is no name for a variable; use letters, digits and _"
        ));
    }
    let value = parse_json(json.as_bytes()).map_err(|reason| {
        format!("variable `{name}`: {reason} (text needs quotes: {name}='\"text\"')")
    })?;
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_json() {
        assert_eq!(variable("a=1"), Ok(("a".into(), 1.into())));
        assert_eq!(variable("a = {\"b\": \"x=y\"}").unwrap().1["b"], "x=y");
        for bad in ["a", "=1", "a=", "a=text", "1a=1", "a b=1", "a={"] {
            assert!(variable(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn code_may_stand_in_a_file_beside_the_schema() {
        let folder = tempfile::tempdir().unwrap();
        let schema = folder.path().join("s.yaml");
        std::fs::write(folder.path().join("sum.js"), "return 1 // {{x}}").unwrap();
        let with = |file: &str| {
            let text = format!(
                "name: s\nnodes:\n- {{id: a, type: code, config: {{source: {{file: {file}}}}}}}\n- {{id: b, type: log, config: {{source: {{file: x}}}}}}"
            );
            std::fs::write(&schema, text).unwrap();
            schema_text(&schema)
        };
        let read: Value = serde_json::from_str(&with("./sum.js").unwrap()).unwrap();
        assert_eq!(read["nodes"][0]["config"]["source"], "return 1 // {{x}}");
        assert_eq!(read["nodes"][1]["config"]["source"]["file"], "x");
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("link.js")).unwrap();
        for bad in [
            "../sum.js",
            "/etc/passwd",
            "a/../../sum.js",
            "missing.js",
            "link.js",
        ] {
            assert!(with(bad).is_err(), "{bad}");
        }
        for text in ["- file", "[\"file\"]", "file"] {
            std::fs::write(&schema, text).unwrap();
            assert_eq!(schema_text(&schema).as_deref(), Ok(text));
        }
    }

    #[test]
    fn deep_json_is_refused() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse_json(nested(64).as_bytes()).is_ok());
        assert!(parse_json(nested(65).as_bytes()).is_err());
        assert!(parse_json(nested(100_000).as_bytes()).is_err());
    }
}

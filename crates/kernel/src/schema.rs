//! Schemas: from a text with places in it, over a checked definition, to a graph ready to run.
//!
//! [`load`] does it all and reports every problem at once: [`source`] reads JSON or YAML and remembers
//! where everything stood, `read` makes a [`Definition`] of it, [`validate`] checks it against the node
//! types, [`graph`] compiles it.

pub mod codes;
pub mod definition;
mod exits;
pub(crate) mod findings;
pub mod format;
pub mod graph;
pub(crate) mod read;
pub mod render;
pub mod source;
pub mod validate;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use self::definition::Definition;
use self::findings::Findings;
use self::source::Source;
use crate::diagnostic::Diagnostic;
use crate::digest::hex;
use crate::node::Registry;

pub use self::codes::CODES;
pub use self::graph::{Graph, Node, RenderError};
pub use self::read::{MAX_EDGES, MAX_NODES};
pub use self::render::render_diagnostics;
pub use self::validate::{ROOTS, check};

/// What came of a text.
#[derive(Debug)]
pub struct LoadedSchema {
    /// Only if there is no error; warnings do not count.
    pub definition: Option<Definition>,
    /// Errors first, then warnings and notes, each in the order of the text, with file, line and column.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads and checks a schema.
pub fn load(file: Option<&str>, text: &str, registry: &Registry) -> LoadedSchema {
    load_named(None, file, text, registry)
}

/// As [`load`]; a schema without a name takes this one, made to fit, or `unnamed` if nothing of it fits.
pub fn load_named(
    name: Option<&str>,
    file: Option<&str>,
    text: &str,
    registry: &Registry,
) -> LoadedSchema {
    let (source, mut diagnostics) = Source::parse_on(file, text);
    let Some(source) = source else {
        return LoadedSchema {
            definition: None,
            diagnostics,
        };
    };
    let mut findings = Findings::default();
    let read = read::read(source.value(), name, registry, &mut findings);
    let definition = read.map(|(mut definition, layout)| {
        let unnamed = exits::name_exits(&mut definition, registry);
        validate::check_with(&definition, &unnamed, &layout, registry, &mut findings);
        definition
    });
    // What was refused reads as null; that null is no news.
    let stand_ins = diagnostics
        .iter()
        .filter(|refused| STAND_INS.contains(&refused.code));
    let stand_ins: Vec<String> = stand_ins.map(|refused| refused.pointer.clone()).collect();
    let further = source.locate(findings).into_iter();
    let further = further.filter(|found| !stand_ins.contains(&found.pointer));
    diagnostics.extend(further);
    diagnostics.sort_by_key(source::order);
    LoadedSchema {
        definition: definition.filter(|_| !diagnostics.iter().any(Diagnostic::is_error)),
        diagnostics,
    }
}

const STAND_INS: &[&str] = &[
    codes::UNQUOTED_EXPRESSION,
    codes::NUMBER_OUT_OF_RANGE,
    codes::INVALID_YAML,
];

/// The text a version is stored as.
pub fn to_stored_json(definition: &Definition) -> String {
    to_value(definition).to_string()
}

/// SHA-256 in hexadecimal over everything that matters for a run. The order of keys and the places on
/// the canvas do not.
pub fn content_hash(definition: &Definition) -> String {
    let mut value = to_value(definition);
    for node in value["nodes"].as_array_mut().into_iter().flatten() {
        if let Value::Object(node) = node {
            node.shift_remove("position");
        }
    }
    let digest = Sha256::digest(canonical(value).to_string());
    hex(&digest)
}

/// A definition always has a JSON form: its keys are strings and its numbers are finite.
fn to_value(definition: &Definition) -> Value {
    serde_json::to_value(definition).unwrap_or_default()
}

fn canonical(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.sort_by(|(left, _), (right, _)| left.cmp(right));
            let sorted = entries
                .into_iter()
                .map(|(name, value)| (name, canonical(value)));
            Value::Object(sorted.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(canonical).collect()),
        other => other,
    }
}

/// For the fuzzer: whatever the bytes are, loading, compiling and drawing them must not panic.
pub fn fuzz_schema(data: &[u8]) {
    fuzz_schema_with(data, &Registry::default());
}

/// As [`fuzz_schema`], with node types whose configs can be compiled.
pub fn fuzz_schema_with(data: &[u8], registry: &Registry) {
    let text = String::from_utf8_lossy(data);
    for file in [None, Some("fuzz.json")] {
        let loaded = load(file, &text, registry);
        render_diagnostics(&text, &loaded.diagnostics, true);
        if let Some(definition) = loaded.definition {
            content_hash(&definition);
            drop(Graph::compile(definition, registry));
        }
    }
}

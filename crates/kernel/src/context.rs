//! What expressions see: the start record and the fold of the steps.

use serde_json::{Map, Value, json};

use crate::execution::{EDIT_NODE, Execution, Step, StepStatus};

/// Facts about the execution itself, shown as `execution` in expressions.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    pub schema_name: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Context {
    roots: Map<String, Value>,
    bytes: usize,
    /// The input is no longer that of the start record.
    input_edited: bool,
}

#[derive(Debug, thiserror::Error)]
#[error("the stored {what} of the execution cannot be read: {source}")]
pub struct CorruptContext {
    what: &'static str,
    source: serde_json::Error,
}

impl Context {
    /// The context before the first step. `env` is what the configuration lets expressions see.
    pub fn start(
        execution: &Execution,
        facts: &Facts,
        env: &Map<String, Value>,
    ) -> Result<Self, CorruptContext> {
        let record = parse("start record", &execution.record.initial)?;
        Ok(Self::of_record(record, execution, facts, env))
    }

    /// The same from a start record that was never text, or is not any more.
    pub fn of_record(
        mut record: Map<String, Value>,
        execution: &Execution,
        facts: &Facts,
        env: &Map<String, Value>,
    ) -> Self {
        let mut roots = Map::with_capacity(8);
        for name in ["webhook", "input", "user", "variables"] {
            roots.insert(
                name.into(),
                record.swap_remove(name).unwrap_or_else(|| json!({})),
            );
        }
        roots.insert(
            "execution".into(),
            json!({
                "id": execution.head.id.to_string(),
                "schema": facts.schema_name,
                "version": execution.head.schema_version,
                "started_by": execution.record.created_by,
                "correlation_id": execution.record.correlation_id,
            }),
        );
        roots.insert("steps".into(), json!({}));
        roots.insert("env".into(), Value::Object(env.clone()));
        Self {
            roots,
            bytes: execution.record.initial.len(),
            input_edited: false,
        }
    }

    /// Replaces steps and variables by those of a snapshot, and the input if it was edited by then.
    pub fn restore(&mut self, snapshot: &str) -> Result<(), CorruptContext> {
        let mut stored: Map<String, Value> = parse("snapshot", snapshot)?;
        for name in ["steps", "variables"] {
            if let Some(value) = stored.remove(name) {
                self.roots.insert(name.into(), value);
            }
        }
        if let Some(input) = stored.remove("input") {
            self.edit_input(input);
        }
        self.bytes += snapshot.len();
        Ok(())
    }

    /// The text of a snapshot: what [`Context::restore`] takes back.
    pub fn snapshot(&self) -> String {
        let mut kept = json!({"steps": self.roots["steps"], "variables": self.roots["variables"]});
        if self.input_edited {
            kept["input"] = self.roots["input"].clone();
        }
        kept.to_string()
    }

    fn edit_input(&mut self, input: Value) {
        self.roots.insert("input".into(), input);
        self.input_edited = true;
    }

    pub fn roots(&self) -> &Map<String, Value> {
        &self.roots
    }

    pub fn roots_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.roots
    }

    pub fn variables(&self) -> &Value {
        &self.roots["variables"]
    }

    /// An estimate of the size as JSON; grows by what every step adds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Folds a stored step in.
    pub fn apply_step(&mut self, step: &Step) -> Result<(), CorruptContext> {
        let output = parse_optional("output", step.output.as_deref())?;
        let error = parse_optional("error", step.error.as_deref())?;
        let changes: Map<String, Value> = match step.changes.as_deref() {
            Some(text) => parse("changes", text)?,
            None => Map::new(),
        };
        self.apply(&step.node_id, step.status, output, error, changes);
        Ok(())
    }

    /// Folds a step in: the output under its node, the changes into the variables.
    pub fn apply(
        &mut self,
        node_id: &str,
        status: StepStatus,
        mut output: Value,
        error: Value,
        changes: Map<String, Value>,
    ) {
        if node_id != EDIT_NODE {
            self.record_visit(node_id, status, output, error);
        } else if let Some(input) = output.get_mut("input") {
            self.edit_input(input.take());
        }
        if let Some(Value::Object(variables)) = self.roots.get_mut("variables") {
            variables.extend(changes);
        }
    }

    fn record_visit(&mut self, node_id: &str, status: StepStatus, output: Value, error: Value) {
        let Some(Value::Object(steps)) = self.roots.get_mut("steps") else {
            return;
        };
        let runs = steps
            .get(node_id)
            .and_then(|step| step["runs"].as_u64())
            .unwrap_or(0)
            + 1;
        let mut visit = Map::with_capacity(4);
        visit.insert("output".into(), output);
        visit.insert("status".into(), status.name().into());
        visit.insert("error".into(), error);
        visit.insert("runs".into(), runs.into());
        steps.insert(node_id.to_owned(), Value::Object(visit));
    }

    /// Measures the size anew; called when the running estimate says that it matters.
    pub fn measure(&mut self) -> usize {
        self.bytes = serde_json::to_string(&self.roots).map_or(usize::MAX, |text| text.len());
        self.bytes
    }

    pub fn grow(&mut self, bytes: usize) {
        self.bytes += bytes;
    }
}

fn parse<T: serde::de::DeserializeOwned>(
    what: &'static str,
    text: &str,
) -> Result<T, CorruptContext> {
    serde_json::from_str(text).map_err(|source| CorruptContext { what, source })
}

fn parse_optional(what: &'static str, text: Option<&str>) -> Result<Value, CorruptContext> {
    text.map_or(Ok(Value::Null), |text| parse(what, text))
}

/// The difference between two contexts: JSON pointer, value before, value after.
pub fn difference(before: &Value, after: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    collect_difference("", before, after, &mut found);
    found
}

fn collect_difference(pointer: &str, before: &Value, after: &Value, found: &mut Vec<Value>) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                let place = format!("{pointer}/{}", escape_pointer(key));
                match new.get(key) {
                    Some(other) => collect_difference(&place, value, other, found),
                    None => found.push(json!({"op": "removed", "path": place, "before": value})),
                }
            }
            for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                let place = format!("{pointer}/{}", escape_pointer(key));
                found.push(json!({"op": "added", "path": place, "after": value}));
            }
        }
        (old, new) if old != new => {
            found.push(json!({"op": "changed", "path": pointer, "before": old, "after": new}));
        }
        _ => {}
    }
}

fn escape_pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_names_what_was_added_removed_and_changed() {
        let before = json!({"a": 1, "b": {"c": 2}, "gone": true});
        let after = json!({"a": 1, "b": {"c": 3}, "new/er": []});
        assert_eq!(
            difference(&before, &after),
            vec![
                json!({"op": "changed", "path": "/b/c", "before": 2, "after": 3}),
                json!({"op": "removed", "path": "/gone", "before": true}),
                json!({"op": "added", "path": "/new~1er", "after": []}),
            ]
        );
    }
}

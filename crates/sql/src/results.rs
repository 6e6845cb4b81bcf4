//! What statements give back, and how much of it.

use std::sync::atomic::{AtomicUsize, Ordering};

use pawl_kernel::node::NodeError;
use serde_json::{Map, Value, json};

/// The rows of one run of one statement.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) rows: Vec<Value>,
    pub(crate) affected: u64,
}

impl Rows {
    pub(crate) fn into_value(self) -> Value {
        let first = self.rows.first().cloned().unwrap_or(Value::Null);
        json!({
            "count": self.rows.len(),
            "rows": self.rows,
            "row": first,
            "affected": self.affected,
        })
    }
}

/// The result of a `for_each`.
pub(crate) fn all_items(items: Vec<Rows>) -> Value {
    let affected: u64 = items.iter().map(|item| item.affected).sum();
    let rows: Vec<Value> = items.iter().flat_map(|item| item.rows.clone()).collect();
    let items: Vec<Value> = items.into_iter().map(Rows::into_value).collect();
    let mut result = Rows { rows, affected }.into_value();
    result["items"] = Value::Array(items);
    result
}

/// How much the statements of one transaction may give back together.
pub(crate) struct Budget {
    rows: AtomicUsize,
    bytes: AtomicUsize,
    rows_max: usize,
    bytes_max: usize,
    connection: String,
}

impl Budget {
    pub(crate) fn new(connection: &str, rows_max: usize, bytes_max: usize) -> Self {
        Self {
            rows: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            rows_max,
            bytes_max,
            connection: connection.to_owned(),
        }
    }

    /// Before a row is read.
    pub(crate) fn take_row(&self) -> Result<(), NodeError> {
        if self.rows.fetch_add(1, Ordering::Relaxed) < self.rows_max {
            return Ok(());
        }
        Err(self.exceeded("rows", self.rows_max, "max_rows"))
    }

    pub(crate) fn take_bytes(&self, bytes: usize) -> Result<(), NodeError> {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if before.saturating_add(bytes) <= self.bytes_max {
            return Ok(());
        }
        Err(self.too_large())
    }

    /// Bytes that may still come.
    pub(crate) fn left(&self) -> usize {
        let taken = self.bytes.load(Ordering::Relaxed);
        self.bytes_max.saturating_sub(taken)
    }

    pub(crate) fn too_large(&self) -> NodeError {
        self.exceeded("bytes", self.bytes_max, "max_bytes")
    }

    pub(crate) fn check_items(&self, count: usize) -> Result<(), NodeError> {
        if count <= self.rows_max {
            return Ok(());
        }
        Err(self.exceeded("items of `for_each`", self.rows_max, "max_rows"))
    }

    fn exceeded(&self, what: &str, limit: usize, setting: &str) -> NodeError {
        let name = &self.connection;
        NodeError::new(
            "LIMIT_EXCEEDED",
            format!(
                "more than {limit} {what} in one transaction on connection `{name}`; ask for less (LIMIT, fewer \
                 columns), or raise `{setting}` in [connections.{name}] of pawl.toml"
            ),
        )
        .details(json!({"limit": limit, "setting": setting}))
    }
}

/// About as many bytes as the value has as JSON.
pub(crate) fn weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 12,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| weight(item) + 1).sum::<usize>() + 2,
        Value::Object(fields) => weight_of_fields(fields),
    }
}

fn weight_of_fields(fields: &Map<String, Value>) -> usize {
    let field = |(name, value): (&String, &Value)| name.len() + 4 + weight(value);
    fields.iter().map(field).sum::<usize>() + 2
}

/// Objects and lists inside each other, at most so many.
pub(crate) fn depth_exceeds(value: &Value, limit: usize) -> bool {
    match value {
        Value::Array(items) => {
            limit == 0 || items.iter().any(|item| depth_exceeds(item, limit - 1))
        }
        Value::Object(fields) => {
            limit == 0 || fields.values().any(|item| depth_exceeds(item, limit - 1))
        }
        _ => false,
    }
}

/// A column is found by its name, so two of one name would lose one.
pub(crate) fn check_columns<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), NodeError> {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if seen.contains(&name) {
            return Err(NodeError::new(
                "DUPLICATE_COLUMN",
                format!("two columns of the result are named `{name}`; rename one with AS"),
            ));
        }
        seen.push(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_rows_the_first_one_and_counts() {
        let rows = |ids: &[i64]| Rows {
            rows: ids.iter().map(|id| json!({"id": id})).collect(),
            affected: ids.len() as u64,
        };
        assert_eq!(
            rows(&[]).into_value(),
            json!({"rows": [], "row": null, "count": 0, "affected": 0})
        );
        let all = all_items(vec![rows(&[1, 2]), rows(&[]), rows(&[3])]);
        assert_eq!(all["affected"], 3);
        assert_eq!(all["rows"], json!([{"id": 1}, {"id": 2}, {"id": 3}]));
        assert_eq!(all["items"][0]["row"], json!({"id": 1}));
        assert_eq!(all["items"][1]["count"], 0);
    }

    #[test]
    fn a_budget_names_the_setting() {
        let budget = Budget::new("shop", 1, 10);
        assert!(budget.take_row().is_ok());
        let error = budget.take_row().unwrap_err();
        assert_eq!(error.code, "LIMIT_EXCEEDED");
        assert!(
            error.message.contains("`max_rows` in [connections.shop]"),
            "{}",
            error.message
        );
        assert!(budget.take_bytes(10).is_ok());
        assert!(budget.take_bytes(1).is_err());
    }

    #[test]
    fn columns_need_names_of_their_own() {
        assert!(check_columns(["a", "b"].into_iter()).is_ok());
        let error = check_columns(["a", "b", "a"].into_iter()).unwrap_err();
        assert!(error.message.contains("`a`"));
    }
}

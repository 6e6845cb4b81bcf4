//! What saving a schema may answer, and what its row takes from the definition.

use serde::Deserialize;

use crate::ports::store::{SaveSchema, StoreError};

#[derive(Debug, Clone, thiserror::Error)]
pub enum CatalogError {
    #[error("a schema named `{0}` exists already")]
    NameTaken(String),
    /// Another schema has this number.
    #[error("`external_id` {external_id} belongs to the schema `{schema}` already")]
    ExternalIdTaken { external_id: i64, schema: String },
    #[error("there is no such schema")]
    NotFound,
    /// Another schema takes these requests.
    #[error("`{method} {path}` is a webhook of the schema `{schema}` already")]
    PathTaken {
        method: &'static str,
        path: String,
        schema: String,
    },
    #[error("the latest version is {latest}, not {expected}")]
    VersionConflict { latest: u32, expected: u32 },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SaveSchema {
    /// The number that this version gives the schema: a column of its row, written in the same transaction.
    pub fn external_id(&self) -> Option<i64> {
        external_id_of(&self.definition)
    }
}

fn external_id_of(definition: &str) -> Option<i64> {
    #[derive(Deserialize)]
    struct ExternalIdField {
        external_id: Option<i64>,
    }
    // Most schemas have none, and need not be read to find out.
    if !definition.contains("\"external_id\"") {
        return None;
    }
    let read = serde_json::from_str::<ExternalIdField>(definition);
    read.ok().and_then(|numbered| numbered.external_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_read_from_the_definition() {
        let cases = [
            (r#"{"external_id":123,"nodes":[]}"#, Some(123)),
            (r#"{"external_id":0}"#, Some(0)),
            // A node's config may have a field of that name, too.
            (r#"{"nodes":[{"external_id":5}]}"#, None),
            (r#"{"name":"flow"}"#, None),
        ];
        for (definition, expected) in cases {
            assert_eq!(external_id_of(definition), expected, "{definition}");
        }
    }
}

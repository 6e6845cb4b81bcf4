//! What saving a schema may answer, and what its row takes from the definition.

use serde::Deserialize;

use crate::id::SchemaId;
use crate::ports::store::{SaveMode, SaveSchema, SchemaRecord, StoreError, VersionRecord};
use crate::time::Timestamp;
use crate::webhook::{self, NamedTrigger};

#[derive(Debug, Clone, thiserror::Error)]
pub enum CatalogError {
    #[error("a schema named `{0}` exists already")]
    NameTaken(String),
    /// Another schema has this number.
    #[error("`external_id` {external_id} belongs to the schema `{schema}` already")]
    ExternalIdTaken { external_id: i64, schema: String },
    #[error("there is no such schema")]
    NotFound,
    #[error("there is no version {0}")]
    NoVersion(u32),
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

/// A text and how to read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    pub text: String,
    pub format: SourceFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFormat {
    Yaml,
    Json,
}

impl SourceFormat {
    pub const ALL: [Self; 2] = [Self::Yaml, Self::Json];

    pub fn name(self) -> &'static str {
        match self {
            Self::Yaml => "yaml",
            Self::Json => "json",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// From a column that may be empty.
    pub fn from_stored(name: Option<&str>) -> Result<Option<Self>, String> {
        let Some(name) = name else { return Ok(None) };
        let known = Self::from_name(name).map(Some);
        known.ok_or_else(|| format!("`{name}` is no format of a source"))
    }
}

/// Content and text of a version, to compare with what is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionText {
    pub hash: String,
    pub source: Option<SourceText>,
}

/// What a save of a schema that is there comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveStep {
    /// The latest version is the same, and it is published or is to stay a draft.
    Keep,
    /// The latest version is the same, and is published now.
    Publish,
    /// A new version.
    Add { publish: bool },
}

/// What a schema's row and its webhooks take from the version that is published.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedFacts {
    pub version: u32,
    pub name: String,
    pub description: Option<String>,
    pub external_id: Option<i64>,
    pub webhooks: Vec<NamedTrigger>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishVersion {
    pub id: SchemaId,
    pub version: u32,
    pub now: Timestamp,
}

impl SaveSchema {
    /// The number that this version gives the schema: a column of its row, written in the same transaction.
    pub fn external_id(&self) -> Option<i64> {
        external_id_of(&self.definition)
    }

    /// A save without a text says nothing about the text.
    pub fn step(&self, schema: &SchemaRecord, latest: &VersionText) -> SaveStep {
        let publish = match self.mode {
            SaveMode::Create => true,
            SaveMode::Update { publish, .. } => publish,
        };
        let same_text = self.source.is_none() || self.source == latest.source;
        if self.hash != latest.hash || !same_text {
            return SaveStep::Add { publish };
        }
        match publish && schema.published_version != schema.latest_version {
            true => SaveStep::Publish,
            false => SaveStep::Keep,
        }
    }

    /// What the row takes if this is published as that version.
    pub fn facts(&self, version: u32) -> PublishedFacts {
        PublishedFacts {
            version,
            name: self.name.clone(),
            description: self.description.clone(),
            external_id: self.external_id(),
            webhooks: self.webhooks(),
        }
    }
}

impl VersionRecord {
    /// What the row of the schema takes from this version; the schema keeps its name.
    pub fn facts(&self, name: &str) -> PublishedFacts {
        PublishedFacts {
            version: self.version,
            name: name.to_owned(),
            description: description_of(&self.definition),
            external_id: external_id_of(&self.definition),
            webhooks: webhook::of_text(&self.definition),
        }
    }
}

fn description_of(definition: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct DescriptionField {
        description: Option<String>,
    }
    let read = serde_json::from_str::<DescriptionField>(definition);
    read.ok().and_then(|described| described.description)
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
    fn a_description_is_read_from_the_definition() {
        let read = |text: &str| description_of(text);
        assert_eq!(read(r#"{"description":"d","nodes":[]}"#), Some("d".into()));
        assert_eq!(read(r#"{"nodes":[{"description":"d"}]}"#), None);
    }

    #[test]
    fn formats_are_stored_by_name() {
        for format in SourceFormat::ALL {
            let stored = SourceFormat::from_stored(Some(format.name()));
            assert_eq!(stored, Ok(Some(format)));
        }
        assert_eq!(SourceFormat::from_stored(None), Ok(None));
        assert!(SourceFormat::from_stored(Some("toml")).is_err());
    }

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

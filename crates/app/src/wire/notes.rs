//! Notes that people write on executions.

use std::borrow::Cow;

use pawl_kernel::operations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Time;

/// What to write on an execution.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewNote {
    /// Up to 4096 bytes of UTF-8.
    #[schemars(length(min = 1, max = 4096))]
    pub(crate) text: String,
}

/// A note that a person wrote on an execution.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Note<'a> {
    pub(crate) id: Uuid,
    pub(crate) text: Cow<'a, str>,
    /// `key:…` or `dev`.
    pub(crate) created_by: Cow<'a, str>,
    pub(crate) created_at: Time,
}

impl<'a> From<&'a operations::Note> for Note<'a> {
    fn from(note: &'a operations::Note) -> Self {
        Self {
            id: note.id,
            text: note.text.as_str().into(),
            created_by: note.created_by.as_str().into(),
            created_at: Time(note.created_at),
        }
    }
}

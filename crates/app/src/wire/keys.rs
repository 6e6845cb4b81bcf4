//! API keys.

use std::borrow::Cow;

use pawl_kernel::ports::keys::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Name, Span, Text, Time};

/// A key to be made.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewKey {
    /// What it is for: 1 to 64 letters, digits, `-`, `_`, `.`, `@`.
    #[schemars(required, length(min = 1, max = 64))]
    pub(crate) name: Option<Text>,
    #[schemars(required, with = "Name<Role>")]
    pub(crate) role: Option<Text>,
    /// The address of its owner: `user.email` in what it starts.
    #[schemars(length(max = 254))]
    pub(crate) email: Option<Text>,
    /// `90d`, or seconds; never if left out.
    pub(crate) expires_in: Option<Span>,
}

/// An API key, without its secret.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Key<'a> {
    pub(crate) id: Uuid,
    pub(crate) name: Cow<'a, str>,
    pub(crate) role: Name<Role>,
    pub(crate) email: Option<Cow<'a, str>>,
    /// How the key begins; the rest is secret and not stored.
    pub(crate) starts_with: String,
    pub(crate) created_by: Cow<'a, str>,
    pub(crate) created_at: Time,
    pub(crate) expires_at: Option<Time>,
    /// To the minute.
    pub(crate) last_used_at: Option<Time>,
    pub(crate) revoked_at: Option<Time>,
}

/// A key that was just made.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct CreatedKey<'a> {
    #[serde(flatten)]
    pub(crate) record: Key<'a>,
    /// The key itself. It is never shown again.
    pub(crate) key: Cow<'a, str>,
}

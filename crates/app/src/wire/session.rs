//! Who is asking, and sessions of browsers.

use pawl_kernel::ports::keys::Role;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::name::{LoginKind, ServerMode};
use super::{Name, Text, Time};

/// Who is asking, and what they are talking to.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Me {
    /// What stands in `created_by` of what you make.
    pub(crate) created_by: String,
    /// As expressions see `user`.
    pub(crate) user: Value,
    pub(crate) role: Name<Role>,
    /// `none` in `pawl dev`.
    pub(crate) login: Name<LoginKind>,
    pub(crate) mode: Name<ServerMode>,
    pub(crate) version: String,
    /// Another value than that of an open page: the page is of another version.
    pub(crate) ui_build: String,
    pub(crate) server_time: Time,
    pub(crate) limits: ShownLimits,
}

/// What requests must not exceed.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Limits")]
pub(crate) struct ShownLimits {
    /// Bytes of a request body.
    pub(crate) request_body: usize,
    /// Bytes of a schema.
    pub(crate) schema: usize,
    /// Items of a page.
    pub(crate) page: u32,
    /// The longest `?wait=`.
    pub(crate) wait_seconds: u64,
    /// Executions of one bulk request.
    pub(crate) bulk: usize,
    /// Topics `run:ID` of one stream of events.
    pub(crate) watched_runs: usize,
}

/// A login of a browser.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginRequest {
    /// An API key.
    #[schemars(required)]
    pub(crate) key: Option<Text>,
}

/// The session that the request's cookie stands for.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Session {
    pub(crate) created_by: String,
    pub(crate) role: Name<Role>,
    /// The name of the key that it was opened with.
    pub(crate) key: String,
    pub(crate) created_at: Time,
    /// However much it is used; also the end of its key.
    pub(crate) expires_at: Time,
    /// If it is not used again.
    pub(crate) idle_until: Time,
}

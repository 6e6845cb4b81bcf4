//! Which quotas an execution counts against, and where it stands by its own row.

use serde::{Deserialize, Serialize};

use super::name::QuotaName;
use crate::execution::{Head, Hold, State, WaitKind};
use crate::planted::{self, Bug};
use crate::transition::Change;

/// One quota that an execution counts against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaClaim {
    pub name: QuotaName,
    /// The limit in the settings of its schema, with the version they are from; an operator's limit wins over it.
    pub settings: Option<(u32, u32)>,
}

impl QuotaClaim {
    /// Counts only if an operator has set this quota.
    pub fn if_set(name: QuotaName) -> Self {
        Self {
            name,
            settings: None,
        }
    }

    pub fn with_limit(name: QuotaName, limit: u32, version: u32) -> Self {
        Self {
            name,
            settings: Some((limit, version)),
        }
    }

    /// The column `executions.quotas`: nothing for an execution without.
    pub fn to_column(claims: &[Self]) -> Option<String> {
        if claims.is_empty() {
            return None;
        }
        let stored: Vec<Stored> = claims.iter().map(Stored::from).collect();
        // Texts and numbers only: this cannot fail.
        serde_json::to_string(&stored).ok()
    }

    pub fn from_column(text: Option<&str>) -> Result<Vec<Self>, String> {
        let Some(text) = text else {
            return Ok(Vec::new());
        };
        let stored: Vec<Stored> = serde_json::from_str(text).map_err(|e| e.to_string())?;
        stored.into_iter().map(Self::try_from).collect()
    }
}

/// As JSON: `{"quota": "key:order-check/ACME", "limit": 1, "version": 3}`.
#[derive(Serialize, Deserialize)]
struct Stored {
    quota: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
}

impl From<&QuotaClaim> for Stored {
    fn from(claim: &QuotaClaim) -> Self {
        Self {
            quota: claim.name.to_string(),
            limit: claim.settings.map(|(limit, _)| limit),
            version: claim.settings.map(|(_, version)| version),
        }
    }
}

impl TryFrom<Stored> for QuotaClaim {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        Ok(Self {
            name: stored.quota.parse().map_err(|e| format!("{e}"))?,
            settings: stored.limit.zip(stored.version.or(Some(0))),
        })
    }
}

/// Where an execution that counts against quotas stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It counts against none, or has ended.
    Free,
    /// It has not come to the line yet (a delayed start), or was taken out of it (a pause).
    Aside,
    InLine,
    /// It was admitted, and holds a place in each of its quotas until it ends.
    Holding,
}

pub fn standing(head: &Head, state: &State) -> Standing {
    if head.quotas.is_empty() || head.status.is_terminal() {
        return Standing::Free;
    }
    by_state(state)
}

fn by_state(state: &State) -> Standing {
    match (state.wait.as_ref().map(|wait| wait.kind), state.hold) {
        (Some(WaitKind::Start), _) | (Some(WaitKind::Admission), Some(Hold::Pause)) => {
            Standing::Aside
        }
        (Some(WaitKind::Admission), _) => Standing::InLine,
        _ => Standing::Holding,
    }
}

/// What a change does to the quotas of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    None,
    /// It takes its place in line.
    LineUp,
    /// It leaves the line without having been admitted.
    Leave,
    /// It ends and gives back what it held.
    Release,
}

/// Follows from where the execution stood and where the change puts it. Admission is no movement of its own: whoever
/// admits has decided about the quotas already.
pub fn movement(head: &Head, before: &State, change: &Change) -> Movement {
    let was = standing(head, before);
    if was == Standing::Free {
        return Movement::None;
    }
    let is = match change.ending {
        Some(_) => Standing::Free,
        None => by_state(&change.state),
    };
    let stopped = change.ending.is_some() && change.steps.is_empty();
    if stopped && planted::has(Bug::QuotaKeptByTheStopped) {
        return Movement::None;
    }
    match (was, is) {
        (Standing::Aside, Standing::InLine) => Movement::LineUp,
        (Standing::InLine, Standing::Aside | Standing::Free) => Movement::Leave,
        (Standing::Holding, Standing::Free) => Movement::Release,
        _ => Movement::None,
    }
}

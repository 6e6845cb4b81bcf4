//! Which quotas an execution counts against, and where it stands by its own row.

use serde::{Deserialize, Serialize};

use super::name::QuotaName;
use crate::execution::{Head, Hold, State, WaitKind};
use crate::planted::{self, Bug};
use crate::transition::Change;

/// One quota that an execution counts against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaUse {
    pub name: QuotaName,
    /// The limit in the settings of its schema, with the version they are from; an operator's limit wins over it.
    pub settings: Option<(u32, u32)>,
}

impl QuotaUse {
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
        let stored: Vec<StoredUse> = claims.iter().map(StoredUse::from).collect();
        // Texts and numbers only: this cannot fail.
        serde_json::to_string(&stored).ok()
    }

    pub fn from_column(text: Option<&str>) -> Result<Vec<Self>, String> {
        let Some(text) = text else {
            return Ok(Vec::new());
        };
        let stored: Vec<StoredUse> = serde_json::from_str(text).map_err(|e| e.to_string())?;
        stored.into_iter().map(Self::try_from).collect()
    }
}

/// As JSON: `{"quota": "key:order-check/ACME", "limit": 1, "version": 3}`.
#[derive(Serialize, Deserialize)]
struct StoredUse {
    quota: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
}

impl From<&QuotaUse> for StoredUse {
    fn from(claim: &QuotaUse) -> Self {
        Self {
            quota: claim.name.to_string(),
            limit: claim.settings.map(|(limit, _)| limit),
            version: claim.settings.map(|(_, version)| version),
        }
    }
}

impl TryFrom<StoredUse> for QuotaUse {
    type Error = String;

    fn try_from(stored: StoredUse) -> Result<Self, String> {
        Ok(Self {
            name: stored.quota.parse().map_err(|e| format!("{e}"))?,
            settings: stored.limit.zip(stored.version.or(Some(0))),
        })
    }
}

/// Where an execution that counts against quotas stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionState {
    /// It counts against none, or has ended.
    Free,
    /// It has not come to the line yet (a delayed start), or was taken out of it (a pause).
    Aside,
    InLine,
    /// It was admitted, and holds a place in each of its quotas until it ends.
    Holding,
}

pub fn admission_state(head: &Head, state: &State) -> AdmissionState {
    if head.quotas.is_empty() || head.status.is_terminal() {
        return AdmissionState::Free;
    }
    by_state(state)
}

fn by_state(state: &State) -> AdmissionState {
    match (state.wait.as_ref().map(|wait| wait.kind), state.hold) {
        (Some(WaitKind::Start), _) | (Some(WaitKind::Admission), Some(Hold::Pause)) => {
            AdmissionState::Aside
        }
        (Some(WaitKind::Admission), _) => AdmissionState::InLine,
        _ => AdmissionState::Holding,
    }
}

/// What a change does to the quotas of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaChange {
    None,
    /// It takes its place in line.
    LineUp,
    /// It leaves the line without having been admitted.
    Leave,
    /// It ends and gives back what it held.
    Release,
}

/// Follows from where the execution stood and where the change puts it. Admission is no movement of its own: the
/// transaction that admits has decided about the quotas already.
pub fn quota_change(head: &Head, before: &State, change: &Change) -> QuotaChange {
    let was = admission_state(head, before);
    if was == AdmissionState::Free {
        return QuotaChange::None;
    }
    let is = match change.ending {
        Some(_) => AdmissionState::Free,
        None => by_state(&change.state),
    };
    let stopped = change.ending.is_some() && change.steps.is_empty();
    if stopped && planted::has(Bug::QuotaKeptByTheStopped) {
        return QuotaChange::None;
    }
    match (was, is) {
        (AdmissionState::Aside, AdmissionState::InLine) => QuotaChange::LineUp,
        (AdmissionState::InLine, AdmissionState::Aside | AdmissionState::Free) => {
            QuotaChange::Leave
        }
        (AdmissionState::Holding, AdmissionState::Free) => QuotaChange::Release,
        _ => QuotaChange::None,
    }
}

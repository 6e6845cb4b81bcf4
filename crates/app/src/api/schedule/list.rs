//! Lists of scheduled actions: by id, or the one that is due next first.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use axum::extract::State;
use pawl_kernel::id::SchemaId;
use pawl_kernel::ports::schedule::ActionFilter;
use pawl_kernel::schedule::{Action, ScheduledAction};
use pawl_kernel::time::Timestamp;

use super::{ActionId, shown};
use crate::api::ApiState;
use crate::api::cursor::{self, CursorKind};
use crate::api::error::{ApiError, ApiResult};
use crate::api::fields::unknown_name;
use crate::api::query::Query;
use crate::api::reply;
use crate::api::schemas;
use crate::wire::Page;

pub(in crate::api) const ORDERS: [&str; 2] = ["id", "due"];
/// Actions are fetched in bites, so that a page of large ones never is in memory at once.
const BITE: u32 = 50;

const HOUR: Duration = Duration::from_secs(3_600);
/// How far it is looked for what is due next, until a page is full.
const HORIZONS: [Option<Duration>; 4] = [
    Some(HOUR),
    Some(Duration::from_secs(86_400)),
    Some(Duration::from_secs(31 * 86_400)),
    None,
];

pub(in crate::api) async fn list(State(state): State<ApiState>, query: Query) -> ApiResult {
    let limit = query.limit()? as usize;
    let filter = ActionFilter {
        prefix: prefix(&query)?,
        finished: query
            .get("finished")
            .map(|_| query.flag("finished"))
            .transpose()?,
        due_before: query.time("due_before")?,
    };
    let wanted = ActionCriteria::read(&state, &query).await?;
    let (actions, next) = match query.get("order") {
        None | Some("id") => {
            let after: Option<ActionId> = cursor::from_query(CursorKind::Action, &query)?;
            let after = after.map(|id| id.0);
            let (actions, more) = by_id(&state, filter, &wanted, after, limit).await?;
            let last = actions.last().filter(|_| more);
            let next = last.map(|action| cursor::write(CursorKind::Action, &action.id));
            (actions, next)
        }
        Some("due") => {
            let after: Option<DuePlace> = cursor::from_query(CursorKind::DueAction, &query)?;
            let (actions, more) = by_due(&state, filter, &wanted, after, limit).await?;
            let last = actions.last().filter(|_| more).map(DuePlace::of);
            let next = last.map(|place| cursor::write(CursorKind::DueAction, place));
            (actions, next)
        }
        Some(other) => {
            let message = unknown_name("order", other, &ORDERS);
            return Err(ApiError::invalid_query(message));
        }
    };
    let items = actions.iter().map(|action| shown(&state, action)).collect();
    Ok(reply::ok(&Page { items, next }))
}

fn prefix(query: &Query) -> ApiResult<Option<String>> {
    let Some(text) = query.get("prefix").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    match text.parse::<ActionId>() {
        Ok(prefix) => Ok(Some(prefix.0)),
        Err(()) => Err(ApiError::invalid_query(
            "`prefix`: no id begins like this; ids have A-Z, a-z, 0-9 and `-_.@:`",
        )),
    }
}

/// What the store does not look for.
struct ActionCriteria {
    /// The schema that is started, as its id and its name: an action may call it either way.
    schema: Option<(SchemaId, String)>,
    paused: Option<bool>,
    kind: Option<String>,
}

impl ActionCriteria {
    async fn read(state: &ApiState, query: &Query) -> ApiResult<Self> {
        let kind = query.get("kind");
        if let Some(unknown) = kind.filter(|kind| !Action::NAMES.contains(kind)) {
            let message = unknown_name("kind", unknown, Action::NAMES);
            return Err(ApiError::invalid_query(message));
        }
        let schema = match query.get("schema") {
            Some(key) => {
                let found = schemas::find(state, key).await?;
                Some((found.id, found.name))
            }
            None => None,
        };
        let paused = query.get("paused").map(|_| query.flag("paused"));
        Ok(Self {
            schema,
            paused: paused.transpose()?,
            kind: kind.map(str::to_owned),
        })
    }

    fn fits(&self, action: &ScheduledAction) -> bool {
        let spec = &action.spec.action;
        let starts = |(id, name): &(SchemaId, String)| match spec {
            Action::StartExecution { schema, .. } => *schema == *name || *schema == id.to_string(),
            _ => false,
        };
        let paused = action.status.paused_at.is_some();
        self.schema.as_ref().is_none_or(starts)
            && self.paused.is_none_or(|wanted| wanted == paused)
            && self.kind.as_deref().is_none_or(|kind| kind == spec.name())
    }
}

/// At most `limit`, and not much more than a page may weigh, but at least one; and whether there are more.
async fn by_id(
    state: &ApiState,
    filter: ActionFilter,
    wanted: &ActionCriteria,
    mut after: Option<String>,
    limit: usize,
) -> ApiResult<(Vec<ScheduledAction>, bool)> {
    let (mut actions, mut bytes) = (Vec::new(), 0);
    loop {
        let bite = state.control.actions(filter.clone(), after, BITE).await?;
        let at_end = bite.len() < BITE as usize;
        after = bite.last().map(|action| action.id.clone());
        for action in bite.into_iter().filter(|action| wanted.fits(action)) {
            if actions.len() == limit || bytes >= state.limits.page_bytes {
                return Ok((actions, true));
            }
            bytes += action.spec.to_stored().len();
            actions.push(action);
        }
        if at_end {
            return Ok((actions, false));
        }
    }
}

/// When it is due, and its id; what is paused comes last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DuePlace(i64, String);

impl DuePlace {
    fn of(action: &ScheduledAction) -> Self {
        let due = action.due_at().map_or(i64::MAX, Timestamp::as_micros);
        Self(due, action.id.clone())
    }
}

impl std::fmt::Display for DuePlace {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}/{}", self.0, self.1)
    }
}

impl FromStr for DuePlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (due, id) = text.split_once('/').ok_or(())?;
        let id: ActionId = id.parse()?;
        Ok(Self(due.parse().map_err(drop)?, id.0))
    }
}

/// The store knows no order by time, because it changes with every firing; what is due within an hour, a day or a month it
/// finds without reading the rest.
async fn by_due(
    state: &ApiState,
    filter: ActionFilter,
    wanted: &ActionCriteria,
    after: Option<DuePlace>,
    limit: usize,
) -> ApiResult<(Vec<ScheduledAction>, bool)> {
    if filter.finished == Some(true) {
        let message = "`order=due` is of actions that are not over; leave `finished=true` out";
        return Err(ApiError::invalid_query(message));
    }
    let mut found = BTreeMap::new();
    for horizon in HORIZONS {
        let until = horizon.map(|horizon| state.now().plus(horizon));
        let narrow = ActionFilter {
            finished: Some(false),
            due_before: until.into_iter().chain(filter.due_before).min(),
            ..filter.clone()
        };
        found = soonest(state, narrow, wanted, after.as_ref(), limit + 1).await?;
        // What is paused is not due, so it says nothing about what lies further ahead.
        let due = found.keys().filter(|place| place.0 != i64::MAX).count();
        if due > limit {
            break;
        }
    }
    let more = found.len() > limit;
    Ok((found.into_values().take(limit).collect(), more))
}

async fn soonest(
    state: &ApiState,
    filter: ActionFilter,
    wanted: &ActionCriteria,
    after: Option<&DuePlace>,
    limit: usize,
) -> ApiResult<BTreeMap<DuePlace, ScheduledAction>> {
    let mut found = BTreeMap::new();
    let mut last = None;
    loop {
        let bite = state.control.actions(filter.clone(), last, BITE).await?;
        let at_end = bite.len() < BITE as usize;
        last = bite.last().map(|action| action.id.clone());
        for action in bite.into_iter().filter(|action| wanted.fits(action)) {
            let place = DuePlace::of(&action);
            if after.is_none_or(|after| place > *after) {
                found.insert(place, action);
            }
            if found.len() > limit {
                found.pop_last();
            }
        }
        if at_end {
            return Ok(found);
        }
    }
}

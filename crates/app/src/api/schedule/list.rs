//! Lists of scheduled actions: by id, or the one that is due next first.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use axum::extract::State;
use pawl_kernel::id::SchemaId;
use pawl_kernel::ports::schedule::{ActionFilter, DuePlace};
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
/// A request looks through so many pages' bytes to fill one.
const READ_PAGES: usize = 4;

pub(in crate::api) async fn list(State(state): State<ApiState>, query: Query) -> ApiResult {
    let limit = query.limit()? as usize;
    let wanted = ActionCriteria::read(&state, &query).await?;
    let order = ActionOrder::read(&query, &wanted)?;
    let (actions, next) = match wanted.is_contradiction() {
        true => (Vec::new(), None),
        false => gather(&state, &wanted, order, limit).await?,
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

/// Which actions are wanted. The store finds some of it along an index; each row is held against all of it.
struct ActionCriteria {
    filter: ActionFilter,
    due_before: Option<Timestamp>,
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
        let finished = query.get("finished").map(|_| query.flag("finished"));
        let due_before = query.time("due_before")?;
        let filter = ActionFilter {
            prefix: prefix(query)?,
            // What is due some time is not over.
            finished: finished.transpose()?.or(due_before.map(|_| false)),
        };
        Ok(Self {
            filter,
            due_before,
            schema,
            paused: paused.transpose()?,
            kind: kind.map(str::to_owned),
        })
    }

    /// Over, and due all the same.
    fn is_contradiction(&self) -> bool {
        self.filter.finished == Some(true) && self.due_before.is_some()
    }

    fn fits(&self, action: &ScheduledAction) -> bool {
        let spec = &action.spec.action;
        let starts = |(id, name): &(SchemaId, String)| match spec {
            Action::StartExecution { schema, .. } => *schema == *name || *schema == id.to_string(),
            _ => false,
        };
        let paused = action.status.paused_at.is_some();
        let due = |end: Timestamp| action.due_at().is_some_and(|due| due < end);
        self.filter.matches(action)
            && self.due_before.is_none_or(due)
            && self.schema.as_ref().is_none_or(starts)
            && self.paused.is_none_or(|wanted| wanted == paused)
            && self.kind.as_deref().is_none_or(|kind| kind == spec.name())
    }
}

/// In which order, and where the page before ended.
enum ActionOrder {
    Id(Option<ActionId>),
    Due(Option<DueCursor>),
}

impl ActionOrder {
    fn read(query: &Query, wanted: &ActionCriteria) -> ApiResult<Self> {
        match query.get("order") {
            None | Some("id") => Ok(Self::Id(cursor::from_query(CursorKind::Action, query)?)),
            Some("due") if wanted.filter.finished == Some(true) => Err(ApiError::invalid_query(
                "`order=due` is of actions that are not over; leave `finished=true` out",
            )),
            Some("due") => Ok(Self::Due(cursor::from_query(CursorKind::DueAction, query)?)),
            Some(other) => {
                let message = unknown_name("order", other, &ORDERS);
                Err(ApiError::invalid_query(message))
            }
        }
    }

    /// The next rows along the index of this order.
    async fn bite(
        &self,
        state: &ApiState,
        wanted: &ActionCriteria,
    ) -> ApiResult<Vec<ScheduledAction>> {
        let control = &state.control;
        Ok(match self {
            Self::Id(after) => {
                let after = after.as_ref().map(|id| id.0.clone());
                let filter = wanted.filter.clone();
                control.actions(filter, after, BITE).await?
            }
            Self::Due(after) => {
                let after = after.as_ref().map(|place| place.0.clone());
                let before = wanted.due_before;
                control.actions_by_due(before, after, BITE).await?
            }
        })
    }

    fn go_beyond(&mut self, action: &ScheduledAction) {
        match self {
            Self::Id(after) => *after = Some(ActionId(action.id.clone())),
            Self::Due(after) => *after = Some(DueCursor(DuePlace::of(action))),
        }
    }

    fn cursor(&self) -> Option<String> {
        match self {
            Self::Id(after) => after
                .as_ref()
                .map(|id| cursor::write(CursorKind::Action, &id.0)),
            Self::Due(after) => after
                .as_ref()
                .map(|place| cursor::write(CursorKind::DueAction, place)),
        }
    }
}

/// At most `limit` of those that are wanted, and not much more than a page may weigh, but at least one; and where the next
/// page begins. A request looks at so many rows and no more: what it has found by then is its page, which may be empty.
async fn gather(
    state: &ApiState,
    wanted: &ActionCriteria,
    mut order: ActionOrder,
    limit: usize,
) -> ApiResult<(Vec<ScheduledAction>, Option<String>)> {
    let (mut actions, mut bytes) = (Vec::new(), 0);
    let (mut rows_left, mut bytes_left) =
        (state.limits.rows_read, READ_PAGES * state.limits.page_bytes);
    while rows_left > 0 && bytes_left > 0 {
        let bite = order.bite(state, wanted).await?;
        if bite.is_empty() {
            return Ok((actions, None));
        }
        for action in bite {
            let size = action.spec.to_stored().len();
            let is_wanted = wanted.fits(&action);
            if is_wanted && (actions.len() == limit || bytes >= state.limits.page_bytes) {
                return Ok((actions, order.cursor()));
            }
            order.go_beyond(&action);
            rows_left = rows_left.saturating_sub(1);
            bytes_left = bytes_left.saturating_sub(size);
            if is_wanted {
                bytes += size;
                actions.push(action);
            }
        }
    }
    Ok((actions, order.cursor()))
}

/// As text: when it is due, in microseconds, and its id.
struct DueCursor(DuePlace);

impl Display for DueCursor {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        if let Some(due) = self.0.due {
            write!(to, "{}", due.as_micros())?;
        }
        write!(to, "/{}", self.0.id)
    }
}

impl FromStr for DueCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (due, id) = text.split_once('/').ok_or(())?;
        let id: ActionId = id.parse()?;
        let due = match due {
            "" => None,
            micros => Some(Timestamp::from_micros(micros.parse().map_err(drop)?)),
        };
        Ok(Self(DuePlace { due, id: id.0 }))
    }
}

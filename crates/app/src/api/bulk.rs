//! One action on every execution that a filter finds. A dry run, which is the default, only counts.

use axum::extract::State;
use futures_util::stream::{self, StreamExt};
use pawl_engine::control::{ControlError, RetryRequest};
use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::ExecutionFilter;
use serde::Serialize;
use serde_json::{Value, json};

use super::ApiState;
use super::access::AUDIT;
use super::body::JsonBody;
use super::cursor::{self, Kind};
use super::error::{ApiError, ApiResult};
use super::fields::{Fields, mismatch, unknown_name};
use super::guard::Identity;
use super::query::{self, FILTER};
use super::schemas;
use super::wire;

const PAGE: u32 = 500;

/// Commands under way at once: enough to share commits, too few to starve others.
const TOGETHER: usize = 32;

#[derive(Clone, Copy)]
enum Action {
    Pause,
    Resume,
    Stop,
    Retry,
}

const ACTIONS: &[(&str, Action)] = &[
    ("pause", Action::Pause),
    ("resume", Action::Resume),
    ("stop", Action::Stop),
    ("retry", Action::Retry),
];

impl Action {
    /// The part of a filter that the action can do something to. `None`: nothing is left of it.
    fn narrow(self, mut filter: ExecutionFilter) -> Option<ExecutionFilter> {
        let can_be = |status: &Status| match self {
            Self::Pause => !status.is_terminal() && *status != Status::Paused,
            Self::Resume => *status == Status::Paused,
            Self::Stop => !status.is_terminal(),
            Self::Retry => Status::UNRESOLVED.contains(status),
        };
        let given = match filter.statuses.is_empty() {
            true => Status::ALL.to_vec(),
            false => filter.statuses,
        };
        filter.statuses = given.into_iter().filter(can_be).collect();
        filter.not_retried |= matches!(self, Self::Retry);
        (!filter.statuses.is_empty()).then_some(filter)
    }
}

/// How many executions each outcome had.
#[derive(Default, Serialize)]
struct Outcomes {
    done: u64,
    /// Retried before; nothing was done.
    skipped: u64,
    /// The state of the execution did not allow it.
    conflict: u64,
    /// Gone since it was listed.
    not_found: u64,
    failed: u64,
}

pub(super) async fn act(
    State(state): State<ApiState>,
    identity: Identity,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let mut fields = Fields::of(body, &["filter", "action", "dry_run", "cursor"])?;
    let (name, action) = action(fields.text("action")?)?;
    let dry_run = fields.flag("dry_run")?.unwrap_or(true);
    let cursor = fields.text("cursor")?;
    let before: Option<ExecutionId> = cursor
        .map(|text| cursor::read(Kind::Execution, &text))
        .transpose()?;
    let wanted = fields.take("filter").ok_or_else(|| {
        ApiError::invalid_request("`filter` is missing; an empty object means every execution")
    })?;
    let filter = filter(&state, wanted).await?;
    if dry_run {
        let applicable = match action.narrow(filter.clone()) {
            Some(narrow) => state.store().count_executions(narrow).await?,
            None => 0,
        };
        let matched = state.store().count_executions(filter).await?;
        return Ok(wire::ok(&json!({
            "action": name, "dry_run": true, "matched": matched, "applicable": applicable, "limit": state.limits.bulk,
        })));
    }
    let (ids, next) = collect(&state, &filter, before).await?;
    let outcomes = run(&state, action, &identity, &ids).await;
    if !state.access.is_open() {
        let (by, matched, done) = (&identity.created_by, ids.len(), outcomes.done);
        tracing::info!(target: AUDIT, %by, action = name, matched, done, "bulk command");
    }
    Ok(wire::ok(&json!({
        "action": name, "dry_run": false, "matched": ids.len(), "outcomes": outcomes, "next": next,
    })))
}

fn action(name: Option<String>) -> ApiResult<(&'static str, Action)> {
    let names: Vec<&str> = ACTIONS.iter().map(|(name, _)| *name).collect();
    let Some(name) = name else {
        return Err(ApiError::invalid_request(format!(
            "`action` is missing: one of {}",
            names.join(", ")
        )));
    };
    let found = ACTIONS.iter().find(|(known, _)| *known == name).copied();
    found.ok_or_else(|| ApiError::invalid_request(unknown_name("action", &name, &names)))
}

/// A program that meant to name something and names nothing must not hit every execution.
fn check_filter(filter: &Value) -> ApiResult<()> {
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let mut fields = filter.as_object().into_iter().flatten();
    match fields.find(|(_, value)| is_empty(value)) {
        None => Ok(()),
        Some((name, value)) => Err(ApiError::invalid_request(format!(
            "`{name}` of the filter is {value}; give it a value or leave it out"
        ))),
    }
}

async fn filter(state: &ApiState, value: Value) -> ApiResult<ExecutionFilter> {
    check_filter(&value)?;
    let mut fields = Fields::of(value, FILTER)?;
    for name in ["schema", "schema_id"] {
        if fields.number(name).is_some() {
            let message = format!("`{name}` must be a text: {}", schemas::NUMBER_HINT);
            return Err(ApiError::invalid_request(message).details(json!({"field": name})));
        }
    }
    let schema = match (fields.text("schema")?, fields.text("schema_id")?) {
        (Some(key), _) | (None, Some(key)) => Some(schemas::id_of(state, &key).await?),
        (None, None) => None,
    };
    let mut time = |name| -> ApiResult<_> {
        let text = fields.text(name)?;
        text.map(|text| query::moment(name, &text).map_err(ApiError::invalid_request))
            .transpose()
    };
    let (created_after, created_before) = (time("since")?, time("until")?);
    let mut statuses = statuses(fields.take("status"))?;
    let not_retried = fields.flag("unresolved")?.unwrap_or(false);
    if not_retried {
        statuses = query::unresolved(&statuses).map_err(ApiError::invalid_request)?;
    }
    Ok(ExecutionFilter {
        created_after,
        created_before,
        statuses,
        not_retried,
        schema_id: schema,
        tenant: fields.text("tenant")?,
        text: fields.text("text")?,
    })
}

/// A comma list as in the query, or a list of names.
fn statuses(value: Option<Value>) -> ApiResult<Vec<Status>> {
    let read = match &value {
        None => return Ok(Vec::new()),
        Some(Value::String(text)) => query::statuses(text),
        Some(Value::Array(names)) => names
            .iter()
            .map(|name| query::status(name.as_str().unwrap_or_default()))
            .collect(),
        Some(other) => return Err(mismatch("status", "a text or a list", other)),
    };
    read.map_err(ApiError::invalid_request)
}

/// The ids that match, up to the limit; and where to go on if there are more.
async fn collect(
    state: &ApiState,
    filter: &ExecutionFilter,
    mut before: Option<ExecutionId>,
) -> ApiResult<(Vec<ExecutionId>, Option<String>)> {
    let mut ids: Vec<ExecutionId> = Vec::new();
    loop {
        let views = state
            .store()
            .executions(filter.clone(), before, PAGE)
            .await?;
        let at_end = views.len() < PAGE as usize;
        for view in views {
            if ids.len() == state.limits.bulk {
                let next = ids.last().map(|id| cursor::write(Kind::Execution, id));
                return Ok((ids, next));
            }
            ids.push(view.execution.head.id);
        }
        if at_end {
            return Ok((ids, None));
        }
        before = ids.last().copied();
    }
}

async fn run(
    state: &ApiState,
    action: Action,
    identity: &Identity,
    ids: &[ExecutionId],
) -> Outcomes {
    let results = stream::iter(ids.iter().copied())
        .map(|id| async move { (id, apply(state, action, identity, id).await) })
        .buffer_unordered(TOGETHER);
    results
        .fold(Outcomes::default(), |outcomes, (id, result)| async move {
            outcomes.and(id, result)
        })
        .await
}

async fn apply(
    state: &ApiState,
    action: Action,
    identity: &Identity,
    id: ExecutionId,
) -> Result<(), ControlError> {
    match action {
        Action::Pause => state.control.pause(id).await.map(drop),
        Action::Resume => state.control.resume(id).await.map(drop),
        Action::Stop => state.control.stop(id).await.map(drop),
        Action::Retry => {
            let request = RetryRequest {
                created_by: identity.created_by.clone(),
                user: Some(identity.user.clone()),
                ..RetryRequest::default()
            };
            Box::pin(state.control.retry(id, request)).await.map(drop)
        }
    }
}

impl Outcomes {
    fn and(mut self, id: ExecutionId, result: Result<(), ControlError>) -> Self {
        match result {
            Ok(()) => self.done += 1,
            Err(ControlError::AlreadyRetried { .. }) => self.skipped += 1,
            Err(ControlError::NotFound(_)) => self.not_found += 1,
            Err(ControlError::Conflict(_) | ControlError::Invalid { .. }) => self.conflict += 1,
            Err(error) => {
                tracing::warn!(execution_id = %id, %error, "one execution of a bulk action failed");
                self.failed += 1;
            }
        }
        self
    }
}

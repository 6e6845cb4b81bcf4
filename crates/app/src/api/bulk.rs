//! One action on every execution that a filter finds. A dry run, which is the default, only counts.

use axum::extract::State;
use futures_util::stream::{self, StreamExt};
use pawl_engine::control::{ControlError, RetryRequest};
use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::ExecutionFilter;
use pawl_kernel::time::Timestamp;
use serde_json::{Value, json};

use super::ApiState;
use super::access::AUDIT;
use super::body::JsonBody;
use super::cursor::{self, CursorKind};
use super::error::{ApiError, ApiResult};
use super::fields::{self, check_text, unknown_name};
use super::filter::{self as filters, FilterFields};
use super::guard::Identity;
use super::query;
use super::reply;
use super::schemas;
use crate::wire::{self, BulkOutcomes, BulkResult, Name, Reference, StatusList, Text};

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

pub(super) async fn act(
    State(state): State<ApiState>,
    identity: Identity,
    JsonBody(body): JsonBody,
) -> ApiResult {
    let asked: wire::BulkRequest = fields::read(body)?;
    let (name, action) = action(asked.action)?;
    let dry_run = asked.dry_run.unwrap_or(true);
    let before: Option<ExecutionId> = asked
        .cursor
        .map(|text| cursor::read(CursorKind::Execution, &text.0))
        .transpose()?;
    let wanted = asked.filter.ok_or_else(|| {
        ApiError::invalid_request("`filter` is missing; an empty object means every execution")
    })?;
    let filter = filter(&state, wanted).await?;
    if dry_run {
        let applicable = match action.narrow(filter.clone()) {
            Some(narrow) => state.store().count_executions(narrow).await?,
            None => 0,
        };
        let matched = state.store().count_executions(filter).await?;
        return Ok(reply::ok(&BulkResult {
            action: Name::new(name),
            dry_run,
            matched,
            applicable: Some(applicable),
            limit: Some(state.limits.bulk as u64),
            outcomes: None,
            next: None,
        }));
    }
    let (ids, next) = collect(&state, &filter, before).await?;
    let outcomes = run(&state, action, &identity, &ids).await;
    if !state.access.is_open() {
        let (by, matched, done) = (&identity.created_by, ids.len(), outcomes.done);
        tracing::info!(target: AUDIT, %by, action = name, matched, done, "bulk command");
    }
    Ok(reply::ok(&BulkResult {
        action: Name::new(name),
        dry_run,
        matched: ids.len() as u64,
        applicable: None,
        limit: None,
        outcomes: Some(outcomes),
        next: Some(next),
    }))
}

fn action(name: Option<Text>) -> ApiResult<(&'static str, Action)> {
    let names: Vec<&str> = ACTIONS.iter().map(|(name, _)| *name).collect();
    let Some(Text(name)) = name else {
        return Err(ApiError::invalid_request(format!(
            "`action` is missing: one of {}",
            names.join(", ")
        )));
    };
    let found = ACTIONS.iter().find(|(known, _)| *known == name).copied();
    found.ok_or_else(|| ApiError::invalid_request(unknown_name("action", &name, &names)))
}

/// A program that meant to name something and names nothing must not hit every execution.
pub(super) fn check_filter(filter: &Value) -> ApiResult<()> {
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
    let mut asked: wire::Filter = fields::read(value)?;
    let (schema, schema_id) = (
        schema_text("schema", asked.schema.take())?,
        schema_text("schema_id", asked.schema_id.take())?,
    );
    let schema = match schema.or(schema_id) {
        Some(key) => Some(schemas::id_of(state, &key).await?),
        None => None,
    };
    let time = |name, asked: Option<Text>| {
        let at = asked.map(|text| query::moment(name, &text.0));
        at.transpose().map_err(ApiError::invalid_request)
    };
    let (created_after, created_before) = (
        time("since", asked.since.take())?,
        time("until", asked.until.take())?,
    );
    let mut statuses = statuses(asked.status.take()).map_err(ApiError::invalid_request)?;
    let not_retried = asked.unresolved.unwrap_or(false);
    if not_retried {
        statuses = filters::unresolved(&statuses).map_err(ApiError::invalid_request)?;
    }
    let found = ExecutionFilter {
        created_after,
        created_before,
        statuses,
        not_retried,
        schema_id: schema,
        tenant: asked.tenant.as_ref().map(|tenant| tenant.0.clone()),
        text: asked.text.as_ref().map(|text| text.0.clone()),
        ..ExecutionFilter::default()
    };
    narrowed(&asked, found, state.now()).map_err(ApiError::invalid_request)
}

fn narrowed(
    asked: &wire::Filter,
    found: ExecutionFilter,
    now: Timestamp,
) -> Result<ExecutionFilter, String> {
    let version = asked.version.map(|number| number.to_string());
    let ids = asked.ids.as_ref();
    let ids = ids.map(|ids| {
        ids.iter()
            .map(|id| id.as_str().unwrap_or_default())
            .collect()
    });
    let asked = FilterFields {
        label: text_of(&asked.label),
        created_by: text_of(&asked.created_by),
        version: version.as_deref(),
        node: text_of(&asked.node),
        error_code: text_of(&asked.error_code),
        retry_of: text_of(&asked.retry_of),
        forked_from: text_of(&asked.forked_from),
        finished_since: text_of(&asked.finished_since),
        longer_than: text_of(&asked.longer_than),
        ids,
        trial: asked.trial.unwrap_or(false),
    };
    asked.narrow(found, now)
}

fn text_of(field: &Option<Text>) -> Option<&str> {
    field.as_ref().map(|text| text.0.as_str())
}

fn schema_text(name: &str, asked: Option<Reference>) -> ApiResult<Option<String>> {
    match asked {
        None => Ok(None),
        Some(Reference::Text(key)) => check_text(name, &key).map(|()| Some(key)),
        Some(Reference::Number(_)) => {
            let message = format!("`{name}` must be a text: {}", schemas::NUMBER_HINT);
            Err(ApiError::invalid_request(message).details(json!({"field": name})))
        }
    }
}

/// A comma list as in the query, or a list of names.
fn statuses(asked: Option<StatusList>) -> Result<Vec<Status>, String> {
    match asked {
        None => Ok(Vec::new()),
        Some(StatusList::Commas(text)) => query::statuses(&text),
        Some(StatusList::Names(names)) => names
            .iter()
            .map(|name| query::status(name.as_str().unwrap_or_default()))
            .collect(),
    }
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
                let next = ids
                    .last()
                    .map(|id| cursor::write(CursorKind::Execution, id));
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
) -> BulkOutcomes {
    let results = stream::iter(ids.iter().copied())
        .map(|id| async move { (id, apply(state, action, identity, id).await) })
        .buffer_unordered(TOGETHER);
    results
        .fold(
            BulkOutcomes::default(),
            |outcomes, (id, result)| async move { counted(outcomes, id, result) },
        )
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

fn counted(
    mut outcomes: BulkOutcomes,
    id: ExecutionId,
    result: Result<(), ControlError>,
) -> BulkOutcomes {
    match result {
        Ok(()) => outcomes.done += 1,
        Err(ControlError::AlreadyRetried { .. }) => outcomes.skipped += 1,
        Err(ControlError::NotFound(_)) => outcomes.not_found += 1,
        Err(
            ControlError::Conflict(_)
            | ControlError::Refused(_)
            | ControlError::Invalid { .. }
            | ControlError::InvalidInput(_),
        ) => outcomes.conflict += 1,
        Err(error) => {
            tracing::warn!(execution_id = %id, %error, "one execution of a bulk action failed");
            outcomes.failed += 1;
        }
    }
    outcomes
}

//! What a list of schemas says of each besides its row: triggers, open executions, the newest executions, the next firing.
//! Everything is asked for once for the whole page.

use std::collections::HashMap;

use pawl_kernel::execution::Status;
use pawl_kernel::id::SchemaId;
use pawl_kernel::ports::overview::{GroupBy, GroupCounts, count_by};
use pawl_kernel::ports::schedule::ActionFilter;
use pawl_kernel::ports::store::{ExecutionFilter, SchemaRecord};
use pawl_kernel::schedule::{Policy, ScheduledAction};
use pawl_kernel::start_key;
use pawl_kernel::webhook::Webhook;

use super::ApiState;
use super::error::ApiResult;
use crate::wire::{Name, RunOutcome, SchemaSummary, Time, TriggerSummary};

/// Outcomes told of each schema.
const LAST: u32 = 20;
const PAGE: u32 = 500;

/// In the order of the records.
pub(super) async fn of_schemas(
    state: &ApiState,
    records: &[SchemaRecord],
) -> ApiResult<Vec<SchemaSummary>> {
    let ids: Vec<SchemaId> = records.iter().map(|record| record.id).collect();
    let newest = state.store().newest_of(ids.clone(), LAST).await?;
    let open = open_by_schema(state).await?;
    let mut summaries: Vec<SchemaSummary> = newest
        .iter()
        .zip(&ids)
        .map(|(runs, id)| SchemaSummary {
            triggers: Vec::new(),
            open: open_of(&open, *id),
            open_capped: open.is_capped,
            last: runs.iter().map(RunOutcome::from).collect(),
            next_at: None,
        })
        .collect();
    let places: HashMap<SchemaId, usize> = ids.iter().copied().zip(0..).collect();
    let of = |id: SchemaId| places.get(&id).copied();
    let (_, webhooks) = state.store().webhooks().await?;
    for webhook in webhooks.into_iter().filter_map(|row| row.read()) {
        if let Some(at) = of(webhook.schema_id) {
            summaries[at].triggers.push(of_webhook(&webhook));
        }
    }
    for action in cron_actions(state).await? {
        if let Some(at) = schema_of(&action).and_then(of) {
            add_cron(&mut summaries[at], &action);
        }
    }
    Ok(summaries)
}

async fn open_by_schema(state: &ApiState) -> ApiResult<GroupCounts> {
    let open = Status::ALL.iter().copied().filter(|one| !one.is_terminal());
    let filter = ExecutionFilter {
        statuses: open.collect(),
        trial: Some(false),
        ..ExecutionFilter::default()
    };
    Ok(count_by(state.store(), &filter, GroupBy::Schema).await?)
}

fn open_of(open: &GroupCounts, id: SchemaId) -> u64 {
    let id = id.to_string();
    let found = open.groups.iter().find(|group| group.key == id);
    found.map_or(0, |group| group.count)
}

fn of_webhook(webhook: &Webhook) -> TriggerSummary {
    TriggerSummary {
        kind: Name::new("webhook"),
        name: webhook.name.clone(),
        text: format!(
            "{} /webhook/{}",
            webhook.trigger.method.name(),
            webhook.trigger.path
        ),
    }
}

/// All that are not over.
async fn cron_actions(state: &ApiState) -> ApiResult<Vec<ScheduledAction>> {
    let filter = ActionFilter {
        prefix: Some(start_key::CRON.to_owned()),
        finished: Some(false),
        ..ActionFilter::default()
    };
    let mut found: Vec<ScheduledAction> = Vec::new();
    loop {
        let after = found.last().map(|action| action.id.clone());
        let page = state.store().actions(filter.clone(), after, PAGE).await?;
        let is_last = page.len() < PAGE as usize;
        found.extend(page);
        if is_last {
            return Ok(found);
        }
    }
}

/// `cron:SCHEMA:NAME`.
fn schema_of(action: &ScheduledAction) -> Option<SchemaId> {
    parts_of(action)?.0.parse().ok()
}

fn parts_of(action: &ScheduledAction) -> Option<(&str, &str)> {
    action.id.strip_prefix(start_key::CRON)?.split_once(':')
}

fn add_cron(summary: &mut SchemaSummary, action: &ScheduledAction) {
    let Policy::Cron { cron, .. } = &action.spec.policy else {
        return;
    };
    let name = parts_of(action).map_or("", |(_, name)| name);
    summary.triggers.push(TriggerSummary {
        kind: Name::new("cron"),
        name: name.to_owned(),
        text: cron.expr().to_owned(),
    });
    let known = summary.next_at.map(|Time(at)| at);
    let next = action.due_at().into_iter().chain(known).min();
    summary.next_at = next.map(Time);
}

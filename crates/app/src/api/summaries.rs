//! What a list of schemas says of each besides its row: triggers, open executions, the newest executions, the next firing.
//! Only schemas of the page are asked about, however many there are.

use std::collections::HashMap;

use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
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
const PAGE: u32 = 50;
/// Schemas whose actions are asked for at the same time.
const AT_ONCE: usize = 4;

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
    let webhooks = state.store().webhooks_of(ids.clone()).await?;
    for webhook in webhooks.into_iter().filter_map(|row| row.read()) {
        if let Some(at) = of(webhook.schema_id) {
            summaries[at].triggers.push(of_webhook(&webhook));
        }
    }
    let mut firings =
        stream::iter(ids.iter().copied().map(|id| firings(state, id))).buffered(AT_ONCE);
    for summary in &mut summaries {
        if let Some(found) = firings.try_next().await? {
            summary.triggers.extend(found.triggers);
            summary.next_at = found.next_at;
        }
    }
    drop(firings);
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

/// What the scheduled actions of a schema say of it.
#[derive(Default)]
struct CronFirings {
    triggers: Vec<TriggerSummary>,
    next_at: Option<Time>,
}

/// Of `cron:SCHEMA:NAME` that are not over, page by page: nothing else of an action is kept.
async fn firings(state: &ApiState, id: SchemaId) -> ApiResult<CronFirings> {
    let prefix = format!("{}{id}:", start_key::CRON);
    let filter = ActionFilter {
        prefix: Some(prefix.clone()),
        finished: Some(false),
    };
    let (mut found, mut after) = (CronFirings::default(), None);
    loop {
        let page = state.store().actions(filter.clone(), after, PAGE).await?;
        let is_last = page.len() < PAGE as usize;
        after = page.last().map(|action| action.id.clone());
        for action in &page {
            found.add(action, &prefix);
        }
        if is_last {
            return Ok(found);
        }
    }
}

impl CronFirings {
    fn add(&mut self, action: &ScheduledAction, prefix: &str) {
        let Policy::Cron { cron, .. } = &action.spec.policy else {
            return;
        };
        let name = action.id.strip_prefix(prefix).unwrap_or_default();
        self.triggers.push(TriggerSummary {
            kind: Name::new("cron"),
            name: name.to_owned(),
            text: cron.expr().to_owned(),
        });
        let known = self.next_at.as_ref().map(|Time(at)| *at);
        let next = action.due_at().into_iter().chain(known).min();
        self.next_at = next.map(Time);
    }
}

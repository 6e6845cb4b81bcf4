//! Removes finished executions and scheduled actions whose time is over, a few at a time, and has the store keep its
//! tables in order.
//!
//! How long an execution is kept after its end says the published version of its schema (`settings.retention`), else the
//! configuration, else it is kept for ever. Whether one may go is looked at again in the transaction that removes it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::retention::{
    Cutoff, KEY_KEPT, OutdatedRequest, ReclaimReport, RemovalReport, RemoveRequest, RetentionStore,
};
use pawl_kernel::ports::store::{CatalogStore, StoreError, StoreResult};
use pawl_kernel::schema::definition::FOREVER;
use pawl_kernel::time::{Clock, Timestamp, parse_duration};
use serde::Deserialize;

use crate::runtime::Runtime;
use crate::service::{NextTick, Service};

/// Rows read at once.
const PAGE: u32 = 500;
/// Executions removed in one transaction: the writes of others go in between.
const AT_ONCE: usize = 100;
/// Most executions that one tick removes, and the longest it goes on.
const PER_TICK: u64 = 10_000;
const TICK_TIME: Duration = Duration::from_secs(20);
/// Most executions that one tick tries in vain.
const FAILED_MAX: u64 = 100;
/// After so many schemas in a row it is not the schemas.
const TROUBLES_MAX: usize = 3;
/// A process that has just started has better things to do.
const FIRST_AFTER: Duration = Duration::from_secs(60);
const EVERY: Duration = Duration::from_secs(3_600);
/// There was more to do than one tick does.
const AGAIN_AFTER: Duration = Duration::from_secs(10);

pub struct Retention {
    store: Arc<dyn RetentionStore>,
    catalog: Arc<dyn CatalogStore>,
    clock: Arc<dyn Clock>,
    /// How long executions are kept whose schema says nothing; `None`: for ever.
    usual: Option<Duration>,
    /// What the published versions of schemas say. A version never changes.
    wishes: HashMap<(SchemaId, u32), Wish>,
    /// Where the last tick had to stop.
    place: Option<ScanPlace>,
}

/// Where a tick goes on: at this schema, after this execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanPlace {
    pub schema_id: SchemaId,
    pub after: Option<ExecutionId>,
}

/// What a schema says about its executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Usual,
    ForEver,
    For(Duration),
}

/// What a tick did, or would do.
#[derive(Clone, Debug, Default)]
pub struct RetentionReport {
    pub removed: RemovalReport,
    pub reclaimed: ReclaimReport,
    /// Schemas of which something went, with how long their executions are kept.
    pub schemas: Vec<Collection>,
    /// Executions that may go and could not be removed. The log says which, and why.
    pub failed: u64,
    /// It had to stop before the end; another tick goes on from here.
    pub next: Option<ScanPlace>,
    /// More actions may go than one tick removes.
    pub more_actions: bool,
}

impl RetentionReport {
    /// Another tick would do more.
    pub fn has_more(&self) -> bool {
        self.next.is_some() || self.reclaimed.more || self.more_actions
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    pub schema_id: SchemaId,
    pub keep: Duration,
    pub executions: u64,
}

/// How long the executions of one schema are kept; `None`: for ever.
type Policy = (SchemaId, Option<Duration>);

/// One run over the schemas.
struct Round {
    now: Timestamp,
    until: Timestamp,
    /// Executions created before this are past every retention.
    all_gone_before: Option<Timestamp>,
    dry: bool,
    pages: u64,
    collected: RetentionReport,
}

impl Retention {
    pub fn new(runtime: &Runtime) -> Self {
        Self::from(runtime, None)
    }

    /// Goes on where another one had to stop.
    pub fn from(runtime: &Runtime, place: Option<ScanPlace>) -> Self {
        Self {
            store: runtime.store.clone(),
            catalog: runtime.store.clone(),
            clock: runtime.clock.clone(),
            usual: runtime.options.retention,
            wishes: HashMap::new(),
            place,
        }
    }

    /// Removes some of what may go, and gives some space back.
    pub async fn remove_some(&mut self) -> StoreResult<RetentionReport> {
        self.round(false).await
    }

    /// What would go, and nothing does.
    pub async fn preview(&mut self) -> StoreResult<RetentionReport> {
        self.round(true).await
    }

    async fn round(&mut self, dry: bool) -> StoreResult<RetentionReport> {
        let now = self.clock.now();
        let policies = self.policies().await?;
        let mut round = Round {
            now,
            until: now.plus(TICK_TIME),
            all_gone_before: all_gone_before(&policies, now),
            dry,
            pages: 0,
            collected: RetentionReport::default(),
        };
        let place = self.place.take();
        let is_ahead = |schema_id: &SchemaId| place.is_none_or(|at| *schema_id >= at.schema_id);
        let ahead = policies.iter().filter(|(schema_id, _)| is_ahead(schema_id));
        let kept: Vec<_> = ahead
            .filter_map(|(id, keep)| Some((*id, (*keep)?)))
            .collect();
        self.go_round(&mut round, place, &kept).await?;
        self.collect_actions(&mut round).await?;
        let mut collected = round.collected;
        let removes = policies.iter().any(|(_, keep)| keep.is_some());
        if !dry && (removes || collected.removed.actions > 0) {
            collected.reclaimed = self.store.reclaim(now).await?;
        }
        Ok(collected)
    }

    /// Finished actions go as long after their end as executions do; no schema says otherwise.
    async fn collect_actions(&self, round: &mut Round) -> StoreResult<()> {
        let Some(keep) = self.usual else {
            return Ok(());
        };
        let (store, before) = (&self.store, round.now.minus(keep));
        if round.dry {
            let old = store.outdated_actions(before, PER_TICK as u32).await?;
            round.collected.removed.actions = old.len() as u64;
            return Ok(());
        }
        while round.collected.removed.actions < PER_TICK {
            let old = store.outdated_actions(before, AT_ONCE as u32).await?;
            let is_last = old.len() < AT_ONCE;
            let removed = store.remove_actions(old, before).await?;
            round.collected.removed += removed;
            if is_last || removed.actions == 0 || self.clock.now() >= round.until {
                round.collected.more_actions = !is_last && removed.actions > 0;
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
        round.collected.more_actions = true;
        Ok(())
    }

    /// One schema after the other. What goes wrong with one is no reason not to look at the next.
    async fn go_round(
        &mut self,
        round: &mut Round,
        place: Option<ScanPlace>,
        schemas: &[(SchemaId, Duration)],
    ) -> StoreResult<()> {
        let start = |schema_id| ScanPlace {
            schema_id,
            after: None,
        };
        let mut troubles = 0;
        for (n, (schema_id, keep)) in schemas.iter().enumerate() {
            let here = place.filter(|place| place.schema_id == *schema_id);
            let here = here.unwrap_or(start(*schema_id));
            match self.collect(round, here, *keep).await {
                Ok(None) => troubles = 0,
                Ok(stopped) => {
                    round.collected.next = stopped;
                    break;
                }
                Err(error) => {
                    tracing::warn!(%error, %schema_id, "retention; the next schema is looked at");
                    troubles += 1;
                    let all_failed = troubles == schemas.len();
                    if all_failed || troubles == TROUBLES_MAX {
                        // Not here again at once: there may be others behind it.
                        self.place = schemas.get(n + 1).map(|(next, _)| start(*next));
                        return Err(error);
                    }
                }
            }
        }
        self.place = round.collected.next;
        Ok(())
    }

    /// One schema. `Some`: it is not done, and goes on there.
    async fn collect(
        &self,
        round: &mut Round,
        mut place: ScanPlace,
        keep: Duration,
    ) -> StoreResult<Option<ScanPlace>> {
        let cutoff = Cutoff::new(round.now, keep);
        let before = round.collected.removed.executions;
        let stopped = loop {
            if round.is_over(self.clock.now()) {
                break Some(place);
            }
            let request = OutdatedRequest {
                schema_id: place.schema_id,
                cutoff,
                after: place.after,
                limit: PAGE,
            };
            let page = self.store.outdated(request).await?;
            round.pages += 1;
            let last_tried = self.remove(round, page.ids, cutoff).await;
            if last_tried.is_some() {
                place.after = last_tried;
                break Some(place);
            }
            place.after = page.next;
            if place.after.is_none() {
                break None;
            }
        };
        let executions = round.collected.removed.executions - before;
        round.note(place.schema_id, keep, executions);
        Ok(stopped)
    }

    /// `Some`: it had to stop after this one.
    async fn remove(
        &self,
        round: &mut Round,
        ids: Vec<ExecutionId>,
        cutoff: Cutoff,
    ) -> Option<ExecutionId> {
        if round.dry {
            round.collected.removed.executions += ids.len() as u64;
            return None;
        }
        for ids in ids.chunks(AT_ONCE) {
            if let Err(error) = self.remove_at_once(round, ids, cutoff).await {
                let count = ids.len();
                tracing::warn!(%error, count, "could not be removed at once; now one by one");
                let stopped = self.remove_singly(round, ids, cutoff).await;
                if stopped.is_some() {
                    return stopped;
                }
            }
            tokio::task::yield_now().await;
        }
        None
    }

    async fn remove_at_once(
        &self,
        round: &mut Round,
        ids: &[ExecutionId],
        cutoff: Cutoff,
    ) -> StoreResult<()> {
        let request = RemoveRequest {
            ids: ids.to_vec(),
            cutoff,
            all_gone_before: round.all_gone_before,
        };
        round.collected.removed += self.store.remove(request).await?;
        Ok(())
    }

    /// The others do not have to stay because of one that cannot go, or because together they are too much.
    async fn remove_singly(
        &self,
        round: &mut Round,
        ids: &[ExecutionId],
        cutoff: Cutoff,
    ) -> Option<ExecutionId> {
        for id in ids {
            if let Err(error) = self.remove_at_once(round, &[*id], cutoff).await {
                tracing::warn!(%error, execution = %id, "cannot be removed");
                round.collected.failed += 1;
            }
            if round.is_over(self.clock.now()) {
                return Some(*id);
            }
        }
        None
    }

    /// Of every schema there ever was, in order of id.
    async fn policies(&mut self) -> StoreResult<Vec<Policy>> {
        let mut latest = Vec::new();
        loop {
            let after = latest.last().map(|(schema_id, _)| *schema_id);
            let page = self.store.published_versions(after, PAGE).await?;
            let full = page.len() == PAGE as usize;
            latest.extend(page);
            if !full {
                break;
            }
        }
        let mut known = HashMap::with_capacity(latest.len());
        let mut policies = Vec::with_capacity(latest.len());
        for (schema_id, version) in latest {
            let wish = self.wish(schema_id, version).await?;
            known.insert((schema_id, version), wish);
            policies.push((schema_id, self.keep(wish)));
        }
        self.wishes = known;
        Ok(policies)
    }

    fn keep(&self, wish: Wish) -> Option<Duration> {
        match wish {
            Wish::Usual => self.usual,
            Wish::ForEver => None,
            Wish::For(keep) => Some(keep),
        }
    }

    async fn wish(&self, schema_id: SchemaId, version: u32) -> StoreResult<Wish> {
        if let Some(wish) = self.wishes.get(&(schema_id, version)) {
            return Ok(*wish);
        }
        let record = match self.catalog.version(schema_id, version).await {
            // One that is damaged is no reason to keep all others.
            Err(StoreError::Corrupt(_)) => None,
            read => read?,
        };
        let wish = record.as_ref().and_then(|record| read(&record.definition));
        if wish.is_none() {
            tracing::warn!(%schema_id, version, "its retention cannot be read; its executions are kept");
        }
        Ok(wish.unwrap_or(Wish::ForEver))
    }
}

impl Service for Retention {
    fn name(&self) -> &'static str {
        "retention"
    }

    fn first_tick(&self) -> NextTick {
        NextTick::After(FIRST_AFTER)
    }

    async fn tick(&mut self, now: Timestamp) -> StoreResult<NextTick> {
        if let Err(error) = self.store.maintain(now).await {
            tracing::warn!(%error, "upkeep of the store");
        }
        let collected = self.remove_some().await?;
        report(&collected);
        Ok(NextTick::After(if collected.has_more() {
            AGAIN_AFTER
        } else {
            EVERY
        }))
    }

    fn after_error(&self) -> NextTick {
        NextTick::After(EVERY)
    }
}

impl Round {
    /// Not before it has got on a little.
    fn is_over(&self, now: Timestamp) -> bool {
        let RetentionReport {
            removed, failed, ..
        } = &self.collected;
        let enough = !self.dry && (removed.executions >= PER_TICK || *failed >= FAILED_MAX);
        self.pages > 0 && (enough || now >= self.until)
    }

    fn note(&mut self, schema_id: SchemaId, keep: Duration, executions: u64) {
        if executions > 0 {
            self.collected.schemas.push(Collection {
                schema_id,
                keep,
                executions,
            });
        }
    }
}

/// Of a definition, the one line that matters here.
#[derive(Deserialize)]
struct Slim {
    #[serde(default)]
    settings: SlimSettings,
}

#[derive(Deserialize, Default)]
struct SlimSettings {
    retention: Option<String>,
}

fn read(definition: &str) -> Option<Wish> {
    let slim: Slim = serde_json::from_str(definition).ok()?;
    match slim.settings.retention.as_deref() {
        None => Some(Wish::Usual),
        Some(FOREVER) => Some(Wish::ForEver),
        Some(text) => parse_duration(text).ok().map(Wish::For),
    }
}

/// If every schema's executions go some day: those created before this have all gone, or are about to.
fn all_gone_before(policies: &[Policy], now: Timestamp) -> Option<Timestamp> {
    let mut longest = KEY_KEPT;
    for (_, keep) in policies {
        longest = longest.max((*keep)?);
    }
    Some(now.minus(longest))
}

fn report(collected: &RetentionReport) {
    let RetentionReport {
        removed,
        reclaimed,
        failed,
        ..
    } = collected;
    if *failed > 0 {
        tracing::warn!(
            failed,
            "executions past their retention could not be removed"
        );
    }
    if removed.executions + removed.actions > 0 || !reclaimed.tables.is_empty() {
        tracing::info!(?removed, ?reclaimed, "removed what was past its retention");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_says_how_long() {
        let days = |days: u64| Wish::For(Duration::from_secs(days * 86_400));
        for (text, wish) in [
            (r#"{"language":1}"#, Some(Wish::Usual)),
            (r#"{"settings":{"max_steps":3}}"#, Some(Wish::Usual)),
            (r#"{"settings":{"retention":"30d"}}"#, Some(days(30))),
            (r#"{"settings":{"retention":"0s"}}"#, Some(days(0))),
            (
                r#"{"settings":{"retention":"forever"}}"#,
                Some(Wish::ForEver),
            ),
            (r#"{"settings":{"retention":"soon"}}"#, None),
            ("nonsense", None),
        ] {
            assert_eq!(read(text), wish, "{text}");
        }
    }

    #[test]
    fn whole_tables_go_only_if_nothing_is_kept_for_ever() {
        let now = Timestamp::from_micros(1_000 * 86_400_000_000);
        let schema = |n| SchemaId(uuid::Uuid::from_u128(n));
        let days = |days: u64| Some(Duration::from_secs(days * 86_400));
        let of = |keeps: &[Option<Duration>]| {
            let policies: Vec<Policy> = (1..).map(schema).zip(keeps.iter().copied()).collect();
            all_gone_before(&policies, now)
        };
        assert_eq!(of(&[days(3), days(30)]), Some(now.minus(days(30).unwrap())));
        assert_eq!(of(&[days(3), None]), None);
        assert_eq!(of(&[Some(Duration::ZERO)]), Some(now.minus(KEY_KEPT)));
    }
}

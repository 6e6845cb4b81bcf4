//! Liveness as a query: every open execution has a message due, a live lease, a timer, a wait, a place in line or a hold.

use std::collections::{BTreeMap, HashMap};

use pawl_kernel::execution::Hold;
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::quotas::Miscount;
use pawl_kernel::ports::store::{Dispatch, ExecutionView, StoreResult};
use pawl_kernel::quota::{QuotaKind, QuotaName};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::WaitTimer;
use serde::Serialize;

use crate::presence::alive_since;
use crate::runtime::Runtime;

const PAGE: u32 = 500;

#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Empty if the finding is about a quota alone.
    pub execution_id: String,
    pub schema: String,
    /// The quota that the finding is about, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<String>,
    /// `wait_without_timer`, `lease_expired`, `stop_not_applied`, `no_message`, `not_in_line`, `not_counted`,
    /// `quota_miscounted`, `connection_writes_to_store`.
    pub problem: &'static str,
    pub detail: String,
    pub fixed: bool,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub open_executions: u64,
    pub findings: Vec<Finding>,
    pub about: Vec<(String, String)>,
}

/// Looks at every open execution; with `fix` it repairs what it finds.
pub async fn examine(runtime: &Runtime, fix: bool) -> StoreResult<Report> {
    let mut report = Report {
        about: about(runtime).await?,
        findings: runtime.problems().into_iter().map(around).collect(),
        ..Report::default()
    };
    let set = SetQuotas::read(runtime).await?;
    let mut after: Option<ExecutionId> = None;
    loop {
        let page = runtime.store.open_executions(after, PAGE).await?;
        let Some(last) = page.last() else {
            examine_quotas(runtime, fix, &mut report).await?;
            return Ok(report);
        };
        after = Some(last.execution.head.id);
        report.open_executions += page.len() as u64;
        examine_page(runtime, &page, fix, &mut report).await?;
        examine_claims(runtime, &page, &set, fix, &mut report).await?;
    }
}

/// About nothing in the store.
fn around((problem, detail): (&'static str, String)) -> Finding {
    Finding {
        execution_id: String::new(),
        schema: String::new(),
        quota: None,
        problem,
        detail,
        fixed: false,
    }
}

/// What the store says of itself, and who is there to do the work.
async fn about(runtime: &Runtime) -> StoreResult<Vec<(String, String)>> {
    let mut about = runtime.store.about().await?;
    let workers = runtime
        .store
        .workers(alive_since(&runtime.options, runtime.now()))
        .await?;
    for role in ["engine", "timers", "reaper"] {
        let able = workers
            .iter()
            .filter(|worker| worker.roles.iter().any(|known| known == role));
        about.push((format!("workers_{role}"), able.count().to_string()));
    }
    let queue = match runtime.queue.takes_messages() {
        true => "takes messages",
        false => "cannot be reached, or takes no messages",
    };
    about.push(("queue".into(), queue.into()));
    Ok(about)
}

async fn examine_page(
    runtime: &Runtime,
    page: &[ExecutionView],
    fix: bool,
    report: &mut Report,
) -> StoreResult<()> {
    let timed: Vec<&ExecutionView> = page
        .iter()
        .filter(|view| {
            view.state
                .wait
                .as_ref()
                .is_some_and(|wait| wait.wake_at.is_some())
        })
        .collect();
    let waits = timed
        .iter()
        .filter_map(|view| {
            view.state
                .wait
                .as_ref()
                .map(|wait| (view.execution.head.id, wait.id))
        })
        .collect();
    let shards = runtime.store.timer_shards(waits).await?;
    let without_timer: Vec<ExecutionId> = timed
        .iter()
        .zip(shards)
        .filter(|(_, shard)| shard.is_none())
        .map(|(view, _)| view.execution.head.id)
        .collect();
    for view in page {
        let missing = without_timer.contains(&view.execution.head.id);
        if let Some((problem, detail)) = diagnose(runtime, view, missing) {
            let fixed = fix && repair(runtime, view, problem).await?;
            report.findings.push(Finding {
                execution_id: view.execution.head.id.to_string(),
                schema: view.schema_name.clone(),
                quota: None,
                problem,
                detail,
                fixed,
            });
        }
    }
    examine_counting(runtime, page, fix, report).await
}

/// The quotas that operators have set, by whom they concern. An execution with a key counts against it from the start.
#[derive(Default)]
struct SetQuotas {
    schemas: HashMap<SchemaId, QuotaName>,
    tenants: HashMap<String, QuotaName>,
}

impl SetQuotas {
    async fn read(runtime: &Runtime) -> StoreResult<Self> {
        let mut set = Self::default();
        let mut after = None;
        loop {
            let page = runtime.store.quotas(true, after, PAGE).await?;
            for name in page.iter().map(|quota| quota.name.clone()) {
                set.add(runtime, name).await?;
            }
            after = page.last().map(|quota| quota.name.clone());
            if page.len() < PAGE as usize {
                return Ok(set);
            }
        }
    }

    async fn add(&mut self, runtime: &Runtime, name: QuotaName) -> StoreResult<()> {
        match name.kind() {
            QuotaKind::Key => {}
            QuotaKind::Tenant => {
                self.tenants.insert(name.name().to_owned(), name);
            }
            QuotaKind::Schema => {
                if let Some(schema) = runtime.store.schema(name.name()).await? {
                    self.schemas.insert(schema.id, name);
                }
            }
        }
        Ok(())
    }

    /// Those that concern an execution and that it does not count against.
    fn unclaimed(&self, view: &ExecutionView) -> impl Iterator<Item = &QuotaName> {
        let execution = &view.execution;
        let tenant = execution.record.tenant.as_deref();
        let tenant = tenant.and_then(|tenant| self.tenants.get(tenant));
        let schema = self.schemas.get(&execution.head.schema_id);
        let counts = |name: &&QuotaName| {
            execution
                .head
                .quotas
                .iter()
                .any(|claim| claim.name == **name)
        };
        schema
            .into_iter()
            .chain(tenant)
            .filter(move |name| !counts(name))
    }
}

/// Executions from before a quota was set count against it too.
async fn examine_claims(
    runtime: &Runtime,
    page: &[ExecutionView],
    set: &SetQuotas,
    fix: bool,
    report: &mut Report,
) -> StoreResult<()> {
    let mut unclaimed: BTreeMap<&QuotaName, Vec<ExecutionId>> = BTreeMap::new();
    for view in page {
        for name in set.unclaimed(view) {
            unclaimed
                .entry(name)
                .or_default()
                .push(view.execution.head.id);
            report.findings.push(Finding {
                execution_id: view.execution.head.id.to_string(),
                schema: view.schema_name.clone(),
                quota: Some(name.to_string()),
                problem: "not_counted",
                detail: format!("it was there before the quota {name}, which does not count it"),
                fixed: fix,
            });
        }
    }
    for (name, ids) in unclaimed.into_iter().filter(|_| fix) {
        let counted = runtime.store.count_in(name.clone(), ids, runtime.now());
        counted.await?;
        runtime.admission_changed();
    }
    Ok(())
}

/// An execution that waits for a quota stands in line, and one that was admitted is known to its quotas.
async fn examine_counting(
    runtime: &Runtime,
    page: &[ExecutionView],
    fix: bool,
    report: &mut Report,
) -> StoreResult<()> {
    let counted = page
        .iter()
        .filter(|view| !view.execution.head.quotas.is_empty());
    let ids: Vec<ExecutionId> = counted.map(|view| view.execution.head.id).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let wrong = runtime.store.check_counted(ids, fix, runtime.now()).await?;
    for (id, miscount) in &wrong {
        let (problem, detail) = match miscount {
            Miscount::NotInLine => (
                "not_in_line",
                "it waits for a quota and is in no admission queue: it would never be admitted",
            ),
            Miscount::NotHolding => (
                "not_counted",
                "it was admitted and one of its quotas does not count it",
            ),
        };
        let view = page.iter().find(|view| view.execution.head.id == *id);
        report.findings.push(Finding {
            execution_id: id.to_string(),
            schema: view
                .map(|view| view.schema_name.clone())
                .unwrap_or_default(),
            quota: None,
            problem,
            detail: detail.into(),
            fixed: fix,
        });
    }
    if fix && !wrong.is_empty() {
        runtime.admission_changed();
    }
    Ok(())
}

async fn examine_quotas(runtime: &Runtime, fix: bool, report: &mut Report) -> StoreResult<()> {
    let wrong = runtime.store.recount(fix, runtime.now()).await?;
    for recount in &wrong {
        report.findings.push(Finding {
            execution_id: String::new(),
            schema: String::new(),
            quota: Some(recount.name.to_string()),
            problem: "quota_miscounted",
            detail: format!(
                "the quota {} counts {} in use and {} waiting; there are {} and {}",
                recount.name,
                recount.used,
                recount.waiting,
                recount.really_used,
                recount.really_waiting
            ),
            fixed: fix,
        });
    }
    if fix && !wrong.is_empty() {
        runtime.admission_changed();
    }
    Ok(())
}

fn diagnose(
    runtime: &Runtime,
    view: &ExecutionView,
    timer_missing: bool,
) -> Option<(&'static str, String)> {
    let (state, now) = (&view.state, runtime.now());
    if state.has_live_lease(now) {
        return None;
    }
    if timer_missing {
        return Some((
            "wait_without_timer",
            "it waits, but no timer row will wake it".into(),
        ));
    }
    // The reaper and the sweeper get their usual time before anything counts as a problem.
    let patience = runtime.options.sweep_after * 6;
    let long_ago = |since: Timestamp| now.since(since) > patience;
    if let Some(lease) = state.lease.as_ref().filter(|lease| long_ago(lease.until)) {
        return Some((
            "lease_expired",
            format!(
                "the lease of {} ran out at {} and no worker took it",
                lease.owner, lease.until
            ),
        ));
    }
    if state.control.is_some() && state.lease.is_none() {
        return Some((
            "stop_not_applied",
            "a stop was requested and never applied".into(),
        ));
    }
    let due = state.next_sweep_at.is_none_or(long_ago);
    if state.is_runnable() && state.lease.is_none() && long_ago(state.updated_at) && due {
        return Some((
            "no_message",
            format!(
                "it could run since {} and no message brought a worker",
                state.updated_at
            ),
        ));
    }
    None
}

async fn repair(runtime: &Runtime, view: &ExecutionView, problem: &str) -> StoreResult<bool> {
    let id = view.execution.head.id;
    match (problem, &view.state.wait) {
        ("wait_without_timer", Some(wait)) => {
            let Some(at) = wait.wake_at else {
                return Ok(false);
            };
            runtime
                .store
                .register_timers(
                    vec![WaitTimer {
                        execution_id: id,
                        wait_id: wait.id,
                        at,
                    }],
                    runtime.now(),
                )
                .await?;
            runtime.timer_set(at);
        }
        _ if view.state.hold == Some(Hold::Pause) => return Ok(false),
        _ => {
            let dispatch = Dispatch::of(&view.execution.head, &view.state);
            runtime.publish(dispatch).await;
        }
    }
    Ok(true)
}

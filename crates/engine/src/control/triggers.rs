//! Cron triggers of schemas are scheduled actions that belong to the engine: `cron:<schema id>:<name or place>`. The id of
//! the schema and not its name, because a schema can be renamed.
//!
//! A request that saves, activates, deactivates or deletes a schema brings them in step afterwards. That is not one
//! transaction with the schema: done again it does no harm, so the keeper does it again for those it finds out of step.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::id::{self, SchemaId};
use pawl_kernel::ports::schedule::{ActionCommand, ActionError, ActionFilter};
use pawl_kernel::ports::store::{SchemaRecord, StoreResult};
use pawl_kernel::schedule::{
    Author, Override, Policy, Put, ScheduledAction, Spec, check_id, read_spec,
};
use pawl_kernel::schema::definition::Definition;
use pawl_kernel::time::{Timestamp, format_duration};
use serde_json::{Map, Value, json};

use super::ControlError;
use super::schedule::{OWN_PREFIX, action_refused, command_action, write_action};
use crate::runtime::Runtime;
use crate::service::{NextTick, Service};

const PAGE: u32 = 200;
/// The note that says whether the schema was active when the action was written.
const ACTIVE: &str = "active";
/// Two who save at once: each looks again until nothing has changed meanwhile.
const ROUNDS: usize = 5;
/// A start that fails because a store is away is tried again; it is idempotent.
const RETRIES: u32 = 10;
const RETRY_MAX: Duration = Duration::from_secs(60);
/// How often all schemas are looked at, and how soon after a look that failed.
const LOOK_EVERY: Duration = Duration::from_secs(300);
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Makes the scheduled actions of a schema what its published version says, paused if it is inactive.
pub async fn keep_triggers_in_step(
    runtime: &Runtime,
    schema: &SchemaRecord,
) -> Result<(), ControlError> {
    let mut schema = schema.clone();
    for _ in 0..ROUNDS {
        align(runtime, &schema).await?;
        let Some(latest) = runtime.store.schema(&schema.id.to_string()).await? else {
            return Ok(drop_triggers(runtime, schema.id).await?);
        };
        let same = |one: &SchemaRecord| (one.published_version, one.active);
        if same(&latest) == same(&schema) {
            return Ok(());
        }
        schema = latest;
    }
    Ok(())
}

/// The schema is gone, and its triggers with it.
pub async fn drop_triggers(runtime: &Runtime, schema: SchemaId) -> StoreResult<()> {
    for id in existing(runtime, schema).await?.into_keys() {
        runtime.store.delete_action(&id).await?;
    }
    Ok(())
}

/// All schemas: a process that saved one may have died before its triggers were in step. Returns how many schemas have triggers.
pub async fn keep_all_triggers_in_step(runtime: &Runtime) -> StoreResult<usize> {
    TriggerKeeper::new(runtime.clone()).look().await
}

/// Looks at all schemas again and again.
pub struct TriggerKeeper {
    runtime: Runtime,
    /// Schemas whose published version has no cron trigger, with that version: a version never changes, so it is not read again.
    plain: HashMap<SchemaId, u32>,
}

impl TriggerKeeper {
    pub fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            plain: HashMap::new(),
        }
    }

    async fn look(&mut self) -> StoreResult<usize> {
        let mut with_actions = schemas_with_actions(&self.runtime).await?;
        let (mut kept, mut after) = (0, None);
        let known = std::mem::take(&mut self.plain);
        loop {
            let page = self.runtime.store.schemas(None, after.take(), PAGE).await?;
            for schema in &page {
                let is_plain = known.get(&schema.id) == Some(&schema.published_version);
                let has_actions = with_actions.remove(&schema.id);
                if has_actions || (!is_plain && has_cron(&self.runtime, schema).await?) {
                    self.keep(schema).await?;
                    kept += 1;
                } else {
                    self.plain.insert(schema.id, schema.published_version);
                }
            }
            if page.len() < PAGE as usize {
                break;
            }
            after = page.last().map(|schema| schema.name.clone());
        }
        for gone in with_actions {
            drop_triggers(&self.runtime, gone).await?;
        }
        Ok(kept)
    }

    /// One that cannot be kept must not keep the others from it.
    async fn keep(&self, schema: &SchemaRecord) -> StoreResult<()> {
        match keep_triggers_in_step(&self.runtime, schema).await {
            Ok(()) => Ok(()),
            Err(ControlError::Store(error)) => Err(error),
            Err(error) => {
                tracing::warn!(schema = schema.name, %error, "its cron triggers are left as they are");
                Ok(())
            }
        }
    }
}

impl Service for TriggerKeeper {
    fn name(&self) -> &'static str {
        "cron_triggers"
    }

    async fn tick(&mut self, _now: Timestamp) -> StoreResult<NextTick> {
        self.look().await?;
        Ok(NextTick::After(LOOK_EVERY))
    }

    fn after_error(&self) -> NextTick {
        NextTick::After(LOOK_AGAIN)
    }
}

async fn schemas_with_actions(runtime: &Runtime) -> StoreResult<BTreeSet<SchemaId>> {
    let actions = all_beginning(runtime, OWN_PREFIX.to_owned()).await?;
    let schema = |id: &String| id.strip_prefix(OWN_PREFIX)?.split(':').next()?.parse().ok();
    Ok(actions.keys().filter_map(schema).collect())
}

/// By the text alone: most schemas have none, and need not be compiled to find out.
async fn has_cron(runtime: &Runtime, schema: &SchemaRecord) -> StoreResult<bool> {
    let version = runtime
        .store
        .version(schema.id, schema.published_version)
        .await?;
    Ok(version.is_some_and(|version| version.definition.contains("\"cron\"")))
}

async fn align(runtime: &Runtime, schema: &SchemaRecord) -> Result<(), ControlError> {
    let mut old = existing(runtime, schema.id).await?;
    for (id, spec) in wanted(runtime, schema).await? {
        let known = old.remove(&id);
        let paused = PauseReason::of(known.as_ref());
        if schema.active && paused == PauseReason::WithSchema {
            obey(runtime, &id, ActionCommand::Resume).await?;
        }
        write(runtime, schema, &id, spec, known.as_ref()).await?;
        // Written anew it may have lost its pause.
        if paused == PauseReason::ByPerson {
            obey(runtime, &id, ActionCommand::Pause).await?;
        } else if !schema.active {
            obey(runtime, &id, ActionCommand::PauseWithSchema).await?;
        }
    }
    for id in old.into_keys() {
        runtime.store.delete_action(&id).await?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PauseReason {
    No,
    /// It runs again when the schema does.
    WithSchema,
    /// It stays so, whatever is saved.
    ByPerson,
}

impl PauseReason {
    fn of(known: Option<&ScheduledAction>) -> Self {
        let status = known.map(|known| &known.status);
        match status.filter(|status| status.paused_at.is_some()) {
            Some(status) if status.paused_with_schema => Self::WithSchema,
            Some(_) => Self::ByPerson,
            None => Self::No,
        }
    }
}

/// All actions of the schema, by id.
async fn existing(
    runtime: &Runtime,
    schema: SchemaId,
) -> StoreResult<BTreeMap<String, ScheduledAction>> {
    all_beginning(runtime, format!("{OWN_PREFIX}{schema}:")).await
}

async fn all_beginning(
    runtime: &Runtime,
    prefix: String,
) -> StoreResult<BTreeMap<String, ScheduledAction>> {
    let filter = ActionFilter {
        prefix: Some(prefix),
        ..ActionFilter::default()
    };
    let mut found = BTreeMap::new();
    let mut after = None;
    loop {
        let page = runtime
            .store
            .actions(filter.clone(), after.take(), PAGE)
            .await?;
        let is_last = page.len() < PAGE as usize;
        after = page.last().map(|action| action.id.clone());
        found.extend(page.into_iter().map(|action| (action.id.clone(), action)));
        if is_last {
            return Ok(found);
        }
    }
}

/// What the published version wants. A line that means nothing, saved before such lines were checked, is left out.
async fn wanted(
    runtime: &Runtime,
    schema: &SchemaRecord,
) -> Result<Vec<(String, Spec)>, ControlError> {
    let graph = runtime
        .graphs
        .get(schema.id, schema.published_version)
        .await?;
    let definition = graph.definition();
    let key = schema.id.to_string();
    let mut specs = Vec::new();
    for (place, trigger) in cron_triggers(definition) {
        let id = format!("{OWN_PREFIX}{key}:{}", name_of(definition, place, trigger));
        match read_trigger(&key, trigger, runtime.now()) {
            Ok(spec) => specs.push((id, spec)),
            Err(found) => {
                let problem = found.first().map_or("", |one| one.message.as_str());
                tracing::warn!(
                    schema = schema.name,
                    place,
                    problem,
                    "a cron trigger cannot be kept"
                );
            }
        }
    }
    Ok(specs)
}

/// Those that are not disabled, with their place among all triggers.
fn cron_triggers(definition: &Definition) -> impl Iterator<Item = (usize, &Value)> {
    let triggers = definition.triggers.iter().enumerate();
    triggers.filter(|(_, trigger)| trigger["type"] == "cron" && trigger["disabled"] != true)
}

/// A name of its own, so that another order of the triggers changes nothing; else its place. A name that could not stand in
/// an id, or that reads like a place, is none.
fn name_of(definition: &Definition, place: usize, trigger: &Value) -> String {
    let is_place = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let name = trigger["name"].as_str();
    let name = name.filter(|name| check_id(name).is_none() && !is_place(name));
    let others = |name: &str| {
        let mut all = cron_triggers(definition);
        all.any(|(other, trigger)| other != place && trigger["name"] == name)
    };
    match name.filter(|name| !others(name)) {
        Some(name) => name.to_owned(),
        None => place.to_string(),
    }
}

fn read_trigger(schema: &str, trigger: &Value, now: Timestamp) -> Result<Spec, Vec<Diagnostic>> {
    let mut cron = json!({
        "expr": trigger["cron"],
        "retry": {"max_retries": RETRIES, "max": format_duration(RETRY_MAX)},
    });
    for field in ["timezone", "overlap", "catch_up"] {
        if !trigger[field].is_null() {
            cron[field] = trigger[field].clone();
        }
    }
    let spec = json!({
        "policy": {"cron": cron},
        "action": {"start_execution": {"schema": schema, "input": trigger["input"]}},
    });
    read_spec(&spec, "", Author::Engine, now)
}

/// The time of the next firing stays as long as the line does.
async fn write(
    runtime: &Runtime,
    schema: &SchemaRecord,
    id: &str,
    mut spec: Spec,
    known: Option<&ScheduledAction>,
) -> Result<(), ControlError> {
    let mut mode = Override::All;
    if let Some(known) = known.filter(|known| is_same_schedule(&known.spec, &spec)) {
        mode = Override::MetaAndSpecOnly;
        spec.start_at = known.spec.start_at;
    }
    let notes = Map::from_iter([
        ("schema".to_owned(), json!(schema.name)),
        ("version".to_owned(), json!(schema.published_version)),
        (ACTIVE.to_owned(), json!(schema.active)),
    ]);
    // A write gives the row a new place in a queue: not for nothing.
    if known.is_some_and(|known| known.spec == spec && known.meta.notes == notes) {
        return Ok(());
    }
    let put = Put {
        id: id.to_owned(),
        guid: id::random(&*runtime.entropy),
        spec,
        notes,
        mode,
        // Without a user: each firing has that of the version it starts.
        written_by: format!("schema:{}", schema.name).into(),
    };
    write_action(runtime, put).await?;
    Ok(())
}

fn is_same_schedule(one: &Spec, other: &Spec) -> bool {
    match (&one.policy, &other.policy) {
        (Policy::Cron { cron: one, .. }, Policy::Cron { cron: other, .. }) => one == other,
        _ => false,
    }
}

/// It is as asked for, or was already.
async fn obey(runtime: &Runtime, id: &str, command: ActionCommand) -> Result<(), ControlError> {
    match command_action(runtime, id, command).await {
        Ok(_) => Ok(()),
        Err(ActionError::Refused(_) | ActionError::NotFound) => Ok(()),
        Err(error) => Err(action_refused(id, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_triggers_have_the_same_name() {
        let names = ["daily", "daily", "", "night shift", "1", "a:b", "hourly"];
        let triggers = names.map(|name| json!({"type": "cron", "cron": "@daily", "name": name}));
        let definition: Definition = serde_json::from_value(json!({
            "language": 1, "name": "t", "settings": {}, "triggers": triggers, "nodes": [], "edges": [],
        }))
        .unwrap();
        let given: Vec<String> = cron_triggers(&definition)
            .map(|(place, trigger)| name_of(&definition, place, trigger))
            .collect();
        assert_eq!(given, ["0", "1", "2", "3", "4", "5", "hourly"]);
    }
}

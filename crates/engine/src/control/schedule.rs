//! What people and programs ask of scheduled actions: write, look, list, delete, pause, resume, run now, preview.

use pawl_kernel::diagnostic::Diagnostic;
use pawl_kernel::id;
use pawl_kernel::ports::schedule::{
    ActionCommand, ActionError, ActionFilter, DuePlace, PutEffect, PutError, QueueRow,
};
use pawl_kernel::ports::store::StoreError;
use pawl_kernel::schedule::{
    Action, Author, Override, PastAttempt, Put, Request, ScheduledAction, calendar, check_id,
    read_request,
};
use pawl_kernel::start_key;
use pawl_kernel::time::Timestamp;
use pawl_kernel::user::Writer;
use serde_json::Value;

use super::{Control, ControlError};
use crate::runtime::Runtime;

/// Planned times that a preview shows at most.
const PREVIEW_MAX: usize = 1_000;
/// How an id of an action begins that belongs to the engine; users cannot write such ids.
pub(crate) const OWN_PREFIX: &str = start_key::CRON;

#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    #[error("{}", summary(.0))]
    Invalid(Vec<Diagnostic>),
    #[error(transparent)]
    Control(#[from] ControlError),
}

fn summary(found: &[Diagnostic]) -> String {
    let first = found.first().map(|one| one.message.as_str());
    let more = match found.len() {
        0 | 1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    format!("{}{more}", first.unwrap_or("the action is not valid"))
}

impl Control {
    /// Writes an action as in the body of `PUT /api/scheduled-actions/{id}`, and says whether there was one before.
    /// Durable when it returns.
    pub async fn put_action(
        &self,
        id: &str,
        body: &Value,
        written_by: impl Into<Writer>,
    ) -> Result<(ScheduledAction, PutEffect), ScheduleError> {
        check_owner(id)?;
        if let Some(problem) = check_id(id) {
            // Whatever else is wrong is said too.
            let mut problems = vec![problem];
            if let Err(ScheduleError::Invalid(others)) = self.read_action(body, None) {
                problems.extend(others);
            }
            return Err(ScheduleError::Invalid(problems));
        }
        let kept_start = self.kept_start(id, body).await?;
        let request = self.read_action(body, kept_start)?;
        let put = Put {
            id: id.to_owned(),
            guid: id::random(&*self.runtime.entropy),
            spec: request.spec,
            notes: request.notes,
            mode: request.mode,
            written_by: written_by.into(),
        };
        Ok(write_action(&self.runtime, put).await?)
    }

    /// The start of the action that is written over with its status kept: it may stay as it is, however old.
    async fn kept_start(&self, id: &str, body: &Value) -> Result<Option<Timestamp>, ControlError> {
        if Override::of(body) != Override::MetaAndSpecOnly {
            return Ok(None);
        }
        let existing = self.runtime.store.action(id).await?;
        Ok(existing.map(|action| action.spec.start_at))
    }

    fn read_action(
        &self,
        body: &Value,
        kept_start: Option<Timestamp>,
    ) -> Result<Request, ScheduleError> {
        let author = Author::User { kept_start };
        let request =
            read_request(body, author, self.runtime.now()).map_err(ScheduleError::Invalid)?;
        if matches!(request.spec.action, Action::Mock { .. }) && !self.runtime.options.allow_mock {
            let problem = Diagnostic::error(
                "UNKNOWN_CHOICE",
                "/spec/action/mock",
                "`mock` only pretends, and is for tests",
            );
            let problem = problem.hint("one of http_callback, start_execution, rabbitmq_publish");
            return Err(ScheduleError::Invalid(vec![problem]));
        }
        Ok(request)
    }

    /// What a body would plan, without writing it.
    pub fn preview_action(
        &self,
        body: &Value,
        count: usize,
    ) -> Result<Vec<Timestamp>, ScheduleError> {
        let spec = self.read_action(body, None)?.spec;
        let firings = calendar::firings(&spec, calendar::first(&spec));
        Ok(firings.take(count.min(PREVIEW_MAX)).collect())
    }

    pub async fn action(&self, id: &str) -> Result<ScheduledAction, ControlError> {
        let found = self.runtime.store.action(id).await?;
        found.ok_or_else(|| no_such_action(id))
    }

    /// By id, after `after`.
    pub async fn actions(
        &self,
        filter: ActionFilter,
        after: Option<String>,
        limit: u32,
    ) -> Result<Vec<ScheduledAction>, ControlError> {
        Ok(self.runtime.store.actions(filter, after, limit).await?)
    }

    /// What is due next first, after `after`; with `before`, only what is due before that.
    pub async fn actions_by_due(
        &self,
        before: Option<Timestamp>,
        after: Option<DuePlace>,
        limit: u32,
    ) -> Result<Vec<ScheduledAction>, ControlError> {
        let store = &self.runtime.store;
        Ok(store.actions_by_due(before, after, limit).await?)
    }

    /// Those that belong to a schema go with its trigger.
    pub async fn delete_action(&self, id: &str) -> Result<(), ControlError> {
        check_owner(id)?;
        match self.runtime.store.delete_action(id).await? {
            true => Ok(()),
            false => Err(no_such_action(id)),
        }
    }

    pub async fn pause_action(&self, id: &str) -> Result<ScheduledAction, ControlError> {
        self.command_action(id, ActionCommand::Pause).await
    }

    /// One that waits for its schema goes on with it.
    pub async fn resume_action(&self, id: &str) -> Result<ScheduledAction, ControlError> {
        if self.action(id).await?.status.paused_with_schema {
            return Err(ControlError::Conflict(format!(
                "`{id}` is paused because its schema is inactive; activate the schema"
            )));
        }
        self.command_action(id, ActionCommand::Resume).await
    }

    pub async fn run_action_now(&self, id: &str) -> Result<ScheduledAction, ControlError> {
        self.command_action(id, ActionCommand::RunNow).await
    }

    async fn command_action(
        &self,
        id: &str,
        command: ActionCommand,
    ) -> Result<ScheduledAction, ControlError> {
        let done = command_action(&self.runtime, id, command).await;
        done.map_err(|error| action_refused(id, error))
    }

    /// The next planned times, the soonest first; retries are not among them.
    pub async fn next_firings(
        &self,
        id: &str,
        count: usize,
    ) -> Result<Vec<Timestamp>, ControlError> {
        let action = self.action(id).await?;
        let count = count.min(PREVIEW_MAX);
        Ok(calendar::preview(&action.spec, &action.status, count))
    }

    /// Where the queues hold it, if it is due some time.
    pub async fn queue_row(&self, id: &str) -> Result<Option<QueueRow>, ControlError> {
        let rows = self.runtime.store.queued(id).await?;
        Ok(rows.into_iter().next())
    }

    /// Attempts that are over with their generation, the youngest first; those before `before` (generation, ordinal).
    pub async fn attempts(
        &self,
        id: &str,
        before: Option<(u64, u64)>,
        limit: u32,
    ) -> Result<Vec<(u64, PastAttempt)>, ControlError> {
        self.action(id).await?;
        Ok(self.runtime.store.attempts(id, before, limit).await?)
    }
}

fn check_owner(id: &str) -> Result<(), ControlError> {
    match id.starts_with(OWN_PREFIX) {
        true => Err(ControlError::Conflict(format!(
            "`{id}` belongs to the cron trigger of a schema; change or remove the trigger in the schema, or pause the action"
        ))),
        false => Ok(()),
    }
}

/// How often to ask again for what may have happened. Under the same guid it happens once.
const UNKNOWN_MAX: u32 = 3;

pub(super) async fn write_action(
    runtime: &Runtime,
    put: Put,
) -> Result<(ScheduledAction, PutEffect), ControlError> {
    let mut unknown = 0;
    loop {
        match runtime.store.put_action(put.clone(), runtime.now()).await {
            Ok((action, effect)) => return Ok((tell_timers(runtime, action), effect)),
            Err(PutError::Store(StoreError::Unknown(_))) if unknown < UNKNOWN_MAX => unknown += 1,
            Err(error) => return Err(put_refused(error)),
        }
    }
}

pub(super) async fn command_action(
    runtime: &Runtime,
    id: &str,
    command: ActionCommand,
) -> Result<ScheduledAction, ActionError> {
    let guid = id::random(&*runtime.entropy);
    let mut unknown = 0;
    loop {
        let done = runtime
            .store
            .command_action(id, command, guid, runtime.now())
            .await;
        match done {
            Ok(action) => return Ok(tell_timers(runtime, action)),
            Err(ActionError::Store(StoreError::Unknown(_))) if unknown < UNKNOWN_MAX => {
                unknown += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

fn tell_timers(runtime: &Runtime, action: ScheduledAction) -> ScheduledAction {
    if let Some(at) = action.due_at() {
        runtime.timer_set(at);
    }
    action
}

fn no_such_action(id: &str) -> ControlError {
    ControlError::NotFound(format!("there is no scheduled action `{id}`"))
}

fn put_refused(error: PutError) -> ControlError {
    match error {
        PutError::Exists(exists) => ControlError::Conflict(exists.to_string()),
        PutError::Store(error) => ControlError::Store(error),
    }
}

pub(super) fn action_refused(id: &str, error: ActionError) -> ControlError {
    match error {
        ActionError::NotFound => no_such_action(id),
        ActionError::Refused(refusal) => ControlError::Conflict(refusal.to_string()),
        ActionError::Store(error) => ControlError::Store(error),
    }
}

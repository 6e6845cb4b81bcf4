//! The input of a new execution, checked against `input` of its schema before anything is written.

use std::borrow::Cow;

use pawl_kernel::id::SchemaId;
use pawl_kernel::input::InputProblems;
use pawl_kernel::schema::graph::Graph;
use serde_json::{Map, Value};

use super::start::Draft;
use super::{Control, ControlError, StartOutcome};

impl Control {
    pub(super) fn check_input(&self, draft: &Draft, graph: &Graph) -> Result<(), ControlError> {
        let check = match graph.input() {
            Ok(None) => return Ok(()),
            Ok(Some(check)) => check,
            Err(reason) => {
                return Err(ControlError::Conflict(format!(
                    "this version of Pawl cannot check the input that the schema asks for ({reason}); save the schema again"
                )));
            }
        };
        let Some(input) = input_of(draft) else {
            return Ok(());
        };
        let evaluations = &self.runtime.evaluations;
        let checked = evaluations.evaluate(|meter| check.check(&input, meter));
        checked.map_err(ControlError::InvalidInput)
    }

    /// A start that is repeated under its key has happened, even if a newer version of the schema would not take its input.
    pub(super) async fn begun_before(
        &self,
        key: Option<String>,
        schema_id: SchemaId,
        problems: InputProblems,
    ) -> Result<StartOutcome, ControlError> {
        let known = match &key {
            Some(key) => self.runtime.store.execution_by_key(key).await?,
            None => None,
        };
        let Some(id) = known else {
            return Err(ControlError::InvalidInput(problems));
        };
        self.check_same_start(id, schema_id, None).await?;
        Ok(StartOutcome::before(id))
    }
}

/// What has to fit. `None`: a retry or fork that leaves the input as it is, or a webhook whose payload is no input.
fn input_of(draft: &Draft) -> Option<Cow<'_, Value>> {
    if let Some(edited) = &draft.edit.input {
        return Some(Cow::Borrowed(edited));
    }
    let record = draft.record.as_ref()?;
    match record.get("input") {
        Some(given) => Some(Cow::Borrowed(given)),
        None if record.contains_key("webhook") => None,
        // As expressions see one that was not given.
        None => Some(Cow::Owned(Value::Object(Map::new()))),
    }
}

//! What a text with expressions would give at a point of an execution, for editors. Nothing is stored and nothing is run.

use pawl_kernel::expr::{ExprError, Scope, WrittenText};
use pawl_kernel::id::ExecutionId;
use serde_json::{Map, Value};

use super::{Control, ControlError};

/// What the text sees besides the roots.
#[derive(Clone, Debug, Default)]
pub struct WrittenPlace {
    pub execution_id: String,
    /// Of the step that would be made.
    pub seq: u64,
}

impl Control {
    /// The roots that a node sees after step `seq` of an execution, 0 for its first node.
    pub async fn roots_after(
        &self,
        id: ExecutionId,
        seq: u64,
    ) -> Result<Map<String, Value>, ControlError> {
        let view = self.view(id).await?;
        if seq > view.state.seq {
            let message = format!("the execution has {} steps, not {seq}", view.state.seq);
            return Err(ControlError::NotFound(message));
        }
        let mut context = self.context_at(&view, seq).await?;
        Ok(std::mem::take(context.roots_mut()))
    }

    /// Metered and limited in time as a node's texts are.
    pub async fn evaluate_written(
        &self,
        text: &WrittenText,
        roots: &Map<String, Value>,
        place: &WrittenPlace,
    ) -> Result<Value, ExprError> {
        let now = self.runtime.now().as_micros();
        let scope = Scope::new(roots, now, &place.execution_id, place.seq);
        let evaluations = &self.runtime.evaluations;
        evaluations
            .evaluate_in_turn(move |meter| text.evaluate(&scope, meter))
            .await
    }
}

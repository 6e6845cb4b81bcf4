//! Bringing back an execution that a dead letter is about.

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{Dispatch, ExecutionView};
use pawl_kernel::start_key;
use serde_json::Value;

use super::{Control, ControlError, RetryRequest, StartOutcome};

/// What became of it.
pub enum RequeueOutcome {
    /// It is open: a new message says so.
    Looked,
    /// It had failed: another execution goes on from there.
    Retried(StartOutcome),
    /// It has completed meanwhile.
    Nothing,
}

impl Control {
    /// May be asked any number of times: one message more does nothing, and all retries are the same execution.
    pub async fn requeue(
        &self,
        id: ExecutionId,
        created_by: String,
        user: Option<Value>,
    ) -> Result<RequeueOutcome, ControlError> {
        let view = self.view(id).await?;
        match view.execution.head.status {
            Status::Completed => Ok(RequeueOutcome::Nothing),
            Status::Failed | Status::FailedStuck => self.retry_once(id, created_by, user).await,
            Status::Stopped => Err(ControlError::Conflict(format!(
                "execution {id} was stopped by a person; retry it if it is to go on after all"
            ))),
            _ => {
                self.look(&view).await;
                Ok(RequeueOutcome::Looked)
            }
        }
    }

    /// Wakes nothing that waits or is held: the row says what may be done.
    async fn look(&self, view: &ExecutionView) {
        let dispatch = Dispatch::of(&view.execution.head, &view.state);
        self.runtime.publish(dispatch).await;
    }

    async fn retry_once(
        &self,
        id: ExecutionId,
        created_by: String,
        user: Option<Value>,
    ) -> Result<RequeueOutcome, ControlError> {
        let request = RetryRequest {
            idempotency_key: Some(format!("{}{id}", start_key::REQUEUE)),
            created_by,
            user,
            ..RetryRequest::default()
        };
        match self.retry(id, request).await {
            Ok(started) => Ok(RequeueOutcome::Retried(started)),
            // A person was faster: that is the retry.
            Err(ControlError::AlreadyRetried { retried_as, .. }) => {
                Ok(RequeueOutcome::Retried(StartOutcome::before(retried_as)))
            }
            Err(error) => Err(error),
        }
    }
}

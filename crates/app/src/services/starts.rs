//! Executions that other programs ask for by message, and the answers to them.
//!
//! No [`pawl_engine::Service`]: it is driven by messages, and the broker says when the next one comes.

use std::sync::Arc;
use std::time::Duration;

use pawl_engine::control::{Control, ControlError, StartOutcome, StartRequest};
use pawl_kernel::redact;
use pawl_kernel::time::Timestamp;
use pawl_rabbitmq::{ExternalStart, PublishRequest, Publisher, Topology, asks_for_start};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::is_final;
use crate::api::{MessageStart, StartRefusal, read_start};

/// How long an answer to a start may take on its way.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// What a dead letter asks to start, for `created_by`; an error says why it cannot be started. `None`: it is no start. By
/// which queue it came and what its AMQP properties said is not kept: without a `priority` of its own the schema decides.
pub(crate) fn start_of_letter(
    message: &str,
    created_by: String,
    now: Timestamp,
) -> Option<Result<StartRequest, String>> {
    if !asks_for_start(message.as_bytes()) {
        return None;
    }
    let read = read_start(message.as_bytes(), None, now);
    Some(match read {
        // Two keys that differed may read alike now, and the second start would be taken for the first.
        Ok(start) if is_masked(&start.request) => Err(
            "its `execution_id` held the value of a secret, which is not kept; send it again under another one".into(),
        ),
        Ok(start) => Ok(StartRequest {
            created_by,
            ..start.request
        }),
        Err(refused) => Err(refused.message),
    })
}

fn is_masked(request: &StartRequest) -> bool {
    let key = request.idempotency_key.as_deref();
    key.is_some_and(|key| key.contains(redact::MASK))
}

/// Executions that other programs ask for by message.
pub(crate) async fn start_for_others(
    control: Control,
    mut starts: mpsc::Receiver<ExternalStart>,
    answers: Answers,
) {
    while let Some(start) = starts.recv().await {
        match begin(&control, &start).await {
            Ok((key, started)) => {
                tracing::info!(execution_id = %started.id, created = started.created, "started by message");
                answers.started(&control, start, key, started);
            }
            Err(NotStarted::Yet(error)) => {
                tracing::warn!(%error, "a start by message has to wait");
                start.give_back();
            }
            Err(NotStarted::Ever { told, reason }) => {
                answers.refused(&control, start, &told, reason);
            }
        }
    }
}

enum NotStarted {
    /// It may pass.
    Yet(ControlError),
    /// The answer to the sender, and what the dead letter says.
    Ever { told: StartRefusal, reason: String },
}

impl From<StartRefusal> for NotStarted {
    fn from(told: StartRefusal) -> Self {
        let reason = told.message.clone();
        Self::Ever { told, reason }
    }
}

/// Starts it, once per key of the sender, which it returns.
async fn begin(
    control: &Control,
    start: &ExternalStart,
) -> Result<(String, StartOutcome), NotStarted> {
    if let Some(defect) = &start.defect {
        return Err(StartRefusal::unreadable(defect).into());
    }
    let correlation_id = start.correlation_id.as_deref();
    let now = control.runtime().clock.now();
    let MessageStart { key, mut request } = read_start(&start.body, correlation_id, now)?;
    request.priority = request.priority.or(start.priority);
    request.created_by = "amqp".into();
    match control.start(request).await {
        Ok(started) => Ok((key, started)),
        Err(error) if may_pass(&error) => Err(NotStarted::Yet(error)),
        Err(error) => {
            let reason = error.to_string();
            let told = error.into();
            Err(NotStarted::Ever { told, reason })
        }
    }
}

/// The way back to those who wait for an answer. On a connection of its own: what strangers name as their queue must not
/// disturb the messages of the cluster. An answer that cannot be delivered is counted; the start has happened all the
/// same, and a sender that asks again under the same key gets that answer.
///
/// A message is settled after its answer: a process that ends in between leaves both to the next one. So there are never
/// more answers under way than messages that the broker hands out unsettled.
#[derive(Clone)]
pub(crate) struct Answers {
    publisher: Arc<Publisher>,
    topology: Topology,
    under_way: TaskTracker,
}

impl Answers {
    pub(crate) fn new(publisher: Publisher, topology: Topology) -> Self {
        Self {
            publisher: Arc::new(publisher),
            topology,
            under_way: TaskTracker::new(),
        }
    }

    /// Waits for the answers under way when no start is taken any more. What takes too long is not lost: its message is
    /// not settled, and the broker hands it to another process.
    pub(crate) async fn finish(&self) {
        self.under_way.close();
        if timeout(ANSWER_TIME, self.under_way.wait()).await.is_err() {
            let left = self.under_way.len();
            tracing::warn!(
                left,
                "answers to starts by message are left to another process"
            );
        }
    }

    fn started(&self, control: &Control, start: ExternalStart, key: String, started: StartOutcome) {
        let Some(answer) = self.address(control, &start) else {
            return start.done();
        };
        self.under_way.spawn(async move {
            match answer.control.view(started.id).await {
                Ok(view) => {
                    let body = json!({
                        "execution_id": started.id.to_string(),
                        "key": key,
                        "status": view.execution.head.status.name(),
                        "created": started.created,
                    });
                    answer.send(body).await;
                }
                Err(error) if may_pass(&error) => {
                    tracing::warn!(%error, "an answer to a start by message has to wait");
                    // The next try finds the execution under its key.
                    return start.give_back();
                }
                Err(error) => answer.lost(&error.to_string()),
            }
            start.done();
        });
    }

    fn refused(
        &self,
        control: &Control,
        start: ExternalStart,
        told: &StartRefusal,
        reason: String,
    ) {
        let Some(answer) = self.address(control, &start) else {
            return start.refuse(&reason);
        };
        let body = json!({"error": told.code, "message": told.message});
        self.under_way.spawn(async move {
            answer.send(body).await;
            start.refuse(&reason);
        });
    }

    /// `None`: the sender waits for no answer, or waits where none may go.
    fn address(&self, control: &Control, start: &ExternalStart) -> Option<StartReply> {
        let reply_to = start.reply_to.clone()?;
        let answer = StartReply {
            control: control.clone(),
            publisher: self.publisher.clone(),
            correlation_id: start.correlation_id.clone(),
            reply_to,
        };
        if self.topology.owns(&answer.reply_to) {
            answer.lost("this queue belongs to Pawl itself");
            return None;
        }
        Some(answer)
    }
}

/// One answer on its way.
struct StartReply {
    control: Control,
    publisher: Arc<Publisher>,
    reply_to: String,
    correlation_id: Option<String>,
}

impl StartReply {
    async fn send(self, body: Value) {
        let request = PublishRequest {
            routing_key: self.reply_to.clone(),
            body: body.to_string().into_bytes(),
            persistent: true,
            correlation_id: self.correlation_id.clone(),
            ..PublishRequest::default()
        };
        if let Err(error) = self.publisher.publish(request, ANSWER_TIME).await {
            self.lost(&error.to_string());
        }
    }

    fn lost(&self, why: &str) {
        tracing::warn!(
            reply_to = self.reply_to,
            why,
            "an answer to a start by message is lost"
        );
        self.control.runtime().metrics.queue.answer_lost();
    }
}

/// Will the same request succeed some time?
fn may_pass(error: &ControlError) -> bool {
    matches!(error, ControlError::Store(error) if !is_final(error))
}

#[cfg(test)]
mod tests {
    use pawl_kernel::ports::store::StoreError;

    use super::*;

    #[test]
    fn a_start_whose_name_was_hidden_is_not_started_again() {
        let letter = |name: &str| {
            let message =
                format!(r#"{{"execution_id": "{name}", "schema_id": "greet", "action": "start"}}"#);
            start_of_letter(&message, "key:ops".into(), Timestamp::default()).unwrap()
        };
        assert!(letter("order-7").is_ok());
        assert!(letter("***").unwrap_err().contains("secret"));
    }

    #[test]
    fn a_start_that_can_never_be_stored_is_refused() {
        for error in [
            ControlError::Store(StoreError::Rejected("too large".into())),
            ControlError::Store(StoreError::Corrupt("broken page".into())),
            ControlError::NotFound("there is no schema".into()),
            ControlError::Conflict("it is deactivated".into()),
        ] {
            assert!(!may_pass(&error), "{error}");
        }
    }

    #[test]
    fn a_start_waits_for_a_store_that_is_away() {
        for error in [
            StoreError::Unavailable("down".into()),
            StoreError::Unknown("cut off".into()),
        ] {
            assert!(may_pass(&ControlError::Store(error)));
        }
    }
}

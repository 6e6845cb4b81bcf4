//! Writes down what became of attempts, beside the beginning of the next ones.

use std::time::Duration;

use pawl_kernel::ports::store::{DueTimer, StoreError, StoreResult};
use pawl_kernel::schedule::RecordResult;
use pawl_kernel::time::Timestamp;
use tokio::task::JoinError;

use super::{BATCH, Timers};
use crate::actions::EndedAttempt;

/// An action that another transaction has locked is asked for again after this.
const WHILE_BUSY: Duration = Duration::from_millis(100);

/// What the store said of attempts that are over.
pub(super) struct RecordAnswer {
    done: Vec<EndedAttempt>,
    answer: StoreResult<Vec<Option<RecordResult>>>,
}

impl Timers {
    /// Is something over that could be recorded now?
    pub(super) fn can_record(&self) -> bool {
        !self.recorded.is_empty() || (self.recording.is_empty() && self.runner.has_over())
    }

    /// Takes in what was recorded, and sends the next. What cannot be written now stays; said twice it counts once.
    pub(super) fn record(&mut self) -> StoreResult<()> {
        while let Some(done) = self.recording.try_join_next() {
            self.note_recorded(done);
        }
        for recorded in std::mem::take(&mut self.recorded) {
            self.take_answer(recorded)?;
        }
        self.runner.release_postponed();
        if self.recording.is_empty() {
            self.send_record();
        }
        Ok(())
    }

    pub(super) fn note_recorded(&mut self, recorded: Result<RecordAnswer, JoinError>) {
        match recorded {
            Ok(recorded) => self.recorded.push(recorded),
            // Only the end of the timers aborts it.
            Err(error) => tracing::error!(%error, "the record of attempts vanished"),
        }
    }

    /// One batch at a time: what ends meanwhile goes together.
    fn send_record(&mut self) {
        let most = if self.singly > 0 { 1 } else { BATCH };
        self.singly = self.singly.saturating_sub(1);
        let done = self.runner.take_over(most);
        if done.is_empty() {
            return;
        }
        let (requests, now) = (self.runner.requests(&done), self.runtime.now());
        let limits = self.runtime.options.schedule_limits();
        let (store, sync) = (self.runtime.store.clone(), self.sync);
        self.recording.spawn(async move {
            let answer = store.record_actions(sync, requests, limits, now).await;
            RecordAnswer { done, answer }
        });
    }

    fn take_answer(&mut self, recorded: RecordAnswer) -> StoreResult<()> {
        let RecordAnswer { done, answer } = recorded;
        match answer {
            Ok(records) => {
                for (done, record) in done.iter().zip(records) {
                    self.settle(done, record);
                }
                // There are slots again.
                self.runner.start(self.locks_valid_until);
                Ok(())
            }
            Err(
                error @ (StoreError::Unavailable(_)
                | StoreError::TooLong(_)
                | StoreError::Unknown(_)),
            ) => {
                self.runner.keep(done);
                Err(error)
            }
            Err(error) if done.len() > 1 => {
                // One of them spoils it for all: each by itself.
                self.singly = done.len();
                self.runner.keep(done);
                Err(error)
            }
            Err(error) => {
                tracing::error!(%error, attempts = done.len(), "ends of attempts cannot be recorded; they will count as interrupted");
                done.iter().for_each(|done| self.runner.forget(done));
                Err(error)
            }
        }
    }

    fn settle(&mut self, done: &EndedAttempt, record: Option<RecordResult>) {
        if record == Some(RecordResult::Busy) {
            let again_at = self.runtime.now().plus(WHILE_BUSY);
            return self.runner.postpone(done.clone(), again_at);
        }
        self.runner.forget(done);
        self.window.remove(&done.row());
        self.runtime
            .metrics
            .timers
            .recorded(&done.outcome, record.as_ref());
        match record {
            Some(RecordResult::Written(written)) => {
                let Some(at) = written.row.due_at() else {
                    return;
                };
                if written.requeue {
                    return self.runtime.timer_set(at);
                }
                self.note(DueTimer {
                    at,
                    ..done.timer.clone()
                });
            }
            // Another owner has counted it as interrupted, or it was written anew.
            Some(RecordResult::Late(_) | RecordResult::Busy) => self.window.invalidate(),
            // Another worker has the shard.
            None => {
                self.next_heartbeat = Timestamp::default();
                self.window.invalidate();
            }
        }
    }
}

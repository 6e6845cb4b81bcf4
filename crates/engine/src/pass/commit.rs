//! Sending a transition to the store, and finding out what became of it.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::id::{self, ExecutionId};
use pawl_kernel::lifecycle::CommitRefusal;
use pawl_kernel::node::NodeError;
use pawl_kernel::planted::{self, Bug};
use pawl_kernel::ports::store::{CommitError, Dispatch, Probe, StoreError};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{CommitReport, Next, Snapshot, Transition};
use pawl_kernel::visit;

use super::{Pass, PassEnd, Turn};
use crate::pending_create::NotStarted;
use crate::runtime::Runtime;

/// Between two tries of one commit.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

enum Verdict {
    Committed(CommitReport),
    InboxChanged,
    /// There is nothing more to commit to: the lease is not ours any more, or the execution was not created.
    Over(PassEnd),
    /// This content can never be stored.
    Rejected(String),
}

impl Pass {
    /// Commits and goes on under the same lease, unless a command wants otherwise.
    pub(super) async fn commit_on(&mut self, next: Next) -> Result<(), Turn> {
        match self.send(next, None).await {
            Verdict::Committed(applied) if applied.lease_kept => {
                self.position_committed = true;
                Ok(())
            }
            Verdict::Committed(applied) => Err(self.over(&applied)),
            Verdict::Rejected(reason) => Err(Box::pin(self.end_rejected(reason)).await),
            Verdict::InboxChanged => Err(Turn::Over(PassEnd::Abandoned)),
            Verdict::Over(end) => Err(Turn::Over(end)),
        }
    }

    /// The commit that ends a pass.
    pub(super) async fn commit_last(&mut self, next: Next) -> Turn {
        match self.send(next, None).await {
            Verdict::Committed(applied) => self.over(&applied),
            Verdict::Rejected(reason) => Box::pin(self.end_rejected(reason)).await,
            Verdict::InboxChanged => Turn::Over(PassEnd::Abandoned),
            Verdict::Over(end) => Turn::Over(end),
        }
    }

    /// Enters a wait; `Turn::GoOn`: not committed, because the inbox has changed.
    pub(super) async fn commit_wait(&mut self, next: Next, inbox_seen: Option<u64>) -> Turn {
        match self.send(next, inbox_seen).await {
            Verdict::Committed(applied) => self.over(&applied),
            Verdict::InboxChanged => Turn::GoOn,
            Verdict::Rejected(reason) => Box::pin(self.end_rejected(reason)).await,
            Verdict::Over(end) => Turn::Over(end),
        }
    }

    fn over(&self, applied: &CommitReport) -> Turn {
        let dispatch = || Dispatch {
            seq: applied.seq,
            ..Dispatch::of(&self.execution.head, &self.state)
        };
        let dispatch = applied.dispatch.then(dispatch);
        Turn::Over(PassEnd::Committed(dispatch))
    }

    async fn send(&mut self, next: Next, inbox_seen: Option<u64>) -> Verdict {
        let transition = Box::new(self.transition(next, inbox_seen));
        let (steps, logs) = (transition.steps.clone(), transition.logs.clone());
        let position = transition.next.position().clone();
        let (began, commit_id) = (transition.now, transition.commit_id);
        let verdict = self.deliver(&transition).await;
        if let Verdict::Committed(_) = &verdict {
            let took = self.runtime.now().since(began);
            self.runtime.metrics.committed(&steps, took);
        }
        if let Verdict::InboxChanged = &verdict {
            self.ledger.steps = Arc::unwrap_or_clone(steps);
            self.ledger.logs = Arc::unwrap_or_clone(logs);
        }
        if let Verdict::Committed(applied) = &verdict {
            let answer = self.ledger.answer.take();
            self.runtime
                .announce_commit(self.execution.head.id, applied, answer);
            self.state.seq = applied.seq;
            self.state.version = applied.version;
            self.state.commit_id = Some(commit_id);
            self.state.position = position;
            self.ticket.cleared();
            self.state.inbox = applied.inbox;
            self.state.interrupted = false;
            self.interruption_noted = false;
            self.ledger.committed();
        }
        verdict
    }

    fn transition(&mut self, next: Next, inbox_seen: Option<u64>) -> Transition {
        let snapshot = self.snapshot(&next);
        Transition {
            execution_id: self.execution.head.id,
            expected_seq: self.state.seq,
            lease_token: self.token,
            commit_id: id::random(&*self.runtime.entropy),
            inbox_seen,
            steps: Arc::new(std::mem::take(&mut self.ledger.steps)),
            logs: Arc::new(std::mem::take(&mut self.ledger.logs)),
            consumed: self.ledger.consumed.clone(),
            snapshot,
            next,
            calls_spent: self.ledger.calls_spent,
            bytes_spent: self.ledger.bytes_spent,
            now: self.runtime.now(),
        }
    }

    fn snapshot(&mut self, next: &Next) -> Option<Snapshot> {
        if matches!(next, Next::End { .. })
            || !self.ledger.wants_snapshot()
            || self.ledger.is_empty()
        {
            return None;
        }
        let context = self.context.snapshot();
        self.ledger.unsnapshotted_bytes = 0;
        self.ledger.snapshot_bytes = context.len();
        Some(Snapshot {
            seq: self.seq(),
            context,
        })
    }

    /// Sends until the store has an opinion, or until another worker may have the lease.
    async fn deliver(&mut self, transition: &Transition) -> Verdict {
        let margin = self.runtime.options.lease_margin;
        let give_up_at = self.ticket.lease_until().minus(margin);
        let mut pause = match &self.pending {
            // Sent behind its create, it may only have come too early.
            Some(_) => Duration::ZERO,
            None => PAUSE_MIN,
        };
        let mut tries = 0;
        loop {
            tries += 1;
            let committed = match self.submit(transition).await {
                Ok(committed) => committed,
                Err(not_started) => return Verdict::Over(not_started.into()),
            };
            let error = match committed {
                Ok(applied) => return self.committed(applied, transition),
                Err(CommitError::Refused(reason)) => {
                    // It may be our own, sent before, that came through late.
                    if tries > 1
                        && let Some(late) = Box::pin(self.found(transition, give_up_at)).await
                    {
                        return late;
                    }
                    return self.refused(reason);
                }
                Err(CommitError::Store(error)) => error,
            };
            if let Some(verdict) = self.settled(&error, transition, give_up_at).await {
                return verdict;
            }
            tracing::warn!(execution_id = %self.execution.head.id, %error, "commit not done; trying again");
            if self.runtime.now() >= give_up_at {
                return Verdict::Over(PassEnd::Abandoned);
            }
            self.runtime.metrics.commits.retries.increment();
            let again = self.runtime.now().plus(pause);
            self.runtime.clock.sleep_until(again).await;
            pause = (pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
        }
    }

    /// Sends it, right behind the create if that is pending.
    async fn submit(
        &mut self,
        transition: &Transition,
    ) -> Result<Result<CommitReport, CommitError>, NotStarted> {
        let Some(pending) = self.pending.take() else {
            return Ok(self.runtime.store.commit(transition.clone()).await);
        };
        let committed = pending
            .write_with(&self.runtime, transition.clone())
            .await?;
        self.ticket.lease_stored(self.ticket.lease_until());
        Ok(committed)
    }

    fn committed(&self, applied: CommitReport, transition: &Transition) -> Verdict {
        if applied.lease_kept {
            self.ticket.renewed(&transition.next);
        }
        Verdict::Committed(applied)
    }

    fn refused(&self, reason: CommitRefusal) -> Verdict {
        self.runtime.metrics.commits.refused(reason);
        match reason {
            CommitRefusal::Fenced => {
                tracing::warn!(execution_id = %self.execution.head.id, "commit refused: the lease is not ours");
                Verdict::Over(PassEnd::Abandoned)
            }
            CommitRefusal::InboxChanged => Verdict::InboxChanged,
        }
    }

    /// What an error says about the commit; `None`: it was not done, and is to be sent again.
    async fn settled(
        &mut self,
        error: &StoreError,
        transition: &Transition,
        give_up_at: Timestamp,
    ) -> Option<Verdict> {
        match error {
            StoreError::Rejected(reason) | StoreError::Corrupt(reason) => {
                Some(Verdict::Rejected(reason.clone()))
            }
            StoreError::Unknown(_) => {
                let found = Box::pin(self.look_up(transition, give_up_at)).await;
                self.count_found(found.as_ref());
                found
            }
            StoreError::Unavailable(_) | StoreError::TooLong(_) => None,
        }
    }

    /// The commit, if it is in the store although it was refused.
    async fn found(&mut self, transition: &Transition, give_up_at: Timestamp) -> Option<Verdict> {
        let found = self.look_up(transition, give_up_at).await;
        let found = found.filter(|verdict| matches!(verdict, Verdict::Committed(_)));
        if found.is_some() {
            self.count_found(found.as_ref());
        }
        found
    }

    /// Did it happen? `commit_id` mine: yes. Else token mine: no, send again (`None`). Else it is over for us.
    async fn look_up(&mut self, transition: &Transition, give_up_at: Timestamp) -> Option<Verdict> {
        if planted::has(Bug::UnknownCommitIsFailure) {
            self.saw_unknown_commit = true;
            return Some(Verdict::Over(PassEnd::Abandoned));
        }
        match probe(&self.runtime, self.execution.head.id, give_up_at).await {
            Some(probe) if probe.commit_id == Some(transition.commit_id) => {
                Some(Verdict::Committed(probe.applied))
            }
            Some(probe) if probe.lease_token == Some(transition.lease_token) => None,
            _ => Some(Verdict::Over(PassEnd::Abandoned)),
        }
    }

    fn count_found(&self, found: Option<&Verdict>) {
        let commits = &self.runtime.metrics.commits;
        match found {
            Some(Verdict::Committed(_)) => commits.found_committed.increment(),
            None => commits.found_absent.increment(),
            Some(_) => commits.found_lost.increment(),
        }
    }

    /// The store can never take this: the execution fails with the reason instead of being tried for ever.
    async fn end_rejected(&mut self, reason: String) -> Turn {
        tracing::error!(execution_id = %self.execution.head.id, reason, "the store refused a transition");
        self.runtime.metrics.commits.rejected.increment();
        self.ledger.committed();
        let error = NodeError::new("STORE_REJECTED", reason);
        let ending = visit::failed(&error, &self.position.node_id);
        let next = Next::End {
            position: self.state.position.clone(),
            ending,
        };
        match self.send(next, None).await {
            Verdict::Committed(applied) => self.over(&applied),
            _ => Turn::Over(PassEnd::Abandoned),
        }
    }
}

/// What is in the store, unless it stays silent for too long.
pub(crate) async fn probe(
    runtime: &Runtime,
    id: ExecutionId,
    give_up_at: Timestamp,
) -> Option<Probe> {
    loop {
        match runtime.store.probe(id).await {
            Ok(found) => return found,
            Err(_) if runtime.now() >= give_up_at => return None,
            Err(_) => {
                let again = runtime.now().plus(Duration::from_millis(50));
                runtime.clock.sleep_until(again).await;
            }
        }
    }
}

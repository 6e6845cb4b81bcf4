//! Sending a transition to the store, and finding out what became of it.

use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::id;
use pawl_kernel::lifecycle::CommitRefusal;
use pawl_kernel::node::NodeError;
use pawl_kernel::planted::{self, Bug};
use pawl_kernel::ports::store::{CommitError, Dispatch, Probe, StoreError};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{Applied, Next, Snapshot, Transition};
use pawl_kernel::visit;

use super::{Pass, PassEnd, Turn};

pub(super) enum Verdict {
    Committed(Applied),
    InboxChanged,
    /// The lease is not ours any more.
    Lost,
    /// The execution was not written, and never will be.
    Unborn,
    /// This content can never be stored.
    Rejected(String),
}

impl Pass {
    /// Commits and goes on under the same lease, unless somebody wants otherwise.
    pub(super) async fn commit_on(&mut self, next: Next) -> Result<(), Turn> {
        match self.send(next, None).await {
            Verdict::Committed(applied) if applied.lease_kept => {
                self.position_committed = true;
                Ok(())
            }
            Verdict::Committed(applied) => Err(self.over(&applied)),
            Verdict::Rejected(reason) => Err(Box::pin(self.end_rejected(reason)).await),
            Verdict::Unborn => Err(Turn::Over(PassEnd::Unborn)),
            Verdict::InboxChanged | Verdict::Lost => Err(Turn::Over(PassEnd::Abandoned)),
        }
    }

    /// The commit that ends a pass.
    pub(super) async fn commit_last(&mut self, next: Next) -> Turn {
        match self.send(next, None).await {
            Verdict::Committed(applied) => self.over(&applied),
            Verdict::Rejected(reason) => Box::pin(self.end_rejected(reason)).await,
            Verdict::Unborn => Turn::Over(PassEnd::Unborn),
            Verdict::InboxChanged | Verdict::Lost => Turn::Over(PassEnd::Abandoned),
        }
    }

    /// Enters a wait; `Turn::GoOn`: not committed, because the inbox has changed.
    pub(super) async fn commit_wait(&mut self, next: Next, inbox_seen: Option<u64>) -> Turn {
        match self.send(next, inbox_seen).await {
            Verdict::Committed(applied) => self.over(&applied),
            Verdict::InboxChanged => Turn::GoOn,
            Verdict::Rejected(reason) => Box::pin(self.end_rejected(reason)).await,
            Verdict::Unborn => Turn::Over(PassEnd::Unborn),
            Verdict::Lost => Turn::Over(PassEnd::Abandoned),
        }
    }

    fn over(&self, applied: &Applied) -> Turn {
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
            let took = self.parts.now().since(began);
            self.parts.metrics.committed(&steps, took);
        }
        if let Verdict::InboxChanged = &verdict {
            self.ledger.steps = Arc::unwrap_or_clone(steps);
            self.ledger.logs = Arc::unwrap_or_clone(logs);
        }
        if let Verdict::Committed(applied) = &verdict {
            let answer = self.ledger.answer.take();
            self.parts
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
            commit_id: id::random(&*self.parts.entropy),
            inbox_seen,
            steps: Arc::new(std::mem::take(&mut self.ledger.steps)),
            logs: Arc::new(std::mem::take(&mut self.ledger.logs)),
            consumed: self.ledger.consumed.clone(),
            snapshot,
            next,
            calls_spent: self.ledger.calls_spent,
            bytes_spent: self.ledger.bytes_spent,
            now: self.parts.now(),
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

    /// Sends until the store has an opinion, or until the lease may be somebody else's.
    async fn deliver(&mut self, transition: &Transition) -> Verdict {
        let give_up_at = self
            .ticket
            .lease_until()
            .minus(self.parts.options.lease_margin);
        let birth = self.birth.take();
        let mut sent_before = birth.is_some();
        if let Some(birth) = birth
            && let Some(verdict) = self.bear(birth, transition, give_up_at).await
        {
            return verdict;
        }
        let mut pause = Duration::from_millis(20);
        loop {
            let error = match self.parts.store.commit(transition.clone()).await {
                Ok(applied) => {
                    if applied.lease_kept {
                        self.ticket.renewed(&transition.next);
                    }
                    return Verdict::Committed(applied);
                }
                Err(CommitError::Refused(reason)) => {
                    // It may be our own, sent before, that came through late.
                    if sent_before
                        && let Some(verdict @ Verdict::Committed(_)) =
                            Box::pin(self.look_up(transition, give_up_at)).await
                    {
                        self.count_found(Some(&verdict));
                        return verdict;
                    }
                    self.parts.metrics.commits.refused(reason);
                    return match reason {
                        CommitRefusal::Fenced => {
                            tracing::warn!(execution_id = %self.execution.head.id, "commit refused: the lease is not ours");
                            Verdict::Lost
                        }
                        CommitRefusal::InboxChanged => Verdict::InboxChanged,
                    };
                }
                Err(CommitError::Store(error)) => error,
            };
            sent_before = true;
            match error {
                StoreError::Rejected(reason) | StoreError::Corrupt(reason) => {
                    return Verdict::Rejected(reason);
                }
                StoreError::Unknown(_) => {
                    let found = Box::pin(self.look_up(transition, give_up_at)).await;
                    self.count_found(found.as_ref());
                    if let Some(verdict) = found {
                        return verdict;
                    }
                }
                StoreError::Unavailable(_) => {}
            }
            tracing::warn!(execution_id = %self.execution.head.id, %error, "commit not done; trying again");
            if self.parts.now() >= give_up_at {
                return Verdict::Lost;
            }
            self.parts.metrics.commits.retries.increment();
            self.parts
                .clock
                .sleep_until(self.parts.now().plus(pause))
                .await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }

    /// Did it happen? `commit_id` mine: yes. Else token mine: no, send again (`None`). Else it is over for us.
    async fn look_up(&mut self, transition: &Transition, give_up_at: Timestamp) -> Option<Verdict> {
        if planted::has(Bug::UnknownCommitIsFailure) {
            self.saw_unknown_commit = true;
            return Some(Verdict::Lost);
        }
        match self.probe(give_up_at).await {
            Some(Some(probe)) if probe.commit_id == Some(transition.commit_id) => {
                Some(Verdict::Committed(probe.applied))
            }
            Some(Some(probe)) if probe.lease_token == Some(transition.lease_token) => None,
            _ => Some(Verdict::Lost),
        }
    }

    /// What is in the store, unless it stays silent for too long.
    pub(super) async fn probe(&self, give_up_at: Timestamp) -> Option<Option<Probe>> {
        loop {
            match self.parts.store.probe(self.execution.head.id).await {
                Ok(found) => return Some(found),
                Err(_) if self.parts.now() >= give_up_at => return None,
                Err(_) => {
                    let again = self.parts.now().plus(Duration::from_millis(50));
                    self.parts.clock.sleep_until(again).await;
                }
            }
        }
    }

    pub(super) fn count_found(&self, found: Option<&Verdict>) {
        let commits = &self.parts.metrics.commits;
        match found {
            Some(Verdict::Committed(_)) => commits.found_committed.increment(),
            None => commits.found_absent.increment(),
            Some(_) => commits.found_lost.increment(),
        }
    }

    /// The store can never take this: the execution fails with the reason instead of being tried for ever.
    async fn end_rejected(&mut self, reason: String) -> Turn {
        tracing::error!(execution_id = %self.execution.head.id, reason, "the store refused a transition");
        self.parts.metrics.commits.rejected.increment();
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

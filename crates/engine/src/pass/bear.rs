//! Writing an execution together with its first transition.

use pawl_kernel::ports::store::{CommitError, StoreError};
use pawl_kernel::time::Timestamp;
use pawl_kernel::transition::{Applied, Transition};

use super::Pass;
use super::commit::Verdict;
use crate::birth::Birth;

impl Pass {
    /// `None`: the execution is there, and the transition is still to be committed.
    pub(super) async fn bear(
        &mut self,
        birth: Birth,
        transition: &Transition,
        give_up_at: Timestamp,
    ) -> Option<Verdict> {
        let store = &self.parts.store;
        let writing = store.create_and_commit(birth.new.clone(), transition.clone());
        let error = match writing.await {
            Ok(applied) => return Some(self.born_with(birth, applied, transition)),
            // One of the two cannot be stored. Who asked must hear it of the first; the second has its own way to end.
            Err(CommitError::Store(StoreError::Rejected(_))) => {
                return Box::pin(self.bear_alone(birth)).await;
            }
            Err(CommitError::Store(StoreError::Unknown(reason))) => {
                return Box::pin(self.find_born(birth, reason, transition, give_up_at)).await;
            }
            Err(CommitError::Store(error)) => error,
            Err(CommitError::Refused(reason)) => {
                StoreError::Rejected(format!("the first commit was refused: {reason:?}"))
            }
        };
        birth.tell(&self.parts, Err(error));
        Some(Verdict::Unborn)
    }

    fn born_with(&self, birth: Birth, applied: Applied, transition: &Transition) -> Verdict {
        birth.tell(&self.parts, Ok(()));
        self.ticket.born(None);
        if applied.lease_kept {
            self.ticket.renewed(&transition.next);
        }
        Verdict::Committed(applied)
    }

    async fn bear_alone(&self, birth: Birth) -> Option<Verdict> {
        let until = birth.alone(&self.parts).await;
        if until.is_none() {
            return Some(Verdict::Unborn);
        }
        self.ticket.born(until);
        None
    }

    /// The store does not know whether it was done: what is there tells.
    async fn find_born(
        &self,
        birth: Birth,
        reason: String,
        transition: &Transition,
        give_up_at: Timestamp,
    ) -> Option<Verdict> {
        let Some(Some(found)) = self.probe(give_up_at).await else {
            // What a disk lost sight of may be there again after a restart: nobody is told that it is not.
            self.count_found(Some(&Verdict::Lost));
            birth.tell(&self.parts, Err(StoreError::Unknown(reason)));
            return Some(Verdict::Unborn);
        };
        if found.commit_id == Some(transition.commit_id) {
            let verdict = self.born_with(birth, found.applied, transition);
            self.count_found(Some(&verdict));
            return Some(verdict);
        }
        birth.tell(&self.parts, Ok(()));
        self.ticket.born(None);
        // Somebody else may have it by now.
        let is_lost = found.lease_token != Some(transition.lease_token);
        let verdict = is_lost.then_some(Verdict::Lost);
        self.count_found(verdict.as_ref());
        verdict
    }
}

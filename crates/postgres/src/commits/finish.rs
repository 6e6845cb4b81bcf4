//! Commits by guess, and what it takes to finish those that were not as guessed.

use std::collections::{BTreeMap, HashMap, HashSet};

use pawl_kernel::execution::Record;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{self, CommitRefusal};
use pawl_kernel::ports::store::CommitError;
use pawl_kernel::transition::{CommitReport, Decision, Transition};
use uuid::Uuid;

use super::{Committed, share_fault};
use crate::changes;
use crate::error::{Fault, Outcome};
use crate::heads::lock_heads;
use crate::hot::{CacheRow, RowCache};
use crate::locked::LockedRows;
use crate::session::Session;

pub(super) async fn write_guessed(
    session: &Session,
    guessed: &BTreeMap<ExecutionId, Guess>,
    shards: u32,
) -> Outcome<HashSet<ExecutionId>> {
    if guessed.is_empty() {
        return Ok(HashSet::new());
    }
    let decided: Vec<&Decision> = guessed.values().map(|guess| &guess.decision).collect();
    changes::write(session, &decided, shards, true).await
}

pub(crate) type Answers = HashMap<ExecutionId, Committed>;

/// What it takes to finish a batch that was written by guess. An execution without an answer is done alone.
pub(super) struct BatchRemainder<'a> {
    pub(super) session: &'a Session,
    pub(super) hot: &'a RowCache,
    pub(super) shards: u32,
    pub(super) locked: &'a LockedRows,
}

impl BatchRemainder<'_> {
    /// Notes what was written by guess. The fault, if there was one, is for [`BatchRemainder::finish`].
    pub(super) fn take_guessed(
        &self,
        guessed: BTreeMap<ExecutionId, Guess>,
        done: Outcome<HashSet<ExecutionId>>,
        answers: &mut Answers,
    ) -> Outcome<()> {
        let done = done?;
        let written = guessed.into_iter().filter(|(id, _)| done.contains(id));
        answers.extend(written.map(|(id, guess)| (id, Ok(guess.settle(self.hot)))));
        Ok(())
    }

    /// What was not written by guess is read first, decided and written. No fault that leaves the connection whole
    /// leaves this function: what is committed already must not be answered by it.
    pub(super) async fn finish(
        &self,
        transitions: &[&Transition],
        guessed: Outcome<()>,
        answers: &mut Answers,
    ) -> Outcome<()> {
        let left: Vec<&Transition> = transitions
            .iter()
            .filter(|transition| !answers.contains_key(&transition.execution_id))
            .copied()
            .collect();
        if left.is_empty() {
            return Ok(());
        }
        let done = match guessed {
            Ok(()) => self.slowly(&left).await,
            Err(fault) => Err(fault),
        };
        answers.extend(match done {
            Ok(slow) => slow,
            Err(fault) if fault.is_lock_timeout() => {
                self.session.roll_back().await?;
                self.around(&left, &fault).await?
            }
            Err(fault) => self.share(&left, fault).await?,
        });
        Ok(())
    }

    /// The same answer for all of them, or none: then each is done alone.
    async fn share(&self, transitions: &[&Transition], fault: Fault) -> Outcome<Answers> {
        let shared = share_answers(transitions, fault)?;
        self.session.roll_back().await?;
        Ok(shared)
    }

    async fn slowly(&self, transitions: &[&Transition]) -> Outcome<Answers> {
        let slow = commit_slowly(self.session, transitions, self.hot, self.shards).await?;
        let ids = transitions.iter().map(|transition| transition.execution_id);
        Ok(ids.zip(slow).collect())
    }

    /// Another transaction has had one of the rows locked for longer than we wait: the others are committed without it.
    async fn around(&self, transitions: &[&Transition], fault: &Fault) -> Outcome<Answers> {
        let ids = transitions.iter().map(|transition| transition.execution_id);
        let locked = self.locked.look(self.session, ids).await?;
        let is_locked = |transition: &&&Transition| locked.contains(&transition.execution_id);
        let free: Vec<&Transition> = transitions
            .iter()
            .filter(|transition| !is_locked(transition))
            .copied()
            .collect();
        let mut answers = match free.is_empty() {
            true => Answers::new(),
            false => match self.slowly(&free).await {
                Ok(slow) => slow,
                Err(again) => self.share(&free, again).await?,
            },
        };
        answers.extend(
            locked
                .into_iter()
                .map(|id| (id, Err(fault.of_write().into()))),
        );
        Ok(answers)
    }
}

fn share_answers(transitions: &[&Transition], fault: Fault) -> Outcome<Answers> {
    let Some(error) = share_fault(fault, |error| error)? else {
        return Ok(Answers::new());
    };
    let failed = |transition: &&Transition| (transition.execution_id, Err(error.clone().into()));
    Ok(transitions.iter().map(failed).collect())
}

/// A commit decided on a row of the cache.
pub(super) struct Guess {
    decision: Decision,
    record: Option<Record>,
}

impl Guess {
    /// It was right: the cache keeps the row as it is now.
    fn settle(self, hot: &RowCache) -> CommitReport {
        let outcome = self.decision.change.outcome();
        hot.remember(CacheRow {
            subject: self.decision.after(),
            record: self.record,
        });
        outcome
    }
}

/// Sorted by id: the order in which rows are locked.
pub(super) fn guess(transitions: &[&Transition], hot: &RowCache) -> BTreeMap<ExecutionId, Guess> {
    let decide = |transition: &&Transition| {
        let CacheRow { subject, record } = hot.take(transition.execution_id)?;
        let transition = Transition::clone(transition);
        let change = lifecycle::commit(&subject.head, &subject.state, transition).ok()?;
        let before = subject;
        let decision = Decision { before, change };
        let plain = changes::is_plain(&decision);
        plain.then(|| (decision.id(), Guess { decision, record }))
    };
    transitions.iter().filter_map(decide).collect()
}

/// Locks and reads the rows, decides, writes: two trips to the server.
pub(super) async fn commit_slowly(
    session: &Session,
    transitions: &[&Transition],
    hot: &RowCache,
    shards: u32,
) -> Outcome<Vec<Committed>> {
    let ids: Vec<Uuid> = transitions.iter().map(|t| t.execution_id.0).collect();
    let mut rows = lock_heads(session, ids).await?;
    let mut answers = Vec::with_capacity(transitions.len());
    let mut decided = Vec::new();
    for transition in transitions {
        let Some(before) = rows.remove(&transition.execution_id) else {
            answers.push(Err(CommitError::Refused(CommitRefusal::Fenced)));
            continue;
        };
        let transition = (*transition).clone();
        match lifecycle::commit(&before.head, &before.state, transition) {
            Err(refusal) => answers.push(Err(CommitError::Refused(refusal))),
            Ok(change) => {
                answers.push(Ok(change.outcome()));
                decided.push(Decision { before, change });
            }
        }
    }
    decided.sort_unstable_by_key(Decision::id);
    changes::write_all(session, &decided, shards).await?;
    for decision in decided {
        hot.remember(CacheRow {
            subject: decision.after(),
            record: None,
        });
    }
    Ok(answers)
}

//! Dead letters: executions and messages that no worker could handle, kept until a person has looked at them.

use async_trait::async_trait;

use super::store::StoreResult;
use crate::id::ExecutionId;
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLetter {
    /// `None`: the message did not say, or said nonsense.
    pub execution_id: Option<ExecutionId>,
    /// One sentence for people.
    pub reason: String,
    /// The message as it came, if it could not be read.
    pub message: Option<String>,
    pub now: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Grows with every letter.
    pub id: u64,
    pub execution_id: Option<ExecutionId>,
    pub reason: String,
    /// How long the message is, if there is one: lists do not carry it.
    pub message_bytes: Option<u64>,
    pub created_at: Timestamp,
    pub requeued_at: Option<Timestamp>,
    /// The execution that goes on in its place, if it took a new one.
    pub requeued_as: Option<ExecutionId>,
}

impl DeadLetter {
    /// No operator has dealt with it yet.
    pub fn is_open(&self) -> bool {
        self.requeued_at.is_none()
    }
}

/// Which letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LetterFilter {
    /// Only those that no operator has dealt with.
    pub open_only: bool,
    /// A part of the reason, upper and lower case alike.
    pub reason: Option<String>,
    pub ids: Option<Vec<u64>>,
}

/// Where a page of letters begins, and which way it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterPage {
    /// Oldest first, after this one.
    After(u64),
    /// Newest first, before this one; `None`: from the newest.
    Before(Option<u64>),
}

#[async_trait]
pub trait LetterStore: Send + Sync {
    /// Returns its id. Ends of executions write theirs themselves, with the commit.
    async fn add_letter(&self, letter: NewLetter) -> StoreResult<u64>;

    /// Oldest first, after the letter `after`; only those that no operator has dealt with, if `open_only`.
    async fn dead_letters(
        &self,
        open_only: bool,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<DeadLetter>>;

    async fn letters(
        &self,
        filter: LetterFilter,
        page: LetterPage,
        limit: u32,
    ) -> StoreResult<Vec<DeadLetter>>;

    /// How many there are, counted up to `max`.
    async fn count_letters(&self, filter: LetterFilter, max: u32) -> StoreResult<u64>;

    /// The letter and its message.
    async fn dead_letter(&self, id: u64) -> StoreResult<Option<(DeadLetter, Option<String>)>>;

    /// Notes that it was dealt with, and by which new execution. The first time counts; `false`: it had been, or
    /// there is no such letter.
    async fn mark_requeued(
        &self,
        id: u64,
        requeued_as: Option<ExecutionId>,
        now: Timestamp,
    ) -> StoreResult<bool>;
}

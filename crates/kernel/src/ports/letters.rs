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

/// So many letters are looked at for a reason.
pub const LETTERS_LOOK_MAX: u32 = 20_000;

/// Which letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LetterFilter {
    /// Only those that no operator has dealt with.
    pub open_only: bool,
    /// A part of the reason, upper and lower case alike.
    pub reason: Option<String>,
    pub ids: Option<Vec<u64>>,
}

impl LetterFilter {
    /// Every row has to be looked at, because no index finds what is wanted.
    pub fn looks_through(&self) -> bool {
        self.reason.is_some() && self.ids.is_none()
    }
}

/// Where a page of letters begins, and which way it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterPage {
    /// Oldest first, after this one.
    After(u64),
    /// Newest first, before this one; `None`: from the newest.
    Before(Option<u64>),
}

impl LetterPage {
    /// Of letters in order of their ids, those of this page.
    pub fn cut(self, mut letters: Vec<DeadLetter>, limit: u32) -> Vec<DeadLetter> {
        match self {
            Self::After(id) => letters.retain(|letter| letter.id > id),
            Self::Before(id) => {
                letters.retain(|letter| id.is_none_or(|id| letter.id < id));
                letters.reverse();
            }
        }
        letters.truncate(limit as usize);
        letters
    }
}

/// A page of letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LetterList {
    pub letters: Vec<DeadLetter>,
    /// The look ended here before the page was full; further letters may be wanted too.
    pub looked_to: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LetterTally {
    pub count: u64,
    /// There may be more.
    pub is_capped: bool,
}

impl LetterTally {
    /// `found` are all there are, or more than `max`; or those of a look that was `cut` short.
    pub fn up_to(max: u32, found: u64, cut: bool) -> Self {
        Self {
            count: found.min(max.into()),
            is_capped: cut || found > max.into(),
        }
    }
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

    /// No index knows reasons: for one, a page ends after a look at `look` rows.
    async fn letters(
        &self,
        filter: LetterFilter,
        page: LetterPage,
        limit: u32,
        look: u32,
    ) -> StoreResult<LetterList>;

    /// How many there are, counted up to `max`; by a reason, among the oldest `look` of them.
    async fn count_letters(
        &self,
        filter: LetterFilter,
        max: u32,
        look: u32,
    ) -> StoreResult<LetterTally>;

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

//! Dead letters.

use async_trait::async_trait;

use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::letters::{
    DeadLetter, LetterFilter, LetterList, LetterPage, LetterStore, LetterTally, NewLetter,
};
use pawl_kernel::ports::store::{LetterPulse, StoreResult};
use pawl_kernel::time::Timestamp;

use super::ModelStore;

/// In order of their ids, which are not used again.
#[derive(Default)]
pub(super) struct Letters {
    letters: Vec<(DeadLetter, Option<String>)>,
    last_id: u64,
}

impl Letters {
    pub(super) fn add(&mut self, new: NewLetter) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let letter = DeadLetter {
            id,
            execution_id: new.execution_id,
            reason: new.reason,
            message_bytes: new.message.as_ref().map(|text| text.len() as u64),
            created_at: new.now,
            requeued_at: None,
            requeued_as: None,
        };
        self.letters.push((letter, new.message));
        id
    }

    /// Removes the letters about an execution; says how many.
    pub(super) fn remove_of(&mut self, id: ExecutionId) -> u64 {
        let before = self.letters.len();
        self.letters
            .retain(|(letter, _)| letter.execution_id != Some(id));
        (before - self.letters.len()) as u64
    }

    pub(super) fn pulse(&self) -> LetterPulse {
        let all = self.letters.iter().map(|(letter, _)| letter);
        let open = all.filter(|letter| letter.requeued_at.is_none());
        LetterPulse {
            last_id: self.letters.last().map_or(0, |(letter, _)| letter.id),
            open: open.take(1_000).count() as u64,
        }
    }

    pub(super) fn all(&self) -> Vec<DeadLetter> {
        self.letters
            .iter()
            .map(|(letter, _)| letter.clone())
            .collect()
    }
}

#[async_trait]
impl LetterStore for ModelStore {
    async fn add_letter(&self, letter: NewLetter) -> StoreResult<u64> {
        Ok(self.lock().letters.add(letter))
    }

    async fn dead_letters(
        &self,
        open_only: bool,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<DeadLetter>> {
        let all = self.lock().letters.all().into_iter();
        let wanted = all.filter(|letter| letter.id > after && (letter.is_open() || !open_only));
        Ok(wanted.take(limit as usize).collect())
    }

    async fn letters(
        &self,
        filter: LetterFilter,
        page: LetterPage,
        limit: u32,
        look: u32,
    ) -> StoreResult<LetterList> {
        let mut all = self.lock().letters.all();
        all.retain(|letter| could_fit(&filter, letter));
        let all = page.cut(all, u32::MAX);
        let look = match filter.looks_through() {
            true => look as usize,
            false => usize::MAX,
        };
        let end = all.get(look.saturating_sub(1)).map(|letter| letter.id);
        let mut letters = all;
        letters.truncate(look);
        letters.retain(|letter| fits(&filter, letter));
        letters.truncate(limit as usize);
        let looked_to = end.filter(|_| letters.len() < limit as usize);
        Ok(LetterList { letters, looked_to })
    }

    async fn count_letters(
        &self,
        filter: LetterFilter,
        max: u32,
        look: u32,
    ) -> StoreResult<LetterTally> {
        let from = LetterPage::After(0);
        let found = self.letters(filter, from, u32::MAX, look).await?;
        let (count, cut) = (found.letters.len() as u64, found.looked_to.is_some());
        Ok(LetterTally::up_to(max, count, cut))
    }

    async fn dead_letter(&self, id: u64) -> StoreResult<Option<(DeadLetter, Option<String>)>> {
        let tables = self.lock();
        let found = tables
            .letters
            .letters
            .iter()
            .find(|(letter, _)| letter.id == id);
        Ok(found.cloned())
    }

    async fn mark_requeued(
        &self,
        id: u64,
        requeued_as: Option<ExecutionId>,
        now: Timestamp,
    ) -> StoreResult<bool> {
        let mut tables = self.lock();
        let mut letters = tables.letters.letters.iter_mut().map(|(letter, _)| letter);
        let open = letters.find(|letter| letter.id == id && letter.is_open());
        Ok(open
            .map(|letter| {
                letter.requeued_at = Some(now);
                letter.requeued_as = requeued_as;
            })
            .is_some())
    }
}

fn fits(filter: &LetterFilter, letter: &DeadLetter) -> bool {
    let reason = filter.reason.as_deref();
    could_fit(filter, letter) && reason.is_none_or(|part| super::query::found(&letter.reason, part))
}

/// By all but its reason.
fn could_fit(filter: &LetterFilter, letter: &DeadLetter) -> bool {
    let ids = filter.ids.as_ref();
    (letter.is_open() || !filter.open_only) && ids.is_none_or(|ids| ids.contains(&letter.id))
}

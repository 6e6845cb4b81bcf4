//! One worker's view of keys and dead letters, which people look after.

use async_trait::async_trait;

use pawl_kernel::id::{ExecutionId, KeyId};
use pawl_kernel::ports::keys::{KeyError, KeyHash, KeyRecord, KeyStore, NewKey};
use pawl_kernel::ports::letters::{
    DeadLetter, LetterFilter, LetterList, LetterPage, LetterStore, LetterTally, NewLetter,
};
use pawl_kernel::ports::sessions::{NewSession, SessionRecord, SessionStore};
use pawl_kernel::ports::store::StoreResult;
use pawl_kernel::ports::workers::{WorkerRecord, WorkerStore};
use pawl_kernel::time::Timestamp;

use super::store::{FaultyStore, READ, WRITE};

#[async_trait]
impl KeyStore for FaultyStore {
    async fn add_key(&self, key: NewKey) -> Result<KeyRecord, KeyError> {
        self.pass(WRITE, self.inner.add_key(key)).await
    }

    async fn key_by_hash(&self, hash: KeyHash) -> StoreResult<Option<KeyRecord>> {
        self.pass(READ, self.inner.key_by_hash(hash)).await
    }

    async fn key(&self, key: &str) -> StoreResult<Option<KeyRecord>> {
        self.pass(READ, self.inner.key(key)).await
    }

    async fn keys(&self, before: Option<KeyId>, limit: u32) -> StoreResult<Vec<KeyRecord>> {
        self.pass(READ, self.inner.keys(before, limit)).await
    }

    async fn revoke_key(&self, id: KeyId, now: Timestamp) -> StoreResult<Option<KeyRecord>> {
        self.pass(WRITE, self.inner.revoke_key(id, now)).await
    }

    async fn touch_key(
        &self,
        id: KeyId,
        now: Timestamp,
        unless_after: Timestamp,
    ) -> StoreResult<bool> {
        self.pass(WRITE, self.inner.touch_key(id, now, unless_after))
            .await
    }
}

#[async_trait]
impl SessionStore for FaultyStore {
    async fn add_session(&self, session: NewSession) -> StoreResult<()> {
        self.pass(WRITE, self.inner.add_session(session)).await
    }

    async fn session(&self, hash: KeyHash) -> StoreResult<Option<SessionRecord>> {
        self.pass(READ, self.inner.session(hash)).await
    }

    async fn touch_session(
        &self,
        hash: KeyHash,
        now: Timestamp,
        unless_after: Timestamp,
    ) -> StoreResult<bool> {
        self.pass(WRITE, self.inner.touch_session(hash, now, unless_after))
            .await
    }

    async fn end_session(&self, hash: KeyHash) -> StoreResult<bool> {
        self.pass(WRITE, self.inner.end_session(hash)).await
    }
}

#[async_trait]
impl LetterStore for FaultyStore {
    async fn add_letter(&self, letter: NewLetter) -> StoreResult<u64> {
        self.pass(WRITE, self.inner.add_letter(letter)).await
    }

    async fn dead_letters(
        &self,
        open_only: bool,
        after: u64,
        limit: u32,
    ) -> StoreResult<Vec<DeadLetter>> {
        self.pass(READ, self.inner.dead_letters(open_only, after, limit))
            .await
    }

    async fn letters(
        &self,
        filter: LetterFilter,
        page: LetterPage,
        limit: u32,
        look: u32,
    ) -> StoreResult<LetterList> {
        self.pass(READ, self.inner.letters(filter, page, limit, look))
            .await
    }

    async fn count_letters(
        &self,
        filter: LetterFilter,
        max: u32,
        look: u32,
    ) -> StoreResult<LetterTally> {
        self.pass(READ, self.inner.count_letters(filter, max, look))
            .await
    }

    async fn dead_letter(&self, id: u64) -> StoreResult<Option<(DeadLetter, Option<String>)>> {
        self.pass(READ, self.inner.dead_letter(id)).await
    }

    async fn mark_requeued(
        &self,
        id: u64,
        requeued_as: Option<ExecutionId>,
        now: Timestamp,
    ) -> StoreResult<bool> {
        self.pass(WRITE, self.inner.mark_requeued(id, requeued_as, now))
            .await
    }
}

#[async_trait]
impl WorkerStore for FaultyStore {
    async fn report_worker(
        &self,
        report: WorkerRecord,
        forget_before: Timestamp,
    ) -> StoreResult<()> {
        self.pass(WRITE, self.inner.report_worker(report, forget_before))
            .await
    }

    async fn remove_worker(&self, id: &str) -> StoreResult<()> {
        self.pass(WRITE, self.inner.remove_worker(id)).await
    }

    async fn workers(&self, since: Timestamp) -> StoreResult<Vec<WorkerRecord>> {
        self.pass(READ, self.inner.workers(since)).await
    }
}

//! Looking keys up. What was found good is remembered for a moment, so that a busy key costs no query per
//! request; what was revoked is out within five seconds everywhere.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pawl_kernel::id::KeyId;
use pawl_kernel::ports::keys::{KeyHash, KeyRecord, KeyRefusal, Role};
use pawl_kernel::time::Timestamp;

use super::super::ApiState;
use super::super::error::{ApiError, ApiResult};
use super::sessions::Sessions;
use super::{Credential, Identity, key_text, unauthorized};

/// How long a key that was good counts as good without another look.
const REMEMBERED: Duration = Duration::from_secs(3);
/// How often an open stream asks again. Together they are the five seconds.
const STREAM_LOOK: Duration = Duration::from_secs(2);
/// `last_used_at` is for people; it need not be exact, and must not cost a write per request.
const USE_NOTED: Duration = Duration::from_secs(60);
/// Keys remembered at once, before the old ones are thrown out.
const REMEMBERED_MAX: usize = 1_024;

const ADMIN_LENGTH: std::ops::RangeInclusive<usize> = 16..=512;

/// The name of the key that comes from the environment; no other key can have it.
pub(in crate::api) const ADMIN_NAME: &str = "PAWL_ADMIN_KEY";

#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("PAWL_ADMIN_KEY {0}")]
pub struct BadAdminKey(&'static str);

/// What a key or a session is looked at for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) enum LookPurpose {
    /// This is a use of it.
    Request,
    /// A stream asks whether it may go on: that is none.
    Stream,
}

/// The keys that open this server.
pub(in crate::api) struct KeyRing {
    admin: Option<KeyHash>,
    remembered: Mutex<HashMap<KeyHash, CachedKey>>,
    sessions: Sessions,
}

struct CachedKey {
    record: KeyRecord,
    /// When the store was asked.
    asked_at: Timestamp,
}

impl CachedKey {
    /// A clock that was set back makes it stale, not eternal.
    fn is_fresh(&self, now: Timestamp) -> bool {
        now >= self.asked_at && now.since(self.asked_at) < REMEMBERED
    }
}

impl KeyRing {
    pub(in crate::api) fn new(admin_key: Option<&str>) -> Result<Self, BadAdminKey> {
        Ok(Self {
            admin: admin_key.map(admin_hash).transpose()?,
            remembered: Mutex::default(),
            sessions: Sessions::default(),
        })
    }

    pub(super) async fn identify(
        &self,
        state: &ApiState,
        credential: &Credential,
        purpose: LookPurpose,
    ) -> ApiResult<Identity> {
        let key = match credential {
            Credential::Key(text) => self.key(text)?,
            Credential::Session(token) => self.sessions.key(state, token, purpose).await?,
        };
        let identity = self.owner(state, key, purpose).await?;
        Ok(Identity {
            login: credential.login(),
            ..identity
        })
    }

    /// What can be a key, as its hash.
    pub(in crate::api) fn key(&self, text: &str) -> ApiResult<KeyHash> {
        if text.len() > *ADMIN_LENGTH.end() {
            return Err(stranger());
        }
        let hash = KeyHash::of(text);
        match self.is_admin(hash) || key_text::is_well_formed(text) {
            true => Ok(hash),
            false => Err(stranger()),
        }
    }

    fn is_admin(&self, hash: KeyHash) -> bool {
        self.admin.is_some_and(|admin| admin.is(&hash))
    }

    /// Who comes with this key, if it is good.
    pub(in crate::api) async fn owner(
        &self,
        state: &ApiState,
        hash: KeyHash,
        purpose: LookPurpose,
    ) -> ApiResult<Identity> {
        if self.is_admin(hash) {
            return Ok(Identity::key(ADMIN_NAME, ADMIN_NAME, None, Role::Admin));
        }
        let now = state.now();
        let record = self.record(state, hash, now).await?;
        record.check(now).map_err(refused)?;
        if purpose == LookPurpose::Request {
            self.note_use(state, hash, &record, now);
        }
        Ok(Identity::from(&record))
    }

    pub(in crate::api) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// When it ends, if it is one that ends by itself.
    pub(in crate::api) async fn end(
        &self,
        state: &ApiState,
        hash: KeyHash,
    ) -> ApiResult<Option<Timestamp>> {
        if self.is_admin(hash) {
            return Ok(None);
        }
        let record = self.record(state, hash, state.now()).await?;
        Ok(record.expires_at)
    }

    async fn record(
        &self,
        state: &ApiState,
        hash: KeyHash,
        now: Timestamp,
    ) -> ApiResult<KeyRecord> {
        if let Some(known) = self.lock().get(&hash).filter(|known| known.is_fresh(now)) {
            return Ok(known.record.clone());
        }
        let found = state.store().key_by_hash(hash).await?;
        let record = found.ok_or_else(stranger)?;
        let known = CachedKey {
            record: record.clone(),
            asked_at: now,
        };
        let mut remembered = self.lock();
        if remembered.len() >= REMEMBERED_MAX {
            remembered.retain(|_, known| known.is_fresh(now));
        }
        remembered.insert(hash, known);
        Ok(record)
    }

    pub(super) fn forget(&self, id: KeyId) {
        self.lock().retain(|_, known| known.record.id != id);
    }

    /// Off the path of the request: that it was used is worth a line, not a wait.
    fn note_use(&self, state: &ApiState, hash: KeyHash, record: &KeyRecord, now: Timestamp) {
        if record
            .last_used_at
            .is_some_and(|last| now.since(last) < USE_NOTED)
        {
            return;
        }
        if let Some(known) = self.lock().get_mut(&hash) {
            known.record.last_used_at = Some(now);
        }
        let (store, id) = (state.runtime().store.clone(), record.id);
        tokio::spawn(async move {
            if let Err(error) = store.touch_key(id, now, now.minus(USE_NOTED)).await {
                tracing::debug!(%error, "the use of a key was not noted");
            }
        });
    }

    /// Returns when the key no longer opens anything. While the store does not answer, it does.
    pub(super) async fn until_refused(self: Arc<Self>, state: ApiState, shown: Credential) {
        loop {
            tokio::time::sleep(STREAM_LOOK).await;
            match self.identify(&state, &shown, LookPurpose::Stream).await {
                Err(error) if error.is_unauthorized() => return,
                _ => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<KeyHash, CachedKey>> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// For those who want to know before they connect to anything.
pub fn check_admin_key(text: Option<&str>) -> Result<(), BadAdminKey> {
    text.map(admin_hash).transpose().map(drop)
}

/// What cannot be sent in a header, or is quickly guessed, is no key.
fn admin_hash(text: &str) -> Result<KeyHash, BadAdminKey> {
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(BadAdminKey(
            "must hold letters, digits and signs only, without spaces",
        ));
    }
    match ADMIN_LENGTH.contains(&text.len()) {
        true => Ok(KeyHash::of(text)),
        false => Err(BadAdminKey(
            "must have 16 to 512 characters; `openssl rand -hex 32` makes a good one",
        )),
    }
}

fn stranger() -> ApiError {
    unauthorized("this API key is not known here")
}

/// A caller that holds the secret may know what became of the key.
fn refused(reason: KeyRefusal) -> ApiError {
    unauthorized(match reason {
        KeyRefusal::Revoked => "this API key was revoked",
        KeyRefusal::Expired => "this API key has expired",
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use pawl_engine::control::Control;
    use pawl_engine::{Options, Runtime};
    use pawl_kernel::id;
    use pawl_kernel::node::Registry;
    use pawl_kernel::ports::keys::{KeyStore, NewKey};
    use pawl_kernel::ports::sessions::SessionStore;
    use pawl_kernel::time::Clock;
    use pawl_testkit::clock::{SeededEntropy, SimClock};
    use pawl_testkit::model::ModelStore;
    use pawl_testkit::model_queue::ModelQueue;

    use super::super::Access;
    use super::*;
    use crate::api::Limits;

    /// Servers on one store, on a clock that the test moves.
    struct Installation {
        store: Arc<ModelStore>,
        clock: Arc<SimClock>,
        entropy: Arc<SeededEntropy>,
        made: AtomicU64,
    }

    impl Installation {
        fn new() -> Self {
            Self {
                store: Arc::new(ModelStore::new()),
                clock: Arc::new(SimClock::new()),
                entropy: Arc::new(SeededEntropy::new(7)),
                made: AtomicU64::new(0),
            }
        }

        fn server(&self) -> ApiState {
            let runtime = Runtime::new(
                self.store.clone(),
                Arc::new(ModelQueue::new()),
                self.clock.clone(),
                self.entropy.clone(),
                Arc::new(Registry::default()),
                Options::default(),
            );
            let control = Control::new(runtime, None);
            ApiState::with_keys(control, Limits::default(), Some("the-admin-key-of-tests")).unwrap()
        }

        async fn key(&self, life: Option<Duration>) -> (String, KeyId) {
            let now = self.clock.now();
            let id = KeyId(id::time_ordered(now, &*self.entropy));
            let text = key_text::draw(id, &*self.entropy);
            let new = NewKey {
                id,
                name: format!("key-{}", self.made.fetch_add(1, Ordering::SeqCst)),
                role: Role::Operator,
                hash: KeyHash::of(&text),
                email: None,
                created_by: "test".into(),
                created_at: now,
                expires_at: life.map(|life| now.plus(life)),
            };
            self.store.add_key(new).await.unwrap();
            (text, id)
        }

        fn pass(&self, time: Duration) {
            self.clock.step(time.as_micros() as i64);
        }

        async fn last_used(&self, id: KeyId) -> Option<Timestamp> {
            let record = self.store.key(&id.to_string()).await.unwrap();
            record.unwrap().last_used_at
        }
    }

    fn ring(state: &ApiState) -> &Arc<KeyRing> {
        match &state.access {
            Access::Keys(ring) => ring,
            Access::Open => panic!("it has no keys"),
        }
    }

    async fn opens(state: &ApiState, text: &str) -> bool {
        let shown = Credential::Key(text.to_owned());
        let done = ring(state).identify(state, &shown, LookPurpose::Request);
        done.await.is_ok()
    }

    /// Lets the tasks run that were started on the side.
    async fn settle() {
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_revoked_key_is_out_everywhere_within_five_seconds() {
        let world = Installation::new();
        let (here, there) = (world.server(), world.server());
        let (text, id) = world.key(None).await;
        assert!(opens(&here, &text).await && opens(&there, &text).await);
        world.store.revoke_key(id, world.clock.now()).await.unwrap();
        here.access.forget(id);
        assert!(!opens(&here, &text).await, "at once where it was revoked");
        assert!(opens(&there, &text).await, "remembered for a moment");
        world.pass(Duration::from_secs(5));
        assert!(!opens(&there, &text).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_stream_ends_with_its_key() {
        let world = Installation::new();
        let (here, there) = (world.server(), world.server());
        let (text, id) = world.key(None).await;
        assert!(opens(&there, &text).await);
        let watch = tokio::spawn(
            ring(&there)
                .clone()
                .until_refused(there.clone(), Credential::Key(text.clone())),
        );
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!watch.is_finished());
        world.store.revoke_key(id, here.now()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        settle().await;
        assert!(watch.is_finished());
    }

    /// A tab that is left open keeps no session alive, and its stream ends with it.
    #[tokio::test(start_paused = true)]
    async fn an_open_stream_is_no_use_of_its_session() {
        let world = Installation::new();
        let server = world.server();
        let (text, id) = world.key(None).await;
        let token = ring(&server).sessions().open(&server, KeyHash::of(&text));
        let shown = Credential::Session(token.await.unwrap());
        let opened = world.clock.now();
        let hour = Duration::from_secs(3_600);
        for _ in 0..12 {
            let looked = ring(&server).identify(&server, &shown, LookPurpose::Stream);
            assert!(looked.await.is_ok());
            settle().await;
            assert_eq!(world.last_used(id).await, None);
            world.pass(hour);
        }
        let Credential::Session(token) = &shown else {
            panic!("it is one");
        };
        let record = world.store.session(KeyHash::of(token)).await.unwrap();
        assert_eq!(record.map(|record| record.used_at), Some(opened));
        let looked = ring(&server).identify(&server, &shown, LookPurpose::Stream);
        assert!(looked.await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_expires_although_it_is_remembered() {
        let world = Installation::new();
        let server = world.server();
        let (text, _) = world.key(Some(Duration::from_secs(2))).await;
        assert!(opens(&server, &text).await);
        world.pass(Duration::from_secs(2));
        assert!(!opens(&server, &text).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_set_back_makes_nothing_eternal() {
        let world = Installation::new();
        let server = world.server();
        let (text, id) = world.key(None).await;
        assert!(opens(&server, &text).await);
        world.store.revoke_key(id, world.clock.now()).await.unwrap();
        world.clock.step(-3_600_000_000);
        assert!(!opens(&server, &text).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_use_is_written_once_a_minute() {
        let world = Installation::new();
        let (here, there) = (world.server(), world.server());
        let (text, id) = world.key(None).await;
        let first = world.clock.now();
        for _ in 0..59 {
            assert!(opens(&here, &text).await && opens(&there, &text).await);
            settle().await;
            assert_eq!(world.last_used(id).await, Some(first));
            world.pass(Duration::from_secs(1));
        }
        world.pass(Duration::from_secs(1));
        assert!(opens(&here, &text).await);
        settle().await;
        assert_eq!(world.last_used(id).await, Some(world.clock.now()));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_has_a_limit() {
        let world = Installation::new();
        let server = world.server();
        for _ in 0..REMEMBERED_MAX + 10 {
            let (text, _) = world.key(None).await;
            assert!(opens(&server, &text).await);
            world.pass(Duration::from_millis(10));
        }
        assert!(ring(&server).lock().len() <= REMEMBERED_MAX);
        assert!(!opens(&server, &"x".repeat(60_000)).await);
    }

    #[test]
    fn an_admin_key_must_be_long_and_plain() {
        for bad in [
            "",
            "short",
            "fifteen-letters",
            "sixteen letters!",
            "sixteen-lettérs!",
            &"x".repeat(513),
        ] {
            assert!(KeyRing::new(Some(bad)).is_err(), "{bad}");
        }
        assert!(KeyRing::new(Some("sixteen-letters!")).is_ok());
        assert!(KeyRing::new(None).is_ok());
        let error = KeyRing::new(Some("canary")).err().unwrap();
        assert!(!error.to_string().contains("canary"));
    }
}

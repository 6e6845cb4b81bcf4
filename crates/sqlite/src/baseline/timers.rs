//! What `pawl bench timers` needs of a file: many actions at once, what became of them, and the plain design to compare
//! with: one table that is polled, and an action is made in the transaction that marks it as done.

use std::path::Path;

use pawl_kernel::ports::store::{TimerKind, shard_of};
use pawl_kernel::schedule::ScheduledAction;
use pawl_kernel::time::Timestamp;
use rusqlite::{Connection, params};

use crate::{Options, SqliteStore, connection, sql};

const PROCESSING_FILL: &str = include_str!("../../sql/baseline/processing_fill.sql");
const ACTIONS_COUNT: &str = include_str!("../../sql/baseline/actions_count.sql");
const FIRED_ONCE: &str = include_str!("../../sql/baseline/actions_fired_once.sql");
const PLAIN_SETUP: &str = include_str!("../../sql/baseline/plain_setup.sql");
const PLAIN_FILL: &str = include_str!("../../sql/baseline/plain_fill.sql");
const PLAIN_DUE: &str = include_str!("../../sql/baseline/plain_due.sql");
const PLAIN_DONE: &str = include_str!("../../sql/baseline/plain_done.sql");
const PLAIN_COUNT: &str = include_str!("../../sql/baseline/plain_count.sql");

/// Where the rows of actions stand that are filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// As users leave them.
    Incoming,
    /// As workers leave them.
    Processing,
}

/// A folder of Pawl while no engine is on it.
pub struct FolderFiller {
    connection: Connection,
}

impl FolderFiller {
    /// The tables are made if there are none.
    pub fn open(folder: &Path) -> Result<Self, String> {
        let options = Options::default();
        let store = SqliteStore::open(folder, options.clone()).map_err(|e| e.to_string())?;
        drop(store);
        let file = folder.join("pawl.db");
        let connection = connection::writer(&file, &options).map_err(|e| e.to_string())?;
        Ok(Self { connection })
    }

    /// Actions and their rows in a queue, in one transaction.
    pub fn fill(
        &mut self,
        actions: &[ScheduledAction],
        queue: Queue,
        shards: u32,
        now: Timestamp,
    ) -> Result<(), String> {
        let filled = self.fill_all(actions, queue, shards, now);
        filled.map_err(|error| error.to_string())
    }

    fn fill_all(
        &mut self,
        actions: &[ScheduledAction],
        queue: Queue,
        shards: u32,
        now: Timestamp,
    ) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        let place = match queue {
            Queue::Incoming => sql::TIMER_INSERT,
            Queue::Processing => PROCESSING_FILL,
        };
        for action in actions {
            let due_at = action.due_at().map(Timestamp::as_micros);
            transaction
                .prepare_cached(sql::ACTION_WRITE)?
                .execute(params![
                    action.id,
                    action.guid.as_bytes(),
                    action.meta.to_stored(),
                    action.spec.to_stored(),
                    action.status.to_stored(),
                    due_at,
                    None::<i64>
                ])?;
            transaction.prepare_cached(place)?.execute(params![
                shard_of(action.guid, shards),
                now.as_micros(),
                action.id,
                action.guid.as_bytes(),
                due_at,
                TimerKind::Action.code()
            ])?;
        }
        transaction.commit()
    }

    /// How many actions there are whose ids begin so.
    pub fn actions(&self, prefix: &str) -> Result<u64, String> {
        self.counted(ACTIONS_COUNT, prefix)
    }

    /// How many actions whose ids begin so have fired, once and with success.
    pub fn fired_once(&self, prefix: &str) -> Result<u64, String> {
        self.counted(FIRED_ONCE, prefix)
    }

    fn counted(&self, text: &str, prefix: &str) -> Result<u64, String> {
        let count = self
            .connection
            .query_row(text, [prefix], |row| row.get::<_, i64>(0));
        count
            .map(i64::unsigned_abs)
            .map_err(|error| error.to_string())
    }
}

/// The plain design on a file of its own, with the settings of Pawl's writer.
pub struct Plain {
    connection: Connection,
}

impl Plain {
    /// With an empty table.
    pub fn open(file: &Path) -> Result<Self, String> {
        let opened = connection::writer(file, &Options::default());
        let plain = Self {
            connection: opened.map_err(|error| error.to_string())?,
        };
        plain.clear()?;
        Ok(plain)
    }

    pub fn clear(&self) -> Result<(), String> {
        let done = self.connection.execute_batch(PLAIN_SETUP);
        done.map_err(|error| error.to_string())
    }

    pub fn fill(&mut self, actions: &[ScheduledAction]) -> Result<(), String> {
        self.fill_all(actions).map_err(|error| error.to_string())
    }

    fn fill_all(&mut self, actions: &[ScheduledAction]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        for action in actions {
            let due_at = action.due_at().map(Timestamp::as_micros);
            transaction.prepare_cached(PLAIN_FILL)?.execute(params![
                action.id,
                action.spec.to_stored(),
                due_at
            ])?;
        }
        transaction.commit()
    }

    /// Makes one batch of what is due: 500 at most. Returns how many.
    pub fn batch(
        &mut self,
        now: Timestamp,
        act: &mut (dyn FnMut(String, Timestamp) + Send),
    ) -> Result<usize, String> {
        self.make(now, act).map_err(|error| error.to_string())
    }

    fn make(
        &mut self,
        now: Timestamp,
        act: &mut (dyn FnMut(String, Timestamp) + Send),
    ) -> rusqlite::Result<usize> {
        let transaction = self.connection.transaction()?;
        let due: Vec<(String, i64)> = transaction
            .prepare_cached(PLAIN_DUE)?
            .query_map([now.as_micros()], |row| {
                // What is to be done is read, as a worker would have to.
                let _spec: String = row.get(1)?;
                Ok((row.get(0)?, row.get(2)?))
            })?
            .collect::<Result<_, _>>()?;
        for (id, at) in &due {
            act(id.clone(), Timestamp::from_micros(*at));
        }
        for (id, _) in &due {
            let done = params![id, now.as_micros()];
            transaction.prepare_cached(PLAIN_DONE)?.execute(done)?;
        }
        transaction.commit()?;
        Ok(due.len())
    }

    /// How many are marked as done.
    pub fn done(&self) -> Result<u64, String> {
        let count = self
            .connection
            .query_row(PLAIN_COUNT, [], |row| row.get::<_, i64>(0));
        count
            .map(i64::unsigned_abs)
            .map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pawl_kernel::ports::store::TimerStore;
    use pawl_kernel::schedule::{Author, Override, Put, put, read_request};
    use serde_json::{Map, json};
    use uuid::Uuid;

    use super::*;

    const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

    fn action(number: u128) -> ScheduledAction {
        let body = json!({"spec": {"start_at": START.to_string(), "policy": {"once": {}}, "action": {"mock": {}}}});
        let request = read_request(&body, Author::Engine, START).unwrap();
        let request = Put {
            id: format!("filled-{number}"),
            guid: Uuid::from_u128(number),
            spec: request.spec,
            notes: Map::new(),
            mode: Override::None,
            written_by: "bench".into(),
        };
        put(None, request, START).unwrap()
    }

    #[tokio::test]
    async fn what_is_filled_in_is_what_workers_find() {
        let folder = tempfile::tempdir().unwrap();
        let actions: Vec<_> = (0..20).map(action).collect();
        let mut filling = FolderFiller::open(folder.path()).unwrap();
        let (old, new) = actions.split_at(15);
        filling.fill(old, Queue::Processing, 16, START).unwrap();
        filling.fill(new, Queue::Incoming, 16, START).unwrap();
        assert_eq!(filling.actions("filled-"), Ok(20));
        assert_eq!(filling.actions("other-"), Ok(0));
        assert_eq!(filling.fired_once("filled-"), Ok(0));
        drop(filling);
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let shards: Vec<u32> = (0..16).collect();
        let end = START.plus(Duration::from_secs(1));
        let upcoming = store
            .upcoming(&shards, Timestamp::default()..end, 100)
            .await
            .unwrap();
        assert_eq!(upcoming.len(), 15);
    }

    #[test]
    fn the_plain_design_makes_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut plain = Plain::open(&folder.path().join("plain.db")).unwrap();
        let actions: Vec<_> = (0..700).map(action).collect();
        plain.fill(&actions).unwrap();
        let mut made = Vec::new();
        let mut act = |id: String, _| made.push(id);
        let before = START.minus(Duration::from_micros(1));
        assert_eq!(plain.batch(before, &mut act), Ok(0));
        assert_eq!(plain.batch(START, &mut act), Ok(500));
        assert_eq!(plain.batch(START, &mut act), Ok(200));
        assert_eq!(plain.batch(START, &mut act), Ok(0));
        assert_eq!(plain.done(), Ok(700));
        made.sort_unstable();
        made.dedup();
        assert_eq!(made.len(), 700);
    }
}

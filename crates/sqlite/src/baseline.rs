//! What SQLite itself does with one writer on the same disk: the baseline of `pawl bench`. No engine, no queue,
//! the plainest rows; only the durability is the same.

pub mod timers;

use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Result, params};
use tokio::sync::{mpsc, oneshot};

const SCHEMA: &str = include_str!("../sql/baseline/schema.sql");
const INSERT_STATE: &str = include_str!("../sql/baseline/state_insert.sql");
const UPDATE_STATE: &str = include_str!("../sql/baseline/state_update.sql");
const INSERT_STEP: &str = include_str!("../sql/baseline/step_insert.sql");

const STEP_BYTES: usize = 200;
const STATE_BYTES: usize = 1_000;

pub struct Raw {
    connection: Connection,
    round: u64,
    step: String,
    state: String,
}

impl Raw {
    pub fn open(file: &Path) -> Result<Self> {
        let connection = Connection::open(file)?;
        connection.execute_batch(SCHEMA)?;
        let synchronous: i64 =
            connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
        // A baseline that does not sync would make every ratio worthless.
        if synchronous != 2 {
            return Err(rusqlite::Error::InvalidQuery);
        }
        Ok(Self {
            connection,
            round: 0,
            step: "p".repeat(STEP_BYTES),
            state: "s".repeat(STATE_BYTES),
        })
    }

    /// Steps per second at 100 steps per transaction over 64 executions.
    pub fn steps_per_second(&mut self, time: Duration) -> Result<f64> {
        let ids = self.executions(64)?;
        let start = Instant::now();
        let mut steps = 0;
        while start.elapsed() < time {
            self.transaction(&ids, &mut steps, 100)?;
        }
        Ok(steps as f64 / start.elapsed().as_secs_f64())
    }

    /// Microseconds for ten commits of one step each, one after the other.
    pub fn ten_commits(&mut self) -> Result<f64> {
        let ids = self.executions(1)?;
        let start = Instant::now();
        let mut steps = 0;
        for _ in 0..10 {
            self.transaction(&ids, &mut steps, 1)?;
        }
        Ok(start.elapsed().as_secs_f64() * 1e6)
    }

    fn executions(&mut self, count: u64) -> Result<Vec<[u8; 16]>> {
        self.round += 1;
        let ids: Vec<[u8; 16]> = (0..count).map(|number| id(self.round, number)).collect();
        let transaction = self.connection.transaction()?;
        for id in &ids {
            transaction.execute(INSERT_STATE, params![id, self.state])?;
        }
        transaction.commit()?;
        Ok(ids)
    }

    fn transaction(&mut self, ids: &[[u8; 16]], steps: &mut u64, count: u64) -> Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached(INSERT_STEP)?;
            let mut update = transaction.prepare_cached(UPDATE_STATE)?;
            for _ in 0..count {
                let id = ids[(*steps % ids.len() as u64) as usize];
                insert.execute(params![id, *steps as i64, self.step])?;
                update.execute(params![id, self.state])?;
                *steps += 1;
            }
        }
        transaction.commit()
    }
}

/// A text to be kept, and whom to tell when it is.
type Wish = (String, oneshot::Sender<()>);

/// One row per call, for many callers: whatever waits goes into one transaction. What a program without an engine would
/// do with the calls it gets.
pub struct SharedInserts {
    wishes: mpsc::UnboundedSender<Wish>,
    writer: JoinHandle<Result<u64>>,
}

impl SharedInserts {
    pub fn open(file: &Path) -> Result<Self> {
        let raw = Raw::open(file)?;
        let (wishes, inbox) = mpsc::unbounded_channel();
        let writer = std::thread::spawn(move || raw.keep_all(inbox));
        Ok(Self { wishes, writer })
    }

    /// A way in for one caller.
    pub fn caller(&self) -> Caller {
        Caller(self.wishes.clone())
    }

    /// How many rows were written. All callers must be gone.
    pub fn close(self) -> Result<u64> {
        drop(self.wishes);
        let ended = self.writer.join();
        ended.unwrap_or(Err(rusqlite::Error::InvalidQuery))
    }
}

#[derive(Clone)]
pub struct Caller(mpsc::UnboundedSender<Wish>);

impl Caller {
    /// `true` once it is on disk.
    pub async fn keep(&self, text: String) -> bool {
        let (told, kept) = oneshot::channel();
        self.0.send((text, told)).is_ok() && kept.await.is_ok()
    }
}

impl Raw {
    fn keep_all(mut self, mut inbox: mpsc::UnboundedReceiver<Wish>) -> Result<u64> {
        let (mut count, mut waiting) = (0, Vec::new());
        while inbox.blocking_recv_many(&mut waiting, 1_000) > 0 {
            let transaction = self.connection.transaction()?;
            {
                let mut insert = transaction.prepare_cached(INSERT_STEP)?;
                for (text, _) in &waiting {
                    insert.execute(params![id(0, count), 1, text])?;
                    count += 1;
                }
            }
            transaction.commit()?;
            for (_, told) in waiting.drain(..) {
                // A caller that does not wait any more need not know.
                let _ = told.send(());
            }
        }
        Ok(count)
    }
}

fn id(round: u64, number: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&round.to_be_bytes());
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    bytes
}

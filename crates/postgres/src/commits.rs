//! Creating executions and committing transitions: many at once.
//!
//! Several committers work side by side, each on its own connection and for its own share of the executions. A
//! committer takes whatever is waiting and writes it with one or two statements; there is no artificial delay, and
//! under load the batches grow by themselves. What breaks a batch is tried again alone.

mod finish;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::join;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::batches::BatchSizes;
use pawl_kernel::ports::store::{
    CommitError, CreateOutcome, NewExecution, StoreError, StoreResult,
};
use pawl_kernel::transition::{CommitReport, Transition};
use tokio::sync::{mpsc, oneshot};

pub(crate) use finish::Answers;
use finish::{BatchRemainder, commit_slowly, guess, write_guessed};

use crate::creates::{CreateResult, create, create_with_more, existing, is_simple};
use crate::error::{Fault, Outcome};
use crate::hot::{CacheRow, RowCache};
use crate::locked::LockedRows;
use crate::quotas::{self, KnownNames};
use crate::session::{Pool, Session};
use crate::sql;

/// Most jobs in one batch. A transaction should stay short enough for others to share its locks.
const BATCH: usize = 256;
/// Quotas are set by people: they cannot change this often while an execution is created.
const EPOCHS_MAX: u32 = 10;

type Committed = Result<CommitReport, CommitError>;

enum Job {
    Create(
        Box<NewExecution>,
        oneshot::Sender<StoreResult<CreateOutcome>>,
    ),
    Commit(Box<Transition>, oneshot::Sender<Committed>),
}

impl Job {
    fn execution_id(&self) -> ExecutionId {
        match self {
            Self::Create(new, _) => new.execution.head.id,
            Self::Commit(transition, _) => transition.execution_id,
        }
    }
}

pub(crate) struct Committers {
    lanes: Vec<mpsc::UnboundedSender<Job>>,
}

/// The answers of a batch so far.
#[derive(Default)]
struct BatchAnswers {
    created: HashMap<ExecutionId, StoreResult<CreateOutcome>>,
    committed: Answers,
}

/// What a committer works with.
pub(crate) struct Lane {
    pub(crate) pool: Arc<Pool>,
    pub(crate) hot: Arc<RowCache>,
    pub(crate) shards: u32,
    pub(crate) batches: Arc<BatchSizes>,
    pub(crate) locked: LockedRows,
    pub(crate) known_names: Arc<KnownNames>,
}

impl Committers {
    pub(crate) fn start(count: usize, lane: impl Fn() -> Lane) -> Self {
        let lanes = (0..count.max(1))
            .map(|_| {
                let (sender, receiver) = mpsc::unbounded_channel();
                tokio::spawn(lane().run(receiver));
                sender
            })
            .collect();
        Self { lanes }
    }

    pub(crate) async fn create(&self, new: NewExecution) -> StoreResult<CreateOutcome> {
        let (sender, answer) = oneshot::channel();
        self.send(Job::Create(Box::new(new), sender));
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    pub(crate) async fn commit(&self, transition: Transition) -> Committed {
        let (sender, answer) = oneshot::channel();
        self.send(Job::Commit(Box::new(transition), sender));
        answer.await.unwrap_or_else(|_| Err(closed().into()))
    }

    /// Always the same committer for the same execution: its jobs keep their order.
    fn send(&self, job: Job) {
        let (high, low) = job.execution_id().0.as_u64_pair();
        let lane = (high ^ low) % self.lanes.len() as u64;
        // A committer that is gone drops the job, and with it the sender of the answer.
        let _ = self.lanes[lane as usize].send(job);
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".into())
}

#[derive(Default)]
struct Batch {
    creates: Vec<(NewExecution, oneshot::Sender<StoreResult<CreateOutcome>>)>,
    commits: Vec<(Transition, oneshot::Sender<Committed>)>,
}

impl Batch {
    /// Two jobs for one execution cannot be in one batch: a commit that comes later is given back.
    fn add(&mut self, job: Job, seen: &mut HashSet<ExecutionId>) -> Option<Job> {
        match job {
            Job::Create(new, answer) => {
                seen.insert(new.execution.head.id);
                self.creates.push((*new, answer));
            }
            Job::Commit(transition, answer) => {
                if !seen.insert(transition.execution_id) {
                    return Some(Job::Commit(transition, answer));
                }
                self.commits.push((*transition, answer));
            }
        }
        None
    }
}

impl Lane {
    async fn run(self, mut jobs: mpsc::UnboundedReceiver<Job>) {
        let mut waiting: Vec<Job> = Vec::new();
        loop {
            if waiting.is_empty() && jobs.recv_many(&mut waiting, BATCH).await == 0 {
                return;
            }
            let mut batch = Batch::default();
            let mut seen = HashSet::new();
            let taken = std::mem::take(&mut waiting);
            waiting.extend(
                taken
                    .into_iter()
                    .filter_map(|job| batch.add(job, &mut seen)),
            );
            self.process(batch).await;
        }
    }

    async fn process(&self, batch: Batch) {
        self.batches
            .record(batch.creates.len() + batch.commits.len());
        let (news, create_answers): (Vec<_>, Vec<_>) = batch.creates.into_iter().unzip();
        let (transitions, commit_answers): (Vec<_>, Vec<_>) = batch.commits.into_iter().unzip();
        let mut known = self.write(&news, &transitions).await;
        // A caller with an answer gets it now: no caller waits for what others still need.
        let mut rest = Vec::new();
        for (new, answer) in news.into_iter().zip(create_answers) {
            match known.created.remove(&new.execution.head.id) {
                Some(result) => drop(answer.send(result)),
                None => rest.push((new, answer)),
            }
        }
        let mut alone = Vec::new();
        for (transition, answer) in transitions.into_iter().zip(commit_answers) {
            match known.committed.remove(&transition.execution_id) {
                Some(result) => drop(answer.send(result)),
                None => alone.push((transition, answer)),
            }
        }
        for (transition, answer) in alone {
            let _ = answer.send(self.commit_alone(&transition).await);
        }
        self.create_rest(rest).await;
    }

    /// Both kinds on one connection. A write without an answer afterwards has to be done alone, because it needs more
    /// statements or because something broke the batch.
    async fn write(&self, news: &[NewExecution], transitions: &[Transition]) -> BatchAnswers {
        let mut known = BatchAnswers::default();
        let answers = &mut known;
        let done = self
            .pool
            .run_here(move |session| self.write_on(session, news, transitions, answers));
        if let Err(fault) = done.await {
            // What was answered before is so: it is on disk.
            for new in news {
                let answer = || Err(fault.of_write());
                known
                    .created
                    .entry(new.execution.head.id)
                    .or_insert_with(answer);
            }
            for transition in transitions {
                let answer = || Err(fault.of_write().into());
                known
                    .committed
                    .entry(transition.execution_id)
                    .or_insert_with(answer);
            }
        }
        known
    }

    async fn write_on(
        &self,
        session: Arc<Session>,
        news: &[NewExecution],
        transitions: &[Transition],
        known: &mut BatchAnswers,
    ) -> Outcome<()> {
        session
            .ready(&[&sql::EXECUTIONS_CREATE, &sql::TRANSITIONS_WRITE])
            .await?;
        let names = self.known_names.get(&session).await?;
        let is_simple = |new: &&NewExecution| is_simple(new) && !names.concern(new);
        let simple: Vec<&NewExecution> = news.iter().filter(is_simple).collect();
        known.committed = self.locked.among(&session, transitions).await?;
        let free = transitions
            .iter()
            .filter(|transition| !known.committed.contains_key(&transition.execution_id));
        let free: Vec<&Transition> = free.collect();
        let guessed = guess(&free, &self.hot);
        // Two transactions, sent together: a caller that waits for a commit does not wait for creations.
        let (created, done) = join(
            create(&session, &simple, names.epoch, true),
            write_guessed(&session, &guessed, self.shards),
        )
        .await;
        let rest = BatchRemainder {
            session: &session,
            hot: &self.hot,
            shards: self.shards,
            locked: &self.locked,
        };
        let done = rest.take_guessed(guessed, done, &mut known.committed);
        if let Ok(None) = &created {
            self.known_names.forget();
        }
        after_create(&session, &simple, created, &self.hot, &mut known.created).await?;
        rest.finish(&free, done, &mut known.committed).await
    }

    async fn create_alone(&self, new: &NewExecution) -> StoreResult<CreateOutcome> {
        for _ in 0..EPOCHS_MAX {
            let done = self.pool.run_here(|session| self.try_create(session, new));
            match done.await {
                Ok(Some(answer)) => return answer,
                // What was known of the quotas was old.
                Ok(None) => self.known_names.forget(),
                Err(fault) => return Err(fault.of_write()),
            }
        }
        Err(StoreError::Unavailable(
            "quotas change faster than an execution can be created".into(),
        ))
    }

    async fn try_create(
        &self,
        session: Arc<Session>,
        new: &NewExecution,
    ) -> Outcome<Option<StoreResult<CreateOutcome>>> {
        let known = self.known_names.get(&session).await?;
        if known.concern(new) {
            let written = quotas::create(&session, &[new], known.epoch, self.shards).await?;
            let one = written.and_then(|mut written| written.pop());
            return Ok(one.map(|(created, written)| self.created(created, written)));
        }
        let made = match is_simple(new) {
            true => {
                let created = create(&session, &[new], known.epoch, true).await?;
                created.map(|created| match created.is_empty() {
                    true => CreateResult::KeyTaken,
                    false => CreateResult::New,
                })
            }
            false => create_with_more(&session, new, known.epoch, self.shards).await?,
        };
        Ok(match made {
            None => None,
            Some(CreateResult::KeyTaken) => Some(existing(&session, new).await?),
            Some(CreateResult::AlreadyRetried(before)) => {
                Some(Ok(CreateOutcome::AlreadyRetried(before)))
            }
            Some(CreateResult::New) => {
                self.hot.remember_new(new);
                Some(Ok(CreateOutcome::New))
            }
        })
    }

    /// Those that need more than one statement.
    async fn create_rest(
        &self,
        rest: Vec<(NewExecution, oneshot::Sender<StoreResult<CreateOutcome>>)>,
    ) {
        let mut counted = match rest.len() {
            0 | 1 => HashMap::new(),
            _ => self.create_counted(&rest).await,
        };
        for (new, answer) in rest {
            let result = match counted.remove(&new.execution.head.id) {
                Some(result) => result,
                None => self.create_alone(&new).await,
            };
            let _ = answer.send(result);
        }
    }

    /// All that count against quotas, in one transaction. If one row may be at fault, each is done alone; any other
    /// fault is the answer for all of them, since it is unknown what has happened.
    async fn create_counted<T>(
        &self,
        rest: &[(NewExecution, T)],
    ) -> HashMap<ExecutionId, StoreResult<CreateOutcome>> {
        let names = self
            .pool
            .run_here(|session| async move { self.known_names.get(&session).await });
        let Ok(names) = names.await else {
            return HashMap::new();
        };
        let counted: Vec<&NewExecution> = rest
            .iter()
            .map(|(new, _)| new)
            // Whether a retry may be made is found out for each alone.
            .filter(|new| new.execution.record.retry_of.is_none() && names.concern(new))
            .collect();
        if counted.is_empty() {
            return HashMap::new();
        }
        let (all, shards) = (&counted, self.shards);
        let done = self.pool.run_here(|session| async move {
            quotas::create(&session, all, names.epoch, shards).await
        });
        match done.await {
            Ok(written) => written
                .unwrap_or_default()
                .into_iter()
                .map(|(created, written)| {
                    (written.execution.head.id, self.created(created, written))
                })
                .collect(),
            Err(fault) if fault.may_be_one_row() => HashMap::new(),
            Err(fault) => {
                let failed = |new: &&NewExecution| (new.execution.head.id, Err(fault.of_write()));
                counted.iter().map(failed).collect()
            }
        }
    }

    fn created(&self, created: CreateOutcome, written: NewExecution) -> StoreResult<CreateOutcome> {
        if !matches!(
            created,
            CreateOutcome::Existing(_) | CreateOutcome::AlreadyRetried(_)
        ) {
            self.hot.remember(CacheRow::of(written));
        }
        Ok(created)
    }

    async fn commit_alone(&self, transition: &Transition) -> Committed {
        let (hot, shards) = (&self.hot, self.shards);
        let done = self
            .pool
            .run_here(|session| async move {
                let one = [transition];
                let mut answers = commit_slowly(&session, &one, hot, shards).await?;
                answers
                    .pop()
                    .ok_or_else(|| Fault::Corrupt("a commit without an answer".into()))
            })
            .await;
        done.unwrap_or_else(|fault| Err(fault.of_write().into()))
    }
}

/// A fault that concerns one row leaves the others to be done alone; any other is the answer for all of them.
fn share_fault<T>(fault: Fault, answer: impl Fn(StoreError) -> T) -> Outcome<Option<T>> {
    if fault.breaks_connection() {
        return Err(fault);
    }
    Ok((!fault.may_be_one_row()).then(|| answer(fault.of_write())))
}

/// What became of the creations that one statement made.
async fn after_create(
    session: &Session,
    simple: &[&NewExecution],
    created: Outcome<Option<HashSet<ExecutionId>>>,
    hot: &RowCache,
    answers: &mut HashMap<ExecutionId, StoreResult<CreateOutcome>>,
) -> Outcome<()> {
    let created = match created {
        Ok(Some(created)) => created,
        Ok(None) => return Ok(()),
        Err(fault) => {
            if let Some(error) = share_fault(fault, |error| error)? {
                let failed = |new: &&NewExecution| (new.execution.head.id, Err(error.clone()));
                answers.extend(simple.iter().map(failed));
            }
            return Ok(());
        }
    };
    let (new, known): (Vec<_>, Vec<_>) = simple
        .iter()
        .partition(|new| created.contains(&new.execution.head.id));
    for new in new {
        hot.remember_new(new);
        answers.insert(new.execution.head.id, Ok(CreateOutcome::New));
    }
    for new in known {
        let found = existing(session, new).await?;
        answers.insert(new.execution.head.id, found);
    }
    Ok(())
}

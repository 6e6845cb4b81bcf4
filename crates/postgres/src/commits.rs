//! Creating executions and committing transitions: many at once.
//!
//! Several committers work side by side, each on its own connection and for its own share of the executions. A
//! committer takes whatever is waiting and writes it with one or two statements; there is no artificial delay, and
//! under load the batches grow by themselves. What breaks a batch is tried again alone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::join;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::{self, CommitRefusal};
use pawl_kernel::ports::batches::BatchSizes;
use pawl_kernel::ports::store::{CommitError, Created, NewExecution, StoreError, StoreResult};
use pawl_kernel::transition::{Applied, Transition};
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::changes::{self, Decided};
use crate::creates::{create, create_with_more, existing, is_simple};
use crate::error::{Fault, Outcome};
use crate::hot::Hot;
use crate::locked::Locked;
use crate::quotas::{self, KnownNames};
use crate::rows::{self, Loaded};
use crate::session::{Pool, Session};
use crate::sql;

/// Most jobs in one batch. A transaction should stay short enough for others to share its locks.
const BATCH: usize = 256;
/// Quotas are set by people: they cannot change this often while an execution is created.
const EPOCHS_MAX: u32 = 10;

type Committed = Result<Applied, CommitError>;

enum Job {
    Create(Box<NewExecution>, oneshot::Sender<StoreResult<Created>>),
    Commit(Box<Transition>, oneshot::Sender<Committed>),
}

impl Job {
    fn execution_id(&self) -> ExecutionId {
        match self {
            Self::Create(new, _) => new.execution.id,
            Self::Commit(transition, _) => transition.execution_id,
        }
    }
}

pub(crate) struct Committers {
    lanes: Vec<mpsc::UnboundedSender<Job>>,
}

/// What a committer works with.
pub(crate) struct Lane {
    pub(crate) pool: Arc<Pool>,
    pub(crate) hot: Arc<Hot>,
    pub(crate) shards: u32,
    pub(crate) batches: Arc<BatchSizes>,
    pub(crate) locked: Locked,
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

    pub(crate) async fn create(&self, new: NewExecution) -> StoreResult<Created> {
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
    creates: Vec<(NewExecution, oneshot::Sender<StoreResult<Created>>)>,
    commits: Vec<(Transition, oneshot::Sender<Committed>)>,
}

impl Batch {
    /// Two commits for one execution cannot be in one batch; the later one is given back.
    fn add(&mut self, job: Job, seen: &mut HashSet<ExecutionId>) -> Option<Job> {
        match job {
            Job::Create(new, answer) => self.creates.push((*new, answer)),
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
        let (mut created, committed) = self.write(&news, &transitions).await;
        self.create_counted(&news, &mut created).await;
        for ((new, answer), result) in news.iter().zip(create_answers).zip(created) {
            let result = match result {
                Some(result) => result,
                None => self.create_alone(new).await,
            };
            let _ = answer.send(result);
        }
        for ((transition, answer), result) in transitions.iter().zip(commit_answers).zip(committed)
        {
            let result = match result {
                Some(result) => result,
                None => self.commit_alone(transition).await,
            };
            let _ = answer.send(result);
        }
    }

    /// Both kinds on one connection. `None`: has to be done alone, because it needs more statements or because
    /// something broke the batch.
    async fn write(
        &self,
        news: &[NewExecution],
        transitions: &[Transition],
    ) -> (Vec<Option<StoreResult<Created>>>, Vec<Option<Committed>>) {
        let (hot, shards, locked) = (&self.hot, self.shards, &self.locked);
        let known_names = &self.known_names;
        let done = self
            .pool
            .run_here(|session| async move {
                session
                    .ready(&[&sql::EXECUTIONS_CREATE, &sql::TRANSITIONS_WRITE])
                    .await?;
                let known = known_names.get(&session).await?;
                let is_simple = |new: &&NewExecution| is_simple(new) && !known.concern(new);
                let simple: Vec<&NewExecution> = news.iter().filter(is_simple).collect();
                let stuck = locked.among(&session, transitions).await?;
                let free = transitions
                    .iter()
                    .filter(|transition| !stuck.contains_key(&transition.execution_id));
                let free: Vec<&Transition> = free.collect();
                let guessed = guess(&free, hot);
                // Two transactions, sent together: whoever waits for a commit does not wait for creations.
                let (created, done) = join(
                    create(&session, &simple, known.epoch, true),
                    write_guessed(&session, &guessed, shards),
                )
                .await;
                if let Ok(None) = &created {
                    known_names.forget();
                }
                let simple: HashSet<ExecutionId> =
                    simple.iter().map(|new| new.execution.id).collect();
                let created = after_create(&session, news, &simple, created, hot).await?;
                let rest = Rest {
                    session: &session,
                    hot,
                    shards,
                    locked,
                };
                let mut answers = rest.after_guess(&free, guessed, done).await?;
                answers.extend(stuck);
                let answer = |transition: &Transition| answers.remove(&transition.execution_id);
                Ok((created, transitions.iter().map(answer).collect()))
            })
            .await;
        done.unwrap_or_else(|fault| {
            let create = |_: &NewExecution| Some(Err(fault.of_write()));
            let commit = |_: &Transition| Some(Err(fault.of_write().into()));
            (
                news.iter().map(create).collect(),
                transitions.iter().map(commit).collect(),
            )
        })
    }

    async fn create_alone(&self, new: &NewExecution) -> StoreResult<Created> {
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
    ) -> Outcome<Option<StoreResult<Created>>> {
        let known = self.known_names.get(&session).await?;
        if known.concern(new) {
            let written = quotas::create(&session, &[new], known.epoch, self.shards).await?;
            let one = written.and_then(|mut written| written.pop());
            return Ok(one.map(|(created, written)| {
                self.hot.remember(&written.execution, &written.state);
                Ok(created)
            }));
        }
        let created = match is_simple(new) {
            true => create(&session, &[new], known.epoch, true).await?,
            false => create_with_more(&session, new, known.epoch, self.shards).await?,
        };
        let Some(created) = created else {
            return Ok(None);
        };
        if created.is_empty() {
            return existing(&session, new).await.map(Some);
        }
        self.hot.remember_new(new);
        Ok(Some(Ok(Created::New)))
    }

    /// All that count against quotas, in one transaction. What breaks it is done alone.
    async fn create_counted(
        &self,
        news: &[NewExecution],
        answers: &mut [Option<StoreResult<Created>>],
    ) {
        let open: Vec<usize> = (0..news.len())
            .filter(|place| answers[*place].is_none())
            .collect();
        if open.len() < 2 {
            return;
        }
        let done = self
            .pool
            .run_here(|session| async move {
                let known = self.known_names.get(&session).await?;
                let counted = open
                    .into_iter()
                    .filter(|place| known.concern(&news[*place]));
                let counted: Vec<usize> = counted.collect();
                let refs: Vec<&NewExecution> = counted.iter().map(|place| &news[*place]).collect();
                let written = match refs.is_empty() {
                    true => None,
                    false => quotas::create(&session, &refs, known.epoch, self.shards).await?,
                };
                Ok(counted.into_iter().zip(written.unwrap_or_default()))
            })
            .await;
        for (place, (created, written)) in done.into_iter().flatten() {
            self.hot.remember(&written.execution, &written.state);
            answers[place] = Some(Ok(created));
        }
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

async fn after_create(
    session: &Session,
    news: &[NewExecution],
    simple: &HashSet<ExecutionId>,
    created: Outcome<Option<HashSet<ExecutionId>>>,
    hot: &Hot,
) -> Outcome<Vec<Option<StoreResult<Created>>>> {
    let created = match created {
        Ok(Some(created)) => created,
        Ok(None) => return Ok(news.iter().map(|_| None).collect()),
        Err(fault) => {
            let shared = share_fault(fault, |error| error)?;
            return Ok(news.iter().map(|_| shared.clone().map(Err)).collect());
        }
    };
    let mut answers = Vec::with_capacity(news.len());
    for new in news {
        answers.push(if !simple.contains(&new.execution.id) {
            None
        } else if created.contains(&new.execution.id) {
            hot.remember_new(new);
            Some(Ok(Created::New))
        } else {
            Some(existing(session, new).await?)
        });
    }
    Ok(answers)
}

async fn write_guessed(
    session: &Session,
    guessed: &BTreeMap<ExecutionId, Decided>,
    shards: u32,
) -> Outcome<HashSet<ExecutionId>> {
    if guessed.is_empty() {
        return Ok(HashSet::new());
    }
    let decided: Vec<&Decided> = guessed.values().collect();
    changes::write(session, &decided, shards, true).await
}

pub(crate) type Answers = HashMap<ExecutionId, Committed>;

/// What it takes to finish a batch that was written by guess. An execution without an answer is done alone.
struct Rest<'a> {
    session: &'a Session,
    hot: &'a Hot,
    shards: u32,
    locked: &'a Locked,
}

impl Rest<'_> {
    /// What was not written by guess is read first, decided and written.
    async fn after_guess(
        &self,
        transitions: &[&Transition],
        guessed: BTreeMap<ExecutionId, Decided>,
        done: Outcome<HashSet<ExecutionId>>,
    ) -> Outcome<Answers> {
        let done = match done {
            Ok(done) => done,
            Err(fault) if fault.is_lock_timeout() => return self.around(transitions, &fault).await,
            Err(fault) => return share_answers(transitions, fault),
        };
        let mut answers: Answers = guessed
            .into_iter()
            .filter(|(id, _)| done.contains(id))
            .map(|(id, decided)| (id, Ok(settle(decided, self.hot))))
            .collect();
        let left: Vec<&Transition> = transitions
            .iter()
            .filter(|transition| !answers.contains_key(&transition.execution_id))
            .copied()
            .collect();
        if left.is_empty() {
            return Ok(answers);
        }
        answers.extend(match self.slowly(&left).await {
            Ok(slow) => slow,
            Err(fault) if fault.is_lock_timeout() => {
                self.session.roll_back().await?;
                self.around(&left, &fault).await?
            }
            Err(fault) => {
                let shared = share_answers(&left, fault)?;
                self.session.roll_back().await?;
                shared
            }
        });
        Ok(answers)
    }

    async fn slowly(&self, transitions: &[&Transition]) -> Outcome<Answers> {
        let slow = commit_slowly(self.session, transitions, self.hot, self.shards).await?;
        let ids = transitions.iter().map(|transition| transition.execution_id);
        Ok(ids.zip(slow).collect())
    }

    /// Somebody has had one of the rows locked for longer than we wait: the others are committed without it.
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
            false => self.slowly(&free).await?,
        };
        answers.extend(
            locked
                .into_iter()
                .map(|id| (id, Err(fault.of_write().into()))),
        );
        Ok(answers)
    }
}

/// The same answer for all of them, or none: then each is done alone.
fn share_answers(transitions: &[&Transition], fault: Fault) -> Outcome<Answers> {
    let Some(error) = share_fault(fault, |error| error)? else {
        return Ok(Answers::new());
    };
    let failed = |transition: &&Transition| (transition.execution_id, Err(error.clone().into()));
    Ok(transitions.iter().map(failed).collect())
}

/// Sorted by id: the order in which rows are locked.
fn guess(transitions: &[&Transition], hot: &Hot) -> BTreeMap<ExecutionId, Decided> {
    let decide = |transition: &&Transition| {
        let before = hot.take(transition.execution_id)?;
        let transition = Transition::clone(transition);
        let change = lifecycle::commit(&before.execution, &before.state, transition).ok()?;
        let decided = Decided { before, change };
        decided.is_plain().then(|| (decided.id(), decided))
    };
    transitions.iter().filter_map(decide).collect()
}

fn settle(decided: Decided, hot: &Hot) -> Applied {
    let outcome = decided.change.outcome();
    let Loaded { execution, state } = decided.after();
    hot.remember(&execution, &state);
    outcome
}

/// Locks and reads the rows, decides, writes: two trips to the server.
async fn commit_slowly(
    session: &Session,
    transitions: &[&Transition],
    hot: &Hot,
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
        match lifecycle::commit(&before.execution, &before.state, transition) {
            Err(refusal) => answers.push(Err(CommitError::Refused(refusal))),
            Ok(change) => {
                answers.push(Ok(change.outcome()));
                decided.push(Decided { before, change });
            }
        }
    }
    decided.sort_unstable_by_key(Decided::id);
    changes::write_all(session, &decided, shards).await?;
    for one in decided {
        settle(one, hot);
    }
    Ok(answers)
}

/// Begins a transaction that has these states locked; returns what decisions look at.
pub(crate) async fn lock_heads(
    session: &Session,
    ids: Vec<Uuid>,
) -> Outcome<HashMap<ExecutionId, Loaded>> {
    session
        .ready(&[&sql::STATES_LOCK, &sql::EXECUTION_HEADS_LOAD])
        .await?;
    let (begun, heads) = join(session.begin(), lock_more_heads(session, ids)).await;
    begun?;
    heads
}

/// The same in a transaction that has begun.
pub(crate) async fn lock_more_heads(
    session: &Session,
    mut ids: Vec<Uuid>,
) -> Outcome<HashMap<ExecutionId, Loaded>> {
    ids.sort_unstable();
    ids.dedup();
    session
        .ready(&[&sql::STATES_LOCK, &sql::EXECUTION_HEADS_LOAD])
        .await?;
    let (locked, heads) = join(
        session.rows(&sql::STATES_LOCK, &[&ids]),
        session.rows(&sql::EXECUTION_HEADS_LOAD, &[&ids]),
    )
    .await;
    locked?;
    by_id(heads?.iter().map(rows::head))
}

pub(crate) fn by_id(
    rows: impl Iterator<Item = Outcome<Loaded>>,
) -> Outcome<HashMap<ExecutionId, Loaded>> {
    rows.map(|row| row.map(|loaded| (loaded.state.execution_id, loaded)))
        .collect()
}

//! What lists, counts, errors and statistics cost with a million executions in the tables, against a thousand in the same run.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pawl_kernel::execution::{
    DebugMode, Execution, Head, Position, PriorityClass, Record, State, Status,
};
use pawl_kernel::id::{self, ExecutionId, SchemaId};
use pawl_kernel::ports::overview::{GroupBy, count_by, errors_by};
use pawl_kernel::ports::store::{
    ExecutionFilter, NewExecution, SaveMode, SaveSchema, Store, StoreResult,
};
use pawl_kernel::statistics::{StatisticsPeriod, gather};
use pawl_kernel::time::{Clock, Timestamp};
use pawl_sqlite::SqliteStore;
use tokio::task::JoinSet;

use super::cluster::{ServerUrls, Site};
use super::{BenchError, Row, median};
use crate::system::{SystemClock, SystemEntropy};

const FEW: u64 = 1_000;
const MANY: u64 = 1_000_000;
const WRITERS: usize = 256;
const ROUNDS: usize = 9;
/// All of them were created in this time.
const SPAN: Duration = Duration::from_secs(86_400);

pub(super) async fn on_folder(folder: &Path, quick: bool) -> Result<Vec<Row>, BenchError> {
    let open = |name: &str| -> Result<Arc<dyn Store>, BenchError> {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder).map_err(BenchError::of)?;
        let store = SqliteStore::open(&folder, pawl_sqlite::Options::default());
        Ok(Arc::new(store.map_err(BenchError::of)?))
    };
    compare(open("few")?, open("many")?, quick).await
}

pub(super) async fn on_server(places: &ServerUrls, quick: bool) -> Result<Vec<Row>, BenchError> {
    let (few, many) = (
        Site::named(places, "_few").await?,
        Site::named(places, "_many").await?,
    );
    let rows = async {
        let (few, many) = (opened(&few).await?, opened(&many).await?);
        compare(few, many, quick).await
    };
    let rows = rows.await;
    few.leave().await;
    many.leave().await;
    rows
}

async fn opened(site: &Site) -> Result<Arc<dyn Store>, BenchError> {
    let engine = pawl_engine::Options::default();
    let options = site
        .config
        .database
        .options(&site.places.database_url, &engine);
    let store = pawl_postgres::PostgresStore::open(options).await;
    Ok(Arc::new(store.map_err(BenchError::of)?))
}

async fn compare(
    few: Arc<dyn Store>,
    many: Arc<dyn Store>,
    quick: bool,
) -> Result<Vec<Row>, BenchError> {
    let schema = SchemaId(id::time_ordered(SystemClock.now(), &SystemEntropy));
    let count = if quick { MANY / 10 } else { MANY };
    fill(&few, schema, FEW).await?;
    fill(&many, schema, count).await?;
    let mut rows = Vec::new();
    for (name, look) in LOOKS {
        let (mut short, mut long) = (Vec::new(), Vec::new());
        // In turns; the first of each only warms up.
        for round in 0..=ROUNDS {
            let times = (
                timed(&*few, *look, schema).await?,
                timed(&*many, *look, schema).await?,
            );
            if round > 0 {
                short.push(times.0);
                long.push(times.1);
            }
        }
        let (short, long) = (median(&mut short), median(&mut long));
        rows.push(Row::against(name, long, "ms", short, "printed"));
    }
    Ok(rows)
}

#[derive(Clone, Copy)]
enum LookKind {
    Newest,
    Failed,
    OfSchema,
    Counts,
    Nodes,
    CountsOfSchema,
    Errors,
    Hour,
    Day,
}

const LOOKS: &[(&str, LookKind)] = &[
    ("list_newest", LookKind::Newest),
    ("list_failed", LookKind::Failed),
    ("list_of_schema", LookKind::OfSchema),
    ("counts_by_status", LookKind::Counts),
    ("counts_of_open_by_node", LookKind::Nodes),
    ("counts_of_schema", LookKind::CountsOfSchema),
    ("errors_of_a_day", LookKind::Errors),
    ("stats_of_an_hour", LookKind::Hour),
    ("stats_of_a_day", LookKind::Day),
];

async fn timed(store: &dyn Store, kind: LookKind, schema: SchemaId) -> Result<f64, BenchError> {
    let start = Instant::now();
    look(store, kind, schema).await.map_err(BenchError::of)?;
    Ok(start.elapsed().as_secs_f64() * 1e3)
}

async fn look(store: &dyn Store, kind: LookKind, schema: SchemaId) -> StoreResult<()> {
    let all = ExecutionFilter::default();
    let by_status = |statuses: Vec<Status>| ExecutionFilter {
        statuses,
        ..ExecutionFilter::default()
    };
    let of_schema = ExecutionFilter {
        schema_id: Some(schema),
        ..ExecutionFilter::default()
    };
    match kind {
        LookKind::Newest => store.executions(all, None, 50).await.map(drop),
        LookKind::Failed => {
            let failed = by_status(vec![Status::Failed]);
            store.executions(failed, None, 50).await.map(drop)
        }
        LookKind::OfSchema => store.executions(of_schema, None, 50).await.map(drop),
        LookKind::Counts => count_by(store, &all, GroupBy::Status).await.map(drop),
        LookKind::Nodes => {
            let open = Status::ALL.iter().copied().filter(|one| !one.is_terminal());
            let open = by_status(open.collect());
            count_by(store, &open, GroupBy::Node).await.map(drop)
        }
        LookKind::CountsOfSchema => count_by(store, &of_schema, GroupBy::Status).await.map(drop),
        LookKind::Errors => {
            let lately = ExecutionFilter {
                created_after: Some(SystemClock.now().minus(SPAN)),
                ..all
            };
            errors_by(store, &lately).await.map(drop)
        }
        LookKind::Hour => statistics(store, 3_600, 60).await,
        LookKind::Day => statistics(store, 86_400, 900).await,
    }
}

async fn statistics(store: &dyn Store, seconds: u64, step: u64) -> StoreResult<()> {
    let until = SystemClock.now();
    let period = StatisticsPeriod {
        since: until.minus(Duration::from_secs(seconds)),
        until,
        step: Duration::from_secs(step),
    };
    gather(store, period, None).await.map(drop)
}

/// Executions spread over a day: of a thousand 970 completed, 20 failed, 10 are still open.
async fn fill(store: &Arc<dyn Store>, schema: SchemaId, count: u64) -> Result<(), BenchError> {
    let save = SaveSchema {
        id: schema,
        name: "listed".into(),
        description: None,
        definition: r#"{"language":1,"name":"listed","nodes":[],"edges":[]}"#.into(),
        hash: "none".into(),
        created_by: "bench".into(),
        source: None,
        note: None,
        now: SystemClock.now(),
        mode: SaveMode::Create,
    };
    store.save_schema(save).await.map_err(BenchError::of)?;
    let begin = SystemClock.now().minus(SPAN);
    let gap = SPAN / u32::try_from(count).unwrap_or(u32::MAX);
    let mut tasks: JoinSet<StoreResult<()>> = JoinSet::new();
    for n in 0..count {
        if tasks.len() >= WRITERS {
            finish_one(&mut tasks).await?;
        }
        let (store, at) = (store.clone(), begin.plus(gap * n as u32));
        tasks.spawn(async move { store.create(execution(schema, n, at)).await.map(drop) });
    }
    while !tasks.is_empty() {
        finish_one(&mut tasks).await?;
    }
    Ok(())
}

async fn finish_one(tasks: &mut JoinSet<StoreResult<()>>) -> Result<(), BenchError> {
    match tasks.join_next().await {
        None => Ok(()),
        Some(done) => done.map_err(BenchError::of)?.map_err(BenchError::of),
    }
}

fn execution(schema: SchemaId, n: u64, at: Timestamp) -> NewExecution {
    let status = match n % 1_000 {
        0..20 => Status::Failed,
        20..30 => Status::Paused,
        _ => Status::Completed,
    };
    let ended = status.is_terminal();
    let head = Head {
        id: ExecutionId(id::time_ordered(at, &SystemEntropy)),
        schema_id: schema,
        schema_version: 1,
        status,
        priority: PriorityClass::Normal,
        debug_mode: false,
        base_seq: 0,
        created_at: at,
        queued_at: Some(at),
        started_at: Some(at),
        finished_at: ended.then(|| at.plus(Duration::from_millis(n % 5_000))),
        quotas: Vec::new(),
    };
    let error = r#"{"code":"HTTP_STATUS","message":"503","retryable":true,"details":null}"#;
    let record = Record {
        tenant: None,
        labels: Some(r#"{"team":"red"}"#.into()),
        created_by: "bench".into(),
        correlation_id: head.id.to_string(),
        idempotency_key: None,
        parent_id: None,
        parent_seq: None,
        child_index: None,
        retry_of: None,
        retried_as: None,
        forked_from: None,
        trial: false,
        initial: r#"{"input":{"order":17,"customer":"ada"},"variables":{}}"#.into(),
        output: None,
        error: (status == Status::Failed).then(|| error.to_owned()),
    };
    let state = state(head.id, n, at);
    NewExecution::new(Execution { head, record }, state)
}

fn state(id: ExecutionId, n: u64, at: Timestamp) -> State {
    State {
        execution_id: id,
        seq: 3,
        position: Position::at(format!("node_{}", n % 7).into(), None, at),
        wait: None,
        hold: None,
        control: None,
        inbox: 0,
        lease: None,
        commit_id: None,
        recoveries: 0,
        interrupted: false,
        debug: DebugMode::Off,
        deadline_at: at.plus(SPAN * 365),
        next_sweep_at: None,
        calls_spent: 0,
        bytes_spent: 0,
        version: 1,
        updated_at: at,
    }
}

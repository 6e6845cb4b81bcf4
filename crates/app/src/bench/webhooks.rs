//! Webhooks that a `respond` node answers, over real sockets, in turns with the plainest program that keeps what it is
//! sent: an axum handler that inserts one row per call, many calls in one transaction.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use pawl_kernel::execution::Status;
use pawl_kernel::ports::store::ExecutionFilter;
use pawl_sqlite::baseline::{Caller, SharedInserts};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::{Bench, BenchError, Row, http, median, percentile};
use crate::api::{self, ApiState};

const CLIENTS: usize = 64;
const PATH: &str = "/webhook/bench/:id";
const BODY: &str = r#"{"n":5,"name":"known"}"#;

struct WebhookPlan {
    rounds: usize,
    calls: u64,
}

/// What one round of calls came to.
struct Round {
    calls_per_second: f64,
    latencies: Vec<f64>,
}

pub(super) async fn measure(folder: &Path, quick: bool) -> Result<Vec<Row>, BenchError> {
    let plan = match quick {
        true => WebhookPlan {
            rounds: 1,
            calls: 2_000,
        },
        false => WebhookPlan {
            rounds: 5,
            calls: 20_000,
        },
    };
    let bench = Bench::open(&folder.join("webhooks")).await?;
    let schema = bench.save(&flow()).await?;
    let (address, stop, server) = serve(&bench).await?;
    let plain = Plain::start(&folder.join("plain.db")).await?;
    drive(address, 500).await?;
    drive(plain.address, 500).await?;
    let (mut own, mut bare, mut latencies) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..plan.rounds {
        bare.push(drive(plain.address, plan.calls).await?.calls_per_second);
        let round = drive(address, plan.calls).await?;
        own.push(round.calls_per_second);
        latencies.extend(round.latencies);
    }
    let total = plan.rounds as u64 * plan.calls + 500;
    plain.close(total).await?;
    stop.cancel();
    server
        .await
        .map_err(BenchError::of)?
        .map_err(BenchError::of)?;
    let filter = ExecutionFilter {
        schema_id: Some(schema),
        statuses: vec![Status::Completed],
        ..ExecutionFilter::default()
    };
    let store = &bench.control().runtime().store;
    let found = store
        .count_executions(filter)
        .await
        .map_err(BenchError::of)?;
    bench.close().await;
    if found != total {
        let message =
            format!("{total} calls were answered, {found} executions are in the database");
        return Err(BenchError::Failed(message));
    }
    let (calls, bare) = (median(&mut own), median(&mut bare));
    Ok(rows(calls, bare, &mut latencies))
}

fn rows(calls: f64, bare: f64, latencies: &mut [f64]) -> Vec<Row> {
    vec![
        Row::plain("plain_insert_64_clients", bare, "calls/s", "printed"),
        Row::against(
            "respond_node_64_clients",
            calls,
            "calls/s",
            bare,
            ">= 0.25x, aim 0.4x",
        ),
        Row::plain(
            "respond_node_p50",
            percentile(latencies, 0.5),
            "ms",
            "printed",
        ),
        Row::plain(
            "respond_node_p99",
            percentile(latencies, 0.99),
            "ms",
            "printed",
        ),
    ]
}

/// start → a sum → the answer → end.
fn flow() -> Value {
    let path = PATH.strip_prefix("/webhook/");
    json!({
        "name": "bench-webhook",
        "triggers": [{"type": "webhook", "path": path, "respond": "respond_node"}],
        "nodes": [
            {"id": "start", "type": "start"},
            {"id": "total", "type": "math", "config": {"operation": "add", "operand1": "{{webhook.payload.n}}", "operand2": 7}},
            {"id": "answer", "type": "respond", "config": {"body": {"total": "{{steps.total.output.result}}", "id": "{{webhook.params.id}}"}}},
            {"id": "end", "type": "end"},
        ],
        "edges": [
            {"source": "start", "target": "total"},
            {"source": "total", "target": "answer"},
            {"source": "answer", "target": "end"},
        ],
    })
}

type Serving = (
    SocketAddr,
    CancellationToken,
    tokio::task::JoinHandle<std::io::Result<()>>,
);

async fn serve(bench: &Bench) -> Result<Serving, BenchError> {
    let (listener, address) = listen().await?;
    let stop = CancellationToken::new();
    let state = ApiState::new(bench.control().clone(), api::Limits::default());
    let server = tokio::spawn(api::serve(listener, state, stop.clone()));
    Ok((address, stop, server))
}

async fn listen() -> Result<(TcpListener, SocketAddr), BenchError> {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.map_err(BenchError::of)?;
    let address = listener.local_addr().map_err(BenchError::of)?;
    Ok((listener, address))
}

/// The program without an engine.
struct Plain {
    address: SocketAddr,
    rows: SharedInserts,
    server: tokio::task::JoinHandle<()>,
}

impl Plain {
    async fn start(file: &Path) -> Result<Self, BenchError> {
        let rows = SharedInserts::open(file).map_err(BenchError::of)?;
        let app = Router::new()
            .route("/webhook/bench/{id}", post(keep))
            .with_state(rows.caller());
        let (listener, address) = listen().await?;
        let server = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self {
            address,
            rows,
            server,
        })
    }

    /// It claims so many rows: they must be there.
    async fn close(self, claimed: u64) -> Result<(), BenchError> {
        self.server.abort();
        let _ = self.server.await;
        let closed = tokio::task::spawn_blocking(move || self.rows.close()).await;
        let found = closed.map_err(BenchError::of)?.map_err(BenchError::of)?;
        match found == claimed {
            true => Ok(()),
            false => Err(BenchError::Failed(format!(
                "{claimed} rows were claimed by the plain program, {found} were written"
            ))),
        }
    }
}

async fn keep(State(caller): State<Caller>, body: String) -> (StatusCode, String) {
    let Ok(sent) = serde_json::from_str::<Value>(&body) else {
        return (StatusCode::BAD_REQUEST, String::new());
    };
    let total = sent["n"].as_i64().unwrap_or_default() + 7;
    match caller.keep(body).await {
        true => (StatusCode::OK, json!({"total": total}).to_string()),
        false => (StatusCode::INTERNAL_SERVER_ERROR, String::new()),
    }
}

async fn drive(address: SocketAddr, calls: u64) -> Result<Round, BenchError> {
    let left = Arc::new(AtomicU64::new(calls));
    let start = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| tokio::spawn(client(address, number, left.clone())))
        .collect();
    let mut latencies = Vec::new();
    for client in clients {
        latencies.extend(client.await.map_err(BenchError::of)??);
    }
    Ok(Round {
        calls_per_second: calls as f64 / start.elapsed().as_secs_f64(),
        latencies,
    })
}

async fn client(
    address: SocketAddr,
    number: usize,
    left: Arc<AtomicU64>,
) -> Result<Vec<f64>, BenchError> {
    let mut stream = TcpStream::connect(address).await.map_err(BenchError::of)?;
    stream.set_nodelay(true).map_err(BenchError::of)?;
    let (path, length) = (PATH.replace(":id", &number.to_string()), BODY.len());
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{BODY}"
    );
    let mut latencies = Vec::new();
    while left
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
        .is_ok()
    {
        let start = Instant::now();
        stream
            .write_all(request.as_bytes())
            .await
            .map_err(BenchError::of)?;
        let answer = http::read_answer(&mut stream).await?;
        if !answer.starts_with("HTTP/1.1 200") || !answer.contains("\"total\":12") {
            return Err(BenchError::Failed(format!("unexpected answer: {answer}")));
        }
        latencies.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(latencies)
}

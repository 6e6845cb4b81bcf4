//! From `POST /api/executions` to the end of a 10-node execution, over real sockets.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::{Bench, BenchError, Row, flows, percentile};
use crate::api::{self, ApiState};

const CLIENTS: usize = 64;

pub(super) async fn measure(folder: &Path, quick: bool) -> Result<Vec<Row>, BenchError> {
    let bench = Bench::open(&folder.join("http")).await?;
    bench.save(&flows::pure_ten()).await?;
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .map_err(BenchError::of)?;
    let address = listener.local_addr().map_err(BenchError::of)?;
    let stop = CancellationToken::new();
    let server = tokio::spawn(api::serve(
        listener,
        ApiState::new(bench.control().clone(), api::Limits::default()),
        stop.clone(),
    ));
    let total: u64 = if quick { 1_000 } else { 20_000 };
    drive(address, 500).await?;
    let start = Instant::now();
    let mut latencies = drive(address, total).await?;
    let rate = total as f64 / start.elapsed().as_secs_f64();
    stop.cancel();
    let _ = server.await;
    bench.close().await;
    Ok(vec![
        Row::plain("http_10_nodes_64_clients", rate, "exec/s", "printed"),
        Row::plain(
            "http_10_nodes_p50",
            percentile(&mut latencies, 0.5),
            "ms",
            "printed",
        ),
        Row::plain(
            "http_10_nodes_p99",
            percentile(&mut latencies, 0.99),
            "ms",
            "printed",
        ),
    ])
}

async fn drive(address: SocketAddr, total: u64) -> Result<Vec<f64>, BenchError> {
    let left = Arc::new(AtomicU64::new(total));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| tokio::spawn(client(address, left.clone())))
        .collect();
    let mut latencies = Vec::new();
    for client in clients {
        latencies.extend(client.await.map_err(BenchError::of)??);
    }
    Ok(latencies)
}

async fn client(address: SocketAddr, left: Arc<AtomicU64>) -> Result<Vec<f64>, BenchError> {
    let mut stream = TcpStream::connect(address).await.map_err(BenchError::of)?;
    stream.set_nodelay(true).map_err(BenchError::of)?;
    let body = r#"{"schema":"bench-pure","input":{"n":5,"name":"known"}}"#;
    let request = format!(
        "POST /api/executions?wait=30s HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
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
        let answer = read_answer(&mut stream).await?;
        if !answer.contains("\"status\":\"completed\"") {
            return Err(BenchError::Failed(format!("unexpected answer: {answer}")));
        }
        latencies.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(latencies)
}

/// Reads one response with a content-length.
pub(super) async fn read_answer(stream: &mut TcpStream) -> Result<String, BenchError> {
    let mut bytes = Vec::with_capacity(2_048);
    loop {
        let mut chunk = [0; 4_096];
        let count = stream.read(&mut chunk).await.map_err(BenchError::of)?;
        if count == 0 {
            return Err(BenchError::Failed(
                "the server closed the connection".into(),
            ));
        }
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, rest)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length: usize = head
            .to_ascii_lowercase()
            .lines()
            .find_map(|line| {
                line.strip_prefix("content-length:")
                    .and_then(|value| value.trim().parse().ok())
            })
            .ok_or_else(|| BenchError::Failed(format!("no content-length: {head}")))?;
        if rest.len() >= length {
            return Ok(text.into_owned());
        }
    }
}

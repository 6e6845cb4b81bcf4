//! The outside world: a service that remembers every request it got, from which life of the process it came, and
//! whether it could answer.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::now;
use crate::wire::header;

#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Which start of the process sent it.
    pub(crate) life: usize,
    pub(crate) key: String,
    pub(crate) correlation_id: String,
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) body: String,
    pub(crate) arrived_at: i64,
    /// The status it was answered with; `None`: the caller was gone before.
    pub(crate) answered: Option<u16>,
}

#[derive(Clone)]
pub(crate) struct Sink {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    log: Mutex<Log>,
    open: watch::Sender<usize>,
}

#[derive(Default)]
struct Log {
    life: usize,
    requests: Vec<Request>,
}

/// A connection that counts as open until it is dropped.
struct Counted<'a>(&'a Shared);

impl Sink {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            log: Mutex::default(),
            open: watch::Sender::new(0),
        });
        let accepting = shared.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // Counted before the next accept: the barrier in `settle` relies on it.
                accepting.open.send_modify(|open| *open += 1);
                tokio::spawn(serve(stream, accepting.clone()));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests from now on come from this life.
    pub(crate) fn begin_life(&self, life: usize) {
        self.shared.log().life = life;
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.log().requests.clone()
    }

    /// Waits until everything that a dead process sent has been read. Connections are accepted in order, so once
    /// one of our own was served all of its are known; then they end by themselves.
    pub(crate) async fn settle(&self) {
        let mut barrier = TcpStream::connect(self.address).await.unwrap();
        barrier
            .write_all(b"GET /barrier HTTP/1.1\r\n\r\n")
            .await
            .unwrap();
        barrier.read_u8().await.unwrap();
        drop(barrier);
        let mut open = self.shared.open.subscribe();
        open.wait_for(|open| *open == 0).await.unwrap();
    }
}

impl Shared {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the place of the request in the log and how many came under its key, itself included.
    fn record(&self, head: &str, body: String) -> (usize, usize) {
        let mut log = self.log();
        let mut line = head.split(' ');
        let text = |name| header(head, name).unwrap_or_default().to_owned();
        let request = Request {
            life: log.life,
            key: text("idempotency-key"),
            correlation_id: text("x-correlation-id"),
            method: line.next().unwrap_or_default().to_owned(),
            target: line.next().unwrap_or_default().to_owned(),
            body,
            arrived_at: now(),
            answered: None,
        };
        let same_key = |other: &&Request| other.key == request.key;
        let hit = log.requests.iter().filter(same_key).count() + 1;
        log.requests.push(request);
        (log.requests.len() - 1, hit)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open -= 1);
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let _counted = Counted(&shared);
    let mut stream = BufReader::new(stream);
    // An error is a caller that is gone.
    while let Ok(true) = exchange(&mut stream, &shared).await {}
}

/// One request and its answer. `false`: the caller hung up.
async fn exchange(stream: &mut BufReader<TcpStream>, shared: &Shared) -> io::Result<bool> {
    let Some(head) = read_head(stream).await? else {
        return Ok(false);
    };
    if head.starts_with("GET /barrier ") {
        answer(stream, 200, "").await?;
        return Ok(true);
    }
    let length = header(&head, "content-length").map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let (place, hit) = shared.record(&head, String::from_utf8_lossy(&body).into_owned());
    let delay = Duration::from_millis(parameter(&head, "ms") as u64);
    let gone = tokio::select! {
        () = tokio::time::sleep(delay) => false,
        // Nobody sends a second request before the first is answered: whatever can be read now is the end.
        _ = stream.fill_buf() => true,
    };
    if gone {
        return Ok(false);
    }
    let status = if hit <= parameter(&head, "fail") {
        503
    } else {
        200
    };
    answer(stream, status, &json!({"hit": hit}).to_string()).await?;
    shared.log().requests[place].answered = Some(status);
    Ok(true)
}

async fn read_head(stream: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(head))
}

/// A number in the query of the request line; 0 if it is not there.
fn parameter(head: &str, name: &str) -> usize {
    let target = head.split(' ').nth(1).unwrap_or_default();
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .find(|(known, _)| *known == name)
        .map_or(0, |(_, value)| value.parse().unwrap())
}

async fn answer(stream: &mut BufReader<TcpStream>, status: u16, body: &str) -> io::Result<()> {
    let text = format!(
        "HTTP/1.1 {status} As asked\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).await?;
    stream.flush().await
}

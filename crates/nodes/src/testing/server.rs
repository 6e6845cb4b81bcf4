//! A server that says exactly what a test tells it to, byte by byte, HTTP or not.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) enum Answer {
    Bytes(Vec<u8>),
    /// The head, then the same bytes for ever.
    Endless(Vec<u8>, Vec<u8>),
    /// The head, then a byte now and then.
    Drip(Vec<u8>),
    /// Reads the request and says nothing.
    Silence,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

type Script = dyn Fn(&str) -> Answer + Send + Sync;

impl Server {
    /// Answers every request by `script`, which sees head and body as text.
    pub(crate) async fn start(
        ip: &str,
        script: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (script, seen): (Arc<Script>, _) = (Arc::new(script), requests.clone());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, script.clone(), seen.clone()));
            }
        });
        Self {
            address,
            requests,
            task,
        }
    }

    /// Gives every client the same bytes.
    pub(crate) async fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start("127.0.0.1", move |_| Answer::Bytes(answer.clone())).await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    script: Arc<Script>,
    seen: Arc<Mutex<Vec<String>>>,
) {
    let request = read_request(&mut stream).await;
    seen.lock().unwrap().push(request.clone());
    match script(&request) {
        Answer::Bytes(bytes) => drop(stream.write_all(&bytes).await),
        Answer::Endless(head, part) => {
            drop(stream.write_all(&head).await);
            while stream.write_all(&part).await.is_ok() {}
        }
        Answer::Drip(head) => {
            drop(stream.write_all(&head).await);
            while stream.write_all(b".").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Answer::Silence => std::future::pending().await,
    }
    drop(stream.shutdown().await);
}

async fn read_request<S: AsyncRead + Unpin>(stream: &mut S) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if is_whole(&text) {
            return text;
        }
        match stream.read(&mut buffer).await {
            Ok(count) if count > 0 => bytes.extend_from_slice(&buffer[..count]),
            _ => return text,
        }
    }
}

fn is_whole(text: &str) -> bool {
    const TLS_HANDSHAKE: char = '\u{16}';
    if text.starts_with(TLS_HANDSHAKE) {
        return true;
    }
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    body.len()
        >= header(head, "content-length")
            .and_then(|value| value.parse().ok())
            .unwrap_or(0)
}

/// The value of a header in the text of a request.
pub(crate) fn header<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let head = request.split("\r\n\r\n").next()?;
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// A whole response; `headers` end with a line break each.
pub(crate) fn reply(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

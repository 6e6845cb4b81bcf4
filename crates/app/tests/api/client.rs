//! As much HTTP/1.1 as the tests need, written by hand so that requests can be wrong in every way.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::contract;

/// No test waits longer than this for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {}: {}", self.status, self.text()))
    }

    /// The body, if the status is as expected.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        if self.body.is_empty() {
            Value::Null
        } else {
            self.json()
        }
    }

    /// A refusal of the agreed shape.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, code: &str) -> Value {
        let body = self.expect(status);
        assert_eq!(body["error"], code, "{body}");
        assert!(
            body["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
        assert!(body.as_object().unwrap().contains_key("details"));
        body
    }
}

#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.into(),
            path: path.into(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn body(mut self, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self.header("Content-Type", kind)
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        let given = |name: &str| {
            self.headers
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        if !given("host") {
            head.push_str(&format!("Host: {address}\r\n"));
        }
        if !given("content-length")
            && !given("transfer-encoding")
            && (self.method != "GET" || !self.body.is_empty())
        {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("Connection: close\r\n\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

pub(crate) async fn send(address: SocketAddr, request: Request) -> Answer {
    send_raw(address, &request.bytes(address)).await
}

/// Sends bytes as they are, and checks that the answer is as the OpenAPI document says.
pub(crate) async fn send_raw(address: SocketAddr, bytes: &[u8]) -> Answer {
    let answer = exchange(address, bytes).await;
    contract::check(bytes, &answer);
    answer
}

/// For the document itself.
pub(crate) async fn send_unchecked(address: SocketAddr, request: Request) -> Answer {
    exchange(address, &request.bytes(address)).await
}

/// The server may answer and hang up before it has read all bytes.
async fn exchange(address: SocketAddr, bytes: &[u8]) -> Answer {
    let talk = async {
        let stream = TcpStream::connect(address).await.unwrap();
        let (reader, mut writer) = stream.into_split();
        let write = async {
            let _ = writer.write_all(bytes).await;
            let _ = writer.flush().await;
        };
        let (answer, ()) = tokio::join!(read_answer(BufReader::new(reader)), write);
        answer
    };
    timeout(PATIENCE, talk).await.expect("no answer")
}

async fn read_answer(mut reader: impl AsyncBufReadExt + Unpin) -> Answer {
    let (status, headers) = read_head(&mut reader).await;
    let mut body = Vec::new();
    let chunked = headers
        .iter()
        .any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    if chunked {
        while let Some(chunk) = read_chunk(&mut reader).await {
            body.extend(chunk);
        }
    } else {
        let _ = reader.read_to_end(&mut body).await;
    }
    Answer {
        status,
        headers,
        body,
    }
}

async fn read_head(reader: &mut (impl AsyncBufReadExt + Unpin)) -> (u16, Vec<(String, String)>) {
    let status = read_line(reader).await;
    let status = status
        .split(' ')
        .nth(1)
        .unwrap_or_else(|| panic!("no status line: {status:?}"));
    let status = status.parse().unwrap();
    let mut headers = Vec::new();
    loop {
        let line = read_line(reader).await;
        match line.split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()))
            }
            None => return (status, headers),
        }
    }
}

async fn read_line(reader: &mut (impl AsyncBufReadExt + Unpin)) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).await.unwrap_or_default();
    line.trim_end().to_owned()
}

async fn read_chunk(reader: &mut (impl AsyncBufReadExt + Unpin)) -> Option<Vec<u8>> {
    let size = usize::from_str_radix(&read_line(reader).await, 16).ok()?;
    let mut chunk = vec![0; size];
    reader.read_exact(&mut chunk).await.ok()?;
    read_line(reader).await;
    (size > 0).then_some(chunk)
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// An open event stream.
pub(crate) struct Events {
    reader: BufReader<TcpStream>,
    buffer: String,
    pub(crate) status: u16,
    pub(crate) kind: String,
}

impl Events {
    pub(crate) async fn open(address: SocketAddr, request: Request) -> Self {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&request.bytes(address)).await.unwrap();
        let mut reader = BufReader::new(stream);
        let (status, headers) = read_head(&mut reader).await;
        let kind = headers
            .into_iter()
            .find(|(name, _)| name == "content-type")
            .map(|(_, value)| value)
            .unwrap_or_default();
        Self {
            reader,
            buffer: String::new(),
            status,
            kind,
        }
    }

    /// The next event; `None` when the stream ended.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.buffer.find("\n\n") {
                let block: String = self.buffer.drain(..end + 2).collect();
                if !block.starts_with(':') {
                    return Some(parse_event(&block));
                }
                continue;
            }
            let chunk = timeout(PATIENCE, read_chunk(&mut self.reader))
                .await
                .expect("no event");
            self.buffer.push_str(&String::from_utf8(chunk?).unwrap());
        }
    }

    /// The next event of a stream without ids: its name and what it carries.
    pub(crate) async fn next_named(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(end) = self.buffer.find("\n\n") {
                let block: String = self.buffer.drain(..end + 2).collect();
                if block.starts_with(':') {
                    continue;
                }
                let event = field_of(&block, "event").to_owned();
                let data = serde_json::from_str(field_of(&block, "data")).unwrap();
                return Some((event, data));
            }
            let chunk = timeout(PATIENCE, read_chunk(&mut self.reader))
                .await
                .expect("no event");
            self.buffer.push_str(&String::from_utf8(chunk?).unwrap());
        }
    }

    /// The next chunk that is no event.
    pub(crate) async fn comment(&mut self) -> String {
        loop {
            let chunk = timeout(PATIENCE, read_chunk(&mut self.reader))
                .await
                .expect("no comment");
            let text = String::from_utf8(chunk.expect("the stream ended")).unwrap();
            if text.starts_with(':') {
                return text;
            }
        }
    }

    pub(crate) async fn rest(mut self) -> Vec<Event> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
        }
        all
    }
}

fn field_of<'a>(block: &'a str, name: &str) -> &'a str {
    block
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        .unwrap_or_else(|| panic!("no {name} in {block}"))
}

fn parse_event(block: &str) -> Event {
    let field = |name: &str| field_of(block, name);
    let event = Event {
        id: field("id").parse().unwrap(),
        name: field("event").to_owned(),
        data: serde_json::from_str(field("data")).unwrap(),
    };
    contract::check_event(&event.name, &event.data);
    event
}

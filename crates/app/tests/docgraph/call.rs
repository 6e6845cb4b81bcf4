//! Calls of the pack's routes. The other side may die at any byte: half an answer is no answer.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longer than any route waits.
const PATIENCE: Duration = Duration::from_secs(100);

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: &'static str,
    /// After `/webhook/docgraph/`.
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<Value>,
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    /// The body, if the status is as expected.
    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }

    /// A refusal of the agreed shape.
    #[track_caller]
    pub(crate) fn refuses(self, status: u16, code: &str) -> Value {
        let body = self.expect(status);
        assert_eq!(body["error"], code, "{body}");
        let message = body["message"].as_str();
        assert!(message.is_some_and(|text| !text.is_empty()), "{body}");
        // Which of the node's statements it was is no business of the caller.
        assert!(body.get("statement").is_none(), "{body}");
        body
    }
}

impl Call {
    pub(crate) fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            headers: Vec::new(),
            body: None,
        }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new("POST", path).json(body)
    }

    pub(crate) fn patch(path: impl Into<String>, body: Value) -> Self {
        Self::new("PATCH", path).json(body)
    }

    pub(crate) fn json(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn if_match(self, revision: &Value) -> Self {
        let quoted = format!("\"{}\"", revision.as_str().unwrap());
        self.header("if-match", quoted)
    }

    fn text(&self, address: SocketAddr) -> String {
        let body = self.body.as_ref().map(Value::to_string);
        let mut head = format!(
            "{} /webhook/docgraph/{} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n",
            self.method, self.path
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let body = body.unwrap_or_default();
        if !body.is_empty() {
            head.push_str("content-type: application/json\r\n");
        }
        format!("{head}content-length: {}\r\n\r\n{body}", body.len())
    }

    pub(crate) async fn send(&self, address: SocketAddr) -> io::Result<Answer> {
        let talk = async {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(self.text(address).as_bytes()).await?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await?;
            parse(&answer).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        };
        let answered = tokio::time::timeout(PATIENCE, talk).await;
        answered.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// `None`: it was cut off.
fn parse(bytes: &[u8]) -> Option<Answer> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let length = lines.find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    let length: usize = length.1.trim().parse().ok()?;
    (body.len() == length).then_some(())?;
    Some(Answer {
        status: head.split(' ').nth(1)?.parse().ok()?,
        body: serde_json::from_str(body).unwrap_or(Value::Null),
    })
}

//! A client that expects the other side to die at any byte: half an answer is no answer.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longer than any `?wait=` the tests use.
const PATIENCE: Duration = Duration::from_secs(40);

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// `key`: what opens the API, if it is locked.
pub(crate) async fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: Option<&Value>,
    key: Option<&str>,
) -> io::Result<Answer> {
    let key = key.map_or(String::new(), |key| {
        format!("authorization: Bearer {key}\r\n")
    });
    send_with(address, method, path, body, &key).await
}

/// With these lines in the head.
pub(crate) async fn send_with(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: Option<&Value>,
    headers: &str,
) -> io::Result<Answer> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{headers}\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let talk = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        parse(&answer).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    };
    tokio::time::timeout(PATIENCE, talk)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// `None`: it was cut off.
fn parse(bytes: &[u8]) -> Option<Answer> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status: u16 = head.split(' ').nth(1)?.parse().ok()?;
    // An answer that never has a body has no length either.
    let length: usize = match status {
        204 => 0,
        _ => header(head, "content-length")?.parse().ok()?,
    };
    let body = (body.len() == length).then_some(body)?;
    Some(Answer {
        status,
        body: serde_json::from_str(body).unwrap_or(Value::Null),
    })
}

/// The value of a header in the text before the body.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let found = fields.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(found.1.trim())
}

//! The API of `pawl dev`, which needs no key.

use std::io;
use std::net::SocketAddr;

use serde_json::Value;

pub(crate) use crate::wire::Answer;
use crate::wire::send;

pub(crate) async fn get(address: SocketAddr, path: &str) -> io::Result<Answer> {
    send(address, "GET", path, None, None).await
}

pub(crate) async fn post(address: SocketAddr, path: &str, body: &Value) -> io::Result<Answer> {
    send(address, "POST", path, Some(body), None).await
}

//! The other side of calls.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::client::PATIENCE;

#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) key: String,
    pub(crate) body: Value,
}

/// A service that remembers its calls. `/fail/2` fails the first two.
pub(crate) struct Hook {
    pub(crate) url: String,
    calls: Arc<watch::Sender<Vec<Call>>>,
}

impl Hook {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::new(watch::Sender::new(Vec::new()));
        let router = Router::new().fallback(answer).with_state(calls.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, calls }
    }

    pub(crate) async fn until(&self, count: usize) -> Vec<Call> {
        let mut calls = self.calls.subscribe();
        let came = calls.wait_for(|calls| calls.len() >= count);
        let came = tokio::time::timeout(PATIENCE, came).await;
        came.expect("no call").unwrap().clone()
    }
}

async fn answer(
    State(calls): State<Arc<watch::Sender<Vec<Call>>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let call = Call {
        key: headers["idempotency-key"].to_str().unwrap().to_owned(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let mut count = 0;
    calls.send_modify(|calls| {
        calls.push(call);
        count = calls.len();
    });
    let failures = uri.path().strip_prefix("/fail/");
    match failures.is_some_and(|failures| count <= failures.parse().unwrap()) {
        true => StatusCode::SERVICE_UNAVAILABLE,
        false => StatusCode::OK,
    }
}

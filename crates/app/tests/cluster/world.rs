//! The outside world: a service on loopback that remembers every call, and whose doors can be shut.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Json;
use pawl_kernel::id::ExecutionId;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::site::PATIENCE;

#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The path without its slash.
    pub(crate) path: String,
    /// The `Idempotency-Key`.
    pub(crate) key: String,
    pub(crate) body: String,
    pub(crate) at: Instant,
}

impl Call {
    /// The key begins with the execution.
    pub(crate) fn execution(&self) -> ExecutionId {
        self.key.split(':').next().unwrap().parse().unwrap()
    }
}

pub(crate) struct World {
    url: String,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

struct Shared {
    calls: watch::Sender<Vec<Call>>,
    shut: watch::Sender<BTreeSet<String>>,
    refused: watch::Sender<BTreeSet<String>>,
}

impl World {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            calls: watch::Sender::default(),
            shut: watch::Sender::default(),
            refused: watch::Sender::default(),
        });
        let router = Router::new()
            .fallback(answer)
            .layer(DefaultBodyLimit::disable())
            .with_state(shared.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            url,
            shared,
            serving,
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Calls of this path are kept waiting from now on.
    pub(crate) fn shut(&self, path: &str) {
        self.shared.shut.send_modify(|shut| {
            shut.insert(path.to_owned());
        });
    }

    /// Answers everybody who waits.
    pub(crate) fn open(&self, path: &str) {
        self.shared.shut.send_modify(|shut| {
            shut.remove(path);
        });
    }

    /// Calls of this path are answered with 402 from now on, which no node tries again by itself.
    pub(crate) fn refuse(&self, path: &str) {
        self.shared.refused.send_modify(|refused| {
            refused.insert(path.to_owned());
        });
    }

    /// Calls of this path are answered well again.
    pub(crate) fn accept(&self, path: &str) {
        self.shared.refused.send_modify(|refused| {
            refused.remove(path);
        });
    }

    pub(crate) fn all_calls(&self) -> Vec<Call> {
        self.shared.calls.borrow().clone()
    }

    pub(crate) fn calls(&self, path: &str) -> Vec<Call> {
        let mut calls = self.all_calls();
        calls.retain(|call| call.path == path);
        calls
    }

    /// Waits for the call number `count` of this path and returns it.
    pub(crate) async fn call(&self, path: &str, count: usize) -> Call {
        let nth = |calls: &Vec<Call>| {
            let mut same = calls.iter().filter(|call| call.path == path);
            same.nth(count - 1).cloned()
        };
        let mut calls = self.shared.calls.subscribe();
        let came = calls.wait_for(|calls| nth(calls).is_some());
        let calls = tokio::time::timeout(PATIENCE, came).await;
        let calls = calls.unwrap_or_else(|_| {
            panic!(
                "call {count} of /{path} did not come: {:?}",
                self.calls(path)
            )
        });
        nth(&calls.unwrap()).unwrap()
    }

    /// Nobody was called more than once under a key.
    pub(crate) fn each_key_once(&self) {
        let calls = self.all_calls();
        let keys: BTreeSet<&str> = calls.iter().map(|call| call.key.as_str()).collect();
        assert_eq!(keys.len(), calls.len(), "a call was repeated: {calls:?}");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// `?ms=100`: that long before it answers.
async fn answer(
    State(shared): State<Arc<Shared>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Json<Value>) {
    let path = uri.path().trim_start_matches('/').to_owned();
    let key = headers.get("idempotency-key");
    let call = Call {
        path: path.clone(),
        key: key.map_or("", |key| key.to_str().unwrap()).to_owned(),
        body: String::from_utf8_lossy(&body).into_owned(),
        at: Instant::now(),
    };
    let mut hit = 0;
    shared.calls.send_modify(|calls| {
        hit = 1 + calls.iter().filter(|known| known.key == call.key).count();
        calls.push(call);
    });
    let delay = uri.query().and_then(|query| query.strip_prefix("ms="));
    let delay = delay.map_or(0, |text| text.parse().unwrap());
    tokio::time::sleep(Duration::from_millis(delay)).await;
    let mut shut = shared.shut.subscribe();
    let _open = shut.wait_for(|shut| !shut.contains(&path)).await;
    let status = match shared.refused.borrow().contains(&path) {
        true => StatusCode::PAYMENT_REQUIRED,
        false => StatusCode::OK,
    };
    (status, Json(json!({"path": path, "hit": hit})))
}

//! A model that answers, or misbehaves, as its name says.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(crate) struct Model {
    address: SocketAddr,
    asked: Asked,
    serving: JoinHandle<()>,
}

type Asked = Arc<Mutex<Vec<Value>>>;

impl Model {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Asked::default();
        let router = Router::new()
            .route("/api/generate", post(generate))
            .with_state(asked.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            address,
            asked,
            serving,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked last.
    pub(crate) fn last(&self) -> Value {
        self.asked.lock().unwrap().last().cloned().unwrap()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn generate(State(asked): State<Asked>, body: String) -> Response {
    let request: Value = serde_json::from_str(&body).unwrap();
    asked.lock().unwrap().push(request.clone());
    let issues = json!({"issues": [
        {"severity": "high", "description": "the colour is wrong"},
        {"severity": "low", "description": "a word is missing"},
    ]});
    let said = |status: StatusCode, text: String| (status, text).into_response();
    let ok = |response: Value| said(StatusCode::OK, json!({"response": response}).to_string());
    match request["model"].as_str().unwrap() {
        // The README's own too.
        "good" | "llama3" => ok(issues.to_string().into()),
        "content" => ok(json!({"issues": []})),
        "slow" => {
            tokio::time::sleep(Duration::from_secs(30)).await;
            ok(json!({}))
        }
        "broken" => said(StatusCode::INTERNAL_SERVER_ERROR, "out of memory".into()),
        "babbling" => said(StatusCode::OK, "no JSON at all".into()),
        "chatty" => ok("Certainly! Here are the issues:".into()),
        "empty" => said(StatusCode::OK, String::new()),
        "vague" => ok(json!({"issues": "many"})),
        "strict" => said(StatusCode::NOT_FOUND, "no such model".into()),
        // Halves of surrogate pairs, one of them in front of a whole pair.
        "halved" => ok(r#"{"issues": [{"severity": "hi\ud800gh",
            "description": "half \udc00a pair, \ud800\ud83d\ude00 and\u0000 a whole one"}]}"#
            .into()),
        // Whatever cuts it at an even place cuts a pair.
        "astral" => said(StatusCode::OK, format!("x{}", "\u{1F600}".repeat(6_000))),
        "flooding" => {
            let issue = json!({"description": "again"});
            ok(json!({"issues": vec![issue; 10_001]}))
        }
        "garbled" => (StatusCode::OK, b"{\"response\": \"\xff\xfe\"}".to_vec()).into_response(),
        "endless" => said(StatusCode::OK, "word ".repeat(500_000)),
        "cut" => {
            let runtime: [Result<&str, io::Error>; 2] = [
                Ok("{\"response\": {\"iss"),
                Err(io::ErrorKind::ConnectionReset.into()),
            ];
            Body::from_stream(stream::iter(runtime)).into_response()
        }
        other => panic!("there is no model `{other}`"),
    }
}

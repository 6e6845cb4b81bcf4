//! A model that answers, or misbehaves, as its name says.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
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
        "good" => ok(issues.to_string().into()),
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
        other => panic!("there is no model `{other}`"),
    }
}

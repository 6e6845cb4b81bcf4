//! A small service on loopback that the examples talk to: orders, jobs that take a while, payments that
//! remember their idempotency key, answers that fail the first few times.
//!
//! It keeps a bounded number of things in memory and forgets the oldest. Answers depend on the request
//! alone wherever that is possible, so an example gives the same result on every machine.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{any, get, post};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The name under which expressions find it: `{{env.ECHO_URL}}`.
pub const VARIABLE: &str = "ECHO_URL";

/// Where `pawl dev` puts it if the port is free.
pub const USUAL_PORT: u16 = 8081;

const KEPT_MAX: usize = 1_000;
const KEY_BYTES_MAX: usize = 200;
const SLOW_MS_MAX: u64 = 60_000;
/// How many looks at a job find it still pending.
const JOB_LOOKS: u32 = 2;

/// The running service; it ends when this is dropped.
pub struct Echo {
    url: String,
    task: JoinHandle<()>,
}

impl Echo {
    /// Listens on `port` of the loopback address, or on any free port if that one is taken.
    pub async fn start(port: u16) -> std::io::Result<Self> {
        let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?,
        };
        let address: SocketAddr = listener.local_addr()?;
        let task = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router()).await {
                tracing::warn!(%error, "the echo service ended");
            }
        });
        Ok(Self {
            url: format!("http://{address}"),
            task,
        })
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn router() -> Router {
    Router::new()
        .route("/echo", any(echo))
        .route("/status/{code}", any(status))
        .route("/orders/{id}", get(order))
        .route("/customers/{id}", get(customer))
        .route("/flaky/{key}", any(flaky))
        .route("/jobs", post(create_job))
        .route("/jobs/{id}", get(job))
        .route("/slow", any(slow))
        .route("/payments", post(pay).get(payments))
        .route("/report", get(report))
        .fallback(unknown)
        .with_state(Memory::default())
}

async fn echo(
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    query: Query<BTreeMap<String, String>>,
    body: Bytes,
) -> Json<Value> {
    let headers: Map<String, Value> = headers
        .iter()
        .map(|(name, value)| {
            (
                name.to_string(),
                String::from_utf8_lossy(value.as_bytes()).into(),
            )
        })
        .collect();
    Json(json!({
        "method": method.as_str(),
        "path": uri.path(),
        "query": query.0,
        "headers": headers,
        "body": body_value(&body),
    }))
}

fn body_value(body: &Bytes) -> Value {
    if body.is_empty() {
        return Value::Null;
    }
    let text = || Value::String(String::from_utf8_lossy(body).into_owned());
    serde_json::from_slice(body).unwrap_or_else(|_| text())
}

async fn status(Path(code): Path<String>) -> Response {
    let code = code
        .parse::<u16>()
        .ok()
        .filter(|code| (200..600).contains(code));
    match code.and_then(|code| StatusCode::from_u16(code).ok()) {
        Some(code) => (code, Json(json!({"status": code.as_u16()}))).into_response(),
        None => problem(
            StatusCode::BAD_REQUEST,
            "a status is a number from 200 to 599",
        ),
    }
}

/// Order n always looks the same. Orders beyond 9999 do not exist.
async fn order(Path(id): Path<String>) -> Response {
    let Some(number) = id
        .parse::<u64>()
        .ok()
        .filter(|number| (1..10_000).contains(number))
    else {
        return problem(StatusCode::NOT_FOUND, "there is no such order");
    };
    const GOODS: [(&str, u64); 4] = [
        ("lamp", 3_990),
        ("desk", 18_900),
        ("chair", 7_450),
        ("rug", 5_600),
    ];
    let items: Vec<Value> = (0..=number % 3)
        .map(|line| {
            let (name, cents) = GOODS[((number + line) % 4) as usize];
            json!({"sku": format!("{name}-{line}"), "name": name, "count": line + 1, "price_cents": cents})
        })
        .collect();
    let total: u64 = (0..=number % 3)
        .map(|line| (line + 1) * GOODS[((number + line) % 4) as usize].1)
        .sum();
    let state = if number % 5 == 0 { "cancelled" } else { "paid" };
    Json(json!({
        "id": number,
        "customer_id": number % 7 + 1,
        "status": state,
        "items": items,
        "total_cents": total,
        "currency": "EUR",
    }))
    .into_response()
}

async fn customer(Path(id): Path<String>) -> Response {
    const NAMES: [&str; 7] = [
        "Ada", "Grace", "Edsger", "Barbara", "Alan", "Margaret", "Tony",
    ];
    let Some(number) = id
        .parse::<u64>()
        .ok()
        .filter(|number| (1..=999).contains(number))
    else {
        return problem(StatusCode::NOT_FOUND, "there is no such customer");
    };
    let name = NAMES[(number % 7) as usize];
    let tier = ["gold", "silver", "standard"][(number % 3) as usize];
    let email = format!("{}@example.com", name.to_lowercase());
    Json(json!({"id": number, "name": name, "email": email, "tier": tier})).into_response()
}

/// Fails with 503 the first `?fail=` times it is asked for a key, then works.
async fn flaky(
    State(memory): State<Memory>,
    Path(key): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Response {
    let fail = query
        .get("fail")
        .and_then(|text| text.parse().ok())
        .unwrap_or(2);
    let calls = match memory.tables().calls.entry(&key, || 0) {
        Some(calls) => {
            *calls += 1;
            *calls
        }
        None => return key_too_long(),
    };
    if calls <= fail {
        return problem(
            StatusCode::SERVICE_UNAVAILABLE,
            &format!("call {calls} fails on purpose"),
        );
    }
    Json(json!({"key": key, "calls": calls})).into_response()
}

async fn create_job(State(memory): State<Memory>, body: Bytes) -> Response {
    let mut tables = memory.tables();
    tables.job_number += 1;
    let id = format!("job-{}", tables.job_number);
    let input = body_value(&body);
    tables.jobs.entry(&id, || EchoJob { looks: 0, input });
    (
        StatusCode::ACCEPTED,
        Json(json!({"id": id, "state": "pending"})),
    )
        .into_response()
}

async fn job(State(memory): State<Memory>, Path(id): Path<String>) -> Response {
    let mut tables = memory.tables();
    let Some(job) = tables.jobs.get(&id) else {
        return problem(StatusCode::NOT_FOUND, "there is no such job");
    };
    job.looks += 1;
    if job.looks <= JOB_LOOKS {
        return Json(json!({"id": id, "state": "pending"})).into_response();
    }
    Json(json!({"id": id, "state": "done", "result": {"rows": 42, "input": job.input}}))
        .into_response()
}

async fn slow(Query(query): Query<BTreeMap<String, String>>) -> Json<Value> {
    let asked = query
        .get("ms")
        .and_then(|text| text.parse().ok())
        .unwrap_or(1_000);
    let ms: u64 = SLOW_MS_MAX.min(asked);
    tokio::time::sleep(Duration::from_millis(ms)).await;
    Json(json!({"waited_ms": ms}))
}

/// Books a payment once per `Idempotency-Key`. With `?lose=n` the first n answers get lost *after* the booking:
/// the case in which a caller without a key pays twice.
async fn pay(
    State(memory): State<Memory>,
    Query(query): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Some(key) = headers
        .get("idempotency-key")
        .and_then(|value| value.to_str().ok())
    else {
        return problem(
            StatusCode::BAD_REQUEST,
            "a payment needs an Idempotency-Key",
        );
    };
    let lose = query
        .get("lose")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let mut tables = memory.tables();
    tables.payment_requests += 1;
    if tables.payments.get(key).is_none() {
        tables.payment_number += 1;
    }
    let number = tables.payment_number;
    let made = || Payment {
        number,
        key: key.to_owned(),
        body: body_value(&body),
        requests: 0,
    };
    let Some(payment) = tables.payments.entry(key, made) else {
        return key_too_long();
    };
    payment.requests += 1;
    let (answer, requests) = (payment.answer(), payment.requests);
    if requests <= lose {
        return problem(
            StatusCode::SERVICE_UNAVAILABLE,
            "the payment was booked, but the answer was lost",
        );
    }
    (StatusCode::CREATED, Json(answer)).into_response()
}

/// How many payments were booked, and how many requests it took. `?key=` looks at one.
async fn payments(
    State(memory): State<Memory>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Json<Value> {
    let mut tables = memory.tables();
    let Some(key) = query.get("key") else {
        return Json(
            json!({"payments": tables.payments.len(), "requests": tables.payment_requests}),
        );
    };
    let payment = tables.payments.get(key);
    let requests = payment.as_ref().map_or(0, |payment| payment.requests);
    Json(json!({"payments": u32::from(payment.is_some()), "requests": requests}))
}

async fn report() -> Json<Value> {
    Json(json!({"date": "2026-01-31", "rows": [
        {"region": "north", "product": "lamp", "units": 12, "cents": 47_880},
        {"region": "north", "product": "desk", "units": 3, "cents": 56_700},
        {"region": "south", "product": "chair", "units": 8, "cents": 59_600},
        {"region": "south", "product": "lamp", "units": 5, "cents": 19_950},
        {"region": "west", "product": "rug", "units": 0, "cents": 0},
    ]}))
}

async fn unknown(uri: Uri) -> Response {
    problem(
        StatusCode::NOT_FOUND,
        &format!("the echo service has no {}", uri.path()),
    )
}

fn key_too_long() -> Response {
    problem(
        StatusCode::BAD_REQUEST,
        &format!("a key has at most {KEY_BYTES_MAX} bytes"),
    )
}

fn problem(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({"message": message}))).into_response()
}

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<EchoTables>>);

#[derive(Default)]
struct EchoTables {
    calls: Recent<u32>,
    jobs: Recent<EchoJob>,
    job_number: u64,
    payments: Recent<Payment>,
    payment_number: u64,
    payment_requests: u64,
}

struct EchoJob {
    looks: u32,
    input: Value,
}

struct Payment {
    number: u64,
    key: String,
    body: Value,
    requests: u32,
}

impl Payment {
    fn answer(&self) -> Value {
        let id = format!("pay-{}", self.number);
        json!({"payment_id": id, "status": "booked", "key": self.key, "request": self.body})
    }
}

impl Memory {
    fn tables(&self) -> MutexGuard<'_, EchoTables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The newest [`KEPT_MAX`] entries by key.
struct Recent<T> {
    entries: BTreeMap<String, T>,
    order: VecDeque<String>,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<T> Recent<T> {
    /// `None`: the key is too long to be kept.
    fn entry(&mut self, key: &str, make: impl FnOnce() -> T) -> Option<&mut T> {
        if key.len() > KEY_BYTES_MAX {
            return None;
        }
        if !self.entries.contains_key(key) {
            if self.order.len() >= KEPT_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.entries.remove(&oldest);
            }
            self.order.push_back(key.to_owned());
            self.entries.insert(key.to_owned(), make());
        }
        self.entries.get_mut(key)
    }

    fn get(&mut self, key: &str) -> Option<&mut T> {
        self.entries.get_mut(key)
    }

    fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entry_makes_room() {
        let mut recent = Recent::default();
        for number in 0..=KEPT_MAX {
            assert!(recent.entry(&number.to_string(), || number).is_some());
        }
        assert_eq!(recent.len(), KEPT_MAX);
        assert!(recent.get("0").is_none() && recent.get("1").is_some());
        assert!(recent.entry(&"x".repeat(KEY_BYTES_MAX + 1), || 0).is_none());
    }

    #[tokio::test]
    async fn a_taken_port_is_no_problem() {
        let first = Echo::start(0).await.unwrap();
        let port = first.url().rsplit(':').next().unwrap().parse().unwrap();
        let second = Echo::start(port).await.unwrap();
        assert_ne!(first.url(), second.url());
    }
}

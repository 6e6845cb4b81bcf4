//! Is this process alive, and may work be sent to it?
//!
//! A server is ready if its store answers: a start is taken in when its row is on disk, whatever the broker does. A
//! broker that is down is reported all the same, because then work waits for the sweeper.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use pawl_engine::Runtime;
use pawl_kernel::id::ExecutionId;
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::ApiState;
use super::error::ApiResult;
use super::reply;
use crate::wire::{HealthReport, Name};

/// A store that takes longer is not ready, whatever it answers then.
const STORE_TIME: Duration = Duration::from_secs(2);
/// An answer is good for as long: many who ask cost the store no more than one.
const FRESH: Duration = Duration::from_secs(1);

/// What readiness depends on, as last seen.
pub(super) struct Health {
    runtime: Runtime,
    seen: Mutex<Option<(Instant, HealthState)>>,
}

/// `Err`: what is wrong, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HealthState {
    store: Result<(), String>,
    broker: Result<(), String>,
}

impl Health {
    pub(super) fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            seen: Mutex::default(),
        }
    }

    /// The answer to a probe.
    pub(super) async fn ready(&self, stopping: bool) -> Response {
        let standing = self.look().await;
        let process = match stopping {
            true => Err("the process is shutting down".to_owned()),
            false => Ok(()),
        };
        let usable = process.is_ok() && standing.store.is_ok();
        let checks = [
            ("process", process),
            ("store", standing.store),
            ("broker", standing.broker),
        ];
        answer(usable, &checks)
    }

    /// A request that comes during another one's look waits, and shares its result.
    async fn look(&self) -> HealthState {
        let mut seen = self.seen.lock().await;
        if let Some((at, standing)) = &*seen
            && at.elapsed() < FRESH
        {
            return standing.clone();
        }
        let (store, broker) = tokio::join!(self.ask_store(), self.ask_broker());
        let standing = HealthState { store, broker };
        *seen = Some((Instant::now(), standing.clone()));
        standing
    }

    /// One row that is not there: the cheapest question that needs the tables.
    async fn ask_store(&self) -> Result<(), String> {
        let none = ExecutionId(Uuid::nil());
        match timeout(STORE_TIME, self.runtime.store.probe(none)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => {
                tracing::warn!(%error, "not ready");
                Err("the store does not work; the log says why".into())
            }
            Err(_) => Err(format!(
                "the store has not answered for {} seconds",
                STORE_TIME.as_secs()
            )),
        }
    }

    async fn ask_broker(&self) -> Result<(), String> {
        self.runtime.metrics.refresh().await;
        match self.runtime.metrics.queue.is_up() {
            true => Ok(()),
            false => Err("the broker cannot be reached; starts are taken in and wait".into()),
        }
    }
}

const WELL: HealthReport = HealthReport {
    status: Name::new("ok"),
    checks: None,
};

/// `{"status": "ok"}`, or what is wrong with what.
fn answer(usable: bool, checks: &[(&str, Result<(), String>)]) -> Response {
    if checks.iter().all(|(_, check)| check.is_ok()) {
        return reply::ok(&WELL);
    }
    let shown: Map<String, Value> = checks
        .iter()
        .map(|(name, check)| {
            let text = check.as_ref().err().map_or("ok", String::as_str);
            ((*name).to_owned(), text.into())
        })
        .collect();
    let (status, word) = match usable {
        true => (StatusCode::OK, "degraded"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
    };
    let report = HealthReport {
        status: Name::new(word),
        checks: Some(shown),
    };
    reply::json(status, &report)
}

/// That it is answered is the answer.
pub(super) async fn live() -> ApiResult {
    Ok(reply::ok(&WELL))
}

pub(super) async fn ready(State(state): State<ApiState>) -> ApiResult {
    Ok(state.health.ready(state.stop.is_cancelled()).await)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt;
    use pawl_engine::Options;
    use pawl_kernel::node::Registry;
    use pawl_kernel::ports::store::Store;
    use pawl_testkit::clock::{SeededEntropy, SimClock};
    use pawl_testkit::faults::{Fault, FaultControl, FaultPlan, Faults, FaultyStore, Rates};
    use pawl_testkit::model::ModelStore;
    use pawl_testkit::model_queue::ModelQueue;

    use serde_json::json;

    use super::*;

    /// A store to which this always happens, until the control says otherwise.
    fn health(fault: Fault) -> (Health, FaultControl, Arc<Faults>) {
        let (clock, control) = (Arc::new(SimClock::new()), FaultControl::new());
        let plan = FaultPlan::random(1, Rates::none().with(fault, 1_000));
        let faults = Faults::new(plan, control.clone(), clock.clone());
        let store: Arc<dyn Store> = Arc::new(ModelStore::new());
        let runtime = Runtime::new(
            Arc::new(FaultyStore::new(store, faults.clone())),
            Arc::new(ModelQueue::new()),
            clock,
            Arc::new(SeededEntropy::new(1)),
            Arc::new(Registry::new(Vec::new())),
            Options::default(),
        );
        (Health::new(runtime), control, faults)
    }

    async fn read(response: Response) -> (u16, Value) {
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_fails_makes_unready_until_it_works_again() {
        let (health, control, _) = health(Fault::ErrorBefore);
        let (status, body) = read(health.ready(false).await).await;
        assert_eq!((status, &body["status"]), (503, &json!("unavailable")));
        assert_eq!(body["checks"]["broker"], "ok");
        let text = body["checks"]["store"].as_str().unwrap();
        assert!(text.contains("the store"), "{text}");
        control.stop();
        tokio::time::advance(FRESH).await;
        let answer = read(health.ready(false).await).await;
        assert_eq!(answer, (200, json!({"status": "ok"})));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_store_is_waited_for_once() {
        let (health, _, faults) = health(Fault::CrashBefore);
        let begun = Instant::now();
        let (one, two, three) = tokio::join!(
            health.ready(false),
            health.ready(false),
            health.ready(false)
        );
        assert!(begun.elapsed() <= STORE_TIME + Duration::from_millis(10));
        for answer in [one, two, three] {
            let (status, body) = read(answer).await;
            assert_eq!(status, 503);
            let text = body["checks"]["store"].as_str().unwrap().to_owned();
            assert!(text.contains("2 seconds"), "{text}");
        }
        assert_eq!(faults.calls(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_broker_that_is_down_is_told_and_no_reason_to_refuse() {
        let (health, control, faults) = health(Fault::ErrorBefore);
        control.stop();
        health.runtime.metrics.queue.set_up(false);
        for _ in 0..100 {
            let (status, body) = read(health.ready(false).await).await;
            assert_eq!((status, &body["status"]), (200, &json!("degraded")));
            assert_eq!(body["checks"]["store"], "ok");
        }
        assert_eq!(faults.calls(), 1, "an answer is good for a second");
        tokio::time::advance(FRESH).await;
        health.runtime.metrics.queue.set_up(true);
        assert_eq!(read(health.ready(false).await).await.0, 200);
        assert_eq!(faults.calls(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_on_its_way_out_is_not_ready() {
        let (health, control, _) = health(Fault::ErrorBefore);
        control.stop();
        let (status, body) = read(health.ready(true).await).await;
        assert_eq!(status, 503);
        assert_eq!(body["checks"]["process"], "the process is shutting down");
    }
}

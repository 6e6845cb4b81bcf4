//! How an execution begins.

use std::future::Future;
use std::time::Duration;

use pawl_engine::control::{ForkRequest, StartRequest};
use pawl_kernel::execution::{Status, Step};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::ExecutionFilter;
use pawl_kernel::time::Clock;
use serde_json::{Value, json};

use crate::world::{World, chain, effect, event, nap};

/// A step without what differs between two runs of the same.
fn masked(step: Step, id: ExecutionId) -> String {
    let start = step.started_at;
    let text = format!(
        "{:?}",
        Step {
            started_at: start,
            finished_at: start,
            ..step
        }
    );
    text.replace(&id.to_string(), "ID")
        .replace(&format!("{start:?}"), "TIME")
}

fn flow() -> Value {
    chain(&[
        effect("first", json!({"value": "{{input.n}}"})),
        nap(10),
        json!({"id": "note", "type": "note", "config": {"value": "{{steps.first.output.value}}"}}),
        effect("second", json!({"value": "{{variables.note}}"})),
    ])
}

fn with_input() -> StartRequest {
    StartRequest {
        input: Some(json!({"n": 5})),
        ..StartRequest::default()
    }
}

both! {
    async fn born_with_its_lease_or_queued_it_does_the_same(world: &World) {
        let crew = world.worker().await;
        let born = world.start_with(&crew.control, flow(), with_input()).await;
        let queued = world.start_with(&world.client(), flow(), with_input()).await;
        let mut seen = Vec::new();
        for id in [born, queued] {
            world.until_status(id, Status::Sleeping).await;
        }
        world.advance(10);
        for id in [born, queued] {
            let execution = world.until_status(id, Status::Completed).await;
            let state = world.state(id).await;
            let steps: Vec<String> = world
                .steps(id)
                .await
                .into_iter()
                .map(|step| masked(step, id))
                .collect();
            seen.push((steps, execution.record.output, state.calls_spent, state.bytes_spent));
        }
        assert_eq!(seen[0], seen[1]);
    }

    /// The creator dies between the commit and the first node: the lease it was born with runs out.
    async fn born_with_the_lease_of_a_worker_that_died(world: &World) {
        let crew = world.worker().await;
        let runtime = crew.control.runtime().clone();
        let control = pawl_engine::control::Control::new(runtime.clone(), None);
        let id = world.start(&control, chain(&[effect("only", json!({}))])).await;
        world.until_status(id, Status::Completed).await;
        let worker = pawl_engine::worker::Worker::new(runtime.clone());
        let orphan = pawl_engine::control::Control::new(runtime, Some(worker.handle()));
        let id = world.start(&orphan, chain(&[effect("only", json!({}))])).await;
        assert_eq!(world.view(id).await.execution.head.status, Status::Running);
        drop(worker);
        world.advance(30);
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.path(id).await, "start only finish");
    }

    async fn one_key_makes_one_execution(world: &World) {
        let crew = world.worker().await;
        let schema = world.save(chain(&[])).await;
        let request = StartRequest { idempotency_key: Some("order-1".into()), ..StartRequest::default() };
        let (one, other) = tokio::join!(
            crew.control.start_version(schema, 1, request.clone()),
            crew.control.start_version(schema, 1, request.clone())
        );
        let (one, other) = (one.unwrap(), other.unwrap());
        assert_eq!(one.id, other.id);
        assert!(one.created != other.created);
        world.until_status(one.id, Status::Completed).await;
        let again = crew.control.start_version(schema, 1, request).await.unwrap();
        assert_eq!((again.id, again.created), (one.id, false));
        let all = world.store.count_executions(ExecutionFilter::default()).await.unwrap();
        assert_eq!(all, 1);
        let another = world.save(chain(&[nap(1)])).await;
        let request = StartRequest { idempotency_key: Some("order-1".into()), ..StartRequest::default() };
        let refused = crew.control.start_version(another, 1, request).await;
        assert!(matches!(refused, Err(pawl_engine::control::ControlError::Conflict(_))));
    }

    async fn a_later_start_waits_for_its_time(world: &World) {
        let crew = world.worker().await;
        let at = world.clock.now().plus(Duration::from_secs(60));
        let request = StartRequest { start_at: Some(at), ..StartRequest::default() };
        let id = world.start_with(&crew.control, chain(&[]), request.clone()).await;
        let stopped = world.start_with(&crew.control, chain(&[]), request).await;
        world.advance(59);
        world.until_timers_fired(&crew.control).await;
        assert_eq!(world.view(id).await.execution.head.status, Status::Pending);
        assert_eq!(crew.control.stop(stopped).await.unwrap(), Status::Stopped);
        world.advance(1);
        let execution = world.until_status(id, Status::Completed).await;
        assert!(execution.head.started_at.unwrap() >= at);
        assert_eq!(world.path(stopped).await, "");
    }

    /// Strictly one node per message does the same as as many as fit.
    async fn one_node_per_message_does_the_same(world: &World) {
        let crew = world.worker().await;
        let mut seen = Vec::new();
        for nodes in [1, 2, 64] {
            let flow = crate::world::settings(
                chain(&[effect("first", json!({"value": 1})), event("wait", "go"), effect("second", json!({}))]),
                json!({"max_nodes_per_message": nodes}),
            );
            let id = world.start(&crew.control, flow).await;
            world.until_status(id, Status::Waiting).await;
            crew.control.signal(id, "go".into(), &json!(1), Some("s".into())).await.unwrap();
            world.until_status(id, Status::Completed).await;
            let steps: Vec<String> = world.steps(id).await.into_iter().map(|step| masked(step, id)).collect();
            seen.push(steps);
        }
        assert_eq!(seen[0], seen[1]);
        assert_eq!(seen[0], seen[2]);
    }

    /// A caller that goes away in the middle of its request must not leave a lease without a worker.
    async fn a_caller_that_goes_away_leaves_a_run(world: &World) {
        let crew = world.worker().await;
        let schema = world.save(chain(&[effect("only", json!({}))])).await;
        let request = StartRequest { idempotency_key: Some("gone".into()), ..StartRequest::default() };
        let mut asking = Box::pin(crew.control.start_version(schema, 1, request));
        let waker = std::task::Waker::noop();
        let _ = asking.as_mut().poll(&mut std::task::Context::from_waker(waker));
        let _ = asking.as_mut().poll(&mut std::task::Context::from_waker(waker));
        drop(asking);
        let again = StartRequest { idempotency_key: Some("gone".into()), ..StartRequest::default() };
        let id = crew.control.start_version(schema, 1, again).await.unwrap().id;
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.outside.called(), ["only"]);
    }

    /// Alone on its store the worker runs ahead of the disk, but never ahead of what it has to read.
    async fn a_fork_sees_its_variables_on_a_store_of_its_own(world: &World) {
        let crew = world.worker_with(|options| options.exclusive = true).await;
        let flow = chain(&[effect("first", json!({"value": "{{variables.x ?? 0}}"})), effect("second", json!({"value": "{{variables.x}}"}))]);
        let request = StartRequest { variables: crate::world::variables(json!({"x": 1})), ..StartRequest::default() };
        let id = world.start_with(&crew.control, flow, request).await;
        world.until_status(id, Status::Completed).await;
        for value in 2..12 {
            let fork = ForkRequest { from_seq: 2, variables: crate::world::variables(json!({"x": value})), ..ForkRequest::default() };
            let forked = crew.control.fork(id, fork).await.unwrap().id;
            world.until_status(forked, Status::Completed).await;
            let output = world.steps(forked).await[1].output.clone();
            assert_eq!(crate::world::parsed(&output)["value"], value);
        }
    }
}

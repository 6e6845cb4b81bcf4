//! How a visit ends: retries, timeouts, panics, edges and limits.

use pawl_engine::control::StartRequest;
use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use serde_json::{Value, json};

use crate::world::{World, chain, chain_with, code, effect, gated, parsed, settings, with};

fn broken() -> Value {
    effect("broken", json!({"breaks": "no luck", "value": 1}))
}

/// The error codes of the tries that a step lists.
async fn tries(world: &World, id: ExecutionId, seq: usize) -> Vec<String> {
    let attempts = parsed(&world.steps(id).await[seq - 1].attempts);
    let code = |attempt: &Value| {
        attempt["error"]["code"]
            .as_str()
            .unwrap_or("none")
            .to_owned()
    };
    attempts.as_array().unwrap().iter().map(code).collect()
}

both! {
    async fn a_timeout_is_retried(world: &World) {
        let crew = world.worker().await;
        let slow = with(
            gated("slow"),
            json!({"timeout": "5s", "retry": {"max_attempts": 2, "delay": "1s", "jitter": false}}),
        );
        let id = world.start(&crew.control, chain(&[slow])).await;
        world.outside.until_called(1).await;
        world.advance(5);
        world.until(id, |view| view.state.position.not_before.is_some()).await;
        assert_eq!(world.outside.dropped(), 1);
        world.outside.open("slow");
        world.advance(1);
        world.until_status(id, Status::Completed).await;
        assert_eq!(tries(world, id, 2).await, ["NODE_TIMEOUT", "none"]);
        let calls = world.outside.calls();
        assert_eq!(calls[0].key, calls[1].key);
        assert_eq!(calls[0].config, calls[1].config);
    }

    async fn a_timeout_without_retry_fails(world: &World) {
        let crew = world.worker().await;
        let slow = with(gated("slow"), json!({"timeout": "5s"}));
        let id = world.start(&crew.control, chain(&[slow])).await;
        world.outside.until_called(1).await;
        world.advance(5);
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "NODE_TIMEOUT");
        assert_eq!(parsed(&execution.record.error)["node_id"], "slow");
        assert_eq!(world.path(id).await, "start slow!");
    }

    async fn retries_are_counted_and_end(world: &World) {
        let crew = world.worker().await;
        let shaky = with(
            effect("shaky", json!({"fails": 9})),
            json!({"retry": {"max_attempts": 3, "delay": "10s", "backoff": "exponential", "jitter": false}}),
        );
        let id = world.start(&crew.control, chain(&[shaky])).await;
        for (attempt, seconds) in [(1, 10), (2, 20)] {
            world
                .until(id, |view| view.state.position.attempt == attempt && view.state.wait.is_some())
                .await;
            world.advance(seconds);
        }
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "SHAKY");
        assert_eq!(tries(world, id, 2).await, ["SHAKY", "SHAKY", "SHAKY"]);
    }

    /// A viewer sees between two tries why the node failed; afterwards the step tells.
    async fn between_tries_the_reason_is_there(world: &World) {
        let crew = world.worker().await;
        let policy = |delay: &str| json!({"retry": {"max_attempts": 3, "delay": delay, "jitter": false}});
        for (delay, at_most) in [("1s", 2), ("1m", 120)] {
            let shaky = with(effect("shaky", json!({"fails": 2})), policy(delay));
            let id = world.start(&crew.control, chain(&[shaky])).await;
            for attempt in [1, 2] {
                let view = world.until(id, |view| view.state.position.attempt == attempt).await;
                assert_eq!(code(&view.state.position.last_error), "SHAKY");
                world.advance(at_most);
            }
            world.until_status(id, Status::Completed).await;
            assert_eq!(world.state(id).await.position.last_error, None);
        }
    }

    async fn what_failed_tries_say_is_in_the_log(world: &World) {
        let crew = world.worker().await;
        let policy = json!({"retry": {"max_attempts": 2, "delay": "1m", "jitter": false}});
        let shaky = with(effect("shaky", json!({"fails": 9, "says": "hm"})), policy);
        let id = world.start(&crew.control, chain(&[shaky])).await;
        world.until(id, |view| view.state.wait.is_some()).await;
        let said = async || -> Vec<(u64, String)> {
            let logs = world.store.logs(id, 0, 10).await.unwrap();
            let line = |(_, line): (u64, pawl_kernel::execution::LogRecord)| (line.seq, line.message);
            logs.into_iter().map(line).collect()
        };
        assert_eq!(said().await, [(2, "hm".to_owned())]);
        world.advance(60);
        world.until_status(id, Status::Failed).await;
        assert_eq!(said().await, [(2, "hm".to_owned()), (2, "hm".to_owned())]);
    }

    async fn the_node_after_the_start_has_no_step_before(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[effect("one", json!({})), effect("two", json!({}))]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Completed).await;
        let calls = world.outside.calls().into_iter();
        let previous: Vec<_> = calls.map(|call| call.previous).collect();
        assert_eq!(previous, [None, Some("one".to_owned())]);
    }

    async fn what_cannot_be_retried_is_not(world: &World) {
        let crew = world.worker().await;
        let retried = with(broken(), json!({"retry": {"max_attempts": 5, "delay": "1s"}}));
        let id = world.start(&crew.control, chain(&[retried])).await;
        world.until_status(id, Status::Failed).await;
        assert_eq!(world.outside.calls().len(), 1);
    }

    async fn a_panic_is_a_failed_step_and_the_worker_lives(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[effect("bad", json!({"panics": true}))]);
        let id = world.start(&crew.control, flow).await;
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "INTERNAL_ERROR");
        assert_eq!(world.path(id).await, "start bad!");
        world.assert_alive(&crew.control).await;
    }

    async fn an_error_fails_the_execution(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[broken()])).await;
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "BROKEN");
        assert_eq!(world.path(id).await, "start broken!");
        assert_eq!(world.steps(id).await[1].output, None);
    }

    async fn an_error_edge_wins_over_continue(world: &World) {
        let crew = world.worker().await;
        let flow = chain_with(
            &[
                with(broken(), json!({"on_error": "continue"})),
                effect("good", json!({})),
                json!({"id": "rescue", "type": "note", "config": {"value": "{{steps.broken.error.code}}"}}),
            ],
            &["broken:error rescue"],
        );
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.path(id).await, "start broken! rescue finish");
        assert_eq!(parsed(&world.steps(id).await[2].changes), json!({"note": "BROKEN"}));
    }

    async fn on_error_continue_goes_on_by_success(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[
            with(broken(), json!({"on_error": "continue"})),
            json!({"id": "note", "type": "note", "config": {"value": "{{steps.broken}}"}}),
        ]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.path(id).await, "start broken! note finish");
        let seen = parsed(&world.steps(id).await[2].changes)["note"].clone();
        assert_eq!(seen["output"], Value::Null);
        assert_eq!(seen["error"]["code"], "BROKEN");
    }

    async fn a_disabled_node_is_skipped(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[with(broken(), json!({"disabled": true}))]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.path(id).await, "start broken- finish");
        assert!(world.outside.calls().is_empty());
    }

    async fn max_steps_ends_a_loop(world: &World) {
        let crew = world.worker().await;
        let circle = json!({
            "settings": {"max_steps": 7},
            "nodes": [
                {"id": "start", "type": "start"},
                {"id": "turn", "type": "note", "config": {"value": 1}},
                {"id": "back", "type": "note", "config": {"value": 2}},
                {"id": "finish", "type": "finish"},
            ],
            "edges": [
                {"source": "start", "target": "turn"},
                {"source": "turn", "target": "back"},
                {"source": "turn", "target": "finish", "sourceHandle": "error"},
                {"source": "back", "target": "turn"},
            ],
        });
        let id = world.start(&crew.control, circle).await;
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "MAX_STEPS_EXCEEDED");
        assert_eq!(world.steps(id).await.len(), 7);
    }

    async fn max_calls_is_counted_before_the_call(world: &World) {
        let crew = world.worker().await;
        let calls: Vec<Value> = ["a", "b", "c"].iter().map(|id| effect(id, json!({}))).collect();
        let flow = settings(chain(&calls), json!({"max_calls": 2}));
        let id = world.start(&crew.control, flow).await;
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "LIMIT_EXCEEDED");
        assert_eq!(world.outside.called(), ["a", "b"]);
        assert_eq!(world.path(id).await, "start a b");
    }

    async fn max_calls_survives_a_crash(world: &World) {
        let crew = world.worker().await;
        let calls = [effect("a", json!({})), gated("b"), effect("c", json!({}))];
        let flow = settings(chain(&calls), json!({"max_calls": 2}));
        let id = world.start(&crew.control, flow).await;
        world.outside.until_called(2).await;
        crew.crash().await;
        let _other = world.worker().await;
        world.outside.open("b");
        world.advance(30);
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "LIMIT_EXCEEDED");
        assert_eq!(world.path(id).await, "start a b");
    }

    /// A context that is too large before anything is added: the execution fails, the worker lives.
    async fn a_context_over_its_limit_is_a_clear_end(world: &World) {
        let crew = world.worker_with(|options| options.payload.context_bytes = 1_000).await;
        let request = StartRequest { input: Some(json!({"text": "x".repeat(2_000)})), ..StartRequest::default() };
        let id = world.start_with(&crew.control, chain(&[effect("only", json!({"value": 1}))]), request).await;
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "LIMIT_EXCEEDED");
        world.assert_alive(&crew.control).await;
    }
}

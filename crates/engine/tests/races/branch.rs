//! New executions from old ones.

use pawl_engine::control::{ControlError, ForkRequest, RetryRequest};
use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use serde_json::{Value, json};

use crate::world::{Crew, World, chain, code, effect, gated, parsed, settings, variables};

fn flow() -> Value {
    chain(&[
        json!({"id": "note", "type": "note", "config": {"value": "first"}}),
        effect(
            "tell",
            json!({"value": "{{variables.note}}", "breaks": "not now"}),
        ),
    ])
}

/// An execution of the flow that failed at `tell`, and an outside that is well again.
async fn failed(world: &World, crew: &Crew) -> ExecutionId {
    let id = world.start(&crew.control, flow()).await;
    world.until_status(id, Status::Failed).await;
    assert_eq!(world.path(id).await, "start note tell!");
    world.outside.heal();
    id
}

both! {
    async fn a_retry_repeats_the_failed_step_under_its_key(world: &World) {
        let crew = world.worker().await;
        let id = failed(world, &crew).await;
        let before = world.view(id).await;
        let retried = crew.control.retry(id, RetryRequest::default()).await.unwrap().id;
        let execution = world.until_status(retried, Status::Completed).await;
        assert_eq!((execution.retry_of, execution.base_seq), (Some(id), 2));
        assert_eq!(world.path(retried).await, "tell finish");
        let calls = world.outside.calls();
        assert_eq!(calls[1].config["value"], "first");
        assert_eq!(calls[1].key, Some(format!("{id}:3")));
        assert_eq!(calls[1].key, calls[0].key);
        assert_eq!(world.view(id).await, before, "the old execution never changes");
    }

    async fn a_retry_can_ask_for_a_new_key(world: &World) {
        let crew = world.worker().await;
        let id = failed(world, &crew).await;
        let request = RetryRequest {
            new_effect_key: true,
            variables: variables(json!({"note": "second"})),
            ..RetryRequest::default()
        };
        let retried = crew.control.retry(id, request).await.unwrap().id;
        world.until_status(retried, Status::Completed).await;
        let calls = world.outside.calls();
        assert_eq!(calls[1].key, Some(format!("{retried}:3")));
        assert_eq!(calls[1].config["value"], "second");
    }

    /// The key goes on from retry to retry: the other side must recognise the effect each time.
    async fn a_retry_of_a_retry_keeps_the_key(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, flow()).await;
        world.until_status(id, Status::Failed).await;
        let second = crew.control.retry(id, RetryRequest::default()).await.unwrap().id;
        world.until_status(second, Status::Failed).await;
        world.outside.heal();
        let third = crew.control.retry(second, RetryRequest::default()).await.unwrap().id;
        world.until_status(third, Status::Completed).await;
        let keys: Vec<_> = world.outside.calls().into_iter().map(|call| call.key).collect();
        assert_eq!(keys, vec![Some(format!("{id}:3")); 3]);
    }

    async fn a_retry_may_have_more_steps(world: &World) {
        let crew = world.worker().await;
        let flow = settings(
            chain(&[effect("a", json!({})), effect("b", json!({})), effect("c", json!({}))]),
            json!({"max_steps": 3}),
        );
        let id = world.start(&crew.control, flow).await;
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.error), "MAX_STEPS_EXCEEDED");
        assert_eq!(world.path(id).await, "start a b");
        let request = RetryRequest { max_steps: Some(100), ..RetryRequest::default() };
        let retried = crew.control.retry(id, request).await.unwrap().id;
        world.until_status(retried, Status::Completed).await;
        assert_eq!(world.path(retried).await, "c finish");
        assert_eq!(world.outside.called(), ["a", "b", "c"]);
    }

    async fn a_retry_of_a_stopped_effect(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[gated("only")])).await;
        world.outside.until_called(1).await;
        crew.control.stop(id).await.unwrap();
        world.until_status(id, Status::Stopped).await;
        world.outside.open("only");
        let retried = crew.control.retry(id, RetryRequest::default()).await.unwrap().id;
        world.until_status(retried, Status::Completed).await;
        assert_eq!(world.path(retried).await, "only finish");
        let calls = world.outside.calls();
        assert_eq!(calls[0].key, calls[1].key);
    }

    async fn a_retry_of_what_runs_or_completed_is_refused(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[gated("only")])).await;
        world.outside.until_called(1).await;
        let running = crew.control.retry(id, RetryRequest::default()).await;
        assert!(matches!(running, Err(ControlError::Conflict(_))));
        world.outside.open("only");
        world.until_status(id, Status::Completed).await;
        let completed = crew.control.retry(id, RetryRequest::default()).await;
        assert!(matches!(completed, Err(ControlError::Conflict(_))));
    }

    async fn a_fork_goes_on_from_a_step_with_other_variables(world: &World) {
        let crew = world.worker().await;
        let id = failed(world, &crew).await;
        let before = (world.view(id).await, world.steps(id).await);
        let request = ForkRequest {
            from_seq: 2,
            variables: variables(json!({"note": "forked"})),
            created_by: "test".into(),
            ..ForkRequest::default()
        };
        let forked = crew.control.fork(id, request).await.unwrap().id;
        let execution = world.until_status(forked, Status::Completed).await;
        assert_eq!((execution.forked_from, execution.base_seq), (Some(id), 2));
        assert_eq!(world.path(forked).await, "tell finish");
        let call = &world.outside.calls()[1];
        assert_eq!(call.config["value"], "forked");
        assert_eq!(call.key, Some(format!("{forked}:3")), "a fork is another effect");
        let history = world.store.history(forked, 2).await.unwrap();
        let snapshot = history.snapshot.unwrap();
        assert_eq!((snapshot.seq, history.steps.len()), (2, 0));
        assert_eq!(parsed(&Some(snapshot.context))["variables"]["note"], "forked");
        assert_eq!((world.view(id).await, world.steps(id).await), before);
    }

    async fn a_fork_from_the_start_and_beyond_the_end(world: &World) {
        let crew = world.worker().await;
        let id = failed(world, &crew).await;
        let from = |from_seq| ForkRequest { from_seq, ..ForkRequest::default() };
        let forked = crew.control.fork(id, from(0)).await.unwrap().id;
        world.until_status(forked, Status::Completed).await;
        assert_eq!(world.path(forked).await, "start note tell finish");
        let beyond = crew.control.fork(id, from(9)).await;
        assert!(matches!(beyond, Err(ControlError::NotFound(_))));
        let after = crew.control.fork(id, from(3)).await;
        assert!(matches!(after, Err(ControlError::Conflict(_))));
    }

    async fn a_fork_of_one_that_runs_leaves_it_alone(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[gated("only")])).await;
        world.outside.until_called(1).await;
        let request = ForkRequest { from_seq: 1, ..ForkRequest::default() };
        let forked = crew.control.fork(id, request).await.unwrap().id;
        world.outside.until_called(2).await;
        world.outside.open("only");
        world.until_status(id, Status::Completed).await;
        world.until_status(forked, Status::Completed).await;
        assert_eq!(world.path(id).await, "start only finish");
        assert_eq!(world.path(forked).await, "only finish");
        let calls = world.outside.calls();
        assert_ne!(calls[0].key, calls[1].key);
    }
}

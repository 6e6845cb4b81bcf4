//! New executions from old ones.

use pawl_engine::control::{ControlError, ForkRequest, RetryRequest, StartRequest, WantedVersion};
use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use serde_json::{Value, json};

use crate::world::{
    Crew, World, chain, code, effect, event, gated, parsed, settings, variables, with,
};

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
        assert_eq!((execution.record.retry_of, execution.head.base_seq), (Some(id), 2));
        assert_eq!(world.path(retried).await, "tell finish");
        let calls = world.outside.calls();
        assert_eq!(calls[1].config["value"], "first");
        assert_eq!(calls[1].key, Some(format!("{id}:3")));
        assert_eq!(calls[1].key, calls[0].key);
        let mut after = world.view(id).await;
        assert_eq!(after.execution.record.retried_as.take(), Some(retried));
        assert_eq!(after, before, "the old execution never changes, but for the name of its retry");
    }

    /// Whatever an expression can see of time, chance, the run and who asked for it.
    async fn a_retry_sends_the_same_request(world: &World) {
        let crew = world.worker().await;
        let value = "{{now()}} {{uuid()}} {{uuid()}} {{execution.id}} {{execution.started_by}} {{user.id}}";
        let flow = chain(&[
            json!({"id": "note", "type": "note", "config": {"value": "first"}}),
            effect("tell", json!({"value": value, "breaks": "not now"})),
            effect("after", json!({"value": value})),
        ]);
        let start = StartRequest { user: Some(json!({"id": "ann"})), ..StartRequest::default() };
        let id = world.start_with(&crew.control, flow, start).await;
        world.until_status(id, Status::Failed).await;
        world.advance(60);
        let request = |user: &str| RetryRequest {
            created_by: format!("key:{user}"),
            user: Some(json!({"id": user})),
            ..RetryRequest::default()
        };
        let second = crew.control.retry(id, request("bob")).await.unwrap().id;
        world.until_status(second, Status::Failed).await;
        world.advance(60);
        world.outside.heal();
        let third = crew.control.retry(second, request("cy")).await.unwrap().id;
        world.until_status(third, Status::Completed).await;
        let calls = world.outside.calls();
        let seen: Vec<_> = calls.iter().map(|call| (&call.config["value"], &call.key, &call.previous)).collect();
        assert_eq!(seen[1], seen[0]);
        assert_eq!(seen[2], seen[0]);
        assert_eq!(calls[0].previous.as_deref(), Some("note"));
        let after = seen[3].0.as_str().unwrap();
        let ours = format!("{third} key:cy cy");
        assert!(after.ends_with(&ours), "what follows is this run's own: {after}");
        let steps = world.steps(third).await;
        let created = world.view(third).await.execution.head.created_at;
        assert!(steps.iter().all(|step| step.started_at >= created));
        let context = crew.control.context_at(&world.view(third).await, 3).await.unwrap();
        assert_eq!(context.roots()["user"]["id"], "cy");
    }

    /// The retry in the middle sent nothing, but the run before it did: the key stays that of the first.
    async fn a_retry_that_could_not_be_rendered_keeps_the_key(world: &World) {
        let secret = || [("token".to_owned(), "canary-1234".to_owned())].into();
        let crew = world.worker_with(|options| options.secrets = secret()).await;
        let flow = chain(&[effect("tell", json!({"value": "{{secrets.token}}", "breaks": "not now"}))]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Failed).await;
        crew.shut_down().await;
        let crew = world.worker().await;
        let second = crew.control.retry(id, RetryRequest::default()).await.unwrap().id;
        world.until_status(second, Status::Failed).await;
        assert_eq!(world.outside.calls().len(), 1);
        crew.shut_down().await;
        let crew = world.worker_with(|options| options.secrets = secret()).await;
        world.outside.heal();
        let third = crew.control.retry(second, RetryRequest::default()).await.unwrap().id;
        world.until_status(third, Status::Completed).await;
        let calls = world.outside.calls();
        assert_eq!(calls[1].key, calls[0].key);
    }

    async fn a_second_retry_has_to_be_asked_for(world: &World) {
        let crew = world.worker().await;
        let id = failed(world, &crew).await;
        let first = crew.control.retry(id, RetryRequest::default()).await.unwrap().id;
        let refused = crew.control.retry(id, RetryRequest::default()).await;
        match refused.map(|started| started.id) {
            Err(ControlError::AlreadyRetried { retried_as, .. }) => assert_eq!(retried_as, first),
            other => panic!("{other:?}"),
        }
        let again = RetryRequest { again: true, ..RetryRequest::default() };
        let second = crew.control.retry(id, again).await.unwrap().id;
        assert_eq!(world.view(id).await.execution.record.retried_as, Some(second));
        world.until_status(second, Status::Completed).await;
        let keys: Vec<_> = world.outside.calls().into_iter().map(|call| call.key).collect();
        assert_eq!(keys, vec![Some(format!("{id}:3")); 3]);
    }

    async fn a_retry_under_the_same_idempotency_key_is_the_same(world: &World) {
        let crew = world.worker().await;
        let other = world.start(&crew.control, flow()).await;
        world.until_status(other, Status::Failed).await;
        let id = failed(world, &crew).await;
        let keyed = || RetryRequest { idempotency_key: Some("once".into()), ..RetryRequest::default() };
        let first = crew.control.retry(id, keyed()).await.unwrap();
        let same = crew.control.retry(id, keyed()).await.unwrap();
        assert_eq!((same.id, first.created, same.created), (first.id, true, false));
        let foreign = crew.control.retry(other, keyed()).await;
        assert!(matches!(foreign, Err(ControlError::Conflict(_))));
    }

    /// Another request under the old key would be refused or, worse, taken for the old one.
    /// One of them has the key; the other is told so, whichever of the two looks and writes first.
    async fn retries_of_two_executions_under_one_idempotency_key(world: &World) {
        let crew = world.worker().await;
        let other = world.start(&crew.control, flow()).await;
        world.until_status(other, Status::Failed).await;
        let id = failed(world, &crew).await;
        let keyed = || RetryRequest { idempotency_key: Some("once".into()), ..RetryRequest::default() };
        let (first, second) = tokio::join!(crew.control.retry(id, keyed()), crew.control.retry(other, keyed()));
        let (made, refused) = match (first, second) {
            (Ok(made), Err(refused)) | (Err(refused), Ok(made)) => (made.id, refused),
            (first, second) => panic!("{} {}", first.is_ok(), second.is_ok()),
        };
        assert!(matches!(&refused, ControlError::Conflict(text) if text.contains("not a retry of")), "{refused}");
        world.until_status(made, Status::Completed).await;
    }

    /// Quotas and tenant are those of the input that the run has, not of the one its first ancestor had.
    async fn a_changed_input_counts_for_the_retry_too(world: &World) {
        let crew = world.worker().await;
        let key = "{{input.customer}}";
        let admission = json!({"tenant": key, "concurrency": {"limit": 5, "key": key}});
        let flow = settings(chain(&[effect("tell", json!({"breaks": "not now"}))]), admission);
        let start = StartRequest { input: Some(json!({"customer": "ann"})), ..StartRequest::default() };
        let id = world.start_with(&crew.control, flow, start).await;
        world.until_status(id, Status::Failed).await;
        let request = ForkRequest { from_seq: 1, input: Some(json!({"customer": "bob"})), ..ForkRequest::default() };
        let forked = crew.control.fork(id, request).await.unwrap().id;
        world.until_status(forked, Status::Failed).await;
        let retried = crew.control.retry(forked, RetryRequest::default()).await.unwrap().id;
        for id in [forked, retried] {
            let execution = world.view(id).await.execution;
            assert_eq!(execution.record.tenant.as_deref(), Some("bob"));
            let claims = format!("{:?}", execution.head.quotas);
            assert!(claims.contains("bob") && !claims.contains("ann"), "{claims}");
        }
    }

    /// Its second try never began, but the first was sent: a retry must not take it for one that sent nothing.
    async fn a_retry_of_one_stopped_between_two_tries_keeps_the_key(world: &World) {
        let crew = world.worker().await;
        let retry = json!({"retry": {"max_attempts": 3, "delay": "1m", "jitter": false}});
        let flow = chain(&[with(effect("tell", json!({"fails": 1})), retry)]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Sleeping).await;
        crew.control.stop(id).await.unwrap();
        world.until_status(id, Status::Stopped).await;
        let retried = crew.control.retry(id, RetryRequest::default()).await.unwrap().id;
        world.until_status(retried, Status::Sleeping).await;
        let calls = world.outside.calls();
        assert_eq!(calls[1].key, calls[0].key);
    }

    async fn what_changes_the_request_needs_a_new_key(world: &World) {
        let crew = world.worker().await;
        let id = failed(world, &crew).await;
        let change = |name: &str, value: &str| RetryRequest {
            variables: variables(json!({name: value})),
            again: true,
            ..RetryRequest::default()
        };
        let refused = crew.control.retry(id, change("note", "second")).await;
        let message = refused.map(|started| started.id).unwrap_err().to_string();
        assert!(message.contains("`note`") && message.contains("--new-effect-key"), "{message}");
        for harmless in [change("note", "first"), change("other", "x")] {
            let retried = crew.control.retry(id, harmless).await.unwrap().id;
            world.until_status(retried, Status::Completed).await;
            assert_eq!(world.path(retried).await, "$edit tell finish");
        }
        let calls = world.outside.calls();
        assert!(calls.iter().all(|call| call.key == calls[0].key && call.config["value"] == "first"));
    }

    /// Nothing went out, so nothing has to be the same.
    async fn what_never_began_may_change(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[effect("tell", json!({"value": "{{variables.note}}"}))]);
        let id = world.start(&crew.control, flow).await;
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "UNDEFINED_PATH");
        let request = RetryRequest { variables: variables(json!({"note": "now"})), ..RetryRequest::default() };
        let retried = crew.control.retry(id, request).await.unwrap().id;
        world.until_status(retried, Status::Completed).await;
        assert_eq!(world.outside.calls()[0].config["value"], "now");
    }

    async fn names_that_nothing_speaks_of_are_warned_of(world: &World) {
        let crew = world.worker().await;
        let id = failed(world, &crew).await;
        let fork = |name: &str| ForkRequest {
            from_seq: 2,
            variables: variables(json!({name: 1})),
            ..ForkRequest::default()
        };
        let warned = crew.control.fork(id, fork("noet")).await.unwrap().warnings;
        assert!(matches!(&warned[..], [one] if one.contains("`noet`") && one.contains("`note`")), "{warned:?}");
        assert_eq!(crew.control.fork(id, fork("note")).await.unwrap().warnings, Vec::<String>::new());
    }

    async fn a_fork_may_have_another_input(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[
            effect("one", json!({"value": "{{input.sku}}"})),
            effect("two", json!({"value": "{{input.sku}}"})),
        ]);
        let start = StartRequest { input: Some(json!({"sku": "old"})), ..StartRequest::default() };
        let id = world.start_with(&crew.control, flow, start).await;
        world.until_status(id, Status::Completed).await;
        let request = ForkRequest { from_seq: 2, input: Some(json!({"sku": "new"})), ..ForkRequest::default() };
        let forked = crew.control.fork(id, request).await.unwrap().id;
        world.until_status(forked, Status::Completed).await;
        assert_eq!(world.path(forked).await, "$edit two finish");
        assert_eq!(world.outside.calls()[2].config["value"], "new");
        let view = world.view(forked).await;
        for (seq, sku) in [(1, "old"), (2, "old"), (3, "new"), (5, "new")] {
            let context = crew.control.context_at(&view, seq).await.unwrap();
            assert_eq!(context.roots()["input"]["sku"], sku, "after step {seq}");
        }
        let request = ForkRequest { from_seq: 4, ..ForkRequest::default() };
        let grandchild = crew.control.fork(forked, request).await.unwrap().id;
        world.until_status(grandchild, Status::Completed).await;
        let view = world.view(grandchild).await;
        let lineage = crew.control.lineage(&view).await.unwrap();
        let runtime: Vec<_> = lineage.stretches.iter().map(|part| (part.id, part.after)).collect();
        assert_eq!(runtime, [(id, 0), (forked, 2), (grandchild, 4)]);
        let context = crew.control.context_at(&view, 5).await.unwrap();
        assert_eq!(context.roots()["input"]["sku"], "new", "a snapshot keeps it");
    }

    /// A step that was taken over is kept with the execution that made it; all else is that of the execution forked.
    async fn a_fork_from_a_step_that_was_taken_over(world: &World) {
        let crew = world.worker().await;
        let id = failed(world, &crew).await;
        let from = |from_seq| ForkRequest { from_seq, ..ForkRequest::default() };
        let forked = crew.control.fork(id, from(2)).await.unwrap().id;
        world.until_status(forked, Status::Completed).await;
        let earlier = crew.control.fork(forked, from(1)).await.unwrap().id;
        let execution = world.until_status(earlier, Status::Completed).await;
        assert_eq!((execution.record.forked_from, execution.head.base_seq), (Some(forked), 1));
        assert_eq!(world.path(earlier).await, "note tell finish");
        let lineage = crew.control.lineage(&world.view(earlier).await).await.unwrap();
        let runtime: Vec<_> = lineage.stretches.iter().map(|part| (part.id, part.after)).collect();
        assert_eq!(runtime, [(id, 0), (earlier, 1)]);
    }

    /// Not the version that the steps before it were made with.
    async fn a_fork_of_a_retry_keeps_its_version(world: &World) {
        let crew = world.worker().await;
        let flow = |value: &str| chain(&[effect("a", json!({})), effect("tell", json!({"value": value}))]);
        let schema = world.save(flow("{{variables.nothing}}")).await;
        let id = crew.control.start_version(schema, 1, StartRequest::default()).await.unwrap().id;
        world.until_status(id, Status::Failed).await;
        world.save_version(schema, flow("right")).await;
        let latest = RetryRequest { version: WantedVersion::Latest, ..RetryRequest::default() };
        let retried = crew.control.retry(id, latest).await.unwrap().id;
        world.until_status(retried, Status::Completed).await;
        for from_seq in 0..3 {
            let request = ForkRequest { from_seq, ..ForkRequest::default() };
            let forked = crew.control.fork(retried, request).await.unwrap().id;
            let execution = world.until_status(forked, Status::Completed).await;
            assert_eq!((execution.head.schema_version, execution.record.forked_from), (2, Some(retried)), "from {from_seq}");
        }
    }

    /// It has a position that it never finished.
    async fn a_fork_of_one_that_was_stopped_goes_on_where_it_stands(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[event("only", "go")])).await;
        world.until_status(id, Status::Waiting).await;
        crew.control.stop(id).await.unwrap();
        let stopped = world.until_status(id, Status::Stopped).await;
        let last = world.view(id).await.state.seq;
        assert_eq!((stopped.head.base_seq, last), (0, 1));
        let request = ForkRequest { from_seq: last, ..ForkRequest::default() };
        let forked = crew.control.fork(id, request).await.unwrap().id;
        world.until_status(forked, Status::Waiting).await;
        crew.control.signal(forked, "go".into(), &json!(1), None).await.unwrap();
        world.until_status(forked, Status::Completed).await;
        assert_eq!(world.path(forked).await, "only finish");
    }

    async fn a_retry_may_go_on_with_another_version(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[effect("a", json!({})), effect("tell", json!({"value": "{{variables.nothing}}"}))]);
        let schema = world.save(flow).await;
        let start = StartRequest::default();
        let id = crew.control.start_version(schema, 1, start).await.unwrap().id;
        world.until_status(id, Status::Failed).await;
        let right = chain(&[effect("a", json!({})), effect("tell", json!({"value": "right"}))]);
        world.save_version(schema, right).await;
        let renamed = chain(&[effect("b", json!({})), effect("told", json!({"value": "right"}))]);
        world.save_version(schema, renamed).await;
        let with = |version| RetryRequest { version, ..RetryRequest::default() };
        let missing = crew.control.retry(id, with(WantedVersion::Latest)).await;
        let message = missing.map(|started| started.id).unwrap_err().to_string();
        assert!(message.contains("`tell`") && message.contains("version 3"), "{message}");
        let unknown = crew.control.retry(id, with(WantedVersion::Number(9))).await;
        assert!(matches!(unknown, Err(ControlError::NotFound(_))));
        let retried = crew.control.retry(id, with(WantedVersion::Number(2))).await.unwrap().id;
        let execution = world.until_status(retried, Status::Completed).await;
        assert_eq!(execution.head.schema_version, 2);
        assert_eq!(world.outside.calls()[1].config["value"], "right");
        let fork = ForkRequest { from_seq: 0, version: WantedVersion::Latest, ..ForkRequest::default() };
        let forked = crew.control.fork(id, fork).await.unwrap();
        assert!(forked.warnings.is_empty());
        world.until_status(forked.id, Status::Completed).await;
        assert_eq!(world.path(forked.id).await, "start b told finish");
    }

    async fn another_version_of_a_node_that_began_needs_a_new_key(world: &World) {
        let crew = world.worker().await;
        let node = |value: &str| chain(&[effect("tell", json!({"value": value, "breaks": "not now"}))]);
        let schema = world.save(node("one")).await;
        let id = crew.control.start_version(schema, 1, StartRequest::default()).await.unwrap().id;
        world.until_status(id, Status::Failed).await;
        world.save_version(schema, node("two")).await;
        world.outside.heal();
        let with = |new_effect_key| RetryRequest {
            version: WantedVersion::Latest,
            new_effect_key,
            ..RetryRequest::default()
        };
        let refused = crew.control.retry(id, with(false)).await;
        assert!(matches!(refused, Err(ControlError::Conflict(_))));
        let retried = crew.control.retry(id, with(true)).await.unwrap().id;
        world.until_status(retried, Status::Completed).await;
        let calls = world.outside.calls();
        assert_eq!((&calls[1].config["value"], calls[1].key == calls[0].key), (&json!("two"), false));
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
        assert_eq!(calls[1].key, Some(format!("{retried}:4")), "the edit is a step too");
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
        assert_eq!(code(&execution.record.error), "MAX_STEPS_EXCEEDED");
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
        assert_eq!((execution.record.forked_from, execution.head.base_seq), (Some(id), 2));
        assert_eq!(world.path(forked).await, "$edit tell finish");
        let call = &world.outside.calls()[1];
        assert_eq!(call.config["value"], "forked");
        assert_eq!(call.key, Some(format!("{forked}:4")), "a fork is another effect");
        let history = world.store.history(forked, 3).await.unwrap();
        let snapshot = history.snapshot.unwrap();
        assert_eq!((snapshot.seq, history.steps.len()), (2, 1));
        assert_eq!(parsed(&Some(snapshot.context))["variables"]["note"], "first");
        assert_eq!(parsed(&history.steps[0].changes), json!({"note": "forked"}));
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

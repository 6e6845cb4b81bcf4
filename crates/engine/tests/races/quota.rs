//! Quotas: who may start, who stands in line, and what a person can do meanwhile.

use std::time::Duration;

use pawl_engine::control::{Control, ControlError, ForkRequest, RetryRequest, StartRequest};
use pawl_engine::insight::{doctor, explain};
use pawl_kernel::execution::{PriorityClass, Status, WaitKind};
use pawl_kernel::id::{ExecutionId, SchemaId};
use pawl_kernel::ports::quotas::SetQuota;
use pawl_kernel::quota::{Quota, QuotaName, QuotaSource};
use pawl_kernel::time::Clock;
use serde_json::{Value, json};

use crate::world::{World, chain, effect, settings};

/// An effect that waits at the gate that the input names, under these settings.
fn flow(concurrency: Value) -> Value {
    let work = effect(
        "work",
        json!({"gate": "{{input.gate}}", "value": "{{input.gate}}"}),
    );
    settings(chain(&[work]), concurrency)
}

fn one_at_a_time() -> Value {
    flow(json!({"concurrency": {"limit": 1}}))
}

fn with_input(input: Value) -> StartRequest {
    StartRequest {
        input: Some(input),
        created_by: "test".into(),
        ..StartRequest::default()
    }
}

fn name(text: &str) -> QuotaName {
    text.parse().unwrap()
}

async fn set(control: &Control, quota: &str, limit: u32) -> Quota {
    let set = SetQuota {
        name: name(quota),
        limit,
        rate: None,
        source: QuotaSource::Api,
    };
    control.set_quota(set).await.unwrap()
}

impl World {
    async fn begin(&self, control: &Control, schema: SchemaId, gate: &str) -> ExecutionId {
        self.begin_with(control, schema, with_input(json!({"gate": gate})))
            .await
    }

    /// A millisecond after the one before, so that ids are in the order of the starts.
    async fn begin_with(
        &self,
        control: &Control,
        schema: SchemaId,
        request: StartRequest,
    ) -> ExecutionId {
        self.clock.advance(Duration::from_millis(1));
        control.start_version(schema, 1, request).await.unwrap().id
    }

    async fn schema_name(&self, id: SchemaId) -> String {
        self.store
            .schema(&id.to_string())
            .await
            .unwrap()
            .unwrap()
            .name
    }

    async fn status(&self, id: ExecutionId) -> Status {
        self.view(id).await.execution.head.status
    }

    async fn explained(&self, id: ExecutionId) -> explain::Explanation {
        let now = self.clock.now();
        let around = explain::Surroundings {
            now,
            line: explain::line_of(&*self.store, id, now).await.unwrap(),
            ..explain::Surroundings::default()
        };
        explain::explain(&self.view(id).await, &around)
    }

    async fn used(&self, quota: &str) -> (u64, u64) {
        let quota = self.store.quota(name(quota)).await.unwrap();
        quota.map_or((0, 0), |quota| (quota.used, quota.waiting))
    }
}

both! {
    async fn one_after_the_other(world: &World) {
        let crew = world.worker().await;
        let schema = world.save(one_at_a_time()).await;
        let first = world.begin(&crew.control, schema, "a").await;
        let second = world.begin(&world.client(), schema, "b").await;
        let third = world.begin(&crew.control, schema, "c").await;
        world.outside.until_called(1).await;
        for id in [second, third] {
            let view = world.view(id).await;
            assert_eq!(view.execution.head.status, Status::Pending);
            assert_eq!(view.state.wait.unwrap().kind, WaitKind::Admission);
        }
        for (n, (gate, id)) in [("a", first), ("b", second), ("c", third)].into_iter().enumerate() {
            let calls = world.outside.until_called(n + 1).await;
            assert_eq!((calls.len(), &calls[n].config["value"]), (n + 1, &json!(gate)));
            world.outside.open(gate);
            world.until_status(id, Status::Completed).await;
        }
        assert_eq!(world.store.quotas(false, None, 9).await.unwrap(), []);
    }

    /// On a store of its own the worker runs ahead of the disk, but not ahead of a quota.
    async fn alone_on_its_store(world: &World) {
        let crew = world.worker_with(|options| options.exclusive = true).await;
        let schema = world.save(flow(json!({}))).await;
        let quota = format!("schema:{}", world.schema_name(schema).await);
        set(&crew.control, &quota, 1).await;
        let first = world.begin(&crew.control, schema, "a").await;
        let second = world.begin(&crew.control, schema, "b").await;
        world.outside.until_called(1).await;
        assert_eq!(world.status(second).await, Status::Pending);
        world.outside.open("a");
        world.outside.open("b");
        for id in [first, second] {
            world.until_status(id, Status::Completed).await;
            assert_eq!(world.path(id).await, "start work finish");
        }
        assert_eq!(world.used(&quota).await, (0, 0));
    }

    async fn keys_do_not_mind_each_other(world: &World) {
        let crew = world.worker().await;
        let key = "{{input.customer}}";
        let schema = world.save(flow(json!({"concurrency": {"limit": 1, "key": key}}))).await;
        let request = |customer: Value, gate: &str| with_input(json!({"customer": customer, "gate": gate}));
        let mut ids = Vec::new();
        for (customer, gate) in [(json!("ACME"), "a"), (json!("ACME"), "b"), (json!(17), "c")] {
            ids.push(world.begin_with(&crew.control, schema, request(customer, gate)).await);
        }
        world.outside.until_called(2).await;
        assert_eq!(world.status(ids[1]).await, Status::Pending);
        let quota = format!("key:{}/ACME", world.schema_name(schema).await);
        assert_eq!(world.used(&quota).await, (1, 1));
        for gate in ["a", "b", "c"] {
            world.outside.open(gate);
        }
        for id in ids {
            world.until_status(id, Status::Completed).await;
        }
    }

    async fn a_key_that_cannot_be_read_refuses_the_start(world: &World) {
        let crew = world.worker().await;
        let key = "{{input.customer}}";
        let schema = world.save(flow(json!({"concurrency": {"limit": 1, "key": key}}))).await;
        for input in [json!({"gate": "a"}), json!({"customer": null}), json!({"customer": ["x"]}), json!({"customer": "a\u{0}b"}), json!({"customer": "x".repeat(300)})] {
            let refused = crew.control.start_version(schema, 1, with_input(input.clone())).await;
            let Err(ControlError::Invalid { code, message }) = refused else {
                panic!("{input} was taken");
            };
            assert_eq!(code, "EXPRESSION_ERROR");
            assert!(message.starts_with("settings.concurrency.key: "), "{message}");
        }
        let all = world.store.count_executions(Default::default()).await.unwrap();
        assert_eq!(all, 0);
    }

    async fn the_tenant_comes_from_the_settings_or_the_request(world: &World) {
        let crew = world.worker().await;
        set(&crew.control, "tenant:acme", 1).await;
        let schema = world.save(flow(json!({"tenant": "{{input.customer}}"}))).await;
        let request = |customer: &str, gate: &str| with_input(json!({"customer": customer, "gate": gate}));
        let first = world.begin_with(&crew.control, schema, request("acme", "a")).await;
        let explicit = StartRequest { tenant: Some("acme".into()), ..request("other", "b") };
        let second = world.begin_with(&crew.control, schema, explicit).await;
        let other = world.begin_with(&crew.control, schema, request("other", "c")).await;
        assert_eq!(world.view(other).await.execution.record.tenant.as_deref(), Some("other"));
        world.outside.until_called(2).await;
        assert_eq!(world.status(second).await, Status::Pending);
        for gate in ["a", "b", "c"] {
            world.outside.open(gate);
        }
        for id in [first, second, other] {
            world.until_status(id, Status::Completed).await;
        }
    }

    async fn stopped_and_paused_in_line(world: &World) {
        let crew = world.worker().await;
        let schema = world.save(one_at_a_time()).await;
        let first = world.begin(&crew.control, schema, "a").await;
        let mut others = Vec::new();
        for gate in ["stopped", "paused", "last"] {
            others.push(world.begin(&crew.control, schema, gate).await);
        }
        world.outside.until_called(1).await;
        assert_eq!(crew.control.stop(others[0]).await.unwrap(), Status::Stopped);
        assert_eq!(crew.control.pause(others[1]).await.unwrap(), Status::Paused);
        for gate in ["a", "last", "paused"] {
            world.outside.open(gate);
        }
        for id in [first, others[2]] {
            world.until_status(id, Status::Completed).await;
        }
        assert_eq!(world.status(others[1]).await, Status::Paused);
        assert_eq!(crew.control.resume(others[1]).await.unwrap(), Status::Pending);
        world.until_status(others[1], Status::Completed).await;
        assert_eq!(world.path(others[0]).await, "");
    }

    async fn a_signal_that_comes_while_in_line_is_kept(world: &World) {
        let crew = world.worker().await;
        let schema = world.save(settings(
            chain(&[effect("work", json!({"gate": "{{input.gate}}"})), crate::world::event("wait", "go")]),
            json!({"concurrency": {"limit": 1}}),
        )).await;
        let first = world.begin(&crew.control, schema, "a").await;
        let second = world.begin(&crew.control, schema, "b").await;
        crew.control.signal(second, "go".into(), &json!(1), None).await.unwrap();
        crew.control.signal(first, "go".into(), &json!(1), None).await.unwrap();
        world.outside.open("a");
        world.outside.open("b");
        world.until_status(second, Status::Completed).await;
    }

    /// What sleeps, waits or is paused holds its place: it has begun and not ended.
    async fn a_sleeper_holds_its_place(world: &World) {
        let crew = world.worker().await;
        let schema = world.save(settings(chain(&[crate::world::nap(60)]), json!({"concurrency": {"limit": 1}}))).await;
        let first = world.begin_with(&crew.control, schema, with_input(json!({}))).await;
        let second = world.begin_with(&crew.control, schema, with_input(json!({}))).await;
        world.until_status(first, Status::Sleeping).await;
        world.advance(59);
        world.until_timers_fired(&crew.control).await;
        assert_eq!(world.status(second).await, Status::Pending);
        world.advance(1);
        world.until_status(first, Status::Completed).await;
        world.until_status(second, Status::Sleeping).await;
    }

    async fn a_delayed_start_comes_to_the_line_in_time(world: &World) {
        let crew = world.worker().await;
        let schema = world.save(one_at_a_time()).await;
        let start_at = Some(world.clock.now().plus(Duration::from_secs(20)));
        let later = StartRequest { start_at, ..with_input(json!({"gate": "late"})) };
        let late = world.begin_with(&crew.control, schema, later).await;
        let first = world.begin(&crew.control, schema, "a").await;
        world.outside.until_called(1).await;
        world.pass_with_heartbeats(&crew, 2).await;
        let wait = |view: &pawl_kernel::ports::store::ExecutionView| {
            view.state.wait.as_ref().map(|wait| wait.kind)
        };
        world.until(late, |view| wait(view) == Some(WaitKind::Admission)).await;
        assert_eq!(world.status(late).await, Status::Pending);
        world.outside.open("a");
        world.outside.open("late");
        for id in [first, late] {
            world.until_status(id, Status::Completed).await;
        }
    }

    /// A worker that vanishes keeps its places until somebody has brought its execution to an end.
    async fn a_crash_frees_nothing(world: &World) {
        let crew = world.worker().await;
        let schema = world.save(one_at_a_time()).await;
        let first = world.begin(&crew.control, schema, "a").await;
        world.outside.until_called(1).await;
        crew.crash().await;
        let second = world.begin(&world.client(), schema, "b").await;
        let next = world.worker().await;
        world.outside.open("b");
        world.advance(5);
        world.assert_alive(&next.control).await;
        assert_eq!(world.status(second).await, Status::Pending);
        world.advance(30);
        world.outside.until_called(2).await;
        world.outside.open("a");
        for id in [first, second] {
            world.until_status(id, Status::Completed).await;
        }
    }

    async fn a_retry_and_a_fork_count_too(world: &World) {
        let crew = world.worker().await;
        let schema = world.save(one_at_a_time()).await;
        let stopped = world.begin(&crew.control, schema, "never").await;
        world.outside.until_called(1).await;
        crew.control.stop(stopped).await.unwrap();
        world.until_status(stopped, Status::Stopped).await;
        let holder = world.begin(&crew.control, schema, "a").await;
        world.outside.until_called(2).await;
        let retried = crew.control.retry(stopped, RetryRequest::default()).await.unwrap().id;
        let forked = crew.control.fork(stopped, ForkRequest { from_seq: 1, ..ForkRequest::default() }).await.unwrap().id;
        for id in [retried, forked] {
            assert_eq!(world.status(id).await, Status::Pending);
        }
        world.outside.open("a");
        world.outside.open("never");
        for id in [holder, retried, forked] {
            world.until_status(id, Status::Completed).await;
        }
    }

    async fn low_priority_keeps_its_share(world: &World) {
        let client = world.client();
        let schema = world.save(settings(chain(&[effect("work", json!({"value": "{{input.class}}"}))]), json!({}))).await;
        let quota = format!("schema:{}", world.schema_name(schema).await);
        set(&client, &quota, 0).await;
        for n in 0..120 {
            let class = if n < 10 { PriorityClass::Low } else { PriorityClass::High };
            let request = StartRequest { priority: Some(class), ..with_input(json!({"class": class.name()})) };
            world.begin_with(&client, schema, request).await;
        }
        let crew = world.worker().await;
        set(&crew.control, &quota, 1).await;
        let calls = world.outside.until_called(120).await;
        let low = |calls: &[crate::nodes::Call]| calls.iter().filter(|call| call.config["value"] == "low").count();
        // While both wait: one of low priority for every sixteen of high, never less than 4 %.
        assert_eq!(low(&calls[..102]), 6);
        for window in calls[..102].windows(25) {
            assert!(low(window) >= 1, "25 in a row of high priority");
        }
    }

    /// Ten thousand of one key do not keep a single one of another key waiting.
    async fn a_long_line_does_not_delay_another_key(world: &World) {
        let client = world.client();
        let key = "{{input.customer}}";
        let work = effect("work", json!({"value": "{{input.customer}}"}));
        let schema = world.save(settings(chain(&[work]), json!({"concurrency": {"limit": 1, "key": key}}))).await;
        let quota = format!("schema:{}", world.schema_name(schema).await);
        set(&client, &quota, 0).await;
        for customer in std::iter::repeat_n("long", 200).chain(["short"]) {
            world.begin_with(&client, schema, with_input(json!({"customer": customer}))).await;
        }
        let crew = world.worker().await;
        set(&crew.control, &quota, 1).await;
        let calls = world.outside.until_called(4).await;
        assert!(calls[..3].iter().any(|call| call.config["value"] == "short"), "{calls:?}");
    }

    async fn a_rate_spreads_the_starts(world: &World) {
        let crew = world.worker().await;
        let set = SetQuota { name: name("tenant:acme"), limit: 9, rate: Some("1/m".parse().unwrap()), source: QuotaSource::Config };
        crew.control.set_quota(set).await.unwrap();
        let schema = world.save(settings(chain(&[effect("work", json!({}))]), json!({"tenant": "acme"}))).await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(world.begin_with(&crew.control, schema, with_input(json!({}))).await);
        }
        let began = world.view(ids[0]).await.execution.head.created_at;
        world.until_status(ids[0], Status::Completed).await;
        let explained = world.explained(ids[1]).await;
        assert!(explained.sentence.contains("which admits 1/m, the next at"), "{}", explained.sentence);
        for (id, minute) in ids[1..].iter().zip(1..=2) {
            let due = began.plus(Duration::from_secs(60 * minute));
            world.clock.advance(due.since(world.clock.now()));
            world.until_status(*id, Status::Completed).await;
        }
        let calls = world.outside.calls();
        let times: Vec<u64> = calls.iter().map(|call| call.at.since(began).as_secs()).collect();
        assert_eq!(times, [0, 60, 120]);
    }

    async fn explain_names_the_quota_and_its_holder(world: &World) {
        let crew = world.worker().await;
        let key = "{{input.customer}}";
        let schema = world.save(flow(json!({"concurrency": {"limit": 1, "key": key}}))).await;
        let mut ids = Vec::new();
        for _ in 0..4 {
            let request = with_input(json!({"customer": "ACME", "gate": "a"}));
            ids.push(world.begin_with(&crew.control, schema, request).await);
        }
        world.outside.until_called(1).await;
        let quota = format!("key:{}/ACME", world.schema_name(schema).await);
        let explained = world.explained(ids[3]).await;
        assert_eq!(explained.reason, "waiting_for_quota");
        let since = world.view(ids[0]).await.execution.head.created_at;
        let sentence = format!("It waits for the quota {quota} (limit 1), held by {} since {since}; 2 others wait before it.", ids[0]);
        assert_eq!(explained.sentence, sentence);
        assert_eq!(explained.facts["quota"], quota.as_str());
        assert_eq!(explained.facts["waiting_before"], 2);
        assert_eq!(explained.facts["held_by"][0]["execution_id"], ids[0].to_string());
        assert_eq!(explained.facts["quotas"][0]["used"], 1);
        let report = doctor::examine(crew.control.runtime(), true).await.unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        world.outside.open("a");
        world.until_status(ids[3], Status::Completed).await;
    }

    /// Whoever was there before the quota counts, and what comes after waits until there is room.
    async fn a_new_quota_counts_whom_it_finds(world: &World) {
        let crew = world.worker().await;
        let schema = world.save(flow(json!({}))).await;
        let mut before = Vec::new();
        for gate in ["a", "b"] {
            before.push(world.begin(&crew.control, schema, gate).await);
        }
        world.outside.until_called(2).await;
        let quota = format!("schema:{}", world.schema_name(schema).await);
        assert_eq!(set(&crew.control, &quota, 2).await.used, 2);
        let late = world.begin(&crew.control, schema, "late").await;
        assert_eq!(world.status(late).await, Status::Pending);
        world.outside.open("late");
        world.outside.open("a");
        world.until_status(late, Status::Completed).await;
        world.outside.open("b");
        for id in before {
            world.until_status(id, Status::Completed).await;
        }
        assert_eq!(world.used(&quota).await, (0, 0));
        assert!(crew.control.remove_quota(name(&quota)).await.unwrap());
    }

    async fn the_configuration_is_made_so(world: &World) {
        let control = world.client();
        let from_config = |quota: &str, limit| SetQuota { name: name(quota), limit, rate: None, source: QuotaSource::Config };
        set(&control, "tenant:by-hand", 5).await;
        control.configure_quotas(vec![from_config("tenant:a", 1), from_config("schema:b", 2)]).await.unwrap();
        control.configure_quotas(vec![from_config("tenant:a", 3)]).await.unwrap();
        let all = world.store.quotas(true, None, 9).await.unwrap();
        let seen: Vec<_> = all.iter().map(|q| (q.name.as_str(), q.limit(), q.source)).collect();
        assert_eq!(seen, [("tenant:a", Some(3), Some(QuotaSource::Config)), ("tenant:by-hand", Some(5), Some(QuotaSource::Api))]);
    }
}

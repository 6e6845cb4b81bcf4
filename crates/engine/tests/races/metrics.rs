//! What is counted when things go wrong: each number has a story that makes it grow.

use std::sync::Arc;

use pawl_engine::Metrics;
use pawl_engine::control::StartRequest;
use pawl_engine::reaper::Reaper;
use pawl_kernel::execution::{Signal, Status};
use pawl_kernel::ports::queue::Message;
use pawl_kernel::ports::store::Dispatch;
use pawl_kernel::time::Clock;
use pawl_testkit::exposition::Exposition;
use serde_json::json;

use crate::clock::Gate;
use crate::stage::Trick;
use crate::world::{Crew, World, chain, effect, event, gated, nap, settings, with};

/// Reads the page after the worker has ended, so that all it did is counted.
async fn read(crew: Crew) -> Exposition {
    let metrics = metrics(&crew);
    crew.shut_down().await;
    Exposition::parse(&metrics.page().await).unwrap()
}

fn metrics(crew: &Crew) -> Arc<Metrics> {
    crew.control.runtime().metrics.clone()
}

both! {
    async fn commits_without_an_answer(world: &World) {
        let crew = world.worker().await;
        crew.stage.plan([Trick::AnswerLost, Trick::RequestLost, Trick::Unavailable]);
        let id = world.start(&crew.control, chain(&[effect("first", json!({}))])).await;
        world.clock.advance_to_sleeper(std::time::Duration::from_millis(20)).await;
        world.clock.advance_to_sleeper(std::time::Duration::from_millis(40)).await;
        world.until_status(id, Status::Completed).await;
        let page = read(crew).await;
        let found = |what| page.value("pawl_commits_unknown_total", &[("found", what)]);
        assert_eq!([found("committed"), found("absent"), found("lost")], [1.0, 1.0, 0.0]);
        assert_eq!(page.value("pawl_commit_retries_total", &[]), 2.0);
        assert_eq!(page.value("pawl_commit_duration_seconds_count", &[]), 2.0);
        let waited = page.value("pawl_commit_duration_seconds_sum", &[]);
        assert!((waited - 0.060).abs() < 1e-9, "{waited}");
        assert_eq!(page.value("pawl_commit_steps_sum", &[]), 3.0);
        assert_eq!(page.value("pawl_steps_total", &[("status", "success")]), 3.0);
    }

    async fn a_crash_and_who_comes_after(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[gated("only")])).await;
        world.outside.until_called(1).await;
        let first = metrics(&crew);
        crew.crash().await;
        let first = Exposition::parse(&first.page().await).unwrap();
        assert_eq!(first.value("pawl_executions_started_total", &[]), 1.0);
        for gone in ["pawl_workers", "pawl_worker_slots", "pawl_worker_slots_busy"] {
            assert_eq!(first.value(gone, &[]), 0.0, "{gone}");
        }
        let other = world.worker().await;
        world.advance(30);
        world.outside.until_called(2).await;
        let now = Exposition::parse(&metrics(&other).page().await).unwrap();
        assert_eq!(now.value("pawl_workers", &[]), 1.0);
        assert_eq!(now.value("pawl_worker_slots", &[]), 8.0);
        assert_eq!(now.value("pawl_worker_slots_busy", &[]), 1.0);
        world.outside.open("only");
        world.until_status(id, Status::Completed).await;
        let page = read(other).await;
        assert_eq!(page.value("pawl_leases_reaped_total", &[]), 1.0);
        assert_eq!(page.value("pawl_effects_interrupted_total", &[]), 1.0);
        assert_eq!(page.value("pawl_recoveries_total", &[]), 1.0);
        assert_eq!(page.value("pawl_executions_ended_total", &[("status", "completed")]), 1.0);
        // Thirty seconds passed since it was made.
        let age = page.value("pawl_execution_duration_seconds_sum", &[("status", "completed")]);
        assert!((age - 30.0).abs() < 0.001, "{age}");
    }

    async fn a_zombie_is_fenced(world: &World) {
        let zombie = world.worker_with(|options| options.slots = 1).await;
        let gate = Gate::shut();
        zombie.stage.plan([Trick::None, Trick::Wait(gate.clone())]);
        let work = with(effect("work", json!({"value": 1})), json!({"timeout": "10s"}));
        let id = world.start(&zombie.control, chain(&[work])).await;
        world.bell.until(async || (zombie.stage.commits_seen() == 2).then_some(())).await;
        let _other = world.worker().await;
        world.advance(30);
        world.until_status(id, Status::Completed).await;
        gate.open();
        let page = read(zombie).await;
        assert_eq!(page.value("pawl_commits_refused_total", &[("reason", "fenced")]), 1.0);
        assert_eq!(page.value("pawl_leases_lost_total", &[]), 1.0);
        assert_eq!(page.value("pawl_executions_ended_total", &[("status", "completed")]), 0.0);
    }

    async fn a_signal_in_between(world: &World) {
        let crew = world.worker().await;
        let now = world.clock.now();
        let signal = Signal {
            id: "s".into(),
            name: "go".into(),
            payload: "null".into(),
            consumed_seq: None,
            created_at: now,
        };
        crew.stage.whisper(signal, now);
        let id = world.start(&crew.control, chain(&[event("wait", "go")])).await;
        world.until_status(id, Status::Completed).await;
        let page = read(crew).await;
        assert_eq!(page.value("pawl_commits_refused_total", &[("reason", "inbox")]), 1.0);
        assert_eq!(page.value("pawl_node_duration_seconds_count", &[("node_type", "event")]), 1.0);
    }

    async fn a_late_timer_and_a_message_too_many(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[nap(10)])).await;
        let asleep = world.until(id, |view| view.execution.head.status == Status::Sleeping).await;
        let early = Dispatch::of(&asleep.execution.head, &asleep.state);
        let message = Message::new(early, world.clock.now());
        world.queue.publish(message.clone()).await.unwrap();
        world.advance(13);
        world.until_status(id, Status::Completed).await;
        world.queue.publish(message).await.unwrap();
        let metrics = metrics(&crew);
        let look = async || {
            let page = Exposition::parse(&metrics.page().await).unwrap();
            (page.value("pawl_messages_received_total", &[]) == 3.0).then_some(())
        };
        world.bell.until(look).await;
        // Who stops gives them back.
        let held = Exposition::parse(&metrics.page().await).unwrap();
        assert_eq!(held.value("pawl_timer_shards_held", &[]), 16.0);
        let page = read(crew).await;
        assert_eq!(page.value("pawl_timers_fired_total", &[]), 1.0);
        assert_eq!(page.value("pawl_timer_lateness_seconds_sum", &[]), 3.0);
        assert_eq!(page.value("pawl_timer_shards_held", &[]), 0.0);
        let skipped = |reason| page.value("pawl_messages_skipped_total", &[("reason", reason)]);
        assert_eq!((skipped("waiting") + skipped("duplicate"), skipped("ended")), (1.0, 1.0));
        assert_eq!(page.value("pawl_messages_published_total", &[]), 1.0);
        // One of them had waited while the clock was moved.
        assert_eq!(page.value("pawl_message_age_seconds_count", &[]), 3.0);
    }

    async fn a_line_before_a_quota(world: &World) {
        let crew = world.worker().await;
        let flow = settings(chain(&[gated("only")]), json!({"concurrency": {"limit": 1}}));
        let schema = world.save(flow).await;
        let mut ids = Vec::new();
        for _ in 0..2 {
            let request = StartRequest::default();
            ids.push(crew.control.start_version(schema, 1, request).await.unwrap().id);
        }
        world.outside.until_called(1).await;
        world.outside.open("only");
        for id in ids {
            world.until_status(id, Status::Completed).await;
        }
        let page = read(crew).await;
        assert_eq!(page.value("pawl_executions_started_total", &[]), 2.0);
        assert_eq!(page.value("pawl_scheduler_lined_up_total", &[]), 1.0);
        assert_eq!(page.value("pawl_scheduler_admitted_total", &[]), 1.0);
        assert_eq!(page.value("pawl_scheduler_waiting", &[]), 0.0);
    }

    async fn a_message_that_was_lost(world: &World) {
        let client = world.client();
        let _id = world.start(&client, chain(&[])).await;
        let mut reaper = Reaper::new(client.runtime());
        world.advance(11);
        assert_eq!(reaper.recover().await.unwrap().swept, 1);
        let page = Exposition::parse(&client.runtime().metrics.page().await).unwrap();
        assert_eq!(page.value("pawl_executions_started_total", &[]), 1.0);
        assert_eq!(page.value("pawl_messages_published_total", &[]), 2.0);
        assert_eq!(page.value("pawl_messages_swept_total", &[]), 1.0);
    }
}

//! Old executions go, and nothing that is needed goes with them.

use std::time::Duration;

use pawl_engine::control::{ControlError, ForkRequest, RetryRequest, StartRequest};
use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::retention::{Cutoff, RemoveRequest};
use pawl_kernel::ports::store::ExecutionFilter;
use pawl_kernel::time::Clock;
use serde_json::{Value, json};

use crate::world::{World, chain, effect, nap, settings};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: u64 = 86_400;

fn flow() -> Value {
    chain(&[
        json!({"id": "note", "type": "note", "config": {"value": "first"}}),
        effect(
            "tell",
            json!({"value": "{{variables.note}}", "breaks": "not now"}),
        ),
    ])
}

/// Whatever ended an hour ago may go.
fn removal(world: &World, id: ExecutionId) -> RemoveRequest {
    RemoveRequest {
        ids: vec![id],
        cutoff: Cutoff::new(world.clock.now(), HOUR),
        all_gone_before: None,
    }
}

async fn exists(world: &World, id: ExecutionId) -> bool {
    world.store.execution(id).await.unwrap().is_some()
}

async fn count(world: &World) -> u64 {
    let all = world.store.count_executions(ExecutionFilter::default());
    all.await.unwrap()
}

both! {
    /// D61: the origin goes after it was looked at, and after its last step was read. A retry from half of a history
    /// would run with half of a context.
    async fn a_retry_whose_origin_is_removed_meanwhile_is_refused(world: &World) {
        let crew = world.worker().await;
        for verb in ["execution", "steps"] {
            let id = world.start(&crew.control, flow()).await;
            world.until_status(id, Status::Failed).await;
            world.advance(2 * 3_600);
            crew.stage.remove_after(verb, removal(world, id));
            let before = count(world).await;
            let refused = crew.control.retry(id, RetryRequest::default()).await;
            assert!(matches!(refused, Err(ControlError::NotFound(_))), "after {verb}: {:?}", refused.err());
            assert_eq!(count(world).await, before - 1, "nothing new was started");
        }
    }

    async fn a_fork_whose_origin_is_removed_meanwhile_is_refused(world: &World) {
        let crew = world.worker().await;
        for verb in ["execution", "steps"] {
            let id = world.start(&crew.control, flow()).await;
            world.until_status(id, Status::Failed).await;
            world.advance(2 * 3_600);
            crew.stage.remove_after(verb, removal(world, id));
            let request = ForkRequest { from_seq: 1, ..ForkRequest::default() };
            let refused = crew.control.fork(id, request).await;
            assert!(matches!(refused, Err(ControlError::NotFound(_))), "after {verb}: {:?}", refused.err());
        }
    }

    /// What it needs of its origin it has with it.
    async fn a_retry_goes_on_without_its_origin(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, flow()).await;
        world.until_status(id, Status::Failed).await;
        world.outside.heal();
        let request = RetryRequest { debug_mode: true, ..RetryRequest::default() };
        let retried = crew.control.retry(id, request).await.unwrap().id;
        world.advance(2 * 3_600);
        let removed = world.store.remove(removal(world, id)).await.unwrap();
        assert_eq!(removed.executions, 1);
        world.until_status(retried, Status::WaitingDebug).await;
        let mode = pawl_kernel::lifecycle::ContinueMode::Run;
        let variables = serde_json::Map::new();
        crew.control.continue_debug(retried, mode, variables, None).await.unwrap();
        let execution = world.until_status(retried, Status::Completed).await;
        assert_eq!(execution.record.retry_of, Some(id));
        assert_eq!(world.outside.calls()[1].config["value"], "first");
    }

    async fn only_what_ended_goes_however_old_the_rest_is(world: &World) {
        let crew = world.worker().await;
        let ended = world.start(&crew.control, chain(&[])).await;
        world.until_status(ended, Status::Completed).await;
        let failed = world.start(&crew.control, flow()).await;
        world.until_status(failed, Status::Failed).await;
        let asleep = world.start(&crew.control, chain(&[nap(90 * DAY)])).await;
        world.until_status(asleep, Status::Sleeping).await;
        let paused = world.debug(&crew.control, chain(&[])).await;
        world.until_status(paused, Status::WaitingDebug).await;
        let mut collector = world.collector(Some(HOUR));
        assert_eq!(collector.remove_some().await.unwrap().removed.executions, 0);
        world.advance(30 * DAY);
        assert_eq!(collector.preview().await.unwrap().removed.executions, 2);
        assert!(exists(world, ended).await, "a preview removes nothing");
        let collected = collector.remove_some().await.unwrap();
        assert_eq!(collected.removed.executions, 2);
        assert!(!collected.has_more());
        for (id, stays) in [(ended, false), (failed, false), (asleep, true), (paused, true)] {
            assert_eq!(exists(world, id).await, stays);
        }
        world.advance(60 * DAY);
        world.until_status(asleep, Status::Completed).await;
    }

    async fn a_schema_knows_better_than_the_configuration(world: &World) {
        let crew = world.worker().await;
        let mut ids = Vec::new();
        for retention in ["5m", "forever", "30d"] {
            let flow = settings(chain(&[]), json!({"retention": retention}));
            ids.push(world.start(&crew.control, flow).await);
        }
        ids.push(world.start(&crew.control, chain(&[])).await);
        for id in &ids {
            world.until_status(*id, Status::Completed).await;
        }
        let mut collector = world.collector(Some(HOUR));
        for (seconds, left) in [(301, 3), (3_600, 2), (29 * DAY, 2), (DAY, 1), (3_000 * DAY, 1)] {
            world.advance(seconds);
            collector.remove_some().await.unwrap();
            assert_eq!(count(world).await, left, "after {seconds} s");
        }
        assert!(exists(world, ids[1]).await, "for ever");
    }

    async fn without_a_word_everything_is_kept(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[])).await;
        world.until_status(id, Status::Completed).await;
        world.advance(10_000 * DAY);
        assert_eq!(world.collector(None).remove_some().await.unwrap().removed.executions, 0);
        assert!(exists(world, id).await);
    }

    async fn a_key_is_answered_for_a_day(world: &World) {
        let crew = world.worker().await;
        let request = StartRequest { idempotency_key: Some("order-7".into()), ..StartRequest::default() };
        let id = world.start_with(&crew.control, chain(&[]), request).await;
        world.until_status(id, Status::Completed).await;
        let mut collector = world.collector(Some(Duration::ZERO));
        world.advance(DAY);
        assert_eq!(collector.remove_some().await.unwrap().removed.executions, 0);
        world.advance(1);
        assert_eq!(collector.remove_some().await.unwrap().removed.executions, 1);
    }

    /// The worker itself looks after it: soon after its start, and then every hour.
    async fn a_worker_collects_by_itself(world: &World) {
        let crew = world.worker_with(|options| options.retention = Some(HOUR)).await;
        for _ in 0..2 {
            let id = world.start(&crew.control, chain(&[])).await;
            world.until_status(id, Status::Completed).await;
            world.bell.until(async || {
                world.advance(600);
                (!exists(world, id).await).then_some(())
            })
            .await;
        }
    }
}

//! Timers: late, twice, never early; and the deadline that no sleep outlives.

use std::time::Duration;

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::time::Clock;
use pawl_kernel::transition::WaitTimer;
use serde_json::json;
use uuid::Uuid;

use crate::world::{World, chain, code, effect, event, gated, nap, settings, with};

/// A second timer row for a wait, due so many seconds from now.
async fn add_timer(world: &World, id: ExecutionId, wait_id: Uuid, seconds: u64) {
    let timer = WaitTimer {
        execution_id: id,
        wait_id,
        at: world.clock.now().plus(Duration::from_secs(seconds)),
    };
    world
        .store
        .register_timers(vec![timer], world.clock.now())
        .await
        .unwrap();
}

async fn until_timer_gone(world: &World, id: ExecutionId, wait_id: Uuid) {
    let look = async || {
        let shards = world.store.timer_shards(vec![(id, wait_id)]).await.unwrap();
        shards[0].is_none().then_some(())
    };
    world.bell.until(look).await;
}

both! {
    /// The row of the first retry's timer turns up again while the second retry waits.
    async fn an_old_retry_timer_does_nothing(world: &World) {
        let crew = world.worker().await;
        let shaky = with(
            effect("shaky", json!({"fails": 2})),
            json!({"retry": {"max_attempts": 3, "delay": "10s", "backoff": "fixed", "jitter": false}}),
        );
        let id = world.start(&crew.control, chain(&[shaky])).await;
        world.until_status(id, Status::Sleeping).await;
        let first = world.state(id).await.wait.unwrap();
        world.advance(10);
        let asleep = |view: &pawl_kernel::ports::store::ExecutionView| {
            view.state.position.attempt == 2 && view.state.wait.is_some()
        };
        let second = world.until(id, asleep).await.state.wait.unwrap();
        assert_ne!(first.id, second.id);
        add_timer(world, id, first.id, 1).await;
        world.advance(5);
        until_timer_gone(world, id, first.id).await;
        assert_eq!(world.state(id).await.wait, Some(second));
        assert_eq!(world.outside.calls().len(), 2);
        world.advance(5);
        world.until_status(id, Status::Completed).await;
        let attempts: Vec<u32> = world.outside.calls().iter().map(|call| call.attempt).collect();
        assert_eq!(attempts, [1, 2, 3]);
    }

    async fn fired_twice_is_once(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[nap(10), event("wait", "go")]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Sleeping).await;
        let wait = world.state(id).await.wait.unwrap();
        world.advance(10);
        world.until_status(id, Status::Waiting).await;
        add_timer(world, id, wait.id, 1).await;
        world.advance(5);
        until_timer_gone(world, id, wait.id).await;
        assert_eq!(world.view(id).await.execution.head.status, Status::Waiting);
        assert_eq!(world.path(id).await, "start nap");
    }

    async fn is_never_early(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[nap(10)])).await;
        world.until_status(id, Status::Sleeping).await;
        world.clock.advance(Duration::from_micros(9_998_999));
        world.until_timers_fired(&crew.control).await;
        assert_eq!(world.view(id).await.execution.head.status, Status::Sleeping);
        world.clock.advance(Duration::from_micros(1));
        world.until_status(id, Status::Completed).await;
        let step = &world.steps(id).await[1];
        assert_eq!(step.finished_at.since(step.started_at), Duration::from_secs(10));
    }

    /// A timer row that is due before its wait is: the row is in the wrong, and the node sleeps on.
    async fn that_fires_too_soon_finds_it_not_due(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[nap(10)])).await;
        world.until_status(id, Status::Sleeping).await;
        let wait = world.state(id).await.wait.unwrap();
        add_timer(world, id, wait.id, 1).await;
        world.advance(5);
        world.until_timers_fired(&crew.control).await;
        assert_eq!(world.path(id).await, "start");
        assert_eq!(world.view(id).await.execution.head.status, Status::Sleeping);
    }

    async fn a_deadline_ends_a_sleep(world: &World) {
        let crew = world.worker().await;
        let flow = settings(chain(&[nap(3600)]), json!({"max_duration": "10s"}));
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Sleeping).await;
        let state = world.state(id).await;
        assert_eq!(state.wait.unwrap().wake_at, Some(state.deadline_at));
        world.advance(10);
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "EXECUTION_TIMEOUT");
        assert_eq!(execution.head.finished_at, Some(state.deadline_at));
        assert_eq!(world.path(id).await, "start");
    }

    async fn a_deadline_ends_an_event_without_timeout(world: &World) {
        let crew = world.worker().await;
        let flow = settings(chain(&[event("wait", "go")]), json!({"max_duration": "10s"}));
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Waiting).await;
        world.advance(10);
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "EXECUTION_TIMEOUT");
    }

    async fn a_deadline_that_passed_during_a_pause(world: &World) {
        let crew = world.worker().await;
        let flow = settings(chain(&[gated("first"), effect("second", json!({}))]), json!({"max_duration": "20s"}));
        let id = world.start(&crew.control, flow).await;
        world.outside.until_called(1).await;
        crew.control.pause(id).await.unwrap();
        world.outside.open("first");
        world.until_status(id, Status::Paused).await;
        world.advance(20);
        crew.control.resume(id).await.unwrap();
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "EXECUTION_TIMEOUT");
        assert_eq!(world.outside.called(), ["first"]);
    }

    /// Nothing was running when its time came: it fires at the next start.
    async fn that_was_due_while_nobody_ran(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[nap(10)])).await;
        world.until_status(id, Status::Sleeping).await;
        crew.crash().await;
        world.advance(3600);
        let _other = world.worker().await;
        world.until_status(id, Status::Completed).await;
    }
}

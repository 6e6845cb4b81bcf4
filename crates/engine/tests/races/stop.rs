//! Stop against everything an execution can be doing.

use pawl_engine::control::ControlError;
use pawl_kernel::execution::{Execution, Status};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::hints::Hint;
use serde_json::json;

use crate::clock::Gate;
use crate::stage::Trick;
use crate::world::{World, chain, code, effect, event, gated, nap, parsed, with};

/// What every stopped execution looks like.
async fn assert_stopped(world: &World, id: ExecutionId) -> Execution {
    let execution = world.until_status(id, Status::Stopped).await;
    let state = world.state(id).await;
    assert_eq!(code(&execution.record.error), "CANCELLED");
    assert_eq!(execution.record.output, None);
    assert!(state.wait.is_none() && state.hold.is_none());
    assert!(state.lease.is_none() && state.control.is_none());
    assert!(execution.head.finished_at.is_some());
    execution
}

both! {
    async fn while_sleeping(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[nap(10)])).await;
        world.until_status(id, Status::Sleeping).await;
        assert_eq!(crew.control.stop(id).await.unwrap(), Status::Stopped);
        assert_stopped(world, id).await;
        world.advance(10);
        world.until_timers_fired(&crew.control).await;
        assert_stopped(world, id).await;
        assert_eq!(world.path(id).await, "start");
    }

    async fn while_waiting_for_an_event(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[event("wait", "go")])).await;
        world.until_status(id, Status::Waiting).await;
        assert_eq!(crew.control.stop(id).await.unwrap(), Status::Stopped);
        assert_stopped(world, id).await;
        let late = crew.control.signal(id, "go".into(), &json!(1), None).await;
        assert!(matches!(late, Err(ControlError::Refused(_))), "{late:?}");
    }

    async fn while_paused(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[nap(10)])).await;
        world.until_status(id, Status::Sleeping).await;
        crew.control.pause(id).await.unwrap();
        assert_eq!(crew.control.stop(id).await.unwrap(), Status::Stopped);
        assert_stopped(world, id).await;
    }

    async fn while_in_the_debugger(world: &World) {
        let crew = world.worker().await;
        let id = world.debug(&crew.control, chain(&[])).await;
        world.until_status(id, Status::WaitingDebug).await;
        assert_eq!(crew.control.stop(id).await.unwrap(), Status::Stopped);
        assert_stopped(world, id).await;
        assert_eq!(world.path(id).await, "start");
    }

    /// No time passes at all between the stop and the end: the hint is enough.
    async fn in_mid_effect(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[gated("first"), effect("second", json!({}))]);
        let id = world.start(&crew.control, flow).await;
        world.outside.until_called(1).await;
        assert_eq!(crew.control.stop(id).await.unwrap(), Status::Running);
        assert_stopped(world, id).await;
        assert_eq!(world.outside.dropped(), 1);
        assert_eq!(world.path(id).await, "start first!");
        assert_eq!(code(&world.steps(id).await[1].error), "CANCELLED");
        assert_eq!(world.outside.called(), ["first"]);
    }

    /// A hint may come from somebody whose stop was lost with a failover, or from anybody at the broker.
    async fn a_hint_alone_stops_nothing(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[gated("only")])).await;
        world.outside.until_called(1).await;
        let before = crew.stage.beats().len();
        crew.handle.hear(&Hint::Stop { execution_id: id });
        let asked = async || (crew.stage.beats().len() > before).then_some(());
        world.bell.until(asked).await;
        world.outside.open("only");
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.path(id).await, "start only finish");
        assert_eq!(world.outside.dropped(), 0);
    }

    /// From another process there is no hint; the next heartbeat brings the news.
    async fn in_mid_effect_without_a_hint(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[gated("only")])).await;
        world.outside.until_called(1).await;
        world.client().stop(id).await.unwrap();
        world.advance(10);
        assert_stopped(world, id).await;
        assert_eq!(world.path(id).await, "start only!");
    }

    /// The effect finishes before the news arrives: its step stays what it is, and nothing follows.
    async fn just_as_the_effect_finishes(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[gated("first"), effect("second", json!({}))]);
        let id = world.start(&crew.control, flow).await;
        world.outside.until_called(1).await;
        world.client().stop(id).await.unwrap();
        world.outside.open("first");
        assert_stopped(world, id).await;
        assert_eq!(world.path(id).await, "start first");
        assert_eq!(world.outside.called(), ["first"]);
    }

    async fn while_the_commit_before_an_effect_is_under_way(world: &World) {
        let crew = world.worker().await;
        let gate = Gate::shut();
        crew.stage.plan([Trick::Wait(gate.clone())]);
        let id = world.start(&crew.control, chain(&[effect("only", json!({}))])).await;
        let sent = async || (crew.stage.commits_seen() == 1).then_some(());
        world.bell.until(sent).await;
        crew.control.stop(id).await.unwrap();
        gate.open();
        assert_stopped(world, id).await;
        assert!(world.outside.calls().is_empty());
    }

    /// Whoever finishes first has finished: the commit that ends the execution beats the stop.
    async fn while_the_last_commit_is_under_way(world: &World) {
        let crew = world.worker().await;
        let gate = Gate::shut();
        crew.stage.plan([Trick::Wait(gate.clone())]);
        let id = world.start(&crew.control, chain(&[])).await;
        let sent = async || (crew.stage.commits_seen() == 1).then_some(());
        world.bell.until(sent).await;
        crew.control.stop(id).await.unwrap();
        gate.open();
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.path(id).await, "start finish");
    }

    async fn during_a_short_retry_delay(world: &World) {
        let crew = world.worker().await;
        let shaky = with(
            effect("shaky", json!({"fails": 1})),
            json!({"retry": {"max_attempts": 3, "delay": "1s", "jitter": false}}),
        );
        let id = world.start(&crew.control, chain(&[shaky])).await;
        world.until(id, |view| view.state.position.not_before.is_some()).await;
        crew.control.stop(id).await.unwrap();
        assert_stopped(world, id).await;
        assert_eq!(world.outside.calls().len(), 1);
    }

    async fn between_retries(world: &World) {
        let crew = world.worker().await;
        let shaky = with(
            effect("shaky", json!({"fails": 1})),
            json!({"retry": {"max_attempts": 3, "delay": "1m", "jitter": false}}),
        );
        let id = world.start(&crew.control, chain(&[shaky])).await;
        world.until_status(id, Status::Sleeping).await;
        crew.control.stop(id).await.unwrap();
        assert_stopped(world, id).await;
        world.advance(60);
        world.until_timers_fired(&crew.control).await;
        assert_eq!(world.outside.calls().len(), 1);
    }

    async fn before_the_first_claim(world: &World) {
        let client = world.client();
        let id = world.start(&client, chain(&[effect("only", json!({}))])).await;
        assert_eq!(client.stop(id).await.unwrap(), Status::Stopped);
        let crew = world.worker().await;
        world.assert_alive(&crew.control).await;
        assert_stopped(world, id).await;
        assert_eq!(world.path(id).await, "");
    }

    async fn twice_is_once(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[nap(10)])).await;
        world.until_status(id, Status::Sleeping).await;
        crew.control.stop(id).await.unwrap();
        let before = world.view(id).await;
        assert_eq!(crew.control.stop(id).await.unwrap(), Status::Stopped);
        assert_eq!(world.view(id).await, before);
    }

    async fn twice_in_mid_effect_is_once(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[gated("only")])).await;
        world.outside.until_called(1).await;
        let (one, other) = tokio::join!(crew.control.stop(id), crew.control.stop(id));
        assert!(one.is_ok() && other.is_ok());
        assert_stopped(world, id).await;
        assert_eq!(world.path(id).await, "start only!");
    }

    async fn of_a_completed_one_is_refused(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[])).await;
        world.until_status(id, Status::Completed).await;
        let before = world.view(id).await;
        let answer = crew.control.stop(id).await;
        assert!(matches!(answer, Err(ControlError::Refused(_))), "{answer:?}");
        assert_eq!(world.view(id).await, before);
    }

    async fn pause_and_stop_in_mid_effect_is_a_stop(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[gated("only")])).await;
        world.outside.until_called(1).await;
        crew.control.pause(id).await.unwrap();
        crew.control.stop(id).await.unwrap();
        assert_stopped(world, id).await;
    }

    /// The holder is dead: the reaper applies what it did not.
    async fn whose_worker_died(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[gated("only")])).await;
        world.outside.until_called(1).await;
        crew.crash().await;
        let other = world.worker().await;
        assert_eq!(other.control.stop(id).await.unwrap(), Status::Running);
        world.advance(30);
        let stopped = assert_stopped(world, id).await;
        assert_eq!(world.path(id).await, "start");
        assert_eq!(parsed(&stopped.record.error)["retryable"], false);
    }
}

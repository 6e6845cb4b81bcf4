//! Pause and resume against sleeps, effects and commits under way.

use pawl_engine::control::ControlError;
use pawl_kernel::execution::Status;

use crate::clock::Gate;
use crate::stage::Trick;
use crate::world::{World, chain, effect, gated, nap};
use serde_json::json;

both! {
    async fn a_timer_fires_while_paused(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[nap(10), effect("after", json!({}))]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Sleeping).await;
        assert_eq!(crew.control.pause(id).await.unwrap(), Status::Paused);
        world.advance(10);
        let view = world.until(id, |view| view.state.wait.is_none()).await;
        assert_eq!(view.execution.head.status, Status::Paused);
        assert_eq!(world.path(id).await, "start");
        crew.control.resume(id).await.unwrap();
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.path(id).await, "start nap after finish");
    }

    async fn resumed_before_the_timer_it_sleeps_on(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[nap(10)])).await;
        world.until_status(id, Status::Sleeping).await;
        crew.control.pause(id).await.unwrap();
        assert_eq!(crew.control.resume(id).await.unwrap(), Status::Sleeping);
        world.advance(10);
        world.until_status(id, Status::Completed).await;
    }

    async fn while_an_effect_runs(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[gated("first"), effect("second", json!({}))]);
        let id = world.start(&crew.control, flow).await;
        world.outside.until_called(1).await;
        assert_eq!(crew.control.pause(id).await.unwrap(), Status::Running);
        world.outside.open("first");
        world.until_status(id, Status::Paused).await;
        let state = world.state(id).await;
        assert_eq!(world.path(id).await, "start first");
        assert_eq!(&*state.position.node_id, "second");
        assert!(state.lease.is_none() && !state.interrupted);
        assert_eq!(world.outside.called(), ["first"]);
        crew.control.resume(id).await.unwrap();
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.outside.called(), ["first", "second"]);
    }

    async fn while_the_commit_before_an_effect_is_under_way(world: &World) {
        let crew = world.worker().await;
        let gate = Gate::shut();
        crew.stage.plan([Trick::Wait(gate.clone())]);
        let id = world.start(&crew.control, chain(&[effect("only", json!({}))])).await;
        let sent = async || (crew.stage.commits_seen() == 1).then_some(());
        world.bell.until(sent).await;
        crew.control.pause(id).await.unwrap();
        gate.open();
        world.until_status(id, Status::Paused).await;
        assert_eq!(world.path(id).await, "start");
        assert!(world.outside.calls().is_empty(), "the pause was answered before the effect");
        crew.control.resume(id).await.unwrap();
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.outside.called(), ["only"]);
    }

    async fn while_the_commit_of_an_effect_is_under_way(world: &World) {
        let crew = world.worker().await;
        let gate = Gate::shut();
        crew.stage.plan([Trick::None, Trick::Wait(gate.clone())]);
        let flow = chain(&[effect("first", json!({})), effect("second", json!({}))]);
        let id = world.start(&crew.control, flow).await;
        let sent = async || (crew.stage.commits_seen() == 2).then_some(());
        world.bell.until(sent).await;
        crew.control.pause(id).await.unwrap();
        gate.open();
        world.until_status(id, Status::Paused).await;
        assert_eq!(world.path(id).await, "start first");
        assert_eq!(world.outside.called(), ["first"]);
        crew.control.resume(id).await.unwrap();
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.outside.called(), ["first", "second"]);
    }

    async fn paused_and_resumed_within_one_effect(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[gated("only")])).await;
        world.outside.until_called(1).await;
        crew.control.pause(id).await.unwrap();
        crew.control.resume(id).await.unwrap();
        world.outside.open("only");
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.outside.called(), ["only"]);
    }

    async fn twice_is_once(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[nap(10)])).await;
        world.until_status(id, Status::Sleeping).await;
        crew.control.pause(id).await.unwrap();
        let version = world.state(id).await.version;
        assert_eq!(crew.control.pause(id).await.unwrap(), Status::Paused);
        assert_eq!(world.state(id).await.version, version);
        crew.control.resume(id).await.unwrap();
        let again = crew.control.resume(id).await;
        assert!(matches!(again, Err(ControlError::Refused(_))), "{again:?}");
    }

    async fn before_the_first_claim(world: &World) {
        let client = world.client();
        let id = world.start(&client, chain(&[effect("only", json!({}))])).await;
        assert_eq!(client.pause(id).await.unwrap(), Status::Paused);
        let crew = world.worker().await;
        world.assert_alive(&crew.control).await;
        assert_eq!(world.path(id).await, "");
        client.resume(id).await.unwrap();
        world.until_status(id, Status::Completed).await;
    }

    async fn of_an_ended_one_is_refused(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[])).await;
        world.until_status(id, Status::Completed).await;
        for answer in [crew.control.pause(id).await, crew.control.resume(id).await] {
            assert!(matches!(answer, Err(ControlError::Refused(_))), "{answer:?}");
        }
    }
}

//! Signals before, during, after and in between.

use pawl_engine::control::{Control, ControlError};
use pawl_kernel::execution::{Signal, Status};
use pawl_kernel::id::ExecutionId;
use pawl_kernel::time::Clock;
use serde_json::{Value, json};

use crate::world::{World, chain, chain_with, code, effect, event, gated, nap, parsed, with};

async fn send(control: &Control, id: ExecutionId, name: &str, signal_id: &str) {
    let payload = json!({"from": signal_id});
    control
        .signal(id, name.into(), &payload, Some(signal_id.into()))
        .await
        .unwrap();
}

/// The ids of the signals that the steps at these nodes took.
async fn taken(world: &World, id: ExecutionId, nodes: &[&str]) -> Vec<Value> {
    let steps = world.steps(id).await;
    steps
        .iter()
        .filter(|step| nodes.contains(&&*step.node_id))
        .map(|step| parsed(&step.output)["id"].clone())
        .collect()
}

/// Open signals, by id.
async fn open(world: &World, id: ExecutionId) -> Vec<String> {
    let (_, signals) = world.store.open_signals(id).await.unwrap();
    signals.into_iter().map(|signal| signal.id).collect()
}

both! {
    async fn before_its_wait(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[nap(10), event("wait", "go")]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Sleeping).await;
        send(&crew.control, id, "go", "early").await;
        assert_eq!(world.view(id).await.execution.head.status, Status::Sleeping);
        world.advance(10);
        world.until_status(id, Status::Completed).await;
        assert_eq!(taken(world, id, &["wait"]).await, ["early"]);
        let output = parsed(&world.steps(id).await[2].output);
        assert_eq!(output["payload"], json!({"from": "early"}));
    }

    async fn before_the_first_claim(world: &World) {
        let client = world.client();
        let id = world.start(&client, chain(&[event("wait", "go")])).await;
        send(&client, id, "go", "early").await;
        let _crew = world.worker().await;
        world.until_status(id, Status::Completed).await;
        assert_eq!(taken(world, id, &["wait"]).await, ["early"]);
    }

    async fn during_its_wait(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[event("wait", "go")])).await;
        world.until_status(id, Status::Waiting).await;
        send(&crew.control, id, "go", "now").await;
        world.until_status(id, Status::Completed).await;
        assert_eq!(taken(world, id, &["wait"]).await, ["now"]);
        assert_eq!(open(world, id).await, [""; 0]);
    }

    /// It arrives after the worker has looked and before the wait is committed.
    async fn between_look_and_commit(world: &World) {
        let crew = world.worker().await;
        let signal = Signal {
            id: "slipped-in".into(),
            name: "go".into(),
            payload: "{}".into(),
            consumed_seq: None,
            created_at: world.clock.now(),
        };
        crew.stage.whisper(signal, world.clock.now());
        let id = world.start(&crew.control, chain(&[event("wait", "go")])).await;
        world.until_status(id, Status::Completed).await;
        assert_eq!(taken(world, id, &["wait"]).await, ["slipped-in"]);
    }

    async fn during_the_effect_before_its_wait(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[gated("work"), event("wait", "go")]);
        let id = world.start(&crew.control, flow).await;
        world.outside.until_called(1).await;
        send(&crew.control, id, "go", "meanwhile").await;
        world.outside.open("work");
        world.until_status(id, Status::Completed).await;
        assert_eq!(taken(world, id, &["wait"]).await, ["meanwhile"]);
    }

    async fn after_the_end_is_refused(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[])).await;
        world.until_status(id, Status::Completed).await;
        let late = crew.control.signal(id, "go".into(), &json!(1), None).await;
        assert!(matches!(late, Err(ControlError::Refused(_))), "{late:?}");
    }

    /// Too late for the wait that timed out, in time for the next one.
    async fn after_its_wait_timed_out(world: &World) {
        let crew = world.worker().await;
        let first = json!({"id": "first", "type": "event", "config": {"name": "go", "seconds": 10}});
        let flow = chain_with(&[first, nap(5), event("second", "go")], &["first:timeout nap"]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Waiting).await;
        world.advance(10);
        world.until_status(id, Status::Sleeping).await;
        send(&crew.control, id, "go", "late").await;
        world.advance(5);
        world.until_status(id, Status::Completed).await;
        assert_eq!(taken(world, id, &["first", "second"]).await, [json!(null), json!("late")]);
        assert_eq!(parsed(&world.steps(id).await[1].output)["timed_out"], true);
    }

    /// What comes after the wait counts on the event: without an edge from `timeout` it is never reached.
    async fn that_never_comes_fails_the_execution(world: &World) {
        let crew = world.worker().await;
        let wait = json!({"id": "wait", "type": "event", "config": {"name": "go", "seconds": 10}});
        for fields in [json!({}), json!({"on_error": "continue"})] {
            let flow = chain(&[with(wait.clone(), fields), effect("ship", json!({"value": 1}))]);
            let id = world.start(&crew.control, flow).await;
            world.until_status(id, Status::Waiting).await;
            world.advance(10);
            let execution = world.until_status(id, Status::Failed).await;
            assert_eq!(code(&execution.record.error), "EVENT_TIMEOUT");
            assert_eq!(parsed(&execution.record.error)["node_id"], "wait");
            assert_eq!(world.path(id).await, "start wait!");
        }
        assert!(world.outside.calls().is_empty());
        let flow = chain_with(&[wait, effect("ship", json!({"value": 1}))], &["wait:error finish"]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Waiting).await;
        world.advance(10);
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.path(id).await, "start wait! finish");
    }

    /// The timer has fired, and the signal is there before anybody looks: nothing is lost, so it is taken.
    async fn together_with_the_timeout(world: &World) {
        let crew = world.worker().await;
        let wait = json!({"id": "wait", "type": "event", "config": {"name": "go", "seconds": 10}});
        let id = world.start(&crew.control, chain(&[wait])).await;
        world.until_status(id, Status::Waiting).await;
        crew.control.pause(id).await.unwrap();
        world.advance(10);
        world.until(id, |view| view.state.wait.is_none()).await;
        send(&crew.control, id, "go", "just").await;
        crew.control.resume(id).await.unwrap();
        world.until_status(id, Status::Completed).await;
        assert_eq!(taken(world, id, &["wait"]).await, ["just"]);
    }

    async fn the_same_id_twice_counts_once(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[event("first", "go"), event("second", "go")]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Waiting).await;
        tokio::join!(
            send(&crew.control, id, "go", "one"),
            send(&crew.control, id, "go", "one")
        );
        let waits = |view: &pawl_kernel::ports::store::ExecutionView| {
            view.execution.head.status == Status::Waiting && view.state.seq == 2
        };
        world.until(id, waits).await;
        send(&crew.control, id, "go", "one").await;
        assert_eq!(world.view(id).await.execution.head.status, Status::Waiting);
        send(&crew.control, id, "go", "two").await;
        world.until_status(id, Status::Completed).await;
        assert_eq!(taken(world, id, &["first", "second"]).await, ["one", "two"]);
    }

    async fn another_name_wakes_nobody(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[event("first", "a"), event("second", "b")]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Waiting).await;
        send(&crew.control, id, "b", "for-second").await;
        let view = world.view(id).await;
        assert_eq!((view.execution.head.status, view.state.seq), (Status::Waiting, 1));
        send(&crew.control, id, "a", "for-first").await;
        world.until_status(id, Status::Completed).await;
        assert_eq!(
            taken(world, id, &["first", "second"]).await,
            ["for-first", "for-second"]
        );
    }

    async fn are_taken_in_the_order_of_arrival(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[nap(10), event("first", "go"), event("second", "go")]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Sleeping).await;
        for name in ["z", "a", "m"] {
            send(&crew.control, id, "go", name).await;
        }
        world.advance(10);
        world.until_status(id, Status::Completed).await;
        assert_eq!(taken(world, id, &["first", "second"]).await, ["z", "a"]);
        assert_eq!(open(world, id).await, ["m"]);
    }

    async fn while_paused_it_is_kept(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[event("wait", "go")])).await;
        world.until_status(id, Status::Waiting).await;
        crew.control.pause(id).await.unwrap();
        send(&crew.control, id, "go", "kept").await;
        assert_eq!(world.view(id).await.execution.head.status, Status::Paused);
        crew.control.resume(id).await.unwrap();
        world.until_status(id, Status::Completed).await;
        assert_eq!(taken(world, id, &["wait"]).await, ["kept"]);
    }

    /// A crash after the signal was read and before its step was committed gives it back.
    async fn is_not_lost_by_a_crash(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[event("wait", "go"), with(gated("work"), json!({"timeout": "1h"}))]);
        let id = world.start(&crew.control, flow).await;
        world.until_status(id, Status::Waiting).await;
        let gate = crate::clock::Gate::shut();
        crew.stage.plan([crate::stage::Trick::Wait(gate)]);
        let before = crew.stage.commits_seen();
        send(&crew.control, id, "go", "once").await;
        let sent = async || (crew.stage.commits_seen() > before).then_some(());
        world.bell.until(sent).await;
        crew.crash().await;
        assert_eq!(open(world, id).await, ["once"]);
        let _other = world.worker().await;
        world.outside.open("work");
        world.advance(30);
        world.until_status(id, Status::Completed).await;
        assert_eq!(taken(world, id, &["wait"]).await, ["once"]);
    }
}

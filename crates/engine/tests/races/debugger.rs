//! Step by step, against impatient fingers.

use pawl_engine::control::{Control, ControlError};
use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::lifecycle::ContinueMode;
use serde_json::{Map, json};

use crate::world::{World, chain, effect, gated, nap, parsed, variables};

async fn step(
    control: &Control,
    id: ExecutionId,
    expect_seq: Option<u64>,
) -> Result<Status, ControlError> {
    control
        .continue_debug(id, ContinueMode::Step, Map::new(), expect_seq)
        .await
}

/// Waits until the debugger stands after step `seq`.
async fn until_at(world: &World, id: ExecutionId, seq: u64) {
    world
        .until(id, |view| {
            view.execution.head.status == Status::WaitingDebug && view.state.seq == seq
        })
        .await;
}

both! {
    async fn stops_after_every_step(world: &World) {
        let crew = world.worker().await;
        let id = world.debug(&crew.control, chain(&[effect("only", json!({}))])).await;
        until_at(world, id, 1).await;
        assert!(world.outside.calls().is_empty());
        step(&crew.control, id, Some(1)).await.unwrap();
        until_at(world, id, 2).await;
        step(&crew.control, id, Some(2)).await.unwrap();
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.path(id).await, "start only finish");
    }

    async fn continue_twice_makes_one_step(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[effect("first", json!({})), effect("second", json!({}))]);
        let id = world.debug(&crew.control, flow).await;
        until_at(world, id, 1).await;
        let (one, other) = tokio::join!(
            step(&crew.control, id, Some(1)),
            step(&crew.control, id, Some(1))
        );
        assert!(one.is_ok() != other.is_ok(), "{one:?} {other:?}");
        until_at(world, id, 2).await;
        let late = step(&crew.control, id, Some(1)).await;
        assert!(matches!(late, Err(ControlError::Refused(_))), "{late:?}");
        assert_eq!(world.path(id).await, "start first");
    }

    async fn continue_while_the_node_runs_is_refused(world: &World) {
        let crew = world.worker().await;
        let id = world.debug(&crew.control, chain(&[gated("only")])).await;
        until_at(world, id, 1).await;
        step(&crew.control, id, None).await.unwrap();
        world.outside.until_called(1).await;
        let again = step(&crew.control, id, None).await;
        assert!(matches!(again, Err(ControlError::Refused(_))), "{again:?}");
        world.outside.open("only");
        until_at(world, id, 2).await;
    }

    async fn an_edit_is_a_step_and_the_next_node_sees_it(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[
            json!({"id": "note", "type": "note", "config": {"value": "old"}}),
            effect("tell", json!({"value": "{{variables.note}}"})),
        ]);
        let id = world.debug(&crew.control, flow).await;
        until_at(world, id, 1).await;
        step(&crew.control, id, Some(1)).await.unwrap();
        until_at(world, id, 2).await;
        let edit = variables(json!({"note": "new", "more": [1, 2]}));
        crew.control
            .continue_debug(id, ContinueMode::Step, edit.clone(), Some(2))
            .await
            .unwrap();
        until_at(world, id, 4).await;
        assert_eq!(world.path(id).await, "start note $edit tell");
        let steps = world.steps(id).await;
        assert_eq!(parsed(&steps[2].changes), json!(edit));
        assert_eq!(steps[2].next_node_id.as_deref(), Some("tell"));
        let call = &world.outside.calls()[0];
        assert_eq!(call.config["value"], "new");
        assert_eq!(call.key, Some(format!("{id}:4")));
        assert_eq!(call.seq, 4);
    }

    async fn an_edit_that_comes_too_late_changes_nothing(world: &World) {
        let crew = world.worker().await;
        let id = world.debug(&crew.control, chain(&[gated("only")])).await;
        until_at(world, id, 1).await;
        step(&crew.control, id, Some(1)).await.unwrap();
        world.outside.until_called(1).await;
        let edit = variables(json!({"note": "late"}));
        let late = crew.control.continue_debug(id, ContinueMode::Run, edit, Some(1)).await;
        assert!(matches!(late, Err(ControlError::Refused(_))), "{late:?}");
        world.outside.open("only");
        until_at(world, id, 2).await;
        assert_eq!(world.path(id).await, "start only");
    }

    async fn runs_to_a_node_and_stops_before_it(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[
            effect("first", json!({})),
            effect("second", json!({})),
            effect("third", json!({})),
        ]);
        let id = world.debug(&crew.control, flow).await;
        until_at(world, id, 1).await;
        let to = |node: &str| ContinueMode::Until(vec![node.to_owned()]);
        let nowhere = crew.control.continue_debug(id, to("nowhere"), Map::new(), None).await;
        assert!(
            matches!(nowhere, Err(ControlError::Invalid { code: "UNKNOWN_NODE", .. })),
            "{nowhere:?}"
        );
        crew.control.continue_debug(id, to("third"), Map::new(), None).await.unwrap();
        until_at(world, id, 3).await;
        assert_eq!(world.outside.called(), ["first", "second"]);
        crew.control.continue_debug(id, ContinueMode::Run, Map::new(), None).await.unwrap();
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.outside.called(), ["first", "second", "third"]);
    }

    async fn a_sleep_sleeps_and_then_stops(world: &World) {
        let crew = world.worker().await;
        let id = world.debug(&crew.control, chain(&[nap(10)])).await;
        until_at(world, id, 1).await;
        step(&crew.control, id, None).await.unwrap();
        world.until_status(id, Status::Sleeping).await;
        let early = step(&crew.control, id, None).await;
        assert!(matches!(early, Err(ControlError::Refused(_))), "{early:?}");
        world.advance(10);
        until_at(world, id, 2).await;
        assert_eq!(world.path(id).await, "start nap");
    }

    async fn back_from_a_pause_it_is_in_the_debugger(world: &World) {
        let crew = world.worker().await;
        let id = world.debug(&crew.control, chain(&[])).await;
        until_at(world, id, 1).await;
        let resumed = crew.control.resume(id).await;
        assert!(matches!(resumed, Err(ControlError::Refused(_))), "{resumed:?}");
        assert_eq!(crew.control.pause(id).await.unwrap(), Status::Paused);
        let held = step(&crew.control, id, None).await;
        assert!(matches!(held, Err(ControlError::Refused(_))), "{held:?}");
        assert_eq!(crew.control.resume(id).await.unwrap(), Status::WaitingDebug);
        assert_eq!(world.path(id).await, "start");
    }

    async fn paused_during_a_sleep_it_still_stops_after_it(world: &World) {
        let crew = world.worker().await;
        let id = world.debug(&crew.control, chain(&[nap(10)])).await;
        until_at(world, id, 1).await;
        step(&crew.control, id, None).await.unwrap();
        world.until_status(id, Status::Sleeping).await;
        crew.control.pause(id).await.unwrap();
        assert_eq!(crew.control.resume(id).await.unwrap(), Status::Sleeping);
        world.advance(10);
        until_at(world, id, 2).await;
    }

    /// However long a person looks at the screen, a sleep still sleeps.
    async fn the_time_of_the_person_is_not_the_nodes(world: &World) {
        let crew = world.worker().await;
        let id = world.debug(&crew.control, chain(&[nap(5)])).await;
        until_at(world, id, 1).await;
        world.advance(60);
        step(&crew.control, id, Some(1)).await.unwrap();
        world.until_status(id, Status::Sleeping).await;
    }
}

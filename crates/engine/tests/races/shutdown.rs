//! A worker that leaves in good order.

use std::time::Duration;

use pawl_kernel::execution::Status;
use pawl_kernel::time::Clock;
use serde_json::json;

use crate::world::{Crew, World, chain, code, effect, gated, with};

const GRACE: Duration = Duration::from_secs(20);

/// Asks the worker to leave; returns when it counts down its grace time.
async fn begin_shutdown(world: &World, crew: &Crew) {
    let end = world.clock.now().plus(GRACE);
    crew.begin_shutdown();
    world.clock.until_sleeper_at(end).await;
}

async fn run_out_of_grace(world: &World, crew: Crew) {
    begin_shutdown(world, &crew).await;
    world.clock.advance(GRACE);
    crew.shut_down().await;
}

both! {
    async fn finishes_the_node_and_hands_over(world: &World) {
        let crew = world.worker().await;
        let flow = chain(&[gated("first"), effect("second", json!({}))]);
        let id = world.start(&crew.control, flow).await;
        world.outside.until_called(1).await;
        begin_shutdown(world, &crew).await;
        world.outside.open("first");
        crew.shut_down().await;
        let state = world.state(id).await;
        assert_eq!(world.path(id).await, "start first");
        assert!(state.lease.is_none() && !state.interrupted);
        assert_eq!(state.recoveries, 0);
        assert_eq!(world.outside.called(), ["first"]);
        let _other = world.worker().await;
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.outside.called(), ["first", "second"]);
    }

    async fn gives_up_the_node_at_the_end_of_its_grace(world: &World) {
        let crew = world.worker().await;
        let id = world.start(&crew.control, chain(&[gated("long")])).await;
        world.outside.until_called(1).await;
        run_out_of_grace(world, crew).await;
        let state = world.state(id).await;
        assert!(state.lease.is_none(), "the lease was not given back");
        assert!(state.interrupted, "its effect may have happened");
        assert_eq!(world.outside.dropped(), 1);
        world.outside.open("long");
        let _other = world.worker().await;
        world.advance(11);
        world.until_status(id, Status::Completed).await;
        let calls = world.outside.calls();
        assert_eq!((calls.len(), &calls[0].key), (2, &calls[1].key));
    }

    async fn turns_a_short_retry_delay_into_a_wait(world: &World) {
        let crew = world.worker().await;
        let shaky = with(
            effect("shaky", json!({"gate": "shaky", "fails": 1})),
            json!({"retry": {"max_attempts": 2, "delay": "1s", "jitter": false}}),
        );
        let id = world.start(&crew.control, chain(&[shaky])).await;
        world.outside.until_called(1).await;
        begin_shutdown(world, &crew).await;
        world.outside.open("shaky");
        crew.shut_down().await;
        let view = world.view(id).await;
        assert_eq!(view.execution.head.status, Status::Sleeping);
        assert!(view.state.lease.is_none());
        world.advance(11);
        let _other = world.worker().await;
        world.until_status(id, Status::Completed).await;
    }

    /// A node given up in mid-effect may have had its effect, whoever cut it short.
    async fn on_interrupt_fail_holds(world: &World) {
        let crew = world.worker().await;
        let once = with(gated("once"), json!({"on_interrupt": "fail"}));
        let id = world.start(&crew.control, chain(&[once])).await;
        world.outside.until_called(1).await;
        run_out_of_grace(world, crew).await;
        world.outside.open("once");
        let _other = world.worker().await;
        world.advance(11);
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "INTERRUPTED");
        assert_eq!(world.outside.calls().len(), 1);
    }
}

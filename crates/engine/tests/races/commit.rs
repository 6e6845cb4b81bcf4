//! Commits whose answer never comes, and messages that come twice.

use pawl_kernel::execution::{PriorityClass, Status};
use pawl_kernel::ports::queue::Message;
use pawl_kernel::time::Clock;
use serde_json::{Value, json};
use std::time::Duration;

use crate::stage::Trick;
use crate::world::{World, chain, effect, event, gated, nap, parsed, with};

/// Commits: before `first`, before `second`, the sleep, before `third` and the end.
fn flow() -> Value {
    chain(&[
        effect("first", json!({"value": 1, "says": "first"})),
        effect(
            "second",
            json!({"value": "{{steps.first.output.value + 1}}"}),
        ),
        nap(10),
        effect("third", json!({})),
    ])
}

const COMMITS: usize = 5;

/// Runs the flow with this trick on the commit at `place`: nothing may be seen of it.
async fn check(world: &World, trick: Trick, place: usize, waits: bool) {
    // The worker before this one has left its timer shards locked; they are free after ten seconds.
    world.advance(11);
    let crew = world.worker().await;
    let mut tricks = vec![Trick::None; place];
    tricks.push(trick);
    crew.stage.plan(tricks);
    let before = world.outside.calls().len();
    let id = world.start(&crew.control, flow()).await;
    if waits && place < 3 {
        world
            .clock
            .advance_to_sleeper(Duration::from_millis(20))
            .await;
    }
    world.until_status(id, Status::Sleeping).await;
    world.advance(10);
    if waits && place >= 3 {
        world
            .clock
            .advance_to_sleeper(Duration::from_millis(20))
            .await;
    }
    world.until_status(id, Status::Completed).await;
    assert_eq!(
        world.path(id).await,
        "start first second nap third finish",
        "commit {place}"
    );
    assert_eq!(
        world.outside.called()[before..],
        ["first", "second", "third"],
        "commit {place}"
    );
    assert_eq!(parsed(&world.steps(id).await[2].output)["value"], 2);
    assert_eq!(world.store.logs(id, 0, 10).await.unwrap().len(), 1);
    crew.shut_down().await;
}

both! {
    async fn the_answer_is_lost(world: &World) {
        for place in 0..COMMITS {
            check(world, Trick::AnswerLost, place, false).await;
        }
    }

    async fn the_request_is_lost(world: &World) {
        for place in 0..COMMITS {
            check(world, Trick::RequestLost, place, true).await;
        }
    }

    async fn the_store_is_away(world: &World) {
        for place in 0..COMMITS {
            check(world, Trick::Unavailable, place, true).await;
        }
    }

    /// A slow disk: the commit is found undone, is sent again, and has been made after all in between. An effect that
    /// must not be repeated is not taken for an interrupted one.
    async fn the_first_one_comes_through_late(world: &World) {
        for place in 0..2 {
            let crew = world.worker().await;
            let tricks = (0..place).map(|_| Trick::None).chain([Trick::Late]);
            crew.stage.plan(tricks);
            let once = with(effect("once", json!({"value": 1})), json!({"on_interrupt": "fail"}));
            let called = world.outside.calls().len();
            let id = world.start(&crew.control, chain(&[once])).await;
            let sent = async || (crew.stage.commits_seen() > place).then_some(());
            world.bell.until(sent).await;
            world.clock.advance_to_sleeper(Duration::from_secs(1)).await;
            world.until_status(id, Status::Completed).await;
            assert_eq!(world.path(id).await, "start once finish");
            assert_eq!(world.outside.calls().len(), called + 1);
            crew.shut_down().await;
        }
    }

    /// A stop and an unknown commit meet: the commit had applied the stop.
    async fn the_answer_is_lost_and_it_was_a_stop(world: &World) {
        let crew = world.worker().await;
        crew.stage.plan([Trick::None, Trick::AnswerLost]);
        let id = world.start(&crew.control, chain(&[gated("only"), nap(10)])).await;
        world.outside.until_called(1).await;
        world.client().stop(id).await.unwrap();
        world.outside.open("only");
        world.until_status(id, Status::Stopped).await;
        world.assert_alive(&crew.control).await;
        assert_eq!(world.path(id).await, "start only");
    }

    async fn a_doubled_message_does_nothing(world: &World) {
        let crew = world.worker().await;
        let client = world.client();
        let id = world.start(&client, chain(&[gated("only"), event("wait", "go")])).await;
        let message = |seq| Message {
            execution_id: id,
            schema_id: pawl_kernel::id::SchemaId(id.0),
            node_id: "only".into(),
            seq,
            debug_mode: false,
            priority: PriorityClass::Normal,
            published_at: world.clock.now(),
        };
        world.outside.until_called(1).await;
        for seq in [0, 1, 7] {
            world.queue.publish(message(seq)).await.unwrap();
        }
        world.outside.open("only");
        world.until_status(id, Status::Waiting).await;
        for seq in [0, 1, 2, 7] {
            world.queue.publish(message(seq)).await.unwrap();
        }
        let after = world.start(&client, chain(&[])).await;
        world.until_status(after, Status::Completed).await;
        assert_eq!(world.view(id).await.execution.head.status, Status::Waiting);
        assert_eq!(world.path(id).await, "start only");
        assert_eq!(world.outside.called(), ["only"]);
        crew.shut_down().await;
    }
}

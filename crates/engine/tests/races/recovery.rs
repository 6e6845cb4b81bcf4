//! Workers that die, hang or come back from the dead.

use std::time::Duration;

use pawl_kernel::execution::Status;
use pawl_kernel::time::Clock;
use serde_json::json;

use crate::clock::Gate;
use crate::stage::Trick;
use crate::world::{World, chain, code, effect, gated, parsed, settings, with};

both! {
    async fn an_interrupted_effect_repeats_itself(world: &World) {
        let crew = world.worker().await;
        let moody = effect("moody", json!({"gate": "moody", "value": "{{now()}} {{uuid()}} {{steps.first.output.value}}"}));
        let flow = chain(&[effect("first", json!({"value": "{{uuid()}}"})), moody]);
        let id = world.start(&crew.control, flow).await;
        world.outside.until_called(2).await;
        crew.crash().await;
        let _other = world.worker().await;
        world.advance(30);
        let calls = world.outside.until_called(3).await;
        assert_eq!((&calls[2].node, calls[2].seq), (&"moody".to_owned(), 3));
        assert_eq!(calls[2].key, Some(format!("{id}:3")));
        assert_eq!(calls[2].key, calls[1].key);
        assert_eq!(calls[2].config, calls[1].config);
        world.outside.open("moody");
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.path(id).await, "start first moody finish");
        let attempts = parsed(&world.steps(id).await[2].attempts);
        assert_eq!(attempts[0]["error"]["code"], "INTERRUPTED", "whoever looks into a doubled effect must see why");
        assert!(attempts[1]["error"].is_null() && attempts.get(2).is_none());
    }

    async fn an_interrupted_effect_may_fail(world: &World) {
        let crew = world.worker().await;
        let once = with(gated("once"), json!({"on_interrupt": "fail"}));
        let id = world.start(&crew.control, chain(&[once])).await;
        world.outside.until_called(1).await;
        crew.crash().await;
        let _other = world.worker().await;
        world.advance(30);
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "INTERRUPTED");
        assert_eq!(world.path(id).await, "start once!");
        assert_eq!(world.outside.calls().len(), 1);
    }

    /// An embedded store clears all leases at its start: an effect under way then is an interrupted one too.
    async fn a_restart_interrupts_an_effect(world: &World) {
        let crew = world.worker().await;
        let once = with(gated("once"), json!({"on_interrupt": "fail"}));
        let id = world.start(&crew.control, chain(&[once])).await;
        world.outside.until_called(1).await;
        crew.crash().await;
        assert_eq!(world.store.clear_leases(world.clock.now()).await.unwrap(), 1);
        let other = world.worker().await;
        pawl_engine::worker::queue_everything(other.control.runtime()).await.unwrap();
        let execution = world.until_status(id, Status::Failed).await;
        assert_eq!(code(&execution.record.error), "INTERRUPTED");
        assert_eq!(world.outside.calls().len(), 1);
    }

    async fn a_pause_before_the_effect_is_no_interruption(world: &World) {
        let crew = world.worker().await;
        let gate = Gate::shut();
        crew.stage.plan([Trick::Wait(gate.clone())]);
        let once = with(effect("once", json!({})), json!({"on_interrupt": "fail"}));
        let id = world.start(&crew.control, chain(&[once])).await;
        world.bell.until(async || (crew.stage.commits_seen() == 1).then_some(())).await;
        crew.control.pause(id).await.unwrap();
        gate.open();
        world.until_status(id, Status::Paused).await;
        crew.control.resume(id).await.unwrap();
        world.until_status(id, Status::Completed).await;
    }

    async fn on_stuck_fail_ends_it(world: &World) {
        let crew = world.worker().await;
        let flow = settings(chain(&[gated("only")]), json!({"on_stuck": "fail"}));
        let id = world.start(&crew.control, flow).await;
        world.outside.until_called(1).await;
        crew.crash().await;
        let _other = world.worker().await;
        world.advance(30);
        let execution = world.until_status(id, Status::FailedStuck).await;
        assert_eq!(code(&execution.record.error), "STUCK");
        let letters = world.store.dead_letters(false, 0, 10).await.unwrap();
        assert_eq!(letters[0].execution_id, Some(id));
    }

    async fn what_kills_every_worker_is_stuck(world: &World) {
        let careful = |options: &mut pawl_engine::Options| options.max_recoveries = 2;
        let mut crew = world.worker_with(careful).await;
        let id = world.start(&crew.control, chain(&[gated("bomb")])).await;
        for call in 1..=3 {
            world.outside.until_called(call).await;
            crew.crash().await;
            crew = world.worker_with(careful).await;
            world.advance(30);
        }
        let execution = world.until_status(id, Status::FailedStuck).await;
        assert_eq!(code(&execution.record.error), "STUCK");
        assert_eq!(world.outside.calls().len(), 3);
        assert_eq!(world.store.dead_letters(true, 0, 10).await.unwrap().len(), 1);
        world.assert_alive(&crew.control).await;
    }

    async fn heartbeats_keep_a_long_node(world: &World) {
        let crew = world.worker().await;
        let other = world.worker().await;
        let long = with(gated("long"), json!({"timeout": "10m"}));
        let id = world.start(&crew.control, chain(&[long])).await;
        world.outside.until_called(1).await;
        let token = world.state(id).await.lease.unwrap().token;
        world.pass_with_heartbeats(&crew, 12).await;
        assert_eq!(world.state(id).await.lease.unwrap().token, token);
        world.outside.open("long");
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.outside.calls().len(), 1);
        other.shut_down().await;
    }

    /// The store is silent: the node is given up before its lease ends, not when the heartbeat comes back.
    async fn a_silent_store_costs_the_node_in_time(world: &World) {
        let crew = world.worker().await;
        let long = with(gated("long"), json!({"timeout": "10m"}));
        let id = world.start(&crew.control, chain(&[long])).await;
        world.outside.until_called(1).await;
        let until = world.state(id).await.lease.unwrap().until;
        let gate = Gate::shut();
        crew.stage.silence_beats(gate.clone());
        let options = &crew.control.runtime().options;
        let due = until.minus(options.lease_margin);
        // The beat after ten seconds hangs; leases are looked at all the same.
        for _ in 0..2 {
            world.clock.until_sleeper_at(world.clock.now().plus(Duration::from_secs(10))).await;
            world.advance(10);
        }
        world.clock.until_sleeper_at(due).await;
        assert_eq!(world.outside.dropped(), 0);
        world.clock.advance(due.since(world.clock.now()));
        world.bell.until(async || (world.outside.dropped() == 1).then_some(())).await;
        gate.open();
    }

    /// The worker lives, but its commit hangs for longer than node and lease. The next one runs the node again
    /// under the same key, and the late commit is refused.
    async fn a_zombie_commits_nothing(world: &World) {
        let zombie = world.worker_with(|options| options.slots = 1).await;
        let gate = Gate::shut();
        zombie.stage.plan([Trick::None, Trick::Wait(gate.clone())]);
        let work = with(effect("work", json!({"value": 1})), json!({"timeout": "10s"}));
        let id = world.start(&zombie.control, chain(&[work])).await;
        world.bell.until(async || (zombie.stage.commits_seen() == 2).then_some(())).await;
        world.pass_with_heartbeats(&zombie, 1).await;
        let heard = zombie.stage.beats().len();
        let _other = world.worker().await;
        world.advance(30);
        world.until_status(id, Status::Completed).await;
        let beats = zombie.stage.beats();
        assert!(beats[heard..].iter().all(|asked| !asked.contains(&id)), "a hung node was renewed");
        gate.open();
        zombie.shut_down().await;
        assert_eq!(world.path(id).await, "start work finish");
        let calls = world.outside.calls();
        assert_eq!(calls.len(), 2);
        assert_eq!((&calls[0].key, &calls[0].config), (&calls[1].key, &calls[1].config));
    }

    async fn a_short_retry_delay_survives_a_crash(world: &World) {
        let patient = |options: &mut pawl_engine::Options| options.short_delay = Duration::from_secs(60);
        let crew = world.worker_with(patient).await;
        let shaky = with(
            effect("shaky", json!({"fails": 1})),
            json!({"retry": {"max_attempts": 2, "delay": "40s", "jitter": false}}),
        );
        let id = world.start(&crew.control, chain(&[shaky])).await;
        let view = world.until(id, |view| view.state.position.not_before.is_some()).await;
        crew.crash().await;
        let other = world.worker_with(patient).await;
        world.advance(30);
        world
            .until(id, |view| view.state.recoveries == 1 && view.state.has_live_lease(world.clock.now()))
            .await;
        world.advance(10);
        world.until_status(id, Status::Completed).await;
        let calls = world.outside.calls();
        assert_eq!((calls.len(), calls[1].attempt), (2, 2));
        assert!(calls[1].at >= view.state.position.not_before.unwrap());
        other.shut_down().await;
    }

    async fn an_unknown_type_waits_for_a_worker_that_knows_it(world: &World) {
        let ignorant = world.worker_without_effect().await;
        let id = world.start(&ignorant.control, chain(&[effect("only", json!({}))])).await;
        // Born, committed up to the node, claimed once more, given back.
        let parked = world.until(id, |view| view.state.version == 4).await;
        assert_eq!(parked.execution.head.status, Status::Running);
        assert_eq!((parked.state.seq, parked.state.recoveries), (1, 0));
        assert!(parked.state.lease.is_none());
        ignorant.shut_down().await;
        let _other = world.worker().await;
        world.advance(11);
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.path(id).await, "start only finish");
        assert_eq!(world.outside.calls().len(), 1);
    }

    /// A message that waits in a long queue is not lost: it is sent again, but less and less often.
    async fn a_backlog_causes_no_storm(world: &World) {
        let client = world.client();
        let id = world.start(&client, chain(&[])).await;
        let mut reaper = world.reaper();
        let mut swept = Vec::new();
        for _ in 0..20 {
            world.advance(5);
            swept.push(reaper.recover().await.unwrap().swept);
        }
        let times: usize = swept.iter().sum();
        assert!((2..=5).contains(&times), "swept {times} times in 100 seconds: {swept:?}");
        let crew = world.worker().await;
        world.until_status(id, Status::Completed).await;
        world.assert_alive(&crew.control).await;
        assert_eq!(world.path(id).await, "start finish");
    }
}

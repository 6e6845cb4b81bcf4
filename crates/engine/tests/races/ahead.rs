//! Executions that run ahead of their create: on a store of its own, a worker sends it with the first commit.

use pawl_engine::control::{ControlError, StartRequest};
use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::store::{ExecutionFilter, StoreError};
use pawl_kernel::quota::{QuotaKind, QuotaName};
use pawl_testkit::clock::Rng;
use serde_json::json;

use crate::clock::Gate;
use crate::stage::Trick;
use crate::world::{Crew, World, chain, effect, event, gated};

async fn alone(world: &World) -> Crew {
    let crew = world.worker_with(|options| options.exclusive = true).await;
    // Until the worker knows that there are no quotas, executions are written first; this makes it look.
    let nobody = QuotaName::new(QuotaKind::Tenant, "nobody").unwrap();
    assert!(!crew.control.remove_quota(nobody).await.unwrap());
    crew
}

async fn count(world: &World) -> u64 {
    let all = world.store.count_executions(ExecutionFilter::default());
    all.await.unwrap()
}

/// The clock goes on by a second, much slower than the worker works.
async fn pass_a_second(world: &World) {
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    world.advance(1);
}

/// Starts a flow with one effect whose first write meets this trick.
async fn start(world: &World, crew: &Crew, trick: Trick) -> Result<ExecutionId, ControlError> {
    let schema = world.save(chain(&[effect("only", json!({}))])).await;
    crew.stage.plan([trick]);
    let started = crew
        .control
        .start_version(schema, 1, StartRequest::default());
    started.await.map(|started| started.id)
}

both! {
    async fn what_takes_no_time_is_one_write(world: &World) {
        let crew = alone(world).await;
        let request = StartRequest { input: Some(json!({"n": 0.1})), ..StartRequest::default() };
        let id = world.start_with(&crew.control, chain(&[]), request).await;
        // It is written before anybody hears of it, and by then it has ended.
        let view = world.view(id).await;
        assert_eq!(view.execution.head.status, Status::Completed);
        let record = r#"{"input":{"n":0.1},"user":{"id":0,"name":"system"}}"#;
        assert_eq!(&*view.execution.record.initial, record);
        assert!(view.execution.head.finished_at.is_some() && view.state.lease.is_none());
        assert_eq!((crew.stage.commits_seen(), crew.stage.creates_seen()), (1, 0));
        assert_eq!(world.path(id).await, "start finish");
    }

    async fn an_effect_waits_for_the_create(world: &World) {
        let crew = alone(world).await;
        let gate = Gate::shut();
        let schema = world.save(chain(&[effect("only", json!({}))])).await;
        crew.stage.plan([Trick::Wait(gate.clone())]);
        let control = crew.control.clone();
        let asking = tokio::spawn(async move { control.start_version(schema, 1, StartRequest::default()).await });
        world.bell.until(async || (crew.stage.commits_seen() == 1).then_some(())).await;
        assert!(world.outside.called().is_empty() && !asking.is_finished());
        assert_eq!(count(world).await, 0);
        gate.open();
        let id = asking.await.unwrap().unwrap().id;
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.outside.called(), ["only"]);
    }

    async fn the_answer_is_lost(world: &World) {
        let crew = alone(world).await;
        let id = start(world, &crew, Trick::AnswerLost).await.unwrap();
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.outside.called(), ["only"]);
    }

    /// A store that makes two transactions of it may be cut off between them.
    async fn half_of_it_is_lost(world: &World) {
        let crew = alone(world).await;
        let id = start(world, &crew, Trick::Late).await.unwrap();
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.outside.called(), ["only"]);
    }

    async fn what_is_not_written_is_not_there(world: &World) {
        let crew = alone(world).await;
        let refused = start(world, &crew, Trick::Unavailable).await;
        assert!(matches!(refused, Err(ControlError::Store(StoreError::Unavailable(_)))), "{refused:?}");
        // A disk that lost sight of it may find it again: nobody is told to try again.
        let refused = start(world, &crew, Trick::RequestLost).await;
        assert!(matches!(refused, Err(ControlError::Store(StoreError::Unknown(_)))), "{refused:?}");
        assert_eq!(count(world).await, 0);
        assert!(world.outside.called().is_empty());
        world.assert_alive(&crew.control).await;
    }

    async fn a_wait_comes_after_the_create(world: &World) {
        let crew = alone(world).await;
        let id = world.start(&crew.control, chain(&[event("wait", "go")])).await;
        world.until_status(id, Status::Waiting).await;
        crew.control.signal(id, "go".into(), &json!(1), Some("s".into())).await.unwrap();
        world.until_status(id, Status::Completed).await;
    }

    async fn a_create_apart_may_lose_its_answer(world: &World) {
        let crew = alone(world).await;
        let schema = world.save(chain(&[event("wait", "go")])).await;
        crew.stage.plan_create(Trick::AnswerLost);
        let started = crew.control.start_version(schema, 1, StartRequest::default()).await;
        world.until_status(started.unwrap().id, Status::Waiting).await;
        crew.stage.plan_create(Trick::RequestLost);
        let refused = crew.control.start_version(schema, 1, StartRequest::default()).await;
        assert!(matches!(refused.map(|started| started.id), Err(ControlError::Store(StoreError::Unknown(_)))));
        assert_eq!(count(world).await, 1);
    }

    /// Nobody waits for a node that takes time, not even for one without an effect.
    async fn a_node_that_waits_comes_after_the_create(world: &World) {
        let crew = alone(world).await;
        let think = json!({"id": "think", "type": "think", "config": {"gate": "thought"}});
        let id = world.start(&crew.control, chain(&[think])).await;
        assert_eq!(world.view(id).await.execution.head.status, Status::Running);
        world.outside.open("thought");
        world.until_status(id, Status::Completed).await;
        assert_eq!(world.path(id).await, "start think finish");
    }

    /// It must be seen, and its lease must not run out, before a long pass is over.
    async fn a_long_pass_is_written_on_the_way(world: &World) {
        let crew = alone(world).await;
        let think = |id: &str, seconds: f64| json!({"id": id, "type": "think", "config": {"seconds": seconds}});
        let quick = world.start(&crew.control, chain(&[think("a", 0.001)])).await;
        assert_eq!(world.until_status(quick, Status::Completed).await.head.status, Status::Completed);
        assert_eq!(crew.stage.creates_seen(), 0, "one write");
        let slow = world.start(&crew.control, chain(&[think("a", 28.0), effect("only", json!({}))])).await;
        world.until_status(slow, Status::Completed).await;
        assert_eq!(crew.stage.creates_seen(), 1, "written before the rest");
        let interrupted = world.steps(slow).await.iter().any(|step| step.attempts.is_some());
        assert!(!interrupted && world.outside.called() == ["only"]);
    }

    /// A lease that is not in the store yet must not be taken for a lost one.
    async fn a_heartbeat_does_not_look_for_what_is_not_created(world: &World) {
        let crew = alone(world).await;
        let held = world.start(&crew.control, chain(&[gated("held")])).await;
        world.outside.until_called(1).await;
        let gate = Gate::shut();
        let schema = world.save(chain(&[gated("late")])).await;
        crew.stage.plan([Trick::Wait(gate.clone())]);
        let (control, sent) = (crew.control.clone(), crew.stage.commits_seen());
        let asking = tokio::spawn(async move { control.start_version(schema, 1, StartRequest::default()).await });
        world.bell.until(async || (crew.stage.commits_seen() > sent).then_some(())).await;
        world.pass_with_heartbeats(&crew, 1).await;
        assert_eq!(crew.stage.beats().last().unwrap(), &[held]);
        gate.open();
        let late = asking.await.unwrap().unwrap().id;
        world.outside.until_called(2).await;
        world.pass_with_heartbeats(&crew, 1).await;
        assert!(crew.stage.beats().last().unwrap().contains(&late));
        for name in ["held", "late"] {
            world.outside.open(name);
        }
        world.until_status(late, Status::Completed).await;
        assert_eq!(world.outside.dropped(), 0);
    }

    async fn a_caller_that_goes_away_has_started_it_all_the_same(world: &World) {
        let crew = alone(world).await;
        let schema = world.save(chain(&[effect("only", json!({}))])).await;
        let gate = Gate::shut();
        crew.stage.plan([Trick::Wait(gate.clone())]);
        let control = crew.control.clone();
        let asking = tokio::spawn(async move { control.start_version(schema, 1, StartRequest::default()).await });
        world.bell.until(async || (crew.stage.commits_seen() == 1).then_some(())).await;
        asking.abort();
        assert!(asking.await.is_err_and(|error| error.is_cancelled()));
        gate.open();
        let completed = ExecutionFilter { statuses: vec![Status::Completed], ..ExecutionFilter::default() };
        let look = async || (world.store.count_executions(completed.clone()).await.unwrap() == 1).then_some(());
        world.bell.until(look).await;
        assert_eq!(world.outside.called(), ["only"]);
    }

    async fn a_worker_that_stops_loses_nothing(world: &World) {
        let crew = alone(world).await;
        let schema = world.save(chain(&[effect("only", json!({}))])).await;
        let mut asking = Vec::new();
        for _ in 0..20 {
            let control = crew.control.clone();
            asking.push(tokio::spawn(async move { control.start_version(schema, 1, StartRequest::default()).await }));
        }
        tokio::task::yield_now().await;
        crew.begin_shutdown();
        let stopping = async {
            let mut ids = Vec::new();
            for asked in asking {
                ids.push(asked.await.unwrap().unwrap().id);
            }
            crew.shut_down().await;
            ids
        };
        // What the worker gives a time of grace to, it gives up when that has passed.
        let passing = async {
            loop {
                pass_a_second(world).await;
            }
        };
        let ids = tokio::select! {
            ids = stopping => ids,
            () = passing => unreachable!("time goes on"),
        };
        assert_eq!(count(world).await, 20);
        // The next worker finishes what is not finished. A start that was written in the last moment of the stop has the lease
        // of the worker that is gone, or no message: the reaper and the sweeper find it, after a while. They go on looking until
        // all is done: the new worker drops what its own lease ran out on while it waited for the disk.
        let _next = world.worker().await;
        let mut reaper = world.reaper();
        let looking = async {
            loop {
                pass_a_second(world).await;
                reaper.recover().await.unwrap();
            }
        };
        let finishing = async {
            for id in ids {
                world.until_status(id, Status::Completed).await;
            }
        };
        tokio::select! {
            () = finishing => {}
            () = looking => unreachable!("time goes on"),
        }
        let mut keys: Vec<_> = world.outside.calls().into_iter().map(|call| call.key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 20);
    }

    /// Whoever is told that it was started finds it done once; whoever is told that it was not finds nothing.
    async fn what_people_are_told_is_true(world: &World) {
        let crew = alone(world).await;
        let mut rng = Rng::new(7);
        let (mut told, mut ids) = (0, Vec::new());
        for _ in 0..60 {
            let trick = match rng.below(5) {
                0 => Trick::AnswerLost,
                1 => Trick::RequestLost,
                2 => Trick::Unavailable,
                3 => Trick::Late,
                _ => Trick::None,
            };
            match start(world, &crew, trick).await {
                Ok(id) => {
                    // Its last commit shall not meet the next one's trick.
                    world.until_status(id, Status::Completed).await;
                    ids.push(id);
                }
                Err(_) => told += 1,
            }
        }
        assert!(told > 10 && ids.len() > 20);
        assert_eq!(count(world).await, ids.len() as u64);
        assert_eq!(world.outside.called().len(), ids.len());
    }
}

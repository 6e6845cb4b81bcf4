//! One bad day by seed, and who judges it. The judge shares no code with the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pawl_engine::control::Control;
use pawl_kernel::ports::store::LockRequest;
use pawl_kernel::schedule::retry::INTERRUPTIONS_MAX;
use pawl_kernel::schedule::{ActionEnding, ScheduledAction};
use pawl_kernel::time::Clock;
use pawl_testkit::clock::Rng;
use pawl_testkit::faults::Fault;
use serde_json::{Value, json};

use crate::world::{Place, WORKERS, World, supervise};

const ACTIONS: u64 = 12;
const CHANGES: u64 = 40;
const RETRIES: u32 = 3;

/// How often what happened, so that a suite can demand that all of it did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(BTreeMap<String, u64>);

impl Tally {
    fn count(&mut self, what: &str) {
        self.add(what, 1);
    }

    fn add(&mut self, what: &str, times: u64) {
        *self.0.entry(what.to_owned()).or_default() += times;
    }

    pub(crate) fn join(&mut self, other: Self) {
        other
            .0
            .into_iter()
            .for_each(|(what, times)| self.add(&what, times));
    }

    pub(crate) fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or_default()
    }
}

pub(crate) struct Outcome {
    pub(crate) seed: u64,
    pub(crate) violations: Vec<String>,
    pub(crate) tally: Tally,
}

pub(crate) async fn day(seed: u64, place: Place) -> Outcome {
    let world = Arc::new(World::new(seed, place));
    let workers: Vec<_> = (0..WORKERS)
        .map(|index| tokio::spawn(supervise(world.clone(), index)))
        .collect();
    let mut day = Day {
        rng: Rng::new(seed.wrapping_mul(13).wrapping_add(5)),
        control: world.people(),
        world: world.clone(),
        violations: Vec::new(),
        tally: Tally::default(),
    };
    day.people().await;
    // The clock is set right again, and nothing more goes wrong.
    world.step_clock(-world.clock.skew() / 1_000_000);
    world.faults.stop();
    day.settle().await;
    workers.iter().for_each(|worker| worker.abort());
    day.judge().await;
    Outcome {
        seed,
        violations: day.violations,
        tally: day.tally,
    }
}

struct Day {
    rng: Rng,
    control: Control,
    world: Arc<World>,
    violations: Vec<String>,
    tally: Tally,
}

impl Day {
    /// Writes actions, then changes them at random, and takes locks and sets clocks.
    async fn people(&mut self) {
        for number in 0..ACTIONS {
            let body = self.body(number);
            let id = format!("action-{number}");
            self.control.put_action(&id, &body, "people").await.unwrap();
        }
        for _ in 0..CHANGES {
            let pause = self.rng.duration(Duration::ZERO, Duration::from_secs(3));
            tokio::time::sleep(pause).await;
            self.change().await;
            self.check_rows().await;
        }
    }

    async fn change(&mut self) {
        let number = self.rng.below(ACTIONS);
        let id = format!("action-{number}");
        let control = self.control.clone();
        // A refusal is an answer too.
        match self.rng.below(20) {
            0 | 1 => self.note("paused", control.pause_action(&id).await.is_ok()),
            2..5 => self.note("resumed", control.resume_action(&id).await.is_ok()),
            5 | 6 => self.note("run now", control.run_action_now(&id).await.is_ok()),
            7 | 8 => self.note("deleted", control.delete_action(&id).await.is_ok()),
            9 => self.steal().await,
            10 => self.set_clock(),
            choice => {
                let mode = ["none", "all", "meta_and_spec_only"][choice as usize % 3];
                let mut body = self.body(number);
                body["override"] = json!(mode);
                let put = control.put_action(&id, &body, "people").await;
                self.note(mode, put.is_ok());
            }
        }
    }

    fn note(&mut self, what: &str, done: bool) {
        if done {
            self.tally.count(what);
        }
    }

    /// Somebody who never says anything again takes locks of those who work.
    async fn steal(&mut self) {
        let now = self.world.clock.now();
        let request = LockRequest {
            guid: self.rng.uuid(),
            owner: "thief".into(),
            now,
            stale_before: now.plus(Duration::from_secs(1)),
            unlocked_by: None,
            max: 1 + self.rng.below(16) as u32,
        };
        let stolen = self.world.store.lock_shards(request).await.unwrap();
        self.note("thefts", !stolen.is_empty());
    }

    fn set_clock(&mut self) {
        let back = self.world.clock.skew() >= 0 && self.rng.chance(500);
        let seconds = match back {
            true => *self.rng.pick(&[-3_600, -20, -2]),
            false => *self.rng.pick(&[2, 20, 60]),
        };
        self.world.step_clock(seconds);
        let what = match seconds {
            -3_600 => "clock back an hour",
            ..0 => "clock back",
            _ => "clock ahead",
        };
        self.tally.count(what);
    }

    /// The number decides the kind, so that a change is no change of kind.
    fn body(&mut self, number: u64) -> Value {
        let ahead = self.rng.duration(Duration::ZERO, Duration::from_secs(30));
        let start = self.world.clock.now().plus(ahead);
        let takes = self.rng.duration(Duration::ZERO, Duration::from_secs(10));
        let retry = json!({"max_retries": RETRIES, "max": "20s"});
        let policy = match number % 3 {
            0 => {
                json!({"periodic": {"period": "7s", "retry": retry, "catch_up": "all", "overlap": "queue"}})
            }
            _ => json!({"once": {"retry": retry}}),
        };
        let mut spec = json!({
            "start_at": start.to_string(),
            "policy": policy,
            "action": {"mock": {"fail_first": self.rng.below(3), "takes": format!("{}ms", takes.as_millis())}},
        });
        if number.is_multiple_of(3) {
            let end = start.plus(Duration::from_secs(40));
            spec["deadline"] = json!(end.to_string());
        }
        json!({"spec": spec})
    }

    /// Everything that is not paused comes to its end.
    async fn settle(&mut self) {
        let open = |action: &ScheduledAction| {
            !action.status.is_finished() && action.status.paused_at.is_none()
        };
        let mut left = None;
        for _ in 0..6_000 {
            left = self.world.actions().await.into_iter().find(open);
            if left.is_none() {
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.violations.push(format!("never ends: {left:#?}"));
    }

    /// Each action that is due some time is in the queues exactly once.
    async fn check_rows(&mut self) {
        for action in self.world.actions().await {
            let queued = self.world.store.queued(&action.id).await.unwrap().len();
            if queued != usize::from(action.due_at().is_some()) {
                self.violations
                    .push(format!("queued {queued} times: {action:#?}"));
            }
        }
        self.tally.count("rows checked");
    }

    async fn judge(&mut self) {
        let told = self.world.told.lock().unwrap().clone();
        let mut made = BTreeSet::new();
        let mut firings: BTreeMap<&str, u32> = BTreeMap::new();
        for heard in &told {
            let run = &heard.run;
            // Asked for out of turn after the clock was set back, it is planned for the moment after the one before: planned
            // times only grow.
            let before = run.planned_at.minus(Duration::from_micros(1));
            let out_of_turn = || {
                let mut same = told.iter().filter(|one| one.run.action_id == run.action_id);
                same.any(|one| one.run.planned_at == before)
            };
            if heard.clock < run.planned_at && !out_of_turn() {
                self.violations.push(format!("early: {heard:?}"));
            }
            if !made.insert((run.key.as_str(), run.attempt)) {
                self.violations.push(format!("made twice: {run:?}"));
            }
            *firings.entry(&run.key).or_default() += 1;
        }
        // Interrupted ones use up no retries.
        let most = 1 + RETRIES + INTERRUPTIONS_MAX;
        if let Some(beyond) = firings.iter().find(|(_, count)| **count > most) {
            self.violations.push(format!("tried too often: {beyond:?}"));
        }
        for action in self.world.actions().await {
            self.judge_action(&action, &firings);
        }
        self.check_rows().await;
        self.tally.add("made", told.len() as u64);
        self.tally.add("deaths", *self.world.deaths.lock().unwrap());
        for fault in Fault::ALL {
            let times = self.world.faults.counts().of(*fault);
            self.tally.add(&format!("{fault:?}"), times);
        }
    }

    fn judge_action(&mut self, action: &ScheduledAction, firings: &BTreeMap<&str, u32>) {
        let status = &action.status;
        let life = format!("{}:{}:", action.id, status.generation);
        let own = firings.iter().filter(|(key, _)| key.starts_with(&life));
        let (fired, made) = own.fold((0, 0), |(keys, all), (_, count)| {
            (keys + 1, all + u64::from(*count))
        });
        let counted = status.successful + status.failed + status.interrupted;
        let open = u64::from(status.current.is_some());
        let once = !action.id.ends_with(['0', '3', '6', '9']);
        let done = status.finished == Some(ActionEnding::Done);
        let right = [
            (status.successful <= fired, "more successes than firings"),
            (counted + open <= status.begun, "more ends than attempts"),
            (made <= counted + open, "an attempt is not counted"),
            (
                !once || status.successful <= 1,
                "two successes of one firing",
            ),
            (
                !(once && done) || status.successful == 1,
                "done without a success",
            ),
        ];
        for (_, what) in right.iter().filter(|(right, _)| !right) {
            self.violations.push(format!("{what}: {action:#?}"));
        }
        self.tally.add("interrupted", status.interrupted);
        self.tally.add("failed", status.failed);
        self.tally.add("successful", status.successful);
        self.tally.add("firings", fired);
    }
}

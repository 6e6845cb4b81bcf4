//! Random specs, clocks, crashes and writes, by seed. A failure prints its seed.

use std::collections::BTreeMap;

use super::*;
use crate::schedule::calendar::next_after;
use crate::schedule::retry::INTERRUPTIONS_MAX;

const SEEDS: u64 = 2_000;
const STEPS: usize = 60;

/// SplitMix64: one number in, one stream out.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

/// An attempt that some worker makes.
struct Flight {
    ticket: Ticket,
    attempt: ActionAttempt,
}

/// What must be true of one generation, counted apart from the code under test.
#[derive(Default)]
struct Ledger {
    begun: u64,
    successful: u64,
    failed: u64,
    interrupted: u64,
    consecutive: u64,
    /// Attempts of each planned time that were not given back.
    made: BTreeMap<Timestamp, u32>,
    cut_off: BTreeMap<Timestamp, u32>,
    succeeded: Vec<Timestamp>,
    latest: Option<Timestamp>,
    most_attempts: u32,
}

struct World {
    dice: Dice,
    now: Timestamp,
    row: ScheduledAction,
    flights: Vec<Flight>,
    ledger: Ledger,
    limits: ScheduleLimits,
    guids: u128,
    /// A firing that a user asked for out of turn, or that was planned by another spec: not in the calendar.
    out_of_turn: Option<Timestamp>,
}

fn random_spec(dice: &mut Dice, now: Timestamp) -> Spec {
    let retry = json!({
        "max_retries": dice.below(4), "min": dice.one_of(&["0s", "1s", "5s"]), "max": dice.one_of(&["5s", "1m"]),
        "scale": dice.one_of(&["0s", "1s", "7s"]), "backoff": dice.one_of(&[1.0, 1.5, 2.0, 100.0]),
    });
    let overlap = dice.one_of(&["skip", "queue", "allow", "cancel_previous"]);
    let catch_up = dice.one_of(&["none", "last", "all"]);
    let policy = match dice.below(3) {
        0 => json!({"once": {"retry": retry}}),
        1 => {
            json!({"periodic": {"period": dice.one_of(&["1s", "7s", "1m", "1h"]), "retry": retry, "overlap": overlap,
            "catch_up": catch_up}})
        }
        _ => {
            json!({"cron": {"expr": dice.one_of(&["* * * * *", "*/10 * * * * *", "30 1,2 * * *", "0 */2 * * *"]),
            "timezone": dice.one_of(&["UTC", "Europe/Berlin", "America/New_York"]), "retry": retry, "overlap": overlap,
            "catch_up": catch_up}})
        }
    };
    let value = json!({"policy": policy, "action": {"mock": {}}});
    let mut spec = read_spec(&value, "", Author::Engine, now).unwrap();
    spec.start_at = now
        .plus(seconds(dice.below(100)))
        .minus(seconds(dice.below(100)));
    spec.deadline = dice
        .chance(3)
        .then(|| spec.start_at.plus(seconds(1 + dice.below(10_000))));
    spec
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        // Summer time ends in Berlin and in New York within a week of these.
        let now = at(dice.one_of(&[
            "2026-06-01T12:00:00Z",
            "2026-10-24T23:30:00Z",
            "2026-11-01T04:30:00Z",
            "2026-03-29T00:30:00Z",
        ]));
        let spec = random_spec(&mut dice, now);
        let mut row = row(spec.clone());
        row.status = put(None, request(&row.id, guid(1), spec, Override::None), now)
            .unwrap()
            .status;
        let limits = ScheduleLimits {
            patience: seconds(dice.one_of(&[0, 10])),
            grace: seconds(60),
            catch_up_max: dice.one_of(&[1, 3, 100]),
            look_again: seconds(5),
        };
        let mut world = Self {
            dice,
            now,
            row,
            flights: Vec::new(),
            ledger: Ledger::default(),
            limits,
            guids: 1,
            out_of_turn: None,
        };
        world.allow_attempts();
        world
    }

    fn fresh(&mut self) -> Uuid {
        self.guids += 1;
        guid(self.guids)
    }

    fn allow_attempts(&mut self) {
        let attempts = 1 + self.row.spec.policy.retry().max_retries;
        self.ledger.most_attempts = self.ledger.most_attempts.max(attempts);
    }

    fn step(&mut self) {
        match self.dice.below(20) {
            0..=3 => self.move_clock(),
            4..=11 => self.begin(),
            12..=16 => self.end_flight(),
            17 => self.write(),
            18 => self.control(),
            // A worker vanishes, before or after the effect: the store cannot tell.
            _ => drop(self.flights.pop()),
        }
        self.check();
    }

    fn move_clock(&mut self) {
        self.now = match self.dice.below(10) {
            0 => self.now.minus(seconds(3_600)),
            1 => self.now.plus(seconds(self.dice.below(100_000))),
            2 | 3 => self.now.plus(seconds(self.dice.below(30))),
            _ => self.row.due_at().map_or(self.now, |due| due.max(self.now)),
        };
    }

    fn begin(&mut self) {
        let guid = if self.dice.chance(10) {
            guid(0)
        } else {
            self.row.guid
        };
        let previous = if self.dice.chance(5) {
            Previous::Running
        } else {
            Previous::Over
        };
        let before = self.row.clone();
        let is_due = guid == before.guid && before.due_at().is_some_and(|due| due <= self.now);
        if let Some(current) = before.status.current.as_ref().filter(|_| is_due) {
            *self.ledger.cut_off.entry(current.planned_at).or_default() += 1;
        }
        let row = match begin(Some(&before), guid, previous, &self.limits, self.now) {
            Begin::Run(run) => {
                self.begun(&before, &run);
                run.row
            }
            Begin::Moved(moved) => moved.row,
            Begin::NotDue { at } => {
                assert_eq!(Some(at), before.due_at());
                return assert!(at > self.now);
            }
            Begin::Stale => return assert!(guid != before.guid || before.due_at().is_none()),
        };
        assert!(before.due_at().is_some_and(|due| due <= self.now), "early");
        if before.status.current.is_some() {
            self.ledger.interrupted += 1;
            self.ledger.consecutive += 1;
        }
        self.row = row;
    }

    fn begun(&mut self, before: &ScheduledAction, run: &Run) {
        let planned = run.attempt.planned_at;
        let is_retry = before.status.attempts > 0 && before.status.planned_at == Some(planned);
        if self.ledger.latest != Some(planned) {
            assert!(
                self.ledger.latest < Some(planned),
                "a planned time comes again"
            );
            assert!(!is_retry);
        }
        if self.out_of_turn != Some(planned) {
            assert!(planned <= self.now, "before its time");
            let tick = Duration::from_micros(1);
            assert_eq!(
                next_after(&run.row.spec, planned.minus(tick)),
                Some(planned),
                "not in the calendar"
            );
        }
        assert!(
            run.row
                .spec
                .deadline
                .is_none_or(|deadline| self.now < deadline)
        );
        assert!(
            !self.ledger.succeeded.contains(&planned),
            "succeeded before"
        );
        assert_eq!(run.key, run.row.key(planned));
        let made = self.ledger.made.entry(planned).or_default();
        *made += 1;
        let cut_off = self.ledger.cut_off.get(&planned).copied().unwrap_or(0);
        assert!(cut_off <= INTERRUPTIONS_MAX, "{cut_off} interruptions");
        assert!(
            *made - cut_off <= self.ledger.most_attempts,
            "{made} attempts"
        );
        assert_eq!(*made, run.attempt.number);
        self.ledger.begun += 1;
        self.ledger.latest = Some(planned);
        let delay = run.row.spec.policy.retry().delay(run.attempt.number - 1);
        assert_eq!(
            run.row.due_at(),
            Some(self.now.plus(delay.max(self.limits.patience)))
        );
        self.flights.push(Flight {
            ticket: run.ticket.clone(),
            attempt: run.attempt.clone(),
        });
    }

    fn end_flight(&mut self) {
        if self.flights.is_empty() {
            return;
        }
        let index = self.dice.below(self.flights.len() as u64) as usize;
        let outcome = match self.dice.below(10) {
            0 => AttemptOutcome::NotMade,
            1..=4 => AttemptOutcome::Failed(Failure::new("X", "no")),
            _ => AttemptOutcome::Success,
        };
        let before = self.row.clone();
        let fresh = self.fresh();
        let flight = &self.flights[index];
        let record = record(
            Some(&before),
            &flight.ticket,
            outcome.clone(),
            fresh,
            &self.limits,
            self.now,
        );
        let is_own = before.status.generation == flight.ticket.generation
            && before.status.current.as_ref() == Some(&flight.attempt);
        let RecordResult::Written(recorded) = record else {
            assert!(!is_own, "a record was refused");
            return;
        };
        assert!(is_own, "a record of another attempt was taken");
        assert_eq!(recorded.requeue, before.guid != flight.ticket.guid);
        assert_eq!(
            recorded.row.guid,
            if recorded.requeue { fresh } else { before.guid }
        );
        self.count(index, outcome);
        self.row = recorded.row;
        // Sometimes the answer is lost, and the worker records again later.
        if !self.dice.chance(4) {
            self.flights.remove(index);
        }
    }

    fn count(&mut self, index: usize, outcome: AttemptOutcome) {
        let planned = self.flights[index].attempt.planned_at;
        match outcome {
            AttemptOutcome::Success => {
                self.ledger.successful += 1;
                self.ledger.consecutive = 0;
                self.ledger.succeeded.push(planned);
            }
            AttemptOutcome::Failed(_) => {
                self.ledger.failed += 1;
                self.ledger.consecutive += 1;
            }
            AttemptOutcome::NotMade => *self.ledger.made.get_mut(&planned).unwrap() -= 1,
        }
    }

    fn write(&mut self) {
        let mode = self.dice.one_of(&[
            Override::None,
            Override::MetaAndSpecOnly,
            Override::MetaAndSpecOnly,
            Override::All,
        ]);
        let spec = random_spec(&mut self.dice, self.now);
        let fresh = self.fresh();
        let Ok(row) = put(
            Some(&self.row),
            request(&self.row.id, fresh, spec, mode),
            self.now,
        ) else {
            return assert_eq!(mode, Override::None);
        };
        if mode == Override::All {
            assert!(row.status.generation > self.row.status.generation);
            self.ledger = Ledger::default();
        }
        self.out_of_turn = row.status.planned_at;
        self.row = row;
        self.allow_attempts();
    }

    fn control(&mut self) {
        let (before, now, fresh) = (self.row.clone(), self.now, self.fresh());
        let changed = match self.dice.below(4) {
            0 => pause(&before, fresh, now).unwrap_or(None),
            1 | 2 => resume(&before, fresh, now).ok(),
            _ => run_now(&before, fresh, now)
                .ok()
                .inspect(|row| self.out_of_turn = row.status.planned_at),
        };
        self.row = changed.unwrap_or(before);
    }

    fn check(&mut self) {
        let (status, ledger) = (&self.row.status, &self.ledger);
        assert_eq!(status.begun, ledger.begun);
        assert_eq!(
            (status.successful, status.failed),
            (ledger.successful, ledger.failed)
        );
        assert_eq!(
            (status.interrupted, status.consecutive_failures),
            (ledger.interrupted, ledger.consecutive)
        );
        assert_eq!(status.is_finished(), status.finished.is_some());
        let waits = !status.is_finished() && status.paused_at.is_none();
        assert_eq!(self.row.due_at().is_some(), waits, "lost");
        assert_eq!(status.is_finished(), status.planned_at.is_none());
        if self.dice.chance(8) {
            assert_eq!(
                Status::from_stored(&status.to_stored()).as_ref(),
                Ok(status)
            );
            assert_eq!(
                Spec::from_stored(&self.row.spec.to_stored()).as_ref(),
                Ok(&self.row.spec)
            );
        }
    }

    /// From here on nothing fails any more: whatever is due happens, and time goes on.
    fn settle(&mut self) {
        self.flights.clear();
        if let Ok(row) = resume(&self.row.clone(), guid(0), self.now) {
            self.row = row;
        }
        let successes = self.ledger.successful;
        for _ in 0..500 {
            let Some(due) = self.row.due_at() else {
                return;
            };
            if self.ledger.successful > successes + 3 {
                return;
            }
            self.now = self.now.max(due);
            let guid = self.row.guid;
            let before = self.row.clone();
            match begin(Some(&before), guid, Previous::Over, &self.limits, self.now) {
                Begin::Run(run) => {
                    self.row = run.row;
                    let ended = record(
                        Some(&self.row),
                        &run.ticket,
                        AttemptOutcome::Success,
                        guid,
                        &self.limits,
                        self.now,
                    );
                    let RecordResult::Written(recorded) = ended else {
                        panic!("a record was refused")
                    };
                    self.row = recorded.row;
                    self.ledger.successful += 1;
                }
                Begin::Moved(moved) => self.row = moved.row,
                other => panic!("{other:?}"),
            }
        }
        panic!("it never gets anywhere");
    }
}

fn request(id: &str, guid: Uuid, spec: Spec, mode: Override) -> Put {
    Put {
        id: id.into(),
        guid,
        spec,
        notes: Map::new(),
        mode,
        written_by: "model".into(),
    }
}

/// Says which seed it was, however it fails.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the seed is {}", self.0);
        }
    }
}

#[test]
fn nothing_breaks_the_promises_of_a_firing() {
    let (mut fired, mut lost) = (0, 0);
    for seed in 0..SEEDS {
        let _named = Named(seed);
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            world.step();
            lost += u64::from(world.row.status.interrupted > 0);
        }
        world.settle();
        fired += world.ledger.successful;
    }
    // A model in which nothing happens proves nothing.
    assert!(
        fired > SEEDS && lost > SEEDS,
        "{fired} successes, {lost} with losses"
    );
}

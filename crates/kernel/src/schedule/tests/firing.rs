use super::*;
use crate::schedule::status::{ActionEnding, SkipReason};

struct Play {
    row: ScheduledAction,
    limits: ScheduleLimits,
    guids: u128,
}

impl Play {
    fn of(policy: Value) -> Self {
        Self {
            row: row(spec(policy)),
            limits: ScheduleLimits::default(),
            guids: 100,
        }
    }

    fn until(mut self, deadline: Timestamp) -> Self {
        self.row.spec.deadline = Some(deadline);
        self
    }

    fn begin_with(&mut self, previous: Previous, now: Timestamp) -> Begin {
        let begin = begin(Some(&self.row), self.row.guid, previous, &self.limits, now);
        match &begin {
            Begin::Run(run) => self.row = run.row.clone(),
            Begin::Moved(moved) => self.row = moved.row.clone(),
            Begin::NotDue { .. } | Begin::Stale => {}
        }
        begin
    }

    fn run(&mut self, now: Timestamp) -> Run {
        match self.begin_with(Previous::Over, now) {
            Begin::Run(run) => *run,
            other => panic!("nothing begins at {now}: {other:?}"),
        }
    }

    fn moved(&mut self, now: Timestamp) {
        let begin = self.begin_with(Previous::Over, now);
        assert!(matches!(begin, Begin::Moved(_)), "{begin:?}");
    }

    fn record(&mut self, ticket: &Ticket, outcome: AttemptOutcome, now: Timestamp) -> RecordResult {
        self.guids += 1;
        let record = record(
            Some(&self.row),
            ticket,
            outcome,
            guid(self.guids),
            &self.limits,
            now,
        );
        if let RecordResult::Written(recorded) = &record {
            self.row = recorded.row.clone();
        }
        record
    }

    fn fire(&mut self, now: Timestamp, outcome: AttemptOutcome) -> Timestamp {
        let run = self.run(now);
        self.record(&run.ticket, outcome, now);
        run.attempt.planned_at
    }

    fn put(&mut self, mode: Override, now: Timestamp) {
        self.guids += 1;
        let request = Put {
            id: self.row.id.clone(),
            guid: guid(self.guids),
            spec: self.row.spec.clone(),
            notes: Map::new(),
            mode,
            written_by: "tests".into(),
        };
        self.row = put(Some(&self.row), request, now).unwrap();
    }
}

fn failed() -> AttemptOutcome {
    AttemptOutcome::Failed(Failure::new("HTTP_STATUS", "503"))
}

fn after(count: u64) -> Timestamp {
    noon().plus(seconds(count))
}

fn retries(count: u32) -> Value {
    json!({"max_retries": count})
}

#[test]
fn once_done_is_done() {
    let mut play = Play::of(json!({"once": {}}));
    assert_eq!(
        play.begin_with(Previous::Over, after(0).minus(seconds(1))),
        Begin::NotDue { at: noon() }
    );
    let run = play.run(after(3));
    assert_eq!(
        run.row.due_at(),
        Some(after(13)),
        "looked at again when a vanished worker is known to have"
    );
    assert_eq!(
        run.key,
        format!(
            "a:{}:2026-06-01T12:00:00.000000Z",
            run.row.status.generation
        )
    );
    assert_eq!(
        play.begin_with(Previous::Over, after(4)),
        Begin::NotDue { at: after(13) }
    );
    play.record(&run.ticket, AttemptOutcome::Success, after(4));
    assert_eq!(
        (play.row.status.finished, play.row.due_at()),
        (Some(ActionEnding::Done), None)
    );
    assert_eq!(play.begin_with(Previous::Over, after(20)), Begin::Stale);
    assert!(
        matches!(
            play.record(&run.ticket, AttemptOutcome::Success, after(21)),
            RecordResult::Late(_)
        ),
        "twice the same record"
    );
    assert_eq!(play.row.status.successful, 1);
}

#[test]
fn retries_wait_longer_and_end() {
    let mut play = Play::of(json!({"once": {"retry": retries(2)}}));
    let mut now = noon();
    for delay in [2, 3] {
        assert_eq!(
            play.fire(now, failed()),
            noon(),
            "the planned time is not the retry's"
        );
        assert_eq!(play.row.due_at(), Some(now.plus(seconds(delay))));
        now = now.plus(seconds(delay));
    }
    play.fire(now, failed());
    let status = &play.row.status;
    assert_eq!(status.finished, Some(ActionEnding::OutOfRetries));
    assert_eq!(
        (status.failed, status.consecutive_failures, status.begun),
        (3, 3, 3)
    );
}

#[test]
fn an_interrupted_attempt_is_found_and_counted() {
    let mut play = Play::of(json!({"once": {"retry": retries(1)}}));
    let lost = play.run(after(0));
    let again = play.run(after(10));
    assert_eq!(
        again.interrupted.as_ref().map(|past| past.ended.name()),
        Some("interrupted")
    );
    assert_eq!(
        (again.key.as_str(), again.attempt.number),
        (lost.key.as_str(), 2)
    );
    assert!(
        matches!(
            play.record(&lost.ticket, AttemptOutcome::Success, after(11)),
            RecordResult::Late(_)
        ),
        "counted as interrupted"
    );
    // The next is lost too: there is another, with all the retries that failures may have.
    let third = play.run(after(30));
    let status = &play.row.status;
    assert_eq!((status.interrupted, status.finished), (2, None));
    let failure = AttemptOutcome::Failed(Failure::new("X", "no"));
    play.record(&third.ticket, failure, after(31));
    assert_eq!(play.row.status.finished, None);
}

#[test]
fn an_attempt_not_made_counts_for_nothing() {
    let mut play = Play::of(json!({"once": {}}));
    let run = play.run(after(0));
    play.record(&run.ticket, AttemptOutcome::NotMade, after(1));
    assert_eq!(play.row.due_at(), Some(after(1)));
    assert_eq!(play.fire(after(1), AttemptOutcome::Success), noon());
    assert_eq!(
        (play.row.status.successful, play.row.status.interrupted),
        (1, 0)
    );
}

#[test]
fn the_deadline_ends_retries() {
    let mut play = Play::of(json!({"once": {"retry": retries(9)}})).until(after(4));
    play.fire(after(0), failed());
    play.fire(after(2), failed());
    assert_eq!(
        play.row.status.finished,
        Some(ActionEnding::Deadline),
        "the retry would be at 5 s"
    );
    let mut play = Play::of(json!({"once": {"retry": retries(9)}})).until(after(4));
    play.run(after(1));
    play.moved(after(11));
    assert_eq!(
        (play.row.status.finished, play.row.status.interrupted),
        (Some(ActionEnding::Deadline), 1)
    );
    let mut play = Play::of(json!({"periodic": {"period": "10s"}})).until(after(15));
    play.fire(after(0), AttemptOutcome::Success);
    play.fire(after(10), AttemptOutcome::Success);
    assert_eq!(
        play.row.status.finished,
        Some(ActionEnding::Deadline),
        "the next would be at 20 s"
    );
}

#[test]
fn a_clock_set_back_fires_nothing_twice() {
    let mut play = Play::of(json!({"cron": {"expr": "* * * * *"}}));
    play.fire(after(0), AttemptOutcome::Success);
    let run = play.run(after(60));
    // An hour back, between begin and record.
    let back = after(61).minus(seconds(3_600));
    play.record(&run.ticket, AttemptOutcome::Success, back);
    assert_eq!(play.row.due_at(), Some(after(120)));
    assert_eq!(
        play.begin_with(Previous::Over, back),
        Begin::NotDue { at: after(120) }
    );
    // Even by hand, no planned time comes again.
    let manual = run_now(&play.row, guid(7), back).unwrap();
    assert!(manual.status.planned_at > Some(after(60)));
    play.row = manual;
    play.fire(back, AttemptOutcome::Success);
    assert_eq!(play.row.due_at(), Some(after(120)));
}

fn missed(mode: &str, policy: &str, now: Timestamp) -> Vec<Timestamp> {
    let mut fields = json!({"catch_up": mode});
    match policy {
        "cron" => fields["expr"] = json!("* * * * *"),
        _ => fields["period"] = json!("1m"),
    }
    let mut play = Play::of(json!({policy: fields}));
    play.limits.catch_up_max = 5;
    play.limits.grace = seconds(5);
    let mut fired = Vec::new();
    while play.row.due_at().is_some_and(|due| due <= now) {
        match play.begin_with(Previous::Over, now) {
            Begin::Run(run) => {
                fired.push(run.attempt.planned_at);
                play.record(&run.ticket, AttemptOutcome::Success, now);
            }
            begin => assert!(matches!(begin, Begin::Moved(_)), "{begin:?}"),
        }
    }
    assert_eq!(
        play.row.due_at().map(|at| at.as_micros() % 60_000_000),
        Some(0)
    );
    fired
}

#[test]
fn an_outage_is_caught_up_with_as_wanted() {
    for policy in ["cron", "periodic"] {
        // Ten days.
        let now = after(864_000 + 30);
        let latest = after(864_000);
        assert_eq!(missed("none", policy, now), []);
        assert_eq!(missed("none", policy, latest.plus(seconds(5))), [latest]);
        assert_eq!(missed("last", policy, now), [latest]);
        let five: Vec<Timestamp> = (0..5)
            .rev()
            .map(|n| latest.minus(seconds(n * 60)))
            .collect();
        assert_eq!(missed("all", policy, now), five);
        // Three of them, which is fewer than the limit.
        let three = [after(0), after(60), after(120)];
        assert_eq!(missed("all", policy, after(150)), three);
    }
}

#[test]
fn years_of_seconds_are_not_walked_through() {
    let mut play =
        Play::of(json!({"cron": {"expr": "* * 9-17 * * *", "timezone": "Europe/Berlin"}}));
    let planned = play.fire(at("2036-06-01T23:00:00Z"), AttemptOutcome::Success);
    assert_eq!(planned, at("2036-06-01T15:59:59Z"));
    assert_eq!(
        play.row.status.last_skip.as_ref().map(|skip| skip.reason),
        Some(SkipReason::CatchUp)
    );
}

fn overlapping(overlap: &str) -> Play {
    Play::of(
        json!({"periodic": {"period": "10s", "overlap": overlap, "catch_up": "all", "retry": retries(5)}}),
    )
}

#[test]
fn firings_that_meet_a_retry() {
    // The first attempt takes 25 s, the retry is 2 s later.
    let meet = |overlap| {
        let mut play = overlapping(overlap);
        let run = play.run(after(0));
        play.record(&run.ticket, failed(), after(25));
        play
    };
    let mut play = meet("skip");
    assert_eq!(play.fire(after(27), AttemptOutcome::Success), noon());
    assert_eq!(play.row.due_at(), Some(after(30)));
    let mut play = meet("queue");
    assert_eq!(play.fire(after(27), AttemptOutcome::Success), noon());
    assert_eq!(play.fire(after(27), AttemptOutcome::Success), after(10));
    assert_eq!(play.fire(after(28), AttemptOutcome::Success), after(20));
    assert_eq!(play.row.due_at(), Some(after(30)));
    let mut play = meet("cancel_previous");
    assert_eq!(
        play.row.due_at(),
        Some(after(10)),
        "the retry is taken away"
    );
    assert_eq!(play.fire(after(25), AttemptOutcome::Success), after(10));
}

#[test]
fn firings_that_meet_an_execution() {
    for (overlap, begins, cancels, due) in [
        ("skip", false, false, after(20)),
        ("queue", false, false, after(15)),
        ("allow", true, false, after(20)),
        ("cancel_previous", true, true, after(20)),
    ] {
        let mut play = overlapping(overlap);
        play.fire(after(0), AttemptOutcome::Success);
        let run = match play.begin_with(Previous::Running, after(10)) {
            Begin::Run(run) => Some(run),
            _ => None,
        };
        assert_eq!(run.is_some(), begins, "{overlap}");
        if let Some(run) = run {
            assert_eq!(run.cancel_previous, cancels);
            play.record(&run.ticket, AttemptOutcome::Success, after(10));
        }
        assert_eq!(play.row.due_at(), Some(due), "{overlap}");
    }
}

#[test]
fn only_executions_can_be_in_the_way() {
    let mut play = overlapping("skip");
    play.fire(after(0), AttemptOutcome::Success);
    assert!(play.row.previous_keys().is_empty(), "a mock starts nothing");
    play.row.spec.action = Action::StartExecution {
        schema: "s".into(),
        input: Value::Null,
    };
    let first = play.row.start_key(noon());
    assert_eq!(play.row.previous_keys(), [first.as_str()]);
    for now in [10, 12, 15, 20, 29, 46] {
        play.fire(after(now), failed());
    }
    assert!(!play.row.status.is_under_way());
    // What failed last may have started something, if only the answer was lost.
    let failed_last = play.row.start_key(play.row.status.last_planned_at.unwrap());
    assert_eq!(play.row.previous_keys(), [first, failed_last]);
}

#[test]
fn one_in_line_keeps_its_place() {
    let mut play =
        Play::of(json!({"periodic": {"period": "1h", "overlap": "queue", "catch_up": "none"}}));
    play.fire(after(0), AttemptOutcome::Success);
    for look in [0, 600, 1_200] {
        play.begin_with(Previous::Running, after(3_600 + look));
    }
    assert_eq!(
        play.fire(after(5_400), AttemptOutcome::Success),
        after(3_600),
        "half an hour late, and no outage"
    );
}

#[test]
fn a_write_that_keeps_the_status_keeps_the_attempt() {
    let mut play = Play::of(json!({"periodic": {"period": "1m"}}));
    let run = play.run(after(0));
    play.put(Override::MetaAndSpecOnly, after(1));
    let (guid, due) = (play.row.guid, play.row.due_at());
    assert_eq!((due, &play.row.status), (run.row.due_at(), &run.row.status));
    let RecordResult::Written(recorded) =
        play.record(&run.ticket, AttemptOutcome::Success, after(2))
    else {
        panic!("the attempt is the row's own");
    };
    assert!(recorded.requeue && recorded.row.guid != guid);
    assert_eq!(
        (play.row.status.successful, play.row.due_at()),
        (1, Some(after(60)))
    );
    assert_eq!(
        begin(
            Some(&play.row),
            guid,
            Previous::Over,
            &play.limits,
            after(60)
        ),
        Begin::Stale
    );
}

#[test]
fn a_new_generation_knows_nothing_of_the_old() {
    let mut play = Play::of(json!({"once": {}}));
    let run = play.run(after(0));
    play.put(Override::All, after(1));
    let fresh = play.row.clone();
    assert!(fresh.status.generation > run.ticket.generation);
    assert!(matches!(
        play.record(&run.ticket, AttemptOutcome::Success, after(2)),
        RecordResult::Late(_)
    ));
    assert_eq!(play.row, fresh);
    assert_ne!(play.run(after(2)).key, run.key);
    let late = record(
        None,
        &run.ticket,
        AttemptOutcome::Success,
        guid(9),
        &ScheduleLimits::default(),
        after(3),
    );
    assert!(matches!(late, RecordResult::Late(_)), "deleted");
}

#[test]
fn what_exists_is_not_overridden_unasked() {
    let existing = row(spec(json!({"once": {}})));
    let mut request = Put {
        id: "a".into(),
        guid: guid(2),
        spec: spec(json!({"periodic": {"period": "1h"}})),
        notes: Map::new(),
        mode: Override::None,
        written_by: "tests".into(),
    };
    assert_eq!(
        put(Some(&existing), request.clone(), noon()),
        Err(Exists("a".into()))
    );
    request.mode = Override::MetaAndSpecOnly;
    let kept = put(Some(&existing), request.clone(), after(5)).unwrap();
    assert_eq!(
        (kept.status, kept.guid, kept.meta.created_at),
        (existing.status.clone(), guid(2), noon())
    );
    request.mode = Override::All;
    // Within one millisecond, and with a clock that was set back.
    for now in [noon(), noon().minus(seconds(3_600))] {
        let new = put(Some(&existing), request.clone(), now).unwrap();
        assert!(new.status.generation > existing.status.generation);
    }
}

#[test]
fn another_policy_plans_anew_what_is_to_come() {
    let existing = row(spec(json!({"periodic": {"period": "1h"}})));
    let over = |existing: &ScheduledAction, policy: Value, now| {
        let request = Put {
            id: "a".into(),
            guid: guid(2),
            spec: spec(policy),
            notes: Map::new(),
            mode: Override::MetaAndSpecOnly,
            written_by: "tests".into(),
        };
        put(Some(existing), request, now).unwrap().status
    };
    let written = |policy: Value, now| over(&existing, policy, now);
    let before = noon().minus(seconds(60));
    let retry = json!({"periodic": {"period": "1h", "retry": {"max_retries": 3}}});
    assert_eq!(written(retry, before), existing.status, "the same times");
    let daily = json!({"cron": {"expr": "0 9 * * *", "timezone": "UTC"}});
    let status = written(daily.clone(), before);
    let nine = Some(noon().plus(seconds(21 * 3_600)));
    assert_eq!((status.planned_at, status.scheduled_at), (nine, nine));
    assert_eq!(status.generation, existing.status.generation);
    assert_eq!(
        written(daily, after(1)),
        existing.status,
        "what is due is not lost"
    );
    let mut overdue = existing.clone();
    overdue.status.planned_at = Some(after(3_600));
    overdue.status.scheduled_at = Some(after(3_600));
    let once = over(&overdue, json!({"once": {}}), after(3_601));
    assert_eq!(once.scheduled_at, Some(noon()), "once, at its own time");
}

#[test]
fn a_pause_holds_and_leaves_out() {
    let mut play = Play::of(json!({"periodic": {"period": "1m", "catch_up": "all"}}));
    let run = play.run(after(0));
    play.row = pause(&play.row, guid(2), after(1)).unwrap().unwrap();
    assert_eq!(play.row.due_at(), None);
    assert_eq!(pause(&play.row, guid(3), after(1)), Ok(None));
    assert_eq!(play.begin_with(Previous::Over, after(90)), Begin::Stale);
    assert!(matches!(
        play.record(&run.ticket, AttemptOutcome::Success, after(2)),
        RecordResult::Written(_)
    ));
    assert_eq!((play.row.status.successful, play.row.due_at()), (1, None));
    assert_eq!(
        run_now(&play.row, guid(3), after(3)),
        Err(ActionRefusal::Paused)
    );
    play.row = resume(&play.row, guid(4), after(200)).unwrap();
    assert_eq!(play.row.due_at(), Some(after(240)));
    assert_eq!(
        resume(&play.row, guid(5), after(200)),
        Err(ActionRefusal::NotPaused)
    );
    let mut once = Play::of(json!({"once": {}}));
    once.row = pause(&once.row, guid(2), after(0)).unwrap().unwrap();
    once.row = resume(&once.row, guid(3), after(99)).unwrap();
    assert_eq!(
        once.fire(after(99), AttemptOutcome::Success),
        noon(),
        "late, not lost"
    );
    assert_eq!(
        pause(&once.row, guid(4), after(99)),
        Err(ActionRefusal::Finished(ActionEnding::Done))
    );
}

#[test]
fn run_now_adds_a_firing() {
    let mut play = Play::of(json!({"periodic": {"period": "1m"}}));
    play.fire(after(0), AttemptOutcome::Success);
    play.row = run_now(&play.row, guid(2), after(20)).unwrap();
    let run = play.run(after(20));
    assert_eq!(run.attempt.planned_at, after(20));
    assert_eq!(
        run_now(&play.row, guid(3), after(21)),
        Err(ActionRefusal::UnderWay(after(20)))
    );
    play.record(&run.ticket, AttemptOutcome::Success, after(21));
    assert_eq!(play.row.due_at(), Some(after(60)), "the schedule goes on");
    let early = noon().minus(seconds(500));
    let mut once = Play::of(json!({"once": {}}));
    once.row = run_now(&once.row, guid(2), early).unwrap();
    assert_eq!(once.fire(early, AttemptOutcome::Success), early);
    assert!(once.row.status.is_finished());
}

#[test]
fn a_status_survives_its_column() {
    let mut play = Play::of(json!({"periodic": {"period": "1m", "retry": retries(3)}}));
    let check = |play: &Play| {
        let status = &play.row.status;
        assert_eq!(
            Status::from_stored(&status.to_stored()).as_ref(),
            Ok(status)
        );
    };
    check(&play);
    let run = play.run(after(500));
    check(&play);
    play.record(&run.ticket, failed(), after(501));
    check(&play);
    let json: Value = serde_json::from_str(&play.row.status.to_stored()).unwrap();
    assert_eq!(json["last"]["outcome"], "failed");
    assert_eq!(json["last"]["error"]["code"], "HTTP_STATUS");
    assert_eq!(json["scheduled_at"], "2026-06-01T12:08:23.000000Z");
    play.run(after(503));
    play.run(after(520));
    check(&play);
    play.row.status.finish(ActionEnding::Done, after(521));
    check(&play);
    assert!(Failure::new("X", "ü".repeat(5_000)).message.chars().count() <= 1_001);
}

#[test]
fn a_callback_that_may_take_long_is_not_taken_for_interrupted() {
    let mut play = Play::of(json!({"once": {"retry": {"max_retries": 1}}}));
    play.row.spec.action = Action::HttpCallback {
        method: "POST".into(),
        url: "https://example.com".into(),
        headers: Map::new(),
        body: Value::Null,
        timeout: Some(Duration::from_secs(60)),
    };
    let start = play.row.spec.start_at;
    let run = play.run(start);
    assert_eq!(run.row.due_at(), Some(start.plus(Duration::from_secs(75))));
    let early = start.plus(Duration::from_secs(74));
    let begin = play.begin_with(Previous::Over, early);
    assert!(matches!(begin, Begin::NotDue { .. }), "{begin:?}");
}

#[test]
fn an_interruption_uses_up_no_retries() {
    let mut play = Play::of(json!({"once": {}}));
    let mut now = play.row.spec.start_at;
    let first = play.run(now);
    now = play.row.due_at().unwrap();
    let second = play.run(now);
    assert_eq!(second.key, first.key, "the other side can tell");
    assert_eq!(second.interrupted.unwrap().ended, AttemptEnd::Interrupted);
    let failure = AttemptOutcome::Failed(Failure::new("X", "no"));
    play.record(&second.ticket, failure, now);
    let status = &play.row.status;
    assert_eq!(status.finished, Some(ActionEnding::OutOfRetries));
    assert_eq!((status.interrupted, status.failed), (1, 1));
}

#[test]
fn what_kills_everybody_is_given_up() {
    let mut play = Play::of(json!({"once": {}}));
    let mut runs = 0;
    while let Some(now) = play.row.due_at() {
        if let Begin::Run(_) = play.begin_with(Previous::Over, now) {
            runs += 1;
        }
    }
    assert_eq!(runs, 1 + crate::schedule::retry::INTERRUPTIONS_MAX);
    assert_eq!(play.row.status.finished, Some(ActionEnding::OutOfRetries));
}

/// The backlog is caught up with; what comes due meanwhile meets what is under way.
#[test]
fn catching_up_ends_although_firings_take_longer_than_their_period() {
    let policy = json!({"periodic": {"period": "5s", "catch_up": "all", "overlap": "skip"}});
    let mut play = Play::of(policy);
    let start = play.row.spec.start_at;
    let mut now = start.plus(seconds(60));
    let back = now;
    let mut planned = Vec::new();
    for _ in 0..30 {
        now = now.max(play.row.due_at().unwrap());
        let run = play.run(now);
        planned.push(run.attempt.planned_at);
        now = now.plus(seconds(7));
        play.record(&run.ticket, AttemptOutcome::Success, now);
    }
    let missed = planned.iter().filter(|at| **at <= back).count();
    assert_eq!(missed, 13, "the start and the twelve periods after it");
    let behind = now.since(*planned.last().unwrap());
    assert!(behind <= seconds(10), "still {behind:?} behind");
}

#[test]
fn what_is_planned_for_the_deadline_does_not_happen() {
    let start = noon();
    let policy = json!({"periodic": {"period": "5s"}});
    let mut play = Play::of(policy).until(start.plus(seconds(10)));
    for at in [0, 5] {
        let now = start.plus(seconds(at));
        let run = play.run(now);
        play.record(&run.ticket, AttemptOutcome::Success, now);
    }
    assert_eq!(play.row.status.finished, Some(ActionEnding::Deadline));
}

#[test]
fn a_preview_shows_what_is_yet_to_come() {
    let preview = |row: &ScheduledAction| calendar::preview(&row.spec, &row.status, 3);
    let mut play = Play::of(json!({"once": {}}));
    let early = noon().minus(seconds(60));
    assert_eq!(preview(&play.row), [noon()]);
    play.row = run_now(&play.row, guid(7), early).unwrap();
    assert_eq!(
        preview(&play.row),
        [early],
        "instead of the time planned first"
    );
    play.run(early);
    assert_eq!(preview(&play.row), []);
}

/// What a schema has paused goes on with it; a person's pause stays, whichever came first.
#[test]
fn a_pause_knows_whose_it_is() {
    let row = Play::of(json!({"periodic": {"period": "1m"}})).row;
    let with_schema = pause_with_schema(&row, guid(2), noon()).unwrap().unwrap();
    assert!(with_schema.status.paused_with_schema && with_schema.due_at().is_none());
    assert_eq!(pause_with_schema(&with_schema, guid(3), noon()), Ok(None));
    let by_person = pause(&with_schema, guid(3), noon()).unwrap().unwrap();
    assert!(!by_person.status.paused_with_schema);
    assert_eq!(pause_with_schema(&by_person, guid(4), noon()), Ok(None));
    let resumed = resume(&with_schema, guid(5), noon()).unwrap();
    assert!(!resumed.status.paused_with_schema && resumed.due_at().is_some());
}

use super::*;
use crate::diagnostic::Diagnostic;
use crate::expr::Meter;

fn read(value: Value) -> Result<Request, Vec<Diagnostic>> {
    read_request(&value, Author::User { kept_start: None }, noon())
}

/// What is wrong with a whole request, as `pointer CODE`.
fn problems(value: Value) -> Vec<String> {
    let found = read(value).expect_err("it should have problems");
    let line = |found: &Diagnostic| format!("{} {}", found.pointer, found.code);
    found.iter().map(line).collect()
}

fn with(policy: Value, action: Value) -> Value {
    json!({"spec": {"start_at": "2026-06-01T12:00:00Z", "policy": policy, "action": action}})
}

fn callback() -> Value {
    json!({"http_callback": {"url": "https://example.com/hook"}})
}

#[test]
fn the_example_is_written_back_as_it_was() {
    let spec = json!({
        "start_at": "2026-12-01T09:00:00Z", "deadline": null,
        "policy": {"once": {"retry": {"max_retries": 3, "min": "1s", "max": "1m", "scale": "1s", "backoff": 2}}},
        "action": {"http_callback": {"method": "POST", "url": "https://example.com/x", "headers": {}, "body": {}}}
    });
    let request =
        read(json!({"spec": spec, "override": "meta_and_spec_only", "meta": {"team": "a"}}))
            .unwrap();
    assert_eq!(request.spec.to_value(), spec);
    assert_eq!(request.mode, Override::MetaAndSpecOnly);
    assert_eq!(request.notes["team"], "a");
}

#[test]
fn every_kind_survives_its_column() {
    let retry =
        json!({"max_retries": 7, "min": "250ms", "max": "1h30m", "scale": "0.5s", "backoff": 1.5});
    let policies = [
        json!({"once": {}}),
        json!({"periodic": {"period": "1m", "retry": retry, "overlap": "queue", "catch_up": "all"}}),
        json!({"cron": {"expr": "30 2 * * mon", "timezone": "Europe/Berlin", "overlap": "cancel_previous", "catch_up": "none"}}),
    ];
    let actions = [
        json!({"http_callback": {"url": "http://x", "headers": {"X-A": "b"}, "body": [1, "ü"]}}),
        json!({"http_callback": {"url": "http://x", "timeout": "1m30s"}}),
        json!({"start_execution": {"schema": "order-check", "input": {"a": 1}}}),
        json!({"rabbitmq_publish": {"exchange": "e", "routing_key": "k", "message": "m", "connection": "events"}}),
        json!({"mock": {"fail_first": 2, "takes": "10ms"}}),
    ];
    for policy in &policies {
        for action in &actions {
            let spec = read(with(policy.clone(), action.clone())).unwrap().spec;
            assert_eq!(Spec::from_stored(&spec.to_stored()), Ok(spec));
        }
    }
}

#[test]
fn defaults_are_those_of_the_contract() {
    let request = read(json!({"spec": {"policy": {"once": {}}, "action": callback()}})).unwrap();
    assert_eq!(request.spec.start_at, noon());
    assert_eq!(request.mode, Override::None);
    let retry = json!({"max_retries": 0, "min": "1s", "max": "1h", "scale": "1s", "backoff": 2});
    assert_eq!(request.spec.to_value()["policy"]["once"]["retry"], retry);
    let cron = read(with(json!({"cron": {"expr": "@daily"}}), callback()))
        .unwrap()
        .spec
        .to_value();
    let cron = &cron["policy"]["cron"];
    assert_eq!(
        (&cron["timezone"], &cron["overlap"], &cron["catch_up"]),
        (&json!("UTC"), &json!("skip"), &json!("last"))
    );
}

#[test]
fn all_problems_are_said_at_once() {
    let found = problems(json!({
        "spec": {
            "start_at": "2026-06-01T11:49:59Z", "deadline": "2026-05-01T00:00:00Z", "what": 1,
            "policy": {"cron": {"expr": "* * *", "timezone": "Europe/Berln", "overlap": "no"}},
            "action": {"http_callback": {"url": "ftp://x", "method": "BREW", "headers": {"a b": 1}, "timeout": "1h"}}
        },
        "overide": "none"
    }));
    let expected = [
        "/overide UNKNOWN_FIELD",
        "/spec/what UNKNOWN_FIELD",
        "/spec/policy/cron/expr BAD_CRON",
        "/spec/policy/cron/timezone BAD_TIME_ZONE",
        "/spec/policy/cron/overlap UNKNOWN_CHOICE",
        "/spec/action/http_callback/method UNKNOWN_CHOICE",
        "/spec/action/http_callback/url BAD_URL",
        "/spec/action/http_callback/headers/a b BAD_HEADER",
        "/spec/action/http_callback/timeout OUT_OF_RANGE",
        "/spec/action/http_callback/headers/a b WRONG_TYPE",
        "/spec/deadline DEADLINE_BEFORE_START",
        "/spec/start_at START_TOO_OLD",
    ];
    for line in expected {
        assert!(
            found.iter().any(|found| found == line),
            "{line} is not in {found:#?}"
        );
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

#[test]
fn policies_that_are_none() {
    let retry = |retry: Value| json!({"once": {"retry": retry}});
    for (policy, expected) in [
        (json!({}), "/spec/policy NOT_ONE_CHOICE"),
        (json!(null), "/spec/policy MISSING_FIELD"),
        (json!("once"), "/spec/policy WRONG_TYPE"),
        (
            json!({"once": {}, "cron": {}}),
            "/spec/policy NOT_ONE_CHOICE",
        ),
        (json!({"twice": {}}), "/spec/policy/twice UNKNOWN_CHOICE"),
        (json!({"once": null}), "/spec/policy/once WRONG_TYPE"),
        (
            json!({"once": {"period": "1s"}}),
            "/spec/policy/once/period UNKNOWN_FIELD",
        ),
        (
            json!({"periodic": {}}),
            "/spec/policy/periodic/period MISSING_FIELD",
        ),
        (
            json!({"periodic": {"period": "999ms"}}),
            "/spec/policy/periodic/period OUT_OF_RANGE",
        ),
        (
            json!({"periodic": {"period": "soon"}}),
            "/spec/policy/periodic/period BAD_DURATION",
        ),
        (
            json!({"cron": {"expr": "0 0 30 2 *"}}),
            "/spec/policy/cron/expr NEVER_FIRES",
        ),
        (json!({"cron": {}}), "/spec/policy/cron/expr MISSING_FIELD"),
        (
            json!({"cron": {"expr": "* * * * *", "timezone": "Mars/Olympus"}}),
            "/spec/policy/cron/timezone BAD_TIME_ZONE",
        ),
        (
            retry(json!({"max_retries": -1})),
            "/spec/policy/once/retry/max_retries OUT_OF_RANGE",
        ),
        (
            retry(json!({"max_retries": 1.5})),
            "/spec/policy/once/retry/max_retries OUT_OF_RANGE",
        ),
        (
            retry(json!({"max_retries": 1_000_001})),
            "/spec/policy/once/retry/max_retries OUT_OF_RANGE",
        ),
        (
            retry(json!({"backoff": 0.5})),
            "/spec/policy/once/retry/backoff OUT_OF_RANGE",
        ),
        (
            retry(json!({"backoff": 1e9})),
            "/spec/policy/once/retry/backoff OUT_OF_RANGE",
        ),
        (
            retry(json!({"backoff": "2"})),
            "/spec/policy/once/retry/backoff WRONG_TYPE",
        ),
        (
            retry(json!({"min": "2s", "max": "1s"})),
            "/spec/policy/once/retry/min OUT_OF_RANGE",
        ),
        (
            retry(json!({"scale": "1000d"})),
            "/spec/policy/once/retry/scale OUT_OF_RANGE",
        ),
    ] {
        assert_eq!(
            problems(with(policy.clone(), callback())),
            [expected],
            "{policy}"
        );
    }
}

#[test]
fn actions_that_are_none() {
    let long = "x".repeat(300);
    for (action, expected) in [
        (json!({}), "/spec/action NOT_ONE_CHOICE"),
        (
            json!({"http_calback": {}}),
            "/spec/action/http_calback UNKNOWN_CHOICE",
        ),
        (
            json!({"http_callback": {}}),
            "/spec/action/http_callback/url MISSING_FIELD",
        ),
        (
            json!({"http_callback": {"url": "https://"}}),
            "/spec/action/http_callback/url BAD_URL",
        ),
        (
            json!({"http_callback": {"url": "https://a b"}}),
            "/spec/action/http_callback/url BAD_URL",
        ),
        (
            json!({"http_callback": {"url": "http://x", "headers": {"A": "b\r\nC: d"}}}),
            "/spec/action/http_callback/headers/A BAD_HEADER",
        ),
        (
            json!({"start_execution": {"schema": ""}}),
            "/spec/action/start_execution/schema OUT_OF_RANGE",
        ),
        (
            json!({"start_execution": {"schema": "a", "version": 1}}),
            "/spec/action/start_execution/version UNKNOWN_FIELD",
        ),
        (
            json!({"rabbitmq_publish": {"exchange": "e"}}),
            "/spec/action/rabbitmq_publish/message MISSING_FIELD",
        ),
        (
            json!({"rabbitmq_publish": {"message": 1}}),
            "/spec/action/rabbitmq_publish/exchange MISSING_FIELD",
        ),
        (
            json!({"rabbitmq_publish": {"message": 1, "routing_key": long}}),
            "/spec/action/rabbitmq_publish/routing_key OUT_OF_RANGE",
        ),
    ] {
        assert_eq!(
            problems(with(json!({"once": {}}), action.clone())),
            [expected],
            "{action}"
        );
    }
    let big = json!({"start_execution": {"schema": "a", "input": "x".repeat(300_000)}});
    assert_eq!(
        problems(with(json!({"once": {}}), big)),
        ["/spec TOO_LARGE"]
    );
    let deep = (0..70).fold(json!(1), |inner, _| json!([inner]));
    let deep = json!({"start_execution": {"schema": "a", "input": deep}});
    assert_eq!(
        problems(with(json!({"once": {}}), deep)),
        ["/spec TOO_DEEP"]
    );
}

#[test]
fn times_that_are_none() {
    let once = |start: &str, deadline: Value| json!({"spec": {"start_at": start, "deadline": deadline, "policy": {"once": {}}, "action": callback()}});
    for (start, deadline, expected) in [
        ("tomorrow", json!(null), "/spec/start_at BAD_TIME"),
        (
            "2026-06-01T12:00:00",
            json!(null),
            "/spec/start_at BAD_TIME",
        ),
        (
            "2026-06-01T12:00:00Z",
            json!("2026-06-01T12:00:00Z"),
            "/spec/deadline DEADLINE_BEFORE_START",
        ),
        (
            "2026-06-01T12:00:00Z",
            json!(5),
            "/spec/deadline WRONG_TYPE",
        ),
        (
            "2026-06-01T11:49:59Z",
            json!(null),
            "/spec/start_at START_TOO_OLD",
        ),
        (
            "2226-06-01T12:00:00Z",
            json!(null),
            "/spec/start_at OUT_OF_RANGE",
        ),
    ] {
        assert_eq!(problems(once(start, deadline)), [expected], "{start}");
    }
    assert!(
        read(once(
            "2026-06-01T11:50:00Z",
            json!("2026-06-01T13:00:01+01:00")
        ))
        .is_ok()
    );
    let cron = json!({"cron": {"expr": "0 0 1 1 *"}});
    let early =
        json!({"spec": {"deadline": "2026-12-01T00:00:00Z", "policy": cron, "action": callback()}});
    assert_eq!(problems(early), ["/spec/policy/cron/expr NEVER_FIRES"]);
}

/// A user who writes an old action again, status kept, may leave its start as it is.
#[test]
fn an_old_start_may_be_kept() {
    let old = at("2020-01-01T00:00:00Z");
    let kept = Author::User {
        kept_start: Some(old),
    };
    let body = |start: Value| json!({"start_at": start, "policy": {"periodic": {"period": "1h"}}, "action": callback()});
    assert!(read_spec(&body(json!("2020-01-01T00:00:00Z")), "", kept, noon()).is_ok());
    assert_eq!(
        read_spec(&body(json!(null)), "", kept, noon())
            .unwrap()
            .start_at,
        old
    );
    assert!(read_spec(&body(json!("2020-01-01T00:00:01Z")), "", kept, noon()).is_err());
    assert!(
        read_spec(
            &body(json!("2020-01-01T00:00:01Z")),
            "",
            Author::Engine,
            noon()
        )
        .is_ok()
    );
}

#[test]
fn every_problem_says_how_to_mend_it() {
    let found = read(with(
        json!({"cron": {"expr": "x", "timezone": "Europe/Berln"}}),
        json!({"mock": {"takes": "2h"}}),
    ));
    for found in found.unwrap_err() {
        assert!(
            found.hint.is_some() || found.message.contains("must be"),
            "{found:?}"
        );
    }
    assert!(
        read(json!([])).is_err() && read(json!({})).is_err() && read(json!({"spec": 1})).is_err()
    );
}

#[test]
fn ids_are_checked() {
    assert_eq!(check_id("invoice-17_a.b@c"), None);
    for bad in ["", "a b", "a/b", "cron:x", "ü", &"x".repeat(201)] {
        assert!(check_id(bad).is_some(), "{bad}");
    }
}

#[test]
fn delays_follow_the_formula() {
    let retry = Retry {
        max_retries: 9,
        max: seconds(60),
        ..Retry::default()
    };
    let delays: Vec<u64> = (0..8)
        .map(|failures| retry.delay(failures).as_secs())
        .collect();
    assert_eq!(delays, [2, 3, 5, 9, 17, 33, 60, 60]);
    assert_eq!(retry.delay(u32::MAX), seconds(60));
    let flat = Retry {
        scale: Duration::ZERO,
        backoff: 100.0,
        ..retry
    };
    assert_eq!(flat.delay(u32::MAX), seconds(1));
    assert!(retry.allows(9, 0) && !retry.allows(10, 0));
}

#[test]
fn headers_may_name_secrets_and_nothing_else() {
    let with_header = |value: &str| {
        let action =
            json!({"http_callback": {"url": "https://x", "headers": {"Authorization": value}}});
        read(with(json!({"once": {}}), action))
    };
    let spec = with_header("Bearer {{secrets.token}}").unwrap().spec;
    let Action::HttpCallback { headers, .. } = &spec.action else {
        panic!()
    };
    let secrets = Map::from_iter([("token".to_owned(), json!("t0ps3cret"))]);
    let sent = headers::render(headers, &secrets, &mut Meter::default()).unwrap();
    assert_eq!(sent["Authorization"], "Bearer t0ps3cret");
    assert!(headers::render(headers, &Map::new(), &mut Meter::default()).is_err());
    for bad in ["{{input.x}}", "{{secrets.", "{{env.HOME}} {{secrets.a}}"] {
        let found = with_header(bad).unwrap_err();
        assert_eq!(found[0].code, "BAD_HEADER", "{bad}");
    }
}

#[test]
fn headers_share_one_meter() {
    let costly = json!("{{secrets.token}}{{reduce(range(4000), 0, (sum, x) => sum + x)}}");
    let secrets = Map::from_iter([("token".to_owned(), json!("t0ps3cret"))]);
    let named = |count: usize| -> Map<String, Value> {
        let header = |number| (format!("x-{number}"), costly.clone());
        (0..count).map(header).collect()
    };
    let mut meter = Meter::default();
    headers::render(&named(1), &secrets, &mut meter).unwrap();
    let one = meter.steps_used();
    headers::render(&named(1), &secrets, &mut meter).unwrap();
    assert_eq!(meter.steps_used(), 2 * one);
    let many = named(usize::try_from(100_000 / one).unwrap() + 1);
    let failed = headers::render(&many, &secrets, &mut Meter::default());
    assert_eq!(failed.unwrap_err().code.as_str(), "LIMIT_EXCEEDED");
}

#[test]
fn a_deadline_that_is_over_is_refused() {
    let now = Timestamp::parse("2026-06-01T12:00:00Z").unwrap();
    let body = json!({"spec": {"start_at": "2026-06-01T11:52:00Z", "deadline": "2026-06-01T11:59:00Z",
        "policy": {"once": {}}, "action": callback()}});
    let author = Author::User { kept_start: None };
    let found = read_request(&body, author, now).unwrap_err();
    assert_eq!(found[0].code, "DEADLINE_OVER");
}

#[test]
fn a_message_goes_somewhere() {
    let action = json!({"rabbitmq_publish": {"exchange": "", "message": 1}});
    let found = read(with(json!({"once": {}}), action)).unwrap_err();
    assert_eq!(found[0].code, "MISSING_FIELD");
}

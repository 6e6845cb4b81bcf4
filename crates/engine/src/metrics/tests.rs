use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use pawl_kernel::execution::{PriorityClass, Status};
use pawl_kernel::id::{self, Entropy, ExecutionId};
use pawl_kernel::ports::batches::BatchSizes;
use pawl_kernel::time::Timestamp;
use pawl_testkit::exposition::Exposition;
use uuid::Uuid;

use super::catalogue::{ALL, NODE_DURATION, QUEUE_DEPTH};
use super::*;

fn metrics(types: &[&'static str]) -> Metrics {
    Metrics::new(types.iter().copied())
}

fn read(metrics: &Metrics) -> Exposition {
    let page = metrics.series().text();
    Exposition::parse(&page).unwrap_or_else(|problem| panic!("{problem}\n{page}"))
}

#[test]
fn an_untouched_page_is_whole() {
    let page = read(&metrics(&["log"]));
    let shown: BTreeSet<&str> = page.families.keys().map(String::as_str).collect();
    // These appear with their first value: no process knows before which labels there are, or whom to ask.
    let later = [
        "pawl_node_errors_total",
        "pawl_queue_depth",
        "pawl_service_last_tick_seconds",
        "pawl_store_batch_jobs",
        "pawl_timer_shard_owned",
        "pawl_timers_due",
    ];
    let expected = ALL
        .iter()
        .map(|about| about.name)
        .filter(|name| !later.contains(name));
    assert_eq!(shown, expected.collect());
    assert_eq!(page.value("pawl_broker_up", &[]), 1.0);
}

#[test]
fn names_keep_the_rules_and_are_all_different() {
    let names: BTreeSet<&str> = ALL.iter().map(|about| about.name).collect();
    assert_eq!(names.len(), ALL.len());
    for about in ALL {
        let total = about.name.ends_with("_total");
        assert!(about.name.starts_with("pawl_"), "{}", about.name);
        assert_eq!(total, matches!(about.kind, Kind::Counter), "{}", about.name);
        assert!(about.help.ends_with('.'), "{}", about.name);
        if let Kind::Histogram(buckets) = about.kind {
            assert!(buckets.bounds.is_sorted_by(|one, two| one < two));
            assert_eq!(about.name.ends_with("_seconds"), buckets.per_unit > 1);
        }
    }
}

#[test]
fn a_histogram_is_shown_in_base_units() {
    let metrics = metrics(&["http_request"]);
    for micros in [90, 100, 101, 30_000_000, 999_000_000] {
        metrics
            .nodes
            .tried("http_request", Duration::from_micros(micros));
    }
    let page = read(&metrics);
    let bucket = |le: &str| {
        let labels = [("node_type", "http_request"), ("le", le)];
        page.value("pawl_node_duration_seconds_bucket", &labels)
    };
    assert_eq!(bucket("0.0001"), 2.0);
    assert_eq!(bucket("0.00025"), 3.0);
    assert_eq!(bucket("10"), 3.0);
    assert_eq!(bucket("30"), 4.0);
    assert_eq!(bucket("+Inf"), 5.0);
    let labels = [("node_type", "http_request")];
    let sum = page.value("pawl_node_duration_seconds_sum", &labels);
    assert!((sum - 1_029.000_291).abs() < 1e-9, "{sum}");
    assert_eq!(page.value("pawl_node_duration_seconds_count", &labels), 5.0);
}

#[test]
fn ten_thousand_codes_are_two_hundred_and_the_rest() {
    let metrics = metrics(&["fail", "log"]);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for number in 0..10_000 {
                    metrics.node_failed("fail", &format!("CODE_{number}"), |_| true);
                }
            });
        }
    });
    let page = read(&metrics);
    let codes = page.label_values("pawl_node_errors_total", "code");
    assert_eq!(codes.len(), 201);
    assert!(codes.contains("other"));
    let all = &page.families["pawl_node_errors_total"].samples;
    assert_eq!(all.iter().map(|sample| sample.value).sum::<f64>(), 40_000.0);
    let known = all.iter().filter(|sample| sample.labels["code"] != "other");
    assert!(known.clone().count() == 200 && known.clone().all(|sample| sample.value == 4.0));
    // The limit is for codes, not for pairs: another type has the same two hundred.
    let known = codes.iter().find(|code| **code != "other").unwrap();
    metrics.node_failed("log", known, |_| panic!("seen before"));
    metrics.node_failed("log", "BRAND_NEW", |_| true);
    let page = read(&metrics);
    let of_log = |code| {
        page.value(
            "pawl_node_errors_total",
            &[("node_type", "log"), ("code", code)],
        )
    };
    assert_eq!((of_log(known), of_log("other")), (1.0, 1.0));
}

#[test]
fn hostile_text_is_escaped_or_left_out() {
    let hostile = "ty\\pe\n\"} 1\n# HELP x";
    let metrics = metrics(&[hostile]);
    metrics.nodes.tried(hostile, Duration::ZERO);
    let long = "X".repeat(5_000);
    for code in ["say \"no\"", "back\\slash", "}", "ünï", "a{b=\"c\"} 9"] {
        metrics.node_failed(hostile, code, |_| true);
    }
    for hidden in ["", "two\nlines", "bell\u{7}", "other", &long] {
        metrics.node_failed(hostile, hidden, |_| true);
    }
    metrics.node_failed(hostile, "SECRET", |_| false);
    metrics.node_failed("unheard of", "X", |_| true);
    let page = read(&metrics);
    let of = |code| {
        let labels = [("node_type", hostile), ("code", code)];
        page.value("pawl_node_errors_total", &labels)
    };
    assert_eq!(of("say \"no\""), 1.0);
    assert_eq!(of("back\\slash"), 1.0);
    assert_eq!(of("other"), 6.0);
    let types = page.label_values("pawl_node_errors_total", "node_type");
    assert_eq!(types, [hostile, "other"].into());
}

#[test]
fn types_are_bounded_too() {
    let names: Vec<&'static str> = (0..1_000)
        .map(|number| &*Box::leak(format!("type_{number}").into_boxed_str()))
        .collect();
    let metrics = metrics(&names);
    for name in &names {
        metrics.nodes.tried(name, Duration::ZERO);
    }
    let page = read(&metrics);
    let types = page.label_values(NODE_DURATION.name, "node_type");
    assert_eq!(types.len(), 201);
    let labels = [("node_type", "other")];
    assert_eq!(
        page.value("pawl_node_duration_seconds_count", &labels),
        800.0
    );
}

#[test]
fn what_is_observed_is_asked_for_when_somebody_reads() {
    let metrics = metrics(&[]);
    let sizes = Arc::new(BatchSizes::default());
    metrics.store_batches(sizes.clone());
    metrics.observe_queue_depth(PriorityClass::High, || 7.0);
    metrics.observe_queue_depth(PriorityClass::High, || 8.0);
    metrics.queue_depth(PriorityClass::Low).set(3);
    metrics.queue_depth(PriorityClass::Low).set(4);
    for jobs in [1, 3, 600] {
        sizes.record(jobs);
    }
    let page = read(&metrics);
    let depth = |class| page.value(QUEUE_DEPTH.name, &[("class", class)]);
    assert_eq!((depth("high"), depth("low")), (8.0, 4.0));
    assert_eq!(
        page.value("pawl_store_batch_jobs_bucket", &[("le", "4")]),
        2.0
    );
    assert_eq!(page.value("pawl_store_batch_jobs_count", &[]), 3.0);
    assert_eq!(page.value("pawl_store_batch_jobs_sum", &[]), 604.0);
}

#[tokio::test(start_paused = true)]
async fn a_scrape_asks_those_who_must_ask_elsewhere_but_does_not_wait_for_ever() {
    let metrics = Arc::new(metrics(&[]));
    let depth = metrics.queue_depth(PriorityClass::Normal);
    metrics.refresh_with(move || {
        let depth = depth.clone();
        Box::pin(async move { depth.set(5) })
    });
    metrics.refresh_with(|| Box::pin(std::future::pending()));
    let page = Exposition::parse(&metrics.page().await).unwrap();
    assert_eq!(page.value(QUEUE_DEPTH.name, &[("class", "normal")]), 5.0);
}

struct Bits(u128);

impl Entropy for Bits {
    fn bits(&self) -> u128 {
        self.0
    }
}

#[test]
fn the_duration_of_an_execution_comes_from_its_id() {
    let metrics = metrics(&[]);
    let created = Timestamp::from_micros(1_700_000_000_123_456);
    let id = ExecutionId(id::time_ordered(created, &Bits(u128::MAX)));
    let now = created.plus(Duration::from_millis(20));
    metrics.executions.ended(id, Status::Completed, now);
    // A clock that was set back makes no negative time, and an id from elsewhere none at all.
    let before = created.minus(Duration::from_secs(9));
    metrics.executions.ended(id, Status::Failed, before);
    let foreign = ExecutionId(Uuid::nil());
    metrics.executions.ended(foreign, Status::Failed, now);
    let page = read(&metrics);
    let of = |name: &str, status| page.value(name, &[("status", status)]);
    let sum = of("pawl_execution_duration_seconds_sum", "completed");
    assert!((sum - 0.020).abs() < 0.000_002, "{sum}");
    assert_eq!(of("pawl_executions_ended_total", "failed"), 2.0);
    assert_eq!(of("pawl_execution_duration_seconds_count", "failed"), 1.0);
    assert_eq!(of("pawl_execution_duration_seconds_sum", "failed"), 0.0);
}

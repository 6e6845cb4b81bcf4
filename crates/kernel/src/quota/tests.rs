use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::execution::PriorityClass::{self, High, Low, Normal};
use crate::time::Timestamp;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + millis * 1_000)
}

fn name(text: &str) -> QuotaName {
    text.parse().unwrap()
}

fn quota(text: &str, limit: u32) -> Quota {
    let mut quota = Quota::unset(name(text), at(0));
    quota.set(Some((QuotaSource::Api, limit, None)), at(0));
    quota
}

fn lane(priority: PriorityClass, wide: &[&str], key: Option<&str>, waiting: u64) -> Lane {
    let wide: Vec<QuotaName> = wide.iter().map(|text| name(text)).collect();
    let wide = wide.into();
    Lane {
        group: Group { priority, wide },
        key: key.map(name),
        turn: 0,
        waiting,
    }
}

/// An execution of each quota ends after every admission, so that there is always exactly one place.
fn turnover(mut quotas: Vec<Quota>, lanes: Vec<Lane>, picks: usize) -> Vec<Lane> {
    for quota in &mut quotas {
        quota.used = u64::from(quota.limit().unwrap()) - 1;
    }
    let quotas = quotas.into_iter().map(|row| (row.name.clone(), row));
    let mut round = AdmissionRound::new(quotas.collect(), lanes, 0, at(0));
    let mut served = Vec::new();
    for _ in 0..picks {
        let next = round.next().unwrap();
        served.push(round.lane(next).clone());
        round.admit(next);
        round.give_back(next);
    }
    served
}

fn count(served: &[Lane], class: PriorityClass) -> usize {
    let of_class = |lane: &&Lane| lane.group.priority == class;
    served.iter().filter(of_class).count()
}

#[test]
fn names_are_read_as_they_are_written() {
    for text in [
        "schema:order-check",
        "tenant:ACME & Söhne",
        "key:order-check/a/b:c",
    ] {
        assert_eq!(name(text).to_string(), text);
    }
    let key = name("key:order-check/a/b:c");
    assert_eq!(
        (key.kind(), key.name()),
        (QuotaKind::Key, "order-check/a/b:c")
    );
    for bad in [
        "",
        "schema",
        "schema:",
        "queue:x",
        "key:order-check",
        "key:/x",
        "tenant:a\nb",
    ] {
        assert!(bad.parse::<QuotaName>().is_err(), "{bad:?}");
    }
    assert!(QuotaName::new(QuotaKind::Tenant, &"x".repeat(257)).is_err());
}

#[test]
fn claims_survive_their_column() {
    let claims = vec![
        QuotaUse::with_limit(name("key:order-check/\"ACME\""), 3, 7),
        QuotaUse::if_set(name("tenant:acme")),
    ];
    let column = QuotaUse::to_column(&claims);
    assert_eq!(QuotaUse::from_column(column.as_deref()).unwrap(), claims);
    assert_eq!(QuotaUse::to_column(&[]), None);
    assert!(QuotaUse::from_column(None).unwrap().is_empty());
    assert!(QuotaUse::from_column(Some("[{\"quota\": \"x\"}]")).is_err());
}

#[test]
fn rates_are_read_and_refused() {
    for text in ["1/s", "10/s", "100/m", "5000/h", "1000000/s"] {
        assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
    }
    for bad in [
        "",
        "10",
        "0/s",
        "10/d",
        "-1/s",
        "1.5/s",
        "1000001/s",
        "10/s/s",
    ] {
        assert!(bad.parse::<Rate>().is_err(), "{bad:?}");
    }
}

/// Admits whenever it is open, for ten periods; no period anywhere may see more than the rate says.
#[test]
fn no_period_sees_more_than_its_rate() {
    for (text, count, period) in [
        ("1/s", 1, 1_000),
        ("10/s", 10, 1_000),
        ("20/s", 20, 1_000),
        ("47/s", 47, 1_000),
        ("1000/s", 1_000, 1_000),
        ("90/m", 90, 60_000),
    ] {
        let mut quota = quota("tenant:a", 1_000_000);
        quota.rate = Some(text.parse().unwrap());
        let period = Duration::from_millis(period);
        let (mut now, mut admitted) = (at(0), Vec::new());
        while now < at(0).plus(period * 10) {
            now = quota.opens_at(now).unwrap();
            let room = quota.room(now);
            assert!(room > 0, "{text}: open, and no room");
            for _ in 0..room {
                quota.admit(Normal, now);
                admitted.push(now);
            }
            assert!(!quota.has_room(now), "{text}");
        }
        for (first, start) in admitted.iter().enumerate() {
            let within = admitted[first..]
                .iter()
                .take_while(|at| at.since(*start) < period);
            assert!(within.count() <= count, "{text}: too many after {start}");
        }
        let least = count * 9;
        assert!(admitted.len() >= least, "{text}: only {}", admitted.len());
    }
}

#[test]
fn a_clock_set_back_does_not_close_a_rate_for_hours() {
    let mut quota = quota("tenant:a", 100);
    quota.rate = Some("10/s".parse().unwrap());
    quota.admit(Normal, at(3_600_000));
    assert_eq!(quota.opens_at(at(0)), Some(at(100)));
}

#[test]
fn the_operator_wins_over_the_schema() {
    let mut quota = Quota::unset(name("schema:a"), at(0));
    assert_eq!(quota.limit(), None);
    quota.learn(Some(5), 2);
    quota.learn(Some(9), 1);
    assert_eq!(quota.limit(), Some(5), "an older version changes nothing");
    quota.set(Some((QuotaSource::Config, 1, None)), at(1));
    assert_eq!(quota.limit(), Some(1));
    quota.set(None, at(2));
    assert_eq!(quota.limit(), Some(5));
    assert!(!quota.is_needed());
}

#[test]
fn classes_take_turns_sixteen_to_four_to_one() {
    let lanes = [High, Normal, Low].map(|class| lane(class, &["schema:a"], None, 10_000));
    let served = turnover(vec![quota("schema:a", 3)], lanes.to_vec(), 2_100);
    let counts = [High, Normal, Low].map(|class| count(&served, class));
    assert_eq!(counts, [1_600, 400, 100]);
}

#[test]
fn a_class_that_did_not_wait_saves_nothing_up() {
    let mut row = quota("schema:a", 1);
    for _ in 0..1_000 {
        row.shares.serve(High);
    }
    let lanes = [High, Low].map(|class| lane(class, &["schema:a"], None, 10_000));
    let served = turnover(vec![row], lanes.to_vec(), 34);
    assert_eq!(count(&served, Low), 2);
}

/// Many keys of high priority do not take away what is left for one of low.
#[test]
fn the_number_of_keys_does_not_change_the_weights() {
    let keys: Vec<String> = (0..50).map(|n| format!("key:a/{n}")).collect();
    let mut lanes = vec![lane(Low, &["schema:a"], Some("key:a/low"), 1_000)];
    lanes.extend(
        keys.iter()
            .map(|key| lane(High, &["schema:a"], Some(key), 1_000)),
    );
    let mut quotas = vec![quota("schema:a", 10), quota("key:a/low", 5)];
    quotas.extend(keys.iter().map(|key| quota(key, 5)));
    let served = turnover(quotas, lanes, 1_700);
    assert_eq!(count(&served, Low), 100);
    for key in &keys {
        let times = served
            .iter()
            .filter(|lane| lane.key == Some(name(key)))
            .count();
        assert_eq!(times, 32, "{key}");
    }
}

/// A long line of one key is one lane: another key has its turn after one of it.
#[test]
fn keys_take_turns_whatever_their_length() {
    let lanes = vec![
        lane(Normal, &["schema:a"], Some("key:a/long"), 10_000),
        lane(Normal, &["schema:a"], Some("key:a/short"), 1),
    ];
    let quotas = vec![
        quota("schema:a", 2),
        quota("key:a/long", 9),
        quota("key:a/short", 9),
    ];
    let served = turnover(quotas, lanes, 3);
    let place = served
        .iter()
        .position(|lane| lane.key == Some(name("key:a/short")));
    assert!(place.unwrap() <= 1);
}

/// Two schemas share a tenant: whichever lane names the quota, no lane is left out.
#[test]
fn nobody_starves_where_quotas_cross() {
    let lanes = vec![
        lane(High, &["schema:a", "tenant:t"], None, 10_000),
        lane(Low, &["schema:a", "tenant:t"], None, 10_000),
        lane(Normal, &["schema:b", "tenant:t"], None, 10_000),
        lane(Normal, &["schema:a"], None, 10_000),
    ];
    let quotas = vec![
        quota("schema:a", 4),
        quota("schema:b", 4),
        quota("tenant:t", 2),
    ];
    let served = turnover(quotas, lanes.clone(), 4_000);
    for lane in &lanes {
        let times = served.iter().filter(|one| one.group == lane.group).count();
        assert!(times >= 40, "{:?} was served {times} times", lane.group);
    }
}

/// A key's own turns are kept, although the quota above it has room for all and sees every key in a fixed round.
#[test]
fn a_regular_round_starves_no_class_of_any_key() {
    let keys: Vec<String> = (0..5).map(|n| format!("key:a/{n}")).collect();
    let mut quotas: BTreeMap<QuotaName, Quota> =
        keys.iter().map(|key| (name(key), quota(key, 1))).collect();
    quotas.insert(name("schema:a"), quota("schema:a", 100));
    let mut served: BTreeMap<(&str, PriorityClass), u32> = BTreeMap::new();
    for _ in 0..100 {
        for key in &keys {
            let lanes = [High, Normal].map(|class| lane(class, &["schema:a"], Some(key), 1_000));
            let mut round = AdmissionRound::new(quotas.clone(), lanes.to_vec(), 0, at(0));
            let next = round.next().unwrap();
            *served
                .entry((key, round.lane(next).group.priority))
                .or_default() += 1;
            round.admit(next);
            assert_eq!(round.next(), None, "the key is full");
            round.give_back(next);
            quotas.extend(
                round
                    .close()
                    .quotas
                    .into_iter()
                    .map(|row| (row.name.clone(), row)),
            );
        }
    }
    for key in &keys {
        assert_eq!(
            (served[&(&**key, High)], served[&(&**key, Normal)]),
            (80, 20)
        );
    }
}

#[test]
fn a_group_is_looked_at_as_far_as_there_is_room() {
    let group = lane(High, &["schema:a", "tenant:t"], None, 1).group;
    let rows = |a: u32, t: u32| {
        let rows = [quota("schema:a", a), quota("tenant:t", t)];
        rows.map(|row| (row.name.clone(), row))
            .into_iter()
            .collect()
    };
    assert_eq!(group.lanes_to_look_at(&rows(0, 5), at(0), 64), 0);
    assert_eq!(group.lanes_to_look_at(&rows(3, 1), at(0), 64), 2);
    assert_eq!(group.lanes_to_look_at(&rows(900, 900), at(0), 64), 65);
    let free = lane(High, &[], None, 1).group;
    assert_eq!(free.lanes_to_look_at(&BTreeMap::new(), at(0), 64), 65);
}

#[test]
fn a_rate_tells_when_to_look_again() {
    let mut slow = quota("tenant:t", 5);
    slow.rate = Some("1/s".parse().unwrap());
    slow.admit(Normal, at(0));
    let full = quota("schema:a", 0);
    let rows: BTreeMap<_, _> = [slow, full].map(|row| (row.name.clone(), row)).into();
    let waits = lane(Normal, &["tenant:t"], None, 1).group;
    let blocked = lane(Normal, &["schema:a", "tenant:t"], None, 1).group;
    let again = |groups: &[Group]| round::next_by_rate(groups, &rows, at(300));
    assert_eq!(again(&[waits, blocked.clone()]), Some(at(1_000)));
    assert_eq!(again(&[blocked]), None);
}

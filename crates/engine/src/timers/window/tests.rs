//! What the window hands out, and when it wants to be read again.

use pawl_kernel::ports::store::TimerKind;
use uuid::Uuid;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn action(seconds: i64, id: &str) -> DueTimer {
    DueTimer {
        at: at(seconds),
        shard_id: 1,
        action_id: id.to_owned(),
        guid: Uuid::from_u128(7),
        kind: TimerKind::Action,
    }
}

fn wait(seconds: i64, number: u128) -> DueTimer {
    DueTimer {
        kind: TimerKind::Wait,
        ..action(seconds, &Uuid::from_u128(number).to_string())
    }
}

fn page(rows: Vec<DueTimer>, until: i64) -> TimerPage {
    TimerPage {
        rows,
        from: at(0),
        until: at(until),
        is_full: false,
    }
}

fn window(rows: Vec<DueTimer>) -> TimerWindow {
    let mut window = TimerWindow::default();
    assert!(!window.add_fresh_page(page(rows, 1_000), at(0)));
    window
}

const BUDGET: RowBudget = RowBudget {
    rows: 8,
    slots: 8,
    backlog: 8,
};

fn idle(_: &DueTimer) -> bool {
    false
}

#[test]
fn nothing_is_taken_early_and_the_soonest_goes_first() {
    let mut window = window(vec![action(12, "c"), wait(11, 1), action(10, "a")]);
    assert_eq!(window.take_due(at(9), BUDGET, idle), []);
    assert_eq!(window.wake_at(at(9), 1), at(10));
    let due = window.take_due(at(11), BUDGET, idle);
    assert_eq!(due, [action(10, "a"), wait(11, 1)]);
    assert_eq!(window.wake_at(at(11), 1), at(12));
}

/// Knows everything from 150 on, and what is overdue by then.
fn after_an_outage(old: Vec<DueTimer>, new: Vec<DueTimer>) -> TimerWindow {
    let mut window = TimerWindow::default();
    window.reset(at(150));
    assert_eq!(window.next_fresh_page(at(220), 1), Some(at(150)));
    let fresh = TimerPage {
        from: at(150),
        ..page(new, 1_000)
    };
    window.add_fresh_page(fresh, at(220));
    assert_eq!(window.next_backlog_page(1), Some(at(0)));
    window.add_backlog_page(page(old, 150), at(220));
    assert_eq!(window.next_backlog_page(1), None);
    window
}

#[test]
fn a_backlog_leaves_room_for_what_comes_due() {
    let old = (0..100).map(|n| action(n, "old")).collect();
    let new = (200..220).map(|n| action(n, "new")).collect();
    let mut window = after_an_outage(old, new);
    let due = window.take_due(at(220), BUDGET, idle);
    assert_eq!(due.len(), 8);
    assert_eq!(due.iter().filter(|row| row.action_id == "new").count(), 6);
    let slow = RowBudget {
        backlog: 0,
        ..BUDGET
    };
    let due = window.take_due(at(220), slow, idle);
    assert!(due.iter().all(|row| row.action_id == "new"));
    assert!(window.has_backlog(1));
}

#[test]
fn a_backlog_is_read_page_by_page() {
    let mut window = TimerWindow::default();
    window.reset(at(150));
    let first = TimerPage {
        is_full: true,
        ..page(vec![action(10, "a"), action(20, "b")], 20)
    };
    window.add_backlog_page(first, at(200));
    assert_eq!(window.next_backlog_page(1), None, "there is work to do");
    assert_eq!(
        window.next_backlog_page(0),
        Some(at(20)),
        "there may be waits behind what finds no slot"
    );
    assert_eq!(window.take_due(at(200), BUDGET, idle).len(), 2);
    assert_eq!(window.next_backlog_page(1), Some(at(20)));
    let same = TimerPage {
        from: at(20),
        is_full: true,
        ..page(vec![action(20, "c"), action(20, "d")], 20)
    };
    window.add_backlog_page(same, at(200));
    assert_eq!(window.next_backlog_page(0), None, "no page is behind these");
    assert_eq!(window.take_due(at(200), BUDGET, idle).len(), 2);
    assert_eq!(window.next_backlog_page(1), Some(at(20)));
    let last = TimerPage {
        from: at(20),
        ..page(vec![], 150)
    };
    assert!(!window.add_backlog_page(last, at(200)));
    assert_eq!(window.next_backlog_page(1), None);
}

#[test]
fn actions_without_a_slot_do_not_hold_waits_up() {
    let mut rows: Vec<_> = (0..50).map(|n| action(n, "slow")).collect();
    rows.push(wait(60, 1));
    let mut window = window(rows);
    let full = RowBudget { slots: 0, ..BUDGET };
    assert_eq!(window.take_due(at(70), full, idle), [wait(60, 1)]);
}

#[test]
fn what_is_busy_waits() {
    let mut window = window(vec![action(10, "a")]);
    assert_eq!(window.take_due(at(11), BUDGET, |_| true), []);
    assert_eq!(window.next_fresh_page(at(11), 1), None);
    assert_eq!(window.take_due(at(11), BUDGET, idle).len(), 1);
}

#[test]
fn what_turns_up_again_is_noticed() {
    let mut window = window(vec![action(10, "a")]);
    window.take_due(at(11), BUDGET, idle);
    let rows = vec![action(10, "a"), wait(10, 1)];
    assert!(window.add_fresh_page(page(rows, 1_000), at(11)));
    let due = window.take_due(at(11), BUDGET, idle);
    assert_eq!(due, [wait(10, 1)], "other rows do not wait for it");
    assert!(window.wake_at(at(11), 1) < at(12));
    assert_eq!(window.take_due(at(12), BUDGET, idle).len(), 1);
    window.add(action(10, "a"));
    let rows = vec![action(10, "a")];
    assert!(!window.add_fresh_page(page(rows, 1_000), at(12)));
}

#[test]
fn it_looks_when_its_knowledge_ends_and_not_before() {
    let mut window = TimerWindow::default();
    assert_eq!(window.next_fresh_page(at(5), 1), Some(at(0)));
    window.add_fresh_page(page(vec![], 60), at(5));
    assert_eq!(window.next_fresh_page(at(59), 1), None);
    assert_eq!(window.wake_at(at(5), 1), at(60));
    assert_eq!(window.next_fresh_page(at(60), 1), Some(at(60)));
    window.invalidate();
    assert_eq!(window.next_fresh_page(at(59), 1), Some(at(0)), "all of it");
}

#[test]
fn what_it_is_told_of_needs_no_look() {
    let mut window = window(vec![]);
    window.add(action(500, "near"));
    window.add(action(1_000, "far"));
    assert_eq!(window.wake_at(at(5), 1), at(500));
    assert_eq!(
        window.take_due(at(2_000), BUDGET, idle),
        [action(500, "near")]
    );
    assert_eq!(window.next_fresh_page(at(2_000), 1), Some(at(1_000)));
}

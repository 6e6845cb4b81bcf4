//! Dead letters.

use pawl_kernel::id::ExecutionId;
use pawl_kernel::ports::letters::{DeadLetter, LetterFilter, LetterPage, LetterTally, NewLetter};
use pawl_kernel::schema::definition::OnStuck;

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, execution_id};

pub(super) const CASES: &[StoreCase] = cases!["letters":
    the_end_of_an_execution_writes_one,
    page_by_page,
    a_message_is_kept_as_it_came,
    an_execution_need_not_exist,
    dealt_with_once,
    only_what_is_open,
    by_reason_in_either_order,
    a_look_for_a_reason_ends,
    an_unknown_letter,
];

fn new_letter(n: u64) -> NewLetter {
    NewLetter {
        execution_id: Some(execution_id(n)),
        reason: format!("reason {n}"),
        message: None,
        now: at(n as i64),
    }
}

async fn add(scene: &Scene, letter: NewLetter) -> u64 {
    scene.store.add_letter(letter).await.unwrap()
}

async fn letters(scene: &Scene, open_only: bool) -> Vec<DeadLetter> {
    scene.store.dead_letters(open_only, 0, 100).await.unwrap()
}

async fn the_end_of_an_execution_writes_one(scene: Scene) {
    for n in 1..=2 {
        let id = scene.create(n).await;
        scene.claim(id, n, at(5)).await;
        let now = at(50 + n as i64);
        scene.store.reap(id, OnStuck::Fail, now).await.unwrap();
    }
    let all = letters(&scene, true).await;
    let told: Vec<_> = all.iter().map(|l| (l.execution_id, l.created_at)).collect();
    let expected = [1, 2].map(|n| (Some(execution_id(n)), at(50 + n as i64)));
    assert_eq!(told, expected);
    assert!(all.iter().all(|letter| !letter.reason.is_empty()));
    assert!(all.iter().all(|letter| letter.message_bytes.is_none()));
}

async fn page_by_page(scene: Scene) {
    let mut ids = Vec::new();
    for n in 1..=3 {
        ids.push(add(&scene, new_letter(n)).await);
    }
    assert!(ids[0] > 0 && ids.is_sorted() && ids[0] != ids[1]);
    let page = async |after| scene.store.dead_letters(false, after, 2).await.unwrap();
    let (first, rest) = (page(0).await, page(ids[1]).await);
    let told: Vec<_> = first.iter().chain(&rest).map(|l| l.id).collect();
    assert_eq!(told, ids, "oldest first");
    assert_eq!(first[1].reason, "reason 2");
    assert_eq!(page(ids[2]).await, []);
}

async fn a_message_is_kept_as_it_came(scene: Scene) {
    for text in [
        "",
        "{\"execution_id\": 7",
        "a\0b",
        "'; --",
        "\u{202e}привет 👩‍👩‍👧",
        &"x".repeat(200_000),
    ] {
        let letter = NewLetter {
            execution_id: None,
            message: Some(text.to_owned()),
            ..new_letter(1)
        };
        let id = add(&scene, letter).await;
        let (letter, message) = scene.store.dead_letter(id).await.unwrap().unwrap();
        assert_eq!(message.as_deref(), Some(text));
        assert_eq!(letter.message_bytes, Some(text.len() as u64));
        assert_eq!((letter.id, letter.execution_id), (id, None));
        let listed = scene.store.dead_letters(false, id - 1, 1).await.unwrap();
        assert_eq!(listed, [letter]);
    }
}

async fn an_execution_need_not_exist(scene: Scene) {
    let id = add(&scene, new_letter(404)).await;
    let (letter, message) = scene.store.dead_letter(id).await.unwrap().unwrap();
    let expected = DeadLetter {
        id,
        execution_id: Some(execution_id(404)),
        reason: "reason 404".into(),
        message_bytes: None,
        created_at: at(404),
        requeued_at: None,
        requeued_as: None,
    };
    assert_eq!((letter, message), (expected, None));
}

async fn dealt_with_once(scene: Scene) {
    let id = add(&scene, new_letter(1)).await;
    let mark = async |n: u64| {
        let new: Option<ExecutionId> = Some(execution_id(n));
        scene.store.mark_requeued(id, new, at(n as i64)).await
    };
    assert!(mark(7).await.unwrap());
    assert!(!mark(8).await.unwrap(), "the first time counts");
    let (letter, _) = scene.store.dead_letter(id).await.unwrap().unwrap();
    assert!(!letter.is_open());
    assert_eq!(letter.requeued_at, Some(at(7)));
    assert_eq!(letter.requeued_as, Some(execution_id(7)));
}

async fn only_what_is_open(scene: Scene) {
    let mut ids = Vec::new();
    for n in 1..=4 {
        ids.push(add(&scene, new_letter(n)).await);
    }
    for id in [ids[0], ids[2]] {
        assert!(scene.store.mark_requeued(id, None, at(9)).await.unwrap());
    }
    let open: Vec<u64> = letters(&scene, true).await.iter().map(|l| l.id).collect();
    assert_eq!(open, [ids[1], ids[3]]);
    let page = scene.store.dead_letters(true, ids[1], 1).await.unwrap();
    assert_eq!(page[0].id, ids[3]);
    let all = letters(&scene, false).await;
    let dealt_with: Vec<_> = all.iter().filter(|l| !l.is_open()).map(|l| l.id).collect();
    assert_eq!((all.len(), dealt_with), (4, vec![ids[0], ids[2]]));
    assert!(all.iter().all(|letter| letter.requeued_as.is_none()));
}

async fn an_unknown_letter(scene: Scene) {
    for id in [0, 1, u64::MAX] {
        assert_eq!(scene.store.dead_letter(id).await.unwrap(), None);
        assert!(!scene.store.mark_requeued(id, None, at(1)).await.unwrap());
        assert_eq!(scene.store.dead_letters(false, id, 5).await.unwrap(), []);
    }
}

async fn by_reason_in_either_order(scene: Scene) {
    let mut ids = Vec::new();
    for (n, reason) in [
        (1, "Late 100%"),
        (2, "broken"),
        (3, "too late"),
        (4, "late_again"),
    ] {
        let letter = NewLetter {
            reason: reason.into(),
            ..new_letter(n)
        };
        ids.push(add(&scene, letter).await);
    }
    scene
        .store
        .mark_requeued(ids[2], None, at(9))
        .await
        .unwrap();
    let filter = |open_only, reason: Option<&str>, ids: Option<Vec<u64>>| LetterFilter {
        open_only,
        reason: reason.map(str::to_owned),
        ids,
    };
    let two = Some(vec![ids[1], ids[3], 404]);
    for (filter, expected) in [
        (filter(false, None, None), &[0, 1, 2, 3][..]),
        (filter(false, Some("LATE"), None), &[0, 2, 3]),
        (filter(true, Some("late"), None), &[0, 3]),
        (filter(false, Some("0%"), None), &[0]),
        (filter(false, Some("e_a"), None), &[3]),
        (filter(true, None, two), &[1, 3]),
        (filter(true, Some("late"), Some(vec![])), &[]),
    ] {
        let expected: Vec<u64> = expected.iter().map(|at: &usize| ids[*at]).collect();
        let listed = async |page, limit| -> Vec<u64> {
            let found = scene.store.letters(filter.clone(), page, limit, 9).await;
            let found = found.unwrap();
            assert_eq!(found.looked_to, None);
            found.letters.iter().map(|letter| letter.id).collect()
        };
        let (oldest, newest) = (LetterPage::After(0), LetterPage::Before(None));
        assert_eq!(listed(oldest, 9).await, expected, "{filter:?}");
        let reversed: Vec<u64> = expected.iter().rev().copied().collect();
        assert_eq!(listed(newest, 9).await, reversed, "{filter:?}");
        let counted = scene.store.count_letters(filter.clone(), 2, 9).await;
        let expected_count = LetterTally {
            count: expected.len().min(2) as u64,
            is_capped: expected.len() > 2,
        };
        assert_eq!(counted.unwrap(), expected_count);
        let later: Vec<u64> = expected.iter().skip(1).take(1).copied().collect();
        let first = expected.first().copied().unwrap_or(1);
        assert_eq!(listed(LetterPage::After(first), 1).await, later);
        assert_eq!(listed(LetterPage::Before(Some(first)), 1).await, [0; 0]);
    }
}

/// A rare reason costs no more than a look at so many letters.
async fn a_look_for_a_reason_ends(scene: Scene) {
    let mut ids = Vec::new();
    for n in 1..=7 {
        let reason = if n == 2 || n == 6 { "rare" } else { "common" };
        let letter = NewLetter {
            reason: reason.into(),
            ..new_letter(n)
        };
        ids.push(add(&scene, letter).await);
    }
    let dealt_with = scene.store.mark_requeued(ids[3], None, at(9)).await;
    assert!(dealt_with.unwrap());
    let rare = |open_only| LetterFilter {
        open_only,
        reason: Some("rare".into()),
        ids: None,
    };
    let look = async |open_only, page, limit| {
        let found = scene.store.letters(rare(open_only), page, limit, 3).await;
        let found = found.unwrap();
        let letters: Vec<u64> = found.letters.iter().map(|letter| letter.id).collect();
        (letters, found.looked_to)
    };
    let from = |id| LetterPage::After(id);
    assert_eq!(look(false, from(0), 5).await, (vec![ids[1]], Some(ids[2])));
    assert_eq!(look(false, from(0), 1).await, (vec![ids[1]], None));
    assert_eq!(
        look(false, from(ids[2]), 5).await,
        (vec![ids[5]], Some(ids[5]))
    );
    assert_eq!(
        look(true, from(ids[2]), 5).await,
        (vec![ids[5]], Some(ids[6]))
    );
    assert_eq!(look(true, from(ids[4]), 5).await, (vec![ids[5]], None));
    let back = LetterPage::Before(Some(ids[5]));
    assert_eq!(look(false, back, 5).await, (vec![], Some(ids[2])));
    assert_eq!(look(true, back, 5).await, (vec![ids[1]], Some(ids[1])));
    let newest = LetterPage::Before(None);
    assert_eq!(look(true, newest, 5).await, (vec![ids[5]], Some(ids[4])));
    let count = async |look| {
        scene
            .store
            .count_letters(rare(true), 9, look)
            .await
            .unwrap()
    };
    let tally = |count, is_capped| LetterTally { count, is_capped };
    assert_eq!(count(3).await, tally(1, true));
    assert_eq!(count(20).await, tally(2, false));
    let named = LetterFilter {
        ids: Some(ids.clone()),
        ..rare(true)
    };
    let found = scene.store.letters(named, from(0), 9, 1).await.unwrap();
    assert_eq!((found.letters.len(), found.looked_to), (2, None));
}

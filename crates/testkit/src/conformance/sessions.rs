//! Sessions, and the pulse that open pages are woken by.

use std::time::Duration;

use pawl_kernel::ports::keys::KeyHash;
use pawl_kernel::ports::letters::NewLetter;
use pawl_kernel::ports::sessions::{IDLE_MAX, LIFE_MAX, NewSession, SessionRecord};
use pawl_kernel::ports::store::{PublishVersion, SaveMode, SaveSchema, StoreError};

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, execution_id, schema, schema_id};

pub(super) const CASES: &[StoreCase] = cases!["sessions":
    one_comes_back_as_it_went_in,
    a_hash_is_taken_once,
    a_use_is_noted_once_in_a_while,
    one_that_was_ended_is_gone,
    a_new_one_makes_the_old_ones_forgotten,
    the_pulse_changes_with_letters,
    the_pulse_changes_with_schemas,
];

fn hash(n: u8) -> KeyHash {
    KeyHash([n; 32])
}

fn opened(n: u8, seconds: i64) -> NewSession {
    NewSession {
        hash: hash(n),
        key_hash: hash(100 + n),
        created_at: at(seconds),
    }
}

async fn add(scene: &Scene, session: NewSession) {
    scene.store.add_session(session).await.unwrap();
}

async fn found(scene: &Scene, n: u8) -> Option<SessionRecord> {
    scene.store.session(hash(n)).await.unwrap()
}

async fn one_comes_back_as_it_went_in(scene: Scene) {
    add(&scene, opened(1, 5)).await;
    add(&scene, opened(2, 6)).await;
    let expected = SessionRecord {
        key_hash: hash(101),
        created_at: at(5),
        used_at: at(5),
    };
    assert_eq!(found(&scene, 1).await, Some(expected));
    assert_eq!(found(&scene, 2).await, Some(opened(2, 6).into()));
    assert_eq!(found(&scene, 101).await, None);
}

async fn a_hash_is_taken_once(scene: Scene) {
    add(&scene, opened(1, 5)).await;
    let answer = scene.store.add_session(opened(1, 6)).await;
    let rejected = matches!(answer, Err(StoreError::Rejected(_)));
    assert!(rejected, "{answer:?}");
    assert_eq!(found(&scene, 1).await, Some(opened(1, 5).into()));
}

async fn a_use_is_noted_once_in_a_while(scene: Scene) {
    add(&scene, opened(1, 5)).await;
    add(&scene, opened(2, 5)).await;
    let touch = async |n, now, unless_after| {
        let done = scene
            .store
            .touch_session(hash(n), at(now), at(unless_after));
        done.await.unwrap()
    };
    assert!(!touch(1, 30, 4).await, "noted at 5 already");
    assert!(touch(1, 70, 10).await);
    assert!(!touch(3, 70, 10).await, "there is no such session");
    let used = found(&scene, 1).await.unwrap();
    assert_eq!((used.created_at, used.used_at), (at(5), at(70)));
    assert_eq!(found(&scene, 2).await, Some(opened(2, 5).into()));
}

async fn one_that_was_ended_is_gone(scene: Scene) {
    add(&scene, opened(1, 5)).await;
    add(&scene, opened(2, 5)).await;
    assert!(scene.store.end_session(hash(1)).await.unwrap());
    assert!(!scene.store.end_session(hash(1)).await.unwrap());
    assert_eq!(found(&scene, 1).await, None);
    assert!(found(&scene, 2).await.is_some());
}

async fn a_new_one_makes_the_old_ones_forgotten(scene: Scene) {
    let start = at(0);
    let last = start.plus(LIFE_MAX + Duration::from_secs(10));
    // One too old, one too silent, and one that is neither.
    add(&scene, opened(1, 0)).await;
    let old = scene.store.touch_session(hash(1), last, last);
    assert!(old.await.unwrap());
    let silent = NewSession {
        created_at: last.minus(IDLE_MAX + Duration::from_secs(1)),
        ..opened(2, 0)
    };
    add(&scene, silent).await;
    let fresh = NewSession {
        created_at: last.minus(IDLE_MAX),
        ..opened(3, 0)
    };
    add(&scene, fresh).await;
    let new = NewSession {
        created_at: last,
        ..opened(4, 0)
    };
    add(&scene, new).await;
    let mut left = Vec::new();
    for n in 1..=4 {
        left.push(found(&scene, n).await.is_some());
    }
    assert_eq!(left, [false, false, true, true]);
}

async fn the_pulse_changes_with_letters(scene: Scene) {
    let before = scene.store.pulse().await.unwrap();
    let letter = NewLetter {
        execution_id: Some(execution_id(1)),
        reason: "lost".into(),
        message: None,
        now: at(1),
    };
    let id = scene.store.add_letter(letter).await.unwrap();
    let added = scene.store.pulse().await.unwrap();
    assert_eq!((added.letters.last_id, added.letters.open), (id, 1));
    assert_eq!(scene.store.pulse().await.unwrap(), added);
    scene.store.mark_requeued(id, None, at(2)).await.unwrap();
    let requeued = scene.store.pulse().await.unwrap();
    assert_eq!((requeued.letters.last_id, requeued.letters.open), (id, 0));
    assert_eq!(requeued.schemas, before.schemas);
}

/// Whatever the clocks of those who change them say.
async fn the_pulse_changes_with_schemas(scene: Scene) {
    let pulse = async || scene.store.pulse().await.unwrap().schemas.revision;
    let id = schema_id(2);
    let draft = SaveSchema {
        hash: "other".into(),
        mode: SaveMode::Update {
            id,
            if_version: None,
            publish: false,
        },
        ..schema(2)
    };
    let wanted = PublishVersion {
        id,
        version: 2,
        now: at(40),
    };
    let mut seen = vec![pulse().await];
    scene.store.save_schema(schema(2)).await.unwrap();
    seen.push(pulse().await);
    for (active, now) in [(false, at(60)), (true, at(50)), (false, at(50))] {
        assert!(scene.store.set_active(id, active, now).await.unwrap());
        seen.push(pulse().await);
    }
    scene.store.save_schema(draft.clone()).await.unwrap();
    seen.push(pulse().await);
    scene.store.publish_version(wanted).await.unwrap();
    seen.push(pulse().await);
    scene.store.save_schema(draft).await.unwrap();
    assert_eq!(seen.last(), Some(&pulse().await), "nothing was new");
    assert!(scene.store.delete_schema(id, at(30)).await.unwrap());
    seen.push(pulse().await);
    let changes = seen.windows(2).filter(|pair| pair[0] < pair[1]);
    assert_eq!(changes.count(), 7, "{seen:?}");
}

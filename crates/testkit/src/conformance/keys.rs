//! API keys.

use pawl_kernel::id::KeyId;
use pawl_kernel::ports::keys::{KeyError, KeyHash, KeyRecord, KeyRefusal, NewKey, Role};
use pawl_kernel::ports::store::StoreError;

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, execution_id};

pub(super) const CASES: &[StoreCase] = cases!["keys":
    found_by_hash_id_and_name,
    every_role_comes_back,
    a_name_belongs_to_one_key_at_a_time,
    a_hash_is_taken_once,
    revoked_once_and_still_known,
    an_unknown_key_cannot_be_revoked,
    newest_first_page_by_page,
    a_use_is_noted_once_in_a_while,
    a_use_leaves_the_rest_alone,
];

fn key_id(n: u64) -> KeyId {
    KeyId(execution_id(n).0)
}

fn hash(n: u64) -> KeyHash {
    let mut bytes = [0; 32];
    bytes[24..].copy_from_slice(&n.to_be_bytes());
    KeyHash(bytes)
}

fn new_key(n: u64) -> NewKey {
    NewKey {
        id: key_id(n),
        name: format!("key-{n}"),
        role: Role::Operator,
        hash: hash(n),
        email: (n % 2 == 1).then(|| format!("ö{n}@example.com")),
        created_by: "user:1".into(),
        created_at: at(n as i64),
        expires_at: Some(at(1_000 + n as i64)),
    }
}

async fn added(scene: &Scene, key: NewKey) -> KeyRecord {
    scene.store.add_key(key).await.unwrap()
}

async fn found_by_hash_id_and_name(scene: Scene) {
    let record = added(&scene, new_key(1)).await;
    let expected = KeyRecord {
        id: key_id(1),
        name: "key-1".into(),
        role: Role::Operator,
        email: Some("ö1@example.com".into()),
        created_by: "user:1".into(),
        created_at: at(1),
        expires_at: Some(at(1_001)),
        last_used_at: None,
        revoked_at: None,
    };
    assert_eq!(record, expected);
    let by_hash = scene.store.key_by_hash(hash(1)).await.unwrap();
    assert_eq!(by_hash.as_ref(), Some(&expected));
    for key in ["key-1", &key_id(1).to_string()] {
        assert_eq!(
            scene.store.key(key).await.unwrap().as_ref(),
            Some(&expected)
        );
    }
    assert_eq!(scene.store.key_by_hash(hash(2)).await.unwrap(), None);
    for unknown in ["", "key-2", "KEY-1", &key_id(2).to_string()] {
        assert_eq!(scene.store.key(unknown).await.unwrap(), None, "{unknown}");
    }
}

async fn every_role_comes_back(scene: Scene) {
    for (n, role) in (1..).zip(Role::ALL) {
        let key = NewKey {
            role: *role,
            expires_at: None,
            ..new_key(n)
        };
        let record = added(&scene, key).await;
        assert_eq!((record.role, record.expires_at), (*role, None));
        let found = scene.store.key_by_hash(hash(n)).await.unwrap();
        assert_eq!(found, Some(record));
    }
}

async fn a_name_belongs_to_one_key_at_a_time(scene: Scene) {
    added(&scene, new_key(1)).await;
    let second = || NewKey {
        name: "key-1".into(),
        ..new_key(2)
    };
    match scene.store.add_key(second()).await {
        Err(KeyError::NameTaken(name)) => assert_eq!(name, "key-1"),
        other => panic!("expected NameTaken, got {other:?}"),
    }
    assert_eq!(scene.store.key_by_hash(hash(2)).await.unwrap(), None);
    scene.store.revoke_key(key_id(1), at(50)).await.unwrap();
    assert_eq!(scene.store.key("key-1").await.unwrap(), None);
    added(&scene, second()).await;
    let found = scene.store.key("key-1").await.unwrap().unwrap();
    assert_eq!(found.id, key_id(2));
}

async fn a_hash_is_taken_once(scene: Scene) {
    added(&scene, new_key(1)).await;
    let same = NewKey {
        hash: hash(1),
        ..new_key(2)
    };
    let answer = scene.store.add_key(same).await;
    let rejected = matches!(answer, Err(KeyError::Store(StoreError::Rejected(_))));
    assert!(rejected, "{answer:?}");
    assert_eq!(scene.store.keys(None, 10).await.unwrap().len(), 1);
}

async fn revoked_once_and_still_known(scene: Scene) {
    let record = added(&scene, new_key(1)).await;
    assert_eq!(record.check(at(500)), Ok(()));
    assert_eq!(record.check(at(1_001)), Err(KeyRefusal::Expired));
    for now in [at(50), at(60)] {
        let revoked = scene.store.revoke_key(key_id(1), now).await.unwrap();
        let revoked = revoked.unwrap();
        assert_eq!(revoked.revoked_at, Some(at(50)), "the first time counts");
        assert_eq!(revoked.check(at(51)), Err(KeyRefusal::Revoked));
    }
    let found = scene.store.key_by_hash(hash(1)).await.unwrap().unwrap();
    assert_eq!(found.revoked_at, Some(at(50)));
    let by_id = scene.store.key(&key_id(1).to_string()).await.unwrap();
    assert_eq!(by_id, Some(found));
}

async fn an_unknown_key_cannot_be_revoked(scene: Scene) {
    added(&scene, new_key(1)).await;
    let answer = scene.store.revoke_key(key_id(2), at(50)).await.unwrap();
    assert_eq!(answer, None);
    let found = scene.store.key("key-1").await.unwrap().unwrap();
    assert_eq!(found.revoked_at, None);
}

async fn newest_first_page_by_page(scene: Scene) {
    for n in [3, 1, 5, 2, 4] {
        added(&scene, new_key(n)).await;
    }
    scene.store.revoke_key(key_id(4), at(50)).await.unwrap();
    let ids = async |before, limit| -> Vec<KeyId> {
        let page = scene.store.keys(before, limit).await.unwrap();
        page.iter().map(|record| record.id).collect()
    };
    assert_eq!(ids(None, 2).await, [5, 4].map(key_id));
    assert_eq!(ids(Some(key_id(4)), 2).await, [3, 2].map(key_id));
    assert_eq!(ids(Some(key_id(1)), 2).await, []);
}

async fn a_use_is_noted_once_in_a_while(scene: Scene) {
    added(&scene, new_key(1)).await;
    let touch = async |now: i64| {
        let touched = scene
            .store
            .touch_key(key_id(1), at(now), at(now - 60))
            .await;
        let record = scene.store.key("key-1").await.unwrap().unwrap();
        (touched.unwrap(), record.last_used_at)
    };
    assert_eq!(touch(100).await, (true, Some(at(100))));
    assert_eq!(touch(159).await, (false, Some(at(100))));
    assert_eq!(touch(160).await, (true, Some(at(160))));
    let unknown = scene.store.touch_key(key_id(9), at(1), at(0)).await;
    assert!(!unknown.unwrap());
}

async fn a_use_leaves_the_rest_alone(scene: Scene) {
    let before = added(&scene, new_key(1)).await;
    let other = added(&scene, new_key(2)).await;
    scene
        .store
        .touch_key(key_id(1), at(9), at(0))
        .await
        .unwrap();
    let after = scene.store.key("key-1").await.unwrap().unwrap();
    let expected = KeyRecord {
        last_used_at: Some(at(9)),
        ..before
    };
    assert_eq!(after, expected);
    assert_eq!(scene.store.key("key-2").await.unwrap(), Some(other));
}

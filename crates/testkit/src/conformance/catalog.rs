//! Schemas and their versions.

use pawl_kernel::ports::store::{
    CatalogError, PublishVersion, SaveMode, SaveSchema, SchemaRecord, SourceFormat, SourceText,
};
use pawl_kernel::user::Writer;
use serde_json::json;

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, schema, schema_id, schema_version};

pub(super) const CASES: &[StoreCase] = cases!["catalog":
    a_new_schema_has_version_one,
    a_version_keeps_the_user_who_saved_it,
    found_by_id_and_by_name,
    a_name_is_taken_once,
    a_new_version_leaves_the_old_one_alone,
    the_same_content_makes_no_version,
    earlier_content_makes_a_version_again,
    another_latest_version_is_a_conflict,
    an_unknown_schema_cannot_be_updated,
    a_rename_must_be_free_too,
    switched_on_and_off,
    deleted_is_hidden_and_its_versions_stay,
    a_deleted_name_is_free_again,
    a_number_is_taken_once,
    a_number_follows_the_latest_version,
    the_number_of_a_deleted_schema_is_free_again,
    a_version_keeps_its_text_and_note,
    another_text_is_another_version,
    a_draft_changes_nothing_that_runs,
    a_draft_is_published_by_number_or_by_a_save,
    an_older_version_can_be_published_again,
    publishing_what_is_not_there,
    a_draft_takes_no_number_before_it_is_published,
    listed_by_name_page_by_page,
    found_by_text,
];

async fn a_new_schema_has_version_one(scene: Scene) {
    let save = schema(2);
    let record = saved(&scene, save.clone()).await;
    let expected = SchemaRecord {
        id: schema_id(2),
        name: "flow-2".into(),
        description: save.description,
        external_id: None,
        active: true,
        latest_version: 1,
        published_version: 1,
        created_at: at(0),
        updated_at: at(0),
    };
    assert_eq!(record, expected);
    let version = scene.store.version(schema_id(2), 1).await.unwrap().unwrap();
    assert_eq!((version.schema_id, version.version), (schema_id(2), 1));
    assert_eq!(version.language, pawl_kernel::schema::definition::LANGUAGE);
    assert_eq!(
        (version.hash, version.definition),
        (save.hash, save.definition)
    );
    assert_eq!(
        (version.created_by.as_str(), version.created_at),
        ("user:1", at(0))
    );
    assert_eq!(version.owner, None, "this writer has no user");
    assert!(
        scene
            .store
            .version(schema_id(2), 2)
            .await
            .unwrap()
            .is_none()
    );
}

async fn a_version_keeps_the_user_who_saved_it(scene: Scene) {
    let ann = json!({"id": "k\u{0}1", "name": "ann", "email": "ann@example.com"});
    let bob = json!({"id": 2, "name": "böb"});
    let first = SaveSchema {
        created_by: Writer::with_user("key:ann", ann.clone()),
        ..schema(2)
    };
    saved(&scene, first).await;
    let second = SaveSchema {
        created_by: Writer::with_user("key:bob", bob.clone()),
        ..schema_version(2, "second", None)
    };
    saved(&scene, second.clone()).await;
    // The same content makes no version, and takes none over.
    let again = SaveSchema {
        created_by: Writer::with_user("key:ann", ann.clone()),
        ..second
    };
    assert_eq!(saved(&scene, again).await.latest_version, 2);
    for (version, user) in [(1, &ann), (2, &bob)] {
        let record = scene.store.version(schema_id(2), version).await.unwrap();
        assert_eq!(record.unwrap().owner().as_object(), user.as_object());
    }
    let all = scene.store.versions(schema_id(2)).await.unwrap();
    let owners: Vec<_> = all.into_iter().map(|version| version.owner).collect();
    assert_eq!(owners, [Some(bob), Some(ann)]);
}

async fn found_by_id_and_by_name(scene: Scene) {
    let by_name = scene.store.schema("flow-1").await.unwrap().unwrap();
    let key = schema_id(1).to_string();
    let by_id = scene.store.schema(&key).await.unwrap().unwrap();
    assert_eq!(by_name, by_id);
    for unknown in ["flow-404", "", &schema_id(404).to_string()] {
        assert!(scene.store.schema(unknown).await.unwrap().is_none());
    }
}

async fn a_name_is_taken_once(scene: Scene) {
    let mut second = schema(2);
    second.name = "flow-1".into();
    match scene.store.save_schema(second).await {
        Err(CatalogError::NameTaken(name)) => assert_eq!(name, "flow-1"),
        other => panic!("expected NameTaken, got {other:?}"),
    }
    let key = schema_id(2).to_string();
    assert!(scene.store.schema(&key).await.unwrap().is_none());
}

/// A schema with the number that other programs know it by.
fn numbered(mut save: SaveSchema, external_id: i64) -> SaveSchema {
    save.definition = format!(r#"{{"language":1,"external_id":{external_id}}}"#);
    save.hash = format!("{}-{external_id}", save.hash);
    save
}

async fn owner_of(scene: &Scene, external_id: i64) -> Option<String> {
    let found = scene.store.schema_by_external_id(external_id).await;
    found.unwrap().map(|record| record.name)
}

async fn a_number_is_taken_once(scene: Scene) {
    let record = saved(&scene, numbered(schema(2), 123)).await;
    assert_eq!(record.external_id, Some(123));
    assert_eq!(owner_of(&scene, 123).await.as_deref(), Some("flow-2"));
    assert_eq!(owner_of(&scene, 124).await, None);
    // A new schema, and a new version of one that exists.
    for other in [schema(3), schema_version(1, "b", None)] {
        match scene.store.save_schema(numbered(other, 123)).await {
            Err(CatalogError::ExternalIdTaken {
                external_id,
                schema,
            }) => assert_eq!((external_id, schema.as_str()), (123, "flow-2")),
            other => panic!("expected ExternalIdTaken, got {other:?}"),
        }
    }
    assert!(scene.store.schema("flow-3").await.unwrap().is_none());
    assert_eq!(scene.store.versions(schema_id(1)).await.unwrap().len(), 1);
    // Names come first, as if there were no number.
    let mut both = numbered(schema(3), 123);
    both.name = "flow-1".into();
    let refused = scene.store.save_schema(both).await;
    assert!(
        matches!(refused, Err(CatalogError::NameTaken(_))),
        "{refused:?}"
    );
}

async fn a_number_follows_the_latest_version(scene: Scene) {
    for external_id in [0, i64::MAX] {
        let save = numbered(schema_version(1, "b", None), external_id);
        assert_eq!(saved(&scene, save).await.external_id, Some(external_id));
        assert_eq!(
            owner_of(&scene, external_id).await.as_deref(),
            Some("flow-1")
        );
    }
    assert_eq!(owner_of(&scene, 0).await, None);
    let listed = scene.store.schemas(None, None, 10).await.unwrap();
    assert_eq!(listed[0].external_id, Some(i64::MAX));
    let without = saved(&scene, schema_version(1, "c", None)).await;
    assert_eq!(without.external_id, None);
    assert_eq!(owner_of(&scene, i64::MAX).await, None);
}

async fn the_number_of_a_deleted_schema_is_free_again(scene: Scene) {
    saved(&scene, numbered(schema(2), 123)).await;
    let deleted = scene.store.delete_schema(schema_id(2), at(5)).await;
    assert!(deleted.unwrap());
    assert_eq!(owner_of(&scene, 123).await, None);
    saved(&scene, numbered(schema(3), 123)).await;
    assert_eq!(owner_of(&scene, 123).await.as_deref(), Some("flow-3"));
}

async fn a_new_version_leaves_the_old_one_alone(scene: Scene) {
    let before = scene.store.version(schema_id(1), 1).await.unwrap();
    let mut save = schema_version(1, "b", Some(1));
    save.description = Some("better".into());
    let record = saved(&scene, save).await;
    assert_eq!((record.latest_version, record.updated_at), (2, at(10)));
    assert_eq!(record.description.as_deref(), Some("better"));
    assert_eq!(record.created_at, at(0));
    assert_eq!(scene.store.version(schema_id(1), 1).await.unwrap(), before);
    let versions = scene.store.versions(schema_id(1)).await.unwrap();
    let numbers: Vec<u32> = versions.iter().map(|version| version.version).collect();
    assert_eq!(numbers, [2, 1], "newest first");
    assert_eq!(versions[0].hash, "hash-1-b");
}

async fn the_same_content_makes_no_version(scene: Scene) {
    let first = saved(&scene, schema_version(1, "b", None)).await;
    let mut again = schema_version(1, "b", None);
    again.now = at(99);
    let second = saved(&scene, again).await;
    assert_eq!((first.latest_version, second.latest_version), (2, 2));
    assert_eq!(scene.store.versions(schema_id(1)).await.unwrap().len(), 2);
}

async fn earlier_content_makes_a_version_again(scene: Scene) {
    saved(&scene, schema_version(1, "b", None)).await;
    saved(&scene, schema_version(1, "c", None)).await;
    let back = saved(&scene, schema_version(1, "b", None)).await;
    assert_eq!(back.latest_version, 4);
}

async fn another_latest_version_is_a_conflict(scene: Scene) {
    saved(&scene, schema_version(1, "b", Some(1))).await;
    let late = scene
        .store
        .save_schema(schema_version(1, "c", Some(1)))
        .await;
    let Err(CatalogError::VersionConflict { latest, expected }) = late else {
        panic!("expected a conflict, got {late:?}");
    };
    assert_eq!((latest, expected), (2, 1));
    assert_eq!(scene.store.versions(schema_id(1)).await.unwrap().len(), 2);
}

async fn an_unknown_schema_cannot_be_updated(scene: Scene) {
    let answer = scene
        .store
        .save_schema(schema_version(404, "b", None))
        .await;
    assert!(matches!(answer, Err(CatalogError::NotFound)), "{answer:?}");
}

async fn a_rename_must_be_free_too(scene: Scene) {
    saved(&scene, schema(2)).await;
    let mut clash = schema_version(2, "b", None);
    clash.name = "flow-1".into();
    let answer = scene.store.save_schema(clash).await;
    assert!(
        matches!(answer, Err(CatalogError::NameTaken(_))),
        "{answer:?}"
    );
    let mut rename = schema_version(2, "b", None);
    rename.name = "flow-new".into();
    assert_eq!(saved(&scene, rename).await.name, "flow-new");
    assert!(scene.store.schema("flow-2").await.unwrap().is_none());
}

async fn switched_on_and_off(scene: Scene) {
    let id = schema_id(1);
    for active in [false, true] {
        assert!(scene.store.set_active(id, active, at(5)).await.unwrap());
        let record = scene.store.schema("flow-1").await.unwrap().unwrap();
        assert_eq!(record.active, active);
    }
    let unknown = scene.store.set_active(schema_id(404), true, at(5)).await;
    assert!(!unknown.unwrap());
}

async fn deleted_is_hidden_and_its_versions_stay(scene: Scene) {
    let id = schema_id(1);
    let execution = scene.create(1).await;
    assert!(scene.store.delete_schema(id, at(5)).await.unwrap());
    assert!(!scene.store.delete_schema(id, at(6)).await.unwrap());
    assert!(scene.store.schema("flow-1").await.unwrap().is_none());
    assert!(scene.store.schema(&id.to_string()).await.unwrap().is_none());
    let listed = scene.store.schemas(None, None, 10).await.unwrap();
    assert!(listed.is_empty());
    assert!(!scene.store.set_active(id, true, at(7)).await.unwrap());
    let update = scene.store.save_schema(schema_version(1, "b", None)).await;
    assert!(matches!(update, Err(CatalogError::NotFound)), "{update:?}");
    assert!(scene.store.version(id, 1).await.unwrap().is_some());
    assert_eq!(scene.view(execution).await.schema_name, "flow-1");
    scene.advance(execution, 1, at(8)).await;
}

async fn a_deleted_name_is_free_again(scene: Scene) {
    scene
        .store
        .delete_schema(schema_id(1), at(5))
        .await
        .unwrap();
    let mut second = schema(2);
    second.name = "flow-1".into();
    let record = saved(&scene, second).await;
    assert_eq!((record.id, record.latest_version), (schema_id(2), 1));
    let found = scene.store.schema("flow-1").await.unwrap().unwrap();
    assert_eq!(found.id, schema_id(2));
}

async fn listed_by_name_page_by_page(scene: Scene) {
    for (n, name) in [(2, "zebra"), (3, "apple"), (4, "mango")] {
        let mut save = schema(n);
        save.name = name.into();
        saved(&scene, save).await;
    }
    assert_eq!(
        names(&scene, None, None, 10).await,
        ["apple", "flow-1", "mango", "zebra"]
    );
    assert_eq!(names(&scene, None, None, 2).await, ["apple", "flow-1"]);
    assert_eq!(
        names(&scene, None, Some("flow-1"), 2).await,
        ["mango", "zebra"]
    );
    assert!(names(&scene, None, Some("zebra"), 2).await.is_empty());
}

async fn found_by_text(scene: Scene) {
    let mut save = schema(2);
    (save.name, save.description) = ("billing".into(), Some("sends 100% of it".into()));
    saved(&scene, save).await;
    assert_eq!(names(&scene, Some("ill"), None, 10).await, ["billing"]);
    assert_eq!(names(&scene, Some("100%"), None, 10).await, ["billing"]);
    assert_eq!(names(&scene, Some("number 1"), None, 10).await, ["flow-1"]);
    assert!(
        names(&scene, Some("b%g"), None, 10).await.is_empty(),
        "text, no pattern"
    );
    assert!(names(&scene, Some("b_lling"), None, 10).await.is_empty());
}

async fn names(scene: &Scene, text: Option<&str>, after: Option<&str>, limit: u32) -> Vec<String> {
    let (text, after) = (text.map(str::to_owned), after.map(str::to_owned));
    let records = scene.store.schemas(text, after, limit).await.unwrap();
    records.into_iter().map(|record| record.name).collect()
}

async fn saved(scene: &Scene, save: SaveSchema) -> SchemaRecord {
    let mode: SaveMode = save.mode.clone();
    let record = scene.store.save_schema(save).await;
    record.unwrap_or_else(|error| panic!("{mode:?}: {error:?}"))
}

fn written(mut save: SaveSchema, text: &str) -> SaveSchema {
    save.source = Some(SourceText {
        text: text.to_owned(),
        format: SourceFormat::Yaml,
    });
    save
}

fn draft(mut save: SaveSchema) -> SaveSchema {
    if let SaveMode::Update { publish, .. } = &mut save.mode {
        *publish = false;
    }
    save
}

async fn publish(scene: &Scene, n: u64, version: u32) -> Result<SchemaRecord, CatalogError> {
    let wanted = PublishVersion {
        id: schema_id(n),
        version,
        now: at(20),
    };
    scene.store.publish_version(wanted).await
}

async fn a_version_keeps_its_text_and_note(scene: Scene) {
    let text = "name: flow-2 # 🦀\n\u{0}";
    let noted = SaveSchema {
        note: Some("first \u{0} try".into()),
        ..written(schema(2), text)
    };
    saved(&scene, noted).await;
    let version = scene.store.version(schema_id(2), 1).await.unwrap().unwrap();
    assert_eq!(version.source.as_deref(), Some(text));
    assert_eq!(version.source_format, Some(SourceFormat::Yaml));
    assert_eq!(version.note.as_deref(), Some("first \u{0} try"));
    let plain = scene.store.version(schema_id(1), 1).await.unwrap().unwrap();
    assert_eq!(
        (plain.source, plain.source_format, plain.note),
        (None, None, None)
    );
    let listed = scene.store.versions(schema_id(2)).await.unwrap().remove(0);
    assert_eq!(
        (listed.source, listed.source_format),
        (None, Some(SourceFormat::Yaml))
    );
    assert!(listed.note.is_some());
}

async fn another_text_is_another_version(scene: Scene) {
    saved(&scene, written(schema(2), "a")).await;
    let next = |text: &str| {
        let same = SaveSchema {
            hash: schema(2).hash,
            ..schema_version(2, "b", None)
        };
        written(same, text)
    };
    assert_eq!(saved(&scene, next("a")).await.latest_version, 1);
    assert_eq!(saved(&scene, next("b")).await.latest_version, 2);
    // A save without a text says nothing about it.
    let silent = SaveSchema {
        source: None,
        ..next("")
    };
    assert_eq!(saved(&scene, silent).await.latest_version, 2);
    let mut json = next("b");
    json.source.as_mut().unwrap().format = SourceFormat::Json;
    assert_eq!(saved(&scene, json).await.latest_version, 3);
    let versions = scene.store.versions(schema_id(2)).await.unwrap();
    assert!(
        versions
            .iter()
            .all(|version| version.hash == schema(2).hash)
    );
}

async fn a_draft_changes_nothing_that_runs(scene: Scene) {
    saved(&scene, schema(2)).await;
    let changed = SaveSchema {
        description: Some("another".into()),
        ..draft(numbered(schema_version(2, "b", None), 7))
    };
    let record = saved(&scene, changed).await;
    assert_eq!((record.latest_version, record.published_version), (2, 1));
    assert_eq!(record.description, schema(2).description);
    assert_eq!((record.external_id, record.updated_at), (None, at(10)));
    assert!(
        scene
            .store
            .schema_by_external_id(7)
            .await
            .unwrap()
            .is_none()
    );
    let listed = scene.store.schemas(None, None, 9).await.unwrap();
    assert_eq!(listed[1], record);
    let kept = scene.store.published_versions(None, 9).await.unwrap();
    assert_eq!(kept[1], (schema_id(2), 1));
    // The next draft counts on, and a version that says nothing of drafts is published.
    let next = saved(&scene, draft(schema_version(2, "c", Some(2)))).await;
    assert_eq!((next.latest_version, next.published_version), (3, 1));
    let last = saved(&scene, schema_version(2, "d", Some(3))).await;
    assert_eq!((last.latest_version, last.published_version), (4, 4));
}

async fn a_draft_is_published_by_number_or_by_a_save(scene: Scene) {
    saved(&scene, schema(2)).await;
    let change = draft(numbered(schema_version(2, "b", None), 7));
    saved(&scene, change).await;
    let record = publish(&scene, 2, 2).await.unwrap();
    assert_eq!((record.latest_version, record.published_version), (2, 2));
    assert_eq!((record.external_id, record.updated_at), (Some(7), at(20)));
    assert_eq!(record.description, None, "as the stored definition says");
    saved(&scene, draft(schema_version(2, "c", None))).await;
    let same = saved(&scene, schema_version(2, "c", None)).await;
    assert_eq!((same.latest_version, same.published_version), (3, 3));
    // As a draft it was published already, and stays so.
    let again = saved(&scene, draft(schema_version(2, "c", None))).await;
    assert_eq!((again.latest_version, again.published_version), (3, 3));
}

async fn an_older_version_can_be_published_again(scene: Scene) {
    saved(&scene, numbered(schema(2), 5)).await;
    saved(&scene, numbered(schema_version(2, "b", None), 6)).await;
    let back = publish(&scene, 2, 1).await.unwrap();
    assert_eq!((back.latest_version, back.published_version), (2, 1));
    assert_eq!(back.external_id, Some(5));
    assert!(
        scene
            .store
            .schema_by_external_id(6)
            .await
            .unwrap()
            .is_none()
    );
    // Done again it changes nothing.
    let again = publish(&scene, 2, 1).await.unwrap();
    assert_eq!(again, back);
    let forth = saved(&scene, numbered(schema_version(2, "b", None), 6)).await;
    assert_eq!((forth.latest_version, forth.published_version), (2, 2));
}

async fn publishing_what_is_not_there(scene: Scene) {
    let unknown = publish(&scene, 404, 1).await;
    assert!(
        matches!(unknown, Err(CatalogError::NotFound)),
        "{unknown:?}"
    );
    for version in [0, 2, u32::MAX] {
        match publish(&scene, 1, version).await {
            Err(CatalogError::NoVersion(told)) => assert_eq!(told, version),
            other => panic!("expected NoVersion, got {other:?}"),
        }
    }
    scene
        .store
        .delete_schema(schema_id(1), at(9))
        .await
        .unwrap();
    let deleted = publish(&scene, 1, 1).await;
    assert!(
        matches!(deleted, Err(CatalogError::NotFound)),
        "{deleted:?}"
    );
}

async fn a_draft_takes_no_number_before_it_is_published(scene: Scene) {
    saved(&scene, schema(2)).await;
    saved(&scene, schema(3)).await;
    saved(&scene, draft(numbered(schema_version(2, "b", None), 7))).await;
    saved(&scene, numbered(schema_version(3, "b", None), 7)).await;
    match publish(&scene, 2, 2).await {
        Err(CatalogError::ExternalIdTaken {
            external_id,
            schema,
        }) => {
            assert_eq!((external_id, schema.as_str()), (7, "flow-3"));
        }
        other => panic!("expected ExternalIdTaken, got {other:?}"),
    }
    let record = scene.store.schema("flow-2").await.unwrap().unwrap();
    assert_eq!((record.latest_version, record.published_version), (2, 1));
}

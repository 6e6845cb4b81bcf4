//! Webhooks follow the published version of their schema; answers are the first of their execution.

use std::sync::Arc;

use pawl_kernel::execution::StepStatus;
use pawl_kernel::ports::store::{CatalogError, SaveSchema};
use pawl_kernel::ports::webhooks::WebhookRow;
use serde_json::{Value, json};

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, commit, schema, schema_id, schema_version};

pub(super) const CASES: &[StoreCase] = cases!["webhooks":
    a_schema_brings_its_webhooks,
    they_are_found_by_their_schemas,
    a_new_version_replaces_them,
    active_comes_from_the_schema,
    a_deleted_schema_takes_them_along,
    a_path_belongs_to_one_schema,
    any_takes_every_method,
    a_refused_schema_is_not_saved,
    a_deleted_path_is_free_again,
    the_revision_changes_with_what_is_shown,
    the_first_answer_counts,
    nobody_has_answered,
];

fn with_webhooks(mut save: SaveSchema, triggers: Value) -> SaveSchema {
    let definition =
        json!({"language": 1, "name": save.name, "triggers": triggers, "nodes": [], "edges": []});
    save.definition = definition.to_string();
    save.hash = format!("{}-{}", save.hash, save.definition.len());
    save
}

fn webhook(method: &str, path: &str) -> Value {
    json!({"type": "webhook", "method": method, "path": path})
}

async fn save(scene: &Scene, n: u64, triggers: Value) {
    let saved = scene.store.save_schema(with_webhooks(schema(n), triggers));
    saved.await.unwrap();
}

async fn rows(scene: &Scene) -> Vec<WebhookRow> {
    scene.store.webhooks().await.unwrap().1
}

/// What is listed, short: schema, version, path.
async fn listed(scene: &Scene) -> Vec<String> {
    let read = rows(scene).await.into_iter().map(|row| row.read().unwrap());
    let line = |one: pawl_kernel::webhook::Webhook| {
        let (method, path) = (one.trigger.method.name(), &one.trigger.path);
        format!("{} {} {method} {path}", one.schema, one.version)
    };
    read.map(line).collect()
}

async fn taken_by(scene: &Scene, save: SaveSchema) -> (String, String) {
    match scene.store.save_schema(save).await {
        Err(CatalogError::PathTaken { path, schema, .. }) => (path, schema),
        other => panic!("expected PathTaken, got {other:?}"),
    }
}

async fn a_schema_brings_its_webhooks(scene: Scene) {
    let named = json!({"type": "webhook", "path": "a/:id", "name": "first"});
    let off = json!({"type": "webhook", "path": "off", "disabled": true});
    let cron = json!({"type": "cron", "cron": "@daily"});
    save(&scene, 2, json!([cron, named, off, webhook("GET", "b")])).await;
    let row = |name: &str, definition: &Value| WebhookRow {
        schema_id: schema_id(2),
        schema: "flow-2".into(),
        version: 1,
        active: true,
        name: name.into(),
        definition: definition.to_string(),
    };
    let expected = [row("3", &webhook("GET", "b")), row("first", &named)];
    assert_eq!(rows(&scene).await, expected);
}

async fn they_are_found_by_their_schemas(scene: Scene) {
    for n in 2..=4 {
        let paths = [format!("b-{n}"), format!("a-{n}")];
        save(&scene, n, json!(paths.map(|path| webhook("GET", &path)))).await;
    }
    scene
        .store
        .set_active(schema_id(4), false, at(5))
        .await
        .unwrap();
    let all = rows(&scene).await;
    let wanted = [schema_id(2), schema_id(4), schema_id(404)];
    let found = scene.store.webhooks_of(wanted.to_vec()).await.unwrap();
    let expected = all.iter().filter(|row| wanted.contains(&row.schema_id));
    assert_eq!(found, expected.cloned().collect::<Vec<_>>());
    assert_eq!(found.len(), 4);
    assert!(scene.store.webhooks_of(vec![]).await.unwrap().is_empty());
}

async fn a_new_version_replaces_them(scene: Scene) {
    save(&scene, 2, json!([webhook("GET", "a"), webhook("GET", "b")])).await;
    let next = with_webhooks(schema_version(2, "b", None), json!([webhook("POST", "b")]));
    scene.store.save_schema(next).await.unwrap();
    assert_eq!(listed(&scene).await, ["flow-2 2 POST b"]);
    // A version without any has none.
    scene
        .store
        .save_schema(schema_version(2, "c", None))
        .await
        .unwrap();
    assert!(rows(&scene).await.is_empty());
}

async fn active_comes_from_the_schema(scene: Scene) {
    save(&scene, 2, json!([webhook("GET", "a")])).await;
    for active in [false, true] {
        scene
            .store
            .set_active(schema_id(2), active, at(5))
            .await
            .unwrap();
        assert_eq!(rows(&scene).await[0].active, active);
    }
}

async fn a_deleted_schema_takes_them_along(scene: Scene) {
    save(&scene, 2, json!([webhook("GET", "a")])).await;
    save(&scene, 3, json!([webhook("GET", "b")])).await;
    scene
        .store
        .delete_schema(schema_id(2), at(5))
        .await
        .unwrap();
    assert_eq!(listed(&scene).await, ["flow-3 1 GET b"]);
}

async fn a_path_belongs_to_one_schema(scene: Scene) {
    save(
        &scene,
        2,
        json!([webhook("GET", "a/:id"), webhook("GET", "b")]),
    )
    .await;
    let same = with_webhooks(
        schema(3),
        json!([webhook("GET", "c"), webhook("GET", "/a/:name")]),
    );
    assert_eq!(
        taken_by(&scene, same).await,
        ("a/:name".into(), "flow-2".into())
    );
    // Another method, another length and a fixed part are other requests.
    let others = json!([
        webhook("POST", "a/:id"),
        webhook("GET", "a/b"),
        webhook("GET", "a/:id/c")
    ]);
    save(&scene, 3, others).await;
    // Its own paths are no obstacle to a new version.
    let next = with_webhooks(
        schema_version(2, "b", None),
        json!([webhook("GET", "a/:x")]),
    );
    scene.store.save_schema(next).await.unwrap();
    let moved = with_webhooks(
        schema_version(3, "b", None),
        json!([webhook("GET", "a/:y")]),
    );
    assert_eq!(
        taken_by(&scene, moved).await,
        ("a/:y".into(), "flow-2".into())
    );
}

async fn any_takes_every_method(scene: Scene) {
    save(&scene, 2, json!([webhook("ANY", "a"), webhook("PUT", "b")])).await;
    let get = with_webhooks(schema(3), json!([webhook("GET", "a")]));
    assert_eq!(taken_by(&scene, get).await, ("a".into(), "flow-2".into()));
    let any = with_webhooks(schema(3), json!([webhook("ANY", "b")]));
    assert_eq!(taken_by(&scene, any).await, ("b".into(), "flow-2".into()));
}

async fn a_refused_schema_is_not_saved(scene: Scene) {
    save(&scene, 2, json!([webhook("GET", "a")])).await;
    taken_by(
        &scene,
        with_webhooks(schema(3), json!([webhook("GET", "b"), webhook("GET", "a")])),
    )
    .await;
    assert!(scene.store.schema("flow-3").await.unwrap().is_none());
    save(&scene, 3, json!([webhook("GET", "b")])).await;
    taken_by(
        &scene,
        with_webhooks(schema_version(3, "b", None), json!([webhook("GET", "a")])),
    )
    .await;
    assert_eq!(scene.store.versions(schema_id(3)).await.unwrap().len(), 1);
    assert_eq!(listed(&scene).await, ["flow-2 1 GET a", "flow-3 1 GET b"]);
}

async fn a_deleted_path_is_free_again(scene: Scene) {
    save(&scene, 2, json!([webhook("GET", "a")])).await;
    scene
        .store
        .delete_schema(schema_id(2), at(5))
        .await
        .unwrap();
    save(&scene, 3, json!([webhook("GET", "a")])).await;
    assert_eq!(listed(&scene).await, ["flow-3 1 GET a"]);
}

async fn the_revision_changes_with_what_is_shown(scene: Scene) {
    let mut seen = vec![scene.store.webhook_revision().await.unwrap()];
    let look = async |seen: &mut Vec<u64>| {
        let revision = scene.store.webhook_revision().await.unwrap();
        assert_eq!(scene.store.webhooks().await.unwrap().0, revision);
        assert!(!seen.contains(&revision), "{revision} in {seen:?}");
        seen.push(revision);
    };
    save(&scene, 2, json!([webhook("GET", "a")])).await;
    look(&mut seen).await;
    let same = with_webhooks(schema_version(2, "b", None), json!([webhook("GET", "a")]));
    scene.store.save_schema(same).await.unwrap();
    look(&mut seen).await;
    scene
        .store
        .set_active(schema_id(2), false, at(5))
        .await
        .unwrap();
    look(&mut seen).await;
    scene
        .store
        .delete_schema(schema_id(2), at(6))
        .await
        .unwrap();
    look(&mut seen).await;
}

async fn the_first_answer_counts(scene: Scene) {
    let id = scene.create(1).await;
    let claimed = scene.claim(id, 10, at(1)).await;
    let transition = commit(&claimed.state, at(2)).steps(4).with(|transition| {
        let steps = Arc::make_mut(&mut transition.steps);
        for (step, output) in steps.iter_mut().skip(1).zip(["failed", "first", "second"]) {
            step.node_type = "respond".into();
            step.output = Some(json!({"body": output}).to_string());
        }
        steps[1].status = StepStatus::Failed;
    });
    scene.commit(transition.build()).await;
    let answer = scene.store.answer_of(id).await.unwrap();
    assert_eq!(answer.as_deref(), Some(r#"{"body":"first"}"#));
}

async fn nobody_has_answered(scene: Scene) {
    let id = scene.create(1).await;
    scene.advance(id, 3, at(1)).await;
    assert_eq!(scene.store.answer_of(id).await.unwrap(), None);
    let unknown = crate::fixture::execution_id(404);
    assert_eq!(scene.store.answer_of(unknown).await.unwrap(), None);
}

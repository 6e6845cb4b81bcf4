//! What editors keep beside the versions of a schema: layouts and pins.

use pawl_kernel::id::SchemaId;
use pawl_kernel::operations::{
    LayoutRefusal, ListPins, PIN_BYTES_MAX, PINS_BYTES_MAX, PINS_MAX, Pin, PinHead, PinRefusal,
    PutLayout, PutPin, ReadLayout, ReadPin, ReadPins, RemovePin, StoredLayout, perform,
};

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, schema, schema_id};

pub(super) const CASES: &[StoreCase] = cases!["editor":
    a_layout_counts_its_writes,
    a_layout_over_another_revision_is_refused,
    layouts_change_no_version,
    an_unknown_schema_has_neither,
    a_pin_comes_back_and_is_replaced,
    pins_belong_to_one_schema,
    pins_have_limits,
    any_text_is_kept,
    both_go_with_their_schema,
];

async fn put(
    scene: &Scene,
    id: SchemaId,
    layout: &str,
    if_revision: Option<u64>,
) -> Result<StoredLayout, LayoutRefusal> {
    let put = PutLayout {
        schema_id: id,
        if_revision,
        layout: layout.to_owned(),
        updated_by: "key:9".to_owned(),
        now: at(3),
    };
    perform(&*scene.store, put).await.unwrap()
}

async fn layout(scene: &Scene, id: SchemaId) -> Option<StoredLayout> {
    let read = ReadLayout { schema_id: id };
    perform(&*scene.store, read).await.unwrap()
}

fn pin(node: &str, output: &str) -> Pin {
    Pin {
        node_id: node.to_owned(),
        handle: None,
        output: output.to_owned(),
        updated_by: "key:9".to_owned(),
        updated_at: at(4),
    }
}

async fn put_pin(scene: &Scene, id: SchemaId, pin: &Pin) -> Result<(), PinRefusal> {
    let put = PutPin {
        schema_id: id,
        pin: pin.clone(),
    };
    perform(&*scene.store, put).await.unwrap()
}

async fn pins(scene: &Scene, id: SchemaId) -> Vec<Pin> {
    let read = ReadPins { schema_id: id };
    perform(&*scene.store, read).await.unwrap()
}

async fn heads(scene: &Scene, id: SchemaId) -> Vec<PinHead> {
    let read = ListPins { schema_id: id };
    perform(&*scene.store, read).await.unwrap()
}

async fn one_pin(scene: &Scene, id: SchemaId, node: &str) -> Option<Pin> {
    let read = ReadPin {
        schema_id: id,
        node_id: node.to_owned(),
    };
    perform(&*scene.store, read).await.unwrap()
}

async fn remove_pin(scene: &Scene, id: SchemaId, node: &str) -> bool {
    let remove = RemovePin {
        schema_id: id,
        node_id: node.to_owned(),
    };
    perform(&*scene.store, remove).await.unwrap()
}

async fn a_layout_counts_its_writes(scene: Scene) {
    let id = schema_id(1);
    assert_eq!(layout(&scene, id).await, None);
    let first = put(&scene, id, "{}", None).await.unwrap();
    let expected = StoredLayout {
        revision: 1,
        layout: "{}".into(),
        updated_by: "key:9".into(),
        updated_at: at(3),
    };
    assert_eq!(first, expected);
    assert_eq!(layout(&scene, id).await, Some(expected));
    let second = put(&scene, id, "{\"notes\":[]}", Some(1)).await.unwrap();
    assert_eq!((second.revision, second.layout.len()), (2, 12));
    assert_eq!(layout(&scene, id).await, Some(second));
}

async fn a_layout_over_another_revision_is_refused(scene: Scene) {
    let id = schema_id(1);
    let early = put(&scene, id, "{}", Some(1)).await;
    assert_eq!(early, Err(LayoutRefusal::Conflict { revision: 0 }));
    put(&scene, id, "{}", Some(0)).await.unwrap();
    let late = put(&scene, id, "[]", Some(0)).await;
    assert_eq!(late, Err(LayoutRefusal::Conflict { revision: 1 }));
    assert_eq!(layout(&scene, id).await.unwrap().layout, "{}");
}

async fn layouts_change_no_version(scene: Scene) {
    let key = schema_id(1).to_string();
    let before = scene.store.schema(&key).await.unwrap();
    put(&scene, schema_id(1), "{}", None).await.unwrap();
    put_pin(&scene, schema_id(1), &pin("a", "1")).await.unwrap();
    assert_eq!(scene.store.schema(&key).await.unwrap(), before);
    assert_eq!(scene.store.versions(schema_id(1)).await.unwrap().len(), 1);
}

async fn an_unknown_schema_has_neither(scene: Scene) {
    let id = schema_id(404);
    let refused = put(&scene, id, "{}", None).await;
    assert_eq!(refused, Err(LayoutRefusal::NoSchema));
    let refused = put_pin(&scene, id, &pin("a", "1")).await;
    assert_eq!(refused, Err(PinRefusal::NoSchema));
    assert_eq!(layout(&scene, id).await, None);
    assert_eq!(pins(&scene, id).await, []);
    assert!(!remove_pin(&scene, id, "a").await);
}

async fn a_pin_comes_back_and_is_replaced(scene: Scene) {
    let id = schema_id(1);
    let (b, a) = (pin("b", "[1]"), pin("a", "null"));
    put_pin(&scene, id, &b).await.unwrap();
    put_pin(&scene, id, &a).await.unwrap();
    assert_eq!(pins(&scene, id).await, [a.clone(), b]);
    let changed = Pin {
        handle: Some("false".into()),
        updated_at: at(5),
        ..pin("b", "{\"x\":2}")
    };
    put_pin(&scene, id, &changed).await.unwrap();
    assert_eq!(one_pin(&scene, id, "b").await, Some(changed.clone()));
    let head = PinHead {
        node_id: "b".into(),
        handle: Some("false".into()),
        bytes: 7,
        updated_by: "key:9".into(),
        updated_at: at(5),
    };
    assert_eq!(heads(&scene, id).await[1], head);
    assert!(remove_pin(&scene, id, "a").await);
    assert!(!remove_pin(&scene, id, "a").await);
    assert_eq!(pins(&scene, id).await, [changed]);
    assert_eq!(one_pin(&scene, id, "a").await, None);
}

async fn pins_belong_to_one_schema(scene: Scene) {
    scene.store.save_schema(schema(2)).await.unwrap();
    put_pin(&scene, schema_id(1), &pin("a", "1")).await.unwrap();
    put_pin(&scene, schema_id(2), &pin("a", "2")).await.unwrap();
    assert!(remove_pin(&scene, schema_id(1), "a").await);
    assert_eq!(pins(&scene, schema_id(2)).await, [pin("a", "2")]);
}

async fn pins_have_limits(scene: Scene) {
    let id = schema_id(1);
    let large = "x".repeat(PIN_BYTES_MAX);
    let full = PINS_BYTES_MAX / PIN_BYTES_MAX;
    for n in 0..full {
        put_pin(&scene, id, &pin(&format!("large-{n}"), &large))
            .await
            .unwrap();
    }
    let refused = put_pin(&scene, id, &pin("more", "1")).await;
    assert_eq!(refused, Err(PinRefusal::TooLarge));
    // What it replaces does not count.
    put_pin(&scene, id, &pin("large-0", &large)).await.unwrap();
    for n in 0..full {
        put_pin(&scene, id, &pin(&format!("large-{n}"), "1"))
            .await
            .unwrap();
    }
    for n in full..PINS_MAX {
        put_pin(&scene, id, &pin(&format!("small-{n}"), "1"))
            .await
            .unwrap();
    }
    let refused = put_pin(&scene, id, &pin("more", "1")).await;
    assert_eq!(refused, Err(PinRefusal::TooMany));
    put_pin(&scene, id, &pin("large-0", "2")).await.unwrap();
}

async fn any_text_is_kept(scene: Scene) {
    let id = schema_id(1);
    let odd = Pin {
        handle: Some("a\u{0}b".into()),
        ..pin("n \u{0} 🦀", "\"\u{0}\u{202e}\"")
    };
    put_pin(&scene, id, &odd).await.unwrap();
    assert_eq!(one_pin(&scene, id, &odd.node_id).await, Some(odd));
    let text = "{\"notes\":[\"a\u{0}b 🦀\"]}";
    put(&scene, id, text, None).await.unwrap();
    assert_eq!(layout(&scene, id).await.unwrap().layout, text);
}

async fn both_go_with_their_schema(scene: Scene) {
    let id = schema_id(1);
    put(&scene, id, "{}", None).await.unwrap();
    put_pin(&scene, id, &pin("a", "1")).await.unwrap();
    assert!(scene.store.delete_schema(id, at(9)).await.unwrap());
    assert_eq!(layout(&scene, id).await, None);
    assert_eq!(pins(&scene, id).await, []);
    let refused = put(&scene, id, "{}", None).await;
    assert_eq!(refused, Err(LayoutRefusal::NoSchema));
}

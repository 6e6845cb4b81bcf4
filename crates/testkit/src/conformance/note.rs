//! Notes on executions.

use std::time::Duration;

use pawl_kernel::execution::Status;
use pawl_kernel::id::ExecutionId;
use pawl_kernel::operations::{AddNote, NOTES_MAX, Note, NoteRefusal, ReadNotes, perform};
use pawl_kernel::ports::retention::{Cutoff, RemoveRequest};
use uuid::Uuid;

use super::{Scene, StoreCase, cases};
use crate::fixture::{at, execution_id};

pub(super) const CASES: &[StoreCase] = cases!["note":
    they_come_back_in_order,
    each_belongs_to_one_execution,
    an_ended_execution_takes_them,
    an_unknown_execution_takes_none,
    there_is_a_most,
    any_text_comes_back,
    they_go_with_their_execution,
];

fn note(n: u64, text: &str) -> Note {
    Note {
        id: Uuid::from_u128(u128::from(n)),
        text: text.to_owned(),
        created_by: "key:9".to_owned(),
        created_at: at(n as i64),
    }
}

async fn add(scene: &Scene, id: ExecutionId, note: &Note) -> Result<(), NoteRefusal> {
    let add = AddNote {
        execution_id: id,
        note: note.clone(),
    };
    perform(&*scene.store, add).await.unwrap()
}

async fn notes(scene: &Scene, id: ExecutionId) -> Vec<Note> {
    let read = ReadNotes { execution_id: id };
    perform(&*scene.store, read).await.unwrap()
}

async fn ended(scene: &Scene, n: u64) -> ExecutionId {
    let id = scene.create(n).await;
    scene.finish(id, Status::Failed, at(2)).await;
    id
}

async fn they_come_back_in_order(scene: Scene) {
    let id = scene.create(1).await;
    assert_eq!(notes(&scene, id).await, []);
    let (first, second) = (note(1, "the bank is down"), note(2, "it is back"));
    add(&scene, id, &first).await.unwrap();
    add(&scene, id, &second).await.unwrap();
    assert_eq!(notes(&scene, id).await, [first, second]);
}

async fn each_belongs_to_one_execution(scene: Scene) {
    let (one, other) = (scene.create(1).await, scene.create(2).await);
    add(&scene, one, &note(1, "mine")).await.unwrap();
    assert_eq!(notes(&scene, other).await, []);
    add(&scene, other, &note(1, "under the same id"))
        .await
        .unwrap();
    assert_eq!(notes(&scene, one).await.len(), 1);
}

async fn an_ended_execution_takes_them(scene: Scene) {
    let id = ended(&scene, 1).await;
    add(&scene, id, &note(1, "retried by hand")).await.unwrap();
    assert_eq!(notes(&scene, id).await.len(), 1);
}

async fn an_unknown_execution_takes_none(scene: Scene) {
    let id = execution_id(77);
    let refused = add(&scene, id, &note(1, "lost")).await;
    assert_eq!(refused, Err(NoteRefusal::NoExecution));
    assert_eq!(notes(&scene, id).await, []);
}

async fn there_is_a_most(scene: Scene) {
    let id = scene.create(1).await;
    for n in 0..NOTES_MAX as u64 {
        add(&scene, id, &note(n + 1, "again")).await.unwrap();
    }
    let refused = add(&scene, id, &note(1_000, "one too many")).await;
    assert_eq!(refused, Err(NoteRefusal::TooMany));
    assert_eq!(notes(&scene, id).await.len(), NOTES_MAX);
}

async fn any_text_comes_back(scene: Scene) {
    let id = scene.create(1).await;
    let odd = note(1, "a\u{0}b \u{202e} 🦀\r\n");
    add(&scene, id, &odd).await.unwrap();
    assert_eq!(notes(&scene, id).await, [odd]);
}

async fn they_go_with_their_execution(scene: Scene) {
    let (gone, kept) = (ended(&scene, 1).await, ended(&scene, 2).await);
    add(&scene, gone, &note(1, "old")).await.unwrap();
    add(&scene, kept, &note(2, "new")).await.unwrap();
    let request = RemoveRequest {
        ids: vec![gone],
        cutoff: Cutoff::new(at(1_000_000), Duration::from_secs(3_600)),
        all_gone_before: None,
    };
    assert_eq!(scene.store.remove(request).await.unwrap().executions, 1);
    assert_eq!(notes(&scene, gone).await, []);
    assert_eq!(notes(&scene, kept).await.len(), 1);
}

//! A transaction of somebody else is open while a call is made.

use std::time::Duration;

use serde_json::json;

use crate::bed::{Bed, text};
use crate::call::Call;
use crate::site::eventually;

/// Five minutes are five minutes, however long it stood in line.
async fn a_lock_begins_when_it_is_its_turn(bed: Bed) {
    let atom = bed.any_atom().await;
    let id = text(&atom, "id");
    let touch = format!("UPDATE atoms SET author = 'somebody' WHERE id = '{id}'");
    let open = bed.database.begin(&touch).await;
    let call = Call::post(format!("atoms/{id}/lock"), json!({"user_id": "ann"}))
        .if_match(&atom["atom_rev"]);
    let address = bed.address;
    let waiting = tokio::spawn(async move { call.send(address).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let released = jiff::Timestamp::now();
    open.commit().await;
    let locked = waiting.await.unwrap().unwrap().expect(200);
    let until: jiff::Timestamp = text(&locked, "locked_until").parse().unwrap();
    // The database keeps milliseconds.
    let left = until.duration_since(released).as_millis();
    assert!(left >= 299_999, "{left}");
}

on_both! {
    a_lock_begins_when_it_is_its_turn
}

/// The archive has looked for baselines, and then waits for the table that a baseline holds. SQLite lets one in at a time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_baseline_made_meanwhile_protects() {
    let bed = Bed::postgres("meanwhile").await;
    let (doc, section) = bed.section().await;
    let atom = bed.atom(&section, "kept").await;
    let id = text(&atom, "id");
    let made = "'2026-01-01T00:00:00.000Z'";
    let baseline = format!(
        "LOCK TABLE structure_links IN SHARE MODE;
         INSERT INTO baselines (id, doc_id, tag, frozen_at) VALUES ('b', '{doc}', 'v1', {made});
         INSERT INTO baseline_items (id, baseline_id, atom_id, section_id, position, place, type, snapshotted_at)
         VALUES ('b/{id}', 'b', '{id}', '{section}', 1, 1, 'snapshot_item', {made})"
    );
    let open = bed.database.begin(&baseline).await;
    let body = json!({"user_id": "ann", "expected_rev": atom["atom_rev"]});
    let call = Call::patch(format!("atoms/{id}/archive"), body);
    let address = bed.address;
    let waiting = tokio::spawn(async move { call.send(address).await });
    eventually("the archive waits", async || {
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'structure_links'::regclass";
        (bed.database.number(waits).await > 0).then_some(())
    })
    .await;
    open.commit().await;
    let refused = waiting.await.unwrap().unwrap();
    let refused = refused.refuses(409, "PROTECTED_BY_BASELINE");
    assert_eq!(refused["baselines"], json!([{"id": "b", "tag": "v1"}]));
    let context = bed.context(&id).await;
    assert_eq!(
        (&context["status"], &context["structure_edge_id"]),
        (&json!("active"), &atom["structure_edge_id"])
    );
    assert_eq!(context["atom_rev"], atom["atom_rev"]);
}

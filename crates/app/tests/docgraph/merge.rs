//! Scenario 3.2: a proposal takes the place of the active atom, under compare-and-swap on the structure edge.

use serde_json::{Value, json};

use crate::bed::{Bed, text};
use crate::call::Call;

fn merge(winner: &Value, current: &Value, more: Value) -> Call {
    let winner = text(winner, "proposal_id");
    let mut body = json!({
        "winner_proposal_id": winner, "current_active_id": current["id"], "user_id": "ann",
        "structure_edge_id": current["structure_edge_id"], "expected_edge_rev": current["structure_edge_rev"],
    });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    Call::post(format!("proposals/{winner}/merge"), body)
}

async fn a_merge_switches_the_edge_and_rebases_the_others(bed: Bed) {
    let (doc, section) = bed.section().await;
    let atom = bed.atom(&section, "old").await;
    let winner = bed.propose(&atom, "new").await;
    let other = bed.propose(&atom, "other").await;
    let rejected = bed.propose(&atom, "rejected").await;
    let reject = format!("proposals/{}/reject", text(&rejected, "proposal_id"));
    let reject = Call::new("POST", reject).if_match(&rejected["proposal_rev"]);
    bed.call(reject).await.expect(200);
    let edge = format!("structure_links/{}", text(&atom, "structure_edge_id"));
    let current = format!("atoms/{}", text(&atom, "id"));
    let call = merge(
        &winner,
        &atom,
        json!({"structure_edge_id": edge, "current_active_id": current}),
    );
    let merged = bed.call(call.clone()).await.expect(200);
    assert_eq!(merged["success"], true);
    assert_eq!(merged["new_active_atom_id"], winner["proposal_id"]);
    assert_eq!(merged["archived_atom_id"], atom["id"]);
    assert_eq!(merged["structure_edge_id"], atom["structure_edge_id"]);
    assert_ne!(merged["structure_edge_rev"], atom["structure_edge_rev"]);
    assert_eq!(merged["rebased_proposals_count"], 1);
    let rebased = json!([{"id": other["proposal_id"], "outdated": true}]);
    assert_eq!(merged["rebased_proposals"], rebased);
    let structure = bed
        .get(&format!("documents/{doc}/structure"))
        .await
        .expect(200);
    assert_eq!(structure["items"].as_array().unwrap().len(), 1);
    let item = &structure["items"][0];
    assert_eq!(
        (&item["content"], &item["status"]),
        (&json!("new"), &json!("active"))
    );
    assert_eq!(item["structure_edge_rev"], merged["structure_edge_rev"]);
    let old = bed.context(&text(&atom, "id")).await;
    assert_eq!(
        (&old["status"], &old["structure_edge_id"]),
        (&json!("archived"), &Value::Null)
    );
    let new = bed.context(&text(&winner, "proposal_id")).await;
    assert_eq!(new["replaces"][0]["atom_id"], atom["id"]);
    assert_eq!(new["proposals"][0]["proposal_id"], other["proposal_id"]);
    assert_eq!(new["proposals"][0]["rebased_from"], atom["id"]);
    // It is no proposal any more, and the other no active atom.
    let refused = bed.call(call).await.refuses(409, "INVALID_STATUS");
    assert_eq!(refused["atom_status"], "archived");
    let itself = json!({"current_active_id": winner["proposal_id"]});
    let refused = bed.call(merge(&winner, &atom, itself)).await;
    assert_eq!(
        refused.refuses(409, "INVALID_STATUS")["atom_status"],
        "active"
    );

    // The other one was made for the old text.
    let active = json!({"id": winner["proposal_id"], "structure_edge_id": atom["structure_edge_id"],
                        "structure_edge_rev": merged["structure_edge_rev"]});
    let refused = bed.call(merge(&other, &active, json!({}))).await;
    refused.refuses(409, "OUTDATED_PROPOSAL");
    let refused = bed
        .call(merge(&other, &active, json!({"allow_outdated": false})))
        .await;
    refused.refuses(409, "OUTDATED_PROPOSAL");
    let taken = bed
        .call(merge(&other, &active, json!({"allow_outdated": true})))
        .await;
    assert_eq!(taken.expect(200)["rebased_proposals"], json!([]));
    let orphans = "SELECT count(*) FROM atoms a WHERE a.status = 'active' AND 1 <>
                   (SELECT count(*) FROM structure_links l WHERE l.child_id = a.id AND l.child_type = 'atoms')";
    assert_eq!(bed.database.number(orphans).await, 0);
}

async fn every_check_of_a_merge_refuses_and_changes_nothing(bed: Bed) {
    let (_, section) = bed.section().await;
    let (atom, neighbour) = (bed.atom(&section, "a").await, bed.atom(&section, "b").await);
    let winner = bed.propose(&atom, "better").await;
    let stranger = bed.propose(&neighbour, "for another").await;
    let edge = |of: &Value| json!({"structure_edge_id": of["structure_edge_id"]});
    let before = bed.database.rows().await;
    assert_eq!(before.len(), 11, "{before:?}");
    for (call, status, code) in [
        (
            merge(&winner, &atom, json!({"current_active_id": "nowhere"})),
            404,
            "NOT_FOUND",
        ),
        (
            merge(&json!({"proposal_id": "nowhere"}), &atom, json!({})),
            404,
            "NOT_FOUND",
        ),
        (
            merge(&winner, &atom, json!({"structure_edge_id": "nowhere"})),
            404,
            "NOT_FOUND",
        ),
        (
            merge(&json!({"proposal_id": neighbour["id"]}), &atom, json!({})),
            409,
            "INVALID_STATUS",
        ),
        (
            merge(
                &winner,
                &atom,
                json!({"current_active_id": stranger["proposal_id"]}),
            ),
            409,
            "INVALID_STATUS",
        ),
        (merge(&winner, &atom, edge(&neighbour)), 409, "STALE_EDGE"),
        (merge(&stranger, &atom, json!({})), 409, "NOT_A_PROPOSAL"),
        (
            merge(&winner, &atom, json!({"expected_edge_rev": "41"})),
            409,
            "REV_CONFLICT",
        ),
        (
            merge(&winner, &atom, json!({"winner_proposal_id": "other"})),
            422,
            "INVALID_INPUT",
        ),
        (
            merge(&winner, &atom, json!({"current_active_id": null})),
            422,
            "INVALID_INPUT",
        ),
        (
            merge(&winner, &atom, json!({"current_active_id": 7})),
            422,
            "INVALID_INPUT",
        ),
        (
            merge(&winner, &atom, json!({"structure_edge_id": ""})),
            422,
            "INVALID_INPUT",
        ),
        (
            merge(&winner, &atom, json!({"user_id": null})),
            422,
            "INVALID_INPUT",
        ),
        (
            merge(&winner, &atom, json!({"allow_outdated": "yes"})),
            422,
            "INVALID_INPUT",
        ),
    ] {
        let shown = format!("{call:?}");
        let answer = bed.call(call).await;
        assert_eq!(
            (answer.status, &answer.body["error"]),
            (status, &json!(code)),
            "{shown}: {}",
            answer.body
        );
    }
    assert_eq!(bed.database.rows().await, before);
    let locked = bed.lock(&text(&atom, "id"), "bob", &atom["atom_rev"]).await;
    let locked = locked.expect(200);
    let before = bed.database.rows().await;
    let refused = bed.call(merge(&winner, &atom, json!({}))).await;
    let refused = refused.refuses(423, "LOCKED");
    assert_eq!(
        (&refused["locked_by"], &refused["locked_until"]),
        (&json!("bob"), &locked["locked_until"])
    );
    assert_eq!(bed.database.rows().await, before);
    // The owner of the lock may, by `If-Match` as well.
    let mut call = merge(&winner, &atom, json!({"user_id": "bob"}));
    call.body
        .as_mut()
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove("expected_edge_rev");
    let call = call.if_match(&atom["structure_edge_rev"]);
    bed.call(call).await.expect(200);
}

async fn a_lock_that_ran_out_does_not_hold_a_merge(bed: Bed) {
    let atom = bed.any_atom().await;
    let winner = bed.propose(&atom, "better").await;
    let locked = bed.lock(&text(&atom, "id"), "bob", &atom["atom_rev"]).await;
    locked.expect(200);
    bed.let_locks_expire().await;
    bed.call(merge(&winner, &atom, json!({}))).await.expect(200);
}

/// The answer of a call that was made twice is the same one.
async fn a_repeated_call_is_one_call(bed: Bed) {
    let atom = bed.any_atom().await;
    let winner = bed.propose(&atom, "better").await;
    let call = merge(&winner, &atom, json!({})).header("idempotency-key", "merge-1");
    let first = bed.call(call.clone()).await.expect(200);
    let second = bed.call(call).await.expect(200);
    assert_eq!(first, second);
    let merges = "SELECT count(*) FROM revision_links";
    assert_eq!(bed.database.number(merges).await, 1);
}

on_both! {
    a_merge_switches_the_edge_and_rebases_the_others
    every_check_of_a_merge_refuses_and_changes_nothing
    a_lock_that_ran_out_does_not_hold_a_merge
    a_repeated_call_is_one_call
}

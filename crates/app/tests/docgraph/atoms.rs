//! One atom: locks (3.6), archive (3.7), proposals and their rejection (3.4, 3.5), locks that run out (3.8), and
//! revisions wherever one is asked for.

use serde_json::{Value, json};

use crate::bed::{Bed, text};
use crate::call::Call;

async fn a_lock_is_taken_once_and_given_back_by_its_owner(bed: Bed) {
    let atom = bed.any_atom().await;
    let id = text(&atom, "id");
    let locked = bed.lock(&id, "ann", &atom["atom_rev"]).await.expect(200);
    assert_eq!(locked["success"], true);
    assert_ne!(locked["atom_rev"], atom["atom_rev"]);
    let until: jiff::Timestamp = text(&locked, "locked_until").parse().unwrap();
    let left = until.duration_since(jiff::Timestamp::now()).as_secs();
    assert!((280..=300).contains(&left), "{left}");
    // While it lives everybody gets 423, its owner too, whatever revision they saw.
    for (user, revision) in [
        ("bob", &locked["atom_rev"]),
        ("ann", &locked["atom_rev"]),
        ("bob", &atom["atom_rev"]),
    ] {
        let refused = bed.lock(&id, user, revision).await.refuses(423, "LOCKED");
        assert_eq!(refused["locked_by"], "ann");
        assert_eq!(refused["locked_until"], locked["locked_until"]);
    }
    let unlock = |user: &str, revision: &Value| {
        Call::post(
            format!("atoms/atoms%2F{id}/unlock"),
            json!({"atom_id": format!("atoms/{id}"), "user_id": user, "expected_rev": revision}),
        )
    };
    let refused = bed.call(unlock("bob", &locked["atom_rev"])).await;
    assert_eq!(refused.refuses(423, "LOCKED")["locked_by"], "ann");
    bed.call(unlock("ann", &atom["atom_rev"]))
        .await
        .refuses(409, "REV_CONFLICT");
    let freed = bed.call(unlock("ann", &locked["atom_rev"])).await;
    let freed = freed.expect(200);
    // Nobody holds it: anybody may, and it is a write all the same.
    let again = bed.call(unlock("bob", &freed["atom_rev"])).await;
    assert_ne!(again.expect(200)["atom_rev"], freed["atom_rev"]);
    let context = bed.context(&id).await;
    assert_eq!(context["locked_by"], Value::Null);
    for path in ["lock", "unlock"] {
        let body = json!({"user_id": "ann", "expected_rev": "1"});
        let missing = bed.post(&format!("atoms/nowhere/{path}"), body).await;
        missing.refuses(404, "NOT_FOUND");
    }
}

async fn a_lock_that_ran_out_is_free(bed: Bed) {
    // It would write, and the revisions would be others.
    bed.deactivate("docgraph-unlock-expired").await;
    let atom = bed.any_atom().await;
    let id = text(&atom, "id");
    let locked = bed.lock(&id, "ann", &atom["atom_rev"]).await.expect(200);
    bed.let_locks_expire().await;
    let taken = bed.lock(&id, "bob", &locked["atom_rev"]).await.expect(200);
    assert_eq!(taken["locked_by"], "bob");
    bed.let_locks_expire().await;
    let unlock = json!({"user_id": "eve", "expected_rev": taken["atom_rev"]});
    let freed = bed.post(&format!("atoms/{id}/unlock"), unlock).await;
    let freed = freed.expect(200);
    let locked = bed.lock(&id, "ann", &freed["atom_rev"]).await.expect(200);
    bed.let_locks_expire().await;
    let archive = json!({"user_id": "eve", "expected_rev": locked["atom_rev"]});
    let archive = Call::patch(format!("atoms/{id}/archive"), archive);
    bed.call(archive).await.expect(200);
}

/// Each route that changes what somebody has seen before.
async fn a_revision_is_asked_for_and_read_from_header_or_body(bed: Bed) {
    let atom = bed.any_atom().await;
    let id = text(&atom, "id");
    let revision = text(&atom, "atom_rev");
    let proposal = text(&bed.propose(&atom, "better").await, "proposal_id");
    let merge = json!({"user_id": "ann", "current_active_id": id, "structure_edge_id": atom["structure_edge_id"]});
    let routes = [
        (
            "POST",
            format!("atoms/{id}/lock"),
            "expected_rev",
            json!({"user_id": "ann"}),
        ),
        (
            "POST",
            format!("atoms/{id}/unlock"),
            "expected_rev",
            json!({"user_id": "ann"}),
        ),
        (
            "PATCH",
            format!("atoms/{id}/archive"),
            "expected_rev",
            json!({"user_id": "ann"}),
        ),
        (
            "POST",
            format!("proposals/{proposal}/reject"),
            "expected_proposal_rev",
            json!({}),
        ),
        (
            "POST",
            format!("proposals/{proposal}/merge"),
            "expected_edge_rev",
            merge,
        ),
    ];
    for (method, path, field, body) in routes {
        let call = || Call::new(method, path.clone()).json(body.clone());
        let with = |value: Value| {
            let mut body = body.clone();
            body[field] = value;
            Call::new(method, path.clone()).json(body)
        };
        bed.call(call()).await.refuses(428, "PRECONDITION_REQUIRED");
        for bad in [
            with(json!("1")).header("if-match", "\"2\""),
            with(json!({"a": 1})),
            with(json!(true)),
            call().header("if-match", "*"),
            call().header("if-match", "\"1\", \"2\""),
        ] {
            let answer = bed.call(bad.clone()).await;
            assert_eq!(answer.status, 422, "{bad:?}: {}", answer.body);
            answer.refuses(422, "INVALID_INPUT");
        }
        for bad in [json!([]), json!("text"), json!(5), json!(true)] {
            let bad = Call::new(method, path.clone())
                .json(bad)
                .header("if-match", "\"1\"");
            let answer = bed.call(bad.clone()).await;
            assert_eq!(answer.status, 422, "{bad:?}: {}", answer.body);
            answer.refuses(422, "INVALID_INPUT");
        }
        for stale in [
            with(json!("none of ours")),
            call().header("if-match", "W/\"99\""),
        ] {
            let answer = bed.call(stale).await;
            assert_eq!(answer.status, 409, "{path}: {}", answer.body);
            answer.refuses(409, "REV_CONFLICT");
        }
    }
    // The same one in both is one; quotes, weakness and numbers do not matter.
    let body = json!({"user_id": "ann", "expected_rev": revision});
    let both = Call::post(format!("atoms/{id}/lock"), body)
        .header("if-match", format!("W/\"{revision}\""));
    let locked = bed.call(both).await.expect(200);
    let number: i64 = text(&locked, "atom_rev").parse().unwrap();
    let unlock = json!({"user_id": "ann", "expected_rev": number});
    let freed = bed.post(&format!("atoms/{id}/unlock"), unlock).await;
    let bare = Call::post(format!("atoms/{id}/lock"), json!({"user_id": "ann"}))
        .header("if-match", text(&freed.expect(200), "atom_rev"));
    bed.call(bare).await.expect(200);
    for body in [
        json!({"expected_rev": "1"}),
        json!({"user_id": 5, "expected_rev": "1"}),
        json!({"user_id": "ann", "atom_id": "other", "expected_rev": "1"}),
    ] {
        let refused = bed.post(&format!("atoms/{id}/lock"), body).await;
        refused.refuses(422, "INVALID_INPUT");
    }
}

async fn an_archived_atom_leaves_the_document(bed: Bed) {
    let (doc, section) = bed.section().await;
    let atom = bed.atom(&section, "cancelled").await;
    let id = text(&atom, "id");
    let archive = |user: &str, revision: &Value| {
        let body = json!({"user_id": user, "reason": "cancelled by the customer", "expected_rev": revision});
        Call::patch(format!("atoms/{id}/archive"), body)
    };
    bed.call(archive("ann", &json!("77")))
        .await
        .refuses(409, "REV_CONFLICT");
    let locked = bed.lock(&id, "bob", &atom["atom_rev"]).await.expect(200);
    let refused = bed.call(archive("ann", &locked["atom_rev"])).await;
    let refused = refused.refuses(423, "LOCKED");
    assert_eq!(
        (&refused["locked_by"], &refused["locked_until"]),
        (&json!("bob"), &locked["locked_until"])
    );
    // Its owner may.
    let archived = bed.call(archive("bob", &locked["atom_rev"])).await;
    let archived = archived.expect(200);
    assert!(text(&archived, "archived_at").ends_with('Z'));
    let context = bed.context(&id).await;
    assert_eq!(context["status"], "archived");
    assert_eq!(context["structure_edge_id"], Value::Null);
    let structure = bed.get(&format!("documents/{doc}/structure")).await;
    assert_eq!(structure.expect(200)["items"], json!([]));
    bed.let_locks_expire().await;
    let refused = bed.call(archive("bob", &archived["atom_rev"])).await;
    let refused = refused.refuses(409, "INVALID_STATUS");
    assert_eq!(refused["atom_status"], "archived");
    let nowhere = json!({"user_id": "a", "expected_rev": "1"});
    bed.call(Call::patch("atoms/nowhere/archive", nowhere))
        .await
        .refuses(404, "NOT_FOUND");
}

async fn a_baseline_protects_its_atoms(bed: Bed) {
    let (doc, section) = bed.section().await;
    let atom = bed.atom(&section, "kept").await;
    let mut wanted = Vec::new();
    for tag in ["v1", "v2"] {
        let path = format!("documents/{doc}/baselines");
        let made = bed
            .post(&path, json!({"version_tag": tag}))
            .await
            .expect(200);
        wanted.push(json!({"id": made["baseline_id"], "tag": tag}));
    }
    let body = json!({"user_id": "ann", "expected_rev": atom["atom_rev"]});
    let archive = Call::patch(format!("atoms/{}/archive", text(&atom, "id")), body);
    let refused = bed.call(archive).await;
    let refused = refused.refuses(409, "PROTECTED_BY_BASELINE");
    assert_eq!(refused["baselines"], json!(wanted));
    assert_eq!(bed.context(&text(&atom, "id")).await["status"], "active");
}

async fn proposals_are_made_for_active_atoms_and_rejected_once(bed: Bed) {
    let atom = bed.any_atom().await;
    let id = text(&atom, "id");
    let proposal = bed.propose(&atom, "better").await;
    assert_eq!(proposal["status"], "proposal");
    let proposal_id = text(&proposal, "proposal_id");
    let context = bed.context(&id).await;
    assert_eq!(
        context["atom_rev"], atom["atom_rev"],
        "the atom is as it was"
    );
    let shown = &context["proposals"][0];
    assert_eq!(shown["proposal_id"], proposal["proposal_id"]);
    assert_eq!(shown["proposal_rev"], proposal["proposal_rev"]);
    assert_eq!(
        (&shown["comment"], &shown["outdated"]),
        (&json!("better"), &json!(false))
    );
    let body = json!({"new_content": "even better", "author": "bob"});
    let nowhere = bed.post("atoms/nowhere/proposals", body.clone()).await;
    nowhere.refuses(404, "NOT_FOUND");
    let of_proposal = format!("atoms/{proposal_id}/proposals");
    let refused = bed.post(&of_proposal, body).await;
    let refused = refused.refuses(409, "INVALID_STATUS");
    assert_eq!(refused["atom_status"], "proposal");

    let reject = |id: &str, revision: &Value| {
        Call::new("POST", format!("proposals/{id}/reject")).if_match(revision)
    };
    bed.call(reject("nowhere", &json!("1")))
        .await
        .refuses(404, "NOT_FOUND");
    bed.call(reject(&proposal_id, &json!("55")))
        .await
        .refuses(409, "REV_CONFLICT");
    let rejected = bed
        .call(reject(&proposal_id, &proposal["proposal_rev"]))
        .await;
    let rejected = rejected.expect(200);
    assert_eq!(rejected["success"], true);
    assert_ne!(rejected["proposal_rev"], proposal["proposal_rev"]);
    for (id, revision, status) in [
        (&proposal_id, &rejected["proposal_rev"], "rejected"),
        (&id, &atom["atom_rev"], "active"),
    ] {
        let refused = bed.call(reject(id, revision)).await;
        let refused = refused.refuses(409, "INVALID_STATUS");
        assert_eq!(refused["atom_status"], status);
    }
    // By the body as well.
    let another = bed.propose(&atom, "worse").await;
    let body = json!({"proposal_id": another["proposal_id"], "expected_proposal_rev": another["proposal_rev"]});
    let path = format!("proposals/{}/reject", text(&another, "proposal_id"));
    let rejected = bed.post(&path, body).await.expect(200);
    assert_eq!(rejected["proposal_id"], another["proposal_id"]);
}

/// It stays a proposal for that atom, and can be taken no more.
async fn a_proposal_can_be_archived(bed: Bed) {
    let atom = bed.any_atom().await;
    let proposal = bed.propose(&atom, "better").await;
    let id = text(&proposal, "proposal_id");
    let body = json!({"user_id": "ann", "expected_rev": proposal["proposal_rev"]});
    let archived = bed.call(Call::patch(format!("atoms/{id}/archive"), body));
    archived.await.expect(200);
    assert_eq!(bed.context(&id).await["status"], "archived");
    let context = bed.context(&text(&atom, "id")).await;
    assert_eq!(
        (&context["atom_rev"], &context["structure_edge_rev"]),
        (&atom["atom_rev"], &atom["structure_edge_rev"])
    );
    let merge = json!({
        "user_id": "ann", "current_active_id": atom["id"],
        "structure_edge_id": atom["structure_edge_id"], "expected_edge_rev": atom["structure_edge_rev"],
    });
    let refused = bed.post(&format!("proposals/{id}/merge"), merge).await;
    refused.refuses(409, "INVALID_STATUS");
}

async fn an_empty_text_that_may_be_left_out_is_left_out(bed: Bed) {
    let (doc, section) = bed.section().await;
    let atom = json!({"content": "a", "author": ""});
    let atom = bed.post(&format!("sections/{section}/atoms"), atom).await;
    let atom = atom.expect(201);
    let id = text(&atom, "id");
    let body = json!({"new_content": "b", "comment": "", "author": ""});
    let proposed = bed.post(&format!("atoms/{id}/proposals"), body).await;
    proposed.expect(200);
    let context = bed.context(&id).await;
    let shown = &context["proposals"][0];
    for left_out in [&context["author"], &shown["comment"], &shown["author"]] {
        assert_eq!(left_out, &Value::Null);
    }
    let body = json!({"user_id": "ann", "reason": "", "expected_rev": atom["atom_rev"]});
    let archived = bed.call(Call::patch(format!("atoms/{id}/archive"), body));
    archived.await.expect(200);
    let reasons = "SELECT count(*) FROM atoms WHERE archive_reason IS NOT NULL";
    assert_eq!(bed.database.number(reasons).await, 0);
    let path = format!("documents/{doc}/baselines");
    let body = json!({"version_tag": "v1", "title": ""});
    bed.post(&path, body).await.expect(200);
    let listed = bed.get(&path).await.expect(200);
    assert_eq!(listed["baselines"][0]["title"], Value::Null);
}

async fn locks_that_ran_out_are_taken_away_every_minute(bed: Bed) {
    let (_, section) = bed.section().await;
    let (old, young) = (
        bed.atom(&section, "old").await,
        bed.atom(&section, "young").await,
    );
    let expired = bed.lock(&text(&old, "id"), "ann", &old["atom_rev"]).await;
    let expired = expired.expect(200);
    bed.let_locks_expire().await;
    let kept = bed
        .lock(&text(&young, "id"), "bob", &young["atom_rev"])
        .await;
    let kept = kept.expect(200);
    let schedule =
        crate::wire::send(bed.address, "GET", "/api/scheduled-actions", None, None).await;
    let schedule = schedule.unwrap().body.to_string();
    assert!(schedule.contains("* * * * *"), "{schedule}");
    let start = json!({"schema": "docgraph-unlock-expired"});
    let ran = crate::wire::send(
        bed.address,
        "POST",
        "/api/executions?wait=30s",
        Some(&start),
        None,
    );
    let ran = ran.await.unwrap().body;
    assert_eq!(ran["status"], "completed", "{ran}");
    // The clock may have been there before us.
    assert!(ran["output"]["unlocked"].as_i64().unwrap() <= 1, "{ran}");
    let freed = bed.context(&text(&old, "id")).await;
    assert_eq!(freed["locked_by"], Value::Null);
    assert_ne!(freed["atom_rev"], expired["atom_rev"], "it is a write");
    let held = bed.context(&text(&young, "id")).await;
    assert_eq!(
        (&held["locked_by"], &held["atom_rev"]),
        (&json!("bob"), &kept["atom_rev"])
    );
}

on_both! {
    a_lock_is_taken_once_and_given_back_by_its_owner
    a_lock_that_ran_out_is_free
    a_revision_is_asked_for_and_read_from_header_or_body
    an_archived_atom_leaves_the_document
    a_baseline_protects_its_atoms
    proposals_are_made_for_active_atoms_and_rejected_once
    a_proposal_can_be_archived
    an_empty_text_that_may_be_left_out_is_left_out
    locks_that_ran_out_are_taken_away_every_minute
}

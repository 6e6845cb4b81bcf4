//! The pack on a server, a worker and PostgreSQL: whoever answers is another process than whoever did it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::analyze::{ask, prompt};
use crate::bed::{Bed, text};
use crate::call::Call;
use crate::site::within;

/// A minute until the clock of 3.8 strikes, and some time to do it.
const A_MINUTE: Duration = Duration::from_secs(100);

async fn a_model_finds_fails_and_goes_on(bed: &Bed, atom: &Value) {
    prompt(bed, "lead", "good").await;
    prompt(bed, "unlucky", "broken").await;
    let done = bed.post("ai/analyze?wait=90s", ask(atom, "lead")).await;
    assert_eq!(done.expect(200)["artifacts_created"], 2);
    let failed = bed.post("ai/analyze?wait=90s", ask(atom, "unlucky")).await;
    let failed = failed.refuses(502, "MODEL_ERROR");
    let told = bed.post("ai/analyze", ask(atom, "unlucky")).await;
    let told = told.expect(202);
    assert_eq!(told["status"], "processing");
    let job = format!("/api/executions/{}?wait=30s", text(&told, "job_id"));
    let ended = bed.api("GET", &job, None).await;
    assert_eq!(ended["output"]["error"], "MODEL_ERROR", "{ended}");
    let listed = bed.get("errors").await.expect(200);
    let ids: Vec<&Value> = listed["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["id"])
        .collect();
    let second = &ended["output"]["error_artifact_id"];
    assert_eq!(ids, [second, &failed["error_artifact_id"]]);
}

async fn a_baseline_is_kept_and_protects(bed: &Bed, doc: &str, atom: &Value) {
    let path = format!("documents/{doc}/baselines");
    let made = bed.post(&path, json!({"version_tag": "v1"})).await;
    let made = made.expect(200);
    assert_eq!(made["items_snapshotted"], 1);
    let again = bed.post(&path, json!({"version_tag": "v1"})).await;
    again.refuses(409, "CONFLICT");
    let body = json!({"user_id": "ann", "expected_rev": atom["atom_rev"]});
    let archive = Call::patch(format!("atoms/{}/archive", text(atom, "id")), body);
    let refused = bed.call(archive).await;
    let refused = refused.refuses(409, "PROTECTED_BY_BASELINE");
    let baseline = json!({"id": made["baseline_id"], "tag": "v1"});
    assert_eq!(refused["baselines"], json!([baseline]));
    let listed = bed.get(&path).await.expect(200);
    assert_eq!(listed["baselines"][0]["items"], 1);
    let baseline = text(&made, "baseline_id");
    for query in ["", &format!("?baseline_id={baseline}")] {
        let path = format!("documents/{doc}/structure{query}");
        let shown = bed.get(&path).await.expect(200);
        assert_eq!(shown["sections"][0]["title"], "One");
        assert_eq!(shown["items"][0]["atom_id"], atom["id"]);
        assert_eq!(shown["items"][0]["has_open_issues"], true);
    }
}

/// By the clock, not by us.
async fn a_lock_that_ran_out_is_taken_away(bed: &Bed, atom: &Value) {
    let id = text(atom, "id");
    let locked = bed.lock(&id, "ann", &atom["atom_rev"]).await.expect(200);
    let refused = bed.lock(&id, "bob", &locked["atom_rev"]).await;
    refused.refuses(423, "LOCKED");
    bed.let_locks_expire().await;
    let freed = within(A_MINUTE, "the lock is taken away", async || {
        let context = bed.context(&id).await;
        context["locked_by"].is_null().then_some(context)
    })
    .await;
    assert_ne!(freed["atom_rev"], locked["atom_rev"], "it is a write");
    assert_eq!(freed["artifacts_count"], 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_scenarios_on_a_server_and_a_worker() {
    let bed = Bed::cluster("graph_cluster").await;
    let (doc, section) = bed.section().await;
    let atom = bed.atom(&section, "the sky is green").await;
    a_model_finds_fails_and_goes_on(&bed, &atom).await;
    a_baseline_is_kept_and_protects(&bed, &doc, &atom).await;
    a_lock_that_ran_out_is_taken_away(&bed, &atom).await;
    bed.get("atoms/nowhere/context")
        .await
        .refuses(404, "NOT_FOUND");
}

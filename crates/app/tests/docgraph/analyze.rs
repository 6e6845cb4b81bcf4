//! Scenario 3.1: a model looks at an atom, and fails in every way it can.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bed::{Bed, text};

const ANALYZE: &str = include_str!("../../../../packs/docgraph/schemas/analyze.yaml");

async fn prompt(bed: &Bed, role: &str, model: &str) {
    let body = json!({
        "role_key": role, "template": "As a lead: {{content}}\n{{issues_context}}", "version": 1, "active": true,
        "model_config": {"model": model, "temperature": 0.2, "response_format": "json"},
    });
    bed.post("prompts", body).await.expect(201);
}

/// Saves the schema with other words in it.
async fn change(bed: &Bed, from: &str, to: &str) {
    assert!(ANALYZE.contains(from), "{from}");
    let yaml = ANALYZE.replace(from, to).replace("$CONNECTION", "graph");
    let file = bed.folder.path().join("analyze.yaml");
    std::fs::write(&file, yaml).unwrap();
    let mut save = crate::bed::pawl(bed.folder.path());
    save.args(["schema", "save", "analyze.yaml", "--url"])
        .arg(format!("http://{}", bed.address));
    let saved = save.output().await.unwrap();
    assert!(
        saved.status.success(),
        "{}",
        String::from_utf8_lossy(&saved.stderr)
    );
}

fn ask(atom: &Value, role: &str) -> Value {
    json!({"target_atom_id": atom["id"], "agent_role_key": role})
}

async fn what_a_model_finds_is_kept_with_the_atom(bed: Bed) {
    let (doc, section) = bed.section().await;
    let atom = bed.atom(&section, "the sky is green").await;
    prompt(&bed, "tech_lead", "good").await;
    prompt(&bed, "fixer", "content").await;
    let done = bed
        .post("ai/analyze?wait=90s", ask(&atom, "tech_lead"))
        .await;
    let done = done.expect(200);
    assert_eq!(
        (&done["success"], &done["artifacts_created"]),
        (&json!(true), &json!(2))
    );
    let asked = bed.model.last();
    assert_eq!(
        asked["prompt"],
        "As a lead: the sky is green\n{{issues_context}}"
    );
    assert_eq!(
        (&asked["format"], &asked["stream"]),
        (&json!("json"), &json!(false))
    );
    assert_eq!(asked["options"]["temperature"], 0.2);
    let context = bed.context(&text(&atom, "id")).await;
    let found = &context["artifacts"][0];
    assert_eq!(
        (&found["type"], &found["status"]),
        (&json!("issue"), &json!("open"))
    );
    assert_eq!(
        (&found["severity"], &found["source_model"]),
        (&json!("high"), &json!("good"))
    );
    let structure = bed
        .get(&format!("documents/{doc}/structure"))
        .await
        .expect(200);
    assert_eq!(structure["items"][0]["has_open_issues"], true);
    let with_prompts = "SELECT count(*) FROM created_with";
    assert_eq!(bed.database.number(with_prompts).await, 2);
    // The fixer is told what is wrong.
    let fixed = json!({"target_atom_id": format!("atoms/{}", text(&atom, "id")), "agent_role_key": "fixer"});
    bed.post("ai/analyze?wait=90s", fixed).await.expect(200);
    let asked = bed.model.last();
    assert_eq!(
        asked["prompt"],
        "As a lead: the sky is green\n- [HIGH] the colour is wrong\n- [LOW] a word is missing"
    );
}

async fn without_waiting_the_job_is_named_and_goes_on(bed: Bed) {
    let atom = bed.any_atom().await;
    prompt(&bed, "lead", "good").await;
    let told = bed.post("ai/analyze", ask(&atom, "lead")).await.expect(202);
    assert_eq!(told["status"], "processing");
    let job = format!("/api/executions/{}?wait=30s", text(&told, "job_id"));
    let ended = crate::wire::send(bed.address, "GET", &job, None, None).await;
    let ended = ended.unwrap().body;
    assert_eq!(ended["output"]["artifacts_created"], 2, "{ended}");
}

async fn what_is_missing_is_said_at_once(bed: Bed) {
    let atom = bed.any_atom().await;
    prompt(&bed, "lead", "good").await;
    for (body, status, code) in [
        (ask(&json!({"id": "nowhere"}), "lead"), 404, "NOT_FOUND"),
        (ask(&atom, "nobody"), 404, "NOT_FOUND"),
        (json!({"agent_role_key": "lead"}), 422, "INVALID_INPUT"),
        (ask(&atom, " "), 422, "INVALID_INPUT"),
        (json!([]), 422, "INVALID_INPUT"),
    ] {
        for path in ["ai/analyze", "ai/analyze?wait=5s"] {
            bed.post(path, body.clone()).await.refuses(status, code);
        }
    }
    let refused = bed.post("ai/analyze?wait=soon", ask(&atom, "lead")).await;
    refused.refuses(422, "INVALID_INPUT");
    let kept = "SELECT count(*) FROM artifacts";
    assert_eq!(bed.database.number(kept).await, 0);
}

async fn failures_are_named_and_kept(bed: Bed) {
    let atom = bed.any_atom().await;
    let mut ids = Vec::new();
    for (model, code) in [
        ("broken", "MODEL_ERROR"),
        ("babbling", "INVALID_JSON"),
        ("chatty", "INVALID_JSON"),
        ("empty", "INVALID_JSON"),
        ("vague", "INVALID_JSON"),
        ("strict", "NETWORK_ERROR"),
    ] {
        prompt(&bed, model, model).await;
        let failed = bed.post("ai/analyze?wait=90s", ask(&atom, model)).await;
        let failed = failed.refuses(502, code);
        ids.push(text(&failed, "error_artifact_id"));
    }
    let of_atom = format!("errors?atom_id=atoms/{}", text(&atom, "id"));
    let listed = bed.get(&of_atom).await.expect(200);
    assert_eq!(listed["count"], 6);
    let newest = &listed["errors"][0];
    assert_eq!(
        (&newest["id"], &newest["error_code"]),
        (&json!(ids[5]), &json!("NETWORK_ERROR"))
    );
    let details = &newest["error_details"];
    assert_eq!(
        (&details["model"], &details["timeout_seconds"]),
        (&json!("strict"), &json!(60))
    );
    assert_eq!(details["raw_response"], "no such model");
    for (filter, count) in [
        ("error_code=INVALID_JSON", 4),
        ("error_code=INVALID_JSON&limit=3", 3),
        ("status=open", 6),
        ("status=closed", 0),
        ("since=2020-01-01T00:00:00%2B02:00", 6),
        ("since=2100-01-01", 0),
        ("until=2020-01-01", 0),
        ("atom_id=other", 0),
        ("", 6),
    ] {
        let listed = bed.get(&format!("errors?{filter}")).await.expect(200);
        assert_eq!(listed["count"], count, "{filter}");
    }
    // Told nobody, it is kept all the same.
    let told = bed
        .post("ai/analyze", ask(&atom, "broken"))
        .await
        .expect(202);
    let job = format!("/api/executions/{}?wait=30s", text(&told, "job_id"));
    let ended = crate::wire::send(bed.address, "GET", &job, None, None).await;
    assert_eq!(ended.unwrap().body["output"]["error"], "MODEL_ERROR");
    let listed = bed.get("errors?error_code=MODEL_ERROR").await.expect(200);
    assert_eq!(listed["count"], 2);
}

async fn a_model_that_is_late_or_away(bed: Bed) {
    let atom = bed.any_atom().await;
    prompt(&bed, "slow", "slow").await;
    // The scenario's minute is too long for a test.
    change(&bed, "timeout: 60s", "timeout: 1s").await;
    let began = std::time::Instant::now();
    let late = bed.post("ai/analyze?wait=90s", ask(&atom, "slow")).await;
    late.refuses(502, "TIMEOUT");
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let address = "{{env.DOCGRAPH_AI_URL ?? 'http://127.0.0.1:11434'}}";
    change(&bed, address, &format!("http://{closed}")).await;
    let away = bed.post("ai/analyze?wait=90s", ask(&atom, "slow")).await;
    let away = away.refuses(502, "NETWORK_ERROR");
    assert!(away["error_artifact_id"].is_string());
}

on_both! {
    what_a_model_finds_is_kept_with_the_atom
    without_waiting_the_job_is_named_and_goes_on
    what_is_missing_is_said_at_once
    failures_are_named_and_kept
    a_model_that_is_late_or_away
}

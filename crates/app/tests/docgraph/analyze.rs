//! Scenario 3.1: a model looks at an atom, and fails in every way it can.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bed::{Bed, text};
use crate::database::Database;

const ANALYZE: &str = include_str!("../../../../packs/docgraph/schemas/analyze.yaml");

pub(crate) async fn prompt(bed: &Bed, role: &str, model: &str) {
    prompt_of(bed, role, model, 1, true).await;
}

async fn prompt_of(bed: &Bed, role: &str, model: &str, version: i64, active: bool) {
    let body = json!({
        "role_key": role, "template": "As a lead: {{content}}\n{{issues_context}}", "version": version, "active": active,
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

pub(crate) fn ask(atom: &Value, role: &str) -> Value {
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
    // What was dealt with is not.
    let dealt_with =
        "UPDATE artifacts SET status = 'closed', rev = rev + 1 WHERE severity = 'high'";
    bed.database.execute(dealt_with).await;
    let again = bed.post("ai/analyze?wait=1m30s", ask(&atom, "fixer")).await;
    again.expect(200);
    assert_eq!(
        bed.model.last()["prompt"],
        "As a lead: the sky is green\n- [LOW] a word is missing"
    );
}

async fn the_highest_active_version_of_a_prompt_is_taken(bed: Bed) {
    let atom = bed.any_atom().await;
    for (model, version, active) in [
        ("good", 2, true),
        ("content", 10, true),
        ("vague", 9, true),
        ("broken", 11, false),
    ] {
        prompt_of(&bed, "lead", model, version, active).await;
    }
    prompt_of(&bed, "other", "broken", 12, true).await;
    prompt_of(&bed, "retired", "good", 1, false).await;
    let done = bed.post("ai/analyze?wait=90s", ask(&atom, "lead")).await;
    assert_eq!(done.expect(200)["artifacts_created"], 0);
    assert_eq!(bed.model.last()["model"], "content");
    let retired = bed.post("ai/analyze?wait=90s", ask(&atom, "retired")).await;
    retired.refuses(404, "NOT_FOUND");
}

/// Of many findings the newest are shown, and the fixer gets no more than a prompt can bear.
async fn there_is_an_end_to_what_is_read_of_an_atom(bed: Bed) {
    let atom = bed.any_atom().await;
    let id = text(&atom, "id");
    prompt(&bed, "fixer", "content").await;
    let mut sql = String::new();
    for number in 0..205 {
        sql.push_str(&format!(
            "INSERT INTO artifacts (id, type, content, severity, status, created_at)
             VALUES ('f{number}', 'issue', 'no. {number}', 'low', 'open', '2026-01-01T00:00:00.{number:03}Z');
             INSERT INTO semantic_links (id, artifact_id, atom_id, type) VALUES ('f{number}', 'f{number}', '{id}', 'detected_in');"
        ));
    }
    bed.database.execute(&sql).await;
    let context = bed.context(&id).await;
    assert_eq!(context["artifacts_count"], 205);
    let shown = context["artifacts"].as_array().unwrap();
    assert_eq!(shown.len(), 200);
    assert_eq!(
        (&shown[0]["content"], &shown[199]["content"]),
        (&json!("no. 5"), &json!("no. 204"))
    );
    let asked = bed.post("ai/analyze?wait=90s", ask(&atom, "fixer")).await;
    asked.expect(200);
    let prompt = text(&bed.model.last(), "prompt");
    assert_eq!(prompt.matches("- [LOW] no. ").count(), 200);
    assert!(prompt.contains("no. 0\n"), "{prompt}");
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
    for wait in [
        "soon",
        "",
        "0s",
        "91s",
        "100s",
        "999ms",
        "90001ms",
        "2m",
        "1m31s",
        "90",
        "1h",
        "5s&wait=6s",
    ] {
        let path = format!("ai/analyze?wait={wait}");
        let refused = bed.post(&path, ask(&atom, "lead")).await;
        assert_eq!(refused.status, 422, "{wait}: {}", refused.body);
        refused.refuses(422, "INVALID_INPUT");
    }
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

/// Whatever a model says, the caller is told and an artifact is kept.
async fn answers_that_no_database_holds(bed: Bed) {
    let atom = bed.any_atom().await;
    let mut count = 0;
    for (model, code) in [
        ("astral", "INVALID_JSON"),
        ("flooding", "INVALID_JSON"),
        ("garbled", "INVALID_JSON"),
        ("endless", "NETWORK_ERROR"),
        ("cut", "NETWORK_ERROR"),
    ] {
        prompt(&bed, model, model).await;
        let failed = bed.post("ai/analyze?wait=90s", ask(&atom, model)).await;
        let failed = failed.refuses(502, code);
        count += 1;
        let listed = bed.get("errors").await.expect(200);
        assert_eq!(listed["count"], count, "{model}");
        assert_eq!(listed["errors"][0]["id"], failed["error_artifact_id"]);
    }
    let raw = match &bed.database {
        Database::Postgres(_) => "error_details ->> 'raw_response'",
        Database::Sqlite(_) => "json_extract(error_details, '$.raw_response')",
    };
    let longest = format!("SELECT max(length({raw})) FROM artifacts");
    assert_eq!(
        bed.database.number(&longest).await,
        10_000,
        "the others are cut where they end"
    );
    let astral = format!("SELECT count(*) FROM artifacts WHERE length({raw}) = 5000");
    assert_eq!(
        bed.database.number(&astral).await,
        1,
        "an x and 4999 whole pairs"
    );
    // Half a character is no failure; it is left out.
    prompt(&bed, "halved", "halved").await;
    let done = bed.post("ai/analyze?wait=90s", ask(&atom, "halved")).await;
    assert_eq!(done.expect(200)["artifacts_created"], 1);
    let context = bed.context(&text(&atom, "id")).await;
    let found = context["artifacts"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&found["severity"], &found["content"]),
        (
            &json!("high"),
            &json!("half a pair, \u{1F600} and a whole one")
        )
    );
}

/// The error branch stands behind every step that works on what the model said.
async fn what_cannot_be_read_or_kept_at_all_is_a_failure_too(bed: Bed) {
    let atom = bed.any_atom().await;
    prompt(&bed, "lead", "good").await;
    for (from, to, code) in [
        ("let answer;", "throw new Error('tired');", "INVALID_JSON"),
        ("'detected_in'", "NULL", "NETWORK_ERROR"),
    ] {
        change(&bed, from, to).await;
        let failed = bed.post("ai/analyze?wait=90s", ask(&atom, "lead")).await;
        let failed = failed.refuses(502, code);
        let listed = bed.get("errors?limit=1").await.expect(200);
        assert_eq!(listed["errors"][0]["id"], failed["error_artifact_id"]);
        assert_eq!(listed["errors"][0]["error_message"], failed["message"]);
    }
    let issues = "SELECT count(*) FROM artifacts WHERE type = 'issue'";
    assert_eq!(bed.database.number(issues).await, 0);
}

async fn many_long_failures_fit_into_the_list(bed: Bed) {
    let atom = bed.any_atom().await;
    let (long, object) = match &bed.database {
        Database::Postgres(_) => ("repeat('\u{1F600}', 10000)", "jsonb_build_object"),
        Database::Sqlite(_) => (
            "replace(hex(zeroblob(5000)), '0', '\u{1F600}')",
            "json_object",
        ),
    };
    let mut sql = String::new();
    for number in 0..250 {
        sql.push_str(&format!(
            "INSERT INTO artifacts (id, type, error_code, error_message, status, error_details, created_at)
             VALUES ('e{number}', 'ai_error', 'MODEL_ERROR', {long}, 'open',
                     {object}('model', 'm', 'raw_response', {long}), '2026-01-01T00:00:00.{number:03}Z');
             INSERT INTO semantic_links (id, artifact_id, atom_id, type)
             VALUES ('e{number}', 'e{number}', '{}', 'failed_for');",
            text(&atom, "id")
        ));
    }
    bed.database.execute(&sql).await;
    for (filter, count, kept) in [
        ("", 100, 500),
        ("?limit=200", 200, 500),
        ("?limit=1000", 250, 50),
    ] {
        let listed = bed.get(&format!("errors{filter}")).await.expect(200);
        assert_eq!(listed["count"], count);
        let newest = &listed["errors"][0];
        assert_eq!(newest["id"], "e249");
        assert_eq!(newest["error_details"]["model"], "m");
        let raw = text(&newest["error_details"], "raw_response");
        assert_eq!(raw.chars().count(), kept, "{filter}");
    }
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
    // Whoever waited as long as the trigger lets them is told where to look.
    change(&bed, "wait: 90s", "wait: 1s").await;
    let later = bed.post("ai/analyze?wait=90s", ask(&atom, "slow")).await;
    let later = later.expect(202);
    let place = format!("/api/executions/{}", text(&later, "execution_id"));
    assert!(text(&later, "status_url").ends_with(&place), "{later}");
    assert_eq!(bed.api("GET", &place, None).await["status"], "running");
}

on_both! {
    what_a_model_finds_is_kept_with_the_atom
    without_waiting_the_job_is_named_and_goes_on
    what_is_missing_is_said_at_once
    the_highest_active_version_of_a_prompt_is_taken
    there_is_an_end_to_what_is_read_of_an_atom
    failures_are_named_and_kept
    answers_that_no_database_holds
    what_cannot_be_read_or_kept_at_all_is_a_failure_too
    many_long_failures_fit_into_the_list
    a_model_that_is_late_or_away
}

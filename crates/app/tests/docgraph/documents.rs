//! Filling and reading: documents, sections, atoms, prompts, the structure, baselines (scenario 3.3).

use serde_json::{Value, json};

use crate::bed::{Bed, text};
use crate::call::Call;
use crate::database::Database;

async fn everything_made_can_be_read(bed: Bed) {
    let (doc, section) = bed.section().await;
    let first = bed.atom(&section, "first").await;
    let path = format!("sections/sections%2F{section}/atoms");
    let before = bed.post(&path, json!({"content": "before", "order": 0}));
    let before = before.await.expect(201);
    let structure = bed.get(&format!("documents/docs%2F{doc}/structure")).await;
    let structure = structure.expect(200);
    assert_eq!(structure["doc_id"], json!(doc));
    assert_eq!(structure["title"], "Manual");
    assert_eq!(structure["sections"][0]["section_id"], json!(section));
    let items = structure["items"].as_array().unwrap();
    let ids: Vec<&Value> = items.iter().map(|item| &item["atom_id"]).collect();
    assert_eq!(ids, [&before["id"], &first["id"]], "by their order");
    for (item, made) in items.iter().zip([&before, &first]) {
        for name in ["atom_rev", "structure_edge_id", "structure_edge_rev"] {
            assert_eq!(item[name], made[name], "{name}");
        }
        assert!(item["section_rev"].is_string() && item["doc_rev"].is_string());
        assert_eq!(item["has_open_issues"], false);
        assert_eq!(item["proposals_count"], 0);
    }
    bed.propose(&first, "second").await;
    let structure = bed.get(&format!("documents/{doc}/structure")).await;
    assert_eq!(structure.expect(200)["items"][1]["proposals_count"], 1);
    for path in [
        "documents/nowhere/structure",
        "documents/nowhere/baselines",
        "atoms/nowhere/context",
        &format!("documents/{doc}/structure?baseline_id=nowhere"),
    ] {
        bed.get(path).await.refuses(404, "NOT_FOUND");
    }
    for (path, body) in [
        ("documents/nowhere/sections", json!({"title": "a"})),
        ("sections/nowhere/atoms", json!({"content": "a"})),
        ("documents/nowhere/baselines", json!({"version_tag": "a"})),
    ] {
        bed.post(path, body).await.refuses(404, "NOT_FOUND");
    }
}

async fn bad_input_is_422_and_leaves_nothing(bed: Bed) {
    let (doc, section) = bed.section().await;
    let atom = bed.atom(&section, "a").await;
    let (sections, atoms) = (
        format!("documents/{doc}/sections"),
        format!("sections/{section}/atoms"),
    );
    let baselines = format!("documents/{doc}/baselines");
    let proposals = format!("atoms/{}/proposals", text(&atom, "id"));
    let prompt = json!({"role_key": "r", "template": "t", "model_config": {"model": "m"}});
    let with = |name: &str, value: Value| {
        let mut prompt = prompt.clone();
        prompt[name] = value;
        ("prompts", prompt)
    };
    for (path, body) in [
        ("documents", json!({})),
        ("documents", json!({"title": " "})),
        ("documents", json!({"title": 5})),
        ("documents", json!(["title"])),
        ("documents", json!("title")),
        ("documents", json!({"title": "a\u{0}b"})),
        (sections.as_str(), json!({"title": "a", "order": "first"})),
        (sections.as_str(), json!({"title": "a", "order": 1.5})),
        (atoms.as_str(), json!({"content": null})),
        (atoms.as_str(), json!({"content": "a", "order": 1e30})),
        (baselines.as_str(), json!({"title": "a"})),
        (
            baselines.as_str(),
            json!({"version_tag": "a", "doc_id": "docs/other"}),
        ),
        (proposals.as_str(), json!({"comment": "a"})),
        (
            proposals.as_str(),
            json!({"new_content": "a", "target_active_id": "other"}),
        ),
        with("role_key", json!("")),
        with("template", json!(null)),
        with("version", json!("1")),
        with("version", json!(0)),
        with("active", json!("yes")),
        with("model_config", json!({})),
        with("model_config", json!({"model": "m", "x": "a\u{0}"})),
        with("model_config", json!({"model": "m", "x": "a\\\u{0}"})),
        with("model_config", json!({"model": "m", "\u{0}": 1})),
    ] {
        let answer = bed.post(path, body.clone()).await;
        assert_eq!(answer.status, 422, "{path} {body}: {}", answer.body);
        answer.refuses(422, "INVALID_INPUT");
    }
    bed.call(Call::new("POST", "documents"))
        .await
        .refuses(422, "INVALID_INPUT");
    let (path, large) = with("version", json!(1_000_000_000));
    let refused = bed.post(path, large).await.refuses(422, "INVALID_INPUT");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("from 1 to 999999999"), "{message}");
    for query in [
        "limit=0",
        "limit=many",
        "limit=1001",
        "since=yesterday",
        "error_code=a&error_code=b",
    ] {
        let answer = bed.get(&format!("errors?{query}")).await;
        assert_eq!(answer.status, 422, "{query}: {}", answer.body);
    }
    for (table, rows) in [
        ("docs", 1),
        ("sections", 1),
        ("atoms", 1),
        ("prompts", 0),
        ("baselines", 0),
    ] {
        let sql = format!("SELECT count(*) FROM {table}");
        assert_eq!(bed.database.number(&sql).await, rows, "{table}");
    }
    // What merely looks like a NUL is none.
    let (path, prompt) = with(
        "model_config",
        json!({"model": "m", "x": "a\\u0000", "y": "\\\\u0000"}),
    );
    bed.post(path, prompt).await.expect(201);
}

async fn one_active_prompt_per_role_and_version(bed: Bed) {
    let prompt = |version: i64, active: bool| {
        json!({"role_key": "lead", "template": "{{content}}", "version": version, "active": active,
               "model_config": {"model": "m", "temperature": 0.5, "response_format": "json"}})
    };
    let made = bed.post("prompts", prompt(1, true)).await.expect(201);
    assert!(made["id"].is_string());
    bed.post("prompts", prompt(1, true))
        .await
        .refuses(409, "CONFLICT");
    bed.post("prompts", prompt(1, false)).await.expect(201);
    bed.post("prompts", prompt(2, true)).await.expect(201);
    let kept = "SELECT count(*) FROM prompts";
    assert_eq!(bed.database.number(kept).await, 3);
}

async fn a_baseline_keeps_what_is_active(bed: Bed) {
    let (doc, section) = bed.section().await;
    let (first, second) = (
        bed.atom(&section, "first").await,
        bed.atom(&section, "second").await,
    );
    bed.propose(&first, "not yet").await;
    let path = format!("documents/{doc}/baselines");
    let body =
        json!({"doc_id": format!("docs/{doc}"), "version_tag": "v1.0", "title": "MVP Release"});
    let made = bed.post(&path, body.clone()).await.expect(200);
    assert_eq!(made["items_snapshotted"], 2);
    let frozen_at = text(&made, "frozen_at");
    assert!(frozen_at.ends_with('Z') && frozen_at.contains('T'));
    bed.post(&path, body).await.refuses(409, "CONFLICT");
    let third = bed.atom(&section, "third").await;
    let later = json!({"title": "Later"});
    let later = bed.post(&format!("documents/{doc}/sections"), later).await;
    later.expect(201);
    let baseline = text(&made, "baseline_id");
    let kept = format!("documents/{doc}/structure?baseline_id=baselines/{baseline}");
    let kept = bed.get(&kept).await.expect(200);
    let contents: Vec<&Value> = kept["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["content"])
        .collect();
    assert_eq!(contents, ["first", "second"]);
    assert_eq!(kept["items"][1]["atom_rev"], second["atom_rev"]);
    assert_eq!(kept["tag"], "v1.0");
    let titles: Vec<&Value> = kept["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["title"])
        .collect();
    assert_eq!(titles, ["One"], "not the one that came later");
    assert_eq!(kept["sections"][0]["section_id"], json!(section));
    let again = json!({"version_tag": "v1.1"});
    let again = bed.post(&path, again).await.expect(200);
    assert_eq!(again["items_snapshotted"], 3);
    let list = bed.get(&path).await.expect(200);
    let tags: Vec<&Value> = list["baselines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["tag"])
        .collect();
    assert_eq!(tags, ["v1.1", "v1.0"]);
    drop(third);
}

async fn a_baseline_goes_ten_levels_deep_and_forbids_atoms_on_documents(bed: Bed) {
    let (doc, section) = bed.section().await;
    // The document is above the first section: what hangs on section n is n + 1 levels down.
    let mut above = section;
    for level in 2..=11 {
        let made = "'2026-01-01T00:00:00.000Z'";
        let sql = format!(
            "INSERT INTO sections (id, title, created_at) VALUES ('s{level}', 'deep', {made});
             INSERT INTO structure_links (id, parent_type, parent_id, child_type, child_id, position, created_at)
             VALUES ('s{level}', 'sections', '{above}', 'sections', 's{level}', 1, {made})"
        );
        bed.database.execute(&sql).await;
        above = format!("s{level}");
    }
    bed.atom("s9", "ten levels down").await;
    bed.atom("s10", "one too deep").await;
    let path = format!("documents/{doc}/baselines");
    let made = bed.post(&path, json!({"version_tag": "deep"})).await;
    assert_eq!(made.expect(200)["items_snapshotted"], 1);
    let illegal = format!(
        "INSERT INTO atoms (id, content, status, created_at) VALUES ('loose', 'x', 'active', '2026-01-01T00:00:00.000Z');
         INSERT INTO structure_links (id, parent_type, parent_id, child_type, child_id, position, created_at)
         VALUES ('bad', 'docs', '{doc}', 'atoms', 'loose', 9, '2026-01-01T00:00:00.000Z')"
    );
    bed.database.execute(&illegal).await;
    let refused = bed.post(&path, json!({"version_tag": "bad"})).await;
    let refused = refused.refuses(409, "ILLEGAL_STRUCTURE");
    assert_eq!(refused["structure_edge_ids"], json!(["bad"]));
    let kept = "SELECT count(*) FROM baselines";
    assert_eq!(bed.database.number(kept).await, 1);
}

/// As the README says.
async fn a_document_too_large_for_an_answer_is_said(bed: Bed) {
    let (doc, section) = bed.section().await;
    bed.atom(&section, "short").await;
    let long = match &bed.database {
        Database::Postgres(_) => "repeat('x', 1200000)",
        Database::Sqlite(_) => "hex(zeroblob(600000))",
    };
    let longer = format!("UPDATE atoms SET content = {long}");
    bed.database.execute(&longer).await;
    let path = format!("documents/{doc}/structure");
    bed.get(&path).await.refuses(500, "LIMIT_EXCEEDED");
}

on_both! {
    a_document_too_large_for_an_answer_is_said
    everything_made_can_be_read
    bad_input_is_422_and_leaves_nothing
    one_active_prompt_per_role_and_version
    a_baseline_keeps_what_is_active
    a_baseline_goes_ten_levels_deep_and_forbids_atoms_on_documents
}

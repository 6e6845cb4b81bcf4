//! `pawl pack`: what it puts in place, twice, and what it says when it cannot.

use serde_json::Value;

use crate::bed::{Bed, install, pawl};

async fn installing_again_changes_nothing_and_brings_back_what_was_dropped(bed: Bed) {
    let atom = bed.any_atom().await;
    bed.database.execute("DROP TABLE created_with").await;
    let again = install(bed.folder.path(), bed.address, None).await;
    let schemas = again["schemas"].as_array().unwrap();
    assert_eq!(schemas.len(), 17);
    assert!(
        schemas.iter().all(|schema| schema["version"] == 1),
        "{again}"
    );
    let kept = bed.context(atom["id"].as_str().unwrap()).await;
    assert_eq!(kept["content"], "the text");
    let back = "SELECT count(*) FROM created_with";
    assert_eq!(bed.database.number(back).await, 0);
    let mine = "SELECT count(*) FROM pawl_applied WHERE effect_key LIKE 'pack:%'";
    assert_eq!(bed.database.number(mine).await, 0);
}

on_both! {
    installing_again_changes_nothing_and_brings_back_what_was_dropped
}

#[tokio::test]
async fn what_cannot_be_installed_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, part) in [
        (
            ["install", "nothing", "--connection", "graph"],
            "there is no pack `nothing`; there are: docgraph",
        ),
        (
            ["install", "docgraph", "--connection", "graph"],
            "add [connections.graph]",
        ),
    ] {
        let ended = pawl(folder.path())
            .arg("pack")
            .args(arguments)
            .output()
            .await
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{said}");
        assert!(said.contains(part), "{said}");
    }
    let listed = pawl(folder.path())
        .args(["pack", "list", "--json"])
        .output()
        .await
        .unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["items"][0]["name"], "docgraph");
}

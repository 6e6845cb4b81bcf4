//! `pawl pack`: what it puts in place, twice, and what it says when it cannot.

use serde_json::{Value, json};

use crate::bed::{Bed, Dev, install, pawl, settings};
use crate::database::Database;
use crate::model::Model;

async fn installing_again_changes_nothing_and_brings_back_what_was_dropped(bed: Bed) {
    let atom = bed.any_atom().await;
    bed.database.execute("DROP TABLE created_with").await;
    let again = install(bed.folder.path(), bed.address, None).await;
    let schemas = again["schemas"].as_array().unwrap();
    assert_eq!(schemas.len(), 17);
    for schema in schemas {
        assert_eq!(
            (&schema["version"], &schema["warnings"]),
            (&json!(1), &json!([]))
        );
    }
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

/// It reads one `pawl.toml`, and the running Pawl may have read another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pawl_without_the_connection_is_told_of() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let database = Database::Sqlite(here.path().join("graph.db"));
    std::fs::write(here.path().join("pawl.toml"), settings(&database)).unwrap();
    let model = Model::start().await;
    let (_pawl, address) = Dev::start(there.path(), &model).await;
    let mut command = pawl(here.path());
    command
        .args(["pack", "install", "docgraph", "--connection", "graph"])
        .args(["--json", "--url", &format!("http://{address}")]);
    let ended = command.output().await.unwrap();
    let complained = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{complained}");
    assert!(
        complained.contains("add [connections.graph] to the pawl.toml it reads"),
        "{complained}"
    );
    let said: Value = serde_json::from_slice(&ended.stdout).unwrap();
    for schema in said["schemas"].as_array().unwrap() {
        assert_eq!(schema["warnings"][0]["code"], "NO_CONNECTION", "{schema}");
    }
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

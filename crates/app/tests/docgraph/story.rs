//! What the README and the script beside it promise, done as people do it.

use std::path::Path;

use tokio::process::Command;

use crate::bed::Bed;

const PACK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packs/docgraph");

/// What it says, if it ends well.
async fn output(command: &mut Command) -> String {
    let ended = command.kill_on_drop(true).output().await.unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    let complained = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}{complained}");
    assert!(complained.is_empty(), "{complained}");
    said
}

async fn the_script_tells_its_story(bed: Bed) {
    let file = Path::new(PACK).join("story.sh");
    let written = std::fs::read_to_string(&file).unwrap();
    let calls = written.lines().filter(|line| line.starts_with("call "));
    let mut script = Command::new("sh");
    script.arg(file).arg(format!("http://{}", bed.address));
    let said = output(&mut script).await;
    let answered = said.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(answered.count(), calls.count() + 1, "{said}");
    assert!(said.ends_with("The story is told.\n"), "{said}");
}

async fn the_readme_can_be_typed(bed: Bed) {
    let readme = std::fs::read_to_string(Path::new(PACK).join("README.md")).unwrap();
    let block = readme
        .split("```sh\n")
        .find(|block| block.starts_with("base="))
        .unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let here = format!("http://{}", bed.address);
    let block = block.replace("http://127.0.0.1:8080", &here);
    let said = output(Command::new("sh").args(["-eu", "-c", &block])).await;
    for part in [
        "\"locked_by\":\"ann\"",
        "\"structure_edge_rev\":\"2\"",
        "\"tag\":\"v1.0\"",
        "\"artifacts_created\":2",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("\"error\""), "{said}");
}

on_both! {
    the_script_tells_its_story
    the_readme_can_be_typed
}

//! The log for programs: one object per line, with the fields where a search finds them.

use std::process::Stdio;

use serde_json::Value;
use tempfile::tempdir;

use crate::support::{command, ended};

#[test]
fn lines_about_an_execution_name_it() {
    let folder = tempdir().unwrap();
    let schema = "name: short\nnodes:\n- { id: start_1, type: start }\n- { id: end_1, type: end }\n\
                  edges:\n- { source: start_1, target: end_1 }\n";
    std::fs::write(folder.path().join("short.yaml"), schema).unwrap();
    let child = command(folder.path())
        .args(["run", "short.yaml", "--json", "--log-json"])
        .env("PAWL_LOG", "pawl_engine=debug")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let ended = ended(child).expect(0);
    let id = ended.json()["execution_id"].clone();
    assert!(id.is_string());
    let lines: Vec<Value> = ended
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    for message in ["created", "ended"] {
        let line = lines.iter().find(|line| line["message"] == message);
        let line = line.unwrap_or_else(|| panic!("{message}: {lines:#?}"));
        assert_eq!(line["execution_id"], id, "{line}");
        assert_eq!(line["level"], "DEBUG", "{line}");
    }
}

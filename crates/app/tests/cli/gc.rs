//! `pawl gc`, and retention in `pawl.toml`.

use crate::support::{Dev, folder};

const FLOW: &str = "name: flow
nodes:
  - { id: start_1, type: start }
  - { id: end_1, type: end }
edges:
  - { source: start_1, target: end_1 }
";

#[test]
fn what_is_past_its_retention_goes() {
    let folder = folder();
    std::fs::write(folder.path().join("flow.yaml"), FLOW).unwrap();
    std::fs::write(
        folder.path().join("pawl.toml"),
        "[retention]\nkeep = \"0s\"\n",
    )
    .unwrap();
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments);
    ask(&["schema", "save", "flow.yaml"]).expect(0);
    for _ in 0..2 {
        ask(&["executions", "start", "flow", "--wait"]).expect(0);
    }
    let preview = ask(&["gc", "--dry-run"]).expect(0).stdout;
    assert!(
        preview.contains("2 executions would be removed"),
        "{preview}"
    );
    assert!(
        preview.contains("KEPT FOR") && preview.contains("flow"),
        "{preview}"
    );
    let done = ask(&["gc"]).expect(0).stdout;
    assert!(
        done.contains("2 executions removed") && done.contains("history rows"),
        "{done}"
    );
    let again = ask(&["gc", "--json"]).expect(0).json();
    assert_eq!(
        (&again["executions"], &again["dry_run"]),
        (&0.into(), &false.into())
    );
    let list = ask(&["executions", "list", "--json"]).expect(0).json();
    assert!(list["items"].as_array().unwrap().is_empty());
}

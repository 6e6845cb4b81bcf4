//! `pawl quota`, and quotas in `pawl.toml`.

use std::path::Path;

use serde_json::json;

use crate::support::{Dev, folder, pawl};

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

const FLOW: &str = "name: flow
nodes:
  - { id: start_1, type: start }
  - { id: wait_1, type: wait_event, config: { name: go } }
  - { id: end_1, type: end }
edges:
  - { source: start_1, target: wait_1 }
  - { source: wait_1, target: end_1 }
";

#[test]
fn quotas_through_their_life() {
    let folder = folder();
    write(folder.path(), "flow.yaml", FLOW);
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments);
    ask(&["schema", "save", "flow.yaml"]).expect(0);
    let set = ask(&["quota", "set", "schema:flow", "1"]).expect(0);
    assert!(
        set.stdout
            .contains("schema:flow: at most 1, 0 in use, 0 waiting"),
        "{}",
        set.stdout
    );
    let first = ask(&["executions", "start", "flow", "--json"])
        .expect(0)
        .json();
    let second = ask(&["executions", "start", "flow", "--json"])
        .expect(0)
        .json();
    assert_eq!(second["status"], "pending");
    let listed = ask(&["quota", "list"]).expect(0).stdout;
    assert!(
        listed.contains("WAITING") && listed.contains("schema:flow"),
        "{listed}"
    );
    let as_json = ask(&["quotas", "list", "--json"]).expect(0).json();
    let quota = &as_json["items"][0];
    assert_eq!((&quota["used"], &quota["waiting"]), (&json!(1), &json!(1)));
    let why = ask(&["executions", "explain", second["id"].as_str().unwrap()])
        .expect(0)
        .stdout;
    assert!(why.contains(first["id"].as_str().unwrap()), "{why}");
    ask(&["doctor"]).expect(0);
    ask(&["quota", "set", "key:flow/A & B", "2", "--rate", "100/m"]).expect(0);
    ask(&["quota", "remove", "key:flow/A & B"]).expect(0);
    ask(&["quota", "remove", "key:flow/A & B"]).expect(1);
    let removed = ask(&["quota", "remove", "schema:flow"]).expect(0);
    assert!(
        removed.stdout.contains("removed schema:flow"),
        "{}",
        removed.stdout
    );
    for wrong in [
        &["quota", "set", "flow", "1"][..],
        &["quota", "set", "schema:flow", "-1"],
        &["quota", "set", "schema:flow", "many"],
    ] {
        assert_eq!(ask(wrong).code, 2, "{wrong:?}");
    }
    let refused = ask(&["quota", "set", "schema:flow", "1", "--rate", "fast"]);
    assert!(refused.stderr.contains("write 10/s"), "{}", refused.stderr);
}

#[test]
fn the_configuration_sets_quotas() {
    let folder = folder();
    let config =
        "[quotas.schema]\nflow = 10\n[quotas.tenant]\nacme = {limit = 5, rate = \"10/s\"}\n";
    write(folder.path(), "pawl.toml", config);
    let names = |dev: &Dev| {
        let list = dev
            .ask(folder.path(), &["quota", "list", "--json"])
            .expect(0)
            .json();
        let items = list["items"].as_array().unwrap().clone();
        let name = |item: &serde_json::Value| {
            format!("{} {} {}", item["name"], item["limit"], item["source"])
        };
        items.iter().map(name).collect::<Vec<_>>()
    };
    let dev = Dev::start(folder.path());
    assert_eq!(
        names(&dev),
        ["\"flow\" 10 \"config\"", "\"acme\" 5 \"config\""]
    );
    dev.ask(folder.path(), &["quota", "set", "tenant:by-hand", "1"])
        .expect(0);
    drop(dev);
    write(folder.path(), "pawl.toml", "[quotas.tenant]\nacme = 7\n");
    let dev = Dev::start(folder.path());
    assert_eq!(
        names(&dev),
        ["\"acme\" 7 \"config\"", "\"by-hand\" 1 \"api\""]
    );
    drop(dev);
    write(folder.path(), "pawl.toml", "[quotas.key]\nACME = 1\n");
    let refused = pawl(folder.path(), &["dev", "--data", "data"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("quotas.key.ACME"),
        "{}",
        refused.stderr
    );
}

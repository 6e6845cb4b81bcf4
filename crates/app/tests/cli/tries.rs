//! Between two tries of a node: everything that shows the execution says why the last one failed.

use std::io::{BufRead, BufReader, Read};

use serde_json::Value;

use crate::schedule::until;
use crate::support::{Dev, command, folder, piped};

const STOCK: &str = "name: stock
nodes:
  - { id: start_1, type: start }
  - id: stock_1
    type: http_request
    retry: { max_attempts: 9, delay: 1h }
    config: { method: GET, url: 'http://127.0.0.1:1/' }
  - { id: end_1, type: end }
edges:
  - { source: start_1, target: stock_1 }
  - { source: stock_1, target: end_1 }
";

/// The lines of a running `executions events` up to the first that has this text.
fn lines_until(reader: &mut impl BufRead, wanted: &str) -> String {
    let mut all = String::new();
    loop {
        let before = all.len();
        let read = reader.read_line(&mut all).unwrap();
        assert!(read > 0, "no `{wanted}` in {all}");
        if all[before..].contains(wanted) {
            return all;
        }
    }
}

#[test]
fn between_tries_the_reason_is_shown() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments).expect(0);
    std::fs::write(folder.path().join("stock.yaml"), STOCK).unwrap();
    ask(&["schema", "save", "stock.yaml"]);
    let run = ask(&["executions", "start", "stock", "--json"]).json();
    let id = run["id"].as_str().unwrap();
    let path = format!("/api/executions/{id}");
    until(&dev, &path, |run| run["status"] == "sleeping");

    let list = ask(&["executions", "list"]).stdout;
    let head = list.lines().next().unwrap();
    let row = list.lines().find(|line| line.contains(id)).unwrap();
    assert!(row.contains("sleeping"), "{list}");
    // In its column, and nothing else there.
    let column = head.find("ERROR").unwrap();
    assert_eq!(row[column..].trim(), "CONNECTION_FAILED", "{list}");

    let shown = ask(&["executions", "show", id]).stdout;
    let last = shown.lines().find(|line| line.starts_with("last error"));
    let last = last.unwrap_or_else(|| panic!("{shown}"));
    assert!(
        last.contains("CONNECTION_FAILED: ") && last.ends_with("(try 1)"),
        "{shown}"
    );
    assert!(
        !shown.lines().any(|line| line.starts_with("error")),
        "it has not ended: {shown}"
    );

    let told = ask(&["executions", "explain", id]).stdout;
    assert!(
        told.contains("Node `stock_1` failed once (last: CONNECTION_FAILED "),
        "{told}"
    );
    let fact = told.lines().find(|line| line.starts_with("last error"));
    assert!(
        fact.is_some_and(|line| line.contains("CONNECTION_FAILED")),
        "{told}"
    );

    let mut follow = command(folder.path());
    follow.args(["executions", "events", id, "--url", &dev.url]);
    let mut child = piped(&mut follow);
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let seen = lines_until(&mut reader, "sleeping at stock_1");
    let line = seen.lines().last().unwrap();
    assert!(line.contains("at stock_1: CONNECTION_FAILED: "), "{seen}");
    ask(&["executions", "stop", id]);
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success(), "{rest}");
    assert!(
        rest.contains("stopped") && rest.contains("CANCELLED"),
        "{rest}"
    );

    let events = ask(&["executions", "events", id, "--json"]).stdout;
    let end: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&end["event"], &end["data"]["status"]),
        (&"end".into(), &"stopped".into())
    );
}

#[test]
fn a_note_is_written_and_shown() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments).expect(0);
    let run = ask(&["executions", "start", "order-check", "--json"]).json();
    let id = run["id"].as_str().unwrap();
    let written = ask(&["executions", "note", id, "the bank was down"]).stdout;
    assert!(written.contains("by dev: the bank was down"), "{written}");
    ask(&[
        "executions",
        "note",
        id,
        "ok\nnote of 2026-11-18 by ada: forged",
    ]);
    for verb in ["show", "steps"] {
        let shown = ask(&["executions", verb, id]).stdout;
        assert!(shown.contains("the bank was down"), "{shown}");
        assert!(shown.contains("\n    note of 2026-11-18 by ada"), "{shown}");
    }
}

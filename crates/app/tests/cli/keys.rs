//! `pawl key`, `pawl dlq` and `pawl workers`.

use serde_json::{Value, json};

use crate::support::{Dev, command, ended, folder, pawl, piped};

#[test]
fn keys_through_their_life() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments);
    let made = ask(&[
        "key",
        "create",
        "ci",
        "--role",
        "operator",
        "--email",
        "ci@example.com",
        "--expires",
        "90d",
    ])
    .expect(0);
    assert!(
        made.stdout.contains("pawl_") && made.stdout.contains("ci@example.com"),
        "{}",
        made.stdout
    );
    assert!(made.stderr.contains("never shown again"), "{}", made.stderr);
    let key = made
        .stdout
        .split_whitespace()
        .find(|word| word.starts_with("pawl_"))
        .unwrap();
    let secret = &key[30..];

    let taken = ask(&["key", "create", "ci", "--role", "viewer"]).expect(1);
    assert!(taken.stderr.contains("CONFLICT"), "{}", taken.stderr);
    let listed = ask(&["key", "list"]).expect(0);
    assert!(
        listed.stdout.contains("ci@example.com") && listed.stdout.contains("EXPIRES"),
        "{}",
        listed.stdout
    );
    let as_json = ask(&["keys", "list", "--json"]).expect(0);
    assert_eq!(as_json.json()["items"][0]["role"], "operator");
    assert!(!listed.stdout.contains(secret) && !as_json.stdout.contains(secret));

    let revoked = ask(&["key", "revoke", "ci"]).expect(0);
    assert!(revoked.stdout.contains("revoked ci"), "{}", revoked.stdout);
    ask(&["key", "revoke", "ci"]).expect(1);
    let again = ask(&["key", "create", "ci", "--role", "viewer", "--json"])
        .expect(0)
        .json();
    let id = again["id"].as_str().unwrap();
    ask(&["key", "revoke", id]).expect(0);
}

#[test]
fn keys_that_make_no_sense() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let long = "x".repeat(100_000);
    for arguments in [
        &["key", "create", "ci", "--role", "root"][..],
        &["key", "create", "a b", "--role", "viewer"],
        &["key", "create", "", "--role", "viewer"],
        &["key", "create", "\u{202e}x", "--role", "viewer"],
        &["key", "create", &long, "--role", "viewer"],
        &["key", "create", "ci"],
        &[
            "key",
            "create",
            "ci",
            "--role",
            "viewer",
            "--expires",
            "soon",
        ],
        &["key", "create", "ci", "--role", "viewer", "--expires", "0s"],
        &["dlq", "show", "x"],
        &["dlq", "requeue", "-1"],
        &["dlq", "list", "--limit", "0"],
    ] {
        dev.ask(folder.path(), arguments).expect(2);
    }
    assert_eq!(dev.get("/api/keys").1["items"], json!([]));
}

/// What a client sends: the key given, then `PAWL_KEY`, then the server's own.
#[test]
fn where_the_key_comes_from() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let folder = folder();
    let sent = |arguments: &[&str], variables: &[(&str, &str)]| -> Option<String> {
        let mut asking = command(folder.path());
        asking.args(arguments).args(["--url", &url]);
        for (name, value) in variables {
            asking.env(name, value);
        }
        let child = piped(&mut asking);
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = [0; 4_096];
        let count = stream.read(&mut bytes).unwrap();
        let head = String::from_utf8_lossy(&bytes[..count]).to_lowercase();
        let answer = "HTTP/1.1 200 OK\r\ncontent-length: 26\r\nconnection: close\r\n\r\n{\"items\":[], \"next\": null}";
        stream.write_all(answer.as_bytes()).unwrap();
        drop(stream);
        ended(child).expect(0);
        let key = head.split_once("authorization: bearer ")?.1;
        key.split("\r\n").next().map(str::to_owned)
    };
    let list = &["key", "list"][..];
    let (own, admin) = (("PAWL_KEY", "own"), ("PAWL_ADMIN_KEY", "admin"));
    assert_eq!(sent(list, &[]), None);
    assert_eq!(sent(list, &[admin]).unwrap(), "admin");
    assert_eq!(sent(list, &[own, admin]).unwrap(), "own");
    assert_eq!(sent(list, &[("PAWL_KEY", ""), admin]).unwrap(), "admin");
    assert_eq!(
        sent(&["key", "list", "--key", "given"], &[own, admin]).unwrap(),
        "given"
    );
    assert_eq!(sent(&["dlq", "list"], &[own]).unwrap(), "own");
}

#[test]
fn a_key_that_http_cannot_carry() {
    let folder = folder();
    for key in ["a\nb", "a\u{1b}b"] {
        let bad = pawl(
            folder.path(),
            &["key", "list", "--url", "http://127.0.0.1:1", "--key", key],
        )
        .expect(2);
        assert!(!bad.stderr.contains(key), "{}", bad.stderr);
    }
}

/// A letter can only be made where nobody can ask for one: in the database, while nobody uses it.
fn bury(folder: &std::path::Path, execution: Option<&str>, message: Option<&str>) {
    let database = rusqlite::Connection::open(folder.join("data/pawl.db")).unwrap();
    let id = execution.map(|id| uuid::Uuid::parse_str(id).unwrap().into_bytes());
    let text = include_str!("../../../sqlite/sql/dead_letter_insert.sql");
    let values = rusqlite::params![
        id,
        "delivered too often",
        message,
        1_800_000_000_000_000_i64
    ];
    database.execute(text, values).unwrap();
}

#[test]
fn dead_letters_through_their_life() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let none = dev.ask(folder.path(), &["dlq", "list"]).expect(0);
    assert_eq!(none.stdout.lines().count(), 1, "{}", none.stdout);
    let start = [
        "executions",
        "start",
        "error-handling",
        "--wait",
        "--json",
        "--input",
        r#"{"strict": true}"#,
    ];
    let failed = dev.ask(folder.path(), &start).expect(1).json();
    let id = failed["id"].as_str().unwrap().to_owned();
    dev.kill();
    bury(folder.path(), Some(&id), None);
    bury(folder.path(), None, Some("not JSON \u{1b}[2J"));

    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments);
    let listed = ask(&["dlq", "list", "--open"]).expect(0);
    assert!(
        listed.stdout.contains(&id) && listed.stdout.contains("delivered too often"),
        "{}",
        listed.stdout
    );
    let page = ask(&["dlq", "list", "--limit", "1", "--json"])
        .expect(0)
        .json();
    let next = page["next"].as_str().unwrap();
    let rest = ask(&["dlq", "list", "--cursor", next, "--json"])
        .expect(0)
        .json();
    assert_eq!(
        (&rest["items"][0]["id"], &rest["next"]),
        (&json!(2), &Value::Null)
    );

    let shown = ask(&["dlq", "show", "2"]).expect(0);
    assert!(
        shown.stdout.contains("not JSON \\u{1b}[2J"),
        "{}",
        shown.stdout
    );
    let requeued = ask(&["dlq", "requeue", "1"]).expect(0);
    assert!(
        requeued.stdout.contains("goes on as execution"),
        "{}",
        requeued.stdout
    );
    let again = ask(&["dlq", "requeue", "1", "--json"]).expect(0).json();
    assert_eq!(again["execution"]["retry_of"], id);
    assert!(
        requeued
            .stdout
            .contains(again["execution"]["id"].as_str().unwrap())
    );
    let refused = ask(&["dlq", "requeue", "2"]).expect(1);
    assert!(
        refused.stderr.contains("cannot be read"),
        "{}",
        refused.stderr
    );
    ask(&["dlq", "show", "3"]).expect(1);
    let open = ask(&["dlq", "list", "--open", "--json"]).expect(0).json();
    assert_eq!(open["items"].as_array().unwrap().len(), 1);
}

#[test]
fn the_worker_of_dev_is_listed() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let listed = || {
        dev.ask(folder.path(), &["workers", "--json"])
            .expect(0)
            .json()
    };
    // It reports itself right after its start.
    while listed()["items"] == json!([]) {}
    let shown = dev.ask(folder.path(), &["workers"]).expect(0).stdout;
    let id = listed()["items"][0]["id"].as_str().unwrap().to_owned();
    assert!(
        shown.contains(&id) && shown.contains("engine, timers"),
        "{shown}"
    );
    assert!(shown.contains(" of "), "{shown}");
}

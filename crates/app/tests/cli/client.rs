//! The commands that talk to a running Pawl.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::support::{Dev, command, ended, example, folder, pawl, piped};

fn started(dev: &Dev, folder: &Path, arguments: &[&str]) -> String {
    let mut all = vec!["executions", "start", "--json"];
    all.extend(arguments);
    dev.ask(folder, &all).expect(0).json()["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn nobody_there() {
    let folder = folder();
    for arguments in [
        &["schema", "list"][..],
        &["executions", "show", "x"],
        &["doctor"],
    ] {
        let mut all = arguments.to_vec();
        all.extend(["--url", "http://127.0.0.1:1"]);
        let lonely = pawl(folder.path(), &all).expect(1);
        assert!(
            lonely.stderr.contains("`pawl dev`") && lonely.stderr.contains("--url"),
            "{}",
            lonely.stderr
        );
    }
}

/// Answers each call with an empty list, over TLS, with a certificate for 127.0.0.1 that only the tests' authority signed.
fn tls_server() -> String {
    let certificate = include_bytes!("../../../nodes/src/http/testdata/good.der");
    let key = include_bytes!("../../../nodes/src/http/testdata/good.key.der");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from(&certificate[..])],
            PrivateKeyDer::from(PrivatePkcs8KeyDer::from(&key[..])),
        )
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let session = ServerConnection::new(config.clone()).unwrap();
            let mut stream = BufReader::new(StreamOwned::new(session, socket));
            let mut line = String::new();
            while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
                line.clear();
            }
            // A client that does not trust us is gone by now.
            let _ = stream.get_mut().write_all(
                b"HTTP/1.1 200 OK\r\ncontent-length: 25\r\nconnection: close\r\n\r\n{\"items\":[],\"next\":null}\n",
            );
        }
    });
    url
}

#[test]
fn a_server_behind_tls() {
    let folder = folder();
    let url = tls_server();
    let arguments = ["schema", "list", "--json", "--url", &url];
    let refused = pawl(folder.path(), &arguments).expect(1);
    assert!(refused.stderr.contains("certificate"), "{}", refused.stderr);
    let authority = folder.path().join("ca.pem");
    let der = include_bytes!("../../../nodes/src/http/testdata/ca.der");
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let pem = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
    std::fs::write(&authority, pem).unwrap();
    let trusted = ended(piped(
        command(folder.path())
            .args(arguments)
            .env("SSL_CERT_FILE", &authority),
    ));
    assert_eq!(trusted.expect(0).json(), json!({"items": [], "next": null}));
}

#[test]
fn the_address_comes_from_the_environment() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let list = ended(piped(
        command(folder.path())
            .args(["schema", "list"])
            .env("PAWL_URL", &dev.url),
    ))
    .expect(0);
    for part in ["NAME", "order-check", "yes"] {
        assert!(list.stdout.contains(part), "{}", list.stdout);
    }
}

#[test]
fn schemas_through_their_life() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments);
    let text = std::fs::read_to_string(example("math-invoice")).unwrap();
    std::fs::write(
        folder.path().join("a.yaml"),
        text.replace("name: math-invoice", "name: mine\nexternal_id: 123"),
    )
    .unwrap();
    assert!(
        ask(&["schema", "save", "a.yaml"])
            .expect(0)
            .stdout
            .contains("saved mine as version 1")
    );
    for words in [&["schema", "list"][..], &["schema", "show", "mine"]] {
        let shown = ask(words).expect(0).stdout;
        assert!(shown.contains("123"), "{shown}");
    }
    let changed = text
        .replace("name: math-invoice", "name: mine")
        .replace("0.19", "0.20");
    std::fs::write(folder.path().join("a.yaml"), changed).unwrap();
    assert!(
        ask(&["schema", "save", "a.yaml"])
            .expect(0)
            .stdout
            .contains("saved mine as version 2")
    );
    let versions = ask(&["schema", "versions", "mine", "--json"])
        .expect(0)
        .json();
    assert_eq!(versions["items"].as_array().unwrap().len(), 2);
    assert!(
        ask(&["schema", "show", "mine"])
            .expect(0)
            .stdout
            .contains("GOES ON TO")
    );
    let exported = ask(&["schema", "export", "mine"]).expect(0);
    std::fs::write(folder.path().join("b.json"), &exported.stdout).unwrap();
    assert!(
        ask(&["schema", "save", "b.json"])
            .expect(0)
            .stdout
            .contains("version 3"),
        "another text is another version"
    );
    assert!(
        ask(&["schema", "save", "b.json"])
            .expect(0)
            .stdout
            .contains("version 3"),
        "the same text is no new version"
    );
    ask(&["schema", "deactivate", "mine"]).expect(0);
    let refused = ask(&["executions", "start", "mine"]).expect(1);
    assert!(
        refused.stderr.contains("deactivated") && refused.stderr.contains("CONFLICT"),
        "{}",
        refused.stderr
    );
    ask(&["schema", "activate", "mine"]).expect(0);
    ask(&["schema", "delete", "mine"]).expect(0);
    let gone = ask(&["schema", "show", "mine", "--json"]).expect(1).json();
    assert_eq!(gone["error"], "NOT_FOUND");
}

#[test]
fn a_draft_waits_to_be_published() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments);
    let text = std::fs::read_to_string(example("math-invoice")).unwrap();
    let text = text.replace("name: math-invoice", "name: mine");
    std::fs::write(folder.path().join("a.yaml"), &text).unwrap();
    let early = ask(&["schema", "save", "a.yaml", "--draft"]).expect(2);
    assert!(early.stderr.contains("without --draft"), "{}", early.stderr);
    ask(&["schema", "save", "a.yaml", "--note", "begun"]).expect(0);
    std::fs::write(folder.path().join("a.yaml"), text.replace("0.19", "0.20")).unwrap();
    let saved = ask(&["schema", "save", "a.yaml", "--draft", "--note", "more tax"]).expect(0);
    assert!(
        saved.stdout.contains("version 2, a draft"),
        "{}",
        saved.stdout
    );
    let shown = ask(&["schema", "show", "mine", "--json"]).expect(0).json();
    assert_eq!(
        (&shown["latest_version"], &shown["published_version"]),
        (&json!(2), &json!(1))
    );
    assert!(shown["source"].as_str().unwrap().contains("# "), "{shown}");
    let versions = ask(&["schema", "versions", "mine"]).expect(0).stdout;
    assert!(
        versions.contains("begun") && versions.contains("more tax"),
        "{versions}"
    );
    let published = ask(&["schema", "publish", "mine", "2"]).expect(0).stdout;
    assert!(
        published.contains("version 2 of mine is in use now"),
        "{published}"
    );
    let shown = ask(&["schema", "show", "mine", "--json"]).expect(0).json();
    assert_eq!(shown["published_version"], 2);
    ask(&["schema", "publish", "mine", "9"]).expect(1);
}

#[test]
fn a_bad_schema_is_refused_with_its_problems() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    std::fs::write(
        folder.path().join("bad.yaml"),
        "name: bad\nnodes:\n  - { id: a, type: nope }\nedges: []\n",
    )
    .unwrap();
    let refused = dev
        .ask(folder.path(), &["schema", "save", "bad.yaml"])
        .expect(2);
    assert!(
        refused.stderr.contains("UNKNOWN_NODE_TYPE") && refused.stderr.contains("3:"),
        "{}",
        refused.stderr
    );
}

#[test]
fn looking_at_an_execution() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments).expect(0);
    let id = started(
        &dev,
        folder.path(),
        &[
            "order-check",
            "--wait",
            "10s",
            "--input",
            r#"{"order_id": 77777}"#,
        ],
    );
    assert!(ask(&["executions", "list"]).stdout.contains(&id));
    assert!(
        ask(&[
            "executions",
            "list",
            "--status",
            "completed",
            "--schema",
            "order-check"
        ])
        .stdout
        .contains(&id)
    );
    let shown = ask(&["executions", "show", &id]).stdout;
    assert!(
        shown.contains("completed") && shown.contains("\"ship\": false"),
        "{shown}"
    );
    let steps = ask(&["executions", "steps", &id]).stdout;
    assert!(
        steps.contains("HTTP_STATUS") && steps.contains("http_request"),
        "{steps}"
    );
    assert!(ask(&["executions", "logs", &id]).stdout.contains("warn"));
    assert!(
        ask(&["executions", "context", &id])
            .stdout
            .contains("\"steps\"")
    );
    assert!(
        ask(&["executions", "context", &id, "--seq", "2"])
            .stdout
            .contains("/steps/fetch")
    );
    assert!(
        ask(&["executions", "explain", &id])
            .stdout
            .contains("It ended as completed")
    );
    let events = ask(&["executions", "events", &id, "--json"]).stdout;
    let names: Vec<Value> = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone())
        .collect();
    assert_eq!(
        names.iter().filter(|name| **name == "step").count(),
        4,
        "{events}"
    );
    assert_eq!(names.last().unwrap(), "end");
    let other = started(&dev, folder.path(), &["order-check", "--wait", "10s"]);
    let diff = ask(&["executions", "diff", &id, "--with", &other]).stdout;
    assert!(
        diff.contains("first divergence") && diff.contains("fetch"),
        "{diff}"
    );
}

#[test]
fn steering_an_execution() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments);
    let input = r#"{"amount": 900, "patience": "1h"}"#;
    let id = started(&dev, folder.path(), &["approval", "--input", input]);
    ask(&["executions", "pause", &id]).expect(0);
    ask(&["executions", "resume", &id]).expect(0);
    let stopped = ask(&["executions", "stop", &id, "--json"]).expect(0).json();
    let (_, ended) = dev.get(&format!(
        "/api/executions/{}?wait=10s",
        stopped["id"].as_str().unwrap()
    ));
    assert_eq!(ended["status"], "stopped");
    let again = ask(&["executions", "retry", &id, "--json"])
        .expect(0)
        .json();
    assert_eq!(again["retry_of"], json!(id));
    let retry = again["id"].as_str().unwrap().to_owned();
    let twice = ask(&["executions", "retry", &id]).expect(1).stderr;
    assert!(
        twice.contains(&retry) && twice.contains("--again"),
        "{twice}"
    );
    for (command, shown) in [("show", "retried as"), ("explain", "It was retried as")] {
        let told = ask(&["executions", command, &id]).expect(0).stdout;
        assert!(told.contains(shown) && told.contains(&retry), "{told}");
    }
    let unresolved = ask(&["executions", "list", "--unresolved"])
        .expect(0)
        .stdout;
    assert!(!unresolved.contains(&id), "{unresolved}");
    ask(&["executions", "retry", &id, "--again"]).expect(0);
    let late = ask(&["executions", "signal", &id, "approved"]).expect(1);
    assert!(late.stderr.contains("ended"), "{}", late.stderr);
    let done = started(&dev, folder.path(), &["math-invoice", "--wait"]);
    let forked = ask(&[
        "executions",
        "fork",
        &done,
        "--from",
        "2",
        "--var",
        "vat=\"0\"",
        "--wait",
        "--json",
    ])
    .expect(0)
    .json();
    assert_eq!(
        (&forked["output"]["tax"], &forked["forked_from"]),
        (&json!("0"), &json!(done)),
        "{forked:#}"
    );
    let forked = forked["id"].as_str().unwrap();
    let steps = ask(&["executions", "steps", forked]).expect(0).stdout;
    assert!(
        steps.contains("steps up to 2 were taken over") && steps.contains("$edit"),
        "{steps}"
    );
    let own = ask(&["executions", "steps", forked, "--no-inherited"])
        .expect(0)
        .stdout;
    assert!(!own.contains("taken over"), "{own}");
    let diff = ask(&["executions", "diff", &done, "--with", forked])
        .expect(0)
        .stdout;
    assert!(
        diff.contains("taken over") && diff.contains("/variables"),
        "{diff}"
    );
    let typo = [
        "executions",
        "fork",
        &done,
        "--from",
        "2",
        "--var",
        "vatt=1",
        "--version",
        "latest",
    ];
    let warned = ask(&typo).expect(0).stderr;
    assert!(
        warned.contains("`vatt`") && warned.contains("`vat`"),
        "{warned}"
    );
}

#[test]
fn debugging_over_http() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let id = started(&dev, folder.path(), &["math-invoice", "--debug"]);
    // The first step stops it; until then a continue is refused.
    let shown = || {
        dev.ask(folder.path(), &["executions", "show", &id, "--json"])
            .expect(0)
            .json()
    };
    while shown()["status"] != "waiting_debug" {}
    dev.ask(
        folder.path(),
        &[
            "executions",
            "continue",
            &id,
            "--expect-seq",
            "1",
            "--run",
            "--var",
            "extra=1",
        ],
    )
    .expect(0);
    let (_, ended) = dev.get(&format!("/api/executions/{id}?wait=10s"));
    assert_eq!(ended["status"], "completed", "{ended:#}");
    dev.ask(folder.path(), &["executions", "continue", &id])
        .expect(1);
}

#[test]
fn waiting_tells_by_the_exit_code() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let strict = [
        "executions",
        "start",
        "error-handling",
        "--wait",
        "--input",
        r#"{"strict": true}"#,
    ];
    let failed = dev.ask(folder.path(), &strict).expect(1);
    assert!(failed.stdout.contains("NO_LIVE_PRICE"), "{}", failed.stdout);
}

#[test]
fn the_doctor_finds_nothing() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let healthy = dev.ask(folder.path(), &["doctor"]).expect(0);
    assert!(healthy.stdout.contains("no problems"), "{}", healthy.stdout);
    assert_eq!(
        dev.ask(folder.path(), &["doctor", "--fix", "--json"])
            .expect(0)
            .json()["findings"],
        json!([])
    );
}

#[test]
fn node_types_with_and_without_a_server() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let own = pawl(folder.path(), &["node-types", "--json"])
        .expect(0)
        .json();
    let served = dev
        .ask(folder.path(), &["node-types", "--json"])
        .expect(0)
        .json();
    assert_eq!(own, served);
    let one = pawl(folder.path(), &["node-types", "http_request"]).expect(0);
    assert!(
        one.stdout.contains("url") && one.stdout.contains("example"),
        "{}",
        one.stdout
    );
    let unknown = pawl(folder.path(), &["node-types", "htp_request"]).expect(2);
    assert!(
        unknown.stderr.contains("http_request"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn a_start_says_what_of_its_input_does_not_fit() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let text = "name: order\ninput: { required: [id], properties: { id: { type: integer } } }\nnodes:\n  - { id: s, type: start }\n  - { id: e, type: end }\nedges:\n  - { source: s, target: e }\n";
    std::fs::write(folder.path().join("order.yaml"), text).unwrap();
    dev.ask(folder.path(), &["schema", "save", "order.yaml"])
        .expect(0);
    let start = ["executions", "start", "order", "--input", r#"{"id": "x"}"#];
    let refused = dev.ask(folder.path(), &start).expect(2);
    let wanted = "/id: it must be an integer, not a string (INVALID_INPUT)";
    assert!(refused.stderr.contains(wanted), "{}", refused.stderr);
}

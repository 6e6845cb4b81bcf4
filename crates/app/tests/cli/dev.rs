//! `pawl dev`: starts at once, says where to look, loses nothing.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Dev, command, ended, folder, http, pawl, piped, signal};

#[test]
fn starts_quickly_with_the_examples() {
    let folder = folder();
    let started = Instant::now();
    let dev = Dev::start(folder.path());
    let took = started.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_eq!(dev.ready["examples_loaded"], 14);
    let (status, page) = dev.get("/api/schemas");
    assert_eq!((status, page["items"].as_array().unwrap().len()), (200, 14));
}

#[test]
fn the_line_to_copy_works() {
    let folder = folder();
    let mut child = piped(command(folder.path()).args(["dev", "--listen", "127.0.0.1:0"]));
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines
        .map(Result::unwrap)
        .find(|line| line.contains("curl "))
        .unwrap();
    let quoted: Vec<&str> = line.split('\'').skip(1).step_by(2).collect();
    let (status, execution) = http("POST", quoted[0], quoted[2]);
    assert_eq!(
        (status, &execution["status"]),
        (201, &json!("completed")),
        "{execution:#}"
    );
    assert_eq!(execution["output"]["ship"], true);
    assert!(folder.path().join("pawl-data/pawl.db").exists());
    signal(&child, "TERM");
    assert_eq!(ended(child).code, 0);
}

#[test]
fn kill_9_loses_nothing() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let body = r#"{"schema": "approval", "input": {"amount": 900, "patience": "1h"}}"#;
    let (status, started) = dev.post("/api/executions", body);
    assert_eq!(status, 201, "{started:#}");
    let id = started["id"].as_str().unwrap().to_owned();
    let (_, done) = dev.post("/api/executions?wait=10s", r#"{"schema": "math-invoice"}"#);
    let (status, _) = http("DELETE", &format!("{}/api/schemas/onboarding", dev.url), "");
    assert_eq!(status, 204);
    dev.kill();

    let dev = Dev::start(folder.path());
    assert_eq!(dev.ready["examples_loaded"], 0);
    let (_, page) = dev.get("/api/schemas");
    assert_eq!(
        page["items"].as_array().unwrap().len(),
        13,
        "a deleted example stays deleted"
    );
    let (_, again) = dev.get(&format!("/api/executions/{}", done["id"].as_str().unwrap()));
    assert_eq!(again["output"], done["output"]);
    let (status, _) = dev.post(
        &format!("/api/executions/{id}/signals/approved"),
        r#"{"approved": true, "by": "x"}"#,
    );
    assert_eq!(status, 202);
    let (_, ended) = dev.get(&format!("/api/executions/{id}?wait=10s"));
    assert_eq!(
        ended["output"],
        json!({"approved": true, "by": "x"}),
        "{ended:#}"
    );
}

#[test]
fn one_folder_one_process() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let arguments = ["dev", "--data", "data", "--listen", "127.0.0.1:0"];
    let second = pawl(folder.path(), &arguments).expect(1);
    assert!(
        second.stderr.contains("in use by process"),
        "{}",
        second.stderr
    );
    assert!(
        second.stderr.contains(&dev.child.id().to_string()),
        "{}",
        second.stderr
    );
}

#[test]
fn a_taken_port_names_the_flag() {
    let folder = folder();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let refused = pawl(folder.path(), &["dev", "--listen", &address]).expect(1);
    assert!(
        refused.stderr.contains("--listen") && refused.stderr.contains(&address),
        "{}",
        refused.stderr
    );
    assert!(!folder.path().join("pawl-data").exists());
}

#[test]
fn only_this_machine() {
    let folder = folder();
    for address in [
        "0.0.0.0:0",
        "[::]:0",
        "192.168.1.1:80",
        "example.com:80",
        "127.0.0.1",
        "nonsense",
        "",
    ] {
        let refused = pawl(folder.path(), &["dev", "--listen", address]).expect(2);
        assert!(refused.stderr.contains("127.0.0.1:"), "{}", refused.stderr);
    }
}

#[test]
fn disk_problems_are_explained() {
    let folder = folder();
    std::fs::write(folder.path().join("file"), "x").unwrap();
    std::fs::create_dir(folder.path().join("odd")).unwrap();
    std::fs::write(
        folder.path().join("odd/pawl.db"),
        "this is no database at all, really not",
    )
    .unwrap();
    for (data, part) in [
        ("file", "data folder"),
        ("file/below", "data folder"),
        ("odd", "no database of Pawl"),
    ] {
        let refused = pawl(
            folder.path(),
            &["dev", "--listen", "127.0.0.1:0", "--data", data],
        )
        .expect(1);
        assert!(refused.stderr.contains(part), "{data}: {}", refused.stderr);
    }
}

#[test]
fn a_configuration_with_a_typo_is_refused() {
    let folder = folder();
    std::fs::write(folder.path().join("pawl.toml"), "[engine]\nslotz = 3\n").unwrap();
    let refused = pawl(folder.path(), &["dev", "--listen", "127.0.0.1:0"]).expect(2);
    assert!(refused.stderr.contains("slotz"), "{}", refused.stderr);
}

#[test]
fn the_environment_reaches_expressions_only_if_allowed() {
    let folder = folder();
    std::fs::write(
        folder.path().join("pawl.toml"),
        "[env]\nallow = [\"TEST_*\"]\n",
    )
    .unwrap();
    let flow = "name: f\nnodes:\n  - { id: s, type: start }\n  - { id: e, type: end, config: { output: \"{{env}}\" } }\n\
                edges:\n  - { source: s, target: e }\n";
    std::fs::write(folder.path().join("flow.yaml"), flow).unwrap();
    let child = piped(
        command(folder.path())
            .args(["run", "flow.yaml", "--json"])
            .env("TEST_A", "yes")
            .env("OTHER", "no"),
    );
    let env = ended(child).expect(0).json()["output"].clone();
    assert_eq!(
        (&env["TEST_A"], &env["OTHER"]),
        (&json!("yes"), &Value::Null)
    );
    assert!(
        env["ECHO_URL"]
            .as_str()
            .unwrap()
            .starts_with("http://127.0.0.1:")
    );
}

#[test]
fn workflows_cannot_call_the_api_that_needs_no_key() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let schema = json!({
        "name": "caller",
        "nodes": [
            {"id": "s", "type": "start"},
            {"id": "call", "type": "http_request", "config": {"url": "{{input.url}}"}},
        ],
        "edges": [{"source": "s", "target": "call"}],
    });
    assert_eq!(dev.post("/api/schemas", &schema.to_string()).0, 201);
    let call = |url: String| {
        let body = json!({"schema": "caller", "input": {"url": url}});
        dev.post("/api/executions?wait=30s", &body.to_string()).1
    };
    let own = call(format!("{}/api/schemas", dev.url));
    assert_eq!(own["error"]["code"], "FORBIDDEN_ADDRESS", "{own:#}");
    let localhost = dev.url.replace("127.0.0.1", "localhost");
    let own = call(format!("{localhost}/api/schemas"));
    assert_eq!(own["error"]["code"], "FORBIDDEN_ADDRESS", "{own:#}");
    let echo = call(format!("{}/get", dev.ready["echo_url"].as_str().unwrap()));
    assert_ne!(echo["error"]["code"], "FORBIDDEN_ADDRESS", "{echo:#}");
}

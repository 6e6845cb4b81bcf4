//! `pawl schedule`, cron triggers in `dev`, and `[timers]` in `pawl.toml`.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Dev, command, ended, folder, http, pawl, pawl_with, piped};

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

const FLOW: &str = "name: flow
nodes:
  - { id: start_1, type: start }
  - { id: end_1, type: end, config: { output: '{{input}}' } }
edges:
  - { source: start_1, target: end_1 }
";

const TICKING: &str = "name: ticking
triggers:
  - { type: cron, name: tick, cron: '* * * * * *' }
nodes:
  - { id: start_1, type: start }
  - { id: end_1, type: end }
edges:
  - { source: start_1, target: end_1 }
";

/// Asks until the answer is as wanted.
pub(crate) fn until(dev: &Dev, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let (status, body) = dev.get(path);
        if status == 200 && wanted(&body) {
            return body;
        }
        assert!(Instant::now() < deadline, "{path}: {status} {body}");
        // Nothing tells us: look again soon.
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn actions_through_their_life() {
    let folder = folder();
    write(folder.path(), "flow.yaml", FLOW);
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments);
    ask(&["schema", "save", "flow.yaml"]).expect(0);
    let put = [
        "schedule",
        "put",
        "soon",
        "--in",
        "100ms",
        "--start",
        "flow",
        "--input",
        "{\"a\": 1}",
    ];
    let said = ask(&put).expect(0).stdout;
    assert!(said.contains("soon: once, next at 20"), "{said}");
    until(&dev, "/api/scheduled-actions/soon", |action| {
        action["status"]["finished"] == "done"
    });
    let shown = ask(&["schedule", "show", "soon"]).expect(0).stdout;
    for words in [
        "start flow",
        "done",
        "1 successful",
        "no failures in a row",
        "success in",
        "by dev",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let past = ask(&["schedule", "history", "soon"]).expect(0).stdout;
    assert!(
        past.contains("OUTCOME") && past.contains("success"),
        "{past}"
    );
    let taken = ask(&put).expect(1).stderr;
    assert!(
        taken.contains("CONFLICT") && taken.contains("override"),
        "{taken}"
    );
    ask(&[&put[..], &["--override", "all"]].concat()).expect(0);

    let every = [
        "schedule",
        "put",
        "often",
        "--every",
        "1h",
        "--callback",
        "http://127.0.0.1:9/x",
        "--method",
        "put",
    ];
    let often = ask(&[
        &every[..],
        &["--header", "X-A: b", "--retries", "2", "--json"],
    ]
    .concat())
    .expect(0)
    .json();
    let call = &often["spec"]["action"]["http_callback"];
    assert_eq!(
        (&call["method"], &call["headers"]),
        (&json!("PUT"), &json!({"X-A": "b"}))
    );
    assert_eq!(
        often["spec"]["policy"]["periodic"]["retry"]["max_retries"],
        2
    );
    let cron = [
        "schedule",
        "put",
        "nine",
        "--cron",
        "0 9 * * MON-FRI",
        "--timezone",
        "Europe/Berlin",
        "--start",
        "flow",
    ];
    ask(&cron).expect(0);
    let shown = ask(&["schedule", "show", "nine"]).expect(0).stdout;
    assert!(
        shown.contains("0 9 * * MON-FRI in Europe/Berlin"),
        "{shown}"
    );
    assert!(
        shown.contains("shard") && shown.contains("next firings"),
        "{shown}"
    );
    assert_eq!(
        ask(&["schedule", "show", "nine", "--json"])
            .expect(0)
            .json()["firings"]
            .as_array()
            .unwrap()
            .len(),
        5
    );
    for (verb, words) in [
        ("pause", "until it is resumed"),
        ("resume", "waiting, next at"),
        ("run", "nine: "),
    ] {
        let said = ask(&["schedule", verb, "nine"]).expect(0).stdout;
        assert!(said.contains(words), "{said}");
    }
    let listed = ask(&["schedule", "list", "--open"]).expect(0).stdout;
    assert!(
        listed.contains("SCHEDULE") && listed.contains("every 1h"),
        "{listed}"
    );
    assert!(
        listed.contains("start nightly-report"),
        "the trigger of an example: {listed}"
    );
    let page = ask(&["schedule", "list", "--prefix", "n", "--json"])
        .expect(0)
        .json();
    assert_eq!(page["items"].as_array().unwrap().len(), 1);
    assert!(
        ask(&["schedules", "list", "--limit", "1"])
            .expect(0)
            .stdout
            .contains("more: --cursor")
    );
    let gone = ask(&["schedule", "delete", "nine"]).expect(0).stdout;
    assert!(gone.contains("deleted nine"), "{gone}");
    for words in [
        ["delete", "nine"],
        ["show", "nine"],
        ["run", "nine"],
        ["history", "nine"],
    ] {
        ask(&["schedule", words[0], words[1]]).expect(1);
    }
}

#[test]
fn files_flags_and_what_is_wrong_with_them() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments);
    let yaml = "spec:\n  policy: { cron: { expr: '@daily' } }\n  action: { start_execution: { schema: approval } }\n";
    write(folder.path(), "daily.yaml", yaml);
    ask(&["schedule", "put", "daily", "daily.yaml"]).expect(0);
    ask(&[
        "schedule",
        "put",
        "daily",
        "daily.yaml",
        "--override",
        "meta_and_spec_only",
    ])
    .expect(0);
    let stdin = ["schedule", "put", "piped", "-", "--url", &dev.url];
    let body = json!({"spec": {"policy": {"periodic": {"period": "1m"}}, "action": {"start_execution": {"schema": "approval"}}}});
    pawl_with(folder.path(), &stdin, body.to_string().as_bytes()).expect(0);
    let planned = ask(&["schedule", "preview", "daily.yaml", "--count", "3"])
        .expect(0)
        .stdout;
    assert_eq!(planned.matches("T00:00:00.000000Z").count(), 3, "{planned}");
    let line = [
        "schedule",
        "preview",
        "--cron",
        "30 2 * * *",
        "--timezone",
        "Asia/Tokyo",
        "--json",
    ];
    let times = ask(&line).expect(0).json();
    assert_eq!(times["items"].as_array().unwrap().len(), 10);
    assert!(
        times["items"][0].as_str().unwrap().contains("T17:30:00"),
        "{times}"
    );

    write(folder.path(), "broken.yaml", "spec: [");
    write(
        folder.path(),
        "wrong.yaml",
        "spec: { policy: { periodic: { period: 10ms } }, action: { start_execution: {} } }",
    );
    let at = ["schedule", "put", "x", "--at", "2099-01-01T00:00:00Z"];
    let start = ["--start", "approval"];
    for (words, says) in [
        (vec!["schedule", "put", "x"], "when?"),
        (at.to_vec(), "nothing to do"),
        (
            vec!["schedule", "put", "x", "--in", "soon", "--start", "a"],
            "--in",
        ),
        (
            vec!["schedule", "put", "x", "daily.yaml", "--start", "a"],
            "not both",
        ),
        (vec!["schedule", "put", "x", "nothing.yaml"], "nothing.yaml"),
        (vec!["schedule", "put", "x", "broken.yaml"], "broken.yaml"),
        (
            vec!["schedule", "put", "x", "wrong.yaml"],
            "/spec/policy/periodic/period: error",
        ),
        (
            vec!["schedule", "put", "x", "wrong.yaml"],
            "/spec/action/start_execution/schema: error",
        ),
        ([&at[..], &start, &["--every", "1h"]].concat(), "--every"),
        (
            [&at[..], &start, &["--callback", "http://x"]].concat(),
            "--callback",
        ),
        (
            [&at[..], &start, &["--override", "some"]].concat(),
            "UNKNOWN_CHOICE",
        ),
        ([&at[..], &start, &["--input", "text"]].concat(), "--input"),
        (vec!["schedule", "put", "a b", "daily.yaml"], "BAD_ID"),
        (vec!["schedule", "preview"], "when?"),
        (
            vec!["schedule", "preview", "--cron", "0 0 30 2 *"],
            "never fires",
        ),
        (
            vec!["schedule", "preview", "daily.yaml", "--count", "0"],
            "between 1 and 1000",
        ),
    ] {
        let refused = ask(&words);
        assert_eq!(
            refused.code, 2,
            "{words:?}: {}{}",
            refused.stdout, refused.stderr
        );
        assert!(
            refused.stderr.contains(says),
            "{words:?}: {}",
            refused.stderr
        );
    }
    let owned = ask(&["schedule", "put", "cron:x:0", "daily.yaml"])
        .expect(1)
        .stderr;
    assert!(owned.contains("trigger"), "{owned}");
    let script = pawl(folder.path(), &["completions", "bash"])
        .expect(0)
        .stdout;
    assert!(script.contains("schedule") && script.contains("preview"));
}

/// The rest of the line that begins with this name.
fn line<'a>(shown: &'a str, name: &str) -> &'a str {
    let found = shown.lines().find_map(|line| line.strip_prefix(name));
    found.unwrap_or_else(|| panic!("no {name}: {shown}")).trim()
}

/// Text and JSON tell the same.
fn passes_are_told(shown: &str, action: &Value, names: &[&str]) {
    for name in names {
        let by = format!(
            " by the pass {}",
            action[format!("{name}_by_sync")].as_str().unwrap()
        );
        let told = line(shown, name);
        assert!(told.starts_with("20") && told.ends_with(&by), "{told}");
    }
}

#[test]
fn a_waiting_action_says_who_has_it_and_since_when() {
    let folder = folder();
    let dev = Dev::start(folder.path());
    let ask = |arguments: &[&str]| dev.ask(folder.path(), arguments).expect(0);
    let show = |id: &str| {
        let json = ask(&["schedule", "show", id, "--json"]).json();
        (ask(&["schedule", "show", id]).stdout, json)
    };
    let no_service = ["--callback", "http://127.0.0.1:9/x"];
    let put = ["schedule", "put", "later", "--in", "2h"];
    ask(&[&put[..], &no_service].concat());
    // The pass that sees to this one moves the other too.
    write(
        folder.path(),
        "flaky.yaml",
        "spec:
  policy: { once: { retry: { max_retries: 3, min: 1h, scale: 1h } } }
  action: { http_callback: { url: 'http://127.0.0.1:9/x' } }
",
    );
    ask(&["schedule", "put", "flaky", "flaky.yaml"]);
    until(&dev, "/api/scheduled-actions/flaky", |action| {
        action["status"]["failed"] == 1
    });
    until(&dev, "/api/scheduled-actions/later", |action| {
        action["moved_at"].is_string()
    });

    let (shown, action) = show("later");
    let owner = format!("/{} pawl/{}", dev.child.id(), env!("CARGO_PKG_VERSION"));
    assert!(line(&shown, "owner").ends_with(&owner), "{shown}");
    assert_eq!(line(&shown, "lock guid"), action["lock_guid"], "{shown}");
    assert_eq!(line(&shown, "shard"), action["shard"].to_string());
    assert!(line(&shown, "queued").starts_with("20"), "{shown}");
    passes_are_told(&shown, &action, &["moved"]);
    assert!(!shown.contains("rescheduled"), "{shown}");

    let (shown, action) = show("flaky");
    passes_are_told(&shown, &action, &["moved", "rescheduled"]);
    assert!(line(&shown, "attempts").contains("1 failed"), "{shown}");
}

/// Saved and killed: the next start knows the trigger, and it goes on firing.
#[test]
fn triggers_outlive_a_crash() {
    let folder = folder();
    write(folder.path(), "ticking.yaml", TICKING);
    write(folder.path(), "flow.yaml", FLOW);
    let dev = Dev::start(folder.path());
    dev.ask(folder.path(), &["schema", "save", "ticking.yaml"])
        .expect(0);
    let runs = "/api/executions?schema=ticking";
    let count = |page: &Value| page["items"].as_array().unwrap().len();
    until(&dev, runs, |page| count(page) > 0);
    dev.kill();
    let dev = Dev::start(folder.path());
    let before = count(&dev.get(runs).1);
    until(&dev, runs, |page| count(page) > before);
    let page = dev.get("/api/scheduled-actions?prefix=cron:").1;
    let names = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["meta"]["schema"].as_str().unwrap());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    assert_eq!(names, ["nightly-report", "ticking"]);

    dev.ask(folder.path(), &["schema", "save", "flow.yaml"])
        .expect(0);
    let start = [
        "executions",
        "start",
        "flow",
        "--start-at",
        "2099-01-01T00:00:00Z",
        "--json",
    ];
    let later = dev.ask(folder.path(), &start).expect(0).json();
    assert_eq!(
        (&later["status"], &later["wait"]["kind"]),
        (&json!("pending"), &json!("start"))
    );
    let past = [
        "executions",
        "start",
        "flow",
        "--start-at",
        "2020-01-01T00:00:00Z",
        "--wait",
        "--json",
    ];
    assert_eq!(
        dev.ask(folder.path(), &past).expect(0).json()["status"],
        "completed"
    );
}

#[test]
fn bad_triggers_are_found_without_a_server() {
    let folder = folder();
    write(
        folder.path(),
        "bad.yaml",
        &TICKING.replace("* * * * * *", "0 0 30 2 *"),
    );
    let said = pawl(folder.path(), &["validate", "bad.yaml"]).expect(2);
    assert!(
        said.stdout.contains("NEVER_FIRES") && said.stdout.contains("bad.yaml:3"),
        "{}",
        said.stdout
    );
    write(folder.path(), "good.yaml", TICKING);
    pawl(folder.path(), &["validate", "good.yaml"]).expect(0);
}

/// Whoever wrote a secret into an action knows it; nobody who looks at it learns it.
#[test]
fn secrets_do_not_show() {
    let folder = folder();
    let mut process = command(folder.path());
    process.args(["dev", "--json", "--data", "data", "--listen", "127.0.0.1:0"]);
    process.env("PAWL_SECRET_TOKEN", "open-sesame-42");
    let mut child = piped(&mut process);
    let ready: Value = serde_json::from_str(&crate::support::first_line(&mut child)).unwrap();
    let url = ready["url"].as_str().unwrap().to_owned();
    let dev = Dev { child, url, ready };
    let action = json!({"http_callback": {
        "url": "http://127.0.0.1:1/open-sesame-42", "headers": {"Authorization": "Bearer open-sesame-42"},
    }});
    let body = json!({"spec": {"policy": {"once": {}}, "action": action}, "meta": {"note": "open-sesame-42"}});
    let path = "/api/scheduled-actions/leaky";
    let (status, made) = http("PUT", &format!("{}{path}", dev.url), &body.to_string());
    assert_eq!(status, 201, "{made}");
    let over = until(&dev, path, |action| !action["finished_at"].is_null());
    for seen in [
        made,
        over,
        dev.get("/api/scheduled-actions").1,
        dev.get(&format!("{path}/attempts")).1,
    ] {
        let text = seen.to_string();
        assert!(!text.contains("sesame"), "{text}");
    }
    let shown = dev
        .ask(folder.path(), &["schedule", "show", "leaky"])
        .expect(0)
        .stdout;
    assert!(
        shown.contains("***") && !shown.contains("sesame"),
        "{shown}"
    );
}

#[test]
fn timers_are_set_in_the_configuration() {
    let folder = folder();
    write(
        folder.path(),
        "pawl.toml",
        "[timers]\nshards = 1\nlock_free_after = \"5s\"\nallow_mock = true\n",
    );
    let dev = Dev::start(folder.path());
    let mock = json!({"spec": {"policy": {"once": {}}, "action": {"mock": {}}}});
    let (status, _) = http(
        "PUT",
        &format!("{}/api/scheduled-actions/m", dev.url),
        &mock.to_string(),
    );
    assert_eq!(status, 201);
    until(&dev, "/api/scheduled-actions/m", |action| {
        action["status"]["finished"] == "done"
    });
    dev.ask(
        folder.path(),
        &[
            "schedule", "put", "later", "--in", "1h", "--start", "approval",
        ],
    )
    .expect(0);
    assert_eq!(dev.get("/api/scheduled-actions/later").1["shard"], 0);
    drop(dev);
    for (setting, says) in [
        ("shards = 0", "timers.shards must be between 1 and 1024"),
        ("lock_free_after = \"10ms\"", "timers.lock_free_after"),
        ("shard = 3", "shard"),
    ] {
        write(
            folder.path(),
            "pawl.toml",
            &format!("[timers]\n{setting}\n"),
        );
        let refused = ended(piped(
            command(folder.path()).args(["dev", "--data", "data"]),
        ))
        .expect(2);
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
    }
}

//! Settings that cannot be are refused before anything is touched.

use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::support::{Ended, command, ended, example, folder, piped};

/// Nobody is there: whoever tries to connect fails in another way.
const NOWHERE: [&str; 4] = [
    "--database-url",
    "postgres://nobody@127.0.0.1:1/nothing",
    "--broker-url",
    "amqp://nobody@127.0.0.1:1",
];

fn run(command: &mut Command) -> Ended {
    ended(piped(command))
}

#[test]
fn a_bad_admin_key_is_refused_before_the_cluster_is_joined() {
    let folder = folder();
    let bad = [
        &b"at least sixteen characters"[..],
        b"short",
        b"",
        b"sixteen-letters-\xff",
    ];
    for key in bad {
        let mut server = command(folder.path());
        server
            .args(["server", "--listen", "127.0.0.1:0"])
            .args(NOWHERE)
            .env("PAWL_ADMIN_KEY", std::ffi::OsStr::from_bytes(key));
        let refused = run(&mut server).expect(2);
        let (said, key) = (refused.stderr, String::from_utf8_lossy(key).into_owned());
        assert!(said.contains("PAWL_ADMIN_KEY"), "{said}");
        assert!(key.is_empty() || !said.contains(&key), "{said}");
    }
}

#[test]
fn a_broker_address_that_is_none_is_refused_before_the_database_is_asked() {
    let folder = folder();
    let mut worker = command(folder.path());
    worker.args(["worker", NOWHERE[0], NOWHERE[1], "--broker-url", "http://x"]);
    let refused = run(&mut worker).expect(1);
    let said = refused.stderr;
    assert!(said.contains("no broker URL"), "{said}");
}

#[test]
fn a_metrics_address_that_is_none_is_refused_by_its_own_name() {
    let folder = folder();
    let mut worker = command(folder.path());
    worker
        .args(["worker", "--metrics-listen", "nonsense"])
        .args(NOWHERE);
    let said = run(&mut worker).expect(2).stderr;
    assert!(said.contains("--metrics-listen"), "{said}");
}

#[test]
fn a_secret_that_is_too_short_is_refused_everywhere() {
    let folder = folder();
    let example = example("order-check");
    let example = example.to_str().unwrap();
    let worker = [&["worker"], &NOWHERE[..]].concat();
    let commands: [&[&str]; 3] = [
        &["dev", "--data", "data", "--listen", "127.0.0.1:0"],
        &["run", example],
        &worker,
    ];
    for words in commands {
        let mut process = command(folder.path());
        process.args(words).env("PAWL_SECRET_PIN", "12345");
        let said = run(&mut process).expect(2).stderr;
        assert!(said.contains("`pin`") && said.contains("6 bytes"), "{said}");
        assert!(!said.contains("12345"), "{said}");
    }
    assert!(!folder.path().join("data").exists());
}

#[test]
fn sections_of_secrets_are_checked_and_one_without_a_value_is_warned_of() {
    let folder = folder();
    let flow = example("math-invoice");
    let run_with = |settings: &str| {
        std::fs::write(folder.path().join("pawl.toml"), settings).unwrap();
        let mut command = command(folder.path());
        command
            .arg("run")
            .arg(&flow)
            .env("PAWL_SECRET_KNOWN", "open-sesame");
        run(&mut command)
    };
    let said = run_with("[secrets.known]\nhost = [\"x\"]").expect(2).stderr;
    assert!(said.contains("host"), "{said}");
    let said = run_with("[secrets.KNOWN]\nhosts = []\n[secrets.missing]\nschemas = []").stderr;
    assert!(
        said.contains("PAWL_SECRET_MISSING") && !said.contains("PAWL_SECRET_KNOWN"),
        "{said}"
    );
}

#[test]
fn preparing_a_connection_to_a_store_warns() {
    let folder = folder();
    let url = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let settings = format!(
        "[connections.own]\nurl = \"{}\"\n[connections.shop]\nurl = \"{}\"",
        url("pawl.db"),
        url("shop.db")
    );
    std::fs::write(folder.path().join("pawl.toml"), settings).unwrap();
    let file = rusqlite::Connection::open(folder.path().join("pawl.db")).unwrap();
    file.execute_batch("CREATE TABLE api_keys (a); CREATE TABLE execution_state (a)")
        .unwrap();
    for (name, warns) in [("own", true), ("shop", false)] {
        let mut prepare = command(folder.path());
        let done = run(prepare.args(["connection", "prepare", name])).expect(0);
        assert_eq!(done.stderr.contains("Pawl store"), warns, "{}", done.stderr);
    }
}

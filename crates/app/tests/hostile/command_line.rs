//! What is typed. A message and an exit code, and nothing that the terminal would obey.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use pawl_kernel::text::is_unprintable;

use crate::site::blocking;
use crate::support::pawl;
use crate::tally::Tally;
use crate::world::World;

const DOOR: &str = "command line";
/// No server is there.
const AWAY: &str = "http://127.0.0.1:9";

fn inputs() -> Vec<(Vec<OsString>, &'static str)> {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let mut all: Vec<(Vec<OsString>, &'static str)> = [
        (vec!["no-such-command"], "2"),
        (vec!["--no-such-flag"], "2"),
        (vec![""], "2"),
        (vec!["run"], "2"),
        (vec!["run", ""], "2"),
        (vec!["run", "no-such-file.yaml"], "2"),
        (vec!["run", "/"], "2"),
        (vec!["run", "/dev/null"], "2"),
        (vec!["run", "flow.yaml", "--input", "{"], "2"),
        (vec!["run", "flow.yaml", "--input", "\u{1b}[2J"], "2"),
        (vec!["run", "flow.yaml", "--no-such-flag"], "2"),
        (vec!["validate"], "2"),
        (vec!["validate", "\u{1b}]0;x\u{7}.yaml"], "2"),
        (vec!["validate", "\u{202e}lmay.wolf"], "2"),
        (
            vec!["--config", "no-such.toml", "validate", "flow.yaml"],
            "2",
        ),
        (vec!["--config", "/", "validate", "flow.yaml"], "2"),
        (vec!["dev", "--listen", "0.0.0.0:0"], "2"),
        (vec!["dev", "--listen", "[::]:0"], "2"),
        (vec!["dev", "--listen", "x"], "2"),
        (vec!["dev", "--listen", "127.0.0.1:99999"], "2"),
        (
            vec!["dev", "--data", "/dev/null/x", "--listen", "127.0.0.1:0"],
            "1",
        ),
        (vec!["server"], "2"),
        (
            vec!["server", "--database-url", "x", "--broker-url", "y"],
            "1",
        ),
        (
            vec![
                "worker",
                "--roles",
                "king",
                "--database-url",
                "x",
                "--broker-url",
                "y",
            ],
            "2",
        ),
        (vec!["worker", "--slots", "-1"], "2"),
        (vec!["worker", "--slots", "999999999999999999999"], "2"),
        (
            vec!["key", "create", "", "--role", "viewer", "--url", AWAY],
            "1",
        ),
        (
            vec!["key", "create", "a", "--role", "root", "--url", AWAY],
            "1",
        ),
        (vec!["executions", "list", "--url", "not a url"], "2"),
        (
            vec!["executions", "list", "--url", "file:///etc/passwd"],
            "2",
        ),
        (vec!["executions", "list", "--url", AWAY], "1"),
        (
            vec!["executions", "list", "--limit", "-1", "--url", AWAY],
            "2",
        ),
        (vec!["executions", "show", "../../etc", "--url", AWAY], "1"),
        (vec!["completions", "no-such-shell"], "2"),
    ]
    .into_iter()
    .map(|(line, code)| (words(&line), code))
    .collect();
    let odd = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    all.push((vec!["run".into(), odd(b"\xff\xfe")], "2"));
    all.push((vec![odd(b"--\xff")], "2"));
    all.push((vec!["run".into(), "x".repeat(100_000).into()], "2"));
    all
}

pub(crate) async fn knock(world: &World, tally: &mut Tally) {
    let folder = world.folder.path().to_owned();
    let flow = "name: f\nnodes:\n  - { id: s, type: start }\nedges: []\n";
    std::fs::write(folder.join("flow.yaml"), flow).unwrap();
    for (line, expected) in inputs() {
        tally.count(DOOR);
        let (place, typed) = (folder.clone(), line.clone());
        // A panic on the way fails the test.
        let ended = blocking(move || pawl(&place, &typed)).await;
        tally.judge(
            "pawl",
            &format!("{line:?}"),
            expected,
            &ended.code.to_string(),
        );
        let said = format!("{}{}", ended.stdout, ended.stderr);
        let obeyed = said
            .chars()
            .any(|c| is_unprintable(c) && !"\n\t".contains(c));
        let says = match (said.trim().is_empty(), obeyed) {
            (true, _) => "nothing",
            (_, true) => "something that a terminal obeys",
            _ => "plain text",
        };
        tally.judge("pawl", &format!("{line:?} says"), "plain text", says);
    }
}

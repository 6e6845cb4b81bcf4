//! Files of settings. Each is refused before anything is started, with a sentence that names what is wrong.

use pawl::config::Config;

use crate::tally::Tally;
use crate::world::World;

const DOOR: &str = "configuration";

/// Sections of secrets that cannot be meant.
const SECRETS: &[(&str, &str)] = &[
    ("[secrets]\nstripe = \"sk_live_1\"", "stripe"),
    ("[secrets.a]\nvalue = \"sk_live_1\"", "value"),
    ("[secrets.a]\nhost = [\"x\"]", "unknown field `host`"),
    ("[secrets.a]\nhosts = \"x\"", "sequence"),
    ("[secrets.a]\nhosts = [\"https://x/y\"]", "is no host"),
    ("[secrets.a]\nhosts = [\"u@x\"]", "is no host"),
    ("[secrets.a]\nschemas = [\"\"]", "secrets.a.schemas"),
    (
        "[secrets.a]\nschemas = [\"a\\u001bb\"]",
        "secrets.a.schemas",
    ),
    (
        "[secrets.a]\nconnections = [\"a b\"]",
        "secrets.a.connections",
    ),
    ("[secrets.a]\nwebhook = \"yes\"", "webhook"),
    ("[secrets.a]\nwebhook = true\nhosts = []", "webhook = true"),
    ("[secrets.a]\n[secrets.A]", "two sections"),
];

/// The bytes of the file, and a word of the refusal.
fn inputs() -> Vec<(Vec<u8>, &'static str)> {
    let texts = [
        ("x", "expected"),
        ("listen = ", "value"),
        ("listen = 5", "listen"),
        ("listen = \"localhost\"", "listen"),
        ("listen = \"127.0.0.1:99999\"", "listen"),
        ("listn = \"127.0.0.1:80\"", "listn"),
        ("data = 5", "data"),
        ("data = \"a\"\ndata = \"b\"", "duplicate"),
        ("[servr]\nconnections = 1", "servr"),
        ("[server]\nconnections = 0", "server.connections"),
        ("[server]\nconnections = -1", "connections"),
        (
            "[server]\nconnections = 99999999999999999999",
            "connections",
        ),
        ("[server]\nheader_timeout = \"0s\"", "server.header_timeout"),
        ("[server]\nwrite_timeout = \"soon\"", "write_timeout"),
        ("[engine]\nslots = 0", "engine.slots"),
        ("[engine]\nlease = \"1ms\"", "engine.lease"),
        ("[engine]\nlease = 30", "lease"),
        ("[engine]\nmax_recoveries = 0", "engine.max_recoveries"),
        ("[timers]\nshards = 0", "timers.shards"),
        ("[timers]\ncatch_up_rate = 0", "timers.catch_up_rate"),
        ("[limits]\nrequest_body = \"1MB\"", "request_body"),
        ("[limits]\nexpression_time = \"0s\"", "expression_time"),
        ("[limits]\nexpression_time = \"1d\"", "expression_time"),
        ("[http]\nallow_private = \"yes\"", "allow_private"),
        ("[http]\nallow = \"10.0.0.0/8\"", "allow"),
        ("[http]\nown = [\"127.0.0.1:80\"]", "own"),
        ("[database]\nurl = 5", "url"),
        ("[broker]\nqueue = \"x\"", "queue"),
        ("[quotas.planet]\na = 1", "planet"),
        ("[quotas.tenant]\na = -1", "limit is a number"),
        (
            "[quotas.tenant]\na = {limit = 1, rate = \"fast\"}",
            "quotas.tenant.a",
        ),
        ("[connections.shop]\n", "url"),
        (
            "[connections.shop]\nurl = \"x\"\npassword = \"y\"",
            "password",
        ),
        ("[code]\nchildren = 0", "code.children"),
        ("[code]\nmemory = 1", "code.memory"),
        ("[code]\nprogram = \"/bin/sh\"", "program"),
        ("[env]\nallow = [5]", "allow"),
    ];
    let mut all: Vec<(Vec<u8>, &'static str)> = texts
        .iter()
        .chain(SECRETS)
        .map(|(text, word)| (text.as_bytes().to_vec(), *word))
        .collect();
    all.push((b"data = \"\xff\"".to_vec(), "UTF-8"));
    all.push((b"data = \"a\0b\"".to_vec(), "parse error"));
    all.push((
        format!("a = {}", "[".repeat(10_000)).into_bytes(),
        "recursion",
    ));
    all
}

pub(crate) async fn knock(world: &World, tally: &mut Tally) {
    let file = world.folder.path().join("pawl.toml");
    for (bytes, word) in inputs() {
        tally.count(DOOR);
        std::fs::write(&file, &bytes).unwrap();
        let what = String::from_utf8_lossy(&bytes).into_owned();
        let got = match Config::load(Some(&file)) {
            Ok(_) => "taken".to_owned(),
            Err(error) => match error.to_string() {
                said if said.contains(word) => "refused".to_owned(),
                said => said,
            },
        };
        tally.judge("pawl.toml", &what, "refused", &got);
    }
    std::fs::remove_file(file).unwrap();
}

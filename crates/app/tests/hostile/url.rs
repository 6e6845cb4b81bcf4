//! Addresses that a workflow calls and a stranger has chosen.

use serde_json::json;

use crate::tally::Tally;
use crate::world::{Place, World};

const DOOR: &str = "URL";

/// None of them needs a name to be looked up elsewhere.
const INPUTS: &[(&str, &str)] = &[
    ("", "failed INVALID_URL"),
    ("x", "failed INVALID_URL"),
    ("//127.0.0.1/", "failed INVALID_URL"),
    ("http://", "failed INVALID_URL"),
    ("http://?x", "failed INVALID_URL"),
    ("http://127.0.0.1:99999/", "failed INVALID_URL"),
    ("http://[::1/", "failed INVALID_URL"),
    ("http://a b/", "failed INVALID_URL"),
    ("file:///etc/passwd", "failed INVALID_URL"),
    ("ftp://127.0.0.1/", "failed INVALID_URL"),
    ("gopher://127.0.0.1:6379/_INFO", "failed INVALID_URL"),
    ("javascript:alert(1)", "failed INVALID_URL"),
    ("data:text/plain,x", "failed INVALID_URL"),
    ("unix:/run/docker.sock", "failed INVALID_URL"),
    ("http://user:password@127.0.0.1/", "failed INVALID_URL"),
    ("http://127.0.0.1\\@8.8.8.8/", "failed FORBIDDEN_ADDRESS"),
    ("http://127.0.0.1/", "failed FORBIDDEN_ADDRESS"),
    ("http://127.1/", "failed FORBIDDEN_ADDRESS"),
    ("http://2130706433/", "failed FORBIDDEN_ADDRESS"),
    ("http://0x7f000001/", "failed FORBIDDEN_ADDRESS"),
    ("http://0177.0.0.1/", "failed FORBIDDEN_ADDRESS"),
    ("http://0/", "failed FORBIDDEN_ADDRESS"),
    ("http://0.0.0.0/", "failed FORBIDDEN_ADDRESS"),
    ("http://localhost/", "failed FORBIDDEN_ADDRESS"),
    (
        "http://LOCALHOST./",
        "failed FORBIDDEN_ADDRESS|failed DNS_FAILED",
    ),
    ("http://[::1]/", "failed FORBIDDEN_ADDRESS"),
    ("http://[::]/", "failed FORBIDDEN_ADDRESS"),
    ("http://[::ffff:127.0.0.1]/", "failed FORBIDDEN_ADDRESS"),
    ("http://[64:ff9b::7f00:1]/", "failed FORBIDDEN_ADDRESS"),
    ("http://[2002:7f00:1::]/", "failed FORBIDDEN_ADDRESS"),
    ("http://①②⑦.0.0.1/", "failed FORBIDDEN_ADDRESS"),
    ("http://10.0.0.1/", "failed FORBIDDEN_ADDRESS"),
    ("http://192.168.0.1/", "failed FORBIDDEN_ADDRESS"),
    ("http://172.16.0.1/", "failed FORBIDDEN_ADDRESS"),
    ("http://100.64.0.1/", "failed FORBIDDEN_ADDRESS"),
    (
        "http://169.254.169.254/latest/meta-data/",
        "failed FORBIDDEN_ADDRESS",
    ),
    (
        "http://metadata.google.internal/",
        "failed FORBIDDEN_ADDRESS",
    ),
    ("http://[fd00:ec2::254]/", "failed FORBIDDEN_ADDRESS"),
    ("http://224.0.0.1/", "failed FORBIDDEN_ADDRESS"),
    ("http://255.255.255.255/", "failed FORBIDDEN_ADDRESS"),
    (
        "http://127.0.0.1\r\nX-Evil: 1/",
        "failed EXPRESSION_ERROR|failed INVALID_URL",
    ),
];

pub(crate) async fn knock(world: &World, tally: &mut Tally) {
    for (address, expected) in INPUTS {
        tally.count(DOOR);
        let act = async |place: &Place| {
            let call = |schema: &mut serde_json::Value| {
                schema["nodes"][1]["type"] = json!("http_request");
                schema["nodes"][1]["config"] = json!({"url": "{{input.url}}"});
            };
            place.run(call, json!({"url": address})).await
        };
        world.everywhere(tally, address, expected, act).await;
    }
}

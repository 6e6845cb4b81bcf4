//! Messages of other programs on the same broker. Each becomes a dead letter with a reason; none stops a worker.

use serde_json::Value;

use crate::broker::WORK;
use crate::client::Request;
use crate::site::eventually;
use crate::tally::Tally;
use crate::world::{Place, World};

const DOOR: &str = "message";

/// One name twice: two readers would see two messages. What stands behind the name of the schema, and a word of the reason.
const DOUBLED: &[(&str, &str)] = &[
    (r#""context":{"a":1,"a":2}"#, "the key \"a\" comes twice"),
    (
        r#""context":{"x":[{"a":1,"\u0061":2}]}"#,
        "the key \"a\" comes twice",
    ),
    (
        r#""context":{},"context":{"a":1}"#,
        "the key \"context\" comes twice",
    ),
    (r#""action":"resume""#, "duplicate field `action`"),
];

fn doubled() -> impl Iterator<Item = (Vec<u8>, &'static str)> {
    let message = |(number, (more, word)): (usize, &(&str, &'static str))| {
        let text = format!(
            "{{\"execution_id\":\"b{number}\",\"action\":\"start\",\"schema_id\":\"known\",{more}}}"
        );
        (text.into_bytes(), *word)
    };
    DOUBLED.iter().enumerate().map(message)
}

/// The message, and a word of the reason.
fn inputs() -> Vec<(Vec<u8>, &'static str)> {
    let texts = [
        ("", "no message"),
        (" ", "no message"),
        ("x", "no message"),
        ("{", "no message"),
        ("[]", "no message"),
        ("null", "no message"),
        ("\"start\"", "no message"),
        ("5", "no message"),
        ("{}", "no execution_id"),
        ("{\"action\":\"start\"}", "`execution_id` is missing"),
        ("{\"execution_id\":\"a\"}", "no UUID"),
        (
            "{\"execution_id\":5,\"schema_id\":\"known\",\"action\":\"start\"}",
            "`execution_id` must be a text",
        ),
        (
            "{\"execution_id\":\"\",\"schema_id\":\"known\",\"action\":\"start\"}",
            "`execution_id` must have",
        ),
        (
            "{\"execution_id\":\"a1\",\"schema_id\":5,\"action\":\"start\"}",
            "`external_id` 5",
        ),
        (
            "{\"execution_id\":\"a2\",\"schema_id\":\"no-such\",\"action\":\"start\"}",
            "no schema `no-such`",
        ),
        (
            "{\"execution_id\":\"a3\",\"schema_id\":\"known\",\"action\":\"explode\"}",
            "is unknown",
        ),
        (
            "{\"execution_id\":\"a4\",\"schema_id\":\"known\",\"action\":5}",
            "invalid type",
        ),
        (
            "{\"execution_id\":\"a5\",\"schema_id\":\"known\",\"action\":\"start\",\"context\":[]}",
            "`context` must be an object",
        ),
        (
            "{\"execution_id\":\"a6\",\"schema_id\":\"known\",\"action\":\"start\",\"context\":\"x\"}",
            "`context` must be an object",
        ),
        (
            "{\"execution_id\":\"a7\",\"schema_id\":\"known\",\"action\":\"start\",\"context\":{\"a\":1e400}}",
            "number out of range",
        ),
        (
            "{\"execution_id\":\"a8\",\"schema_id\":\"../../x\",\"action\":\"start\"}",
            "no schema",
        ),
        ("\u{feff}{\"execution_id\":\"a9\"}", "no message"),
    ];
    let mut all: Vec<(Vec<u8>, &'static str)> = texts
        .map(|(text, word)| (text.as_bytes().to_vec(), word))
        .into();
    all.extend(doubled());
    all.push((vec![0xff; 64], "no message"));
    all.push(("[".repeat(100_000).into_bytes(), "nested deeper"));
    // As large as may be.
    all.push((vec![b' '; 1 << 20], "no message"));
    let long = "k".repeat(5_000);
    let long =
        format!("{{\"execution_id\":\"{long}\",\"schema_id\":\"known\",\"action\":\"start\"}}");
    all.push((long.into_bytes(), "`execution_id` must have"));
    all
}

async fn letters(place: &Place) -> Vec<Value> {
    let answer = place
        .send(Request::new("GET", "/api/dead-letters?limit=500"))
        .await;
    answer.json()["items"].as_array().unwrap().clone()
}

pub(crate) async fn knock(world: &World, tally: &mut Tally) {
    let cluster = &world.places[1];
    for (body, word) in inputs() {
        tally.count(DOOR);
        let what = String::from_utf8_lossy(&body).into_owned();
        let known = letters(cluster).await.len();
        world.stranger.publish(WORK, &body).await;
        let reason = eventually("there is one letter more", async || {
            let all = letters(cluster).await;
            let newest = all.iter().max_by_key(|letter| letter["id"].as_u64())?;
            let reason = newest["reason"].as_str().unwrap_or_default();
            (all.len() > known).then(|| reason.to_owned())
        })
        .await;
        let got = match reason.contains(word) {
            true => "a letter".to_owned(),
            false => format!("a letter that says: {reason}"),
        };
        tally.judge(cluster.name, &what, "a letter", &got);
        cluster.is_well(tally, &what).await;
    }
}

//! Scheduled actions: written, fired, looked at, refused.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Answer, Request};
use crate::hook::Hook;
use crate::server::{Server, linear};
use crate::waiting::eventually;

const ACTIONS: &str = "/api/scheduled-actions";

pub(crate) fn path(id: &str) -> String {
    format!("{ACTIONS}/{id}")
}

impl Server {
    /// Looks at an action until it is as wanted.
    pub(crate) async fn action_until(&self, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let what = format!("{id} as wanted");
        eventually(&what, async || {
            let action = self.get(&path(id)).await.expect(200);
            wanted(&action).then_some(action)
        })
        .await
    }
}

pub(crate) fn once(action: Value) -> Value {
    json!({"spec": {"policy": {"once": {}}, "action": action}})
}

pub(crate) fn call(url: &str) -> Value {
    json!({"http_callback": {"url": url, "body": {"hello": "world"}}})
}

/// One that is not due while the test lasts.
pub(crate) fn far(action: Value) -> Value {
    let mut body = once(action);
    body["spec"]["start_at"] = json!("2099-01-01T00:00:00Z");
    body
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_is_made_once_under_its_key() {
    let (server, hook) = (Server::start().await, Hook::start().await);
    let one = path("invoice-17");
    let mut body = once(call(&hook.url));
    body["meta"] = json!({"team": "billing", "created_at": "nonsense"});
    let made = server.put(&one, body.clone()).await;
    let action = made.expect(201);
    assert_eq!(made.header("location"), Some(one.as_str()));
    assert_eq!(action["meta"]["team"], "billing");
    assert_eq!(action["meta"]["written_by"], "dev");
    assert_ne!(action["meta"]["created_at"], "nonsense");
    assert_eq!(action["spec"]["action"]["http_callback"]["method"], "POST");
    let first = hook.until(1).await[0].clone();
    assert_eq!(first.body, json!({"hello": "world"}));
    let done = server
        .action_until("invoice-17", |action| !action["finished_at"].is_null())
        .await;
    let status = &done["status"];
    assert_eq!(
        (&status["finished"], &done["shard"]),
        (&json!("done"), &Value::Null)
    );
    assert_eq!(
        (&status["successful"], &status["failed"]),
        (&json!(1), &json!(0))
    );
    let planned = status["last"]["planned_at"].as_str().unwrap();
    assert_eq!(
        first.key,
        format!("invoice-17:{}:{planned}", action["generation"])
    );
    let firings = server.get(&format!("{one}/firings")).await.expect(200);
    assert_eq!(firings, json!({"items": [], "next": null}));
    for verb in ["run", "pause", "resume"] {
        let refused = server.command(&format!("{one}/{verb}")).await;
        let refused = refused.refuses(409, "CONFLICT");
        assert!(
            refused["message"]
                .as_str()
                .unwrap()
                .contains("override `all`")
        );
    }

    let taken = server
        .put(&one, body.clone())
        .await
        .refuses(409, "CONFLICT");
    assert!(
        taken["message"]
            .as_str()
            .unwrap()
            .contains("meta_and_spec_only")
    );
    body["override"] = json!("all");
    let again = server.put(&one, body).await.expect(200);
    assert_ne!(again["generation"], action["generation"]);
    assert_ne!(hook.until(2).await[1].key, first.key);
    server
        .action_until("invoice-17", |action| !action["finished_at"].is_null())
        .await;
    let history = server.get(&format!("{one}/attempts")).await.expect(200);
    assert_eq!(history["items"].as_array().unwrap().len(), 2);

    server.delete(&one).await.expect(204);
    server.delete(&one).await.refuses(404, "NOT_FOUND");
    for what in ["", "/firings", "/attempts"] {
        server
            .get(&format!("{one}{what}"))
            .await
            .refuses(404, "NOT_FOUND");
    }
    for verb in ["run", "pause", "resume"] {
        server
            .command(&format!("{one}/{verb}"))
            .await
            .refuses(404, "NOT_FOUND");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_is_started_once() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let start = json!({"start_execution": {"schema": "orders", "input": {"n": 7}}});
    server.put(&path("later"), once(start)).await.expect(201);
    let done = server
        .action_until("later", |action| action["status"]["successful"] == 1)
        .await;
    let planned = done["status"]["last"]["planned_at"].as_str().unwrap();
    let key = format!("schedule:later:{}:{planned}", done["generation"]);
    let runs = server.get("/api/executions?text=later").await.expect(200);
    let runs = runs["items"].as_array().unwrap();
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!(runs[0]["idempotency_key"], key);
    assert_eq!(runs[0]["created_by"], "schedule:later");
    assert_eq!(runs[0]["labels"], json!({"scheduled_action": "later"}));
    let id = runs[0]["id"].as_str().unwrap();
    let run = server.get(&format!("/api/executions/{id}?wait=30s")).await;
    assert_eq!(run.expect(200)["output"], 7);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_tried_again_and_remembered() {
    let (server, hook) = (Server::start().await, Hook::start().await);
    let mut body = once(call(&format!("{}/fail/2", hook.url)));
    let retry = json!({"max_retries": 5, "min": "10ms", "scale": "10ms"});
    body["spec"]["policy"]["once"]["retry"] = retry;
    server.put(&path("flaky"), body).await.expect(201);
    let done = server
        .action_until("flaky", |action| action["status"]["finished"] == "done")
        .await;
    assert_eq!(
        (
            &done["status"]["failed"],
            &done["status"]["consecutive_failures"]
        ),
        (&json!(2), &json!(0))
    );
    let calls = hook.until(3).await;
    assert!(
        calls.iter().all(|call| call.key == calls[0].key),
        "{calls:?}"
    );
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = server
            .get(&format!("{}/attempts?limit=1{cursor}", path("flaky")))
            .await;
        let page = page.expect(200);
        seen.extend(page["items"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let told: Vec<_> = seen
        .iter()
        .map(|one| {
            (
                one["number"].as_u64().unwrap(),
                one["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [(3, "success"), (2, "failed"), (1, "failed")]);
    assert_eq!(
        (&seen[0]["error"], &seen[1]["error"]["code"]),
        (&Value::Null, &json!("HTTP_STATUS"))
    );
    let forged = format!("{}/attempts?cursor=aDp4", path("flaky"));
    server.get(&forged).await.refuses(400, "INVALID_CURSOR");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_paused_resumed_and_run_by_hand() {
    let (server, hook) = (Server::start().await, Hook::start().await);
    let yaml = format!(
        "spec:\n  policy: {{ cron: {{ expr: '0 9 * * MON-FRI', timezone: Europe/Berlin }} }}\n  action:\n    \
         http_callback: {{ method: PUT, url: '{}' }}\n",
        hook.url
    );
    let one = path("nine");
    let put = |text: &str| Request::new("PUT", &one).body("application/yaml", text);
    let action = server.send(put(&yaml)).await.expect(201);
    assert_eq!(action["spec"]["policy"]["cron"]["overlap"], "skip");
    let shown = server.get(&one).await.expect(200);
    assert!(shown["shard"].is_u64(), "{shown}");
    // Host, process and version of its holder.
    let owner = shown["owner"].as_str().unwrap();
    let version = format!("/{} pawl/{}", std::process::id(), env!("CARGO_PKG_VERSION"));
    assert!(
        owner.ends_with(&version) && owner.len() > version.len(),
        "{owner}"
    );
    for guid in ["guid", "lock_guid"] {
        shown[guid].as_str().unwrap().parse::<uuid::Uuid>().unwrap();
    }
    assert!(shown["queued_at"].is_string(), "{shown}");
    assert_eq!(shown["rescheduled_at"], Value::Null);
    let planned = server
        .get(&format!("{one}/firings?count=3"))
        .await
        .expect(200);
    let planned = planned["items"].as_array().unwrap().clone();
    assert_eq!((planned.len(), &planned[0]), (3, &shown["scheduled_at"]));
    let preview = Request::new("POST", &format!("{ACTIONS}/preview"))
        .body("application/yaml", format!("{yaml}count: 3\n"));
    assert_eq!(
        server.send(preview).await.expect(200)["items"],
        json!(planned)
    );

    let paused = server.command(&format!("{one}/pause")).await.expect(200);
    assert!(paused["status"]["paused_at"].is_string() && paused["scheduled_at"].is_null());
    server.command(&format!("{one}/pause")).await.expect(200);
    let nowhere = server.get(&one).await.expect(200);
    for field in [
        "shard",
        "owner",
        "lock_guid",
        "queued_at",
        "moved_at",
        "moved_by_sync",
    ] {
        assert_eq!(nowhere[field], Value::Null, "{nowhere}");
    }
    server
        .command(&format!("{one}/run"))
        .await
        .refuses(409, "CONFLICT");
    let resumed = server.command(&format!("{one}/resume")).await.expect(200);
    assert_eq!(resumed["scheduled_at"], planned[0]);
    server
        .command(&format!("{one}/resume"))
        .await
        .refuses(409, "CONFLICT");
    server
        .post(&format!("{one}/run"), json!({"now": true}))
        .await
        .refuses(422, "INVALID_REQUEST");
    server.command(&format!("{one}/run")).await.expect(200);
    hook.until(1).await;
    let after = server
        .action_until("nine", |action| action["status"]["successful"] == 1)
        .await;
    assert_eq!(
        after["scheduled_at"], planned[0],
        "the schedule goes on as planned"
    );

    let kept = yaml.replace("9 * *", "10 * *") + "override: meta_and_spec_only\n";
    let kept = server.send(put(&kept)).await.expect(200);
    assert_eq!(kept["status"]["successful"], 1);
    assert_eq!(kept["spec"]["policy"]["cron"]["expr"], "0 10 * * MON-FRI");
    assert_ne!(
        kept["scheduled_at"], planned[0],
        "another line, another time"
    );
    let ten = server
        .get(&format!("{one}/firings?count=1"))
        .await
        .expect(200);
    assert_eq!(ten["items"][0], kept["scheduled_at"]);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_narrowed_and_paged() {
    let (server, hook) = (Server::start().await, Hook::start().await);
    for id in ["a-1", "a-2", "a-3", "b.1", "b@2"] {
        server
            .put(&path(id), far(call(&hook.url)))
            .await
            .expect(201);
    }
    server
        .put(&path("a-0"), once(call(&hook.url)))
        .await
        .expect(201);
    server
        .action_until("a-0", |action| action["status"]["finished"] == "done")
        .await;
    let ids = async |query: &str| -> Vec<String> {
        let page = server.get(&format!("{ACTIONS}?{query}")).await.expect(200);
        let items = page["items"].as_array().unwrap();
        items
            .iter()
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids("").await, ["a-0", "a-1", "a-2", "a-3", "b.1", "b@2"]);
    assert_eq!(ids("prefix=a").await, ["a-0", "a-1", "a-2", "a-3"]);
    assert_eq!(ids("prefix=b%40").await, ["b@2"]);
    assert_eq!(ids("finished=true").await, ["a-0"]);
    assert_eq!(ids("finished=false&prefix=a-").await, ["a-1", "a-2", "a-3"]);
    assert_eq!(ids("due_before=2098-01-01T00:00:00Z").await, [""; 0]);
    assert_eq!(
        ids("due_before=2099-06-01T00:00:00Z&limit=2").await,
        ["a-1", "a-2"]
    );
    let first = server
        .get(&format!("{ACTIONS}?limit=4&prefix=a"))
        .await
        .expect(200);
    assert_eq!(first["next"], Value::Null, "{first}");
    let first = server
        .get(&format!("{ACTIONS}?limit=3&finished=false"))
        .await
        .expect(200);
    let cursor = first["next"].as_str().unwrap();
    assert_eq!(
        ids(&format!("limit=3&finished=false&cursor={cursor}")).await,
        ["b.1", "b@2"]
    );
    for (query, code) in [
        ("finished=perhaps", "INVALID_QUERY"),
        ("due_before=tomorrow", "INVALID_QUERY"),
        ("limit=0", "INVALID_QUERY"),
        ("prefix=%00", "INVALID_QUERY"),
        ("prefix=a%25", "INVALID_QUERY"),
        ("state=open", "INVALID_QUERY"),
        ("cursor=nonsense", "INVALID_CURSOR"),
    ] {
        server
            .get(&format!("{ACTIONS}?{query}"))
            .await
            .refuses(400, code);
    }
    for count in ["0", "1001", "-1", "many"] {
        let path = format!("{}/firings?count={count}", path("a-1"));
        server.get(&path).await.refuses(400, "INVALID_QUERY");
    }
    server.close().await;
}

/// The code and place of every problem.
fn problems(answer: &Answer) -> Vec<String> {
    let refused = answer.refuses(422, "INVALID_ACTION");
    let found = refused["details"].as_array().unwrap();
    let told = |one: &Value| {
        assert!(
            one["message"].is_string() && one["severity"] == "error",
            "{one}"
        );
        format!(
            "{} {}",
            one["code"].as_str().unwrap(),
            one["pointer"].as_str().unwrap()
        )
    };
    found.iter().map(told).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused_with_all_its_problems() {
    let server = Server::start().await;
    let start = json!({"start_execution": {"schema": "x"}});
    let with = |policy: Value| json!({"spec": {"policy": policy, "action": start}});
    let timed = |start_at: &str, deadline: &str| {
        let mut body = once(start.clone());
        body["spec"]["start_at"] = json!(start_at);
        body["spec"]["deadline"] = json!(deadline);
        body
    };
    let mut unknown = once(start.clone());
    unknown["override"] = json!("some");
    unknown["when"] = json!("now");
    let cases = [
        (
            with(json!({"periodic": {"period": "500ms"}})),
            &["OUT_OF_RANGE /spec/policy/periodic/period"][..],
        ),
        (
            with(json!({"cron": {"expr": "0 0 30 2 *"}})),
            &["NEVER_FIRES /spec/policy/cron/expr"],
        ),
        (
            with(json!({"cron": {"expr": "often", "timezone": "Mars/X", "overlap": "maybe"}})),
            &[
                "BAD_CRON /spec/policy/cron/expr",
                "BAD_TIME_ZONE /spec/policy/cron/timezone",
                "UNKNOWN_CHOICE /spec/policy/cron/overlap",
            ],
        ),
        (
            timed("2020-01-01T00:00:00Z", "2019-01-01T00:00:00Z"),
            &[
                "DEADLINE_BEFORE_START /spec/deadline",
                "START_TOO_OLD /spec/start_at",
            ],
        ),
        (
            timed("2999-01-01T00:00:00Z", "soon"),
            &["BAD_TIME /spec/deadline", "OUT_OF_RANGE /spec/start_at"],
        ),
        (
            unknown,
            &["UNKNOWN_CHOICE /override", "UNKNOWN_FIELD /when"],
        ),
        (
            with(json!({"once": {}, "periodic": {"period": "1s"}})),
            &["NOT_ONE_CHOICE /spec/policy"],
        ),
        (
            once(json!({"mock": {}})),
            &["UNKNOWN_CHOICE /spec/action/mock"],
        ),
        (
            once(call("https://ada:secret@example.com/a@b")),
            &["BAD_URL /spec/action/http_callback/url"],
        ),
        (
            once(call("ftp://x")),
            &["BAD_URL /spec/action/http_callback/url"],
        ),
        (json!({}), &["MISSING_FIELD /spec"]),
        (
            json!({"spec": {}}),
            &["MISSING_FIELD /spec/action", "MISSING_FIELD /spec/policy"],
        ),
        (json!([]), &["WRONG_TYPE "]),
        (
            json!({"spec": 5, "meta": []}),
            &["WRONG_TYPE /meta", "WRONG_TYPE /spec"],
        ),
    ];
    for (body, expected) in cases {
        let mut found = problems(&server.put(&path("bad"), body.clone()).await);
        found.sort();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{body}");
        if body.get("override").is_none() {
            let mut previewed = problems(&server.post(&format!("{ACTIONS}/preview"), body).await);
            previewed.sort();
            assert!(previewed == expected, "{previewed:?}");
        }
    }
    assert_eq!(server.get(ACTIONS).await.expect(200)["items"], json!([]));
    for count in [json!(0), json!(1_001), json!("3"), json!(-1)] {
        let mut body = once(start.clone());
        body["count"] = count;
        server
            .post(&format!("{ACTIONS}/preview"), body)
            .await
            .refuses(422, "INVALID_REQUEST");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_and_bodies_that_cannot_be() {
    let server = Server::start().await;
    let good = far(json!({"start_execution": {"schema": "x"}}));
    let long = "x".repeat(201);
    for id in ["a%20b", "a:b", "a%2Fb", "%00", "%C3%A9", "a%0Ab", &long] {
        let refused = server.put(&path(id), good.clone()).await;
        assert_eq!(problems(&refused), ["BAD_ID /id"], "{id}");
        server.get(&path(id)).await.refuses(404, "NOT_FOUND");
        server.delete(&path(id)).await.refuses(404, "NOT_FOUND");
        let mut body = good.clone();
        body["override"] = json!("all");
        let refused = server.put(&path(id), body).await;
        assert_eq!(problems(&refused), ["BAD_ID /id"], "{id}");
    }
    let refused = server.put(&path("preview"), good.clone()).await;
    refused.refuses(405, "METHOD_NOT_ALLOWED");
    let mut bad = good.clone();
    bad["spec"]["action"] = json!({"http_callback": {"url": "ftp://x"}});
    let refused = server.put(&path("a%20b"), bad).await;
    let both = ["BAD_ID /id", "BAD_URL /spec/action/http_callback/url"];
    assert_eq!(problems(&refused), both, "all at once");
    let owned = server
        .put(&path("cron:x:0"), good.clone())
        .await
        .refuses(409, "CONFLICT");
    assert!(owned["message"].as_str().unwrap().contains("trigger"));
    server
        .delete(&path("cron:x:0"))
        .await
        .refuses(409, "CONFLICT");

    let send = async |kind: &str, body: String| {
        server
            .send(Request::new("PUT", &path("odd")).body(kind, body))
            .await
    };
    send("text/plain", good.to_string())
        .await
        .refuses(415, "UNSUPPORTED_MEDIA_TYPE");
    send("application/json", "{".into())
        .await
        .refuses(400, "INVALID_JSON");
    send("application/json", String::new())
        .await
        .refuses(400, "INVALID_JSON");
    let deep = format!("{{\"spec\": {}1{}}}", "[".repeat(70), "]".repeat(70));
    send("application/json", deep)
        .await
        .refuses(400, "INVALID_JSON");
    send("application/json", "[".repeat(100_000))
        .await
        .refuses(400, "INVALID_JSON");
    send("application/yaml", "spec: [".into())
        .await
        .refuses(422, "INVALID_ACTION");
    send("application/yaml", "a: &a [*a]".into())
        .await
        .refuses(422, "INVALID_ACTION");
    let mut large = good.clone();
    large["spec"]["action"]["start_execution"]["input"] = json!("x".repeat(300_000));
    assert_eq!(
        problems(&send("application/json", large.to_string()).await),
        ["TOO_LARGE /spec"]
    );
    large["spec"]["action"]["start_execution"]["input"] = json!("x".repeat(1_100_000));
    send("application/json", large.to_string())
        .await
        .refuses(413, "LIMIT_EXCEEDED");
    assert_eq!(server.get(ACTIONS).await.expect(200)["items"], json!([]));
    server.close().await;
}

/// Named by nobody, the connection of a message is the cluster's own broker; there is none here.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_a_broker_says_what_is_missing() {
    let server = Server::start().await;
    let publish = json!({"rabbitmq_publish": {"routing_key": "inbox", "message": "hello"}});
    server.put(&path("letter"), once(publish)).await.expect(201);
    let over = server
        .action_until("letter", |action| !action["finished_at"].is_null())
        .await;
    let error = &over["status"]["last"]["error"];
    assert_eq!(
        (&over["status"]["finished"], &error["code"]),
        (&json!("out_of_retries"), &json!("NO_CONNECTION"))
    );
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("no `connection` is named"),
        "{error}"
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_was_put_off_begins_in_time() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let at = server
        .runtime()
        .clock
        .now()
        .plus(Duration::from_millis(400));
    let body = json!({"schema": "orders", "start_at": at.to_string(), "input": {"n": 3}});
    let run = server.run(body).await;
    assert_eq!(
        (&run["status"], &run["started_at"]),
        (&json!("pending"), &Value::Null)
    );
    let path = format!("/api/executions/{}?wait=30s", run["id"].as_str().unwrap());
    let ended = server.get(&path).await.expect(200);
    assert_eq!(
        (&ended["status"], &ended["output"]),
        (&json!("completed"), &json!(3))
    );
    assert!(
        ended["started_at"].as_str().unwrap() >= at.to_string().as_str(),
        "{ended}"
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_due_next_comes_first_and_what_is_paused_last() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let start = json!({"start_execution": {"schema": "orders"}});
    let call = json!({"http_callback": {"url": "http://127.0.0.1:9/"}});
    for (id, action, at) in [
        ("a-far", &start, "2090-01-01T00:00:00Z"),
        ("b-paused", &start, "2080-01-01T00:00:00Z"),
        ("c-near", &call, "2085-01-01T00:00:00Z"),
        ("d-near", &start, "2085-01-01T00:00:00Z"),
    ] {
        let body = json!({"spec": {"policy": {"once": {}}, "action": action, "start_at": at}});
        let put = Request::new("PUT", &format!("/api/scheduled-actions/{id}")).json(&body);
        server.send(put).await.expect(201);
    }
    server
        .command("/api/scheduled-actions/b-paused/pause")
        .await
        .expect(200);
    let listed = async |query: &str| -> String {
        let list = server.get(&format!("/api/scheduled-actions?{query}")).await;
        let list = list.expect(200);
        let items = list["items"].as_array().unwrap().iter();
        let ids: Vec<&str> = items.map(|item| item["id"].as_str().unwrap()).collect();
        ids.join(" ")
    };
    assert_eq!(listed("order=due").await, "c-near d-near a-far b-paused");
    assert_eq!(listed("order=due&limit=2").await, "c-near d-near");
    assert_eq!(
        listed("order=due&schema=orders&paused=false").await,
        "d-near a-far"
    );
    assert_eq!(listed("paused=true").await, "b-paused");
    assert_eq!(listed("kind=http_callback").await, "c-near");
    assert_eq!(
        listed("order=due&due_before=2086-01-01T00:00:00Z&paused=false").await,
        "c-near d-near"
    );
    let mut cursor = String::new();
    let mut walked = Vec::new();
    loop {
        let page = server
            .get(&format!("/api/scheduled-actions?order=due&limit=1{cursor}"))
            .await;
        let page = page.expect(200);
        walked.push(page["items"][0]["id"].as_str().unwrap().to_owned());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(walked, ["c-near", "d-near", "a-far", "b-paused"]);
    for query in [
        "order=size",
        "kind=mail",
        "paused=maybe",
        "order=due&finished=true",
    ] {
        let wrong = server.get(&format!("/api/scheduled-actions?{query}")).await;
        wrong.refuses(400, "INVALID_QUERY");
    }
    server
        .get("/api/scheduled-actions?schema=nothing")
        .await
        .refuses(404, "NOT_FOUND");
}

/// A page ends after so many rows, whether they were wanted or not, and goes on from there.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_looks_at_so_many_rows_and_no_more() {
    let limits = pawl::api::Limits {
        rows_read: 50,
        ..Default::default()
    };
    let server = Server::with(limits).await;
    server.save(linear("orders")).await;
    let start = json!({"start_execution": {"schema": "orders"}});
    let call = json!({"http_callback": {"url": "http://127.0.0.1:9/"}});
    for n in 0..130 {
        let action = if n == 120 { &call } else { &start };
        let at = format!("2080-01-01T00:{:02}:{:02}Z", n / 60, n % 60);
        let body = json!({"spec": {"policy": {"once": {}}, "action": action, "start_at": at}});
        let path = format!("/api/scheduled-actions/a-{n:03}");
        let put = Request::new("PUT", &path).json(&body);
        server.send(put).await.expect(201);
    }
    for query in [
        "kind=http_callback&order=due",
        "kind=http_callback",
        "due_before=2080-01-01T00:02:01Z&order=id&kind=http_callback",
        "order=due&prefix=a-120",
    ] {
        let (mut pages, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/api/scheduled-actions?{query}{cursor}");
            let page = server.get(&path).await.expect(200);
            pages.push(page["items"].as_array().unwrap().len());
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(pages, [0, 0, 1], "{query}");
    }
    let over = server
        .get("/api/scheduled-actions?finished=true&due_before=2090-01-01T00:00:00Z")
        .await;
    let over = over.expect(200);
    assert_eq!(over["items"], json!([]));
    assert!(over["next"].is_null());
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_what_is_due_ends_at_so_many_bytes() {
    let limits = pawl::api::Limits {
        page_bytes: 10_000,
        ..Default::default()
    };
    let server = Server::with(limits).await;
    for id in ["a", "b", "c", "d"] {
        let body = json!({"text": "x".repeat(6_000)});
        let call = json!({"http_callback": {"url": "http://127.0.0.1:9/", "body": body}});
        let body = json!({"spec": {"policy": {"once": {}}, "action": call, "start_at": "2080-01-01T00:00:00Z"}});
        let put = Request::new("PUT", &format!("/api/scheduled-actions/{id}")).json(&body);
        server.send(put).await.expect(201);
    }
    for order in ["id", "due"] {
        let path = format!("/api/scheduled-actions?order={order}");
        let page = server.get(&path).await.expect(200);
        assert_eq!(page["items"].as_array().unwrap().len(), 2, "{order}");
        let next = page["next"].as_str().unwrap();
        let page = server.get(&format!("{path}&cursor={next}")).await;
        let page = page.expect(200);
        assert_eq!(page["items"][0]["id"], "c", "{order}");
        assert_eq!(page["items"].as_array().unwrap().len(), 2, "{order}");
    }
    server.close().await;
}

//! Looking at one run: its definition, its path, its contexts, and what came in.

use serde_json::{Value, json};

use crate::client::Request;
use crate::server::{Server, fragile, id, linear, waiting};

fn path(run: &Value, rest: &str) -> String {
    format!("/api/executions/{}{rest}", id(run))
}

/// start → a condition that counts to `input.n` in a loop → end.
pub(crate) fn looping(name: &str) -> Value {
    json!({
        "name": name,
        "nodes": [
            {"id": "start_1", "type": "start"},
            {"id": "set_1", "type": "variable_set",
             "config": {"variable": "n", "value": "{{(variables?.n ?? 0) + 1}}"}},
            {"id": "more_1", "type": "condition", "config": {"expression": "{{variables.n}} < {{input.n}}"}},
            {"id": "log_1", "type": "log", "config": {"message": "n is {{variables.n}}", "level": "warn"}},
        ],
        "edges": [
            {"source": "start_1", "target": "set_1"},
            {"source": "set_1", "target": "more_1"},
            {"source": "more_1", "target": "set_1", "sourceHandle": "true"},
            {"source": "more_1", "target": "log_1", "sourceHandle": "false"},
        ],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_shows_the_definition_that_it_runs_also_when_the_schema_is_gone() {
    let server = Server::start().await;
    let saved = server.save(linear("orders")).await;
    let run = server.run_to_end(json!({"schema": "orders"})).await;
    let mut newer = linear("orders");
    newer["description"] = json!("another");
    let update = Request::new("PUT", "/api/schemas/orders").json(&newer);
    server.send(update).await.expect(200);
    let delete = Request::new("DELETE", "/api/schemas/orders");
    server.send(delete).await.expect(204);
    server
        .get("/api/schemas/orders")
        .await
        .refuses(404, "NOT_FOUND");

    let shown = server.get(&path(&run, "/definition")).await.expect(200);
    assert_eq!(shown["schema_id"], saved["id"]);
    assert_eq!(
        (&shown["schema"], &shown["version"]),
        (&json!("orders"), &json!(1))
    );
    assert_eq!(shown["hash"], saved["hash"]);
    assert_eq!(shown["definition"]["nodes"].as_array().unwrap().len(), 4);
    assert!(
        shown["definition"]
            .get("description")
            .is_none_or(Value::is_null)
    );
    let nowhere = "/api/executions/01a1e0f5-1856-7d0e-88d2-6567e1663034/definition";
    server.get(nowhere).await.refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outline_has_the_whole_path_in_columns() {
    let server = Server::start().await;
    server.save(looping("loop")).await;
    let run = server
        .run_to_end(json!({"schema": "loop", "input": {"n": 2}}))
        .await;
    let told = server.get(&path(&run, "/outline")).await.expect(200);
    assert_eq!(
        (&told["from"], &told["seq"], &told["next"]),
        (&json!(1), &json!(6), &Value::Null)
    );
    let of = |column: &str, table: &str| -> Vec<Value> {
        let places = told[column].as_array().unwrap().iter();
        let name = |place: &Value| match place.as_u64() {
            Some(place) => told[table][place as usize].clone(),
            None => Value::Null,
        };
        places.map(name).collect()
    };
    let nodes: Vec<Value> = of("node", "nodes")
        .iter()
        .map(|node| node["id"].clone())
        .collect();
    assert_eq!(
        nodes,
        ["start_1", "set_1", "more_1", "set_1", "more_1", "log_1"]
    );
    assert_eq!(of("status", "statuses"), vec!["success"; 6]);
    let exits = ["success", "success", "true", "success", "false", "success"];
    assert_eq!(of("handle", "handles"), exits);
    assert_eq!(told["tries"], json!([1, 1, 1, 1, 1, 1]));
    let steps = server.get(&path(&run, "/steps")).await.expect(200);
    assert_eq!(steps["items"][0]["started_at"], told["origin"]);
    for (at, step) in steps["items"].as_array().unwrap().iter().enumerate() {
        assert_eq!(step["handle"], exits[at]);
        let millis = told["duration"][at].as_f64().unwrap() / 1_000.0;
        assert_eq!(step["duration_ms"].as_f64(), Some(millis));
    }

    let later = server
        .get(&path(&run, "/outline?after=4"))
        .await
        .expect(200);
    assert_eq!(
        (&later["from"], &later["tries"]),
        (&json!(5), &json!([1, 1]))
    );
    let nothing = server
        .get(&path(&run, "/outline?after=6"))
        .await
        .expect(200);
    assert_eq!(
        (&nothing["from"], &nothing["origin"], &nothing["node"]),
        (&json!(7), &Value::Null, &json!([]))
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outline_begins_with_what_was_taken_over() {
    let server = Server::start().await;
    server.save(looping("loop")).await;
    let run = server
        .run_to_end(json!({"schema": "loop", "input": {"n": 2}}))
        .await;
    let fork = server
        .post(&path(&run, "/fork?wait=30s"), json!({"from_seq": 3}))
        .await
        .expect(201);
    let whole = server.get(&path(&fork, "/outline")).await.expect(200);
    assert_eq!((&whole["base_seq"], &whole["from"]), (&json!(3), &json!(1)));
    assert_eq!(whole["node"].as_array().unwrap().len(), 6);
    let own = server
        .get(&path(&fork, "/outline?inherited=false"))
        .await
        .expect(200);
    assert_eq!(
        (&own["from"], own["node"].as_array().unwrap().len()),
        (&json!(4), 3)
    );
    server.close().await;
}

/// Ten thousand of them are 200 to 300 kB, however large their payloads are.
#[tokio::test(flavor = "multi_thread")]
async fn an_outline_of_many_steps_stays_small() {
    let server = Server::start().await;
    server.save(looping("loop")).await;
    let big = "x".repeat(20_000);
    let run = server
        .run_to_end(json!({"schema": "loop", "input": {"n": 400, "big": big}}))
        .await;
    assert_eq!(run["seq"], 802);
    let answer = server.get(&path(&run, "/outline")).await;
    let told = answer.expect(200);
    assert_eq!(told["node"].as_array().unwrap().len(), 802);
    assert!(
        answer.body.len() < 802 * 30 + 1_000,
        "{} bytes",
        answer.body.len()
    );
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_are_found_by_number() {
    let server = Server::start().await;
    server.save(looping("loop")).await;
    let run = server
        .run_to_end(json!({"schema": "loop", "input": {"n": 20}}))
        .await;
    let seqs = |page: &Value| -> Vec<u64> {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|step| step["seq"].as_u64().unwrap()).collect()
    };
    let page = server
        .get(&path(&run, "/steps?from=7&to=10&limit=3"))
        .await
        .expect(200);
    assert_eq!(seqs(&page), [7, 8, 9]);
    let cursor = page["next"].as_str().unwrap();
    let rest = format!("/steps?from=7&to=10&limit=3&cursor={cursor}");
    let rest = server.get(&path(&run, &rest)).await.expect(200);
    assert_eq!((seqs(&rest), &rest["next"]), (vec![10], &Value::Null));
    let one = server.get(&path(&run, "/steps?to=1")).await.expect(200);
    assert_eq!(seqs(&one), [1]);
    for wrong in ["from=9&to=8", "from=0", "to=0", "from=x"] {
        let answer = server.get(&path(&run, &format!("/steps?{wrong}"))).await;
        answer.refuses(400, "INVALID_QUERY");
    }

    let fork = server
        .post(
            &path(&run, "/fork?wait=30s"),
            json!({"from_seq": 9, "variables": {"n": 20}}),
        )
        .await
        .expect(201);
    let taken = server.get(&path(&fork, "/steps/9")).await.expect(200);
    assert_eq!(
        (&taken["seq"], &taken["inherited"], &taken["handle"]),
        (&json!(9), &json!(true), &json!("true"))
    );
    let edit = server.get(&path(&fork, "/steps/10")).await.expect(200);
    assert_eq!(
        (&edit["node_id"], &edit["handle"]),
        (&json!("$edit"), &Value::Null)
    );
    server
        .get(&path(&fork, "/steps/999"))
        .await
        .refuses(404, "NOT_FOUND");
    server
        .get(&path(&fork, "/steps/0"))
        .await
        .refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_is_shown_in_parts_and_in_so_many_bytes() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let big = "x".repeat(100_000);
    let run = server
        .run_to_end(json!({"schema": "orders", "input": {"n": 3, "big": big}, "variables": {"list": [1, {"a": 2}]}}))
        .await;
    let context = |rest: &str| path(&run, &format!("/steps/{rest}"));
    let after = server
        .get(&context("2/context?view=after"))
        .await
        .expect(200);
    assert_eq!(after["cut"], json!(["/value/input/big"]));
    let note = &after["value"]["input"]["big"];
    assert_eq!(
        (&note["$cut"], &note["type"]),
        (&json!(100_002), &json!("string"))
    );
    assert_eq!(after["value"]["variables"]["total"], 3);
    assert!(after["bytes"].as_u64().unwrap() > 100_000);
    assert!(after.to_string().len() < 70_000);
    let whole = server
        .get(&context("2/context?pointer=/input/big&max_bytes=200000"))
        .await
        .expect(200);
    assert_eq!((&whole["value"], &whole["cut"]), (&json!(big), &json!([])));
    let flat = server
        .get(&context("2/context?pointer=/variables&depth=1"))
        .await
        .expect(200);
    assert_eq!(flat["value"]["list"], json!([1, {"a": 2}]));
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_is_shown_before_a_step_and_by_what_it_changed() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server
        .run_to_end(json!({"schema": "orders", "variables": {"list": [1, {"a": 2}]}}))
        .await;
    let context = |rest: &str| path(&run, &format!("/steps/{rest}"));
    let before = server
        .get(&context("2/context?view=before&pointer=/variables"))
        .await
        .expect(200);
    assert_eq!(before["value"], json!({"list": [1, {"a": 2}]}));
    let changed = server
        .get(&context("2/context?view=difference"))
        .await
        .expect(200);
    let paths: Vec<&str> = changed["difference"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["path"].as_str().unwrap())
        .collect();
    assert!(paths.contains(&"/variables/total"), "{changed}");
    assert!(changed.get("value").is_none());
    let start = server
        .get(&context("0/context?view=after&pointer=/steps"))
        .await
        .expect(200);
    assert_eq!(start["value"], json!({}));
    let none = server
        .get(&context("0/context?view=difference"))
        .await
        .expect(200);
    assert_eq!(none["difference"], json!([]));
    for (rest, status, code) in [
        ("0/context?view=before", 404, "NOT_FOUND"),
        ("0/context", 404, "NOT_FOUND"),
        ("9/context?view=after", 404, "NOT_FOUND"),
        ("9/context?view=difference", 404, "NOT_FOUND"),
        ("2/context?pointer=/nothing", 404, "NOT_FOUND"),
        ("2/context?pointer=nothing", 400, "INVALID_QUERY"),
        ("2/context?view=behind", 400, "INVALID_QUERY"),
        ("2/context?depth=65", 400, "INVALID_QUERY"),
        ("2/context?max_bytes=10", 400, "INVALID_QUERY"),
    ] {
        server.get(&context(rest)).await.refuses(status, code);
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_brief_list_leaves_out_what_is_large() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let mut broken = fragile("broken");
    broken["nodes"][2]["config"]["message"] = json!("no ".repeat(200));
    server.save(broken).await;
    server.run_to_end(json!({"schema": "orders"})).await;
    server
        .run_to_end(json!({"schema": "broken", "variables": {"ok": false}}))
        .await;
    let full = server.get("/api/executions?view=full").await.expect(200);
    let brief = server.get("/api/executions?view=brief").await.expect(200);
    assert_eq!(
        (&full["items"][1]["output"], &brief["items"][1]["output"]),
        (&json!(1), &Value::Null)
    );
    let error = &brief["items"][0]["error"];
    assert_eq!(error["code"], "BROKEN");
    let message = error["message"].as_str().unwrap();
    assert_eq!(
        (message.chars().count(), message.starts_with("no no")),
        (201, true)
    );
    assert_eq!(error.as_object().unwrap().len(), 2);
    for (whole, short) in full["items"]
        .as_array()
        .unwrap()
        .iter()
        .zip(brief["items"].as_array().unwrap())
    {
        for field in [
            "id",
            "status",
            "schema",
            "seq",
            "labels",
            "created_at",
            "finished_at",
            "wait",
            "attempt",
        ] {
            assert_eq!(whole[field], short[field], "{field}");
        }
    }
    let page = server
        .get("/api/executions?view=brief&limit=1")
        .await
        .expect(200);
    assert!(page["next"].is_string());
    server
        .get("/api/executions?view=short")
        .await
        .refuses(400, "INVALID_QUERY");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_execution_tells_what_it_was_started_with_and_where_it_stands() {
    let server = Server::start().await;
    server.save(waiting("approval")).await;
    let run = server
        .run(json!({"schema": "approval", "input": {"n": 1}, "variables": {"v": [2]}}))
        .await;
    server.until(id(&run), "waiting").await;
    let shown = server
        .get(&path(&run, "?include=initial"))
        .await
        .expect(200);
    let expected = json!({"input": {"n": 1}, "webhook": null, "variables": {"v": [2]}});
    assert_eq!(shown["initial"], expected);
    assert!(shown["entered_at"].as_str().unwrap() >= shown["created_at"].as_str().unwrap());
    assert_eq!(
        (&shown["tries"], &shown["lease"]),
        (&json!([]), &Value::Null)
    );
    let plain = server.get(&path(&run, "")).await.expect(200);
    assert!(plain.get("initial").is_none());
    server
        .get(&path(&run, "?include=all"))
        .await
        .refuses(400, "INVALID_QUERY");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_found_by_level_and_node_and_newest_first() {
    let server = Server::start().await;
    let mut schema = looping("loop");
    schema["nodes"]
        .as_array_mut()
        .unwrap()
        .push(json!({"id": "info_1", "type": "log", "config": {"message": "on", "level": "info"}}));
    schema["edges"][2]["target"] = json!("info_1");
    let back = json!({"source": "info_1", "target": "set_1"});
    schema["edges"].as_array_mut().unwrap().push(back);
    server.save(schema).await;
    let run = server
        .run_to_end(json!({"schema": "loop", "input": {"n": 4}}))
        .await;
    let ids = async |rest: &str| -> (Vec<u64>, Value) {
        let page = server
            .get(&path(&run, &format!("/logs?{rest}")))
            .await
            .expect(200);
        let items = page["items"].as_array().unwrap().iter();
        (
            items.map(|line| line["id"].as_u64().unwrap()).collect(),
            page["next"].clone(),
        )
    };
    assert_eq!(ids("level=debug").await.0, [1, 2, 3, 4]);
    assert_eq!(ids("level=warn").await.0, [4]);
    assert_eq!(ids("node=info_1").await.0, [1, 2, 3]);
    assert_eq!(ids("level=error").await.0, [0; 0]);
    let (first, next) = ids("order=desc&limit=3").await;
    assert_eq!(first, [4, 3, 2]);
    let rest = format!("order=desc&limit=3&cursor={}", next.as_str().unwrap());
    assert_eq!(ids(&rest).await, (vec![1], Value::Null));
    for wrong in ["level=loud", "order=up"] {
        let answer = server.get(&path(&run, &format!("/logs?{wrong}"))).await;
        answer.refuses(400, "INVALID_QUERY");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_tell_which_step_took_them() {
    let server = Server::start().await;
    server.save(waiting("approval")).await;
    let run = server.run(json!({"schema": "approval"})).await;
    server.until(id(&run), "waiting").await;
    for (name, signal_id) in [("later", "s1"), ("go", "s2"), ("go", "s3")] {
        let sent = path(&run, &format!("/signals/{name}?id={signal_id}"));
        server
            .post(&sent, json!({"by": signal_id}))
            .await
            .expect(202);
        if signal_id == "s2" {
            break;
        }
    }
    server.until(id(&run), "completed").await;
    let page = server
        .get(&path(&run, "/signals?limit=1"))
        .await
        .expect(200);
    let first = &page["items"][0];
    assert_eq!(
        (&first["id"], &first["consumed_by"]),
        (&json!("s1"), &Value::Null)
    );
    let next = format!("/signals?cursor={}", page["next"].as_str().unwrap());
    let page = server.get(&path(&run, &next)).await.expect(200);
    let second = &page["items"][0];
    assert_eq!(
        (&second["name"], &second["payload"]),
        (&json!("go"), &json!({"by": "s2"}))
    );
    assert_eq!(
        (&second["consumed_by"], &page["next"]),
        (&json!(2), &Value::Null)
    );
    assert!(second["received_at"].is_string());
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runs_are_compared_in_outline_and_pair_by_pair() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let mut runs = Vec::new();
    for n in [1, 2, 2] {
        runs.push(
            server
                .run_to_end(json!({"schema": "orders", "input": {"n": n}}))
                .await,
        );
    }
    let diff =
        |other: &Value, rest: &str| path(&runs[1], &format!("/diff{rest}&with={}", id(other)));
    let whole = server
        .get(&diff(&runs[0], "?inherited=true"))
        .await
        .expect(200);
    let outline = server
        .get(&diff(&runs[0], "?view=outline"))
        .await
        .expect(200);
    let without = |told: &Value| {
        let mut told = told.clone();
        for pair in told["steps"].as_array_mut().unwrap() {
            pair["difference"] = json!([]);
        }
        told
    };
    assert_eq!(outline, without(&whole));
    let same: Vec<bool> = outline["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| pair["same"].as_bool().unwrap())
        .collect();
    assert_eq!(same, [true, false, false, false]);
    assert_eq!(outline["first_divergence"]["what"], "output");
    let equal = server
        .get(&diff(&runs[2], "?view=outline"))
        .await
        .expect(200);
    assert_eq!(equal["first_divergence"], Value::Null);

    let pair = server
        .get(&diff(&runs[0], "/pair?node=set_1&visit=1"))
        .await
        .expect(200);
    assert_eq!(pair, whole["steps"][1]);
    assert!(!pair["difference"].as_array().unwrap().is_empty());
    let gone = server
        .get(&diff(&runs[0], "/pair?node=set_1&visit=2"))
        .await;
    gone.refuses(404, "NOT_FOUND");
    for wrong in ["/pair?visit=1", "/pair?node=set_1&visit=0", "?view=half"] {
        server
            .get(&diff(&runs[0], wrong))
            .await
            .refuses(400, "INVALID_QUERY");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_a_refusal_are_no_divergence() {
    let server = Server::start().await;
    let details = json!({"status_code": "{{input.status}}", "headers": {"date": "{{input.at}}"}});
    server
        .save(json!({
            "name": "refused",
            "nodes": [
                {"id": "start_1", "type": "start"},
                {"id": "fail_1", "type": "fail", "config": {"code": "REFUSED", "message": "no", "details": details}},
            ],
            "edges": [{"source": "start_1", "target": "fail_1"}],
        }))
        .await;
    let run = async |status: u64, at: &str| {
        let input = json!({"status": status, "at": at});
        let body = json!({"schema": "refused", "input": input});
        server.run_to_end(body).await
    };
    let (first, later) = (run(404, "monday").await, run(404, "tuesday").await);
    let other = run(500, "monday").await;
    for (with, expected) in [(&later, Value::Null), (&other, json!("error"))] {
        for view in ["", "view=outline&"] {
            let diff = path(&first, &format!("/diff?{view}with={}", id(with)));
            let told = server.get(&diff).await.expect(200);
            assert_eq!(told["first_divergence"]["what"], expected, "{told}");
        }
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outline_of_two_runs_reads_so_many_bytes_and_no_more() {
    let limits = pawl::api::Limits {
        page_bytes: 2_000,
        ..Default::default()
    };
    let server = Server::with(limits).await;
    server.save(looping("loop")).await;
    let mut runs = Vec::new();
    for n in [2, 2, 400] {
        let input = json!({"n": n, "big": "x".repeat(500)});
        runs.push(
            server
                .run_to_end(json!({"schema": "loop", "input": input}))
                .await,
        );
    }
    let diff = |one: &Value| path(one, &format!("/diff?view=outline&with={}", id(&runs[0])));
    server.get(&diff(&runs[1])).await.expect(200);
    let refused = server.get(&diff(&runs[2])).await;
    let body = refused.refuses(413, "LIMIT_EXCEEDED");
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("32000 bytes"), "{message}");
    server.close().await;
}

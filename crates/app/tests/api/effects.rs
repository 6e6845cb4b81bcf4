//! Whether a retry may send another request, and under which key it goes out.

use serde_json::{Value, json};

use crate::hook::Hook;
use crate::server::{Server, id};

/// start → POST `amount` → end.
fn paying(name: &str, url: &str) -> Value {
    let body = json!({"amount": "{{variables.amount}}"});
    let config = json!({"method": "POST", "url": url, "body": body});
    let retry = json!({"max_attempts": 1});
    json!({
        "name": name,
        "nodes": [
            {"id": "start_1", "type": "start"},
            {"id": "pay_1", "type": "http_request", "retry": retry, "config": config},
            {"id": "end_1", "type": "end"},
        ],
        "edges": [
            {"source": "start_1", "target": "pay_1"},
            {"source": "pay_1", "target": "end_1"},
        ],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn another_request_goes_out_under_a_new_key_alone() {
    let (server, hook) = (Server::start().await, Hook::start().await);
    let url = format!("{}/fail/2", hook.url);
    server.save(paying("pay", &url)).await;
    let start = json!({"schema": "pay", "variables": {"amount": 5}});
    let run = server.run_to_end(start).await;
    assert_eq!(run["error"]["code"], "HTTP_STATUS", "{run}");
    let first = hook.until(1).await.remove(0);
    let path = format!("/api/executions/{}", id(&run));
    let retry = async |body: Value| {
        let path = format!("{path}/retry?wait=30s");
        server.post(&path, body).await
    };

    let refused = retry(json!({"variables": {"amount": 6}})).await;
    let refused = refused.refuses(409, "CONFLICT");
    let message = refused["message"].as_str().unwrap();
    for word in ["`pay_1`", "`amount`", "`new_effect_key`", &first.key] {
        assert!(message.contains(word), "{word}: {message}");
    }
    let plain = json!({"variables": {"amount": 6}, "new_effect_key": false});
    retry(plain).await.refuses(409, "CONFLICT");
    for wrong in [json!("yes"), json!(1), json!([])] {
        let body = json!({"variables": {"amount": 6}, "new_effect_key": wrong});
        retry(body).await.refuses(422, "INVALID_REQUEST");
    }
    let untouched = server.get(&path).await.expect(200);
    assert_eq!(untouched["retried_as"], Value::Null);

    // What the node does not read, and what stays as it was, changes no request.
    let same = json!({"variables": {"amount": 5, "note": "x"}});
    assert_eq!(retry(same).await.expect(201)["status"], "failed");
    let other = json!({"variables": {"amount": 6}, "new_effect_key": true, "again": true});
    assert_eq!(retry(other).await.expect(201)["status"], "completed");
    let calls = hook.until(3).await;
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert_eq!((&calls[1].key, &calls[1].body), (&first.key, &first.body));
    assert_eq!(first.body, json!({"amount": 5}));
    assert_eq!(calls[2].body, json!({"amount": 6}));
    assert_ne!(calls[2].key, first.key);
    server.close().await;
}

/// The same request may be wanted a second time: the other side is not to remember it.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_goes_out_under_a_new_key_if_asked() {
    let (server, hook) = (Server::start().await, Hook::start().await);
    let url = format!("{}/fail/1", hook.url);
    server.save(paying("pay", &url)).await;
    let start = json!({"schema": "pay", "variables": {"amount": 5}});
    let run = server.run_to_end(start).await;
    let path = format!("/api/executions/{}/retry?wait=30s", id(&run));
    let retried = server.post(&path, json!({"new_effect_key": true})).await;
    assert_eq!(retried.expect(201)["status"], "completed");
    let calls = hook.until(2).await;
    assert_eq!(calls[0].body, calls[1].body);
    assert_ne!(calls[0].key, calls[1].key);
    server.close().await;
}

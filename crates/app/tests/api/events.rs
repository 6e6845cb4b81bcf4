use serde_json::json;

use crate::client::{Event, Request};
use crate::server::{Server, id, linear, waiting};

fn names(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.name.as_str()).collect()
}

fn seqs(events: &[Event]) -> Vec<u64> {
    events
        .iter()
        .filter(|event| event.name == "step")
        .map(|event| event.data["seq"].as_u64().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_run_is_told_and_ends() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server.run_to_end(json!({"schema": "orders"})).await;
    let stream = server.events(id(&run), |request| request).await;
    assert_eq!(
        (stream.status, stream.kind.as_str()),
        (200, "text/event-stream")
    );
    let events = stream.rest().await;
    assert_eq!(names(&events), ["step", "step", "step", "step", "end"]);
    assert_eq!(seqs(&events), [1, 2, 3, 4]);
    let end = events.last().unwrap();
    assert_eq!(
        (&end.data["status"], end.id),
        (&json!("completed"), run["event_version"].as_u64().unwrap())
    );
    assert!(events.is_sorted_by_key(|event| event.id));
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_comes_back_misses_nothing() {
    let server = Server::start().await;
    server.save(linear("orders")).await;
    let run = server.run_to_end(json!({"schema": "orders"})).await;
    let all = server
        .events(id(&run), |request| request)
        .await
        .rest()
        .await;
    for (index, event) in all.iter().enumerate() {
        let seen = event.id.to_string();
        let mut stream = server
            .events(id(&run), |request| request.header("Last-Event-ID", &seen))
            .await;
        if index + 1 == all.len() {
            assert_eq!(stream.status, 204, "nothing is left after the end");
            continue;
        }
        let mut rest = Vec::new();
        while let Some(event) = stream.next().await {
            rest.push(event);
        }
        assert!(rest.ends_with(&all[index + 1..]), "after event {index}");
    }
    let path = format!("/api/executions/{}/events", id(&run));
    let after = all.last().unwrap().id - 1;
    let by_query = server.get(&format!("{path}?after={after}")).await;
    assert!(by_query.text().contains("event: end"));
    let header = Request::new("GET", &path).header("Last-Event-ID", "abc");
    server.send(header).await.refuses(400, "INVALID_HEADER");
    server
        .get(&format!("{path}?after=-1"))
        .await
        .refuses(400, "INVALID_QUERY");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn live_steps_arrive_as_they_are_committed() {
    let server = Server::start().await;
    server.save(waiting("approval")).await;
    let run = server.run(json!({"schema": "approval"})).await;
    let mut stream = server.events(id(&run), |request| request).await;
    let mut seen = Vec::new();
    loop {
        let event = stream.next().await.unwrap();
        let waits = event.name == "status" && event.data["status"] == "waiting";
        seen.push(event);
        if waits {
            break;
        }
    }
    assert_eq!(seqs(&seen), [1]);
    // Somebody who was away in between hears only what is new.
    let last = seen.last().unwrap().id.to_string();
    let back = server
        .events(id(&run), |request| request.header("Last-Event-ID", &last))
        .await;
    server
        .post(
            &format!("/api/executions/{}/signals/go", id(&run)),
            json!(1),
        )
        .await
        .expect(202);
    for rest in [stream.rest().await, back.rest().await] {
        assert_eq!(seqs(&rest), [2, 3]);
        assert_eq!(rest.last().unwrap().name, "end");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn open_streams_and_waits_end_when_the_server_stops() {
    let server = Server::start().await;
    server.save(waiting("approval")).await;
    let run = server.run(json!({"schema": "approval"})).await;
    let mut stream = server.events(id(&run), |request| request).await;
    while stream.next().await.unwrap().data["status"] != "waiting" {}
    let path = format!("/api/executions/{}?wait=60s", id(&run));
    let address = server.address;
    let waiting =
        tokio::spawn(async move { crate::client::send(address, Request::new("GET", &path)).await });
    // The stream's end shows that the stop was noticed; the waiting call may have come before or after it.
    server.stop.cancel();
    assert_eq!(stream.next().await, None);
    server.close().await;
    if let Ok(answer) = waiting.await {
        assert_eq!(answer.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_events_of_nothing() {
    let server = Server::start().await;
    server
        .get("/api/executions/00000000-0000-7000-8000-000000000000/events")
        .await
        .refuses(404, "NOT_FOUND");
    server
        .get("/api/executions/x/events")
        .await
        .refuses(404, "NOT_FOUND");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_stream_says_that_it_lives() {
    let limits = pawl::api::Limits {
        reread: std::time::Duration::from_millis(20),
        ..Default::default()
    };
    let server = Server::with(limits).await;
    server.save(waiting("approval")).await;
    let run = server.run(json!({"schema": "approval"})).await;
    server.until(id(&run), "waiting").await;
    let mut stream = server.events(id(&run), |request| request).await;
    assert!(stream.comment().await.starts_with(": "));
    server.close().await;
}

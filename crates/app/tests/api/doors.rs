//! What one client can cost the others, and what an auditor sees of it.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use pawl::api::Limits;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::client::{PATIENCE, Request, send};
use crate::server::{Server, linear, waiting};

async fn idle(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(TcpStream::connect(address).await.unwrap());
    }
    all
}

/// From another address of this machine.
async fn connect_from(own: &str, address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{own}:0").parse().unwrap()).unwrap();
    socket.connect(address).await.unwrap()
}

async fn ask(stream: TcpStream, path: &str, more: &str) -> String {
    tell(stream, "GET", path, more).await
}

/// Returns the first line of the answer.
async fn tell(mut stream: TcpStream, method: &str, path: &str, more: &str) -> String {
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{more}Connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    timeout(PATIENCE, read).await.unwrap().unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_do_not_shut_probes_out() {
    let limits = Limits {
        connections: 4,
        connections_per_peer: 0,
        // The silent must keep their places on a slow machine too.
        header_time: PATIENCE,
        ..Limits::default()
    };
    let server = Server::with(limits).await;
    // Those that have a place, those that have one of the kept ones, and many more.
    let silent = idle(server.address, 100).await;
    for path in ["/health/live", "/health/ready", "/metrics"] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert_eq!(answer.header("connection"), Some("close"), "{path}");
    }
    for path in ["/api/executions", "/webhook/x", "/", "/healthy"] {
        let refused = server.get(path).await;
        let body = refused.refuses(503, "UNAVAILABLE");
        let message = body["message"].as_str().unwrap();
        assert!(message.contains("[server] connections"), "{message}");
        assert_eq!(refused.header("retry-after"), Some("1"), "{path}");
    }
    drop(silent);
    let freed = async { while server.get("/api/executions").await.status != 200 {} };
    timeout(PATIENCE, freed).await.expect("places come back");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_leaves_places_to_others() {
    let limits = Limits {
        connections: 10,
        connections_per_peer: 2,
        header_time: PATIENCE,
        ..Limits::default()
    };
    let server = Server::with(limits).await;
    let silent = idle(server.address, 2).await;
    let body = server.get("/api/executions").await;
    let body = body.refuses(503, "UNAVAILABLE");
    let message = body["message"].as_str().unwrap();
    assert!(message.contains("connections_per_peer"), "{message}");
    assert_eq!(server.get("/health/live").await.status, 200);
    let other = connect_from("127.0.0.2", server.address).await;
    let answer = ask(other, "/api/executions", "").await;
    assert_eq!(answer, "HTTP/1.1 200 OK");
    drop(silent);
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_is_hung_up_on() {
    let limits = Limits {
        write_time: Duration::from_millis(100),
        ..Limits::default()
    };
    let server = Server::with(limits).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    let request = b"GET /api/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100);
    // As long as the server listens it takes requests; once it waits for its answers to be read, it does not.
    let writing = async { while stream.write_all(&request).await.is_ok() {} };
    timeout(PATIENCE, writing).await.expect("it is hung up on");
    server.close().await;
}

/// Lines for the auditor and about webhooks, of all servers of this process.
fn audit() -> &'static Arc<Mutex<Vec<u8>>> {
    static LINES: OnceLock<Arc<Mutex<Vec<u8>>>> = OnceLock::new();
    LINES.get_or_init(|| {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let writer = Shared(lines.clone());
        tracing_subscriber::fmt()
            .with_env_filter("pawl::audit=info,pawl::api::webhooks=warn")
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .init();
        lines
    })
}

#[derive(Clone)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Those that hold all these words.
fn lines(words: &[&str]) -> Vec<String> {
    let bytes = audit().lock().unwrap().clone();
    let text = String::from_utf8(bytes).unwrap();
    let has_all = |line: &&str| words.iter().all(|word| line.contains(word));
    text.lines().filter(has_all).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_keys_are_a_line_with_the_address_and_not_one_each() {
    audit();
    let server = Server::locked().await;
    for _ in 0..5 {
        let stream = connect_from("127.0.0.77", server.address).await;
        let key = "Authorization: Bearer pawl_no-such-key\r\n";
        let answer = ask(stream, "/api/executions", key).await;
        assert_eq!(answer, "HTTP/1.1 401 Unauthorized");
    }
    let seen = lines(&["127.0.0.77"]);
    assert_eq!(seen.len(), 1, "{seen:?}");
    for word in ["WARN", "door=\"api\"", "refused=1"] {
        assert!(seen[0].contains(word), "{word}: {seen:?}");
    }
    assert!(!seen[0].contains("no-such-key"), "{seen:?}");
    server.close().await;
}

/// A webhook that wants a token.
fn guarded(name: &str, secret: &str) -> serde_json::Value {
    let mut schema = linear(name);
    let auth = json!({"type": "header", "secret": secret});
    schema["triggers"] = json!([{"type": "webhook", "path": name, "auth": auth}]);
    schema
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_proofs_are_a_line_that_names_the_webhooks() {
    audit();
    let server = Server::with_secrets(&[("door", "open-sesame-42")]).await;
    server.save(guarded("knocked", "door")).await;
    for _ in 0..5 {
        let stream = connect_from("127.0.0.78", server.address).await;
        let token = "Authorization: Bearer no-such-token\r\nContent-Length: 0\r\n";
        let answer = tell(stream, "POST", "/webhook/knocked", token).await;
        assert_eq!(answer, "HTTP/1.1 401 Unauthorized");
    }
    // On a machine so slow that five calls take ten seconds there may be a second line, for the rest.
    let seen = lines(&["127.0.0.78"]);
    assert!((1..=2).contains(&seen.len()), "{seen:?}");
    for word in ["WARN", "pawl::audit", "door=\"webhook\"", "refused=1"] {
        assert!(seen[0].contains(word), "{word}: {seen:?}");
    }
    for secret in ["no-such-token", "open-sesame", "knocked"] {
        assert!(!seen[0].contains(secret), "{secret}: {seen:?}");
    }
    // Both doors from one address: each has its line.
    let stream = connect_from("127.0.0.78", server.address).await;
    let answer = ask(stream, "/api/executions", "").await;
    assert_eq!(answer, "HTTP/1.1 401 Unauthorized");
    let api = lines(&["127.0.0.78", "door=\"api\""]);
    assert_eq!(api.len(), 1, "{api:?}");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_secret_is_a_line_and_not_one_for_each_call() {
    audit();
    let server = Server::with_secrets(&[]).await;
    for name in ["unready-one", "unready-two"] {
        server.save(guarded(name, "nowhere")).await;
    }
    let began = Instant::now();
    for number in 0..20 {
        let name = ["unready-one", "unready-two"][number % 2];
        let call = Request::new("POST", &format!("/webhook/{name}")).json(&json!({}));
        let call = call.header("Authorization", "Bearer any");
        let refused = send(server.address, call).await;
        refused.refuses(503, "NOT_CONFIGURED");
    }
    // One at once, then one in ten seconds at most.
    let most = 1 + began.elapsed().as_secs() / 10;
    for name in ["unready-one", "unready-two"] {
        let seen = lines(&["whose secret the configuration does not have", name]);
        assert!(
            (1..=most).contains(&(seen.len() as u64)),
            "at most {most}: {seen:?}"
        );
        for word in ["WARN", "secret=\"nowhere\"", "calls=1"] {
            assert!(seen[0].contains(word), "{word}: {seen:?}");
        }
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_editors_change_and_operators_stop_is_audited() {
    audit();
    let server = Server::locked().await;
    let (editor, _) = server.key("ed-of-the-audit", "editor").await;
    let by = "by=key:ed-of-the-audit";
    let call = async |method: &str, path: &str, body: Option<serde_json::Value>| {
        let request = Request::new(method, path);
        let request = body
            .iter()
            .fold(request, |request, body| request.json(body));
        let request = request.header("Authorization", &format!("Bearer {editor}"));
        send(server.address, request).await
    };
    call("POST", "/api/schemas", Some(linear("audited")))
        .await
        .expect(201);
    call("POST", "/api/schemas", Some(waiting("audited-wait")))
        .await
        .expect(201);
    call("POST", "/api/schemas/audited/deactivate", None)
        .await
        .expect(200);
    let quota = json!({"limit": 3});
    call("PUT", "/api/quotas/tenant/acme", Some(quota))
        .await
        .expect(200);
    let started = json!({"schema": "audited-wait"});
    let started = call("POST", "/api/executions", Some(started))
        .await
        .expect(201);
    let stop = format!("/api/executions/{}/stop", started["id"].as_str().unwrap());
    call("POST", &stop, None).await.expect(200);
    assert_eq!(
        call("DELETE", "/api/schemas/audited", None).await.status,
        204
    );
    for (method, path) in [
        ("POST", "/api/schemas"),
        ("POST", "/api/schemas/audited/deactivate"),
        ("PUT", "/api/quotas/tenant/acme"),
        ("POST", stop.as_str()),
        ("DELETE", "/api/schemas/audited"),
    ] {
        let (method, path) = (format!("method={method}"), format!("asked=\"{path}\""));
        assert!(!lines(&[by, &method, &path]).is_empty(), "{method} {path}");
    }
    assert!(
        lines(&[by, "path=\"/api/executions\""]).is_empty(),
        "what is done all day is not audited"
    );
    server.close().await;
}

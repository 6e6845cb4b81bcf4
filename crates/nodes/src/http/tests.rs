//! The client over real sockets on loopback.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, Method, StatusCode};
use pawl_kernel::secrets::{CarriedSecrets, Patterns, Reader, SecretScope, SecretScopes};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use url::Url;

use super::{AddressPolicy, HttpClient, HttpError, HttpErrorKind, HttpLimits, Request, Response};
use crate::testing::server::{Answer, Server, header, reply, serve};

/// Only 127.0.0.1; the rest of loopback stands for the forbidden world.
fn client() -> HttpClient {
    let policy = AddressPolicy {
        allow: vec!["127.0.0.1".parse().unwrap()],
        ..AddressPolicy::default()
    };
    let limits = HttpLimits {
        connect_timeout: Duration::from_secs(2),
        ..HttpLimits::default()
    };
    HttpClient::new(policy, limits)
}

fn get(url: &str) -> Request {
    let timeout = Some(Duration::from_secs(5));
    Request {
        timeout,
        ..Request::new(Method::GET, Url::parse(url).unwrap())
    }
}

async fn send(url: &str) -> Result<Response, HttpError> {
    client().send(get(url)).await
}

async fn fails(request: Request, kind: HttpErrorKind) -> HttpError {
    let error = client().send(request).await.unwrap_err();
    assert_eq!(error.kind, kind, "{error}");
    error
}

#[tokio::test]
async fn sends_and_reads() {
    let server = Server::saying(reply("200 OK", "x-a: 1\r\n", "hello")).await;
    let response = send(&server.url("/p?q=1#f")).await.unwrap();
    assert_eq!(
        (response.status, response.body.as_ref()),
        (StatusCode::OK, b"hello".as_ref())
    );
    assert_eq!(response.headers["x-a"], "1");
    assert!(
        server.requests()[0].starts_with("GET /p?q=1 HTTP/1.1\r\n"),
        "{:?}",
        server.requests()
    );
}

#[tokio::test]
async fn connections_are_used_again() {
    let client = client();
    let server = keeping_alive().await;
    for _ in 0..3 {
        let response = client.send(get(&server)).await.unwrap();
        assert_eq!(response.body, "1", "a second connection was made");
    }
}

/// A server that answers with the number of the connection and keeps it open.
async fn keeping_alive() -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for number in 1.. {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {
                    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{number}");
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            });
        }
    });
    url
}

#[tokio::test]
async fn a_chain_of_redirects_is_followed_and_checked() {
    let server = Server::start("127.0.0.1", |request| {
        Answer::Bytes(match request.split(' ').nth(1) {
            Some("/a") => reply("302 Found", "location: /b\r\n", "ignored"),
            Some("/b") => reply("308 Permanent Redirect", "location: c?x=1\r\n", ""),
            _ => reply("200 OK", "", "there"),
        })
    })
    .await;
    let response = send(&server.url("/a")).await.unwrap();
    assert_eq!(
        (response.url.path(), response.body.as_ref()),
        ("/c", b"there".as_ref())
    );
}

#[tokio::test]
async fn a_redirect_to_a_forbidden_address_is_refused() {
    let inner = Server::start("127.0.0.2", |_| {
        Answer::Bytes(reply("200 OK", "", "secret"))
    })
    .await;
    let targets = [
        inner.url("/"),
        "http://169.254.169.254/latest/meta-data/".into(),
        format!("http://[::ffff:127.0.0.2]:{}/", inner.address.port()),
        format!("//0x7f.0.0.2:{}/", inner.address.port()),
    ];
    for target in targets {
        let server =
            Server::saying(reply("302 Found", &format!("location: {target}\r\n"), "")).await;
        fails(get(&server.url("/")), HttpErrorKind::Forbidden).await;
    }
    assert!(inner.requests().is_empty());
}

#[tokio::test]
async fn redirects_elsewhere_are_refused() {
    for target in [
        "file:///etc/passwd",
        "gopher://x/",
        "ftp://x/",
        "data:text/plain,x",
        "http://[",
        "http://h:99999/",
    ] {
        let server =
            Server::saying(reply("302 Found", &format!("location: {target}\r\n"), "")).await;
        fails(get(&server.url("/")), HttpErrorKind::Redirect).await;
    }
    let server = Server::saying(reply(
        "302 Found",
        "location: http://u:p@127.0.0.1/\r\n",
        "",
    ))
    .await;
    fails(get(&server.url("/")), HttpErrorKind::InvalidUrl).await;
}

#[tokio::test]
async fn a_redirect_loop_ends() {
    let server = Server::saying(reply("307 Temporary Redirect", "location: /again\r\n", "")).await;
    fails(get(&server.url("/")), HttpErrorKind::Redirect).await;
    assert_eq!(server.requests().len(), 6);
    let unfollowed = Request {
        redirects_max: None,
        ..get(&server.url("/"))
    };
    assert_eq!(client().send(unfollowed).await.unwrap().status, 307);
}

fn with_secrets(method: Method, url: &str) -> Request {
    let mut headers = HeaderMap::new();
    for name in [
        "authorization",
        "cookie",
        "x-api-key",
        "proxy-authorization",
    ] {
        headers.insert(name, HeaderValue::from_static("secret"));
    }
    headers.insert("accept", HeaderValue::from_static("application/json"));
    headers.insert("content-type", HeaderValue::from_static("text/plain"));
    Request {
        method,
        headers,
        body: "data".into(),
        ..get(url)
    }
}

#[tokio::test]
async fn credentials_stay_with_their_origin() {
    let other = Server::saying(reply("200 OK", "", "")).await;
    let location = format!("location: {}\r\n", other.url("/there"));
    let server = Server::saying(reply("307 Temporary Redirect", &location, "")).await;
    let bodyless = Request {
        body: "".into(),
        ..with_secrets(Method::POST, &server.url("/"))
    };
    client().send(bodyless).await.unwrap();
    let arrived = &other.requests()[0];
    assert!(!arrived.contains("secret"), "{arrived}");
    assert_eq!(header(arrived, "accept"), Some("application/json"));
    assert!(arrived.starts_with("POST /there"), "{arrived}");
}

#[tokio::test]
async fn a_body_stays_with_its_origin() {
    let other = Server::saying(reply("200 OK", "", "")).await;
    let location = format!("location: {}\r\n", other.url("/there"));
    // A GET with a body keeps both, whatever the status.
    for (status, method) in [
        ("307 Temporary Redirect", Method::POST),
        ("308 Permanent Redirect", Method::PUT),
        ("302 Found", Method::GET),
    ] {
        let server = Server::saying(reply(status, &location, "")).await;
        let request = with_secrets(method, &server.url("/"));
        let error = client().send(request).await.unwrap_err();
        assert_eq!(error.kind, HttpErrorKind::Redirect);
        assert!(error.message.contains("another origin"), "{error}");
        assert!(!error.message.contains("/there"), "{error}");
    }
    assert!(other.requests().is_empty());
    let server = Server::saying(reply("302 Found", &location, "")).await;
    let request = with_secrets(Method::POST, &server.url("/"));
    client().send(request).await.unwrap();
    assert!(other.requests()[0].starts_with("GET /there"));
}

/// `hosts` of the one secret that the request names.
fn carrying(hosts: &[&str]) -> CarriedSecrets {
    let hosts = Patterns::new(hosts.iter().map(|host| (*host).to_owned()));
    let scope = SecretScope {
        hosts: Some(hosts),
        ..SecretScope::default()
    };
    let headers = serde_json::json!({"x-token": "{{secrets.token}}"});
    let reads = pawl_kernel::schedule::headers::secret_reads(headers.as_object().unwrap());
    let scopes = SecretScopes::from([("token".to_owned(), Arc::new(scope))]);
    let reader = Reader {
        name: "flow",
        guards: true,
    };
    let resolved = pawl_kernel::secrets::resolve(&BTreeMap::new(), &scopes, &reads, reader);
    resolved.unwrap().1
}

#[tokio::test]
async fn a_secret_goes_to_its_hosts_alone_also_where_a_redirect_leads() {
    let other = Server::saying(reply("200 OK", "", "")).await;
    let location = format!("location: {}\r\n", other.url("/there"));
    let server = Server::saying(reply("302 Found", &location, "")).await;
    let port = |server: &Server| Url::parse(&server.url("/")).unwrap().port().unwrap();
    let [first, second] = [&server, &other].map(|server| format!("127.0.0.1:{}", port(server)));
    let send = async |hosts: &[&str]| {
        let request = Request {
            secrets: carrying(hosts),
            ..get(&server.url("/"))
        };
        let sent = client().send(request).await;
        let reached = (server.requests().len(), other.requests().len());
        (
            sent.map(|answer| answer.status.as_u16())
                .map_err(|error| error.kind),
            reached,
        )
    };
    let refused = Err(HttpErrorKind::Secret);
    assert_eq!(send(&["api.example.com"]).await, (refused, (0, 0)));
    assert_eq!(send(&[]).await, (refused, (0, 0)));
    assert_eq!(send(&[&first]).await, (refused, (1, 0)));
    assert_eq!(send(&[&first, &second]).await, (Ok(200), (2, 1)));
    assert_eq!(send(&["127.0.0.*"]).await, (Ok(200), (3, 2)));
}

#[tokio::test]
async fn the_same_origin_keeps_credentials_and_post_becomes_get() {
    let server = Server::start("127.0.0.1", |request| {
        Answer::Bytes(match request.contains(" /there ") {
            true => reply("200 OK", "", ""),
            false => reply("303 See Other", "location: /there\r\n", ""),
        })
    })
    .await;
    client()
        .send(with_secrets(Method::POST, &server.url("/")))
        .await
        .unwrap();
    let arrived = &server.requests()[1];
    assert!(
        arrived.starts_with("GET /there") && arrived.ends_with("\r\n\r\n"),
        "{arrived}"
    );
    assert_eq!(header(arrived, "authorization"), Some("secret"));
    assert_eq!(header(arrived, "content-type"), None);
}

#[tokio::test]
async fn a_long_body_is_refused_whether_announced_or_not() {
    let announced = Server::saying(reply("200 OK", "", "x".repeat(100))).await;
    let small = |url: String| Request {
        body_bytes_max: 99,
        ..get(&url)
    };
    let error = fails(small(announced.url("/")), HttpErrorKind::TooLarge).await;
    assert!(error.message.contains("max_bytes"), "{error}");
    let closing = Server::saying(format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(100))).await;
    fails(small(closing.url("/")), HttpErrorKind::TooLarge).await;
    let exact = Request {
        body_bytes_max: 100,
        ..get(&announced.url("/"))
    };
    assert_eq!(client().send(exact).await.unwrap().body.len(), 100);
    let lying = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\nx").await;
    fails(get(&lying.url("/")), HttpErrorKind::TooLarge).await;
}

#[tokio::test]
async fn endless_things_end() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let cases = [
        ("", "x".repeat(4096), HttpErrorKind::TooLarge),
        (
            head,
            format!("1000\r\n{}\r\n", "x".repeat(4096)),
            HttpErrorKind::TooLarge,
        ),
        (
            "HTTP/1.1 200 OK\r\n",
            "x-flood: yes\r\n".to_owned(),
            HttpErrorKind::TooLarge,
        ),
        (
            "HTTP/1.1 200 OK\r\nx-long: ",
            "y".repeat(4096),
            HttpErrorKind::TooLarge,
        ),
    ];
    for (head, part, kind) in cases {
        let head = if head.is_empty() {
            "HTTP/1.1 200 OK\r\n\r\n"
        } else {
            head
        };
        let server = Server::start("127.0.0.1", move |_| {
            Answer::Endless(head.into(), part.clone().into())
        })
        .await;
        fails(get(&server.url("/")), kind).await;
    }
}

#[tokio::test]
async fn slow_things_end_with_the_timeout() {
    let short = |url: String| Request {
        timeout: Some(Duration::from_millis(150)),
        ..get(&url)
    };
    let drip = Server::start("127.0.0.1", |_| {
        Answer::Drip(b"HTTP/1.1 200 OK\r\n\r\n".into())
    })
    .await;
    fails(short(drip.url("/")), HttpErrorKind::Timeout).await;
    let silent = Server::start("127.0.0.1", |_| Answer::Silence).await;
    fails(short(silent.url("/")), HttpErrorKind::Timeout).await;
    let informal = b"HTTP/1.1 100 Continue\r\n\r\n".to_vec();
    let flood = Server::start("127.0.0.1", move |_| {
        Answer::Endless(Vec::new(), informal.clone())
    })
    .await;
    fails(short(flood.url("/")), HttpErrorKind::Timeout).await;
}

#[tokio::test]
async fn broken_answers_are_connection_errors() {
    for answer in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nx\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        "HTTP/1.1 999999 No\r\n\r\n",
        "<html>this is HTTP/0.9</html>",
        "SSH-2.0-OpenSSH_9.2\r\n",
    ] {
        let server = Server::saying(answer).await;
        let error = fails(get(&server.url("/")), HttpErrorKind::Connection).await;
        assert!(error.kind.is_retryable(), "{answer:?}");
    }
}

#[tokio::test]
async fn nobody_there() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let error = fails(get(&url), HttpErrorKind::Connection).await;
    assert!(
        error.message.contains("no connection to `127.0.0.1:"),
        "{error}"
    );
    fails(get("http://name.invalid/"), HttpErrorKind::Dns).await;
}

#[tokio::test]
async fn open_and_closed_forbidden_ports_look_the_same() {
    let open = Server::start("127.0.0.2", |_| Answer::Silence).await;
    let listening = fails(get(&open.url("/")), HttpErrorKind::Forbidden).await;
    let closed = fails(get("http://127.0.0.2:1/"), HttpErrorKind::Forbidden).await;
    assert_eq!(listening.message, closed.message);
}

/// What this machine calls itself in its network; sends nothing to find out.
fn own_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("198.51.100.1:9").ok()?;
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_loopback() && !ip.is_unspecified()).then_some(ip)
}

fn client_of(policy: AddressPolicy) -> HttpClient {
    HttpClient::new(policy, HttpLimits::default())
}

/// Pawl listens on all addresses of the machine, and is called by one that is not loopback.
#[tokio::test]
async fn an_own_port_is_refused_at_every_address_of_the_machine() {
    let Some(ip) = own_address() else {
        return println!("this machine has no address but loopback");
    };
    let server = Server::start("0.0.0.0", |_| Answer::Bytes(reply("200 OK", "", ""))).await;
    let port = server.address.port();
    let url = format!("http://{}/", SocketAddr::new(ip, port));
    let sent = async |deny_own: &[String]| {
        let policy = AddressPolicy {
            allow: vec![ip.to_string().parse().unwrap()],
            deny_own: deny_own.iter().map(|own| own.parse().unwrap()).collect(),
            ..AddressPolicy::default()
        };
        client_of(policy).send(get(&url)).await
    };
    for own in [format!("0.0.0.0:{port}"), format!("[::]:{port}")] {
        let error = sent(&[own]).await.unwrap_err();
        assert_eq!(error.kind, HttpErrorKind::Forbidden);
        assert!(error.message.contains("is Pawl itself"), "{error}");
    }
    // Both ends of a connection are looked at; nothing is said over it.
    assert_eq!(server.requests().concat(), "");
    // Another port on all addresses, and this port at another address, belong to another program.
    let others = ["0.0.0.0:1".to_owned(), format!("127.0.0.1:{port}")];
    assert_eq!(sent(&others).await.unwrap().status, 200);
}

/// The name of the database had no address when the process started.
#[tokio::test]
async fn an_own_name_is_looked_up_again_for_each_connection() {
    let server = Server::saying(reply("200 OK", "", "")).await;
    let port = server.address.port();
    let sent = async |names: &[(&str, u16)]| {
        let names = names.iter().map(|(name, port)| ((*name).to_owned(), *port));
        let policy = AddressPolicy {
            allow_loopback: true,
            deny_own_names: names.collect(),
            ..AddressPolicy::default()
        };
        client_of(policy).send(get(&server.url("/"))).await
    };
    let own = ("localhost", port);
    for names in [&[own][..], &[("name.invalid", port), own]] {
        let error = sent(names).await.unwrap_err();
        assert_eq!(error.kind, HttpErrorKind::Forbidden);
        assert!(error.message.contains("is Pawl itself"), "{error}");
    }
    assert!(server.requests().is_empty());
    let others = [("localhost", 1), ("name.invalid", port)];
    assert_eq!(sent(&others).await.unwrap().status, 200);
}

#[tokio::test]
async fn what_cannot_be_asked_for() {
    for url in [
        "file:///etc/passwd",
        "ftp://h/",
        "gopher://h/",
        "data:,x",
        "unix:/run/x",
        "jar:http://h/!/",
    ] {
        fails(get(url), HttpErrorKind::InvalidUrl).await;
    }
    for url in [
        "http://example.com@127.0.0.1/",
        "http://u:p@h/",
        "http://127.0.0.1:0/",
    ] {
        fails(get(url), HttpErrorKind::InvalidUrl).await;
    }
}

async fn tls_server(certificate: &'static [u8], key: &'static [u8]) -> String {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key));
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(certificate)], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                serve(
                    stream,
                    Arc::new(|_| Answer::Bytes(reply("200 OK", "", "safe"))),
                    Arc::default(),
                )
                .await;
            }
        }
    });
    url
}

fn trusting_client() -> HttpClient {
    let policy = AddressPolicy {
        allow_loopback: true,
        ..AddressPolicy::default()
    };
    let extra_roots = vec![include_bytes!("testdata/ca.der").to_vec()];
    HttpClient::new(
        policy,
        HttpLimits {
            extra_roots,
            ..HttpLimits::default()
        },
    )
}

#[tokio::test]
async fn tls_with_a_trusted_certificate() {
    let url = tls_server(
        include_bytes!("testdata/good.der"),
        include_bytes!("testdata/good.key.der"),
    )
    .await;
    assert_eq!(
        trusting_client().send(get(&url)).await.unwrap().body,
        "safe"
    );
    let error = fails(get(&url), HttpErrorKind::Tls).await;
    assert!(!error.kind.is_retryable(), "an unknown authority");
}

#[tokio::test]
async fn tls_with_a_bad_certificate() {
    let other = tls_server(
        include_bytes!("testdata/other.der"),
        include_bytes!("testdata/other.key.der"),
    )
    .await;
    let expired = tls_server(
        include_bytes!("testdata/expired.der"),
        include_bytes!("testdata/expired.key.der"),
    )
    .await;
    for url in [other, expired] {
        let error = trusting_client().send(get(&url)).await.unwrap_err();
        assert_eq!(error.kind, HttpErrorKind::Tls, "{error}");
    }
}

#[tokio::test]
async fn https_to_a_plain_server_and_a_silent_one() {
    let plain = Server::saying(reply("400 Bad Request", "", "speak http")).await;
    fails(
        get(&format!("https://{}/", plain.address)),
        HttpErrorKind::Tls,
    )
    .await;
    let silent = Server::start("127.0.0.1", |_| Answer::Silence).await;
    let error = fails(
        get(&format!("https://{}/", silent.address)),
        HttpErrorKind::Connection,
    )
    .await;
    assert!(error.message.contains("within 2s"), "{error}");
}

#[test]
fn https_is_not_redirected_to_http() {
    let headers = HeaderMap::from_iter([(
        ::http::header::LOCATION,
        HeaderValue::from_static("http://h/"),
    )]);
    let error = super::redirect::next(&get("https://h/"), StatusCode::FOUND, &headers).unwrap_err();
    assert_eq!(error.kind, HttpErrorKind::Redirect);
    let next =
        super::redirect::next(&get("https://h/"), StatusCode::NOT_MODIFIED, &headers).unwrap();
    assert!(next.is_none(), "304 is no redirect");
}

//! The UI as browsers get it: a page for every address that is no other's, and its files.

use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::json;

use crate::client::{Answer, Request, send_unchecked};
use crate::server::{Server, linear};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

fn page(path: &str) -> Request {
    Request::new("GET", path).header("Accept", BROWSER)
}

/// What stands between quotes behind `start`.
fn named<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    let places = text.split(start).skip(1);
    places.filter_map(|rest| rest.split('"').next()).collect()
}

fn unpacked(answer: &Answer) -> String {
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    let mut text = String::new();
    GzDecoder::new(&*answer.body)
        .read_to_string(&mut text)
        .unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_gets_the_page_everywhere_without_a_login() {
    let server = Server::locked().await;
    for path in [
        "/",
        "/login",
        "/runs/x?step=3",
        "/schemas/order-check/edit",
        "/apiary",
        "/health-of-all",
    ] {
        let answer = server.send_as("", page(path)).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(
            answer.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(
            answer.header("cross-origin-opener-policy"),
            Some("same-origin")
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    for path in ["/api", "/api/nothing", "/webhook", "/metrics"] {
        server
            .send_as("", page(path))
            .await
            .refuses(401, "UNAUTHORIZED");
    }
    for asked in [
        Request::new("GET", "/"),
        Request::new("GET", "/runs").header("Accept", "*/*"),
        Request::new("POST", "/runs").header("Accept", BROWSER),
    ] {
        server.send_as("", asked).await.refuses(401, "UNAUTHORIZED");
    }
    let head = Request::new("HEAD", "/").header("Accept", BROWSER);
    let head = server.send_as("", head).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_come_from_the_folder_of_the_ui_and_from_nowhere_else() {
    let server = Server::start().await;
    let answer = server.send(page("/")).await;
    let policy = answer.header("content-security-policy").unwrap().to_owned();
    let scripts = format!("http://{}/assets/", server.address);
    let nonce = named(&answer.text(), "name=\"csp-nonce\" content=\"")[0].to_owned();
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; script-src {scripts}; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; \
             connect-src 'self'; worker-src {scripts}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; \
             require-trusted-types-for 'script'; trusted-types pawl-worker"
        )
    );
    assert!(nonce.len() == 32 && !answer.text().contains("__NONCE__"));
    let again = server.send(page("/")).await;
    assert_ne!(
        again.header("content-security-policy"),
        Some(&*policy),
        "a nonce is used once"
    );
    let foreign = page("/").header("Host", "evil.example");
    server.send(foreign).await.refuses(403, "FORBIDDEN");
    let asset = Request::new("GET", "/assets/main.js").header("Host", "evil.example");
    server.send(asset).await.refuses(403, "FORBIDDEN");
    server.close().await;

    let server = Server::presented("[ui]\npublic_url = \"https://pawl.example/\"").await;
    let answer = server.send_as("", page("/")).await;
    let policy = answer.header("content-security-policy").unwrap();
    // Also under a name of the machine, which the health check of a proxy or an operator uses.
    let both = format!(
        "http://{}/assets/ https://pawl.example/assets/;",
        server.address
    );
    for directive in ["script-src", "worker-src"] {
        assert!(policy.contains(&format!("{directive} {both}")), "{policy}");
    }
    let proxied = page("/").header("Host", "pawl.example");
    let answer = server.send_as("", proxied).await;
    let policy = answer.header("content-security-policy").unwrap();
    let both = "script-src http://pawl.example/assets/ https://pawl.example/assets/;";
    assert!(policy.contains(both), "{policy}");
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_file_that_the_page_names_is_there_and_is_kept() {
    let server = Server::locked().await;
    let text = server.send_as("", page("/")).await.text();
    let files = [named(&text, "src=\""), named(&text, "href=\"")].concat();
    assert!(files.len() >= 2, "{text}");
    for path in files {
        let whole = server.send_as("", Request::new("GET", path)).await;
        assert_eq!(whole.status, 200, "{path}");
        assert_eq!(whole.header("cache-control"), Some("no-cache"), "{path}");
        assert_eq!(whole.header("content-encoding"), None, "{path}");
        let tag = whole.header("etag").unwrap().to_owned();
        let again = Request::new("GET", path).header("If-None-Match", &tag);
        let again = server.send_as("", again).await;
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert_eq!(again.header("etag"), Some(&*tag), "{path}");
        let other = Request::new("GET", path).header("If-None-Match", "W/\"other\"");
        assert_eq!(server.send_as("", other).await.status, 200, "{path}");
        let packed = Request::new("GET", path).header("Accept-Encoding", "br, gzip");
        let packed = server.send_as("", packed).await;
        if packed.header("content-encoding").is_some() {
            assert_eq!(unpacked(&packed), whole.text(), "{path}");
            assert_eq!(packed.header("vary"), Some("accept-encoding"));
        }
    }
    for path in [
        "/assets/",
        "/assets/no.js",
        "/assets/../index.html",
        "/assets/%2e%2e/index.html",
    ] {
        let answer = server.send_as("", Request::new("GET", path)).await;
        assert_eq!(answer.status, 404, "{path}");
    }
    server.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_json_is_compressed_for_those_who_ask_for_it() {
    let server = Server::start().await;
    let ask = async |path: &str| {
        let request = Request::new("GET", path).header("Accept-Encoding", "gzip, deflate");
        send_unchecked(server.address, request).await
    };
    let long = ask("/api/openapi.json").await;
    let plain = server.get("/api/openapi.json").await;
    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(unpacked(&long), plain.text());
    assert!(long.body.len() * 4 < plain.body.len());
    assert_eq!(long.header("vary"), Some("accept-encoding"));
    let short = ask("/api/executions").await;
    assert_eq!(
        (
            short.header("content-encoding"),
            short.expect(200)["items"].clone()
        ),
        (None, json!([]))
    );
    let page = ask("/api/docs").await;
    assert_eq!(page.header("content-encoding"), None);
    let head = Request::new("HEAD", "/api/openapi.json").header("Accept-Encoding", "gzip");
    assert_eq!(send_unchecked(server.address, head).await.body.len(), 0);
    server.save(linear("orders")).await;
    server.close().await;
}

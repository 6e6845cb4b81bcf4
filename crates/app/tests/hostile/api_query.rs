//! Paths, queries and heads of requests.

use crate::client::Request;
use crate::tally::Tally;
use crate::world::{Place, World};

const DOOR: &str = "API query";

/// Asked for with GET.
const TARGETS: &[(&str, &str)] = &[
    ("/api/executions?limit=0", "400 INVALID_QUERY"),
    ("/api/executions?limit=501", "400 INVALID_QUERY"),
    ("/api/executions?limit=-1", "400 INVALID_QUERY"),
    ("/api/executions?limit=1e3", "400 INVALID_QUERY"),
    (
        "/api/executions?limit=99999999999999999999",
        "400 INVALID_QUERY",
    ),
    ("/api/executions?limit=5&limit=6", "400 INVALID_QUERY"),
    ("/api/executions?limt=5", "400 INVALID_QUERY"),
    ("/api/executions?cursor=x", "400 INVALID_CURSOR"),
    (
        "/api/executions?cursor=../../etc/passwd",
        "400 INVALID_CURSOR",
    ),
    ("/api/executions?cursor=%00", "400 INVALID_CURSOR"),
    ("/api/executions?status=done", "400 INVALID_QUERY"),
    ("/api/executions?status=completed,", "400 INVALID_QUERY"),
    ("/api/executions?since=yesterday", "400 INVALID_QUERY"),
    ("/api/executions?since=1700000000", "400 INVALID_QUERY"),
    (
        "/api/executions?until=9999999-01-01T00:00:00Z",
        "400 INVALID_QUERY",
    ),
    ("/api/executions?schema=no-such", "404 NOT_FOUND"),
    (
        "/api/executions?schema=%27%3B%20DROP%20TABLE%20executions",
        "404 NOT_FOUND",
    ),
    ("/api/executions?text=%00", "200"),
    ("/api/executions?text=%25%27%20OR%201%3D1--", "200"),
    ("/api/executions?tenant=%ff", "200"),
    ("/api/executions?__proto__=1", "400 INVALID_QUERY"),
    ("/api/executions/x", "404 NOT_FOUND"),
    (
        "/api/executions/00000000-0000-0000-0000-000000000000",
        "404 NOT_FOUND",
    ),
    ("/api/executions/%2e%2e%2fschemas", "404 NOT_FOUND"),
    ("/api/executions/%00", "404 NOT_FOUND"),
    ("/api/executions/%ff", "404 NOT_FOUND"),
    ("/api/executions/x/steps/-1/context", "404 NOT_FOUND"),
    ("/api/executions/x/events?after=x", "404 NOT_FOUND"),
    ("/api/schemas/known?version=0", "404 NOT_FOUND"),
    ("/api/schemas/known?version=x", "400 INVALID_QUERY"),
    ("/api/schemas/..%2f..%2fetc%2fpasswd", "404 NOT_FOUND"),
    ("/api/schemas?text=%F0%9F%92%A9%E2%80%AE", "200"),
    ("/api/dead-letters/99999999999999999999", "404 NOT_FOUND"),
    ("/api/quotas/planet/x", "404 NOT_FOUND"),
    ("/api/node-types/%2e%2e", "404 NOT_FOUND"),
    ("/api/scheduled-actions/%00", "404 NOT_FOUND"),
    ("/api/../api/executions", "404 NOT_FOUND"),
    ("//api/executions", "404 NOT_FOUND"),
    ("/API/executions", "404 NOT_FOUND"),
    ("/metrics/", "404 NOT_FOUND"),
    ("/.env", "404 NOT_FOUND"),
];

/// Heads by hand, of a request for `/api/executions`.
const HEADS: &[(&str, &str)] = &[
    ("GET /api/executions HTTP/1.1\r\n\r\n", "400 INVALID_HEADER"),
    (
        "GET /api/executions HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "403 FORBIDDEN",
    ),
    (
        "GET /api/executions HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n",
        "400 INVALID_HEADER",
    ),
    (
        "GET /api/executions HTTP/1.1\r\nHost: 127.0.0.1:evil\r\n\r\n",
        "400 INVALID_HEADER",
    ),
    (
        "GET /api/executions HTTP/1.1\r\nHost: 127.0.0.1:80@evil.example\r\n\r\n",
        "400 INVALID_HEADER",
    ),
    (
        "GET /api/executions HTTP/1.1\r\nHost: [127.0.0.1\r\n\r\n",
        "400 INVALID_HEADER",
    ),
    (
        "GET http://evil.example/api/executions HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "400 INVALID_HEADER",
    ),
    (
        "GET /api/executions HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
        "400",
    ),
    (
        "GET  /api/executions HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "400",
    ),
    (
        "GET /api/exec utions HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "400",
    ),
    ("\u{16}\u{3}\u{1}\u{2}\u{0}\r\n\r\n", "400"),
    (
        "POST /api/executions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "400 INVALID_JSON",
    ),
    (
        "POST /api/executions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        "400",
    ),
];

pub(crate) async fn knock(world: &World, tally: &mut Tally) {
    for (target, expected) in TARGETS {
        tally.count(DOOR);
        let act = async |place: &Place| place.answer(Request::new("GET", target)).await;
        world.everywhere(tally, target, expected, act).await;
    }
    for (head, expected) in HEADS {
        tally.count(DOOR);
        let act = async |place: &Place| {
            let closing = head.replacen("\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1);
            place.answer_raw(closing.as_bytes()).await
        };
        world.everywhere(tally, head, expected, act).await;
    }
    let long = Request::new(
        "GET",
        &format!("/api/executions?text={}", "x".repeat(100_000)),
    );
    let many = (0..500).fold(Request::new("GET", "/api/executions"), |request, number| {
        request.header(&format!("X-{number}"), &"x".repeat(200))
    });
    for (what, request, expected) in [("a long query", long, "414"), ("many headers", many, "431")]
    {
        tally.count(DOOR);
        let act = async |place: &Place| place.answer(request.clone()).await;
        world.everywhere(tally, what, expected, act).await;
    }
}

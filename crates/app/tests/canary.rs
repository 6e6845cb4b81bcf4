//! A key is shown once. After that it is in no log, list, error or file, whatever is done with it.

#![allow(clippy::unwrap_used, dead_code)]

#[path = "api/client.rs"]
mod client;
#[path = "api/contract.rs"]
mod contract;
#[path = "api/server.rs"]
mod server;

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;

use client::Request;
use server::{ADMIN_KEY, Server};

/// Everything that is logged, by whoever runs on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// On one thread, so that the log of all tasks comes together; and in a process of its own, because other tests
/// decide for all threads what is worth logging.
#[tokio::test]
async fn a_secret_is_in_no_log_list_error_or_file() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let server = Server::locked().await;
    let (viewer, _) = server.key("canary", "viewer").await;
    let (admin, admin_id) = server.key("canary-admin", "admin").await;
    let mut told = Vec::new();
    for key in [&viewer, &admin] {
        for asked in [
            Request::new("GET", "/api/executions"),
            Request::new("GET", "/api/keys"),
            Request::new("GET", &format!("/api/executions?key={key}")),
            Request::new("DELETE", &format!("/api/keys/{key}")),
            Request::new("POST", "/api/keys").json(&json!({"name": key, "role": "viewer"})),
            Request::new("POST", "/api/keys").json(&json!({"name": "x", "role": key})),
            Request::new("POST", "/api/keys")
                .json(&json!({"name": "x", "role": "viewer", "hash": key})),
            Request::new("POST", "/api/executions").json(&json!({"schema": "none"})),
        ] {
            told.push(server.send_as(key, asked).await.text());
        }
        for value in [
            format!("Basic {key}"),
            format!("Bearer {key}x"),
            (*key).clone(),
        ] {
            let odd = Request::new("GET", "/api/keys").header("Authorization", &value);
            told.push(server.send(odd).await.text());
        }
    }
    let gone = Request::new("DELETE", &format!("/api/keys/{admin_id}"));
    told.push(server.send_as(&admin, gone).await.text());
    told.push(server.get("/api/keys").await.text());
    let folder = server.close().await;
    let database = std::fs::read(folder.path().join("pawl.db")).unwrap();
    let files = [String::from_utf8_lossy(&database).into_owned()];
    let logged = log.text();
    assert!(logged.contains("a key was made") && logged.contains("a key was revoked"));
    assert!(
        logged.contains("key:canary-admin") && logged.contains("/api/keys/{id}"),
        "{logged}"
    );
    assert!(files.iter().any(|file| file.contains("canary-admin")));
    for key in [&viewer, &admin, &ADMIN_KEY.to_owned()] {
        // Not even a part of it: the end, and what follows the id.
        let (end, begin) = (
            &key[key.len() - 16..],
            &key[key.len().saturating_sub(50)..][..16],
        );
        for (place, texts) in [
            ("answers", &told[..]),
            ("files", &files[..]),
            ("log", &[logged.clone()][..]),
        ] {
            for text in texts {
                assert!(
                    !text.contains(end) && !text.contains(begin),
                    "{place}: {text}"
                );
            }
        }
    }
}

//! A network between a process and a server that can be listened to and broken at an exact byte.
//!
//! What is caught here is on its way like a packet in a slow network: it arrives when it is let go, even if its sender
//! is dead by then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::site::PATIENCE;

pub(crate) struct Tap {
    port: u16,
    rules: Arc<Rules>,
    accepting: JoinHandle<()>,
}

/// What happens to the bytes that are waited for.
#[derive(Clone, Copy, PartialEq)]
enum Trap {
    /// They and all that follows on their connection wait.
    Hold,
    /// They never arrive, and their connection is cut.
    Lose,
}

struct Rules {
    trap: Mutex<Option<(Vec<u8>, Trap)>>,
    caught: watch::Sender<bool>,
    held: watch::Sender<bool>,
    /// Nothing comes back from the server.
    mute: watch::Sender<bool>,
    /// Before each piece that goes to the server.
    delay: watch::Sender<Duration>,
    questions: AtomicU64,
}

impl Tap {
    pub(crate) async fn start(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let rules = Arc::new(Rules {
            trap: Mutex::default(),
            caught: watch::Sender::new(false),
            held: watch::Sender::new(true),
            mute: watch::Sender::new(false),
            delay: watch::Sender::default(),
            questions: AtomicU64::default(),
        });
        let forwarding = rules.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // A server that is down refuses; so do we.
                if let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await {
                    forward(client, server, &forwarding);
                }
            }
        });
        Self {
            port,
            rules,
            accepting,
        }
    }

    /// The same address by way of this tap.
    pub(crate) fn instead_of(&self, url: &str) -> String {
        url.replace(&format!(":{}/", port_of(url)), &format!(":{}/", self.port))
    }

    /// The next piece with these bytes waits, until [`Tap::let_go`].
    pub(crate) fn hold_on(&self, pattern: &[u8]) {
        self.set(pattern, Trap::Hold);
    }

    /// The next piece with these bytes is lost with its connection.
    pub(crate) fn lose_on(&self, pattern: &[u8]) {
        self.set(pattern, Trap::Lose);
    }

    fn set(&self, pattern: &[u8], trap: Trap) {
        self.rules.caught.send_replace(false);
        self.rules.held.send_replace(true);
        *self.rules.trap.lock().unwrap() = Some((pattern.to_vec(), trap));
    }

    /// Waits until the bytes have come.
    pub(crate) async fn caught(&self) {
        let mut caught = self.rules.caught.subscribe();
        let waiting = tokio::time::timeout(PATIENCE, caught.wait_for(|caught| *caught));
        let _ = waiting.await.expect("these bytes were never sent").unwrap();
    }

    pub(crate) fn let_go(&self) {
        self.rules.held.send_replace(false);
    }

    pub(crate) fn mute(&self, mute: bool) {
        self.rules.mute.send_replace(mute);
    }

    /// How often PostgreSQL was asked something.
    pub(crate) fn questions(&self) -> u64 {
        self.rules.questions.load(Ordering::Relaxed)
    }

    pub(crate) fn delay(&self, delay: Duration) {
        self.rules.delay.send_replace(delay);
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

pub(crate) fn port_of(url: &str) -> u16 {
    let authority = url.split("://").nth(1).unwrap().split('/').next().unwrap();
    authority.rsplit(':').next().unwrap().parse().unwrap()
}

fn forward(client: TcpStream, server: TcpStream, rules: &Arc<Rules>) {
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::spawn(upwards(from_client, to_server, rules.clone()));
    tokio::spawn(downwards(from_server, to_client, rules.clone()));
}

async fn upwards(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, rules: Arc<Rules>) {
    let mut buffer = vec![0; 64 * 1024];
    let mut seen = Vec::new();
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        // A statement that is prepared is not asked yet.
        let asked = u64::from(buffer[0] != b'P');
        rules.questions.fetch_add(asked, Ordering::Relaxed);
        seen.extend_from_slice(&buffer[..length]);
        match rules.spring(&mut seen) {
            // The server sees the end, ends its own side, and the client sees that.
            Some(Trap::Lose) => return,
            Some(Trap::Hold) => {
                let mut held = rules.held.subscribe();
                let _ = held.wait_for(|held| !held).await;
            }
            None => {}
        }
        let delay = *rules.delay.borrow();
        tokio::time::sleep(delay).await;
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

async fn downwards(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, rules: Arc<Rules>) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let mut mute = rules.mute.subscribe();
        let _ = mute.wait_for(|mute| !mute).await;
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

impl Rules {
    /// Takes the trap if its bytes are in what was seen; keeps as much as may be their beginning.
    fn spring(&self, seen: &mut Vec<u8>) -> Option<Trap> {
        let mut trap = self.trap.lock().unwrap();
        let Some((pattern, kind)) = &*trap else {
            seen.clear();
            return None;
        };
        let (size, kind) = (pattern.len(), *kind);
        let found = seen.windows(size).any(|window| window == pattern);
        seen.drain(..seen.len().saturating_sub(size - 1));
        if !found {
            return None;
        }
        *trap = None;
        self.caught.send_replace(true);
        Some(kind)
    }
}

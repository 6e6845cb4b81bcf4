//! A network that fails on command: a TCP forwarder to a port of 127.0.0.1.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::ports;
use super::process::until;

/// How long a change of the listener may take before we give up on it.
const SWITCH_LIMIT: Duration = Duration::from_secs(10);
/// How long a server that is stopped may keep a new connection, and the acceptor, waiting.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// A forwarder; dropping it cuts all connections and closes its port.
pub struct Proxy {
    port: u16,
    shared: Arc<ProxyShared>,
}

impl Proxy {
    /// Forwards a free port of 127.0.0.1 to the port `target_port`.
    pub fn start(target_port: u16) -> Result<Proxy, String> {
        let (port, listener) = ports::listen()?;
        let shared = Arc::new(ProxyShared {
            target_port,
            state: Mutex::new(State {
                listening: true,
                ..State::default()
            }),
            changed: Condvar::new(),
        });
        let acceptor = Arc::clone(&shared);
        std::thread::spawn(move || acceptor.accept_all(port, listener));
        Ok(Proxy { port, shared })
    }

    /// The port on 127.0.0.1 that clients connect to, always the same.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many connections have been accepted so far.
    pub fn count(&self) -> usize {
        self.shared.state().accepted
    }

    /// How many connections are open now.
    pub fn open(&self) -> usize {
        self.shared.state().pairs.len()
    }

    /// Closes all connections on both sides at once; what was under way is lost.
    pub fn cut(&self) {
        self.shared.state().cut_all();
        self.shared.changed.notify_all();
    }

    /// Closes the port, so that new connections are refused, or opens it again. Open connections live on.
    pub fn refuse(&self, refuse: bool) {
        self.shared.state().refuse = refuse;
        self.shared.changed.notify_all();
        if refuse {
            let _ = self.wake_acceptor();
        }
        self.shared
            .wait(SWITCH_LIMIT, |state| state.listening != refuse);
        if refuse {
            // A child that some thread is spawning has a copy of the listener for an instant more.
            until(SWITCH_LIMIT, || self.wake_acceptor().err());
        }
    }

    /// A black hole: connections stay open and new ones are taken, but no byte passes in either direction until
    /// this is taken back. What is sent meanwhile arrives then.
    pub fn stall(&self, stall: bool) {
        self.shared.state().stalled = stall;
        self.shared.changed.notify_all();
    }

    /// Cuts the connection on which a client next sends these bytes: the server gets them and does what they say, but
    /// its answer is lost. The cut comes with the first byte of the answer, so the server has certainly acted, provided
    /// that the client waits for each answer before it sends on, and does not speak TLS.
    pub fn cut_on_next(&self, pattern: &[u8]) {
        let mut state = self.shared.state();
        state.trap = Some(pattern.to_vec());
        state.sprung = false;
    }

    /// Waits until the connection that [`cut_on_next`](Self::cut_on_next) is for has been cut.
    pub fn wait_for_cut(&self, limit: Duration) -> bool {
        self.shared.wait(limit, |state| state.sprung)
    }

    /// The acceptor sleeps in `accept`; only a connection wakes it.
    fn wake_acceptor(&self) -> std::io::Result<()> {
        TcpStream::connect(("127.0.0.1", self.port)).map(drop)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.cut();
        let _ = self.wake_acceptor();
    }
}

struct ProxyShared {
    target_port: u16,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    listening: bool,
    refuse: bool,
    closed: bool,
    stalled: bool,
    /// The bytes that the next client to send them will get no answer to.
    trap: Option<Vec<u8>>,
    sprung: bool,
    accepted: usize,
    pairs: HashMap<usize, Pair>,
}

/// Both ends of a forwarded connection.
struct Pair {
    client: TcpStream,
    server: TcpStream,
    /// The client has sent the bytes of the trap; the server's next answer springs it.
    trapped: bool,
}

impl State {
    fn cut_all(&mut self) {
        for (_, pair) in self.pairs.drain() {
            let _ = pair.client.shutdown(Shutdown::Both);
            let _ = pair.server.shutdown(Shutdown::Both);
        }
    }
}

impl ProxyShared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a condition on the state; false when the time is over first.
    fn wait(&self, limit: Duration, done: impl Fn(&State) -> bool) -> bool {
        let deadline = Instant::now() + limit;
        let mut state = self.state();
        while !done(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }

    fn set_listening(&self, listening: bool) {
        self.state().listening = listening;
        self.changed.notify_all();
    }

    fn accept_all(self: Arc<Self>, port: u16, first: TcpListener) {
        let mut listener = first;
        loop {
            self.accept_until_refused(&listener);
            drop(listener);
            self.set_listening(false);
            while !self.wait(SWITCH_LIMIT, |state| !state.refuse || state.closed) {}
            if self.state().closed {
                return;
            }
            // No other program takes this port, but a child that is being spawned may hold a copy for an instant.
            let bind = || TcpListener::bind(("127.0.0.1", port)).ok();
            match until(SWITCH_LIMIT, bind) {
                Some(again) => listener = again,
                None => return,
            }
            self.set_listening(true);
        }
    }

    fn accept_until_refused(self: &Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming() {
            let mut state = self.state();
            if state.refuse || state.closed {
                return;
            }
            state.accepted += 1;
            let number = state.accepted;
            drop(state);
            // A connection that cannot be forwarded is closed: its server is down.
            if let Ok(client) = client {
                let _ = self.forward(number, client);
            }
        }
    }

    fn forward(self: &Arc<Self>, number: usize, client: TcpStream) -> std::io::Result<()> {
        let target = SocketAddr::from(([127, 0, 0, 1], self.target_port));
        let server = TcpStream::connect_timeout(&target, CONNECT_LIMIT)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let pair = Pair {
            client: client.try_clone()?,
            server: server.try_clone()?,
            trapped: false,
        };
        let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
        self.state().pairs.insert(number, pair);
        let (up, down) = (Arc::clone(self), Arc::clone(self));
        std::thread::spawn(move || up.pump_up(number, from_client, to_server));
        std::thread::spawn(move || down.pump_down(number, server, client));
        Ok(())
    }

    /// Client to server; sets the trap before the server can see the bytes that it is for.
    fn pump_up(&self, number: usize, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; 16 * 1024];
        let mut seen: Vec<u8> = Vec::new();
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if !self.may_pass(number) {
                break;
            }
            seen.extend_from_slice(&buffer[..length]);
            self.look_for_pattern(number, &mut seen);
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    }

    /// Server to client. A server that has ended its side ends the connection.
    fn pump_down(&self, number: usize, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; 16 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if !self.may_pass(number) {
                break;
            }
            if self.spring(number) {
                // The rest is read, so that the server sees an orderly end and finishes what it does.
                while let Ok(1..) = from.read(&mut buffer) {}
                break;
            }
            if to.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
        self.state().pairs.remove(&number);
        self.changed.notify_all();
    }

    /// Waits while stalled; false for a connection that has been cut.
    fn may_pass(&self, number: usize) -> bool {
        let mut state = self.state();
        while state.stalled && state.pairs.contains_key(&number) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.pairs.contains_key(&number)
    }

    /// Keeps as much of `seen` as may be the beginning of the pattern.
    fn look_for_pattern(&self, number: usize, seen: &mut Vec<u8>) {
        let mut state = self.state();
        let Some(pattern) = &state.trap else {
            // A pattern that is set later starts later.
            return seen.clear();
        };
        let size = pattern.len().max(1);
        if seen.windows(size).any(|window| window == pattern) {
            state.trap = None;
            if let Some(pair) = state.pairs.get_mut(&number) {
                pair.trapped = true;
            }
        }
        seen.drain(..seen.len().saturating_sub(size - 1));
    }

    /// Cuts the client off if its connection is trapped.
    fn spring(&self, number: usize) -> bool {
        let mut state = self.state();
        let Some(pair) = state.pairs.get(&number).filter(|pair| pair.trapped) else {
            return false;
        };
        let _ = pair.client.shutdown(Shutdown::Both);
        let _ = pair.server.shutdown(Shutdown::Write);
        state.sprung = true;
        drop(state);
        self.changed.notify_all();
        true
    }
}

//! Free ports and unique names.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// A free port of 127.0.0.1, for a server that takes it soon; one that finds it taken must ask again.
pub(super) fn free() -> Result<u16, String> {
    listen().map(|(port, _)| port)
}

/// Listens on a port of 127.0.0.1 below the range that the kernel gives to outgoing connections.
///
/// From inside of that range, another program's connection could take the port while its server is down for a test, and
/// a client that tries to reconnect could even be connected to itself.
pub(super) fn listen() -> Result<(u16, TcpListener), String> {
    let lowest = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<u16>().ok())
        .unwrap_or(32_768);
    let first = 10_000;
    let span = u64::from(lowest.saturating_sub(first)).max(1);
    (0..200)
        .map(|_| first + u16::try_from(random() % span).unwrap_or_default())
        .find_map(|port| Some((port, TcpListener::bind(("127.0.0.1", port)).ok()?)))
        .ok_or_else(|| format!("no free port on 127.0.0.1 between {first} and {lowest}"))
}

/// The standard library's only source of randomness: the keys of its hash maps.
pub(super) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// A name that no other test, process or earlier run has, fit for databases, vhosts and files.
pub(super) fn unique(prefix: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let kept: String = prefix
        .to_lowercase()
        .chars()
        .map(|letter| match letter {
            'a'..='z' | '0'..='9' => letter,
            _ => '_',
        })
        .take(30)
        .collect();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{kept}_{:08x}_{count}", random() as u32)
}

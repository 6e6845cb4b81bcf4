//! Who was turned away for want of a good key: a line in the log with the address, not one per try.

use std::net::IpAddr;

use axum::http::StatusCode;

use super::access::AUDIT;
use super::sampled::Sampled;
use super::serve::{Peer, peer_of};

#[derive(Default)]
pub(super) struct Knocks(Sampled<IpAddr>);

impl Knocks {
    /// `door` is what was knocked at: a kind, not the path that a stranger wrote.
    pub(super) fn answered(&self, peer: Option<Peer>, door: &'static str, status: StatusCode) {
        let Some(Peer(address)) = peer.filter(|_| status == StatusCode::UNAUTHORIZED) else {
            return;
        };
        self.0.note(peer_of(address), move |peer, refused| {
            let peer = peer.map_or_else(|| "many others".to_owned(), ToString::to_string);
            tracing::warn!(target: AUDIT, peer, door, refused, "no good key: turned away");
        });
    }
}

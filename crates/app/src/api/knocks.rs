//! Who was turned away for want of a good key: a line in the log with the address, not one per try.

use std::net::IpAddr;

use axum::http::StatusCode;

use super::access::AUDIT;
use super::sampled::LogSampler;
use super::serve::{Peer, peer_of};

#[derive(Default)]
pub(super) struct Knocks(LogSampler<(IpAddr, &'static str)>);

impl Knocks {
    /// `door` is what was knocked at: a kind, not the path that a stranger wrote.
    pub(super) fn answered(&self, peer: Option<Peer>, door: &'static str, status: StatusCode) {
        let Some(Peer(address)) = peer.filter(|_| status == StatusCode::UNAUTHORIZED) else {
            return;
        };
        self.0.note((peer_of(address), door), |subject, refused| {
            let (peer, door) = match subject {
                Some((peer, door)) => (peer.to_string(), *door),
                None => ("many others".to_owned(), "any"),
            };
            tracing::warn!(target: AUDIT, peer, door, refused, "no good key: turned away");
        });
    }
}

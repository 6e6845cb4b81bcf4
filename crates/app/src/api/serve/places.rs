//! Places for connections: how many there are, how many of them one peer may have, and the few that are kept for probes.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// Connections beyond the limits that are let in, so that `/health/*` and `/metrics` answer however many others there are.
pub(super) const KEPT_FOR_PROBES: usize = 8;

/// Why a connection gets no place of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    Server,
    Peer,
}

/// A peer as it is counted. A home or a machine has a whole /64 of IPv6 for itself.
pub(in crate::api) fn peer_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let network = u128::from(v6) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
        v4 => v4,
    }
}

pub(super) struct ConnectionPlaces {
    free: Arc<Semaphore>,
    /// `None`: a peer may have all.
    per_peer: Option<usize>,
    taken: Arc<OpenConnections>,
}

#[derive(Default)]
struct OpenConnections(Mutex<HashMap<IpAddr, usize>>);

impl OpenConnections {
    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to be connected, until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPlace {
    _permit: OwnedSemaphorePermit,
    _share: Option<Share>,
}

struct Share {
    peer: IpAddr,
    taken: Arc<OpenConnections>,
}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "of {}", self.peer)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.taken.lock();
        if let Some(count) = taken.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.peer);
            }
        }
    }
}

impl ConnectionPlaces {
    /// `per_peer` 0: no limit of its own.
    pub(super) fn new(connections: usize, per_peer: usize) -> Self {
        Self {
            free: Arc::new(Semaphore::new(connections)),
            per_peer: (per_peer > 0).then_some(per_peer),
            taken: Arc::default(),
        }
    }

    pub(super) fn take(&self, address: IpAddr) -> Result<ConnectionPlace, Full> {
        let permit = self.free.clone().try_acquire_owned();
        let permit = permit.map_err(|_| Full::Server)?;
        let share = match self.per_peer {
            Some(most) => Some(self.share(peer_of(address), most).ok_or(Full::Peer)?),
            None => None,
        };
        Ok(ConnectionPlace {
            _permit: permit,
            _share: share,
        })
    }

    fn share(&self, peer: IpAddr, most: usize) -> Option<Share> {
        let mut taken = self.taken.lock();
        let count = taken.entry(peer).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Share {
            peer,
            taken: self.taken.clone(),
        })
    }
}

/// The connections that have one of the kept places. One that has asked for nothing makes room for the next, so that idle
/// connections cannot take these places either.
#[derive(Default)]
pub(super) struct Reserve(VecDeque<Guest>);

struct Guest {
    task: AbortHandle,
    asked: Arc<AtomicBool>,
}

impl Reserve {
    /// Is there room for one more? Makes it, if it can.
    pub(super) fn make_room(&mut self) -> bool {
        self.0.retain(|guest| !guest.task.is_finished());
        if self.0.len() < KEPT_FOR_PROBES {
            return true;
        }
        let is_idle = |guest: &Guest| !guest.asked.load(Ordering::Relaxed);
        let Some(oldest) = self.0.iter().position(is_idle) else {
            return false;
        };
        if let Some(guest) = self.0.remove(oldest) {
            guest.task.abort();
        }
        true
    }

    pub(super) fn add(&mut self, task: AbortHandle, asked: Arc<AtomicBool>) {
        self.0.push_back(Guest { task, asked });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_peer_leaves_places_to_others() {
        let places = ConnectionPlaces::new(3, 2);
        let first = places.take(ip("10.0.0.1")).unwrap();
        let _second = places.take(ip("::ffff:10.0.0.1")).unwrap();
        assert_eq!(places.take(ip("10.0.0.1")).unwrap_err(), Full::Peer);
        let _other = places.take(ip("10.0.0.2")).unwrap();
        assert_eq!(places.take(ip("10.0.0.3")).unwrap_err(), Full::Server);
        drop(first);
        assert!(places.take(ip("10.0.0.1")).is_ok());
        assert_eq!(places.taken.lock().len(), 2, "who has left is forgotten");
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer() {
        let places = ConnectionPlaces::new(9, 1);
        let _one = places.take(ip("2001:db8:1:2::1")).unwrap();
        assert_eq!(
            places.take(ip("2001:db8:1:2::ffff")).unwrap_err(),
            Full::Peer
        );
        assert!(places.take(ip("2001:db8:1:3::1")).is_ok());
    }

    #[test]
    fn behind_a_proxy_all_are_one_peer_without_a_limit() {
        let places = ConnectionPlaces::new(3, 0);
        let all: Vec<_> = (0..3).map(|_| places.take(ip("10.0.0.1"))).collect();
        assert!(all.iter().all(Result::is_ok));
        assert_eq!(places.take(ip("10.0.0.1")).unwrap_err(), Full::Server);
    }

    #[tokio::test]
    async fn guests_that_ask_for_nothing_make_room() {
        let mut reserve = Reserve::default();
        let mut tasks = Vec::new();
        for number in 0..KEPT_FOR_PROBES {
            assert!(reserve.make_room());
            let task = tokio::spawn(std::future::pending::<()>());
            let asked = Arc::new(AtomicBool::new(number != 3));
            reserve.add(task.abort_handle(), asked);
            tasks.push(task);
        }
        assert!(reserve.make_room(), "the idle one goes");
        assert!(tasks.remove(3).await.unwrap_err().is_cancelled());
        let task = tokio::spawn(std::future::pending::<()>());
        reserve.add(task.abort_handle(), Arc::new(AtomicBool::new(true)));
        assert!(!reserve.make_room(), "all of them are being answered");
        tasks[0].abort();
        let _ = tasks.remove(0).await;
        assert!(reserve.make_room(), "one has gone");
    }
}

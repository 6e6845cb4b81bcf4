//! FairSemaphore at the children, as many as there are children: first come, first served, but never all of them to one
//! owner. Code of one schema that loops without end must not stop that of all others.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use crate::error::{Code, ScriptError};
use crate::pool::lock;

pub(crate) type Owner = Option<Arc<str>>;

pub(crate) struct FairSemaphore {
    max: usize,
    queue_max: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    taken: usize,
    taken_by: HashMap<Arc<str>, usize>,
    /// None of these could have a place now.
    waiting: VecDeque<WaitingOwner>,
}

struct WaitingOwner {
    owner: Owner,
    hand: oneshot::Sender<ChildPermit>,
}

/// A place, left on drop.
pub(crate) struct ChildPermit {
    places: Arc<FairSemaphore>,
    owner: Owner,
}

impl Drop for ChildPermit {
    fn drop(&mut self) {
        self.places.leave(self.owner.take());
    }
}

impl FairSemaphore {
    pub(crate) fn new(max: usize, queue_max: usize) -> Arc<Self> {
        Arc::new(Self {
            max: max.max(1),
            queue_max,
            state: Mutex::default(),
        })
    }

    pub(crate) async fn take(self: &Arc<Self>, owner: Owner) -> Result<ChildPermit, ScriptError> {
        let place = {
            let mut state = lock(&self.state);
            if self.has_room(&state, &owner) {
                state.add(&owner);
                return Ok(self.place(owner));
            }
            state.waiting.retain(|waiting| !waiting.hand.is_closed());
            if !self.has_queue(&state, &owner) {
                return Err(self.too_many());
            }
            let (hand, place) = oneshot::channel();
            state.waiting.push_back(WaitingOwner { owner, hand });
            place
        };
        place
            .await
            .map_err(|_| ScriptError::new(Code::Crashed, "the script pool is closed"))
    }

    fn place(self: &Arc<Self>, owner: Owner) -> ChildPermit {
        ChildPermit {
            places: Arc::clone(self),
            owner,
        }
    }

    /// One place is always left to others, unless there is only one.
    fn has_room(&self, state: &State, owner: &Owner) -> bool {
        let of_owner = |owner| state.taken_by.get(owner).copied().unwrap_or(0);
        let own = owner.as_ref().map_or(0, of_owner);
        state.taken < self.max && own < (self.max - 1).max(1)
    }

    /// One owner fills at most half of the queue, so that others are not refused for it.
    fn has_queue(&self, state: &State, owner: &Owner) -> bool {
        let of_owner = state.waiting.iter().filter(|one| one.owner == *owner);
        let own = owner.as_ref().map_or(0, |_| of_owner.count());
        state.waiting.len() < self.queue_max && own < self.queue_max.div_ceil(2)
    }

    fn leave(self: &Arc<Self>, owner: Owner) {
        let next = {
            let mut state = lock(&self.state);
            state.remove(&owner);
            self.next(&mut state)
        };
        if let Some(WaitingOwner { owner, hand }) = next {
            // Who has gone meanwhile drops it, and that hands it on.
            drop(hand.send(self.place(owner)));
        }
    }

    /// The first in the queue that may have the place that came free; before that, none in the queue could have one.
    fn next(&self, state: &mut State) -> Option<WaitingOwner> {
        state.waiting.retain(|waiting| !waiting.hand.is_closed());
        let mut queue = state.waiting.iter();
        let first = queue.position(|waiting| self.has_room(state, &waiting.owner))?;
        let next = state.waiting.remove(first)?;
        state.add(&next.owner);
        Some(next)
    }

    fn too_many(&self) -> ScriptError {
        let message = format!(
            "too many runs of code are waiting already, of {} at most, half of them of one schema; try again later, or \
             raise code.children",
            self.queue_max
        );
        ScriptError::new(Code::Busy, message)
    }
}

impl State {
    fn add(&mut self, owner: &Owner) {
        self.taken += 1;
        if let Some(owner) = owner {
            *self.taken_by.entry(owner.clone()).or_default() += 1;
        }
    }

    fn remove(&mut self, owner: &Owner) {
        self.taken = self.taken.saturating_sub(1);
        let Some(owner) = owner else {
            return;
        };
        if let Some(count) = self.taken_by.get_mut(owner) {
            *count -= 1;
            if *count == 0 {
                self.taken_by.remove(owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn gets(places: &Arc<FairSemaphore>, owner: &str) -> Option<ChildPermit> {
        let owner = (!owner.is_empty()).then(|| owner.into());
        let soon = tokio::time::timeout(Duration::from_millis(1), places.take(owner)).await;
        soon.ok().map(Result::unwrap)
    }

    #[tokio::test]
    async fn one_owner_never_has_all_places() {
        let places = FairSemaphore::new(3, 10);
        let held = [gets(&places, "a").await, gets(&places, "a").await];
        assert!(held.iter().all(Option::is_some));
        assert!(gets(&places, "a").await.is_none());
        let other = gets(&places, "b").await;
        assert!(other.is_some());
        assert!(gets(&places, "c").await.is_none());
        drop(held);
        assert!(gets(&places, "a").await.is_some());
    }

    #[tokio::test]
    async fn a_single_place_is_for_everybody_in_turn() {
        let places = FairSemaphore::new(1, 10);
        let first = gets(&places, "a").await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let waiting = ["a", "b", "a", ""].map(|owner| {
            let (places, order) = (places.clone(), order.clone());
            tokio::spawn(async move {
                let place = places.take(Some(owner.into())).await.unwrap();
                lock(&order).push(owner);
                drop(place);
            })
        });
        tokio::task::yield_now().await;
        drop(first);
        for one in waiting {
            one.await.unwrap();
        }
        assert_eq!(*lock(&order), ["a", "b", "a", ""]);
        assert_eq!(lock(&places.state).taken, 0);
        assert!(lock(&places.state).taken_by.is_empty());
    }

    #[tokio::test]
    async fn who_waits_for_its_own_is_overtaken_by_others_only() {
        let places = FairSemaphore::new(2, 10);
        let own = gets(&places, "a").await.unwrap();
        let other = gets(&places, "b").await.unwrap();
        let waiting = ["a", "c"].map(|owner| {
            let places = places.clone();
            tokio::spawn(async move { places.take(Some(owner.into())).await.unwrap() })
        });
        tokio::task::yield_now().await;
        drop(other);
        let [behind, overtaking] = waiting;
        let third = overtaking.await.unwrap();
        assert!(!behind.is_finished());
        drop(own);
        drop(behind.await.unwrap());
        drop(third);
    }

    #[tokio::test]
    async fn one_owner_never_fills_the_queue() {
        let places = FairSemaphore::new(1, 4);
        let _held = gets(&places, "a").await.unwrap();
        let waiting = ["a", "a"].map(|owner| {
            let places = places.clone();
            tokio::spawn(async move { places.take(Some(owner.into())).await })
        });
        tokio::task::yield_now().await;
        let refused = places.take(Some("a".into())).await.err().unwrap();
        assert_eq!(refused.code, Code::Busy);
        assert!(gets(&places, "b").await.is_none(), "refused or not waiting");
        for one in waiting {
            assert!(!one.is_finished());
            one.abort();
        }
    }

    #[tokio::test]
    async fn places_of_those_who_went_away_are_not_lost() {
        let places = FairSemaphore::new(1, 1);
        let first = gets(&places, "a").await.unwrap();
        for _ in 0..10 {
            assert!(gets(&places, "b").await.is_none());
        }
        let mut left = Box::pin(places.take(None));
        tokio::select! { biased; _ = &mut left => unreachable!(), () = async {} => {} }
        let full = places.take(None).await.err().unwrap();
        assert_eq!(full.code, Code::Busy);
        drop(first);
        drop(left);
        assert!(gets(&places, "").await.is_some());
    }
}

//! Messages on their way to the broker, and which answer belongs to which.
//!
//! lapin hands a returned (unroutable) message to whichever confirmation it completes next, so with many messages in
//! flight a return can arrive with another message's confirmation, and the confirmation of the returned message itself
//! can look clean. The rules here err only towards "not confirmed", which costs at most a duplicate:
//!
//! - a confirmation that carries any return is no confirmation;
//! - the message that the return names (by its message id) is not confirmed either;
//! - a clean confirmation counts only after every confirmation that was completed before it has been looked at (the
//!   caller sees to that with a fence, see `publishing`).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::outcome::Outcome;

/// One message to be published.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) destination: Destination,
    pub(crate) body: Arc<Vec<u8>>,
    pub(crate) reply: oneshot::Sender<Outcome>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// The work queue of a class, by its index.
    Work(usize),
    /// The dead letters, with the reason why and the queue it came from.
    DeadLetters { reason: String, queue: String },
}

struct Flight {
    order: Order,
    returned: bool,
    /// It has been tried before; there is no third time.
    second_try: bool,
}

#[derive(Default)]
pub(crate) struct Flights {
    last: u64,
    flying: HashMap<u64, Flight>,
    /// In the order of sending; those that have landed are skipped.
    sent: VecDeque<(Instant, u64)>,
    /// Confirmed, but not yet certain.
    confirmed: VecDeque<u64>,
    last_answer: Option<Instant>,
}

impl Flights {
    /// Gives the message its number. A second try gets a new one, so that late answers to the first are not taken for
    /// answers to the second.
    pub(crate) fn depart(&mut self, order: Order, second_try: bool, now: Instant) -> u64 {
        self.last += 1;
        self.sent.push_back((now, self.last));
        let flight = Flight {
            order,
            returned: false,
            second_try,
        };
        self.flying.insert(self.last, flight);
        self.last
    }

    /// A return that names the message `number`.
    pub(crate) fn returned(&mut self, number: u64) {
        if let Some(flight) = self.flying.get_mut(&number) {
            flight.returned = true;
        }
    }

    /// A clean confirmation. It is not certain before `settle_confirmed`.
    pub(crate) fn confirmed(&mut self, number: u64, now: Instant) {
        self.last_answer = Some(now);
        self.confirmed.push_back(number);
    }

    pub(crate) fn uncertain(&self) -> usize {
        self.confirmed.len()
    }

    /// The oldest `count` confirmations are certain now.
    pub(crate) fn settle_confirmed(&mut self, count: usize) -> Vec<Order> {
        let numbers: Vec<u64> = self.confirmed.drain(..count).collect();
        let mut unrouted = Vec::new();
        for number in numbers {
            let returned = self.flying.get(&number).is_some_and(|one| one.returned);
            if returned {
                unrouted.extend(self.unroutable(number, "no queue took it"));
            } else {
                self.land(number, Outcome::Confirmed);
            }
        }
        unrouted
    }

    /// A confirmation with a return: its own, or another message's, in which case its own is unknown.
    pub(crate) fn carries_return(&mut self, number: u64, why: &str, now: Instant) -> Option<Order> {
        self.last_answer = Some(now);
        self.unroutable(number, why)
    }

    fn unroutable(&mut self, number: u64, why: &str) -> Option<Order> {
        match self.flying.remove(&number) {
            Some(flight) if !flight.second_try => Some(flight.order),
            Some(flight) => {
                let _ = flight.order.reply.send(Outcome::Unroutable(why.to_owned()));
                None
            }
            None => None,
        }
    }

    pub(crate) fn refused(&mut self, number: u64, now: Instant) {
        self.last_answer = Some(now);
        self.land(number, Outcome::Refused);
    }

    pub(crate) fn land(&mut self, number: u64, outcome: Outcome) {
        if let Some(flight) = self.flying.remove(&number) {
            // A publisher that waits no more is no concern of ours.
            let _ = flight.order.reply.send(outcome);
        }
    }

    /// Ends those that have flown longer than `limit`. `true`: no answer came to any message since the oldest of them
    /// was sent, so the connection is as good as dead.
    pub(crate) fn expire(&mut self, limit: Duration, now: Instant) -> bool {
        let mut silent = false;
        while let Some((sent_at, number)) = self.sent.front().copied() {
            let flying = self.flying.contains_key(&number);
            if flying && now.duration_since(sent_at) < limit {
                break;
            }
            self.sent.pop_front();
            if flying {
                silent |= self.last_answer.is_none_or(|answer| answer < sent_at);
                self.land(number, Outcome::Timeout(limit));
            }
        }
        silent
    }

    /// Ends all with the same outcome.
    pub(crate) fn abandon(&mut self, outcome: &Outcome) {
        self.sent.clear();
        for (_, flight) in self.flying.drain() {
            let _ = flight.order.reply.send(outcome.clone());
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.flying.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(5);

    fn depart(flights: &mut Flights, now: Instant) -> (u64, oneshot::Receiver<Outcome>) {
        let (order, outcome) = order();
        (flights.depart(order, false, now), outcome)
    }

    fn order() -> (Order, oneshot::Receiver<Outcome>) {
        let (reply, outcome) = oneshot::channel();
        let order = Order {
            destination: Destination::Work(1),
            body: Arc::new(Vec::new()),
            reply,
        };
        (order, outcome)
    }

    #[test]
    fn a_clean_confirmation_lands_once_it_is_certain() {
        let (mut flights, now) = (Flights::default(), Instant::now());
        let (number, mut outcome) = depart(&mut flights, now);
        flights.confirmed(number, now);
        assert!(outcome.try_recv().is_err());
        assert!(flights.settle_confirmed(1).is_empty());
        assert_eq!(outcome.try_recv(), Ok(Outcome::Confirmed));
        assert_eq!(flights.len(), 0);
    }

    #[test]
    fn a_return_that_came_with_another_confirmation_finds_its_message() {
        let (mut flights, now) = (Flights::default(), Instant::now());
        let (first, mut first_outcome) = depart(&mut flights, now);
        let (second, _second_outcome) = depart(&mut flights, now);
        // The first was returned, but lapin gave the return to the second.
        flights.confirmed(first, now);
        flights.returned(first);
        let unrouted = flights.carries_return(second, "NO_ROUTE", now);
        assert!(unrouted.is_some());
        assert_eq!(flights.settle_confirmed(1).len(), 1);
        assert!(first_outcome.try_recv().is_err());
    }

    #[test]
    fn there_is_one_second_try() {
        let (mut flights, now) = (Flights::default(), Instant::now());
        let (order, mut outcome) = order();
        let first = flights.depart(order, false, now);
        let again = flights.carries_return(first, "NO_ROUTE", now).unwrap();
        let second = flights.depart(again, true, now);
        // A late return of the first try is not one of the second.
        flights.returned(first);
        assert!(flights.carries_return(second, "NO_ROUTE", now).is_none());
        assert_eq!(
            outcome.try_recv(),
            Ok(Outcome::Unroutable("NO_ROUTE".into()))
        );
    }

    #[test]
    fn silence_is_told_from_slowness() {
        let (mut flights, now) = (Flights::default(), Instant::now());
        let (_, mut slow) = depart(&mut flights, now);
        let (other, _confirmed) = depart(&mut flights, now);
        flights.confirmed(other, now + Duration::from_secs(1));
        flights.settle_confirmed(1);
        assert!(!flights.expire(LIMIT, now + LIMIT / 2));
        assert!(slow.try_recv().is_err());
        assert!(!flights.expire(LIMIT, now + LIMIT));
        assert_eq!(slow.try_recv(), Ok(Outcome::Timeout(LIMIT)));
        let later = now + Duration::from_secs(2);
        let (_, _unheard) = depart(&mut flights, later);
        assert!(flights.expire(LIMIT, later + LIMIT));
    }

    #[test]
    fn a_confirmation_after_the_timeout_changes_nothing() {
        let (mut flights, now) = (Flights::default(), Instant::now());
        let (number, mut outcome) = depart(&mut flights, now);
        flights.expire(LIMIT, now + LIMIT);
        flights.confirmed(number, now + LIMIT);
        flights.settle_confirmed(1);
        assert_eq!(outcome.try_recv(), Ok(Outcome::Timeout(LIMIT)));
    }

    #[test]
    fn all_can_be_abandoned_at_once() {
        let (mut flights, now) = (Flights::default(), Instant::now());
        let (_, mut one) = depart(&mut flights, now);
        let (_, mut other) = depart(&mut flights, now);
        flights.abandon(&Outcome::Blocked("low on memory".into()));
        for outcome in [&mut one, &mut other] {
            assert!(matches!(outcome.try_recv(), Ok(Outcome::Blocked(_))));
        }
    }
}

//! Tells the broker what became of deliveries. Acknowledging goes through the channel and not through lapin's `Acker`,
//! which answers `Ok(false)` where the channel is dead; here that is an error and ends the session.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join_all};
use lapin::Channel;
use lapin::options::{BasicAckOptions, BasicNackOptions};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::error::BrokerError;
use crate::link::Link;

/// Most verdicts told to the broker at once.
pub(crate) const BATCH: usize = 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done,
    /// Back into the queue at once.
    Again,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settlement {
    /// Which of the session's channels it came on.
    pub(crate) channel: usize,
    pub(crate) tag: u64,
    pub(crate) verdict: Verdict,
}

pub(crate) type Settlements = mpsc::UnboundedSender<Settlement>;

/// The right to settle one delivery, once. Dropped unused it gives the delivery back. After the end of its connection
/// it does nothing: the broker has taken the delivery back by itself.
#[derive(Debug)]
pub(crate) struct DeliveryClaim {
    channel: usize,
    tag: u64,
    settlements: Option<Settlements>,
}

impl DeliveryClaim {
    pub(crate) fn new(channel: usize, tag: u64, settlements: Settlements) -> Self {
        Self {
            channel,
            tag,
            settlements: Some(settlements),
        }
    }

    pub(crate) fn settle(mut self, verdict: Verdict) {
        self.send(verdict);
    }

    /// Leaves the settling to the next holder of the tag.
    pub(crate) fn hand_over(mut self) -> u64 {
        self.settlements = None;
        self.tag
    }

    /// Whether the delivery is still ours.
    pub(crate) fn is_alive(&self) -> bool {
        self.settlements
            .as_ref()
            .is_some_and(|settlements| !settlements.is_closed())
    }

    fn send(&mut self, verdict: Verdict) {
        if let Some(settlements) = self.settlements.take() {
            let _ = settlements.send(Settlement {
                channel: self.channel,
                tag: self.tag,
                verdict,
            });
        }
    }
}

impl Drop for DeliveryClaim {
    fn drop(&mut self) {
        self.send(Verdict::Again);
    }
}

/// The channels of a session with what is not settled on each.
pub(crate) struct Books {
    channels: Vec<(Channel, BTreeSet<u64>)>,
    limit: Duration,
}

impl Books {
    pub(crate) fn new(link: &Link, channels: Vec<Channel>) -> Self {
        Self {
            channels: channels
                .into_iter()
                .map(|channel| (channel, BTreeSet::new()))
                .collect(),
            limit: link.limit(),
        }
    }

    pub(crate) fn channels(&self) -> impl Iterator<Item = &Channel> {
        self.channels.iter().map(|(channel, _)| channel)
    }

    pub(crate) fn received(&mut self, channel: usize, tag: u64) {
        self.channels[channel].1.insert(tag);
    }

    /// Tells the broker; `batch` is empty afterwards.
    pub(crate) async fn settle(&mut self, batch: &mut Vec<Settlement>) -> Result<(), BrokerError> {
        let mut told = Vec::new();
        for (index, (channel, unsettled)) in self.channels.iter_mut().enumerate() {
            let mut done = BTreeSet::new();
            for settlement in batch.iter().filter(|one| one.channel == index) {
                match settlement.verdict {
                    Verdict::Done => {
                        done.insert(settlement.tag);
                    }
                    Verdict::Again if unsettled.remove(&settlement.tag) => {
                        told.push(give_back(channel, settlement.tag));
                    }
                    Verdict::Again => {}
                }
            }
            for (tag, multiple) in acknowledgements(unsettled, done) {
                told.push(acknowledge(channel, tag, multiple));
            }
        }
        batch.clear();
        let what = "settle deliveries";
        match timeout(self.limit, try_join_all(told)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(BrokerError::calling(what, &error)),
            Err(_) => Err(BrokerError::Timeout {
                what: what.into(),
                after: self.limit,
            }),
        }
    }
}

fn give_back(channel: &Channel, tag: u64) -> BoxFuture<'_, lapin::Result<()>> {
    let options = BasicNackOptions {
        requeue: true,
        multiple: false,
    };
    channel.basic_nack(tag, options).boxed()
}

fn acknowledge(channel: &Channel, tag: u64, multiple: bool) -> BoxFuture<'_, lapin::Result<()>> {
    channel.basic_ack(tag, BasicAckOptions { multiple }).boxed()
}

/// The fewest acknowledgements for `done`: one for everything up to the first that is still unsettled, one each for the
/// rest. What is acknowledged leaves `unsettled`; what is not in there is never acknowledged, since the broker closes
/// the channel over it.
fn acknowledgements(unsettled: &mut BTreeSet<u64>, mut done: BTreeSet<u64>) -> Vec<(u64, bool)> {
    done.retain(|tag| unsettled.contains(tag));
    let mut told = Vec::new();
    let mut together = None;
    while let Some(first) = unsettled.first().copied() {
        if !done.remove(&first) {
            break;
        }
        unsettled.remove(&first);
        together = Some((first, together.is_some()));
    }
    told.extend(together);
    for tag in done {
        unsettled.remove(&tag);
        told.push((tag, false));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(unsettled: &[u64], done: &[u64]) -> (Vec<(u64, bool)>, Vec<u64>) {
        let mut left = unsettled.iter().copied().collect();
        let told = acknowledgements(&mut left, done.iter().copied().collect());
        (told, left.into_iter().collect())
    }

    #[test]
    fn a_run_from_the_front_is_one_acknowledgement() {
        assert_eq!(told(&[1, 2, 3, 4], &[1, 2, 3]), (vec![(3, true)], vec![4]));
        assert_eq!(told(&[5], &[5]), (vec![(5, false)], vec![]));
    }

    #[test]
    fn what_is_behind_an_unsettled_one_goes_one_by_one() {
        assert_eq!(
            told(&[1, 2, 3, 4, 6], &[1, 3, 6]),
            (vec![(1, false), (3, false), (6, false)], vec![2, 4])
        );
        // Gaps in the numbers are deliveries settled before.
        assert_eq!(told(&[2, 7, 9], &[2, 7]), (vec![(7, true)], vec![9]));
    }

    #[test]
    fn nothing_is_acknowledged_twice() {
        assert_eq!(told(&[2], &[1, 3]), (vec![], vec![2]));
        assert_eq!(told(&[], &[1]), (vec![], vec![]));
    }

    #[test]
    fn an_unused_claim_gives_the_delivery_back() {
        let (settlements, mut settled) = mpsc::unbounded_channel();
        DeliveryClaim::new(1, 7, settlements.clone()).settle(Verdict::Done);
        drop(DeliveryClaim::new(1, 8, settlements));
        let verdicts: Vec<_> = std::iter::from_fn(|| settled.try_recv().ok())
            .map(|settlement| (settlement.tag, settlement.verdict))
            .collect();
        assert_eq!(verdicts, [(7, Verdict::Done), (8, Verdict::Again)]);
    }
}

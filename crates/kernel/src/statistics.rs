//! How many executions were started, how they ended and how long they took, by time. What is read does not grow with the
//! history: a part of the time that has too many of them is estimated from windows spread over it.

use std::time::Duration;

use crate::execution::Status;
use crate::id::{SchemaId, ids_at};
use crate::ports::overview::{OverviewStore, RunSample};
use crate::ports::store::StoreResult;
use crate::time::Timestamp;

/// So many executions are read, and at most as many again in the windows of what had too many.
pub const SAMPLES_MAX: u32 = 50_000;
pub const BUCKETS_MAX: usize = 500;
const WINDOWS: i64 = 8;
const MILLISECOND: i64 = 1_000;

/// A time cut into steps, the last of which may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatisticsPeriod {
    pub since: Timestamp,
    pub until: Timestamp,
    pub step: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TimeBucket {
    pub from: Timestamp,
    pub started: u64,
    /// What became of them, by status.
    pub ended: Vec<(Status, u64)>,
    pub open: u64,
    pub p50: Option<Duration>,
    pub p95: Option<Duration>,
    /// The part of it that was read; below 1 all of its numbers are estimates.
    pub share: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    pub buckets: Vec<TimeBucket>,
    pub looked_at: u64,
}

impl Statistics {
    /// The smallest share of a bucket that was read.
    pub fn sampled(&self) -> f64 {
        let shares = self.buckets.iter().map(|bucket| bucket.share);
        shares.fold(1.0, f64::min)
    }
}

/// Times in microseconds: from the first to before the second.
type Range = (i64, i64);

impl StatisticsPeriod {
    pub fn buckets(&self) -> usize {
        self.ranges().count()
    }

    fn ranges(&self) -> impl Iterator<Item = Range> + use<> {
        let (since, until) = (self.since.as_micros(), self.until.as_micros());
        // The ids are no finer than this.
        let step = i64::try_from(self.step.as_micros()).unwrap_or(i64::MAX);
        let step = step.max(MILLISECOND);
        let next = move |from: &i64| from.checked_add(step);
        std::iter::successors(Some(since), next)
            .take_while(move |from| *from < until)
            .map(move |from| (from, from.saturating_add(step).min(until)))
    }
}

pub async fn gather(
    store: &(impl OverviewStore + ?Sized),
    period: StatisticsPeriod,
    schema_id: Option<SchemaId>,
) -> StoreResult<Statistics> {
    let ranges: Vec<Range> = period.ranges().collect();
    let limit = (SAMPLES_MAX / ranges.len().max(1) as u32).max(WINDOWS as u32);
    let all = store.samples(ids_of(&ranges), schema_id, limit).await?;
    let mut reads: Vec<Vec<RangeRead>> = ranges.iter().zip(all).map(whole(limit)).collect();
    let full: Vec<usize> = (0..reads.len()).filter(|at| reads[*at][0].is_cut).collect();
    let windows = full
        .iter()
        .flat_map(|at| windows(ranges[*at], &reads[*at][0]));
    let windows: Vec<Range> = windows.collect();
    let mut looked_at: u64 = reads.iter().flatten().map(RangeRead::count).sum();
    if !windows.is_empty() {
        let limit = limit.div_ceil(WINDOWS as u32);
        let found = store.samples(ids_of(&windows), schema_id, limit).await?;
        let mut found = windows.iter().zip(found).map(|one| read(one, limit));
        for at in full {
            reads[at] = found.by_ref().take(WINDOWS as usize).collect();
            looked_at += reads[at].iter().map(RangeRead::count).sum::<u64>();
        }
    }
    let buckets = ranges.into_iter().zip(&reads);
    Ok(Statistics {
        buckets: buckets.map(|(range, reads)| bucket(range, reads)).collect(),
        looked_at,
    })
}

/// What was read of a range.
struct RangeRead {
    samples: Vec<RunSample>,
    /// The time that the samples are all of.
    covered: i64,
    is_cut: bool,
}

impl RangeRead {
    fn count(&self) -> u64 {
        self.samples.len() as u64
    }
}

fn whole(limit: u32) -> impl Fn((&Range, Vec<RunSample>)) -> Vec<RangeRead> {
    move |one| vec![read(one, limit)]
}

fn read((range, samples): (&Range, Vec<RunSample>), limit: u32) -> RangeRead {
    let is_cut = samples.len() >= limit as usize;
    let last = samples
        .last()
        .map_or(range.1, |last| last.created_at.as_micros());
    let covered = match is_cut {
        true => (last - range.0).clamp(MILLISECOND.min(range.1 - range.0), range.1 - range.0),
        false => range.1 - range.0,
    };
    RangeRead {
        samples,
        covered,
        is_cut,
    }
}

/// Spread over a range, as long together as what was read of it at its beginning. Where in its part of the range each
/// lies is the same every time, so that a picture does not tremble, and no round number, because schedules are.
fn windows(range: Range, first: &RangeRead) -> Vec<Range> {
    let part = (range.1 - range.0) / WINDOWS;
    let length = (first.covered / WINDOWS).max(MILLISECOND).min(part.max(1));
    let place = |at: i64| {
        let from = range.0 + at * part;
        let seed = (from / MILLISECOND).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64);
        let free = (part - length).max(0) as u64;
        let shift = (seed as u64 >> 16) % (free + 1);
        let from = from + shift as i64;
        (from, from + length)
    };
    (0..WINDOWS).map(place).collect()
}

/// Ids say milliseconds; a range begins with the first id of its first one.
fn ids_of(ranges: &[Range]) -> Vec<(uuid::Uuid, uuid::Uuid)> {
    let id = |micros| ids_at(Timestamp::from_micros(micros)).0;
    ranges
        .iter()
        .map(|(from, to)| (id(*from), id(*to)))
        .collect()
}

fn bucket(range: Range, reads: &[RangeRead]) -> TimeBucket {
    let covered: i64 = reads.iter().map(|read| read.covered).sum();
    let length = (range.1 - range.0).max(1);
    let share = (covered as f64 / length as f64).min(1.0);
    let scaled = |count: usize| (count as f64 / share).round() as u64;
    let samples = || reads.iter().flat_map(|read| &read.samples);
    let ended = Status::ALL.iter().filter(|status| status.is_terminal());
    let by_status = ended.map(|status| {
        let count = samples().filter(|one| one.status == *status).count();
        (*status, scaled(count))
    });
    let open = samples().filter(|one| !one.status.is_terminal()).count();
    let mut durations: Vec<Duration> = samples().filter_map(duration).collect();
    durations.sort_unstable();
    TimeBucket {
        from: Timestamp::from_micros(range.0),
        started: scaled(samples().count()),
        ended: by_status.collect(),
        open: scaled(open),
        p50: percentile(&durations, 50),
        p95: percentile(&durations, 95),
        share,
    }
}

fn duration(sample: &RunSample) -> Option<Duration> {
    let ended = sample.finished_at.filter(|_| sample.status.is_terminal());
    ended.map(|at| at.since(sample.created_at))
}

/// The nearest rank.
fn percentile(sorted: &[Duration], percent: usize) -> Option<Duration> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ExecutionId;

    const MINUTE: i64 = 60_000_000;
    const START: i64 = 30_000_000 * MINUTE;

    fn sample(at: i64) -> RunSample {
        let created_at = Timestamp::from_micros(at);
        RunSample {
            id: ExecutionId(ids_at(created_at).0),
            status: Status::Completed,
            created_at,
            finished_at: Some(Timestamp::from_micros(at + 1_000)),
        }
    }

    #[test]
    fn steps_cover_the_period_and_the_last_may_be_shorter() {
        let period = |minutes: i64, step| StatisticsPeriod {
            since: Timestamp::from_micros(START),
            until: Timestamp::from_micros(START + minutes * MINUTE),
            step: Duration::from_secs(step),
        };
        assert_eq!(period(60, 60).buckets(), 60);
        let ranges: Vec<Range> = period(5, 120).ranges().collect();
        let from = |minute: i64| START + minute * MINUTE;
        assert_eq!(
            ranges,
            [(from(0), from(2)), (from(2), from(4)), (from(4), from(5))]
        );
        assert_eq!(period(0, 60).buckets(), 0);
    }

    #[test]
    fn what_was_read_in_part_is_scaled_to_the_whole() {
        let range = (START, START + MINUTE);
        // A thousand a second, evenly; the first read ends after 500 of them.
        let samples: Vec<RunSample> = (0..500).map(|n| sample(START + n * 1_000)).collect();
        let first = read((&range, samples), 500);
        assert!(first.is_cut);
        let windows = windows(range, &first);
        assert_eq!(windows.len(), WINDOWS as usize);
        assert!(
            windows
                .iter()
                .all(|(from, to)| *from >= range.0 && *to <= range.1)
        );
        let reads: Vec<RangeRead> = windows
            .iter()
            .map(|window| {
                let inside = (window.0..window.1).step_by(1_000).map(sample).collect();
                read((window, inside), 10_000)
            })
            .collect();
        let bucket = bucket(range, &reads);
        assert!((57_000..63_000).contains(&bucket.started), "{bucket:?}");
        assert!(bucket.share < 0.01, "{bucket:?}");
        assert_eq!(bucket.p95, Some(Duration::from_millis(1)));
    }

    #[test]
    fn percentiles_are_values_that_were_there() {
        let of = |millis: &[u64], percent| {
            let sorted: Vec<Duration> = millis.iter().map(|n| Duration::from_millis(*n)).collect();
            percentile(&sorted, percent).map(|found| found.as_millis())
        };
        assert_eq!(of(&[], 50), None);
        assert_eq!(of(&[7], 95), Some(7));
        assert_eq!(of(&[1, 2, 3, 4], 50), Some(2));
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(of(&hundred, 95), Some(95));
    }
}

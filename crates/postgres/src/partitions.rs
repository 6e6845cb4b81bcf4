//! History lies in partitions of a week each, by the time in the execution's id. What none of them covers goes to the
//! default partition: nothing is lost by a partition that is missing, it is only harder to drop.
//!
//! Upkeep never waits for long, may run in any number of processes at once, and can be repeated at will.

use std::time::Duration;

use pawl_kernel::time::Timestamp;
use uuid::Uuid;

use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::session::Session;
use crate::sql;

pub(crate) const TABLES: [&str; 3] = ["execution_steps", "execution_snapshots", "execution_logs"];

// Names cannot be parameters.
const MAKE: &str = include_str!("../sql/templates/partition_make.sql");
const ATTACH: &str = include_str!("../sql/templates/partition_attach.sql");
const LOCK: &str = include_str!("../sql/templates/partition_lock.sql");
const FILL: &str = include_str!("../sql/templates/partition_fill.sql");
const STRAY: &str = include_str!("../sql/templates/partition_stray.sql");
const PATIENCE: &str = include_str!("../sql/templates/patience.sql");

const WEEK_MILLIS: i64 = 7 * 24 * 3600 * 1000;
/// Made ahead, so that nothing has to be made in a hurry.
const WEEKS_AHEAD: i64 = 4;
/// Weeks that passed without upkeep get their partitions afterwards, if they are not longer ago than this.
const WEEKS_BEHIND: i64 = 8;
/// A commit may wait behind our lock for this long.
const LOCK_PATIENCE: Duration = Duration::from_millis(500);
/// Rows moved out of the default partition in one transaction, during which no other transaction writes there.
const MOVED_MAX: u32 = 50_000;
/// Transactions per table and call that move rows.
const MOVES_MAX: usize = 20;

/// The ids from `from` on and before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Range {
    pub(crate) from: Uuid,
    pub(crate) to: Uuid,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) name: String,
    pub(crate) range: Range,
}

/// The smallest id of a moment.
pub(crate) fn first_id(millis: i64) -> Uuid {
    let millis = u128::try_from(millis.max(0)).unwrap_or(0);
    Uuid::from_u128(millis << 80)
}

/// Counts weeks since 1970.
pub(crate) fn week_of(time: Timestamp) -> i64 {
    time.as_micros().div_euclid(WEEK_MILLIS * 1000)
}

impl Range {
    pub(crate) fn of_week(week: i64) -> Self {
        Self {
            from: first_id(week * WEEK_MILLIS),
            to: first_id((week + 1) * WEEK_MILLIS),
        }
    }

    pub(crate) fn contains(self, id: Uuid) -> bool {
        self.from <= id && id < self.to
    }

    /// What `known` leaves of it.
    fn without(self, known: &[Range]) -> Vec<Self> {
        let mut left = Vec::new();
        let mut from = self.from;
        for other in known
            .iter()
            .filter(|other| other.to > self.from && other.from < self.to)
        {
            if from < other.from {
                left.push(Self {
                    from,
                    to: other.from,
                });
            }
            from = from.max(other.to);
        }
        if from < self.to {
            left.push(Self { from, to: self.to });
        }
        left
    }

    /// Whole weeks are called by their number.
    fn name(self, table: &str) -> String {
        let week = (self.from.as_u128() >> 80) as i64 / WEEK_MILLIS;
        match self == Self::of_week(week) {
            true => format!("{table}_w{week}"),
            false => format!("{table}_p{}", self.from.simple()),
        }
    }

    /// Fills a template in.
    pub(crate) fn write(self, template: &str, table: &str, name: &str) -> String {
        template
            .replace("{name}", name)
            .replace("{table}", table)
            .replace("{from}", &self.from.to_string())
            .replace("{to}", &self.to.to_string())
            .replace("{max}", &MOVED_MAX.to_string())
    }
}

/// Makes the partitions that are missing around `now`.
pub(crate) async fn maintain(session: &Session, schema: &str, now: Timestamp) -> Outcome<()> {
    for table in TABLES {
        // What is in the way of one table may not be in the way of another.
        if let Err(fault) = maintain_table(session, schema, table, now).await {
            if fault.breaks_connection() {
                return Err(fault);
            }
            session.roll_back().await?;
            tracing::warn!(table, %fault, "partitions are missing for now; their rows go to the default one");
        }
    }
    Ok(())
}

async fn maintain_table(
    session: &Session,
    schema: &str,
    table: &str,
    now: Timestamp,
) -> Outcome<()> {
    for _ in 0..MOVES_MAX {
        if !begin(session, schema, LOCK_PATIENCE).await? {
            // Another process is at it.
            return session.roll_back().await;
        }
        let moved = add_missing(session, table, now).await?;
        session.commit().await?;
        if !moved {
            return Ok(());
        }
    }
    Ok(())
}

/// Begins a transaction that keeps no other one waiting for long. `false`: another process changes partitions just now.
pub(crate) async fn begin(session: &Session, schema: &str, patience: Duration) -> Outcome<bool> {
    session.begin().await?;
    let millis = patience.as_millis().to_string();
    session
        .script(&PATIENCE.replace("{millis}", &millis))
        .await?;
    let rows = session.rows(&sql::PARTITIONS_LOCK, &[&schema]).await?;
    rows.first()
        .map(|row| Ok(row.try_get(0)?))
        .unwrap_or(Ok(false))
}

/// All partitions that can be made without moving rows, or one that needs it: then there may be more to do.
async fn add_missing(session: &Session, table: &str, now: Timestamp) -> Outcome<bool> {
    let known = attached(session, table).await?;
    let this_week = Range::of_week(week_of(now));
    let mut added = false;
    for range in missing(&known, now) {
        let (first, last) = strays(session, table, range).await?;
        match first {
            None if range.to <= this_week.from => {}
            None => {
                add(session, table, range, false).await?;
                added = true;
            }
            Some(_) if added => return Ok(true),
            Some(first) => {
                add(session, table, up_to(range, first, last), true).await?;
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Not more rows than can be moved at once; but all of one execution, however many it has.
fn up_to(range: Range, first: Uuid, last: Option<Uuid>) -> Range {
    let to = match last {
        None => range.to,
        Some(last) if last > first => last,
        Some(last) => Uuid::from_u128(last.as_u128().saturating_add(1)),
    };
    Range { to, ..range }
}

/// The partitions of a table in order, without the default one.
pub(crate) async fn attached(session: &Session, table: &str) -> Outcome<Vec<Partition>> {
    let rows = session.rows(&sql::PARTITION_BOUNDS, &[&table]).await?;
    let mut partitions = Vec::new();
    for row in &rows {
        let mut reader = Reader::new(row);
        let (name, bounds) = (reader.text()?, reader.text()?);
        if let Some(range) = parse_bounds(&bounds) {
            partitions.push(Partition { name, range });
        }
    }
    partitions.sort_by_key(|partition| partition.range);
    Ok(partitions)
}

/// `FOR VALUES FROM ('…') TO ('…')`
fn parse_bounds(text: &str) -> Option<Range> {
    let mut ids = text.split('\'').skip(1).step_by(2).map(Uuid::parse_str);
    Some(Range {
        from: ids.next()?.ok()?,
        to: ids.next()?.ok()?,
    })
}

/// From the oldest partition there is, but not for ever back, to some weeks ahead.
fn missing(known: &[Partition], now: Timestamp) -> Vec<Range> {
    let known: Vec<Range> = known.iter().map(|partition| partition.range).collect();
    let this = week_of(now);
    let oldest = known.first().map_or(i64::MAX, |range| {
        (range.from.as_u128() >> 80) as i64 / WEEK_MILLIS
    });
    let first = oldest.clamp(this - WEEKS_BEHIND, this);
    (first..=this + WEEKS_AHEAD)
        .flat_map(|week| Range::of_week(week).without(&known))
        .collect()
}

/// Rows of this range in the default partition: the first id, and the one where a move has to end.
async fn strays(
    session: &Session,
    table: &str,
    range: Range,
) -> Outcome<(Option<Uuid>, Option<Uuid>)> {
    let rows = session.rows_of(&range.write(STRAY, table, "")).await?;
    let row = rows
        .first()
        .ok_or_else(|| Fault::Corrupt("no answer to a count".into()))?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}

async fn add(session: &Session, table: &str, range: Range, with_rows: bool) -> Outcome<()> {
    let name = range.name(table);
    tracing::debug!(partition = name, with_rows, "a partition is made");
    session.script(&range.write(MAKE, table, &name)).await?;
    if with_rows {
        session.script(&range.write(LOCK, table, &name)).await?;
        session.script(&range.write(FILL, table, &name)).await?;
    }
    session.script(&range.write(ATTACH, table, &name)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_week_lie_between_its_bounds() {
        let now = Timestamp::from_micros(1_795_000_000_000_000);
        let id = pawl_kernel::id::time_ordered(now, &NoEntropy);
        let week = Range::of_week(week_of(now));
        assert!(week.from <= id && id < week.to);
    }

    struct NoEntropy;

    impl pawl_kernel::id::Entropy for NoEntropy {
        fn bits(&self) -> u128 {
            u128::MAX
        }
    }

    fn range(from: u128, to: u128) -> Range {
        Range {
            from: Uuid::from_u128(from),
            to: Uuid::from_u128(to),
        }
    }

    #[test]
    fn what_is_left_of_a_range() {
        let week = range(10, 20);
        for (known, left) in [
            (vec![], vec![range(10, 20)]),
            (vec![range(10, 20)], vec![]),
            (vec![range(0, 30)], vec![]),
            (vec![range(0, 10), range(20, 30)], vec![range(10, 20)]),
            (
                vec![range(5, 12), range(15, 16)],
                vec![range(12, 15), range(16, 20)],
            ),
            (vec![range(12, 25)], vec![range(10, 12)]),
        ] {
            assert_eq!(week.without(&known), left, "{known:?}");
        }
    }

    #[test]
    fn bounds_are_read_back() {
        let week = Range::of_week(2_950);
        let text = format!("FOR VALUES FROM ('{}') TO ('{}')", week.from, week.to);
        assert_eq!(parse_bounds(&text), Some(week));
        assert_eq!(parse_bounds("DEFAULT"), None);
    }

    #[test]
    fn weeks_without_upkeep_are_made_up_for_but_not_for_ever() {
        let now = Timestamp::from_micros(WEEK_MILLIS * 1000 * 2_950 + 5);
        let partition = |week| Partition {
            name: String::new(),
            range: Range::of_week(week),
        };
        let weeks = |known: &[i64]| {
            let known: Vec<Partition> = known.iter().copied().map(partition).collect();
            missing(&known, now)
                .iter()
                .map(|range| (range.from.as_u128() >> 80) as i64 / WEEK_MILLIS)
                .collect::<Vec<_>>()
        };
        assert_eq!(weeks(&[]), [2_950, 2_951, 2_952, 2_953, 2_954]);
        assert_eq!(weeks(&[2_950, 2_951, 2_952, 2_953]), [2_954]);
        assert_eq!(weeks(&[2_947])[..3], [2_948, 2_949, 2_950]);
        assert_eq!(weeks(&[1])[0], 2_942);
    }

    #[test]
    fn a_move_ends_where_it_gets_too_long_but_not_within_an_execution() {
        let week = range(10, 20);
        let id = Uuid::from_u128;
        assert_eq!(up_to(week, id(11), None), week);
        assert_eq!(up_to(week, id(11), Some(id(15))), range(10, 15));
        assert_eq!(up_to(week, id(11), Some(id(11))), range(10, 12));
    }
}

//! Are the counters what the rows add up to? The look locks nothing: it sees one moment, in which they must be. Only what
//! is wrong is locked, one quota after the other, looked at again and mended.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pawl_kernel::ports::quotas::Recount;
use pawl_kernel::quota::{Group, Quota, QuotaClaim, QuotaKind, QuotaName};
use pawl_kernel::time::Timestamp;

use super::{line, rows};
use crate::error::{Fault, Outcome};
use crate::rows::Reader;
use crate::session::Session;
use crate::sql;
use crate::value::{Columns, Text};

const SAME_MOMENT: &str = include_str!("../../sql/templates/same_moment.sql");

/// What is wrong.
#[derive(Default)]
pub(super) struct Found {
    pub(super) quotas: Vec<Recount>,
    /// Quotas that have a lane with a wrong counter. Their own may be right.
    pub(super) of_lanes: BTreeSet<QuotaName>,
}

/// What a quota counts, and what there is.
#[derive(Default)]
struct Counts {
    used: u64,
    really_used: u64,
    waiting: u64,
    really_waiting: u64,
}

impl Counts {
    fn recount(&self, name: &QuotaName) -> Option<Recount> {
        let right = (self.used, self.waiting) == (self.really_used, self.really_waiting);
        (!right).then(|| Recount {
            name: name.clone(),
            used: self.used,
            really_used: self.really_used,
            waiting: self.waiting,
            really_waiting: self.really_waiting,
        })
    }
}

struct Lane {
    group_id: i64,
    key: Option<QuotaName>,
    /// `None`: somebody stands in it, and it is not there.
    counted: Option<i64>,
    really: u64,
}

impl Lane {
    fn is_right(&self) -> bool {
        self.counted == i64::try_from(self.really).ok()
    }
}

type Groups = HashMap<i64, Group>;

pub(super) async fn look(session: &Session) -> Outcome<Found> {
    session.begin().await?;
    session.script(SAME_MOMENT).await?;
    let mut counts: BTreeMap<QuotaName, Counts> = BTreeMap::new();
    for row in &session.rows(&sql::QUOTAS_COUNTERS, &[]).await? {
        let mut reader = Reader::new(row);
        let of = counts.entry(rows::name(&mut reader)?).or_default();
        (of.used, of.waiting) = (reader.count()?, reader.count()?);
    }
    for row in &session.rows(&sql::QUOTA_HOLDERS_COUNT, &[]).await? {
        let mut reader = Reader::new(row);
        let of = counts.entry(rows::name(&mut reader)?).or_default();
        of.really_used = reader.count()?;
    }
    let groups = groups(session).await?;
    let mut of_lanes = BTreeSet::new();
    for row in &session.rows(&sql::ADMISSION_LANES_ALL, &[]).await? {
        let lane = lane(row)?;
        for name in names(&groups, &lane) {
            counts.entry(name.clone()).or_default().really_waiting += lane.really;
            if !lane.is_right() {
                of_lanes.insert(name.clone());
            }
        }
    }
    session.commit().await?;
    let wrong = counts.iter().filter_map(|(name, of)| of.recount(name));
    Ok(Found {
        quotas: wrong.collect(),
        of_lanes,
    })
}

async fn groups(session: &Session) -> Outcome<Groups> {
    let rows = session.rows(&sql::ADMISSION_GROUPS, &[]).await?;
    let group = |row| line::group(row).map(|(group, id)| (id, group));
    rows.iter().map(group).collect()
}

fn lane(row: &tokio_postgres::Row) -> Outcome<Lane> {
    let mut reader = Reader::new(row);
    Ok(Lane {
        group_id: reader.get()?,
        key: rows::optional_name(&mut reader)?,
        counted: reader.get()?,
        really: reader.count()?,
    })
}

/// The quotas that whoever stands in this lane waits for.
fn names<'a>(groups: &'a Groups, lane: &'a Lane) -> impl Iterator<Item = &'a QuotaName> {
    let wide = groups.get(&lane.group_id).map(|group| group.wide.iter());
    wide.into_iter().flatten().chain(&lane.key)
}

/// With the quota locked nobody comes, goes or stands in line for it. Returns what was wrong by then.
pub(super) async fn mend(
    session: &Session,
    name: &QuotaName,
    now: Timestamp,
) -> Outcome<Option<Recount>> {
    session.ready(rows::STATEMENTS).await?;
    session.ready(line::STATEMENTS).await?;
    session.begin().await?;
    let one = BTreeSet::from([name]);
    let locked = rows::lock_with(session, &one, &one, now).await?;
    let mut quota = locked
        .into_iter()
        .next()
        .ok_or_else(|| Fault::Corrupt("a locked row is not there".into()))?;
    let (group_ids, key) = where_it_is_waited_for(&groups(session).await?, name);
    let key = key.map(Text::new);
    let lanes = session
        .rows(&sql::ADMISSION_LANES_OF_GROUPS, &[&group_ids, &key])
        .await?;
    let lanes: Vec<Lane> = lanes.iter().map(lane).collect::<Outcome<_>>()?;
    let text = Text::new(name.as_str());
    let used = session.rows(&sql::QUOTA_HOLDERS_COUNT_OF, &[&text]).await?;
    let counts = Counts {
        used: quota.used,
        really_used: used.first().map_or(Ok(0), |row| Reader::new(row).count())?,
        waiting: quota.waiting,
        really_waiting: lanes.iter().map(|lane| lane.really).sum(),
    };
    let wrong = counts.recount(name);
    if wrong.is_some() {
        let one = [Text::new(name.as_str())];
        session
            .rows(&sql::QUOTA_HOLDERS_STRAY, &[&one.as_slice()])
            .await?;
    }
    if quota.limit().is_none() && quota.source.is_none() {
        let claims = session
            .rows(&sql::QUOTA_CLAIMS, &[&text, &group_ids, &key])
            .await?;
        learn(&mut quota, &claims)?;
    }
    quota.used = counts.really_used;
    quota.waiting = counts.really_waiting;
    quota.updated_at = now;
    mend_lanes(session, &quota, &lanes, now).await?;
    rows::put(session, &[quota], now).await?;
    session.commit().await?;
    Ok(wrong)
}

/// The groups of its lanes; and which of their lanes, if it is a quota of a key.
fn where_it_is_waited_for<'a>(groups: &Groups, name: &'a QuotaName) -> (Vec<i64>, Option<&'a str>) {
    let all = groups.iter();
    match name.kind() {
        QuotaKind::Key => (all.map(|(id, _)| *id).collect(), Some(name.as_str())),
        QuotaKind::Schema | QuotaKind::Tenant => {
            let wide = all.filter(|(_, group)| group.wide.contains(name));
            (wide.map(|(id, _)| *id).collect(), None)
        }
    }
}

/// A row that was missing has lost the limit too. Those who count against it remember what their schema asked for.
fn learn(quota: &mut Quota, claims: &[tokio_postgres::Row]) -> Outcome<()> {
    for row in claims {
        let text = Reader::new(row).optional_text()?;
        let claims = QuotaClaim::from_column(text.as_deref()).map_err(Fault::Corrupt)?;
        let own = claims.into_iter().find(|claim| claim.name == quota.name);
        let Some((limit, version)) = own.and_then(|claim| claim.settings) else {
            continue;
        };
        if quota.settings_limit.is_none() || version > quota.settings_version {
            quota.settings_limit = Some(limit);
            quota.settings_version = version;
        }
    }
    Ok(())
}

async fn mend_lanes(
    session: &Session,
    quota: &Quota,
    lanes: &[Lane],
    now: Timestamp,
) -> Outcome<()> {
    let mut counted = Columns::new(sql::ADMISSION_LANES_COUNTED.kinds());
    let mut missing = Columns::new(sql::ADMISSION_LANES_JOIN.kinds());
    let mut empty = Columns::new(sql::ADMISSION_LANES_REMOVE.kinds());
    for lane in lanes.iter().filter(|lane| !lane.is_right()) {
        let key = || {
            lane.key
                .as_ref()
                .map_or_else(String::new, ToString::to_string)
        };
        let columns = match (lane.counted, lane.really) {
            (None, _) => &mut missing,
            (Some(_), _) => &mut counted,
        };
        columns.count(lane.group_id.unsigned_abs());
        columns.owned_text(Some(key()));
        columns.count(lane.really);
        if lane.counted.is_none() {
            let of_key = lane.key.as_ref() == Some(&quota.name);
            let open_at = if of_key {
                quota.opens_at(now)
            } else {
                Some(Timestamp::default())
            };
            missing.time(open_at);
        }
        if lane.really == 0 {
            empty.count(lane.group_id.unsigned_abs());
            empty.owned_text(Some(key()));
        }
    }
    for (sql, columns) in [
        (&sql::ADMISSION_LANES_COUNTED, counted),
        (&sql::ADMISSION_LANES_JOIN, missing),
        (&sql::ADMISSION_LANES_REMOVE, empty),
    ] {
        if let Some(columns) = columns.non_empty() {
            session.rows(sql, &columns.params()).await?;
        }
    }
    Ok(())
}

//! `pawl bench timers`: what it costs to have a million actions planned, and how exactly they fire, against the plain
//! design of one table that is polled.
//!
//! Planned times, lateness and rates are all by the clock of the engine; an action that only pretends tells when it was
//! made. Afterwards every one of them must be in the database as having succeeded once.

mod add;
mod cluster;
mod embedded;
mod firings;
mod ground;
mod hint;
mod idle;
mod plain;
mod plan;
mod rate;

use std::path::Path;

use super::cluster::Site;
use super::{BenchError, Row, ServerUrls};
use ground::Ground;

pub(super) fn on_folder(folder: &Path, quick: bool) -> Result<Vec<Row>, BenchError> {
    let runtime = crate::system::runtime().map_err(BenchError::of)?;
    runtime.block_on(async {
        let empty = embedded::EmbeddedGround::open(&folder.join("timers"))?;
        let full = embedded::EmbeddedGround::open(&folder.join("timers-full"))?;
        measure(&empty, &full, quick).await
    })
}

pub(super) async fn on_cluster(places: &ServerUrls, quick: bool) -> Result<Vec<Row>, BenchError> {
    let (empty, full) = (
        Site::open(places).await?,
        Site::named(places, "full").await?,
    );
    let rows = on_sites(&empty, &full, quick).await;
    empty.leave().await;
    full.leave().await;
    rows
}

async fn on_sites(empty: &Site, full: &Site, quick: bool) -> Result<Vec<Row>, BenchError> {
    super::cluster::refuse_weak_durability(empty).await?;
    let (empty, full) = (
        cluster::ClusterGround::open(empty).await?,
        cluster::ClusterGround::open(full).await?,
    );
    let rows = measure(&empty, &full, quick).await;
    empty.close().await;
    full.close().await;
    rows
}

/// Two installations: in one of them many actions are pending.
async fn measure(
    empty: &dyn Ground,
    full: &dyn Ground,
    quick: bool,
) -> Result<Vec<Row>, BenchError> {
    let writing = plan::fill_pending(full, quick).await?;
    let mut rows = add::measure(empty, full, quick).await?;
    rows.extend(idle::measure(empty, full).await?);
    rows.extend(hint::measure(empty, quick).await?);
    rows.extend(rate::measure(empty, quick, writing).await?);
    rows.push(rate::capacity(empty, quick).await?);
    Ok(rows)
}

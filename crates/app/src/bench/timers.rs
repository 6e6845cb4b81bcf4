//! `pawl bench timers`: what it costs to have a million actions planned, and how exactly they fire, against the plain
//! design of one table that is polled.
//!
//! Planned times, lateness and rates are all by the clock of the engine; an action that only pretends tells when it was
//! made. Afterwards every one of them must be in the database as having succeeded once.

mod cluster;
mod embedded;
mod firings;
mod ground;
mod plan;
mod rate;

use std::path::Path;

use super::cluster::Site;
use super::{BenchError, Places, Row};
use ground::Ground;

pub(super) fn on_folder(folder: &Path, quick: bool) -> Result<Vec<Row>, BenchError> {
    let runtime = crate::system::runtime().map_err(BenchError::of)?;
    runtime.block_on(async {
        let ground = embedded::Folder::open(&folder.join("timers"))?;
        measure(&ground, quick).await
    })
}

pub(super) async fn on_cluster(places: &Places, quick: bool) -> Result<Vec<Row>, BenchError> {
    let site = Site::open(places).await?;
    let rows = on_site(&site, quick).await;
    site.leave().await;
    rows
}

async fn on_site(site: &Site, quick: bool) -> Result<Vec<Row>, BenchError> {
    super::cluster::refuse_weak_durability(site).await?;
    let ground = cluster::Server::open(site).await?;
    measure(&ground, quick).await
}

async fn measure(ground: &dyn Ground, quick: bool) -> Result<Vec<Row>, BenchError> {
    rate::measure(ground, quick).await
}

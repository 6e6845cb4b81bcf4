//! The pack `docgraph` through real HTTP, on SQLite and on PostgreSQL: every branch of every scenario, and many clients at
//! once on processes that are killed.

#![allow(clippy::unwrap_used)]

// Its macro is for all that follow.
#[macro_use]
#[path = "docgraph/bed.rs"]
mod bed;

#[path = "docgraph/analyze.rs"]
mod analyze;
#[path = "docgraph/atoms.rs"]
mod atoms;
#[path = "docgraph/call.rs"]
mod call;
#[path = "docgraph/cluster.rs"]
mod cluster;
#[path = "docgraph/database.rs"]
mod database;
#[path = "docgraph/documents.rs"]
mod documents;
#[path = "docgraph/install.rs"]
mod install;
#[path = "docgraph/judge.rs"]
mod judge;
#[path = "docgraph/load.rs"]
mod load;
#[path = "docgraph/merge.rs"]
mod merge;
#[path = "docgraph/model.rs"]
mod model;
#[path = "docgraph/races.rs"]
mod races;
#[path = "common/rng.rs"]
mod rng;
#[path = "docgraph/storm.rs"]
mod storm;
#[path = "docgraph/story.rs"]
mod story;

// The cluster of the other tests; each target uses its own part of it.
#[allow(dead_code)]
#[path = "cluster/broker.rs"]
mod broker;
#[allow(dead_code)]
#[path = "cluster/member.rs"]
mod member;
#[allow(dead_code)]
#[path = "cluster/process.rs"]
mod process;
#[allow(dead_code)]
#[path = "cluster/site.rs"]
mod site;
#[allow(dead_code)]
#[path = "common/wire.rs"]
mod wire;
#[allow(dead_code)]
#[path = "cluster/world.rs"]
mod world;

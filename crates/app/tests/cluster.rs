//! The cluster on real PostgreSQL and RabbitMQ: each case of the failure matrix by its number, and what else a cluster
//! promises. Processes are killed and stopped where a case needs it; where the parts are enough they are joined inside
//! this process, which is quicker.

#![allow(clippy::unwrap_used)]

#[path = "cluster/branches.rs"]
mod branches;
#[path = "cluster/broker.rs"]
mod broker;
#[path = "cluster/commits.rs"]
mod commits;
#[path = "cluster/control.rs"]
mod control;
#[path = "cluster/delivery.rs"]
mod delivery;
#[path = "cluster/doors.rs"]
mod doors;
#[path = "cluster/flows.rs"]
mod flows;
#[path = "cluster/leases.rs"]
mod leases;
#[path = "cluster/member.rs"]
mod member;
#[path = "cluster/operating.rs"]
mod operating;
#[path = "cluster/outages.rs"]
mod outages;
#[path = "cluster/pace.rs"]
mod pace;
#[path = "cluster/pages.rs"]
mod pages;
#[path = "cluster/process.rs"]
mod process;
#[path = "cluster/schedule.rs"]
mod schedule;
#[path = "cluster/sharing.rs"]
mod sharing;
#[path = "cluster/site.rs"]
mod site;
#[path = "cluster/strangers.rs"]
mod strangers;
#[path = "cluster/studio.rs"]
mod studio;
#[path = "cluster/tap.rs"]
mod tap;
#[path = "cluster/timers.rs"]
mod timers;
#[path = "cluster/users.rs"]
mod users;
#[path = "cluster/webhooks.rs"]
mod webhooks;
#[path = "common/wire.rs"]
mod wire;
#[path = "cluster/world.rs"]
mod world;

//! Inputs made to hurt, door by door, with the answer that each must get. All of them meet one installation on SQLite and
//! one on PostgreSQL and RabbitMQ, which must still be well after each: no answer of 500 or more, no panic, no silence.
//!
//! A door is a file in `hostile/`, an input a line in its table. What is counted is what was tried.

#![allow(clippy::unwrap_used)]

#[path = "hostile/api_body.rs"]
mod api_body;
#[path = "hostile/api_query.rs"]
mod api_query;
#[path = "cluster/broker.rs"]
#[allow(dead_code)]
mod broker;
#[path = "api/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "hostile/code.rs"]
mod code;
#[path = "hostile/command_line.rs"]
mod command_line;
#[path = "hostile/configuration.rs"]
mod configuration;
#[path = "api/contract.rs"]
#[allow(dead_code)]
mod contract;
#[path = "hostile/expression.rs"]
mod expression;
#[path = "hostile/message.rs"]
mod message;
#[path = "hostile/schema_file.rs"]
mod schema_file;
#[path = "common/waiting.rs"]
#[allow(dead_code)]
mod site;
#[path = "hostile/sql.rs"]
mod sql;
#[path = "cli/support.rs"]
#[allow(dead_code)]
mod support;
#[path = "hostile/tally.rs"]
mod tally;
#[path = "hostile/url.rs"]
mod url;
#[path = "hostile/webhook.rs"]
mod webhook;
#[path = "hostile/world.rs"]
mod world;

use tally::Tally;
use world::World;

/// The goal: so many inputs at all, and at each door.
const ALL_MIN: usize = 300;
const DOOR_MIN: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_door_holds() {
    let world = World::open().await;
    let mut tally = Tally::default();
    schema_file::knock(&world, &mut tally).await;
    expression::knock(&world, &mut tally).await;
    url::knock(&world, &mut tally).await;
    webhook::knock(&world, &mut tally).await;
    api_body::knock(&world, &mut tally).await;
    api_query::knock(&world, &mut tally).await;
    message::knock(&world, &mut tally).await;
    sql::knock(&world, &mut tally).await;
    code::knock(&world, &mut tally).await;
    command_line::knock(&world, &mut tally).await;
    configuration::knock(&world, &mut tally).await;
    world.close().await;
    println!("{tally}");
    tally.verdict(ALL_MIN, DOOR_MIN);
}

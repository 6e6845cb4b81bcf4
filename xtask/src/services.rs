//! Private service instances for tests: found, installed when missing, started on free ports of 127.0.0.1 and gone with
//! the process that started them.
//!
//! Most tests want [`fresh_database`] and [`fresh_vhost`]; tests that kill a server start their own [`Postgres`] or
//! [`RabbitMq`]; tests of a broken network put a [`Proxy`] in between.
//!
//! Nothing outlives us, in three layers: every child gets a signal when our process ends, however it ends
//! (`process.rs`); a janitor removes the folders then (`folder.rs`); the next start sweeps what both missed.

mod folder;
mod install;
mod pgbouncer;
mod ports;
mod postgres;
mod process;
mod proxy;
mod rabbit;
mod rabbit_node;
mod shared;
mod tls;

pub use install::{Need, chromium, install_missing};
pub use pgbouncer::{PgBouncer, PoolMode};
pub use postgres::{Postgres, PostgresOptions, psql};
pub use proxy::Proxy;
pub use rabbit::{RabbitMq, RabbitOptions};
pub use rabbit_node::RabbitNode;
pub use shared::{
    AMQP_NODE, AMQP_URL, POSTGRES_URL, TestServices, fresh_database, fresh_vhost, shared_postgres,
    shared_rabbit,
};

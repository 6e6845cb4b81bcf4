//! What `cargo xtask` shares with the tests of other crates: private PostgreSQL, RabbitMQ, PgBouncer and a faulty
//! network. Only the standard library, so that a dev-dependency on it costs next to nothing.

pub mod services;

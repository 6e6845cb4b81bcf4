//! Every race that has a name, one test each, on both stores.
//!
//! Time stands still unless the test moves it ([`clock`]), effects wait at gates ([`nodes`]), and each worker
//! sees the store through a [`stage`] that can delay a commit, lose its answer or let a signal slip in. A test
//! waits for what it expects and never for a time.
//!
//! Each column of the state row is there for a reason that a test shows:
//!
//! | column | without it | test |
//! |---|---|---|
//! | `seq` | a doubled message would run a node twice | `commit::a_doubled_message_does_nothing` |
//! | `wait` and its id | a late timer would end another wait | `timer::an_old_retry_timer_does_nothing` |
//! | `hold` | a pause during a sleep would be forgotten | `hold::a_timer_fires_while_paused` |
//! | `control` | a stop during an effect would be overwritten by its commit | `stop::in_mid_effect_without_a_hint` |
//! | `inbox` | a signal between look and commit would be lost | `signal::between_look_and_commit` |
//! | `lease_token` | a worker thought dead would commit too | `recovery::a_zombie_commits_nothing` |
//! | `commit_id` | a commit without an answer would be made twice or never | `commit::the_answer_is_lost` |
//! | `recoveries` | a node that kills workers would do so for ever | `recovery::what_kills_every_worker_is_stuck` |
//! | `interrupted` | `on_interrupt: fail` could not be kept | `recovery::an_interrupted_effect_may_fail` |
//! | `effect_key` | an effect that runs again would be a new one to the other side | `recovery::an_interrupted_effect_repeats_itself` |
//! | `not_before` | a short retry delay would be forgotten by a crash | `recovery::a_short_retry_delay_survives_a_crash` |
//! | `last_error` | a viewer could not see why a node is tried again | `node::between_tries_the_reason_is_there` |
//! | `debug` | one press of Continue would run on | `debugger::continue_twice_makes_one_step` |
//! | `deadline_at` | a sleep would outlive `max_duration` | `timer::a_deadline_ends_a_sleep` |
//! | `next_sweep_at` | a long queue would be made longer by every sweep | `recovery::a_backlog_causes_no_storm` |
//! | `calls_spent` | a crash would reset the budget | `node::max_calls_survives_a_crash` |

#![allow(clippy::unwrap_used)]

/// Writes each scene as two tests, one per store.
macro_rules! both {
    ($($(#[$meta:meta])* async fn $name:ident($world:ident: &World) $body:block)*) => { $(
        mod $name {
            use super::*;

            async fn scene($world: &World) $body

            $(#[$meta])*
            #[tokio::test]
            async fn model() {
                crate::world::play(World::model(), async |world| scene(world).await).await;
            }

            $(#[$meta])*
            #[tokio::test]
            async fn sqlite() {
                crate::world::play(World::sqlite(), async |world| scene(world).await).await;
            }
        }
    )* };
}

#[path = "races/action.rs"]
mod action;
#[path = "races/ahead.rs"]
mod ahead;
#[path = "races/branch.rs"]
mod branch;
#[path = "races/clock.rs"]
mod clock;
#[path = "races/commit.rs"]
mod commit;
#[path = "races/debugger.rs"]
mod debugger;
#[path = "races/hold.rs"]
mod hold;
#[path = "races/metrics.rs"]
mod metrics;
#[path = "races/node.rs"]
mod node;
#[path = "races/nodes.rs"]
mod nodes;
#[path = "races/quota.rs"]
mod quota;
#[path = "races/recovery.rs"]
mod recovery;
#[path = "races/retention.rs"]
mod retention;
#[path = "races/secret.rs"]
mod secret;
#[path = "races/shutdown.rs"]
mod shutdown;
#[path = "races/signal.rs"]
mod signal;
#[path = "races/stage.rs"]
mod stage;
#[path = "races/start.rs"]
mod start;
#[path = "races/stop.rs"]
mod stop;
#[path = "races/timer.rs"]
mod timer;
#[path = "races/world.rs"]
mod world;

//! JavaScript for the node `code`: QuickJS in a pool of child processes that can be killed.
//!
//! The author of a script is taken for an attacker who has an account. So the engine never runs in this process;
//! a script runs in a child of the same binary ([`child::main`]) which has given away files, network, processes and
//! all memory but a little, and which the [`Pool`] kills when it is late. Every run has an engine and a realm of its
//! own: nothing of one run is seen by the next.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use pawl_script::{Document, Job, Options, Pool};
//!
//! let mut options = Options::new(std::env::current_exe()?);
//! options.args = vec!["script-child".into()];
//! let pool = Pool::new(options)?;
//! let answer = pool
//!     .run(Job {
//!         source: "return {json: {double: $json.n * 2}}".into(),
//!         data: Arc::new(Document::default()),
//!         entered_at_ms: 0,
//!         seed: 0,
//!         time: None,
//!         until: None,
//!         owner: None,
//!     })
//!     .await?;
//! # Ok(()) }
//! ```
//!
//! # What a script sees
//!
//! The source is the body of an async function, in sloppy mode, never interpolated. It may `await`, and returns
//!
//! - `{json: x}`, which is x; or a list of such items, which is the list of their values,
//! - any other value, by the rules of `JSON.stringify`; nothing is null.
//!
//! Names of n8n: `$json` and `$input.item.json` (the output of the step before, whole), `$input.first()`, `.last()`
//! and `.all()` (items `{json}`; a list is taken apart), the same on `$('id or name')` and `$node['id or name']`,
//! `$execution.id`, `$now`. Items are the script's own copy and may be changed. Names of Pawl: `webhook`, `input`,
//! `steps`, `variables`, `env`, `user`, `execution`, frozen. Never `secrets`. Data travel to the child when they are
//! touched, large objects a level at a time, so a context of many megabytes costs nothing unless it is read.
//!
//! `console.log`, `.info`, `.warn`, `.error` and `.debug` go to the log of the execution. There is no host: no
//! modules, no `fetch`, no timers, no `Intl`, no shared memory. `eval` and `Function` work and lead nowhere.
//!
//! A run can be repeated after a crash, so time and chance are facts of the visit: `new Date()`, `Date.now()` and
//! `$now` are the moment of entry, `Math.random()` is seeded. Local time is UTC. `$now` is a `Date` with `toISO`,
//! `toISODate`, `toMillis`, `toSeconds`, `plus`, `minus`, `year` to `millisecond` and `weekday`.
//!
//! Integers beyond 2^53 arrive as BigInt and leave as integers with all their digits, as long as they have at most
//! 64 bits. Mixing them with numbers is the TypeError that the language makes of it; `JSON.stringify` in a script
//! writes them as text.
//!
//! When the result is there, promises that are still open are dropped with the realm.
//!
//! # What it costs to be wrong
//!
//! Each of the [`Limits`] ends a run with a [`ScriptError`] of its own [`Code`]. Time is watched three times: the
//! engine asks now and then whether to go on, the pool kills the child 300 ms after its time (built-ins in C do not
//! ask), and the system ends it when it has used that much of a processor. Memory is bounded in the engine and for
//! the process. A child that dies or breaks the protocol costs its own run and nothing else.

pub mod child;
mod data;
mod error;
mod limits;
mod logs;
mod node;
mod places;
mod pool;
mod process;
mod spawner;
mod wire;

pub use data::{Data, Document, Part, ROOTS};
pub use error::{Code, ScriptError};
pub use limits::Limits;
pub use logs::{LogLevel, LogLine};
pub use node::CodeNode;
pub use pool::{Answer, Job, Options, Pool};

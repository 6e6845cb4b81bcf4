//! JavaScript for the node `code`.

pub mod child;
mod data;
mod error;
mod limits;
mod logs;
mod nursery;
mod pool;
mod process;
mod wire;

pub use data::{Data, Document, Part, ROOTS};
pub use error::{Code, ScriptError};
pub use limits::Limits;
pub use logs::{LogLevel, LogLine};
pub use pool::{Answer, Job, Options, Pool};

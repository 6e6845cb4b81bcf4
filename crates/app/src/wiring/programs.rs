//! The nodes that need more than this process: code runs in children of the same binary, transactions on databases of the
//! configuration.

use std::path::PathBuf;
use std::sync::Arc;

use pawl_engine::Runtime;
use pawl_kernel::node::NodeHandler;
use pawl_script::{CodeNode, Pool};
use pawl_sql::{Connections, SqlNode};

use super::WiringError;
use crate::config::{CodeSection, Config};
use crate::services::applied::AppliedKeeper;

/// What makes the binary run code instead of a command.
pub const SCRIPT_CHILD: &str = "script-child";

pub(super) fn handlers(config: &Config) -> Result<Vec<Arc<dyn NodeHandler>>, WiringError> {
    let pool = Arc::new(pool(&config.code)?);
    let databases = Arc::new(databases(config)?);
    Ok(vec![
        Arc::new(CodeNode::new(pool)),
        Arc::new(SqlNode::new(databases)),
    ])
}

fn pool(section: &CodeSection) -> Result<Pool, WiringError> {
    let unusable = |error| WiringError::Config(format!("code cannot be run here: {error}"));
    let program = match &section.program {
        Some(program) => program.clone(),
        // This very program, also after an update has put another file in its place.
        None if cfg!(target_os = "linux") => PathBuf::from("/proc/self/exe"),
        None => std::env::current_exe().map_err(unusable)?,
    };
    let mut options = pawl_script::Options::new(program);
    options.args = vec![SCRIPT_CHILD.into()];
    section.apply(&mut options);
    Pool::new(options).map_err(unusable)
}

/// `None`: there is no database to be kept tidy.
pub(super) fn keeper(
    runtime: &Runtime,
    config: &Config,
) -> Result<Option<AppliedKeeper>, WiringError> {
    let databases = databases(config)?;
    let is_any = databases.names().next().is_some();
    Ok(is_any.then(|| AppliedKeeper::new(runtime.store.clone(), databases)))
}

/// Those of `[connections]` that are databases.
pub(crate) fn databases(config: &Config) -> Result<Connections, WiringError> {
    let all = config.connections.iter();
    let databases = all.filter(|(_, connection)| pawl_sql::is_database(&connection.url));
    let settings = databases.map(|(name, connection)| (name.clone(), connection.database()));
    Connections::new(settings).map_err(|error| WiringError::Config(error.to_string()))
}

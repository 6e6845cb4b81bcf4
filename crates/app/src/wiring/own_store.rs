//! A connection of workflows that reaches Pawl's own tables is a way to become admin: nothing keeps a statement from writing
//! a key there.

use pawl_engine::Runtime;
use pawl_kernel::node::NodeError;
use pawl_sql::Connections;

use super::WiringError;
use super::programs::databases;
use crate::config::Config;

/// What the doctor calls it.
const PROBLEM: &str = "connection_writes_to_store";

/// What is wrong with the connection, if its role can write to a store of Pawl.
pub(crate) async fn exposure(
    databases: &Connections,
    name: &str,
    schema: &str,
) -> Result<Option<String>, NodeError> {
    let exposed = databases.can_write_to_store(name, schema).await?;
    Ok(exposed.then(|| {
        format!(
            "connection `{name}` can write to the tables of a Pawl store, so that an editor can make an admin's key through \
             it; give the connection a database of its own, or a role without rights on those tables"
        )
    }))
}

/// Looks at every connection once, beside everything else: a database that is away must not hold up the start.
pub(crate) fn look_for_exposure(runtime: &Runtime, config: &Config) -> Result<(), WiringError> {
    let (runtime, databases) = (runtime.clone(), databases(config)?);
    let schema = config.database.schema.clone();
    tokio::spawn(async move {
        for name in databases.names() {
            match exposure(&databases, name, &schema).await {
                Ok(None) => {}
                Ok(Some(detail)) => {
                    tracing::warn!("{detail}");
                    runtime.note_problem(PROBLEM, detail);
                }
                Err(error) => {
                    tracing::debug!(connection = name, error = error.message, "not looked at");
                }
            }
        }
        databases.close();
    });
    Ok(())
}

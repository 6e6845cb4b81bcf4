//! What the author of a schema wrote around the statements, evaluated on demand by the caller, which knows expressions.

use pawl_kernel::node::NodeError;
use serde_json::{Map, Value};

use crate::placeholders::Params;

/// Called inside the transaction, so it must be quick; called again from the beginning when the transaction is.
pub trait Script: Send + Sync {
    /// The items to run a statement for; `None` if it has no `for_each`.
    fn for_each(
        &self,
        statement: usize,
        results: &Map<String, Value>,
    ) -> Result<Option<Vec<Value>>, NodeError>;

    fn params(&self, statement: usize, scope: &Scope<'_>) -> Result<Params, NodeError>;

    /// The result of this statement is in `results` already. An error means that the expectation does not hold:
    /// everything is rolled back, and the error is the node's.
    fn expect(&self, statement: usize, results: &Map<String, Value>) -> Result<(), NodeError>;

    fn output(&self, results: &Map<String, Value>) -> Result<Value, NodeError>;
}

/// What `params` can see besides the context.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Of earlier statements of the same node.
    pub results: &'a Map<String, Value>,
    /// In a `for_each`: the item and its number from 0.
    pub item: Option<&'a Value>,
    pub index: Option<usize>,
}

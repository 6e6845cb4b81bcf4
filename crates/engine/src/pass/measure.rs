//! What a pass tells the metrics about nodes.

use pawl_kernel::node::{NodeError, Outcome};
use pawl_kernel::schema::graph::Node;
use pawl_kernel::time::Timestamp;

use super::Pass;

impl Pass {
    /// A try came to an outcome.
    pub(super) fn measure(
        &self,
        node: &Node,
        started: Timestamp,
        result: &Result<Outcome, NodeError>,
    ) {
        let took = self.runtime.now().since(started);
        self.runtime.metrics.nodes.tried(&node.node_type, took);
        match result {
            Err(error) => self.count_error(node, error),
            // What an `end` that says so makes of the execution, and of its step.
            Ok(Outcome::End { success: false, .. }) => self.count_code(node, "FAILED"),
            Ok(_) => {}
        }
    }

    pub(super) fn count_error(&self, node: &Node, error: &NodeError) {
        self.count_code(node, &error.code);
    }

    /// A code may hold what a service answered; a secret in it stays a secret.
    pub(super) fn count_code(&self, node: &Node, code: &str) {
        let redactor = &self.runtime.redactor;
        let may_show = |code: &str| !redactor.hides(code);
        self.runtime
            .metrics
            .node_failed(&node.node_type, code, may_show);
    }
}

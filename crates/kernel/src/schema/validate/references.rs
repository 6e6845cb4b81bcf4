//! Paths in expressions: does what they name exist at all?

use std::collections::HashSet;

use crate::diagnostic::Severity;
use crate::expr::{Reference, Segment};
use crate::schema::codes;
use crate::schema::definition::Definition;
use crate::schema::findings::{Finding, Findings};
use crate::schema::graph::config::ConfigValue;

/// What an expression can begin with, and the members of those whose members never vary.
pub const ROOTS: &[(&str, &[&str])] = &[
    (
        "webhook",
        &["payload", "headers", "query", "params", "method", "path"],
    ),
    ("input", &[]),
    ("user", &[]),
    (
        "execution",
        &["id", "schema", "version", "started_by", "correlation_id"],
    ),
    ("steps", &[]),
    ("variables", &[]),
    ("env", &[]),
    ("secrets", &[]),
];
const STEP_MEMBERS: &[&str] = &["output", "status", "error", "runs"];
/// These exist only once steps have run or a node is about to.
const NOT_IN_SETTINGS: &[&str] = &["steps", "variables", "secrets"];

/// Who reads: a node, or the settings before the first step.
#[derive(Clone, Copy)]
pub(super) enum ExpressionPlace<'a> {
    Node {
        id: &'a str,
        pure: bool,
        /// What texts left to the node can begin with besides the roots.
        locals: &'a [&'a str],
    },
    Settings,
}

pub(super) struct Paths<'a> {
    nodes: Vec<&'a str>,
    known: HashSet<&'a str>,
    incomplete: bool,
}

impl<'a> Paths<'a> {
    pub(super) fn new(definition: &'a Definition, incomplete: bool) -> Self {
        let nodes: Vec<&str> = definition
            .nodes
            .iter()
            .map(|node| node.id.as_str())
            .collect();
        Self {
            known: nodes.iter().copied().collect(),
            nodes,
            incomplete,
        }
    }

    pub(super) fn check(
        &self,
        compiled: &ConfigValue,
        pointer: &str,
        reader: ExpressionPlace<'_>,
        findings: &mut Findings,
    ) {
        compiled.each_reference(pointer, &mut |pointer, reference| {
            if let Some(finding) = self.problem(reference, pointer, reader, findings) {
                let node = match reader {
                    ExpressionPlace::Node { id, .. } => Some(id),
                    ExpressionPlace::Settings => None,
                };
                let span = reference.span.start..reference.span.end;
                findings.add(finding.node(node).inside(span));
            }
        });
    }

    fn problem(
        &self,
        reference: &Reference,
        pointer: &str,
        reader: ExpressionPlace<'_>,
        findings: &Findings,
    ) -> Option<Finding> {
        let mut names = reference.path.iter().map(|segment| match segment {
            Segment::Key(name) => Some(name.as_str()),
            _ => None,
        });
        let root = names.next()??;
        if matches!(reader, ExpressionPlace::Node { locals, .. } if locals.contains(&root)) {
            return None;
        }
        let Some((_, members)) = ROOTS.iter().find(|(name, _)| *name == root) else {
            let hint = findings.suggest(root, ROOTS.iter().map(|(name, _)| *name));
            let message = format!("`{root}` does not exist");
            let finding = unknown(reference, pointer, message).param("path", root);
            return Some(finding.maybe_hint(hint));
        };
        if let Some(finding) = forbidden(root, pointer, reader) {
            return Some(finding);
        }
        let second = names.next()??;
        if root == "steps" {
            return self.step_problem(reference, pointer, second, names.next().flatten(), findings);
        }
        if members.is_empty() || members.contains(&second) {
            return None;
        }
        Some(unknown_member(
            reference, pointer, root, second, members, findings,
        ))
    }

    fn step_problem(
        &self,
        reference: &Reference,
        pointer: &str,
        node: &str,
        member: Option<&str>,
        findings: &Findings,
    ) -> Option<Finding> {
        if !self.known.contains(node) {
            if self.incomplete {
                return None;
            }
            let message = format!("there is no node `{node}`, so `steps.{node}` can never exist");
            let hint = findings.suggest(node, self.nodes.iter().copied());
            let finding = unknown(reference, pointer, message).param("node", node);
            return Some(finding.maybe_hint(hint));
        }
        let member = member.filter(|member| !STEP_MEMBERS.contains(member))?;
        let owner = format!("steps.{node}");
        Some(unknown_member(
            reference,
            pointer,
            &owner,
            member,
            STEP_MEMBERS,
            findings,
        ))
    }
}

fn forbidden(root: &str, pointer: &str, reader: ExpressionPlace<'_>) -> Option<Finding> {
    match reader {
        ExpressionPlace::Node { pure: true, .. } if root == "secrets" => {
            let message = "secrets are only available in nodes that reach outside";
            let finding = Finding::error(codes::SECRET_IN_PURE_NODE, pointer, message);
            Some(finding.hint("use the secret where it is sent, for example in `http_request`"))
        }
        ExpressionPlace::Settings if NOT_IN_SETTINGS.contains(&root) => {
            let message = format!("`{root}` does not exist yet when settings are read");
            let finding = Finding::error(codes::UNKNOWN_PATH, pointer, message);
            Some(finding.hint("use `input`, `webhook`, `user`, `execution` or `env`"))
        }
        _ => None,
    }
}

fn unknown_member(
    reference: &Reference,
    pointer: &str,
    owner: &str,
    member: &str,
    members: &[&str],
    findings: &Findings,
) -> Finding {
    let message = format!("`{owner}` has no `{member}`");
    let hint = findings.suggest(member, members.iter().copied());
    let finding = unknown(reference, pointer, message).maybe_hint(hint);
    finding.param("path", owner).param("member", member)
}

/// An optional path that cannot exist does no harm when it runs, but is hardly meant.
fn unknown(reference: &Reference, pointer: &str, message: String) -> Finding {
    let severity = if reference.optional {
        Severity::Warning
    } else {
        Severity::Error
    };
    Finding::error(codes::UNKNOWN_PATH, pointer, message).severity(severity)
}

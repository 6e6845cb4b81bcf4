//! Problems on their way to becoming diagnostics: what is wrong is known, where it stands in the
//! text is looked up at the end.

use std::ops::Range;

use serde_json::{Map, Value};

use super::codes;
use crate::diagnostic::{Diagnostic, Severity};
use crate::text::shortened;

/// A hostile text can have a problem per byte; no user reads more than this.
const MAX_FINDINGS: usize = 200;

pub(crate) struct Finding {
    pub diagnostic: Diagnostic,
    pub at: At,
}

/// Which part of the value the pointer names is meant.
#[derive(Clone, PartialEq)]
pub(crate) enum At {
    Value,
    Key,
    /// Bytes of the string value.
    Inside(Range<usize>),
}

impl Finding {
    pub(crate) fn error(
        code: &'static str,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            diagnostic: Diagnostic::error(code, pointer, shortened(&message.into(), MAX_MESSAGE)),
            at: At::Value,
        }
    }

    pub(crate) fn warning(
        code: &'static str,
        pointer: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::error(code, pointer, message).severity(Severity::Warning)
    }

    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.diagnostic.severity = severity;
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.diagnostic.hint = Some(hint.into());
        self
    }

    pub(crate) fn param(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.diagnostic = self.diagnostic.param(name, value);
        self
    }

    pub(crate) fn params(mut self, params: Map<String, Value>) -> Self {
        self.diagnostic.params = params;
        self
    }

    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.diagnostic.hint = hint;
        self
    }

    pub(crate) fn node(mut self, node_id: Option<&str>) -> Self {
        self.diagnostic.node_id = node_id.map(str::to_owned);
        self
    }

    /// Adds to the message what follows from the problem.
    pub(crate) fn because(&mut self, consequence: &str) {
        self.diagnostic.message.push_str(consequence);
    }

    pub(crate) fn key(mut self) -> Self {
        self.at = At::Key;
        self
    }

    pub(crate) fn inside(mut self, bytes: Range<usize>) -> Self {
        self.at = At::Inside(bytes);
        self
    }
}

#[derive(Default)]
pub(crate) struct Findings {
    errors: Few,
    /// Kept apart, so that warnings never take the place of an error.
    doubts: Few,
}

/// As many as are read, and how many there were.
#[derive(Default)]
struct Few {
    list: Vec<Finding>,
    count: usize,
}

impl Few {
    fn add(&mut self, finding: Finding) {
        self.count += 1;
        if self.list.len() < MAX_FINDINGS {
            self.list.push(finding);
        }
    }

    fn extend(&mut self, others: Self) {
        self.count += others.count - others.list.len();
        others
            .list
            .into_iter()
            .for_each(|finding| self.add(finding));
    }
}

impl Findings {
    pub(crate) fn add(&mut self, finding: Finding) {
        let kind = match finding.diagnostic.is_error() {
            true => &mut self.errors,
            false => &mut self.doubts,
        };
        kind.add(finding);
    }

    /// How many errors there were, listed or not.
    pub(crate) fn errors(&self) -> usize {
        self.errors.count
    }

    pub(crate) fn has(&self, code: &str) -> bool {
        let mut all = self.errors.list.iter().chain(&self.doubts.list);
        all.any(|found| found.diagnostic.code == code)
    }

    /// The hint for a name that is nearly right, or the list of the right ones. Nothing once the list is
    /// full: no user will read it, and looking costs time.
    pub(crate) fn suggest<'a>(
        &self,
        name: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Option<String> {
        if self.errors.list.len() >= MAX_FINDINGS {
            return None;
        }
        if let Some(near) = crate::expr::nearest(name, known.clone()) {
            return Some(format!("did you mean `{near}`?"));
        }
        let mut names: Vec<&str> = known.take(MAX_NAMES + 1).collect();
        let more = if names.len() > MAX_NAMES { ", …" } else { "" };
        names.truncate(MAX_NAMES);
        (!names.is_empty()).then(|| format!("known here: {}{more}", names.join(", ")))
    }

    pub(crate) fn extend(&mut self, others: Findings) {
        self.errors.extend(others.errors);
        self.doubts.extend(others.doubts);
    }

    /// Errors first.
    pub(crate) fn into_list(self) -> Vec<Finding> {
        let Self { errors, doubts } = self;
        let count = errors.count + doubts.count;
        let severity = match errors.count {
            0 => Severity::Warning,
            _ => Severity::Error,
        };
        let mut list = errors.list;
        list.extend(doubts.list);
        list.truncate(MAX_FINDINGS);
        if count > list.len() {
            let message = format!("{} more problems are not listed", count - list.len());
            let last = Finding::error(codes::TOO_MANY_PROBLEMS, "", message)
                .severity(severity)
                .hint("fix the ones above and check again");
            list.push(last);
        }
        list
    }

    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.into_list()
            .into_iter()
            .map(|finding| finding.diagnostic)
            .collect()
    }
}

/// Adds one step to a JSON pointer.
pub(crate) fn join(pointer: &str, token: impl std::fmt::Display) -> String {
    let token = token.to_string();
    if token.contains(['~', '/']) {
        return format!("{pointer}/{}", token.replace('~', "~0").replace('/', "~1"));
    }
    format!("{pointer}/{token}")
}

const MAX_NAMES: usize = 30;
/// Messages quote names from the text, which may be of any length.
const MAX_MESSAGE: usize = 500;

//! What nodes of each type do: how long their tries take and how they fail.
//!
//! Types are those of the registry, so the map is made once and only read. Codes are made up by authors of schemas:
//! the first two hundred get a series of their own.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::catalogue::{NODE_DURATION, NODE_ERRORS, NODE_RETRIES};
use super::registry::SeriesRegistry;
use super::series::{Counter, Histogram};

const CODES_MAX: usize = 200;
const CODE_BYTES_MAX: usize = 100;
const TYPES_MAX: usize = 200;
/// The label of all that is beyond a limit.
const OTHER: &str = "other";

pub struct NodeMetrics {
    by_type: BTreeMap<&'static str, TypeMetrics>,
    /// For types beyond the limit.
    other: TypeMetrics,
    codes: Codes,
}

struct TypeMetrics {
    node_type: &'static str,
    duration: Arc<Histogram>,
    retries: Arc<Counter>,
    errors: OnceLock<ByCode>,
}

/// By the place of the code, made when it is first seen; the last is for codes beyond the limit.
type ByCode = Box<[OnceLock<Arc<Counter>>]>;

impl NodeMetrics {
    pub(super) fn new(series: &SeriesRegistry, types: impl Iterator<Item = &'static str>) -> Self {
        let types = types.take(TYPES_MAX);
        Self {
            by_type: types
                .map(|node_type| (node_type, TypeMetrics::new(series, node_type)))
                .collect(),
            other: TypeMetrics::new(series, OTHER),
            codes: Codes::default(),
        }
    }

    /// A try came to an outcome, good or bad.
    pub fn tried(&self, node_type: &str, time: Duration) {
        self.of(node_type).duration.record_time(time);
    }

    pub fn retried(&self, node_type: &str) {
        self.of(node_type).retries.increment();
    }

    /// A try failed. `may_show` is asked about codes not seen before.
    pub(super) fn failed(
        &self,
        series: &SeriesRegistry,
        node_type: &str,
        code: &str,
        may_show: impl FnOnce(&str) -> bool,
    ) {
        let of_type = self.of(node_type);
        let (place, shown) = match self.codes.place(code, may_show) {
            Some(place) => (place, code),
            None => (CODES_MAX, OTHER),
        };
        of_type.by_code()[place]
            .get_or_init(|| series.counter(&NODE_ERRORS, &[of_type.node_type, shown]))
            .increment();
    }

    fn of(&self, node_type: &str) -> &TypeMetrics {
        self.by_type.get(node_type).unwrap_or(&self.other)
    }
}

impl TypeMetrics {
    fn new(series: &SeriesRegistry, node_type: &'static str) -> Self {
        Self {
            node_type,
            duration: series.histogram(&NODE_DURATION, &[node_type]),
            retries: series.counter(&NODE_RETRIES, &[node_type]),
            errors: OnceLock::new(),
        }
    }

    /// Most types never fail in most processes.
    fn by_code(&self) -> &ByCode {
        self.errors
            .get_or_init(|| (0..=CODES_MAX).map(|_| OnceLock::new()).collect())
    }
}

/// The codes seen so far, in the order they were first seen. Filled from the front and never emptied, so a
/// search needs no lock: a code is in front of the first free place or nowhere.
struct Codes(Box<[OnceLock<Box<str>>]>);

impl Default for Codes {
    fn default() -> Self {
        Self((0..CODES_MAX).map(|_| OnceLock::new()).collect())
    }
}

impl Codes {
    /// `None`: counted under [`OTHER`].
    fn place(&self, code: &str, may_show: impl FnOnce(&str) -> bool) -> Option<usize> {
        let mut known = self.0.iter().map_while(OnceLock::get);
        if let Some(place) = known.position(|seen| **seen == *code) {
            return Some(place);
        }
        if !is_label(code) || !may_show(code) {
            return None;
        }
        // Another thread may be quicker, also with the same code: then it is its entry that is found.
        self.0
            .iter()
            .position(|place| **place.get_or_init(|| code.into()) == *code)
    }
}

/// Fit to be shown as it is.
fn is_label(code: &str) -> bool {
    code != OTHER
        && (1..=CODE_BYTES_MAX).contains(&code.len())
        && !code.chars().any(char::is_control)
}

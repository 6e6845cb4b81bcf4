//! Texts that a schema leaves to the node: compiled with the rest, evaluated when the node asks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::config::{ConfigValue, RenderError};
use crate::expr::{Limits, Meter, Reference, Scope, Segment};
use crate::node::NodeError;

/// The part of the context that the late texts of a node can read: a root, or one member of it.
#[derive(Debug, Default)]
pub(super) struct Reads(BTreeSet<(String, Option<String>)>);

impl Reads {
    pub(super) fn of(config: &ConfigValue) -> Self {
        let mut reads = Self::default();
        config.each_late(&mut |text| {
            text.each_reference("", &mut |_, reference| reads.add(reference));
        });
        reads
    }

    fn add(&mut self, reference: &Reference) {
        let key = |place: usize| match reference.path.get(place) {
            Some(Segment::Key(name)) => Some(name.clone()),
            _ => None,
        };
        if let Some(root) = key(0) {
            self.0.insert((root, key(1)));
        }
    }

    /// Copies no more than that: contexts are large, and what a transaction needs of them is small.
    fn take(&self, roots: &Map<String, Value>) -> Map<String, Value> {
        let mut taken = Map::new();
        for (root, member) in &self.0 {
            let Some(value) = roots.get(root) else {
                continue;
            };
            match (member, value) {
                (Some(member), Value::Object(members)) => {
                    let entry = taken
                        .entry(root.clone())
                        .or_insert_with(|| Map::new().into());
                    if let (Value::Object(entry), Some(value)) = (entry, members.get(member)) {
                        entry.insert(member.clone(), value.clone());
                    }
                }
                _ => {
                    taken.insert(root.clone(), value.clone());
                }
            }
        }
        taken
    }
}

/// Runs an evaluation that turned out long, with a meter for it, so that it keeps no thread from others.
type LongRun = dyn Fn(&mut dyn FnMut(&mut Meter)) + Send + Sync;

#[derive(Clone, Default)]
struct Long(Option<Arc<LongRun>>);

impl std::fmt::Debug for Long {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Long")
    }
}

/// The late texts of one visit to a node, with what they can read. Can be sent to another thread.
#[derive(Clone, Debug, Default)]
pub struct LateTexts {
    config: Option<Arc<ConfigValue>>,
    roots: Arc<Map<String, Value>>,
    now_micros: i64,
    execution_id: Arc<str>,
    seq: u64,
    long: Long,
    /// Steps of all texts until now that were evaluated where they were asked for: many short ones are a long one.
    used: Arc<AtomicU64>,
}

impl LateTexts {
    pub(super) fn new(config: &Arc<ConfigValue>, reads: &Reads, scope: &Scope<'_>) -> Self {
        Self {
            config: Some(Arc::clone(config)),
            roots: Arc::new(reads.take(scope.roots)),
            now_micros: scope.now_micros,
            execution_id: scope.execution_id.into(),
            seq: scope.seq,
            long: Long::default(),
            used: Arc::default(),
        }
    }

    /// Without this, what turns out long is evaluated where it is asked for. Nothing is made for a node without texts.
    pub fn with_long_runs<R>(self, make: impl FnOnce() -> R) -> Self
    where
        R: Fn(&mut dyn FnMut(&mut Meter)) + Send + Sync + 'static,
    {
        match self.config {
            None => self,
            Some(_) => Self {
                long: Long(Some(Arc::new(make()))),
                ..self
            },
        }
    }

    /// Is there something at this place of the config?
    pub fn has(&self, path: &[&str]) -> bool {
        self.find(path).is_some()
    }

    /// The value of the text at this place of the config, which may also use the names in `locals`. `None`: there is
    /// nothing.
    pub fn render(
        &self,
        path: &[&str],
        locals: &Map<String, Value>,
    ) -> Option<Result<Value, RenderError>> {
        let text = match self.find(path)? {
            ConfigValue::Late { text, .. } => text,
            other => other,
        };
        let scope = Scope::new(&self.roots, self.now_micros, &self.execution_id, self.seq);
        let scope = scope.with_locals(locals);
        let first_uuid = numbers(path, locals);
        let rendered = self.metered(&|meter| {
            meter.number_uuids_from(first_uuid);
            text.render(&scope, meter)
        });
        let above = |error: RenderError| {
            let path = path.iter().rev();
            path.fold(error, |error, token| error.below(token))
        };
        Some(rendered.map_err(above))
    }

    /// At once while all texts together are short, otherwise as a long one.
    fn metered<T>(&self, evaluate: &dyn Fn(&mut Meter) -> T) -> T {
        if let Some(mut meter) = Meter::short_after(self.used.load(Ordering::Relaxed)) {
            let result = evaluate(&mut meter);
            self.used.fetch_add(meter.steps_used(), Ordering::Relaxed);
            if !meter.is_spent() {
                return result;
            }
        }
        self.run_long(evaluate)
    }

    /// As [`render`](Self::render), with a failure as the node's own.
    pub fn value(
        &self,
        path: &[&str],
        locals: &Map<String, Value>,
    ) -> Option<Result<Value, NodeError>> {
        let rendered = self.render(path, locals)?;
        Some(rendered.map_err(NodeError::from))
    }

    fn run_long<T>(&self, evaluate: &dyn Fn(&mut Meter) -> T) -> T {
        let mut result = None;
        if let Some(run) = &self.long.0 {
            run(&mut |meter| result = Some(evaluate(meter)));
        }
        result.unwrap_or_else(|| evaluate(&mut Meter::new(Limits::default())))
    }

    fn find(&self, path: &[&str]) -> Option<&ConfigValue> {
        self.config.as_ref()?.at(path)
    }
}

/// Where a text begins to number its `uuid()` calls: each place of the config, for each item of a list, far from all
/// others, and the same when it is evaluated again.
fn numbers(path: &[&str], locals: &Map<String, Value>) -> u64 {
    let mut hash = Sha256::new().chain_update(b"pawl late text");
    for token in path {
        hash.update((token.len() as u64).to_be_bytes());
        hash.update(token);
    }
    if let Some(index) = locals.get("index").and_then(Value::as_u64) {
        hash.update(index.to_be_bytes());
    }
    let bytes = hash.finalize();
    let start = bytes
        .iter()
        .take(8)
        .fold(0, |number: u64, byte| number << 8 | u64::from(*byte));
    // Those of the rest of the config are small.
    start >> 1 | 1 << 62
}

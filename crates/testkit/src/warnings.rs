//! What the code under test tells the log.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// The warnings of this thread while it acts, each as one line: fields as `name=value`.
pub fn warnings(act: impl FnOnce()) -> Vec<String> {
    let lines = Arc::default();
    let listener = Dispatch::new(Listener(Arc::clone(&lines)));
    // With one listener only, a thread that has none itself would decide for all threads that there is no listener.
    let _second = Dispatch::new(Listener(Arc::default()));
    tracing::dispatcher::with_default(&listener, act);
    let mut lines = lines.lock().unwrap();
    std::mem::take(&mut *lines)
}

struct Listener(Arc<Mutex<Vec<String>>>);

impl Subscriber for Listener {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        *about.level() == Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = WarningLine(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct WarningLine(String);

impl Visit for WarningLine {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

//! How many inputs each door was tried with, and which of them did not get the answer they should.

use std::collections::BTreeMap;
use std::fmt;

pub(crate) const DOORS: [&str; 11] = [
    "schema file",
    "expression",
    "URL",
    "webhook",
    "API body",
    "API query",
    "message",
    "SQL",
    "code",
    "command line",
    "configuration",
];

#[derive(Default)]
pub(crate) struct Tally {
    counts: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

impl Tally {
    /// One more input, however many installations it is tried at.
    pub(crate) fn count(&mut self, door: &'static str) {
        assert!(DOORS.contains(&door), "{door}");
        *self.counts.entry(door).or_default() += 1;
    }

    /// `expected` may name several answers, as `a|b`.
    pub(crate) fn judge(&mut self, place: &str, what: &str, expected: &str, got: &str) {
        if !expected.split('|').any(|one| one == got) {
            let what: String = what.chars().take(100).collect();
            self.wrong.push(format!(
                "{place}: {what:?}: wanted `{expected}`, got `{got}`"
            ));
        }
    }

    pub(crate) fn verdict(&self, all_min: usize, door_min: usize) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
        for door in DOORS {
            let count = self.counts.get(door).copied().unwrap_or_default();
            assert!(count >= door_min, "{door}: {count} inputs are too few");
        }
        let all: usize = self.counts.values().sum();
        assert!(all >= all_min, "{all} inputs are too few");
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (door, count) in &self.counts {
            writeln!(f, "{door:<14} {count:>4}")?;
        }
        write!(
            f,
            "{:<14} {:>4}",
            "all",
            self.counts.values().sum::<usize>()
        )
    }
}

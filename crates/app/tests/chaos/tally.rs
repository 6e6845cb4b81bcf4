//! What was counted: a storm that hit nothing proves nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::faults::Kind;

#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) schedules: usize,
    /// By kind: how many there were, and how many of them hit something.
    pub(crate) faults: BTreeMap<Kind, (usize, usize)>,
    pub(crate) executions: usize,
    pub(crate) completed: usize,
    pub(crate) stopped: usize,
    pub(crate) stuck: usize,
    pub(crate) steps: usize,
    pub(crate) commits: usize,
    pub(crate) claims: usize,
    pub(crate) effects: usize,
    /// Requests that the sink got.
    pub(crate) calls: usize,
    /// Calls under the key of one before that no try on record explains.
    pub(crate) repeated: usize,
    /// `on_interrupt: fail` was asked for and applied.
    pub(crate) given_up: usize,
    /// Leases that were taken from their holders.
    pub(crate) reaped: usize,
    /// Passes that ended without a commit because the lease was lost, by our own clock or by a refusal.
    pub(crate) abandoned: usize,
    pub(crate) redelivered: usize,
    /// Stops and pauses that found a lease.
    pub(crate) commands: usize,
    /// Sleeps, timeouts and retry delays whose length was checked.
    pub(crate) waits: usize,
    pub(crate) timers: usize,
    /// In microseconds.
    pub(crate) latest_timer: i64,
    pub(crate) longest_drain: Duration,
}

impl Tally {
    pub(crate) fn add_fault(&mut self, kind: Kind, hit: bool) {
        let (done, hits) = self.faults.entry(kind).or_default();
        *done += 1;
        *hits += usize::from(hit);
    }

    /// Takes in what a judge counted.
    pub(crate) fn add(&mut self, more: &Self) {
        self.executions += more.executions;
        self.completed += more.completed;
        self.stopped += more.stopped;
        self.stuck += more.stuck;
        self.steps += more.steps;
        self.commits += more.commits;
        self.claims += more.claims;
        self.effects += more.effects;
        self.calls += more.calls;
        self.repeated += more.repeated;
        self.given_up += more.given_up;
        self.reaped += more.reaped;
        self.commands += more.commands;
        self.waits += more.waits;
        self.timers += more.timers;
        self.latest_timer = self.latest_timer.max(more.latest_timer);
    }

    /// What a storm of full length must have seen, and did not.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        let mut at_least = |what: &str, count: usize, least: usize| {
            if count < least {
                missing.push(format!("{what}: {count}, at least {least} are needed"));
            }
        };
        for kind in Kind::ALL {
            let (done, hits) = self.faults.get(&kind).copied().unwrap_or_default();
            at_least(kind.name(), done, 3);
            at_least(&format!("{} that hit something", kind.name()), hits, 1);
        }
        at_least("passes given up by zombies", self.abandoned, 3);
        at_least("redelivered messages", self.redelivered, 10);
        at_least("leases taken from their holders", self.reaped, 10);
        at_least("effects repeated under their key", self.repeated, 1);
        at_least("timers fired", self.timers, 20);
        at_least("stops and pauses under a lease", self.commands, 5);
        at_least(
            "executions completed",
            self.completed,
            self.executions * 9 / 10,
        );
        missing
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} schedules", self.schedules)?;
        for (kind, (done, hits)) in &self.faults {
            writeln!(f, "  {:<32} {done:4}, {hits:4} hit something", kind.name())?;
        }
        writeln!(
            f,
            "  {} executions: {} completed, {} stopped, {} stuck as asked for; {} steps in {} commits under {} claims",
            self.executions,
            self.completed,
            self.stopped,
            self.stuck,
            self.steps,
            self.commits,
            self.claims
        )?;
        writeln!(
            f,
            "  {} effects, {} calls, {} of them repeated under the same key, {} given up by on_interrupt",
            self.effects, self.calls, self.repeated, self.given_up
        )?;
        writeln!(
            f,
            "  {} leases reaped, {} passes given up, {} messages redelivered, {} stops and pauses under a lease",
            self.reaped, self.abandoned, self.redelivered, self.commands
        )?;
        write!(
            f,
            "  {} timers, the latest {:.1} s late; {} waits of the right length; longest drain {:.1?}",
            self.timers,
            self.latest_timer as f64 / 1e6,
            self.waits,
            self.longest_drain
        )
    }
}

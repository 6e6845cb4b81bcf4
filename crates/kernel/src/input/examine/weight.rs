//! How many parts of a schema hold for one value, with all references followed.

use std::collections::HashMap;

use serde_json::Value;

/// Parts for one value, each counted as often as it is reached.
const COUNT_MAX: usize = 10_000;
/// Parts within each other for one value: so deep goes the stack for each level of the value.
pub(super) const DEPTH_MAX: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    Circle,
    Depth,
    Count,
}

#[derive(Clone, Copy)]
enum Weight {
    Unknown,
    /// Being looked at, further out.
    Open,
    Known {
        count: usize,
        depth: usize,
    },
}

#[derive(Default)]
pub(super) struct Weights {
    numbers: HashMap<*const Value, usize>,
    /// By number: the parts that hold for the same value.
    too: Vec<Vec<usize>>,
    known: Vec<Weight>,
}

impl Weights {
    /// The number of a part; `true`: it was not known before.
    pub(super) fn number(&mut self, part: &Value) -> (usize, bool) {
        let next = self.too.len();
        let number = *self.numbers.entry(std::ptr::from_ref(part)).or_insert(next);
        if number == next {
            self.too.push(Vec::new());
            self.known.push(Weight::Unknown);
        }
        (number, number == next)
    }

    pub(super) fn holds_too(&mut self, number: usize, part: usize) {
        self.too[number].push(part);
    }

    /// The first part with which something is wrong.
    pub(super) fn weigh(&mut self) -> Result<(), (usize, Fault)> {
        for number in 0..self.too.len() {
            self.weigh_one(number, 1)?;
        }
        Ok(())
    }

    /// Parts that hold for one value at most, of what was weighed.
    pub(super) fn heaviest(&self) -> usize {
        let counts = self.known.iter().map(|weight| match weight {
            Weight::Known { count, .. } => *count,
            Weight::Unknown | Weight::Open => 1,
        });
        counts.max().unwrap_or(1)
    }

    /// Recursive, and never deeper than [`DEPTH_MAX`].
    fn weigh_one(&mut self, number: usize, level: usize) -> Result<(usize, usize), (usize, Fault)> {
        match self.known[number] {
            Weight::Open => return Err((number, Fault::Circle)),
            Weight::Known { count, depth } if level + depth <= DEPTH_MAX + 1 => {
                return Ok((count, depth));
            }
            Weight::Known { .. } => return Err((number, Fault::Depth)),
            Weight::Unknown if level > DEPTH_MAX => return Err((number, Fault::Depth)),
            Weight::Unknown => {}
        }
        self.known[number] = Weight::Open;
        let (mut count, mut depth) = (1_usize, 0);
        for place in 0..self.too[number].len() {
            let part = self.too[number][place];
            let (more, deep) = self.weigh_one(part, level + 1)?;
            count = count.saturating_add(more);
            depth = depth.max(deep);
        }
        if count > COUNT_MAX {
            return Err((number, Fault::Count));
        }
        self.known[number] = Weight::Known {
            count,
            depth: depth + 1,
        };
        Ok((count, depth + 1))
    }
}

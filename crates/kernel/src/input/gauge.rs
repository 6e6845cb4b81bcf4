//! What a check costs. The crate `jsonschema` has no place to carry a meter through, so the thread has it meanwhile.
//!
//! When nothing is left, every value reads as an empty one from then on, which ends the check soon; what it found is then
//! no answer, and [`measured`] says so.

use std::cell::RefCell;

use crate::expr::{ExprError, Meter};

/// Looks at a value that cost one step: a step of an expression does more.
const LOOKS_PER_STEP: u64 = 16;
/// Problems that are made of one input, those within `anyOf` and `oneOf` included.
const SHOWN_MAX: usize = 1_000;

/// What one look costs with a certain schema, in looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prices {
    /// Each value that is reached in a list or object: all parts of the schema that hold for one value are gone through.
    pub(super) value: u64,
    /// Each byte of the name of a field: it is matched with every pattern for names.
    pub(super) name_byte: u64,
}

impl Default for Prices {
    fn default() -> Self {
        Self {
            value: 1,
            name_byte: 0,
        }
    }
}

struct Gauge {
    meter: Meter,
    prices: Prices,
    /// Looks that are not paid for yet.
    looks: u64,
    shown: usize,
    is_over: bool,
}

thread_local! {
    /// `None`: nothing is checked, and nothing costs.
    static GAUGE: RefCell<Option<Gauge>> = const { RefCell::new(None) };
}

/// Checks something at the cost of the meter. `true` beside the answer: there was not enough for it.
pub(super) fn measured<T>(
    meter: &mut Meter,
    prices: Prices,
    check: impl FnOnce() -> T,
) -> (T, bool) {
    let gauge = Gauge {
        meter: meter.clone(),
        prices,
        looks: 0,
        shown: 0,
        is_over: false,
    };
    GAUGE.set(Some(gauge));
    let answer = check();
    let Some(gauge) = GAUGE.take() else {
        return (answer, true);
    };
    *meter = gauge.meter;
    (answer, gauge.is_over)
}

/// Pays for looks. `false`: there is nothing left.
pub(super) fn pay(looks: u64) -> bool {
    with(|gauge| gauge.pay(looks)).unwrap_or(true)
}

/// Pays for a value that was reached in a list or object, under a name of so many bytes.
pub(super) fn pay_for_value(name_bytes: usize) -> bool {
    let paid = with(|gauge| {
        let name = gauge.prices.name_byte.saturating_mul(name_bytes as u64);
        gauge.pay(gauge.prices.value.saturating_add(name))
    });
    paid.unwrap_or(true)
}

/// Pays in steps of the meter.
pub(super) fn pay_steps(steps: u64) -> Result<(), ExprError> {
    let paid = with(|gauge| {
        let paid = gauge.meter.pay(steps);
        gauge.is_over |= paid.is_err();
        paid
    });
    paid.unwrap_or(Ok(()))
}

/// A problem is made. `false`: of those there are enough.
pub(super) fn pay_for_problem() -> bool {
    let paid = with(|gauge| {
        gauge.shown += 1;
        gauge.is_over |= gauge.shown > SHOWN_MAX;
        gauge.pay(LOOKS_PER_STEP)
    });
    paid.unwrap_or(true)
}

pub(super) fn is_over() -> bool {
    with(|gauge| gauge.is_over).unwrap_or(false)
}

impl Gauge {
    fn pay(&mut self, looks: u64) -> bool {
        self.looks = self.looks.saturating_add(looks);
        if self.looks >= LOOKS_PER_STEP && !self.is_over {
            let paid = self.meter.pay(self.looks / LOOKS_PER_STEP);
            self.is_over = paid.is_err();
            self.looks %= LOOKS_PER_STEP;
        }
        !self.is_over
    }
}

fn with<T>(work: impl FnOnce(&mut Gauge) -> T) -> Option<T> {
    GAUGE.with_borrow_mut(|gauge| gauge.as_mut().map(work))
}

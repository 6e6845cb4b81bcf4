//! Numbers as the expression language has them: exact integers, exact decimals (which travel as text),
//! floats, and the rules between them. Nothing overflows silently and nothing is NaN.

use std::cmp::Ordering;
use std::str::FromStr;

use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::Value;

use crate::parse::kind_of;

#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
    Decimal(Decimal),
}

use Number::{Float, Int};

/// Why a calculation has no result.
pub(super) type Fault = &'static str;

const OVERFLOW: Fault = "the result is too large for an exact integer";
const DECIMAL_OVERFLOW: Fault = "the result is too large for a decimal";
const NOT_FINITE: Fault = "the result is not a finite number";
const BY_ZERO: Fault = "division by zero";

/// Beyond this a decimal has overflowed or vanished, unless it is 0 or 1.
const DECIMAL_EXPONENT_MAX: u64 = 1_000;

/// Text that is a whole number is an integer, other numeric text an exact decimal.
pub(super) fn read(value: &Value) -> Result<Number, String> {
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(int), _) => Ok(Int(int)),
            (None, Some(float)) if !number.is_u64() => Ok(Float(float)),
            _ => Err(format!(
                "{number} is larger than the largest exact integer, {}",
                i64::MAX
            )),
        },
        Value::String(text) => read_text(text.trim()),
        other => Err(format!("{} is no number", kind_of(other))),
    }
}

fn read_text(text: &str) -> Result<Number, String> {
    if let Ok(int) = text.parse() {
        return Ok(Int(int));
    }
    Decimal::from_str_exact(text)
        .or_else(|_| Decimal::from_scientific(text))
        .map(Number::Decimal)
        .map_err(|_| "the text is no number that can be held exactly".to_owned())
}

impl Number {
    pub(super) fn to_value(self) -> Value {
        match self {
            Int(int) => int.into(),
            Float(float) => float.into(),
            Self::Decimal(decimal) => decimal.to_string().into(),
        }
    }

    pub(super) fn add(self, other: Self) -> Result<Self, Fault> {
        self.calculate(other, i64::checked_add, Decimal::checked_add, |a, b| a + b)
    }

    pub(super) fn subtract(self, other: Self) -> Result<Self, Fault> {
        self.calculate(other, i64::checked_sub, Decimal::checked_sub, |a, b| a - b)
    }

    pub(super) fn multiply(self, other: Self) -> Result<Self, Fault> {
        self.calculate(other, i64::checked_mul, Decimal::checked_mul, |a, b| a * b)
    }

    pub(super) fn divide(self, other: Self) -> Result<Self, Fault> {
        match (self, other) {
            (_, zero) if zero.is_zero() => Err(BY_ZERO),
            // 7 / 2 is 3.5: only a division that leaves nothing over stays an integer.
            (Int(left), Int(right)) if left.checked_rem(right).is_some_and(|rest| rest != 0) => {
                finite(left as f64 / right as f64)
            }
            _ => self.calculate(other, i64::checked_div, Decimal::checked_div, |a, b| a / b),
        }
    }

    pub(super) fn modulo(self, other: Self) -> Result<Self, Fault> {
        if other.is_zero() {
            return Err(BY_ZERO);
        }
        // i64::MIN % -1 overflows in the processor, though its value is plainly 0.
        let ints = |left: i64, right| Some(left.checked_rem(right).unwrap_or(0));
        self.calculate(other, ints, Decimal::checked_rem, |a, b| a % b)
    }

    pub(super) fn power(self, exponent: Self) -> Result<Self, Fault> {
        match (self, exponent) {
            (base, Int(..0)) if base.is_zero() => Err(BY_ZERO),
            (Int(base), Int(exponent @ 0..)) => int_power(base, exponent),
            (Self::Decimal(base), Int(exponent)) => decimal_power(base, exponent),
            _ => finite(self.to_f64().powf(exponent.to_f64())),
        }
    }

    pub(super) fn abs(self) -> Result<Self, Fault> {
        match self {
            Int(int) => int.checked_abs().map(Int).ok_or(OVERFLOW),
            Float(float) => Ok(Float(float.abs())),
            Self::Decimal(decimal) => Ok(Self::Decimal(decimal.abs())),
        }
    }

    /// Halves go away from zero. By way of the decimal that a float is written as, so that 1.005
    /// rounds to 1.01 as one reads it.
    pub(super) fn round(self, digits: Option<u32>) -> Result<Self, Fault> {
        let round = |decimal: Decimal| {
            let strategy = RoundingStrategy::MidpointAwayFromZero;
            decimal.round_dp_with_strategy(digits.unwrap_or(0), strategy)
        };
        match (self, self.to_decimal()) {
            (Int(_), _) => Ok(self),
            (Self::Decimal(decimal), _) => Ok(Self::Decimal(round(decimal))),
            (Float(float), _) if digits.is_none() => whole(float.round()),
            (Float(_), Ok(decimal)) => finite(Self::Decimal(round(decimal)).to_f64()),
            // Too large for a decimal, therefore without a fraction.
            (Float(_), Err(_)) => Ok(self),
        }
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        match (self.to_decimal(), other.to_decimal()) {
            (Ok(left), Ok(right)) => left.cmp(&right),
            // Beyond the decimals the order of the floats is right.
            _ => self.to_f64().total_cmp(&other.to_f64()),
        }
    }

    fn calculate(
        self,
        other: Self,
        ints: impl Fn(i64, i64) -> Option<i64>,
        decimals: impl Fn(Decimal, Decimal) -> Option<Decimal>,
        floats: impl Fn(f64, f64) -> f64,
    ) -> Result<Self, Fault> {
        match (self, other) {
            (Int(left), Int(right)) => ints(left, right).map(Int).ok_or(OVERFLOW),
            (Self::Decimal(_), _) | (_, Self::Decimal(_)) => {
                let exact = decimals(self.to_decimal()?, other.to_decimal()?);
                exact.map(Self::Decimal).ok_or(DECIMAL_OVERFLOW)
            }
            _ => finite(floats(self.to_f64(), other.to_f64())),
        }
    }

    fn is_zero(self) -> bool {
        match self {
            Int(int) => int == 0,
            Float(float) => float == 0.0,
            Self::Decimal(decimal) => decimal.is_zero(),
        }
    }

    fn to_f64(self) -> f64 {
        match self {
            Int(int) => int as f64,
            Float(float) => float,
            // The text of a decimal is always a float; the fallback cannot be reached.
            Self::Decimal(decimal) => decimal.to_string().parse().unwrap_or(f64::NAN),
        }
    }

    /// A float is taken by its shortest text, so that 0.1 is one tenth.
    fn to_decimal(self) -> Result<Decimal, Fault> {
        match self {
            Int(int) => Ok(int.into()),
            Float(float) => Decimal::from_str(&float.to_string()).map_err(|_| DECIMAL_OVERFLOW),
            Self::Decimal(decimal) => Ok(decimal),
        }
    }
}

fn finite(float: f64) -> Result<Number, Fault> {
    // Adding zero turns -0.0 into 0.0, which no user wants to read in an output.
    if float.is_finite() {
        Ok(Float(float + 0.0))
    } else {
        Err(NOT_FINITE)
    }
}

/// A float without fraction, as an exact integer.
fn whole(float: f64) -> Result<Number, Fault> {
    // Both bounds are exact as floats; i64::MAX itself is not, hence the strict comparison.
    let fits = float >= i64::MIN as f64 && float < -(i64::MIN as f64);
    fits.then_some(Int(float as i64)).ok_or(OVERFLOW)
}

fn int_power(base: i64, exponent: i64) -> Result<Number, Fault> {
    let exponent = match base {
        // These stay small however high the power; only whether it is even matters.
        -1..=1 => exponent.min(2) + exponent % 2,
        _ => exponent,
    };
    let exponent = u32::try_from(exponent).map_err(|_| OVERFLOW)?;
    base.checked_pow(exponent).map(Int).ok_or(OVERFLOW)
}

fn decimal_power(base: Decimal, exponent: i64) -> Result<Number, Fault> {
    if exponent.unsigned_abs() > DECIMAL_EXPONENT_MAX {
        return Err("the exponent of a decimal is at most 1000");
    }
    let mut power = Decimal::ONE;
    for _ in 0..exponent.unsigned_abs() {
        power = power.checked_mul(base).ok_or(DECIMAL_OVERFLOW)?;
    }
    let result = if exponent < 0 {
        Decimal::ONE.checked_div(power)
    } else {
        Some(power)
    };
    result.map(Number::Decimal).ok_or(DECIMAL_OVERFLOW)
}

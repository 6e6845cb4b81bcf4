//! Numbers: exact integers, exact decimals, floats, and the rules between them.
//!
//! Integers are i64 and never overflow silently. JSON integers above `i64::MAX` can be compared but
//! not calculated with. A decimal meeting a float takes the float by its shortest text, so that
//! `decimal("9.99") * 1.19` means what it says. No number is ever infinite or NaN.

use std::cmp::Ordering;
use std::str::FromStr;

use rust_decimal::Decimal;
use serde_json::Value;

use super::ast::ArithmeticOp;

#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i64),
    /// Above `i64::MAX`.
    Huge(u64),
    Float(f64),
    Decimal(Decimal),
}

/// Why a calculation has no result; becomes the message of a MATH_ERROR.
pub(super) type MathFault = &'static str;

const OVERFLOW: MathFault = "the result is too large for an exact integer";
const DECIMAL_OVERFLOW: MathFault = "the result is too large for a decimal";
const NOT_FINITE: MathFault = "the result is not a finite number";
const BY_ZERO: MathFault = "division by zero";
const HUGE: MathFault = "integers above 9223372036854775807 can only be compared";

impl Number {
    pub(super) fn from_u64(number: u64) -> Self {
        i64::try_from(number).map_or(Self::Huge(number), Self::Int)
    }

    pub(super) fn from_json(number: &serde_json::Number) -> Self {
        if let Some(int) = number.as_i64() {
            return Self::Int(int);
        }
        match number.as_u64() {
            Some(huge) => Self::Huge(huge),
            None => Self::Float(number.as_f64().unwrap_or(0.0)),
        }
    }

    /// Decimals leave as text: a JSON number would be read back as a float.
    pub(super) fn to_json(self) -> Value {
        match self {
            Self::Int(int) => Value::from(int),
            Self::Huge(huge) => Value::from(huge),
            Self::Float(float) => Value::from(float),
            Self::Decimal(decimal) => Value::String(decimal.to_string()),
        }
    }

    pub(super) fn finite(float: f64) -> Result<Self, MathFault> {
        match float.is_finite() {
            // Adding zero turns -0.0 into 0.0, which no user wants to read in an output.
            true => Ok(Self::Float(float + 0.0)),
            false => Err(NOT_FINITE),
        }
    }

    pub(super) fn negate(self) -> Result<Self, MathFault> {
        const MIN_WITHOUT_SIGN: u64 = i64::MIN.unsigned_abs();
        match self {
            Self::Int(int) => int.checked_neg().map(Self::Int).ok_or(OVERFLOW),
            Self::Huge(MIN_WITHOUT_SIGN) => Ok(Self::Int(i64::MIN)),
            Self::Huge(_) => Err(HUGE),
            Self::Float(float) => Self::finite(-float),
            Self::Decimal(decimal) => Ok(Self::Decimal(-decimal)),
        }
    }

    pub(super) fn abs(self) -> Result<Self, MathFault> {
        match self.compare(Self::Int(0)) {
            Ordering::Less => self.negate(),
            _ => Ok(self),
        }
    }

    pub(super) fn to_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Huge(huge) => huge as f64,
            Self::Float(float) => float,
            // The text of a decimal is always a float; the fallback cannot be reached.
            Self::Decimal(decimal) => decimal.to_string().parse().unwrap_or(0.0),
        }
    }

    pub(super) fn to_decimal(self) -> Result<Decimal, MathFault> {
        match self {
            Self::Int(int) => Ok(Decimal::from(int)),
            Self::Huge(huge) => Ok(Decimal::from(huge)),
            Self::Float(float) => {
                Decimal::from_str(&float.to_string()).map_err(|_| DECIMAL_OVERFLOW)
            }
            Self::Decimal(decimal) => Ok(decimal),
        }
    }

    /// The number without its fraction.
    pub(super) fn truncate(self) -> Result<Self, MathFault> {
        match self {
            Self::Int(_) => Ok(self),
            Self::Huge(_) => Err(HUGE),
            Self::Float(float) => whole(float.trunc()),
            Self::Decimal(decimal) => {
                let text = decimal.trunc().to_string();
                text.parse().map(Self::Int).map_err(|_| OVERFLOW)
            }
        }
    }

    pub(super) fn calculate(self, op: ArithmeticOp, other: Self) -> Result<Self, MathFault> {
        match (self, other) {
            (Self::Huge(_), _) | (_, Self::Huge(_)) => Err(HUGE),
            (Self::Int(left), Self::Int(right)) => calculate_ints(op, left, right),
            (Self::Decimal(_), _) | (_, Self::Decimal(_)) => {
                calculate_decimals(op, self.to_decimal()?, other.to_decimal()?)
            }
            _ => calculate_floats(op, self.to_f64(), other.to_f64()),
        }
    }

    pub(super) fn power(self, exponent: Self) -> Result<Self, MathFault> {
        match (self, exponent) {
            (Self::Huge(_), _) | (_, Self::Huge(_)) => Err(HUGE),
            (Self::Int(base), Self::Int(exponent)) if exponent >= 0 => {
                let exponent = u32::try_from(exponent).unwrap_or(u32::MAX);
                base.checked_pow(exponent).map(Self::Int).ok_or(OVERFLOW)
            }
            (Self::Decimal(base), Self::Int(exponent)) => decimal_power(base, exponent),
            _ => Self::finite(self.to_f64().powf(exponent.to_f64())),
        }
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Float(left), Self::Float(right)) => compare_floats(left, right),
            (Self::Decimal(_), _) | (_, Self::Decimal(_)) => self.compare_as_decimals(other),
            (Self::Float(float), whole) => compare_exactly(whole.to_i128(), float).reverse(),
            (whole, Self::Float(float)) => compare_exactly(whole.to_i128(), float),
            _ => self.to_i128().cmp(&other.to_i128()),
        }
    }

    fn compare_as_decimals(self, other: Self) -> Ordering {
        match (self.to_decimal(), other.to_decimal()) {
            (Ok(left), Ok(right)) => left.cmp(&right),
            // A float beyond the decimals: there the float's order is right.
            _ => compare_floats(self.to_f64(), other.to_f64()),
        }
    }

    fn to_i128(self) -> i128 {
        match self {
            Self::Int(int) => i128::from(int),
            Self::Huge(huge) => i128::from(huge),
            Self::Float(float) => float as i128,
            Self::Decimal(decimal) => decimal.trunc().mantissa(),
        }
    }

    /// Equal numbers have equal texts here, whatever their kind.
    pub(super) fn canonical(self) -> String {
        match self {
            Self::Int(int) => int.to_string(),
            Self::Huge(huge) => huge.to_string(),
            Self::Float(float) if float.fract() == 0.0 && float.abs() < 1.9e19 => {
                (float as i128).to_string()
            }
            Self::Float(float) => float.to_string(),
            Self::Decimal(decimal) => decimal.normalize().to_string(),
        }
    }
}

/// A float without fraction, as an exact integer.
pub(super) fn whole(float: f64) -> Result<Number, MathFault> {
    // Both bounds are exact as floats; i64::MAX itself is not, hence the strict comparison.
    let fits = float >= i64::MIN as f64 && float < -(i64::MIN as f64);
    fits.then_some(Number::Int(float as i64)).ok_or(OVERFLOW)
}

fn calculate_ints(op: ArithmeticOp, left: i64, right: i64) -> Result<Number, MathFault> {
    let exact = match op {
        ArithmeticOp::Add => left.checked_add(right),
        ArithmeticOp::Subtract => left.checked_sub(right),
        ArithmeticOp::Multiply => left.checked_mul(right),
        ArithmeticOp::Divide => return divide_ints(left, right),
        ArithmeticOp::Remainder if right == 0 => return Err(BY_ZERO),
        // i64::MIN % -1 overflows in the processor, though its value is plainly 0.
        ArithmeticOp::Remainder => Some(left.checked_rem(right).unwrap_or(0)),
    };
    exact.map(Number::Int).ok_or(OVERFLOW)
}

fn divide_ints(left: i64, right: i64) -> Result<Number, MathFault> {
    match left.checked_rem(right) {
        _ if right == 0 => Err(BY_ZERO),
        Some(0) => Ok(Number::Int(left / right)),
        Some(_) => Number::finite(left as f64 / right as f64),
        None => Err(OVERFLOW),
    }
}

fn calculate_floats(op: ArithmeticOp, left: f64, right: f64) -> Result<Number, MathFault> {
    let divides = matches!(op, ArithmeticOp::Divide | ArithmeticOp::Remainder);
    if divides && right == 0.0 {
        return Err(BY_ZERO);
    }
    Number::finite(match op {
        ArithmeticOp::Add => left + right,
        ArithmeticOp::Subtract => left - right,
        ArithmeticOp::Multiply => left * right,
        ArithmeticOp::Divide => left / right,
        ArithmeticOp::Remainder => left % right,
    })
}

fn calculate_decimals(
    op: ArithmeticOp,
    left: Decimal,
    right: Decimal,
) -> Result<Number, MathFault> {
    let divides = matches!(op, ArithmeticOp::Divide | ArithmeticOp::Remainder);
    if divides && right.is_zero() {
        return Err(BY_ZERO);
    }
    let exact = match op {
        ArithmeticOp::Add => left.checked_add(right),
        ArithmeticOp::Subtract => left.checked_sub(right),
        ArithmeticOp::Multiply => left.checked_mul(right),
        // The library leaves a number of zeros behind a quotient that says nothing.
        ArithmeticOp::Divide => left.checked_div(right).map(|quotient| quotient.normalize()),
        ArithmeticOp::Remainder => left.checked_rem(right),
    };
    exact.map(Number::Decimal).ok_or(DECIMAL_OVERFLOW)
}

fn decimal_power(base: Decimal, exponent: i64) -> Result<Number, MathFault> {
    // Beyond this a decimal has overflowed or vanished, unless it is 0 or 1.
    const EXPONENT_MAX: u64 = 1_000;
    if exponent.unsigned_abs() > EXPONENT_MAX {
        return Err("the exponent of a decimal is at most 1000");
    }
    let mut power = Decimal::ONE;
    for _ in 0..exponent.unsigned_abs() {
        power = power.checked_mul(base).ok_or(DECIMAL_OVERFLOW)?;
    }
    match exponent < 0 {
        true => calculate_decimals(ArithmeticOp::Divide, Decimal::ONE, power),
        false => Ok(Number::Decimal(power)),
    }
}

fn compare_floats(left: f64, right: f64) -> Ordering {
    // No NaN gets in, so the comparison always has an answer.
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

/// Compares without rounding the integer to a float first: 2^53 + 1 is not 2^53.
fn compare_exactly(int: i128, float: f64) -> Ordering {
    // The cast saturates, which keeps the order because `int` is never that large.
    let whole = float.trunc() as i128;
    int.cmp(&whole)
        .then_with(|| compare_floats(0.0, float.fract()))
}

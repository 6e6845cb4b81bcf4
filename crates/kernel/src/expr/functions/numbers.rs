//! Functions over numbers.

use std::str::FromStr;

use rust_decimal::{Decimal, RoundingStrategy};

use super::super::number::whole;
use super::*;

const DIGITS_MAX: i64 = 28;

pub(super) const TABLE: &[Row] = &[
    (
        "int(value)",
        "An integer, from a number (without its fraction) or from text.",
        "int('42')",
        "42",
        Body::Eager(int),
    ),
    (
        "float(value)",
        "A float, from a number or from text.",
        "float('1.50')",
        "1.5",
        Body::Eager(float),
    ),
    (
        "decimal(value)",
        "An exact decimal, from a number or from text; leaves the expression as text.",
        "decimal('0.10') + decimal('0.20')",
        r#""0.30""#,
        Body::Eager(decimal),
    ),
    (
        "number(value)",
        "The number in the text: an integer if it is one, else a float.",
        "number('2.5') + 1",
        "3.5",
        Body::Eager(number),
    ),
    (
        "round(number, digits?)",
        "Rounded, a half away from zero; without digits an integer.",
        "round(2.345, 2)",
        "2.35",
        Body::Eager(round),
    ),
    (
        "floor(number)",
        "The next integer below.",
        "floor(-1.5)",
        "-2",
        Body::Eager(|call| to_whole(call, |x| whole(x.floor()), |x| x.floor())),
    ),
    (
        "ceil(number)",
        "The next integer above.",
        "ceil(1.2)",
        "2",
        Body::Eager(|call| to_whole(call, |x| whole(x.ceil()), |x| x.ceil())),
    ),
    (
        "abs(number)",
        "Without its sign.",
        "abs(-3)",
        "3",
        Body::Eager(|call| call.math_result(call.number(0)?.abs())),
    ),
    (
        "pow(base, exponent)",
        "The base to the power of the exponent.",
        "pow(2, 10)",
        "1024",
        Body::Eager(|call| call.math_result(call.number(0)?.power(call.number(1)?))),
    ),
    (
        "clamp(number, low, high)",
        "The number, moved inside the two bounds.",
        "clamp(15, 0, 10)",
        "10",
        Body::Eager(clamp),
    ),
];

fn int<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let number = parsed(call)?;
    call.math_result(number.truncate())
}

fn float<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let number = parsed(call)?;
    call.math_result(Number::finite(number.to_f64()))
}

fn number<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    parsed(call).map(Val::Number)
}

fn decimal<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    if let Val::Number(number) = call.value(0) {
        return call.math_result(number.to_decimal().map(Number::Decimal));
    }
    let text = call.text(0)?;
    call.scan(text.len())?;
    // Exact: a text with more digits than a decimal holds is an error, not rounded.
    match Decimal::from_str_exact(text.trim()) {
        Ok(decimal) => Ok(Val::Number(Number::Decimal(decimal))),
        Err(_) => Err(call.invalid("the text is not a decimal of at most 28 digits")),
    }
}

fn parsed(call: &mut Call<'_, '_>) -> Result<Number, ExprError> {
    if let Val::Number(number) = call.value(0) {
        return Ok(number);
    }
    let Val::Text(text) = call.value(0) else {
        return Err(call.wrong_type(0, "a number or a string"));
    };
    call.scan(text.len())?;
    from_text(text.trim()).ok_or_else(|| call.invalid("the text is not a number"))
}

fn from_text(text: &str) -> Option<Number> {
    // Rust also reads "inf" and "nan" as floats.
    if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
        return None;
    }
    if let Ok(int) = i64::from_str(text) {
        return Some(Number::Int(int));
    }
    if let Ok(huge) = u64::from_str(text) {
        return Some(Number::from_u64(huge));
    }
    Number::finite(text.parse().ok()?).ok()
}

fn round<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (number, digits) = (call.number(0)?, call.int_or(1, 0)?);
    if !(0..=DIGITS_MAX).contains(&digits) {
        return Err(call.math("the digits must be between 0 and 28"));
    }
    let is_whole = !call.has(1);
    let rounded = match number {
        Number::Int(_) | Number::Huge(_) => Ok(number),
        Number::Float(float) if is_whole => whole(float.round()),
        Number::Float(float) => round_float(float, digits.unsigned_abs() as u32),
        Number::Decimal(decimal) => Ok(Number::Decimal(round_decimal(
            decimal,
            digits.unsigned_abs() as u32,
        ))),
    };
    call.math_result(rounded)
}

/// By way of the decimal the float is written as, so that 1.005 rounds to 1.01 as one reads it.
fn round_float(float: f64, digits: u32) -> Result<Number, MathFault> {
    match Number::Float(float).to_decimal() {
        Ok(decimal) => Number::finite(Number::Decimal(round_decimal(decimal, digits)).to_f64()),
        // Too large for a decimal, therefore without a fraction.
        Err(_) => Ok(Number::Float(float)),
    }
}

fn round_decimal(decimal: Decimal, digits: u32) -> Decimal {
    decimal.round_dp_with_strategy(digits, RoundingStrategy::MidpointAwayFromZero)
}

fn to_whole<'a>(
    call: &mut Call<'_, 'a>,
    float: fn(f64) -> Result<Number, MathFault>,
    decimal: fn(Decimal) -> Decimal,
) -> EvalResult<'a> {
    let rounded = match call.number(0)? {
        Number::Float(number) => float(number),
        Number::Decimal(number) => Ok(Number::Decimal(decimal(number))),
        integer => Ok(integer),
    };
    call.math_result(rounded)
}

fn clamp<'a>(call: &mut Call<'_, 'a>) -> EvalResult<'a> {
    let (number, low, high) = (call.number(0)?, call.number(1)?, call.number(2)?);
    if low.compare(high).is_gt() {
        return Err(call.math("the lower bound is above the upper one"));
    }
    Ok(Val::Number(if number.compare(low).is_lt() {
        low
    } else if number.compare(high).is_gt() {
        high
    } else {
        number
    }))
}

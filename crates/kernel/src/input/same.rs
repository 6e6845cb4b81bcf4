//! Equality as JSON Schema has it: numbers by what they are, objects in any order. Paid for.

use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use super::gauge;

/// Bytes that are compared or written for one look.
const BYTES_PER_LOOK: usize = 64;
/// Up to here every whole number is one that a float holds exactly.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// If there is nothing left to pay with, nothing is equal.
pub(super) fn is_equal(left: &Value, right: &Value) -> bool {
    if !gauge::pay(1) {
        return false;
    }
    match (left, right) {
        (Value::String(left), Value::String(right)) => {
            let read = left.len().min(right.len()) / BYTES_PER_LOOK;
            left.len() == right.len() && gauge::pay(read as u64) && left == right
        }
        (Value::Number(left), Value::Number(right)) => is_same_number(left, right),
        (Value::Array(left), Value::Array(right)) => {
            let mut pairs = left.iter().zip(right);
            left.len() == right.len() && pairs.all(|(left, right)| is_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let is_same = |(name, left)| {
                let other = right.get::<String>(name);
                other.is_some_and(|right| is_equal(left, right))
            };
            left.len() == right.len() && left.iter().all(is_same)
        }
        _ => left == right,
    }
}

fn is_same_number(left: &Number, right: &Number) -> bool {
    match left.is_f64() || right.is_f64() {
        true => left.as_f64() == right.as_f64(),
        false => left == right,
    }
}

/// No two are equal. If there is nothing left to pay with, none are.
pub(super) fn all_differ(items: &[Value]) -> bool {
    let mut seen = HashSet::with_capacity(items.len());
    for item in items {
        let mut text = String::new();
        write(item, &mut text);
        if !gauge::pay(1 + (text.len() / BYTES_PER_LOOK) as u64) {
            return true;
        }
        if !seen.insert(text) {
            return false;
        }
    }
    true
}

/// Equal values have the same text.
fn write(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => write_number(number, out),
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(fields) => write_fields(fields, out),
        simple => out.push_str(&simple.to_string()),
    }
}

fn write_fields(fields: &Map<String, Value>, out: &mut String) {
    let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
    sorted.sort_by_key(|(name, _)| *name);
    out.push('{');
    for (name, value) in sorted {
        // With its quotes: no name reads like the rest of the text.
        out.push_str(&Value::from(name.as_str()).to_string());
        out.push(':');
        write(value, out);
        out.push(',');
    }
    out.push('}');
}

fn write_number(number: &Number, out: &mut String) {
    let whole = number
        .as_f64()
        .filter(|float| number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT_MAX);
    match whole {
        Some(float) => out.push_str(&(float as i64).to_string()),
        None => out.push_str(&number.to_string()),
    }
}

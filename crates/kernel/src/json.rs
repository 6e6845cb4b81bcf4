//! JSON as text: how it is let in, and how it is written.

use serde_json::Value;

pub mod cut;
mod read;

pub use read::{DEPTH_MAX, JsonError, JsonRule, read};

/// The same as `to_string`, without a formatter in between, which takes every piece on its own.
pub fn to_text(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| value.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    /// A run that goes on after a crash must see the numbers that it saw before.
    #[test]
    fn numbers_come_back_as_they_were() {
        let mut bits = 0x3FB9_9999_9999_999A_u64;
        for _ in 0..100_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = f64::from_bits(bits);
            let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            let value = json!(number);
            assert_eq!(read(&super::to_text(&value)), value, "{number}");
        }
    }
}

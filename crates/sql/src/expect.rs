//! The expectations that need no expression: `rows`, `one`, `none` and `affected >= n`.

use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// At least one row, returned or affected.
    Rows,
    /// Exactly one row.
    One,
    /// No row, and nothing affected.
    None,
    /// The number of affected rows.
    Affected(Comparison, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Longer signs first: `<` is the beginning of `<=`.
const COMPARISONS: [(&str, Comparison); 7] = [
    (">=", Comparison::GreaterOrEqual),
    ("<=", Comparison::LessOrEqual),
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

impl Expectation {
    /// `None`: it is an expression, for the script to evaluate.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "rows" => Some(Self::Rows),
            "one" => Some(Self::One),
            "none" => Some(Self::None),
            other => {
                let rest = other.strip_prefix("affected")?.trim_start();
                let (sign, comparison) = COMPARISONS
                    .iter()
                    .find(|(sign, _)| rest.starts_with(sign))?;
                let number = rest[sign.len()..].trim().parse().ok()?;
                Some(Self::Affected(*comparison, number))
            }
        }
    }

    /// Looks at the result of a statement, or of all items of a `for_each` together. The error says what was expected
    /// and what was found.
    pub fn check(self, result: &Value) -> Result<(), String> {
        let number = |name: &str| result[name].as_u64().unwrap_or(0);
        let affected = number("affected");
        // A statement that returns no rows is judged by those it has changed.
        let rows = number("count").max(affected);
        let (holds, expected, found) = match self {
            Self::Rows => (rows >= 1, "at least one row".to_owned(), rows),
            Self::One => (rows == 1, "exactly one row".to_owned(), rows),
            Self::None => (rows == 0, "no row".to_owned(), rows),
            Self::Affected(comparison, limit) => (
                comparison.holds(affected, limit),
                format!("affected {} {limit}", comparison.sign()),
                affected,
            ),
        };
        if holds {
            return Ok(());
        }
        Err(format!("expected {expected}, found {found}"))
    }
}

impl Comparison {
    fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }

    fn sign(self) -> &'static str {
        COMPARISONS
            .iter()
            .find(|(_, comparison)| *comparison == self)
            .map_or("", |(sign, _)| sign)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, count: u64, affected: u64) -> bool {
        let expectation = Expectation::parse(text).unwrap();
        let result = json!({"rows": [], "row": null, "count": count, "affected": affected});
        expectation.check(&result).is_ok()
    }

    #[test]
    fn expectations_look_at_rows_and_at_what_was_affected() {
        for (text, fits, fails) in [
            ("rows", (3, 0), (0, 0)),
            ("rows", (0, 2), (0, 0)),
            ("one", (1, 1), (2, 0)),
            ("one", (0, 1), (0, 0)),
            ("none", (0, 0), (1, 0)),
            ("none", (0, 0), (0, 1)),
            ("affected >= 2", (0, 2), (0, 1)),
            ("affected>1", (0, 2), (0, 1)),
            ("affected == 0", (5, 0), (0, 1)),
            ("affected = 1", (0, 1), (0, 2)),
            ("affected != 1", (0, 2), (0, 1)),
            ("affected < 1", (0, 0), (0, 1)),
            (" affected <=1 ", (0, 1), (0, 2)),
        ] {
            assert!(check(text, fits.0, fits.1), "{text} {fits:?}");
            assert!(!check(text, fails.0, fails.1), "{text} {fails:?}");
        }
    }

    #[test]
    fn anything_else_is_an_expression() {
        for text in [
            "",
            "ones",
            "affected",
            "affected >= x",
            "affected >= -1",
            "results.a.count == 1",
            "affected >= 1 && true",
            "affectedness > 1",
        ] {
            assert_eq!(Expectation::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_error_says_what_was_expected_and_found() {
        let result = json!({"count": 0, "affected": 0});
        let error = Expectation::One.check(&result).unwrap_err();
        assert_eq!(error, "expected exactly one row, found 0");
    }
}

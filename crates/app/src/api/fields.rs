//! Reading the object that a request body is: every field named, typed and bounded, and none ignored.

use serde_json::{Map, Number, Value, json};

use super::error::{ApiError, ApiResult};

/// Longest text in a field that ends up in a column of its own.
pub(super) const TEXT_MAX: usize = 255;

#[derive(Debug)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// Refuses what is no object, and names that are not `known`: a typo must not silently be a default.
    pub(super) fn of(value: Value, known: &[&str]) -> ApiResult<Self> {
        let Value::Object(fields) = value else {
            let message = format!("the body must be an object with {}", list(known));
            return Err(ApiError::invalid_request(message));
        };
        let unknown: Vec<&String> = fields
            .keys()
            .filter(|name| !known.contains(&name.as_str()))
            .collect();
        match unknown.first() {
            None => Ok(Self(fields)),
            Some(first) => {
                let details = json!({"unknown": unknown, "known": known});
                Err(ApiError::invalid_request(unknown_name("field", first, known)).details(details))
            }
        }
    }

    /// No body is an object without fields.
    pub(super) fn of_optional(value: Option<Value>, known: &[&str]) -> ApiResult<Self> {
        Self::of(value.unwrap_or_else(|| json!({})), known)
    }

    /// `null` is the same as left out.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn is_null(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(Value::is_null)
    }

    pub(super) fn text(&mut self, name: &str) -> ApiResult<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => check_text(name, &text).map(|()| Some(text)),
            Some(other) => Err(mismatch(name, "a text", &other)),
        }
    }

    /// Taken only if it is one.
    pub(super) fn number(&mut self, name: &str) -> Option<Number> {
        let number = match self.0.get(name)? {
            Value::Number(number) => number.clone(),
            _ => return None,
        };
        self.0.remove(name);
        Some(number)
    }

    pub(super) fn flag(&mut self, name: &str) -> ApiResult<Option<bool>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(mismatch(name, "true or false", &other)),
        }
    }

    pub(super) fn whole(&mut self, name: &str) -> ApiResult<Option<u64>> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => {
                let number = value.as_u64().filter(|number| *number <= i64::MAX as u64);
                number
                    .map(Some)
                    .ok_or_else(|| mismatch(name, "a whole number, zero or more", &value))
            }
        }
    }

    pub(super) fn object(&mut self, name: &str) -> ApiResult<Map<String, Value>> {
        match self.take(name) {
            None => Ok(Map::new()),
            Some(Value::Object(fields)) => Ok(fields),
            Some(other) => Err(mismatch(name, "an object", &other)),
        }
    }
}

/// Texts that become columns: short, and nothing a log or terminal would obey.
pub(super) fn check_text(name: &str, text: &str) -> ApiResult<()> {
    let count = text.chars().count();
    if count == 0 || count > TEXT_MAX {
        return Err(ApiError::invalid_request(format!(
            "`{name}` must have 1 to {TEXT_MAX} characters, it has {count}"
        )));
    }
    if text.chars().any(char::is_control) {
        return Err(ApiError::invalid_request(format!(
            "`{name}` must not hold control characters"
        )));
    }
    Ok(())
}

pub(super) fn mismatch(name: &str, wanted: &str, found: &Value) -> ApiError {
    let kind = match found {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) if wanted.contains("number") => "another number",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    ApiError::invalid_request(format!("`{name}` must be {wanted}, not {kind}"))
        .details(json!({"field": name}))
}

pub(super) fn unknown_name(what: &str, name: &str, known: &[&str]) -> String {
    let shown: String = name.chars().take(60).collect();
    match nearest(name, known) {
        Some(near) => format!("unknown {what} `{shown}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("unknown {what} `{shown}`; there is none here"),
        None => format!("unknown {what} `{shown}`; there is {}", list(known)),
    }
}

fn list(names: &[&str]) -> String {
    match names {
        [] => "no field".to_owned(),
        names => names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// The known name a typo was probably meant to be.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if name.len() > 60 {
        return None;
    }
    let close = |candidate: &&str| distance(name, candidate) <= 1 + candidate.len() / 4;
    known
        .iter()
        .copied()
        .filter(close)
        .min_by_key(|candidate| distance(name, candidate))
}

/// Edits from one text to the other (Levenshtein), by rows.
fn distance(from: &str, to: &str) -> usize {
    let target: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=target.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for column in 0..target.len() {
            let substitute = diagonal + usize::from(target[column] != letter);
            diagonal = row[column + 1];
            row[column + 1] = substitute.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[target.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_gets_the_name_it_was_meant_to_be() {
        let error = Fields::of(json!({"schma": "x"}), &["schema", "input"]).unwrap_err();
        assert_eq!(
            error.message(),
            "unknown field `schma`; did you mean `schema`?"
        );
        let error = Fields::of(json!({"lease_token": 1}), &["schema", "input"]).unwrap_err();
        assert_eq!(
            error.message(),
            "unknown field `lease_token`; there is `schema`, `input`"
        );
    }

    #[test]
    fn distances() {
        for (a, b, n) in [
            ("", "", 0),
            ("a", "", 1),
            ("kitten", "sitting", 3),
            ("ab", "ba", 2),
        ] {
            assert_eq!(distance(a, b), n, "{a} {b}");
        }
    }
}

//! Which variables the texts of a config speak of, whatever a node type makes of them.
//!
//! Texts of every language look alike here: expressions, scripts and SQL name a variable as `variables.x` or
//! `variables["x"]`. What names none in particular may read all of them.

use std::collections::BTreeSet;

use serde_json::Value;

const ROOT: &str = "variables";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mentions {
    /// Named as members of `variables`.
    read: BTreeSet<String>,
    /// `variables` itself is used, or a member that only the run knows.
    all: bool,
    /// Every word there is: the name of a variable that a node sets is one of them.
    words: BTreeSet<String>,
}

impl Mentions {
    pub fn of<'a>(configs: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut found = Self::default();
        for config in configs {
            found.look_at(config);
        }
        found
    }

    /// Could what was looked at come out differently if this variable changed?
    pub fn may_read(&self, name: &str) -> bool {
        self.all || self.read.contains(name)
    }

    /// Does it speak of this variable at all?
    pub fn know(&self, name: &str) -> bool {
        self.read.contains(name) || self.words.contains(name)
    }

    /// The names that are read.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.read.iter().map(String::as_str)
    }

    fn look_at(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.look_at_text(text),
            Value::Array(items) => items.iter().for_each(|item| self.look_at(item)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.look_at_text(name);
                    self.look_at(value);
                }
            }
            _ => {}
        }
    }

    fn look_at_text(&mut self, text: &str) {
        let words = text.split(|letter| !is_name(letter));
        self.words
            .extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
        for (at, _) in text.match_indices(ROOT) {
            let (before, after) = (&text[..at], &text[at + ROOT.len()..]);
            if before.ends_with(is_name) || after.starts_with(is_name) {
                continue;
            }
            match member(after) {
                Some(name) => drop(self.read.insert(name.to_owned())),
                None => self.all = true,
            }
        }
    }
}

/// The member that a path goes on with, if it says which.
fn member(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix('?').unwrap_or(rest);
    if let Some(rest) = rest
        .strip_prefix('.')
        .filter(|rest| rest.starts_with(is_name))
    {
        return rest.split(|letter| !is_name(letter)).next();
    }
    let rest = rest.strip_prefix('.').unwrap_or(rest).strip_prefix('[')?;
    let quote = rest
        .chars()
        .next()
        .filter(|letter| "'\"".contains(*letter))?;
    let (name, after) = rest[1..].split_once(quote)?;
    (after.starts_with(']') && !name.contains('\\')).then_some(name)
}

fn is_name(letter: char) -> bool {
    // Names of JavaScript may have a `$`.
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(config: Value) -> Mentions {
        Mentions::of([&config])
    }

    #[test]
    fn what_is_named_is_read_and_nothing_else() {
        for text in [
            "{{variables.limit + 1}}",
            "{{variables?.limit}}",
            "{{variables['limit']}}",
            "return variables[\"limit\"].size",
            "{{variables?.[\"limit\"]}}",
        ] {
            let found = of(json!({"body": [{"deep": text}]}));
            assert!(found.may_read("limit"), "{text}");
            assert!(!found.may_read("lim") && !found.may_read("other"), "{text}");
        }
    }

    #[test]
    fn what_names_none_may_read_all() {
        for text in [
            "{{variables}}",
            "{{variables[input.name]}}",
            "Object.keys(variables)",
            "variables[\"a\" + b]",
        ] {
            assert!(of(json!(text)).may_read("limit"), "{text}");
        }
        for text in ["{{input.variables_of}}", "my_variables.limit", "none"] {
            assert!(!of(json!(text)).may_read("limit"), "{text}");
        }
    }

    #[test]
    fn names_that_are_set_are_known() {
        let found = of(json!({"variable": "total", "set": {"limit": "{{input.a}}"}}));
        assert!(found.know("total") && found.know("limit") && !found.know("limt"));
        assert_eq!(found.names().count(), 0);
    }
}

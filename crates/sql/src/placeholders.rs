//! Placeholders: `$1`, `?1` and `:name`, whichever the author likes, become those of the database at hand.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::guard::{Problem, Verb, one_statement, verb};
use crate::lexer::{Dialect, Token, TokenKind};

/// More would be refused by the databases.
const POSITIONS_MAX: usize = 32_766;

/// Values for the placeholders of one statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Params {
    /// For `$1`, `$2`, … or `?1`, `?2`, …
    List(Vec<Value>),
    /// For `:name`.
    Map(Map<String, Value>),
}

/// What the placeholders of a text ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slots {
    /// So many positions.
    Positions(usize),
    /// Names, in the order of their numbers.
    Names(Vec<String>),
}

/// One statement, ready for one kind of database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledStatement {
    /// With the placeholders of the database.
    pub text: String,
    pub verb: Verb,
    pub slots: Slots,
}

/// Checks a statement and numbers its placeholders.
pub fn compile(text: &str, dialect: Dialect) -> Result<CompiledStatement, Problem> {
    let tokens = one_statement(text, dialect)?;
    let verb = verb(&tokens, dialect)?;
    let slots = slots(&tokens)?;
    Ok(CompiledStatement {
        text: rewritten(text, &tokens, &slots, dialect),
        verb,
        slots,
    })
}

fn slots(tokens: &[Token<'_>]) -> Result<Slots, Problem> {
    let of = |kind: TokenKind| tokens.iter().filter(move |token| token.kind == kind);
    if let Some(odd) = of(TokenKind::Odd).next() {
        return Err(Problem::new(
            format!("the placeholder `{}` is not known", odd.text),
            "write $1, $2, … with a list of `params`, or :name with a map",
        ));
    }
    let names = names(of(TokenKind::Name).map(|token| &token.text[1..]))?;
    let positions: Result<Vec<usize>, _> = of(TokenKind::Position)
        .map(|token| position(token))
        .collect();
    let positions = positions?;
    match (names.is_empty(), positions.iter().max()) {
        (true, None) => Ok(Slots::Positions(0)),
        (false, None) => Ok(Slots::Names(names)),
        (true, Some(&highest)) => all_used(&positions, highest),
        (false, Some(_)) => Err(Problem::new(
            format!("`:{}` and numbered placeholders are mixed", names[0]),
            "use one kind in a statement",
        )),
    }
}

/// Each once, in the order of their first use.
fn names<'a>(used: impl Iterator<Item = &'a str>) -> Result<Vec<String>, Problem> {
    let mut known = HashSet::new();
    let names: Vec<String> = used
        .filter(|name| known.insert(*name))
        .map(str::to_owned)
        .collect();
    if names.len() > POSITIONS_MAX {
        return Err(Problem::new(
            format!("there are {} placeholders", names.len()),
            format!("a statement may have {POSITIONS_MAX}; put values into a list"),
        ));
    }
    Ok(names)
}

fn position(token: &Token<'_>) -> Result<usize, Problem> {
    let number = token.text[1..].parse().ok();
    number
        .filter(|number| (1..=POSITIONS_MAX).contains(number))
        .ok_or_else(|| {
            Problem::new(
                format!("the placeholder `{}` does not exist", token.text),
                format!("they are numbered from 1 to {POSITIONS_MAX}"),
            )
        })
}

fn all_used(positions: &[usize], highest: usize) -> Result<Slots, Problem> {
    let used: HashSet<usize> = positions.iter().copied().collect();
    match (1..=highest).find(|number| !used.contains(number)) {
        None => Ok(Slots::Positions(highest)),
        Some(missing) => Err(Problem::new(
            format!("there is a placeholder ${highest}, but no ${missing}"),
            "number them without gaps",
        )),
    }
}

fn rewritten(text: &str, tokens: &[Token<'_>], slots: &Slots, dialect: Dialect) -> String {
    let sign = match dialect {
        Dialect::Postgres => '$',
        Dialect::Sqlite => '?',
    };
    let numbers: HashMap<&str, usize> = match slots {
        Slots::Names(names) => names.iter().map(String::as_str).zip(1..).collect(),
        Slots::Positions(_) => HashMap::new(),
    };
    let end = tokens.last().map_or(0, Token::end);
    let mut result = String::with_capacity(end + 8);
    let mut copied = 0;
    for token in tokens {
        let number = match token.kind {
            TokenKind::Position => token.text[1..].parse().unwrap_or(0),
            TokenKind::Name => numbers.get(&token.text[1..]).copied().unwrap_or(0),
            _ => continue,
        };
        result.push_str(&text[copied..token.start]);
        // `LIMIT:n` is two words, `LIMIT$1` would be one.
        if result.ends_with(|letter: char| {
            letter.is_alphanumeric() || "_$".contains(letter) || !letter.is_ascii()
        }) {
            result.push(' ');
        }
        result.push_str(&format!("{sign}{number}"));
        copied = token.end();
    }
    result.push_str(&text[copied..end]);
    result
}

impl Slots {
    /// Does what the author gives fit what the text asks for? Known when a schema is saved, if `given` is.
    pub(crate) fn check(&self, given: &ParamNames) -> Result<(), Problem> {
        match (self, given) {
            (_, ParamNames::Unknown) => Ok(()),
            (Self::Positions(0), ParamNames::Names(names)) if names.is_empty() => Ok(()),
            (Self::Positions(wanted), ParamNames::Positions(count)) if wanted == count => Ok(()),
            (Self::Positions(wanted), ParamNames::Positions(count)) => Err(Problem::new(
                format!("the statement has {wanted} placeholders, `params` has {count} values"),
                "give one value for each",
            )),
            (Self::Names(wanted), ParamNames::Names(names)) => same_names(wanted, names),
            (Self::Positions(0), ParamNames::Names(names)) => Err(unused(&names[0])),
            (Self::Positions(_), ParamNames::Names(_)) => Err(Problem::new(
                "the placeholders are numbered, but `params` is a map",
                "make `params` a list, or write :name for the placeholders",
            )),
            (Self::Names(_), ParamNames::Positions(_)) => Err(Problem::new(
                "the placeholders are named, but `params` is a list",
                "make `params` a map with their names",
            )),
        }
    }

    /// Values in the order of their numbers.
    pub(crate) fn arrange(&self, params: Params) -> Result<Vec<Value>, Problem> {
        self.check(&ParamNames::of(&params))?;
        Ok(match (self, params) {
            (Self::Names(names), Params::Map(mut values)) => names
                .iter()
                .map(|name| values.remove(name).unwrap_or(Value::Null))
                .collect(),
            (_, Params::List(values)) => values,
            (Self::Positions(_), Params::Map(_)) => Vec::new(),
        })
    }
}

fn same_names(wanted: &[String], given: &[String]) -> Result<(), Problem> {
    let set = |names: &'_ [String]| -> HashSet<String> { names.iter().cloned().collect() };
    let (all_wanted, all_given) = (set(wanted), set(given));
    if let Some(missing) = wanted.iter().find(|name| !all_given.contains(*name)) {
        return Err(Problem::new(
            format!("there is no value for `:{missing}`"),
            format!(
                "add `{missing}` to `params`; a colon that begins no placeholder needs a blank behind it"
            ),
        ));
    }
    match given.iter().find(|name| !all_wanted.contains(*name)) {
        Some(name) => Err(unused(name)),
        None => Ok(()),
    }
}

fn unused(name: &str) -> Problem {
    Problem::new(
        format!("`params` has `{name}`, but the statement has no `:{name}`"),
        "remove it, or use it",
    )
}

/// What is known of `params` before they are evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ParamNames {
    Positions(usize),
    Names(Vec<String>),
    /// An expression gives the whole list or map.
    Unknown,
}

impl ParamNames {
    fn of(params: &Params) -> Self {
        match params {
            Params::List(values) => Self::Positions(values.len()),
            Params::Map(values) => Self::Names(values.keys().cloned().collect()),
        }
    }

    /// From the config as it was written.
    pub(crate) fn written(params: Option<&Value>) -> Self {
        match params {
            None | Some(Value::Null) => Self::Positions(0),
            Some(Value::Array(values)) => Self::Positions(values.len()),
            Some(Value::Object(values)) => Self::Names(values.keys().cloned().collect()),
            Some(_) => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(text: &str, dialect: Dialect) -> String {
        compile(text, dialect).unwrap().text
    }

    #[test]
    fn placeholders_become_those_of_the_database() {
        let both = "SELECT :a, $$:a$$ || :b, ':a', :a -- :c";
        let compiled = compile(both, Dialect::Postgres).unwrap();
        assert_eq!(compiled.text, "SELECT $1, $$:a$$ || $2, ':a', $1");
        assert_eq!(compiled.slots, Slots::Names(vec!["a".into(), "b".into()]));
        let cast = "SELECT $2::int, ?1;";
        assert_eq!(text(cast, Dialect::Postgres), "SELECT $2::int, $1");
        assert_eq!(text("SELECT $2, ?1", Dialect::Sqlite), "SELECT ?2, ?1");
        let json = "SELECT a ? 'x' AND b ?| :keys";
        assert_eq!(text(json, Dialect::Postgres), "SELECT a ? 'x' AND b ?| $1");
    }

    #[test]
    fn bad_placeholders_are_named() {
        let cases = [
            ("SELECT $1, $3", "no $2"),
            ("SELECT $0", "$0"),
            ("SELECT ?99999", "?99999"),
            ("SELECT :a, $1", "mixed"),
            ("SELECT ?", "`?`"),
            ("SELECT @a", "`@a`"),
        ];
        for (text, part) in cases {
            let problem = compile(text, Dialect::Sqlite).unwrap_err();
            assert!(
                problem.message.contains(part),
                "{text}: {}",
                problem.message
            );
        }
    }

    #[test]
    fn values_must_fit_the_placeholders() {
        let check = |sql: &str, params: Value| {
            let slots = compile(sql, Dialect::Postgres).unwrap().slots;
            slots.check(&ParamNames::written(Some(&params)))
        };
        assert!(check("SELECT $1, $2", json!([1, 2])).is_ok());
        assert!(check("SELECT :a", json!({"a": 1})).is_ok());
        assert!(check("SELECT :a", json!("{{input}}")).is_ok());
        assert!(check("SELECT 1", json!({})).is_ok());
        for (sql, params) in [
            ("SELECT $1", json!([])),
            ("SELECT 1", json!([1])),
            ("SELECT :a", json!({"b": 1})),
            ("SELECT :a", json!({"a": 1, "b": 1})),
            ("SELECT :a", json!([1])),
            ("SELECT $1", json!({"a": 1})),
            ("SELECT 1", json!({"a": 1})),
        ] {
            assert!(check(sql, params.clone()).is_err(), "{sql} {params}");
        }
    }

    #[test]
    fn a_placeholder_does_not_stick_to_a_word() {
        for (text, postgres, sqlite) in [
            ("SELECT a LIMIT:n", "SELECT a LIMIT $1", "SELECT a LIMIT ?1"),
            (
                "SELECT 1 IN(:a,:b)",
                "SELECT 1 IN($1,$2)",
                "SELECT 1 IN(?1,?2)",
            ),
            ("SELECT a LIMIT?1", "SELECT a LIMIT $1", "SELECT a LIMIT ?1"),
        ] {
            for (dialect, expected) in [(Dialect::Postgres, postgres), (Dialect::Sqlite, sqlite)] {
                assert_eq!(compile(text, dialect).unwrap().text, expected, "{text}");
            }
        }
    }

    #[test]
    fn many_names_are_numbered_and_too_many_refused() {
        let text = |count: usize| {
            let names: Vec<String> = (0..count).map(|n| format!(":n{n}")).collect();
            format!("SELECT {}", names.join(", "))
        };
        let compiled = compile(&text(POSITIONS_MAX), Dialect::Postgres).unwrap();
        assert!(compiled.text.ends_with(&format!("${POSITIONS_MAX}")));
        let problem = compile(&text(POSITIONS_MAX + 1), Dialect::Postgres).unwrap_err();
        assert!(
            problem.message.contains("placeholders"),
            "{}",
            problem.message
        );
    }

    #[test]
    fn names_are_put_in_order() {
        let slots = compile("SELECT :b, :a", Dialect::Sqlite).unwrap().slots;
        let values = json!({"a": 1, "b": 2}).as_object().unwrap().clone();
        assert_eq!(
            slots.arrange(Params::Map(values)),
            Ok(vec![json!(2), json!(1)])
        );
    }
}

//! Placeholders: `$1`, `?1` and `:name`, whichever the author likes, become those of the database at hand.

use serde_json::{Map, Value};

use crate::guard::{Problem, Verb, one_statement, verb};
use crate::lexer::{Dialect, Kind, Token};

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
pub struct Compiled {
    /// With the placeholders of the database.
    pub text: String,
    pub verb: Verb,
    pub slots: Slots,
}

/// Checks a statement and numbers its placeholders.
pub fn compile(text: &str, dialect: Dialect) -> Result<Compiled, Problem> {
    let tokens = one_statement(text, dialect)?;
    let verb = verb(&tokens, dialect)?;
    let slots = slots(&tokens)?;
    Ok(Compiled {
        text: rewritten(text, &tokens, &slots, dialect),
        verb,
        slots,
    })
}

fn slots(tokens: &[Token<'_>]) -> Result<Slots, Problem> {
    let of = |kind: Kind| tokens.iter().filter(move |token| token.kind == kind);
    if let Some(odd) = of(Kind::Odd).next() {
        return Err(Problem::new(
            format!("the placeholder `{}` is not known", odd.text),
            "write $1, $2, … with a list of `params`, or :name with a map",
        ));
    }
    let mut names: Vec<String> = Vec::new();
    for token in of(Kind::Name) {
        if !names.iter().any(|known| *known == token.text[1..]) {
            names.push(token.text[1..].to_owned());
        }
    }
    let positions: Result<Vec<usize>, _> =
        of(Kind::Position).map(|token| position(token)).collect();
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
    match (1..=highest).find(|number| !positions.contains(number)) {
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
    let end = tokens.last().map_or(0, Token::end);
    let mut result = String::with_capacity(end + 8);
    let mut copied = 0;
    for token in tokens {
        let number = match (token.kind, slots) {
            (Kind::Position, _) => token.text[1..].parse().unwrap_or(0),
            (Kind::Name, Slots::Names(names)) => {
                1 + names
                    .iter()
                    .position(|name| *name == token.text[1..])
                    .unwrap_or(0)
            }
            _ => continue,
        };
        result.push_str(&text[copied..token.start]);
        result.push_str(&format!("{sign}{number}"));
        copied = token.end();
    }
    result.push_str(&text[copied..end]);
    result
}

impl Slots {
    /// Does what the author gives fit what the text asks for? Known when a schema is saved, if `given` is.
    pub(crate) fn check(&self, given: &Given) -> Result<(), Problem> {
        match (self, given) {
            (_, Given::Unknown) => Ok(()),
            (Self::Positions(0), Given::Names(names)) if names.is_empty() => Ok(()),
            (Self::Positions(wanted), Given::Positions(count)) if wanted == count => Ok(()),
            (Self::Positions(wanted), Given::Positions(count)) => Err(Problem::new(
                format!("the statement has {wanted} placeholders, `params` has {count} values"),
                "give one value for each",
            )),
            (Self::Names(wanted), Given::Names(names)) => same_names(wanted, names),
            (Self::Positions(0), Given::Names(names)) => Err(unused(&names[0])),
            (Self::Positions(_), Given::Names(_)) => Err(Problem::new(
                "the placeholders are numbered, but `params` is a map",
                "make `params` a list, or write :name for the placeholders",
            )),
            (Self::Names(_), Given::Positions(_)) => Err(Problem::new(
                "the placeholders are named, but `params` is a list",
                "make `params` a map with their names",
            )),
        }
    }

    /// Values in the order of their numbers.
    pub(crate) fn arrange(&self, params: Params) -> Result<Vec<Value>, Problem> {
        self.check(&Given::of(&params))?;
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
    if let Some(missing) = wanted.iter().find(|name| !given.contains(name)) {
        return Err(Problem::new(
            format!("there is no value for `:{missing}`"),
            format!(
                "add `{missing}` to `params`; a colon that begins no placeholder needs a blank behind it"
            ),
        ));
    }
    match given.iter().find(|name| !wanted.contains(name)) {
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
pub(crate) enum Given {
    Positions(usize),
    Names(Vec<String>),
    /// An expression gives the whole list or map.
    Unknown,
}

impl Given {
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
            slots.check(&Given::written(Some(&params)))
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
    fn names_are_put_in_order() {
        let slots = compile("SELECT :b, :a", Dialect::Sqlite).unwrap().slots;
        let values = json!({"a": 1, "b": 2}).as_object().unwrap().clone();
        assert_eq!(
            slots.arrange(Params::Map(values)),
            Ok(vec![json!(2), json!(1)])
        );
    }
}

//! The config of a node, read once: isolation, and statements that are known to be allowed.

use pawl_kernel::diagnostic::Diagnostic;
use serde_json::Value;

use crate::guard::{Problem, Verb};
use crate::lexer::Dialect;
use crate::placeholders::{CompiledStatement, ParamNames, compile};

const CODE: &str = "INVALID_SQL";
const STATEMENTS_MAX: usize = 200;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    #[default]
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    pub const NAMES: &'static [&'static str] =
        &["read_committed", "repeatable_read", "serializable"];

    fn parse(text: &str) -> Option<Self> {
        match text {
            "read_committed" => Some(Self::ReadCommitted),
            "repeatable_read" => Some(Self::RepeatableRead),
            "serializable" => Some(Self::Serializable),
            _ => None,
        }
    }

    /// As PostgreSQL writes it. SQLite knows only the strictest.
    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::ReadCommitted => "READ COMMITTED",
            Self::RepeatableRead => "REPEATABLE READ",
            Self::Serializable => "SERIALIZABLE",
        }
    }
}

/// One transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub isolation: Isolation,
    pub readonly: bool,
    pub statements: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub id: String,
    postgres: Result<CompiledStatement, Problem>,
    sqlite: Result<CompiledStatement, Problem>,
}

impl Statement {
    /// The text for one kind of database, or why there is none.
    pub fn text(&self, dialect: Dialect) -> Result<&CompiledStatement, &Problem> {
        match dialect {
            Dialect::Postgres => self.postgres.as_ref(),
            Dialect::Sqlite => self.sqlite.as_ref(),
        }
    }
}

impl Plan {
    /// Reads a config as it was written, before any expression in it is evaluated. With a `dialect`, every statement
    /// must have a text for it, and no other is looked at; without, for any. Pointers are relative to the config.
    pub fn read(config: &Value, dialect: Option<Dialect>) -> Result<Self, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let isolation = read_isolation(config, &mut problems);
        let readonly = read_flag(config, "readonly", &mut problems);
        let statements = read_statements(config, dialect, &mut problems);
        let plan = Self {
            isolation,
            readonly,
            statements,
        };
        plan.check(&mut problems);
        if problems.is_empty() {
            Ok(plan)
        } else {
            Err(problems)
        }
    }

    fn check(&self, problems: &mut Vec<Diagnostic>) {
        for (index, statement) in self.statements.iter().enumerate() {
            let earlier = &self.statements[..index];
            if earlier.iter().any(|other| other.id == statement.id) {
                let message = format!("there are two statements `{}`", statement.id);
                problems.push(
                    Diagnostic::error(CODE, format!("/statements/{index}/id"), message)
                        .hint("their results are found by their ids; give each its own"),
                );
            }
            let writes = [&statement.postgres, &statement.sqlite]
                .iter()
                .any(|text| text.as_ref().is_ok_and(|text| text.verb != Verb::Read));
            if self.readonly && writes {
                let message = format!(
                    "statement `{}` writes, but the node is readonly",
                    statement.id
                );
                problems.push(
                    Diagnostic::error(CODE, format!("/statements/{index}/sql"), message)
                        .hint("remove `readonly: true`"),
                );
            }
        }
    }
}

fn read_isolation(config: &Value, problems: &mut Vec<Diagnostic>) -> Isolation {
    let read = match &config["isolation"] {
        Value::Null => Some(Isolation::default()),
        Value::String(text) => Isolation::parse(text),
        _ => None,
    };
    read.unwrap_or_else(|| {
        let message = format!("`isolation` is one of {}", Isolation::NAMES.join(", "));
        problems.push(Diagnostic::error(CODE, "/isolation", message));
        Isolation::default()
    })
}

fn read_flag(config: &Value, name: &str, problems: &mut Vec<Diagnostic>) -> bool {
    match &config[name] {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        _ => {
            let message = format!("`{name}` is true or false");
            problems.push(Diagnostic::error(CODE, format!("/{name}"), message));
            false
        }
    }
}

fn read_statements(
    config: &Value,
    dialect: Option<Dialect>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Statement> {
    let list = config["statements"].as_array().map_or(&[][..], |list| list);
    if list.is_empty() || list.len() > STATEMENTS_MAX {
        problems.push(
            Diagnostic::error(
                CODE,
                "/statements",
                format!("`statements` is a list of 1 to {STATEMENTS_MAX} statements"),
            )
            .hint("write statements: [{id: find, sql: …}]"),
        );
        return Vec::new();
    }
    let read = |(index, value)| read_statement(index, value, dialect, problems);
    list.iter().enumerate().filter_map(read).collect()
}

fn read_statement(
    index: usize,
    value: &Value,
    dialect: Option<Dialect>,
    problems: &mut Vec<Diagnostic>,
) -> Option<Statement> {
    let at = |field: &str| format!("/statements/{index}/{field}");
    let id = value["id"].as_str().unwrap_or_default();
    if !is_plain(id) {
        problems.push(
            Diagnostic::error(CODE, at("id"), "a statement needs an `id`")
                .hint("a name of letters, digits and _; its result is then `results.<id>`"),
        );
        return None;
    }
    let given = ParamNames::written(value.get("params"));
    let text = |each: Dialect| match dialect {
        Some(wanted) if wanted != each => Err(Problem::new(
            format!("it was read for {}", wanted.name()),
            format!("read it for {}", each.name()),
        )),
        _ => text_for(&value["sql"], each, &given),
    };
    let statement = Statement {
        id: id.to_owned(),
        postgres: text(Dialect::Postgres),
        sqlite: text(Dialect::Sqlite),
    };
    let refused: Vec<(Dialect, &Problem)> = [Dialect::Postgres, Dialect::Sqlite]
        .into_iter()
        .filter_map(|each| Some((each, statement.text(each).err()?)))
        .collect();
    let mattering: Vec<_> = match dialect {
        Some(wanted) => refused
            .into_iter()
            .filter(|(each, _)| *each == wanted)
            .collect(),
        // A text that only one of them can read is fine as long as it is not known which database it is for.
        None if refused.len() < 2 && value["sql"].is_string() => Vec::new(),
        None if value["sql"].is_string() => refused.into_iter().take(1).collect(),
        None => refused
            .into_iter()
            .filter(|(each, _)| value["sql"].get(each.name()).is_some() || value["sql"].is_null())
            .collect(),
    };
    for (each, problem) in mattering {
        let field = if value["sql"].is_object() {
            format!("sql/{}", each.name())
        } else {
            "sql".into()
        };
        let message = format!("statement `{id}`: {}", problem.message);
        problems.push(Diagnostic::error(CODE, at(&field), message).hint(&problem.hint));
    }
    Some(statement)
}

fn is_plain(id: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !id.is_empty() && id.len() <= 100 && id.chars().all(plain)
}

fn text_for(
    sql: &Value,
    dialect: Dialect,
    given: &ParamNames,
) -> Result<CompiledStatement, Problem> {
    let text = match sql {
        Value::String(text) => text,
        Value::Object(texts) => match texts.get(dialect.name()) {
            Some(Value::String(text)) => text,
            _ => {
                return Err(Problem::new(
                    format!("there is no text for {}", dialect.name()),
                    format!("add `{}:` below `sql`", dialect.name()),
                ));
            }
        },
        _ => {
            return Err(Problem::new(
                "there is no `sql`",
                "write `sql: SELECT …`, or `sql: {postgres: …, sqlite: …}` where they differ",
            ));
        }
    };
    let compiled = compile(text, dialect)?;
    compiled.slots.check(given)?;
    Ok(compiled)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problems(config: Value) -> Vec<String> {
        let found = Plan::read(&config, None).err().unwrap_or_default();
        let line = |one: &Diagnostic| format!("{} {}", one.pointer, one.message);
        found.iter().map(line).collect()
    }

    #[test]
    fn a_good_config_becomes_a_plan() {
        let config = json!({"isolation": "serializable", "statements": [
            {"id": "a", "sql": "SELECT $1", "params": [1]},
            {"id": "b", "sql": {"postgres": "SELECT now()", "sqlite": "SELECT datetime()"}},
        ]});
        let plan = Plan::read(&config, Some(Dialect::Postgres)).unwrap();
        assert_eq!(plan.isolation, Isolation::Serializable);
        assert_eq!(
            plan.statements[1].text(Dialect::Postgres).unwrap().text,
            "SELECT now()"
        );
        // No run asks for the other dialect.
        assert!(plan.statements[1].text(Dialect::Sqlite).is_err());
    }

    #[test]
    fn problems_have_places_and_remedies() {
        for (config, expected) in [
            (
                json!({}),
                "/statements `statements` is a list of 1 to 200 statements",
            ),
            (
                json!({"isolation": "none", "statements": [{"id": "a", "sql": "SELECT 1"}]}),
                "/isolation `isolation` is one of read_committed, repeatable_read, serializable",
            ),
            (
                json!({"readonly": 1, "statements": [{"id": "a", "sql": "SELECT 1"}]}),
                "/readonly `readonly` is true or false",
            ),
            (
                json!({"statements": [{"sql": "SELECT 1"}]}),
                "/statements/0/id a statement needs an `id`",
            ),
            (
                json!({"statements": [{"id": "a", "sql": "COMMIT"}]}),
                "/statements/0/sql statement `a`: COMMIT is refused in a statement",
            ),
            (
                json!({"statements": [{"id": "a", "sql": {"postgres": "SELECT 1", "sqlite": "PRAGMA x"}}]}),
                "/statements/0/sql/sqlite statement `a`: PRAGMA is refused in a statement",
            ),
            (
                json!({"statements": [{"id": "a"}]}),
                "/statements/0/sql statement `a`: there is no `sql`",
            ),
            (
                json!({"statements": [{"id": "a", "sql": "SELECT :x", "params": {"y": 1}}]}),
                "/statements/0/sql statement `a`: there is no value for `:x`",
            ),
            (
                json!({"statements": [{"id": "a", "sql": "SELECT 1"}, {"id": "a", "sql": "SELECT 1"}]}),
                "/statements/1/id there are two statements `a`",
            ),
            (
                json!({"readonly": true, "statements": [{"id": "a", "sql": "DELETE FROM t"}]}),
                "/statements/0/sql statement `a` writes, but the node is readonly",
            ),
        ] {
            let found = problems(config.clone());
            assert!(
                found.iter().any(|line| line == expected),
                "{config}: {found:?}"
            );
        }
    }

    #[test]
    fn a_text_for_the_other_database_is_no_text() {
        let config = json!({"statements": [{"id": "a", "sql": {"postgres": "SELECT 1"}}]});
        assert!(Plan::read(&config, None).is_ok());
        assert!(Plan::read(&config, Some(Dialect::Postgres)).is_ok());
        let found = Plan::read(&config, Some(Dialect::Sqlite)).unwrap_err();
        assert!(found[0].message.contains("no text for sqlite"), "{found:?}");
        assert_eq!(found[0].hint.as_deref(), Some("add `sqlite:` below `sql`"));
    }
}

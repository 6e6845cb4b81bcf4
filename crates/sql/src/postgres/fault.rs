//! Errors of PostgreSQL as errors of a node. Values never get into a message: the server quotes them in some, so those
//! are put in our own words.

use std::error::Error as _;

use pawl_kernel::node::NodeError;
use serde_json::{Map, Value, json};
use tokio_postgres::Error;
use tokio_postgres::error::DbError;

use crate::fault::{Fault, unreachable};

/// The driver's own text leaves the cause out.
pub(crate) fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

pub(crate) fn of(error: &Error, connection: &str) -> Fault {
    match error.as_db_error() {
        Some(answer) => of_answer(answer, connection),
        None => Fault::lost(unreachable(
            connection,
            &format!("the connection to the database was lost: {}", chain(error)),
        )),
    }
}

fn of_answer(answer: &DbError, connection: &str) -> Fault {
    let state = answer.code().code();
    let error = |code: &'static str| NodeError::new(code, message(answer)).details(details(answer));
    match state {
        "40001" => Fault::contended(error("SERIALIZATION_FAILURE")),
        "40P01" => Fault::contended(error("DEADLOCK")),
        // The plan of a prepared statement is out of date, or a pooler has lost it: a new connection helps.
        "0A000" if answer.routine() == Some("RevalidateCachedQuery") => {
            Fault::lost(error("SQL_ERROR"))
        }
        "26000" => Fault::lost(error("SQL_ERROR")),
        _ if ends_session(state) => {
            let reason = format!("the server ended the connection: {}", answer.message());
            Fault::lost(unreachable(connection, &reason))
        }
        "23505" => error("UNIQUE_VIOLATION").into(),
        "23503" => error("FOREIGN_KEY_VIOLATION").into(),
        "23514" => error("CHECK_VIOLATION").into(),
        "23502" => error("NOT_NULL_VIOLATION").into(),
        "23P01" => error("EXCLUSION_VIOLATION").into(),
        "57014" => error("STATEMENT_TIMEOUT").retryable().into(),
        "55P03" => error("LOCK_TIMEOUT").retryable().into(),
        "25006" => error("READ_ONLY").into(),
        _ if state.starts_with("53") => error("SQL_ERROR").retryable().into(),
        _ if state.starts_with("22") && parameter(answer).is_some() => error("TYPE_ERROR").into(),
        _ => error("SQL_ERROR").into(),
    }
}

/// Connection exceptions, the server going down, and our own silence.
fn ends_session(state: &str) -> bool {
    state.starts_with("08") || matches!(state, "57P01" | "57P02" | "57P03" | "25P03" | "57P05")
}

fn message(answer: &DbError) -> String {
    let state = answer.code().code();
    let place = parameter(answer).map_or(String::new(), |number| format!("parameter {number}: "));
    match state {
        "57014" => "it took longer than `statement_timeout` of the connection, or was cancelled by the server".into(),
        "55P03" => "what it needs was locked by another transaction for longer than `lock_timeout` of the connection".into(),
        "22P02" | "22007" => format!("{place}a text is not what its type wants"),
        "22003" | "22008" => format!("{place}a value is out of the range of its type"),
        "22001" => format!("{place}a text is too long for its type"),
        "22012" => "division by zero".into(),
        "22P05" => format!("{place}a text holds a character that the database cannot keep"),
        _ if state.starts_with("22") => format!("{place}the database refused a value (SQLSTATE {state})"),
        _ => answer.message().to_owned(),
    }
}

/// The server says in its context which parameter it could not read: `unnamed portal parameter $2`.
fn parameter(answer: &DbError) -> Option<u32> {
    let context = answer.where_()?;
    let after = context.split("parameter $").nth(1)?;
    let digits = after.find(|letter: char| !letter.is_ascii_digit());
    after[..digits.unwrap_or(after.len())].parse().ok()
}

fn details(answer: &DbError) -> Value {
    let mut details = Map::new();
    details.insert("sqlstate".into(), json!(answer.code().code()));
    for (name, value) in [
        ("constraint", answer.constraint()),
        ("table", answer.table()),
        ("column", answer.column()),
    ] {
        if let Some(value) = value {
            details.insert(name.into(), json!(value));
        }
    }
    Value::Object(details)
}

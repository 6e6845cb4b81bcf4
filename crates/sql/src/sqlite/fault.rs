//! Errors of SQLite as errors of a node. Its messages name tables and columns, never values.

use pawl_kernel::node::NodeError;
use rusqlite::ffi;
use serde_json::json;

use super::stop::{Reason, Stop};
use crate::fault::{Fault, cancelled, unreachable};

/// `stop` knows why something was interrupted.
pub(crate) fn of(error: &rusqlite::Error, connection: &str, stop: &Stop) -> Fault {
    let rusqlite::Error::SqliteFailure(code, message) = error else {
        return match error {
            rusqlite::Error::SqlInputError { error, msg, .. } => {
                of_code(error.extended_code, msg, connection, stop)
            }
            other => NodeError::new("SQL_ERROR", other.to_string()).into(),
        };
    };
    let text = message.clone().unwrap_or_else(|| error.to_string());
    of_code(code.extended_code, &text, connection, stop)
}

fn of_code(code: i32, message: &str, connection: &str, stop: &Stop) -> Fault {
    let error =
        |name: &'static str| NodeError::new(name, message).details(json!({"sqlite_code": code}));
    match code {
        ffi::SQLITE_CONSTRAINT_UNIQUE
        | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_ROWID => return error("UNIQUE_VIOLATION").into(),
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => return error("FOREIGN_KEY_VIOLATION").into(),
        ffi::SQLITE_CONSTRAINT_CHECK => return error("CHECK_VIOLATION").into(),
        ffi::SQLITE_CONSTRAINT_NOTNULL => return error("NOT_NULL_VIOLATION").into(),
        ffi::SQLITE_CONSTRAINT_DATATYPE => return error("TYPE_ERROR").into(),
        _ => {}
    }
    match code & 0xff {
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => Fault::contended(error("LOCK_TIMEOUT")),
        ffi::SQLITE_INTERRUPT => interrupted(stop).into(),
        ffi::SQLITE_READONLY => error("READ_ONLY").into(),
        ffi::SQLITE_MISMATCH => error("TYPE_ERROR").into(),
        ffi::SQLITE_TOOBIG => NodeError::new(
            "LIMIT_EXCEEDED",
            format!(
                "{message}; a value, and a row of a table, may have a quarter of `max_bytes` in [connections.{connection}] \
                 of pawl.toml"
            ),
        )
        .details(json!({"sqlite_code": code, "setting": "max_bytes"}))
        .into(),
        // After an I/O error the commit may be on disk all the same: the next try finds out.
        ffi::SQLITE_IOERR => Fault::lost(unreachable(connection, message)),
        ffi::SQLITE_CANTOPEN => unreachable(
            connection,
            &format!(
                "{message}; the folder must exist and be writable, and `pawl connection prepare {connection}` makes the file"
            ),
        )
        .into(),
        ffi::SQLITE_FULL => unreachable(connection, "the disk is full; nothing was written").into(),
        ffi::SQLITE_NOTADB | ffi::SQLITE_CORRUPT => {
            let mut error = unreachable(connection, message);
            error.retryable = false;
            error.into()
        }
        _ => error("SQL_ERROR").into(),
    }
}

pub(crate) fn interrupted(stop: &Stop) -> NodeError {
    because(stop.reason().unwrap_or(Reason::Cancelled))
}

pub(crate) fn because(reason: Reason) -> NodeError {
    match reason {
        Reason::Cancelled => cancelled(),
        Reason::Memory => NodeError::new(
            "LIMIT_EXCEEDED",
            "the memory of this process grew by hundreds of megabytes while the statement ran; make fewer and smaller \
             values in it",
        )
        .retryable(),
        Reason::Late => NodeError::new(
            "NODE_TIMEOUT",
            "the transaction was not done in time and was rolled back; raise the node's timeout, or do less in it",
        )
        .retryable(),
        Reason::StatementTimeout => NodeError::new(
            "STATEMENT_TIMEOUT",
            "it took longer than `statement_timeout` of the connection",
        )
        .retryable(),
    }
}

/// The connection is of no use any more.
pub(crate) fn breaks_connection(fault: &Fault) -> bool {
    fault.error.code == "CONNECTION_FAILED"
}

//! What went wrong, and what the caller should do about it.

use std::error::Error as _;

use pawl_kernel::ports::store::StoreError;
use tokio_postgres::error::SqlState;

/// Why a piece of work did not get done. Refusals of the protocol are no faults: they are answers.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// No connection could be had: nothing was sent.
    #[error("{0}")]
    Unreachable(String),
    /// Another transaction was in the way; nothing was written, and the connection is whole.
    #[error("{0}")]
    Busy(String),
    /// No answer in time: it may have happened.
    #[error("no answer within {0:?}")]
    Late(std::time::Duration),
    #[error("{}", chain(.0))]
    Sql(#[from] tokio_postgres::Error),
    #[error("{0}")]
    Rejected(String),
    #[error("{0}")]
    Corrupt(String),
}

pub(crate) type Outcome<T> = Result<T, Fault>;

/// The driver's own text leaves the cause out.
pub(crate) fn chain(error: &tokio_postgres::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

impl Fault {
    /// The connection is of no use any more.
    pub(crate) fn breaks_connection(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Late(_) => true,
            Self::Rejected(_) | Self::Corrupt(_) | Self::Busy(_) => false,
            Self::Sql(error) => error.is_closed() || error.code().is_none_or(ends_use),
        }
    }

    /// For something that was meant to write.
    pub(crate) fn of_write(&self) -> StoreError {
        match self {
            Self::Unreachable(text) | Self::Busy(text) => StoreError::Unavailable(text.clone()),
            Self::Late(_) => StoreError::Unknown(self.to_string()),
            Self::Rejected(text) => StoreError::Rejected(text.clone()),
            Self::Corrupt(text) => StoreError::Corrupt(text.clone()),
            Self::Sql(error) => sql_fault(error, StoreError::Unknown),
        }
    }

    /// For something that only read: whatever failed can be asked again.
    pub(crate) fn of_read(&self) -> StoreError {
        match self {
            Self::Late(_) => StoreError::Unavailable(self.to_string()),
            // Nothing but its own limit of time ends a statement of ours.
            Self::Sql(error) if error.code() == Some(&SqlState::QUERY_CANCELED) => {
                StoreError::TooLong(chain(error))
            }
            Self::Sql(error) => sql_fault(error, StoreError::Unavailable),
            _ => self.of_write(),
        }
    }

    /// Another transaction had a row locked for longer than we wait.
    pub(crate) fn is_lock_timeout(&self) -> bool {
        matches!(self, Self::Sql(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE))
    }

    /// A unique index of this name was in the way.
    pub(crate) fn violates(&self, index: &str) -> bool {
        let Self::Sql(error) = self else {
            return false;
        };
        let refused = error.as_db_error();
        refused.is_some_and(|error| error.constraint() == Some(index))
    }

    /// One row of a batch may be at fault: the others deserve another try without it.
    pub(crate) fn may_be_one_row(&self) -> bool {
        match self {
            Self::Rejected(_) | Self::Corrupt(_) => true,
            Self::Sql(error) => matches!(
                sql_fault(error, StoreError::Unknown),
                StoreError::Rejected(_)
            ),
            Self::Unreachable(_) | Self::Busy(_) | Self::Late(_) => false,
        }
    }
}

fn sql_fault(error: &tokio_postgres::Error, lost: fn(String) -> StoreError) -> StoreError {
    let text = chain(error);
    let Some(code) = error.code() else {
        // A value that cannot be read back is no matter of the network.
        return match error.source() {
            Some(cause) if !error.is_closed() && !cause.is::<std::io::Error>() => {
                StoreError::Corrupt(text)
            }
            _ => lost(text),
        };
    };
    if ends_session(code) {
        return lost(text);
    }
    match (&code.code()[..2], code.code()) {
        // Data exceptions, constraint violations, limits: of the values, as the statements are always the same.
        ("22" | "23" | "54", _) => StoreError::Rejected(text),
        // What is stored is damaged.
        (_, "XX001" | "XX002") => StoreError::Corrupt(text),
        // Among them missing privileges and tables: the fault of the set-up, which an operator will fix. An execution
        // must not fail because of it.
        _ => StoreError::Unavailable(text),
    }
}

/// The server may also take no writes any more: it was the primary before a failover, and a new connection finds the
/// one that is now.
fn ends_use(code: &SqlState) -> bool {
    ends_session(code) || *code == SqlState::READ_ONLY_SQL_TRANSACTION
}

/// Connection exceptions, and the server going down: a commit may have been made before the word came.
fn ends_session(code: &SqlState) -> bool {
    let code = code.code();
    code.starts_with("08") || matches!(code, "57P01" | "57P02" | "57P03")
}

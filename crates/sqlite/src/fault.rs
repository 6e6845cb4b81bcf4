//! What can go wrong inside a job, and what the caller should do about it.

use pawl_kernel::ports::store::StoreError;
use rusqlite::ErrorCode;

/// Why a job could not do its work. Refusals of the protocol are no faults: they are answers.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error("{0}")]
    Rejected(String),
    #[error("{0}")]
    Corrupt(String),
}

pub(crate) type JobResult<T> = Result<T, Fault>;

impl Fault {
    /// The fault lies with disk, file or memory, not with the job: trying the others again is of no use.
    pub(crate) fn is_environmental(&self) -> bool {
        use ErrorCode as E;
        matches!(
            self.code(),
            Some(
                E::DiskFull
                    | E::SystemIoFailure
                    | E::ReadOnly
                    | E::CannotOpen
                    | E::DatabaseBusy
                    | E::DatabaseLocked
                    | E::OutOfMemory
                    | E::NotADatabase
            )
        )
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sql(error) => error.sqlite_error_code(),
            Self::Rejected(_) | Self::Corrupt(_) => None,
        }
    }

    /// For a job that was rolled back: nothing of it was written.
    pub(crate) fn before_commit(&self) -> StoreError {
        use ErrorCode as E;
        match self {
            Self::Rejected(text) => StoreError::Rejected(text.clone()),
            Self::Corrupt(text) => StoreError::Corrupt(text.clone()),
            Self::Sql(error) => match error.sqlite_error_code() {
                Some(E::ConstraintViolation | E::TooBig | E::TypeMismatch) => {
                    StoreError::Rejected(error.to_string())
                }
                Some(E::DatabaseCorrupt | E::NotADatabase) => {
                    StoreError::Corrupt(error.to_string())
                }
                Some(E::OperationInterrupted) => StoreError::TooLong(error.to_string()),
                Some(E::DiskFull) => StoreError::Unavailable(DISK_FULL.into()),
                Some(E::ReadOnly) => StoreError::Unavailable(READ_ONLY.into()),
                Some(_) => StoreError::Unavailable(error.to_string()),
                None => StoreError::Corrupt(error.to_string()),
            },
        }
    }

    /// For a failed COMMIT that was rolled back. After an I/O error the frames may be on disk all the same
    /// and come back with the next recovery, so only the other kinds are certain.
    pub(crate) fn at_commit(&self) -> StoreError {
        match self.code() {
            Some(ErrorCode::SystemIoFailure) => StoreError::Unknown(self.to_string()),
            _ => self.before_commit(),
        }
    }
}

const DISK_FULL: &str = "the disk is full; nothing was written, free some space and try again";
const READ_ONLY: &str = "the database file is read-only; nothing was written";

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn fault(code: i32) -> Fault {
        Fault::Sql(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
    }

    #[test]
    fn the_kind_of_error_says_what_is_certain() {
        assert!(matches!(
            fault(ffi::SQLITE_FULL).at_commit(),
            StoreError::Unavailable(_)
        ));
        assert!(matches!(
            fault(ffi::SQLITE_IOERR_FSYNC).at_commit(),
            StoreError::Unknown(_)
        ));
        assert!(matches!(
            fault(ffi::SQLITE_IOERR_WRITE).before_commit(),
            StoreError::Unavailable(_)
        ));
        assert!(matches!(
            fault(ffi::SQLITE_INTERRUPT).before_commit(),
            StoreError::TooLong(_)
        ));
        assert!(matches!(
            fault(ffi::SQLITE_CORRUPT).before_commit(),
            StoreError::Corrupt(_)
        ));
        assert!(matches!(
            fault(ffi::SQLITE_CONSTRAINT_UNIQUE).before_commit(),
            StoreError::Rejected(_)
        ));
    }
}

//! Which migrations a database has had, against those that a program knows. What they say and how they are applied is
//! the business of each store.

use sha2::{Digest, Sha256};

use crate::digest::hex;

/// Numbered, embedded, and never changed after it was released.
#[derive(Debug)]
pub struct Migration {
    pub version: i64,
    pub name: &'static str,
    pub text: &'static str,
}

/// The files of a store's folder `migrations`, which lies beside its `src`.
#[macro_export]
macro_rules! migrations {
    ($($version:literal $name:literal),+ $(,)?) => {
        &[$($crate::migration::Migration {
            version: $version,
            name: $name,
            text: include_str!(concat!("../migrations/", $name, ".sql")),
        }),+]
    };
}

/// What a database says that it has had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedMigration {
    pub version: i64,
    pub name: String,
    pub checksum: String,
}

#[derive(Debug, thiserror::Error)]
pub enum MigrationError<E> {
    #[error(
        "the database was written by a newer Pawl: it has migration {found}, this program knows up to {known}; \
         use the newer program or restore a backup"
    )]
    Newer { found: i64, known: i64 },
    #[error(
        "migration `{name}` of this database is not the one in this program; the program or the database was altered"
    )]
    Changed { name: String },
    /// In the words of the store.
    #[error("{0}")]
    Failed(E),
}

impl Migration {
    pub fn checksum(&self) -> String {
        let digest = Sha256::digest(self.text.as_bytes());
        hex(&digest)
    }
}

pub fn newest(known: &[Migration]) -> i64 {
    known.last().map_or(0, |migration| migration.version)
}

/// What is left to be applied. What was applied must be the beginning of what is known.
pub fn left<'a, E>(
    known: &'a [Migration],
    done: &[AppliedMigration],
) -> Result<&'a [Migration], MigrationError<E>> {
    let newest = newest(known);
    if let Some(last) = done.last().filter(|last| last.version > newest) {
        return Err(MigrationError::Newer {
            found: last.version,
            known: newest,
        });
    }
    for (index, row) in done.iter().enumerate() {
        let same = known
            .get(index)
            .is_some_and(|known| known.version == row.version && known.checksum() == row.checksum);
        if !same {
            return Err(MigrationError::Changed {
                name: row.name.clone(),
            });
        }
    }
    Ok(&known[done.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Migration] = &[
        Migration {
            version: 1,
            name: "one",
            text: "1",
        },
        Migration {
            version: 2,
            name: "two",
            text: "2",
        },
    ];

    fn applied(count: usize) -> Vec<AppliedMigration> {
        let row = |migration: &Migration| AppliedMigration {
            version: migration.version,
            name: migration.name.into(),
            checksum: migration.checksum(),
        };
        KNOWN.iter().take(count).map(row).collect()
    }

    fn names(done: &[AppliedMigration]) -> Result<Vec<&'static str>, MigrationError<String>> {
        left(KNOWN, done).map(|left| left.iter().map(|migration| migration.name).collect())
    }

    #[test]
    fn what_is_left_follows_what_was_done() {
        assert_eq!(names(&applied(0)).unwrap(), ["one", "two"]);
        assert_eq!(names(&applied(1)).unwrap(), ["two"]);
        assert_eq!(names(&applied(2)).unwrap(), [""; 0]);
    }

    #[test]
    fn another_history_is_refused() {
        let mut altered = applied(2);
        altered[0].checksum.push('0');
        let error = names(&altered).unwrap_err();
        assert!(error.to_string().contains("`one`"), "{error}");
        let mut newer = applied(2);
        newer[1].version = 9;
        assert!(matches!(
            names(&newer),
            Err(MigrationError::Newer { found: 9, known: 2 })
        ));
    }
}

//! The data folder: made if it is missing, and locked so that two processes never share it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::OpenError;

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(
        "the data folder {folder} is in use by process {holder}; one folder serves one process at a time"
    )]
    InUse { folder: PathBuf, holder: String },
    #[error(
        "cannot use the data folder {folder}: {source}; it must be a folder that Pawl's user can write to"
    )]
    Unusable {
        folder: PathBuf,
        source: std::io::Error,
    },
}

/// Held as long as it lives; the system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct FolderLock {
    file: File,
}

impl Drop for FolderLock {
    /// A number left behind would name whatever process gets it next.
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}

impl FolderLock {
    pub(crate) fn take(folder: &Path) -> Result<Self, LockError> {
        let unusable = |source| LockError::Unusable {
            folder: folder.to_owned(),
            source,
        };
        create_private(folder).map_err(unusable)?;
        warn_if_open(folder);
        let mut file = open_private(&folder.join("pawl.lock")).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::InUse {
                    folder: folder.to_owned(),
                    holder: holder(&mut file),
                });
            }
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
        write_pid(&mut file).map_err(unusable)?;
        Ok(Self { file })
    }
}

/// A file that is made here is for its owner only, whatever the folder allows.
fn open_private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes the file of the database before SQLite would with rights of its own; its log and index get the rights of the file.
pub(crate) fn make_private(path: &Path) -> Result<(), OpenError> {
    match open_private(path) {
        Ok(_) => {
            warn_if_open(path);
            Ok(())
        }
        Err(error) => Err(OpenError::NotWritable {
            path: path.to_owned(),
            reason: error.to_string(),
        }),
    }
}

/// What was there before keeps its rights, which a backup may need. But the operator of the machine should know.
fn warn_if_open(path: &Path) {
    if is_open_to_others(path) {
        let path = path.display();
        tracing::warn!(%path, "other users of this machine may read what is in here; take the right away with chmod go-rwx");
    }
}

/// May other users of the machine read, write or enter it?
#[cfg(unix)]
pub fn is_open_to_others(path: &Path) -> bool {
    let rights = std::fs::metadata(path).map(|about| {
        let rights = about.permissions();
        std::os::unix::fs::PermissionsExt::mode(&rights)
    });
    rights.is_ok_and(|rights| rights & 0o077 != 0)
}

#[cfg(not(unix))]
pub fn is_open_to_others(_: &Path) -> bool {
    false
}

fn write_pid(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(std::process::id().to_string().as_bytes())
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "(unknown)".to_owned(),
    }
}

/// Finds a file that is something else altogether before SQLite touches it.
pub(crate) fn check_header(path: &Path) -> Result<(), OpenError> {
    let mut header = Vec::new();
    let read = File::open(path).and_then(|file| file.take(16).read_to_end(&mut header));
    match read {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(OpenError::NotWritable {
            path: path.to_owned(),
            reason: error.to_string(),
        }),
        Ok(_) if header.is_empty() || header == b"SQLite format 3\0" => Ok(()),
        Ok(_) => Err(OpenError::NotADatabase {
            path: path.to_owned(),
        }),
    }
}

/// Payloads are not for other users' eyes: a folder that is made here is for its owner only.
fn create_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs::{Permissions, metadata, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    use pawl_testkit::warnings::warnings;

    use super::*;
    use crate::{Options, SqliteStore};

    fn rights(path: &Path) -> u32 {
        metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_are_for_their_owner_only_in_any_folder() {
        let folder = tempfile::tempdir().unwrap();
        set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        assert!(is_open_to_others(folder.path()));
        let store = SqliteStore::open(folder.path(), Options::default()).unwrap();
        let mut seen: Vec<(String, u32)> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                (
                    entry.file_name().into_string().unwrap(),
                    rights(&entry.path()),
                )
            })
            .collect();
        seen.sort();
        let names = ["pawl.db", "pawl.db-shm", "pawl.db-wal", "pawl.lock"];
        assert_eq!(seen, names.map(|name| (name.to_owned(), 0o600)));
        store.close();
    }

    #[test]
    fn a_folder_made_here_is_closed_and_an_open_file_keeps_its_rights() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("data");
        let store = SqliteStore::open(&inner, Options::default()).unwrap();
        assert_eq!((rights(&inner), is_open_to_others(&inner)), (0o700, false));
        store.close();
        drop(store);
        let file = inner.join("pawl.db");
        set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        assert!(is_open_to_others(&file));
        SqliteStore::open(&inner, Options::default())
            .unwrap()
            .close();
        assert_eq!(rights(&file), 0o640);
    }

    /// What is said when a store is opened while its folder and its file have these rights.
    fn told(folder: u32, file: u32) -> Vec<String> {
        let data = tempfile::tempdir().unwrap();
        let database = data.path().join("pawl.db");
        open_private(&database).unwrap();
        set_permissions(&database, Permissions::from_mode(file)).unwrap();
        set_permissions(data.path(), Permissions::from_mode(folder)).unwrap();
        let lines = warnings(|| {
            let store = SqliteStore::open(data.path(), Options::default()).unwrap();
            store.close();
        });
        let root = data.path().display().to_string();
        let lines = lines.into_iter().map(|line| line.replace(&root, "DATA"));
        lines.collect()
    }

    #[test]
    fn a_folder_or_a_file_that_others_may_read_is_warned_of() {
        assert_eq!(told(0o700, 0o600), [""; 0]);
        for (folder, file, places) in [
            (0o750, 0o600, &["DATA "][..]),
            (0o701, 0o600, &["DATA "]),
            (0o700, 0o640, &["DATA/pawl.db "]),
            (0o700, 0o602, &["DATA/pawl.db "]),
            (0o755, 0o644, &["DATA ", "DATA/pawl.db "]),
        ] {
            let lines = told(folder, file);
            assert_eq!(lines.len(), places.len(), "{lines:?}");
            for (line, place) in lines.iter().zip(places) {
                let path = format!("path={place}");
                assert!(
                    line.contains(&path) && line.contains("chmod go-rwx"),
                    "{line}"
                );
            }
        }
    }
}

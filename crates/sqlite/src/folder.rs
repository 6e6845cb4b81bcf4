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
        let mut file = open(&folder.join("pawl.lock")).map_err(unusable)?;
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

fn open(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
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

/// Payloads are nobody else's business: a folder that is made here is for its owner only.
fn create_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

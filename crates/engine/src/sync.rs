//! Locks that outlive a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A poisoned lock only means that another thread panicked. The values behind the locks of this crate are whole between
/// any two statements, so the next holder goes on with them.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

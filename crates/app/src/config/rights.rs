//! Who else can read the file with the passwords.

use std::path::Path;

use pawl_sqlite::is_open_to_others;

use super::Config;

/// A file without passwords may be read by all.
pub(super) fn warn_if_open(path: &Path, config: &Config) {
    if holds_password(config) && is_open_to_others(path) {
        let path = path.display();
        tracing::warn!(%path, "it holds passwords, and other users of this machine may read it; take the right away with chmod go-rwx, or put the addresses into PAWL_DATABASE_URL and PAWL_BROKER_URL");
    }
}

/// An address with a user's name has a password more often than not.
fn holds_password(config: &Config) -> bool {
    let connections = config.connections.values().map(|one| &one.url);
    let own = config.database.url.iter().chain(&config.broker.url);
    own.chain(connections).any(|url| url.contains('@'))
}

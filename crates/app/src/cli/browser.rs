//! `pawl dev --open`.

use std::process::Stdio;

use tokio::process::Command;

/// What opens an address in the browser of the person who is logged in.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

/// Without a browser everything else works all the same: the log says so, and the address is on the screen.
pub(super) fn open(url: &str) {
    let started = Command::new(OPENER)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut opener = match started {
        Ok(opener) => opener,
        Err(error) => {
            return tracing::warn!(%error, "`{OPENER}` cannot be started; open {url} yourself");
        }
    };
    tokio::spawn(async move {
        match opener.wait().await {
            Ok(status) if status.success() => {}
            Ok(status) => tracing::warn!(%status, "`{OPENER}` did not open the browser"),
            Err(error) => tracing::warn!(%error, "`{OPENER}` was lost"),
        }
    });
}

//! The API as a program outside uses it: whatever was not answered is asked again.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::wire::{self, Answer};

/// The key of the administrator.
pub(crate) const KEY: &str = "the-admin-key-of-the-storm";
/// Between two tries of a call that got no answer.
const AGAIN: Duration = Duration::from_millis(100);

/// Where the server is now; it moves when it is killed and started again.
#[derive(Clone, Default)]
pub(crate) struct Api {
    address: Arc<Mutex<Option<SocketAddr>>>,
}

impl Api {
    pub(crate) fn moved_to(&self, address: SocketAddr) {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
    }

    /// One try; `None`: no answer, or one that says that the server cannot answer now.
    pub(crate) async fn once(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Option<Answer> {
        let address = (*self.address.lock().unwrap_or_else(PoisonError::into_inner))?;
        let answer = wire::send(address, method, path, body, Some(KEY))
            .await
            .ok()?;
        (answer.status < 500).then_some(answer)
    }

    /// Asks until there is an answer; `None`: there was none until the deadline.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        deadline: Instant,
    ) -> Option<Answer> {
        loop {
            if let Some(answer) = self.once(method, path, body).await {
                return Some(answer);
            }
            if Instant::now() >= deadline {
                return None;
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}

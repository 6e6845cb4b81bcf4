//! Dead letters of the broker go into the table that people look at.
//!
//! No [`pawl_engine::Service`]: it is driven by messages, and the broker says when the next one comes.

use std::sync::Arc;

use pawl_kernel::ports::letters::{LetterStore, NewLetter};
use pawl_kernel::ports::store::{StoreError, StoreResult};
use pawl_kernel::redact::Redactor;
use pawl_kernel::time::Clock;
use pawl_rabbitmq::DeadLetterDrain;

use super::is_final;

/// Characters of a reason that is kept where the whole was refused.
const REASON_KEPT: usize = 300;

pub(crate) struct LetterKeeper {
    pub(crate) store: Arc<dyn LetterStore>,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl LetterKeeper {
    /// Until the drain ends.
    pub(crate) async fn run(self, mut drain: DeadLetterDrain) {
        while let Some(letter) = drain.next().await {
            let (mut reason, mut message) = (letter.reason.clone(), letter.body.clone());
            self.redactor.text(&mut reason);
            self.redactor.json_text(&mut message);
            let new = NewLetter {
                execution_id: letter.execution_id,
                reason,
                message: Some(message),
                now: self.clock.now(),
            };
            match keep(&*self.store, new).await {
                Ok(()) => letter.stored(),
                Err(error) => {
                    tracing::warn!(%error, "a dead letter has to wait");
                    letter.not_stored();
                }
            }
        }
    }
}

/// What can never be stored as it came leaves a note in its place: otherwise it would be tried for ever, and hold up
/// every letter behind it.
async fn keep(store: &dyn LetterStore, letter: NewLetter) -> StoreResult<()> {
    let refused = match store.add_letter(letter.clone()).await {
        Ok(_) => return Ok(()),
        Err(error) if is_final(&error) => error,
        Err(error) => return Err(error),
    };
    tracing::error!(error = %refused, "a dead letter cannot be stored; a note is kept in its place");
    store.add_letter(note(letter, &refused)).await.map(drop)
}

fn note(letter: NewLetter, refused: &StoreError) -> NewLetter {
    let bytes = letter.message.as_ref().map_or(0, String::len);
    let reason: String = plain(&letter.reason).take(REASON_KEPT).collect();
    let refused = refused.to_string();
    let why: String = plain(&refused).take(REASON_KEPT).collect();
    NewLetter {
        reason: format!("{reason} (the message of {bytes} bytes was left out: {why})"),
        message: None,
        ..letter
    }
}

/// Without what a store may choke on.
fn plain(text: &str) -> impl Iterator<Item = char> {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    text.chars().map(plain)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use pawl_kernel::id::ExecutionId;
    use pawl_kernel::ports::letters::DeadLetter;
    use pawl_kernel::time::Timestamp;

    use pawl_kernel::ports::letters::{LetterFilter, LetterList, LetterPage, LetterTally};

    use super::*;

    /// Answers every letter that has a message with an error.
    struct Picky {
        error: StoreError,
        kept: Mutex<Vec<NewLetter>>,
    }

    #[async_trait]
    impl LetterStore for Picky {
        async fn add_letter(&self, letter: NewLetter) -> StoreResult<u64> {
            if letter.message.is_some() {
                return Err(self.error.clone());
            }
            self.kept.lock().unwrap().push(letter);
            Ok(1)
        }

        async fn dead_letters(&self, _: bool, _: u64, _: u32) -> StoreResult<Vec<DeadLetter>> {
            unreachable!()
        }

        async fn letters(
            &self,
            _: LetterFilter,
            _: LetterPage,
            _: u32,
            _: u32,
        ) -> StoreResult<LetterList> {
            unreachable!()
        }

        async fn count_letters(&self, _: LetterFilter, _: u32, _: u32) -> StoreResult<LetterTally> {
            unreachable!()
        }

        async fn dead_letter(&self, _: u64) -> StoreResult<Option<(DeadLetter, Option<String>)>> {
            unreachable!()
        }

        async fn mark_requeued(
            &self,
            _: u64,
            _: Option<ExecutionId>,
            _: Timestamp,
        ) -> StoreResult<bool> {
            unreachable!()
        }
    }

    async fn offered(error: StoreError) -> (StoreResult<()>, Vec<NewLetter>) {
        let store = Picky {
            error,
            kept: Mutex::default(),
        };
        let letter = NewLetter {
            execution_id: None,
            reason: format!("no\0good {}", "x".repeat(5_000)),
            message: Some("y".repeat(777)),
            now: Timestamp::default(),
        };
        let done = keep(&store, letter).await;
        (done, store.kept.into_inner().unwrap())
    }

    #[tokio::test]
    async fn a_letter_that_can_never_be_stored_leaves_a_note() {
        for error in [
            StoreError::Rejected("too large".into()),
            StoreError::Corrupt("broken page".into()),
        ] {
            let text = error.to_string();
            let (done, kept) = offered(error).await;
            done.unwrap();
            let note = &kept[0];
            assert!(note.reason.starts_with("no good xxx"), "{}", note.reason);
            assert!(
                note.reason.contains("777 bytes was left out"),
                "{}",
                note.reason
            );
            assert!(note.reason.contains(&text), "{}", note.reason);
            assert!(note.reason.len() < 1_000);
            assert_eq!(note.message, None);
        }
    }

    #[tokio::test]
    async fn a_store_that_is_away_is_waited_for() {
        for error in [
            StoreError::Unavailable("down".into()),
            StoreError::Unknown("cut off".into()),
        ] {
            let (done, kept) = offered(error).await;
            assert!(done.is_err() && kept.is_empty());
        }
    }
}

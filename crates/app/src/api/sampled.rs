//! Lines of the log that strangers can cause. Each subject has one line at once and then at most one in a while, with the
//! number of those that were left out: nothing is lost, and no disk is filled for free.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(super) const PAUSE: Duration = Duration::from_secs(10);
/// Subjects at a time; those beyond it are counted together.
const SUBJECTS_MAX: usize = 1_024;

pub(super) struct LogSampler<K>(Arc<Mutex<HashMap<Option<K>, u64>>>);

impl<K> Default for LogSampler<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Clone + Eq + Hash + Send + 'static> LogSampler<K> {
    /// `write` gets the subject (`None`: more than can be told apart) and how many times it was.
    pub(super) fn note(&self, subject: K, write: impl Fn(Option<&K>, u64) + Send + 'static) {
        let Some(opened) = self.open(subject) else {
            return;
        };
        write(opened.as_ref(), 1);
        let counts = Self(self.0.clone());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(PAUSE).await;
                match counts.close(&opened) {
                    0 => return,
                    count => write(opened.as_ref(), count),
                }
            }
        });
    }

    /// Counts one; the subject, if it is a new one.
    fn open(&self, subject: K) -> Option<Option<K>> {
        let mut counts = self.lock();
        let subject = Some(subject);
        let subject = match counts.contains_key(&subject) || counts.len() < SUBJECTS_MAX {
            true => subject,
            false => None,
        };
        if let Some(count) = counts.get_mut(&subject) {
            *count += 1;
            return None;
        }
        counts.insert(subject.clone(), 0);
        Some(subject)
    }

    /// Those since the last line; a subject without any is forgotten.
    fn close(&self, subject: &Option<K>) -> u64 {
        let mut counts = self.lock();
        match counts.get_mut(subject).map(std::mem::take) {
            Some(0) | None => {
                counts.remove(subject);
                0
            }
            Some(count) => count,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Option<K>, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Lines = Arc<Mutex<Vec<(Option<u32>, u64)>>>;

    fn note(sampled: &LogSampler<u32>, subject: u32, lines: &Lines) {
        let lines = lines.clone();
        sampled.note(subject, move |subject, count| {
            lines.lock().unwrap().push((subject.copied(), count));
        });
    }

    async fn pass(times: u32) {
        tokio::time::sleep(PAUSE * times + Duration::from_millis(1)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn one_line_at_once_and_then_the_rest_as_a_number() {
        let (sampled, lines) = (LogSampler::default(), Lines::default());
        for _ in 0..1_000 {
            note(&sampled, 1, &lines);
        }
        note(&sampled, 2, &lines);
        assert_eq!(*lines.lock().unwrap(), [(Some(1), 1), (Some(2), 1)]);
        pass(1).await;
        assert_eq!(lines.lock().unwrap()[2..], [(Some(1), 999)]);
        pass(2).await;
        assert!(sampled.lock().is_empty(), "all is told, all is forgotten");
        note(&sampled, 1, &lines);
        assert_eq!(lines.lock().unwrap()[3..], [(Some(1), 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_is_counted_together() {
        let (sampled, lines) = (LogSampler::default(), Lines::default());
        for subject in 0..5_000 {
            note(&sampled, subject, &lines);
        }
        assert_eq!(lines.lock().unwrap().len(), SUBJECTS_MAX + 1);
        pass(1).await;
        let told: u64 = lines.lock().unwrap().iter().map(|(_, count)| count).sum();
        assert_eq!(told, 5_000);
    }
}

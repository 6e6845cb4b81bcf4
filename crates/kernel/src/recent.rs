//! A map that forgets: what was put in last stays, what is older goes when there is too much of it.

use std::collections::HashMap;
use std::hash::Hash;

/// Two generations. When the young one has grown to half the limit, it becomes the old one, and what was old is gone:
/// no bookkeeping per entry, and never more than `limit` in all.
#[derive(Debug)]
pub struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    weight: usize,
    limit: usize,
}

impl<K: Eq + Hash, V> Recent<K, V> {
    pub fn new(limit: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            weight: 0,
            limit,
        }
    }

    /// An entry that is too heavy to be kept at all is dropped at once.
    pub fn insert(&mut self, key: K, value: V, weight: usize) {
        self.old.remove(&key);
        let half = self.limit / 2;
        if weight > half {
            self.young.remove(&key);
            return;
        }
        if self.weight + weight > half {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
            self.old.remove(&key);
        }
        self.weight += weight;
        self.young.insert(key, value);
    }

    /// Gives the entry away.
    pub fn take(&mut self, key: &K) -> Option<V> {
        // The weight stays counted until the generation ends: keys that come and go age it a little sooner.
        self.young.remove(key).or_else(|| self.old.remove(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_last_stays() {
        let mut recent = Recent::new(8);
        for n in 0..100 {
            recent.insert(n, n * 10, 1);
        }
        let kept: Vec<u32> = (0..100).filter_map(|n| recent.take(&n)).collect();
        assert!((4..=8).contains(&kept.len()), "{kept:?}");
        assert_eq!(kept.last(), Some(&990));
        assert_eq!(recent.take(&99), None);
    }

    #[test]
    fn the_newest_value_counts() {
        let mut recent = Recent::new(4);
        for value in 0..9 {
            recent.insert("key", value, 1);
        }
        assert_eq!(recent.take(&"key"), Some(8));
        assert_eq!(recent.take(&"key"), None);
    }

    #[test]
    fn what_is_too_heavy_is_not_kept_and_replaces_nothing_else() {
        let mut recent = Recent::new(10);
        recent.insert(1, "light", 5);
        recent.insert(2, "heavy", 6);
        assert_eq!(recent.take(&2), None);
        assert_eq!(recent.take(&1), Some("light"));
        recent.insert(3, "light", 1);
        recent.insert(3, "grown", 6);
        assert_eq!(recent.take(&3), None);
    }
}

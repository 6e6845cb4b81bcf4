//! A stable sort whose comparison may fail.
//!
//! The standard sort may panic when an order is not total, and values of a document need not have
//! a total order: numbers of different kinds, or a string among numbers.

use std::cmp::Ordering;

/// Merges ever longer runs, from the bottom up. `order` is asked about (left, right).
pub(super) fn merge_sort<T: Clone, E>(
    mut items: Vec<T>,
    mut order: impl FnMut(&T, &T) -> Result<Ordering, E>,
) -> Result<Vec<T>, E> {
    let mut run = 1;
    while run < items.len() {
        let mut merged = Vec::with_capacity(items.len());
        for pair in items.chunks(run * 2) {
            let (left, right) = pair.split_at(run.min(pair.len()));
            merge(left, right, &mut merged, &mut order)?;
        }
        items = merged;
        run *= 2;
    }
    Ok(items)
}

fn merge<T: Clone, E>(
    mut left: &[T],
    mut right: &[T],
    merged: &mut Vec<T>,
    order: &mut impl FnMut(&T, &T) -> Result<Ordering, E>,
) -> Result<(), E> {
    while let ([first, left_rest @ ..], [second, right_rest @ ..]) = (left, right) {
        if order(first, second)?.is_gt() {
            merged.push(second.clone());
            right = right_rest;
        } else {
            merged.push(first.clone());
            left = left_rest;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
    Ok(())
}

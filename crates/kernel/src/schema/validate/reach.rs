//! What no path leads to, told once: by where it begins, not node by node.

use std::collections::HashSet;

/// A part of the graph that cannot be reached: where it begins, and how many nodes are behind that.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Island {
    pub first: usize,
    pub behind: usize,
}

/// `targets` holds, per node, where its edges lead.
pub(super) fn reached(targets: &[Vec<usize>], from: Vec<usize>) -> HashSet<usize> {
    let mut open = from;
    let mut reached: HashSet<usize> = open.iter().copied().collect();
    while let Some(index) = open.pop() {
        for &target in &targets[index] {
            if reached.insert(target) {
                open.push(target);
            }
        }
    }
    reached
}

/// Every node of `lost` belongs to one island: behind a node that nothing leads to, or else in a circle.
pub(super) fn islands(targets: &[Vec<usize>], lost: &[usize]) -> Vec<Island> {
    let led_to: HashSet<usize> = lost
        .iter()
        .flat_map(|&index| {
            targets[index]
                .iter()
                .filter(move |&&target| target != index)
        })
        .copied()
        .collect();
    let (circles, firsts): (Vec<usize>, Vec<usize>) =
        lost.iter().partition(|index| led_to.contains(index));
    let mut left: HashSet<usize> = lost.iter().copied().collect();
    let mut islands = Vec::new();
    for first in firsts.into_iter().chain(circles) {
        if left.contains(&first) {
            islands.push(Island {
                first,
                behind: take(targets, first, &mut left) - 1,
            });
        }
    }
    islands
}

/// Takes the node and what is behind it out of `left`, and says how many that were.
fn take(targets: &[Vec<usize>], first: usize, left: &mut HashSet<usize>) -> usize {
    left.remove(&first);
    let (mut open, mut taken) = (vec![first], 1);
    while let Some(index) = open.pop() {
        for &target in &targets[index] {
            if left.remove(&target) {
                taken += 1;
                open.push(target);
            }
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(targets: &[&[usize]], lost: &[usize], expected: &[(usize, usize)]) {
        let targets: Vec<Vec<usize>> = targets.iter().map(|of| of.to_vec()).collect();
        let found: Vec<(usize, usize)> = islands(&targets, lost)
            .iter()
            .map(|island| (island.first, island.behind))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_is_told_once() {
        check(&[&[], &[2], &[3], &[]], &[1, 2, 3], &[(1, 2)]);
        // The one that nothing leads to is reported, wherever it stands.
        check(&[&[], &[], &[1], &[2]], &[1, 2, 3], &[(3, 2)]);
        // Two ways into one part: the second has nothing of its own behind it.
        check(&[&[], &[3], &[3], &[]], &[1, 2, 3], &[(1, 1), (2, 0)]);
        // Circles have no beginning.
        check(&[&[], &[2], &[1], &[3]], &[1, 2, 3], &[(3, 0), (1, 1)]);
        check(&[&[], &[0]], &[1], &[(1, 0)]);
        check(&[&[]], &[], &[]);
    }
}

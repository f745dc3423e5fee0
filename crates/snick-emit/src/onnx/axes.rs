//! Permutations of axes.

/// A permutation that moves the axes `front` to the front, and its inverse.
pub(super) fn to_front(rank: usize, front: &[i64]) -> (Vec<i64>, Vec<i64>) {
    let rest = (0..rank as i64).filter(|axis| !front.contains(axis));
    let order: Vec<i64> = front.iter().copied().chain(rest).collect();
    let mut back = vec![0; order.len()];
    for (place, &axis) in (0..).zip(&order) {
        if let Some(slot) = usize::try_from(axis).ok().and_then(|axis| back.get_mut(axis)) {
            *slot = place;
        }
    }
    (order, back)
}

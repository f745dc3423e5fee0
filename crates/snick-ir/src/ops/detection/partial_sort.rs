//! Partial sort that orders equal elements like the OpenVINO runtime.
//!
//! Boxes that are too small all have score 0 and fill the remaining rows, so the order of equal elements
//! affects the result. To get the same order, this module follows the runtime's algorithm: it selects with a
//! heap whose root is the worst element, then pops the roots one by one.

/// Sorts by `before` and keeps the first `count` elements.
pub fn keep_first<T: Copy>(items: &mut Vec<T>, count: usize, before: impl Fn(&T, &T) -> bool) {
    let count = count.min(items.len());
    let (heap, rest) = items.split_at_mut(count);
    for root in (0..count / 2).rev() {
        if let Some(&item) = heap.get(root) {
            sift_down(heap, root, item, &before);
        }
    }
    for item in rest {
        if let Some(root) = heap.first_mut()
            && before(item, root)
        {
            std::mem::swap(item, root);
            let better = *root;
            sift_down(heap, 0, better, &before);
        }
    }
    for last in (1..count).rev() {
        heap.swap(0, last);
        let (heap, _) = heap.split_at_mut(last);
        if let Some(&item) = heap.first() {
            sift_down(heap, 0, item, &before);
        }
    }
    items.truncate(count);
}

/// Inserts an item below the free position `root`: moves the free position down to a leaf, always to the
/// child that sorts later, and then moves the item up from there.
fn sift_down<T: Copy>(heap: &mut [T], root: usize, item: T, before: &impl Fn(&T, &T) -> bool) {
    let mut hole = root;
    loop {
        let (left, right) = (2 * hole + 1, 2 * hole + 2);
        let child = match (heap.get(left), heap.get(right)) {
            (Some(a), Some(b)) if before(b, a) => left,
            (Some(_), Some(_)) => right,
            (Some(_), None) => left,
            _ => break,
        };
        heap.swap(hole, child);
        hole = child;
    }
    if let Some(leaf) = heap.get_mut(hole) {
        *leaf = item;
    }
    while hole > root {
        let parent = (hole - 1) / 2;
        match heap.get(parent) {
            Some(above) if before(above, &item) => heap.swap(hole, parent),
            _ => break,
        }
        hole = parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kept_elements_are_sorted() {
        for count in 0..9 {
            let mut items = vec![5, 1, 4, 1, 5, 9, 2, 6];
            let mut sorted = items.clone();
            keep_first(&mut items, count, |a, b| a > b);
            sorted.sort_by(|a, b| b.cmp(a));
            sorted.truncate(count);
            assert_eq!(items, sorted);
        }
    }

    #[test]
    fn equal_elements_are_in_heap_order() {
        let mut items: Vec<(u8, usize)> = (0..6).map(|i| (0, i)).collect();
        keep_first(&mut items, 6, |a, b| a.0 > b.0);
        assert_eq!(items.iter().map(|item| item.1).collect::<Vec<_>>(), [3, 4, 1, 0, 2, 5]);
    }
}

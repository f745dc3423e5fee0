//! The largest or smallest elements along an axis.
//!
//! **Source.** For few elements, insertion into a sorted list; otherwise quickselect followed by a sort. Heap
//! selection for [`Ties::Heap`].
//!
//! **Layout.** Strided lines are transposed eight at a time. **Threads.** Runs on one thread.

mod best_rows;

use crate::{Dims, ElementType, Tensor, TensorError};

/// The order of the selected elements.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// By value, best first.
    Value,
    /// By index, ascending.
    Index,
}

/// Which of two equal elements comes first.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Ties {
    /// The element with the lower index.
    Lower,
    /// The element that comes first in heap selection with a heap whose root is the worst selected element.
    Heap,
}

/// The indices of the `k` largest (or smallest) elements of each line along `axis`, as i64. NaN counts as
/// the largest.
///
/// # Errors
/// [`TensorError::AxisOutOfRange`], [`TensorError::UnsupportedType`], [`TensorError::Argument`] if the axis
/// has fewer than `k` elements.
pub fn top_k_indices(
    tensor: &Tensor,
    axis: usize,
    k: usize,
    greatest: bool,
    order: Order,
    ties: Ties,
) -> Result<Tensor, TensorError> {
    let rank = tensor.rank();
    let Some(&size) = tensor.dims().get(axis) else {
        return Err(TensorError::AxisOutOfRange { axis, rank });
    };
    if k > size {
        return Err(TensorError::argument(format!("k = {k} exceeds the axis of size {size}")));
    }
    let mut dims = Dims::from_slice(tensor.dims());
    dims[axis] = k;
    let is_last = tensor.dims()[axis + 1..].iter().all(|&dim| dim == 1);
    if k == 1 && !is_last && tensor.element_type() == ElementType::F32 && !tensor.is_empty() {
        return Tensor::from_vec(&dims, best_rows::indices(&tensor.units(), tensor.dims(), axis, greatest));
    }
    let lines = Lines { dims: tensor.dims(), axis, k, order, ties };
    let turned = |key: i64| if greatest { key } else { !key };
    let indices = match tensor.element_type() {
        ElementType::F64 => lines.select(&tensor.values::<f64>()?, |x| {
            let bits = (x + 0.0).to_bits().cast_signed();
            turned(if x.is_nan() { i64::MAX } else { bits ^ ((bits >> 63) & i64::MAX) })
        }),
        ElementType::U64 => lines.select(&tensor.values::<u64>()?, |x| turned((x ^ (1 << 63)).cast_signed())),
        et if et.is_float() => lines.select(&tensor.cast(ElementType::F32)?.units::<f32>(), |x| {
            let bits = (x + 0.0).to_bits().cast_signed();
            let key = if x.is_nan() { i32::MAX } else { bits ^ ((bits >> 31) & i32::MAX) };
            if greatest { key } else { !key }
        }),
        _ => lines.select(&tensor.to_i64_vec()?, turned),
    };
    Tensor::from_vec(&dims, indices)
}

/// The number of strided lines that are transposed together.
const COLUMNS: usize = 8;

/// Up to this `k`, the best items are kept sorted while a line is read.
const MOST_INSERTED: usize = 32;

/// The lines of a tensor along an axis, and which items of each to select.
struct Lines<'a> {
    dims: &'a [usize],
    axis: usize,
    k: usize,
    order: Order,
    ties: Ties,
}

impl Lines<'_> {
    /// The indices of the items with the greatest keys. The key of an element is an integer: elements are
    /// compared by it.
    fn select<T: Copy, K: Ord + Copy>(&self, values: &[T], key: impl Fn(T) -> K) -> Vec<i64> {
        let &Self { dims, axis, k, .. } = self;
        let size = dims[axis];
        if dims.contains(&0) || k == 0 {
            return Vec::new();
        }
        let inner: usize = dims[axis + 1..].iter().product();
        let mut out = vec![0i64; values.len() / size * k];
        let mut items = Vec::with_capacity(size);
        let mut keys = Vec::with_capacity(size * COLUMNS.min(inner));
        for (o, block) in values.chunks_exact(size * inner).enumerate() {
            for i in 0..inner {
                // Strided lines are transposed in blocks, because neighbours share cache lines.
                if i % COLUMNS == 0 {
                    keys.clear();
                    match inner {
                        1 => keys.extend(block.iter().map(|&x| key(x))),
                        _ => keys.extend(
                            (i..inner.min(i + COLUMNS))
                                .flat_map(|column| block[column..].iter().step_by(inner).map(|&x| key(x))),
                        ),
                    }
                }
                self.best(&keys[i % COLUMNS * size..][..size], &mut items);
                for (j, &(_, index)) in items.iter().enumerate() {
                    out[(o * k + j) * inner + i] = index as i64;
                }
            }
        }
        out
    }

    /// Replaces `items` with the `k` best keys of a line and their indices, in order.
    fn best<K: Ord + Copy>(&self, keys: &[K], items: &mut Vec<(K, usize)>) {
        let &Self { k, order, ties, .. } = self;
        let by_key = |a: &(K, usize), b: &(K, usize)| b.0.cmp(&a.0).then(a.1.cmp(&b.1));
        let first = if ties == Ties::Lower && k > MOST_INSERTED { keys.len() } else { k };
        items.clear();
        items.extend(keys[..first].iter().copied().zip(0..));
        match ties {
            Ties::Heap => {
                let worse = |a: &(K, usize), b: &(K, usize)| a.0 < b.0;
                (0..k / 2).rev().for_each(|root| sink(items, root, &worse));
                each_better(keys, k, items[0].0, |item| {
                    items[0] = item;
                    sink(items, 0, &worse);
                    items[0].0
                });
                // The root is the worst of the rest, so it goes to the end.
                for last in (1..k).rev() {
                    items.swap(0, last);
                    sink(&mut items[..last], 0, &worse);
                }
            }
            Ties::Lower if k == 1 => {
                let best = keys.iter().fold(keys[0], |best, &key| best.max(key));
                items[0] = (best, keys.iter().position(|&key| key == best).unwrap_or(0));
            }
            Ties::Lower if k <= MOST_INSERTED => {
                items.sort_unstable_by(by_key);
                each_better(keys, k, items[k - 1].0, |item| {
                    items.pop();
                    items.insert(items.partition_point(|known| known.0 >= item.0), item);
                    items[k - 1].0
                });
            }
            Ties::Lower => {
                items.select_nth_unstable_by(k - 1, by_key);
                items.truncate(k);
                items.sort_unstable_by(by_key);
            }
        }
        if order == Order::Index {
            items.sort_unstable_by_key(|&(_, index)| index);
        }
    }
}

/// Calls `admit` with each item from index `first` on whose key exceeds `least`; it returns the next `least`.
fn each_better<K: Ord + Copy>(
    keys: &[K],
    first: usize,
    mut least: K,
    mut admit: impl FnMut((K, usize)) -> K,
) {
    /// Keys that are compared together, as vectors: most blocks have no better key.
    const BLOCK: usize = 32;
    for (block, keys) in keys[first..].chunks(BLOCK).enumerate() {
        if keys.iter().fold(false, |any, key| any | (*key > least)) {
            for (i, &key) in keys.iter().enumerate() {
                if key > least {
                    least = admit((key, first + block * BLOCK + i));
                }
            }
        }
    }
}

/// Sifts down the item at `root`: swaps it with its worst child while that child is worse.
fn sink<T>(heap: &mut [T], root: usize, worse: &impl Fn(&T, &T) -> bool) {
    let mut at = root;
    loop {
        let mut worst = at;
        for child in [2 * at + 1, 2 * at + 2] {
            if child < heap.len() && worse(&heap[child], &heap[worst]) {
                worst = child;
            }
        }
        if worst == at {
            return;
        }
        heap.swap(at, worst);
        at = worst;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_ties() {
        let t = Tensor::from_vec(&[5], vec![1.0f32, f32::NAN, 2.0, 2.0, 1.0]).unwrap();
        let run = |k, greatest, order| {
            top_k_indices(&t, 0, k, greatest, order, Ties::Lower).unwrap().to_i64_vec().unwrap()
        };
        assert_eq!(run(3, true, Order::Value), [1, 2, 3]);
        assert_eq!(run(3, false, Order::Value), [0, 4, 2]);
        assert_eq!(run(3, true, Order::Index), [1, 2, 3]);
        assert_eq!(run(5, true, Order::Value), [1, 2, 3, 0, 4]);
        assert_eq!(run(5, false, Order::Value), [0, 4, 2, 3, 1]);
        assert!(run(0, true, Order::Value).is_empty());
        assert!(top_k_indices(&t, 0, 6, true, Order::Value, Ties::Lower).is_err());
        let columns = Tensor::from_vec(&[2, 2], vec![1u64, u64::MAX, 3, 0]).unwrap();
        let best = top_k_indices(&columns, 0, 1, true, Order::Value, Ties::Lower).unwrap();
        assert_eq!(best.to_i64_vec().unwrap(), [1, 0]);
    }

    #[test]
    fn any_number_of_elements_is_as_if_sorted() {
        for size in [1, 5, 40, 100] {
            let numbers: Vec<f64> = (0..3 * size).map(|i| f64::from(i * 7919 % 53 - 20)).collect();
            let whole = Tensor::from_vec(&[3, size as usize], numbers).unwrap();
            for et in ["f16", "f32", "f64", "i8", "i64"] {
                for (greatest, axis) in [(true, 1), (false, 1), (true, 0), (false, 0)] {
                    let data = whole.cast(et.parse().unwrap()).unwrap();
                    let data = if axis == 0 { data.transposed() } else { data };
                    for k in [1, 2, 31, 32, 33, 40, 99, 100].into_iter().filter(|&k| k <= size as usize) {
                        let found =
                            top_k_indices(&data, axis, k, greatest, Order::Value, Ties::Lower).unwrap();
                        let found = if axis == 0 { found.transposed() } else { found };
                        let lines = whole.to_f64_vec().unwrap();
                        let expected = lines.chunks(size as usize).flat_map(|line| {
                            let mut all: Vec<usize> = (0..line.len()).collect();
                            all.sort_by(|&a, &b| match greatest {
                                true => line[b].total_cmp(&line[a]),
                                false => line[a].total_cmp(&line[b]),
                            });
                            all.into_iter().take(k).map(|i| i as i64)
                        });
                        let found = found.to_i64_vec().unwrap();
                        assert!(
                            expected.eq(found.iter().copied()),
                            "{et} {greatest} {k} of {size}: {found:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_heap_has_its_own_order_of_equal_elements() {
        let equal = Tensor::full(&[9], 1i32).unwrap();
        let run = |t: &Tensor, k, order| {
            top_k_indices(t, 0, k, true, order, Ties::Heap).unwrap().to_i64_vec().unwrap()
        };
        assert_eq!(run(&equal, 7, Order::Value), [1, 2, 3, 4, 5, 6, 0]);
        assert_eq!(run(&equal, 7, Order::Index), [0, 1, 2, 3, 4, 5, 6]);
        let other = Tensor::from_vec(&[6], vec![3i32, 1, 4, 1, 5, 9]).unwrap();
        for k in 1..=6 {
            let best = top_k_indices(&other, 0, k, true, Order::Value, Ties::Lower).unwrap();
            let values = |indices: Vec<i64>| -> Vec<i64> {
                indices.iter().map(|&i| other.to_i64_vec().unwrap()[i as usize]).collect()
            };
            assert_eq!(values(run(&other, k, Order::Value)), values(best.to_i64_vec().unwrap()));
        }
    }
}

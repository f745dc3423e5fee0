//! The largest or smallest elements along an axis.
//!
//! **Source.** Quickselect followed by a sort of the selected elements, or heap selection for [`Ties::Heap`].
//!
//! **Layout.** Strided lines are transposed eight at a time. **Threads.** Runs on one thread.

mod first;

use std::cmp::Ordering;

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
    if k == 1 && tensor.element_type() == ElementType::F32 && !tensor.is_empty() {
        return Tensor::from_vec(&dims, first::indices(&tensor.units(), tensor.dims(), axis, greatest));
    }
    let order = (order, ties);
    let integers = !tensor.element_type().is_float();
    // `u64` has a separate branch, because `to_i64_vec` saturates and large values would compare equal.
    let indices = if integers && tensor.element_type() != ElementType::U64 {
        select(
            tensor.dims(),
            axis,
            k,
            &tensor.to_i64_vec()?,
            |a, b| if greatest { b.cmp(a) } else { a.cmp(b) },
            order,
        )
    } else if integers {
        let values = tensor.values::<u64>()?;
        select(tensor.dims(), axis, k, &values, |a, b| if greatest { b.cmp(a) } else { a.cmp(b) }, order)
    } else {
        let order_of = |a: &f64, b: &f64| a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
        let better = |a: &f64, b: &f64| if greatest { order_of(b, a) } else { order_of(a, b) };
        select(tensor.dims(), axis, k, &tensor.to_f64_vec()?, better, order)
    };
    Tensor::from_vec(&dims, indices)
}

/// The number of strided lines that are transposed together.
const COLUMNS: usize = 8;

fn select<T: Copy>(
    dims: &[usize],
    axis: usize,
    k: usize,
    values: &[T],
    better: impl Fn(&T, &T) -> Ordering,
    (order, ties): (Order, Ties),
) -> Vec<i64> {
    let size = dims[axis];
    if dims.contains(&0) || k == 0 {
        return Vec::new();
    }
    let outer: usize = dims[..axis].iter().product();
    let inner: usize = dims[axis + 1..].iter().product();
    let mut out = vec![0i64; outer * k * inner];
    let mut line: Vec<usize> = Vec::with_capacity(size);
    let mut columns = Vec::with_capacity(size * COLUMNS.min(inner));
    for o in 0..outer {
        for i in 0..inner {
            // Strided lines are transposed in blocks, because neighbours share cache lines.
            if i % COLUMNS == 0 && inner > 1 {
                columns.clear();
                for column in i..inner.min(i + COLUMNS) {
                    columns.extend((0..size).map(|index| values[(o * size + index) * inner + column]));
                }
            }
            let values = match inner {
                1 => &values[o * size..][..size],
                _ => &columns[i % COLUMNS * size..][..size],
            };
            let at = |index: usize| &values[index];
            line.clear();
            line.extend(0..size);
            if ties == Ties::Heap {
                heap_select(&mut line, k, |a, b| better(at(a), at(b)) == Ordering::Greater);
            } else {
                let compare = |a: &usize, b: &usize| better(at(*a), at(*b)).then(a.cmp(b));
                if k < size {
                    line.select_nth_unstable_by(k - 1, compare);
                    line.truncate(k);
                }
                line.sort_unstable_by(compare);
            }
            if order == Order::Index {
                line.sort_unstable();
            }
            for (j, &index) in line.iter().enumerate() {
                out[(o * k + j) * inner + i] = index as i64;
            }
        }
    }
    out
}

/// Keeps the best `k` items of a line, best first.
fn heap_select(line: &mut Vec<usize>, k: usize, worse: impl Fn(usize, usize) -> bool) {
    let (heap, rest) = line.split_at_mut(k);
    for root in (0..k / 2).rev() {
        sink(heap, root, &worse);
    }
    for item in rest {
        if worse(heap[0], *item) {
            heap[0] = *item;
            sink(heap, 0, &worse);
        }
    }
    // The root is the worst of the rest, so it goes to the end.
    for last in (1..k).rev() {
        heap.swap(0, last);
        sink(&mut heap[..last], 0, &worse);
    }
    line.truncate(k);
}

/// Sifts down the item at `root`: swaps it with its worst child while that child is worse.
fn sink(heap: &mut [usize], root: usize, worse: &impl Fn(usize, usize) -> bool) {
    let mut at = root;
    loop {
        let mut worst = at;
        for child in [2 * at + 1, 2 * at + 2] {
            if child < heap.len() && worse(heap[child], heap[worst]) {
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

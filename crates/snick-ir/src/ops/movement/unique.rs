//! Unique-10.

use std::cmp::Ordering;

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::runs;
use snick_tensor::{Dims, ElementType, SmallVector, Tensor};

use super::indices::{count, scalar};
use crate::ops::index_type::IndexType;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, normalize_axis};

op! {
    /// The distinct elements of input 0, or its distinct slices on an axis (input 1). Outputs: the distinct
    /// elements, the index where each first occurs, the index of the distinct element for each input element,
    /// and the number of occurrences. NaN differs from every element, including NaN.
    #[op("Unique", since = [10], inputs = Arity::between(1, 2), category = Movement, traits = [PURE])]
    pub struct Unique {
        /// Whether to sort the output, with NaN last; otherwise the output is in order of first occurrence.
        pub sorted: bool = true,
        /// The element type of the indices.
        pub index_element_type: IndexType = IndexType::I64,
        /// The element type of the counts.
        pub count_element_type: IndexType = IndexType::I64,
    }
}

/// Maximum size of a constant to search for duplicates during inference.
const MAX_LOOKED_THROUGH: usize = 4096;

impl InferOp for Unique {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let axis = match cx.optional(1) {
            Some(axis) => Some(known_axis(cx, axis)?),
            None => None,
        };
        if let Some(constants) = constants(cx) {
            let facts = self.eval(&constants)?.into_iter().map(|t| Fact::constant(t.into()));
            return Ok(facts.collect());
        }
        let element_type = cx.element_type(0);
        // The number of elements or slices to compare, and the shape of output 0.
        let (size, shape) = match (cx.shape(0).dims(), axis) {
            (None, _) => (cx.unknown(Interval::DIM), None),
            (Some(dims), None) => (cx.product(dims), Some(SmallVector::<SymExpr, 4>::new())),
            (Some(dims), Some(axis)) => {
                let mut dims: SmallVector<SymExpr, 4> = dims.into();
                let size = dims.remove(normalize_axis(axis, dims.len())?);
                (size, Some(dims))
            }
        };
        let of = cx.interval(&size);
        let found = match of.hi() {
            // A single candidate is always distinct.
            0 | 1 => size.clone(),
            hi => cx.unknown(Interval::new(of.lo().min(1), hi).unwrap_or(Interval::DIM)),
        };
        let shape = match (shape, axis) {
            (Some(mut dims), Some(axis)) => {
                let axis = normalize_axis(axis, dims.len() + 1)?;
                dims.insert(axis, found.clone());
                Shape::ranked(dims)
            }
            (None, Some(_)) => Shape::unranked(),
            (_, None) => Shape::ranked([found.clone()]),
        };
        Ok(Facts::from([
            Fact::new(element_type, shape),
            Fact::new(self.index_element_type.element_type(), Shape::ranked([found.clone()])),
            Fact::new(self.index_element_type.element_type(), Shape::ranked([size])),
            Fact::new(self.count_element_type.element_type(), Shape::ranked([found])),
        ]))
    }
}

impl EvalOp for Unique {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = match inputs.get(1) {
            Some(_) => inputs[0].clone(),
            None => inputs[0].reshape(&[inputs[0].len()])?,
        };
        let axis = inputs.get(1).map_or(Ok(0), |axis| scalar("axis", axis))?;
        let axis = normalize_axis(axis, data.rank())?;
        let (before, size, after) = (&data.dims()[..axis], data.dims()[axis], &data.dims()[axis + 1..]);
        let lines = Lines { outer: count(before), size, inner: count(after) };
        let groups = match data.element_type() {
            ElementType::String => lines.groups(&data.as_strings()?, self.sorted),
            ElementType::U64 => lines.groups(&data.values::<u64>()?, self.sorted),
            et if et.is_float() => lines.groups(&data.to_f64_vec()?, self.sorted),
            _ => lines.groups(&data.to_i64_vec()?, self.sorted),
        };
        let mut dims = Dims::from_slice(data.dims());
        dims[axis] = groups.len();
        let firsts: Vec<usize> = groups.iter().filter_map(|members| members.first().copied()).collect();
        let starts =
            (0..lines.outer).flat_map(|o| firsts.iter().map(move |&at| (o * size + at) * lines.inner));
        let found = runs::gather_runs(&data, &dims, lines.inner, starts)?;
        let mut group_of = vec![0i64; size];
        for (group, &member) in groups.iter().enumerate().flat_map(|(g, of)| of.iter().map(move |m| (g, m))) {
            group_of[member] = group as i64;
        }
        let vector = |values: Vec<i64>, et| Tensor::from_vec(&[values.len()], values)?.cast(et);
        Ok(vec![
            found,
            vector(firsts.iter().map(|&at| at as i64).collect(), self.index_element_type.element_type())?,
            vector(group_of, self.index_element_type.element_type())?,
            vector(
                groups.iter().map(|members| members.len() as i64).collect(),
                self.count_element_type.element_type(),
            )?,
        ])
    }
}

/// The axis, which must be constant.
fn known_axis(cx: &Infer, axis: &Fact) -> Result<i64, OpError> {
    cx.expect_index(1)?;
    cx.expect_rank(1, "0 or 1", |rank| rank <= 1)?;
    match axis.ints().as_deref() {
        Some([axis]) => Ok(*axis),
        Some(axes) => Err(OpError::mismatch("the number of axes", axes.len(), 1)),
        None => Err(OpError::NoValue { what: "the axis".into(), why: "it is not constant".into() }),
    }
}

/// All inputs, if they are small constants.
fn constants(cx: &Infer) -> Option<Vec<Tensor>> {
    let tensors = cx.inputs().iter().map(|fact| fact.as_tensor().map(|t| Tensor::clone(t)));
    let tensors: Vec<Tensor> = tensors.collect::<Option<_>>()?;
    (tensors.first()?.len() <= MAX_LOOKED_THROUGH).then_some(tensors)
}

/// Views row-major elements as `size` slices. Each slice consists of `outer` runs of `inner` elements.
#[derive(Copy, Clone)]
struct Lines {
    outer: usize,
    size: usize,
    inner: usize,
}

impl Lines {
    /// Groups equal slices, each group in ascending order of indices.
    fn groups<T: PartialOrd>(self, values: &[T], sorted: bool) -> Vec<Vec<usize>> {
        let slice = |at: usize| {
            let runs = (0..self.outer).map(move |o| (o * self.size + at) * self.inner);
            runs.flat_map(|start| values.get(start..start + self.inner).unwrap_or_default())
        };
        let mut order: Vec<usize> = (0..self.size).collect();
        order.sort_by(|&a, &b| {
            let mut orders = slice(a).zip(slice(b)).map(|(a, b)| total(a, b));
            orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        });
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for at in order {
            match groups
                .last_mut()
                .filter(|group| group.last().is_some_and(|&last| slice(last).eq(slice(at))))
            {
                Some(group) => group.push(at),
                None => groups.push(vec![at]),
            }
        }
        if !sorted {
            groups.sort_unstable_by_key(|members| members.first().copied());
        }
        groups
    }
}

/// A total order that puts NaN last.
fn total<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    let unordered = |x: &T| x.partial_cmp(x).is_none();
    a.partial_cmp(b).unwrap_or_else(|| unordered(a).cmp(&unordered(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(sorted: bool, data: Tensor, axis: Option<i64>) -> Option<Vec<Vec<i64>>> {
        let op = Unique { sorted, count_element_type: IndexType::I32, ..Unique::default() };
        let inputs: Vec<Tensor> = [data].into_iter().chain(axis.map(Tensor::scalar)).collect();
        Some(op.eval(&inputs).ok()?.iter().map(|t| t.to_i64_vec().unwrap()).collect())
    }

    #[test]
    fn elements() {
        let data = Tensor::from_vec(&[2, 3], vec![3i32, 1, 3, 2, 1, 1]).unwrap();
        let sorted = [vec![1, 2, 3], vec![1, 3, 0], vec![2, 0, 2, 1, 0, 0], vec![3, 1, 2]];
        assert_eq!(run(true, data.clone(), None).unwrap(), sorted);
        let met = [vec![3, 1, 2], vec![0, 1, 3], vec![0, 1, 0, 2, 1, 1], vec![2, 3, 1]];
        assert_eq!(run(false, data, None).unwrap(), met);
        assert_eq!(run(true, Tensor::scalar(7i32), None).unwrap(), [[7], [0], [0], [1]]);
        let nans = Tensor::from_vec(&[5], vec![3.0f32, f32::NAN, 0.0, f32::NAN, -0.0]).unwrap();
        assert_eq!(
            run(true, nans, None).unwrap()[1..],
            [vec![2, 0, 1, 3], vec![1, 2, 0, 3, 0], vec![2, 1, 1, 1]]
        );
    }

    #[test]
    fn slices() {
        let data = Tensor::from_vec(&[2, 3], vec![2i32, 1, 2, 5, 4, 5]).unwrap();
        let columns = [vec![1, 2, 4, 5], vec![1, 0], vec![1, 0, 1], vec![1, 2]];
        assert_eq!(run(true, data.clone(), Some(-1)).unwrap(), columns);
        assert_eq!(run(true, data.clone(), Some(0)).unwrap()[3], [1, 1]);
        assert_eq!(run(true, data, Some(2)), None);
        let empty = Tensor::zeros(ElementType::F32, &[0, 3]).unwrap();
        assert_eq!(run(true, empty.clone(), Some(1)).unwrap()[3], [3]);
        assert_eq!(run(true, empty, Some(0)).unwrap()[3], [] as [i64; 0]);
    }
}

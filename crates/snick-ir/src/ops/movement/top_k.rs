//! TopK-1, TopK-3 and TopK-11.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::runs;
use snick_tensor::kernels::top_k::{Order, Ties, top_k_indices};
use snick_tensor::{ElementType, SmallVector, Tensor};

use super::gather_elements::starts;
use super::indices::scalar;
use crate::ops::index_type::IndexType;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, IntegerRole, OpError, Since, normalize_axis};

op! {
    /// Selects the `k` best elements along `axis`. Outputs: the elements and their indices. `k` is input 1.
    #[op(
        "TopK", since = [1, 3, 11], inputs = Arity::exactly(2), category = Movement, traits = [PURE],
        name = extended_in(11)
    )]
    pub struct TopK {
        /// The version; in version 1, `k` must be i8, i32 or i64.
        pub since: Since = Since(11),
        /// The axis; negative axes count from the end.
        pub axis: i64 = 0,
        /// Which elements are best.
        pub mode: TopKMode = TopKMode::Max,
        /// How the selected elements are sorted.
        pub sort: TopKSort = TopKSort::None,
        /// Element type of output 1.
        pub index_element_type: IndexType = IndexType::I32,
        /// Whether to select the first of equal elements; otherwise any may be selected.
        #[since(11)]
        pub stable: bool = false,
    }
}

/// Which elements are best.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TopKMode {
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

attr_words!(TopKMode { Max = "max", Min = "min" });

/// How the selected elements are sorted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum TopKSort {
    /// In any order; snick sorts them by value.
    None,
    /// By index, ascending.
    Index,
    /// By value, best first.
    Value,
}

attr_words!(TopKSort { None = "none", Index = "index", Value = "value" });

/// The smallest `k` for which the OpenVINO runtime selects with a heap on the last axis. If `k` is smaller,
/// and known before the run, the runtime selects the first of equal elements. (The runtime does so only for
/// static shapes. snick does not check the shapes, so that its result does not depend on how a shape was
/// declared.)
const HEAP_FROM: i64 = 7;

impl InferOp for TopK {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        let got = cx.element_type(1);
        let narrow =
            matches!(got, ElementType::I8 | ElementType::I32 | ElementType::I64 | ElementType::Dynamic);
        if !self.since.at_least(3) && !narrow {
            return Err(OpError::element_type("input 1", got, "i8, i32 or i64"));
        }
        cx.expect_rank(1, "0", |rank| rank == 0)?;
        let k = cx.elements_or_unknown(1).and_then(|elements| elements.first().cloned());
        let k = match k {
            Some(k) => {
                cx.as_dim(&k).ok_or_else(|| OpError::out_of_range("k", cx.interval(&k).hi(), "0 or more"))?
            }
            None => cx.unknown(Interval::DIM),
        };
        let shape = match cx.shape(0).dims() {
            Some(dims) => {
                let axis = normalize_axis(self.axis, dims.len())?;
                cx.demand_at_most(&k, &dims[axis]);
                cx.demand_role(1, || IntegerRole::Count(dims[axis].clone()));
                let mut out: SmallVector<SymExpr, 4> = dims.into();
                // Do not limit a constant `k` to the size of the axis: a larger `k` is an error at run time.
                out[axis] =
                    match cx.interval(&k).hi() > cx.interval(&dims[axis]).hi() && k.as_const().is_none() {
                        true => cx.min(&k, &dims[axis]),
                        false => k,
                    };
                Shape::ranked(out)
            }
            None => Shape::unranked(),
        };
        Ok(Facts::from([
            Fact::new(cx.element_type(0), shape.clone()),
            Fact::new(self.index_element_type.element_type(), shape),
        ]))
    }
}

impl EvalOp for TopK {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = &inputs[0];
        let axis = normalize_axis(self.axis, data.rank())?;
        let k = scalar("k", &inputs[1])?;
        let k = usize::try_from(k).map_err(|_| OpError::out_of_range("k", k, "0 or more"))?;
        let order = if self.sort == TopKSort::Index { Order::Index } else { Order::Value };
        // Any order of equal elements is correct; this order matches the OpenVINO runtime.
        let by_heap = !self.stable && axis + 1 == data.rank();
        let ties = if by_heap { Ties::Heap } else { Ties::Lower };
        let indices = top_k_indices(data, axis, k, self.mode == TopKMode::Max, order, ties)?;
        let starts = starts(data.dims(), &indices, self.axis)?;
        let values = runs::gather_runs(data, indices.dims(), 1, starts)?;
        Ok(vec![values, indices.cast(self.index_element_type.element_type())?])
    }

    fn specialize(&self, inputs: &[&Fact]) -> Option<Self> {
        let few = matches!(inputs.get(1)?.ints()?[..], [k] if k < HEAP_FROM);
        few.then(|| Self { stable: true, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top_k(mode: TopKMode, sort: TopKSort) -> TopK {
        TopK { since: Since(11), axis: -1, mode, sort, index_element_type: IndexType::I32, stable: false }
    }

    #[test]
    fn values_and_indices_are_returned() {
        let t = Tensor::from_vec(&[5], vec![3i32, 1, 2, 5, 4]).unwrap();
        let run = |mode, sort, k: i64| {
            let out = top_k(mode, sort).eval(&[t.clone(), Tensor::scalar(k)]).ok()?;
            Some((out[0].to_i64_vec().unwrap(), out[1].to_i64_vec().unwrap()))
        };
        assert_eq!(run(TopKMode::Max, TopKSort::Value, 2), Some((vec![5, 4], vec![3, 4])));
        assert_eq!(run(TopKMode::Min, TopKSort::Index, 3), Some((vec![3, 1, 2], vec![0, 1, 2])));
        assert_eq!(run(TopKMode::Max, TopKSort::Value, 6), None);
        assert_eq!(run(TopKMode::Max, TopKSort::Value, -1), None);
    }

    #[test]
    fn equal_elements_are_in_heap_order_unless_few_are_taken() {
        let op = top_k(TopKMode::Max, TopKSort::Value);
        let indices = |op: &TopK| {
            let out = op.eval(&[Tensor::full(&[4], 0i64).unwrap(), Tensor::scalar(3i64)]).unwrap();
            out[1].to_i64_vec().unwrap()
        };
        assert_eq!(indices(&op), [1, 2, 0]);
        let fact = |shape: Shape| Fact::new(ElementType::I64, shape);
        let data = fact(Shape::unranked());
        let of = |k: i64| {
            let k = fact(Shape::ranked([])).with_elements(Some(vec![SymExpr::from(k)]));
            op.specialize(&[&data, &k])
        };
        assert_eq!(indices(&of(3).unwrap()), [0, 1, 2]);
        assert_eq!((of(7), op.specialize(&[&data, &fact(Shape::ranked([]))])), (None, None));
    }
}

//! TopK-1, TopK-3 and TopK-11: the greatest or least elements along an axis, and where they are.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::runs;
use snick_tensor::kernels::top_k::{Order, Ties, top_k_indices};
use snick_tensor::{ElementType, Tensor};

use super::gather_elements::starts;
use super::indices::scalar;
use crate::{Arity, Attrs, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode, normalize_axis};

/// The `k` (input 1) best elements of each line along `axis` (output 0) and their indices (output 1).
///
/// TopK-1 takes `k` as i8, i32 or i64; TopK-11 can ask for `stable`: of equal elements the first counts.
/// Otherwise any may.
#[derive(Clone, PartialEq, Debug)]
pub struct TopK {
    /// The axis; negative ones count from the end.
    pub axis: i64,
    /// Whether the greatest elements are the best.
    pub greatest: bool,
    /// How the selected elements are sorted.
    pub sort: Sort,
    /// Type of output 1.
    pub index_element_type: ElementType,
    /// Only in TopK-11.
    pub stable: Option<bool>,
    /// Whether this is TopK-1.
    pub first_version: bool,
}

/// How the selected elements are sorted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Sort {
    /// Not: any order will do; snick gives that of their values.
    None,
    /// By index, ascending.
    Index,
    /// By value, best first.
    Value,
}

/// Along the last axis what runs models selects by a heap, but where it knows before the run that they are fewer than
/// this: there the first of equal elements counts. (It asks for a static shape, too; here the order does not depend on
/// how open a shape was declared.)
const HEAP_FROM: i64 = 7;

const MODES: &[(&str, bool)] = &[("max", true), ("min", false)];
const SORTS: &[(&str, Sort)] = &[("none", Sort::None), ("index", Sort::Index), ("value", Sort::Value)];
const TYPES: &[(&str, ElementType)] = &[("i32", ElementType::I32), ("i64", ElementType::I64)];

impl OpDef for TopK {
    const NAMES: &'static [OpName] = &[OpName::openvino("TopK", &[1, 3, 11])];
    const ARITY: Arity = Arity::exactly(2);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let attrs = &raw.attrs;
        Ok(Self {
            axis: attrs.int("axis")?.unwrap_or(0),
            greatest: attrs.choice("mode", MODES)?.unwrap_or(true),
            sort: attrs.choice("sort", SORTS)?.unwrap_or(Sort::None),
            index_element_type: attrs.choice("index_element_type", TYPES)?.unwrap_or(ElementType::I32),
            stable: match raw.since {
                11.. => Some(attrs.bool("stable")?.unwrap_or(false)),
                _ => None,
            },
            first_version: raw.since < 3,
        })
    }

    fn attrs(&self) -> Attrs<'static> {
        let sort = SORTS.iter().find(|(_, sort)| *sort == self.sort).map_or("none", |(name, _)| name);
        let attrs = Attrs::new()
            .with("axis", self.axis)
            .with("mode", if self.greatest { "max" } else { "min" })
            .with("sort", sort)
            .with("index_element_type", self.index_element_type);
        match self.stable {
            Some(stable) => attrs.with("stable", stable),
            None => attrs,
        }
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        let got = cx.element_type(1);
        let narrow =
            matches!(got, ElementType::I8 | ElementType::I32 | ElementType::I64 | ElementType::Dynamic);
        if self.first_version && !narrow {
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
                let mut out: SmallVec<[SymExpr; 4]> = dims.into();
                // A k above the size is refused when it is met.
                out[axis] =
                    match cx.interval(&k).hi() > cx.interval(&dims[axis]).hi() && k.as_const().is_none() {
                        true => cx.min(&k, &dims[axis]),
                        false => k,
                    };
                Shape::ranked(out)
            }
            None => Shape::unranked(),
        };
        Ok(
            smallvec![
                Fact::new(cx.element_type(0), shape.clone()),
                Fact::new(self.index_element_type, shape),
            ],
        )
    }

    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = &inputs[0];
        let axis = normalize_axis(self.axis, data.rank())?;
        let k = scalar("k", &inputs[1])?;
        let k = usize::try_from(k).map_err(|_| OpError::out_of_range("k", k, "0 or more"))?;
        let order = if self.sort == Sort::Index { Order::Index } else { Order::Value };
        // Any order of equal elements would do; this is the one in which models are run.
        let by_heap = self.stable != Some(true) && axis + 1 == data.rank();
        let ties = if by_heap { Ties::Heap } else { Ties::Lower };
        let indices = top_k_indices(data, axis, k, self.greatest, order, ties)?;
        let starts = starts(data.dims(), &indices, self.axis)?;
        let values = runs::gather_runs(data, indices.dims(), 1, starts)?;
        Ok(vec![values, indices.cast(self.index_element_type)?])
    }

    fn specialize(&self, inputs: &[&Fact]) -> Option<Self> {
        let few = matches!(inputs.get(1)?.ints()?[..], [k] if k < HEAP_FROM);
        few.then(|| Self { stable: Some(true), ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_places() {
        let t = Tensor::from_vec(&[5], vec![3i32, 1, 2, 5, 4]).unwrap();
        let run = |greatest, sort, k: i64| {
            let index_element_type = ElementType::I32;
            let op =
                TopK { axis: -1, greatest, sort, index_element_type, stable: None, first_version: false };
            let out = op.eval(&[t.clone(), Tensor::scalar(k)]).ok()?;
            Some((out[0].to_i64_vec().unwrap(), out[1].to_i64_vec().unwrap()))
        };
        assert_eq!(run(true, Sort::Value, 2), Some((vec![5, 4], vec![3, 4])));
        assert_eq!(run(false, Sort::Index, 3), Some((vec![3, 1, 2], vec![0, 1, 2])));
        assert_eq!(run(true, Sort::Value, 6), None);
        assert_eq!(run(true, Sort::Value, -1), None);
    }

    #[test]
    fn equal_elements_stand_in_the_order_of_a_heap_unless_few_are_taken() {
        let op = TopK {
            axis: 0,
            greatest: true,
            sort: Sort::Value,
            index_element_type: ElementType::I64,
            stable: Some(false),
            first_version: false,
        };
        let places = |op: &TopK| {
            let out = op.eval(&[Tensor::full(&[4], 0i64).unwrap(), Tensor::scalar(3i64)]).unwrap();
            out[1].to_i64_vec().unwrap()
        };
        assert_eq!(places(&op), [1, 2, 0]);
        let fact = |shape: Shape| Fact::new(ElementType::I64, shape);
        let data = fact(Shape::unranked());
        let of = |k: i64| {
            let k = fact(Shape::ranked([])).with_elements(Some(vec![SymExpr::from(k)]));
            op.specialize(&[&data, &k])
        };
        assert_eq!(places(&of(3).unwrap()), [0, 1, 2]);
        assert_eq!((of(7), op.specialize(&[&data, &fact(Shape::ranked([]))])), (None, None));
    }
}

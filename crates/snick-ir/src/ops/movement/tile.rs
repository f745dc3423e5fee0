//! Tile-1.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{Dims, SmallVector, Tensor, kernels};

use super::propagate_elements::propagate_elements;
use crate::{Arity, AxisMap, EvalOp, Fact, FactorKind, Facts, Infer, InferOp, IntegerRole, OpError};

op! {
    /// Repeats the input along each axis by the counts in input 1. The shorter of the shape and the list of
    /// counts is padded with leading ones. Negative counts are treated as 0.
    #[op("Tile", since = [1], inputs = Arity::exactly(2), category = Movement, traits = [PURE, MOVES_ELEMENTS])]
    pub struct Tile;
}

impl InferOp for Tile {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(1);
        cx.demand_role(1, || IntegerRole::Positive);
        cx.expect_rank(1, "1", |rank| rank == 1)?;
        let shape = match (cx.shape(0).dims(), cx.elements_or_unknown(1)) {
            (Some(dims), Some(repeats)) => {
                let rank = dims.len().max(repeats.len());
                let (one, zero) = (SymExpr::from(1), SymExpr::from(0));
                let mut out: SmallVector<SymExpr, 4> = SmallVector::new();
                for axis in 0..rank {
                    let at = |list: &[SymExpr]| {
                        let i = (axis + list.len()).checked_sub(rank)?;
                        list.get(i).cloned()
                    };
                    let (dim, times) = (at(dims), at(&repeats));
                    let times = times.map_or_else(|| one.clone(), |times| cx.max(&times, &zero));
                    out.push(cx.mul(&dim.unwrap_or_else(|| one.clone()), &times));
                }
                Shape::ranked(out)
            }
            _ => Shape::unranked(),
        };
        let elements = propagate_elements(self, cx, &[0], &shape);
        Ok(Facts::from(Fact::new(cx.element_type(0), shape).with_elements(elements)))
    }

    fn axis_map(&self, inputs: &[&Fact], _: &Fact) -> Option<AxisMap> {
        let (rank, repeats) = (inputs[0].shape.rank()?, inputs[1].ints()?);
        let out = rank.max(repeats.len());
        let mut map = AxisMap::default();
        for axis in 0..out {
            let repeat = (axis + repeats.len()).checked_sub(out).and_then(|at| repeats.get(at));
            let kind = match repeat.is_none_or(|&repeat| repeat == 1) {
                true => FactorKind::PassThrough,
                false => FactorKind::Permutation,
            };
            if let Some(own) = (axis + rank).checked_sub(out) {
                map.add(kind, [(0, own)], Some(axis));
            }
        }
        Some(map)
    }
}

impl EvalOp for Tile {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let repeats = inputs[1].to_i64_vec()?;
        let repeats: Dims =
            repeats.into_iter().map(|n| usize::try_from(n.max(0)).unwrap_or(usize::MAX)).collect();
        Ok(vec![kernels::tile(&inputs[0], &repeats)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats() {
        let t = Tensor::from_vec(&[2, 1], vec![1i32, 2]).unwrap();
        let run = |repeats: &[i64]| {
            let repeats = Tensor::from_vec(&[repeats.len()], repeats.to_vec()).unwrap();
            let out = Tile.eval(&[t.clone(), repeats]).ok()?;
            Some((out[0].dims().to_vec(), out[0].to_i64_vec().unwrap()))
        };
        assert_eq!(run(&[2]), Some((vec![2, 2], vec![1, 1, 2, 2])));
        assert_eq!(run(&[2, 2, 1]), Some((vec![2, 4, 1], vec![1, 2, 1, 2, 1, 2, 1, 2])));
        assert_eq!(run(&[]), Some((vec![2, 1], vec![1, 2])));
        assert_eq!(run(&[-1, 1]), Some((vec![0, 1], vec![])));
        assert_eq!(run(&[i64::MAX, i64::MAX]), None);
    }
}

//! GroupedMatMul-17.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{Tensor, kernels};

use super::matmul::CANNOT_MULTIPLY;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpError, leading};

op! {
    /// Multiplies each group of rows by its own matrix. With rows `[R, K]` and matrices `[G, N, K]`, input 2
    /// holds the offsets `[G]` at which the groups end; the output is `[R, N]`, and rows after the last group
    /// are zero. With rows `[G, M, K]` and matrices `[G, N, K]`, the output is `[G, M, N]`.
    #[op("GroupedMatMul", since = [17], inputs = Arity::between(2, 3), category = Product, traits = [PURE])]
    pub struct GroupedMatMul;
}

impl InferOp for GroupedMatMul {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type([0, 1]);
        let shape = product(cx, cx.len() > 2)?;
        Ok(Facts::from(Fact::new(element_type, shape)))
    }

    fn cost(&self, inputs: &[&Fact], output: &Fact) -> Option<OpCost> {
        OpCost::multiply_adds(output, inputs[0].shape.dims()?.last_chunk::<1>()?)
    }
}

/// Infers the shape of the product of rows (input 0) and matrices (input 1). Input 2 may hold offsets.
pub(in crate::ops) fn product(cx: &mut Infer, has_offsets: bool) -> Result<Shape, OpError> {
    if has_offsets {
        cx.expect_index(2)?;
    }
    cx.expect_rank(0, "2 or 3", |rank| rank == 2 || rank == 3)?;
    cx.expect_rank(1, "3", |rank| rank == 3)?;
    let (Some(rows), Some([groups, outputs, depth])) = (cx.shape(0).dims(), cx.shape(1).dims()) else {
        return Ok(Shape::unranked());
    };
    let mut agree = |a: &SymExpr, b: &SymExpr| {
        let both = cx.merge(a, b);
        both.ok_or_else(|| cx.conflict(CANNOT_MULTIPLY, cx.shape(0), cx.shape(1)))
    };
    match rows {
        [count, own] => {
            agree(own, depth)?;
            if !has_offsets {
                return Err(OpError::NotConnected { port: 2 });
            }
            cx.expect_rank(2, "1", |rank| rank == 1)?;
            Ok(Shape::ranked([count.clone(), outputs.clone()]))
        }
        [batch, count, own] => {
            agree(own, depth)?;
            let batch = agree(batch, groups)?;
            Ok(Shape::ranked([batch, count.clone(), outputs.clone()]))
        }
        _ => Ok(Shape::unranked()),
    }
}

impl EvalOp for GroupedMatMul {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([rows, matrices], offsets) = leading(inputs)?;
        let refuse = || OpError::dims_conflict(CANNOT_MULTIPLY, rows.dims(), matrices.dims());
        let &[groups, outputs, depth] = matrices.dims() else { return Err(refuse()) };
        match (rows.dims(), offsets.first()) {
            (&[batch, _, own], _) if batch == groups && own == depth => {
                Ok(vec![kernels::matmul(rows, matrices, false, true)?])
            }
            (&[count, own], Some(offsets)) if own == depth => {
                let ends = ends(&offsets.to_i64_vec()?, groups, count)?;
                let mut products = Vec::with_capacity(groups + 1);
                let mut start = 0;
                for (group, &end) in ends.iter().enumerate() {
                    let matrix = matrices.slice(0, group, 1, 1)?.squeeze(0)?;
                    let own = rows.slice(0, start, end - start, 1)?;
                    products.push(kernels::matmul(&own, &matrix, false, true)?);
                    start = end;
                }
                products.push(Tensor::zeros(rows.element_type(), &[count - start, outputs])?);
                Ok(vec![kernels::concat(&products.iter().collect::<Vec<_>>(), 0)?])
            }
            _ => Err(refuse()),
        }
    }
}

/// Converts the offsets to the end of each group of rows, checking that they are ascending and in range.
fn ends(offsets: &[i64], groups: usize, rows: usize) -> Result<Vec<usize>, OpError> {
    if offsets.len() < groups {
        return Err(OpError::mismatch("the number of offsets", offsets.len(), format!("{groups} or more")));
    }
    let mut start = 0;
    let mut ends = Vec::with_capacity(groups);
    for &offset in &offsets[..groups] {
        let end = usize::try_from(offset).ok().filter(|&end| (start..=rows).contains(&end));
        let refuse = || OpError::out_of_range("an offset", offset, format!("{start} to {rows}"));
        start = end.ok_or_else(refuse)?;
        ends.push(start);
    }
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_group_is_multiplied_by_its_own_matrix() {
        let rows = Tensor::from_vec(&[4, 1], vec![1f32, 2., 3., 4.]).unwrap();
        let matrices = Tensor::from_vec(&[2, 2, 1], vec![1f32, 10., -1., 5.]).unwrap();
        let run = |ends: [i64; 2]| {
            let offsets = Tensor::from_vec(&[2], ends.to_vec()).unwrap();
            GroupedMatMul
                .eval(&[rows.clone(), matrices.clone(), offsets])
                .map(|out| out[0].to_f32_vec().unwrap())
        };
        assert_eq!(run([1, 3]).unwrap(), [1., 10., -2., 10., -3., 15., 0., 0.]);
        assert_eq!(run([0, 4]).unwrap(), [-1., 5., -2., 10., -3., 15., -4., 20.]);
        assert!(run([2, 1]).is_err());
        assert!(run([2, 5]).is_err());
        let batched = rows.reshape(&[2, 2, 1]).unwrap();
        let out = GroupedMatMul.eval(&[batched, matrices]).unwrap();
        assert_eq!(out[0].to_f32_vec().unwrap(), [1., 10., 2., 20., -3., 15., -4., 20.]);
    }
}

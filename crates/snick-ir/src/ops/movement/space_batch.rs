//! SpaceToBatch-2 and BatchToSpace-2.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::{PadMode, pad};
use snick_tensor::{Dims, SmallVector, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Moves blocks of the spatial axes to the batch axis. Inputs: data, a block size per axis, and the
    /// padding at the start and end of each axis. The block size of axis 0, the batch, is 1; the padding of
    /// the batch axis is applied, as in the OpenVINO runtime.
    #[op("SpaceToBatch", since = [2], inputs = Arity::exactly(4), category = Movement, traits = [PURE])]
    pub struct SpaceToBatch;
}

op! {
    /// The inverse of SpaceToBatch. Inputs: data, a block size per axis, and the crop at the start and end of
    /// each axis.
    #[op("BatchToSpace", since = [2], inputs = Arity::exactly(4), category = Movement, traits = [PURE])]
    pub struct BatchToSpace;
}

/// The direction in which blocks move.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Direction {
    ToBatch,
    ToSpace,
}

macro_rules! space_batch {
    ($op:ident, $direction:expr) => {
        impl InferOp for $op {
            fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
                $direction.infer(cx)
            }
        }

        impl EvalOp for $op {
            fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
                $direction.eval(inputs)
            }
        }
    };
}

space_batch!(SpaceToBatch, Direction::ToBatch);
space_batch!(BatchToSpace, Direction::ToSpace);

impl Direction {
    fn infer(self, cx: &mut Infer) -> Result<Facts, OpError> {
        let mut rank = cx.shape(0).rank();
        for i in 1..4 {
            cx.expect_integer(i);
            cx.expect_rank(i, "1", |rank| rank == 1)?;
            let Some([count]) = cx.shape(i).dims() else { continue };
            let interval = cx.interval(count);
            match (rank, interval.is_exact()) {
                (None, Some(n)) => rank = usize::try_from(n).ok(),
                (Some(rank), _) if !interval.contains(rank as i64) => {
                    return Err(OpError::mismatch(format!("the size of input {i}"), interval, rank));
                }
                _ => {}
            }
        }
        cx.common_type(1..4);
        let element_type = cx.element_type(0);
        let Some(rank) = rank.filter(|_| cx.shape(0).rank().is_some()) else {
            return Ok(Facts::from(Fact::new(element_type, Shape::unranked())));
        };
        if rank < 1 {
            return Err(OpError::rank("input 0", rank, "1 or more"));
        }
        let data = cx.shape(0).dims().unwrap_or_default();
        let blocks = numbers(cx, 1, rank, 1)?;
        let begins = numbers(cx, 2, rank, 0)?;
        let ends = numbers(cx, 3, rank, 0)?;
        let volume = cx.product(&blocks);
        let mut dims: SmallVector<SymExpr, 4> = SmallVector::new();
        for (axis, (((dim, block), begin), end)) in
            data.iter().zip(&blocks).zip(&begins).zip(&ends).enumerate()
        {
            let edges = cx.add(begin, end);
            dims.push(match self {
                Self::ToBatch => {
                    let padded = cx.add(dim, &edges);
                    let count = divided(cx, &padded, block);
                    if axis == 0 { cx.mul(&count, &volume) } else { count }
                }
                Self::ToSpace => {
                    let count = if axis == 0 { divided(cx, dim, &volume) } else { dim.clone() };
                    let whole = cx.mul(&count, block);
                    let cropped = cx.sub(&whole, &edges);
                    let interval = cx.interval(&cropped);
                    let dim = cx.as_dim(&cropped);
                    dim.ok_or_else(|| OpError::mismatch("a cropped size", interval, "0 or more"))?
                }
            });
        }
        Ok(Facts::from(Fact::new(element_type, Shape::ranked(dims))))
    }

    fn eval(self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, blocks, begins, ends] = exactly(inputs)?;
        let rank = data.rank();
        let read = |what: &str, tensor: &Tensor, least: i64| -> Result<Dims, OpError> {
            let values = tensor.to_i64_vec()?;
            if values.len() != rank {
                return Err(OpError::mismatch(format!("the number of {what}"), values.len(), rank));
            }
            let small = |v: &i64| (least..1 << 31).contains(v).then_some(*v as usize);
            let values = values.iter().map(small).collect::<Option<Dims>>();
            values.ok_or_else(|| OpError::mismatch(what, "an entry out of range", format!("{least} or more")))
        };
        let blocks = read("blocks", blocks, 1)?;
        let (begins, ends) = (read("begins", begins, 0)?, read("ends", ends, 0)?);
        let volume = blocks.iter().try_fold(1usize, |n, &b| n.checked_mul(b));
        let too_large = || OpError::unsupported("a block of this size");
        let volume = volume.ok_or_else(too_large)?;
        if rank < 1 {
            return Err(OpError::rank("data", rank, "1 or more"));
        }
        let whole = |dim: usize, block: usize| match dim % block {
            0 => Ok(dim / block),
            _ => Err(OpError::mismatch("a size", dim, format!("a multiple of {block}"))),
        };
        if self == Self::ToBatch {
            let signed =
                |counts: &Dims| counts.iter().map(|&n| n as isize).collect::<SmallVector<isize, 6>>();
            let padded = pad(data, &signed(&begins), &signed(&ends), PadMode::Constant, None)?;
            // [D0, b0, D1, b1, ..] to [b.., D..].
            let mut split = Dims::new();
            let mut dims = Dims::new();
            for (&dim, &block) in padded.dims().iter().zip(&blocks) {
                split.extend([whole(dim, block)?, block]);
                dims.push(dim / block);
            }
            dims[0] = dims[0].checked_mul(volume).ok_or_else(too_large)?;
            let order: Dims = (0..rank).map(|i| 2 * i + 1).chain((0..rank).map(|i| 2 * i)).collect();
            return Ok(vec![padded.reshape(&split)?.permute(&order)?.reshape(&dims)?]);
        }
        // [b.., D0/volume, D..] to [D0, b0, D1, b1, ..].
        let mut split: Dims = blocks.clone();
        split.push(whole(data.dims()[0], volume)?);
        split.extend(data.dims()[1..].iter().copied());
        let order: Dims = (0..rank).flat_map(|i| [rank + i, i]).collect();
        let mut dims = Dims::new();
        for (i, &block) in blocks.iter().enumerate() {
            dims.push(split[rank + i].checked_mul(block).ok_or_else(too_large)?);
        }
        let mut out = data.reshape(&split)?.permute(&order)?.reshape(&dims)?;
        for (axis, (&begin, &end)) in begins.iter().zip(&ends).enumerate() {
            let len = dims[axis].checked_sub(begin).and_then(|n| n.checked_sub(end));
            let len =
                len.ok_or_else(|| OpError::mismatch("crops", begin + end, format!("up to {}", dims[axis])))?;
            if len != dims[axis] {
                out = out.slice(axis, begin, len, 1)?;
            }
        }
        Ok(vec![out])
    }
}

/// The `rank` elements of input `i`, each at least `least`.
fn numbers(cx: &mut Infer, i: usize, rank: usize, least: i64) -> Result<Vec<SymExpr>, OpError> {
    let range = Interval::new(least, i64::MAX).unwrap_or(Interval::DIM);
    let Some(elements) = cx.input(i).elements().filter(|e| e.len() == rank) else {
        return Ok((0..rank).map(|_| cx.unknown(range)).collect());
    };
    let mut numbers = Vec::with_capacity(rank);
    for element in elements {
        let interval = cx.interval(&element);
        let Some(both) = interval.meet(range) else {
            return Err(OpError::mismatch(
                format!("an element of input {i}"),
                interval,
                format!("{least} or more"),
            ));
        };
        numbers.push(if both == interval { element } else { cx.unknown(both) });
    }
    Ok(numbers)
}

/// Divides a dim without remainder, reporting an error if that is impossible; the divisor is at least 1.
fn divided(cx: &mut Infer, dim: &SymExpr, divisor: &SymExpr) -> SymExpr {
    let parts = cx.exact_div(dim, divisor).and_then(|parts| cx.as_dim(&parts));
    parts.unwrap_or_else(|| {
        let by = cx.interval(divisor);
        cx.report(OpError::mismatch("a size", cx.interval(dim), format!("a multiple of {by}")));
        cx.unknown(Interval::DIM)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let data = Tensor::from_vec(&[1, 4], vec![1i32, 2, 3, 4]).unwrap();
        let v = |values: [i64; 2]| Tensor::from_vec(&[2], values.to_vec()).unwrap();
        let out = SpaceToBatch.eval(&[data.clone(), v([1, 3]), v([0, 1]), v([0, 1])]).unwrap();
        assert_eq!((out[0].dims(), out[0].to_i64_vec().unwrap()), (&[3, 2][..], vec![0, 3, 1, 4, 2, 0]));
        let back = BatchToSpace.eval(&[out[0].clone(), v([1, 3]), v([0, 1]), v([0, 1])]).unwrap();
        assert_eq!(back[0].to_i64_vec().unwrap(), [1, 2, 3, 4]);
        assert!(BatchToSpace.eval(&[data, v([1, 3]), v([0, 0]), v([0, 0])]).is_err());
    }
}

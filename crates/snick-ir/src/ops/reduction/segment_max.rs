//! SegmentMax-16.

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::scatter_reduce::{Reduction, scatter_reduce};
use snick_tensor::{Dims, ElementType, SmallVector, Tensor};

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpError};

op! {
    /// The element-wise maximum over segments of rows of input 0. Input 1 holds the segment of each row, in
    /// ascending order; row `i` of the output is the maximum of segment `i`. Input 2 is the number of output
    /// rows, and segments beyond it are dropped; by default there is a row for each segment up to the last.
    #[op("SegmentMax", since = [16], inputs = Arity::between(2, 3), category = Reduction, traits = [PURE])]
    pub struct SegmentMax {
        /// The value of rows for empty segments.
        pub fill_mode: FillMode = FillMode::Zero,
    }
}

/// The value of rows for empty segments.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FillMode {
    /// Zeros.
    Zero,
    /// The lowest number of the element type.
    Lowest,
}

attr_words!(FillMode { Zero = "zero", Lowest = "lowest" });

impl InferOp for SegmentMax {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_rank(0, "1 or more", |rank| rank >= 1)?;
        cx.expect_rank(1, "1", |rank| rank == 1)?;
        for i in 1..cx.len() {
            cx.expect_index(i)?;
        }
        if let (Some([rows, ..]), Some([segments])) = (cx.shape(0).dims(), cx.shape(1).dims())
            && cx.merge(rows, segments).is_none()
        {
            return Err(cx.conflict("data is {}, segments {}", cx.shape(0), cx.shape(1)));
        }
        let segments = cx.input(1).ints();
        if let Some(segments) = &segments {
            check(segments)?;
        }
        let count =
            match cx.optional(2) {
                Some(count) => {
                    cx.expect_rank(2, "0", |rank| rank == 0)?;
                    match count.elements().as_deref() {
                        Some([count]) => {
                            let dim = cx.as_dim(count);
                            let range = cx.interval(count);
                            Some(dim.ok_or_else(|| {
                                OpError::mismatch("the number of segments", range, "0 or more")
                            })?)
                        }
                        _ => None,
                    }
                }
                None => segments
                    .map(|segments| SymExpr::from(segments.last().map_or(0, |last| last.saturating_add(1)))),
            };
        let shape = match cx.shape(0).dims() {
            Some([_, rest @ ..]) => {
                let mut dims: SmallVector<SymExpr, 4> =
                    SmallVector::from([count.unwrap_or_else(|| cx.unknown(Interval::DIM))]);
                dims.extend(rest.iter().cloned());
                Shape::ranked(dims)
            }
            _ => Shape::unranked(),
        };
        Ok(Facts::from(Fact::new(cx.element_type(0), shape)))
    }

    fn cost(&self, inputs: &[&Fact], _: &Fact) -> Option<OpCost> {
        Some(OpCost::Elementwise(inputs[0].shape.dims()?.to_vec()))
    }
}

impl EvalOp for SegmentMax {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let (data, segments) = (&inputs[0], inputs[1].to_i64_vec()?);
        let Some((&rows, rest)) = data.dims().split_first() else {
            return Err(OpError::rank("the data", 0, "1 or more"));
        };
        if segments.len() != rows {
            return Err(OpError::mismatch("the number of segment numbers", segments.len(), rows));
        }
        check(&segments)?;
        let last = segments.last().map_or(0, |last| last.saturating_add(1));
        let count = match inputs.get(2) {
            Some(count) => count.to_i64_vec()?.first().copied().unwrap_or(0),
            None => last,
        };
        let count =
            usize::try_from(count).map_err(|_| OpError::out_of_range("segments", count, "0 or more"))?;
        let dims: Dims = [count].iter().chain(rest).copied().collect();
        let fill = match self.fill_mode {
            FillMode::Lowest => lowest(data.element_type())?,
            FillMode::Zero => Tensor::zeros(data.element_type(), &[])?,
        };
        let width: usize = rest.iter().product();
        let kept = segments.partition_point(|&segment| segment < count as i64);
        let starts: Vec<usize> =
            segments[..kept].iter().flat_map(|&s| (0..width).map(move |i| s as usize * width + i)).collect();
        let updates = data.slice(0, 0, kept, 1)?;
        let base = fill.broadcast_to(&dims)?;
        Ok(vec![scatter_reduce(&base, &starts, &updates, Reduction::Max, false)?])
    }
}

/// Checks that segments are ascending and not negative.
fn check(segments: &[i64]) -> Result<(), OpError> {
    if let Some(&first) = segments.first().filter(|first| **first < 0) {
        return Err(OpError::out_of_range("a segment", first, "0 or more"));
    }
    match segments.windows(2).find(|pair| pair[0] > pair[1]) {
        Some(pair) => {
            Err(OpError::conflict("segments must ascend, but {} is followed by {}", pair[0], pair[1]))
        }
        None => Ok(()),
    }
}

/// The lowest finite number of a type.
fn lowest(et: ElementType) -> Result<Tensor, OpError> {
    let tensor = match et.integer_range() {
        Some((lo, _)) => Tensor::scalar(lo),
        // The values are rounded towards zero, so that they stay finite in the narrower type.
        None => match et {
            ElementType::F64 => Tensor::scalar(f64::MIN),
            ElementType::F32 => Tensor::scalar(f32::MIN),
            ElementType::BF16 => Tensor::scalar(f32::from_bits(0xff7f_0000)),
            ElementType::F16 => Tensor::scalar(-65504.0f32),
            other => return Err(OpError::unsupported(format!("filling with the lowest {other}"))),
        },
    };
    Ok(tensor.cast(et)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled() {
        let data = Tensor::from_vec(&[4, 1], vec![-1i32, -2, -3, -4]).unwrap();
        let run = |segments: &[i64], count: Option<i64>, fill_mode| {
            let mut inputs =
                vec![data.clone(), Tensor::from_vec(&[segments.len()], segments.to_vec()).unwrap()];
            inputs.extend(count.map(Tensor::scalar));
            Some(SegmentMax { fill_mode }.eval(&inputs).ok()?[0].to_i64_vec().unwrap())
        };
        assert_eq!(run(&[0, 0, 2, 5], None, FillMode::Zero), Some(vec![-1, 0, -3, 0, 0, -4]));
        assert_eq!(run(&[0, 0, 2, 5], Some(3), FillMode::Lowest), Some(vec![-1, i32::MIN.into(), -3]));
        assert_eq!(run(&[0, 0, 2, 5], Some(0), FillMode::Lowest), Some(vec![]));
        assert_eq!(run(&[0, 2, 1, 5], None, FillMode::Zero), None);
        assert_eq!(run(&[-1, 2, 2, 5], None, FillMode::Zero), None);
        assert_eq!(run(&[0, 0, 2], None, FillMode::Zero), None);
    }
}

//! GatherTree-1.

use snick_shape::Shape;
use snick_tensor::Tensor;

use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Traces beams back from their last step. For each batch and beam, follows the parents (input 1) through
    /// the ids (input 0, `[step, batch, beam]`), starting from the last step of the batch (input 2 holds the
    /// number of steps). Everything after the first `end_token` (input 3) becomes `end_token`.
    #[op("GatherTree", since = [1], inputs = Arity::exactly(4), category = Movement, traits = [PURE])]
    pub struct GatherTree;
}

impl InferOp for GatherTree {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = cx.common_type(0..4);
        cx.expect_rank(0, "3", |rank| rank == 3)?;
        cx.expect_rank(1, "3", |rank| rank == 3)?;
        cx.expect_rank(2, "1", |rank| rank == 1)?;
        cx.expect_rank(3, "0", |rank| rank == 0)?;
        let mut shape = cx.merge_shapes("ids are {}, parents {}", cx.shape(0), cx.shape(1))?;
        if let (Some([steps, batch, beams]), Some([lengths])) = (shape.dims(), cx.shape(2).dims()) {
            let merged = cx.merge(batch, lengths);
            let conflict = || cx.conflict("ids are {}, lengths {}", &shape, cx.shape(2));
            shape = Shape::ranked([steps.clone(), merged.ok_or_else(conflict)?, beams.clone()]);
        }
        Ok(Facts::from(Fact::new(element_type, shape)))
    }
}

impl EvalOp for GatherTree {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let dims = inputs[0].dims();
        let conflict = || OpError::dims_conflict("ids are {}, parents {}", dims, inputs[1].dims());
        let &[steps, batches, beams] = dims else { return Err(conflict()) };
        if inputs[1].dims() != dims || inputs[2].dims() != [batches] || inputs[3].len() != 1 {
            return Err(conflict());
        }
        let (ids, parents) = (inputs[0].to_f64_vec()?, inputs[1].to_i64_vec()?);
        let lengths = inputs[2].to_i64_vec()?;
        let end = inputs[3].to_f64_vec()?.first().copied().unwrap_or(0.0);
        let mut out = inputs[3].reshape(&[])?.broadcast_to(dims)?.to_f64_vec()?;
        let at = |step: usize, batch: usize, beam: usize| (step * batches + batch) * beams + beam;
        for (batch, &length) in lengths.iter().enumerate() {
            let length = usize::try_from(length).unwrap_or(0).min(steps);
            for beam in 0..beams {
                let mut from = beam;
                for step in (0..length).rev() {
                    out[at(step, batch, beam)] = ids[at(step, batch, from)];
                    let parent = parents[at(step, batch, from)];
                    from =
                        usize::try_from(parent).ok().filter(|&parent| parent < beams).ok_or_else(|| {
                            OpError::out_of_range(
                                "parent",
                                parent,
                                format!("below {beams}, the number of beams"),
                            )
                        })?;
                }
                let mut ended = false;
                for step in 0..length {
                    let id = &mut out[at(step, batch, beam)];
                    if ended {
                        *id = end;
                    }
                    ended |= *id == end;
                }
            }
        }
        Ok(vec![Tensor::from_vec(dims, out)?.cast(inputs[0].element_type())?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beams_are_followed_back() {
        let ids = vec![1i32, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 10];
        let parents = vec![0i32, 0, 0, 0, 1, 1, 2, 1, 2, 1, 0, 1];
        let of = |v: Vec<i32>| Tensor::from_vec(&[4, 1, 3], v).unwrap();
        let run = |length: i32, end: i32| {
            let length = Tensor::from_vec(&[1], vec![length]).unwrap();
            let out = GatherTree.eval(&[of(ids.clone()), of(parents.clone()), length, Tensor::scalar(end)]);
            out.unwrap()[0].to_i64_vec().unwrap()
        };
        assert_eq!(run(3, 10), [2, 2, 2, 6, 5, 6, 7, 8, 9, 10, 10, 10]);
        assert_eq!(run(4, 8), [2, 2, 2, 5, 6, 5, 8, 7, 8, 8, 2, 8]);
    }
}

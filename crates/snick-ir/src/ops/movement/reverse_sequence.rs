//! ReverseSequence-1.

use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::runs;
use snick_tensor::{ElementType, SmallVector, Tensor};

use super::indices::count;
use crate::{
    Arity, Attrs, Category, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode,
    normalize_axis,
};

/// For each index `i` of the batch axis, reverses the first `lengths[i]` elements along the sequence axis.
/// Input 1 holds the lengths.
#[derive(Clone, PartialEq, Debug)]
pub struct ReverseSequence {
    /// The batch axis; negative axes count from the end.
    pub batch_axis: i64,
    /// The sequence axis; negative axes count from the end.
    pub seq_axis: i64,
}

impl OpDef for ReverseSequence {
    const NAMES: &'static [OpName] = &[OpName::openvino("ReverseSequence", &[1], Category::Movement).doc(
        "Reverses a leading part of an axis, whose length input 1 gives for each element of the batch axis.",
    )];
    const ARITY: Arity = Arity::exactly(2);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::MAYBE_SLICE);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let batch_axis = raw.attrs.int("batch_axis")?.unwrap_or(0);
        Ok(Self { batch_axis, seq_axis: raw.attrs.int("seq_axis")?.unwrap_or(1) })
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("batch_axis", self.batch_axis).with("seq_axis", self.seq_axis)
    }
}

impl InferOp for ReverseSequence {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let got = cx.element_type(1);
        if matches!(got, ElementType::Boolean | ElementType::String) {
            return Err(OpError::element_type("input 1", got, "a numeric type"));
        }
        cx.expect_rank(0, "2 or more", |rank| rank >= 2)?;
        cx.expect_rank(1, "1", |rank| rank == 1)?;
        let mut shape = cx.shape(0).clone();
        if let Some(dims) = shape.dims() {
            let batch = normalize_axis(self.batch_axis, dims.len())?;
            normalize_axis(self.seq_axis, dims.len())?;
            if let Some([length]) = cx.shape(1).dims() {
                let merged = cx.merge(&dims[batch], length);
                let merged = merged.ok_or_else(|| {
                    cx.conflict("data is {}, sequence lengths {}", cx.shape(0), cx.shape(1))
                })?;
                let mut dims: SmallVector<SymExpr, 4> = dims.into();
                dims[batch] = merged;
                shape = Shape::ranked(dims);
            }
        }
        Ok(Facts::from(Fact::new(cx.element_type(0), shape)))
    }
}

impl EvalOp for ReverseSequence {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = &inputs[0];
        let dims = data.dims();
        let batch = normalize_axis(self.batch_axis, dims.len())?;
        let seq = normalize_axis(self.seq_axis, dims.len())?;
        let lengths = inputs[1].to_i64_vec()?;
        if inputs[1].rank() != 1 || lengths.len() != dims[batch] {
            return Err(OpError::mismatch("the number of sequence lengths", lengths.len(), dims[batch]));
        }
        if data.is_empty() {
            return Ok(vec![data.clone()]);
        }
        if let Some(&length) = lengths.iter().find(|&&n| usize::try_from(n).map_or(true, |n| n > dims[seq])) {
            return Err(OpError::out_of_range("sequence length", length, format!("0 to {}", dims[seq])));
        }
        let last = batch.max(seq);
        let run = count(&dims[last + 1..]);
        let strides: SmallVector<usize, 6> = (0..dims.len()).map(|i| count(&dims[i + 1..])).collect();
        let starts = (0..count(&dims[..=last])).map(|place| {
            let at = place * run;
            let index = |axis: usize| at / strides[axis] % dims[axis];
            let length = usize::try_from(lengths[index(batch)]).unwrap_or(0);
            match index(seq) {
                i if i < length => at - i * strides[seq] + (length - 1 - i) * strides[seq],
                _ => at,
            }
        });
        Ok(vec![runs::gather_runs(data, dims, run, starts)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sequence_by_its_length() {
        let t = Tensor::from_vec(&[2, 3], vec![1i32, 2, 3, 4, 5, 6]).unwrap();
        let run = |batch_axis, seq_axis, lengths: &[i32]| {
            let lengths = Tensor::from_vec(&[lengths.len()], lengths.to_vec()).unwrap();
            let out = ReverseSequence { batch_axis, seq_axis }.eval(&[t.clone(), lengths]).ok()?;
            Some(out[0].to_i64_vec().unwrap())
        };
        assert_eq!(run(0, 1, &[2, 3]), Some(vec![2, 1, 3, 6, 5, 4]));
        assert_eq!(run(-1, 0, &[1, 2, 0]), Some(vec![1, 5, 3, 4, 2, 6]));
        assert_eq!(run(0, 1, &[2, 4]), None);
        assert_eq!(run(0, 1, &[2]), None);
    }
}

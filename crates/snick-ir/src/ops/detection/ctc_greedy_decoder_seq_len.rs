//! CTCGreedyDecoderSeqLen-6.

use snick_shape::Shape;
use snick_tensor::Tensor;

use super::checks::{check_dims, common_dim, dims_of, expect_ranks};
use super::ctc_decoding::{Decoded, decode};
use crate::ops::index_type::IndexType;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, leading};

op! {
    /// Greedy CTC decoding of sequences of given lengths.
    ///
    /// Takes the most probable class at each time step and drops blanks. Inputs: probabilities
    /// `[batch, time, classes]`, lengths `[batch]`, and optionally the blank class, by default the last.
    /// Outputs: classes `[batch, time]`, padded with -1, and the number of classes in each sequence
    /// `[batch]`.
    #[op(
        "CTCGreedyDecoderSeqLen", since = [6], inputs = Arity::between(2, 3),
        category = Other, traits = [PURE]
    )]
    pub struct CtcGreedyDecoderSeqLen {
        /// Whether to merge repeated classes.
        pub merge_repeated: bool = true,
        /// Element type of output 0.
        pub classes_index_type: IndexType = IndexType::I32,
        /// Element type of output 1.
        pub sequence_length_type: IndexType = IndexType::I32,
    }
}

impl InferOp for CtcGreedyDecoderSeqLen {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_ranks(cx, &[3, 1])?;
        let batch = common_dim(cx, &[(0, 0), (1, 0)])?;
        let time = common_dim(cx, &[(0, 1)])?;
        Ok(Facts::from([
            Fact::new(self.classes_index_type.element_type(), Shape::ranked([batch.clone(), time])),
            Fact::new(self.sequence_length_type.element_type(), Shape::ranked([batch])),
        ]))
    }
}

impl EvalOp for CtcGreedyDecoderSeqLen {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let ([data, lengths], blank) = leading(inputs)?;
        let [batch, time, classes] = dims_of("the data", data)?;
        check_dims("the lengths", lengths, &[batch])?;
        let lengths: Vec<usize> =
            lengths.to_f64_vec()?.iter().map(|&length| (length.max(0.0) as usize).min(time)).collect();
        let blank = match blank.first() {
            Some(blank) => usize::try_from(blank.to_i64_vec()?.first().copied().unwrap_or(-1)).ok(),
            None => classes.checked_sub(1),
        };
        let Decoded { classes, counts } = decode(data, &lengths, blank, self.merge_repeated)?;
        Ok(vec![
            Tensor::from_vec(&[batch, time], classes)?.cast(self.classes_index_type.element_type())?,
            Tensor::from_vec(&[batch], counts)?.cast(self.sequence_length_type.element_type())?,
        ])
    }
}

//! CTCGreedyDecoder-1.

use snick_shape::Shape;
use snick_tensor::Tensor;

use super::checks::{check_dims, common_dim, dims_of, expect_ranks};
use super::ctc_decoding::{Decoded, decode};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Greedy CTC decoding of sequences whose length is given by a mask.
    ///
    /// Takes the most probable class at each time step and drops blanks. Inputs: probabilities
    /// `[time, batch, classes]`, where the last class is the blank, and a mask `[time, batch]`, whose first 0
    /// ends a sequence. Output: classes `[batch, time, 1, 1]`, padded with -1.
    #[op("CTCGreedyDecoder", since = [1], inputs = Arity::exactly(2), category = Other, traits = [PURE])]
    pub struct CtcGreedyDecoder {
        /// Whether to merge repeated classes.
        pub ctc_merge_repeated: bool = true,
    }
}

impl InferOp for CtcGreedyDecoder {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        expect_ranks(cx, &[3, 2])?;
        let time = common_dim(cx, &[(0, 0), (1, 0)])?;
        let batch = common_dim(cx, &[(0, 1), (1, 1)])?;
        Ok(Facts::from(Fact::new(cx.element_type(0), Shape::ranked([batch, time, 1.into(), 1.into()]))))
    }
}

impl EvalOp for CtcGreedyDecoder {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, mask] = exactly(inputs)?;
        let [time, batch, classes] = dims_of("the data", data)?;
        check_dims("the mask", mask, &[time, batch])?;
        let mask = mask.to_f64_vec()?;
        let is_on = |t: usize, image: usize| mask.get(t * batch + image).is_some_and(|&on| on != 0.0);
        let lengths = (0..batch).map(|image| (0..time).take_while(|&t| is_on(t, image)).count());
        let lengths: Vec<usize> = lengths.collect();
        let blank = classes.checked_sub(1);
        let Decoded { classes, .. } =
            decode(&data.permute(&[1, 0, 2])?, &lengths, blank, self.ctc_merge_repeated)?;
        Ok(vec![Tensor::from_vec(&[batch, time, 1, 1], classes)?.cast(data.element_type())?])
    }
}

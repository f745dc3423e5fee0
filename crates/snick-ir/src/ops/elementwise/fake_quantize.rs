//! FakeQuantize-1.

use std::borrow::Cow;

use snick_shape::Shape;
use snick_tensor::{Tensor, kernels};

use super::auto_broadcast::AutoBroadcast;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, RawNode, exactly};

op! {
    /// Rounds floats to a number of levels, without changing the element type. Inputs: data, and the ends of
    /// the input and output ranges: input low, input high, output low and output high. The output has the
    /// type and shape of the data.
    #[op(
        "FakeQuantize", since = [1], inputs = Arity::exactly(5),
        category = Quantisation, traits = [PURE, ELEMENTWISE, FLOAT_FORMULA],
        check = Self::check_levels
    )]
    pub struct FakeQuantize {
        /// The number of distinct output values; unlimited if 0 or absent.
        pub levels: i64 = 0,
        /// How the ranges broadcast to the data.
        pub broadcast: AutoBroadcast = AutoBroadcast::Numpy,
    }
}

impl FakeQuantize {
    fn check_levels(&self, raw: &RawNode) -> Result<(), OpError> {
        if self.levels < 0 { Err(raw.attrs.bad("levels", "a number of levels")) } else { Ok(()) }
    }
}

impl InferOp for FakeQuantize {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let mut all: Shape = cx.shape(0).clone();
        for i in 1..5 {
            all = self.broadcast.infer(cx, &all, cx.shape(i))?;
        }
        // The output always has the shape of the data: ranges that would broadcast the data are rejected at
        // run time.
        Ok(Facts::from(Fact::new(cx.element_type(0), cx.shape(0).clone())))
    }
}

impl EvalOp for FakeQuantize {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, ranges @ ..] = exactly::<5>(inputs)?;
        let et = data.element_type();
        let aligned = |range| -> Result<Cow<Tensor>, OpError> {
            let range = without_leading_ones(self.broadcast.second(data, range)?, data.rank())?;
            Ok(if range.element_type() == et { range } else { Cow::Owned(range.cast(et)?) })
        };
        let [a, b, c, d] = ranges;
        let [a, b, c, d] = &[aligned(a)?, aligned(b)?, aligned(c)?, aligned(d)?];
        let levels = usize::try_from(self.levels).ok().filter(|&levels| levels > 0).unwrap_or(usize::MAX);
        Ok(vec![kernels::fake_quantize(data, [a, b, c, d], levels)?])
    }
}

/// Removes leading axes of size 1 from a range that has a higher rank than the data.
fn without_leading_ones(range: Cow<Tensor>, rank: usize) -> Result<Cow<Tensor>, OpError> {
    let mut range = range;
    while range.rank() > rank {
        range = Cow::Owned(range.squeeze(0)?);
    }
    Ok(range)
}

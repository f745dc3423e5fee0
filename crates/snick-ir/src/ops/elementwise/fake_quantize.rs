//! FakeQuantize-1: reals forced onto a number of levels, still as reals.

use smallvec::smallvec;
use snick_shape::Shape;
use snick_tensor::{Tensor, kernels};

use super::auto_broadcast::AutoBroadcast;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// Inputs: data, input low, input high, output low, output high. The type and the shape of the data stay.
#[derive(Clone, PartialEq, Debug)]
pub struct FakeQuantize {
    /// How many different values there are in the output; 0, if the file does not say: as many as there can be.
    pub levels: usize,
    /// How the ranges are stretched over the data.
    pub broadcast: AutoBroadcast,
}

impl OpDef for FakeQuantize {
    const NAMES: &'static [OpName] = &[OpName::openvino("FakeQuantize", &[1])];
    const ARITY: Arity = Arity::exactly(5);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::ELEMENTWISE).union(OpTraits::FLOAT_FORMULA);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let levels = raw.attrs.int("levels")?.unwrap_or(0);
        let levels = usize::try_from(levels).map_err(|_| raw.attrs.bad("levels", "a number of levels"))?;
        Ok(Self { levels, broadcast: AutoBroadcast::parse(raw)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        let levels = i64::try_from(self.levels).unwrap_or(i64::MAX);
        self.broadcast.write(Attrs::new().with("levels", levels))
    }
}

impl InferOp for FakeQuantize {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let mut all: Shape = cx.shape(0).clone();
        for i in 1..5 {
            all = self.broadcast.infer(cx, &all, cx.shape(i))?;
        }
        // What the ranges would stretch the data to is refused when the model runs.
        Ok(smallvec![Fact::new(cx.element_type(0), cx.shape(0).clone())])
    }
}

impl EvalOp for FakeQuantize {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, ranges @ ..] = inputs else { return Ok(Vec::new()) };
        let mut stretched = Vec::with_capacity(ranges.len());
        for range in ranges {
            let range = self.broadcast.second(data, range)?;
            stretched.push(without_leading_ones(range.into_owned(), data.rank())?.cast(data.element_type())?);
        }
        let [a, b, c, d] = stretched.as_slice() else { return Ok(Vec::new()) };
        let levels = if self.levels == 0 { usize::MAX } else { self.levels };
        Ok(vec![kernels::fake_quantize(data, [a, b, c, d], levels)?])
    }
}

/// A range of more axes than the data, as far as these have size 1.
fn without_leading_ones(range: Tensor, rank: usize) -> Result<Tensor, OpError> {
    let mut range = range;
    while range.rank() > rank {
        range = range.squeeze(0)?;
    }
    Ok(range)
}

//! RandomUniform-8: random numbers of a range.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::kernels::random_uniform;
use snick_tensor::{Dims, ElementType, Tensor};

use crate::attrs::missing;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// A shape and the least and the greatest number.
#[derive(Clone, PartialEq, Debug)]
pub struct RandomUniform {
    /// The type of the numbers.
    pub output_type: ElementType,
    /// Seed of this op.
    pub op_seed: i64,
    /// Seed of the model.
    pub global_seed: i64,
    /// Whether the numbers are those of PyTorch, not TensorFlow; only since opset 14 is there a choice.
    pub alignment: Option<bool>,
}

const ALIGNMENTS: &[(&str, bool)] = &[("tensorflow", false), ("pytorch", true)];

impl OpDef for RandomUniform {
    const NAMES: &'static [OpName] = &[OpName::openvino("RandomUniform", &[8])];
    const ARITY: Arity = Arity::exactly(3);
    const TRAITS: OpTraits = OpTraits::RANDOM;

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self {
            output_type: raw.attrs.element_type("output_type")?.ok_or(missing("output_type"))?,
            op_seed: raw.attrs.int("op_seed")?.unwrap_or(0),
            global_seed: raw.attrs.int("global_seed")?.unwrap_or(0),
            alignment: raw.attrs.choice("alignment", ALIGNMENTS)?,
        })
    }

    fn attrs(&self) -> Attrs<'static> {
        let attrs = Attrs::new()
            .with("output_type", self.output_type)
            .with("op_seed", self.op_seed)
            .with("global_seed", self.global_seed);
        match self.alignment {
            Some(alignment) => attrs.with("alignment", ALIGNMENTS[usize::from(alignment)].0),
            None => attrs,
        }
    }
}

impl InferOp for RandomUniform {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_index(0)?;
        cx.expect_rank(0, "1", |rank| rank == 1)?;
        for i in 1..3 {
            cx.expect_one(i)?;
            let got = cx.element_type(i);
            if got != ElementType::Dynamic && got != self.output_type {
                return Err(OpError::element_type(format!("input {i}"), got, self.output_type.name()));
            }
        }
        let bounds = [1, 2].map(|i| cx.input(i).as_tensor().and_then(|bound| bound.to_f64_vec().ok()));
        if let [Some(min), Some(max)] = bounds.each_ref().map(Option::as_deref)
            && let ([min], [max]) = (min, max)
            && min >= max
        {
            return Err(OpError::mismatch(
                "the range",
                format!("{min} to {max}"),
                "a minimum below the maximum",
            ));
        }
        let shape = match cx.input(0).elements() {
            Some(elements) => {
                let mut dims: SmallVec<[SymExpr; 4]> = SmallVec::new();
                for element in &elements {
                    let interval = cx.interval(element);
                    let dim = cx.as_dim(element);
                    dims.push(dim.ok_or_else(|| OpError::mismatch("a size", interval, "0 or more"))?);
                }
                Shape::ranked(dims)
            }
            None => match cx.shape(0).dims() {
                Some([count]) => match count.as_const().and_then(|n| usize::try_from(n).ok()) {
                    Some(rank) if rank <= 64 => cx.unknown_dims(rank),
                    _ => Shape::unranked(),
                },
                _ => Shape::unranked(),
            },
        };
        Ok(smallvec![Fact::new(self.output_type, shape)])
    }
}

impl EvalOp for RandomUniform {
    /// The numbers of the seeds, always from the start of their sequence: two runs give the same.
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        if self.alignment == Some(true) {
            return Err(OpError::unsupported("running RandomUniform with the numbers of PyTorch"));
        }
        let [sizes, min, max] = inputs else { return Ok(Vec::new()) };
        let size =
            |size: i64| usize::try_from(size).map_err(|_| OpError::out_of_range("a size", size, "0 or more"));
        let dims = sizes.to_i64_vec()?.into_iter().map(size).collect::<Result<Dims, _>>()?;
        let (global_seed, op_seed) = (self.global_seed as u64, self.op_seed as u64);
        Ok(vec![random_uniform(&dims, min, max, global_seed, op_seed)?])
    }
}

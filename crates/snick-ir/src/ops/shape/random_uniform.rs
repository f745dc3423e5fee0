//! RandomUniform-8: random numbers of a range.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{Dims, ElementType, Tensor, kernels};

use crate::attrs::missing;
use crate::{Arity, Attrs, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode};

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

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        cx.expect_integer(0)?;
        cx.expect_rank(0, "0 or 1", |rank| rank <= 1)?;
        for i in 1..3 {
            cx.expect_rank(i, "0 or 1", |rank| rank <= 1)?;
            let got = cx.element_type(i);
            if got != ElementType::Dynamic && got != self.output_type {
                return Err(OpError::element_type(format!("input {i}"), got, self.output_type.name()));
            }
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
                Some([]) => Shape::ranked([cx.unknown(Interval::DIM)]),
                Some([count]) => match count.as_const().and_then(|n| usize::try_from(n).ok()) {
                    Some(rank) if rank <= 64 => cx.unknown_dims(rank),
                    _ => Shape::unranked(),
                },
                _ => Shape::unranked(),
            },
        };
        Ok(smallvec![Fact::new(self.output_type, shape)])
    }

    /// With both seeds 0 the numbers may be any; here they are always the same.
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [shape, least, most] = inputs else { return Ok(Vec::new()) };
        if self.alignment == Some(true) {
            return Err(OpError::unsupported("running RandomUniform with the numbers of PyTorch"));
        }
        let mut dims = Dims::new();
        for size in shape.to_i64_vec()? {
            dims.push(usize::try_from(size).map_err(|_| OpError::out_of_range("a size", size, "0 or more"))?);
        }
        // Refused before it is made if it is too large.
        let count = Tensor::zeros(self.output_type, &[])?.broadcast_to(&dims)?.len();
        let numbers = kernels::philox(self.global_seed as u64, self.op_seed as u64).take(count);
        let tensor = if self.output_type.is_float() {
            let [least, most] = [number(least)?, number(most)?].map(|bound: f64| bound as f32);
            let fraction = if self.output_type == ElementType::BF16 { fraction_bf16 } else { fraction };
            let place = |bits| fraction(bits) * (most - least) + least;
            Tensor::from_vec(&dims, numbers.map(place).collect::<Vec<f32>>())?
        } else {
            let [least, most] = [least, most].map(|bound| bound.to_i64_vec().map(|all| all.first().copied()));
            let (least, most) = (least?.unwrap_or(0), most?.unwrap_or(0));
            let span = most.checked_sub(least).filter(|&span| span > 0);
            let span = span.ok_or_else(|| OpError::clash("bounds", least.to_string(), most.to_string()))?;
            Tensor::from_vec(&dims, numbers.map(|bits| i64::from(bits) % span + least).collect())?
        };
        Ok(vec![tensor.cast(self.output_type)?])
    }
}

/// The only element.
fn number(tensor: &Tensor) -> Result<f64, OpError> {
    let number = tensor.to_f64_vec()?.first().copied();
    number.ok_or_else(|| OpError::mismatch("the number of elements of a bound", 0, 1))
}

/// The low bits as the digits of a float from 0 to below 1.
fn fraction(bits: u32) -> f32 {
    f32::from_bits(1f32.to_bits() | (bits & 0x7f_ffff)) - 1.0
}

/// The same with the seven digits that bf16 has.
fn fraction_bf16(bits: u32) -> f32 {
    (bits & 0x7f) as f32 / 128.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_seeds_alone() {
        let run = |output_type, [least, most]: [f64; 2]| {
            let op = RandomUniform { output_type, op_seed: 7, global_seed: 0, alignment: None };
            let bounds = [least, most].map(|bound| Tensor::scalar(bound).cast(output_type).unwrap());
            let [least, most] = bounds;
            op.eval(&[Tensor::from_vec(&[1], vec![3i64]).unwrap(), least, most]).unwrap()[0]
                .to_f64_vec()
                .unwrap()
        };
        // As the OpenVINO runtime gives them.
        let expected = [0.97155344, 0.7198869, 0.74859464];
        assert!(run(ElementType::F32, [0.0, 1.0]).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-7));
        assert_eq!(run(ElementType::I32, [-5.0, 100.0]), [33.0, 24.0, 75.0]);
        assert_eq!(run(ElementType::BF16, [0.0, 2.0]), [1.453125, 1.015625, 1.796875]);
    }
}

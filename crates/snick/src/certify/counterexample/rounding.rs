//! Models that round the values of their layers, to find out how much rounding matters.
//!
//! Equal models may round differently: sums in another order, or constants that were computed ahead of the run.
//! Layers that quantise or compare can turn such an error in a last bit into a whole step.

use std::sync::Arc;

use snick_ir::{Arity, Custom, CustomOp, Fact, Facts, Graph, Infer, Node, Op, OpError, OpTraits, Value};
use snick_tensor::{ElementType, Tensor};

/// How many bits the values of layers lose.
#[derive(Copy, Clone)]
pub(super) enum Coarseness {
    /// Values declared as f16 or bf16, which runs compute in f32, are rounded to that type. Others lose 3 bits.
    Fine,
    /// Values declared as f16 or bf16 have one bit less than their type. Others lose 6 bits.
    Coarse,
}

impl Coarseness {
    /// The number of significant bits to keep; `None` for types that are not rounded.
    fn significant_bits(self, element_type: ElementType) -> Option<u32> {
        let (half, wide) = match self {
            Self::Fine => (0, 3),
            Self::Coarse => (1, 6),
        };
        match element_type {
            ElementType::BF16 => Some(8 - half),
            ElementType::F16 => Some(11 - half),
            ElementType::F32 => Some(24 - wide),
            ElementType::F64 => Some(53 - wide),
            _ => None,
        }
    }
}

/// A copy of the graph that rounds its inputs and all values that layers compute. `None` if no layer computes
/// with floats.
pub(super) fn with_rounding(graph: &Graph, coarseness: Coarseness) -> Option<Graph> {
    let mut rounded = graph.clone();
    if !round_layers(&mut rounded, coarseness) {
        return None;
    }
    for node in graph.parameters() {
        round(&mut rounded, Value { node, port: 0 }, coarseness);
    }
    Some(rounded)
}

/// Rounds all values that layers compute. Returns whether there are any.
fn round_layers(graph: &mut Graph, coarseness: Coarseness) -> bool {
    let mut has_any = false;
    for node in graph.ids().collect::<Vec<_>>() {
        let op = graph.node(node).op();
        if op.has(OpTraits::HAS_BODIES) {
            let mut op = op.clone();
            for body in op.bodies_mut() {
                has_any |= round_layers(body, coarseness);
            }
            graph.set_op(node, op);
        } else if computes(op) {
            for port in (0..graph.node(node).outs().len()).filter_map(|port| u32::try_from(port).ok()) {
                has_any |= round(graph, Value { node, port }, coarseness);
            }
        }
    }
    has_any
}

/// Whether an op may return other floats than it reads.
fn computes(op: &Op) -> bool {
    let copies = OpTraits::MOVES_ELEMENTS | OpTraits::NO_ARITHMETIC | OpTraits::BOUNDARY;
    matches!(op, Op::Convert(_)) || !op.traits().intersects(copies)
}

/// Lets the readers of a value read the rounded value. Integers and constants that inference knows are not rounded;
/// then the result is `false`.
fn round(graph: &mut Graph, value: Value, coarseness: Coarseness) -> bool {
    let fact = graph.fact(value).filter(|fact| fact.as_tensor().is_none());
    let bits = fact.and_then(|fact| coarseness.significant_bits(fact.element_type()));
    let Some(bits) = bits else { return false };
    let op = Custom::new("snick.certify", "RoundToBits", Arc::new(RoundToBits { bits }));
    let node = graph.add(Node::new("RoundToBits", Op::from(op)));
    graph.replace_uses(value, Value { node, port: 0 });
    graph.connect_new(value, node, 0).is_ok() && graph.infer_node(node).is_ok()
}

/// Rounds floats to a number of significant bits, ties to even. Numbers that need fewer bits, such as small whole
/// numbers, stay the same.
#[derive(Debug)]
struct RoundToBits {
    bits: u32,
}

impl CustomOp for RoundToBits {
    fn arity(&self) -> Arity {
        Arity::exactly(1)
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<Facts, OpError> {
        let input = cx.input(0);
        Ok(Fact::new(input.element_type(), input.shape().clone()).into())
    }

    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let round = |input: &Tensor| {
            let elements = input.to_f64_vec()?.into_iter().map(|x| nearest(x, self.bits));
            Tensor::from_vec(input.dims(), elements.collect::<Vec<f64>>())?.cast(input.element_type())
        };
        inputs.iter().map(|input| Ok(round(input)?)).collect()
    }
}

/// The nearest number with at most this many significant bits.
fn nearest(x: f64, bits: u32) -> f64 {
    let dropped = f64::MANTISSA_DIGITS.saturating_sub(bits);
    if !x.is_finite() || dropped == 0 {
        return x;
    }
    let (code, unit) = (x.to_bits(), 1u64 << dropped);
    let is_odd = code >> dropped & 1;
    f64::from_bits((code + unit / 2 - 1 + is_odd) & !(unit - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_significant_bits() {
        let cases = [(1.0, 1.0), (9.0, 8.0), (11.0, 12.0), (13.0, 12.0), (15.0, 16.0), (-0.3, -0.3125)];
        for (x, rounded) in cases.into_iter().chain([(0.0, 0.0), (f64::INFINITY, f64::INFINITY)]) {
            assert_eq!(nearest(x, 3), rounded, "{x}");
        }
        assert!(nearest(f64::NAN, 3).is_nan());
    }
}

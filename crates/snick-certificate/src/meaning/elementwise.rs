//! Element-wise operations: unknown functions of the elements of their inputs at the same index.

use super::Element;
use crate::case::{Case, Step, Stop, needed};
use crate::graph::{Node, Value};
use crate::poly::Poly;

/// Element-wise operations whose inputs are broadcast as in numpy.
const ELEMENTWISE: &str = "
    Abs Acos Acosh Add Asin Asinh Atan Atanh BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr
    BitwiseRightShift BitwiseXor Ceiling Clamp Convert Cos Cosh Divide Elu Equal Erf ErfInv Exp
    FakeQuantize Floor FloorMod Gelu Greater GreaterEqual HSigmoid HSwish HardSigmoid IsFinite IsInf
    IsNaN Less LessEqual Log LogicalAnd LogicalNot LogicalOr LogicalXor Maximum Minimum Mish Mod
    Multiply Negative NotEqual Power ReLU Round Select Selu Sigmoid Sign Sin Sinh SoftPlus SoftSign
    Sqrt SquaredDifference Subtract Swish Tan Tanh Xor
";

/// Operations that do not depend on the order of their two inputs.
const COMMUTATIVE: &str = "
    Add BitwiseAnd BitwiseOr BitwiseXor Equal LogicalAnd LogicalOr LogicalXor Multiply NotEqual Xor
";

fn is_listed(list: &str, op: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == op)
}

impl Node {
    /// Whether elements of the output are functions of the elements of the inputs at the same index.
    pub(crate) fn is_elementwise(&self) -> bool {
        let broadcast = self.text("auto_broadcast");
        is_listed(ELEMENTWISE, &self.op) && matches!(broadcast, None | Some("numpy" | "none"))
    }

    /// Whether the two inputs may be exchanged.
    pub(crate) fn is_commutative(&self) -> bool {
        self.is_elementwise() && self.inputs.len() == 2 && is_listed(COMMUTATIVE, &self.op)
    }
}

impl Case<'_> {
    /// The size of an axis after broadcasting as in numpy.
    pub(super) fn broadcast_size(&mut self, node: &Node, value: Value, axis: usize) -> Step<Poly> {
        let rank = self.rank(value)?;
        let one = Poly::constant(1);
        let mut size = one.clone();
        for input in node.inputs.iter().copied().flatten() {
            let own = self.rank(self.first(input))?;
            let Some(axis) = (axis + own).checked_sub(rank) else { continue };
            let dim = self.dim(input, axis)?;
            if size == one {
                size = dim;
            } else if dim != one && !self.equal(&size, &dim)? {
                let is_repeated = !self.ask(size.plus_constant(-2)?)? && self.ask(size.plus_constant(-1)?)?;
                size = if is_repeated { dim } else { size };
            }
        }
        Ok(size)
    }

    /// The elements that an element of an element-wise operation is a function of.
    pub(crate) fn operands(&mut self, value: Value, node: &Node, index: &[Poly]) -> Step<Vec<Element>> {
        if !node.is_elementwise() || self.graph.function(value).is_none() {
            return Err(Stop::Opaque);
        }
        let dims = self.dims(value)?;
        node.inputs.iter().map(|input| self.element_of(needed(*input)?, &dims, index)).collect()
    }

    /// The operand of a product, quotient or difference with a constant that does not change it.
    pub(super) fn unchanged(&mut self, node: &Node, value: Value, index: &[Poly]) -> Step<Element> {
        let neutral = if node.op == "Subtract" { 0 } else { 1 };
        for port in if node.op == "Multiply" { 0..2 } else { 0..1 } {
            let other = needed(node.input(1 - port).and_then(|other| self.graph.integers(other)));
            if other.is_ok_and(|other| other.iter().all(|integer| *integer == neutral)) {
                return Ok(self.operands(value, node, index)?.swap_remove(port));
            }
        }
        Err(Stop::Opaque)
    }

    /// An element of an input that is broadcast to sizes.
    pub(super) fn element_of(&mut self, input: Value, dims: &[Poly], index: &[Poly]) -> Step<Element> {
        let own = self.dims(input)?;
        let skipped = needed(index.len().checked_sub(own.len()))?;
        let mut source = Vec::new();
        for (dim, (size, at)) in own.iter().zip(dims.iter().zip(index).skip(skipped)) {
            let is_repeated = match dim.as_constant() {
                Some(dim) => dim == 1,
                None => dim != size && !self.ask(dim.plus_constant(-2)?)?,
            };
            source.push(if is_repeated { Poly::ZERO } else { at.clone() });
            // Sizes are equal, or one of them is 1.
            let size = if is_repeated { &Poly::constant(1) } else { size };
            for (a, b) in [(dim, size), (size, dim)] {
                self.require(a.plus(-1, b)?, "sizes may differ")?;
            }
        }
        Ok((input, source))
    }
}

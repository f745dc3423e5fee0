//! Constants of exported graphs, and values computed from them.

use std::collections::HashMap;

use snick_certificate as certificate;
use snick_ir::ops::source::constant::Constant;
use snick_ir::{NodeRef, Op, OpTraits, Value};
use snick_tensor::{ElementType, Tensor};

/// Elements of larger integer constants are not exported: such constants are only compared as a whole.
const MAX_INTEGERS: usize = 4096;

/// Maximum number of elements that evaluating constants reads and computes.
const MAX_EVALUATED: usize = 1 << 24;

/// How many bytes at each end of a tensor distinguish it from others, before all bytes are compared.
const SAMPLED: usize = 256;

/// The type and shape of a constant, and bytes at both ends.
type Sample = (ElementType, Vec<usize>, Vec<u8>);

/// Numbers constants by their type, shape and bytes.
#[derive(Default)]
pub(super) struct Constants {
    numbers: HashMap<Sample, Vec<(usize, Tensor)>>,
    count: usize,
    evaluated: usize,
}

impl Constants {
    /// The number and the elements of a constant.
    pub(super) fn number(&mut self, tensor: &Tensor) -> certificate::Constant {
        let element_type = tensor.element_type();
        let is_integer = element_type.is_integer() || element_type == ElementType::Boolean;
        let integers =
            (is_integer && tensor.len() <= MAX_INTEGERS).then(|| tensor.to_i64_vec().ok()).flatten();
        // A conversion from u64 saturates.
        let integers =
            integers.filter(|integers| element_type != ElementType::U64 || !integers.contains(&i64::MAX));
        let identity = self.identity(tensor);
        let list = tensor.reshape(&[tensor.len()]).map_or(identity, |list| self.identity(&list));
        certificate::Constant { identity, list, integers }
    }

    /// The number of constants of this type, shape and bytes.
    fn identity(&mut self, tensor: &Tensor) -> usize {
        let element_type = tensor.element_type();
        let bytes = tensor.to_bytes();
        let ends = bytes.iter().take(SAMPLED).chain(bytes.iter().rev().take(SAMPLED));
        let key = (element_type, tensor.dims().to_vec(), ends.copied().collect());
        let alike = self.numbers.entry(key).or_default();
        match alike.iter().find(|(_, other)| is_same(other, tensor)) {
            Some((number, _)) => *number,
            None => {
                self.count += 1;
                alike.push((self.count, tensor.clone()));
                self.count
            }
        }
    }

    /// The outputs of a node that does not depend on inputs; empty if it does, or if this is not known.
    pub(super) fn evaluate(
        &mut self,
        node: NodeRef,
        inputs: &[Option<Value>],
        constants: &HashMap<Value, Tensor>,
    ) -> Vec<Tensor> {
        let folded = || {
            let tensors = node.outputs().map(|fact| fact.as_tensor().map(|tensor| Tensor::clone(tensor)));
            tensors.collect::<Option<Vec<_>>>()
        };
        match node.op() {
            Op::Const(Constant::Here(tensor)) => return vec![Tensor::clone(tensor)],
            // A known shape.
            Op::ShapeOf(_) => return folded().unwrap_or_default(),
            op if !op.traits().is_foldable() || op.has(OpTraits::ROOT) || inputs.is_empty() => {
                return Vec::new();
            }
            _ => {}
        }
        let operands: Option<Vec<Tensor>> =
            inputs.iter().map(|input| constants.get(&(*input)?).cloned()).collect();
        let Some(operands) = operands else { return Vec::new() };
        if let Some(folded) = folded() {
            return folded;
        }
        let counts = node.outputs().map(|fact| fact.shape().element_count().unwrap_or(usize::MAX));
        let elements = operands.iter().map(Tensor::len).chain(counts).fold(0, usize::saturating_add);
        self.evaluated = self.evaluated.saturating_add(elements);
        if self.evaluated > MAX_EVALUATED {
            return Vec::new();
        }
        node.op().eval(&operands).unwrap_or_default()
    }
}

fn is_same(a: &Tensor, b: &Tensor) -> bool {
    let (left, right) = (a.to_bytes(), b.to_bytes());
    std::ptr::eq(left.as_ptr(), right.as_ptr()) && left.len() == right.len() || a == b
}

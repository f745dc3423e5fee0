//! Constants of exported graphs, and values computed from them.

use std::collections::HashMap;

use snick_certificate as certificate;
use snick_ir::ops::source::constant::Constant;
use snick_ir::{NodeRef, Op, OpTraits, Value};
use snick_tensor::{ElementType, Tensor};

/// Elements of larger constants are not exported: such constants are only compared as a whole.
const MAX_INTEGERS: usize = 4096;
const MAX_FLOATS: usize = 16;

/// Maximum number of elements that evaluating constants reads and computes.
const MAX_EVALUATED: usize = 1 << 24;

/// How many bytes at each end of a tensor distinguish it from others, before all bytes are compared.
const SAMPLED: usize = 256;

/// The type and shape of a constant, and bytes at both ends.
type Sample = (ElementType, Vec<usize>, Vec<u8>);

/// Constants by their type, shape and bytes.
#[derive(Default)]
struct Known(HashMap<Sample, Vec<(Tensor, certificate::Value)>>);

impl Known {
    /// The value of the first constant that equals this one, which is `own` if there is none before.
    fn first(&mut self, tensor: &Tensor, own: certificate::Value) -> certificate::Value {
        let bytes = tensor.to_bytes();
        let ends = bytes.iter().take(SAMPLED).chain(bytes.iter().rev().take(SAMPLED));
        let key = (tensor.element_type(), tensor.dims().to_vec(), ends.copied().collect());
        let alike = self.0.entry(key).or_default();
        match alike.iter().find(|(other, _)| is_same(other, tensor)) {
            Some((_, first)) => *first,
            None => {
                alike.push((tensor.clone(), own));
                own
            }
        }
    }
}

/// Constants of exported graphs.
#[derive(Default)]
pub(super) struct Constants {
    known: Known,
    /// The same without their shapes.
    lists: Known,
    /// How many elements were evaluated.
    evaluated: usize,
}

impl Constants {
    /// The value of the first constant that equals this one, which is `own` if there is none before.
    pub(super) fn first(&mut self, tensor: &Tensor, own: certificate::Value) -> certificate::Value {
        self.known.first(tensor, own)
    }

    /// The value of the first constant with the same elements, whatever its shape; `own` if there is none before.
    pub(super) fn first_of_list(&mut self, tensor: &Tensor, own: certificate::Value) -> certificate::Value {
        tensor.reshape(&[tensor.len()]).map_or(own, |list| self.lists.first(&list, own))
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

/// The elements of a short constant, if all are integers or booleans, or equal to one. The float -0.0 is not.
pub(super) fn integers(tensor: &Tensor) -> Option<Vec<i64>> {
    let element_type = tensor.element_type();
    if element_type.is_integer() || element_type == ElementType::Boolean {
        let integers = (tensor.len() <= MAX_INTEGERS).then(|| tensor.to_i64_vec().ok()).flatten()?;
        // A conversion from u64 saturates.
        return (element_type != ElementType::U64 || !integers.contains(&i64::MAX)).then_some(integers);
    }
    let is_short_float = element_type.is_float() && tensor.len() <= MAX_FLOATS;
    let floats = is_short_float.then(|| tensor.to_f64_vec().ok()).flatten()?;
    let integer = |float: f64| {
        let integer = f64::from(float as i32);
        (integer.to_bits() == float.to_bits()).then_some(float as i64)
    };
    floats.into_iter().map(integer).collect()
}

fn is_same(a: &Tensor, b: &Tensor) -> bool {
    let (left, right) = (a.to_bytes(), b.to_bytes());
    std::ptr::eq(left.as_ptr(), right.as_ptr()) && left.len() == right.len() || a == b
}

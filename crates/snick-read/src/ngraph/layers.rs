//! Layers that many nodes take: other shapes, other orders of axes, padding.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::Tensor;

use super::build::Site;

impl Site<'_, '_, '_> {
    /// The sizes of a value that an expansion needs.
    pub(super) fn known_sizes(&self, value: Value) -> Result<Vec<i64>, OpError> {
        self.sizes(value).ok_or_else(|| OpError::unsupported(format!("a {} of unknown sizes", self.node.op)))
    }

    /// A scalar of the element type of `like`.
    pub(super) fn number(&mut self, number: f64, like: Value) -> Result<Value, OpError> {
        self.tensor(Tensor::scalar(number).cast(self.element_type(like))?)
    }

    /// `value` under another shape.
    pub(super) fn reshaped(&mut self, value: Value, shape: &[i64]) -> Result<Value, OpError> {
        let shape = self.ints(shape)?;
        self.add("Reshape", 1, Attrs::new().with("special_zero", false), &[value, shape])
    }

    /// `value` with its axes in another order.
    pub(super) fn transposed(&mut self, value: Value, order: &[i64]) -> Result<Value, OpError> {
        if order.iter().copied().eq(0..order.len() as i64) {
            return Ok(value);
        }
        let order = self.ints(order)?;
        self.add("Transpose", 1, Attrs::new(), &[value, order])
    }

    /// `value` between zeros; negative numbers cut off.
    pub(super) fn padded(&mut self, value: Value, below: &[i64], above: &[i64]) -> Result<Value, OpError> {
        if below.iter().chain(above).all(|&pad| pad == 0) {
            return Ok(value);
        }
        let zero = self.number(0.0, value)?;
        let (below, above) = (self.ints(below)?, self.ints(above)?);
        self.add("Pad", 12, Attrs::new().with("pad_mode", "constant"), &[value, below, above, zero])
    }
}

/// How many elements there are in a shape.
pub(super) fn product(sizes: &[i64]) -> Result<i64, OpError> {
    let product = sizes.iter().try_fold(1i64, |product, &size| product.checked_mul(size));
    product.ok_or_else(|| OpError::unsupported("more elements than 64 bits count"))
}

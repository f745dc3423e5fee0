//! Helpers for several kinds of nodes: known sizes, transposes, padding.

use snick_ir::{OpError, Value};

use super::site::Site;

impl Site<'_, '_> {
    /// The sizes of a value, which must be known.
    pub(super) fn known_sizes(&self, value: Value) -> Result<Vec<i64>, OpError> {
        self.sizes(value).ok_or_else(|| OpError::unsupported(format!("a {} of unknown sizes", self.node.op)))
    }

    /// Permutes the axes of `value`.
    pub(super) fn transposed(&mut self, value: Value, order: &[i64]) -> Result<Value, OpError> {
        if order.iter().copied().eq(0..order.len() as i64) {
            return Ok(value);
        }
        self.transpose(value, order)
    }

    /// Pads `value` with zeros; negative padding crops.
    pub(super) fn padded(&mut self, value: Value, below: &[i64], above: &[i64]) -> Result<Value, OpError> {
        if below.iter().chain(above).all(|&pad| pad == 0) {
            return Ok(value);
        }
        let zero = self.scalar_like(value, 0.0)?;
        self.pad(value, below, above, zero)
    }
}

/// The number of elements in a tensor of these sizes.
pub(super) fn product(sizes: &[i64]) -> Result<i64, OpError> {
    let product = sizes.iter().try_fold(1i64, |product, &size| product.checked_mul(size));
    product.ok_or_else(|| OpError::unsupported("a number of elements beyond 64 bits"))
}

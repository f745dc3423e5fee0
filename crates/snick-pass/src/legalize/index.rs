//! Arithmetic on indices as scalars in the graph, for both directions of slice legalization.

use snick_ir::{GraphBuilder, IntOrValue, OpError};

use IntOrValue::Int;

/// No axis is longer. Steps are clamped to it so that sums with them fit i64.
pub(crate) const FAR: i64 = 1 << 62;

/// `index + size` if the index is negative.
pub(crate) fn from_end(
    cx: &mut GraphBuilder,
    index: IntOrValue,
    size: IntOrValue,
) -> Result<IntOrValue, OpError> {
    let range = index.interval();
    match (range.lo() >= 0, range.hi() < 0) {
        (true, _) => Ok(index),
        (_, true) => index.add(cx, size),
        _ => {
            let negative = index.less(cx, Int(0))?;
            // Adds only to negative indices, so that the largest do not wrap.
            let low = index.min(cx, Int(0))?.add(cx, size)?;
            negative.select(cx, low, index)
        }
    }
}

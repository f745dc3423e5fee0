//! Arithmetic on indices, as scalars in the graph. Used to convert to and from the `slice` primitive.

use snick_ir::{GraphBuilder, IntOrValue, OpError};

use IntOrValue::Int;

/// An index beyond the end of any axis. Steps are clamped to this number, so that sums with them fit in i64.
pub(crate) const FAR: i64 = 1 << 62;

/// Adds `size` to an index if the index is negative.
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
            // Only adds to negative indices, so that the largest indices do not wrap.
            let low = index.min(cx, Int(0))?.add(cx, size)?;
            negative.select(cx, low, index)
        }
    }
}

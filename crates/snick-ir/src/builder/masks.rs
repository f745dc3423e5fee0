//! The masks of a StridedSlice.

use crate::ops::slice::mask::Mask;
use crate::ops::slice::strided_slice::StridedSlice;

/// The masks of a StridedSlice, with one bit for each entry of `begin`, `end` and `stride`; missing bits are
/// 0.
///
/// ```
/// use snick::{ElementType, GraphBuilder, StridedSliceMasks};
///
/// // x[:, 0, 1:]
/// let b = GraphBuilder::new("crop");
/// let x = b.parameter("x", ElementType::F32, "N,3,8")?;
/// let masks = StridedSliceMasks::new().begin([1]).end([1, 0, 1]).shrink_axis([0, 1]);
/// let y = b.strided_slice(x, &[0, 0, 1], &[0, 1, 0], &[1, 1, 1], masks)?;
/// let graph = b.finish()?;
/// assert_eq!(graph.fact(y).unwrap().shape().display(graph.symbols()).to_string(), "[N,7]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StridedSliceMasks(StridedSlice);

impl StridedSliceMasks {
    /// Masks whose bits are all 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `begin_mask`. Where a bit is 1, `begin` is ignored: the slice starts at the first element, or at
    /// the last one if the stride is negative.
    #[must_use]
    pub fn begin(mut self, bits: impl IntoIterator<Item = u8>) -> Self {
        self.0.begin_mask = Mask::from_iter(bits);
        self
    }

    /// Sets `end_mask`. Where a bit is 1, `end` is ignored: the slice extends to the end of the axis, or to
    /// its start if the stride is negative.
    #[must_use]
    pub fn end(mut self, bits: impl IntoIterator<Item = u8>) -> Self {
        self.0.end_mask = Mask::from_iter(bits);
        self
    }

    /// Sets `new_axis_mask`. An entry whose bit is 1 inserts an axis of size 1.
    #[must_use]
    pub fn new_axis(mut self, bits: impl IntoIterator<Item = u8>) -> Self {
        self.0.new_axis_mask = Mask::from_iter(bits);
        self
    }

    /// Sets `shrink_axis_mask`. An entry whose bit is 1 selects one element and drops the axis.
    #[must_use]
    pub fn shrink_axis(mut self, bits: impl IntoIterator<Item = u8>) -> Self {
        self.0.shrink_axis_mask = Mask::from_iter(bits);
        self
    }

    /// Sets `ellipsis_mask`. The entry whose bit is 1 stands for all axes without an entry of their own.
    #[must_use]
    pub fn ellipsis(mut self, bits: impl IntoIterator<Item = u8>) -> Self {
        self.0.ellipsis_mask = Mask::from_iter(bits);
        self
    }
}

impl From<StridedSliceMasks> for StridedSlice {
    fn from(masks: StridedSliceMasks) -> Self {
        masks.0
    }
}

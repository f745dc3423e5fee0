//! Filters `[group, output, channel, tap]`, and the order in which convolutions sum their products.

use std::borrow::Cow;
use std::sync::Arc;

use super::ConvShape;
use crate::kernels::gemm::{Gemm, Matrix, PackedLhs, PackedRhs};
use crate::kernels::vectors::Isa;
use crate::memo::Purpose;
use crate::{ElementType, Tensor, TensorError};

/// The filters of a convolution. No dim is 0.
pub(super) struct Filters<'a, T: Gemm> {
    shape: ConvShape,
    pub tensor: &'a Tensor,
    /// One filter after the other.
    pub rows: Cow<'a, [T]>,
    /// The filter element of each term of a sum, in the OpenVINO runtime's order: channel by channel for each
    /// tap, or column by column for a single channel. `None` for the stored order.
    pub order: Option<Vec<usize>>,
}

impl<'a, T: Gemm> Filters<'a, T> {
    pub fn new(shape: ConvShape, tensor: &'a Tensor) -> Self {
        let order = match (shape.depth, shape.grid.taps()) {
            (_, 1) => None,
            (1, _) if shape.groups > 1 => None,
            (1, taps) => {
                let columns = shape.grid.axes[2].kernel;
                Some((0..columns).flat_map(|column| (column..taps).step_by(columns)).collect())
            }
            (depth, taps) => Some((0..taps).flat_map(|tap| (tap..depth * taps).step_by(taps)).collect()),
        };
        Filters { shape, tensor, rows: tensor.units(), order }
    }

    /// Whether all weights are integers. This is fast for most filters, because one of the first weights is a
    /// fraction.
    pub fn are_integers(&self) -> bool {
        self.tensor.element_type() == ElementType::F32
            && self.tensor.units::<f32>().iter().all(|weight| weight.fract() == 0.0)
    }

    /// The filters of a group, one per row.
    pub fn group(&self, group: usize) -> Matrix<'_, T> {
        let (outputs, length) = (self.shape.outputs, self.shape.filter_len());
        Matrix::packed(&self.rows[group * outputs * length..][..outputs * length], outputs, length)
    }

    /// Reorders the elements of filters, or of windows, into summation order.
    pub fn reorder(&self, rows: &mut [T]) {
        let Some(order) = &self.order else { return };
        let mut stored = Vec::with_capacity(order.len());
        for row in rows.chunks_exact_mut(order.len()) {
            stored.clear();
            stored.extend_from_slice(row);
            row.iter_mut().zip(order).for_each(|(to, &i)| *to = stored[i]);
        }
    }

    /// The filters of each group as the left operand of a product.
    pub fn packed_lhs(&self) -> Result<Arc<Vec<PackedLhs<T>>>, TensorError> {
        let pack = |group| match &self.order {
            Some(order) => PackedLhs::pack_permuted(Isa::best(), &self.group(group), order),
            None => PackedLhs::pack(Isa::best(), &self.group(group)),
        };
        self.tensor.memoised(Purpose::Filters, || Ok((0..self.shape.groups).map(pack).collect()))
    }

    /// The filters of each group, transposed, as the right operand of a product.
    pub fn packed_rhs(&self) -> Result<Arc<Vec<PackedRhs<'static, T>>>, TensorError> {
        let pack = |group| {
            let mut rows = self.group(group).data.to_vec();
            self.reorder(&mut rows);
            let filters = Matrix::packed(&rows, self.shape.outputs, self.shape.filter_len());
            PackedRhs::new(Isa::best(), &filters.transposed()).into_packed()
        };
        self.tensor.memoised(Purpose::FilterColumns, || Ok((0..self.shape.groups).map(pack).collect()))
    }
}

//! Filters of bytes, as constants have them and as products take them.

use crate::kernels::gemm::{Matrix, PackedLhs};
use crate::kernels::quantizer::{CHANNELS, NEAR};
use crate::kernels::vectors::{Isa, Quad, has_byte_products};
use crate::{ElementType, Tensor};

/// Filters `(code - zero) * scale`, where codes are bytes. `[O, C, height, width]`, or `[C, 1, 1, height, width]` for one
/// filter a channel; zeros and scales have one element for all, or one a filter on their first axis.
#[derive(Copy, Clone, Debug)]
pub struct QuantizedFilters<'a> {
    /// Integers of 8 bits.
    pub codes: &'a Tensor,
    /// 0 if there are none.
    pub zeros: Option<&'a Tensor>,
    /// Of `f32`.
    pub scales: &'a Tensor,
}

impl QuantizedFilters<'_> {
    /// The same with integer zeros that codes already lack. `None` if codes are no bytes then, or zeros no integers.
    pub(super) fn integers(&self) -> Option<IntegerFilters> {
        if !matches!(self.codes.element_type(), ElementType::I8 | ElementType::U8) {
            return None;
        }
        let codes = self.codes.to_i64_vec().ok()?;
        let zeros = match self.zeros {
            Some(zeros) => self.by_filter(zeros)?,
            None => vec![0.0; self.codes.dims()[0]],
        };
        let length = codes.len().checked_div(zeros.len())?;
        let is_fine = |zero: f32| zero.abs() <= 255.0 && (zero - zero.round()).abs() <= NEAR;
        if length == 0 || !zeros.iter().all(|&zero| is_fine(zero)) {
            return None;
        }
        let filters = codes.chunks_exact(length).zip(&zeros);
        let all = filters.flat_map(|(filter, zero)| filter.iter().map(|code| code - zero.round() as i64));
        let codes = all.map(|code| i8::try_from(code).ok()).collect::<Option<_>>()?;
        let remainders = zeros.iter().map(|zero| zero - zero.round()).collect();
        let scales = self.by_filter(self.scales)?;
        // Subnormal factors would be lost.
        let is_fine = |scale: &f32| scale.is_normal() || *scale == 0.0;
        scales.iter().all(is_fine).then_some(IntegerFilters { codes, remainders, scales })
    }

    /// An element for each filter.
    fn by_filter(&self, tensor: &Tensor) -> Option<Vec<f32>> {
        let outputs = *self.codes.dims().first()?;
        let values = tensor.cast(ElementType::F32).ok()?.to_f32_vec().ok()?;
        match *values {
            [one] => Some(vec![one; outputs]),
            _ => (tensor.dims().first() == Some(&outputs) && values.len() == outputs).then_some(values),
        }
    }
}

/// Filters of integers.
pub(super) struct IntegerFilters {
    pub codes: Vec<i8>,
    /// By filter, how much the zero is more than an integer. Tools write zeros that are 0 but for rounding errors.
    pub remainders: Vec<f32>,
    /// By filter.
    pub scales: Vec<f32>,
}

impl IntegerFilters {
    /// What a code of a filter stands for.
    #[inline(always)]
    pub fn weight(&self, filter: usize, code: i8) -> f32 {
        (f32::from(code) - self.remainders[filter]) * self.scales[filter]
    }
}

/// Filters of so many elements `[outputs, depth, taps]` as `[outputs, taps, depth / 4]`, with zeros for the last channels.
pub(super) fn by_tap(codes: &[i8], length: usize, taps: usize) -> Vec<[i8; CHANNELS]> {
    let groups = (length / taps).div_ceil(CHANNELS);
    let mut all = Vec::with_capacity(codes.len() / length * taps * groups);
    for filter in codes.chunks_exact(length) {
        for tap in 0..taps {
            let code = |channel: usize| filter.get(channel * taps + tap).copied().unwrap_or(0);
            all.extend((0..groups).map(|group| std::array::from_fn(|k| code(group * CHANNELS + k))));
        }
    }
    all
}

/// Filters `[outputs, taps, depth / 4]` as the left side of a product: four channels in an element, then by tap.
pub(super) fn dense(
    by_tap: &[[i8; CHANNELS]],
    outputs: usize,
    groups: usize,
    taps: usize,
) -> PackedLhs<Quad> {
    let mut rows = Vec::with_capacity(by_tap.len());
    for filter in by_tap.chunks_exact(groups * taps) {
        let quad = |codes: [i8; CHANNELS]| Quad(u32::from_le_bytes(codes.map(i8::cast_unsigned)));
        rows.extend(
            (0..groups).flat_map(|group| (0..taps).map(move |tap| quad(filter[tap * groups + group]))),
        );
    }
    // Tiles of AVX2 are no multiple of four rows high.
    let isa = if has_byte_products() { Isa::best() } else { Isa::Base };
    PackedLhs::pack(isa, &Matrix::packed(&rows, outputs, groups * taps)).in_one_step()
}

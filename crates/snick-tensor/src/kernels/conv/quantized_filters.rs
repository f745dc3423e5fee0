//! Filters of 8-bit codes: their stored form, and the form that kernels read.

use crate::kernels::fake_quantize::Rule;
use crate::kernels::gemm::{Matrix, PackedLhs};
use crate::kernels::quantizer::{CHANNELS, MAX_LEVELS};
use crate::kernels::vectors::{I8x4Dot, Isa};
use crate::{ElementType, Tensor};

/// The largest deviation of a zero point from an integer that counts as a rounding error of the tool that
/// wrote it.
const ZERO_POINT_TOLERANCE: f32 = 1.0 / 1024.0;

/// Filters of 8-bit codes with a rule to unpack them: `[O, C, height, width]`, `[G, O, C, height, width]` for
/// groups of filters, or `[O, C]` for a matrix product.
#[derive(Copy, Clone, Debug)]
pub struct QuantizedFilters<'a> {
    /// Integers of 8 bits.
    pub codes: &'a Tensor,
    /// How they become weights.
    pub unpacking: Unpacking<'a>,
}

/// How codes become weights. Tensors of `f32` have one element for all filters, or one per filter on the
/// axes G and O.
#[derive(Copy, Clone, Debug)]
pub enum Unpacking<'a> {
    /// `(code - zero) * scale`.
    Scale {
        /// The zero points; 0 if absent.
        zeros: Option<&'a Tensor>,
        /// The factors.
        scales: &'a Tensor,
    },
    /// A [`fake_quantize`](crate::kernels::fake_quantize) of the codes.
    Quantize {
        /// The lower and upper ends of its input and output.
        ranges: [&'a Tensor; 4],
        /// The number of levels.
        levels: usize,
    },
}

impl QuantizedFilters<'_> {
    /// Subtracts the zero points. `None` if a difference does not fit in `i8`, a zero point is not an
    /// integer, or a rule is not supported.
    pub(in crate::kernels) fn integers(&self) -> Option<IntegerFilters> {
        let (stored, is_signed) = (self.codes.contiguous(), self.codes.element_type() == ElementType::I8);
        let bytes: &[u8] = if is_signed {
            bytemuck::cast_slice(stored.as_slice::<i8>().ok()?)
        } else {
            stored.as_slice().ok()?
        };
        let rules = self.rules()?;
        let length = bytes.len().checked_div(rules.len()).filter(|&length| length > 0)?;
        let mut codes = Vec::with_capacity(bytes.len());
        for (filter, unpack) in bytes.chunks_exact(length).zip(&rules) {
            for &byte in filter {
                let code = if is_signed { byte.cast_signed().into() } else { byte.into() };
                let code: i64 = unpack.quantize.map_or(code, |rule| rule.level(code as f32).into());
                codes.push(i8::try_from(code - unpack.zero).ok()?);
            }
        }
        Some(IntegerFilters { codes, rules: rules.into_iter().map(|unpack| unpack.rule).collect() })
    }

    fn rules(&self) -> Option<Vec<Unpack>> {
        let outputs = self.count()?;
        let rules: Option<Vec<_>> = match self.unpacking {
            Unpacking::Scale { zeros, scales } => {
                let zeros = zeros.map_or(Some(vec![0.0; outputs]), |zeros| self.by_filter(zeros))?;
                zeros.into_iter().zip(self.by_filter(scales)?).map(Unpack::scale).collect()
            }
            Unpacking::Quantize { ranges, levels } if (2..=MAX_LEVELS).contains(&levels) => {
                let [a, b, c, d] = ranges.map(|range| self.by_filter(range));
                let (a, b, c, d) = (a?, b?, c?, d?);
                let steps = (levels - 1) as f32;
                (0..outputs).map(|i| Unpack::quantize(Rule::new([a[i], b[i], c[i], d[i]], steps)?)).collect()
            }
            Unpacking::Quantize { .. } => None,
        };
        // A subnormal scale has too few significant bits.
        let is_fine = |scale: f32| scale.is_normal() || scale == 0.0;
        rules.filter(|rules| rules.iter().all(|unpack| is_fine(unpack.rule.scale)))
    }

    /// The dims of the axes G and O.
    fn filter_dims(&self) -> Option<&[usize]> {
        let dims = self.codes.dims();
        dims.get(..if dims.len() == 5 { 2 } else { 1 })
    }

    /// The number of filters.
    fn count(&self) -> Option<usize> {
        Some(self.filter_dims()?.iter().product())
    }

    /// One element per filter.
    fn by_filter(&self, tensor: &Tensor) -> Option<Vec<f32>> {
        let outputs = self.count()?;
        let values = tensor.cast(ElementType::F32).ok()?.to_f32_vec().ok()?;
        match *values {
            [one] => Some(vec![one; outputs]),
            _ => {
                (values.len() == outputs && tensor.dims().starts_with(self.filter_dims()?)).then_some(values)
            }
        }
    }
}

/// The largest [remainder](CodeRule::remainder) that changes values by no more than rounding does.
const PRECISE: f32 = 1.0 / 65536.0;

/// Integer filters: the codes minus their zero points.
pub(in crate::kernels) struct IntegerFilters {
    pub codes: Vec<i8>,
    /// One rule per filter.
    pub rules: Vec<CodeRule>,
}

impl IntegerFilters {
    /// Whether the weights are so close to `code * scale` that sums of codes give the values of a product.
    pub fn are_precise(&self) -> bool {
        self.rules.iter().all(|rule| rule.remainder() <= PRECISE)
    }

    /// Groups of this many filters.
    pub fn groups(&self, filters: usize) -> impl Iterator<Item = Self> {
        let length = self.codes.len() / self.rules.len().max(1);
        let codes = self.codes.chunks(filters * length).map(<[_]>::to_vec);
        codes.zip(self.rules.chunks(filters)).map(|(codes, rules)| Self { codes, rules: rules.to_vec() })
    }

    /// The factor and the offset that turn the sum of a filter over codes of `input` into a value.
    pub fn scaling(&self, filter: usize, input: &Rule<f32>) -> [f64; 2] {
        let length = self.codes.len() / self.rules.len();
        let sum: i64 = self.codes[filter * length..][..length].iter().map(|&code| i64::from(code)).sum();
        let scale = f64::from(self.rules[filter].scale);
        [f64::from(input.step) * scale, f64::from(input.output_low) * scale * sum as f64]
    }

    /// The weight that a code of a filter represents.
    #[inline(always)]
    pub fn weight(&self, filter: usize, code: i8) -> f32 {
        self.rules[filter].weight(code.into())
    }
}

/// Converts the integers of a filter to weights: `(code + zero) * scale + low`. With [`Unpacking::Scale`],
/// `low` is 0, and `zero` is the rounding error of the zero point that was subtracted. With
/// [`Unpacking::Quantize`], `zero` is the subtracted zero point itself.
#[derive(Copy, Clone)]
pub(in crate::kernels) struct CodeRule {
    pub zero: f32,
    pub scale: f32,
    pub low: f32,
}

impl CodeRule {
    #[inline(always)]
    pub fn weight(self, code: f32) -> f32 {
        // With `low` 0, this rounds like the product alone.
        (code + self.zero).mul_add(self.scale, self.low)
    }

    /// The constant distance of the weights from `code * scale`, in units of the scale.
    pub fn remainder(self) -> f32 {
        if self.scale == 0.0 {
            return 0.0;
        }
        (f64::from(self.zero) + f64::from(self.low) / f64::from(self.scale)).abs() as f32
    }
}

/// How a filter is unpacked.
struct Unpack {
    /// Quantises the stored codes first.
    quantize: Option<Rule<f32>>,
    /// The zero point, rounded to an integer.
    zero: i64,
    /// The rule for codes from which the zero point has been subtracted.
    rule: CodeRule,
}

impl Unpack {
    /// Unpacks to `(code - zero) * scale`.
    fn scale((zero, scale): (f32, f32)) -> Option<Self> {
        Self::new(None, zero.round(), CodeRule { zero: zero.round() - zero, scale, low: 0.0 })
    }

    /// Unpacks with a fake quantisation.
    fn quantize(rule: Rule<f32>) -> Option<Self> {
        let zero = (-rule.output_low / rule.step).round();
        let weights = CodeRule { zero, scale: rule.step, low: rule.output_low };
        Self::new(rule.is_moderate().then_some(Some(rule))?, zero, weights)
    }

    fn new(quantize: Option<Rule<f32>>, zero: f32, rule: CodeRule) -> Option<Self> {
        let is_fine = zero.abs() <= 255.0 && rule.remainder() <= ZERO_POINT_TOLERANCE;
        is_fine.then_some(Unpack { quantize, zero: zero as i64, rule })
    }
}

/// Reorders filters `[output, channel, tap]` of `length` elements to `[output, tap, channel / 4]`, padded
/// with zeros.
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

/// Packs filters `[output, tap, channel / 4]` as the left operand of a product with terms `[channel / 4,
/// tap]`.
pub(super) fn packed_by_tap(
    by_tap: &[[i8; CHANNELS]],
    outputs: usize,
    groups: usize,
    taps: usize,
) -> PackedLhs<I8x4Dot> {
    let mut rows = Vec::with_capacity(by_tap.len());
    for filter in by_tap.chunks_exact(groups * taps) {
        let quad = |codes: [i8; CHANNELS]| I8x4Dot(u32::from_le_bytes(codes.map(i8::cast_unsigned)));
        rows.extend(
            (0..groups).flat_map(|group| (0..taps).map(move |tap| quad(filter[tap * groups + group]))),
        );
    }
    PackedLhs::pack(Isa::best(), &Matrix::packed(&rows, outputs, groups * taps)).with_sequential_sums()
}

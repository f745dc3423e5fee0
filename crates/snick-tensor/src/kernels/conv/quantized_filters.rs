//! Filters of bytes, as constants have them and as products take them.

use crate::kernels::fake_quantize::Rule;
use crate::kernels::gemm::{Matrix, PackedLhs};
use crate::kernels::quantizer::{CHANNELS, MAX_LEVELS};
use crate::kernels::vectors::{I8x4Dot, Isa};
use crate::{ElementType, Tensor};

/// Zeros further from an integer are none.
const NEAR: f32 = 1.0 / 1024.0;

/// Filters of bytes, each unpacked by a rule. `[O, C, height, width]`, or `[C, 1, 1, height, width]` for one filter a
/// channel.
#[derive(Copy, Clone, Debug)]
pub struct QuantizedFilters<'a> {
    /// Integers of 8 bits.
    pub codes: &'a Tensor,
    /// How the weights are made of them.
    pub unpacking: Unpacking<'a>,
}

/// How weights are made of integers. Tensors of `f32` have one element for all, or one a filter on their first axis.
#[derive(Copy, Clone, Debug)]
pub enum Unpacking<'a> {
    /// `(code - zero) * scale`.
    Scale {
        /// 0 if there are none.
        zeros: Option<&'a Tensor>,
        /// The factors.
        scales: &'a Tensor,
    },
    /// What [`fake_quantize`](crate::kernels::fake_quantize) gives for the codes.
    Quantize {
        /// Ends of the input and of the output.
        ranges: [&'a Tensor; 4],
        /// The number of levels.
        levels: usize,
    },
}

impl QuantizedFilters<'_> {
    /// The same with integer zeros that codes already lack. `None` if codes are no bytes then, or zeros no integers.
    pub(super) fn integers(&self) -> Option<IntegerFilters> {
        if !matches!(self.codes.element_type(), ElementType::I8 | ElementType::U8) {
            return None;
        }
        let rules = self.rules()?;
        let all = self.codes.to_i64_vec().ok()?;
        let length = all.len().checked_div(rules.len()).filter(|&length| length > 0)?;
        let mut codes = Vec::with_capacity(all.len());
        for (filter, unpack) in all.chunks_exact(length).zip(&rules) {
            for &code in filter {
                let level = unpack.levels.map_or(code, |levels| levels.level(code as f32).into());
                codes.push(i8::try_from(level - unpack.zero).ok()?);
            }
        }
        Some(IntegerFilters { codes, rules: rules.into_iter().map(|unpack| unpack.rule).collect() })
    }

    fn rules(&self) -> Option<Vec<Unpack>> {
        let outputs = *self.codes.dims().first()?;
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
        // Subnormal factors would be lost.
        let is_fine = |scale: f32| scale.is_normal() || scale == 0.0;
        rules.filter(|rules| rules.iter().all(|unpack| is_fine(unpack.rule.scale)))
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
    /// By filter.
    pub rules: Vec<CodeRule>,
}

impl IntegerFilters {
    /// What a code of a filter stands for.
    #[inline(always)]
    pub fn weight(&self, filter: usize, code: i8) -> f32 {
        self.rules[filter].weight(code.into())
    }
}

/// What the integers of a filter stand for: `(code + zero) * scale + low`, nearly the multiple of the scale.
#[derive(Copy, Clone)]
pub(super) struct CodeRule {
    pub zero: f32,
    pub scale: f32,
    pub low: f32,
}

impl CodeRule {
    #[inline(always)]
    pub fn weight(self, code: f32) -> f32 {
        // A product plus 0 is rounded as the product is.
        (code + self.zero).mul_add(self.scale, self.low)
    }

    /// How far weights are from the multiples, as a part of the scale. Tools write zeros that are integers but for rounding
    /// errors.
    pub fn remainder(self) -> f32 {
        if self.scale == 0.0 {
            return 0.0;
        }
        (f64::from(self.zero) + f64::from(self.low) / f64::from(self.scale)).abs() as f32
    }
}

/// How a filter is unpacked.
struct Unpack {
    /// Of which codes are the levels.
    levels: Option<Rule<f32>>,
    /// The integer that stands for 0.
    zero: i64,
    /// What codes stand for that lack it.
    rule: CodeRule,
}

impl Unpack {
    /// `(code - zero) * scale`.
    fn scale((zero, scale): (f32, f32)) -> Option<Self> {
        Self::new(None, zero.round(), CodeRule { zero: zero.round() - zero, scale, low: 0.0 })
    }

    /// The values of levels.
    fn quantize(rule: Rule<f32>) -> Option<Self> {
        let zero = (-rule.output_low / rule.step).round();
        let of_levels = CodeRule { zero, scale: rule.step, low: rule.output_low };
        Self::new(rule.is_moderate().then_some(Some(rule))?, zero, of_levels)
    }

    fn new(levels: Option<Rule<f32>>, zero: f32, rule: CodeRule) -> Option<Self> {
        let is_fine = zero.abs() <= 255.0 && rule.remainder() <= NEAR;
        is_fine.then_some(Unpack { levels, zero: zero as i64, rule })
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

//! Quantises images and matrices to the codes of a FakeQuantize, one byte each, and back.
//!
//! **Layout.** Quantised matrices are `u8` tensors with the dims of the values. Quantised images are `u32`
//! tensors `[N, C / 4, spatial..]`. An element holds the codes of four channels at one position, the first
//! channel in the lowest byte: the operand of one int8 dot product. If the number of channels is not a
//! multiple of four, the last bytes are padding.
//!
//! **Loop nest**, outer to inner: images and groups of four channels; positions.
//!
//! **Threads.** Each thread computes some positions.

use bytemuck::Pod;

use crate::buffer::Buffer;
use crate::kernels::fake_quantize::Rule;
use crate::kernels::sharing;
use crate::kernels::vectors::{I8x4Dot, Instructions, Vectorised, dispatch_best, dispatch_int8_dot};
use crate::{Dims, ElementType, Tensor, TensorError};

/// Channels in an element.
pub(super) const CHANNELS: usize = 4;

/// The maximum number of levels that fits in a byte.
pub(super) const MAX_LEVELS: usize = 256;

/// A [`fake_quantize`](super::fake_quantize) with at most 256 levels and one range, or one range per channel,
/// that produces and consumes codes: the indices of levels.
#[derive(Clone, Debug)]
pub struct Quantizer {
    /// By channel, with the last rule repeated up to a multiple of four. For matrices, there is one rule.
    rules: Vec<Rule<f32>>,
    /// The number of channels of images; `None` for matrices.
    channels: Option<usize>,
}

impl Quantizer {
    /// Channels of an image whose codes share an element. Images can be joined and split at multiples of it.
    pub const GROUP: usize = CHANNELS;

    /// A quantizer for images with `channels` channels. `None` for fewer than 2 or more than 256 levels, for
    /// ranges that vary within a channel, and for ranges that a scale and a shift cannot express.
    pub fn new(ranges: [&Tensor; 4], levels: usize, channels: usize) -> Option<Self> {
        if !(2..=MAX_LEVELS).contains(&levels) || channels == 0 {
            return None;
        }
        let by_channel = |range: &Tensor| {
            let is_f32 = range.element_type() == ElementType::F32;
            is_f32.then(|| range.broadcast_to(&[1, channels, 1, 1]).ok()?.to_f32_vec().ok())?
        };
        let [a, b, c, d] = ranges.map(by_channel);
        let (a, b, c, d) = (a?, b?, c?, d?);
        let steps = (levels - 1) as f32;
        let rule = |i: usize| {
            let i = i.min(channels - 1);
            let rule = Rule::new([a[i], b[i], c[i], d[i]], steps)?;
            rule.is_moderate().then_some(rule)
        };
        let rules: Option<Vec<_>> = (0..channels.next_multiple_of(CHANNELS)).map(rule).collect();
        Some(Self { rules: rules?, channels: Some(channels) })
    }

    /// A quantizer for matrices, or tensors of any shape. `None` as in [`Quantizer::new`], or for more than one
    /// range.
    pub fn of_elements(ranges: [&Tensor; 4], levels: usize) -> Option<Self> {
        let is_one = ranges.iter().all(|range| range.len() == 1);
        let one = is_one.then(|| Self::new(ranges, levels, 1))??;
        Some(Self { rules: vec![*one.rules.first()?], channels: None })
    }

    /// The quantizer of values that this quantizer has rounded: in images with this many channels, or
    /// otherwise in matrices. `None` if channels have different ranges.
    pub fn of_rounded(&self, channels: Option<usize>) -> Option<Self> {
        let Rule { low, high, scale, step, output_low, .. } =
            self.uniform().filter(|rule| rule.step > 0.0)?;
        let output_high = ((high - low) * scale).round().mul_add(step, output_low);
        let (scale, shift) = (step.recip(), -output_low / step);
        let rule = Rule { low: output_low, high: output_high, scale, shift, ..self.uniform()? };
        let is_supported = scale.is_finite() && rule.is_moderate();
        let rules = vec![rule; channels.map_or(1, |channels| channels.next_multiple_of(CHANNELS))];
        is_supported.then_some(Self { rules, channels })
    }

    /// Whether each code represents the same value in both quantizers, in all channels.
    pub fn has_values_of(&self, other: &Self) -> bool {
        let values = |quantizer: &Self| quantizer.uniform().map(|rule| [rule.output_low, rule.step]);
        values(self).is_some_and(|own| values(other) == Some(own))
    }

    /// The number of channels of the images. `None` if the quantizer is for matrices.
    pub fn channels(&self) -> Option<usize> {
        self.channels
    }

    /// Whether values of all channels are clamped to these bounds, or closer ones, before they are quantised.
    pub fn is_within(&self, [min, max]: [f32; 2]) -> bool {
        self.rules.iter().all(|rule| rule.low >= min && rule.high <= max)
    }

    /// Whether greater codes represent greater values.
    pub fn is_increasing(&self) -> bool {
        self.rules.iter().all(|rule| rule.step >= 0.0)
    }

    /// The rules of all channels, with the last rule repeated up to a multiple of four.
    pub(super) fn rules(&self) -> &[Rule<f32>] {
        &self.rules
    }

    /// The rule of matrices.
    pub(super) fn element_rule(&self) -> Option<Rule<f32>> {
        self.rules.first().copied().filter(|_| self.channels.is_none())
    }

    /// The rule, if all channels share it.
    pub(super) fn uniform(&self) -> Option<Rule<f32>> {
        let first = *self.rules.first()?;
        let parts = |rule: &Rule<f32>| [rule.low, rule.high, rule.step, rule.output_low];
        self.rules.iter().all(|rule| parts(rule) == parts(&first)).then_some(first)
    }

    /// The codes nearest to 0, for four channels each.
    pub(super) fn nearest_to_zero(&self) -> Vec<I8x4Dot> {
        let zero = |rule: &Rule<f32>| (-rule.output_low / rule.step).round().clamp(0.0, 255.0) as u8;
        let groups = self.rules.as_chunks::<CHANNELS>().0.iter();
        groups.map(|four| I8x4Dot(u32::from_le_bytes(four.each_ref().map(zero)))).collect()
    }

    /// Quantises an image `[N, C, height, width]`, or a matrix of any rank, of `f32` to codes.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`], [`TensorError::TypeMismatch`]; memory.
    pub fn quantize(&self, image: &Tensor) -> Result<Tensor, TensorError> {
        if let Some(rule) = self.element_rule() {
            return quantize_elements(image, rule);
        }
        let &[batch, channels, height, width] = dims_of(image)?;
        if self.channels != Some(channels) {
            return Err(self.mismatch(image));
        }
        image.expect(ElementType::F32)?;
        let image = image.contiguous();
        let (values, area, groups) = (image.as_slice::<f32>()?, height * width, channels.div_ceil(CHANNELS));
        let mut out = Buffer::any(batch * groups * area)?;
        in_planes(&mut out, area, |i, first, to| {
            let (n, group) = (i / groups, i % groups);
            let plane = |k: usize| {
                let channel = (group * CHANNELS + k).min(channels - 1);
                &values[(n * channels + channel) * area + first..][..to.len()]
            };
            let rules = std::array::from_fn(|k| self.rules[group * CHANNELS + k]);
            dispatch_int8_dot(Quantize { planes: std::array::from_fn(plane), rules, to });
        });
        Tensor::from_buffer(ElementType::U32, &[batch, groups, height, width], out)
    }

    /// Converts codes back to the values `[N, C, height, width]` that [`fake_quantize`](super::fake_quantize)
    /// returns.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`], [`TensorError::TypeMismatch`]; memory.
    pub fn dequantize(&self, codes: &Tensor) -> Result<Tensor, TensorError> {
        if let Some(rule) = self.element_rule() {
            return dequantize_elements(codes, rule);
        }
        let &[batch, groups, height, width] = dims_of(codes)?;
        let channels = self.channels.filter(|channels| groups == channels.div_ceil(CHANNELS));
        let (area, channels) = (height * width, channels.ok_or_else(|| self.mismatch(codes))?);
        let codes = codes.contiguous();
        let codes = codes.as_slice::<u32>()?;
        let mut out = Buffer::any(batch * channels * area)?;
        in_planes(&mut out, area, |i, first, to| {
            let (n, channel) = (i / channels, i % channels);
            let codes = &codes[(n * groups + channel / CHANNELS) * area + first..][..to.len()];
            let shift = 8 * (channel % CHANNELS) as u32;
            dispatch_int8_dot(Dequantize { codes, shift, rule: self.rules[channel], to });
        });
        Tensor::from_buffer(ElementType::F32, &[batch, channels, height, width], out)
    }

    /// Whether [`Quantizer::add`] can add codes of these quantizers.
    pub fn is_addable(parts: [&Self; 2], sum: &Self) -> bool {
        let all = [parts[0], parts[1], sum];
        let is_supported = |of: &&Self| of.uniform().is_some() && of.channels == sum.channels;
        sum.channels.is_some() && all.iter().all(is_supported)
    }

    /// Adds two quantised images of the same size and quantises the sum. All three have one range for all
    /// channels.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`], [`TensorError::TypeMismatch`]; memory.
    pub fn add(parts: [(&Self, &Tensor); 2], sum: &Self) -> Result<Tensor, TensorError> {
        let [a, b] = parts.map(|(_, codes)| codes.contiguous());
        if a.dims() != b.dims() {
            return Err(TensorError::mismatch("cannot add codes of {} to codes of {}", a.dims(), b.dims()));
        }
        let rules = [parts[0].0, parts[1].0, sum].map(Self::uniform);
        let [Some(left), Some(right), Some(sum)] = rules else {
            return Err(TensorError::argument("cannot add codes with one range per channel"));
        };
        let parts = [a.as_slice::<u32>()?, b.as_slice::<u32>()?];
        let mut out: Buffer<u32> = Buffer::any(a.len())?;
        sharing::in_parts(&mut out, 1, sharing::ELEMENTS / CHANNELS, |first, to| {
            let parts = parts.map(|part| bytemuck::cast_slice(&part[first..][..to.len()]));
            dispatch_int8_dot(Sum { parts, rules: [left, right], sum, to: bytemuck::cast_slice_mut(to) });
        });
        Tensor::from_buffer(ElementType::U32, &Dims::from_slice(a.dims()), out)
    }

    fn mismatch(&self, image: &Tensor) -> TensorError {
        TensorError::mismatch(
            "cannot quantize {} by a range of channels {}",
            image.dims(),
            self.channels.as_slice(),
        )
    }
}

fn quantize_elements(values: &Tensor, rule: Rule<f32>) -> Result<Tensor, TensorError> {
    let values = values.contiguous();
    let (all, mut out) = (values.as_slice::<f32>()?, Buffer::any(values.len())?);
    sharing::in_parts(&mut out, 1, sharing::ELEMENTS, |first, to| {
        dispatch_best(ToCodes { values: &all[first..][..to.len()], rule, to });
    });
    Tensor::from_buffer(ElementType::U8, values.dims(), out)
}

fn dequantize_elements(codes: &Tensor, rule: Rule<f32>) -> Result<Tensor, TensorError> {
    let codes = codes.contiguous();
    let (all, mut out) = (codes.as_slice::<u8>()?, Buffer::any(codes.len())?);
    sharing::in_parts(&mut out, 1, sharing::ELEMENTS, |first, to| {
        dispatch_best(ToValues { codes: &all[first..][..to.len()], rule, to });
    });
    Tensor::from_buffer(ElementType::F32, codes.dims(), out)
}

fn dims_of(image: &Tensor) -> Result<&[usize; 4], TensorError> {
    let refuse = || TensorError::argument(format!("has {} axes, expected an image of 4", image.rank()));
    image.dims().try_into().map_err(|_| refuse())
}

/// Splits a result of planes of `area` elements among the threads. Calls `each` with the index of a plane,
/// the start of a piece in it, and the piece.
fn in_planes<T: Pod>(out: &mut [T], area: usize, each: impl Fn(usize, usize, &mut [T]) + Send + Sync) {
    sharing::in_parts(out, 1, sharing::ELEMENTS / CHANNELS, |mut first, mut part| {
        while !part.is_empty() {
            let start = first % area;
            let (piece, rest) = part.split_at_mut(part.len().min(area - start));
            (first, part) = (first + piece.len(), rest);
            each((first - 1) / area, start, piece);
        }
    });
}

/// Quantises elements by one rule.
struct ToCodes<'a> {
    values: &'a [f32],
    rule: Rule<f32>,
    to: &'a mut [u8],
}

impl Vectorised for ToCodes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        self.to.iter_mut().zip(self.values).for_each(|(to, &x)| *to = self.rule.level(x) as u8);
    }
}

/// Converts codes to values by one rule.
struct ToValues<'a> {
    codes: &'a [u8],
    rule: Rule<f32>,
    to: &'a mut [f32],
}

impl Vectorised for ToValues<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        self.to.iter_mut().zip(self.codes).for_each(|(to, &code)| *to = self.rule.value(code.into()));
    }
}

/// Quantises four channels.
struct Quantize<'a> {
    planes: [&'a [f32]; CHANNELS],
    rules: [Rule<f32>; CHANNELS],
    to: &'a mut [I8x4Dot],
}

impl Vectorised for Quantize<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let ([a, b, c, d], [ra, rb, rc, rd]) = (self.planes, self.rules);
        for ((((to, &a), &b), &c), &d) in self.to.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *to = I8x4Dot(ra.level(a) | rb.level(b) << 8 | rc.level(c) << 16 | rd.level(d) << 24);
        }
    }
}

/// Converts the codes of one channel to values.
struct Dequantize<'a> {
    codes: &'a [u32],
    /// The position of the channel's byte, in bits.
    shift: u32,
    rule: Rule<f32>,
    to: &'a mut [f32],
}

impl Vectorised for Dequantize<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { codes, shift, rule, to } = self;
        for (to, code) in to.iter_mut().zip(codes) {
            *to = rule.value(((code >> shift) & 0xff) as f32);
        }
    }
}

/// Adds codes.
struct Sum<'a> {
    parts: [&'a [u8]; 2],
    rules: [Rule<f32>; 2],
    sum: Rule<f32>,
    to: &'a mut [u8],
}

impl Vectorised for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let ([a, b], [left, right]) = (self.parts, self.rules);
        for ((to, &a), &b) in self.to.iter_mut().zip(a).zip(b) {
            let sum = left.value(f32::from(a)) + right.value(f32::from(b));
            *to = self.sum.level(sum) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{BinaryOp, fake_quantize};

    fn image(channels: usize, seed: usize) -> Tensor {
        let len = 2 * channels * 35;
        let values = (0..len).map(|i| ((i * 7919 + seed * 31) % 1009) as f32 / 200.0 - 2.5).collect();
        Tensor::from_vec(&[2, channels, 5, 7], values).unwrap()
    }

    /// Different ranges for each channel.
    fn ranges(channels: usize) -> [Tensor; 4] {
        let low: Vec<f32> = (0..channels).map(|c| -1.1 - c as f32 / 7.0).collect();
        let high: Vec<f32> = (0..channels).map(|c| 1.3 + c as f32 / 5.0).collect();
        [&low, &high, &low, &high].map(|ends| Tensor::from_vec(&[1, channels, 1, 1], ends.clone()).unwrap())
    }

    #[test]
    fn levels_have_the_values_of_fake_quantize() {
        for (channels, levels) in [(1, 256), (3, 256), (8, 255), (6, 2)] {
            let x = image(channels, 1);
            for [a, b, c, d] in [ranges(1), ranges(channels)] {
                let ends = [&a, &b, &c, &d];
                let quantizer = Quantizer::new(ends, levels, channels).unwrap();
                let codes = quantizer.quantize(&x).unwrap();
                assert_eq!(codes.dims(), [2, channels.div_ceil(4), 5, 7]);
                let expected = fake_quantize(&x, ends, levels).unwrap();
                assert_eq!(quantizer.dequantize(&codes).unwrap(), expected);
            }
        }
    }

    #[test]
    fn sums_have_the_levels_of_the_sum_of_values() {
        let [[a, b, c, d], [low, high, ..]] = [ranges(1), [-3.0f32, 2.5, 0.0, 0.0].map(Tensor::scalar)];
        let part = Quantizer::new([&a, &b, &c, &d], 256, 6).unwrap();
        let sum = Quantizer::new([&low, &high, &low, &high], 256, 6).unwrap();
        let (x, y) = (image(6, 1), image(6, 2));
        let [left, right] = [&x, &y].map(|x| fake_quantize(x, [&a, &b, &c, &d], 256).unwrap());
        let expected = BinaryOp::Add.apply(&left, &right).unwrap();
        let expected = fake_quantize(&expected, [&low, &high, &low, &high], 256).unwrap();
        let [x, y] = [x, y].map(|x| part.quantize(&x).unwrap());
        let added = Quantizer::add([(&part, &x), (&part, &y)], &sum).unwrap();
        assert_eq!(sum.dequantize(&added).unwrap(), expected);
    }

    /// Quantised values may be quantised again, in any layout: their codes stay the same.
    #[test]
    fn rounded_values_keep_their_codes() {
        let [input_low, input_high, low, high] = [-1.3f32, 2.9, -0.31, 0.77].map(Tensor::scalar);
        let images = Quantizer::new([&input_low, &input_high, &low, &high], 255, 8).unwrap();
        let codes = images.quantize(&image(8, 1)).unwrap();
        let values = images.dequantize(&codes).unwrap();
        let again = images.of_rounded(Some(8)).unwrap();
        assert_eq!(again.quantize(&values).unwrap(), codes);
        assert!(again.has_values_of(&images) && images.has_values_of(&again));
        let elements = images.of_rounded(None).unwrap();
        let quantized = elements.quantize(&values).unwrap();
        assert_eq!(quantized.dims(), values.dims());
        assert_eq!(elements.dequantize(&quantized).unwrap(), values);
        let first = codes.as_slice::<u32>().unwrap()[0] & 0xff;
        assert_eq!(u32::from(quantized.as_slice::<u8>().unwrap()[0]), first);
        let other = Quantizer::new([&low, &high, &low, &high], 256, 8).unwrap();
        assert!(!other.has_values_of(&images));
        let [a, b, c, d] = ranges(8);
        let by_channel = Quantizer::new([&a, &b, &c, &d], 256, 8).unwrap();
        assert!(by_channel.of_rounded(Some(8)).is_none() && !by_channel.has_values_of(&by_channel));
    }

    #[test]
    fn other_ranges_are_declined() {
        let [one, two, far] = [1.0f32, 2.0, 1e6].map(Tensor::scalar);
        let further = Tensor::scalar(1e6f32 + 1.0);
        assert!(Quantizer::new([&one, &two, &one, &two], 256, 3).is_some());
        assert!(Quantizer::new([&one, &two, &one, &two], 257, 3).is_none());
        assert!(Quantizer::new([&two, &one, &one, &two], 256, 3).is_none());
        assert!(Quantizer::new([&far, &further, &one, &two], 256, 3).is_none());
        let by_column = Tensor::full(&[1, 1, 1, 5], 3f32).unwrap();
        assert!(Quantizer::new([&one, &by_column, &one, &two], 256, 3).is_none());
    }
}

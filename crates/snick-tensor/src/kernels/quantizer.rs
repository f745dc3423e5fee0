//! Values of a FakeQuantize as the numbers of their levels, a byte each.
//!
//! Images of levels are tensors of `u32` `[N, C / 4, spatial..]`: an element has the levels of four channels at one
//! position, the first channel in its lowest byte. That is what one instruction multiplies and sums. Where the channels
//! are no multiple of four, the last bytes have no meaning.

use crate::buffer::Buffer;
use crate::kernels::fake_quantize::Rule;
use crate::kernels::sharing;
use crate::kernels::vectors::{I8x4Dot, Instructions, Vectorised, dispatch_int8_dot};
use crate::{Dims, ElementType, Tensor, TensorError};

/// Channels of an element.
pub(super) const CHANNELS: usize = 4;

/// The numbers of more levels are no bytes.
pub(super) const MOST_LEVELS: usize = 256;

/// Images of fewer elements are not distributed to threads.
const SHARED: usize = 1 << 16;

/// A [`fake_quantize`](super::fake_quantize) of at most 256 levels and one range, or one a channel, that gives and takes
/// the numbers of the levels.
#[derive(Clone, Debug)]
pub struct Quantizer {
    /// By channel; the last one is repeated to a multiple of four.
    rules: Vec<Rule<f32>>,
    channels: usize,
}

impl Quantizer {
    /// The quantizer of images of so many channels. `None` for more levels, other ranges, and ranges that are not applied
    /// by their scale and shift.
    pub fn new(ranges: [&Tensor; 4], levels: usize, channels: usize) -> Option<Self> {
        if !(2..=MOST_LEVELS).contains(&levels) || channels == 0 {
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
        Some(Self { rules: rules?, channels })
    }

    /// Channels of the images.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Whether greater levels have greater values.
    pub fn is_increasing(&self) -> bool {
        self.rules.iter().all(|rule| rule.step >= 0.0)
    }

    /// The rules of all channels, the last one repeated to a multiple of four.
    pub(super) fn rules(&self) -> &[Rule<f32>] {
        &self.rules
    }

    /// The rule of all channels, if they have one.
    pub(super) fn uniform(&self) -> Option<Rule<f32>> {
        let first = *self.rules.first()?;
        let parts = |rule: &Rule<f32>| [rule.low, rule.high, rule.step, rule.output_low];
        self.rules.iter().all(|rule| parts(rule) == parts(&first)).then_some(first)
    }

    /// The levels nearest to 0, of four channels each.
    pub(super) fn nearest_to_zero(&self) -> Vec<I8x4Dot> {
        let zero = |rule: &Rule<f32>| (-rule.output_low / rule.step).round().clamp(0.0, 255.0) as u8;
        let groups = self.rules.as_chunks::<CHANNELS>().0.iter();
        groups.map(|four| I8x4Dot(u32::from_le_bytes(four.each_ref().map(zero)))).collect()
    }

    /// The levels of an image `[N, C, height, width]` of `f32`.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`], [`TensorError::TypeMismatch`]; memory.
    pub fn quantize(&self, image: &Tensor) -> Result<Tensor, TensorError> {
        let &[batch, channels, height, width] = dims_of(image)?;
        if channels != self.channels {
            return Err(self.mismatch(image));
        }
        image.expect(ElementType::F32)?;
        let image = image.contiguous();
        let (values, area, groups) = (image.as_slice::<f32>()?, height * width, channels.div_ceil(CHANNELS));
        let mut out = Buffer::any(batch * groups * area)?;
        if area > 0 {
            for_each_group(&mut out, area, |i, to| {
                let (n, group) = (i / groups, i % groups);
                let plane = |k: usize| {
                    let channel = (group * CHANNELS + k).min(channels - 1);
                    &values[(n * channels + channel) * area..][..area]
                };
                let rules = std::array::from_fn(|k| self.rules[group * CHANNELS + k]);
                dispatch_int8_dot(ToLevels { planes: std::array::from_fn(plane), rules, to });
            });
        }
        Tensor::from_buffer(ElementType::U32, &[batch, groups, height, width], out)
    }

    /// The values `[N, C, height, width]` of an image of levels, as [`fake_quantize`](super::fake_quantize) gives them.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`], [`TensorError::TypeMismatch`]; memory.
    pub fn dequantize(&self, levels: &Tensor) -> Result<Tensor, TensorError> {
        let &[batch, groups, height, width] = dims_of(levels)?;
        if groups != self.channels.div_ceil(CHANNELS) {
            return Err(self.mismatch(levels));
        }
        let (area, channels) = (height * width, self.channels);
        let quads = levels.as_slice::<u32>()?;
        let mut out = Buffer::any(batch * channels * area)?;
        if area > 0 {
            for_each_group(&mut out, area, |i, to| {
                let (n, channel) = (i / channels, i % channels);
                let quads = &quads[(n * groups + channel / CHANNELS) * area..][..area];
                let shift = 8 * (channel % CHANNELS) as u32;
                dispatch_int8_dot(ToValues { quads, shift, rule: self.rules[channel], to });
            });
        }
        Tensor::from_buffer(ElementType::F32, &[batch, channels, height, width], out)
    }

    /// Whether [`Quantizer::add`] can add levels of these quantizers.
    pub fn is_addable(parts: [&Self; 2], sum: &Self) -> bool {
        let all = [parts[0], parts[1], sum];
        all.iter().all(|quantizer| quantizer.uniform().is_some() && quantizer.channels == sum.channels)
    }

    /// The levels of the sum of two images of levels of the same size. All have one range, not one a channel.
    ///
    /// # Errors
    /// [`TensorError::ShapeMismatch`], [`TensorError::TypeMismatch`]; memory.
    pub fn add(parts: [(&Self, &Tensor); 2], sum: &Self) -> Result<Tensor, TensorError> {
        let [(_, a), (_, b)] = parts;
        if a.dims() != b.dims() {
            return Err(TensorError::mismatch("cannot add levels of {} to those of {}", a.dims(), b.dims()));
        }
        let rules = [parts[0].0, parts[1].0, sum].map(Self::uniform);
        let [Some(left), Some(right), Some(sum)] = rules else {
            return Err(TensorError::argument("cannot add levels of several ranges"));
        };
        let parts = [a.as_slice::<u32>()?, b.as_slice::<u32>()?];
        let mut out: Buffer<u32> = Buffer::any(a.len())?;
        let each = a.len().div_ceil(CHANNELS).max(1);
        for_each_group(&mut out, each, |i, to| {
            let parts = parts.map(|part| bytemuck::cast_slice(&part[i * each..][..to.len()]));
            dispatch_int8_dot(Sum { parts, rules: [left, right], sum, to: bytemuck::cast_slice_mut(to) });
        });
        Tensor::from_buffer(ElementType::U32, &Dims::from_slice(a.dims()), out)
    }

    fn mismatch(&self, image: &Tensor) -> TensorError {
        TensorError::mismatch("cannot quantize {} by a range of channels {}", image.dims(), &[self.channels])
    }
}

fn dims_of(image: &Tensor) -> Result<&[usize; 4], TensorError> {
    let refuse = || TensorError::argument(format!("has {} axes, expected an image of 4", image.rank()));
    image.dims().try_into().map_err(|_| refuse())
}

/// Calls `each` with every part of `len` elements of the result and its number, on all threads if there is work for them.
fn for_each_group<T: Send>(out: &mut [T], len: usize, each: impl Fn(usize, &mut [T]) + Send + Sync) {
    if sharing::is_shared() && out.len() >= SHARED {
        sharing::for_each(out.chunks_mut(len).enumerate(), |(i, part)| each(i, part));
    } else {
        out.chunks_mut(len).enumerate().for_each(|(i, part)| each(i, part));
    }
}

/// Levels of four channels.
struct ToLevels<'a> {
    planes: [&'a [f32]; CHANNELS],
    rules: [Rule<f32>; CHANNELS],
    to: &'a mut [I8x4Dot],
}

impl Vectorised for ToLevels<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let ([a, b, c, d], [ra, rb, rc, rd]) = (self.planes, self.rules);
        for ((((to, &a), &b), &c), &d) in self.to.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *to = I8x4Dot(ra.level(a) | rb.level(b) << 8 | rc.level(c) << 16 | rd.level(d) << 24);
        }
    }
}

/// The values of one channel.
struct ToValues<'a> {
    quads: &'a [u32],
    /// Bits below the level of the channel.
    shift: u32,
    rule: Rule<f32>,
    to: &'a mut [f32],
}

impl Vectorised for ToValues<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Self { quads, shift, rule, to } = self;
        for (to, quad) in to.iter_mut().zip(quads) {
            *to = rule.value(((quad >> shift) & 0xff) as f32);
        }
    }
}

/// The levels of sums.
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

    /// Ranges of so many channels.
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
                let quads = quantizer.quantize(&x).unwrap();
                assert_eq!(quads.dims(), [2, channels.div_ceil(4), 5, 7]);
                let expected = fake_quantize(&x, ends, levels).unwrap();
                assert_eq!(quantizer.dequantize(&quads).unwrap(), expected);
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

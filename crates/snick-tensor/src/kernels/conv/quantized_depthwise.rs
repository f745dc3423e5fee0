//! One integer filter a channel over levels. Four channels at a time are widened to floats, in which sums of so few
//! products are exact, and filters slide over them as over those of floats.

use super::images::Channels;
use super::planes::Cuts;
use super::quantized::Rescaling;
use crate::TensorError;
use crate::buffer::filled;
use crate::kernels::fake_quantize::Rule;
use crate::kernels::quantizer::CHANNELS;
use crate::kernels::sharing;
use crate::kernels::vectors::{Instructions, Quad, Vector, Vectorised, widest};

/// Lanes of the longest vector.
const LANES: usize = 16;

/// The number of vectors of sums per step.
const SUMS: usize = 8;

/// Positions that may be read and written beyond the last one.
const SLACK: usize = SUMS * LANES / CHANNELS;

/// Fewer multiplications are not distributed to threads.
const SHARED: usize = 1 << 18;

/// Filters, by four channels and tap: the codes of the channels, repeated to a vector.
pub(super) struct Depthwise {
    filters: Vec<[f32; LANES]>,
    taps: usize,
}

/// The numbers of four channels, repeated to a vector.
fn repeated(of: impl Fn(usize) -> f32) -> [f32; LANES] {
    std::array::from_fn(|lane| of(lane % CHANNELS))
}

impl Depthwise {
    /// Of filters `[channels, taps]`.
    pub fn new(codes: &[i8], taps: usize) -> Self {
        let code =
            |channel: usize, tap: usize| codes.get(channel * taps + tap).map_or(0.0, |&code| f32::from(code));
        let groups = (codes.len() / taps).div_ceil(CHANNELS);
        let each = (0..groups).flat_map(|group| (0..taps).map(move |tap| (group, tap)));
        let filters = each.map(|(group, tap)| repeated(|k| code(group * CHANNELS + k, tap))).collect();
        Self { filters, taps }
    }

    /// The levels of all windows; `out` gives the windows of four channels at a time.
    pub fn levels<'o>(
        &self,
        cuts: &Cuts,
        image: Channels<Quad>,
        padding: impl Fn(usize) -> Quad + Sync,
        rescaling: &Rescaling,
        out: impl Iterator<Item = &'o mut [Quad]>,
    ) -> Result<(), TensorError> {
        let Some(rules) = &rescaling.rules else { return Ok(()) };
        self.slide(cuts, image, padding, rescaling, out, |group, results, out| {
            let mut quads = filled(cuts.positions + SLACK, Quad::default())?;
            let rules = std::array::from_fn(|k| rules[group * CHANNELS + k]);
            widest(ToLevels { results, rules, to: bytemuck::cast_slice_mut(&mut quads) });
            cuts.place(out, &quads);
            Ok(())
        })
    }

    /// The results at all windows; `out` gives the windows of up to four channels at a time, one after the other.
    pub fn floats<'o>(
        &self,
        cuts: &Cuts,
        image: Channels<Quad>,
        padding: impl Fn(usize) -> Quad + Sync,
        rescaling: &Rescaling,
        out: impl Iterator<Item = &'o mut [f32]>,
    ) -> Result<(), TensorError> {
        self.slide(cuts, image, padding, rescaling, out, |_, results, out| {
            let windows = cuts.windows();
            let mut plane = filled(cuts.positions, 0f32)?;
            for (k, out) in out.chunks_exact_mut(windows).enumerate() {
                for (to, four) in plane.iter_mut().zip(results.chunks_exact(CHANNELS)) {
                    *to = four[k];
                }
                cuts.place(out, &plane);
            }
            Ok(())
        })
    }

    /// Gives the results at all positions, by position and channel, of each four channels to `write`.
    fn slide<'o, T: Send + 'o>(
        &self,
        cuts: &Cuts,
        image: Channels<Quad>,
        padding: impl Fn(usize) -> Quad + Sync,
        rescaling: &Rescaling,
        out: impl Iterator<Item = &'o mut [T]>,
        write: impl Fn(usize, &[f32], &mut [T]) -> Result<(), TensorError> + Sync,
    ) -> Result<(), TensorError> {
        let starts: Vec<usize> = cuts.starts().iter().map(|start| start * CHANNELS).collect();
        let some = |group: usize, out: &mut [T], memory: &mut Memory| {
            cuts.cut(&image.part(group..group + 1), padding(group), &mut memory.quads[..cuts.len]);
            let first = group * CHANNELS;
            widest(Slide {
                filter: &self.filters[group * self.taps..][..self.taps],
                starts: &starts,
                factors: repeated(|k| rescaling.factors[first + k]),
                offsets: repeated(|k| rescaling.offsets[first + k]),
                memory,
                len: cuts.positions * CHANNELS,
            });
            write(group, &memory.results, out)
        };
        if sharing::is_shared() && self.filters.len().saturating_mul(cuts.positions) >= SHARED / LANES {
            return sharing::try_for_each(out.enumerate(), |(group, out)| {
                some(group, out, &mut Memory::new(cuts)?)
            });
        }
        let mut memory = Memory::new(cuts)?;
        out.enumerate().try_for_each(|(group, out)| some(group, out, &mut memory))
    }
}

/// What the channels of one group need, reused for the next.
struct Memory {
    quads: Vec<Quad>,
    /// The same as floats.
    planes: Vec<f32>,
    results: Vec<f32>,
}

impl Memory {
    fn new(cuts: &Cuts) -> Result<Self, TensorError> {
        let len = cuts.len + SLACK;
        Ok(Self {
            quads: filled(len, Quad::default())?,
            planes: filled(len * CHANNELS, 0.0)?,
            results: filled((cuts.positions + SLACK) * CHANNELS, 0.0)?,
        })
    }
}

/// The filters of four channels over their planes.
struct Slide<'a> {
    filter: &'a [[f32; LANES]],
    /// The offset of each tap for the first window, in floats.
    starts: &'a [usize],
    factors: [f32; LANES],
    offsets: [f32; LANES],
    memory: &'a mut Memory,
    /// The number of results.
    len: usize,
}

impl Vectorised for Slide<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Memory { quads, planes, results } = self.memory;
        for (to, &level) in planes.iter_mut().zip(bytemuck::cast_slice::<Quad, u8>(quads)) {
            *to = f32::from(level);
        }
        let lanes = I::F32::LANES;
        let factors = [I::F32::load(&self.factors), I::F32::load(&self.offsets)];
        for at in (0..self.len).step_by(SUMS * lanes) {
            let (planes, results) = (&planes[at..], &mut results[at..]);
            match (self.len - at).div_ceil(lanes) {
                1..=2 => slide::<I, 2>(self.filter, self.starts, factors, planes, results),
                3..=4 => slide::<I, 4>(self.filter, self.starts, factors, planes, results),
                _ => slide::<I, SUMS>(self.filter, self.starts, factors, planes, results),
            }
        }
    }
}

/// The first results, `COUNT` vectors of them.
#[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
#[inline(always)]
fn slide<I: Instructions, const COUNT: usize>(
    filter: &[[f32; LANES]],
    starts: &[usize],
    [factors, offsets]: [I::F32; 2],
    planes: &[f32],
    to: &mut [f32],
) {
    let lanes = I::F32::LANES;
    let mut sums = [I::F32::splat(0.0); COUNT];
    for (codes, &start) in filter.iter().zip(starts) {
        let codes = I::F32::load(codes);
        let Some(line) = planes.get(start..start + COUNT * lanes) else { return };
        for i in 0..COUNT {
            sums[i] = codes.multiply_add(I::F32::load(&line[i * lanes..]), sums[i]);
        }
    }
    let Some(to) = to.get_mut(..COUNT * lanes) else { return };
    for i in 0..COUNT {
        sums[i].multiply_add(factors, offsets).store(&mut to[i * lanes..]);
    }
}

/// Results of four channels as levels.
struct ToLevels<'a> {
    results: &'a [f32],
    rules: [Rule<f32>; CHANNELS],
    to: &'a mut [u8],
}

impl Vectorised for ToLevels<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let rules: [Rule<f32>; LANES] = std::array::from_fn(|lane| self.rules[lane % CHANNELS]);
        let (lows, highs) = (rules.map(|rule| rule.low), rules.map(|rule| rule.high));
        let (scales, shifts) = (rules.map(|rule| rule.scale), rules.map(|rule| rule.shift));
        let (results, to) = (self.results.as_chunks::<LANES>().0, self.to.as_chunks_mut::<LANES>().0);
        for (to, results) in to.iter_mut().zip(results) {
            for i in 0..LANES {
                let rule =
                    Rule { low: lows[i], high: highs[i], scale: scales[i], shift: shifts[i], ..rules[0] };
                to[i] = rule.level(results[i]) as u8;
            }
        }
    }
}

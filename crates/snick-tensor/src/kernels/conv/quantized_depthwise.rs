//! One integer filter a channel over levels. Four channels at a time become floats, and filters slide over them with the
//! same operations as over those of any image.

use super::images::Channels;
use super::planes::Cuts;
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

/// Groups of four channels per task of a thread.
const AT_ONCE: usize = 4;

/// Elements that become floats, and are scaled while they are in the innermost cache.
const STRIP: usize = 4096;

/// The numbers of four channels, repeated to a vector.
type Lanes = [f32; LANES];

/// Filters of all channels.
pub(super) struct Depthwise {
    /// By four channels and tap.
    filters: Vec<Lanes>,
    taps: usize,
    /// By four channels.
    groups: Vec<Group>,
}

/// What four channels have in common.
struct Group {
    biases: Lanes,
    /// Of the levels of the input, and of the results.
    input: Rules,
    results: Rules,
}

/// The parts of rules, by lane.
#[derive(Copy, Clone)]
struct Rules {
    lows: Lanes,
    highs: Lanes,
    scales: Lanes,
    shifts: Lanes,
    steps: Lanes,
    output_lows: Lanes,
}

fn repeated(of: impl Fn(usize) -> f32) -> Lanes {
    std::array::from_fn(|lane| of(lane % CHANNELS))
}

impl Rules {
    /// Of four rules.
    fn new(rules: &[Rule<f32>]) -> Self {
        Self {
            lows: repeated(|k| rules[k].low),
            highs: repeated(|k| rules[k].high),
            scales: repeated(|k| rules[k].scale),
            shifts: repeated(|k| rules[k].shift),
            steps: repeated(|k| rules[k].step),
            output_lows: repeated(|k| rules[k].output_low),
        }
    }

    #[inline(always)]
    fn rule(&self, lane: usize) -> Rule<f32> {
        Rule {
            low: self.lows[lane],
            high: self.highs[lane],
            scale: self.scales[lane],
            shift: self.shifts[lane],
            step: self.steps[lane],
            output_low: self.output_lows[lane],
        }
    }
}

impl Depthwise {
    /// Of filters `[channels, taps]`, and rules of input and results, of a multiple of four channels.
    pub fn new(
        weights: &[f32],
        taps: usize,
        input: &[Rule<f32>],
        biases: &[f32],
        results: &[Rule<f32>],
    ) -> Self {
        let weight = |channel: usize, tap: usize| weights.get(channel * taps + tap).copied().unwrap_or(0.0);
        let bias = |channel: usize| biases.get(channel).copied().unwrap_or(0.0);
        let count = biases.len().div_ceil(CHANNELS);
        let each = (0..count).flat_map(|group| (0..taps).map(move |tap| (group, tap)));
        let filters = each.map(|(group, tap)| repeated(|k| weight(group * CHANNELS + k, tap))).collect();
        let rules = input.chunks_exact(CHANNELS).zip(results.chunks_exact(CHANNELS));
        let groups = rules.enumerate().map(|(i, (input, results))| Group {
            biases: repeated(|k| bias(i * CHANNELS + k)),
            input: Rules::new(input),
            results: Rules::new(results),
        });
        Self { filters, taps, groups: groups.collect() }
    }

    /// The levels of all windows; `out` gives the windows of four channels at a time.
    pub fn slide<'o>(
        &self,
        cuts: &Cuts,
        image: Channels<Quad>,
        padding: impl Fn(usize) -> Quad + Sync,
        out: impl Iterator<Item = &'o mut [Quad]>,
    ) -> Result<(), TensorError> {
        let starts: Vec<usize> = cuts.starts().iter().map(|start| start * CHANNELS).collect();
        let one = |group: usize, out: &mut [Quad], memory: &mut Memory| {
            cuts.cut(&image.part(group..group + 1), padding(group), &mut memory.quads[..cuts.len]);
            widest(Slide {
                filter: &self.filters[group * self.taps..][..self.taps],
                group: &self.groups[group],
                starts: &starts,
                memory,
                len: cuts.positions * CHANNELS,
            });
            cuts.place(out, &memory.results);
        };
        let some = |(first, out): (usize, &mut [&mut [Quad]])| {
            let mut memory = Memory::new(cuts)?;
            for (group, out) in (first * AT_ONCE..).zip(out) {
                one(group, out, &mut memory);
            }
            Ok(())
        };
        let mut out: Vec<_> = out.collect();
        if sharing::is_shared() && self.filters.len().saturating_mul(cuts.positions) >= SHARED / CHANNELS {
            return sharing::try_for_each(out.chunks_mut(AT_ONCE).enumerate(), some);
        }
        some((0, &mut out))
    }
}

/// What the channels of one group need, reused for the next.
struct Memory {
    quads: Vec<Quad>,
    /// The same as floats.
    planes: Vec<f32>,
    results: Vec<Quad>,
}

impl Memory {
    fn new(cuts: &Cuts) -> Result<Self, TensorError> {
        let len = cuts.len + SLACK;
        Ok(Self {
            quads: filled(len, Quad::default())?,
            planes: filled(len * CHANNELS, 0.0)?,
            results: filled(cuts.positions + SLACK, Quad::default())?,
        })
    }
}

/// The filters of four channels over their planes.
struct Slide<'a> {
    filter: &'a [Lanes],
    group: &'a Group,
    /// The offset of each tap for the first window, in floats.
    starts: &'a [usize],
    memory: &'a mut Memory,
    /// The number of results.
    len: usize,
}

impl Vectorised for Slide<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Memory { quads, planes, results } = self.memory;
        let lanes = I::F32::LANES;
        let input = &self.group.input;
        let (steps, lows) = (I::F32::load(&input.steps), I::F32::load(&input.output_lows));
        let levels: &[u8] = bytemuck::cast_slice(quads);
        for (to, levels) in planes.chunks_mut(STRIP).zip(levels.chunks(STRIP)) {
            for (to, &level) in to.iter_mut().zip(levels) {
                *to = f32::from(level);
            }
            for to in to.chunks_exact_mut(lanes) {
                I::F32::load(to).multiply_add(steps, lows).store(to);
            }
        }
        let results: &mut [u8] = bytemuck::cast_slice_mut(results);
        let mut sums = [0f32; SUMS * LANES];
        let biases = I::F32::load(&self.group.biases);
        // Local variables, which nothing that is written may overlap.
        let rules = self.group.results;
        for at in (0..self.len).step_by(SUMS * lanes) {
            slide::<I>(self.filter, self.starts, &planes[at..], biases, &mut sums);
            let results = results[at..].as_chunks_mut::<LANES>().0.iter_mut();
            for (to, sums) in results.zip(sums[..SUMS * lanes].as_chunks::<LANES>().0) {
                let mut levels = [0u8; LANES];
                for i in 0..LANES {
                    levels[i] = rules.rule(i).level(sums[i]) as u8;
                }
                *to = levels;
            }
        }
    }
}

/// The first sums of products, and the bias.
#[allow(clippy::needless_range_loop, reason = "only loops over indices are unrolled in time")]
#[inline(always)]
fn slide<I: Instructions>(
    filter: &[Lanes],
    starts: &[usize],
    planes: &[f32],
    biases: I::F32,
    to: &mut [f32; SUMS * LANES],
) {
    let lanes = I::F32::LANES;
    let mut sums = [I::F32::splat(0.0); SUMS];
    for (weights, &start) in filter.iter().zip(starts) {
        let weights = I::F32::load(weights);
        let Some(line) = planes.get(start..start + SUMS * lanes) else { return };
        for i in 0..SUMS {
            sums[i] = weights.multiply_add(I::F32::load(&line[i * lanes..]), sums[i]);
        }
    }
    for i in 0..SUMS {
        sums[i].plus(biases).store(&mut to[i * lanes..]);
    }
}

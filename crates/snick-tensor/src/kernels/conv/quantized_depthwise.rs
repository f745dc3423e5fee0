//! One integer filter a channel over levels. Four channels at a time become floats, and filters slide over them with the
//! same operations as over those of any image.

use std::ops::Range;

use super::after_sums::{AfterSum, BentLine};
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

/// Positions that are worked on together, and how many times as many as what they read beyond themselves: their floats stay
/// in the innermost cache.
const STRIP: usize = 512;
const TIMES: usize = 4;

/// Fewer multiplications are not distributed to threads.
const SHARED: usize = 1 << 18;

/// Groups of four channels per task of a thread.
const AT_ONCE: usize = 4;

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
    /// Slopes, scales and shifts of lines, if any is another than the identity.
    lines: Option<[Lanes; 3]>,
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
    fn new(rule: impl Fn(usize) -> Rule<f32>) -> Self {
        Self {
            lows: repeated(|k| rule(k).low),
            highs: repeated(|k| rule(k).high),
            scales: repeated(|k| rule(k).scale),
            shifts: repeated(|k| rule(k).shift),
            steps: repeated(|k| rule(k).step),
            output_lows: repeated(|k| rule(k).output_low),
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
    /// Of filters `[channels, taps]`; rules of the input, and what follows the sums, of a multiple of four channels.
    pub fn new(weights: &[f32], taps: usize, input: &[Rule<f32>], after: &[AfterSum]) -> Self {
        let weight = |channel: usize, tap: usize| weights.get(channel * taps + tap).copied().unwrap_or(0.0);
        let count = after.len() / CHANNELS;
        let each = (0..count).flat_map(|group| (0..taps).map(move |tap| (group, tap)));
        let filters = each.map(|(group, tap)| repeated(|k| weight(group * CHANNELS + k, tap))).collect();
        let groups = input.chunks_exact(CHANNELS).zip(after.chunks_exact(CHANNELS)).map(|(input, after)| {
            let is_bent = after.iter().any(|after| after.line != BentLine::IDENTITY);
            let part = |part: fn(BentLine) -> f32| repeated(|k| part(after[k].line));
            Group {
                biases: repeated(|k| after[k].bias),
                lines: is_bent
                    .then(|| [part(|line| line.slope), part(|line| line.scale), part(|line| line.shift)]),
                input: Rules::new(|k| input[k]),
                results: Rules::new(|k| after[k].rule),
            }
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
        let strips = Strips::new(cuts);
        let one = |group: usize, out: &mut [Quad], memory: &mut Memory| {
            cuts.cut(&image.part(group..group + 1), padding(group), &mut memory.quads[..cuts.len]);
            widest(Slide {
                filter: &self.filters[group * self.taps..][..self.taps],
                group: &self.groups[group],
                strips: &strips,
                memory,
                positions: cuts.positions,
            });
            cuts.place(out, &memory.results);
        };
        let some = |(first, out): (usize, &mut [&mut [Quad]])| {
            let mut memory = Memory::new(cuts, &strips)?;
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

/// What a strip of positions reads.
struct Strips {
    /// Positions of a strip.
    positions: usize,
    /// Of each plane, the positions that a window at the first position reads, and where they are as floats.
    reads: Vec<(Range<usize>, usize)>,
    /// By tap, where the first position is among the floats.
    starts: Vec<usize>,
    /// All positions that a strip reads.
    len: usize,
}

impl Strips {
    fn new(cuts: &Cuts) -> Self {
        let (starts, plane_len) = (cuts.starts(), cuts.plane_len());
        let mut planes: Vec<Range<usize>> = Vec::new();
        for &start in &starts {
            match planes.iter_mut().find(|plane| plane.start / plane_len == start / plane_len) {
                Some(plane) => *plane = plane.start.min(start)..plane.end.max(start),
                None => planes.push(start..start),
            }
        }
        let furthest = planes.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
        let positions = STRIP.max(TIMES * furthest).next_multiple_of(SLACK);
        let (mut reads, mut len) = (Vec::new(), 0);
        for plane in planes {
            reads.push((plane.clone(), len));
            len += positions + plane.len();
        }
        let place = |start: usize| {
            let of = reads.iter().find(|(plane, _)| plane.start / plane_len == start / plane_len);
            of.map_or(0, |(plane, first)| first + start - plane.start)
        };
        let starts = starts.iter().map(|&start| place(start) * CHANNELS).collect();
        Strips { positions, reads, starts, len }
    }
}

/// What the channels of one group need, reused for the next.
struct Memory {
    quads: Vec<Quad>,
    /// Those that a strip reads, as floats.
    floats: Vec<f32>,
    results: Vec<Quad>,
}

impl Memory {
    fn new(cuts: &Cuts, strips: &Strips) -> Result<Self, TensorError> {
        Ok(Self {
            quads: filled(cuts.len + SLACK, Quad::default())?,
            floats: filled((strips.len + SLACK) * CHANNELS, 0.0)?,
            results: filled(cuts.positions + SLACK, Quad::default())?,
        })
    }
}

/// The filters of four channels over their planes.
struct Slide<'a> {
    filter: &'a [Lanes],
    group: &'a Group,
    strips: &'a Strips,
    memory: &'a mut Memory,
    /// The number of positions.
    positions: usize,
}

impl Vectorised for Slide<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Instructions>(self) {
        let Memory { quads, floats, results } = self.memory;
        let (lanes, strips) = (I::F32::LANES, self.strips);
        let input = &self.group.input;
        let (steps, lows) = (I::F32::load(&input.steps), I::F32::load(&input.output_lows));
        let results: &mut [u8] = bytemuck::cast_slice_mut(results);
        let mut sums = [0f32; SUMS * LANES];
        let biases = I::F32::load(&self.group.biases);
        // Local variables, which nothing that is written may overlap.
        let rules = self.group.results;
        for first in (0..self.positions).step_by(strips.positions) {
            let count = strips.positions.min(self.positions - first).next_multiple_of(SLACK);
            for (read, to) in &strips.reads {
                let from = quads.get(first + read.start..).unwrap_or_default();
                // Whole vectors: what is beyond is overwritten by the next plane.
                let len = (count + read.len()).next_multiple_of(LANES / CHANNELS);
                let from = from.get(..len).unwrap_or(from);
                let to = floats[to * CHANNELS..].chunks_exact_mut(lanes);
                for (to, levels) in to.zip(bytemuck::cast_slice(from).chunks_exact(lanes)) {
                    I::integers::<false>(levels).multiply_add(steps, lows).store(to);
                }
            }
            for at in (0..count * CHANNELS).step_by(SUMS * lanes) {
                slide::<I>(self.filter, &strips.starts, &floats[at..], biases, &mut sums);
                if let Some([slopes, scales, shifts]) = &self.group.lines {
                    for sums in sums.as_chunks_mut::<LANES>().0 {
                        for i in 0..LANES {
                            let line = BentLine { slope: slopes[i], scale: scales[i], shift: shifts[i] };
                            sums[i] = line.at(sums[i]);
                        }
                    }
                }
                let results = results[first * CHANNELS + at..].as_chunks_mut::<LANES>().0.iter_mut();
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

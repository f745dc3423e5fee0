//! Splits an image into planes, so that each element of a filter reads contiguous memory.
//!
//! With a stride, an element of a filter reads every `stride`-th element of the image. Elements of equal remainder form
//! a plane, with zeros for the padding; a filter element then reads one plane at a constant offset. Every element is
//! copied at most once, and none if the planes would be the image itself.

use std::ops::Range;

use super::images::Channels;
use crate::TensorError;
use crate::buffer::Buffer;
use crate::kernels::broadcast::copy_run;
use crate::kernels::gemm::{Factor, Gemm, Lines};
use crate::kernels::sharing;
use crate::kernels::window::WindowAxis;

/// Elements that may be read beyond the last one, so that a panel may start anywhere: no pair of vectors is longer.
const SLACK: usize = 32;

/// The limit of the size of the planes, as a multiple of image and result: a small image with ordinary padding needs
/// about this.
pub(super) const MOST_ZEROS: usize = 8;

/// The limit of computed positions per window: filters nearly as large as the image, as in gradients, leave a few
/// windows at the ends of long lines.
const MOST_POSITIONS: usize = 4;

/// The windows on an image.
#[derive(Copy, Clone)]
pub(super) struct Grid {
    pub axes: [WindowAxis; 3],
    /// The number of windows on each axis.
    pub out: [usize; 3],
}

impl Grid {
    /// Elements of one channel.
    pub fn area(&self) -> usize {
        self.axes.iter().map(|a| a.size).product()
    }

    /// Elements of a filter in one channel.
    pub fn taps(&self) -> usize {
        self.axes.iter().map(|a| a.kernel).product()
    }

    pub fn windows(&self) -> usize {
        self.out.iter().product()
    }

    /// Whether windows may reach beyond the image.
    pub fn is_padded(&self) -> bool {
        self.axes.iter().any(|axis| axis.before > 0 || axis.after > 0)
    }

    /// The elements of one window, channel by channel, in the order of the elements of a filter.
    pub fn under<T: Gemm>(&self, window: usize, image: Channels<T>, patch: &mut [T]) {
        let [d, h, w] = &self.axes;
        let [_, rows, columns] = self.out;
        let place = [window / (rows * columns), window / columns % rows, window % columns];
        // The taps of a line inside the image, and the position of the first.
        let first = w.input(place[2], 0);
        let before = |end: isize| usize::try_from(end - first).map_or(0, |room| room.div_ceil(w.dilation));
        let (low, high) = (before(0).min(w.kernel), before(w.size as isize).min(w.kernel));
        let at = w.inside(place[2], low).unwrap_or(0);
        let mut lines = patch.chunks_exact_mut(w.kernel);
        for channel in image.each() {
            for tap in 0..d.kernel {
                let z = d.inside(place[0], tap);
                for tap in 0..h.kernel {
                    let Some(line) = lines.next() else { return };
                    let Some((z, y)) = z.zip(h.inside(place[1], tap)).filter(|_| low < high) else {
                        line.fill(T::default());
                        continue;
                    };
                    line[..low].fill(T::default());
                    line[high..].fill(T::default());
                    channel.line(z, y).every(w.dilation, at).copy_to(&mut line[low..high]);
                }
            }
        }
    }

    /// Whether an element of a filter lies beside the image in a window.
    pub fn is_padding(&self, window: usize, tap: usize) -> bool {
        let ([d, h, w], [_, rows, columns]) = (&self.axes, self.out);
        let [z, y, x] = [window / (rows * columns), window / columns % rows, window % columns];
        let taps = [tap / (h.kernel * w.kernel), tap / w.kernel % h.kernel, tap % w.kernel];
        [(d, z), (h, y), (w, x)].iter().zip(taps).any(|((axis, i), tap)| axis.inside(*i, tap).is_none())
    }

    /// Whether the one window covers the image, element by element.
    pub fn is_image(&self) -> bool {
        self.windows() == 1
            && self
                .axes
                .iter()
                .all(|a| a.kernel == a.size && a.before == 0 && (a.dilation == 1 || a.kernel == 1))
    }

    /// Whether the planes would be the image itself.
    pub fn is_whole(&self) -> bool {
        let reach = |a: &WindowAxis| (a.kernel - 1) * a.dilation;
        let is_whole = |a: &WindowAxis, out| a.stride == 1 && a.before == 0 && out + reach(a) == a.size;
        self.axes.iter().zip(self.out).all(|(axis, out)| is_whole(axis, out))
    }
}

/// One axis of the planes.
struct Cut {
    axis: WindowAxis,
    /// Elements on the axis of a plane.
    len: usize,
    /// For each filter element: its plane and the offset in it.
    taps: Vec<(usize, usize)>,
    /// The remainder of each plane.
    remainders: Vec<usize>,
}

impl Cut {
    fn new(axis: WindowAxis, out: usize) -> Self {
        let (mut taps, mut remainders) = (Vec::with_capacity(axis.kernel), Vec::new());
        let mut furthest = 0;
        for tap in 0..axis.kernel {
            let (moved, remainder) = (tap * axis.dilation / axis.stride, tap * axis.dilation % axis.stride);
            let plane = remainders.iter().position(|&r| r == remainder).unwrap_or_else(|| {
                remainders.push(remainder);
                remainders.len() - 1
            });
            taps.push((plane, moved));
            furthest = furthest.max(moved);
        }
        Cut { axis, len: out + furthest, taps, remainders }
    }

    /// The index in the image of element 0 of a plane; may be outside.
    fn first(&self, plane: usize) -> isize {
        self.remainders[plane] as isize - self.axis.before
    }

    /// The index in the image of an element of a plane.
    fn source(&self, plane: usize, i: usize) -> Option<usize> {
        let at = self.first(plane) + (i * self.axis.stride) as isize;
        usize::try_from(at).ok().filter(|&at| at < self.axis.size)
    }
}

/// How images are split, the same for each image.
pub(super) struct Cuts {
    cuts: [Cut; 3],
    /// The lines of all planes of a channel, in order.
    lines: Vec<Line>,
    out: [usize; 3],
    /// Whether nothing need be split.
    is_whole: bool,
    /// Elements of the planes of one channel.
    pub len: usize,
    /// The number of computed positions: all from the first window to the last, those between lines included.
    pub positions: usize,
}

impl Cuts {
    /// `None` if the planes would be mostly zeros, or most computed positions no windows.
    pub fn new(grid: &Grid) -> Option<Self> {
        let [d, h, w] = grid.axes;
        let out = grid.out;
        let cuts = [Cut::new(d, out[0]), Cut::new(h, out[1]), Cut::new(w, out[2])];
        let len = cuts
            .iter()
            .try_fold(1usize, |size, cut| size.checked_mul(cut.remainders.len())?.checked_mul(cut.len))?;
        let is_whole = grid.is_whole();
        let is_dense = is_whole || len <= MOST_ZEROS * (grid.area() + grid.windows());
        let positions = ((out[0] - 1) * cuts[1].len + out[1] - 1) * cuts[2].len + out[2];
        let is_short = positions <= MOST_POSITIONS * grid.windows();
        if !(is_dense && is_short) {
            return None;
        }
        let lines = Line::all(&cuts);
        Some(Cuts { cuts, lines, out, is_whole, len, positions })
    }

    /// Splits one channel into its planes, with `padding` around it.
    pub fn cut<T: Factor>(&self, channel: &Channels<T>, padding: T, planes: &mut [T]) {
        let [_, _, w] = &self.cuts;
        for (line, to) in self.lines.iter().zip(planes.chunks_exact_mut(w.len)) {
            to[..line.before].fill(padding);
            to[line.before + line.len..].fill(padding);
            self.cut_line(channel, line, to);
        }
    }

    /// As [`Cuts::cut`], into the planes of an earlier channel, or zeros: the padding is not written.
    pub fn cut_again<T: Factor>(&self, channel: &Channels<T>, planes: &mut [T]) {
        let [_, _, w] = &self.cuts;
        for (line, to) in self.lines.iter().zip(planes.chunks_exact_mut(w.len)) {
            self.cut_line(channel, line, to);
        }
    }

    #[inline(always)]
    fn cut_line<T: Factor>(&self, channel: &Channels<T>, line: &Line, to: &mut [T]) {
        let ([z, y], [_, _, w]) = (line.place, &self.cuts);
        let to = &mut to[line.before..line.before + line.len];
        channel.line(z, y).every(w.axis.stride, line.first).copy_to(to);
    }

    /// The offset of each element of a filter over one channel for the first window.
    pub fn starts(&self) -> Vec<usize> {
        let [d, h, w] = &self.cuts;
        let area = d.len * h.len * w.len;
        let mut starts = Vec::with_capacity(d.taps.len() * h.taps.len() * w.taps.len());
        for &(plane_d, z) in &d.taps {
            for &(plane_h, y) in &h.taps {
                let plane = plane_d * h.remainders.len() + plane_h;
                let line = (z * h.len + y) * w.len;
                let of = |&(plane_w, x)| (plane * w.remainders.len() + plane_w) * area + line + x;
                starts.extend(w.taps.iter().map(of));
            }
        }
        starts
    }

    /// Where the windows lie, from what an element of a filter reads for the first one on.
    pub fn windows(&self) -> Lines {
        let [_, h, w] = &self.cuts;
        let [depth, rows, columns] = self.out;
        if columns == w.len && (rows == h.len || depth == 1) {
            return Lines::one(depth * rows * columns);
        }
        let starts = (0..depth * rows).map(|i| (i / rows * h.len + i % rows) * w.len).collect();
        Lines { len: columns, starts }
    }

    /// Writes the values of all positions to their windows.
    pub fn place<T: Copy>(&self, windows: &mut [T], values: &[T]) {
        let [_, h, w] = &self.cuts;
        let [_, rows, columns] = self.out;
        for (i, to) in windows.chunks_exact_mut(columns).enumerate() {
            let from = (i / rows * h.len + i % rows) * w.len;
            copy_run(to, &values[from..from + columns]);
        }
    }
}

/// The planes of all channels: `[channel, plane.., position..]`, each axis in three.
pub(super) struct Planes<'a, T> {
    pub of: &'a Cuts,
    data: PlaneData<'a, T>,
}

enum PlaneData<'a, T> {
    /// Packed channels, of any stride.
    Image(Channels<'a, T>),
    Cut(Buffer<T>),
}

impl<'a, T: Factor> Planes<'a, T> {
    /// Splits an image, with `padding` around it; if nothing need be split, its channels must be packed.
    pub fn new(of: &'a Cuts, image: Channels<'a, T>, padding: T) -> Result<Self, TensorError> {
        if of.is_whole {
            return Ok(Planes { of, data: PlaneData::Image(image) });
        }
        let mut data = Buffer::any(image.count * of.len + SLACK)?;
        let (all, slack) = data.split_at_mut(image.count * of.len);
        slack.fill(T::default());
        sharing::in_parts(all, of.len, sharing::ELEMENTS / of.len.max(1), |first, some| {
            for (channel, planes) in (first..).zip(some.chunks_exact_mut(of.len)) {
                of.cut(&image.part(channel..channel + 1), padding, planes);
            }
        });
        Ok(Planes { of, data: PlaneData::Cut(data) })
    }

    pub fn data(&self) -> &[T] {
        match &self.data {
            PlaneData::Image(image) => image.data,
            PlaneData::Cut(planes) => planes,
        }
    }

    /// The offset of each element of a filter over `channels` for the first window.
    pub fn starts(&self, channels: Range<usize>) -> Vec<usize> {
        let (first, step) = match &self.data {
            PlaneData::Image(image) => (image.first, image.step),
            PlaneData::Cut(_) => (0, self.of.len as isize),
        };
        let taps = self.of.starts();
        let mut starts = Vec::with_capacity(channels.len() * taps.len());
        for channel in channels {
            let first = first.wrapping_add_signed(channel as isize * step);
            starts.extend(taps.iter().map(|tap| first + tap));
        }
        starts
    }
}

/// The source of one line of the planes: elements of line `[z, y]` from `first` on, between zeros.
struct Line {
    place: [usize; 2],
    first: usize,
    /// Zeros before them.
    before: usize,
    /// The number of elements; 0 in a line of zeros.
    len: usize,
}

impl Line {
    /// The lines of all planes of a channel, in order.
    fn all([d, h, w]: &[Cut; 3]) -> Vec<Self> {
        let mut lines = Vec::new();
        for plane_d in 0..d.remainders.len() {
            for plane_h in 0..h.remainders.len() {
                for plane_w in 0..w.remainders.len() {
                    for z in 0..d.len {
                        for y in 0..h.len {
                            let place = d.source(plane_d, z).zip(h.source(plane_h, y));
                            lines.push(Self::new(w, plane_w, place));
                        }
                    }
                }
            }
        }
        lines
    }

    /// Line `[z, y]` of the image in a plane; zeros if it is outside.
    fn new(w: &Cut, plane: usize, place: Option<(usize, usize)>) -> Self {
        let Some((z, y)) = place else { return Line { place: [0; 2], first: 0, before: 0, len: 0 } };
        let (first, stride) = (w.first(plane), w.axis.stride);
        let before = if first >= 0 { 0 } else { first.unsigned_abs().div_ceil(stride) }.min(w.len);
        // Still before the line if all of it is padding.
        let first = usize::try_from(first + (before * stride) as isize).unwrap_or(w.axis.size);
        let inside = w.axis.size.saturating_sub(first).div_ceil(stride);
        Line { place: [z, y], first, before, len: inside.min(w.len - before) }
    }
}

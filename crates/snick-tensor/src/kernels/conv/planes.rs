//! An image cut so that what each element of a filter meets is a run of memory.
//!
//! Windows that start `stride` apart meet every `stride`-th element. Elements of equal remainder are put side by side
//! into planes, with zeros for the padding; a filter element then meets one plane, moved by a constant. No element is
//! copied more than once, and nothing at all if the planes would be the image as it is.

use std::ops::Range;

use crate::TensorError;
use crate::buffer::Buffer;
use crate::kernels::gemm::Gemm;
use crate::kernels::window::WindowAxis;

/// Elements to read beyond the last one, so that a panel may begin anywhere: no vector pair is longer.
const SLACK: usize = 32;

/// How many times as large as image and result the planes may be: a small image with ordinary padding needs about so
/// much.
const MOST_ZEROS: usize = 8;

/// How windows lie on an image.
pub(super) struct Grid {
    pub axes: [WindowAxis; 3],
    /// Windows an axis.
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

    /// What lies under one window: channel by channel, as the elements of a filter follow each other.
    pub fn under<T: Gemm>(&self, window: usize, image: &[T], patch: &mut [T]) {
        let [d, h, w] = &self.axes;
        let [_, rows, columns] = self.out;
        let place = [window / (rows * columns), window / columns % rows, window % columns];
        // The taps of a line that lie inside, and where the first of them does.
        let first = w.input(place[2], 0);
        let before = |end: isize| usize::try_from(end - first).map_or(0, |room| room.div_ceil(w.dilation));
        let (low, high) = (before(0).min(w.kernel), before(w.size as isize).min(w.kernel));
        let at = w.inside(place[2], low).unwrap_or(0);
        let mut lines = patch.chunks_exact_mut(w.kernel);
        for channel in image.chunks_exact(self.area()) {
            for tap in 0..d.kernel {
                let z = d.inside(place[0], tap);
                for tap in 0..h.kernel {
                    let Some(line) = lines.next() else { return };
                    let Some((z, y)) = z.zip(h.inside(place[1], tap)).filter(|_| low < high) else {
                        line.fill(T::default());
                        continue;
                    };
                    let from = &channel[(z * h.size + y) * w.size + at..];
                    line[..low].fill(T::default());
                    line[high..].fill(T::default());
                    let inside = &mut line[low..high];
                    if w.dilation == 1 {
                        inside.copy_from_slice(&from[..high - low]);
                    } else {
                        let from = from.iter().step_by(w.dilation);
                        inside.iter_mut().zip(from).for_each(|(to, &x)| *to = x);
                    }
                }
            }
        }
    }

    /// Whether the one window covers the image, element by element.
    pub fn is_image(&self) -> bool {
        self.windows() == 1
            && self
                .axes
                .iter()
                .all(|a| a.kernel == a.size && a.before == 0 && (a.dilation == 1 || a.kernel == 1))
    }
}

/// One axis of the planes.
struct Cut {
    axis: WindowAxis,
    /// Elements on the axis of a plane.
    len: usize,
    /// For each filter element: its plane and how far it is moved in there.
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

    /// The index in the image of element 0 of a plane; may lie outside.
    fn first(&self, plane: usize) -> isize {
        self.remainders[plane] as isize - self.axis.before
    }

    /// The index in the image of an element of a plane.
    fn source(&self, plane: usize, i: usize) -> Option<usize> {
        let at = self.first(plane) + (i * self.axis.stride) as isize;
        usize::try_from(at).ok().filter(|&at| at < self.axis.size)
    }

    /// Whether the one plane is the axis as it is.
    fn is_whole(&self) -> bool {
        self.axis.stride == 1 && self.axis.before == 0 && self.len == self.axis.size
    }
}

/// The planes of all channels: `[channel, plane.., position..]`, each axis in three.
pub(super) struct Planes<'a, T> {
    cuts: [Cut; 3],
    out: [usize; 3],
    data: PlaneData<'a, T>,
}

enum PlaneData<'a, T> {
    Image(&'a [T]),
    Cut(Buffer<T>),
}

impl<'a, T: Gemm> Planes<'a, T> {
    /// Cuts an image of whole channels. `None` if the planes would be mostly zeros: where filters reach far beyond the
    /// image.
    pub fn new(grid: &Grid, image: &'a [T]) -> Result<Option<Self>, TensorError> {
        let [d, h, w] = grid.axes;
        let cuts = [Cut::new(d, grid.out[0]), Cut::new(h, grid.out[1]), Cut::new(w, grid.out[2])];
        if cuts.iter().all(Cut::is_whole) {
            return Ok(Some(Planes { cuts, out: grid.out, data: PlaneData::Image(image) }));
        }
        let channels = image.len() / grid.area();
        let planes = cuts
            .iter()
            .try_fold(1usize, |size, cut| size.checked_mul(cut.remainders.len())?.checked_mul(cut.len));
        let most = MOST_ZEROS * (grid.area() + grid.windows());
        let Some(planes) = planes.filter(|&planes| planes <= most) else { return Ok(None) };
        let mut data = Buffer::any(channels * planes + SLACK)?;
        let (all, slack) = data.split_at_mut(channels * planes);
        slack.fill(T::default());
        for (channel, planes) in image.chunks_exact(grid.area()).zip(all.chunks_exact_mut(planes)) {
            cut(&cuts, channel, planes);
        }
        Ok(Some(Planes { cuts, out: grid.out, data: PlaneData::Cut(data) }))
    }

    pub fn data(&self) -> &[T] {
        match &self.data {
            PlaneData::Image(image) => image,
            PlaneData::Cut(planes) => planes,
        }
    }

    /// Where each element of a filter over `channels` meets its first window.
    pub fn starts(&self, channels: Range<usize>) -> Vec<usize> {
        let [d, h, w] = &self.cuts;
        let area = d.len * h.len * w.len;
        let mut starts = Vec::with_capacity(channels.len() * d.taps.len() * h.taps.len() * w.taps.len());
        for channel in channels {
            for &(plane_d, z) in &d.taps {
                for &(plane_h, y) in &h.taps {
                    let plane = (channel * d.remainders.len() + plane_d) * h.remainders.len() + plane_h;
                    let line = (z * h.len + y) * w.len;
                    let of = |&(plane_w, x)| (plane * w.remainders.len() + plane_w) * area + line + x;
                    starts.extend(w.taps.iter().map(of));
                }
            }
        }
        starts
    }

    /// Positions that are computed: all from the first window to the last, those between two lines too.
    pub fn positions(&self) -> usize {
        let [_, h, w] = &self.cuts;
        let [depth, rows, columns] = self.out;
        ((depth - 1) * h.len + rows - 1) * w.len + columns
    }

    /// Writes what was computed for the positions from `first` on to the windows they belong to.
    #[inline(always)]
    pub fn place(&self, windows: &mut [T], first: usize, values: &[T]) {
        let [_, h, w] = &self.cuts;
        let [_, rows, columns] = self.out;
        let mut at = 0;
        while at < values.len() {
            let (line, column) = ((first + at) / w.len, (first + at) % w.len);
            let to_next = w.len - column;
            if column < columns && line % h.len < rows {
                let window = (line / h.len * rows + line % h.len) * columns + column;
                let len = (columns - column).min(values.len() - at);
                let Some(to) = windows.get_mut(window..window + len) else { return };
                to.copy_from_slice(&values[at..at + len]);
            }
            at += to_next;
        }
    }
}

/// Cuts one channel into its planes.
fn cut<T: Gemm>([d, h, w]: &[Cut; 3], channel: &[T], planes: &mut [T]) {
    let mut lines = planes.chunks_exact_mut(w.len);
    for plane_d in 0..d.remainders.len() {
        for plane_h in 0..h.remainders.len() {
            for plane_w in 0..w.remainders.len() {
                for z in 0..d.len {
                    for y in 0..h.len {
                        let Some(line) = lines.next() else { return };
                        let source = d.source(plane_d, z).zip(h.source(plane_h, y));
                        match source {
                            Some((z, y)) => {
                                let from = &channel[(z * h.axis.size + y) * w.axis.size..][..w.axis.size];
                                cut_line(w, plane_w, from, line);
                            }
                            None => line.fill(T::default()),
                        }
                    }
                }
            }
        }
    }
}

/// Every `stride`-th element of a line, between zeros.
fn cut_line<T: Gemm>(w: &Cut, plane: usize, from: &[T], line: &mut [T]) {
    let (first, stride) = (w.first(plane), w.axis.stride);
    let low = if first >= 0 { 0 } else { first.unsigned_abs().div_ceil(stride) }.min(line.len());
    let start = first + (low * stride) as isize;
    let inside = from.get(usize::try_from(start).unwrap_or(from.len())..).unwrap_or_default();
    let (before, rest) = line.split_at_mut(low);
    let (middle, after) = rest.split_at_mut(inside.len().div_ceil(stride).min(rest.len()));
    before.fill(T::default());
    after.fill(T::default());
    if stride == 1 {
        middle.copy_from_slice(&inside[..middle.len()]);
    } else {
        for (to, &x) in middle.iter_mut().zip(inside.iter().step_by(stride)) {
            *to = x;
        }
    }
}

//! The phase planes of an image: its polyphase decomposition, as in space-to-depth.
//!
//! With stride `s`, a tap reads every `s`-th element. Elements whose positions are equal modulo `s` form a
//! zero-padded plane, so that each tap reads one contiguous run of one plane across all windows. Only phases
//! that some tap reads are copied, each element at most once. Without stride and padding, the image itself is
//! the only plane.
//!
//! **Layout.** Planes are `[channel, phase.., position..]`, with three axes each for phases and positions. A
//! run covers all positions from the first window to the last. Positions between two rows of windows are
//! computed and discarded.

use std::ops::Range;

use super::image_view::ImageView;
use crate::TensorError;
use crate::buffer::Buffer;
use crate::kernels::broadcast::copy_run;
use crate::kernels::gemm::{Factor, Lines};
use crate::kernels::sharing;
use crate::kernels::window::{WindowAxis, WindowGrid};

/// Elements that may be read beyond the last one: kernels read whole pairs of vectors.
const SLACK: usize = 32;

/// One axis of the planes.
struct AxisPhases {
    axis: WindowAxis,
    /// Positions along this axis of a plane.
    len: usize,
    /// The plane of each tap, and the tap's offset in that plane.
    taps: Vec<(usize, usize)>,
    /// The remainder modulo the stride of each plane's positions.
    phases: Vec<usize>,
}

impl AxisPhases {
    fn all(grid: &WindowGrid) -> [Self; 3] {
        std::array::from_fn(|i| Self::new(grid.axes[i], grid.out[i]))
    }

    fn new(axis: WindowAxis, out: usize) -> Self {
        let (mut taps, mut phases) = (Vec::with_capacity(axis.kernel), Vec::new());
        for tap in 0..axis.kernel {
            let (offset, phase) = (tap * axis.dilation / axis.stride, tap * axis.dilation % axis.stride);
            let plane = phases.iter().position(|&known| known == phase).unwrap_or_else(|| {
                phases.push(phase);
                phases.len() - 1
            });
            taps.push((plane, offset));
        }
        let last = taps.last().map_or(0, |&(_, offset)| offset);
        AxisPhases { axis, len: out + last, taps, phases }
    }

    /// The image position of element `i` of a plane. Positions outside the image are padding.
    fn position(&self, plane: usize, i: usize) -> isize {
        (self.phases[plane] + i * self.axis.stride) as isize - self.axis.before
    }

    fn inside(&self, plane: usize, i: usize) -> Option<usize> {
        usize::try_from(self.position(plane, i)).ok().filter(|&at| at < self.axis.size)
    }
}

/// How an image is split into planes, and the places of windows and taps in the planes.
pub(super) struct PlaneLayout {
    axes: [AxisPhases; 3],
    /// The lines of all planes of a channel.
    lines: Vec<Line>,
    out: [usize; 3],
    /// Whether the image itself is the only plane.
    is_image: bool,
    /// Elements in the planes of one channel.
    pub len: usize,
    /// Positions from the first window to the last.
    pub positions: usize,
}

impl PlaneLayout {
    pub fn new(grid: &WindowGrid) -> Self {
        let axes = AxisPhases::all(grid);
        let (lines, is_image) = (Line::all(&axes), is_image(grid));
        let [len, positions] = Self::size_of(&axes, grid).unwrap_or_default();
        PlaneLayout { lines, axes, out: grid.out, is_image, len, positions }
    }

    /// The number of elements in the planes of one channel, and of positions from the first window to the
    /// last. `None` on overflow.
    pub fn size(grid: &WindowGrid) -> Option<[usize; 2]> {
        Self::size_of(&AxisPhases::all(grid), grid)
    }

    fn size_of(axes: &[AxisPhases; 3], grid: &WindowGrid) -> Option<[usize; 2]> {
        let [_, h, w] = axes;
        let lens = axes.iter().flat_map(|axis| [axis.phases.len(), axis.len]);
        let len = lens.into_iter().try_fold(1usize, usize::checked_mul)?;
        let [depth, rows, columns] = grid.out;
        Some([len, ((depth - 1) * h.len + rows - 1) * w.len + columns])
    }

    /// Splits one channel into its planes. Without `padding`, writes only image elements, to planes that
    /// already contain their padding.
    pub fn split<T: Factor>(&self, channel: &ImageView<T>, padding: Option<T>, planes: &mut [T]) {
        for (line, to) in self.lines.iter().zip(planes.chunks_exact_mut(self.row_len())) {
            self.copy_line(channel, line, padding, to);
        }
    }

    /// Copies one line of a channel to a plane. `padding` is as in [`Self::split`].
    fn copy_line<T: Factor>(&self, channel: &ImageView<T>, line: &Line, padding: Option<T>, to: &mut [T]) {
        let Line { source: [z, y], first, before, len } = *line;
        if let Some(padding) = padding {
            to[..before].fill(padding);
            to[before + len..].fill(padding);
        }
        channel.line(z, y).every(self.axes[2].axis.stride, first).copy_to(&mut to[before..before + len]);
    }

    /// Elements of a row of a plane.
    pub fn row_len(&self) -> usize {
        self.axes[2].len
    }

    /// The start of each tap's run in the planes of one channel.
    pub fn tap_starts(&self) -> Vec<usize> {
        let [d, h, w] = &self.axes;
        let area = d.len * h.len * w.len;
        let mut starts = Vec::with_capacity(d.taps.len() * h.taps.len() * w.taps.len());
        for &(plane_d, z) in &d.taps {
            for &(plane_h, y) in &h.taps {
                let plane = plane_d * h.phases.len() + plane_h;
                let line = (z * h.len + y) * w.len;
                let start = |&(plane_w, x)| (plane * w.phases.len() + plane_w) * area + line + x;
                starts.extend(w.taps.iter().map(start));
            }
        }
        starts
    }

    /// The positions of the windows in a tap's run.
    pub fn windows(&self) -> Lines {
        let [_, h, w] = &self.axes;
        let [depth, rows, columns] = self.out;
        if columns == w.len && (rows == h.len || depth == 1) {
            return Lines::one(depth * rows * columns);
        }
        Lines { len: columns, starts: (0..depth * rows).map(|row| self.row_start(row)).collect() }
    }

    /// The start of a row of windows in a tap's run.
    fn row_start(&self, row: usize) -> usize {
        let ([_, h, w], rows) = (&self.axes, self.out[1]);
        (row / rows * h.len + row % rows) * w.len
    }

    /// Copies the values at window positions from the values at all positions.
    pub fn gather_windows<T: Copy>(&self, windows: &mut [T], values: &[T]) {
        let columns = self.out[2];
        for (row, to) in windows.chunks_exact_mut(columns).enumerate() {
            copy_run(to, &values[self.row_start(row)..][..columns]);
        }
    }
}

/// Whether the image itself is the only phase plane.
pub(super) fn is_image(grid: &WindowGrid) -> bool {
    grid.axes.iter().zip(grid.out).all(|(axis, out)| {
        axis.stride == 1 && axis.before == 0 && out + (axis.kernel - 1) * axis.dilation == axis.size
    })
}

/// The planes of all channels.
pub(super) struct PhasePlanes<'a, T> {
    pub layout: &'a PlaneLayout,
    data: PlaneData<'a, T>,
}

enum PlaneData<'a, T> {
    /// The image itself. Each channel is packed, but the channel stride is arbitrary.
    Image(ImageView<'a, T>),
    Split(Buffer<T>),
}

impl<'a, T: Factor> PhasePlanes<'a, T> {
    /// Splits an image. If it is its own plane, its channels must be packed.
    pub fn new(layout: &'a PlaneLayout, image: ImageView<'a, T>, padding: T) -> Result<Self, TensorError> {
        if layout.is_image {
            return Ok(PhasePlanes { layout, data: PlaneData::Image(image) });
        }
        let mut data = Buffer::any(image.channels * layout.len + SLACK)?;
        let (planes, slack) = data.split_at_mut(image.channels * layout.len);
        slack.fill(T::default());
        let line_len = layout.row_len();
        sharing::in_parts(planes, line_len, sharing::ELEMENTS / line_len.max(1), |first, planes| {
            let lines =
                (0..image.channels).flat_map(|channel| layout.lines.iter().map(move |line| (channel, line)));
            for ((channel, line), to) in lines.skip(first).zip(planes.chunks_exact_mut(line_len)) {
                layout.copy_line(&image.channel(channel), line, Some(padding), to);
            }
        });
        Ok(PhasePlanes { layout, data: PlaneData::Split(data) })
    }

    pub fn data(&self) -> &[T] {
        match &self.data {
            PlaneData::Image(image) => image.data,
            PlaneData::Split(planes) => planes,
        }
    }

    /// The start of each tap's run, channel by channel.
    pub fn tap_starts(&self, channels: Range<usize>) -> Vec<usize> {
        let (start, stride) = match &self.data {
            PlaneData::Image(image) => (image.start, image.channel_stride),
            PlaneData::Split(_) => (0, self.layout.len as isize),
        };
        let taps = self.layout.tap_starts();
        let starts = channels.map(|channel| start.wrapping_add_signed(channel as isize * stride));
        starts.flat_map(|start| taps.iter().map(move |tap| start + tap)).collect()
    }
}

/// One line of a plane: elements of the image between padding.
struct Line {
    /// The line `[z, y]` of the image.
    source: [usize; 2],
    /// The first image element of the line.
    first: usize,
    /// Padding elements before the image elements.
    before: usize,
    /// The number of image elements; 0 in a line of padding.
    len: usize,
}

impl Line {
    /// The lines of all planes of a channel, in order.
    fn all([d, h, w]: &[AxisPhases; 3]) -> Vec<Self> {
        let mut lines = Vec::new();
        for plane_d in 0..d.phases.len() {
            for plane_h in 0..h.phases.len() {
                for plane_w in 0..w.phases.len() {
                    for z in 0..d.len {
                        for y in 0..h.len {
                            let source = d.inside(plane_d, z).zip(h.inside(plane_h, y));
                            lines.push(Self::new(w, plane_w, source));
                        }
                    }
                }
            }
        }
        lines
    }

    /// Line `[z, y]` of the image in a plane; a line of padding if `source` is `None`.
    fn new(w: &AxisPhases, plane: usize, source: Option<(usize, usize)>) -> Self {
        let Some((z, y)) = source else { return Line { source: [0; 2], first: 0, before: 0, len: 0 } };
        let (first, stride) = (w.position(plane, 0), w.axis.stride);
        let before = if first >= 0 { 0 } else { first.unsigned_abs().div_ceil(stride) }.min(w.len);
        // Negative if the whole line is padding.
        let first = usize::try_from(w.position(plane, before)).unwrap_or(w.axis.size);
        let inside = w.axis.size.saturating_sub(first).div_ceil(stride);
        Line { source: [z, y], first, before, len: inside.min(w.len - before) }
    }
}

//! Corrects sums for padding whose code does not represent 0.
//!
//! Images of codes are padded with the code nearest to 0. If that code represents another value, as in ranges
//! without 0, each tap on padding adds `weight * value` to a sum. Windows with the same taps on padding form
//! a class and share a correction.

use std::collections::HashMap;
use std::ops::Range;

use crate::kernels::window::WindowGrid;

/// The maximum number of classes. Large filters have more, and summing each class would take longer than it
/// saves.
const MAX_CLASSES: usize = 64;

/// The windows that overlap the padding.
pub(super) struct PaddingCorrection {
    grid: WindowGrid,
    /// The value that the padding code represents.
    pub value: f32,
    /// `starts[w]` is the number of windows with padding before window `w`. The last entry counts all of
    /// them.
    starts: Vec<usize>,
    /// The windows with padding and their classes.
    windows: Vec<(usize, usize)>,
    /// The taps on padding of each class.
    taps: Vec<Vec<usize>>,
}

impl PaddingCorrection {
    /// `None` if there are too many classes.
    pub fn new(grid: WindowGrid, value: f32) -> Option<Self> {
        let (mut starts, mut windows, mut taps) = (vec![0], Vec::new(), Vec::new());
        let mut classes = HashMap::new();
        let inside: [Vec<Range<usize>>; 3] = std::array::from_fn(|i| {
            (0..grid.out[i]).map(|window| grid.axes[i].taps_inside(window)).collect()
        });
        for window in 0..grid.windows() {
            let at = WindowGrid::unflatten(window, grid.out);
            let inside: [Range<usize>; 3] = std::array::from_fn(|i| inside[i][at[i]].clone());
            if inside.iter().zip(grid.axes).any(|(taps, axis)| taps.len() < axis.kernel) {
                if taps.len() == MAX_CLASSES && !classes.contains_key(&inside) {
                    return None;
                }
                let class = *classes.entry(inside).or_insert_with(|| {
                    taps.push((0..grid.taps()).filter(|&tap| is_padding(&grid, window, tap)).collect());
                    taps.len() - 1
                });
                windows.push((window, class));
            }
            starts.push(windows.len());
        }
        Some(PaddingCorrection { grid, value, starts, windows, taps })
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.taps.len()
    }

    /// The sum of the filter's codes at taps on padding, for each class.
    pub fn sums_on_padding(&self, filter: &[i8]) -> impl Iterator<Item = i64> {
        let channels = filter.chunks_exact(self.grid.taps());
        self.taps.iter().map(move |taps| {
            let codes = channels.clone().flat_map(|channel| taps.iter().map(|&tap| channel[tap]));
            codes.map(i64::from).sum()
        })
    }

    /// The windows with padding in a range, and their classes. The range may extend beyond the last window.
    #[inline(always)]
    pub fn among(&self, windows: Range<usize>) -> &[(usize, usize)] {
        let [start, end] = [windows.start, windows.end].map(|at| self.starts[at.min(self.starts.len() - 1)]);
        &self.windows[start..end]
    }

    /// Whether a tap lies on padding in a window.
    #[inline(always)]
    pub fn is_padding(&self, window: usize, tap: usize) -> bool {
        is_padding(&self.grid, window, tap)
    }
}

fn is_padding(grid: &WindowGrid, window: usize, tap: usize) -> bool {
    let windows = WindowGrid::unflatten(window, grid.out);
    let taps = WindowGrid::unflatten(tap, grid.axes.map(|axis| axis.kernel));
    grid.axes.iter().zip(windows.into_iter().zip(taps)).any(|(axis, (i, tap))| axis.inside(i, tap).is_none())
}

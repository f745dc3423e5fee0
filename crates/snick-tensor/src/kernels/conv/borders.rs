//! Windows that reach beside an image of levels. Where no level has the value 0, another stands for it, and what it adds to
//! sums is taken off.

use std::collections::HashMap;
use std::ops::Range;

use super::planes::{Grid, MOST_ZEROS};
use crate::kernels::window::WindowAxis;

/// More classes are those of large filters, of which sums are taken for each of them.
const MOST_CLASSES: usize = 64;

/// The windows that reach beside an image.
pub(super) struct Borders {
    grid: Grid,
    /// What stands for 0.
    pub value: f32,
    /// How many of them come before each window, and before the end.
    before: Vec<usize>,
    /// Each of them, and its class: those of one reach beside the image with the same elements of the filter.
    windows: Vec<(usize, usize)>,
    /// By class, these elements.
    taps: Vec<Vec<usize>>,
}

impl Borders {
    /// `None` if most windows lie beside the image, or many differ in what does.
    pub fn new(grid: Grid, value: f32) -> Option<Self> {
        if grid.windows() > MOST_ZEROS.saturating_mul(grid.area()) {
            return None;
        }
        let [d, h, w] = &grid.axes;
        let [planes, rows, columns] = grid.out;
        let columns: Vec<_> = (0..columns).map(|i| outside(w, i)).collect();
        let (mut before, mut windows, mut taps) = (vec![0], Vec::new(), Vec::new());
        let mut known = HashMap::new();
        for line in 0..planes * rows {
            let [plane, row] = [outside(d, line / rows), outside(h, line % rows)];
            for column in &columns {
                let reach = [plane, row, *column];
                if reach != [[0; 2]; 3] {
                    let window = before.len() - 1;
                    if taps.len() == MOST_CLASSES && !known.contains_key(&reach) {
                        return None;
                    }
                    let class = *known.entry(reach).or_insert_with(|| {
                        taps.push((0..grid.taps()).filter(|&tap| grid.is_padding(window, tap)).collect());
                        taps.len() - 1
                    });
                    windows.push((window, class));
                }
                before.push(windows.len());
            }
        }
        Some(Borders { grid, value, before, windows, taps })
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.taps.len()
    }

    /// By class, the sum of the elements of a filter beside the image, of all channels.
    pub fn sums_outside(&self, filter: &[i8]) -> impl Iterator<Item = i64> {
        let channels = filter.chunks_exact(self.grid.taps());
        self.taps.iter().map(move |outside| {
            let codes = channels.clone().flat_map(|channel| outside.iter().map(|&tap| channel[tap]));
            codes.map(i64::from).sum()
        })
    }

    /// Those among some windows, which may end beyond the last one, with their classes.
    #[inline(always)]
    pub fn among(&self, windows: Range<usize>) -> &[(usize, usize)] {
        let [start, end] = [windows.start, windows.end].map(|at| self.before[at.min(self.before.len() - 1)]);
        &self.windows[start..end]
    }

    /// Whether an element of a filter lies beside the image in a window.
    #[inline(always)]
    pub fn is_outside(&self, window: usize, tap: usize) -> bool {
        self.grid.is_padding(window, tap)
    }
}

/// How many elements of a filter lie before the image, and behind it, in a window.
fn outside(axis: &WindowAxis, window: usize) -> [usize; 2] {
    let is_before = |&tap: &usize| axis.input(window, tap) < 0;
    let is_outside = |&tap: &usize| axis.inside(window, tap).is_none();
    let before = (0..axis.kernel).take_while(is_before).count();
    [before, (before..axis.kernel).rev().take_while(is_outside).count()]
}

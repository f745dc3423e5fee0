//! Statistics of the elements of a tensor.

use crate::Tensor;

/// Statistics over all elements of a tensor.
///
/// ```
/// use snick_tensor::{Statistics, Tensor};
///
/// let found = Statistics::of(&Tensor::from_slice(&[f32::NAN, 0.0, 1.0, 5.0], &[4])?);
/// let range = found.range.expect("three numbers");
/// assert_eq!((range.min, range.max, range.mean), (0.0, 5.0, 2.0));
/// assert_eq!((found.zeros, found.nan, found.infinite), (1, 1, 0));
/// # Ok::<(), snick_tensor::TensorError>(())
/// ```
#[derive(Copy, Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// The range of the finite elements; `None` if there are none.
    pub range: Option<FiniteRange>,
    /// Number of zeros.
    pub zeros: usize,
    /// Number of NaNs.
    pub nan: usize,
    /// Number of infinite elements.
    pub infinite: usize,
}

/// Minimum, maximum and mean.
#[derive(Copy, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct FiniteRange {
    /// The minimum.
    pub min: f64,
    /// The maximum.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

impl Statistics {
    /// Scans a tensor block by block. Strings are not counted.
    pub fn of(tensor: &Tensor) -> Self {
        let mut tally = Tally::default();
        for block in blocks(tensor) {
            tally.count(&block.to_f64_vec().unwrap_or_default());
        }
        let [finite, zeros, nan, infinite] =
            [tally.finite, tally.zeros, tally.nan, tally.infinite].map(|lanes| lanes.iter().sum());
        let range = (finite > 0).then(|| FiniteRange {
            min: tally.min.into_iter().fold(f64::INFINITY, f64::min),
            max: tally.max.into_iter().fold(f64::NEG_INFINITY, f64::max),
            mean: tally.sum.iter().sum::<f64>() / finite as f64,
        });
        Self { range, zeros, nan, infinite }
    }
}

/// Numbers processed in parallel.
const LANES: usize = 8;

/// Partial results: lane `i` covers elements `i`, `i + LANES`, `i + 2 * LANES` and so on of each block.
struct Tally {
    min: [f64; LANES],
    max: [f64; LANES],
    sum: [f64; LANES],
    finite: [usize; LANES],
    zeros: [usize; LANES],
    nan: [usize; LANES],
    infinite: [usize; LANES],
}

impl Default for Tally {
    fn default() -> Self {
        let (sum, none) = ([0.0; LANES], [0; LANES]);
        let (min, max) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
        Self { min, max, sum, finite: none, zeros: none, nan: none, infinite: none }
    }
}

impl Tally {
    fn count(&mut self, numbers: &[f64]) {
        let (lines, rest) = numbers.as_chunks::<LANES>();
        for line in lines {
            line.iter().enumerate().for_each(|(lane, &x)| self.count_one(lane, x));
        }
        rest.iter().enumerate().for_each(|(lane, &x)| self.count_one(lane, x));
    }

    /// Branch-free, so that the compiler vectorises it.
    #[inline(always)]
    fn count_one(&mut self, lane: usize, x: f64) {
        let is_finite = x.is_finite();
        let or = |none| if is_finite { x } else { none };
        let (low, high) = (or(f64::INFINITY), or(f64::NEG_INFINITY));
        self.min[lane] = if low < self.min[lane] { low } else { self.min[lane] };
        self.max[lane] = if high > self.max[lane] { high } else { self.max[lane] };
        self.sum[lane] += or(0.0);
        self.finite[lane] += usize::from(is_finite);
        self.zeros[lane] += usize::from(x == 0.0);
        self.nan[lane] += usize::from(x.is_nan());
        self.infinite[lane] += usize::from(x.is_infinite());
    }
}

/// The elements in blocks that fit into the L1 cache as `f64`.
fn blocks(tensor: &Tensor) -> impl Iterator<Item = Tensor> {
    const BLOCK: usize = 1 << 12;
    let flat = tensor.reshape(&[tensor.len()]).ok();
    flat.into_iter().flat_map(|flat| {
        (0..flat.len())
            .step_by(BLOCK)
            .filter_map(move |start| flat.slice(0, start, BLOCK.min(flat.len() - start), 1).ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_counts_whatever_its_place() {
        let mut values = vec![0.5f32; 10_000];
        (values[17], values[9_999], values[8_191], values[3]) = (-3.0, 7.0, 0.0, f32::NEG_INFINITY);
        let found = Statistics::of(&Tensor::from_vec(&[100, 100], values).unwrap());
        assert_eq!(found.range.map(|range| (range.min, range.max)), Some((-3.0, 7.0)));
        assert_eq!((found.zeros, found.nan, found.infinite), (1, 0, 1));
        let texts = Tensor::strings(&[1], vec!["7".into()]).unwrap();
        assert_eq!(Statistics::of(&texts), Statistics::default());
        let nothing = Tensor::from_slice(&[f32::NAN], &[1]).unwrap();
        assert_eq!(Statistics::of(&nothing), Statistics { nan: 1, ..Statistics::default() });
    }
}

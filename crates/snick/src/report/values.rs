//! Statistics of large constants, which the page shows in place of the weights.

use serde::Serialize;
use snick_ir::text::MOST_SHOWN;
use snick_tensor::{FiniteRange, Statistics, Tensor};

/// The number of bars in a histogram.
const BARS: usize = 24;

/// The maximum number of elements to count in a histogram. Larger constants are sampled at even distances.
const MOST_SAMPLED: usize = 1 << 12;

/// The range and histogram of a constant.
#[derive(Serialize)]
pub(super) struct Histogram {
    min: f64,
    max: f64,
    mean: f64,
    zeros: usize,
    not_finite: usize,
    of: usize,
    sampled: usize,
    bars: [usize; BARS],
}

impl Histogram {
    /// Returns `None` if the page shows all elements of the constant, or if no element is a number.
    pub fn of(tensor: &Tensor) -> Option<Self> {
        if tensor.len() <= MOST_SHOWN {
            return None;
        }
        let found = Statistics::of(tensor);
        let FiniteRange { min, max, mean, .. } = found.range?;
        let elements = sampled(tensor)?;
        let mut bars = [0usize; BARS];
        for element in elements.iter().filter(|element| element.is_finite()) {
            // Divides by 2 first, so that the width of the range does not overflow.
            let place = if max > min { (element / 2.0 - min / 2.0) / (max / 2.0 - min / 2.0) } else { 0.0 };
            bars[((place * BARS as f64) as usize).min(BARS - 1)] += 1;
        }
        let (not_finite, sampled) = (found.nan + found.infinite, elements.len());
        Some(Self { min, max, mean, zeros: found.zeros, not_finite, of: tensor.len(), sampled, bars })
    }
}

/// Elements as numbers: all of them, or a sample at even distances. `None` for strings.
fn sampled(tensor: &Tensor) -> Option<Vec<f64>> {
    let count = tensor.len();
    if count <= MOST_SAMPLED {
        return tensor.to_f64_vec().ok();
    }
    let flat = tensor.reshape(&[count]).ok()?;
    let step = count.div_ceil(MOST_SAMPLED);
    let part = flat.slice(0, 0, count.div_ceil(step), isize::try_from(step).ok()?).ok()?;
    part.to_f64_vec().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(tensor: &Tensor) -> String {
        snick_emit::json(&Histogram::of(tensor))
    }

    #[test]
    fn the_range_is_of_all_elements_and_the_bars_of_some() {
        let mut values = vec![1f32; 100_000];
        (values[1], values[2], values[3]) = (0.0, f32::NAN, 25.0);
        let text = written(&Tensor::from_vec(&[100_000], values).unwrap());
        for part in [
            r#""min":0.0,"max":25.0,"mean":1.000"#,
            r#""zeros":1,"not_finite":1,"of":100000,"sampled":4000,"bars":[4000,0,"#,
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn all_elements_of_small_constants_are_shown_instead() {
        let of = |len: usize| written(&Tensor::from_vec(&[len], vec![1i8; len]).unwrap());
        assert_eq!(of(MOST_SHOWN), "null");
        assert!(of(MOST_SHOWN + 1).contains(r#""of":65,"sampled":65,"bars":[65,0,"#));
    }

    #[test]
    fn a_range_wider_than_any_number_has_bars() {
        let mut values = vec![f64::MAX; 100];
        values[0] = -f64::MAX;
        let text = written(&Tensor::from_vec(&[100], values).unwrap());
        assert!(text.contains(r#""bars":[1,0,"#) && text.contains(",99]"), "{text}");
    }
}

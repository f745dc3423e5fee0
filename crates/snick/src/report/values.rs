//! The distribution of the elements of a constant.

use snick_ir::json::Json;
use snick_tensor::Tensor;

/// The bars of a histogram.
const BARS: usize = 24;

/// Histograms are of at most so many elements, evenly spaced.
const MOST_SAMPLED: usize = 1 << 12;

/// Writes the histogram of a constant, if its elements are numbers and several.
pub(super) fn write(json: &mut Json, tensor: &Tensor) {
    if tensor.len() < 2 {
        return;
    }
    let Some(elements) = sampled(tensor) else { return };
    let finite: Vec<f64> = elements.iter().copied().filter(|element| element.is_finite()).collect();
    let (min, max) = finite.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), &element| {
        (min.min(element), max.max(element))
    });
    if finite.is_empty() {
        return;
    }
    let mut bars = [0usize; BARS];
    for element in &finite {
        let place = if max > min { (element - min) / (max - min) } else { 0.0 };
        bars[((place * BARS as f64) as usize).min(BARS - 1)] += 1;
    }
    json.key("histogram").object(|json| {
        json.key("min").float(min);
        json.key("max").float(max);
        json.key("mean").float(finite.iter().sum::<f64>() / finite.len() as f64);
        json.key("zeros").plain(finite.iter().filter(|element| **element == 0.0).count());
        json.key("not_finite").plain(elements.len() - finite.len());
        json.key("sampled").plain(elements.len());
        json.key("of").plain(tensor.len());
        json.key("bars").array(|json| bars.iter().for_each(|bar| json.plain(bar)));
    });
}

/// Elements as numbers: all of them, or a part at even distances. `None` for texts.
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
        let mut json = Json::default();
        json.object(|json| write(json, tensor));
        json.finish()
    }

    #[test]
    fn large_constants_are_sampled_and_small_ones_counted() {
        let small = Tensor::from_slice(&[0f32, 1.0, f32::NAN, 1.0], &[4]).unwrap();
        let text = written(&small);
        assert!(text.contains(r#""zeros":1,"not_finite":1,"sampled":4,"of":4,"bars":[1,0,"#), "{text}");
        let values: Vec<i32> = (0..100_000).collect();
        let text = written(&Tensor::from_slice(&values, &[100_000]).unwrap());
        assert!(text.contains(r#""sampled":4000,"of":100000"#), "{text}");
        assert_eq!(written(&Tensor::from_slice(&[1f32], &[1]).unwrap()), "{}\n");
    }
}

//! Compares the results of two runs.

use snick_tensor::{ElementType, SplitMix, Tensor};

/// How outputs are compared.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Tolerance {
    /// Bitwise, except that all NaNs are equal.
    Exact,
    /// Float elements may differ by rounding, and empty tensors may differ in size: the output sizes of a
    /// loop without iterations depend on what is known about its body.
    Rounding,
    /// Only element types and dims are compared, because rounding before an index can change everything.
    Shapes,
}

/// Relative changes that are at most rounding errors, but not lost by rounding.
fn step(element_type: ElementType) -> f64 {
    match element_type {
        ElementType::BF16 => 8e-3,
        ElementType::F16 => 1e-3,
        _ => 1e-6,
    }
}

/// Describes where two runs differ. `nearby` has outputs of the first graph for slightly changed inputs or
/// constants: where these differ just as much, like logarithms of rounding errors, elements are not compared.
pub(super) fn difference(
    want: &[Tensor],
    got: &[Tensor],
    how: Tolerance,
    nearby: impl FnOnce() -> Vec<Vec<Tensor>>,
) -> Option<String> {
    if want.len() != got.len() {
        return Some(format!("{} outputs, expected {}", got.len(), want.len()));
    }
    let is_other = |(want, got): (&Tensor, &Tensor)| !is_same(want, got, how);
    let number = want.iter().zip(got).position(is_other)?;
    let (want, got) = (&want[number], &got[number]);
    let apart = elements_apart(want, got).unwrap_or_default();
    let at = apart.first().copied().map(|(at, want, got)| format!(", element {at}: {got}, expected {want}"));
    let place = Some(format!("output {number}{}", at.unwrap_or_default()));
    if how != Tolerance::Rounding || apart.is_empty() {
        return place;
    }
    let nearby: Vec<Vec<f64>> =
        nearby().iter().filter_map(|outputs| outputs.get(number)?.to_f64_vec().ok()).collect();
    let is_sensitive = |&(at, want, got): &(usize, f64, f64)| {
        let moved = nearby.iter().filter_map(|values| values.get(at)).map(|value| (value - want).abs());
        moved.into_iter().any(|moved| !moved.is_finite() || moved * 32.0 >= (got - want).abs())
    };
    if apart.iter().all(is_sensitive) { None } else { place }
}

/// Changes the float elements of a tensor by about a rounding error.
pub(super) fn nudged(tensor: &Tensor, seed: u64) -> Tensor {
    let nudge = || {
        let mut random = SplitMix::new(seed);
        let step = step(tensor.element_type());
        let values = tensor.to_f64_vec().ok()?;
        let values = values.iter().map(|x| x * (1.0 + step * (2.0 * random.unit() - 1.0))).collect();
        Tensor::from_vec::<f64>(tensor.dims(), values).ok()?.cast(tensor.element_type()).ok()
    };
    let is_float = tensor.element_type().is_float();
    is_float.then(nudge).flatten().unwrap_or_else(|| tensor.clone())
}

fn is_same(want: &Tensor, got: &Tensor, how: Tolerance) -> bool {
    let are_empty = want.is_empty() && got.is_empty() && want.rank() == got.rank();
    let same_dims = want.dims() == got.dims() || (how != Tolerance::Exact && are_empty);
    if want.element_type() != got.element_type() || !same_dims {
        return false;
    }
    if how == Tolerance::Shapes || are_empty || want == got {
        return true;
    }
    if !want.element_type().is_float() {
        return false;
    }
    let (Ok(a), Ok(b)) = (want.to_f64_vec(), got.to_f64_vec()) else { return false };
    let is_equal = |x: f64, y: f64| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
    let rounding = rounding_of(want, &a);
    a.iter()
        .zip(&b)
        .all(|(&x, &y)| is_equal(x, y) || (how == Tolerance::Rounding && is_close(x, y, rounding)))
}

fn is_close(x: f64, y: f64, rounding: f64) -> bool {
    (x - y).abs() <= 1e-4 + rounding + 1e-3 * x.abs() || !x.is_finite() || !y.is_finite()
}

/// The tolerance for small elements: the terms of their sum are about as large as the largest element.
fn rounding_of(tensor: &Tensor, elements: &[f64]) -> f64 {
    step(tensor.element_type())
        * elements.iter().filter(|x| x.is_finite()).fold(0.0, |most, x| x.abs().max(most))
}

/// The indices and values of elements that are not close, for two tensors with equal dims.
fn elements_apart(want: &Tensor, got: &Tensor) -> Option<Vec<(usize, f64, f64)>> {
    let (a, b) = (want.to_f64_vec().ok()?, got.to_f64_vec().ok()?);
    let rounding = rounding_of(want, &a);
    let pairs = a.into_iter().zip(b).enumerate().map(|(at, (want, got))| (at, want, got));
    Some(pairs.filter(|&(_, want, got)| !is_close(want, got, rounding)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(value: f32) -> Vec<Tensor> {
        vec![Tensor::scalar(value)]
    }

    #[test]
    fn only_sensitive_elements_may_be_far_apart() {
        let found = |nearby: f32| {
            difference(&one(-20.0), &one(-37.0), Tolerance::Rounding, || vec![one(-20.0), one(nearby)])
        };
        assert_eq!(found(-20.001).as_deref(), Some("output 0, element 0: -37, expected -20"));
        assert_eq!(found(-14.0), None);
        let exact = difference(&one(-20.0), &one(-37.0), Tolerance::Exact, || vec![one(-14.0)]);
        assert!(exact.is_some());
    }

    #[test]
    fn small_elements_beside_large_ones_may_differ_by_their_rounding() {
        let of = |large: f32, small: f32| vec![Tensor::from_vec(&[2], vec![large, small]).unwrap()];
        let found =
            |want: &[Tensor], got: &[Tensor]| difference(want, got, Tolerance::Rounding, Vec::new).is_none();
        assert!(found(&of(1e10, -320.0), &of(1e10, 0.0)));
        assert!(!found(&of(1e6, -320.0), &of(1e6, 0.0)));
    }

    #[test]
    fn nudges_are_small() {
        let value = nudged(&Tensor::scalar(2f32), 1).to_f64_vec().unwrap()[0];
        assert!(value != 2.0 && (value - 2.0).abs() < 4e-6, "{value}");
        assert_eq!(nudged(&Tensor::scalar(3i64), 1), Tensor::scalar(3i64));
    }
}

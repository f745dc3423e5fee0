//! Outputs against recorded ones.

use clap::Args;
use snick::npz::fit;
use snick_tensor::{ElementType, Tensor};

/// How far outputs may be off. An element is within if `|got - want| <= atol + rtol * |want|`; integers, truth values
/// and texts must be equal.
#[derive(Args, Copy, Clone, Debug)]
pub struct Tolerance {
    /// Relative tolerance of real numbers
    #[arg(long, value_name = "R", default_value_t = 1e-3)]
    pub rtol: f64,
    /// Absolute tolerance of real numbers
    #[arg(long, value_name = "A", default_value_t = 1e-4)]
    pub atol: f64,
}

/// What a comparison found.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The largest absolute difference.
    pub max_abs: f64,
    /// The largest difference relative to the expected element.
    pub max_rel: f64,
    /// Elements outside the tolerance.
    pub outside: usize,
    /// Why the tensors cannot be compared at all.
    pub clash: Option<String>,
}

impl Comparison {
    /// Nothing to compare, and why.
    pub fn clash(why: String) -> Self {
        Self { max_abs: f64::INFINITY, max_rel: f64::INFINITY, outside: 0, clash: Some(why) }
    }

    /// Whether all elements are within the tolerance.
    pub fn is_within(&self) -> bool {
        self.clash.is_none() && self.outside == 0
    }
}

/// Compares an output with the array recorded for it.
pub fn compare(got: &Tensor, want: &Tensor, tolerance: Tolerance) -> Comparison {
    let describe = |tensor: &Tensor| format!("{}{:?}", tensor.element_type(), tensor.dims());
    let clash = || Comparison::clash(format!("{}, expected {}", describe(got), describe(want)));
    let Some(want) = fit(want.clone(), got.element_type(), Some(got.dims())) else { return clash() };
    if want.dims() != got.dims() {
        return clash();
    }
    if got.element_type() == ElementType::String {
        let (got, want) = (got.as_strings().unwrap_or_default(), want.as_strings().unwrap_or_default());
        let outside = got.iter().zip(&want).filter(|(a, b)| a != b).count();
        return Comparison { max_abs: 0.0, max_rel: 0.0, outside, clash: None };
    }
    let exact = !got.element_type().is_float();
    let (rtol, atol) = if exact { (0.0, 0.0) } else { (tolerance.rtol, tolerance.atol) };
    let (Ok(a), Ok(b)) = (got.to_f64_vec(), want.to_f64_vec()) else { return clash() };
    let mut found = Comparison { max_abs: 0.0, max_rel: 0.0, outside: 0, clash: None };
    for (&a, &b) in a.iter().zip(&b) {
        if a == b || (a.is_nan() && b.is_nan()) {
            continue;
        }
        let off = if a.is_finite() && b.is_finite() { (a - b).abs() } else { f64::INFINITY };
        found.max_abs = found.max_abs.max(off);
        found.max_rel = found.max_rel.max(if b == 0.0 { f64::INFINITY } else { off / b.abs() });
        found.outside += usize::from(!off.is_finite() || off > atol + rtol * b.abs());
    }
    // Wide integers may differ and yet be the same real number.
    if exact && found.outside == 0 && got.to_bytes() != want.to_bytes() {
        found.outside = 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances() {
        let tolerance = Tolerance { rtol: 0.1, atol: 0.0 };
        let tensor = |v: f32| Tensor::scalar(v);
        assert!(compare(&tensor(1.05), &tensor(1.0), tolerance).is_within());
        assert!(!compare(&tensor(1.2), &tensor(1.0), tolerance).is_within());
        assert!(compare(&tensor(f32::NAN), &tensor(f32::NAN), tolerance).is_within());
        assert!(!compare(&tensor(f32::NAN), &tensor(0.0), tolerance).is_within());
        assert!(!compare(&Tensor::scalar(i64::MAX), &Tensor::scalar(i64::MAX - 1), tolerance).is_within());
        assert!(compare(&tensor(1.0), &Tensor::scalar(1.0f64), tolerance).clash.is_some());
    }
}

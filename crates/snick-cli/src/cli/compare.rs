//! Compares outputs with recorded outputs.

use clap::Args;
use serde::Serialize;
use snick_tensor::{ElementType, Listed, Tensor};

use super::help::COMPARE;
use crate::npz::fit;

/// How far outputs may differ. An element is within the tolerance if `|got - want| <= atol + rtol * |want|`; integers,
/// booleans and strings must be equal.
#[derive(Args, Copy, Clone, Debug)]
pub struct Tolerance {
    /// Relative tolerance of floating-point elements
    #[arg(long, value_name = "R", default_value_t = RTOL, value_parser = tolerance, help_heading = COMPARE)]
    pub rtol: f64,
    /// Absolute tolerance of floating-point elements
    #[arg(long, value_name = "A", default_value_t = ATOL, value_parser = tolerance, help_heading = COMPARE)]
    pub atol: f64,
    /// Count NaN as equal to NaN
    #[arg(long, help_heading = COMPARE)]
    pub equal_nan: bool,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { rtol: RTOL, atol: ATOL, equal_nan: false }
    }
}

const RTOL: f64 = 1e-3;
const ATOL: f64 = 1e-4;

/// Parses a tolerance, which must be at least 0.
fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 0.0);
    number.ok_or_else(|| "expected a tolerance of 0 or more".into())
}

/// The result of comparing two tensors.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    /// The largest absolute difference.
    pub max_abs: f64,
    /// The largest difference relative to the expected element.
    pub max_rel: f64,
    /// The number of elements outside the tolerance.
    #[serde(skip)]
    pub outside: usize,
    /// The row-major index of the element with the largest absolute difference; for strings, of the first
    /// element that differs.
    #[serde(skip)]
    pub worst: Option<usize>,
    /// Why the tensors cannot be compared.
    #[serde(rename = "message", skip_serializing_if = "Option::is_none")]
    pub incomparable: Option<String>,
}

impl Comparison {
    /// The result for tensors that cannot be compared, with the reason.
    pub fn incomparable(why: String) -> Self {
        Self {
            max_abs: f64::INFINITY,
            max_rel: f64::INFINITY,
            outside: 0,
            worst: None,
            incomparable: Some(why),
        }
    }

    /// Whether all elements are within the tolerance.
    pub fn is_within(&self) -> bool {
        self.incomparable.is_none() && self.outside == 0
    }
}

/// Compares an output with a recorded array.
pub fn compare(got: &Tensor, want: &Tensor, tolerance: Tolerance) -> Comparison {
    let describe = |tensor: &Tensor| format!("{}{}", tensor.element_type(), Listed(tensor.dims()));
    let incomparable = || Comparison::incomparable(format!("{}, expected {}", describe(got), describe(want)));
    let Some(want) = fit(want.clone(), got.element_type(), Some(got.dims())) else { return incomparable() };
    if want.dims() != got.dims() {
        return incomparable();
    }
    if got.element_type() == ElementType::String {
        let (got, want) = (got.as_strings().unwrap_or_default(), want.as_strings().unwrap_or_default());
        let differs = |(_, (a, b)): &(usize, (&&str, &&str))| a != b;
        let outside = got.iter().zip(&want).enumerate().filter(differs);
        let worst = outside.clone().next().map(|(at, _)| at);
        return Comparison {
            max_abs: 0.0,
            max_rel: 0.0,
            outside: outside.count(),
            worst,
            incomparable: None,
        };
    }
    let exact = !got.element_type().is_float();
    let (rtol, atol) = if exact { (0.0, 0.0) } else { (tolerance.rtol, tolerance.atol) };
    let (Ok(a), Ok(b)) = (got.to_f64_vec(), want.to_f64_vec()) else { return incomparable() };
    let mut found = Comparison { max_abs: 0.0, max_rel: 0.0, outside: 0, worst: None, incomparable: None };
    for (at, (&a, &b)) in a.iter().zip(&b).enumerate() {
        if a == b || (tolerance.equal_nan && a.is_nan() && b.is_nan()) {
            continue;
        }
        let off = if a.is_finite() && b.is_finite() { (a - b).abs() } else { f64::INFINITY };
        if found.worst.is_none() || off > found.max_abs {
            (found.max_abs, found.worst) = (off, Some(at));
        }
        found.max_rel = found.max_rel.max(if b == 0.0 { f64::INFINITY } else { off / b.abs() });
        found.outside += usize::from(!off.is_finite() || off > atol + rtol * b.abs());
    }
    // Two different 64-bit integers may have the same value as f64.
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
        let tolerance = Tolerance { rtol: 0.1, atol: 0.0, equal_nan: false };
        let tensor = |v: f32| Tensor::scalar(v);
        assert!(compare(&tensor(1.05), &tensor(1.0), tolerance).is_within());
        assert!(!compare(&tensor(1.2), &tensor(1.0), tolerance).is_within());
        assert!(!compare(&tensor(f32::NAN), &tensor(f32::NAN), tolerance).is_within());
        let equal_nan = Tolerance { equal_nan: true, ..tolerance };
        assert!(compare(&tensor(f32::NAN), &tensor(f32::NAN), equal_nan).is_within());
        assert!(!compare(&tensor(f32::NAN), &tensor(0.0), equal_nan).is_within());
        assert!(!compare(&tensor(f32::NAN), &tensor(0.0), tolerance).is_within());
        assert!(!compare(&Tensor::scalar(i64::MAX), &Tensor::scalar(i64::MAX - 1), tolerance).is_within());
        assert!(compare(&tensor(1.0), &Tensor::scalar(1.0f64), tolerance).incomparable.is_some());
    }
}

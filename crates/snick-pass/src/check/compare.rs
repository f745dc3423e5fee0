//! Compares old and new values on a sample.

use std::collections::HashMap;

use snick_ir::rewrite::Tolerance;
use snick_ir::{Graph, Value};
use snick_shape::SymbolId;
use snick_tensor::{Listed, Tensor};

use super::claim::{Claim, Pair};
use super::evaluate::{Evaluation, Failure};
use super::sample::Sample;

/// The number of evaluations with perturbed values. The largest change among them is an estimate of the
/// largest rounding error.
const PERTURBED: u64 = 4;

/// A safety factor for the estimated rounding error. The errors of the old and the new value may have
/// opposite signs, and a layer may round several times internally although its output is perturbed only once.
const SAFETY: f64 = 8.0;

/// The result of comparing a pair on a sample.
pub(super) enum Outcome {
    /// The old and new values are equal.
    Agrees,
    /// The old layers fail on this sample, or the sample cannot occur.
    DoesNotRun,
    /// A layer cannot be executed at all.
    CannotRun,
    /// The values differ. The text describes the difference.
    Differs(String),
}

/// Compares the two values of a pair. Layers that both values depend on are computed once.
pub(super) fn compare(claim: &Claim, pair: &Pair, sample: &Sample, values: &mut Evaluation) -> Outcome {
    let graph = claim.graph;
    let want = match values.value(pair.old) {
        Ok(want) => want,
        Err(Failure::CannotRun(_)) => return Outcome::CannotRun,
        Err(Failure::Fails(_)) => return Outcome::DoesNotRun,
    };
    // The inputs of the region are sampled independently. If the old value contradicts its inferred fact,
    // these inputs cannot occur together.
    if contradiction(graph, pair.old, &want, &sample.symbols).is_some() {
        return Outcome::DoesNotRun;
    }
    let name = &pair.name;
    let got = match values.value(pair.new) {
        Ok(got) => got,
        Err(Failure::CannotRun(_)) => return Outcome::CannotRun,
        Err(Failure::Fails(error)) => {
            return Outcome::Differs(format!("{name}: the replacement fails: {error}"));
        }
    };
    let noise = || noise(claim, sample, pair.old, &want);
    if let Some(how) = difference(&want, &got, claim.tolerance, noise) {
        return Outcome::Differs(format!("{name}: {how}"));
    }
    match contradiction(graph, pair.new, &got, &sample.symbols) {
        Some(how) => Outcome::Differs(format!("{name}: the replacement was inferred to have {how}")),
        None => Outcome::Agrees,
    }
}

/// Describes how `got` contradicts the inferred fact of a value; `None` if it does not.
fn contradiction(
    graph: &Graph,
    value: Value,
    got: &Tensor,
    sizes: &HashMap<SymbolId, i64>,
) -> Option<String> {
    let fact = graph.fact(value)?;
    let symbols = graph.symbols();
    let dims = fact.shape.dims()?;
    if dims.len() != got.rank() {
        return Some(format!("rank {}, but has rank {}", dims.len(), got.rank()));
    }
    dims.iter().zip(got.dims()).enumerate().find_map(|(axis, (dim, &size))| {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let inferred = symbols.eval(dim, &|symbol| sizes.get(&symbol).copied());
        let contradicts =
            !symbols.interval(dim).contains(size) || inferred.is_some_and(|inferred| inferred != size);
        contradicts.then(|| format!("size {} on axis {axis}, but has {size}", symbols.display(dim)))
    })
}

/// Estimates how far rounding can change each element of an old value by evaluating it with perturbed inputs.
/// The change can be large where terms cancel. `None` if an evaluation fails or changes the shape.
fn noise(claim: &Claim, sample: &Sample, old: Value, want: &Tensor) -> Option<Vec<f64>> {
    let exact = want.to_f64_vec().ok()?;
    let mut noise = vec![0.0f64; exact.len()];
    for seed in 0..PERTURBED {
        let moved = Evaluation::perturbed(claim, &sample.tensors, seed).value(old).ok()?;
        if moved.dims() != want.dims() {
            return None;
        }
        for ((noise, x), y) in noise.iter_mut().zip(&exact).zip(moved.to_f64_vec().ok()?) {
            let off = if is_same(*x, y) { 0.0 } else { (x - y).abs() };
            *noise = noise.max(if off.is_nan() { f64::INFINITY } else { off });
        }
    }
    Some(noise)
}

/// Whether two numbers are equal or both are NaN.
fn is_same(x: f64, y: f64) -> bool {
    x == y || (x.is_nan() && y.is_nan())
}

/// Describes the first difference between two tensors. Without a tolerance, the bits must be equal, except
/// that all NaNs are considered equal. With a tolerance, elements may also differ by a multiple of the
/// rounding error that `noise` estimates.
fn difference(
    want: &Tensor,
    got: &Tensor,
    tolerance: Option<Tolerance>,
    noise: impl FnOnce() -> Option<Vec<f64>>,
) -> Option<String> {
    if want == got {
        return None;
    }
    let describe = |tensor: &Tensor| format!("{}{}", tensor.element_type(), Listed(tensor.dims()));
    if want.element_type() != got.element_type() || want.dims() != got.dims() {
        return Some(format!("{}, expected {}", describe(got), describe(want)));
    }
    let (Ok(a), Ok(b)) = (want.to_f64_vec(), got.to_f64_vec()) else {
        return Some("the elements differ".into());
    };
    let Some(tolerance) = tolerance else {
        let is_nan = |x: &f64, y: &f64| x.is_nan() && y.is_nan();
        return match a.iter().zip(&b).position(|(x, y)| x.to_bits() != y.to_bits() && !is_nan(x, y)) {
            Some(at) => Some(format!("element {at} of {} is {}, expected {}", describe(got), b[at], a[at])),
            // All NaNs are considered equal.
            None if a.iter().any(|x| x.is_nan()) => None,
            None => Some("the bits differ".into()),
        };
    };
    let tolerance = match want.element_type().is_float() {
        true => tolerance,
        false => Tolerance { relative: 0.0, absolute: 0.0 },
    };
    if a.iter().zip(&b).all(|(&x, &y)| tolerance.admits(x, y)) {
        return None;
    }
    let noise = noise().unwrap_or_else(|| vec![0.0; a.len()]);
    let with_noise = |i: usize| Tolerance { absolute: tolerance.absolute + SAFETY * noise[i], ..tolerance };
    let at = (0..a.len()).find(|&i| !with_noise(i).admits(a[i], b[i]))?;
    Some(format!("element {at} of {} is {}, expected {}", describe(got), b[at], a[at]))
}

//! Finds the elements of two tensors that differ by more than rounding.

use snick_ir::rewrite::Tolerance;
use snick_tensor::{ElementType, Listed, Tensor};

/// The difference between two tensors.
pub(super) enum Difference {
    /// The element types or shapes differ.
    Type,
    /// The elements at these row-major positions differ.
    Elements(Vec<usize>),
}

/// How many times the effect of rounding in a model two equal models may differ. The effect is a sample: it depends
/// on which bits are lost.
const ROUNDING_EFFECTS: f64 = 4.0;

/// Compares two tensors; `None` if they differ by rounding at most. `effect` is the effect of rounding inside the
/// models on this output, see [`change`].
pub(super) fn difference(want: &Tensor, got: &Tensor, effect: f64) -> Option<Difference> {
    if want == got || effect.is_infinite() {
        return None;
    }
    if want.element_type() != got.element_type() || want.dims() != got.dims() {
        return Some(Difference::Type);
    }
    let element_type = want.element_type();
    let positions = if element_type == ElementType::String {
        positions(want.as_strings().ok()?, got.as_strings().ok()?, |a, b| a == b)
    } else if element_type.is_float() {
        let (a, b) = (want.to_f64_vec().ok()?, got.to_f64_vec().ok()?);
        let mut tolerance = rounding(element_type, &a);
        tolerance.absolute += ROUNDING_EFFECTS * effect;
        positions(a, b, |&a, &b| tolerance.admits(a, b))
    } else {
        positions(want.to_i64_vec().ok()?, got.to_i64_vec().ok()?, |a, b| a == b)
    };
    (!positions.is_empty()).then_some(Difference::Elements(positions))
}

/// The effect of rounding inside a model on an output: the largest change of an element. Infinite if the type or the
/// shape changes, or an element that is not a float.
pub(super) fn change(exact: &Tensor, rounded: &Tensor) -> f64 {
    if exact == rounded {
        return 0.0;
    }
    let is_comparable = exact.element_type().is_float()
        && exact.element_type() == rounded.element_type()
        && exact.dims() == rounded.dims();
    let (true, Ok(a), Ok(b)) = (is_comparable, exact.to_f64_vec(), rounded.to_f64_vec()) else {
        return f64::INFINITY;
    };
    let changes = a.into_iter().zip(b).map(|(a, b)| match a == b || a.is_nan() && b.is_nan() {
        true => 0.0,
        false if (a - b).is_nan() => f64::INFINITY,
        false => (a - b).abs(),
    });
    changes.fold(0.0, f64::max)
}

fn positions<T>(want: Vec<T>, got: Vec<T>, is_equal: impl Fn(&T, &T) -> bool) -> Vec<usize> {
    let pairs = want.iter().zip(&got).enumerate();
    pairs.filter(|(_, (a, b))| !is_equal(a, b)).map(|(at, _)| at).collect()
}

/// How far sums in another order may change these elements. Terms that cancel leave an error that depends on
/// the size of the terms, so part of the tolerance is relative to the largest element.
fn rounding(element_type: ElementType, elements: &[f64]) -> Tolerance {
    let (relative, of_largest) = match element_type {
        ElementType::F32 | ElementType::F64 => (1e-3, 1e-4),
        _ => (1e-2, 1e-3),
    };
    let magnitudes = elements.iter().map(|x| x.abs()).filter(|x| x.is_finite());
    Tolerance { relative, absolute: of_largest * magnitudes.fold(0.0, f64::max) }
}

/// The element type and the shape, such as `f32[2,3]`.
pub(super) fn type_text(tensor: &Tensor) -> String {
    format!("{}{}", tensor.element_type(), Listed(tensor.dims()))
}

/// The element at a row-major position, as text.
pub(super) fn element_text(tensor: &Tensor, at: usize) -> Option<String> {
    let one = tensor.reshape(&[tensor.len()]).and_then(|flat| flat.slice(0, at, 1, 1)).ok()?;
    Some(match tensor.element_type() {
        ElementType::String => format!("{:?}", one.as_strings().ok()?.first()?),
        ElementType::F64 => format!("{:?}", one.to_f64_vec().ok()?.first()?),
        element_type if element_type.is_float() => format!("{:?}", one.to_f32_vec().ok()?.first()?),
        ElementType::Boolean => (*one.to_i64_vec().ok()?.first()? != 0).to_string(),
        ElementType::U64 => one.values::<u64>().ok()?.first()?.to_string(),
        _ => one.to_i64_vec().ok()?.first()?.to_string(),
    })
}

/// The index along each axis of a row-major position.
pub(super) fn index_of(mut at: usize, dims: &[usize]) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for (index, &size) in index.iter_mut().zip(dims).rev() {
        *index = at % size.max(1);
        at /= size.max(1);
    }
    index
}

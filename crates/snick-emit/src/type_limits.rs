//! Bounds for formats that store them as values of the element type.

use snick_tensor::ElementType;

/// The bounds, representable in the element type. Bounds of integers are rounded inwards and clamped to the
/// range of the type.
pub(crate) fn bounds(min: f64, max: f64, element_type: ElementType) -> [f64; 2] {
    match element_type.integer_range_f64() {
        Some((least, most)) => [min.ceil(), max.floor()].map(|bound| bound.clamp(least, most)),
        None => [min, max],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_stay_within_the_type() {
        assert_eq!(bounds(-1.5, 300.0, ElementType::U8), [0.0, 255.0]);
        assert_eq!(bounds(-1.5, 2.5, ElementType::I8), [-1.0, 2.0]);
        assert_eq!(bounds(f64::NEG_INFINITY, 2.5, ElementType::F32), [f64::NEG_INFINITY, 2.5]);
    }
}

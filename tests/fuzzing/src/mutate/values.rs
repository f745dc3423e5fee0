//! Random attributes, dims and constants.

use std::sync::Arc;

use snick_ir::ops::source::constant::Constant;
use snick_ir::{AttrSpec, AttrValue, Op};
use snick_tensor::{ElementType, SplitMix, Tensor};

use super::{below, pick};

/// Integers that trigger different branches.
const INTEGERS: [i64; 24] = [
    -1,
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    8,
    -2,
    -3,
    7,
    9,
    16,
    17,
    31,
    64,
    127,
    255,
    65_536,
    i32::MAX as i64,
    i32::MIN as i64,
    i64::MAX,
    i64::MIN,
];

/// Dims in the notation of a Parameter.
const DIMS: [&str; 22] = [
    "1", "2", "3", "4", "5", "8", "0", "N", "M", "?", "1..4", "0..3", "2..", "..5", "2*N", "N+1", "N+M",
    "N/2", "K=2..6", "-1", "16", "1..",
];

const FLOATS: [f64; 14] = [
    0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    1e-3,
    1e10,
    -0.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    1e-40,
    3.5,
    -2.5,
];

const TYPES: [ElementType; 14] = [
    ElementType::F32,
    ElementType::I64,
    ElementType::I32,
    ElementType::F16,
    ElementType::U8,
    ElementType::I8,
    ElementType::Boolean,
    ElementType::BF16,
    ElementType::F64,
    ElementType::U4,
    ElementType::U64,
    ElementType::U1,
    ElementType::String,
    ElementType::Dynamic,
];

/// An integer, usually small.
pub(super) fn integer(random: &mut SplitMix) -> i64 {
    let count = if random.below(8) == 0 { INTEGERS.len() } else { 9 };
    INTEGERS[below(count, random)]
}

fn float(random: &mut SplitMix) -> f64 {
    FLOATS[below(FLOATS.len(), random)]
}

/// An element type, usually a common one.
pub(super) fn element_type(random: &mut SplitMix) -> ElementType {
    let count = if random.below(3) == 0 { TYPES.len() } else { 4 };
    TYPES[below(count, random)]
}

fn many<T>(random: &mut SplitMix, mut item: impl FnMut(&mut SplitMix) -> T) -> Vec<T> {
    let count = below(5, random);
    (0..count).map(|_| item(random)).collect()
}

/// A shape in the notation of a Parameter.
fn shape(random: &mut SplitMix) -> String {
    match random.below(16) {
        0 => "...".into(),
        _ => many(random, |random| DIMS[below(DIMS.len(), random)]).join(","),
    }
}

/// Changes, adds or removes one dim of a shape.
fn changed_shape(old: &str, random: &mut SplitMix) -> String {
    let mut dims: Vec<&str> = if old.is_empty() { Vec::new() } else { old.split(',').collect() };
    let at = below(dims.len() + 1, random);
    let dim = DIMS[below(DIMS.len(), random)];
    match random.below(4) {
        0 => dims.insert(at, dim),
        1 if at < dims.len() => drop(dims.remove(at)),
        _ if at < dims.len() => dims[at] = dim,
        _ => {}
    }
    dims.join(",")
}

/// Small dims for a tensor.
fn tensor_dims(random: &mut SplitMix) -> Vec<usize> {
    many(random, |random| [1, 1, 2, 3, 4, 0][below(6, random)])
}

/// A constant with integers or floats.
pub(super) fn constant(random: &mut SplitMix) -> Option<Tensor> {
    let dims = match random.below(4) {
        0 => vec![],
        1 | 2 => vec![1 + below(4, random)],
        _ => tensor_dims(random),
    };
    let count = dims.iter().product();
    match random.below(3) {
        0 => {
            let values = (0..count).map(|_| float(random)).collect();
            Tensor::from_vec::<f64>(&dims, values).ok()?.cast(element_type(random)).ok()
        }
        _ => Tensor::from_vec::<i64>(&dims, (0..count).map(|_| integer(random)).collect()).ok(),
    }
}

/// Changes one element, the dims or the type of a constant.
pub(super) fn changed_constant(op: &Op, random: &mut SplitMix) -> Option<Op> {
    let Op::Const(Constant::Here(old)) = op else { return None };
    let integers = old.to_i64_vec().ok();
    let new = match (random.below(5), integers) {
        (0, _) => old.cast(element_type(random)).ok()?,
        (1, _) => {
            let count = old.len();
            let dims = match random.below(3) {
                0 => vec![count],
                1 => vec![1, count],
                _ => [old.dims(), &[1]].concat(),
            };
            old.contiguous().reshape(&dims).ok()?
        }
        (2, Some(mut values)) if old.rank() == 1 => {
            match random.below(2) {
                0 => values.push(integer(random)),
                _ => drop(values.pop()),
            }
            Tensor::from_vec::<i64>(&[values.len()], values).ok()?.cast(old.element_type()).ok()?
        }
        (3, _) if old.element_type().is_float() && old.len() < 4096 => {
            let mut values = old.to_f64_vec().ok()?;
            let at = below(values.len(), random);
            *values.get_mut(at)? = float(random);
            Tensor::from_vec::<f64>(old.dims(), values).ok()?.cast(old.element_type()).ok()?
        }
        (_, Some(mut values)) if old.len() < 4096 => {
            let at = below(values.len(), random);
            let value = values.get_mut(at)?;
            *value = if random.below(2) == 0 {
                integer(random)
            } else {
                value.saturating_add(1 - 2 * random.below(2) as i64)
            };
            Tensor::from_vec::<i64>(old.dims(), values).ok()?.cast(old.element_type()).ok()?
        }
        _ => return None,
    };
    Some(Op::from(Constant::new(Arc::new(new))))
}

/// A value of the kind that an attribute declares, or occasionally of another.
pub(super) fn attribute(
    spec: &AttrSpec,
    old: Option<&AttrValue>,
    random: &mut SplitMix,
) -> AttrValue<'static> {
    if let (Some(AttrValue::Ints(old)), true) = (old, random.below(2) == 0) {
        let mut ints = old.clone();
        let at = below(ints.len(), random);
        match ints.get_mut(at) {
            Some(item) => *item = integer(random),
            None => ints.push(integer(random)),
        }
        return AttrValue::Ints(ints);
    }
    let text = |text: String| AttrValue::from(text);
    match (spec.kind.as_ref(), old) {
        _ if random.below(32) == 0 => text(shape(random)),
        ("integer" | "non-negative integer", _) => AttrValue::Int(integer(random)),
        ("number", _) => AttrValue::Float(float(random)),
        ("boolean", _) => AttrValue::Bool(random.below(2) == 0),
        ("integers" | "non-negative integers", _) => AttrValue::Ints(many(random, integer).into()),
        ("numbers", _) => AttrValue::Floats(many(random, float)),
        ("element type", _) => AttrValue::from(element_type(random)),
        ("shape", Some(AttrValue::Text(old))) if random.below(4) > 0 => text(changed_shape(old, random)),
        ("shape", _) => text(shape(random)),
        (kind, _) => match kind.strip_prefix("one of ") {
            Some(words) => {
                let words: Vec<&str> = words.split(", ").collect();
                text(pick(&words, random).copied().unwrap_or_default().to_string())
            }
            None => text(["", "a", "ij,jk->ik", "0", "\u{7f}"][below(5, random)].to_string()),
        },
    }
}

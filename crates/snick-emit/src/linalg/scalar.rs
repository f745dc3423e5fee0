//! Functions of scalars, in the dialects arith and math. The element type selects operations on signed or
//! unsigned integers, because integers in MLIR have no sign.

use snick_tensor::ElementType;

use super::code::parts;
use super::lowering::{Lowering, Result};
use super::types::{Value, is_unsigned, malformed, scalar};

/// `op a, b : type`
fn binary(l: &mut Lowering, op: &str, [a, b]: [Value; 2], element: ElementType) -> Value {
    l.code.op("", parts![format!("{op} "), a, ", ", b, format!(" : {}", scalar(element))])
}

/// `op x : type`
fn one(l: &mut Lowering, op: &str, x: Value, element: ElementType) -> Value {
    l.code.op("", parts![format!("{op} "), x, format!(" : {}", scalar(element))])
}

pub(super) fn select(
    l: &mut Lowering,
    condition: Value,
    yes: Value,
    no: Value,
    element: ElementType,
) -> Value {
    let ty = format!(" : {}", scalar(element));
    l.code.op("", parts!["arith.select ", condition, ", ", yes, ", ", no, ty])
}

/// A function of two elements that is a single operation.
pub(super) fn operation(name: &str, element: ElementType) -> Option<&'static str> {
    let boolean = element == ElementType::Boolean;
    Some(match (name, element.is_float(), is_unsigned(element)) {
        ("add" | "maximum" | "or", ..) if boolean => "arith.ori",
        ("multiply" | "minimum" | "and", ..) if boolean => "arith.andi",
        ("and", ..) => "arith.andi",
        ("or", ..) => "arith.ori",
        ("xor", ..) => "arith.xori",
        ("add", true, _) => "arith.addf",
        ("add", ..) => "arith.addi",
        ("subtract", true, _) => "arith.subf",
        ("subtract", ..) => "arith.subi",
        ("multiply", true, _) => "arith.mulf",
        ("multiply", ..) => "arith.muli",
        ("maximum", true, _) => "arith.maximumf",
        ("maximum", _, true) => "arith.maxui",
        ("maximum", ..) => "arith.maxsi",
        ("minimum", true, _) => "arith.minimumf",
        ("minimum", _, true) => "arith.minui",
        ("minimum", ..) => "arith.minsi",
        ("divide", true, _) => "arith.divf",
        ("remainder", true, _) => "arith.remf",
        ("power", true, _) => "math.powf",
        ("atan2", true, _) => "math.atan2",
        _ => return None,
    })
}

/// A function of two elements.
pub(super) fn combine(l: &mut Lowering, name: &str, x: [Value; 2], element: ElementType) -> Result<Value> {
    if let Some(op) = operation(name, element) {
        return Ok(binary(l, op, x, element));
    }
    Ok(match name {
        "divide" => quotient(l, ["arith.divui", "arith.divsi"], x, element),
        "remainder" => quotient(l, ["arith.remui", "arith.remsi"], x, element),
        "power" => integer_power(l, x, element),
        "shift_left" => shift(l, "arith.shli", x, element),
        "shift_right_logical" => shift(l, "arith.shrui", x, element),
        "shift_right_arithmetic" => shift(l, "arith.shrsi", x, element),
        _ => return Err(malformed(name)),
    })
}

/// Divides by 1 instead of 0, because a division by 0 would end the process.
fn quotient(
    l: &mut Lowering,
    [unsigned, signed]: [&str; 2],
    [a, b]: [Value; 2],
    element: ElementType,
) -> Value {
    let (zero, one) = (l.scalar_constant(0.0, element), l.scalar_constant(1.0, element));
    let is_zero = comparison(l, "arith.cmpi eq", [b, zero], element);
    let b = select(l, is_zero, one, b, element);
    binary(l, if is_unsigned(element) { unsigned } else { signed }, [a, b], element)
}

/// Shifts by less than the width of the type. All other shifts give 0, or -1 for negative numbers that are
/// shifted right.
fn shift(l: &mut Lowering, op: &str, [x, by]: [Value; 2], element: ElementType) -> Value {
    let bits = element.bit_width().unwrap_or(1);
    let last = l.scalar_constant(f64::from(bits - 1), element);
    let near = binary(l, "arith.minui", [by, last], element);
    let shifted = binary(l, op, [x, near], element);
    if op == "arith.shrsi" {
        return shifted;
    }
    let zero = l.scalar_constant(0.0, element);
    let is_far = comparison(l, "arith.cmpi ugt", [by, last], element);
    select(l, is_far, zero, shifted, element)
}

/// Squares and multiplies, bit by bit of the exponent. Negative exponents only have a result other than 0 for
/// 1 and -1.
fn integer_power(l: &mut Lowering, [base, exponent]: [Value; 2], element: ElementType) -> Value {
    let (zero, one) = (l.scalar_constant(0.0, element), l.scalar_constant(1.0, element));
    let (mut power, mut square, mut rest) = (one, base, exponent);
    let bits = element.bit_width().unwrap_or(1).min(6);
    for bit in 0..bits {
        let last = binary(l, "arith.andi", [rest, one], element);
        let is_set = comparison(l, "arith.cmpi ne", [last, zero], element);
        let product = binary(l, "arith.muli", [power, square], element);
        power = select(l, is_set, product, power, element);
        if bit + 1 < bits {
            square = binary(l, "arith.muli", [square, square], element);
            rest = binary(l, "arith.shrui", [rest, one], element);
        }
    }
    if is_unsigned(element) {
        return power;
    }
    let minus_one = l.scalar_constant(-1.0, element);
    let is_one = comparison(l, "arith.cmpi eq", [base, one], element);
    let is_minus_one = comparison(l, "arith.cmpi eq", [base, minus_one], element);
    let odd = binary(l, "arith.andi", [exponent, one], element);
    let is_odd = comparison(l, "arith.cmpi ne", [odd, zero], element);
    let sign = select(l, is_odd, minus_one, one, element);
    let small = select(l, is_one, one, zero, element);
    let small = select(l, is_minus_one, sign, small, element);
    let is_negative = comparison(l, "arith.cmpi slt", [exponent, zero], element);
    select(l, is_negative, small, power, element)
}

/// `op a, b : type`, where `op` ends with the predicate.
fn comparison(l: &mut Lowering, op: &str, [a, b]: [Value; 2], element: ElementType) -> Value {
    l.code.op("", parts![format!("{op}, "), a, ", ", b, format!(" : {}", scalar(element))])
}

pub(super) fn compare(
    l: &mut Lowering,
    direction: &str,
    x: [Value; 2],
    element: ElementType,
) -> Result<Value> {
    let no_sign = is_unsigned(element) || element == ElementType::Boolean;
    let op = match (direction, element.is_float(), no_sign) {
        ("EQ", true, _) => "arith.cmpf oeq",
        ("NE", true, _) => "arith.cmpf une",
        ("LT", true, _) => "arith.cmpf olt",
        ("LE", true, _) => "arith.cmpf ole",
        ("GT", true, _) => "arith.cmpf ogt",
        ("GE", true, _) => "arith.cmpf oge",
        ("EQ", ..) => "arith.cmpi eq",
        ("NE", ..) => "arith.cmpi ne",
        ("LT", _, false) => "arith.cmpi slt",
        ("LE", _, false) => "arith.cmpi sle",
        ("GT", _, false) => "arith.cmpi sgt",
        ("GE", _, false) => "arith.cmpi sge",
        ("LT", ..) => "arith.cmpi ult",
        ("LE", ..) => "arith.cmpi ule",
        ("GT", ..) => "arith.cmpi ugt",
        ("GE", ..) => "arith.cmpi uge",
        _ => return Err(malformed("a comparison")),
    };
    Ok(comparison(l, op, x, element))
}

/// A function of one element.
pub(super) fn unary(l: &mut Lowering, name: &str, x: Value, element: ElementType) -> Result<Value> {
    let op = match (name, element.is_float()) {
        ("abs", true) => "math.absf",
        ("abs", false) => "math.absi",
        ("negate", true) => "arith.negf",
        ("negate", false) => {
            let zero = l.scalar_constant(0.0, element);
            return Ok(binary(l, "arith.subi", [zero, x], element));
        }
        ("not", _) => {
            let ones = match element {
                ElementType::Boolean => l.scalar_constant(1.0, element),
                _ => l.literal("-1", element),
            };
            return Ok(binary(l, "arith.xori", [x, ones], element));
        }
        ("sign", _) => return sign(l, x, element),
        ("logistic", _) => return Ok(logistic(l, x, element)),
        ("floor", _) => "math.floor",
        ("ceil", _) => "math.ceil",
        ("round_nearest_afz", _) => "math.round",
        ("round_nearest_even", _) => "math.roundeven",
        ("exponential", _) => "math.exp",
        ("exponential_minus_one", _) => "math.expm1",
        ("log", _) => "math.log",
        ("log_plus_one", _) => "math.log1p",
        ("tanh", _) => "math.tanh",
        ("sqrt", _) => "math.sqrt",
        ("sine", _) => "math.sin",
        ("cosine", _) => "math.cos",
        ("tan", _) => "math.tan",
        _ => return Err(malformed(name)),
    };
    Ok(one(l, op, x, element))
}

/// -1, 0 or 1. Zeros and NaN are returned unchanged.
fn sign(l: &mut Lowering, x: Value, element: ElementType) -> Result<Value> {
    let zero = l.scalar_constant(0.0, element);
    let (one, minus_one) = (l.scalar_constant(1.0, element), l.scalar_constant(-1.0, element));
    let above = compare(l, "GT", [x, zero], element)?;
    let below = compare(l, "LT", [x, zero], element)?;
    let rest = select(l, below, minus_one, x, element);
    Ok(select(l, above, one, rest, element))
}

/// `1 / (1 + exp(-x))`
fn logistic(l: &mut Lowering, x: Value, element: ElementType) -> Value {
    let unit = l.scalar_constant(1.0, element);
    let negative = one(l, "arith.negf", x, element);
    let power = one(l, "math.exp", negative, element);
    let sum = binary(l, "arith.addf", [unit, power], element);
    binary(l, "arith.divf", [unit, sum], element)
}

pub(super) fn is_finite(l: &mut Lowering, x: Value, element: ElementType) -> Result<Value> {
    let size = one(l, "math.absf", x, element);
    let infinity = l.scalar_constant(f64::INFINITY, element);
    compare(l, "LT", [size, infinity], element)
}

/// Converts an element. Integers that do not fit wrap around, and floats are rounded towards zero.
pub(super) fn convert(l: &mut Lowering, x: Value, from: ElementType, to: ElementType) -> Result<Value> {
    let (narrow, wide) = (from.bit_width().unwrap_or(0), to.bit_width().unwrap_or(0));
    let no_sign = is_unsigned(from) || from == ElementType::Boolean;
    let op = match (from.is_float(), to.is_float()) {
        _ if scalar(from) == scalar(to) => return Ok(x),
        // Neither half type contains the other.
        (true, true) if narrow == wide => {
            let x = convert(l, x, from, ElementType::F32)?;
            return convert(l, x, ElementType::F32, to);
        }
        (true, true) if narrow < wide => "arith.extf",
        (true, true) => "arith.truncf",
        (true, false) if to == ElementType::Boolean => {
            let zero = l.scalar_constant(0.0, from);
            return compare(l, "NE", [x, zero], from);
        }
        (true, false) if is_unsigned(to) => "arith.fptoui",
        (true, false) => "arith.fptosi",
        (false, true) if no_sign => "arith.uitofp",
        (false, true) => "arith.sitofp",
        (false, false) if to == ElementType::Boolean => {
            let zero = l.scalar_constant(0.0, from);
            return compare(l, "NE", [x, zero], from);
        }
        (false, false) if narrow > wide => "arith.trunci",
        (false, false) if no_sign => "arith.extui",
        (false, false) => "arith.extsi",
    };
    let types = format!(" : {} to {}", scalar(from), scalar(to));
    Ok(l.code.op("", parts![format!("{op} "), x, types]))
}

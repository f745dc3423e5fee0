//! Bitwise operations. Operator sets without operators for integers compute them from the single bits.

use snick_ir::OpError;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result, int, text};

/// The bits of i64 are computed in two halves of this many bits.
const HALF: u32 = 32;

/// ONNX has separate operators for booleans and for integers.
pub(super) fn bitwise(e: &mut Emitter, op: &str, of_booleans: &str) -> Result {
    let own = e.element_type(0)?;
    if own == ElementType::Boolean {
        return e.last(of_booleans, &e.inputs(), vec![]);
    }
    // The bits of u64 do not fit in i64. BitwiseNot has a decomposition.
    if e.has(op) || own == ElementType::U64 || e.len() < 2 {
        return e.last(op, &e.inputs(), vec![]);
    }
    let mut operands = Vec::new();
    for i in 0..2 {
        operands.push(e.cast(e.input(i)?, own, ElementType::I64)?);
    }
    let width = own.bit_width().unwrap_or(HALF);
    let (low, high): (Vec<_>, _) = match width > HALF {
        true => {
            let size = power(e, HALF)?;
            let low: Vec<String> = operands.iter().map(|x| modulo(e, x, &size)).collect();
            let rest = operands.iter().zip(&low).map(|(x, low)| {
                let rest = e.node("Sub", &[x, low], vec![]);
                e.node("Div", &[&rest, &size], vec![])
            });
            let high = rest.collect::<Vec<String>>();
            (low, Some((high, size)))
        }
        false => (operands, None),
    };
    let is_signed = own.is_signed();
    let y = match high {
        Some((high, size)) => {
            let low = combined(e, of_booleans, &low, HALF, false)?;
            let high = combined(e, of_booleans, &high, HALF, is_signed)?;
            let high = e.node("Mul", &[high, size], vec![]);
            e.node("Add", &[high, low], vec![])
        }
        None => combined(e, of_booleans, &low, width, is_signed)?,
    };
    let to = e.to(own)?;
    e.last("Cast", &[y], to)
}

/// Combines the lowest `width` bits of two integers.
fn combined(
    e: &mut Emitter,
    function: &str,
    operands: &[String],
    width: u32,
    is_signed: bool,
) -> Result<String> {
    let (size, two) = (power(e, width)?, e.index(2)?);
    let powers = e.vector(&(0..width).map(|bit| 1 << bit).collect::<Vec<i64>>())?;
    let mut bits = Vec::new();
    for x in operands {
        let x = modulo(e, x, &size);
        let x = e.unsqueezed(&x, &[-1])?;
        let x = e.node("Div", &[&x, &powers], vec![]);
        bits.push(modulo(e, &x, &two));
    }
    let mut both = e.node(if function == "And" { "Mul" } else { "Add" }, &bits, vec![]);
    match function {
        "Xor" => both = modulo(e, &both, &two),
        "Or" => {
            let common = e.node("Mul", &bits, vec![]);
            both = e.node("Sub", &[both, common], vec![]);
        }
        _ => {}
    }
    let parts = e.node("Mul", &[both, powers], vec![]);
    let last = e.vector(&[-1])?;
    let y = e.node("ReduceSum", &[parts, last], vec![int("keepdims", 0)]);
    if !is_signed {
        return Ok(y);
    }
    let half = power(e, width - 1)?;
    let is_positive = e.node("Less", &[&y, &half], vec![]);
    let negative = e.node("Sub", &[&y, &size], vec![]);
    Ok(e.node("Where", &[is_positive, y, negative], vec![]))
}

fn power(e: &mut Emitter, exponent: u32) -> Result<String> {
    e.index(1 << exponent)
}

/// The remainder, which is not negative.
fn modulo(e: &mut Emitter, x: &str, divisor: &str) -> String {
    e.node("Mod", &[x, divisor], vec![int("fmod", 0)])
}

pub(super) fn shift(e: &mut Emitter, direction: &str) -> Result {
    let element_type = e.element_type(0)?;
    if element_type.is_signed() {
        return Err(OpError::unsupported(format!("shifts of {element_type}")));
    }
    e.last("BitShift", &e.inputs(), vec![text("direction", direction)])
}

//! FakeConvert as a lookup in the table of the values of the 8-bit type.

use snick_ir::ops::Bucketize;
use snick_ir::ops::index_type::IndexType;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, Value};
use snick_tensor::{ElementType, Storage, Tensor};

use super::helpers::Result;

pub(crate) const RULE: Rule = Rule::exact("decompose-fake-convert", fake_convert).may_round_within(1e-5, 0.0);

/// Computes `data * scale - shift`, finds the nearest magnitude of the 8-bit type, restores the sign, and undoes
/// the shift and the scale.
fn fake_convert(p: &mut Patch) -> Result<RewriteResult> {
    let Op::FakeConvert(op) = p.node().op().clone() else { return Ok(RewriteResult::NoMatch) };
    let (data, scale) = (p.input(0)?, p.input(1)?);
    let own = p.element_type(data)?;
    let (x, scale) = (p.convert(data, ElementType::F32)?, p.convert(scale, ElementType::F32)?);
    let mut value = p.multiply(x, scale)?;
    let shift = p.try_input(2).map(|shift| p.convert(shift, ElementType::F32)).transpose()?;
    if let Some(shift) = shift {
        value = p.subtract(value, shift)?;
    }
    let mut rounded = nearest(p, value, op.destination_type.limits().0)?;
    if let Some(shift) = shift {
        rounded = p.add(rounded, shift)?;
    }
    let y = p.divide(rounded, scale)?;
    p.convert(y, own).map(RewriteResult::one)
}

/// Rounds to f16, and then to the 8-bit type. Magnitudes above the largest one become the largest one.
fn nearest(p: &mut Patch, value: Value, to: ElementType) -> Result<Value> {
    let values = magnitudes(to)?;
    let bounds = bounds(&values, to)?;
    let (values, bounds) = (vector(p, values)?, vector(p, bounds)?);
    let size = p.abs(value)?;
    let op = Bucketize { output_type: IndexType::I32, with_right_bound: true };
    let place = p.add_op(op, &[size, bounds])?;
    let magnitude = p.gather(values, place, 0)?;
    let opposite = p.negative(magnitude)?;
    let is_negative = p.less(value, 0.0)?;
    let signed = p.select(is_negative, opposite, magnitude)?;
    // NaN has no place in the table.
    let is_number = p.equal(value, value)?;
    p.select(is_number, signed, value)
}

fn vector(p: &Patch, elements: Vec<f32>) -> Result<Value> {
    p.constant(Tensor::from_vec(&[elements.len()], elements)?)
}

/// The finite values of the type that are not negative, ascending.
fn magnitudes(of: ElementType) -> Result<Vec<f32>> {
    let codes = Tensor::new(of, &[128], Storage::heap((0..128).collect()))?;
    let values = codes.cast(ElementType::F32)?.to_f32_vec()?;
    Ok(values.into_iter().filter(|value| value.is_finite()).collect())
}

/// For each magnitude but the last, the largest f32 that is rounded to it. Found by bisection over the bits of
/// f32, because rounding twice, with ties to even, keeps the order of numbers.
fn bounds(values: &[f32], to: ElementType) -> Result<Vec<f32>> {
    let mut bounds: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
    let mut above: Vec<u32> = bounds.iter().skip(1).copied().collect();
    bounds.truncate(above.len());
    for _ in 0..u32::BITS {
        let middle: Vec<u32> = bounds.iter().zip(&above).map(|(low, high)| low + (high - low) / 2).collect();
        let numbers: Vec<f32> = middle.iter().map(|&bits| f32::from_bits(bits)).collect();
        let numbers = Tensor::from_vec(&[numbers.len()], numbers)?;
        let rounded = numbers.cast(ElementType::F16)?.cast(to)?.cast(ElementType::F32)?.to_f32_vec()?;
        for (i, rounded) in rounded.into_iter().enumerate() {
            let is_below = values.get(i).is_some_and(|&value| rounded <= value);
            let end = if is_below { bounds.get_mut(i) } else { above.get_mut(i) };
            *end.ok_or(OpError::NotConnected { port: 0 })? = middle[i];
        }
    }
    Ok(bounds.into_iter().map(f32::from_bits).collect())
}

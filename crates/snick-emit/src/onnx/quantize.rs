//! FakeConvert, and FakeQuantize: as QuantizeLinear and DequantizeLinear where these say the same, else by arithmetic.

use snick_ir::OpError;
use snick_tensor::{ElementType, Tensor};

use super::emitter::{Emitter, Written};
use super::table::Form::{self, By};

pub(super) const ROWS: &[(&str, Form)] =
    &[("FakeConvert", By(fake_convert)), ("FakeQuantize", By(fake_quantize))];

/// Scaled, shifted, kept within a small float type and brought to it and back.
fn fake_convert(e: &mut Emitter) -> Written {
    let name = "destination_type";
    let target = e.attrs.element_type(name)?.ok_or(OpError::MissingAttribute { name })?;
    let greatest = if target == ElementType::F8E5M2 { 57344.0 } else { 448.0 };
    let real = e.element_type(0)?;
    let mut inputs = Vec::new();
    for i in 0..e.len() {
        inputs.push(e.cast(e.input(i)?, e.element_type(i)?, ElementType::F32)?);
    }
    let (x, scale) = (&inputs[0], &inputs[1]);
    let mut value = e.node("Mul", &[x, scale], vec![]);
    if let Some(shift) = inputs.get(2) {
        value = e.node("Sub", &[&value, shift], vec![]);
    }
    let bounds = [e.number(ElementType::F32, -greatest)?, e.number(ElementType::F32, greatest)?];
    value = e.node("Clip", &[&value, &bounds[0], &bounds[1]], vec![]);
    // By way of half floats, as the layer does it.
    for element_type in [ElementType::F16, target, ElementType::F32] {
        value = e.node("Cast", &[&value], Emitter::to(element_type)?);
    }
    if let Some(shift) = inputs.get(2) {
        value = e.node("Add", &[&value, shift], vec![]);
    }
    let y = e.node("Div", &[&value, scale], vec![]);
    e.last("Cast", &[y], Emitter::to(real)?)
}

fn fake_quantize(e: &mut Emitter) -> Written {
    super::elementwise::expect_numpy(e)?;
    match Code::find(e)? {
        Some(code) => {
            let (scale, zero_point) = (e.tensor(&code.scale)?, e.tensor(&code.zero_point)?);
            let x = e.input(0)?;
            let integers = e.node("QuantizeLinear", &[&x, &scale, &zero_point], vec![]);
            e.last("DequantizeLinear", &[integers, scale, zero_point], vec![])
        }
        None => arithmetic(e),
    }
}

/// Scale and zero point of u8 or i8 that do what the layer does.
struct Code {
    scale: Tensor,
    zero_point: Tensor,
}

impl Code {
    /// Exact only where input and output ranges are one range of 256 levels whose steps hit 0, and that at an even
    /// level: halves are rounded to even before the zero point is added, not after.
    fn find(e: &Emitter) -> Result<Option<Self>, OpError> {
        if e.int("levels")? != 256 || e.element_type(0)? != ElementType::F32 {
            return Ok(None);
        }
        let mut ends = [0f32; 4];
        for (i, end) in (1..).zip(&mut ends) {
            match e.fact(i)?.as_tensor().map(|t| t.values::<f32>()) {
                Some(Ok(values)) if values.len() == 1 => *end = values[0],
                _ => return Ok(None),
            }
        }
        let [low, high, out_low, out_high] = ends;
        let scale = (high - low) / 255.0;
        let zero_point = -low / scale;
        let exact = low == out_low
            && high == out_high
            && scale.is_normal()
            && scale > 0.0
            && zero_point % 2.0 == 0.0
            && (0.0..=255.0).contains(&zero_point)
            && -zero_point * scale == low
            && (255.0 - zero_point) * scale == high;
        if !exact {
            return Ok(None);
        }
        let zero_point = Tensor::scalar(zero_point).cast(ElementType::U8)?;
        Ok(Some(Self { scale: Tensor::scalar(scale), zero_point }))
    }
}

/// `round((x - low) / (high - low) * steps) / steps * (out high - out low) + out low`, and the ends beyond the range.
fn arithmetic(e: &mut Emitter) -> Written {
    let real = e.element_type(0)?;
    if !real.is_float() {
        return Err(OpError::unsupported(format!("`FakeQuantize` of {real} in ONNX")));
    }
    let steps = e.int("levels")?.saturating_sub(1);
    // Half floats could not tell the levels apart.
    let wide = if real == ElementType::F64 { real } else { ElementType::F32 };
    let mut names = Vec::new();
    for i in 0..e.len() {
        names.push(e.cast(e.input(i)?, e.element_type(i)?, wide)?);
    }
    let [x, low, high, out_low, out_high] = names.as_slice() else {
        return Err(OpError::NotConnected { port: 4 });
    };
    let steps = e.number(wide, steps as f64)?;
    let width = e.node("Sub", &[high, low], vec![]);
    let out_width = e.node("Sub", &[out_high, out_low], vec![]);
    let from_low = e.node("Sub", &[x, low], vec![]);
    let share = e.node("Div", &[from_low, width], vec![]);
    let level = e.node("Mul", &[&share, &steps], vec![]);
    let level = e.node("Round", &[level], vec![]);
    let share = e.node("Div", &[level, steps], vec![]);
    let inside = e.node("Mul", &[share, out_width], vec![]);
    let inside = e.node("Add", &[&inside, out_low], vec![]);
    let (least, greatest) = (e.node("Min", &[low, high], vec![]), e.node("Max", &[low, high], vec![]));
    let below = e.node("LessOrEqual", &[x, &least], vec![]);
    let above = e.node("Greater", &[x, &greatest], vec![]);
    let upper = e.node("Where", &[&above, out_high, &inside], vec![]);
    if real == wide {
        return e.last("Where", &[&below, out_low, &upper], vec![]);
    }
    let y = e.node("Where", &[&below, out_low, &upper], vec![]);
    e.last("Cast", &[y], Emitter::to(real)?)
}

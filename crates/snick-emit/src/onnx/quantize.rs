//! FakeConvert, and FakeQuantize as QuantizeLinear and DequantizeLinear if these compute the same result.
//! Otherwise, FakeQuantize is decomposed.

use snick_ir::ops::elementwise::fake_convert::FakeType;
use snick_ir::{Op, OpError};
use snick_tensor::{ElementType, Tensor};

use super::emitter::{Emitter, Result, int};
use super::row::OpRow;
use crate::layer::Layer;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::FakeConvert(op) => OpRow::new(|e| fake_convert(e, op.destination_type)).every_type(),
        Op::FakeQuantize(op) => OpRow::new(|e| fake_quantize(e, op.levels))
            .only(|layer| Code::find(layer, op.levels).is_ok_and(|code| code.is_some())),
        _ => return None,
    })
}

/// Scales and shifts, clamps to a small float type, and converts to that type and back.
fn fake_convert(e: &mut Emitter, to: FakeType) -> Result {
    let (target, greatest) = to.limits();
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
    // Converts through f16, as the layer does.
    for element_type in [ElementType::F16, target, ElementType::F32] {
        value = e.node("Cast", &[&value], e.to(element_type)?);
    }
    if let Some(shift) = inputs.get(2) {
        value = e.node("Add", &[&value, shift], vec![]);
    }
    let y = e.node("Div", &[&value, scale], vec![]);
    e.last("Cast", &[y], e.to(real)?)
}

fn fake_quantize(e: &mut Emitter, levels: i64) -> Result {
    let code = Code::find(&e.layer, levels)?.ok_or_else(|| OpError::unsupported("these ranges"))?;
    let axis: Vec<_> = code.axis.map(|axis| int("axis", axis)).into_iter().collect();
    let zero_point = e.tensor(&code.zero_point)?;
    let [from, to] = [e.tensor(&code.from)?, e.tensor(&code.to)?];
    let x = e.input(0)?;
    let integers = e.node("QuantizeLinear", &[&x, &from, &zero_point], axis.clone());
    e.last("DequantizeLinear", &[integers, to, zero_point], axis)
}

/// The scales and zero points with which QuantizeLinear and DequantizeLinear compute a FakeQuantize. There is
/// one of each for all data, or one per index of an axis.
struct Code {
    axis: Option<i64>,
    /// The scales of QuantizeLinear.
    from: Tensor,
    /// The scales of DequantizeLinear.
    to: Tensor,
    zero_point: Tensor,
}

impl Code {
    /// Returns `None` if ONNX would compute a different result. The requirements are:
    ///
    /// - The number of levels is the number of values of an integer type.
    /// - The input and output ranges have the same zero point. It is even, because ONNX rounds halves to even
    ///   before it adds the zero point.
    /// - Input steps are powers of 2, so that the layer and ONNX agree on data halfway between two levels.
    fn find(e: &Layer, levels: i64) -> Result<Option<Self>, OpError> {
        let integers = match levels {
            256 => ElementType::U8,
            65536 => ElementType::U16,
            _ => return Ok(None),
        };
        let Some((ranges, axis)) = Ranges::find(e)? else { return Ok(None) };
        let steps = (levels - 1) as f32;
        let (mut from, mut to, mut zero_points) = (vec![], vec![], vec![]);
        for [low, high, out_low, out_high] in ranges.each() {
            let scales = [(low, high), (out_low, out_high)].map(|(low, high)| (high - low) / steps);
            let zero_point = -low / scales[0];
            let is_exact = |scale: f32, low: f32, high: f32| {
                scale.is_normal()
                    && scale > 0.0
                    && -zero_point * scale == low
                    && (steps - zero_point) * scale == high
            };
            let is_power_of_two = scales[0].to_bits() << 9 == 0; // the mantissa is 0
            let in_reach = is_power_of_two && zero_point % 2.0 == 0.0 && (0.0..=steps).contains(&zero_point);
            if !in_reach || !is_exact(scales[0], low, high) || !is_exact(scales[1], out_low, out_high) {
                return Ok(None);
            }
            from.push(scales[0]);
            to.push(scales[1]);
            zero_points.push(zero_point);
        }
        let dims: &[usize] = if axis.is_some() { &[from.len()] } else { &[] };
        let zero_point = Tensor::from_vec(dims, zero_points)?.cast(integers)?;
        let (from, to) = (Tensor::from_vec(dims, from)?, Tensor::from_vec(dims, to)?);
        Ok(Some(Self { axis, from, to, zero_point }))
    }
}

/// The ends of the input and output ranges, one for all data or one per index of an axis.
struct Ranges {
    ends: [Vec<f32>; 4],
    count: usize,
}

impl Ranges {
    /// The ranges of f32 data, and the axis along which they vary, if any. `None` if they are unknown or vary
    /// along several axes.
    fn find(e: &Layer) -> Result<Option<(Self, Option<i64>)>, OpError> {
        let Some(rank) = e.fact(0)?.shape.rank().filter(|_| e.element_type(0) == Ok(ElementType::F32)) else {
            return Ok(None);
        };
        let (mut ends, mut found, mut count) = ([const { vec![] }; 4], None, 1);
        for (i, end) in (1..).zip(&mut ends) {
            let Some(tensor) = e.fact(i)?.as_tensor() else { return Ok(None) };
            let Ok(values) = tensor.values::<f32>() else { return Ok(None) };
            *end = values.to_vec();
            if values.len() == 1 {
                continue;
            }
            let axis = tensor.dims().iter().position(|&dim| dim == values.len());
            let axis = axis.and_then(|axis| (rank + axis).checked_sub(tensor.rank()));
            let (Some(axis), None | Some(true)) = (axis, found.map(|found| Some(found) == axis)) else {
                return Ok(None);
            };
            (found, count) = (Some(axis), values.len());
        }
        Ok(Some((Self { ends, count }, found.map(|axis| axis as i64))))
    }

    /// The four range ends for each index of the axis.
    fn each(&self) -> impl Iterator<Item = [f32; 4]> {
        let at = |end: &[f32], i: usize| end.get(i).or(end.first()).copied().unwrap_or(0.0);
        (0..self.count).map(move |i| [0, 1, 2, 3].map(|end| at(&self.ends[end], i)))
    }
}

#[cfg(test)]
mod tests {
    use snick_ir::{infer, text};

    /// The operators written for a FakeQuantize with these levels and ranges, one per channel.
    fn operators(levels: usize, low: [f32; 2], high: [f32; 2]) -> Vec<String> {
        let range = |[a, b]: [f32; 2]| format!("Const-1 f32[2,1] <{a:?}, {b:?}>");
        let text = format!(
            "snick 1\ngraph \"g\" {{\n%x = Parameter-1 {{element_type: f32, shape: \"1,2,?\"}}\n\
             %low = {}\n%high = {}\n\
             %y = FakeQuantize-1(%x, %low, %high, %low, %high) {{levels: {levels}, auto_broadcast: numpy}}\n\
             %r = Result-1(%y)\n}}\n",
            range(low),
            range(high),
        );
        let mut graph = text::parse(&text, None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let model =
            snick_onnx::decode(super::super::onnx(&graph, "data").unwrap().model.to_bytes().into()).unwrap();
        model.graph.unwrap().node.into_iter().map(|node| node.op_type).collect()
    }

    #[test]
    fn it_is_said_by_integers_only_where_halves_are_the_same() {
        let integers = ["QuantizeLinear", "DequantizeLinear"];
        assert_eq!(operators(256, [-64.0, 0.0], [63.5, 255.0]), integers);
        assert_eq!(operators(65536, [0.0, 0.0], [65535.0, 65535.0]), integers);
        // The zero point is odd; the step is not a power of 2; no integer type has 255 values.
        assert!(operators(256, [-63.5, 0.0], [64.0, 255.0]).contains(&"Round".to_string()));
        assert!(operators(256, [0.0, 0.0], [76.5, 255.0]).contains(&"Round".to_string()));
        assert!(operators(255, [-127.0, -127.0], [127.0, 127.0]).contains(&"Round".to_string()));
    }
}

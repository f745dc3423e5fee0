//! Computes layers in a wider element type and converts the results back, if the target has the operator but
//! not for the element type of the layer.

use snick_ir::OpError;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_tensor::ElementType;

/// A rule for each wider type.
pub(super) const RULES: &[(ElementType, Rule)] = &[
    (
        ElementType::F32,
        Rule::exact("compute-in-f32", |p| compute_in(p, ElementType::F32)).may_round_within(1e-5, 0.0),
    ),
    (
        ElementType::F64,
        Rule::exact("compute-in-f64", |p| compute_in(p, ElementType::F64)).may_round_within(1e-5, 0.0),
    ),
    (ElementType::I32, Rule::exact("compute-in-i32", |p| compute_in(p, ElementType::I32))),
    (ElementType::I64, Rule::exact("compute-in-i64", |p| compute_in(p, ElementType::I64))),
];

/// The type to widen: the type of the first output, or, if this is not a half float (as for comparisons), the
/// type of the first half-float input.
fn narrow(p: &Patch, wide: ElementType) -> Result<ElementType, OpError> {
    let own = p.element_type(p.output(0))?;
    if wide != ElementType::F32 || own.is_half() {
        return Ok(own);
    }
    for input in p.inputs_of(p.output(0))? {
        let element_type = p.element_type(input)?;
        if element_type.is_half() {
            return Ok(element_type);
        }
    }
    Ok(own)
}

/// Converts all inputs of the narrow type to the wider type, and all outputs back.
fn compute_in(p: &mut Patch, wide: ElementType) -> Result<RewriteResult, OpError> {
    let own = narrow(p, wide)?;
    let root = p.output(0);
    let mut inputs = p.inputs_of(root)?;
    for input in &mut inputs {
        if p.element_type(*input)? == own {
            *input = p.convert(*input, wide)?;
        }
    }
    let (op, types): (_, Vec<ElementType>) =
        (p.node().op().clone(), p.node().outs().iter().map(|out| out.fact.element_type).collect());
    let outputs = p.add_op_with_outputs(op, &inputs, types.len())?;
    let mut values = Vec::new();
    for (output, element_type) in outputs.into_iter().zip(types) {
        values.push(Some(p.convert(output, element_type)?));
    }
    Ok(RewriteResult::Replaced(values))
}

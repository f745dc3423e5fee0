//! fold-constants: replaces integer tensors that inference knows, such as shape computations, with constants.
//! Also folds slices of constants.
//!
//! Floats are not folded: compressed weights are smaller than the weights that they decompress to, and
//! runtimes recognise the layers that decompress them.

use std::sync::Arc;

use snick_ir::ops::source::constant::Constant;
use snick_ir::rewrite::{Patch, RewriteResult, Rule};
use snick_ir::{Op, OpError, OpTraits};
use snick_tensor::Tensor;

use crate::selection::Selection;

/// Folds integer tensors with known elements, and slices of constants up to [`MAX_BYTES`].
pub(crate) const RULE: Rule = Rule::exact("fold-constants", apply);

/// Maximum number of elements to copy if the sliced constant has other readers, too.
const MAX_COPIED: usize = 4096;

/// Maximum size of a folded slice, in bytes.
const MAX_BYTES: usize = 1 << 26;

fn apply(patch: &mut Patch) -> Result<RewriteResult, OpError> {
    let node = patch.node();
    if matches!(node.op(), Op::Const(_)) || node.op().has(OpTraits::ROOT) || !node.op().traits().is_foldable()
    {
        return Ok(RewriteResult::NoMatch);
    }
    let known = node.outs().iter().map(|out| {
        let is_real = out.fact.element_type.is_float();
        out.fact.as_tensor().filter(|_| !is_real).cloned()
    });
    let Some(tensors) = known.collect::<Option<Vec<_>>>().filter(|tensors| !tensors.is_empty()) else {
        return Ok(match slice_of_constant(patch)? {
            Some(tensor) => RewriteResult::one(patch.add_op(Constant::new(Arc::new(tensor)), &[])?),
            None => RewriteResult::NoMatch,
        });
    };
    let mut values = Vec::new();
    for tensor in tensors {
        values.push(Some(patch.add_op(Constant::new(tensor), &[])?));
    }
    Ok(RewriteResult::Replaced(values))
}

fn slice_of_constant(patch: &mut Patch) -> Result<Option<Tensor>, OpError> {
    let op = patch.node().op();
    if Selection::of(op).is_none() {
        return Ok(None);
    }
    let data = patch.input(0)?;
    let Some(tensor) = patch.fact(data)?.as_tensor() else { return Ok(None) };
    let Some(slice) = op.eval(&[Tensor::clone(tensor)])?.into_iter().next() else { return Ok(None) };
    let bytes = slice.len().saturating_mul(slice.element_type().bit_width().unwrap_or(64) as usize) / 8;
    let is_small = slice.len() <= MAX_COPIED || (patch.is_read_once(data) && bytes <= MAX_BYTES);
    // Copies use fuel: a malicious file may declare a large constant by repeating one element, and slice it
    // many times.
    Ok((is_small && patch.take_fuel(slice.len())).then(|| slice.contiguous()))
}

#[cfg(test)]
mod tests {
    use snick_ir::rewrite::{DriverOptions, apply};
    use snick_ir::{Limits, Watch};

    use crate::testing::{fires, silent};

    #[test]
    fn shapes_and_slices_of_constants_are_folded() {
        let text = fires(
            "fold-constants",
            "%x = Parameter-1 {element_type: f32, shape: \"2,3\"}
             %s = ShapeOf-3(%x) {output_type: i64}
             %c = Const-1 i64[3] <5, 6, 7>
             %t = slice(%c) {axes: [0], start: [2], len: [2], step: [-1]}
             %a = Add-1(%s, %t)
             %y = Result-1(%a)
             %z = Result-1(%t)",
        );
        assert!(
            text.contains("%a = Const-1 i64[2] <9, 9>") && text.contains("%t = Const-1 i64[2] <7, 6>"),
            "{text}"
        );
    }

    #[test]
    fn compressed_weights_are_kept() {
        silent(
            "fold-constants",
            "%x = Parameter-1 {element_type: f32, shape: \"N,3\"}
             %w = Const-1 u8[3] <5, 6, 7>
             %f = Convert-1(%w) {destination_type: f32}
             %z = Const-1 f32[] <6>
             %d = Subtract-1(%f, %z) {auto_broadcast: numpy}
             %y = Multiply-1(%x, %d) {auto_broadcast: numpy}
             %r = Result-1(%y)",
        );
    }

    #[test]
    fn slices_of_constants_are_copied_while_there_is_fuel() {
        let text = "snick 1\ngraph \"g\" {\n  %c = Const-1 f32[4] <1, 2, 3, 4>\n  \
                    %s = slice(%c) {axes: [0], start: [0], len: [3], step: [1]}\n  %y = Result-1(%s)\n}\n";
        let slices = |fuel: usize| {
            let mut graph = snick_ir::text::parse(text, None).unwrap();
            let mut monitor = Watch::new().limits(Limits::new().fuel(fuel)).start();
            let options = DriverOptions { monitor: Some(&mut monitor), ..DriverOptions::default() };
            assert_eq!(snick_ir::infer(&mut graph), []);
            apply(&mut graph, &[super::RULE], options);
            graph.ids().filter(|&id| graph.node(id).op().type_name() == "slice").count()
        };
        assert_eq!([2, 3].map(slices), [1, 0]);
    }

    #[test]
    fn large_slices_of_constants_that_stay_are_not_copied() {
        let layers = |len: usize| {
            let elements = vec!["1"; 4098].join(", ");
            format!(
                "%c = Const-1 f32[4098] <{elements}>
                 %s = slice(%c) {{axes: [0], start: [1], len: [{len}], step: [1]}}
                 %y = Result-1(%s)
                 %z = Result-1(%c)"
            )
        };
        let text = fires("fold-constants", &layers(4096));
        assert!(text.contains("%s = Const-1"), "{text}");
        silent("fold-constants", &layers(4097));
        fires("fold-constants", &layers(4097).replace("\n                 %z = Result-1(%c)", ""));
    }

    #[test]
    fn dynamic_values_are_kept() {
        silent(
            "fold-constants",
            "%x = Parameter-1 {element_type: f32, shape: \"N,3\"}
             %s = ShapeOf-3(%x) {output_type: i64}
             %y = Result-1(%s)",
        );
    }
}

//! Matrix multiplications.

use snick_ir::{Attrs, OpError, Value, ops};

use super::{ImportEntry, one, same};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Einsum", &[12], einsum).attrs("equation"),
    one("Gemm", &[7, 9, 11, 13], gemm).attrs("alpha beta transA transB"),
    same("MatMul", &[1, 9, 13], "MatMul"),
];

fn einsum(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let equation = b.attrs.text("equation")?.ok_or(OpError::MissingAttribute { name: "equation" })?;
    let equation = equation.to_string();
    let mut attrs = Attrs::new();
    attrs.push("equation".into(), equation.into());
    b.ir_op("Einsum", attrs, &inputs)
}

/// Multiplies by a factor; adds no layer for the common factor 1.
pub(super) fn scaled(b: &mut NodeBuilder, x: Value, factor: f64) -> Result {
    if factor == 1.0 { Ok(x) } else { b.multiply(x, factor) }
}

/// Computes `alpha A B + beta C`.
pub(super) fn gemm(b: &mut NodeBuilder) -> Result {
    let (a, other) = (b.input(0)?, b.input(1)?);
    let (transpose_a, transpose_b) = (b.flag_attr("transA", false)?, b.flag_attr("transB", false)?);
    let product = b.add_op(ops::MatMul { transpose_a, transpose_b }, &[a, other])?;
    let (alpha, beta) = (b.float_attr("alpha", 1.0)?, b.float_attr("beta", 1.0)?);
    let product = scaled(b, product, alpha)?;
    let Some(bias) = b.optional(2) else { return Ok(product) };
    let bias = scaled(b, bias, beta)?;
    b.add(product, bias)
}

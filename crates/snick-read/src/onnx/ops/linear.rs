//! Matrix products.

use snick_ir::{Attrs, OpError};

use super::{ImportEntry, one, same};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Einsum", &[12], einsum),
    one("Gemm", &[7, 9, 11, 13], gemm),
    same("MatMul", &[1, 9, 13], "MatMul"),
];

fn einsum(b: &mut NodeBuilder) -> Result {
    let inputs = b.all()?;
    let equation = b.attrs.text("equation")?.ok_or(OpError::MissingAttribute { name: "equation" })?;
    let equation = equation.to_string();
    let mut attrs = Attrs::new();
    attrs.push("equation".into(), equation.into());
    b.make("Einsum", attrs, &inputs)
}

/// `alpha A B + beta C`.
pub(super) fn gemm(b: &mut NodeBuilder) -> Result {
    let (a, other) = (b.input(0)?, b.input(1)?);
    let attrs = Attrs::new().with("transpose_a", b.flag("transA", false)?);
    let attrs = attrs.with("transpose_b", b.flag("transB", false)?);
    let mut product = b.make("MatMul", attrs, &[a, other])?;
    let (alpha, beta) = (b.float("alpha", 1.0)?, b.float("beta", 1.0)?);
    if alpha != 1.0 {
        let alpha = b.number_like(product, alpha)?;
        product = b.plain("Multiply", &[product, alpha])?;
    }
    let Some(mut bias) = b.optional(2) else { return Ok(product) };
    if beta != 1.0 {
        let beta = b.number_like(bias, beta)?;
        bias = b.plain("Multiply", &[bias, beta])?;
    }
    b.plain("Add", &[product, bias])
}

//! GatherMatmul, from OpenVINO's plug-ins, and its variant with compressed weights.

use snick_shape::{Shape, SymExpr};

use crate::{Arity, Fact, Facts, Infer, InferOp, OpCost, OpError};

op! {
    /// Multiplies each token by the matrices of its experts. Inputs: tokens `[1 or A, T, K]`; matrices
    /// `[E, N, K]`, or `[E, N, G, K/G]` with G groups; the A experts of each token, `[T, A]`; and an optional
    /// bias. Output: `[A, T, N]`. Shape inference only; cannot be run.
    #[op(
        "GatherMatmul", since = [1], inputs = Arity::between(3, 4),
        category = Product, traits = [PURE], name = internal()
    )]
    pub struct GatherMatmul;
}

op! {
    /// GatherMatmul with compressed matrices. Inputs: as for GatherMatmul, then scales and zero points. Shape
    /// inference only; cannot be run.
    #[op(
        "GatherMatmulCompressed", since = [1], inputs = Arity::exactly(6),
        category = Product, traits = [PURE], name = internal()
    )]
    pub struct GatherMatmulCompressed;
}

fn infer(cx: &mut Infer) -> Result<Facts, OpError> {
    cx.expect_rank(0, "3", |rank| rank == 3)?;
    cx.expect_rank(1, "3 or 4", |rank| rank == 3 || rank == 4)?;
    cx.expect_rank(2, "2", |rank| rank == 2)?;
    let tokens = cx.shape(0).dims().map(|dims| dims[1].clone());
    let outputs = cx.shape(1).dims().map(|dims| dims[1].clone());
    let [own, active] = match cx.shape(2).dims() {
        Some([own, active]) => [Some(own.clone()), Some(active.clone())],
        _ => [None, None],
    };
    let tokens = match (tokens, own) {
        (Some(a), Some(b)) => {
            let merged = cx.merge(&a, &b);
            let clash = "tokens {} and the experts {} of each differ in number";
            Some(merged.ok_or_else(|| cx.conflict(clash, cx.shape(0), cx.shape(2)))?)
        }
        (a, b) => a.or(b),
    };
    let mut dims: Vec<SymExpr> = Vec::with_capacity(3);
    for dim in [active, tokens, outputs] {
        dims.push(dim.unwrap_or_else(|| cx.unknown(snick_shape::Interval::DIM)));
    }
    Ok(Facts::from(Fact::new(cx.element_type(0), Shape::ranked(dims))))
}

macro_rules! gather_matmul {
    ($($op:ident),+) => {$(
        impl InferOp for $op {
            fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
                infer(cx)
            }

            fn cost(&self, inputs: &[&Fact], output: &Fact) -> Option<OpCost> {
                OpCost::multiply_adds(output, inputs[0].shape.dims()?.last_chunk::<1>()?)
            }
        }

        only_inferred!($op);
    )+};
}

gather_matmul!(GatherMatmul, GatherMatmulCompressed);

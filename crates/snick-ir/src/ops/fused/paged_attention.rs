//! PagedAttentionExtension of OpenVINO.

use snick_shape::{Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use crate::ops::control::opaque::declared_facts;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Attention over a cache of pages, for several sequences in one list of tokens. The first inputs: queries `[T, Q D]`,
    /// keys `[T, K D]`, values `[T, K V]`, the pages of keys and of values. The first output is `[T, Q V]`; of the others the
    /// ports say what there is. Only inferred.
    #[op("PagedAttentionExtension", since = [1], inputs = Arity::at_least(5), traits = [], name = internal_extension())]
    pub struct PagedAttention;
}

impl InferOp for PagedAttention {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        for i in 0..3 {
            cx.expect_rank(i, "2", |rank| rank == 2)?;
        }
        let mut facts: Vec<Fact> = declared_facts(cx).into_iter().collect();
        let declared = facts.first().map_or(ElementType::Dynamic, |fact| fact.element_type);
        let element_type = super::rms::output_type(declared, cx.element_type(0));
        if let (Some([tokens, queries]), Some(first)) = (cx.shape(0).dims(), facts.first_mut()) {
            let known = features(cx, queries);
            let own = match (known, first.shape.dims()) {
                (Some(dim), _) => dim,
                (None, Some([_, declared])) => declared.clone(),
                (None, _) => cx.unknown(snick_shape::Interval::DIM),
            };
            *first = Fact::new(element_type, Shape::ranked([tokens.clone(), own]));
        }
        Ok(facts.into_iter().collect())
    }
}

/// Queries are as wide as the heads times the size of a key, values and keys as wide as other heads times their own size.
fn features(cx: &mut Infer, queries: &SymExpr) -> Option<SymExpr> {
    let (Some([_, keys]), Some([_, values])) = (cx.shape(1).dims(), cx.shape(2).dims()) else { return None };
    if keys == values {
        return Some(queries.clone());
    }
    let (q, k, v) = (queries.as_const()?, keys.as_const()?, values.as_const()?);
    let product = q.checked_mul(v)?;
    (k > 0 && product % k == 0).then(|| SymExpr::from(product / k))
}

impl EvalOp for PagedAttention {
    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::NoImplementation { op_type: "PagedAttentionExtension".into() })
    }
}

#[cfg(test)]
mod tests {
    use crate::{infer, text};

    /// The shape of the first output of a layer, as text.
    fn shape_of(inputs: &[&str], layer: &str) -> String {
        let parameter = |(at, shape): (usize, &&str)| {
            format!("%p{at} = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n")
        };
        let layers: String = inputs.iter().enumerate().map(parameter).collect();
        let names: Vec<_> = (0..inputs.len()).map(|at| format!("%p{at}")).collect();
        let layer = layer.replace("(..)", &format!("({})", names.join(", ")));
        let text = format!("snick 1\ngraph \"g\" {{\n{layers}%a = {layer}\n%y = Result-1(%a)\n}}\n");
        let mut graph = text::parse(&text, None).unwrap();
        let errors = infer(&mut graph);
        let result = graph.results().next().unwrap();
        match errors.first() {
            Some(error) => error.to_string(),
            None => graph.node(result).outs()[0].fact.shape.display(graph.symbols()).to_string(),
        }
    }

    #[test]
    fn fused_layers_have_shapes() {
        let paged = "PagedAttentionExtension-extension(..)";
        let internal = |layer: &str| layer.replace("(..)", "-ie_internal_opset(..)");
        for (inputs, layer, shape) in [
            (&["T,64", "T,16", "T,32", "?", "?"][..], paged.to_string(), "[T,128]"),
            (&["T,64", "T,16", "T,16", "?", "?"], paged.to_string(), "[T,64]"),
            (&["B,L,64", "64"], internal("RMS(..) {epsilon: 1e-6}"), "[B,L,64]"),
            (&["B,L,64"], internal("GLU(..) {axis: -1, split_lengths: 32}"), "[B,L,32]"),
            (&["B,L,64", "32,64", "32"], internal("FullyConnected(..)"), "[B,L,32]"),
            (&["1,T,64", "8,32,4,16", "T,2", "0"], internal("GatherMatmul(..)"), "[2,T,32]"),
            (&["B,L,4,8", "1,1,L,8", "1,1,L,8"], internal("RoPE(..) {input_trans0213: true}"), "[B,4,L,8]"),
            (
                &["B,L,192", "1,P,1,8", "1,P,1,8"],
                internal("RoPE(..) {is_qwen: true, head_cnt: 8, head_size: 8}"),
                "[B,L,8,8]",
            ),
            (
                &["B,L,8", "2,1", "2,1", "2,4,8", "2,4,8", "2,8,4"],
                internal("MOE(..) {expert_type: gemm3_swiglu}"),
                "[B,L,8]",
            ),
        ] {
            assert_eq!(shape_of(inputs, &layer), shape, "{layer}");
        }
        let clash = shape_of(&["B,63", "32,64", "32"], &internal("FullyConnected(..)"));
        assert!(clash.contains("cannot multiply"), "{clash}");
    }
}

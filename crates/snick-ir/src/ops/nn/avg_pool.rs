//! AvgPool-1, AvgPool-14 and AvgPool-16.

use snick_tensor::{Tensor, kernels};

use super::pool::PoolWindow;
use super::window::Numbers;
use crate::attrs::missing;
use crate::{Arity, AxisMap, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpError, RawNode, Since};

op! {
    /// Average pooling: data `[N, C, spatial..]` to `[N, C, windows..]`.
    #[op(
        "AvgPool", since = [1, 14, 16], inputs = Arity::exactly(1), category = Reduction, traits = [PURE],
        name = extended_in(14).extended_in(16), check = Self::check_window
    )]
    pub struct AvgPool {
        /// The version.
        pub since: Since = Since(16),
        /// The pooling window; the attribute `strides` is required.
        pub window: PoolWindow,
        /// Distance between neighbouring elements of a window, at least 1; 1 if empty.
        #[since(16)]
        pub dilations: Numbers = Numbers::new(),
        /// Whether the mean excludes padding; otherwise padding counts as zeros.
        #[attr("exclude-pad" | "exclude_pad")]
        pub exclude_pad: bool = true,
    }
}

impl InferOp for AvgPool {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let shape = self.window.infer_shape(cx, &self.dilations)?;
        Ok(Facts::from(Fact::new(cx.element_type(0), shape)))
    }

    fn axis_map(&self, inputs: &[&Fact], _: &Fact) -> Option<AxisMap> {
        Some(AxisMap::rows(inputs[0].shape.rank()?, |axis| axis >= 2).rounding(true))
    }

    fn cost(&self, _: &[&Fact], output: &Fact) -> Option<OpCost> {
        self.window.cost(output)
    }
}

impl EvalOp for AvgPool {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let data = &inputs[0];
        let pool = self.window.concrete(data, &self.dilations)?;
        let inside_only = self.exclude_pad || !pool.is_padded;
        Ok(vec![kernels::avg_pool(data, &pool.kernel, &pool.window, &pool.counts, inside_only)?])
    }
}

impl AvgPool {
    fn check_window(&self, raw: &RawNode) -> Result<(), OpError> {
        if !raw.attrs.contains("strides") {
            return Err(missing("strides"));
        }
        self.window.check_rounding(raw)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Attrs, Op, RawNode, Version};

    #[test]
    fn exclude_pad_has_two_spellings() {
        let window = || Attrs::new().with("kernel", "2").with("strides", "1");
        for name in ["exclude-pad", "exclude_pad"] {
            let attrs = window().with("pads_begin", "0").with("pads_end", "0").with(name, "true");
            let op = Op::parse(&mut RawNode::openvino("AvgPool", Version::Opset(1), attrs, 1)).unwrap();
            assert!(matches!(&op, Op::AvgPool(op) if op.exclude_pad), "{name}");
            assert!(op.attrs().contains("exclude-pad") && !op.attrs().contains("exclude_pad"));
        }
        let op = Op::parse(&mut RawNode::openvino("AvgPool", Version::Opset(1), window(), 1)).unwrap();
        assert!(matches!(&op, Op::AvgPool(op) if op.exclude_pad), "the runtime's default");
    }
}

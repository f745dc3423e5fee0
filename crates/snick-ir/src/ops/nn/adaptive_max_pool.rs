//! AdaptiveMaxPool-8.

use snick_tensor::Tensor;
use snick_tensor::kernels::exceeds;

use super::adaptive_windows::{each_window, infer_shape, output_dims};
use crate::ops::index_type::IndexType;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, exactly};

op! {
    /// Max pooling to a given output size: data `[N, C, spatial..]` to `[N, C, sizes..]` (output 0), with the
    /// sizes in input 1. Output 1 holds the position of each maximum in its channel. If several elements
    /// equal the maximum, it is the position of the first.
    #[op("AdaptiveMaxPool", since = [8], inputs = Arity::exactly(2), category = Reduction, traits = [PURE])]
    pub struct AdaptiveMaxPool {
        /// Element type of output 1.
        pub index_element_type: IndexType = IndexType::I64,
    }
}

impl InferOp for AdaptiveMaxPool {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let shape = infer_shape(cx)?;
        let indices = Fact::new(self.index_element_type.element_type(), shape.clone());
        Ok(Facts::from([Fact::new(cx.element_type(0), shape), indices]))
    }
}

impl EvalOp for AdaptiveMaxPool {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [data, sizes] = exactly(inputs)?;
        let dims = output_dims(data, sizes)?;
        let (mut greatest, mut positions) = (Vec::new(), Vec::new());
        each_window(data, &dims, |rows| {
            let mut best: Option<(usize, f64)> = None;
            for (first, row) in rows {
                let Some(&start) = row.first() else { continue };
                let (mut at, mut known) = best.unwrap_or((first, start));
                for (position, &x) in (first..).zip(row) {
                    // One comparison excludes most elements.
                    let is_usual = x <= known;
                    if !is_usual && exceeds(x, known) {
                        (at, known) = (position, x);
                    }
                }
                best = Some((at, known));
            }
            let (at, x) = best.unwrap_or((0, f64::NEG_INFINITY));
            greatest.push(x);
            positions.push(at as i64);
        })?;
        let indices = Tensor::from_vec(&dims, positions)?.cast(self.index_element_type.element_type())?;
        Ok(vec![Tensor::from_vec(&dims, greatest)?.cast(data.element_type())?, indices])
    }
}

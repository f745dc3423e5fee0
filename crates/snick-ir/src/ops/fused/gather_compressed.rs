//! GatherCompressed, from OpenVINO's plug-ins.

use crate::ops::movement::gather::Gather;
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Gather from compressed data. Inputs: data, indices and axis as for Gather, then scales and,
    /// optionally, zero points. The output has the type of the scales. Shape inference only; cannot be run.
    #[op(
        "GatherCompressed", since = [1], inputs = Arity::between(4, 5),
        category = Movement, traits = [PURE], name = internal()
    )]
    pub struct GatherCompressed {
        /// Number of leading batch axes; negative values count from the rank of the indices.
        pub batch_dims: i64 = 0,
    }
}

impl InferOp for GatherCompressed {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let shape = Gather { batch_dims: self.batch_dims, ..Gather::default() }.shape(cx)?;
        Ok(Facts::from(Fact::new(cx.element_type(3), shape)))
    }
}

only_inferred!(GatherCompressed);

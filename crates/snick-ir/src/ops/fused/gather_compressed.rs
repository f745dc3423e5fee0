//! GatherCompressed of OpenVINO's plug-ins.

use crate::ops::movement::gather::Gather;
use crate::{Arity, Fact, Facts, Infer, InferOp, OpError};

op! {
    /// Gather of packed data. Inputs: data, indices and axis of Gather, scales, zero points. The output has the type of the
    /// scales. Only inferred.
    #[op("GatherCompressed", since = [1], inputs = Arity::between(4, 5), traits = [PURE], name = internal())]
    pub struct GatherCompressed {
        /// Number of leading axes that data and indices share; negative ones count from the rank of the indices.
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

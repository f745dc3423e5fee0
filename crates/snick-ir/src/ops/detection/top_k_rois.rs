//! ExperimentalDetectronTopKROIs-6: the likeliest regions.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use super::checks::{check_dims, common_dim, common_float, expect_rank, expect_size, padded};
use super::corners::best_first;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Regions `[rois, 4]` and their probabilities to `[max_rois, 4]`; rows not used are zeros.
#[derive(Clone, PartialEq, Debug)]
pub struct TopKRois {
    /// Rows of the output.
    pub max_rois: usize,
}

impl OpDef for TopKRois {
    const NAMES: &'static [OpName] =
        &[OpName::openvino("ExperimentalDetectronTopKROIs", &[6]).was_extension()];
    const ARITY: Arity = Arity::exactly(2);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let max_rois = raw.attrs.int("max_rois")?.unwrap_or(0);
        match usize::try_from(max_rois) {
            Ok(max_rois) => Ok(Self { max_rois }),
            Err(_) => Err(raw.attrs.bad("max_rois", "0 or more")),
        }
    }

    fn attrs(&self) -> Attrs<'static> {
        Attrs::new().with("max_rois", self.max_rois as i64)
    }
}

impl InferOp for TopKRois {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..2)?;
        expect_rank(cx, 0, 2)?;
        expect_rank(cx, 1, 1)?;
        expect_size(cx, 0, 1, 4)?;
        common_dim(cx, &[(0, 0), (1, 0)])?;
        let dims: SmallVec<[SymExpr; 4]> = smallvec![(self.max_rois as i64).into(), 4.into()];
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for TopKRois {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [regions, likely] = inputs else { return Ok(Vec::new()) };
        check_dims("the regions", regions, &[likely.len(), 4])?;
        let numbers = regions.to_f32_vec()?;
        let likely = likely.to_f32_vec()?;
        let mut rows: Vec<(f32, &[f32; 4])> = likely.into_iter().zip(numbers.as_chunks().0).collect();
        rows.sort_by(|a, b| best_first(a.0, b.0));
        let best = rows.iter().take(self.max_rois).flat_map(|(_, region)| **region).collect();
        Ok(vec![padded::<f32>(&[self.max_rois, 4], best)?.cast(regions.element_type())?])
    }
}

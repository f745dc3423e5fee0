//! MulticlassNmsIEInternal, from OpenVINO's plug-ins.

use snick_shape::{Shape, SymExpr};

use super::class_nms::ClassNms;
use super::multiclass_nms::sizes;
use crate::{Arity, Facts, Infer, InferOp, OpError};

op! {
    /// MulticlassNms whose outputs have the maximum possible number of rows, if that number is known before
    /// the run. Takes the same inputs and returns the same outputs as MulticlassNms. Shape inference only;
    /// cannot be run.
    #[op(
        "MulticlassNmsIEInternal", since = [1], inputs = Arity::between(2, 3),
        category = Other, traits = [PURE], name = internal(),
        check = |op, _| op.rows.check()
    )]
    pub struct MulticlassNmsInternal {
        /// Attributes shared with MatrixNms.
        pub rows: ClassNms = ClassNms::default(),
        /// A box is suppressed if its IoU with a box of higher score is at least this.
        pub iou_threshold: f64 = 0.0,
        /// Multiplier from 0 to 1 that lowers the threshold after each kept box, as long as the threshold is
        /// above 0.5.
        pub nms_eta: f64 = 1.0,
    }
}

impl InferOp for MulticlassNmsInternal {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let [images, classes, boxes] = sizes(cx)?;
        let rows = self.known_rows(&images, &classes, &boxes);
        let mut facts: Vec<_> = self.rows.infer(cx, images, &classes, &boxes).into_iter().collect();
        if let (Some(rows), [table, indices, _]) = (rows, facts.as_mut_slice()) {
            table.shape = Shape::ranked([rows.into(), 6.into()]);
            indices.shape = Shape::ranked([rows.into(), 1.into()]);
        }
        Ok(facts.into_iter().collect())
    }
}

impl MulticlassNmsInternal {
    /// The maximum number of rows, if all sizes are known.
    fn known_rows(&self, images: &SymExpr, classes: &SymExpr, boxes: &SymExpr) -> Option<i64> {
        let up_to = |value: i64, most: i64| if most < 0 { value } else { value.min(most) };
        let classes = match classes.as_const()? {
            all if (0..all).contains(&self.rows.background_class) => (all - 1).max(1),
            all => all,
        };
        let each = up_to(boxes.as_const()?, self.rows.nms_top_k).checked_mul(classes)?;
        up_to(each, self.rows.keep_top_k).checked_mul(images.as_const()?)
    }
}

only_inferred!(MulticlassNmsInternal);

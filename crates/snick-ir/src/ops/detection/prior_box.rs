//! PriorBox-1 and -8, PriorBoxClustered-1: default boxes around every cell of a feature map. Version 8 of PriorBox
//! adds the order of its boxes.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::{ElementType, Tensor};

use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, Fact, Facts, Infer, OpDef, OpError, OpName, RawNode};

/// The size of the map and of the image, each `[H, W]`, to `[2, 4 * H * W * priors]`: boxes and variances.
#[derive(Clone, PartialEq, Debug)]
pub struct PriorBox {
    /// Whether widths and heights are given one by one.
    pub clustered: bool,
    settings: Settings,
}

const NAMES: [OpName; 2] =
    [OpName::openvino("PriorBox", &[1, 8]), OpName::openvino("PriorBoxClustered", &[1])];

const TABLE: Table = &[
    ("min_size", Kind::Floats),
    ("max_size", Kind::Floats),
    ("aspect_ratio", Kind::Floats),
    ("density", Kind::Floats),
    ("fixed_ratio", Kind::Floats),
    ("fixed_size", Kind::Floats),
    ("clip", Kind::Bool),
    ("flip", Kind::Bool),
    ("step", Kind::Float),
    ("offset", Kind::Float),
    ("variance", Kind::Floats),
    ("scale_all_sizes", Kind::Bool),
    ("min_max_aspect_ratios_order", Kind::Bool),
];

const CLUSTERED: Table = &[
    ("step", Kind::Float),
    ("step_w", Kind::Float),
    ("step_h", Kind::Float),
    ("width", Kind::Floats),
    ("height", Kind::Floats),
    ("clip", Kind::Bool),
    ("offset", Kind::Float),
    ("variance", Kind::Floats),
];

impl OpDef for PriorBox {
    const NAMES: &'static [OpName] = &NAMES;
    const ARITY: Arity = Arity::exactly(2);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let clustered = raw.row(&NAMES) == 1;
        let settings = Settings::parse(&raw.attrs, if clustered { CLUSTERED } else { TABLE })?;
        Ok(Self { clustered, settings })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }

    fn name(&self) -> &'static OpName {
        &Self::NAMES[usize::from(self.clustered)]
    }

    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let two = SymExpr::from(2);
        for i in 0..2 {
            cx.expect_integer(i)?;
            cx.expect_rank(i, "1", |rank| rank == 1)?;
            if let Some([size]) = cx.shape(i).dims()
                && cx.merge(size, &two).is_none()
            {
                return Err(OpError::mismatch(format!("the size of input {i}"), cx.interval(size), 2));
            }
        }
        cx.common_type(0..2)?;
        let priors = self.priors()?;
        let columns = match cx.input(0).elements().as_deref() {
            Some([height, width]) => {
                let cells = cx.mul(height, width);
                let columns = cx.mul(&cells, &priors.saturating_mul(4).into());
                cx.as_dim(&columns)
            }
            _ => None,
        };
        let columns = columns.unwrap_or_else(|| cx.unknown(Interval::DIM));
        let dims: SmallVec<[SymExpr; 4]> = smallvec![two, columns];
        Ok(smallvec![Fact::new(ElementType::F32, Shape::ranked(dims))])
    }

    fn eval(&self, _: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::unsupported(format!("running {}", self.name().name)))
    }
}

impl PriorBox {
    /// Boxes a cell.
    fn priors(&self) -> Result<i64, OpError> {
        let count = |name: &'static str| self.settings.floats(name).len() as i64;
        if self.clustered {
            let (widths, heights) = (count("width"), count("height"));
            if widths != heights {
                return Err(OpError::clash("`width` and `height`", widths.to_string(), heights.to_string()));
            }
            return Ok(widths);
        }
        let ratios = self.ratios().len() as i64;
        let mut priors = match self.settings.bool("scale_all_sizes", true) {
            true => ratios * count("min_size") + count("max_size"),
            false => ratios + count("min_size") - 1,
        };
        if count("fixed_size") > 0 {
            priors = ratios * count("fixed_size");
        }
        let each = if count("fixed_ratio") > 0 { count("fixed_ratio") } else { ratios };
        for density in self.settings.floats("density") {
            let density = density as i64;
            let more =
                density.checked_mul(density).map(|square| square - 1).and_then(|n| n.checked_mul(each));
            let sum = more.and_then(|more| priors.checked_add(more));
            priors = sum.ok_or_else(|| OpError::out_of_range("`density`", density, "a small number"))?;
        }
        if priors < 0 {
            return Err(OpError::out_of_range("the number of boxes a cell", priors, "0 or more"));
        }
        Ok(priors)
    }

    /// The different aspect ratios in millionths, 1 among them.
    fn ratios(&self) -> Vec<i64> {
        let millionths = |ratio: f64| (ratio * 1e6).round() as i64;
        let mut ratios = vec![millionths(1.0)];
        for ratio in self.settings.floats("aspect_ratio") {
            ratios.push(millionths(ratio));
            if self.settings.bool("flip", false) {
                ratios.push(millionths(1.0 / ratio));
            }
        }
        ratios.sort_unstable();
        ratios.dedup();
        ratios
    }
}

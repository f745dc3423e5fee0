//! ExperimentalDetectronPriorGridGenerator-6: anchors at the middle of every cell of a feature map.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use super::checks::{common_dim, common_float, expect_rank, expect_size, padded, room};
use super::settings::{Kind, Settings, Table};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode};

/// Priors `[P, 4]`, a feature map and an image, both `[N, C, H, W]`, to `[H * W * P, 4]` or `[H, W, P, 4]`.
#[derive(Clone, PartialEq, Debug)]
pub struct PriorGridGenerator {
    settings: Settings,
}

const TABLE: Table = &[
    ("flatten", Kind::Bool),
    ("h", Kind::Int),
    ("w", Kind::Int),
    ("stride_x", Kind::Float),
    ("stride_y", Kind::Float),
];

impl OpDef for PriorGridGenerator {
    const NAMES: &'static [OpName] =
        &[OpName::openvino("ExperimentalDetectronPriorGridGenerator", &[6]).was_extension()];
    const ARITY: Arity = Arity::exactly(3);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        Ok(Self { settings: Settings::parse(&raw.attrs, TABLE)? })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.settings.attrs()
    }
}

impl InferOp for PriorGridGenerator {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let element_type = common_float(cx, 0..3)?;
        for (port, rank) in [2, 4, 4].into_iter().enumerate() {
            expect_rank(cx, port, rank)?;
        }
        expect_size(cx, 0, 1, 4)?;
        common_dim(cx, &[(1, 0), (2, 0)])?;
        let priors = common_dim(cx, &[(0, 0)])?;
        let height = common_dim(cx, &[(1, 2)])?;
        let width = common_dim(cx, &[(1, 3)])?;
        let dims: SmallVec<[SymExpr; 4]> = match self.settings.bool("flatten", false) {
            true => smallvec![cx.product([&height, &width, &priors]), 4.into()],
            false => smallvec![height, width, priors, 4.into()],
        };
        Ok(smallvec![Fact::new(element_type, Shape::ranked(dims))])
    }
}

impl EvalOp for PriorGridGenerator {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [priors, map, image] = inputs else { return Ok(Vec::new()) };
        let (&[count, 4], &[_, _, height, width], &[_, _, image_height, image_width]) =
            (priors.dims(), map.dims(), image.dims())
        else {
            let found = format!("{:?}, {:?}, {:?}", priors.dims(), map.dims(), image.dims());
            return Err(OpError::mismatch("the shapes of priors, map and image", found, "[P, 4] and rank 4"));
        };
        let dims = [height, width, count, 4];
        let [rows, columns] = [("h", height), ("w", width)].map(|(name, size)| {
            let set = usize::try_from(self.settings.int(name, 0)).unwrap_or(0);
            if set > 0 { set } else { size }
        });
        let step =
            |name: &'static str, image: usize, cells: usize| match self.settings.float(name, 0.0) as f32 {
                0.0 => image as f32 / cells as f32,
                step => step,
            };
        let steps = [step("stride_x", image_width, columns), step("stride_y", image_height, rows)];
        let numbers = priors.to_f32_vec()?;
        let mut grid = room(&dims)?;
        // The output has as many cells as the map, whatever grid the attributes ask for.
        for cell in 0..rows.saturating_mul(columns).min(height.saturating_mul(width)) {
            let (x, y) = (cell % columns, cell / columns);
            let middle = [steps[0] * (x as f32 + 0.5), steps[1] * (y as f32 + 0.5)];
            grid.extend(numbers.iter().zip(middle.iter().cycle()).map(|(side, middle)| side + middle));
        }
        let grid = padded(&dims, grid)?.cast(priors.element_type())?;
        Ok(vec![match self.settings.bool("flatten", false) {
            true => grid.reshape(&[grid.len() / 4, 4])?,
            false => grid,
        }])
    }
}

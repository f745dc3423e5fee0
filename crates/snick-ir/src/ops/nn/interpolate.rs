//! Interpolate-1, -4 and -11: resizes axes of a tensor.
//!
//! - 1: inputs data and sizes; the axes are an attribute, sorted; no choice of coordinates beyond `align_corners`.
//! - 4: inputs data, sizes, scales and, optionally, axes; `shape_calculation_mode` says which of the two counts.
//! - 11: inputs data, sizes or scales and, optionally, axes; two modes of the Pillow library more.

use smallvec::{SmallVec, smallvec};
use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::kernels::{self, Coordinates, InterpolateMode, Nearest, PadMode};
use snick_tensor::{ElementType, Tensor};

use super::scale::Scale;
use super::window::Numbers;
use crate::attrs::AttrValue;
use crate::{
    Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, RawNode, normalize_axes,
    normalize_each_axis,
};

/// Resizes axes, after padding with zeros.
#[derive(Clone, PartialEq, Debug)]
pub struct Interpolate {
    /// How elements between elements come about.
    pub mode: Mode,
    /// Whether a filter widens when shrinking.
    pub antialias: bool,
    /// Zeros before each axis of data; missing entries are 0.
    pub pads_begin: Numbers,
    /// Zeros after each axis of data; missing entries are 0.
    pub pads_end: Numbers,
    /// What the definitions differ in.
    pub form: Definition,
}

/// How elements between elements come about.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Mode {
    /// As the kernel does it.
    Known(InterpolateMode),
    /// Means over areas, of the first definition only: known by name, not run.
    Area,
}

/// What the definitions differ in.
#[derive(Clone, PartialEq, Debug)]
pub enum Definition {
    /// The first definition.
    Attributes {
        /// The resized axes, ascending.
        axes: Numbers,
        /// Whether first and last elements coincide.
        align_corners: bool,
    },
    /// The later definitions.
    Inputs {
        /// Whether sizes and scales are two inputs, as in operation set 4.
        both: bool,
        /// Whether the scales count, not the sizes.
        by_scales: bool,
        /// Where in the input an output element lies.
        coordinates: Coordinates,
        /// Which element is the closest.
        nearest: Nearest,
        /// The slope of the cubic modes.
        cube_coeff: f64,
    },
}

const MODES: &[(&str, Mode)] = &[
    ("nearest", Mode::Known(InterpolateMode::Nearest)),
    ("linear", Mode::Known(InterpolateMode::Linear)),
    ("linear_onnx", Mode::Known(InterpolateMode::LinearOnnx)),
    ("cubic", Mode::Known(InterpolateMode::Cubic)),
    ("bilinear_pillow", Mode::Known(InterpolateMode::BilinearPillow)),
    ("bicubic_pillow", Mode::Known(InterpolateMode::BicubicPillow)),
    ("area", Mode::Area),
];

const COORDINATES: &[(&str, Coordinates)] = &[
    ("half_pixel", Coordinates::HalfPixel),
    ("pytorch_half_pixel", Coordinates::PytorchHalfPixel),
    ("asymmetric", Coordinates::Asymmetric),
    ("tf_half_pixel_for_nn", Coordinates::TfHalfPixelForNn),
    ("align_corners", Coordinates::AlignCorners),
];

const NEARESTS: &[(&str, Nearest)] = &[
    ("round_prefer_floor", Nearest::RoundPreferFloor),
    ("round_prefer_ceil", Nearest::RoundPreferCeil),
    ("floor", Nearest::Floor),
    ("ceil", Nearest::Ceil),
    ("simple", Nearest::Simple),
];

/// Elements of the square of an axis whose weights are asked for, at most.
const MAX_WEIGHTS: usize = 1 << 24;

const CALCULATIONS: &[(&str, bool)] = &[("sizes", false), ("scales", true)];

/// The word for a value of a closed list.
fn word<T: PartialEq>(choices: &'static [(&'static str, T)], value: T) -> &'static str {
    choices.iter().find(|(_, v)| *v == value).map_or("", |(word, _)| word)
}

impl OpDef for Interpolate {
    const NAMES: &'static [OpName] = &[OpName::openvino("Interpolate", &[1, 4, 11])];
    const ARITY: Arity = Arity::between(2, 4);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let attrs = &raw.attrs;
        let form = match raw.since {
            1 => {
                let mut axes = attrs.ints("axes")?.unwrap_or_default();
                axes.sort_unstable();
                axes.dedup();
                Definition::Attributes { axes, align_corners: attrs.bool("align_corners")?.unwrap_or(true) }
            }
            since => Definition::Inputs {
                both: since < 11,
                by_scales: attrs.choice("shape_calculation_mode", CALCULATIONS)?.unwrap_or(false),
                coordinates: attrs
                    .choice("coordinate_transformation_mode", COORDINATES)?
                    .unwrap_or(Coordinates::HalfPixel),
                nearest: attrs.choice("nearest_mode", NEARESTS)?.unwrap_or(Nearest::RoundPreferFloor),
                cube_coeff: attrs.float("cube_coeff")?.unwrap_or(-0.75),
            },
        };
        let nearest = Mode::Known(InterpolateMode::Nearest);
        Ok(Self {
            mode: attrs.choice("mode", MODES)?.unwrap_or(nearest),
            antialias: attrs.bool("antialias")?.unwrap_or(false),
            pads_begin: attrs.ints("pads_begin")?.unwrap_or_default(),
            pads_end: attrs.ints("pads_end")?.unwrap_or_default(),
            form,
        })
    }

    fn attrs(&self) -> Attrs<'static> {
        let attrs = Attrs::new()
            .with("mode", word(MODES, self.mode))
            .with("antialias", self.antialias)
            .with("pads_begin", AttrValue::Ints(self.pads_begin.clone()))
            .with("pads_end", AttrValue::Ints(self.pads_end.clone()));
        match &self.form {
            Definition::Attributes { axes, align_corners } => {
                attrs.with("axes", AttrValue::Ints(axes.clone())).with("align_corners", *align_corners)
            }
            Definition::Inputs { by_scales, coordinates, nearest, cube_coeff, .. } => attrs
                .with("shape_calculation_mode", word(CALCULATIONS, *by_scales))
                .with("coordinate_transformation_mode", word(COORDINATES, *coordinates))
                .with("nearest_mode", word(NEARESTS, *nearest))
                .with("cube_coeff", *cube_coeff),
        }
    }
}

impl InferOp for Interpolate {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.arity().check(cx.len())?;
        let element_type = self.data_type(cx)?;
        let (target, axes_input) = self.ports();
        cx.expect_rank(target, "1 or 0", |rank| rank <= 1)?;
        self.check_types(cx, target, axes_input)?;
        let Some(dims) = cx.shape(0).dims() else {
            return Ok(smallvec![Fact::new(element_type, Shape::unranked())]);
        };
        let rank = dims.len();
        let axes = match (&self.form, axes_input.and_then(|port| cx.optional(port))) {
            (Definition::Attributes { axes, .. }, _) => Some(normalize_axes(axes, rank)?),
            (_, None) => Some((0..rank).collect()),
            (_, Some(axes)) => axes.ints().map(|axes| normalize_each_axis(&axes, rank)).transpose()?,
        };
        let Some(axes) = axes else {
            return Ok(smallvec![Fact::new(element_type, cx.unknown_dims(rank))]);
        };
        self.check_count(cx, target, axes.len());
        let mut resized: SmallVec<[SymExpr; 4]> = SmallVec::with_capacity(rank);
        for (axis, dim) in dims.iter().enumerate() {
            let pads = pad_of(&self.pads_begin, axis)?.saturating_add(pad_of(&self.pads_end, axis)?);
            resized.push(cx.add(dim, &pads.into()));
        }
        if self.by_scales() {
            let scales = cx.input(target).as_tensor().filter(|scales| scales.len() == axes.len());
            let scales = scales.map(|scales| scales.to_f32_vec()).transpose()?;
            for (i, &axis) in axes.iter().enumerate() {
                let Some(slot) = resized.get_mut(axis) else { continue };
                *slot = match scales.as_ref().and_then(|scales| scales.get(i)) {
                    Some(&scale) => Scale::new(scale).of_dim(cx, slot),
                    None => cx.unknown(Interval::DIM),
                };
            }
        } else {
            let sizes = cx.elements_or_unknown(target);
            for (i, &axis) in axes.iter().enumerate() {
                let Some(slot) = resized.get_mut(axis) else { continue };
                *slot = match sizes.as_ref().and_then(|sizes| sizes.get(i)) {
                    Some(size) => cx.as_dim(size).ok_or_else(|| {
                        OpError::out_of_range("a size", cx.interval(size).hi(), "0 or more")
                    })?,
                    None => cx.unknown(Interval::DIM),
                };
            }
        }
        Ok(smallvec![Fact::new(element_type, Shape::ranked(resized))])
    }
}

impl EvalOp for Interpolate {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.arity().check(inputs.len())?;
        let (target, axes) = self.ports();
        let (Some(data), Some(target)) = (inputs.first(), inputs.get(target)) else { return Ok(Vec::new()) };
        let data = self.padded(data)?;
        let to = self.resized(data.dims(), target, axes.and_then(|port| inputs.get(port)))?;
        let how = self.kernel(data.rank())?;
        Ok(vec![kernels::interpolate(&data, &to.axes, &to.sizes, &to.scales, &how)?])
    }
}

/// The resized axes, their sizes then, and by what factors they grow.
struct Resized {
    axes: SmallVec<[usize; 4]>,
    sizes: SmallVec<[usize; 4]>,
    scales: SmallVec<[f32; 4]>,
}

impl Interpolate {
    fn arity(&self) -> Arity {
        match self.form {
            Definition::Attributes { .. } => Arity::exactly(2),
            Definition::Inputs { both: true, .. } => Arity::between(3, 4),
            Definition::Inputs { both: false, .. } => Arity::between(2, 3),
        }
    }

    /// What becomes of data of these sizes.
    fn resized(&self, dims: &[usize], target: &Tensor, axes: Option<&Tensor>) -> Result<Resized, OpError> {
        let mut axes: SmallVec<[usize; 4]> = match (&self.form, axes) {
            (Definition::Attributes { axes, .. }, _) => normalize_axes(axes, dims.len())?,
            (_, None) => (0..dims.len()).collect(),
            (_, Some(axes)) => normalize_each_axis(&axes.to_i64_vec()?, dims.len())?,
        };
        let spare = matches!(self.form, Definition::Attributes { .. }) && target.len() > axes.len();
        if target.len() != axes.len() && !spare {
            return Err(OpError::mismatch("the number of sizes or scales", target.len(), axes.len()));
        }
        let own = axes.iter().filter_map(|&a| dims.get(a).copied());
        let (mut sizes, mut scales): (SmallVec<[usize; 4]>, SmallVec<[f32; 4]>) = Default::default();
        if self.by_scales() {
            for (i, (scale, size)) in target.to_f32_vec()?.into_iter().zip(own).enumerate() {
                // An axis that is named again grows once more.
                let earlier = axes[..i].iter().rposition(|axis| *axis == axes[i]);
                let size = earlier.map_or(size, |earlier| sizes[earlier]);
                let to = Scale::new(scale).of_size(i64::try_from(size).unwrap_or(i64::MAX));
                sizes.push(usize::try_from(to).unwrap_or(0));
                scales.push(scale * earlier.map_or(1.0, |earlier| scales[earlier]));
            }
        } else {
            for (to, size) in target.to_i64_vec()?.into_iter().zip(own) {
                sizes
                    .push(usize::try_from(to).map_err(|_| OpError::out_of_range("a size", to, "0 or more"))?);
                scales.push(to as f32 / size as f32);
            }
        }
        // Of an axis that is named again, the last counts.
        for i in (0..axes.len()).rev() {
            if axes[i + 1..].contains(&axes[i]) {
                axes.remove(i);
                sizes.remove(i);
                scales.remove(i);
            }
        }
        Ok(Resized { axes, sizes, scales })
    }

    /// For each resized axis of data of these sizes, the weights `[output, input]` by which its outputs are sums of its
    /// inputs. `rest` are the inputs behind the data; `None` if one that counts is not there.
    ///
    /// # Errors
    /// As for running it; padding besides.
    pub fn weights(
        &self,
        dims: &[usize],
        rest: &[Option<Tensor>],
    ) -> Result<Option<Vec<(usize, Tensor)>>, OpError> {
        if [&self.pads_begin, &self.pads_end].iter().any(|pads| pads.iter().any(|&pad| pad != 0)) {
            return Err(OpError::unsupported("padding before an interpolation"));
        }
        let (target, axes) = self.ports();
        let at = |port: usize| port.checked_sub(1).and_then(|i| rest.get(i));
        let Some(Some(target)) = at(target) else { return Ok(None) };
        let axes = match axes.and_then(at) {
            Some(None) => return Ok(None),
            Some(Some(axes)) => Some(axes),
            None => None,
        };
        let to = self.resized(dims, target, axes)?;
        let how = self.kernel(dims.len())?;
        let mut all = Vec::with_capacity(to.axes.len());
        for ((&axis, &size), &scale) in to.axes.iter().zip(&to.sizes).zip(&to.scales) {
            let own = dims.get(axis).copied().unwrap_or(1);
            // What it makes of each single input.
            let count = own.checked_mul(own).filter(|&count| count <= MAX_WEIGHTS);
            let count = count.ok_or_else(|| OpError::unsupported("the weights of an axis of this size"))?;
            let mut single = vec![0.0_f32; count];
            single.iter_mut().step_by(own + 1).for_each(|weight| *weight = 1.0);
            let singles = Tensor::from_vec(&[own, own], single)?;
            let mut columns = Vec::with_capacity(own);
            for i in 0..own {
                let one = singles.slice(0, i, 1, 1)?.reshape(&[own])?;
                columns.push(kernels::interpolate(&one, &[0], &[size], &[scale], &how)?);
            }
            let columns = columns.iter().map(Tensor::to_f32_vec).collect::<Result<Vec<_>, _>>()?;
            let rows = (0..size).flat_map(|row| columns.iter().map(move |column| column.get(row).copied()));
            let rows: Vec<f32> = rows.map(|weight| weight.unwrap_or(0.0)).collect();
            all.push((axis, Tensor::from_vec(&[size, own], rows)?));
        }
        Ok(Some(all))
    }

    fn by_scales(&self) -> bool {
        matches!(self.form, Definition::Inputs { by_scales: true, .. })
    }

    /// The input with sizes or scales, and the optional one with axes.
    fn ports(&self) -> (usize, Option<usize>) {
        match self.form {
            Definition::Attributes { .. } => (1, None),
            Definition::Inputs { both: true, by_scales, .. } => (if by_scales { 2 } else { 1 }, Some(3)),
            Definition::Inputs { both: false, .. } => (1, Some(2)),
        }
    }

    fn data_type(&self, cx: &Infer) -> Result<ElementType, OpError> {
        use ElementType::{BF16, Dynamic, F16, F32, F64, I8, I32, I64, U8};
        let element_type = cx.element_type(0);
        let fits = matches!(element_type, Dynamic | F32 | F16 | BF16 | F64 | I8 | U8 | I32 | I64);
        if fits || matches!(self.form, Definition::Attributes { .. }) {
            return Ok(element_type);
        }
        Err(OpError::element_type("data", element_type, "f32, f16, bf16, f64, i8, u8, i32 or i64"))
    }

    /// Sizes are integers, scales real numbers; axes are a vector.
    fn check_types(&self, cx: &mut Infer, target: usize, axes: Option<usize>) -> Result<(), OpError> {
        use ElementType::{BF16, Dynamic, F16, F32, I32, I64, U32, U64};
        let scales = match self.form {
            Definition::Inputs { both: true, .. } => Some(2),
            Definition::Inputs { by_scales: true, .. } => Some(1),
            _ => None,
        };
        if scales != Some(target) {
            cx.expect_integer(target);
        }
        if let Some(scales) = scales
            && let got = cx.element_type(scales)
            && !matches!(got, Dynamic | F32 | F16 | BF16)
        {
            return Err(OpError::element_type("scales", got, "f32, f16 or bf16"));
        }
        let Some(axes) = axes.filter(|axes| *axes < cx.len()) else { return Ok(()) };
        cx.expect_rank(axes, "1", |rank| rank == 1)?;
        match cx.element_type(axes) {
            Dynamic | I32 | I64 | U32 | U64 => Ok(()),
            got => Err(OpError::element_type("axes", got, "i32, i64, u32 or u64")),
        }
    }

    /// As many sizes or scales as axes, if their number is known.
    fn check_count(&self, cx: &mut Infer, target: usize, axes: usize) {
        let count = cx.shape(target).dims().and_then(|dims| dims.first().map_or(Some(1), SymExpr::as_const));
        match count {
            // The first definition leaves sizes too many alone.
            Some(count) if matches!(self.form, Definition::Attributes { .. }) && count >= axes as i64 => {}
            Some(count) if i64::try_from(axes) != Ok(count) => {
                let expected = format!("{axes}, one an axis");
                cx.report(OpError::mismatch("the number of sizes or scales", count, expected));
            }
            _ => {}
        }
    }

    fn padded(&self, data: &Tensor) -> Result<Tensor, OpError> {
        let ends = [&self.pads_begin, &self.pads_end];
        if ends.iter().all(|pads| pads.iter().all(|&pad| pad == 0)) {
            return Ok(data.clone());
        }
        let counts = |pads: &Numbers| -> Result<SmallVec<[isize; 4]>, OpError> {
            let count = |axis| {
                let pad = pad_of(pads, axis)?;
                isize::try_from(pad).map_err(|_| OpError::out_of_range("a pad", pad, "what fits in memory"))
            };
            (0..data.rank()).map(count).collect()
        };
        let (begin, end) = (counts(&self.pads_begin)?, counts(&self.pads_end)?);
        Ok(kernels::pad(data, &begin, &end, PadMode::Constant, None)?)
    }

    /// The kernel's attributes for data of this rank. The first definition is one of the later ones with fixed choices.
    fn kernel(&self, rank: usize) -> Result<kernels::Interpolate, OpError> {
        let Mode::Known(mode) = self.mode else {
            return Err(OpError::unsupported("interpolation by area"));
        };
        Ok(match &self.form {
            Definition::Inputs { coordinates, nearest, cube_coeff, .. } => kernels::Interpolate {
                mode,
                nearest: *nearest,
                coordinates: *coordinates,
                antialias: self.antialias,
                cube_coeff: *cube_coeff,
            },
            Definition::Attributes { axes, align_corners } => {
                // What runs models takes pixels by their corners only of images, and of what is padded.
                let whole =
                    [&self.pads_begin, &self.pads_end].iter().all(|pads| pads.iter().all(|&pad| pad == 0));
                let image = rank == 4 && *axes.as_slice() == [2, 3];
                kernels::Interpolate {
                    mode,
                    nearest: Nearest::Simple,
                    coordinates: match align_corners {
                        true => Coordinates::AlignCorners,
                        false if mode == InterpolateMode::Linear && whole && !image => Coordinates::HalfPixel,
                        false => Coordinates::Asymmetric,
                    },
                    antialias: self.antialias,
                    cube_coeff: -0.75,
                }
            }
        })
    }
}

/// The padding of an axis; lists may be shorter than the rank.
fn pad_of(pads: &Numbers, axis: usize) -> Result<i64, OpError> {
    match pads.get(axis).copied().unwrap_or(0) {
        pad @ 0.. => Ok(pad),
        pad => Err(OpError::out_of_range("a pad", pad, "0 or more")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;

    fn parsed(attrs: Attrs<'static>, since: u8) -> Interpolate {
        let mut raw = RawNode::openvino("Interpolate", Version::Opset(since), attrs, 1);
        raw.since = since;
        Interpolate::parse(&raw).unwrap()
    }

    /// The data `[[1, 2]]`, resized.
    fn resized(by: &[f32], axes: &[i64]) -> Tensor {
        let attrs = Attrs::new()
            .with("mode", "nearest")
            .with("shape_calculation_mode", "scales")
            .with("coordinate_transformation_mode", "asymmetric")
            .with("nearest_mode", "floor");
        let op = parsed(attrs, 11);
        let data = Tensor::from_vec(&[1, 2], vec![1f32, 2.0]).unwrap();
        let by = Tensor::from_vec(&[by.len()], by.to_vec()).unwrap();
        let axes = Tensor::from_vec(&[axes.len()], axes.to_vec()).unwrap();
        op.eval(&[data, by, axes]).unwrap().remove(0)
    }

    #[test]
    fn the_first_definition_reads_lines_by_their_middles_and_images_by_their_corners() {
        let resized = |axes: &'static str, dims: &[usize], pads: &'static str| {
            let attrs = Attrs::new()
                .with("mode", "linear")
                .with("align_corners", false)
                .with("axes", axes)
                .with("pads_begin", pads);
            let op = parsed(attrs, 1);
            let data = Tensor::from_vec(dims, vec![1f32, 3.0]).unwrap();
            let sizes = Tensor::from_vec(&[2], vec![4i64, 1]).unwrap();
            op.eval(&[data, sizes]).unwrap()[0].to_f32_vec().unwrap()
        };
        assert_eq!(resized("2,3", &[1, 1, 2, 1], "0"), [1.0, 2.0, 3.0, 3.0]);
        assert_eq!(resized("1,2", &[1, 2, 1], "0"), [1.0, 1.5, 2.5, 3.0]);
        assert_eq!(resized("1,2", &[1, 2, 1], "0,0,0"), [1.0, 1.5, 2.5, 3.0]);
    }

    #[test]
    fn an_axis_named_again_grows_once_more() {
        assert_eq!(resized(&[1.5, 2.0], &[1, -1]).to_f32_vec().unwrap(), [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    }

    #[test]
    fn of_no_elements_nothing_is_computed() {
        assert_eq!(resized(&[0.0], &[1]).dims(), [1, 0]);
        assert_eq!(resized(&[0.0, 2.0], &[1, 0]).dims(), [2, 0]);
    }
}

//! Writes Interpolate as Resize where both compute the same result. Other Interpolates are decomposed.

use snick_ir::ops::nn::interpolate::{Interpolate, Mode, OutputSize};
use snick_ir::ops::nn::scale::Scale;
use snick_ir::{AttrWords, Op, OpError};
use snick_onnx::Attribute;
use snick_shape::Interval;
use snick_tensor::kernels::{Coordinates, Nearest};
use snick_tensor::{ElementType, Tensor};

use super::emitter::{Emitter, Result, float, int, ints, text};
use super::row::OpRow;
use super::types::OF_RESIZE;
use crate::layer::Layer;

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    Some(match op {
        Op::Interpolate(op) => {
            OpRow::new(|e| interpolate(e, op)).lacks(OF_RESIZE).only(|layer| Resize::of(layer, op).is_some())
        }
        _ => return None,
    })
}

/// How to compute a layer with Resize.
struct Resize {
    mode: &'static str,
    /// The port of the sizes or scales.
    target: usize,
    /// The axes to resample.
    axes: Vec<usize>,
    /// For each of these axes, its index in the list of sizes or scales.
    entries: Vec<usize>,
    /// The scales of these axes; `None` if the list contains sizes.
    scales: Option<Vec<f32>>,
    /// The length of the list.
    count: usize,
    /// Whether ONNX Runtime can resample all these axes with one Resize.
    at_once: bool,
}

impl Resize {
    /// Returns `None` if Resize would compute a different result, or if ONNX Runtime would fail.
    fn of(layer: &Layer, op: &Interpolate) -> Option<Self> {
        let coordinates = op.coordinate_transformation_mode;
        // Operator set 13 removed `tf_half_pixel_for_nn` from Resize.
        if !op.since.at_least(4) || op.is_padded() || coordinates == Coordinates::TfHalfPixelForNn {
            return None;
        }
        let fact = layer.fact(0).ok()?;
        let dims = fact.shape.dims()?;
        let mode = mode(op, fact.element_type, dims.len())?;
        let (target, listed) = op.ports();
        let listed = match listed.filter(|&port| port < layer.len()) {
            Some(port) => Some(layer.known(port)?),
            None => None,
        };
        let all = op.resized_axes(listed.as_deref(), dims.len()).ok()?;
        if (1..all.len()).any(|i| all[..i].contains(&all[i])) {
            return None;
        }
        let known = match op.by_scales() {
            true => Some(layer.tensor(target)?.to_f32_vec().ok()?),
            false => None,
        };
        let sizes = if op.by_scales() { None } else { layer.elements(target) };
        let symbols = layer.graph.symbols();
        let [mut axes, mut entries] = [Vec::new(), Vec::new()];
        for (i, &axis) in all.iter().enumerate() {
            let from = symbols.interval(&dims[axis]);
            let (to, stays) = match &known {
                Some(scales) => {
                    let scale = *scales.get(i)?;
                    let stays = from.is_exact().is_some_and(|size| Scale::new(scale).of_size(size) == size);
                    (OutputSize::FromScale(scale), stays || scale == 1.0)
                }
                None => {
                    let size = sizes.as_ref().and_then(|sizes| sizes.get(i));
                    let interval = size.map_or(Interval::DIM, |size| symbols.interval(size));
                    (OutputSize::Within(interval), size == Some(&dims[axis]))
                }
            };
            if stays {
                continue;
            }
            if !op.equals_onnx_resize(from, to) {
                return None;
            }
            axes.push(axis);
            entries.push(i);
        }
        let scales = known.map(|scales| entries.iter().filter_map(|&i| scales.get(i).copied()).collect());
        // ONNX Runtime may move a Resize across a Transpose, even if it then cannot resize the permuted axes
        // in cubic mode.
        let is_transposed = matches!(layer.graph.node(layer.inputs.first()?.node).op(), Op::Transpose(_));
        let at_once = is_taken(mode, dims.len(), &axes) && !(mode == "cubic" && is_transposed);
        Some(Self { mode, target, axes, entries, scales, count: all.len(), at_once })
    }
}

/// The mode of Resize. `None` if ONNX Runtime cannot resize the type, or if ONNX lacks the mode. In ONNX,
/// linear interpolation is between two neighbours per axis. The `linear` mode of the layer does the same for
/// ranks below 5, but not for higher ranks.
fn mode(op: &Interpolate, element_type: ElementType, rank: usize) -> Option<&'static str> {
    use ElementType::{F16, F32, I8, I32, U8};
    let (mode, fits) = match op.mode {
        Mode::Nearest => ("nearest", matches!(element_type, F16 | F32 | I8 | I32 | U8)),
        Mode::LinearOnnx => ("linear", matches!(element_type, F16 | F32)),
        Mode::Linear => ("linear", rank < 5 && matches!(element_type, F16 | F32)),
        Mode::Cubic => ("cubic", matches!(element_type, F16 | F32)),
        Mode::BilinearPillow | Mode::BicubicPillow | Mode::Area => return None,
    };
    fits.then_some(mode)
}

/// Whether ONNX Runtime can resize these axes together in data of this rank.
fn is_taken(mode: &str, rank: usize, axes: &[usize]) -> bool {
    let are_last = |count: usize| axes.iter().all(|&axis| axis + count >= rank);
    match (mode, rank) {
        ("nearest", _) => rank > 0,
        (_, 2) | ("linear", 3) => true,
        ("linear", 4) => are_last(2) || axes.iter().all(|axis| [1, 2].contains(axis)),
        ("linear", 5) => are_last(3),
        (_, 4) => are_last(2),
        _ => false,
    }
}

fn interpolate(e: &mut Emitter, op: &Interpolate) -> Result {
    let nearest = match op.nearest_mode {
        Nearest::RoundPreferFloor | Nearest::Simple => "round_prefer_floor",
        Nearest::RoundPreferCeil => "round_prefer_ceil",
        Nearest::Floor => "floor",
        Nearest::Ceil => "ceil",
    };
    let plan = Resize::of(&e.layer, op).ok_or_else(|| OpError::unsupported("this mode"))?;
    if plan.axes.is_empty() {
        return e.last("Identity", &[e.input(0)?], vec![]);
    }
    let mut attrs = vec![
        text("mode", plan.mode),
        text("coordinate_transformation_mode", op.coordinate_transformation_mode.word()),
        text("nearest_mode", nearest),
    ];
    if plan.mode == "cubic" {
        attrs.push(float("cubic_coeff_a", op.cube_coeff));
    }
    let sizes = if plan.scales.is_none() { Some(e.input_i64(plan.target)?) } else { None };
    if !plan.at_once {
        return one_by_one(e, &plan, sizes, attrs);
    }
    let by = match sizes {
        Some(sizes) => sizes_of_all(e, &plan, &sizes)?,
        None => {
            let mut scales = vec![1.0; e.rank(0)?];
            for (&axis, &scale) in plan.axes.iter().zip(plan.scales.iter().flatten()) {
                scales[axis] = scale;
            }
            scales_of(e, &scales)?
        }
    };
    let inputs = inputs(e.input(0)?, by, plan.scales.is_some());
    e.last("Resize", &inputs, attrs)
}

/// Lists the sizes of all axes, because ONNX Runtime ignores the attribute `axes` when it moves a Resize
/// across a Transpose.
fn sizes_of_all(e: &mut Emitter, plan: &Resize, sizes: &str) -> Result<String> {
    let rank = e.rank(0)?;
    if plan.axes.iter().copied().eq(0..rank) && plan.entries.iter().copied().eq(0..plan.count) {
        return Ok(sizes.to_string());
    }
    if let (Ok(mut all), Some(known)) = (e.dims(0), e.known(plan.target)) {
        for (&axis, &entry) in plan.axes.iter().zip(&plan.entries) {
            all[axis] = known.get(entry).copied().unwrap_or(all[axis]);
        }
        return e.vector(&all);
    }
    let shape = e.shape(&e.input(0)?);
    // Runs of adjacent axes with consecutive entries in the same list: `sizes` if the axes are resized, the
    // shape of the data otherwise.
    let mut runs: Vec<(bool, std::ops::Range<usize>)> = Vec::new();
    for axis in 0..rank {
        let (is_resized, entry) = match plan.axes.iter().position(|&resized| resized == axis) {
            Some(i) => (true, plan.entries[i]),
            None => (false, axis),
        };
        match runs.last_mut() {
            Some((same, run)) if *same == is_resized && run.end == entry => run.end += 1,
            _ => runs.push((is_resized, entry..entry + 1)),
        }
    }
    let mut parts = Vec::with_capacity(runs.len());
    for (is_resized, run) in runs {
        parts.push(match is_resized {
            true if run == (0..plan.count) => sizes.to_string(),
            true => e.cut(sizes, 0, run.start as i64, run.end as i64)?,
            false => e.cut(&shape, 0, run.start as i64, run.end as i64)?,
        });
    }
    Ok(e.joined(&parts, 0))
}

/// Resamples one axis at a time. Merges all axes before it into one, and all axes after it into another.
/// Transposing instead would not work, because ONNX Runtime moves Resize across a Transpose and then rejects
/// the axes. All sizes are computed explicitly, because -1 is ambiguous if another axis is empty.
fn one_by_one(e: &mut Emitter, plan: &Resize, sizes: Option<String>, mut attrs: Vec<Attribute>) -> Result {
    let rank = e.rank(0)? as i64;
    attrs.push(ints("axes", vec![2]));
    let mut y = e.input(0)?;
    for (n, (&axis, &entry)) in plan.axes.iter().zip(&plan.entries).enumerate() {
        let (axis, entry) = (axis as i64, entry as i64);
        let shape = e.shape(&y);
        let size = e.cut(&shape, 0, axis, axis + 1)?;
        let before = if axis > 0 { Some(e.cut(&shape, 0, 0, axis)?) } else { None };
        let after = if axis + 1 < rank { Some(e.cut(&shape, 0, axis + 1, rank)?) } else { None };
        let merged = [e.vector(&[1])?, product(e, before.as_deref())?, size, product(e, after.as_deref())?];
        let merged = e.joined(&merged, 0);
        let x = e.reshaped_to(&y, &merged);
        let by = match (&sizes, &plan.scales) {
            (Some(sizes), _) => e.cut(sizes, 0, entry, entry + 1)?,
            (None, scales) => {
                let scales = scales.as_deref().unwrap_or_default();
                scales_of(e, scales.get(n..=n).unwrap_or_default())?
            }
        };
        let x = e.node("Resize", &inputs(x, by, sizes.is_none()), attrs.clone());
        let mut parts = Vec::with_capacity(3);
        parts.extend(before);
        parts.push(e.size(&x, 2)?);
        parts.extend(after);
        let shape = e.joined(&parts, 0);
        if n + 1 == plan.axes.len() {
            return e.last("Reshape", &[x, shape], vec![int("allowzero", 1)]);
        }
        y = e.reshaped_to(&x, &shape);
    }
    Ok(())
}

/// The product of sizes as a vector of length 1. An empty product is 1.
fn product(e: &mut Emitter, sizes: Option<&str>) -> Result<String> {
    match sizes {
        Some(sizes) => Ok(e.node("ReduceProd", &[sizes], vec![])),
        None => e.vector(&[1]),
    }
}

/// The inputs of Resize: data, no region of interest, and scales or sizes.
fn inputs(x: String, by: String, is_scales: bool) -> Vec<String> {
    let mut inputs = vec![x, String::new()];
    inputs.extend((!is_scales).then(String::new));
    inputs.push(by);
    inputs
}

fn scales_of(e: &mut Emitter, scales: &[f32]) -> Result<String> {
    e.tensor(&Tensor::from_vec(&[scales.len()], scales.to_vec())?)
}

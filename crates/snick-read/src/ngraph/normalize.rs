//! Batch normalisation and quantisation: numbers for some axes of the data, applied to all of it.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::build::Site;
use super::ops::{element_type, sizes, word};

/// Layers of element-wise ops, each a line.
struct Arithmetic<'s, 'b, 'f, 'd>(&'s mut Site<'b, 'f, 'd>);

impl Arithmetic<'_, '_, '_, '_> {
    fn of(&mut self, op: &str, a: Value, b: Value) -> Result<Value, OpError> {
        self.0.add(op, 1, Attrs::new().with("auto_broadcast", "numpy"), &[a, b])
    }

    fn reduced(&mut self, op: &str, value: Value, axes: &[i64]) -> Result<Value, OpError> {
        let axes = self.0.ints(axes)?;
        self.0.add(op, 1, Attrs::new().with("keep_dims", false), &[value, axes])
    }

    /// `value` for the axes listed, broadcastable to data of `rank`.
    fn along(&mut self, value: Value, axes: &[i64], rank: usize) -> Result<Value, OpError> {
        let others: Vec<i64> = (0..rank as i64).filter(|axis| !axes.contains(axis)).collect();
        if others.is_empty() {
            return Ok(value);
        }
        let others = self.0.ints(&others)?;
        self.0.add("Unsqueeze", 1, Attrs::new(), &[value, others])
    }

    fn converted(&mut self, value: Value, element_type: ElementType) -> Result<Value, OpError> {
        self.0.add("Convert", 1, Attrs::new().with("destination_type", element_type), &[value])
    }
}

/// The rank of `value`, 2 or more.
fn rank(site: &Site, value: Value) -> Result<usize, OpError> {
    let rank = site.dims(value).map(|dims| dims.len());
    let rank = rank.ok_or_else(|| OpError::unsupported(format!("a {} of unknown rank", site.node.op)))?;
    if rank < 2 {
        return Err(OpError::mismatch("the data", format!("rank {rank}"), "rank 2 or more"));
    }
    Ok(rank)
}

fn epsilon(site: &Site) -> Result<f64, OpError> {
    let epsilon = site.node.attrs.float("eps")?.or(site.node.attrs.float("epsilon")?);
    epsilon.ok_or(OpError::MissingAttribute { name: "eps" })
}

/// All axes but that of the channels.
fn not_channels(rank: usize) -> Vec<i64> {
    (0..rank as i64).filter(|&axis| axis != 1).collect()
}

/// The first definition has the order of inputs that nGraph has: gamma, beta, data, mean, variance.
pub(super) fn batch_norm(site: &mut Site) -> Result<Value, OpError> {
    let attrs = Attrs::new().with("epsilon", epsilon(site)?);
    let inputs = site.inputs.to_vec();
    site.add("BatchNormInference", 1, attrs, &inputs)
}

/// Three outputs: the data normalised, the mean and the variance of each channel.
pub(super) fn batch_norm_training(site: &mut Site) -> Result<Value, OpError> {
    let (gamma, beta, data) = (site.input(0)?, site.input(1)?, site.input(2)?);
    let rank = rank(site, data)?;
    let attrs = Attrs::new().with("epsilon", epsilon(site)?);
    let axes = not_channels(rank);
    let mut layers = Arithmetic(site);
    let mean = layers.reduced("ReduceMean", data, &axes)?;
    let centre = layers.along(mean, &[1], rank)?;
    let squares = layers.of("SquaredDifference", data, centre)?;
    let variance = layers.reduced("ReduceMean", squares, &axes)?;
    let value = site.add("BatchNormInference", 1, attrs, &[gamma, beta, data, mean, variance])?;
    site.further.extend([mean, variance]);
    Ok(value)
}

/// The gradients of a normalisation by the mean and the variance of its data: by data, gamma and beta.
pub(super) fn batch_norm_training_backprop(site: &mut Site) -> Result<Value, OpError> {
    let (gamma, data) = (site.input(0)?, site.input(2)?);
    let (mean, variance, delta) = (site.input(3)?, site.input(4)?, site.input(5)?);
    let rank = rank(site, data)?;
    let epsilon = epsilon(site)?;
    let epsilon = site.number(epsilon, data)?;
    let axes = not_channels(rank);
    let mut layers = Arithmetic(site);
    let shifted = layers.of("Add", variance, epsilon)?;
    let deviation = layers.0.add("Sqrt", 1, Attrs::new(), &[shifted])?;
    let scale = layers.of("Divide", gamma, deviation)?;
    let centre = layers.along(mean, &[1], rank)?;
    let spread = layers.along(deviation, &[1], rank)?;
    let centred = layers.of("Subtract", data, centre)?;
    let normal = layers.of("Divide", centred, spread)?;
    let weighted = layers.of("Multiply", delta, normal)?;
    let by_gamma = layers.reduced("ReduceSum", weighted, &axes)?;
    let by_beta = layers.reduced("ReduceSum", delta, &axes)?;
    // What the mean and the variance of the data take away of the gradient.
    let drift = layers.reduced("ReduceMean", delta, &axes)?;
    let stretch = layers.reduced("ReduceMean", weighted, &axes)?;
    let drift = layers.along(drift, &[1], rank)?;
    let stretch = layers.along(stretch, &[1], rank)?;
    let stretched = layers.of("Multiply", normal, stretch)?;
    let rest = layers.of("Subtract", delta, drift)?;
    let rest = layers.of("Subtract", rest, stretched)?;
    let scale = layers.along(scale, &[1], rank)?;
    let by_data = layers.of("Multiply", rest, scale)?;
    site.further.extend([by_gamma, by_beta]);
    Ok(by_data)
}

/// `(data - zero_point) * scale`, in the type of the result.
pub(super) fn dequantize(site: &mut Site) -> Result<Value, OpError> {
    let (data, scale, zero) = (site.input(0)?, site.input(1)?, site.input(2)?);
    let target = element_type(site, "type")?;
    let axes = sizes(site, "axes")?;
    let rank = quantized_rank(site, data)?;
    let mut layers = Arithmetic(site);
    let (data, zero) = (layers.converted(data, target)?, layers.converted(zero, target)?);
    let (scale, zero) = (layers.along(scale, &axes, rank)?, layers.along(zero, &axes, rank)?);
    let centred = layers.of("Subtract", data, zero)?;
    layers.of("Multiply", centred, scale)
}

/// `data / scale`, rounded, plus the zero point, within the bounds of the type.
pub(super) fn quantize(site: &mut Site) -> Result<Value, OpError> {
    let (data, scale, zero) = (site.input(0)?, site.input(1)?, site.input(2)?);
    let target = element_type(site, "type")?;
    let (least, greatest) = match target {
        ElementType::I8 => (f64::from(i8::MIN), f64::from(i8::MAX)),
        ElementType::U8 => (0.0, f64::from(u8::MAX)),
        ElementType::I16 => (f64::from(i16::MIN), f64::from(i16::MAX)),
        ElementType::U16 => (0.0, f64::from(u16::MAX)),
        other => return Err(OpError::unsupported(format!("a Quantize to {other}"))),
    };
    let mode = word(site, "round_mode").unwrap_or_default();
    let away = || Attrs::new().with("mode", "half_away_from_zero");
    let (round, opset, attrs) = match mode.as_str() {
        "0" | "ROUND_NEAREST_TOWARD_INFINITY" => ("Round", 5, away()),
        "4" | "ROUND_NEAREST_TOWARD_EVEN" => ("Round", 5, Attrs::new().with("mode", "half_to_even")),
        "6" | "ROUND_UP" => ("Ceiling", 1, Attrs::new()),
        "7" | "ROUND_DOWN" => ("Floor", 1, Attrs::new()),
        _ => return Err(OpError::unsupported(format!("round_mode `{mode}`"))),
    };
    let axes = sizes(site, "axes")?;
    let rank = quantized_rank(site, data)?;
    let real = site.element_type(data);
    let mut layers = Arithmetic(site);
    let zero = layers.converted(zero, real)?;
    let (scale, zero) = (layers.along(scale, &axes, rank)?, layers.along(zero, &axes, rank)?);
    let steps = layers.of("Divide", data, scale)?;
    let whole = layers.0.add(round, opset, attrs, &[steps])?;
    let shifted = layers.of("Add", whole, zero)?;
    let bounds = Attrs::new().with("min", least).with("max", greatest);
    let bounded = layers.0.add("Clamp", 1, bounds, &[shifted])?;
    layers.converted(bounded, target)
}

fn quantized_rank(site: &Site, data: Value) -> Result<usize, OpError> {
    let rank = site.dims(data).map(|dims| dims.len());
    rank.ok_or_else(|| OpError::unsupported(format!("a {} of unknown rank", site.node.op)))
}

//! Batch normalisation and quantisation. Their parameters have some of the axes of the data, and are
//! broadcast over the other axes.

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::site::{Site, element_type, sizes, word};

/// Reshapes `value` so that it broadcasts to data of this `rank`. The axes of `value` are the `axes` of the
/// data.
fn along(site: &mut Site, value: Value, axes: &[i64], rank: usize) -> Result<Value, OpError> {
    let others: Vec<i64> = (0..rank as i64).filter(|axis| !axes.contains(axis)).collect();
    if others.is_empty() { Ok(value) } else { site.unsqueeze(value, &others) }
}

/// The rank of `value`, which must be at least 2.
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

/// All axes except the channel axis.
fn not_channels(rank: usize) -> Vec<i64> {
    (0..rank as i64).filter(|&axis| axis != 1).collect()
}

/// BatchNormInference-1 has the input order of nGraph: gamma, beta, data, mean, variance.
pub(super) fn batch_norm(site: &mut Site) -> Result<Value, OpError> {
    let attrs = Attrs::new().with("epsilon", epsilon(site)?);
    let inputs = site.inputs.to_vec();
    site.ir_op("BatchNormInference", 1, attrs, &inputs)
}

/// Batch normalisation in training. Returns the normalised data, then the mean and the variance of each
/// channel.
pub(super) fn batch_norm_training(site: &mut Site) -> Result<Value, OpError> {
    let (gamma, beta, data) = (site.input(0)?, site.input(1)?, site.input(2)?);
    let rank = rank(site, data)?;
    let attrs = Attrs::new().with("epsilon", epsilon(site)?);
    let axes = not_channels(rank);
    let mean = site.reduce_mean(data, &axes, false)?;
    let centre = along(site, mean, &[1], rank)?;
    let squares = site.squared_difference(data, centre)?;
    let variance = site.reduce_mean(squares, &axes, false)?;
    let value = site.ir_op("BatchNormInference", 1, attrs, &[gamma, beta, data, mean, variance])?;
    site.further.extend([mean, variance]);
    Ok(value)
}

/// The gradients of a batch normalisation with respect to data, gamma and beta.
pub(super) fn batch_norm_training_backprop(site: &mut Site) -> Result<Value, OpError> {
    let (gamma, data) = (site.input(0)?, site.input(2)?);
    let (mean, variance, delta) = (site.input(3)?, site.input(4)?, site.input(5)?);
    let rank = rank(site, data)?;
    let epsilon = epsilon(site)?;
    let axes = not_channels(rank);
    let shifted = site.add(variance, epsilon)?;
    let deviation = site.sqrt(shifted)?;
    let scale = site.divide(gamma, deviation)?;
    let centre = along(site, mean, &[1], rank)?;
    let spread = along(site, deviation, &[1], rank)?;
    let centred = site.subtract(data, centre)?;
    let normal = site.divide(centred, spread)?;
    let weighted = site.multiply(delta, normal)?;
    let by_gamma = site.reduce_sum(weighted, &axes, false)?;
    let by_beta = site.reduce_sum(delta, &axes, false)?;
    // The parts of the gradient that are due to the mean and the variance.
    let drift = site.reduce_mean(delta, &axes, false)?;
    let stretch = site.reduce_mean(weighted, &axes, false)?;
    let drift = along(site, drift, &[1], rank)?;
    let stretch = along(site, stretch, &[1], rank)?;
    let stretched = site.multiply(normal, stretch)?;
    let rest = site.subtract(delta, drift)?;
    let rest = site.subtract(rest, stretched)?;
    let scale = along(site, scale, &[1], rank)?;
    let by_data = site.multiply(rest, scale)?;
    site.further.extend([by_gamma, by_beta]);
    Ok(by_data)
}

/// Computes `(data - zero_point) * scale` in the type of the result.
pub(super) fn dequantize(site: &mut Site) -> Result<Value, OpError> {
    let (data, scale, zero) = (site.input(0)?, site.input(1)?, site.input(2)?);
    let target = element_type(site, "type")?;
    let axes = sizes(site, "axes")?;
    let rank = quantized_rank(site, data)?;
    let (data, zero) = (site.convert(data, target)?, site.convert(zero, target)?);
    let (scale, zero) = (along(site, scale, &axes, rank)?, along(site, zero, &axes, rank)?);
    let centred = site.subtract(data, zero)?;
    site.multiply(centred, scale)
}

/// Computes `round(data / scale) + zero_point`, clamped to the range of the type.
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
    let real = site.type_of(data);
    let zero = site.convert(zero, real)?;
    let (scale, zero) = (along(site, scale, &axes, rank)?, along(site, zero, &axes, rank)?);
    let steps = site.divide(data, scale)?;
    let whole = site.ir_op(round, opset, attrs, &[steps])?;
    let shifted = site.add(whole, zero)?;
    let bounded = site.clamp(shifted, least, greatest)?;
    site.convert(bounded, target)
}

fn quantized_rank(site: &Site, data: Value) -> Result<usize, OpError> {
    let rank = site.dims(data).map(|dims| dims.len());
    rank.ok_or_else(|| OpError::unsupported(format!("a {} of unknown rank", site.node.op)))
}

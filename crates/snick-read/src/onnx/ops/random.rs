//! Random numbers.

use std::f64::consts::TAU;

use snick_ir::{Attrs, OpError, Value};
use snick_tensor::ElementType;

use super::{ImportEntry, one};
use crate::onnx::builder::{NodeBuilder, Result};

pub(super) const ENTRIES: &[ImportEntry] = &[
    one("Bernoulli", &[15, 22], bernoulli).attrs("dtype seed"),
    one("Multinomial", &[7, 22], multinomial).attrs("dtype sample_size seed"),
    one("RandomNormal", &[1, 22], |b| normal(b, shape_attr)).attrs("dtype mean scale seed shape"),
    one("RandomNormalLike", &[1, 22], |b| normal(b, shape_of_input)).attrs("dtype mean scale seed"),
    one("RandomUniform", &[1, 22], |b| uniform(b, shape_attr)).attrs("dtype high low seed shape"),
    one("RandomUniformLike", &[1, 22], |b| uniform(b, shape_of_input)).attrs("dtype high low seed"),
];

/// Determines the sizes and the element type of the result.
type Sampler = fn(&mut NodeBuilder) -> Result<(Value, ElementType), OpError>;

fn shape_attr(b: &mut NodeBuilder) -> Result<(Value, ElementType), OpError> {
    let sizes = b.ints_attr("shape")?.ok_or(OpError::MissingAttribute { name: "shape" })?;
    Ok((b.ints(&sizes)?, b.type_attr("dtype")?.unwrap_or(ElementType::F32)))
}

fn shape_of_input(b: &mut NodeBuilder) -> Result<(Value, ElementType), OpError> {
    let x = b.input(0)?;
    let element_type = match b.type_attr("dtype")? {
        Some(element_type) => element_type,
        None => b.element_type(x)?,
    };
    Ok((b.shape_of(x)?, element_type))
}

/// Uniform random numbers between two bounds. The seed of the node becomes the seed of the layer.
fn drawn(b: &mut NodeBuilder, sizes: Value, real: ElementType, [low, high]: [f64; 2], stream: i64) -> Result {
    let bounds = [b.scalar(real, low)?, b.scalar(real, high)?];
    let seed = seed(b)?.saturating_add(stream);
    let attrs = Attrs::new().with("output_type", real).with("op_seed", seed);
    b.ir_op("RandomUniform", attrs.with("global_seed", 0), &[sizes, bounds[0], bounds[1]])
}

fn uniform(b: &mut NodeBuilder, form: Sampler) -> Result {
    let (sizes, real) = form(b)?;
    let bounds = [b.float_attr("low", 0.0)?, b.float_attr("high", 1.0)?];
    drawn(b, sizes, real, bounds, 0)
}

/// Normally distributed random numbers, computed from pairs of uniform random numbers by the Box-Muller
/// transform.
fn normal(b: &mut NodeBuilder, form: Sampler) -> Result {
    let (sizes, real) = form(b)?;
    let least = f64::from(f32::MIN_POSITIVE);
    let (first, second) = (
        drawn(b, sizes, ElementType::F32, [least, 1.0], 1)?,
        drawn(b, sizes, ElementType::F32, [0.0, TAU], 2)?,
    );
    let logarithm = b.log(first)?;
    let square = b.multiply(logarithm, -2.0)?;
    let (distance, direction) = (b.sqrt(square)?, b.cos(second)?);
    let y = b.multiply(distance, direction)?;
    let (scale, mean) = (b.float_attr("scale", 1.0)?, b.float_attr("mean", 0.0)?);
    let y = b.multiply(y, scale)?;
    let y = b.add(y, mean)?;
    b.convert(y, real)
}

/// Returns 1 with the probability in the input, otherwise 0.
fn bernoulli(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let (sizes, target) = shape_of_input(b)?;
    let real = b.element_type(x)?;
    let drawn = drawn(b, sizes, real, [0.0, 1.0], 0)?;
    let hit = b.less(drawn, x)?;
    b.convert(hit, target)
}

/// Samples classes by their log probabilities.
fn multinomial(b: &mut NodeBuilder) -> Result {
    let x = b.input(0)?;
    let count = b.int_attr("sample_size", 1)?;
    let count = b.ints(&[count])?;
    let target = b.type_attr("dtype")?.unwrap_or(ElementType::I32);
    let attrs = Attrs::new().with("convert_type", target).with("with_replacement", true);
    let attrs = attrs.with("log_probs", true).with("global_seed", 0).with("op_seed", seed(b)?);
    b.ir_op("Multinomial", attrs, &[x, count])
}

/// The bits of the float attribute `seed` as an integer.
fn seed(b: &NodeBuilder) -> Result<i64, OpError> {
    Ok(i64::from((b.float_attr("seed", 0.0)? as f32).to_bits()))
}

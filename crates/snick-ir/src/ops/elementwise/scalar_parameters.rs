//! Shared code of HardSigmoid, Selu and Swish, whose parameters are inputs with one element.

use snick_tensor::Tensor;

use super::domain::Domain;
use crate::{Fact, Facts, Infer, OpError};

/// Infers the output: the common element type of the inputs, and the shape of input 0.
pub(super) fn infer(cx: &mut Infer, domain: Domain) -> Result<Facts, OpError> {
    let element_type = domain.check("the inputs", cx.common_type(0..cx.len()))?;
    Ok(Facts::from(Fact::new(element_type, cx.shape(0).clone())))
}

/// Requires the parameters to be scalars.
pub(super) fn expect_scalars(cx: &Infer) -> Result<(), OpError> {
    (1..cx.len()).try_for_each(|i| cx.expect_rank(i, "0", |rank| rank == 0))
}

/// The single element of a parameter.
pub(super) fn number(parameter: &Tensor) -> Result<f64, OpError> {
    match parameter.to_f64_vec()?.as_slice() {
        [number] => Ok(*number),
        all => Err(OpError::mismatch("the number of elements of a parameter", all.len(), 1)),
    }
}

/// The value of input `i`, if it is constant.
pub(super) fn known(inputs: &[&Fact], i: usize) -> Option<f64> {
    number(inputs.get(i)?.as_tensor()?).ok()
}

/// Replaces 0, which would make the function constant, with the default.
pub(super) fn or_default(given: f64, default: f64) -> f64 {
    if given == 0.0 { default } else { given }
}

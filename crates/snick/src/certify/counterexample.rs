//! Counterexamples: sizes and an element at which two models compute different values.

#[cfg(feature = "run")]
mod candidates;
#[cfg(feature = "run")]
mod compare;
#[cfg(feature = "run")]
mod elements;
#[cfg(feature = "run")]
mod pair;
#[cfg(feature = "run")]
mod rounding;
#[cfg(feature = "run")]
mod search;

use std::collections::BTreeMap;

use serde::Serialize;
use snick_ir::Watch;

use crate::{Error, Model};

/// An element of an output that two models compute differently.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Counterexample {
    /// The sizes of the inputs that are not constant. Each dim is given as the inferred shape of the input
    /// names it, such as `N`, `2*N` or, for a dim without a name, `s0`.
    pub sizes: BTreeMap<String, i64>,
    /// The index of the element. Empty if the output is a scalar, if its types or shapes differ, or if its
    /// shape depends on the elements of the inputs.
    pub index: Vec<usize>,
    /// The element that the first model computes, or its type and shape if these differ.
    pub before: String,
    /// The element that the second model computes, or its type and shape if these differ.
    pub after: String,
}

/// Searches for counterexamples by running two inferred models on the same random inputs of several sizes.
/// Inputs and outputs correspond by name if both models have the same names, and by order otherwise.
///
/// The result has an entry for each of `outputs`, which are positions among the outputs of the first model. It
/// is `None` if no difference beyond rounding was found. Where the models differ, each also runs with values
/// rounded to fewer bits, and only a difference that exceeds the effect of this rounding counts:
/// quantisation and comparisons can turn an error in a last bit into a whole step.
///
/// The search takes a few seconds at most, and `watch` may stop it earlier. Models with random operations have
/// no counterexamples. Without the feature `run`, no counterexample is found.
///
/// ```
/// use snick::{Watch, counterexamples};
///
/// let model = |stop: i64| -> Result<_, snick::Error> {
///     let text = format!(
///         "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"N=1..\"}}\n  \
///          %start = Const-1 i64[1] <0>\n  %stop = Const-1 i64[1] <{stop}>\n  %step = Const-1 i64[1] <1>\n  \
///          %a = Slice-8(%x, %start, %stop, %step)\n  %y = Result-1(%a)\n}}\n"
///     );
///     let mut model = snick::parse(&text)?;
///     model.infer().into_result()?;
///     Ok(model)
/// };
/// let found = counterexamples(&model(3)?, &model(4)?, &[0], 0, &Watch::new())?;
/// # if cfg!(feature = "run") {
/// let counterexample = found[0].as_ref().expect("a difference");
/// assert!(counterexample.sizes["N"] > 3);
/// assert_eq!((&*counterexample.before, &*counterexample.after), ("f32[3]", "f32[4]"));
/// # }
/// # Ok::<(), snick::Error>(())
/// ```
///
/// # Errors
/// [`Error::Cancelled`] and [`Error::Limit`] of `watch`; [`Error::Invalid`] for a graph with a cycle.
pub fn counterexamples(
    before: &Model,
    after: &Model,
    outputs: &[usize],
    seed: u64,
    watch: &Watch,
) -> Result<Vec<Option<Counterexample>>, Error> {
    #[cfg(feature = "run")]
    let found = search::search([before, after], outputs, seed, watch)?;
    #[cfg(not(feature = "run"))]
    let found = {
        let _ = (before, after, seed, watch);
        vec![None; outputs.len()]
    };
    Ok(found)
}

#[cfg(feature = "run")]
#[cfg(test)]
mod tests;

//! Checks tensors against inferred facts.

use std::collections::HashMap;

use snick_ir::{Fact, Graph, InputOrigin, Known, NodeId, OpError};
use snick_shape::{SymExpr, SymbolId, Symbols};
use snick_tensor::{ElementType, Listed, Tensor};

/// The values of symbols in a run, determined by the dims of the inputs.
#[derive(Default)]
pub(crate) struct SymbolBindings {
    values: HashMap<SymbolId, i64>,
    /// Dim expressions that contain several unknown symbols, each with its size in the run.
    equations: Vec<(SymExpr, i64)>,
}

impl SymbolBindings {
    /// Checks the tensor passed for a Parameter, and binds the symbols in the Parameter's dims.
    pub(crate) fn bind(&mut self, graph: &Graph, fact: &Fact, given: &Tensor) -> Result<(), OpError> {
        check_intervals(graph, fact, given)
            .map_err(|(got, expected)| OpError::mismatch("the input", got, expected))?;
        for (dim, &size) in fact.shape.dims().unwrap_or_default().iter().zip(given.dims()) {
            let size = size_of_dim(size);
            match dim {
                SymExpr::Const(_) => {}
                SymExpr::Symbol(symbol) => {
                    let known = *self.values.entry(*symbol).or_insert(size);
                    if known != size {
                        let what = format!("symbol `{}` of the input", graph.symbols().display(dim));
                        return Err(OpError::mismatch(what, size, format!("{known} as in other dims")));
                    }
                }
                SymExpr::Linear(_) => self.equations.push((dim.clone(), size)),
            }
        }
        if self.equations.is_empty() {
            return Ok(());
        }
        let solved = graph.symbols().solve(&mut self.equations, &mut self.values);
        solved.map_err(|(dim, size)| self.contradiction(graph.symbols(), &dim, size))
    }

    fn contradiction(&self, symbols: &Symbols, dim: &SymExpr, size: i64) -> OpError {
        let what = format!("dim `{}` of the input", symbols.display(dim));
        let value = |symbol: SymbolId| {
            let value = self.values.get(&symbol)?;
            Some(format!("{} = {value}", symbols.display(&SymExpr::Symbol(symbol))))
        };
        let values: Vec<String> = dim.symbols().into_iter().filter_map(value).collect();
        let interval = symbols.interval(dim);
        let expected = match symbols.eval(dim, &|symbol| self.values.get(&symbol).copied()) {
            Some(expected) => format!("{expected}, as {}", values.join(", ")),
            None if values.is_empty() => format!("a value of the expression within {interval}"),
            None => format!("a value of the expression for {}", values.join(", ")),
        };
        OpError::mismatch(what, size, expected)
    }

    /// Checks the outputs of a node against its facts: intervals, expressions whose symbols are bound, and
    /// known elements.
    pub(crate) fn check(&self, graph: &Graph, node: NodeId, values: &[Tensor]) -> Result<(), OpError> {
        for (port, (out, value)) in graph.node(node).outs().iter().zip(values).enumerate() {
            let what = format!("output {port}");
            check_intervals(graph, &out.fact, value)
                .map_err(|(got, expected)| OpError::contradicts_fact(&*what, got, expected))?;
            for (dim, &size) in out.fact.shape.dims().unwrap_or_default().iter().zip(value.dims()) {
                self.expect(graph, &what, dim, size_of_dim(size))?;
            }
            match &out.fact.known {
                Some(Known::Tensor(known)) if !agree(known, value) => {
                    return Err(OpError::contradicts_fact(what, format!("{value:?}"), format!("{known:?}")));
                }
                Some(Known::Elements(elements)) => {
                    for (element, value) in elements.iter().zip(value.to_i64_vec()?) {
                        self.expect(graph, &what, element, value)?;
                    }
                }
                Some(Known::Reals(reals)) => {
                    for (real, value) in reals.iter().zip(value.to_f64_vec()?) {
                        if real.is_bounded() && !(real.lo..=real.hi).contains(&value) {
                            let bounds = format!("{} to {}", real.lo, real.hi);
                            return Err(OpError::contradicts_fact(what, value, bounds));
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The number of elements of a value, if its dims can be evaluated.
    pub(crate) fn elements(&self, graph: &Graph, fact: &Fact) -> Option<usize> {
        let size = |dim| graph.symbols().eval(dim, &|symbol| self.values.get(&symbol).copied());
        fact.shape.dims()?.iter().try_fold(1usize, |count, dim| {
            let size = usize::try_from(size(dim)?).ok()?;
            Some(count.saturating_mul(size))
        })
    }

    fn expect(&self, graph: &Graph, what: &str, expr: &SymExpr, got: i64) -> Result<(), OpError> {
        match graph.symbols().eval(expr, &|symbol| self.values.get(&symbol).copied()) {
            Some(expected) if expected != got => {
                let expected = format!("{} = {expected}", graph.symbols().display(expr));
                Err(OpError::contradicts_fact(what, got, expected))
            }
            _ => Ok(()),
        }
    }
}

fn size_of_dim(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// Whether all elements are equal. Ignores the sign of zeros, because it depends on the order of computation.
fn agree(known: &Tensor, value: &Tensor) -> bool {
    let equal_numbers = || {
        let (known, value) = (known.to_f64_vec().ok()?, value.to_f64_vec().ok()?);
        Some(known.iter().zip(&value).all(|(a, b)| a == b || (a.is_nan() && b.is_nan())))
    };
    let is_float = known.element_type().is_float() && known.element_type() == value.element_type();
    known == value || (is_float && known.dims() == value.dims() && equal_numbers() == Some(true))
}

/// The type and dims of a tensor for messages, such as `f32[1,3]`.
fn describe(tensor: &Tensor) -> String {
    format!("{}{}", tensor.element_type(), Listed(tensor.dims()))
}

/// Checks the number, types and shapes of a node's values against its facts. Values inferred as f16 or bf16
/// may have been computed in f32.
pub(crate) fn check_values(graph: &Graph, node: NodeId, values: &[Tensor]) -> Result<(), OpError> {
    let outs = graph.node(node).outs();
    if values.len() != outs.len() {
        return Err(OpError::contradicts_fact("the number of values computed", values.len(), outs.len()));
    }
    for (port, (out, value)) in outs.iter().zip(values).enumerate() {
        let is_wide = out.fact.element_type.is_half() && value.element_type() == ElementType::F32;
        let wide = is_wide.then(|| Fact::new(ElementType::F32, out.fact.shape.clone()));
        check_intervals(graph, wide.as_ref().unwrap_or(&out.fact), value)
            .map_err(|(got, expected)| OpError::contradicts_fact(format!("output {port}"), got, expected))?;
    }
    Ok(())
}

/// Adds the types and shapes of the inputs to the error of a layer.
pub(crate) fn with_inputs<'t>(error: OpError, inputs: impl Iterator<Item = &'t Tensor>) -> OpError {
    let inputs: Vec<InputOrigin> = inputs.map(|tensor| InputOrigin::of_value(describe(tensor))).collect();
    match inputs.is_empty() {
        true => error,
        false => OpError::WithInputs { error: Box::new(error), inputs },
    }
}

/// Checks the type and dims of a tensor against a fact. The error holds descriptions of the tensor and of the
/// expected value.
fn check_intervals(graph: &Graph, fact: &Fact, tensor: &Tensor) -> Result<(), (String, String)> {
    let any_type = fact.element_type == ElementType::Dynamic;
    let dims_fit = fact.shape.dims().is_none_or(|dims| {
        let fits = |dim, &size| graph.symbols().interval(dim).contains(size_of_dim(size));
        dims.len() == tensor.rank() && dims.iter().zip(tensor.dims()).all(|(dim, size)| fits(dim, size))
    });
    if dims_fit && (any_type || fact.element_type == tensor.element_type()) {
        return Ok(());
    }
    let expected = format!("{}{}", fact.element_type, fact.shape.display_intervals(graph.symbols()));
    Err((describe(tensor), expected))
}

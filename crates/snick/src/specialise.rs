//! Gives symbols of the inputs a value.

use std::collections::HashMap;

use snick_ir::{Graph, NodeId, Op, Value, did_you_mean_or};
use snick_shape::{DimSpec, Interval, Origin, ShapeSpec, Symbols};

use crate::{Error, Model};

impl Model {
    /// The model for given values of some symbols, inferred. Symbols are given by the names that the shapes of
    /// the inputs declare, or, for sizes without a name, by labels such as `s0` in the shapes that inference
    /// found for the inputs.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,2*H\"}\n  \
    /// #             %y = Parameter-1 {element_type: f32, shape: \"H=1..9,?\"}\n  %z = Result-1(%x)\n}\n";
    /// let model = snick::parse(text)?;
    /// let small = model.specialise(&[("N", 1), ("H", 4)])?;
    /// let x = small.graph().find("x").expect("layer");
    /// let shape = small.graph().node(x).outputs().next().expect("an output").shape();
    /// assert_eq!(shape.as_static().as_deref(), Some([1, 8].as_slice()));
    /// assert!(model.specialise(&[("H", 10)]).is_err()); // H is at most 9
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if no input has such a symbol, or if a value contradicts its declaration.
    /// [`Error::Invalid`] if a layer rejects the sizes.
    pub fn specialise<N: AsRef<str>>(&self, sizes: &[(N, i64)]) -> Result<Self, Error> {
        let sizes: HashMap<&str, i64> = sizes.iter().map(|(name, size)| (name.as_ref(), *size)).collect();
        let graph = self.graph();
        for (&name, &size) in &sizes {
            check(graph, name, size)?;
        }
        let declared = declared(graph);
        let mut model = self.clone();
        for id in graph.parameters() {
            let Op::Parameter(parameter) = graph.node(id).op() else { continue };
            let ShapeSpec::Dims(dims) = &parameter.shape else { continue };
            let dims = dims.iter().enumerate().map(|(axis, dim)| {
                let label = label(graph, id, axis);
                bound(dim, label.as_deref(), &sizes, &declared).unwrap_or_else(|| dim.clone())
            });
            model.graph_mut().set_parameter_shape(id, ShapeSpec::Dims(dims.collect()))?;
        }
        model.infer().into_result()?;
        Ok(model)
    }
}

/// Checks that an input has the symbol, and that its declared intervals contain the size.
fn check(graph: &Graph, name: &str, size: i64) -> Result<(), Error> {
    let spec = format!("{name}={size}");
    let mut known: Vec<String> = Vec::new();
    let mut is_known = false;
    for id in graph.parameters() {
        let Op::Parameter(parameter) = graph.node(id).op() else { continue };
        let ShapeSpec::Dims(dims) = &parameter.shape else { continue };
        for (axis, dim) in dims.iter().enumerate() {
            let (names, interval) = match dim {
                DimSpec::Symbol { name, interval } => (vec![name.clone()], *interval),
                DimSpec::Expr(expr) => (expr.names().to_vec(), Interval::DIM),
                DimSpec::Interval(interval) => (label(graph, id, axis).into_iter().collect(), *interval),
                _ => continue,
            };
            if names.iter().any(|known| known == name) {
                is_known = true;
                if !interval.contains(size) {
                    let layer = graph.node(id).name();
                    let message = format!("input `{layer}` declares `{name}` as {interval}");
                    return Err(Error::shape(&spec, message));
                }
            }
            known.extend(names);
        }
    }
    let listed = format!("; the symbols are {}", known.join(", "));
    let listed = if known.is_empty() { "; they have no symbols".to_string() } else { listed };
    match is_known {
        true => Ok(()),
        false => {
            let hint = did_you_mean_or(name, known.iter().map(String::as_str), &listed);
            Err(Error::shape(&spec, format!("no input has a symbol `{name}`{hint}")))
        }
    }
}

/// The label of the symbol that inference found for a dim of an input.
fn label(graph: &Graph, input: NodeId, axis: usize) -> Option<String> {
    let dims = graph.fact(Value { node: input, port: 0 })?.shape().dims()?;
    let symbol = dims.get(axis)?.as_symbol()?;
    Some(graph.symbols().label(symbol).into_owned())
}

/// The symbols that the inputs declare.
fn declared(graph: &Graph) -> Symbols {
    let mut symbols = Symbols::default();
    for id in graph.parameters() {
        let Op::Parameter(parameter) = graph.node(id).op() else { continue };
        let ShapeSpec::Dims(dims) = &parameter.shape else { continue };
        for dim in dims {
            if let DimSpec::Symbol { name, interval } = dim {
                // Contradictory intervals are an error of inference.
                let _ = symbols.named(name, *interval, Origin::default());
            }
        }
    }
    symbols
}

/// A dim with the sizes in place of symbols; `None` if it contains no such symbol.
fn bound(
    dim: &DimSpec,
    label: Option<&str>,
    sizes: &HashMap<&str, i64>,
    declared: &Symbols,
) -> Option<DimSpec> {
    let exact = |name: &str| sizes.get(name).map(|&size| DimSpec::Interval(Interval::exact(size)));
    match dim {
        DimSpec::Symbol { name, .. } => exact(name),
        DimSpec::Interval(_) => exact(label?),
        DimSpec::Expr(expr) if expr.names().iter().any(|name| sizes.contains_key(name.as_str())) => {
            let mut symbols = declared.clone();
            let whole = expr.instantiate(&mut symbols, Origin::default()).ok()?;
            let of_name = |id| symbols.name(id).and_then(|name| sizes.get(name));
            let replaced = symbols.substitute(&whole, &|id| of_name(id).map(|&size| size.into()))?;
            symbols.display(&replaced).to_string().parse().ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::Model;

    fn shapes(model: &Model) -> Vec<String> {
        let graph = model.graph();
        let facts = graph.parameters().map(|id| graph.node(id).outputs().next().unwrap());
        facts.map(|fact| fact.shape().display(graph.symbols()).to_string()).collect()
    }

    #[test]
    fn sizes_replace_symbols_wherever_they_are_declared() {
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,P+T,?\"}\n  \
                    %y = Parameter-1 {element_type: f32, shape: \"P=1..8,(T+1)/2,2..4\"}\n  %z = Result-1(%x)\n}\n";
        let mut model = crate::parse(text).unwrap();
        let of = |model: &Model, sizes: &[(&str, i64)]| shapes(&model.specialise(sizes).unwrap());
        assert_eq!(of(&model, &[("P", 3)]), ["[N,T+3,?]", "[3,(T+1)/2,2..4]"]);
        assert_eq!(of(&model, &[("P", 3), ("T", 4), ("N", 0)]), ["[0,7,?]", "[3,2,2..4]"]);
        model.infer().into_result().unwrap();
        // The last dim of `y` has no name, but a label.
        let label = super::label(model.graph(), model.graph().find("y").unwrap(), 2).unwrap();
        assert_eq!(of(&model, &[(&label, 4)])[1], "[P,(T+1)/2,4]");
        for wrong in [("P", 9), ("N", -1), ("M", 1), (&*label, 5)] {
            assert!(model.specialise(&[wrong]).is_err(), "{wrong:?}");
        }
    }
}

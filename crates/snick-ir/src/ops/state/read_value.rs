//! ReadValue-3 and ReadValue-6.

use snick_shape::{DimSpec, Interval, Shape, ShapeSpec, SymExpr};
use snick_tensor::{ElementType, Tensor};

use crate::attrs::missing;
use crate::infer::{Assumed, VariableValues};
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, Since};

op! {
    /// The value last assigned to a variable; before any assignment, the input, if there is one.
    #[op(
        "ReadValue", since = [3, 6], inputs = Arity::between(0, 1),
        category = State, traits = [STATEFUL, ROOT, BOUNDARY, VIEW]
    )]
    pub struct ReadValue {
        /// The version; in version 3, the variable has the type and shape of the input.
        pub since: Since = Since(6),
        /// The name of the variable.
        pub variable_id: String,
        /// Element type of the variable.
        #[since(6)]
        pub variable_type: Option<ElementType> = None,
        /// Shape of the variable.
        #[since(6)]
        pub variable_shape: Option<ShapeSpec> = None,
    }
}

impl InferOp for ReadValue {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        self.infer_values(cx, None)
    }
}

impl ReadValue {
    /// A fact that holds for every value of the variable. A type or shape that is not declared is inferred
    /// from the initial value and the assumed assignments; it is unknown without assumptions.
    pub(crate) fn infer_values(&self, cx: &mut Infer, assumed: Option<&Assumed>) -> Result<Facts, OpError> {
        let init = cx.optional(0);
        if let Some(init) = init.filter(|_| cx.is_of_first_run()) {
            return Ok(Facts::from(init.clone()));
        }
        let values = init.zip(assumed).map(|(init, assumed)| {
            let initial = VariableValues::of(init, cx.known_symbols());
            assumed.values(&self.variable_id).map_or(initial.clone(), |values| initial.join(values))
        });
        let shape = match (&self.variable_shape, init) {
            (Some(shape), init) => {
                let declared = declared(cx, shape)?;
                if let Some(init) = init {
                    cx.merge_shapes("the variable is {}, its initial value {}", &declared, &init.shape)?;
                }
                match values.as_ref().and_then(|values| values.dims.as_ref()) {
                    Some(dims) if declared.dims().is_none() => unknown(cx, dims),
                    _ => declared,
                }
            }
            // Assigned values may differ in size from the input, within its intervals.
            (None, Some(init)) => match init.shape.dims() {
                Some(dims) => {
                    let intervals: Vec<_> = dims.iter().map(|dim| cx.interval(dim)).collect();
                    unknown(cx, &intervals)
                }
                None => Shape::unranked(),
            },
            (None, None) => return Err(missing("variable_shape")),
        };
        let element_type = match (self.variable_type, init) {
            (None, None) => return Err(missing("variable_type")),
            (None, Some(init)) => init.element_type,
            (Some(ElementType::Dynamic), _) => {
                values.map_or(ElementType::Dynamic, |values| values.element_type)
            }
            (Some(declared), Some(init)) => {
                let got = init.element_type;
                if got != ElementType::Dynamic && declared != got {
                    return Err(OpError::element_type("input 0", got, declared.to_string()));
                }
                declared
            }
            (Some(declared), None) => declared,
        };
        Ok(Facts::from(Fact::new(element_type, shape)))
    }

    /// The properties in `values` that the variable does not declare itself.
    pub(crate) fn undeclared(&self, values: VariableValues) -> VariableValues {
        let declares_type = self.variable_type != Some(ElementType::Dynamic);
        let declares_rank = self.variable_shape != Some(ShapeSpec::Unranked);
        VariableValues {
            element_type: if declares_type { ElementType::Dynamic } else { values.element_type },
            dims: values.dims.filter(|_| !declares_rank),
        }
    }
}

/// The declared shape. A named dim contributes only its interval: the value comes from an earlier run, in
/// which the dim of that name may have had another size.
fn declared(cx: &mut Infer, shape: &ShapeSpec) -> Result<Shape, OpError> {
    let origin = cx.origin();
    let named = shape.instantiate(cx.symbols(), origin)?;
    let (ShapeSpec::Dims(specs), Some(dims)) = (shape, named.dims()) else { return Ok(named) };
    let own = |(spec, dim): (&DimSpec, &SymExpr)| match spec {
        DimSpec::Interval(_) => dim.clone(),
        _ => unknown_size(cx, cx.interval(dim)),
    };
    Ok(Shape::ranked(specs.iter().zip(dims).map(own).collect::<Vec<_>>()))
}

/// A shape of unknown dims within these intervals.
fn unknown(cx: &mut Infer, dims: &[Interval]) -> Shape {
    Shape::ranked(dims.iter().map(|&dim| unknown_size(cx, dim)).collect::<Vec<_>>())
}

fn unknown_size(cx: &mut Infer, interval: Interval) -> SymExpr {
    cx.unknown_data(interval, "of the value last assigned to the variable")
}

impl EvalOp for ReadValue {
    /// Computes the value in the first run: the initial value.
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        match inputs.first() {
            Some(init) => Ok(vec![init.clone()]),
            None => Err(OpError::NoValue {
                what: format!("variable {}", self.variable_id),
                why: "nothing was assigned to it".into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{infer, text};

    /// The type and shape read from a variable that declares neither, if `value` is assigned to it.
    fn read(value: &str) -> String {
        let layers = format!(
            "%init = Parameter-1 {{element_type: f32, shape: \"B,0,4\"}}\n\
             %new = Parameter-1 {{element_type: f32, shape: \"B,1,4\"}}\n\
             %int = Parameter-1 {{element_type: i32, shape: \"2,2\"}}\n\
             %axis = Const-1 i64[] <1>\n\
             %read = ReadValue-6(%init) {{variable_id: \"v\", variable_type: dynamic, variable_shape: \"...\"}}\n\
             {value}\n%put = Assign-6(%value) {{variable_id: \"v\"}}\n%y = Result-1(%read)"
        );
        let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
        assert_eq!(infer(&mut graph), []);
        let out = &graph.node(graph.results().next().unwrap()).outs()[0];
        format!("{}{}", out.fact.element_type, out.fact.shape.display_intervals(graph.symbols()))
    }

    #[test]
    fn undeclared_values_are_the_initial_one_and_the_assigned_ones() {
        for (value, expected) in [
            ("%value = Relu-1(%read)", "f32[?,0,4]"),
            ("%value = Concat-1(%read, %new) {axis: 1}", "f32[?,?,4]"),
            ("%value = Convert-1(%new) {destination_type: f16}", "dynamic[?,?,4]"),
            ("%value = Relu-1(%int)", "dynamic[...]"),
            ("%value = Unsqueeze-1(%read, %axis)", "f32[...]"),
        ] {
            assert_eq!(read(value), expected, "{value}");
        }
    }
}

//! ReadValue-3 and ReadValue-6.

use snick_shape::{Shape, ShapeSpec};
use snick_tensor::{ElementType, Tensor};

use crate::attrs::missing;
use crate::{Arity, EvalOp, Fact, Facts, Infer, InferOp, OpError, Since};

op! {
    /// The value last assigned to a variable; before that the input, if there is one.
    #[op("ReadValue", since = [3, 6], inputs = Arity::between(0, 1), traits = [STATEFUL, BOUNDARY])]
    pub struct ReadValue {
        /// The definition: with the first the variable has element type and shape of the input.
        pub since: Since = Since(6),
        /// The variable.
        pub variable_id: String,
        /// Element type of all values of the variable.
        #[since(6)]
        pub variable_type: Option<ElementType> = None,
        /// Shapes of the values of the variable.
        #[since(6)]
        pub variable_shape: Option<ShapeSpec> = None,
    }
}

impl InferOp for ReadValue {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let init = cx.optional(0);
        let shape = match (&self.variable_shape, init) {
            (Some(shape), init) => {
                let origin = cx.origin();
                let shape = shape.instantiate(cx.symbols(), origin)?;
                if let Some(init) = init {
                    cx.merge_shapes("the variable is {}, its initial value {}", &shape, &init.shape)?;
                }
                shape
            }
            // Assigned values may have other sizes than the input, within its ranges.
            (None, Some(init)) => match init.shape.dims() {
                Some(dims) => {
                    let intervals: Vec<_> = dims.iter().map(|dim| cx.interval(dim)).collect();
                    Shape::ranked(intervals.into_iter().map(|i| cx.unknown(i)).collect::<Vec<_>>())
                }
                None => Shape::unranked(),
            },
            (None, None) => return Err(missing("variable_shape")),
        };
        let element_type = match (self.variable_type, init) {
            (None, None) => return Err(missing("variable_type")),
            (None, Some(init)) => init.element_type,
            (Some(declared), Some(init)) => {
                let got = init.element_type;
                if ![declared, got].contains(&ElementType::Dynamic) && declared != got {
                    return Err(OpError::element_type("input 0", got, declared.to_string()));
                }
                declared
            }
            (Some(declared), None) => declared,
        };
        Ok(Facts::from(Fact::new(element_type, shape)))
    }
}

impl EvalOp for ReadValue {
    /// The value in the first run.
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

//! ReadValue-3, ReadValue-6: what a variable holds, which outlives a run.

use smallvec::smallvec;
use snick_shape::{Shape, ShapeSpec};
use snick_tensor::{ElementType, Tensor};

use crate::attrs::missing;
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// The value last assigned to a variable; before that its input, if there is one. ReadValue-6 may declare type and
/// shape of the variable, which then hold for all that is assigned; ReadValue-3 takes those of its input.
#[derive(Clone, PartialEq, Debug)]
pub struct ReadValue {
    /// Which variable.
    pub variable_id: String,
    /// Type of all its values.
    pub variable_type: Option<ElementType>,
    /// Shapes of its values.
    pub variable_shape: Option<ShapeSpec>,
}

impl OpDef for ReadValue {
    const NAMES: &'static [OpName] = &[OpName::openvino("ReadValue", &[3, 6])];
    const ARITY: Arity = Arity::between(0, 1);
    const TRAITS: OpTraits = OpTraits::STATEFUL.union(OpTraits::BOUNDARY);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let variable_id = super::variable_id(raw)?;
        if raw.since < 6 {
            return Ok(Self { variable_id, variable_type: None, variable_shape: None });
        }
        Ok(Self {
            variable_id,
            variable_type: raw.attrs.element_type("variable_type")?,
            variable_shape: raw.attrs.shape("variable_shape")?,
        })
    }

    fn attrs(&self) -> Attrs<'static> {
        let mut attrs = Attrs::new().with("variable_id", self.variable_id.clone());
        if let Some(element_type) = self.variable_type {
            attrs = attrs.with("variable_type", element_type);
        }
        if let Some(shape) = &self.variable_shape {
            attrs = attrs.with("variable_shape", shape.to_string());
        }
        attrs
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
            // Of the input's sizes only the ranges hold: what is assigned may have others.
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
        Ok(smallvec![Fact::new(element_type, shape)])
    }
}

impl EvalOp for ReadValue {
    /// In a first run: the input.
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

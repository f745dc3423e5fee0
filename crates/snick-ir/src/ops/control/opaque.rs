//! Layers of unknown types, kept unchanged.

use std::sync::Arc;

use snick_shape::{Birth, Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use crate::infer::given_up::NO_RULE;
use crate::{Arity, Attrs, Fact, Facts, Infer, OpError, OpTraits, Version};

/// A layer with the operation type and attributes of the file.
#[derive(Clone, PartialEq, Debug)]
pub struct Opaque {
    /// Operation type.
    pub op_type: Arc<str>,
    /// All attributes.
    pub attrs: Attrs<'static>,
}

impl Opaque {
    /// Any number of inputs.
    pub const ARITY: Arity = Arity::at_least(0);

    /// A root, so that it is kept even if its outputs are unused.
    pub const TRAITS: OpTraits = OpTraits::ROOT;

    /// Whether the layer comes from an execution graph, whose layers are named after kernels: such a layer
    /// has no operation set but records its execution time.
    pub fn is_recorded(version: &Version, attrs: &Attrs) -> bool {
        *version == Version::Unversioned && attrs.contains("execTimeMcs") && attrs.contains("primitiveType")
    }

    /// The declared types and shapes.
    pub fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Ok(declared_facts(cx))
    }

    /// Always an error, since the operation is unknown.
    pub fn eval(&self) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::NoImplementation { op_type: self.op_type.to_string() })
    }
}

/// The declared types and shapes of the outputs. A dim of -1 is unknown.
pub(in crate::ops) fn declared_facts(cx: &mut Infer) -> Facts {
    let ports: Vec<_> = cx.declared().map(Option::<&_>::cloned).collect();
    let facts = ports.into_iter().map(|port| {
        let Some(port) = port else { return Fact::unknown() };
        let Some(dims) = port.dims else { return Fact::new(port.element_type, Shape::unranked()) };
        let dims = dims.into_iter().map(|dim| match dim {
            0.. => SymExpr::from(dim),
            _ => cx.born(Interval::DIM, || Birth::GivenUp(NO_RULE.into())),
        });
        Fact::new(port.element_type, Shape::ranked(dims.collect::<Vec<_>>()))
    });
    facts.collect()
}

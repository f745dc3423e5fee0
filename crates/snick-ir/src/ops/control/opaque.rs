//! Opaque: a layer whose operation snick does not know, kept whole.

use std::sync::Arc;

use snick_shape::{Interval, Shape, SymExpr};
use snick_tensor::Tensor;

use crate::{Arity, Attrs, Fact, Facts, Infer, OpError, OpTraits};

/// Any layer: its operation type and attributes as they were read.
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

    /// Kept, whatever it does.
    pub const TRAITS: OpTraits = OpTraits::ROOT;

    /// The declared ports.
    pub fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        Ok(declared_facts(cx))
    }

    /// Always an error: nobody knows what the layer computes.
    pub fn eval(&self) -> Result<Vec<Tensor>, OpError> {
        Err(OpError::unsupported(format!("executing operation type `{}`", self.op_type)))
    }
}

/// What the file declares, as facts: all there is where no rule is known. A dim of -1 is an unknown.
fn declared_facts(cx: &mut Infer) -> Facts {
    let ports: Vec<_> = cx.declared().map(Option::<&_>::cloned).collect();
    let facts = ports.into_iter().map(|port| {
        let Some(port) = port else { return Fact::unknown() };
        let Some(dims) = port.dims else { return Fact::new(port.element_type, Shape::unranked()) };
        let dims = dims.into_iter().map(|dim| match dim {
            0.. => SymExpr::from(dim),
            _ => cx.unknown(Interval::DIM),
        });
        Fact::new(port.element_type, Shape::ranked(dims.collect::<Vec<_>>()))
    });
    facts.collect()
}

//! The ops: one file each, families with a table row an op. Registering one takes two lines here: a `mod` line and
//! a line in the list of `ops!`, both in alphabetical order.

#[macro_use]
mod registry;

pub mod constant;
pub mod opaque;
pub mod parameter;
pub mod result;
pub mod subgraph;

pub use registry::known_names;
use registry::Entry;

use self::opaque::Opaque;
use crate::rewrite::{Lowered, Patch};
use crate::{Arity, Attrs, Facts, Infer, OpDef, OpError, OpName, RawNode};
use snick_tensor::Tensor;

ops! {
    Const(constant::Constant),
    Parameter(parameter::Parameter),
    Result(result::GraphResult),
    SubGraph(subgraph::SubGraph),
}

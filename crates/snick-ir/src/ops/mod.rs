//! The ops: one file each, families with a table row an op. Registering one takes two lines here: a `mod` line and
//! a line in the list of `ops!`, each with its family.

#[macro_use]
mod registry;

/// Where values come from and go to.
pub mod source {
    pub mod constant;
    pub mod parameter;
    pub mod result;
}

/// One element at a time.
pub mod elementwise {
    pub mod convert;
}

/// Many elements to one.
pub mod reduction {}

/// Shapes as values, and values under other shapes.
pub mod shape {
    pub mod broadcast;
    pub mod eye;
    pub mod range;
    pub mod reshape;
    pub mod shape_of;
    pub mod squeeze;
    pub mod unsqueeze;
}

/// Elements to other places.
pub mod movement {
    pub mod concat;
    pub(crate) mod follow;
    pub mod gather;
    pub mod gather_elements;
    pub mod gather_nd;
    pub mod gather_tree;
    pub mod identity;
    pub(crate) mod indices;
    pub mod non_zero;
    pub mod one_hot;
    pub mod pad;
    pub mod reduction;
    pub mod reverse;
    pub mod reverse_sequence;
    pub mod roll;
    pub mod scatter_elements_update;
    pub mod scatter_nd_update;
    pub mod scatter_update;
    pub mod tile;
    pub mod top_k;
    pub mod transpose;
}

/// The slice family: the primitive and what lowers to it.
pub mod slice {}

/// What neural networks are made of.
pub mod nn {}

/// Ops that own graphs, and layers of which only the ports are known.
pub mod control {
    pub mod opaque;
    pub mod subgraph;
}

use snick_tensor::Tensor;

use self::control::opaque::Opaque;
use self::registry::Entry;
pub use self::registry::known_names;
use crate::rewrite::{Lowered, Patch};
use crate::{Arity, Attrs, Facts, Infer, OpDef, OpError, OpName};

ops! {
    // source
    Const(source::constant::Constant),
    Parameter(source::parameter::Parameter),
    Result(source::result::GraphResult),
    // elementwise
    Convert(elementwise::convert::Convert),
    // reduction
    // shape
    Broadcast(shape::broadcast::Broadcast),
    Eye(shape::eye::Eye),
    Range(shape::range::Range),
    Reshape(shape::reshape::Reshape),
    ShapeOf(shape::shape_of::ShapeOf),
    Squeeze(shape::squeeze::Squeeze),
    Unsqueeze(shape::unsqueeze::Unsqueeze),
    // movement
    Concat(movement::concat::Concat),
    Gather(movement::gather::Gather),
    GatherElements(movement::gather_elements::GatherElements),
    GatherNd(movement::gather_nd::GatherNd),
    GatherTree(movement::gather_tree::GatherTree),
    Identity(movement::identity::Identity),
    NonZero(movement::non_zero::NonZero),
    OneHot(movement::one_hot::OneHot),
    Pad(movement::pad::Pad),
    Reverse(movement::reverse::Reverse),
    ReverseSequence(movement::reverse_sequence::ReverseSequence),
    Roll(movement::roll::Roll),
    ScatterElementsUpdate(movement::scatter_elements_update::ScatterElementsUpdate),
    ScatterNdUpdate(movement::scatter_nd_update::ScatterNdUpdate),
    ScatterUpdate(movement::scatter_update::ScatterUpdate),
    Tile(movement::tile::Tile),
    TopK(movement::top_k::TopK),
    Transpose(movement::transpose::Transpose),
    // slice
    // nn
    // control
    SubGraph(control::subgraph::SubGraph),
}

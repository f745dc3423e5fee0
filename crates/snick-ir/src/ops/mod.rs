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
    pub mod shape_of;
}

/// Elements to other places.
pub mod movement {}

/// The slice family: the primitive and what lowers to it.
pub mod slice {
    mod clamp;
    pub mod primitive;
    mod range;
    mod scalar;
    pub mod slice8;
    pub mod split;
    pub mod strided_slice;
    pub mod variadic_split;
}

/// What neural networks are made of.
pub mod nn {
    pub mod adaptive_pool;
    pub mod attention;
    pub mod batch_norm;
    pub mod convolution;
    pub mod convolution_backprop;
    pub mod depth_space;
    pub mod group_normalization;
    pub mod interpolate;
    pub mod lrn;
    pub mod matmul;
    pub mod mvn;
    pub mod normalize_l2;
    pub mod pool;
    pub mod real;
    pub mod scale;
    pub mod shuffle_channels;
    pub mod softmax;
    pub mod window;
}

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
    ShapeOf(shape::shape_of::ShapeOf),
    // movement
    // slice
    Slice(slice::primitive::Slice),
    Slice8(slice::slice8::Slice8),
    Split(slice::split::Split),
    StridedSlice(slice::strided_slice::StridedSlice),
    VariadicSplit(slice::variadic_split::VariadicSplit),
    // nn
    AdaptivePool(nn::adaptive_pool::AdaptivePool),
    BatchNormInference(nn::batch_norm::BatchNormInference),
    Convolution(nn::convolution::Convolution),
    ConvolutionBackpropData(nn::convolution_backprop::ConvolutionBackpropData),
    DepthSpace(nn::depth_space::DepthSpace),
    GroupNormalization(nn::group_normalization::GroupNormalization),
    Interpolate(nn::interpolate::Interpolate),
    Lrn(nn::lrn::Lrn),
    MatMul(nn::matmul::MatMul),
    Mvn(nn::mvn::Mvn),
    NormalizeL2(nn::normalize_l2::NormalizeL2),
    Pool(nn::pool::Pool),
    ScaledDotProductAttention(nn::attention::ScaledDotProductAttention),
    ShuffleChannels(nn::shuffle_channels::ShuffleChannels),
    Softmax(nn::softmax::Softmax),
    // control
    SubGraph(control::subgraph::SubGraph),
}

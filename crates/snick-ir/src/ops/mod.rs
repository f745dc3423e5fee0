//! The ops: one file each, families with a table row an op. Registering one takes two lines here: a `mod` line and
//! a line in the list of `ops!`, each with its family. Ops of more than about 100 bytes are boxed, so that nodes stay
//! small.

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
    pub mod arithmetic;
    pub mod auto_broadcast;
    pub mod bitwise;
    pub mod bitwise_not;
    pub mod clamp;
    pub mod compare;
    pub mod convert;
    pub mod convert_like;
    pub mod convert_promote_types;
    pub mod domain;
    pub mod elu;
    pub mod fake_quantize;
    pub mod float_tests;
    pub mod gelu;
    pub mod known_elements;
    pub mod logical;
    pub mod logical_not;
    pub mod prelu;
    pub mod round;
    pub mod scalar_parameters;
    pub mod select;
    pub mod unary;
}

/// Many elements to one.
pub mod reduction {
    pub mod cum_sum;
    pub mod reduce;
}

/// Shapes as values, and values under other shapes.
pub mod shape {
    pub mod broadcast;
    pub mod eye;
    pub mod random_uniform;
    pub mod range;
    pub mod reshape;
    pub mod shape_of;
    pub mod squeeze;
    pub mod unsqueeze;
}

/// Elements to other places.
pub mod movement {
    pub mod bucketize;
    pub mod concat;
    pub mod einsum;
    pub mod embedding_bag;
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
    pub mod space_batch;
    pub mod tile;
    pub mod top_k;
    pub mod transpose;
}

/// The slice family: the primitive and what lowers to it.
pub mod slice {
    pub(crate) mod clamp;
    mod notation;
    mod open_axes;
    pub(crate) mod picks;
    pub mod primitive;
    pub(crate) mod range;
    mod scalar;
    pub mod slice8;
    pub mod split;
    pub mod strided_slice;
    pub mod variadic_split;

    pub use self::notation::notation;
}

/// What neural networks are made of.
pub mod nn {
    pub mod adaptive_pool;
    pub mod attention;
    pub mod batch_norm;
    pub mod convolution;
    pub mod convolution_backprop;
    pub mod depth_space;
    pub mod dft;
    pub mod grid_sample;
    pub mod grn;
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
    pub mod stft;
    pub mod window;
}

/// Boxes out of feature maps, and sequences out of scores.
pub mod detection {
    pub mod ctc_greedy_decoder;
    pub mod detection_output;
    pub mod non_max_suppression;
    pub mod prior_box;
    pub mod proposal;
    pub mod region_yolo;
    pub mod reorg_yolo;
    pub mod roi_pool;
    pub mod settings;
}

/// Networks with a memory, a step or a whole sequence at a time.
pub mod recurrent {
    pub mod cell;
    pub mod recurrent_cell;
    pub mod recurrent_sequence;
    pub mod shapes;
    pub mod unroll;
}

/// Variables, which outlive a run.
pub mod state {
    pub mod assign;
    pub mod read_value;

    /// The variable that a layer reads or assigns.
    fn variable_id(raw: &crate::RawNode) -> Result<String, crate::OpError> {
        let id = raw.attrs.text("variable_id")?.ok_or(crate::attrs::missing("variable_id"))?;
        Ok(id.to_string())
    }
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
    Arithmetic(elementwise::arithmetic::Arithmetic),
    Bitwise(elementwise::bitwise::Bitwise),
    BitwiseNot(elementwise::bitwise_not::BitwiseNot),
    Clamp(elementwise::clamp::Clamp),
    Compare(elementwise::compare::Compare),
    Convert(elementwise::convert::Convert),
    ConvertLike(elementwise::convert_like::ConvertLike),
    ConvertPromoteTypes(elementwise::convert_promote_types::ConvertPromoteTypes),
    Elu(elementwise::elu::Elu),
    FakeQuantize(elementwise::fake_quantize::FakeQuantize),
    FloatTest(elementwise::float_tests::FloatTest),
    Gelu(elementwise::gelu::Gelu),
    HardSigmoid(elementwise::scalar_parameters::HardSigmoid),
    Logical(elementwise::logical::Logical),
    LogicalNot(elementwise::logical_not::LogicalNot),
    PRelu(elementwise::prelu::PRelu),
    Round(elementwise::round::Round),
    Select(elementwise::select::Select),
    Selu(elementwise::scalar_parameters::Selu),
    Swish(elementwise::scalar_parameters::Swish),
    Unary(elementwise::unary::Unary),
    // reduction
    CumSum(reduction::cum_sum::CumSum),
    Reduce(reduction::reduce::Reduce),
    // shape
    Broadcast(shape::broadcast::Broadcast),
    Eye(shape::eye::Eye),
    RandomUniform(shape::random_uniform::RandomUniform),
    Range(shape::range::Range),
    Reshape(shape::reshape::Reshape),
    ShapeOf(shape::shape_of::ShapeOf),
    Squeeze(shape::squeeze::Squeeze),
    Unsqueeze(shape::unsqueeze::Unsqueeze),
    // movement
    Bucketize(movement::bucketize::Bucketize),
    Concat(movement::concat::Concat),
    Einsum(Box<movement::einsum::Einsum>),
    EmbeddingBag(movement::embedding_bag::EmbeddingBag),
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
    SpaceBatch(movement::space_batch::SpaceBatch),
    Tile(movement::tile::Tile),
    TopK(movement::top_k::TopK),
    Transpose(movement::transpose::Transpose),
    // slice
    Slice(Box<slice::primitive::Slice>),
    Slice8(slice::slice8::Slice8),
    Split(slice::split::Split),
    StridedSlice(slice::strided_slice::StridedSlice),
    VariadicSplit(slice::variadic_split::VariadicSplit),
    // nn
    AdaptivePool(nn::adaptive_pool::AdaptivePool),
    BatchNormInference(nn::batch_norm::BatchNormInference),
    Convolution(Box<nn::convolution::Convolution>),
    ConvolutionBackpropData(Box<nn::convolution_backprop::ConvolutionBackpropData>),
    DepthSpace(nn::depth_space::DepthSpace),
    Dft(nn::dft::Dft),
    GridSample(nn::grid_sample::GridSample),
    Grn(nn::grn::Grn),
    GroupNormalization(nn::group_normalization::GroupNormalization),
    Interpolate(Box<nn::interpolate::Interpolate>),
    Lrn(nn::lrn::Lrn),
    MatMul(nn::matmul::MatMul),
    Mvn(nn::mvn::Mvn),
    NormalizeL2(nn::normalize_l2::NormalizeL2),
    Pool(Box<nn::pool::Pool>),
    ScaledDotProductAttention(nn::attention::ScaledDotProductAttention),
    ShuffleChannels(nn::shuffle_channels::ShuffleChannels),
    Softmax(nn::softmax::Softmax),
    Stft(nn::stft::Stft),
    // detection
    CtcGreedyDecoder(detection::ctc_greedy_decoder::CtcGreedyDecoder),
    DetectionOutput(detection::detection_output::DetectionOutput),
    NonMaxSuppression(detection::non_max_suppression::NonMaxSuppression),
    PriorBox(detection::prior_box::PriorBox),
    Proposal(detection::proposal::Proposal),
    RegionYolo(detection::region_yolo::RegionYolo),
    ReorgYolo(detection::reorg_yolo::ReorgYolo),
    RoiPool(detection::roi_pool::RoiPool),
    // recurrent
    RecurrentCell(Box<recurrent::recurrent_cell::RecurrentCell>),
    RecurrentSequence(Box<recurrent::recurrent_sequence::RecurrentSequence>),
    // state
    Assign(state::assign::Assign),
    ReadValue(Box<state::read_value::ReadValue>),
    // control
    SubGraph(control::subgraph::SubGraph),
}

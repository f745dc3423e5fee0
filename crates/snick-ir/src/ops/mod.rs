//! The ops: one file each, families with a table row an op. Registering one takes two lines here: a `mod` line and
//! a line in the list of `ops!`, each with its family. Ops of more than about 100 bytes are boxed, so that nodes stay
//! small.

#[macro_use]
mod registry;
#[macro_use]
mod family;
mod names;

pub mod index_type;

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
    pub mod fake_convert;
    pub mod fake_quantize;
    pub mod float_tests;
    pub mod gelu;
    pub mod known_elements;
    pub mod known_floats;
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
    pub mod segment_max;
}

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
    pub mod bucketize;
    pub mod concat;
    pub mod einsum;
    pub mod embedding_bag;
    pub mod gather;
    pub mod gather_elements;
    pub mod gather_nd;
    pub mod gather_tree;
    pub mod identity;
    pub(crate) mod indices;
    pub mod non_zero;
    pub mod one_hot;
    pub mod pad;
    pub(crate) mod propagate_elements;
    pub mod reverse;
    pub mod reverse_sequence;
    pub mod roll;
    pub mod scatter_elements_update;
    pub mod scatter_nd_update;
    pub mod scatter_reduction;
    pub mod scatter_update;
    pub mod search_sorted;
    pub mod space_batch;
    pub mod sparse_fill_empty_rows;
    pub mod tile;
    pub mod top_k;
    pub mod transpose;
    pub mod unique;
}

/// The slice family: the primitive and what lowers to it.
pub mod slice {
    mod arithmetic;
    pub(crate) mod axis_range;
    pub mod bounds;
    pub mod crop;
    pub mod dyn_axis_slice;
    mod dynamic_axes;
    pub(crate) mod gather_to_slice;
    pub(crate) mod lowering;
    mod notation;
    pub mod primitive;
    pub mod scalar;
    pub mod slice8;
    pub mod slice_scatter;
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
    pub mod binary_convolution;
    pub mod compute_tensor;
    pub mod convolution;
    pub mod convolution_backprop;
    pub mod deformable_convolution;
    pub mod depth_space;
    pub mod grid_sample;
    pub mod grn;
    pub mod group_normalization;
    pub mod grouped_matmul;
    pub mod interpolate;
    pub mod inverse;
    pub mod lrn;
    pub mod matmul;
    pub mod mvn;
    pub mod normalize_l2;
    pub mod pool;
    pub mod scale;
    pub mod shuffle_channels;
    pub mod softmax;
    pub mod window;
}

/// Waves and their frequencies.
pub mod signal {
    pub mod dft;
    mod frames;
    pub mod istft;
    pub mod stft;
}

/// Pixels and patches.
pub mod image {
    pub mod col2im;
    mod color;
    pub mod extract_image_patches;
    pub mod rgb_to_nv12;
    pub mod yuv_to_rgb;
}

/// Boxes out of feature maps, and sequences out of scores.
pub mod detection {
    mod checks;
    mod class_rows;
    mod corners;
    pub mod ctc_greedy_decoder;
    pub mod ctc_loss;
    pub mod detection_output;
    mod detections;
    pub mod detectron_detection_output;
    pub mod generate_proposals;
    pub mod matrix_nms;
    pub mod multiclass_nms;
    pub mod nms_rotated;
    pub mod non_max_suppression;
    mod partial_sort;
    pub mod prior_box;
    pub mod prior_grid_generator;
    pub mod proposal;
    pub mod psroi_pooling;
    pub mod region_yolo;
    pub mod reorg_yolo;
    pub mod roi_align;
    pub mod roi_feature_extractor;
    pub mod roi_pooling;
    mod rotated_box;
    mod sampling;
    pub mod settings;
    mod suppression;
    pub mod top_k_rois;
}

/// Numbers drawn by chance, the same in every run.
pub mod random {
    pub mod multinomial;
    pub mod random_uniform;
}

/// Texts.
pub mod strings {
    pub mod string_tensor_pack;
    pub mod string_tensor_unpack;
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
    mod branch;
    pub mod execute;
    mod iterate;
    pub mod opaque;
    pub mod port_map;
    mod states;
    pub mod subgraph;
    mod symbol_map;
}

use snick_tensor::Tensor;
use snick_tensor::kernels::ElementFunction;

use self::control::opaque::Opaque;
pub use self::names::*;
pub use self::registry::Entry;
pub use self::registry::{find, reference};
use crate::rewrite::{Patch, RewriteResult};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits};

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
    FakeConvert(elementwise::fake_convert::FakeConvert),
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
    SegmentMax(reduction::segment_max::SegmentMax),
    // shape
    Broadcast(shape::broadcast::Broadcast),
    Eye(shape::eye::Eye),
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
    SearchSorted(movement::search_sorted::SearchSorted),
    SpaceBatch(movement::space_batch::SpaceBatch),
    SparseFillEmptyRows(movement::sparse_fill_empty_rows::SparseFillEmptyRows),
    Tile(movement::tile::Tile),
    TopK(movement::top_k::TopK),
    Transpose(movement::transpose::Transpose),
    Unique(movement::unique::Unique),
    // slice
    Bounds(slice::bounds::Bounds),
    Crop(Box<slice::crop::Crop>),
    Slice(Box<slice::primitive::Slice>),
    Slice8(slice::slice8::Slice8),
    SliceScatter(slice::slice_scatter::SliceScatter),
    Split(slice::split::Split),
    StridedSlice(slice::strided_slice::StridedSlice),
    VariadicSplit(slice::variadic_split::VariadicSplit),
    // nn
    AdaptivePool(nn::adaptive_pool::AdaptivePool),
    BatchNormInference(nn::batch_norm::BatchNormInference),
    BinaryConvolution(Box<nn::binary_convolution::BinaryConvolution>),
    Convolution(Box<nn::convolution::Convolution>),
    ConvolutionBackpropData(Box<nn::convolution_backprop::ConvolutionBackpropData>),
    DeformableConvolution(Box<nn::deformable_convolution::DeformableConvolution>),
    DepthSpace(nn::depth_space::DepthSpace),
    GridSample(nn::grid_sample::GridSample),
    Grn(nn::grn::Grn),
    GroupNormalization(nn::group_normalization::GroupNormalization),
    GroupedMatMul(nn::grouped_matmul::GroupedMatMul),
    Interpolate(Box<nn::interpolate::Interpolate>),
    Inverse(nn::inverse::Inverse),
    Lrn(nn::lrn::Lrn),
    MatMul(nn::matmul::MatMul),
    Mvn(nn::mvn::Mvn),
    NormalizeL2(nn::normalize_l2::NormalizeL2),
    Pool(Box<nn::pool::Pool>),
    ScaledDotProductAttention(nn::attention::ScaledDotProductAttention),
    ShuffleChannels(nn::shuffle_channels::ShuffleChannels),
    Softmax(nn::softmax::Softmax),
    // signal
    Dft(signal::dft::Dft),
    Istft(signal::istft::Istft),
    Stft(signal::stft::Stft),
    // image
    Col2Im(Box<image::col2im::Col2Im>),
    ExtractImagePatches(image::extract_image_patches::ExtractImagePatches),
    RgbToNv12(image::rgb_to_nv12::RgbToNv12),
    YuvToRgb(image::yuv_to_rgb::YuvToRgb),
    // detection
    CtcGreedyDecoder(detection::ctc_greedy_decoder::CtcGreedyDecoder),
    CtcLoss(detection::ctc_loss::CtcLoss),
    DetectionOutput(detection::detection_output::DetectionOutput),
    DetectronDetectionOutput(detection::detectron_detection_output::DetectronDetectionOutput),
    GenerateProposals(detection::generate_proposals::GenerateProposals),
    MatrixNms(detection::matrix_nms::MatrixNms),
    MulticlassNms(detection::multiclass_nms::MulticlassNms),
    NmsRotated(detection::nms_rotated::NmsRotated),
    NonMaxSuppression(detection::non_max_suppression::NonMaxSuppression),
    PriorBox(detection::prior_box::PriorBox),
    PriorGridGenerator(detection::prior_grid_generator::PriorGridGenerator),
    Proposal(detection::proposal::Proposal),
    PsRoiPooling(detection::psroi_pooling::PsRoiPooling),
    RegionYolo(detection::region_yolo::RegionYolo),
    ReorgYolo(detection::reorg_yolo::ReorgYolo),
    RoiAlign(detection::roi_align::RoiAlign),
    RoiFeatureExtractor(detection::roi_feature_extractor::RoiFeatureExtractor),
    RoiPooling(detection::roi_pooling::RoiPooling),
    TopKRois(detection::top_k_rois::TopKRois),
    // random
    Multinomial(random::multinomial::Multinomial),
    RandomUniform(random::random_uniform::RandomUniform),
    // strings
    StringTensorPack(strings::string_tensor_pack::StringTensorPack),
    StringTensorUnpack(strings::string_tensor_unpack::StringTensorUnpack),
    // recurrent
    RecurrentCell(Box<recurrent::recurrent_cell::RecurrentCell>),
    RecurrentSequence(Box<recurrent::recurrent_sequence::RecurrentSequence>),
    // state
    Assign(state::assign::Assign),
    ReadValue(Box<state::read_value::ReadValue>),
    // control
    SubGraph(control::subgraph::SubGraph),
}

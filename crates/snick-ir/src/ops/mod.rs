//! The ops. Each op has its own file, except that a family of ops shares a file, with one table row per op.
//! Registering an op takes two lines in this file: a `mod` line, and a line in the list of `ops!`. Ops larger
//! than about 100 bytes are boxed to keep nodes small.

#[macro_use]
mod registry;
#[macro_use]
mod family;
#[macro_use]
mod only_inferred;

mod allocation;
pub mod index_type;

/// Inputs, outputs and constants.
pub mod source {
    pub mod constant;
    pub mod parameter;
    pub mod result;
}

/// Element-wise ops.
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
    pub mod hard_sigmoid;
    pub mod known_elements;
    pub mod known_floats;
    pub mod logical;
    pub mod logical_not;
    pub mod prelu;
    pub mod round;
    mod scalar_parameters;
    pub mod select;
    pub mod selu;
    pub mod swish;
    pub mod unary;
    pub mod xor;
}

/// Reductions and cumulative sums.
pub mod reduction {
    pub mod cum_sum;
    pub mod reduce;
    pub mod segment_max;
}

/// Reshapes, broadcasts, and ops that read or build shapes.
pub mod shape {
    pub mod broadcast;
    pub mod eye;
    pub mod range;
    pub mod reshape;
    pub mod shape_of;
    pub mod squeeze;
    pub mod unsqueeze;
}

/// Ops that gather, scatter, join, sort or otherwise move elements.
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

/// Slice-like ops and the primitives that replace them.
pub mod slice {
    pub mod axis_range;
    pub mod bounds;
    pub mod crop;
    pub mod dyn_axis_slice;
    pub mod dynamic_axes;
    pub mod index_inputs;
    pub mod mask;
    mod notation;
    pub mod primitive;
    pub mod slice8;
    pub mod slice_scatter;
    pub mod split;
    pub mod strided_slice;
    pub mod variadic_split;

    pub use self::notation::notation;
}

/// Neural network layers.
pub mod nn {
    pub mod adaptive_avg_pool;
    pub mod adaptive_max_pool;
    mod adaptive_windows;
    pub mod attention;
    pub mod avg_pool;
    pub mod batch_norm;
    pub mod binary_convolution;
    pub mod blocks;
    pub mod compute_tensor;
    pub mod convolution;
    pub mod convolution_backprop;
    mod convolution_phases;
    mod convolve;
    pub mod deformable_convolution;
    mod deformable_sampling;
    pub mod depth_to_space;
    pub mod grid_sample;
    pub mod grn;
    pub mod group_convolution;
    pub mod group_convolution_backprop;
    pub mod group_normalization;
    pub mod grouped_matmul;
    pub mod interpolate;
    pub mod inverse;
    pub mod log_softmax;
    pub mod lrn;
    pub mod matmul;
    pub mod max_pool;
    pub mod mvn;
    pub mod normalize_l2;
    pub mod pool;
    pub mod scale;
    pub mod shuffle_channels;
    pub mod softmax;
    pub mod space_to_depth;
    pub mod transposed_convolution;
    mod weighted_pixels;
    pub mod window;
}

pub mod fused;

/// Fourier transforms.
pub mod signal {
    pub mod fourier;
    mod frames;
    pub mod istft;
    pub mod stft;
}

/// Colour conversion and image patches.
pub mod image {
    pub mod col2im;
    pub mod color;
    pub mod extract_image_patches;
    pub mod to_nv12;
    pub mod yuv_to_rgb;
}

pub mod detection;

/// Random number generators, deterministic across runs.
pub mod random {
    pub mod multinomial;
    pub mod random_uniform;
}

#[macro_use]
pub mod strings;

pub mod ragged;

pub mod tokens;

pub mod recurrent;

/// Variables, which keep their values between runs.
pub mod state {
    pub mod assign;
    pub mod read_value;
}

/// Ops with bodies, and opaque layers.
pub mod control {
    mod branch;
    pub mod execute;
    mod iterate;
    mod kind;
    mod no_trips;
    pub mod opaque;
    pub mod port_map;
    mod states;
    pub mod subgraph;
    mod symbol_map;
}

use snick_tensor::Tensor;

pub use self::control::opaque::Opaque;
pub use self::elementwise::arithmetic::*;
pub use self::elementwise::auto_broadcast::AutoBroadcast;
pub use self::elementwise::bitwise::*;
pub use self::elementwise::compare::*;
pub use self::elementwise::logical::*;
pub use self::elementwise::unary::*;
pub use self::image::to_nv12::*;
pub use self::image::yuv_to_rgb::*;
pub use self::reduction::reduce::*;
pub use self::registry::Entry;
pub use self::registry::{find, reference};
pub use self::signal::fourier::*;
use crate::{
    Arity, Attrs, AxisMap, Custom, EvalOp, Fact, Facts, Infer, InferOp, OpCost, OpDef, OpError, OpName,
    OpTraits,
};
pub use snick_tensor::kernels::{
    BinaryOp, BitwiseOp, CompareOp, Coordinates, ElementFunction, EpsMode, LogicalOp, Nearest, PadMode,
    ReduceOp, Stage, UnaryOp, Window,
};

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
    Gelu(elementwise::gelu::Gelu),
    HardSigmoid(elementwise::hard_sigmoid::HardSigmoid),
    IsFinite(elementwise::float_tests::IsFinite),
    IsInf(elementwise::float_tests::IsInf),
    IsNaN(elementwise::float_tests::IsNaN),
    Logical(elementwise::logical::Logical),
    LogicalNot(elementwise::logical_not::LogicalNot),
    PRelu(elementwise::prelu::PRelu),
    Round(elementwise::round::Round),
    Select(elementwise::select::Select),
    Selu(elementwise::selu::Selu),
    Swish(elementwise::swish::Swish),
    Unary(elementwise::unary::Unary),
    Xor(elementwise::xor::Xor),
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
    Einsum(movement::einsum::Einsum; boxed),
    EmbeddingBagOffsets(movement::embedding_bag::EmbeddingBagOffsets),
    EmbeddingBagOffsetsSum(movement::embedding_bag::EmbeddingBagOffsetsSum),
    EmbeddingBagPacked(movement::embedding_bag::EmbeddingBagPacked),
    EmbeddingBagPackedSum(movement::embedding_bag::EmbeddingBagPackedSum),
    EmbeddingSegmentsSum(movement::embedding_bag::EmbeddingSegmentsSum),
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
    SpaceToBatch(movement::space_batch::SpaceToBatch),
    BatchToSpace(movement::space_batch::BatchToSpace),
    SparseFillEmptyRows(movement::sparse_fill_empty_rows::SparseFillEmptyRows),
    Tile(movement::tile::Tile),
    TopK(movement::top_k::TopK),
    Transpose(movement::transpose::Transpose),
    Unique(movement::unique::Unique),
    // slice
    Bounds(slice::bounds::Bounds),
    Crop(slice::crop::Crop; boxed),
    Slice(slice::primitive::Slice; boxed),
    Slice8(slice::slice8::Slice8),
    SliceScatter(slice::slice_scatter::SliceScatter),
    Split(slice::split::Split),
    StridedSlice(slice::strided_slice::StridedSlice),
    VariadicSplit(slice::variadic_split::VariadicSplit),
    // nn
    AdaptiveAvgPool(nn::adaptive_avg_pool::AdaptiveAvgPool),
    AdaptiveMaxPool(nn::adaptive_max_pool::AdaptiveMaxPool),
    AvgPool(nn::avg_pool::AvgPool; boxed),
    BatchNormInference(nn::batch_norm::BatchNormInference),
    BinaryConvolution(nn::binary_convolution::BinaryConvolution; boxed),
    Convolution(nn::convolution::Convolution; boxed),
    ConvolutionBackpropData(nn::convolution_backprop::ConvolutionBackpropData; boxed),
    DeformableConvolution(nn::deformable_convolution::DeformableConvolution; boxed),
    DepthToSpace(nn::depth_to_space::DepthToSpace),
    GridSample(nn::grid_sample::GridSample),
    Grn(nn::grn::Grn),
    GroupConvolution(nn::group_convolution::GroupConvolution; boxed),
    GroupConvolutionBackpropData(nn::group_convolution_backprop::GroupConvolutionBackpropData; boxed),
    GroupNormalization(nn::group_normalization::GroupNormalization),
    GroupedMatMul(nn::grouped_matmul::GroupedMatMul),
    Interpolate(nn::interpolate::Interpolate; boxed),
    Inverse(nn::inverse::Inverse),
    LogSoftmax(nn::log_softmax::LogSoftmax),
    Lrn(nn::lrn::Lrn),
    MatMul(nn::matmul::MatMul),
    MaxPool(nn::max_pool::MaxPool; boxed),
    Mvn(nn::mvn::Mvn),
    NormalizeL2(nn::normalize_l2::NormalizeL2),
    ScaledDotProductAttention(nn::attention::ScaledDotProductAttention),
    ShuffleChannels(nn::shuffle_channels::ShuffleChannels),
    Softmax(nn::softmax::Softmax),
    SpaceToDepth(nn::space_to_depth::SpaceToDepth),
    // fused
    DynamicQuantize(fused::dynamic_quantize::DynamicQuantize; boxed),
    FullyConnected(fused::fully_connected::FullyConnected),
    FullyConnectedCompressed(fused::fully_connected::FullyConnectedCompressed),
    FullyConnectedQuantized(fused::fully_connected::FullyConnectedQuantized),
    FullyConnectedQuantizedLegacy(fused::fully_connected::FullyConnectedQuantizedLegacy),
    GatedDeltaNet(fused::gated_delta_net::GatedDeltaNet),
    GatherCompressed(fused::gather_compressed::GatherCompressed),
    GatherMatmul(fused::gather_matmul::GatherMatmul),
    GatherMatmulCompressed(fused::gather_matmul::GatherMatmulCompressed),
    Glu(fused::glu::Glu),
    GroupQueryAttention(fused::group_query_attention::GroupQueryAttention; boxed),
    GroupedMatMulCompressed(fused::grouped_matmul_compressed::GroupedMatMulCompressed),
    Moe(fused::moe::Moe),
    MoeCompressed(fused::moe::MoeCompressed; boxed),
    Msda(fused::msda::Msda),
    PaKvReorder(fused::pa_kv_reorder::PaKvReorder),
    PagedAttention(fused::paged_attention::PagedAttention),
    PagedCausalConv1D(fused::paged_causal_conv1d::PagedCausalConv1D),
    PagedGatedDeltaNet(fused::gated_delta_net::PagedGatedDeltaNet),
    PagedSelectiveSsm(fused::selective_ssm::PagedSelectiveSsm),
    Rms(fused::rms::Rms),
    RmsNorm(fused::rms_norm::RmsNorm),
    Rope(fused::rope::Rope; boxed),
    SelectiveSsm(fused::selective_ssm::SelectiveSsm),
    VlSdpa(fused::vl_sdpa::VlSdpa; boxed),
    // signal
    FourierTransform(signal::fourier::FourierTransform),
    Istft(signal::istft::Istft),
    Stft(signal::stft::Stft),
    // image
    Col2Im(image::col2im::Col2Im; boxed),
    ExtractImagePatches(image::extract_image_patches::ExtractImagePatches; boxed),
    ToNv12(image::to_nv12::ToNv12),
    YuvToRgb(image::yuv_to_rgb::YuvToRgb),
    // detection
    CtcGreedyDecoder(detection::ctc_greedy_decoder::CtcGreedyDecoder),
    CtcGreedyDecoderSeqLen(detection::ctc_greedy_decoder_seq_len::CtcGreedyDecoderSeqLen),
    CtcLoss(detection::ctc_loss::CtcLoss),
    DeformablePsRoiPooling(detection::deformable_psroi_pooling::DeformablePsRoiPooling),
    DetectionOutput(detection::detection_output::DetectionOutput; boxed),
    DetectronDetectionOutput(detection::detectron_detection_output::DetectronDetectionOutput),
    GenerateProposals(detection::generate_proposals::GenerateProposals),
    GenerateProposalsInternal(detection::generate_proposals_internal::GenerateProposalsInternal),
    GenerateProposalsSingleImage(detection::generate_proposals_single_image::GenerateProposalsSingleImage),
    MatrixNms(detection::matrix_nms::MatrixNms),
    MulticlassNms(detection::multiclass_nms::MulticlassNms),
    MulticlassNmsInternal(detection::multiclass_nms_internal::MulticlassNmsInternal),
    NmsRotated(detection::nms_rotated::NmsRotated),
    NonMaxSuppression(detection::non_max_suppression::NonMaxSuppression),
    NonMaxSuppressionInternal(detection::non_max_suppression_internal::NonMaxSuppressionInternal),
    PriorBox(detection::prior_box::PriorBox; boxed),
    PriorBoxClustered(detection::prior_box_clustered::PriorBoxClustered; boxed),
    PriorGridGenerator(detection::prior_grid_generator::PriorGridGenerator),
    Proposal(detection::proposal::Proposal; boxed),
    PsRoiPooling(detection::psroi_pooling::PsRoiPooling),
    RegionYolo(detection::region_yolo::RegionYolo; boxed),
    ReorgYolo(detection::reorg_yolo::ReorgYolo),
    RoiAlign(detection::roi_align::RoiAlign),
    RoiAlignRotated(detection::roi_align_rotated::RoiAlignRotated),
    RoiFeatureExtractor(detection::roi_feature_extractor::RoiFeatureExtractor),
    RoiPooling(detection::roi_pooling::RoiPooling; boxed),
    TopKRois(detection::top_k_rois::TopKRois),
    // random
    Multinomial(random::multinomial::Multinomial),
    RandomUniform(random::random_uniform::RandomUniform),
    // strings
    ByteFallback(strings::byte_fallback::ByteFallback),
    BytesToChars(strings::bytes_to_chars::BytesToChars),
    CaseFold(strings::case_fold::CaseFold),
    CharsMapNormalization(strings::chars_map_normalization::CharsMapNormalization),
    CharsToBytes(strings::chars_to_bytes::CharsToBytes),
    EqualStr(strings::equal_str::EqualStr),
    NormalizeUnicode(strings::normalize_unicode::NormalizeUnicode),
    RegexNormalization(strings::regex_normalization::RegexNormalization),
    RegexSplit(strings::regex_split::RegexSplit),
    SpecialTokensSplit(strings::special_tokens_split::SpecialTokensSplit),
    StringTensorPack(strings::string_tensor_pack::StringTensorPack),
    StringTensorUnpack(strings::string_tensor_unpack::StringTensorUnpack),
    Utf8Validate(strings::utf8_validate::Utf8Validate),
    // ragged
    CombineSegments(ragged::combine_segments::CombineSegments),
    FuzeRagged(ragged::fuze_ragged::FuzeRagged),
    RaggedToDense(ragged::ragged_to_dense::RaggedToDense),
    RaggedToRagged(ragged::ragged_to_ragged::RaggedToRagged),
    RaggedToSparse(ragged::ragged_to_sparse::RaggedToSparse),
    Truncate(ragged::truncate::Truncate),
    // tokens
    BpeTokenizer(tokens::bpe_tokenizer::BpeTokenizer; boxed),
    SentencepieceDetokenizer(tokens::sentencepiece_detokenizer::SentencepieceDetokenizer),
    SentencepieceStreamDetokenizer(tokens::sentencepiece_stream_detokenizer::SentencepieceStreamDetokenizer),
    SentencepieceTokenizer(tokens::sentencepiece_tokenizer::SentencepieceTokenizer),
    TrieTokenizer(tokens::trie_tokenizer::TrieTokenizer),
    UnigramTokenizer(tokens::unigram_tokenizer::UnigramTokenizer),
    VocabDecoder(tokens::vocab_decoder::VocabDecoder),
    VocabEncoder(tokens::vocab_encoder::VocabEncoder),
    WordpieceTokenizer(tokens::wordpiece_tokenizer::WordpieceTokenizer),
    // recurrent
    AugruCell(recurrent::augru_cell::AugruCell; boxed),
    AugruSequence(recurrent::augru_sequence::AugruSequence; boxed),
    GruCell(recurrent::gru_cell::GruCell; boxed),
    GruSequence(recurrent::gru_sequence::GruSequence; boxed),
    LstmCell(recurrent::lstm_cell::LstmCell; boxed),
    LstmSequence(recurrent::lstm_sequence::LstmSequence; boxed),
    RnnCell(recurrent::rnn_cell::RnnCell; boxed),
    RnnSequence(recurrent::rnn_sequence::RnnSequence; boxed),
    // state
    Assign(state::assign::Assign),
    ReadValue(state::read_value::ReadValue; boxed),
    // control
    SubGraph(control::subgraph::SubGraph),
}

//! Every op under its own name, wherever its file lies: `ops::Add`, `ops::MatMul`.

pub use super::control::opaque::Opaque;
pub use super::control::subgraph::SubGraph;
pub use super::detection::aligned_regions::AlignedRegions;
pub use super::detection::anchor_proposals::ProposalLimits;
pub use super::detection::class_nms::{ClassNms, SortBy};
pub use super::detection::ctc_greedy_decoder::CtcGreedyDecoder;
pub use super::detection::ctc_greedy_decoder_seq_len::CtcGreedyDecoderSeqLen;
pub use super::detection::ctc_loss::CtcLoss;
pub use super::detection::deformable_psroi_pooling::DeformablePsRoiPooling;
pub use super::detection::detection_output::DetectionOutput;
pub use super::detection::detectron_detection_output::DetectronDetectionOutput;
pub use super::detection::generate_proposals::GenerateProposals;
pub use super::detection::generate_proposals_single_image::GenerateProposalsSingleImage;
pub use super::detection::matrix_nms::MatrixNms;
pub use super::detection::multiclass_nms::MulticlassNms;
pub use super::detection::nms_rotated::NmsRotated;
pub use super::detection::non_max_suppression::NonMaxSuppression;
pub use super::detection::prior_box::PriorBox;
pub use super::detection::prior_box_clustered::PriorBoxClustered;
pub use super::detection::prior_grid_generator::PriorGridGenerator;
pub use super::detection::proposal::Proposal;
pub use super::detection::psroi_pooling::PsRoiPooling;
pub use super::detection::region_yolo::RegionYolo;
pub use super::detection::reorg_yolo::ReorgYolo;
pub use super::detection::roi_align::RoiAlign;
pub use super::detection::roi_align_rotated::RoiAlignRotated;
pub use super::detection::roi_feature_extractor::RoiFeatureExtractor;
pub use super::detection::roi_pooling::RoiPooling;
pub use super::detection::select_detections::{BoxCode, DetectionAttrs};
pub use super::detection::top_k_rois::TopKRois;
pub use super::elementwise::arithmetic::{
    Add, Arithmetic, Divide, FloorMod, Maximum, Minimum, Mod, Multiply, Power, SquaredDifference, Subtract,
    TruncatedDivide,
};
pub use super::elementwise::auto_broadcast::AutoBroadcast;
pub use super::elementwise::bitwise::{
    Bitwise, BitwiseAnd, BitwiseLeftShift, BitwiseOr, BitwiseRightShift, BitwiseXor,
};
pub use super::elementwise::bitwise_not::BitwiseNot;
pub use super::elementwise::clamp::Clamp;
pub use super::elementwise::compare::{Compare, Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
pub use super::elementwise::convert::Convert;
pub use super::elementwise::convert_like::ConvertLike;
pub use super::elementwise::convert_promote_types::ConvertPromoteTypes;
pub use super::elementwise::elu::Elu;
pub use super::elementwise::fake_convert::FakeConvert;
pub use super::elementwise::fake_quantize::FakeQuantize;
pub use super::elementwise::float_tests::{IsFinite, IsInf, IsNaN};
pub use super::elementwise::gelu::Gelu;
pub use super::elementwise::hard_sigmoid::HardSigmoid;
pub use super::elementwise::logical::{Logical, LogicalAnd, LogicalOr, LogicalXor};
pub use super::elementwise::logical_not::LogicalNot;
pub use super::elementwise::prelu::PRelu;
pub use super::elementwise::round::Round;
pub use super::elementwise::select::Select;
pub use super::elementwise::selu::Selu;
pub use super::elementwise::swish::Swish;
pub use super::elementwise::unary::{
    Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, Ceiling, Cos, Cosh, Erf, ErfInv, Exp, Floor, HSigmoid,
    HSwish, Log, Mish, Negative, Relu, Sigmoid, Sign, Sin, Sinh, SoftPlus, SoftSign, Sqrt, Tan, Tanh, Unary,
};
pub use super::elementwise::xor::Xor;
pub use super::image::col2im::Col2Im;
pub use super::image::color::ChannelOrder;
pub use super::image::extract_image_patches::ExtractImagePatches;
pub use super::image::to_nv12::{BgrToNv12, RgbToNv12, ToNv12};
pub use super::image::yuv_to_rgb::{I420ToBgr, I420ToRgb, Nv12ToBgr, Nv12ToRgb, YuvToRgb};
pub use super::movement::bucketize::Bucketize;
pub use super::movement::concat::Concat;
pub use super::movement::einsum::Einsum;
pub use super::movement::embedding_bag::{
    EmbeddingBagOffsets, EmbeddingBagOffsetsSum, EmbeddingBagPacked, EmbeddingBagPackedSum,
    EmbeddingSegmentsSum,
};
pub use super::movement::gather::Gather;
pub use super::movement::gather_elements::GatherElements;
pub use super::movement::gather_nd::GatherNd;
pub use super::movement::gather_tree::GatherTree;
pub use super::movement::identity::Identity;
pub use super::movement::non_zero::NonZero;
pub use super::movement::one_hot::OneHot;
pub use super::movement::pad::Pad;
pub use super::movement::reverse::Reverse;
pub use super::movement::reverse_sequence::ReverseSequence;
pub use super::movement::roll::Roll;
pub use super::movement::scatter_elements_update::ScatterElementsUpdate;
pub use super::movement::scatter_nd_update::ScatterNdUpdate;
pub use super::movement::scatter_update::ScatterUpdate;
pub use super::movement::search_sorted::SearchSorted;
pub use super::movement::space_batch::{BatchToSpace, SpaceToBatch};
pub use super::movement::sparse_fill_empty_rows::SparseFillEmptyRows;
pub use super::movement::tile::Tile;
pub use super::movement::top_k::TopK;
pub use super::movement::transpose::Transpose;
pub use super::movement::unique::Unique;
pub use super::nn::adaptive_avg_pool::AdaptiveAvgPool;
pub use super::nn::adaptive_max_pool::AdaptiveMaxPool;
pub use super::nn::attention::ScaledDotProductAttention;
pub use super::nn::avg_pool::AvgPool;
pub use super::nn::batch_norm::BatchNormInference;
pub use super::nn::binary_convolution::BinaryConvolution;
pub use super::nn::convolution::Convolution;
pub use super::nn::convolution_backprop::ConvolutionBackpropData;
pub use super::nn::deformable_convolution::DeformableConvolution;
pub use super::nn::depth_to_space::DepthToSpace;
pub use super::nn::grid_sample::GridSample;
pub use super::nn::grn::Grn;
pub use super::nn::group_convolution::GroupConvolution;
pub use super::nn::group_convolution_backprop::GroupConvolutionBackpropData;
pub use super::nn::group_normalization::GroupNormalization;
pub use super::nn::grouped_matmul::GroupedMatMul;
pub use super::nn::interpolate::Interpolate;
pub use super::nn::inverse::Inverse;
pub use super::nn::log_softmax::LogSoftmax;
pub use super::nn::lrn::Lrn;
pub use super::nn::matmul::MatMul;
pub use super::nn::max_pool::MaxPool;
pub use super::nn::mvn::Mvn;
pub use super::nn::normalize_l2::NormalizeL2;
pub use super::nn::shuffle_channels::ShuffleChannels;
pub use super::nn::softmax::Softmax;
pub use super::nn::space_to_depth::SpaceToDepth;
pub use super::random::multinomial::Multinomial;
pub use super::random::random_uniform::RandomUniform;
pub use super::recurrent::gru_cell::GruCell;
pub use super::recurrent::gru_sequence::GruSequence;
pub use super::recurrent::lstm_cell::LstmCell;
pub use super::recurrent::lstm_sequence::LstmSequence;
pub use super::recurrent::rnn_cell::RnnCell;
pub use super::recurrent::rnn_sequence::RnnSequence;
pub use super::reduction::cum_sum::CumSum;
pub use super::reduction::reduce::{
    Reduce, ReduceL1, ReduceL2, ReduceLogicalAnd, ReduceLogicalOr, ReduceMax, ReduceMean, ReduceMin,
    ReduceProd, ReduceSum,
};
pub use super::reduction::segment_max::SegmentMax;
pub use super::shape::broadcast::Broadcast;
pub use super::shape::eye::Eye;
pub use super::shape::range::Range;
pub use super::shape::reshape::Reshape;
pub use super::shape::shape_of::ShapeOf;
pub use super::shape::squeeze::Squeeze;
pub use super::shape::unsqueeze::Unsqueeze;
pub use super::signal::fourier::{Dft, FourierTransform, Idft, Irdft, Rdft};
pub use super::signal::istft::Istft;
pub use super::signal::stft::Stft;
pub use super::slice::bounds::Bounds;
pub use super::slice::crop::Crop;
pub use super::slice::primitive::Slice;
pub use super::slice::slice_scatter::SliceScatter;
pub use super::slice::slice8::Slice8;
pub use super::slice::split::Split;
pub use super::slice::strided_slice::StridedSlice;
pub use super::slice::variadic_split::VariadicSplit;
pub use super::source::constant::Constant;
pub use super::source::parameter::Parameter;
pub use super::source::result::GraphResult;
pub use super::state::assign::Assign;
pub use super::state::read_value::ReadValue;
pub use super::strings::string_tensor_pack::StringTensorPack;
pub use super::strings::string_tensor_unpack::StringTensorUnpack;

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

/// The slice family: the primitive, and ops that become it.
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

/// What neural networks are made of.
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
    pub mod window;
}

/// Waves and their frequencies.
pub mod signal {
    pub mod fourier;
    mod frames;
    pub mod istft;
    pub mod stft;
}

/// Pixels and patches.
pub mod image {
    pub mod col2im;
    pub(super) mod color;
    pub mod extract_image_patches;
    pub mod to_nv12;
    pub mod yuv_to_rgb;
}

/// Boxes out of feature maps, and sequences out of scores.
pub mod detection {
    pub(super) mod aligned_regions;
    pub(super) mod anchor_proposals;
    mod checks;
    pub(super) mod class_nms;
    mod corners;
    mod ctc_decoding;
    pub mod ctc_greedy_decoder;
    pub mod ctc_greedy_decoder_seq_len;
    pub mod ctc_loss;
    pub mod deformable_psroi_pooling;
    pub mod detection_output;
    pub mod detectron_detection_output;
    pub mod generate_proposals;
    pub mod generate_proposals_single_image;
    pub mod matrix_nms;
    pub mod multiclass_nms;
    pub mod nms_rotated;
    mod nms_selection;
    pub mod non_max_suppression;
    mod partial_sort;
    mod position_sensitive;
    pub mod prior_box;
    pub mod prior_box_clustered;
    mod prior_grid;
    pub mod prior_grid_generator;
    pub mod proposal;
    pub mod psroi_pooling;
    pub mod region_yolo;
    pub mod reorg_yolo;
    pub mod roi_align;
    pub mod roi_align_rotated;
    pub mod roi_feature_extractor;
    pub mod roi_pooling;
    mod rotated_box;
    mod sampling;
    pub(super) mod select_detections;
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
    pub mod activation;
    pub mod cell;
    pub mod gru_cell;
    pub mod gru_sequence;
    pub mod lstm_cell;
    pub mod lstm_sequence;
    pub mod rnn_cell;
    pub mod rnn_sequence;
    pub mod sequence;
    mod shapes;
    mod step;
    mod unroll;
}

/// Variables, which outlive a run.
pub mod state {
    pub mod assign;
    pub mod read_value;
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

pub use self::names::*;
pub use self::registry::Entry;
pub use self::registry::{find, reference};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits};

ops! {
    // source
    Const(Constant),
    Parameter(Parameter),
    Result(GraphResult),
    // elementwise
    Arithmetic(Arithmetic),
    Bitwise(Bitwise),
    BitwiseNot(BitwiseNot),
    Clamp(Clamp),
    Compare(Compare),
    Convert(Convert),
    ConvertLike(ConvertLike),
    ConvertPromoteTypes(ConvertPromoteTypes),
    Elu(Elu),
    FakeConvert(FakeConvert),
    FakeQuantize(FakeQuantize),
    Gelu(Gelu),
    HardSigmoid(HardSigmoid),
    IsFinite(IsFinite),
    IsInf(IsInf),
    IsNaN(IsNaN),
    Logical(Logical),
    LogicalNot(LogicalNot),
    PRelu(PRelu),
    Round(Round),
    Select(Select),
    Selu(Selu),
    Swish(Swish),
    Unary(Unary),
    Xor(Xor),
    // reduction
    CumSum(CumSum),
    Reduce(Reduce),
    SegmentMax(SegmentMax),
    // shape
    Broadcast(Broadcast),
    Eye(Eye),
    Range(Range),
    Reshape(Reshape),
    ShapeOf(ShapeOf),
    Squeeze(Squeeze),
    Unsqueeze(Unsqueeze),
    // movement
    Bucketize(Bucketize),
    Concat(Concat),
    Einsum(Box<Einsum>),
    EmbeddingBagOffsets(EmbeddingBagOffsets),
    EmbeddingBagOffsetsSum(EmbeddingBagOffsetsSum),
    EmbeddingBagPacked(EmbeddingBagPacked),
    EmbeddingBagPackedSum(EmbeddingBagPackedSum),
    EmbeddingSegmentsSum(EmbeddingSegmentsSum),
    Gather(Gather),
    GatherElements(GatherElements),
    GatherNd(GatherNd),
    GatherTree(GatherTree),
    Identity(Identity),
    NonZero(NonZero),
    OneHot(OneHot),
    Pad(Pad),
    Reverse(Reverse),
    ReverseSequence(ReverseSequence),
    Roll(Roll),
    ScatterElementsUpdate(ScatterElementsUpdate),
    ScatterNdUpdate(ScatterNdUpdate),
    ScatterUpdate(ScatterUpdate),
    SearchSorted(SearchSorted),
    SpaceToBatch(SpaceToBatch),
    BatchToSpace(BatchToSpace),
    SparseFillEmptyRows(SparseFillEmptyRows),
    Tile(Tile),
    TopK(TopK),
    Transpose(Transpose),
    Unique(Unique),
    // slice
    Bounds(Bounds),
    Crop(Box<Crop>),
    Slice(Box<Slice>),
    Slice8(Slice8),
    SliceScatter(SliceScatter),
    Split(Split),
    StridedSlice(StridedSlice),
    VariadicSplit(VariadicSplit),
    // nn
    AdaptiveAvgPool(AdaptiveAvgPool),
    AdaptiveMaxPool(AdaptiveMaxPool),
    AvgPool(Box<AvgPool>),
    BatchNormInference(BatchNormInference),
    BinaryConvolution(Box<BinaryConvolution>),
    Convolution(Box<Convolution>),
    ConvolutionBackpropData(Box<ConvolutionBackpropData>),
    DeformableConvolution(Box<DeformableConvolution>),
    DepthToSpace(DepthToSpace),
    GridSample(GridSample),
    Grn(Grn),
    GroupConvolution(Box<GroupConvolution>),
    GroupConvolutionBackpropData(Box<GroupConvolutionBackpropData>),
    GroupNormalization(GroupNormalization),
    GroupedMatMul(GroupedMatMul),
    Interpolate(Box<Interpolate>),
    Inverse(Inverse),
    LogSoftmax(LogSoftmax),
    Lrn(Lrn),
    MatMul(MatMul),
    MaxPool(Box<MaxPool>),
    Mvn(Mvn),
    NormalizeL2(NormalizeL2),
    ScaledDotProductAttention(ScaledDotProductAttention),
    ShuffleChannels(ShuffleChannels),
    Softmax(Softmax),
    SpaceToDepth(SpaceToDepth),
    // signal
    FourierTransform(FourierTransform),
    Istft(Istft),
    Stft(Stft),
    // image
    Col2Im(Box<Col2Im>),
    ExtractImagePatches(Box<ExtractImagePatches>),
    ToNv12(ToNv12),
    YuvToRgb(YuvToRgb),
    // detection
    CtcGreedyDecoder(CtcGreedyDecoder),
    CtcGreedyDecoderSeqLen(CtcGreedyDecoderSeqLen),
    CtcLoss(CtcLoss),
    DeformablePsRoiPooling(DeformablePsRoiPooling),
    DetectionOutput(Box<DetectionOutput>),
    DetectronDetectionOutput(DetectronDetectionOutput),
    GenerateProposals(GenerateProposals),
    GenerateProposalsSingleImage(GenerateProposalsSingleImage),
    MatrixNms(MatrixNms),
    MulticlassNms(MulticlassNms),
    NmsRotated(NmsRotated),
    NonMaxSuppression(NonMaxSuppression),
    PriorBox(Box<PriorBox>),
    PriorBoxClustered(Box<PriorBoxClustered>),
    PriorGridGenerator(PriorGridGenerator),
    Proposal(Box<Proposal>),
    PsRoiPooling(PsRoiPooling),
    RegionYolo(Box<RegionYolo>),
    ReorgYolo(ReorgYolo),
    RoiAlign(RoiAlign),
    RoiAlignRotated(RoiAlignRotated),
    RoiFeatureExtractor(RoiFeatureExtractor),
    RoiPooling(Box<RoiPooling>),
    TopKRois(TopKRois),
    // random
    Multinomial(Multinomial),
    RandomUniform(RandomUniform),
    // strings
    StringTensorPack(StringTensorPack),
    StringTensorUnpack(StringTensorUnpack),
    // recurrent
    GruCell(Box<GruCell>),
    GruSequence(Box<GruSequence>),
    LstmCell(Box<LstmCell>),
    LstmSequence(Box<LstmSequence>),
    RnnCell(Box<RnnCell>),
    RnnSequence(Box<RnnSequence>),
    // state
    Assign(Assign),
    ReadValue(Box<ReadValue>),
    // control
    SubGraph(SubGraph),
}

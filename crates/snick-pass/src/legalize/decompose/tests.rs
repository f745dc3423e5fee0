//! Tests that every decomposition matches and has the same result as the layer.

use crate::testing::{fires, silent};

/// A graph with inputs `%x`, `%y`, .. of these types and shapes, whose layers define the result `%out`.
pub(super) fn graph(inputs: &[(&str, &str)], layers: &str) -> String {
    let inputs = "xyzuvw".chars().zip(inputs).map(|(name, (element_type, shape))| {
        format!("%{name} = Parameter-1 {{element_type: {element_type}, shape: \"{shape}\"}}\n")
    });
    format!("{}{layers}\n%r = Result-1(%out)", inputs.collect::<String>())
}

pub(super) fn decomposes(rule: &str, inputs: &[(&str, &str)], layers: &str) -> String {
    fires(rule, &graph(inputs, layers))
}

const IMAGE: &[(&str, &str)] = &[("f32", "1..2,4,2..5,3")];

#[test]
fn activations() {
    let x = &[("f32", "1..2,3")];
    for (rule, layers) in [
        ("decompose-gelu", "%out = Gelu-7(%x) {approximation_mode: ERF}"),
        ("decompose-gelu", "%out = Gelu-7(%x) {approximation_mode: TANH}"),
        ("decompose-activation", "%out = HSigmoid-5(%x)"),
        ("decompose-activation", "%out = HSwish-4(%x)"),
        ("decompose-activation", "%out = Mish-4(%x)"),
        ("decompose-activation", "%out = ReLU-1(%x)"),
        ("decompose-activation", "%out = SoftSign-9(%x)"),
        (
            "decompose-hard-sigmoid",
            "%a = Const-1 f32[] <0.3>\n%b = Const-1 f32[] <0.0>\n%out = HardSigmoid-1(%x, %a, %b)",
        ),
        ("decompose-selu", "%a = Const-1 f32[1] <0.0>\n%b = Const-1 f32[1] <1.5>\n%out = Selu-1(%x, %a, %b)"),
        ("decompose-swish", "%out = Swish-4(%x)"),
        ("decompose-swish", "%b = Const-1 f32[] <0.7>\n%out = Swish-4(%x, %b)"),
        ("decompose-softmax", "%out = SoftMax-8(%x) {axis: -1}"),
        ("decompose-softmax", "%out = LogSoftmax-5(%x) {axis: 0}"),
    ] {
        decomposes(rule, x, layers);
    }
    decomposes("decompose-activation", &[("i32", "4")], "%out = ReLU-1(%x)");
    let slopes = "%s = Const-1 f32[4] <0.1, -0.5, 0.0, 2.0>\n%out = PReLU-1(%x, %s)";
    decomposes("decompose-prelu", IMAGE, slopes);
}

#[test]
fn functions_of_integers_round_to_even() {
    let text = decomposes("float-function-of-integers", &[("i32", "5")], "%out = Exp-1(%x)");
    assert!(text.contains("Exp-1") && text.contains("Round-5"), "{text}");
    decomposes("float-function-of-integers", &[("u8", "5")], "%out = Sin-1(%x)");
    silent("float-function-of-integers", &graph(&[("i32", "5")], "%out = Abs-1(%x)"));
}

#[test]
fn arithmetic() {
    let broadcast = "{auto_broadcast: numpy}";
    for (rule, op, element_type) in [
        ("decompose-extreme", "Maximum-1", "i64"),
        ("decompose-extreme", "Minimum-1", "u8"),
        ("decompose-floor-divide", "Divide-1", "i32"),
        ("decompose-floor-mod", "FloorMod-1", "i32"),
        ("decompose-floor-mod", "FloorMod-1", "f32"),
        ("decompose-squared-difference", "SquaredDifference-1", "f32"),
    ] {
        decomposes(
            rule,
            &[(element_type, "1..2,3"), (element_type, "3")],
            &format!("%out = {op}(%x, %y) {broadcast}"),
        );
    }
    silent(
        "decompose-floor-divide",
        &graph(&[("f32", "3")], "%out = Divide-1(%x, %x) {auto_broadcast: numpy}"),
    );
    silent("decompose-extreme", &graph(&[("f32", "3")], "%out = Maximum-1(%x, %x) {auto_broadcast: numpy}"));
    for (element_type, min, max, bounds) in [
        ("i32", "-1.5", "2.5", 2),
        ("u8", "3.0", "300.0", 1),
        ("i8", "-200.0", "200.0", 0),
        ("u8", "300.0", "301.0", 1),
    ] {
        let clamp = format!("%out = Clamp-1(%x) {{min: {min}, max: {max}}}");
        let text = decomposes("decompose-clamp", &[(element_type, "5")], &clamp);
        assert_eq!(text.matches("imum-1(").count(), bounds, "{text}");
    }
    decomposes("decompose-is-finite", &[("f32", "4")], "%out = IsFinite-10(%x)");
    decomposes("decompose-round", &[("f32", "4")], "%out = Round-5(%x) {mode: half_away_from_zero}");
    decomposes(
        "decompose-norm",
        &[("f32", "1..2,4")],
        "%a = Const-1 i64[1] <-1>\n%out = ReduceL2-4(%x, %a) {keep_dims: true}",
    );
    decomposes(
        "decompose-norm",
        &[("f32", "1..2,4")],
        "%a = Const-1 i64[1] <0>\n%out = ReduceL1-4(%x, %a) {keep_dims: false}",
    );
    decomposes("decompose-convert-like", &[("f32", "4"), ("i32", "2")], "%out = ConvertLike-1(%x, %y)");
    let promoted = "%out = ConvertPromoteTypes-14(%x, %y) {promote_unsafe: true, pytorch_scalar_promotion: false, u64_integer_promotion_target: f32}\n%s = Result-1(%out:1)";
    decomposes("decompose-convert-promote-types", &[("f32", "4"), ("i32", "2")], promoted);
}

#[test]
fn pdpd_broadcasts() {
    let text = decomposes(
        "pdpd-to-numpy",
        &[("f32", "1..2,3,2"), ("f32", "3")],
        "%out = Add-1(%x, %y) {auto_broadcast: pdpd, \"auto_broadcast.auto_broadcast_axis\": 1}",
    );
    assert!(text.contains("Unsqueeze"), "{text}");
}

#[test]
fn normalizations() {
    for (rule, layers) in [
        ("decompose-grn", "%out = GRN-1(%x) {bias: 0.5}"),
        (
            "decompose-lrn",
            "%a = Const-1 i64[1] <1>\n%out = LRN-1(%x, %a) {alpha: 0.1, beta: 0.75, bias: 2.0, size: 5}",
        ),
        (
            "decompose-lrn",
            "%a = Const-1 i64[1] <0>\n%out = LRN-1(%x, %a) {alpha: 0.1, beta: 0.75, bias: 2.0, size: 5}",
        ),
        (
            "decompose-lrn",
            "%a = Const-1 i64[0] <>\n%out = LRN-1(%x, %a) {alpha: 0.1, beta: 0.75, bias: 2.0, size: 5}",
        ),
        (
            "decompose-lrn",
            "%a = Const-1 i64[2] <-1, 2>\n%out = LRN-1(%x, %a) {alpha: 0.1, beta: 0.5, bias: 1.0, size: 4}",
        ),
        (
            "decompose-mvn",
            "%out = MVN-2(%x) {eps: 0.001, across_channels: true, normalize_variance: true, reduction_axes: []}",
        ),
        (
            "decompose-mvn",
            "%a = Const-1 i64[2] <-1, 1>\n%out = MVN-6(%x, %a) {eps: 0.001, normalize_variance: true, eps_mode: OUTSIDE_SQRT}",
        ),
        (
            "decompose-mvn",
            "%a = Const-1 i64[1] <2>\n%out = MVN-6(%x, %a) {eps: 0.001, normalize_variance: false, eps_mode: INSIDE_SQRT}",
        ),
        (
            "decompose-normalize-l2",
            "%a = Const-1 i64[1] <1>\n%out = NormalizeL2-1(%x, %a) {eps: 0.5, eps_mode: max}",
        ),
        (
            "decompose-normalize-l2",
            "%a = Const-1 i64[2] <2, -1>\n%out = NormalizeL2-1(%x, %a) {eps: 0.001, eps_mode: add}",
        ),
    ] {
        decomposes(rule, IMAGE, layers);
    }
    let channels = "%s = Const-1 f32[4] <1.0, 2.0, 0.5, -1.0>\n%b = Const-1 f32[4] <0.0, 1.0, 2.0, 3.0>\n";
    let group =
        format!("{channels}%out = GroupNormalization-12(%x, %s, %b) {{num_groups: 2, epsilon: 0.001}}");
    decomposes("decompose-group-normalization", IMAGE, &group);
    let batch = format!("{channels}%out = BatchNormInference-5(%x, %s, %b, %s, %b) {{epsilon: 0.5}}");
    decomposes("decompose-batch-norm", IMAGE, &batch);
    let halves = decomposes("decompose-grn", &[("f16", "2,3")], "%out = GRN-1(%x) {bias: 1e-9}");
    assert!(halves.contains("destination_type: f32"), "{halves}");
}

#[test]
fn blocks() {
    for (rule, shape, layers) in [
        (
            "decompose-depth-to-space",
            "1..2,8,2..4,3",
            "%out = DepthToSpace-1(%x) {block_size: 2, mode: blocks_first}",
        ),
        (
            "decompose-depth-to-space",
            "1..2,8,2..4,1..3",
            "%out = DepthToSpace-1(%x) {block_size: 2, mode: depth_first}",
        ),
        (
            "decompose-space-to-depth",
            "1..2,3,4,6",
            "%out = SpaceToDepth-1(%x) {block_size: 2, mode: blocks_first}",
        ),
        (
            "decompose-space-to-depth",
            "2,3,4,4,6",
            "%out = SpaceToDepth-1(%x) {block_size: 2, mode: depth_first}",
        ),
        ("decompose-shuffle-channels", "1..2,6,2..4", "%out = ShuffleChannels-1(%x) {axis: -2, group: 3}"),
        ("decompose-reorg-yolo", "1..2,8,4,2", "%out = ReorgYolo-2(%x) {stride: 2}"),
        (
            "decompose-space-to-batch",
            "1..3,4,3",
            "%b = Const-1 i64[3] <1, 2, 3>\n%p = Const-1 i64[3] <0, 1, 0>\n%q = Const-1 i64[3] <0, 1, 3>\n%out = SpaceToBatch-2(%x, %b, %p, %q)",
        ),
        (
            "decompose-batch-to-space",
            "6,1..3,2",
            "%b = Const-1 i64[3] <1, 2, 3>\n%p = Const-1 i64[3] <0, 1, 0>\n%q = Const-1 i64[3] <0, 0, 2>\n%out = BatchToSpace-2(%x, %b, %p, %q)",
        ),
    ] {
        decomposes(rule, &[("f32", shape)], layers);
    }
}

#[test]
fn attention() {
    let cube =
        [("f32", "1..2,4,3"), ("f32", "1,S=2..5,3"), ("f32", "1,S=2..5,2"), ("f32", "4,1"), ("f32", "")];
    decomposes(
        "decompose-attention",
        &cube,
        "%out = ScaledDotProductAttention-13(%x, %y, %z) {causal: false}",
    );
    decomposes(
        "decompose-attention",
        &cube,
        "%out = ScaledDotProductAttention-13(%x, %y, %z) {causal: true}",
    );
    decomposes(
        "decompose-attention",
        &cube,
        "%out = ScaledDotProductAttention-13(%x, %y, %z, %u, %v) {causal: false}",
    );
    for (sink, causal) in [("1,4,1", "false"), ("1,1,1", "true")] {
        let inputs = [&cube[..], &[("f32", sink)]].concat();
        let op = format!("ScaledDotProductAttention-13(%x, %y, %z, %u, %v, %w) {{causal: {causal}}}");
        decomposes("decompose-attention", &inputs, &format!("%out = {op}"));
    }
}

#[test]
fn pads_of_unknown_sizes() {
    let pads = "%b = Const-1 i64[2] <0, 2>\n%e = Const-1 i64[2] <0, 3>\n";
    for mode in ["edge", "reflect", "symmetric"] {
        let layers = format!("{pads}%out = Pad-12(%x, %b, %e) {{pad_mode: {mode}}}");
        decomposes("decompose-pad", &[("f32", "2,4..9")], &layers);
    }
}

#[test]
fn quantization_pooling_and_padding() {
    let ranges = "%l = Const-1 f32[1,4,1,1] <-1.0, 0.0, 0.5, 2.0>\n%h = Const-1 f32[1,4,1,1] <1.0, 2.0, 0.75, 1.0>\n%o = Const-1 f32[] <-2.0>\n";
    let quantized =
        format!("{ranges}%out = FakeQuantize-1(%x, %l, %h, %o, %l) {{levels: 16, auto_broadcast: numpy}}");
    decomposes("decompose-fake-quantize", IMAGE, &quantized);
    let size = "%s = Const-1 i64[2] <3, 2>\n";
    decomposes(
        "decompose-adaptive-pool",
        &[("f32", "1..2,3,7,5")],
        &format!("{size}%out = AdaptiveAvgPool-8(%x, %s)"),
    );
    decomposes(
        "decompose-adaptive-pool",
        &[("f32", "1..2,3,7,5")],
        &format!("{size}%out = AdaptiveMaxPool-8(%x, %s) {{index_element_type: i64}}"),
    );
    for mode in ["edge", "reflect", "symmetric"] {
        let pads = "%b = Const-1 i64[2] <2, -1>\n%e = Const-1 i64[2] <0, 2>\n";
        decomposes(
            "decompose-pad",
            &[("f32", "3,5")],
            &format!("{pads}%out = Pad-12(%x, %b, %e) {{pad_mode: {mode}}}"),
        );
    }
}

#[test]
fn searches() {
    let bounds = "%b = Const-1 f32[3] <-0.5, 0.0, 0.5>\n";
    for right in [true, false] {
        let layers =
            format!("{bounds}%out = Bucketize-3(%x, %b) {{output_type: i32, with_right_bound: {right}}}");
        decomposes("decompose-bucketize", &[("f32", "1..2,3")], &layers);
        let layers =
            format!("{bounds}%out = SearchSorted-15(%b, %x) {{right_mode: {right}, output_type: i64}}");
        decomposes("decompose-search-sorted", &[("f32", "1..2,3")], &layers);
    }
    for mode in ["normalize", "ignore_negative"] {
        let values = "%d = Const-1 i64[] <3>\n%on = Const-1 f32[] <2.0>\n%off = Const-1 f32[] <-1.0>\n";
        let layers =
            format!("{values}%out = OneHot-16(%x, %d, %on, %off) {{axis: 1, negative_indices_mode: {mode}}}");
        decomposes("decompose-one-hot", &[("i32", "1..2,3")], &layers);
    }
    let bags = "%i = Const-1 i64[4] <0, 2, 3, 4>\n%o = Const-1 i64[3] <0, 2, 2>\n%d = Const-1 i64[] <1>\n%s = Const-1 i64[4] <0, 0, 2, 2>\n%n = Const-1 i64[] <4>\n%p = Const-1 i64[2,2] <0, 2, 3, 4>\n";
    for layer in [
        "EmbeddingBagOffsetsSum-3(%x, %i, %o)",
        "EmbeddingBagOffsetsSum-3(%x, %i, %o, %d)",
        "EmbeddingBagPackedSum-3(%x, %p)",
        "EmbeddingSegmentsSum-3(%x, %i, %s, %n)",
        "EmbeddingSegmentsSum-3(%x, %i, %s, %n, %d)",
        "EmbeddingBagPacked-15(%x, %p) {reduction: mean}",
    ] {
        decomposes("decompose-embedding-bag", &[("f32", "5,1..3")], &format!("{bags}%out = {layer}"));
        decomposes("decompose-embedding-bag", &[("f32", "5")], &format!("{bags}%out = {layer}"));
    }
    let yolo = |softmax: bool| {
        format!(
            "%out = RegionYolo-1(%x) {{anchors: [1.0, 2.0], axis: 1, coords: 4, classes: 2, end_axis: 3, num: 2, do_softmax: {softmax}, mask: [0, 1]}}"
        )
    };
    decomposes("decompose-region-yolo", &[("f32", "1..2,14,2,2..3")], &yolo(true));
    decomposes("decompose-region-yolo", &[("f32", "1..2,14,2,2..3")], &yolo(false));
}

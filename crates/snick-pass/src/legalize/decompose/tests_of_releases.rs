//! Tests of decompositions for older releases.

use super::tests::{decomposes, graph};
use crate::testing::{fires, silent};

const IMAGE: &[(&str, &str)] = &[("f32", "1..2,2,6,5")];

#[test]
fn definitions_with_default_attributes_become_earlier_ones() {
    let rule = "earlier-definition";
    let pool = "{kernel: [2,2], strides: [2,2], pads_begin: [0,0], pads_end: [0,0], rounding_type: floor";
    for (inputs, layers, version) in [
        (IMAGE, format!("%out = AvgPool-16(%x) {pool}, \"exclude-pad\": true}}"), "AvgPool-1("),
        (IMAGE, format!("%out = AvgPool-14(%x) {pool}, \"exclude-pad\": true}}"), "AvgPool-1("),
        (IMAGE, format!("%out = MaxPool-14(%x) {pool}}}\n%i = Result-1(%out:1)"), "MaxPool-8"),
        (
            &[("f32", "4,3"), ("f32", "2,3")],
            "%a = Const-1 i64[] <0>\n%i = Const-1 i32[2,3] <0, 1, 2, 3, 2, 1>\n\
             %out = ScatterElementsUpdate-12(%x, %i, %y, %a)"
                .into(),
            "ScatterElementsUpdate-3",
        ),
        (
            &[("f32", "1..2,6")],
            "%b = Const-1 i32[2] <0, 1>\n%out = Pad-12(%x, %b, %b) {pad_mode: reflect}".into(),
            "Pad-1(",
        ),
        (
            &[("f32", "4,3"), ("i32", "2,1"), ("f32", "2,3")],
            "%out = ScatterNDUpdate-15(%x, %y, %z)".into(),
            "ScatterNDUpdate-4",
        ),
        (&[("f32", "1,3")], "%a = Const-1 i64[1] <0>\n%out = Squeeze-15(%x, %a)".into(), "Squeeze-1("),
    ] {
        let text = decomposes(rule, inputs, &layers);
        assert!(text.contains(version), "{text}");
    }
    silent(rule, &graph(IMAGE, "%out = SoftMax-8(%x) {axis: 1}"));
}

#[test]
fn negative_indices_count_from_the_start() {
    let scatter = |indices: &str| {
        format!("{indices}%a = Const-1 i64[] <0>\n%out = ScatterElementsUpdate-12(%x, %i, %y, %a)")
    };
    for (inputs, indices) in [
        (&[("f32", "N,3"), ("f32", "2,3")][..], "%i = Const-1 i32[2,3] <0, -1, -2, -1, 1, 0>\n"),
        (&[("f32", "4,3"), ("f32", "2,3"), ("i64", "2,3")], "%i = Clamp-1(%z) {min: -4, max: 3}\n"),
    ] {
        let text = decomposes("earlier-scatter-elements", inputs, &scatter(indices));
        assert!(text.contains("ScatterElementsUpdate-3"), "{text}");
    }
}

#[test]
fn interpolate() {
    let attrs = "mode: linear_onnx, coordinate_transformation_mode: half_pixel";
    let text = decomposes(
        "earlier-interpolate",
        IMAGE,
        &format!(
            "%s = Const-1 i64[2] <3, 9>\n%a = Const-1 i64[2] <2, 3>\n\
                  %out = Interpolate-11(%x, %s, %a) {{{attrs}, shape_calculation_mode: sizes}}"
        ),
    );
    assert!(text.contains("Interpolate-4"), "{text}");
    decomposes(
        "earlier-interpolate",
        IMAGE,
        &format!(
            "%s = Const-1 f32[4] <1, 1, 1.5, 0.5>\n\
                  %out = Interpolate-11(%x, %s) {{{attrs}, shape_calculation_mode: scales}}"
        ),
    );
    silent(
        "earlier-interpolate",
        &graph(
            IMAGE,
            "%s = Const-1 i64[2] <3, 9>\n%a = Const-1 i64[2] <2, 3>\n\
                       %out = Interpolate-11(%x, %s, %a) {mode: bilinear_pillow, shape_calculation_mode: sizes}",
        ),
    );
}

#[test]
fn negative_pads_are_slices() {
    let padded = |begin: &str, end: &str, mode: &str| {
        decomposes(
            "earlier-pad",
            &[("f32", "1..2,6")],
            &format!(
                "%b = Const-1 i32[2] <{begin}>\n%e = Const-1 i32[2] <{end}>\n%out = Pad-12(%x, %b, %e) {{pad_mode: {mode}}}"
            ),
        )
    };
    for mode in ["constant", "edge", "reflect", "symmetric"] {
        let text = padded("0, -1", "1, 2", if mode == "reflect" { "edge" } else { mode });
        assert!(text.contains("Pad-1(") && text.contains("Slice-8"), "{text}");
        padded("0, -2", "0, -1", mode);
        padded("0, 2", "0, -1", mode);
    }
    decomposes(
        "earlier-pad",
        &[("f32", "5"), ("i64", "1")],
        "%p = Clamp-1(%y) {min: -2, max: 2}\n%out = Pad-12(%x, %p, %p) {pad_mode: constant}",
    );
}

#[test]
fn bitwise_functions() {
    let broadcast = "{auto_broadcast: numpy}";
    for (op, logical) in [("And", "LogicalAnd"), ("Or", "LogicalOr"), ("Xor", "LogicalXor")] {
        let layers = format!("%out = Bitwise{op}-13(%x, %y) {broadcast}");
        let text = decomposes("bitwise-to-logical", &[("boolean", "2,3"), ("boolean", "3")], &layers);
        assert!(text.contains(logical), "{text}");
        silent("bitwise-to-logical", &graph(&[("i32", "2,3"), ("i32", "3")], &layers));
    }
    decomposes("bitwise-to-logical", &[("boolean", "5")], "%out = BitwiseNot-13(%x)");
    for element_type in ["i32", "i64", "u8"] {
        decomposes("decompose-bitwise-not", &[(element_type, "5")], "%out = BitwiseNot-13(%x)");
    }
    silent("decompose-bitwise-not", &graph(&[("u64", "5")], "%out = BitwiseNot-13(%x)"));
}

#[test]
fn identity_is_removed() {
    let text = decomposes("remove-identity", &[("f32", "N")], "%i = ReLU-1(%x)\n%out = Identity-16(%i)");
    assert!(!text.contains("Identity"), "{text}");
}

#[test]
fn pools_whose_rounding_has_no_effect() {
    let pool = |size: usize, dilations: &str| {
        let attrs = format!("dilations: [{dilations}], rounding_type: ceil_torch");
        (
            [("f32", format!("1,2,{size}"))],
            format!(
                "%out = AvgPool-16(%x) {{kernel: [2], strides: [2], pads_begin: [1], pads_end: [1], {attrs}, \"exclude-pad\": false}}"
            ),
        )
    };
    let ([(element_type, shape)], layers) = pool(6, "1");
    let text = decomposes("simplify-pool", &[(element_type, &shape)], &layers);
    assert!(!text.contains("ceil_torch"), "{text}");
    let ([(element_type, shape)], layers) = pool(5, "1");
    silent("simplify-pool", &graph(&[(element_type, &shape)], &layers));
}

#[test]
fn fake_convert_is_a_lookup() {
    let data = "%d = Const-1 f32[14] <0.0, 1.0, -1.0625, 1.1875, 0.0009, -0.003, 0.017, 449, 1e6, -464, 57344, 3.1, -inf, nan>\n";
    for element_type in ["f8e4m3", "f8e5m2"] {
        let layers = format!(
            "{data}%s = Const-1 f32[] <0.7>\n%h = Const-1 f32[] <0.125>\n%w = Add-1(%d, %x) {{auto_broadcast: numpy}}\n\
             %out = FakeConvert-13(%w, %s, %h) {{destination_type: {element_type}}}"
        );
        let text = decomposes("decompose-fake-convert", &[("f32", "2,14")], &layers);
        assert!(text.contains("Bucketize-3") && !text.contains("FakeConvert"), "{text}");
        let plain = format!(
            "%s = Const-1 f16[3] <1, 2, 0.5>\n%out = FakeConvert-13(%x, %s) {{destination_type: {element_type}}}"
        );
        decomposes("decompose-fake-convert", &[("f16", "4,3")], &plain);
    }
}

#[test]
fn an_ellipsis_for_no_axis_is_removed() {
    let masks = "begin_mask: [0,0,0], end_mask: [0,0,0], new_axis_mask: [0,0,0], shrink_axis_mask: [0,0,1]";
    let sliced = |ellipsis: &str| {
        graph(
            &[("f32", "3,4")],
            &format!(
                "%b = Const-1 i64[3] <1, 0, 2>\n%e = Const-1 i64[3] <3, 0, 3>\n%s = Const-1 i64[3] <1, 1, 1>\n\
                 %out = StridedSlice-1(%x, %b, %e, %s) {{{masks}, ellipsis_mask: {ellipsis}}}"
            ),
        )
    };
    let text = fires("simplify-strided-slice", &sliced("[0,1,0]"));
    assert!(text.contains("begin_mask: [0,0]"), "{text}");
    silent("simplify-strided-slice", &sliced("[0,0,1]").replace("3,4", "3,4,5"));
}

#[test]
fn new_axes_are_inserted_before_the_slice() {
    let masks = "begin_mask: [0,1,0], end_mask: [0,0,0], ellipsis_mask: [0,0,0]";
    let sliced = |new_axes: &str, shrunk: &str| {
        fires(
            "simplify-strided-slice",
            &graph(
                &[("f32", "1..3,4")],
                &format!(
                    "%b = Const-1 i64[3] <0, 1, 1>\n%e = Const-1 i64[3] <1, 2, 3>\n%s = Const-1 i64[3] <1, 1, 1>\n\
                     %out = StridedSlice-1(%x, %b, %e, %s) {{{masks}, new_axis_mask: {new_axes}, shrink_axis_mask: {shrunk}}}"
                ),
            ),
        )
    };
    for (new_axes, shrunk) in [("[1,0,0]", "[0,0,0]"), ("[0,1,0]", "[1,0,0]"), ("[0,1,1]", "[0,0,0]")] {
        let text = sliced(new_axes, shrunk);
        assert!(text.contains("StridedSlice-1") && text.contains("Unsqueeze-1"), "{text}");
    }
}

#[test]
fn backward_ranges_have_bounds_instead_of_masks() {
    let layers = "%b = Const-1 i32[2] <0, 1>\n%e = Const-1 i32[2] <1, 1>\n%s = Const-1 i32[2] <-2, -1>\n\
                  %out = StridedSlice-1(%x, %b, %e, %s) {begin_mask: [1,0], end_mask: [1,1]}";
    let text = fires("simplify-strided-slice", &graph(&[("f32", "1..4,2..3")], layers));
    assert!(text.contains("begin_mask: [0,0], end_mask: [0,0]"), "{text}");
    let unknown = layers.replace("%b = Const-1 i32[2] <0, 1>", "%b = Clamp-1(%y) {min: -2, max: 1}");
    silent("simplify-strided-slice", &graph(&[("f32", "1..4,2..3"), ("i32", "2")], &unknown));
    silent("simplify-strided-slice", &graph(&[("f32", "3,3")], &layers.replace("<-2, -1>", "<2, 1>")));
}

#[test]
fn scattered_updates_of_one_place_are_combined_in_turn() {
    for (element_type, reduction) in
        [("f32", "sum"), ("i32", "prod"), ("f16", "min"), ("i64", "max"), ("f32", "mean")]
    {
        let of = |axis: usize, shape: &str, like: &str, use_init_val: bool| {
            let layers = format!(
                "%a = Const-1 i64[] <{axis}>\n%c = Clamp-1(%y) {{min: -2, max: 1}}\n\
                 %out = ScatterElementsUpdate-12(%x, %c, %z, %a) {{reduction: {reduction}, use_init_val: {use_init_val}}}"
            );
            fires(
                "decompose-scatter-elements",
                &graph(&[(element_type, shape), ("i32", like), (element_type, like)], &layers),
            )
        };
        if reduction == "mean" {
            assert!(of(0, "3,2", "2,2", false).contains("ScatterElementsUpdate-12"));
            continue;
        }
        assert!(of(0, "3,2", "4,2", true).contains("TensorIterator"));
        assert!(of(1, "2,3", "2,0..4", true).contains("Pad-"));
        assert!(!of(1, "2,3", "2,1", true).contains("TensorIterator"));
        if !reduction.starts_with('m') || element_type.starts_with('f') {
            of(0, "3,2", "4,2", false);
        }
    }
    let other = "%a = Const-1 i64[] <0>\n%out = ScatterElementsUpdate-12(%x, %y, %z, %a) {reduction: sum, use_init_val: true}";
    silent("decompose-scatter-elements", &graph(&[("f32", "3,2"), ("i32", "3,1"), ("f32", "3,1")], other));
}

#[test]
fn scattered_slices_of_one_place_are_combined_in_turn() {
    let rule = "decompose-scatter-nd";
    for reduction in ["sum", "sub", "prod", "min", "max"] {
        let scatter = |indices: &str, places: &str, updates: &str| {
            let layers =
                format!("{indices}\n%out = ScatterNDUpdate-15(%x, %i, %z) {{reduction: {reduction}}}");
            fires(rule, &graph(&[("f32", "3,4"), ("i64", places), ("f32", updates)], &layers))
        };
        let inside = "%i = Clamp-1(%y) {min: 0, max: 2}";
        assert!(scatter(inside, "5,1", "5,4").contains("TensorIterator"));
        assert!(scatter(inside, "0..3,2,2", "0..3,2").contains("Pad-"));
        scatter(inside, "2", "").contains("TensorIterator");
        let distinct = scatter("%i = Const-1 i64[2,1] <2, 0>", "1", "2,4");
        assert!(!distinct.contains("TensorIterator"), "{distinct}");
        let equal = scatter("%i = Const-1 i64[2,1] <2, 2>", "1", "2,4");
        assert!(equal.contains("TensorIterator"), "{equal}");
    }
}

#[test]
fn parts_of_a_vector_are_slices() {
    let rule = "decompose-split-of-vector";
    let split =
        "%a = Const-1 i64[] <0>\n%s = Split-1(%x, %a) {num_splits: 2} : (_, _)\n%out = Subtract-1(%s:1, %s)";
    let text = fires(rule, &graph(&[("i32", "4")], split));
    assert!(!text.contains("Split-1"), "{text}");
    let lengths = "%a = Const-1 i64[] <0>\n%l = Const-1 i64[3] <1, -1, 2>\n\
                   %s = VariadicSplit-1(%x, %a, %l) : (_, _, _)\n%out = Concat-1(%s:2, %s:1, %s) {axis: 0}";
    fires(rule, &graph(&[("i32", "5")], lengths));
    silent(rule, &graph(&[("i32", "4,1")], split));
}

#[test]
fn stft_is_a_transform_of_frames() {
    for (shape, transposed, window) in [("2,16..20", true, 8), ("21", false, 5)] {
        let layers = format!(
            "%w = Const-1 f32[{window}] <{}>\n%n = Const-1 i64[] <8>\n%t = Const-1 i64[] <3>\n\
             %out = STFT-15(%x, %w, %n, %t) {{transpose_frames: {transposed}}}",
            ["0.5", "0.25", "1", "0.75", "2", "1", "0", "0.5"][..window].join(", ")
        );
        let text = decomposes("decompose-stft", &[("f32", shape)], &layers);
        assert!(text.contains("RDFT-9"), "{text}");
    }
}

//! Tests that decompositions of image preprocessing have the same results as the layers.

use super::tests::{decomposes, graph};
use crate::testing::silent;

const PLAIN: &str = "shape_calculation_mode: sizes, coordinate_transformation_mode: half_pixel, nearest_mode: simple, antialias: false, pads_begin: [0], pads_end: [0], cube_coeff: -0.75";

fn resized(mode: &str, sizes: &str, axes: &str, shape: (&str, &str)) {
    let count = axes.split(',').count();
    let layers = format!(
        "%s = Const-1 i64[{count}] <{sizes}>\n%a = Const-1 i64[{count}] <{axes}>\n\
         %out = Interpolate-11(%x, %s, %a) {{mode: {mode}, {PLAIN}}}"
    );
    decomposes("decompose-interpolate", &[shape], &layers);
}

#[test]
fn pillow_filters_of_known_and_unknown_sizes() {
    for mode in ["bilinear_pillow", "bicubic_pillow"] {
        for element_type in ["f32", "f16"] {
            resized(mode, "3, 8", "1, 2", (element_type, "1,5,4,3"));
            resized(mode, "3, 8", "1, 2", (element_type, "1..2,4..9,4..5,3"));
            resized(mode, "2, 7", "2, 1", (element_type, "2..5,4..9,2..5"));
        }
    }
    // Uses only sizes with exact weights: otherwise, the order of summation would decide how ties are
    // rounded.
    for element_type in ["u8", "i32"] {
        resized("bilinear_pillow", "8, 6", "1, 2", (element_type, "1,4,3,3"));
        resized("bilinear_pillow", "4, 4", "2, 1", (element_type, "1..3,2,2"));
    }
}

#[test]
fn integers_are_resized_as_floats_and_rounded() {
    for mode in ["linear", "linear_onnx", "cubic"] {
        resized(mode, "3, 8", "1, 2", ("u8", "1,2..5,4,3"));
    }
}

#[test]
fn weights_of_known_sizes() {
    resized("linear", "3, 8, 2", "2, 3, 4", ("f32", "1,1,5,4,3"));
    resized("nearest", "3, 8", "0, 1", ("u8", "5,4"));
    resized("cubic", "3", "0", ("f64", "5"));
}

#[test]
fn coordinates_of_sizes_known_only_at_run_time() {
    let resized = |mode: &str, attrs: &str, by: (&str, &str), element_type: &str| {
        let layers = format!(
            "%s = Const-1 {}[2] <{}>\n%a = Const-1 i64[2] <2, 1>\n%out = Interpolate-11(%x, %s, %a) \
             {{mode: {mode}, shape_calculation_mode: {}, {attrs}}}",
            if by.0 == "sizes" { "i64" } else { "f32" },
            by.1,
            by.0,
        );
        decomposes("decompose-interpolate", &[(element_type, "2,3..9,2..7")], &layers);
    };
    // In these cases, some sizes do not change. A scale of 0.3 avoids ties, and a scale of 1.3 does not
    // change an axis of three elements.
    for by in [("sizes", "6, 4"), ("sizes", "2, 9"), ("scales", "0.3, 1.3"), ("scales", "2.0, 0.7")] {
        for coordinates in
            ["half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"]
        {
            let attrs = format!("coordinate_transformation_mode: {coordinates}");
            for nearest in ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"] {
                resized("nearest", &format!("{attrs}, nearest_mode: {nearest}"), by, "u8");
            }
            resized("linear_onnx", &attrs, by, "f32");
            resized("cubic", &attrs, by, "f64");
        }
    }
}

#[test]
fn padding_before_an_interpolation() {
    let layers = "%s = Const-1 i64[1] <9>\n%a = Const-1 i64[1] <1>\n\
         %out = Interpolate-11(%x, %s, %a) {mode: linear_onnx, pads_begin: [0, 1], pads_end: [0, 2]}";
    decomposes("decompose-interpolate", &[("f32", "2,2..4")], layers);
}

#[test]
fn yuv_images_in_one_plane_or_several() {
    for element_type in ["u8", "f32", "f16"] {
        for (op, one, other) in [
            ("NV12toRGB", "1..2,3,4,1", "1,6,2..2,1"),
            ("NV12toBGR", "2,6,4,1", "1,9,2,1"),
            ("I420toRGB", "2,6,4,1", "1..2,3,2,1"),
            ("I420toBGR", "1,3,4,1", "2,6,4,1"),
        ] {
            for shape in [one, other] {
                decomposes("decompose-yuv-to-rgb", &[(element_type, shape)], &format!("%out = {op}-8(%x)"));
            }
        }
        let planes = &[(element_type, "1..2,4,6,1"), (element_type, "1..2,2,3,2")];
        decomposes("decompose-yuv-to-rgb", planes, "%out = NV12toRGB-8(%x, %y)");
        let plane = (element_type, "1..2,2,3,1");
        let planes = &[(element_type, "1..2,4,6,1"), plane, plane];
        decomposes("decompose-yuv-to-rgb", planes, "%out = I420toBGR-8(%x, %y, %z)");
    }
}

#[test]
fn grids_are_sampled_as_sums_of_pixels() {
    for mode in ["nearest", "bilinear", "bicubic"] {
        for padding in ["zeros", "border", "reflection"] {
            for align_corners in [false, true] {
                let layer = format!(
                    "%out = GridSample-9(%x, %y) {{align_corners: {align_corners}, mode: {mode}, padding_mode: {padding}}}"
                );
                for (data, grid) in [("1..2,2,3,4", "1..2,2,1..3,2"), ("1,?,1,2", "1,3,2,2")] {
                    decomposes("decompose-grid-sample", &[("f32", data), ("f32", grid)], &layer);
                }
            }
        }
    }
    let halves = "%out = GridSample-9(%x, %y) {align_corners: true, mode: bilinear, padding_mode: zeros}";
    decomposes("decompose-grid-sample", &[("f16", "1,2,3,4"), ("f16", "1,2,2,2")], halves);
    silent("decompose-grid-sample", &graph(&[("f32", "1,2,?,4"), ("f32", "1,2,2,2")], halves));
}

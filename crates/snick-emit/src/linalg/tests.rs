//! Modules of single operations.

use snick_ir::{infer, text};

use crate::Precision;

fn written(layers: &str) -> Result<String, String> {
    let text = format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n");
    let mut graph = text::parse(&text, None).unwrap();
    assert_eq!(infer(&mut graph), []);
    super::linalg(&graph, Precision::Highest)
        .map(|module| module.to_string())
        .map_err(|error| error.to_string())
}

/// Checks that the module of `layers` contains these parts, in this order.
#[track_caller]
fn check(layers: &str, parts: &[&str]) {
    let text = written(layers).unwrap();
    let mut rest = text.as_str();
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { panic!("no {part} in the rest of\n{text}") };
        rest = after;
    }
}

#[test]
fn a_reversed_slice_is_read_in_place() {
    let text = written(
        "%x = Parameter-1 {element_type: f32, shape: \"N,4\"}
         %start = Const-1 i64[1] <3>
         %stop = Const-1 i64[1] <-5>
         %step = Const-1 i64[1] <-2>
         %axis = Const-1 i64[1] <1>
         %y = Slice-8(%x, %start, %stop, %step, %axis)
         %r = Result-1(%y)",
    );
    let expected = "#map0 = affine_map<(d0, d1) -> (d0, d1)>
module @\"g\" {
  func.func public @main(%x: tensor<?x4xf32>) -> (tensor<?x2xf32>) {
    %0 = arith.constant 0 : index loc(#loc0)
    %1 = tensor.dim %x, %0 : tensor<?x4xf32> loc(#loc0)
    %2 = tensor.empty(%1) : tensor<?x2xf32> loc(#loc1)
    %y = linalg.generic {indexing_maps = [#map0], iterator_types = [\"parallel\", \"parallel\"]} outs(%2 : tensor<?x2xf32>) {
    ^bb0(%3: f32):
      %4 = linalg.index 0 : index
      %5 = linalg.index 1 : index
      %6 = arith.constant 2 : index
      %7 = arith.muli %5, %6 : index
      %8 = arith.constant 3 : index
      %9 = arith.subi %8, %7 : index
      %10 = tensor.extract %x[%4, %9] : tensor<?x4xf32>
      linalg.yield %10 : f32
    } -> tensor<?x2xf32> loc(#loc1)
    return %y : tensor<?x2xf32> loc(#loc2)
  }
}
#loc0 = loc(\"x\"(\"\":3:1))
#loc1 = loc(\"y\"(\"\":8:10))
#loc2 = loc(\"r\"(\"\":9:10))
";
    assert_eq!(text.unwrap(), expected);
}

#[test]
fn integers_have_no_sign_but_their_operations_do() {
    check(
        "%x = Parameter-1 {element_type: u8, shape: \"2\"}
         %b = Parameter-1 {element_type: u8, shape: \"2\"}
         %q = Divide-1(%x, %b) {auto_broadcast: numpy, m_pythondiv: false}
         %y = Convert-1(%q) {destination_type: f32}
         %r = Result-1(%y)",
        &["@main(%x: tensor<2xi8>", "arith.divui ", "arith.uitofp "],
    );
}

#[test]
fn constants_of_equal_elements_are_scalars() {
    check(
        "%x = Parameter-1 {element_type: f32, shape: \"N,4\"}
         %one = Const-1 f32[] <1.5>
         %y = Multiply-1(%x, %one) {auto_broadcast: numpy}
         %r = Result-1(%y)",
        &["arith.constant 1.5 : f32", "ins(%x : tensor<?x4xf32>)", "arith.mulf "],
    );
}

#[test]
fn sizes_are_computed_once_from_arguments() {
    let layers = "%x = Parameter-1 {element_type: f32, shape: \"N,4\"}
         %flat = Const-1 i64[1] <-1>
         %y = Reshape-1(%x, %flat) {special_zero: false}
         %two = Const-1 i64[2] <-1, 2>
         %z = Reshape-1(%y, %two) {special_zero: false}
         %r = Result-1(%y)
         %s = Result-1(%z)";
    check(
        layers,
        &[
            "tensor.dim %x, ",
            "tensor.collapse_shape %x [[0, 1]] : tensor<?x4xf32> into tensor<?xf32>",
            "tensor.expand_shape ",
            "[[0, 1]] output_shape [",
            ", 2] : tensor<?xf32> into tensor<?x2xf32>",
        ],
    );
    assert_eq!(written(layers).unwrap().matches("tensor.dim").count(), 1);
}

#[test]
fn an_axis_that_may_be_1_is_selected_at_run_time() {
    check(
        "%x = Parameter-1 {element_type: f32, shape: \"N\"}
         %b = Parameter-1 {element_type: f32, shape: \"M\"}
         %y = Add-1(%x, %b) {auto_broadcast: numpy}
         %r = Result-1(%y)",
        &["arith.cmpi eq, ", "linalg.index 0", "arith.select ", "tensor.extract %"],
    );
}

#[test]
fn parts_are_inserted_and_padded() {
    check(
        "%x = Parameter-1 {element_type: f32, shape: \"N,2\"}
         %y = Concat-1(%x, %x) {axis: 1}
         %begin = Const-1 i64[2] <0, 1>
         %end = Const-1 i64[2] <0, -1>
         %zero = Const-1 f32[] <0.0>
         %z = Pad-12(%y, %begin, %end, %zero) {pad_mode: constant}
         %r = Result-1(%z)",
        &[
            "tensor.insert_slice %x into ",
            "[0, 0] [",
            ", 2] [1, 1] : tensor<?x2xf32> into tensor<?x4xf32>",
            "[0, 2] [",
            "tensor.extract_slice ",
            "tensor.pad ",
            "low[0, 1] high[0, 0]",
        ],
    );
}

#[test]
fn products_are_named_where_a_name_exists() {
    let product = |a: &str, b: &str, transposed: bool| {
        format!(
            "%a = Parameter-1 {{element_type: f32, shape: \"{a}\"}}
             %b = Parameter-1 {{element_type: f32, shape: \"{b}\"}}
             %y = MatMul-1(%a, %b) {{transpose_a: false, transpose_b: {transposed}}}
             %r = Result-1(%y)"
        )
    };
    check(&product("N,3", "3,2", false), &["linalg.matmul ins(%a, %b : tensor<?x3xf32>, tensor<3x2xf32>)"]);
    check(&product("B,N,3", "B,3,M", false), &["linalg.batch_matmul ins(%a, %b : "]);
    check(&product("N,3", "2,3", true), &["(d1, d2)>", "\"reduction\"", "arith.mulf ", "arith.addf "]);
}

#[test]
fn convolutions_are_named_unless_they_have_groups() {
    let convolution = |filters: &str| {
        format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"1,4,H,8\"}}
             %w = Parameter-1 {{element_type: f32, shape: \"{filters}\"}}
             %y = GroupConvolution-1(%x, %w) {{strides: [2, 1], pads_begin: [1, 0], pads_end: [1, 0],
                dilations: [1, 1]}}
             %r = Result-1(%y)"
        )
    };
    let attributes = "{dilations = dense<[1, 1]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>}";
    let plain = convolution("3,4,3,3").replace("GroupConvolution", "Convolution");
    check(&plain, &["tensor.pad %x low[0, 0, 1, 0]", &format!("linalg.conv_2d_nchw_fchw {attributes} ins(")]);
    check(&convolution("4,1,1,3,3"), &["linalg.depthwise_conv_2d_nchw_chw"]);
    check(&convolution("2,3,2,3,3"), &["d3 * 2 + d6 * 1", "tensor.expand_shape ", "tensor.collapse_shape "]);
}

#[test]
fn means_over_padding_count_the_elements() {
    check(
        "%x = Parameter-1 {element_type: f32, shape: \"1,1,H,8\"}
         %y = AvgPool-1(%x) {strides: [2, 2], pads_begin: [1, 1], pads_end: [1, 1], kernel: [3, 3],
            \"exclude-pad\": true, rounding_type: floor}
         %r = Result-1(%y)",
        &["linalg.pooling_nchw_sum", "linalg.index 2", "arith.sitofp ", "arith.divf "],
    );
}

#[test]
fn reductions_and_gathers() {
    check(
        "%x = Parameter-1 {element_type: f32, shape: \"N,4\"}
         %i = Parameter-1 {element_type: i32, shape: \"M\"}
         %axis = Const-1 i64[] <0>
         %y = Gather-8(%x, %i, %axis) {batch_dims: 0}
         %axes = Const-1 i64[1] <1>
         %z = ReduceMax-1(%y, %axes) {keep_dims: false}
         %r = Result-1(%z)",
        &["tensor.extract %x[", "linalg.reduce { arith.maximumf } ins(", "dimensions = [1]"],
    );
}

#[test]
fn the_last_update_of_an_element_wins() {
    check(
        "%x = Parameter-1 {element_type: f32, shape: \"N\"}
         %i = Parameter-1 {element_type: i64, shape: \"M,1\"}
         %u = Parameter-1 {element_type: f32, shape: \"M\"}
         %y = ScatterNDUpdate-4(%x, %i, %u)
         %r = Result-1(%y)",
        &[
            "arith.constant -1 : i64",
            "\"parallel\", \"reduction\"",
            "arith.maxsi ",
            "tensor.pad %u low[0] high[1] ",
        ],
    );
}

#[test]
fn a_sort_counts_the_elements_before_each() {
    check(
        "%x = Parameter-1 {element_type: f32, shape: \"N,4\"}
         %k = Const-1 i64[] <2>
         %y = TopK-11(%x, %k) {axis: 1, mode: max, sort: value, index_element_type: i64, stable: true}
         %r = Result-1(%y)",
        &["arith.cmpf ogt, ", "arith.extui ", "arith.addi ", "tensor.extract_slice "],
    );
}

#[test]
fn sizes_may_depend_on_data() {
    check(
        "%x = Parameter-1 {element_type: f32, shape: \"2,3\"}
         %y = NonZero-3(%x) {output_type: i64}
         %r = Result-1(%y)",
        &["-> (tensor<2x?xi64>)", "linalg.reduce { arith.addi }", "tensor.extract ", "tensor.extract_slice "],
    );
}

#[test]
fn large_constants_follow_the_module() {
    let values: Vec<String> = (0..100).map(|i| i.to_string()).collect();
    check(
        &format!(
            "%x = Parameter-1 {{element_type: i32, shape: \"100\"}}
             %w = Const-1 i32[100] <{}>
             %y = Add-1(%x, %w) {{auto_broadcast: numpy}}
             %r = Result-1(%y)",
            values.join(", ")
        ),
        &[
            "arith.constant dense_resource<constant_0> : tensor<100xi32>",
            "dialect_resources: {\n    builtin: {\n      constant_0: \"0x100000000000000001000000",
            "63000000\"\n    }",
        ],
    );
}

#[test]
fn what_it_cannot_say_is_named() {
    let text = written("%x = Parameter-1 {element_type: f32, shape: \"...\"}\n%r = Result-1(%x)");
    let expected = "layer `x` (Parameter): cannot write a rank known only at run time to linalg";
    assert!(text.as_ref().is_err_and(|error| error.contains(expected)), "{text:?}");
}

#[test]
fn a_single_window_reads_all_of_its_data() {
    let of_padding = |end: usize| {
        format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"1,2,4\"}}
             %w = Parameter-1 {{element_type: f32, shape: \"3,2,3\"}}
             %y = Convolution-1(%x, %w) {{strides: \"2\", dilations: \"1\", pads_begin: \"0\", pads_end: \"{end}\"}}
             %r = Result-1(%y)"
        )
    };
    check(&of_padding(0), &["tensor.extract_slice %x[0, 0, 0] [1, 2, 3] ", "linalg.conv_1d_ncw_fcw"]);
    check(&of_padding(1), &["tensor.pad %x low[0, 0, 0] high[0, 0, 1]", "linalg.conv_1d_ncw_fcw"]);
}

#[test]
fn a_single_pooling_window_reads_all_of_its_data() {
    check(
        "%x = Parameter-1 {element_type: f32, shape: \"1,2,4,4\"}
         %y = MaxPool-1(%x) {strides: \"3,2\", kernel: \"2,2\", pads_begin: \"0,0\", pads_end: \"0,0\"}
         %r = Result-1(%y)",
        &["tensor.extract_slice %x[0, 0, 0, 0] [1, 2, 2, 4] ", "linalg.pooling_nchw_max"],
    );
}

#[test]
fn a_negative_size_from_data_becomes_0() {
    check(
        "%x = Parameter-1 {element_type: f32, shape: \"1\"}
         %n = Parameter-1 {element_type: i64, shape: \"1\"}
         %y = Broadcast-3(%x, %n) {mode: numpy}
         %r = Result-1(%y)",
        &["arith.index_cast ", " = arith.maxsi ", "tensor.empty(%"],
    );
}

#[test]
fn sizes_that_belong_together_are_asserted() {
    check(
        "%x = Parameter-1 {element_type: f32, shape: \"N=2..8,H\"}
         %y = Parameter-1 {element_type: f32, shape: \"N,2*H\"}
         %w = Parameter-1 {element_type: f32, shape: \"?,M\"}
         %z = Concat-1(%x, %y) {axis: 1}
         %a = Add-1(%z, %w) {auto_broadcast: numpy}
         %s = Const-1 i64[2] <-1, 6>
         %b = Reshape-1(%w, %s) {special_zero: false}
         %r = Result-1(%a)
         %q = Result-1(%b)",
        &[
            "input `x` needs axis 0 to be at least 2\" loc(#loc0)",
            "\"input `x` needs axis 0 to be at most 8\"",
            "\"input `y` needs axis 0 to be N\"",
            "\"input `y` needs axis 1 to be 2*H\"",
            "\"layer `a` (Add) needs N = s3, N = 1 or s3 = 1, where s3 is axis 0 of `w`\"",
            "\"layer `a` (Add) needs 3*H = M, 3*H = 1 or M = 1\"",
            "arith.remsi ",
            "\"layer `b` (Reshape) needs M*s3 to be a multiple of 6, where s3 is axis 0 of `w`\"",
            "#loc0 = loc(\"x\"(\"\":3:1))",
        ],
    );
}

#[test]
fn proved_conditions_are_not_asserted() {
    let text = written(
        "%x = Parameter-1 {element_type: f32, shape: \"N,3\"}
         %y = Abs-1(%x)
         %z = Concat-1(%x, %y) {axis: 1}
         %s = Const-1 i64[2] <-1, 3>
         %b = Reshape-1(%z, %s) {special_zero: false}
         %r = Result-1(%b)",
    );
    assert!(!text.unwrap().contains("cf.assert"));
}

#[test]
fn conditions_that_only_hold_for_some_integers_are_not_asserted() {
    // For s = -1, the part has one row, so N may differ from M.
    let text = written(
        "%x = Parameter-1 {element_type: f32, shape: \"N,3\"}
         %y = Parameter-1 {element_type: f32, shape: \"M,3\"}
         %s = Parameter-1 {element_type: i64, shape: \"1\"}
         %zero = Const-1 i64[1] <0>
         %one = Const-1 i64[1] <1>
         %end = Const-1 i64[1] <9223372036854775807>
         %start = Minimum-1(%s, %zero)
         %part = Slice-8(%y, %start, %end, %one, %zero)
         %z = Concat-1(%x, %part) {axis: 1}
         %r = Result-1(%z)",
    );
    assert!(!text.unwrap().contains("(Concat) needs"));
}

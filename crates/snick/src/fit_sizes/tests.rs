//! Fits sizes and integers to small graphs with patterns that are typical of models.

use snick_ir::{infer, text};

use crate::{DimPolicy, Prediction, draw_inputs};

/// The dims generated for each input of these layers, and the elements of integer inputs.
fn drawn(layers: &str, dims: DimPolicy) -> Vec<(Vec<usize>, Vec<i64>)> {
    let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
    assert_eq!(infer(&mut graph), []);
    let inputs = draw_inputs(&graph, Vec::new(), 7, dims).unwrap();
    assert_eq!(Prediction::of(&graph, &inputs).errors, [], "{inputs:?}");
    let integers = |tensor: &snick_tensor::Tensor| match tensor.element_type().is_integer() {
        true => tensor.to_i64_vec().unwrap(),
        false => Vec::new(),
    };
    inputs.iter().map(|tensor| (tensor.dims().to_vec(), integers(tensor))).collect()
}

fn sizes(layers: &str, dims: DimPolicy) -> Vec<Vec<usize>> {
    drawn(layers, dims).into_iter().map(|(sizes, _)| sizes).collect()
}

fn f32s(name: &str, shape: &str) -> String {
    format!("%{name} = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n")
}

fn i64s(name: &str, shape: &str) -> String {
    format!("%{name} = Parameter-1 {{element_type: i64, shape: \"{shape}\"}}\n")
}

#[test]
fn an_image_fills_the_table_of_positions() {
    let zeros = |count: usize| vec!["0"; count].join(", ");
    let layers = f32s("image", "?,?,?,?")
        + &format!("%w = Const-1 f32[2,3,8,8] <{}>\n%p = Const-1 f32[1,16,2] <{}>\n", zeros(384), zeros(32))
        + "%c = Convolution-1(%image, %w) {strides: [8, 8], pads_begin: [0, 0], pads_end: [0, 0], \
           dilations: [1, 1], auto_pad: explicit}\n%flat = Const-1 i64[3] <0, 2, -1>\n\
           %r = Reshape-1(%c, %flat) {special_zero: true}\n%order = Const-1 i64[3] <0, 2, 1>\n\
           %t = Transpose-1(%r, %order)\n%s = Add-1(%t, %p) {auto_broadcast: numpy}\n%y = Result-1(%s)";
    // One window is enough, because it broadcasts with the table.
    assert_eq!(sizes(&layers, DimPolicy::Fitting(0)), [[1, 3, 8, 8]]);
    let with_class = "%class = Const-1 f32[1,1,2] <0, 0>\n%all = Concat-1(%class, %t) {axis: 1}\n\
                      %p17 = Const-1 f32[1,17,2] <0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
                      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>\n%s = Add-1(%all, %p17)";
    let layers = layers.replace("%s = Add-1(%t, %p)", with_class);
    assert_eq!(sizes(&layers, DimPolicy::Fitting(0)), [[1, 3, 32, 32]]);
}

/// Rows that are reordered in groups of four, with masks of rows, as in the vision part of a language model.
fn groups() -> String {
    f32s("rows", "?,6")
        + &f32s("mask", "1,?,?")
        + &i64s("order", "?")
        + &f32s("angles", "?,?")
        + "%0 = Const-1 i64[] <0>\n%four = Const-1 i64[] <4>\n%first = Const-1 i64[1] <0>\n\
           %shape = ShapeOf-3(%rows) {output_type: i64}\n%n = Gather-8(%shape, %0, %0) {batch_dims: 0}\n\
           %groups = Divide-1(%n, %four) {auto_broadcast: numpy, m_pythondiv: true}\n\
           %g1 = Unsqueeze-1(%groups, %0)\n%four1 = Const-1 i64[1] <4>\n%rest = Const-1 i64[1] <-1>\n\
           %split = Concat-1(%g1, %four1, %rest) {axis: 0}\n\
           %in = Reshape-1(%rows, %split) {special_zero: false}\n\
           %moved = Gather-8(%in, %order, %0) {batch_dims: 0}\n%n1 = Unsqueeze-1(%n, %0)\n\
           %join = Concat-1(%n1, %rest) {axis: 0}\n%back = Reshape-1(%moved, %join) {special_zero: false}\n\
           %ain = Reshape-1(%angles, %split) {special_zero: false}\n\
           %amoved = Gather-8(%ain, %order, %0) {batch_dims: 0}\n\
           %aback = Reshape-1(%amoved, %join) {special_zero: false}\n\
           %both = Concat-1(%aback, %aback) {axis: 1}\n%turned = Multiply-1(%back, %both)\n\
           %scores = MatMul-1(%turned, %turned) {transpose_a: false, transpose_b: true}\n\
           %masked = Add-1(%scores, %mask)\n%y = Result-1(%masked)"
}

#[test]
fn groups_are_whole_and_masks_cover_them() {
    let all = drawn(&groups(), DimPolicy::Fitting(0));
    assert_eq!(all[0].0, [4, 6]);
    assert_eq!(all[1].0, [1, 4, 4]);
    assert_eq!(all[2], (vec![1], vec![0]));
    assert_eq!(all[3].0.iter().product::<usize>(), 4 * 3);
    let all = drawn(&groups(), DimPolicy::Fitting(1));
    assert!(all[0].0[0] >= 4 && all[2].1.iter().all(|&index| index < all[0].0[0] as i64 / 4));
}

#[test]
fn a_mask_covers_past_and_present() {
    let layers = f32s("past", "B,?,8")
        + &f32s("new", "C,?,8")
        + &f32s("mask", "?,1,?")
        + "%keys = Concat-1(%past, %new) {axis: 1}\n\
           %scores = MatMul-1(%new, %keys) {transpose_a: false, transpose_b: true}\n\
           %masked = Add-1(%scores, %mask)\n%y = Result-1(%masked)";
    assert_eq!(sizes(&layers, DimPolicy::Fitting(0)), [[1, 1, 8], [1, 1, 8], [1, 1, 2]]);
}

#[test]
fn indices_lie_in_the_axis_whatever_is_added_to_them() {
    let layers = i64s("beams", "?")
        + &i64s("positions", "30")
        + &f32s("cache", "?,3")
        + "%0 = Const-1 i64[] <0>\n%two = Const-1 i64[] <2>\n\
           %table = Const-1 f32[4,1] <1, 2, 3, 4>\n%c = Convert-1(%positions) {destination_type: i32}\n\
           %two32 = Const-1 i32[] <2>\n%shifted = Add-1(%c, %two32)\n\
           %a = Gather-8(%table, %shifted, %0) {batch_dims: 0}\n\
           %b = Gather-8(%cache, %beams, %0) {batch_dims: 0}\n%y = Result-1(%a)\n%z = Result-1(%b)";
    let all = drawn(&layers, DimPolicy::Fitting(0));
    assert_eq!(all[0].1, [0]);
    assert!(all[1].1.iter().all(|index| (0..2).contains(index)) && all[1].1.contains(&1));
}

#[test]
fn integers_that_are_a_shape_hold_the_elements() {
    let layers = f32s("data", "?,6")
        + &i64s("to", "2")
        + &i64s("k", "")
        + "%r = Reshape-1(%data, %to) {special_zero: false}\n\
           %t:2 = TopK-11(%r, %k) {axis: 1, mode: max, sort: value, index_element_type: i32}\n\
           %last = Const-1 f32[3] <1, 2, 3>\n%s = Add-1(%r, %last)\n%y = Result-1(%s)\n%z = Result-1(%t:0)";
    let all = drawn(&layers, DimPolicy::Fitting(0));
    let (rows, to, k) = (all[0].0[0] as i64, &all[1].1, all[2].1[0]);
    assert_eq!(to.iter().product::<i64>(), rows * 6);
    assert!((to[1] == 3 || to[1] == 1) && (1..=to[1]).contains(&k), "{to:?} {k}");
}

#[test]
fn the_search_for_sizes_ends() {
    // No sizes satisfy all of these conditions: each change breaks a condition that another change satisfies.
    let cut = |i: usize| format!("%s{i}:2 = Split-1(%c{i}, %0) {{num_splits: 2}}\n");
    let join = |i: usize| format!("%c{i} = Concat-1(%x{i}, %x{}, %one) {{axis: 0}}\n", (i + 1) % 40);
    let layers: String = (0..40).map(|i| f32s(&format!("x{i}"), "?,1")).collect::<String>()
        + "%0 = Const-1 i64[] <0>\n%one = Const-1 f32[1,1] <1>\n"
        + &(0..40).map(|i| join(i) + &cut(i)).collect::<String>()
        + "%y = Add-1(%x0, %x39) {auto_broadcast: none}";
    let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
    assert_eq!(infer(&mut graph), []);
    let inputs = draw_inputs(&graph, Vec::new(), 7, DimPolicy::Fitting(0)).unwrap();
    assert!(inputs.iter().all(|tensor| tensor.dims()[0] < 100));
}

#[test]
fn a_mask_covers_the_initial_value_of_a_variable() {
    let layers = i64s("ids", "?,?")
        + &i64s("mask", "?,?")
        + &i64s("order", "?")
        + "%0 = Const-1 i64[] <0>\n%1 = Const-1 i64[] <1>\n%first = Const-1 i64[1] <0>\n\
           %zero = Const-1 f32[] <0>\n%shape = ShapeOf-3(%ids) {output_type: i64}\n\
           %n = Gather-8(%shape, %first, %0) {batch_dims: 0}\n\
           %past = Const-1 i64[1] <128>\n%to = Concat-1(%n, %past) {axis: 0}\n\
           %init = Broadcast-3(%zero, %to) {mode: numpy}\n\
           %read = ReadValue-6(%init) {variable_id: \"v\", variable_type: f32, variable_shape: \"?,?\"}\n\
           %old = Gather-8(%read, %order, %0) {batch_dims: 0}\n\
           %new = Convert-1(%ids) {destination_type: f32}\n%all = Concat-1(%old, %new) {axis: 1}\n\
           %sizes = ShapeOf-3(%all) {output_type: i64}\n%count = Gather-8(%sizes, %1, %0) {batch_dims: 0}\n\
           %counted = Range-4(%0, %count, %1) {output_type: i64}\n\
           %places = Unsqueeze-1(%counted, %first)\n%of = Convert-1(%places) {destination_type: i32}\n\
           %masked = Gather-8(%mask, %of, %1) {batch_dims: 0}\n\
           %put = Assign-6(%all) {variable_id: \"v\"}\n%y = Result-1(%masked)";
    let drawn = drawn(&layers, DimPolicy::Fitting(0));
    assert_eq!(drawn[1].0, [1, 129]);
    assert_eq!(drawn[2], (vec![1], vec![0]));
}

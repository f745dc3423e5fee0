//! ONNX models for older opsets.

use snick_emit::onnx::{OnnxFiles, for_opset};
use snick_ir::{Located, OpError, infer, onnx_opsets, text};
use snick_onnx::{Graph, Node};
use snick_run::{Options, Session};
use snick_tensor::{ElementType, Storage, Tensor};

use crate::files;

/// The model that is written for these layers.
fn written(layers: &str, opset: i64) -> Result<Graph, Box<Located>> {
    let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
    assert_eq!(infer(&mut graph), []);
    Ok(checked(&for_opset(&graph, "g.onnx.data", opset)?, opset))
}

/// The model, of the IR version that belongs to the opset, and with every node in the table of operators.
fn checked(written: &OnnxFiles, opset: i64) -> Graph {
    let model = snick_onnx::decode(written.model.to_bytes().into()).unwrap();
    assert_eq!(model.ir_version, onnx_opsets::ir_version(opset));
    assert_eq!(model.opset_import[0].version, Some(opset));
    let graph = model.graph.unwrap();
    check(&graph, opset);
    graph
}

/// Checks versions, attributes and numbers of inputs.
fn check(graph: &Graph, opset: i64) {
    for node in &graph.node {
        let operator = &*node.op_type;
        let version =
            onnx_opsets::version(operator, opset).unwrap_or_else(|| panic!("{operator} in {opset}"));
        assert!(!version.is_deprecated, "{operator}");
        assert!(version.max_inputs().is_none_or(|most| node.input.len() <= most), "inputs of {operator}");
        for other in onnx_opsets::versions(operator) {
            let unknown = if other.since > opset { &other.added } else { &other.dropped };
            let found = node.attribute.iter().find(|attribute| unknown.contains(&&*attribute.name));
            assert!(found.is_none(), "{found:?} of {operator} in {opset}");
        }
        node.attribute.iter().filter_map(|attribute| attribute.g.as_deref()).for_each(|g| check(g, opset));
    }
}

/// The operators that are written for these layers.
fn operators(layers: &str, opset: i64) -> Vec<String> {
    written(layers, opset).unwrap().node.into_iter().map(|node| node.op_type).collect()
}

/// The layer, the operation and the opset that a refusal names.
fn refusal(layers: &str, opset: i64) -> (String, String, Option<String>) {
    let error = written(layers, opset).unwrap_err();
    match error.error {
        OpError::NeedsRelease { since, .. } => (error.layer, error.op, since),
        other => panic!("{other}"),
    }
}

fn refused_since(layers: &str, opset: i64, since: &str) {
    assert_eq!(refusal(layers, opset).2.as_deref(), Some(since), "{layers}");
    assert!(written(layers, since.trim_start_matches("opset ").parse().unwrap()).is_ok(), "{layers}");
}

fn integers(node: &Node, name: &str) -> Option<Vec<i64>> {
    node.attribute.iter().find(|attribute| attribute.name == name).map(|attribute| attribute.ints.clone())
}

const IMAGE: &str = "%x = Parameter-1 {element_type: f32, shape: \"N,4,6,8\"}\n";

fn of_image(layer: &str) -> String {
    format!("{IMAGE}{layer}\n%r = Result-1(%y)")
}

#[test]
fn axes_are_attributes_in_older_sets() {
    let reduce =
        |op| of_image(&format!("%a = Const-1 i64[2] <1, -1>\n%y = {op}(%x, %a) {{keep_dims: false}}"));
    for (layers, moved, since) in [
        (of_image("%a = Const-1 i64[1] <1>\n%y = Unsqueeze-1(%x, %a)"), "axes", 13),
        (of_image("%a = Const-1 i64[1] <0>\n%y = Squeeze-1(%x, %a)").replace("N,", "1,"), "axes", 13),
        (reduce("ReduceSum-1"), "axes", 13),
        (reduce("ReduceMean-1"), "axes", 18),
        (reduce("ReduceMax-1"), "axes", 18),
        (
            of_image(
                "%a = Const-1 i64[] <1>\n%l = Const-1 i64[2] <1, 3>\n%y = VariadicSplit-1(%x, %a, %l)\n%s = Result-1(%y:1)",
            ),
            "split",
            13,
        ),
    ] {
        for opset in [11, 13, 15, 17, 18, 21] {
            let node = written(&layers, opset).unwrap().node.remove(0);
            let count = if opset < since { 1 } else { 2 };
            assert_eq!(node.input.len(), count, "{} in {opset}", node.op_type);
            assert_eq!(integers(&node, moved).is_some(), opset < since, "{} in {opset}", node.op_type);
        }
    }
    // The layer reduces nothing, older operators would reduce everything.
    let nothing = of_image("%a = Const-1 i64[0] <>\n%y = ReduceMean-1(%x, %a) {keep_dims: false}");
    assert_eq!(
        (operators(&nothing, 17), operators(&nothing, 18)),
        (vec!["Identity".into()], vec!["ReduceMean".into()])
    );
    let dynamic = "%x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n\
                   %a = Parameter-1 {element_type: i64, shape: \"1\"}\n%y = ReduceMean-1(%x, %a) {keep_dims: true}\n\
                   %r = Result-1(%y)";
    refused_since(dynamic, 17, "opset 18");
}

#[test]
fn parts_of_a_split_need_no_number_in_older_sets() {
    let split = of_image("%a = Const-1 i64[] <0>\n%y = Split-1(%x, %a) {num_splits: 2}\n%s = Result-1(%y:1)");
    let of = |opset| written(&split, opset).unwrap().node.remove(0).attribute.len();
    assert_eq!((of(11), of(17), of(18)), (1, 1, 2));
    let computed = of_image(
        "%a = Const-1 i64[] <1>\n%l = Parameter-1 {element_type: i64, shape: \"2\"}\n\
         %y = VariadicSplit-1(%x, %a, %l)\n%s = Result-1(%y:1)",
    );
    let last = |opset| operators(&computed, opset).pop().unwrap();
    assert_eq!((last(11), last(12), last(13)), ("Slice".into(), "Slice".into(), "Split".into()));
}

#[test]
fn sizes_of_zero_mean_empty_axes() {
    let reshape = |shape: &str, sizes: &str| {
        format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n%s = ShapeOf-3(%x) {{output_type: i64}}\n\
             %zero = Const-1 i64[] <0>\n%i = Const-1 i64[1] <0>\n%n = Gather-8(%s, %i, %zero)\n\
             %k = Const-1 i64[1] <2>\n{sizes}\n%y = Reshape-1(%x, %t) {{special_zero: false}}\n%r = Result-1(%y)"
        )
    };
    let computed = reshape("N,M", "%t = Concat-1(%s, %i) {axis: 0}")
        .replace("%i = Const-1 i64[1] <0>", "%i = Const-1 i64[1] <1>");
    let last = |layers: &str, opset| operators(layers, opset).pop().unwrap();
    // Each size equals the size of the data or 1.
    assert_eq!(last(&computed, 11), "Reshape");
    let split = reshape("N,4", "%h = Const-1 i64[1] <2>\n%t = Concat-1(%n, %k, %h) {axis: 0}");
    assert_eq!(last(&split, 11), "Reshape");
    let merged =
        reshape("N,M", "%p = ReduceProd-1(%s, %zero) {keep_dims: true}\n%t = Concat-1(%k, %p) {axis: 0}")
            .replace("%k = Const-1 i64[1] <2>", "%k = Const-1 i64[1] <1>");
    assert_eq!((last(&merged, 13), last(&merged, 14)), ("If".into(), "Reshape".into()));
    let empty = reshape("0,3", "%t = Const-1 i64[2] <3, 0>");
    assert_eq!((last(&empty, 11), last(&empty, 14)), ("If".into(), "Reshape".into()));
}

#[test]
fn softmax_of_older_sets_is_over_all_later_axes() {
    let softmax = |axis: i64| of_image(&format!("%y = SoftMax-8(%x) {{axis: {axis}}}"));
    assert_eq!(operators(&softmax(1), 12), ["Transpose", "Softmax", "Transpose"]);
    assert_eq!(operators(&softmax(-1), 12), ["Softmax"]);
    assert_eq!(operators(&softmax(1), 13), ["Softmax"]);
    let log = of_image("%y = LogSoftmax-5(%x) {axis: -3}");
    assert_eq!(operators(&log, 11), ["Transpose", "LogSoftmax", "Transpose"]);
}

#[test]
fn resize_of_older_sets_has_all_inputs() {
    let resize = of_image(
        "%s = Const-1 i64[2] <3, 9>\n%a = Const-1 i64[2] <2, 3>\n\
         %y = Interpolate-11(%x, %s, %a) {mode: nearest, shape_calculation_mode: sizes}",
    );
    let missing = |opset| {
        let nodes = written(&resize, opset).unwrap().node;
        nodes
            .iter()
            .filter(|node| node.op_type == "Resize")
            .flat_map(|node| &node.input)
            .filter(|input| input.is_empty())
            .count()
    };
    assert_eq!((missing(11), missing(13)), (0, 2));
}

#[test]
fn operators_that_older_sets_lack_are_decomposed() {
    for (layer, since, operator) in [
        ("%y = Gelu-7(%x) {approximation_mode: ERF}", 20, "Gelu"),
        ("%y = Gelu-7(%x) {approximation_mode: TANH}", 20, "Gelu"),
        ("%y = HSwish-4(%x)", 14, "HardSwish"),
        (
            "%g = Parameter-1 {element_type: f32, shape: \"N,3,3,2\"}\n\
             %y = GridSample-9(%x, %g) {align_corners: true, mode: bilinear, padding_mode: zeros}",
            16,
            "GridSample",
        ),
        ("%y = Mish-4(%x)", 18, "Mish"),
        ("%y = GreaterEqual-1(%x, %x) {auto_broadcast: numpy}", 12, "GreaterOrEqual"),
        (
            "%s = Const-1 f32[4] <1, 2, 3, 4>\n%y = GroupNormalization-12(%x, %s, %s) {num_groups: 2, epsilon: 0.1}",
            21,
            "GroupNormalization",
        ),
    ] {
        for opset in [11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22] {
            let has_operator = operators(&of_image(layer), opset).iter().any(|found| found == operator);
            assert_eq!(has_operator, opset >= since, "{operator} in {opset}");
        }
    }
}

#[test]
fn extremes_of_integers_are_selected_in_the_oldest_set() {
    let x = "%x = Parameter-1 {element_type: i64, shape: \"3\"}\n";
    let extreme = format!("{x}%y = Maximum-1(%x, %x) {{auto_broadcast: numpy}}\n%r = Result-1(%y)");
    assert_eq!(
        (operators(&extreme, 11), operators(&extreme, 12)),
        (vec!["Greater".into(), "Where".into()], vec!["Max".into()])
    );
    let clamp = format!("{x}%y = Clamp-1(%x) {{min: -1, max: 5}}\n%r = Result-1(%y)");
    assert_eq!(operators(&clamp, 11), ["Greater", "Where", "Less", "Where"]);
    assert_eq!(operators(&clamp, 12), ["Clip"]);
    let pool = "%x = Parameter-1 {element_type: u8, shape: \"1,2,4,4\"}\n%y = MaxPool-8(%x) {kernel: [2,2], \
                strides: [1,1], pads_begin: [0,0], pads_end: [0,0], dilations: [1,1], index_element_type: i64, axis: 0}\n\
                %r = Result-1(%y)";
    assert_eq!(
        (operators(pool, 11), operators(pool, 12)),
        (["Cast", "MaxPool", "Cast"].map(String::from).into(), vec!["MaxPool".into()])
    );
    // The bounds of a slice are compared, too.
    let slice = "%x = Parameter-1 {element_type: f32, shape: \"?\"}\n%a = Parameter-1 {element_type: i64, shape: \"1\"}\n\
                 %b = Parameter-1 {element_type: i64, shape: \"1\"}\n%s = Const-1 i64[1] <-1>\n\
                 %y = Slice-8(%x, %a, %b, %s)\n%r = Result-1(%y)";
    assert_eq!(operators(slice, 11), ["Less", "Where", "Slice"]);
    let mode = |opset| {
        let grid = "%x = Parameter-1 {element_type: f32, shape: \"1,2,4,4\"}\n%g = Parameter-1 {element_type: f32, shape: \"1,3,3,2\"}\n\
                    %y = GridSample-9(%x, %g) {align_corners: true, mode: bilinear, padding_mode: zeros}\n%r = Result-1(%y)";
        let node = written(grid, opset).unwrap().node.remove(0);
        node.attribute.into_iter().find(|attribute| attribute.name == "mode").unwrap().s.unwrap()
    };
    assert_eq!((&mode(16)[..], &mode(20)[..]), (&b"bilinear"[..], &b"linear"[..]));
}

#[test]
fn refusals_name_the_oldest_set_that_has_a_layer() {
    let bf16 = "%x = Parameter-1 {element_type: bf16, shape: \"2\"}\n%y = Exp-1(%x)\n%r = Result-1(%y)";
    assert_eq!(refusal(bf16, 12), ("x".into(), "Parameter".into(), Some("opset 13".into())));
    assert_eq!(operators(bf16, 13), ["Cast", "Exp", "Cast"]);
    let scatter = |reduction: &str| {
        format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"4,3\"}}\n%i = Parameter-1 {{element_type: i64, shape: \"2,1\"}}\n\
             %u = Parameter-1 {{element_type: f32, shape: \"2,3\"}}\n%y = ScatterNDUpdate-15(%x, %i, %u) {{reduction: {reduction}}}\n\
             %r = Result-1(%y)"
        )
    };
    assert_eq!(operators(&scatter("none"), 11), ["ScatterND"]);
    for (reduction, since) in [("sum", 16), ("prod", 16), ("max", 18), ("min", 18)] {
        let last = |opset| operators(&scatter(reduction), opset).pop().unwrap();
        assert_eq!(
            (last(11), last(since - 1), last(since)),
            ("Loop".into(), "Loop".into(), "ScatterND".into())
        );
    }
    let bits = "%x = Parameter-1 {element_type: u64, shape: \"4\"}\n%y = BitwiseAnd-13(%x, %x) {auto_broadcast: numpy}\n%r = Result-1(%y)";
    refused_since(bits, 17, "opset 18");
    // No operator set has it.
    let variable = "%x = Parameter-1 {element_type: f32, shape: \"4\"}\n%v = ReadValue-6(%x) {variable_id: \"v\", variable_type: f32, \
                    variable_shape: \"4\"}\n%w = Assign-6(%v) {variable_id: \"v\"}\n%r = Result-1(%v)";
    assert_eq!(refusal(variable, 11), ("v".into(), "ReadValue".into(), None));
    let unranked = "%x = Parameter-1 {element_type: f32, shape: \"...\"}\n%y = Exp-1(%x)\n%r = Result-1(%y)";
    assert_eq!(refusal(unranked, 17), ("x".into(), "Parameter".into(), None));
}

#[test]
fn layers_of_bodies_are_for_the_operator_set_too() {
    let branches = |layer: &str| {
        format!(
            "%c = Parameter-1 {{element_type: boolean, shape: \"\"}}\n%x = Parameter-1 {{element_type: f32, shape: \"2,3\"}}\n\
             %if = If-8(%c, %x) {{inputs: [\"1 -> 0\"], outputs: [\"0 -> 0\"], back_edges: [], else_inputs: [\"1 -> 0\"],\n\
             else_outputs: [\"0 -> 0\"], else_back_edges: []}} : f32[2,3]\nthen_body graph \"\" {{\n\
             %x = Parameter-1 {{element_type: f32, shape: \"2,3\"}}\n{layer}\n%r = Result-1(%y)\n}}\n\
             else_body graph \"\" {{\n%x = Parameter-1 {{element_type: f32, shape: \"2,3\"}}\n%y = Abs-1(%x)\n%r = Result-1(%y)\n}}\n\
             %r = Result-1(%if)"
        )
    };
    written(&branches("%y = Gelu-7(%x) {approximation_mode: ERF}"), 11).unwrap();
    written(&branches("%y = SoftMax-8(%x) {axis: 0}"), 11).unwrap();
    let einsum = "%y = Einsum-7(%x, %x) {equation: \"ij,ij->ij\"}";
    assert_eq!(refusal(&branches(einsum), 11), ("y".into(), "Einsum".into(), Some("opset 12".into())));
}

#[test]
fn constants_of_newer_types_are_converted() {
    let weights = "%w = Const-1 u4[4] <1, 2, 3, 15>\n%x = Parameter-1 {element_type: f32, shape: \"4\"}\n\
                   %c = Convert-1(%w) {destination_type: f32}\n%y = Multiply-1(%x, %c) {auto_broadcast: numpy}\n%r = Result-1(%y)";
    assert_eq!(
        (operators(weights, 20), operators(weights, 21)),
        (vec!["Mul".into()], ["Cast", "Mul"].map(String::from).into())
    );
    let wider = weights.replace("u4[4] <1, 2, 3, 15>", "u2[4] <1, 2, 3, 0>");
    assert_eq!(
        (operators(&wider, 24), operators(&wider, 25)),
        (vec!["Mul".into()], ["Cast", "Mul"].map(String::from).into())
    );
}

/// What the layers compute before and after they are written for the oldest opset.
fn before_and_after(layers: &str, data: &[Tensor]) -> [Vec<f64>; 2] {
    let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}\n}}\n"), None).unwrap();
    assert_eq!(infer(&mut graph), []);
    let written = for_opset(&graph, "g.onnx.data", 11).unwrap();
    let again = snick_read::onnx::read(&Storage::heap(written.model.to_bytes()), None, "g.onnx").unwrap();
    let mut again = again.graph;
    assert_eq!(infer(&mut again), []);
    [&graph, &again].map(|graph| {
        let session = Session::new(graph).unwrap();
        let outputs = session.run(data, Options::default()).complete().unwrap();
        outputs.iter().flat_map(|output| output.to_f64_vec().unwrap()).collect()
    })
}

#[test]
fn bits_of_integers_stay_the_same() {
    let numbers = [
        0,
        1,
        -1,
        2,
        77,
        -128,
        127,
        12345,
        -54321,
        i64::from(i32::MAX),
        i64::MIN,
        i64::MAX,
        1 << 32,
        -(1 << 31),
    ];
    for element_type in [
        ElementType::I8,
        ElementType::U8,
        ElementType::I16,
        ElementType::U32,
        ElementType::I32,
        ElementType::I64,
    ] {
        let fits = |number: &&i64| {
            element_type.integer_range().is_some_and(|(least, most)| (least..=most).contains(*number))
        };
        let numbers: Vec<i64> = numbers.iter().filter(fits).copied().collect();
        let count = numbers.len();
        let column = Tensor::from_vec(&[count, 1], numbers.clone()).unwrap().cast(element_type).unwrap();
        let row = Tensor::from_vec(&[count], numbers).unwrap().cast(element_type).unwrap();
        for op in ["And", "Or", "Xor"] {
            // Doubles would hide the low bits.
            let layers = format!(
                "%x = Parameter-1 {{element_type: {element_type}, shape: \"?,1\"}}\n\
                 %y = Parameter-1 {{element_type: {element_type}, shape: \"?\"}}\n\
                 %b = Bitwise{op}-13(%x, %y) {{auto_broadcast: numpy}}\n%w = Convert-1(%b) {{destination_type: i64}}\n\
                 %k = Const-1 i64[] <65536>\n%h = FloorMod-1(%w, %k) {{auto_broadcast: numpy}}\n%r = Result-1(%b)\n%s = Result-1(%h)"
            );
            let [before, after] = before_and_after(&layers, &[column.clone(), row.clone()]);
            assert_eq!(before, after, "{op} of {element_type}");
        }
    }
}

#[test]
fn outputs_of_rewritten_layers_stay_the_same() {
    let data = |dims: &[usize]| {
        let count = dims.iter().product();
        Tensor::from_vec(dims, (0..count).map(|i| ((i * 7 + 3) % 11) as f32 - 4.5).collect()).unwrap()
    };
    let ints = |dims: &[usize], values: &[i64]| Tensor::from_vec(dims, values.to_vec()).unwrap();
    let x = "%x = Parameter-1 {element_type: f32, shape: \"4,3\"}\n";
    let mut cases: Vec<(String, Vec<Tensor>)> = Vec::new();
    for reduction in ["sum", "prod", "max", "min"] {
        let indices = "%i = Parameter-1 {element_type: i64, shape: \"2,3,1\"}\n%u = Parameter-1 {element_type: f32, shape: \"2,3,3\"}\n";
        let scatter = format!(
            "{x}{indices}%y = ScatterNDUpdate-15(%x, %i, %u) {{reduction: {reduction}}}\n%r = Result-1(%y)"
        );
        cases.push((scatter, vec![data(&[4, 3]), ints(&[2, 3, 1], &[1, -1, 1, 0, 1, 3]), data(&[2, 3, 3])]));
        let indices = "%i = Parameter-1 {element_type: i64, shape: \"3,2\"}\n%u = Parameter-1 {element_type: f32, shape: \"3,2\"}\n";
        let scatter = format!(
            "{x}{indices}%a = Const-1 i64[] <1>\n%y = ScatterElementsUpdate-12(%x, %i, %u, %a) \
             {{reduction: {reduction}, use_init_val: true}}\n%r = Result-1(%y)"
        );
        cases.push((scatter, vec![data(&[4, 3]), ints(&[3, 2], &[1, 1, -1, 2, 0, 0]), data(&[3, 2])]));
    }
    let split = "%x = Parameter-1 {element_type: f32, shape: \"?,3\"}\n%l = Parameter-1 {element_type: i64, shape: \"3\"}\n\
                 %a = Const-1 i64[] <0>\n%y = VariadicSplit-1(%x, %a, %l)\n\
                 %r = Result-1(%y)\n%s = Result-1(%y:1)\n%t = Result-1(%y:2)";
    cases.push((split.into(), vec![data(&[4, 3]), ints(&[3], &[1, -1, 1])]));
    let merged = "%x = Parameter-1 {element_type: f32, shape: \"N,M\"}\n%s = ShapeOf-3(%x) {output_type: i64}\n\
                  %zero = Const-1 i64[1] <0>\n%k = Const-1 i64[1] <1>\n%p = ReduceProd-1(%s, %zero) {keep_dims: true}\n\
                  %t = Concat-1(%k, %p) {axis: 0}\n%y = Reshape-1(%x, %t) {special_zero: false}\n\
                  %z = ShapeOf-3(%y) {output_type: i64}\n%r = Result-1(%y)\n%q = Result-1(%z)";
    cases.push((merged.into(), vec![data(&[4, 3])]));
    cases.push((merged.into(), vec![data(&[0, 3])]));
    for layer in
        ["SoftMax-8(%x) {axis: 0}", "LogSoftmax-5(%x) {axis: 0}", "Gelu-7(%x) {approximation_mode: TANH}"]
    {
        cases.push((format!("{x}%y = {layer}\n%r = Result-1(%y)"), vec![data(&[4, 3])]));
    }
    for (layers, data) in cases {
        let [before, after] = before_and_after(&layers, &data);
        assert_eq!(before.len(), after.len(), "{layers}");
        let is_near = |(x, y): (&f64, &f64)| (x - y).abs() < 1e-5;
        assert!(before.iter().zip(&after).all(is_near), "{layers}\n{before:?}\n{after:?}");
    }
}

#[test]
fn what_is_written_is_in_the_table() {
    let mut count = 0;
    for path in files::ops_and_models() {
        let mut graph = snick::load(&path).unwrap().into_graph();
        if !infer(&mut graph).is_empty() {
            continue;
        }
        for opset in [11, 13, 15, 17, 18] {
            match for_opset(&graph, "g.onnx.data", opset) {
                Ok(written) => {
                    checked(&written, opset);
                    count += 1;
                }
                Err(error) => assert!(
                    matches!(error.error, OpError::NeedsRelease { .. }),
                    "{} in {opset}: {error}",
                    files::name(&path)
                ),
            }
        }
    }
    assert!(count > 200, "{count}");
}

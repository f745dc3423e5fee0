//! Tests of models that are built message by message.

mod attributes;
mod external_data;
mod resize;

use bytes::Bytes;
use snick_ir::{Format, Op, Registry, ShapeRule};
use snick_onnx as onnx;
use snick_tensor::Storage;

use crate::{Read, ReadError, Reader};

fn value(name: &str, dims: &[&str]) -> onnx::ValueInfo {
    let dim = |text: &&str| {
        let value = match text.parse() {
            Ok(size) => onnx::DimValue::Value(size),
            Err(_) => onnx::DimValue::Param(text.to_string()),
        };
        onnx::Dim { value: Some(value) }
    };
    let shape = Some(onnx::Shape { dim: dims.iter().map(dim).collect() });
    let tensor = Some(onnx::TensorType { elem_type: 1, shape });
    onnx::ValueInfo { name: name.into(), ty: Some(onnx::Type { tensor }) }
}

fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> onnx::Node {
    let list = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    onnx::Node { op_type: op.into(), input: list(inputs), output: list(outputs), ..onnx::Node::default() }
}

fn vector(name: &str, values: &[i64]) -> onnx::Tensor {
    let (dims, int64_data) = (vec![values.len() as i64], values.to_vec());
    onnx::Tensor { name: name.into(), dims, int64_data, data_type: Some(7), ..onnx::Tensor::default() }
}

fn model(node: Vec<onnx::Node>, initializer: Vec<onnx::Tensor>) -> onnx::Model {
    let (input, output) = (vec![value("x", &["batch size", "10"])], vec![value("y", &[])]);
    let graph = onnx::Graph { node, initializer, input, output, ..onnx::Graph::default() };
    let opset = onnx::OperatorSet { domain: String::new(), version: Some(17) };
    onnx::Model { graph: Some(graph), opset_import: vec![opset], ..onnx::Model::default() }
}

fn read(model: &onnx::Model) -> Result<Read, ReadError> {
    let folder = std::env::temp_dir();
    super::read(&Storage::heap(onnx::encode(model)), Some(&folder), "m.onnx")
}

fn shape_of_output(model: &onnx::Model) -> String {
    let mut read = read(model).unwrap();
    assert!(read.errors.is_empty(), "{:?}", read.errors);
    assert_eq!(snick_ir::infer(&mut read.graph), []);
    let result = read.graph.results().next().unwrap();
    let shape = &read.graph.node(result).outs()[0].fact.shape;
    shape.display(read.graph.symbols()).to_string()
}

fn refusal(model: &onnx::Model) -> String {
    match read(model) {
        Err(error) => error.to_string(),
        Ok(read) => read.errors.first().map(ToString::to_string).unwrap_or_default(),
    }
}

#[test]
fn slices_have_axes_before_steps() {
    let constants = vec![vector("s", &[1]), vector("e", &[i64::MAX]), vector("a", &[1]), vector("k", &[3])];
    let slice = node("Slice", &["x", "s", "e", "a", "k"], &["y"]);
    assert_eq!(shape_of_output(&model(vec![slice], constants.clone())), "[batch_size,3]");
    let skipped = node("Slice", &["x", "s", "e", "", "s"], &["y"]);
    assert_eq!(shape_of_output(&model(vec![skipped], constants)), "[max(batch_size-1,0),10]");
}

#[test]
fn nodes_of_other_domains_are_registered_ops() {
    let pad = onnx::Node { domain: "my.ops".into(), ..node("FancyPad", &["x"], &["y"]) };
    let bytes = onnx::encode(&model(vec![pad], vec![]));
    let mut registry = Registry::builtin();
    let rule = ShapeRule::new().attribute("by", 2).input("N,W").unwrap().output("N,W+by", None).unwrap();
    registry.register_shapes("my.ops", "FancyPad", rule);
    let mut read =
        Reader::new().ops(&registry).bytes(Format::Onnx, &Storage::heap(bytes), None, "m.onnx").unwrap();
    assert_eq!((read.errors.len(), read.notes.len()), (0, 0));
    assert_eq!(snick_ir::infer(&mut read.graph), []);
    let result = read.graph.results().next().unwrap();
    let shape = read.graph.node(result).outputs().next().unwrap().shape();
    assert_eq!(shape.display(read.graph.symbols()).to_string(), "[batch_size,12]");
}

#[test]
fn nodes_may_come_in_any_order() {
    let nodes = vec![node("Neg", &["a"], &["y"]), node("Abs", &["x"], &["a"])];
    assert_eq!(shape_of_output(&model(nodes, vec![])), "[batch_size,10]");
}

#[test]
fn functions_become_their_nodes() {
    let mut call = node("Twice", &["x"], &["y"]);
    call.domain = "mine".into();
    let mut model = model(vec![call.clone()], vec![]);
    let function = |node| onnx::Function {
        name: "Twice".into(),
        domain: "mine".into(),
        input: vec!["v".into(), "left_out".into()],
        output: vec!["w".into()],
        node,
        ..onnx::Function::default()
    };
    model.functions = vec![function(vec![node("Add", &["v", "v"], &["w"])])];
    let read = read(&model).unwrap();
    assert!(read.graph.ids().any(|id| matches!(read.graph.node(id).op(), Op::Arithmetic(_))));
    (call.input, call.output) = (vec!["v".into()], vec!["w".into()]);
    model.functions = vec![function(vec![call])];
    assert!(refusal(&model).contains("nested deeper than"));
}

#[test]
fn wrong_wires_are_named() {
    let text = |nodes| refusal(&model(nodes, vec![]));
    assert_eq!(
        text(vec![node("Abs", &["nobody"], &["y"])]),
        "m.onnx: node `y`: no node computes its input `nobody`"
    );
    let cycle = vec![node("Abs", &["b"], &["a"]), node("Neg", &["a"], &["b"]), node("Abs", &["x"], &["y"])];
    assert!(text(cycle).contains("node `a` depends on its own output"));
    let twice = vec![node("Abs", &["x"], &["y"]), node("Neg", &["x"], &["y"])];
    assert_eq!(text(twice), "m.onnx: value `y` is defined twice");
}

#[test]
fn data_are_checked_against_their_sizes() {
    let mut short = vector("s", &[1, 2]);
    short.dims = vec![3];
    let slice = node("Slice", &["x", "s", "s"], &["y"]);
    assert!(refusal(&model(vec![slice.clone()], vec![short])).contains("layer `s` (Const)"));
    for location in ["../secret", "/etc/passwd", "a/../../b", ""] {
        let entry = onnx::Entry { key: "location".into(), value: location.into() };
        let mut outside = vector("s", &[]);
        (outside.dims, outside.data_location, outside.external_data) = (vec![1], Some(1), vec![entry]);
        assert!(refusal(&model(vec![slice.clone()], vec![outside])).contains("a file next to the model"));
    }
    let bytes = onnx::encode(&model(vec![slice], vec![]));
    let cut = Storage::heap(bytes[..bytes.len() - 3].to_vec());
    assert!(super::read(&cut, None, "m").unwrap_err().to_string().starts_with("m: byte "));
}

#[test]
fn raw_data_are_views_of_the_file() {
    let mut constant = vector("s", &[]);
    (constant.dims, constant.raw_data) = (vec![1], Some(Bytes::from_static(&[1, 0, 0, 0, 0, 0, 0, 0])));
    let model = model(vec![node("Slice", &["x", "s", "s"], &["y"])], vec![constant]);
    let file = Storage::heap(onnx::encode(&model));
    let read = super::read(&file, None, "m").unwrap();
    let shared = read.graph.ids().any(|id| match read.graph.node(id).op() {
        Op::Const(snick_ir::ops::source::constant::Constant::Here(tensor)) => {
            tensor.storage().shares_with(&file)
        }
        _ => false,
    });
    assert!(shared);
}

fn bytes_refused(bytes: &[u8]) -> String {
    super::read(&Storage::heap(bytes.to_vec()), None, "m").err().map(|e| e.to_string()).unwrap_or_default()
}

/// A length-delimited field of a protobuf message.
fn field(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag << 3 | 2];
    let mut length = content.len();
    while length > 0x7f {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(content);
    bytes
}

#[test]
fn bytes_that_are_no_model_have_a_place() {
    assert!(bytes_refused(b"").contains("no graph"));
    // A graph field that is a number, a length beyond the end, and a group that is never closed.
    assert!(bytes_refused(&[7 << 3, 1]).starts_with("m: byte "));
    assert!(bytes_refused(&[7 << 3 | 2, 0xff, 0xff, 0xff, 0x7f]).starts_with("m: byte "));
    assert!(bytes_refused(&[7 << 3 | 3]).starts_with("m: byte "));
    assert!(bytes_refused(&[0xff; 40]).starts_with("m: byte "));
}

/// Subgraphs may be nested more deeply than the stack allows.
#[test]
fn nesting_is_bounded() {
    let mut graph = field(2, b"g");
    for _ in 0..10_000 {
        graph = field(1, &field(5, &field(6, &graph)));
    }
    assert!(bytes_refused(&field(7, &graph)).starts_with("m: byte "));
}

/// ONNX has types that snick does not support, such as INT2 and 6-bit floats.
#[test]
fn dims_of_types_that_snick_lacks_are_known() {
    for number in [26, 27, 28] {
        let mut cast = node("Cast", &["x"], &["y"]);
        let to = onnx::Attribute { name: "to".into(), i: Some(number), ..onnx::Attribute::default() };
        cast.attribute = vec![to];
        assert_eq!(shape_of_output(&model(vec![cast], vec![])), "[batch_size,10]");
        let small = onnx::Tensor { data_type: i32::try_from(number).ok(), ..vector("w", &[1, 2, 3]) };
        let mut read = read(&model(vec![node("Identity", &["w"], &["y"])], vec![small])).unwrap();
        assert_eq!(read.errors.len(), 1);
        assert_eq!(snick_ir::infer(&mut read.graph), []);
        let result = read.graph.results().next().unwrap();
        let shape = &read.graph.node(result).outs()[0].fact.shape;
        assert_eq!(shape.as_static().as_deref(), Some(&[3][..]));
    }
}

#[test]
fn absurd_sizes_are_refused() {
    let slice = node("Slice", &["x", "s", "s"], &["y"]);
    for dims in [vec![i64::MAX], vec![i64::MAX, i64::MAX], vec![-1], vec![1 << 40, 1 << 40]] {
        let mut huge = vector("s", &[]);
        huge.dims = dims;
        assert!(refusal(&model(vec![slice.clone()], vec![huge])).contains("layer `s` (Const)"));
    }
    let unknown = onnx::Tensor { data_type: Some(99), ..vector("s", &[1]) };
    assert!(refusal(&model(vec![slice], vec![unknown])).contains("ONNX data type 99"));
}

#[test]
fn wrong_counts_are_named() {
    let text = |node| refusal(&model(vec![node], vec![]));
    assert!(text(node("Slice", &["x"], &["y"])).contains("layer `y` (Slice): input 1"));
    assert!(text(node("Abs", &["x"], &["y", "z"])).contains("layer `y` (Abs): output 1"));
    let mut split = node("Split", &["x"], &["y"]);
    split.attribute =
        vec![onnx::Attribute { name: "num_outputs".into(), i: Some(i64::MAX), ..onnx::Attribute::default() }];
    assert!(text(split).contains("layer `y` (Split)"));
    let nothing = model(vec![], vec![]);
    assert_eq!(refusal(&nothing), "m.onnx: no node computes output `y`");
    let mut old = model(vec![node("Abs", &["x"], &["y"])], vec![]);
    old.opset_import[0].version = Some(10_000);
    assert!(refusal(&old).contains("operator set 10000 is not supported"));
}

fn scalar(name: &str, value: i64) -> onnx::Tensor {
    onnx::Tensor { dims: vec![], ..vector(name, &[value]) }
}

#[test]
fn sequences_are_resolved() {
    let int = |name: &str, value| onnx::Attribute {
        name: name.into(),
        i: Some(value),
        kind: Some(onnx::kind::INT),
        ..onnx::Attribute::default()
    };
    let with = |mut node: onnx::Node, attribute| {
        node.attribute = vec![attribute];
        node
    };
    // Splits columns into 0..4, 4..8 and 8..10, removes the second part, inserts a copy of the last part at
    // the front, and concatenates.
    let nodes = vec![
        with(node("SplitToSequence", &["x", "four"], &["s"]), int("axis", 1)),
        node("SequenceErase", &["s", "one"], &["t"]),
        node("SequenceAt", &["t", "last"], &["e"]),
        node("SequenceInsert", &["t", "e", "zero"], &["u"]),
        node("Identity", &["u"], &["v"]),
        with(node("ConcatFromSequence", &["v"], &["y"]), int("axis", 1)),
    ];
    let constants = vec![scalar("four", 4), scalar("one", 1), scalar("last", -1), scalar("zero", 0)];
    assert_eq!(shape_of_output(&model(nodes.clone(), constants.clone())), "[batch_size,8]");
    let far = [constants, vec![scalar("far", 7)]].concat();
    let mut wrong = nodes;
    wrong[2].input[1] = "far".into();
    assert!(refusal(&model(wrong, far)).contains("layer `e` (SequenceAt): a place in a sequence"));
    let dynamic = vec![
        node("SplitToSequence", &["x"], &["s"]),
        with(node("ConcatFromSequence", &["s"], &["y"]), int("axis", 1)),
    ];
    assert!(refusal(&model(dynamic, vec![])).contains("an unknown number of parts"));
    let empty = vec![node("SequenceEmpty", &[], &["s"]), node("SequenceLength", &["s"], &["y"])];
    assert_eq!(shape_of_output(&model(empty, vec![])), "[]");
}

/// A graph with these nodes, whose inputs and outputs have no declared types.
fn inner(node: Vec<onnx::Node>, inputs: &[&str], outputs: &[&str]) -> onnx::Graph {
    let infos = |names: &[&str]| {
        names.iter().map(|name| onnx::ValueInfo { name: name.to_string(), ty: None }).collect()
    };
    onnx::Graph { node, input: infos(inputs), output: infos(outputs), ..onnx::Graph::default() }
}

fn with_graphs(mut node: onnx::Node, graphs: Vec<(&str, onnx::Graph)>) -> onnx::Node {
    let attribute = |(name, graph): (&str, onnx::Graph)| onnx::Attribute {
        name: name.into(),
        g: Some(Box::new(graph)),
        kind: Some(onnx::kind::GRAPH),
        ..onnx::Attribute::default()
    };
    node.attribute.extend(graphs.into_iter().map(attribute));
    node
}

fn integer(name: &str, value: i64) -> onnx::Attribute {
    onnx::Attribute {
        name: name.into(),
        i: Some(value),
        kind: Some(onnx::kind::INT),
        ..onnx::Attribute::default()
    }
}

#[test]
fn graphs_inside_read_names_around_them() {
    // The nodes are not in execution order: the loop captures `a`, although `a` is not one of its inputs.
    let step = vec![
        node("Concat", &["s", "a", "ones"], &["t"]),
        node("Identity", &["go"], &["on"]),
        node("Identity", &["a"], &["u"]),
    ];
    let mut step = inner(step, &["i", "go", "s"], &["on", "t", "u"]);
    step.node[0].attribute.push(integer("axis", 0));
    let constants = || {
        vec![
            vector("trips", &[3]),
            onnx::Tensor {
                name: "ones".into(),
                dims: vec![2, 10],
                float_data: vec![1.0; 20],
                data_type: Some(1),
                ..onnx::Tensor::default()
            },
        ]
    };
    let repeated = with_graphs(node("Loop", &["trips", "", "x"], &["y", "stack"]), vec![("body", step)]);
    let nodes = vec![repeated, node("Abs", &["x"], &["a"])];
    assert_eq!(shape_of_output(&model(nodes.clone(), constants())), "[4*batch_size+6,10]");
    let mut stacked = nodes;
    stacked[0].output = vec![String::new(), "y".into()];
    assert_eq!(shape_of_output(&model(stacked, constants())), "[3,batch_size,10]");
}

#[test]
fn branches_become_one_op() {
    let then = inner(vec![node("Abs", &["x"], &["p"])], &[], &["p"]);
    let mut otherwise = inner(vec![node("Concat", &["x", "x"], &["q"])], &[], &["q"]);
    otherwise.node[0].attribute.push(integer("axis", 1));
    let nodes = |condition: &str| {
        let branches = vec![("then_branch", then.clone()), ("else_branch", otherwise.clone())];
        vec![node("Less", &["k", "k"], &["less"]), with_graphs(node("If", &[condition], &["y"]), branches)]
    };
    assert_eq!(shape_of_output(&model(nodes("less"), vec![vector("k", &[1])])), "[batch_size,20]");
    // A condition is a single element of any rank.
    let matrix = node("Unsqueeze", &["less", "axis"], &["matrix"]);
    let constants = vec![vector("k", &[1]), vector("axis", &[0])];
    let nodes = [vec![matrix], nodes("matrix")].concat();
    assert_eq!(shape_of_output(&model(nodes, constants)), "[batch_size,20]");
}

#[test]
fn scans_take_slices_apart_and_put_them_together() {
    let step =
        inner(vec![node("Add", &["s", "e"], &["t"]), node("Neg", &["e"], &["r"])], &["s", "e"], &["t", "r"]);
    let mut scan = with_graphs(node("Scan", &["first", "x"], &["last", "y"]), vec![("body", step)]);
    scan.attribute.push(integer("num_scan_inputs", 1));
    scan.attribute.push(onnx::Attribute {
        name: "scan_output_axes".into(),
        ints: vec![-1],
        kind: Some(onnx::kind::INTS),
        ..onnx::Attribute::default()
    });
    let first = || onnx::Tensor {
        name: "first".into(),
        dims: vec![10],
        float_data: vec![0.0; 10],
        data_type: Some(1),
        ..onnx::Tensor::default()
    };
    assert_eq!(shape_of_output(&model(vec![scan.clone()], vec![first()])), "[10,batch_size]");
    scan.attribute[1] = integer("num_scan_inputs", 5);
    assert!(refusal(&model(vec![scan], vec![first()])).contains("num_scan_inputs"));
}

#[test]
fn what_is_wrong_with_graphs_inside_is_told() {
    let body = |nodes| inner(nodes, &["i", "go", "s"], &["go", "t"]);
    let text = |graph: Option<onnx::Graph>| {
        let graphs = graph.map(|graph| ("body", graph)).into_iter().collect();
        refusal(&model(vec![with_graphs(node("Loop", &["", "", "x"], &["y"]), graphs)], vec![]))
    };
    assert_eq!(text(Some(body(vec![node("Abs", &["s"], &["t"])]))), "");
    let unknown = text(Some(body(vec![node("Add", &["s", "nobody"], &["t"])])));
    assert!(unknown.contains("its graph reads `nobody`, which no node computes"), "{unknown}");
    assert!(text(None).contains("the graph `body`"));
    assert!(text(Some(inner(vec![], &["i"], &["i"]))).contains("of other inputs or outputs than the node"));
    let mut deep = body(vec![node("Abs", &["s"], &["t"])]);
    for _ in 0..40 {
        deep = body(vec![with_graphs(node("Loop", &["", "", "s"], &["t"]), vec![("body", deep)])]);
    }
    assert!(text(Some(deep)).contains("recursion limit"));
    // A function that contains a loop whose body calls the function again.
    let mut call = node("Again", &["s"], &["t"]);
    call.domain = "mine".into();
    let graphs = vec![("body", body(vec![call.clone()]))];
    let function = onnx::Function {
        name: "Again".into(),
        domain: "mine".into(),
        input: vec!["v".into()],
        output: vec!["w".into()],
        node: vec![with_graphs(node("Loop", &["", "", "v"], &["w"]), graphs)],
        ..onnx::Function::default()
    };
    (call.input, call.output) = (vec!["x".into()], vec!["y".into()]);
    let model = onnx::Model { functions: vec![function], ..model(vec![call], vec![]) };
    assert!(refusal(&model).contains("nested deeper than"));
}

/// A model that adds the input `w`, which has a default value, to `x`.
fn with_default(ir_version: i64) -> onnx::Model {
    let w = onnx::Tensor {
        name: "w".into(),
        dims: vec![10],
        float_data: vec![0.5; 10],
        data_type: Some(1),
        ..onnx::Tensor::default()
    };
    let mut model = model(vec![node("Add", &["x", "w"], &["y"])], vec![w]);
    model.ir_version = Some(ir_version);
    model.graph.as_mut().unwrap().input.push(value("w", &["N"]));
    model
}

#[test]
fn inputs_with_a_default_value_are_constants_unless_they_are_kept() {
    let read = |ir_version: i64, kept: &[&str]| {
        let bytes = onnx::encode(&with_default(ir_version));
        Reader::new()
            .optional_inputs(kept.iter().copied())
            .bytes(Format::Onnx, &Storage::heap(bytes), None, "m.onnx")
            .unwrap()
    };
    let inputs = |read: &Read| -> Vec<String> {
        read.graph.parameters().map(|id| read.graph.node(id).name().to_string()).collect()
    };
    let constant = read(8, &[]);
    assert_eq!((inputs(&constant), constant.optional_inputs), (vec!["x".to_string()], vec!["w".to_string()]));
    let kept = read(8, &["w"]);
    assert_eq!(inputs(&kept), ["x", "w"]);
    let w = kept.graph.find("w").unwrap();
    let default = kept.graph.node(w).details().unwrap().extra.get("default").unwrap();
    assert!(matches!(default, snick_ir::AttrValue::Tensor(tensor) if tensor.dims() == [10]));
    // Version 3 of the format lists all constants among the inputs, so none is optional.
    let old = read(3, &["w"]);
    assert_eq!((inputs(&old), old.optional_inputs), (vec!["x".to_string()], vec![]));
}

fn words(name: &str, value: &str) -> onnx::Attribute {
    let (s, kind) = (Some(value.to_string().into_bytes().into()), Some(onnx::kind::STRING));
    onnx::Attribute { name: name.into(), s, kind, ..onnx::Attribute::default() }
}

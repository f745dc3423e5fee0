//! Tests of details that are not visible in the public interface.

use snick_ir::{Graph, infer, text};
use snick_tensor::Tensor;

use super::names::Names;
use super::writer::Writer;
use crate::legalized::Refusals;

fn written(max_embedded: usize) -> (snick_onnx::Model, Vec<u8>) {
    let mut writer = Writer::new("g", Names::new(&Graph::new(""), &[]), Refusals::default(), None);
    let large = |first: f32| Tensor::from_vec(&[300], (0..300).map(|i| first + i as f32).collect()).unwrap();
    writer.tensor("a".into(), &large(0.0)).unwrap();
    writer.tensor("small".into(), &Tensor::scalar(7i64)).unwrap();
    writer.tensor("b".into(), &large(1000.0)).unwrap();
    writer.node(snick_onnx::Node {
        input: ["a", "small", "b"].map(String::from).into(),
        ..snick_onnx::Node::default()
    });
    let (model, data) = writer.finish("m.onnx.data", max_embedded);
    (snick_onnx::decode(model.finish().to_bytes().into()).unwrap(), data.to_bytes())
}

#[test]
fn large_models_have_their_constants_beside_them() {
    let (model, bytes) = written(2048);
    let constants = model.graph.unwrap().initializer;
    let place = |at: usize, key: &str| {
        let entry = constants[at].external_data.iter().find(|entry| entry.key == key).unwrap();
        entry.value.clone()
    };
    assert_eq!(place(0, "location"), "m.onnx.data");
    assert_eq!(constants[1].raw_data.as_deref(), Some(&7i64.to_le_bytes()[..]));
    assert!(constants[0].raw_data.is_none() && constants[2].raw_data.is_none());
    // The constants are aligned, and nothing follows the last one.
    let offset: usize = place(2, "offset").parse().unwrap();
    assert_eq!((offset, place(2, "length")), (1216, "1200".to_string()));
    assert_eq!(bytes.len(), offset + 1200);
    assert_eq!(bytes[offset..offset + 4], 1000f32.to_le_bytes());
}

#[test]
fn small_models_are_one_file() {
    let (model, bytes) = written(4096);
    assert!(bytes.is_empty());
    assert!(model.graph.unwrap().initializer.iter().all(|constant| constant.external_data.is_empty()));
}

/// The operators that are written for these layers, or the error.
fn operators(layers: &str) -> Result<Vec<String>, String> {
    Ok(nodes(layers)?.into_iter().map(|node| node.op_type).collect())
}

/// The nodes that are written for these layers, or the error.
fn nodes(layers: &str) -> Result<Vec<snick_onnx::Node>, String> {
    let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}}}\n"), None).unwrap();
    assert_eq!(infer(&mut graph), []);
    let written = super::onnx(&graph, "g.onnx.data").map_err(|error| error.error.to_string())?;
    let model = snick_onnx::decode(written.model.to_bytes().into()).unwrap();
    Ok(model.graph.unwrap().node)
}

#[test]
fn explicit_pads_do_not_count_beside_auto_pad() {
    let pads = |auto_pad: &str| {
        let layers = format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"1,1,4,4\"}}
             %o = Parameter-1 {{element_type: f32, shape: \"1,18,2,2\"}}
             %w = Parameter-1 {{element_type: f32, shape: \"1,1,3,3\"}}
             %y = DeformableConvolution-8(%x, %o, %w) {{strides: [1, 1], pads_begin: [1, 1], pads_end: [-1, -1],
                dilations: [1, 1], auto_pad: {auto_pad}, bilinear_interpolation_pad: true}}
             %r = Result-1(%y)\n"
        );
        let node = nodes(&layers)?.remove(0);
        Ok::<_, String>(node.attribute.into_iter().find(|attribute| attribute.name == "pads").unwrap().ints)
    };
    assert_eq!(pads("valid"), Ok(vec![0; 4]));
    assert!(pads("explicit").unwrap_err().contains("negative pads"));
}

#[test]
fn ellipses_stand_for_as_many_axes_in_each_operand() {
    let product = |y: &str| {
        operators(&format!(
            "  %x = Parameter-1 {{element_type: f32, shape: \"2,3,4\"}}\n  \
             %y = Parameter-1 {{element_type: f32, shape: \"{y}\"}}\n  \
             %z = Einsum-7(%x, %y) {{equation: \"...ij,...jk->...ik\"}}\n  %r = Result-1(%z)\n"
        ))
    };
    assert_eq!(product("4,5").unwrap(), ["Unsqueeze", "Einsum"]);
    assert_eq!(product("2,4,5").unwrap(), ["Einsum"]);
}

#[test]
fn constant_indices_outside_of_the_axis_mean_zeros_behind_the_data() {
    let gathered = |indices: &str, attributes: &str| {
        operators(&format!(
            "  %x = Parameter-1 {{element_type: f32, shape: \"2,3\"}}\n  %i = Const-1 i64[2,1] <{indices}>\n  \
             %a = Const-1 i64[] <1>\n  %y = Gather-8(%x, %i, %a) {{{attributes}}}\n  %r = Result-1(%y)\n"
        ))
        .unwrap()
    };
    assert_eq!(gathered("-3, 2", "batch_dims: 0"), ["Gather"]);
    assert_eq!(gathered("3, 0", "batch_dims: 0"), ["Pad", "Gather"]);
    assert_eq!(gathered("0, -4", "batch_dims: 1"), ["Pad", "Unsqueeze", "GatherND"]);
    assert_eq!(gathered("3, 0", "batch_dims: 0, checks_indices: true"), ["Gather"]);
}

#[test]
fn types_that_no_operator_has_are_refused() {
    let sorted = |element_type: &str| {
        operators(&format!(
            "  %x = Parameter-1 {{element_type: {element_type}, shape: \"4\"}}\n  %k = Const-1 i64[] <2>\n  \
             %v = TopK-11(%x, %k) {{axis: 0, mode: max, sort: value, index_element_type: i64, stable: false}}\n  \
             %r = Result-1(%v)\n"
        ))
    };
    assert_eq!(sorted("bf16").unwrap()[0], "Cast");
    assert_ne!(sorted("f32").unwrap()[0], "Cast");
    let convolved = operators(
        "  %x = Parameter-1 {element_type: i32, shape: \"1,1,4\"}\n  \
         %w = Parameter-1 {element_type: i32, shape: \"1,1,2\"}\n  \
         %y = Convolution-1(%x, %w) {strides: [1], pads_begin: [0], pads_end: [0], dilations: [1], auto_pad: explicit}\n  \
         %r = Result-1(%y)\n",
    );
    assert!(convolved.unwrap_err().contains("cannot write this operation to ONNX"));
}

/// The writer once searched all layers of the body four times per state, which took more than 10^10 steps
/// here.
#[test]
fn a_loop_of_many_states_is_written_in_time() {
    const STATES: usize = 1 << 14;
    let list = |item: &dyn Fn(usize) -> String| (0..STATES).map(item).collect::<Vec<_>>().join(", ");
    let mut layers = String::from(
        "%x = Parameter-1 {element_type: f32, shape: \"2\"}\n%trips = Const-1 i64[] <3>\n\
         %starts = Const-1 boolean[] <1>\n",
    );
    layers += &format!(
        "%l:{STATES} = Loop-5(%trips, %starts, {}) {{inputs: [{}], outputs: [\"_ -> 0 purpose=execution_condition\", {}], \
         back_edges: [{}]}}\nbody graph \"\" {{\n%goes_on = Const-1 boolean[] <1>\n%c = Result-1(%goes_on)\n",
        list(&|_| "%x".into()),
        list(&|i| format!("\"{} -> {i}\"", i + 2)),
        list(&|i| format!("\"{i} -> {}\"", i + 1)),
        list(&|i| format!("{},{i}", i + 1)),
    );
    for i in 0..STATES {
        layers += &format!("%p{i} = Parameter-1 {{element_type: f32, shape: \"2\"}}\n");
    }
    for i in 0..STATES {
        layers += &format!("%r{i} = Result-1(%p{i})\n");
    }
    layers += &format!("}}\n%y = Result-1(%l:{})\n", STATES - 1);
    assert!(operators(&layers).unwrap().contains(&"Loop".to_string()));
}

#[test]
fn bf16_is_computed_in_f32_and_moved_as_it_is() {
    let x = "  %x = Parameter-1 {element_type: bf16, shape: \"1,2\"}\n";
    let of = |layer: &str| operators(&format!("{x}{layer}  %r = Result-1(%y)\n")).unwrap();
    assert_eq!(of("  %y = Multiply-1(%x, %x) {auto_broadcast: numpy}\n"), ["Cast", "Cast", "Mul", "Cast"]);
    assert_eq!(of("  %y = Less-1(%x, %x) {auto_broadcast: numpy}\n"), ["Cast", "Cast", "Less"]);
    assert_eq!(of("  %a = Const-1 i64[2] <1, 0>\n  %y = Transpose-1(%x, %a)\n"), ["Transpose"]);
    assert_eq!(
        of("  %a = Const-1 i64[2] <3, 2>\n  %y = Broadcast-3(%x, %a) {mode: numpy}\n"),
        ["Cast", "Expand", "Cast"]
    );
}

#[test]
fn known_scalars_are_constant_vectors() {
    for layer in ["Unsqueeze-1(%x, %a)", "Squeeze-1(%x, %a)", "ReduceSum-1(%x, %a) {keep_dims: true}"] {
        let op = layer.split_once('-').unwrap().0;
        let layers = format!(
            "  %x = Parameter-1 {{element_type: f32, shape: \"1,2\"}}\n  %a = Const-1 i64[] <0>\n  \
             %y = {layer}\n  %r = Result-1(%y)\n"
        );
        assert_eq!(operators(&layers).unwrap(), [op]);
    }
}

#[test]
fn types_of_later_operator_sets_are_refused_by_name_and_converted_constants_are_not() {
    let of = |element: &str| {
        operators(&format!(
            "  %x = Parameter-1 {{element_type: {element}, shape: \"2\"}}\n  %r = Result-1(%x)\n"
        ))
    };
    for (element, elements) in [("f4e2m1", "0x21"), ("f8e8m0", "0x7f80"), ("u2", "1, 1"), ("nf4", "0xf8")] {
        assert!(of(element).unwrap_err().contains(element), "{element}");
        let layers = format!(
            "  %x = Parameter-1 {{element_type: f32, shape: \"2\"}}\n  %w = Const-1 {element}[2] <{elements}>\n  \
             %c = Convert-1(%w) {{destination_type: f32}}\n  \
             %y = Multiply-1(%x, %c) {{auto_broadcast: numpy}}\n  %r = Result-1(%y)\n"
        );
        assert_eq!(operators(&layers).unwrap(), ["Mul"], "{element}");
    }
    let converted = "  %x = Parameter-1 {element_type: u4, shape: \"2\"}\n  \
                     %y = Convert-1(%x) {destination_type: f32}\n  %r = Result-1(%y)\n";
    assert_eq!(operators(converted).unwrap(), ["Cast"]);
}

#[test]
fn weights_are_decompressed_in_the_type_that_they_are_computed_with() {
    let of = |reader: &str| {
        operators(&format!(
            "  %x = Parameter-1 {{element_type: f32, shape: \"2,2\"}}\n  \
             %w = Const-1 u4[2,1,2] <1, 2, 3, 15>\n  %s = Const-1 f16[2,1,1] <0.1, 0.3>\n  \
             %n = Const-1 i64[2] <2, 2>\n  %h = Convert-1(%w) {{destination_type: f16}}\n  \
             %m = Multiply-1(%h, %s) {{auto_broadcast: numpy}}\n  \
             %f = Reshape-1(%m, %n) {{special_zero: false}}\n  \
             %c = Convert-1(%f) {{destination_type: f32}}\n  \
             %y = MatMul-1(%x, %c) {{transpose_a: false, transpose_b: true}}\n  %r = Result-1(%y)\n{reader}"
        ))
        .unwrap()
    };
    // The first two Casts convert the weights and the scale.
    assert_eq!(of(""), ["Cast", "Cast", "Mul", "Reshape", "Transpose", "MatMul"]);
    assert_eq!(of("  %t = Result-1(%m)\n").iter().filter(|op| *op == "Cast").count(), 2);
}

#[test]
fn only_axes_that_may_have_size_1_are_squeezed() {
    let of = |shape: &str| {
        operators(&format!(
            "  %x = Parameter-1 {{element_type: f32, shape: \"{shape}\"}}\n  %axes = Const-1 i64[1] <1>\n  \
             %y = Squeeze-15(%x, %axes) {{allow_axis_skip: false}}\n  %r = Result-1(%y)\n"
        ))
        .unwrap()
    };
    assert_eq!(of("3,2..5"), ["Identity"]);
    assert_eq!(of("3,1..5"), ["Squeeze"]);
    assert_eq!(of("..."), ["Squeeze"], "of any rank");
}

/// The model that is written for these layers.
fn model(layers: &str) -> snick_onnx::Graph {
    let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}}}\n"), None).unwrap();
    assert_eq!(infer(&mut graph), []);
    let written = super::onnx(&graph, "g.onnx.data").unwrap();
    snick_onnx::decode(written.model.to_bytes().into()).unwrap().graph.unwrap()
}

#[test]
fn constants_that_become_attributes_are_left_out() {
    let hard = "  %a = Const-1 f32[] <0.2>\n  %b = Const-1 f32[] <0.5>\n  %y = HardSigmoid-1(%x, %a, %b)\n";
    let graph = model(&format!("{X}{hard}  %r = Result-1(%y)\n"));
    assert_eq!((graph.node.len(), graph.initializer.len()), (1, 0));
    // Constants without a reader are removed from bodies, too, but a constant that only a body reads stays.
    let body = format!("then_body graph \"\" {{\n{X}{hard}  %r = Result-1(%y)\n}}\n");
    let other = format!("else_body graph \"\" {{\n{X}  %r = Result-1(%x)\n}}\n");
    let graph = model(&format!(
        "{X}  %c = Parameter-1 {{element_type: boolean, shape: \"\"}}\n  %w = Const-1 f32[2] <1.0, 2.0>\n  \
         %y = If-8(%c, %x, %w) {{inputs: [\"1 -> 0\"], outputs: [\"0 -> 0\"], back_edges: [], \
         else_inputs: [\"2 -> 0\"], else_outputs: [\"0 -> 0\"], else_back_edges: []}}\n{body}{other}  \
         %r = Result-1(%y)\n"
    ));
    assert_eq!(graph.initializer.len(), 1);
    let bodies = graph.node[0].attribute.iter().filter_map(|attribute| attribute.g.as_ref());
    assert!(bodies.map(|body| body.initializer.len()).eq([0, 0]));
}

const X: &str = "  %x = Parameter-1 {element_type: f32, shape: \"2\"}\n";

#[test]
fn outputs_keep_their_names() {
    let names = |layers: &str| -> Vec<String> {
        model(&format!("{X}{layers}")).output.into_iter().map(|output| output.name).collect()
    };
    let x = X.trim_end();
    // An input is returned under its own name and under another name.
    let named = format!("{x} : f32[2] \"x\"\n");
    let graph = model(&format!("{named}  %y = ReLU-1(%x)\n  %a = Result-1(%x)\n  %b = Result-1(%y)\n"));
    assert!(graph.output.iter().map(|output| output.name.as_str()).eq(["x", "b"]));
    assert_eq!(graph.node.len(), 1);
    assert_eq!(names("  %a = Result-1(%x)\n  %b = Result-1(%x)\n"), ["a", "b"]);
    // A value is returned twice.
    assert_eq!(names("  %y = ReLU-1(%x)\n  %a = Result-1(%y)\n  %b = Result-1(%y)\n"), ["a", "b"]);
    // The value of an output is a constant.
    assert_eq!(names("  %c = Const-1 f32[1] <1.0>\n  %y = Result-1(%c)\n  %z = Result-1(%x)\n"), ["y", "z"]);
}

#[test]
fn types_that_runtimes_lack_are_converted_or_refused() {
    let chosen = |element_type: &str| {
        operators(&format!(
            "  %c = Parameter-1 {{element_type: boolean, shape: \"2\"}}\n  \
             %x = Parameter-1 {{element_type: {element_type}, shape: \"2\"}}\n  \
             %y = Select-1(%c, %x, %x) {{auto_broadcast: numpy}}\n  %r = Result-1(%y)\n"
        ))
        .unwrap()
    };
    assert_eq!(chosen("f32"), ["Where"]);
    assert_eq!(chosen("u64"), ["Cast", "Cast", "Where", "Cast"]);
    assert_eq!(chosen("u16"), ["Cast", "Cast", "Where", "Cast"]);
    assert_eq!(chosen("boolean"), ["Not", "And", "And", "Or"]);
    let of = |element_type: &str, layer: &str| {
        operators(&format!(
            "  %x = Parameter-1 {{element_type: {element_type}, shape: \"1,2\"}}\n  %y = {layer}\n  %r = Result-1(%y)\n"
        ))
    };
    for (element_type, layer) in [
        ("i16", "Clamp-1(%x) {min: -1.0, max: 2.0}"),
        ("u8", "Negative-1(%x)"),
        ("u64", "Multiply-1(%x, %x) {auto_broadcast: numpy}"),
        ("bf16", "Clamp-1(%x) {min: -1.0, max: 2.0}"),
        ("i4", "Concat-1(%x, %x) {axis: 0}"),
    ] {
        assert!(of(element_type, layer).is_ok(), "{layer} of {element_type}");
    }
    for (element_type, layer) in
        [("f64", "Asin-1(%x)"), ("f64", "Erf-1(%x)"), ("f8e5m2", "Abs-1(%x)"), ("u4", "Abs-1(%x)")]
    {
        assert!(of(element_type, layer).is_err(), "{layer} of {element_type}");
    }
}

#[test]
fn default_values_of_inputs_are_initializers() {
    let default = "  %w = Parameter-1 {element_type: f32, shape: \"2\"} : f32[2] extra {default: tensor f32[2] <1.0, 2.0>}\n";
    let graph =
        model(&format!("{X}{default}  %y = Add-1(%x, %w) {{auto_broadcast: numpy}}\n  %r = Result-1(%y)\n"));
    assert!(graph.input.iter().map(|input| input.name.as_str()).eq(["x", "w"]));
    assert!(graph.initializer.iter().map(|default| default.name.as_str()).eq(["w"]));
}

#[test]
fn variables_are_refused_with_what_to_do() {
    let refused = operators(&format!(
        "{X}  %y = ReadValue-6(%x) {{variable_id: \"v\", variable_type: f32, variable_shape: \"2\"}}\n  \
         %z = Assign-6(%y) {{variable_id: \"v\"}}\n  %r = Result-1(%y)\n"
    ));
    assert!(refused.unwrap_err().contains("--stateless"));
    // If a body contains a variable, no variable can become an input and an output.
    let variable = |id| {
        format!(
            "  %v = ReadValue-6(%x) {{variable_id: \"{id}\", variable_type: f32, variable_shape: \"2\"}}\n  \
             %w = Assign-6(%v) {{variable_id: \"{id}\"}}\n  %r = Result-1(%v)\n"
        )
    };
    let bodies = format!(
        "then_body graph \"\" {{\n{X}{}}}\nelse_body graph \"\" {{\n{X}  %r = Result-1(%x)\n}}\n",
        variable("inner")
    );
    for outer in [String::new(), variable("outer")] {
        let refused = operators(&format!(
            "{X}{outer}  %c = Parameter-1 {{element_type: boolean, shape: \"\"}}\n  \
             %y = If-8(%c, %x) {{inputs: [\"1 -> 0\"], outputs: [\"0 -> 0\"], back_edges: [], \
             else_inputs: [\"1 -> 0\"], else_outputs: [\"0 -> 0\"], else_back_edges: []}}\n{bodies}  \
             %s = Result-1(%y)\n"
        ));
        let refused = refused.unwrap_err();
        assert!(refused.contains("variable") && !refused.contains("--stateless"), "{refused}");
    }
}

#[test]
fn a_loop_without_iterations_is_its_initial_value_and_nothing() {
    let of = |trips: i64, starts: u8| {
        operators(&format!(
            "%x = Parameter-1 {{element_type: f32, shape: \"3\"}}\n%trips = Const-1 i64[] <{trips}>\n\
             %starts = Const-1 boolean[] <{starts}>\n\
             %l:2 = Loop-5(%trips, %starts, %x) {{inputs: [\"1 -> 0\", \"2 -> 1\"], outputs: \
             [\"_ -> 0 purpose=execution_condition\", \"0 -> 1\", \"1 -> 2 axis=0\"], back_edges: [0,0, 1,1]}}\n\
             body graph \"\" {{\n%go = Parameter-1 {{element_type: boolean, shape: \"\"}}\n\
             %s = Parameter-1 {{element_type: f32, shape: \"?\"}}\n%axis = Const-1 i64[1] <0>\n\
             %t = Add-1(%s, %s) {{auto_broadcast: numpy}}\n%part = Unsqueeze-1(%s, %axis)\n\
             %c = Result-1(%go)\n%next = Result-1(%t)\n%made = Result-1(%part)\n}}\n\
             %r = Result-1(%l)\n%q = Result-1(%l:1)\n"
        ))
        .unwrap()
    };
    for (trips, starts) in [(2, 0), (0, 1), (0, 0)] {
        assert!(!of(trips, starts).contains(&"Loop".to_string()), "{trips} {starts}");
    }
    assert!(of(2, 1).contains(&"Loop".to_string()));
}

//! What is not seen from outside.

use snick_ir::{Graph, infer, text};
use snick_tensor::Tensor;

use super::names::Names;
use super::writer::Writer;
use crate::legalized::Refusals;

fn written(max_embedded: usize) -> (snick_onnx::Model, Vec<u8>) {
    let mut writer = Writer::new("g", Names::new(&Graph::new(""), &[]), Refusals::default());
    let large = |first: f32| Tensor::from_vec(&[300], (0..300).map(|i| first + i as f32).collect()).unwrap();
    writer.tensor("a".into(), &large(0.0)).unwrap();
    writer.tensor("small".into(), &Tensor::scalar(7i64)).unwrap();
    writer.tensor("b".into(), &large(1000.0)).unwrap();
    let (model, data) = writer.finish("m.onnx.data", max_embedded);
    let mut bytes = Vec::new();
    data.write(&mut bytes).unwrap();
    (model, bytes)
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
    // Aligned, and nothing behind the last element.
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

/// The operators that a graph of these layers is written with, or why not.
fn operators(layers: &str) -> Result<Vec<String>, String> {
    let mut graph = text::parse(&format!("snick 1\ngraph \"g\" {{\n{layers}}}\n"), None).unwrap();
    assert_eq!(infer(&mut graph), []);
    let written = super::onnx(&graph, "g.onnx.data").map_err(|error| error.error.to_string())?;
    let model = snick_onnx::decode(written.model.into()).unwrap();
    Ok(model.graph.unwrap().node.into_iter().map(|node| node.op_type).collect())
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

/// Each state was looked for among all layers of the body, four times: 10^10 steps and more.
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

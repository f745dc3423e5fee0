//! Weights are written directly from their storage. A file is never assembled in memory.

use std::io;

use snick_ir::ops::source::constant::Constant;
use snick_ir::{Graph, Op, text};

/// Records the addresses of the data that is written.
#[derive(Default)]
struct Places(Vec<*const u8>);

impl io::Write for Places {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push(bytes.as_ptr());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A graph with a constant, and the address of its bytes.
fn model() -> (Graph, *const u8) {
    let values: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
    let values = values.join(", ");
    let text = format!(
        "snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: i32, shape: \"1000\"}}\n  %w = Const-1 i32[1000] <{values}>\n  \
         %sum = Add-1(%x, %w)\n  %y = Result-1(%sum)\n}}\n"
    );
    let mut graph = text::parse(&text, None).unwrap();
    assert!(snick_ir::infer(&mut graph).is_empty());
    let weights = graph.ids().find_map(|id| match graph.node(id).op() {
        Op::Const(Constant::Here(tensor)) => Some(tensor.clone()),
        _ => None,
    });
    let place = weights.unwrap().storage().bytes().as_ptr();
    (graph, place)
}

#[test]
fn of_an_ir_and_of_a_text() {
    let (graph, place) = model();
    let ir = snick_emit::openvino::openvino(&graph, Default::default()).unwrap().bin;
    for file in [ir, text::packed_weights(&graph)] {
        let mut places = Places::default();
        file.write(&mut places).unwrap();
        assert!(places.0.contains(&place));
    }
}

#[test]
fn of_an_onnx_model() {
    let (graph, place) = model();
    let mut places = Places::default();
    snick_emit::onnx::onnx(&graph, "m.onnx.data").unwrap().model.write(&mut places).unwrap();
    assert!(places.0.contains(&place));
}

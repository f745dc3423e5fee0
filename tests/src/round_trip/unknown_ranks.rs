//! An unknown rank is not written as the rank of a scalar.

use snick_emit::openvino::openvino;
use snick_read::openvino::{Weights, read};
use snick_shape::SymExpr;
use snick_tensor::Storage;

#[test]
fn the_output_of_an_unknown_layer_keeps_its_rank() {
    for (declared, dims) in
        [("f32[...]", None), ("dynamic[...]", None), ("f32[]", Some(0)), ("f32[?,3]", Some(2))]
    {
        let text = format!(
            "snick 1\ngraph \"g\" {{\n  ir 11\n  %x = Parameter-1 {{element_type: f32, shape: \"2,3\"}}\n  \
             %a = opaque Unheard-\"extension\"(%x) : {declared}\n  %y = Result-1(%a)\n}}\n"
        );
        let mut graph = snick_ir::text::parse(&text, None).unwrap();
        assert_eq!(snick_ir::infer(&mut graph), []);
        let files = openvino(&graph, snick::SliceAs::default()).unwrap();
        let weights = Weights::in_memory("x.bin", Storage::heap(files.bin.to_bytes()));
        let mut again = read(&files.xml, &weights, "x.xml").unwrap().graph;
        assert_eq!(snick_ir::infer(&mut again), []);
        let unheard = again.node(again.find("a").unwrap());
        let rank = unheard.outs()[0].fact.shape.dims().map(<[SymExpr]>::len);
        assert_eq!(rank, dims, "{declared}: {}", files.xml);
    }
}

#[test]
fn an_axis_of_a_scalar_is_refused_in_words() {
    let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"\"}\n  \
                %one = Const-1 i64[] <1>\n  %a:2 = Split-1(%x, %one) {num_splits: 2}\n  \
                %y = Result-1(%a)\n}\n";
    let mut graph = snick_ir::text::parse(text, None).unwrap();
    let errors = snick_ir::infer(&mut graph);
    assert!(errors[0].to_string().contains("none: a scalar has no axes"), "{}", errors[0]);
}

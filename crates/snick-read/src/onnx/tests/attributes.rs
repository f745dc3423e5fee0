//! Tests of unknown and repeated attributes.

use snick_onnx as onnx;

use super::{model, node, read, refusal, shape_of_output, value};

#[test]
fn unknown_operators_and_attributes_stay_opaque() {
    let read_model = read(&model(vec![node("Sausage", &["x"], &["y"])], vec![])).unwrap();
    assert_eq!(read_model.notes, ["unknown ONNX operator `ai.onnx.Sausage`: 1 layer stays opaque"]);
    let mut odd = node("Softmax", &["x"], &["y"]);
    odd.attribute = vec![onnx::Attribute { name: "new".into(), i: Some(1), ..onnx::Attribute::default() }];
    assert!(refusal(&model(vec![odd], vec![])).contains("attribute `new` is not supported"));
}

/// The attributes `axis` and `seed` matter to some operators, so they cannot be ignored in general. They are
/// rejected for an operator that does not define them.
#[test]
fn attributes_of_other_operators_are_refused() {
    let refused = |operator: &str, name: &str| {
        let mut odd = node(operator, &["x"], &["y"]);
        odd.attribute = vec![onnx::Attribute { name: name.into(), i: Some(1), ..onnx::Attribute::default() }];
        let read = read(&model(vec![odd], vec![])).unwrap();
        read.errors.iter().map(|error| error.error.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(refused("Dropout", "seed"), [""; 0]);
    for (operator, name) in [("Dropout", "axis"), ("Relu", "consumed_inputs"), ("Softmax", "seed")] {
        assert_eq!(refused(operator, name), [format!("attribute `{name}` is not supported")]);
    }
}

/// It would be unclear which of two attributes with the same name is intended, and the text form cannot
/// represent both.
#[test]
fn an_attribute_that_is_given_twice_is_refused() {
    let integer =
        |name: &str| onnx::Attribute { name: name.into(), i: Some(1), ..onnx::Attribute::default() };
    let attribute = [integer("axis"), integer("axis")];
    let body = onnx::Attribute { g: Some(Box::default()), ..onnx::Attribute::default() };
    for (operator, bodies) in [("Softmax", 0), ("Sausage", 0), ("SplitToSequence", 0), ("If", 1)] {
        let mut twice = node(operator, &["x"], &["y"]);
        twice.attribute = attribute.iter().cloned().chain(vec![body.clone(); bodies]).collect();
        let read = read(&model(vec![twice], vec![])).unwrap();
        let error = read.errors[0].to_string();
        assert!(
            error.ends_with(&format!("layer `y` ({operator}): attribute `axis` is given twice")),
            "{error}"
        );
        assert_eq!(read.errors.len(), 1);
        let text = snick_ir::text::print(&read.graph, Default::default());
        assert!(!text.contains("axis"), "{text}");
    }
}

#[test]
fn quantized_convolutions_may_have_channels_last() {
    let scalar = |name: &str, data_type: i32, bytes: &[u8]| onnx::Tensor {
        name: name.into(),
        data_type: Some(data_type),
        raw_data: Some(bytes.to_vec().into()),
        ..onnx::Tensor::default()
    };
    let filters = onnx::Tensor { dims: vec![3, 10, 2, 2], ..scalar("w", 2, &[1; 120]) };
    let constants = vec![filters, scalar("s", 1, &1f32.to_le_bytes()), scalar("z", 2, &[0])];
    let shape = |channels_last: i64, dims: &[&str]| {
        let mut convolution = node("QLinearConv", &["x", "s", "z", "w", "s", "z", "s", "z"], &["y"]);
        convolution.domain = "com.microsoft".into();
        convolution.attribute = vec![onnx::Attribute {
            name: "channels_last".into(),
            i: Some(channels_last),
            ..onnx::Attribute::default()
        }];
        let mut model = model(vec![convolution], constants.clone());
        model.graph.as_mut().unwrap().input = vec![value("x", dims)];
        shape_of_output(&model)
    };
    assert_eq!(shape(0, &["N", "10", "6", "5"]), "[N,3,5,4]");
    assert_eq!(shape(1, &["N", "6", "5", "10"]), "[N,5,4,3]");
}

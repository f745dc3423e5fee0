//! What is not seen from outside.

use snick_ir::Graph;
use snick_tensor::Tensor;

use super::names::Names;
use super::writer::Writer;

fn written(max_embedded: usize) -> (snick_onnx::Model, Vec<u8>) {
    let mut writer = Writer::new("g", Names::new(&Graph::new(""), &[]));
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

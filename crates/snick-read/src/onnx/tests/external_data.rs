//! Tests of tensors with external data.

use snick_ir::ops::Constant;
use snick_ir::{Format, Op};
use snick_onnx as onnx;
use snick_tensor::Storage;

use super::{model, node, vector};
use crate::Reader;

#[test]
fn files_beside_the_model_are_checked() {
    let folder = std::env::temp_dir().join(format!("snick-onnx-beside-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("data"), [1u8; 16]).unwrap();
    let slice = node("Slice", &["x", "s", "s"], &["y"]);
    let outside = |entries: &[(&str, &str)]| {
        let entry =
            |&(key, value): &(&str, &str)| onnx::Entry { key: key.to_string(), value: value.to_string() };
        let external_data = entries.iter().map(entry).collect();
        let constant = onnx::Tensor {
            dims: vec![1],
            data_location: Some(1),
            external_data,
            int64_data: vec![],
            ..vector("s", &[])
        };
        let bytes = onnx::encode(&model(vec![slice.clone()], vec![constant]));
        let read = crate::onnx::read(&Storage::heap(bytes), Some(&folder), "m").unwrap();
        read.errors.first().map(ToString::to_string).unwrap_or_default()
    };
    assert_eq!(outside(&[("location", "data"), ("offset", "8"), ("length", "8")]), "");
    assert!(outside(&[]).contains("`location`"));
    assert!(outside(&[("location", "data"), ("offset", "9")]).contains("truncated?"));
    assert!(outside(&[("location", "data"), ("offset", "18446744073709551615")]).contains("truncated?"));
    assert!(outside(&[("location", "data"), ("length", "4")]).contains("number of bytes"));
    assert!(outside(&[("location", "data"), ("offset", "-1")]).contains("a number of bytes"));
    assert_eq!(outside(&[("location", "nowhere")]), "", "a missing file is not an error of the layer");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).unwrap();
        assert!(outside(&[("location", "link")]).contains("a file next to the model"));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_model_in_memory_has_the_external_data_that_it_is_given() {
    let entry = onnx::Entry { key: "location".into(), value: "part.data".into() };
    let constant = onnx::Tensor {
        dims: vec![1],
        data_location: Some(1),
        external_data: vec![entry],
        int64_data: vec![],
        ..vector("s", &[])
    };
    let bytes = onnx::encode(&model(vec![node("Slice", &["x", "s", "s"], &["y"])], vec![constant]));
    let bytes = Storage::heap(bytes);
    let read = |reader: Reader| reader.bytes(Format::Onnx, &bytes, None, "m").unwrap();
    let given = read(Reader::new().external("part.data", vec![0; 8]));
    assert_eq!((given.errors.len(), given.missing.len()), (0, 0));
    // As in an OpenVINO IR, a constant without its file has a type and a shape, but no value.
    let missing = read(Reader::new().external("other.data", vec![0; 8]));
    assert_eq!((missing.errors.len(), missing.missing), (0, vec!["part.data".into()]));
    let constant = missing.graph.node(missing.graph.find("s").unwrap());
    assert!(matches!(constant.op(), Op::Const(Constant::Absent(absent)) if absent.dims[..] == [1]));
}

//! ONNX models with multi-device configurations, as hand-written protobuf.

use std::fs;

use crate::{scratch, snick, text};

/// A length-delimited field: a string or a message.
fn field(number: u8, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    let length = u8::try_from(bytes.len()).unwrap();
    assert!(number < 32 && length < 128, "numbers of one byte");
    let tag = u32::from(number) << 3 | 2;
    let tag = if tag < 128 { vec![tag as u8] } else { vec![(tag & 127 | 128) as u8, (tag >> 7) as u8] };
    [tag, vec![length], bytes.to_vec()].concat()
}

/// A varint field with a value below 128.
fn number(field: u8, value: u8) -> Vec<u8> {
    vec![field << 3, value]
}

/// A model `y = relu(x)`, with the configurations of the node and of the model.
fn model(ir_version: u8, of_node: &[u8], of_model: &[u8]) -> Vec<u8> {
    let dim = |size| field(1, number(1, size));
    let ty = field(2, field(1, [number(1, 1), field(2, [dim(8), dim(4)].concat())].concat()));
    let value = |name: &str| [field(1, name), ty.clone()].concat();
    let node = [field(1, "x"), field(2, "y"), field(4, "Relu"), of_node.to_vec()].concat();
    let graph = [field(1, node), field(2, "g"), field(11, value("x")), field(12, value("y"))].concat();
    let opset = field(8, number(2, 21));
    let graph_field = [vec![7 << 3 | 2, graph.len() as u8], graph].concat();
    // Messages of 128 bytes and more have a two-byte length.
    assert!(graph_field[1] < 128 || of_node.len() > 20);
    let graph_field = match graph_field.len() - 2 {
        0..128 => graph_field,
        length => {
            [&[7 << 3 | 2, (length & 127 | 128) as u8, (length >> 7) as u8], &graph_field[2..]].concat()
        }
    };
    [number(1, ir_version), graph_field, opset, of_model.to_vec()].concat()
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|own| own == part)
}

#[test]
fn configurations_of_devices_are_kept() {
    // x is sharded in two halves along axis 0: the first half on group -1, which consists of devices 0 and 1,
    // the second on device 2.
    let minus_one = [vec![255; 9], vec![1]].concat();
    let group = [vec![1 << 3], minus_one.clone(), field(2, [0, 1])].concat();
    let halves = [number(1, 8), number(3, 2)].concat();
    let spec = [
        field(1, "x"),
        field(2, [minus_one, vec![2]].concat()),
        field(3, group),
        // Axis 0 is the default and therefore omitted.
        field(4, field(2, halves)),
    ]
    .concat();
    let of_node = field(10, [field(1, "four"), field(2, spec), number(3, 1)].concat());
    let of_model = field(26, [field(1, "four"), number(2, 4), field(3, "a"), field(3, "b")].concat());
    let folder = scratch("devices");
    let path = |name: &str| folder.join(name).display().to_string();
    fs::write(path("in.onnx"), model(11, &of_node, &of_model)).unwrap();
    // The text form and OpenVINO IR keep the configurations as metadata.
    for (from, to) in [
        ("in.onnx", "direct.onnx"),
        ("in.onnx", "in.snick"),
        ("in.snick", "in.xml"),
        ("in.xml", "again.onnx"),
    ] {
        let converted = snick(&["convert", &path(from), "-o", &path(to)]);
        assert_eq!(converted.status.code(), Some(0), "{from}: {}", text(&converted.stderr));
    }
    for name in ["direct.onnx", "again.onnx"] {
        let written = fs::read(path(name)).unwrap();
        assert!(written.starts_with(&number(1, 11)), "{name}");
        assert!(has(&written, &of_node) && has(&written, &of_model), "{name}: {written:?}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn other_models_have_none() {
    let folder = scratch("no-devices");
    let path = |name: &str| folder.join(name).display().to_string();
    fs::write(path("in.onnx"), model(10, &[], &[])).unwrap();
    let converted = snick(&["convert", &path("in.onnx"), "-o", &path("out.onnx")]);
    assert_eq!(converted.status.code(), Some(0), "{}", text(&converted.stderr));
    assert!(fs::read(path("out.onnx")).unwrap().starts_with(&number(1, 10)));
    fs::remove_dir_all(folder).unwrap();
}

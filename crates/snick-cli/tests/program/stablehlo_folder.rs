//! StableHLO folders, and linalg files and folders.

use std::fs;
use std::path::Path;

use crate::{model, scratch, snick, text};

/// Writes an IR with a MatMul by 2048 compressed `u4` weights, which start at byte 64 of the `.bin`.
fn write_compressed(folder: &Path) {
    let port = |id: usize, precision: &str, dims: &[usize]| {
        let dims: String = dims.iter().map(|dim| format!("<dim>{dim}</dim>")).collect();
        format!("<port id=\"{id}\" precision=\"{precision}\">{dims}</port>")
    };
    let layer = |id: usize, name: &str, kind: &str, data: &str, inputs: &str, outputs: &str| {
        format!(
            "<layer id=\"{id}\" name=\"{name}\" type=\"{kind}\" version=\"opset1\"><data {data}/>\
             <input>{inputs}</input><output>{outputs}</output></layer>\n"
        )
    };
    let (w, x) = ([64, 32], [8, 32]);
    let layers = [
        layer(0, "x", "Parameter", "shape=\"8,32\" element_type=\"f32\"", "", &port(0, "FP32", &x)),
        layer(
            1,
            "w",
            "Const",
            "element_type=\"u4\" shape=\"64,32\" offset=\"64\" size=\"1024\"",
            "",
            &port(0, "U4", &w),
        ),
        layer(2, "wide", "Convert", "destination_type=\"f32\"", &port(0, "U4", &w), &port(1, "FP32", &w)),
        layer(
            3,
            "product",
            "MatMul",
            "transpose_a=\"false\" transpose_b=\"true\"",
            &[port(0, "FP32", &x), port(1, "FP32", &w)].concat(),
            &port(2, "FP32", &[8, 64]),
        ),
        "<layer id=\"4\" name=\"y\" type=\"Result\" version=\"opset1\"><input>".to_string()
            + &port(0, "FP32", &[8, 64])
            + "</input></layer>\n",
    ];
    let edges: String = [(0, 0, 3, 0), (1, 0, 2, 0), (2, 1, 3, 1), (3, 2, 4, 0)]
        .iter()
        .map(|(a, b, c, d)| {
            format!("<edge from-layer=\"{a}\" from-port=\"{b}\" to-layer=\"{c}\" to-port=\"{d}\"/>")
        })
        .collect();
    let net = format!(
        "<?xml version=\"1.0\"?>\n<net name=\"g\" version=\"11\"><layers>\n{}</layers><edges>{edges}</edges></net>\n",
        layers.concat()
    );
    fs::write(folder.join("model.xml"), net).unwrap();
    fs::write(folder.join("model.bin"), vec![0x21; 64 + 1024]).unwrap();
}

#[test]
fn weights_are_arguments_where_they_lie() {
    let folder = scratch("stablehlo-weights");
    write_compressed(&folder);
    let path = |name: &str| folder.join(name).display().to_string();
    let convert = |more: &[&str]| {
        snick(&[&["convert", &path("model.xml"), "-o", &path("out/"), "--to", "stablehlo"], more].concat())
    };
    let converted = convert(&["--mesh", "model=2", "--shard", "w[model]"]);
    assert_eq!(converted.status.code(), Some(0), "{}", text(&converted.stderr));
    let manifest = fs::read_to_string(folder.join("out/manifest.json")).unwrap();
    let line = "{\"name\":\"w\",\"element_type\":\"u4\",\"dims\":[64,32],\"file\":\"../model.bin\",\"offset\":64,\
                \"bytes\":1024,\"sharding\":[\"model\",null]}";
    assert!(manifest.contains(line), "{manifest}");
    let module = fs::read_to_string(folder.join("out/model.mlir")).unwrap();
    for part in [
        "sdy.mesh @mesh = <[\"model\"=2]>",
        "%w: tensor<64x32xui4> {sdy.sharding = #sdy.sharding<@mesh, [{\"model\"}, {}]>}",
        "stablehlo.convert %w : (tensor<64x32xui4>) -> tensor<64x32xf32>",
        "contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST]",
    ] {
        assert!(module.contains(part), "{part} in\n{module}");
    }
    assert!(!folder.join("out/folded.bin").exists());
    let converted = convert(&["--precision", "native"]);
    assert_eq!(converted.status.code(), Some(0));
    let module = fs::read_to_string(folder.join("out/model.mlir")).unwrap();
    assert!(module.contains("precision = [DEFAULT, DEFAULT]") && !module.contains("sdy"), "{module}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_is_refused_leaves_nothing_behind() {
    let folder = scratch("stablehlo-refused");
    let path = |name: &str| folder.join(name).display().to_string();
    let sized = "image[1,3,64,64]";
    for (output, more, message) in [
        (
            "new/",
            &["--to", "stablehlo", "--mesh", "model=2", "--shard", "absent[model]"][..],
            "matches no argument",
        ),
        ("new/", &["--to", "stablehlo", "--mesh", "model=2", "--shard", "image[_,model]"], "1, 3 would"),
        ("new/", &["--to", "stablehlo", "--mesh", "model"], "`model` has no size"),
        ("new/", &["--to", "stablehlo", "--shard", "image[model]"], "--mesh"),
        ("new/", &[], "--to stablehlo"),
        ("new.mlir", &["--to", "stablehlo"], "end its name with /"),
    ] {
        let (model, output) = (model("focus_cnn"), path(output));
        let refused = snick(&[&["convert", &model, "--shape", sized, "-o", &output], more].concat());
        assert_eq!(refused.status.code(), Some(2), "{more:?}");
        assert!(text(&refused.stderr).contains(message), "{more:?}: {}", text(&refused.stderr));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{more:?}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn linalg_is_a_file_or_a_folder() {
    let folder = scratch("linalg");
    write_compressed(&folder);
    let path = |name: &str| folder.join(name).display().to_string();
    let convert = |out: &str, more: &[&str]| {
        snick(&[&["convert", &path("model.xml"), "-o", &path(out), "--to", "linalg"], more].concat())
    };
    for out in ["model.mlir", "out/"] {
        let converted = convert(out, &[]);
        assert_eq!(converted.status.code(), Some(0), "{}", text(&converted.stderr));
    }
    let module = fs::read_to_string(folder.join("model.mlir")).unwrap();
    assert!(module.contains("loc(\"product\"(\"model.xml\":"), "{module}");
    let manifest = fs::read_to_string(folder.join("out/manifest.json")).unwrap();
    assert!(manifest.starts_with("{\"schema\":\"snick.linalg/1\",\"mesh\":null,"), "{manifest}");
    let module = fs::read_to_string(folder.join("out/model.mlir")).unwrap();
    assert!(module.contains("%w: tensor<64x32xi4>") && module.contains("arith.uitofp "), "{module}");
    for (out, more) in [("model.onnx", vec![]), ("out/", vec!["--mesh", "model=2"])] {
        assert_eq!(convert(out, &more).status.code(), Some(2), "{out} {more:?}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn dynamic_models_are_referred_to_linalg() {
    let folder = scratch("linalg-hint");
    let out = format!("{}/", folder.join("out").display());
    let model = model("focus_cnn");
    let converted = |more: &[&str]| {
        let converted = snick(&[&["convert", &model, "-o", &out, "--to", "stablehlo"], more].concat());
        text(&converted.stderr).contains("--to linalg")
    };
    assert!(converted(&[]));
    assert!(!converted(&["--shape", "[1,3,64,64]"]));
    fs::remove_dir_all(folder).unwrap();
}

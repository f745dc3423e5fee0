//! Truncated files and files with a wrong byte are either read or rejected with a location; nothing panics.

use snick_tensor::Storage;

use crate::files;

/// Models that use much of the vocabulary of each format.
const MODELS: [&str; 2] = ["focus_cnn", "rotary_embedding"];

fn model(name: &str) -> snick_ir::Graph {
    let path = files::root().join("models").join(name).join("model.xml");
    let mut read = snick_read::read_file(&path, None).unwrap();
    snick_ir::infer(&mut read.graph);
    read.graph
}

/// Changes one byte at a time, at about 150 positions.
fn changed(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let step = 1 + bytes.len() / 150;
    (0..bytes.len()).step_by(step).flat_map(move |at| {
        [0x00, 0x7f, 0xff, bytes[at].wrapping_add(1), bytes[at] ^ 0x80].map(|byte| {
            let mut broken = bytes.to_vec();
            broken[at] = byte;
            broken
        })
    })
}

fn prefixes(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..bytes.len()).step_by(1 + bytes.len() / 150).map(|at| &bytes[..at])
}

#[test]
fn damaged_onnx_models_are_refused() {
    for name in MODELS {
        let whole = snick_emit::onnx::onnx(&model(name), "m.onnx.data").unwrap().model.to_bytes();
        let read = |bytes: &[u8]| snick_read::onnx::read(&Storage::heap(bytes.to_vec()), None, "m.onnx");
        assert!(read(&whole).unwrap().errors.is_empty());
        for cut in prefixes(&whole) {
            // Even if the file ends between two fields, the graph or the operator set is missing or
            // incomplete.
            let error = read(cut).map(|read| read.errors);
            assert!(
                error.as_ref().is_err_and(|error| error.to_string().starts_with("m.onnx: ")),
                "{error:?}"
            );
        }
        for bytes in changed(&whole) {
            if let Ok(mut read) = read(&bytes) {
                snick_ir::infer(&mut read.graph);
            }
        }
    }
}

#[test]
fn damaged_openvino_models_are_refused() {
    let folder = std::env::temp_dir().join(format!("snick-malformed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("m.xml");
    for name in MODELS {
        let files = snick_emit::openvino::openvino(&model(name), Default::default()).unwrap();
        let bin = files.bin.to_bytes();
        std::fs::write(path.with_extension("bin"), &bin).unwrap();
        for cut in prefixes(files.xml.as_bytes()) {
            std::fs::write(&path, cut).unwrap();
            let error = snick_read::read_file(&path, None).err().unwrap().to_string();
            assert!(error.contains("m.xml:"), "{error}");
        }
        for bytes in changed(files.xml.as_bytes()) {
            std::fs::write(&path, &bytes).unwrap();
            if let Ok(mut read) = snick_read::read_file(&path, None) {
                snick_ir::infer(&mut read.graph);
            }
        }
        // Truncated weights are reported with the layer that needs them.
        std::fs::write(&path, &files.xml).unwrap();
        std::fs::write(path.with_extension("bin"), &bin[..bin.len() / 2]).unwrap();
        let read = snick_read::read_file(&path, None).unwrap();
        assert!(read.errors.iter().any(|error| error.to_string().contains("(Const)")), "{:?}", read.errors);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn damaged_text_forms_are_refused() {
    for name in MODELS {
        let text = snick_ir::text::print(&model(name), Default::default());
        let read = |bytes: &[u8]| snick_read::read_text(&String::from_utf8_lossy(bytes), None, "m.snick");
        for cut in prefixes(text.trim_end().as_bytes()) {
            let error = read(cut).map(|read| read.errors).unwrap_err().to_string();
            assert!(error.starts_with("m.snick:"), "{error}");
        }
        for bytes in changed(text.as_bytes()) {
            if let Ok(mut read) = read(&bytes) {
                snick_ir::infer(&mut read.graph);
            }
        }
    }
}

/// Every truncation and every replacement of a byte is read or rejected.
#[test]
fn damaged_json_is_refused() {
    for folder in ["ngraph", "directml"] {
        for path in files::cases(folder) {
            let text = std::fs::read_to_string(&path).unwrap();
            let step = 1 + text.len() / 700;
            for at in (0..text.len()).step_by(step) {
                assert!(
                    snick_read::read_json(&text[..at], "case.json").is_err() || text[at..].trim().is_empty()
                );
                for byte in ["", "9", "-", "\"", "null", "[]"] {
                    let broken = format!("{}{byte}{}", &text[..at], &text[at + 1..]);
                    if let Ok(mut read) = snick_read::read_json(&broken, "case.json") {
                        snick_ir::infer(&mut read.graph);
                    }
                }
            }
        }
    }
}

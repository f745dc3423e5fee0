//! Recognises files that are not models, such as checkpoints and archives, and suggests the tool that converts
//! them.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::ReadError;

/// A kind of file that snick does not read.
struct Foreign {
    /// The extensions, in lower case.
    extensions: &'static [&'static str],
    /// Whether a file starts like this kind. `None` if the content gives no hint.
    starts_like: Option<fn(&[u8]) -> bool>,
    /// What the file is, after "this is".
    is: &'static str,
    /// How to get a model from it.
    advice: &'static str,
}

/// How to convert a model of a framework on the command line.
const OVC: &str = "write an OpenVINO IR with `ovc MODEL` from the Python package openvino";
/// How to convert a model that only its Python code can open.
const IN_PYTHON: &str =
    "load it in Python and write an OpenVINO IR with openvino.convert_model and openvino.save_model";
/// How to get the graph of a language model that is published as weights.
const OPTIMUM: &str = "write an OpenVINO IR of the original model with `optimum-cli export openvino`";

/// The kinds. Those that are recognised by their content come first.
const KINDS: [Foreign; 16] = [
    Foreign {
        extensions: &["gguf"],
        starts_like: Some(|head| head.starts_with(b"GGUF")),
        is: "a GGUF file, which holds the weights of a language model but not its graph",
        advice: OPTIMUM,
    },
    Foreign {
        extensions: &["tflite"],
        starts_like: Some(|head| head.get(4..8) == Some(b"TFL3")),
        is: "a TensorFlow Lite model",
        advice: OVC,
    },
    Foreign {
        extensions: &["h5", "hdf5"],
        starts_like: Some(|head| head.starts_with(b"\x89HDF\r\n")),
        is: "an HDF5 file, in which Keras stores models and weights",
        advice: IN_PYTHON,
    },
    Foreign {
        extensions: &["pt", "pth", "pt2", "ckpt"],
        // A pickle, or a zip archive whose first member belongs to a pickle.
        starts_like: Some(|head| {
            head.starts_with(b"\x80\x02") || is_zip(head) && contains(head, b"data.pkl")
        }),
        is: "a PyTorch file, which only Python can open",
        advice: IN_PYTHON,
    },
    Foreign {
        extensions: &["npy", "npz"],
        starts_like: Some(|head| head.starts_with(b"\x93NUMPY") || is_zip(head) && contains(head, b".npy")),
        is: "a file of NumPy arrays",
        advice: "pass it to `snick run MODEL` with --input or --inputs",
    },
    Foreign {
        extensions: &["html", "htm"],
        starts_like: Some(|head| {
            let start: Vec<u8> = head.iter().take(64).map(u8::to_ascii_lowercase).collect();
            let start = start.trim_ascii_start();
            start.starts_with(b"<!doctype html") || start.starts_with(b"<html")
        }),
        is: "a web page",
        advice: "download the model itself; the page may say why that failed",
    },
    Foreign {
        extensions: &["zip", "mar"],
        starts_like: Some(is_zip),
        is: "a zip archive",
        advice: "unpack it and pass the model inside",
    },
    Foreign {
        extensions: &["gz", "tgz", "xz", "bz2", "zst", "7z", "tar"],
        starts_like: Some(|head| head.starts_with(b"\x1f\x8b") || head.starts_with(b"\xfd7zXZ")),
        is: "a compressed archive",
        advice: "unpack it and pass the model inside",
    },
    Foreign {
        extensions: &["safetensors"],
        starts_like: None,
        is: "a file of weights without a graph",
        advice: OPTIMUM,
    },
    Foreign { extensions: &["pb"], starts_like: None, is: "a TensorFlow graph", advice: OVC },
    Foreign { extensions: &["keras"], starts_like: None, is: "a Keras model", advice: IN_PYTHON },
    Foreign {
        extensions: &["pdmodel", "pdiparams", "pdparams"],
        starts_like: None,
        is: "a file of a PaddlePaddle model",
        advice: "write an OpenVINO IR with `ovc MODEL.pdmodel` from the Python package openvino",
    },
    Foreign {
        extensions: &["bin"],
        starts_like: None,
        is: "a file of weights",
        advice: "pass the .xml or .snick file beside it",
    },
    Foreign {
        extensions: &["mlmodel", "mlpackage"],
        starts_like: None,
        is: "a Core ML model",
        advice: "export the original model to ONNX",
    },
    Foreign {
        extensions: &["engine", "plan", "trt", "blob"],
        starts_like: None,
        is: "a model compiled for one device",
        advice: "export the original model again",
    },
    Foreign {
        extensions: &["mlir", "dot", "svg"],
        starts_like: None,
        is: "in a format that snick writes but does not read",
        advice: "pass the model that it was written from",
    },
];

/// Number of bytes at the start of a file to examine. The first member of an archive is named there.
const HEAD: u64 = 1024;

fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04")
}

fn contains(head: &[u8], part: &[u8]) -> bool {
    head.windows(part.len()).any(|window| window == part)
}

/// The error for a file that was expected to be a model and is not: names the kind of the file if it is
/// known, otherwise returns `error`.
pub(crate) fn explained(path: &Path, error: ReadError) -> ReadError {
    let is_unreadable = matches!(
        error,
        ReadError::Format { .. }
            | ReadError::NotUtf8 { .. }
            | ReadError::Xml { .. }
            | ReadError::Json { .. }
            | ReadError::Onnx { .. }
            | ReadError::Text { .. }
    );
    let kind = if is_unreadable { kind_of(path, matches!(error, ReadError::Format { .. })) } else { None };
    match kind {
        Some(Foreign { is, advice, .. }) => {
            ReadError::Foreign { source_name: path.display().to_string(), is, advice }
        }
        None => error,
    }
}

/// The kind of a file by its content, or by its extension if that `may_tell`.
fn kind_of(path: &Path, may_tell: bool) -> Option<&'static Foreign> {
    let mut head = Vec::new();
    File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head)).ok()?;
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let has_extension = |kind: &&Foreign| may_tell && kind.extensions.contains(&extension.as_str());
    let starts_like = |kind: &&Foreign| kind.starts_like.is_some_and(|starts_like| starts_like(&head));
    // An extension that tells more than the content wins, such as `.keras` for a zip archive.
    KINDS.iter().find(has_extension).or_else(|| KINDS.iter().find(starts_like))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_recognised_by_content_or_extension() {
        let folder = std::env::temp_dir().join(format!("snick-foreign-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (name, content, is) in [
            ("a.pt", &b"PK\x03\x04____a/data.pkl"[..], Some("PyTorch")),
            ("model.onnx", b"PK\x03\x04____a/data.pkl", Some("PyTorch")),
            ("b.unknown", b"\x80\x02}q", Some("PyTorch")),
            ("c.tflite", b"\x1c\0\0\0TFL3", Some("TensorFlow Lite")),
            ("d.gguf", b"GGUF\x03\0\0\0", Some("GGUF")),
            ("e.xml", b"\n<!DOCTYPE html><html></html>", Some("web page")),
            ("f.zip", b"PK\x03\x04____model.xml", Some("zip")),
            ("g.keras", b"PK\x03\x04____config.json", Some("Keras")),
            ("h.bin", b"\0\0\0\0", Some("weights")),
            ("i.xml", b"<project/>", None),
            ("j.unknown", b"hello", None),
        ] {
            let path = folder.join(name);
            std::fs::write(&path, content).unwrap();
            let error = crate::Reader::new().file(&path).unwrap_err();
            let found = match error {
                ReadError::Foreign { is, .. } => Some(is),
                _ => None,
            };
            assert_eq!(found.is_some(), is.is_some(), "{name}: {found:?}");
            assert!(found.unwrap_or_default().contains(is.unwrap_or_default()), "{name}: {found:?}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}

//! Writes the seeds of all fuzz targets into a folder, from the models and cases of this repository:
//! `fuzz-seeds FOLDER`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use snick_fuzzing::Target;
use snick_ir::text::{PrintOptions, Weights, packed_weights, print};
use snick_ir::{Graph, Limits, Watch, infer};

/// Larger inputs are slow to run and rarely find more.
const MAX_BYTES: usize = 8192;

/// A seed of a target, unless it is too large.
fn seed(folder: &Path, target: Target, name: &str, parts: &[&[u8]]) -> std::io::Result<()> {
    let bytes = parts.join(&0);
    if bytes.len() > MAX_BYTES {
        return Ok(());
    }
    let folder = folder.join(target.name());
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), bytes)
}

/// Writes a graph as a seed in every format that can express it.
fn write(folder: &Path, name: &str, graph: &mut Graph) -> std::io::Result<()> {
    infer(graph);
    let text = print(graph, PrintOptions::new().weights(Weights::Packed).types(false));
    let weights = packed_weights(graph).to_bytes();
    let parts: &[&[u8]] = if weights.is_empty() { &[text.as_bytes()] } else { &[text.as_bytes(), &weights] };
    seed(folder, Target::Text, name, parts)?;
    seed(folder, Target::Graphs, name, parts)?;
    if let Ok(files) = snick_emit::openvino::openvino(graph, Default::default()) {
        seed(folder, Target::OpenVino, name, &[files.xml.as_bytes(), &files.bin.to_bytes()])?;
    }
    if let Ok(files) = snick_emit::onnx::onnx(graph, "data") {
        seed(folder, Target::Onnx, name, &[&files.model.to_bytes()])?;
    }
    if let Some(Ok(text)) = "6.4".parse().ok().map(|level| snick_emit::directml(graph, level)) {
        seed(folder, Target::DirectMl, name, &[text.as_bytes()])?;
    }
    Ok(())
}

/// The files below a folder.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    found.sort();
    Ok(found)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: fuzz-seeds FOLDER")?);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let reader = snick_read::Reader::new().watch(Watch::new().limits(Limits::new().layers(200)));
    for path in ["models", "tests/cases"]
        .into_iter()
        .map(|inside| files(&root.join(inside)))
        .collect::<Result<Vec<_>, _>>()?
        .concat()
    {
        let name = path.strip_prefix(&root)?.to_string_lossy().replace(['/', '\\'], "-");
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension {
            Some("xml" | "snick" | "onnx") => {
                if let Ok(mut read) = reader.file(&path) {
                    write(&folder, &name, &mut read.graph)?;
                }
            }
            Some("json") if path.components().any(|part| part.as_os_str() == "ngraph") => {
                seed(&folder, Target::NGraph, &name, &[&fs::read(&path)?])?;
            }
            Some("json") => seed(&folder, Target::DirectMl, &name, &[&fs::read(&path)?])?,
            _ => {}
        }
    }
    let mut model = snick::load(root.join("docs/examples/crop.snick"))?;
    model.infer().into_result()?;
    let certificate = model.certify(&snick::CertifyOptions::new())?.to_json();
    seed(&folder, Target::Certificate, "crop", &[certificate.as_bytes()])?;
    Ok(())
}

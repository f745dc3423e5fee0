//! Where a verb writes a model.

use std::path::{Path, PathBuf};

use super::console::Failure;
use super::options::ModelOptions;

/// Refuses to write over the files a model was read from.
pub fn check(options: &ModelOptions, target: &Path) -> Result<(), Failure> {
    let weights = options.weights.clone().unwrap_or_else(|| options.model.with_extension("bin"));
    let real = |path: &Path| path.canonicalize().ok();
    let sources: Vec<PathBuf> = [options.model.as_path(), &weights].into_iter().filter_map(real).collect();
    // Some formats have no weights beside them.
    let bin = target.with_extension("bin");
    let alone = ["dot", "json", "onnx"];
    let has_weights = target.extension().is_some_and(|extension| !alone.iter().any(|&e| extension == e));
    let targets = [Some(target), has_weights.then_some(bin.as_path())];
    match targets.into_iter().flatten().find(|path| real(path).is_some_and(|path| sources.contains(&path))) {
        Some(path) => Err(Failure::usage(format!("{}: this would overwrite the input", path.display()))),
        None => Ok(()),
    }
}

//! Where a verb writes a model.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use snick::{FeatureLevel, SaveOptions, SliceAs};

use super::console::Failure;
use super::options::ModelOptions;

/// What a format leaves open.
#[derive(Args)]
pub struct TargetOptions {
    /// The feature level of a DirectML description
    #[arg(long, value_name = "LEVEL", default_value_t = SaveOptions::default().feature_level)]
    feature_level: FeatureLevel,
    /// The op of an OpenVINO IR that a slice of the canonical form is written as
    #[arg(long, value_name = "OP", value_enum, ignore_case = true, default_value_t = SliceOp::Slice)]
    slice_as: SliceOp,
}

/// [`SliceAs`] by the names of the operation types.
#[derive(Copy, Clone, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum SliceOp {
    Slice,
    StridedSlice,
}

impl TargetOptions {
    /// As the library wants them.
    pub fn save(&self) -> SaveOptions {
        let slice_as = match self.slice_as {
            SliceOp::Slice => SliceAs::Slice,
            SliceOp::StridedSlice => SliceAs::StridedSlice,
        };
        SaveOptions { feature_level: self.feature_level, slice_as }
    }
}

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

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
    /// The op of an OpenVINO IR that a slice of the canonical form is written as; without, Slice, but StridedSlice for
    /// bounds that only the run knows, of which OpenVINO then infers more
    #[arg(long, value_name = "OP", value_enum, ignore_case = true)]
    slice_as: Option<SliceOp>,
    /// Write over the files the model is read from, if that is where the output goes
    #[arg(long)]
    force: bool,
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
            None => SliceAs::default(),
            Some(SliceOp::Slice) => SliceAs::Slice,
            Some(SliceOp::StridedSlice) => SliceAs::StridedSlice,
        };
        SaveOptions { feature_level: self.feature_level, slice_as }
    }

    /// Refuses to write over the files a model is read from, unless forced. Forced, it is safe: a file is written
    /// under another name first, and what was mapped of the old one stays.
    pub fn check(&self, model: &ModelOptions, target: &Path) -> Result<(), Failure> {
        match overwritten(model, target).filter(|_| !self.force) {
            Some(path) => {
                let why = "this would overwrite the input; --force does";
                Err(Failure::usage(format!("{}: {why}", path.display())))
            }
            None => Ok(()),
        }
    }
}

/// A file of the model that writing `target` would replace.
fn overwritten(options: &ModelOptions, target: &Path) -> Option<PathBuf> {
    let weights = options.weights.clone().unwrap_or_else(|| options.model.with_extension("bin"));
    let real = |path: &Path| path.canonicalize().ok();
    let sources: Vec<PathBuf> = [options.model.as_path(), &weights].into_iter().filter_map(real).collect();
    // Some formats have no weights beside them.
    let bin = target.with_extension("bin");
    let alone = ["dot", "json", "mlir", "onnx"];
    let has_weights = target.extension().is_some_and(|extension| !alone.iter().any(|&e| extension == e));
    let targets = [Some(target), has_weights.then_some(bin.as_path())];
    let found =
        targets.into_iter().flatten().find(|path| real(path).is_some_and(|path| sources.contains(&path)));
    found.map(Path::to_path_buf)
}

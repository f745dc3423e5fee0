//! Options of the verbs that write a model.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use snick::{FeatureLevel, Format, SaveOptions, SliceAs};

use super::console::Failure;
use super::options::ModelOptions;

/// Choices that a format leaves, and whether to overwrite the input.
#[derive(Args)]
pub struct TargetOptions {
    /// Feature level of a DirectML description
    #[arg(long, value_name = "LEVEL", default_value_t = SaveOptions::default().feature_level)]
    feature_level: FeatureLevel,
    /// OpenVINO operation that slices of the canonical form are written as [default: Slice, or StridedSlice for dynamic
    /// bounds, where OpenVINO infers more]
    #[arg(long, value_name = "OP", value_enum, ignore_case = true)]
    slice_as: Option<SliceOp>,
    /// Allow the output to overwrite the input
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
    /// The options of the library.
    pub fn save(&self) -> SaveOptions {
        let slice_as = match self.slice_as {
            None => SliceAs::default(),
            Some(SliceOp::Slice) => SliceAs::Slice,
            Some(SliceOp::StridedSlice) => SliceAs::StridedSlice,
        };
        SaveOptions::new().feature_level(self.feature_level).slice_as(slice_as)
    }

    /// Refuses to overwrite the files of the model, unless `--force` is given. That is safe: a file is written under a
    /// temporary name first, and mapped weights of the old one stay valid.
    pub fn check(&self, model: &ModelOptions, target: &Path) -> Result<(), Failure> {
        match overwritten(model, target).filter(|_| !self.force) {
            Some(path) => {
                let message = "would overwrite the input; pass --force to allow";
                Err(Failure::usage(format!("{}: {message}", path.display())))
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
    let bin = Format::to_write(target).and_then(|format| format.weights_of(target));
    let mut targets = [Some(target.to_path_buf()), bin].into_iter().flatten();
    targets.find(|path| real(path).is_some_and(|path| sources.contains(&path)))
}

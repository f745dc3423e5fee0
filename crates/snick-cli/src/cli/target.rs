//! Options of verbs that write a model.

use std::path::Path;

use clap::{Args, ValueEnum};
use snick::{FeatureLevel, Format, Model, PictureOptions, SaveOptions, SliceAs};

use super::console::{Console, Failure};
use super::help::OUTPUTS;
use super::overwrite::OverwriteOptions;

/// Options of the output formats, and whether to overwrite an input.
#[derive(Args)]
pub struct TargetOptions {
    /// Feature level of a DirectML description
    #[arg(long, value_name = "LEVEL", default_value_t = SaveOptions::default().feature_level, help_heading = OUTPUTS)]
    feature_level: FeatureLevel,
    /// OpenVINO operation for slices of the canonical form [default: Slice, or StridedSlice for unknown
    /// bounds, because OpenVINO infers more precise shapes for it]
    #[arg(long, value_name = "OP", value_enum, ignore_case = true, help_heading = OUTPUTS)]
    slice_as: Option<SliceOp>,
    #[command(flatten)]
    overwrite: OverwriteOptions,
}

/// The choices of [`SliceAs`], named by operation type.
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

    /// Writes a model with the default options for pictures, and reports the files.
    pub fn write(&self, model: &Model, output: &Path, console: &Console) -> Result<(), Failure> {
        write(model, output, self.save(), &PictureOptions::new(), console)
    }

    /// Refuses to write `target` over one of `inputs`; see [`OverwriteOptions::check`].
    pub fn check<'p>(
        &self,
        inputs: impl IntoIterator<Item = &'p Path>,
        target: &Path,
    ) -> Result<(), Failure> {
        self.overwrite.check(inputs, target)
    }
}

/// The help for `-o` of verbs that write a model.
pub fn output_help() -> String {
    let formats = Format::described(Format::can_write);
    format!(
        "File to write; the extension selects the format: {formats}. - writes text form to standard output"
    )
}

/// Writes a model in the format of the output, and reports the files.
pub fn write(
    model: &Model,
    output: &Path,
    save: SaveOptions,
    picture: &PictureOptions,
    console: &Console,
) -> Result<(), Failure> {
    match Format::to_write(output) {
        _ if is_stdout(output) => return console.print(&model.to_text()),
        Some(Format::Svg | Format::Dot) => console.wrote(&[model.write_picture(output, picture)?]),
        _ => console.wrote(&model.write(output, save)?),
    }
    Ok(())
}

/// Whether an output is text form on standard output.
pub fn is_stdout(output: &Path) -> bool {
    output.as_os_str() == "-"
}

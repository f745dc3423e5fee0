//! Options for StableHLO: the precision, the output folder and the mesh of devices.

use std::path::Path;

use clap::{Args, ValueEnum};
use snick::{Format, Mesh, Model, Precision, ShardRules, StableHloOptions, State, WrittenFile};

use super::console::Failure;

/// How to write StableHLO.
#[derive(Args)]
#[command(next_help_heading = "StableHLO")]
pub struct StableHloArgs {
    /// Write a folder: model.mlir with large constants as arguments, manifest.json with the location of their
    /// bytes (weights stay in the files of the model), and folded.bin with folded constants
    #[arg(long, value_name = "FORMAT", value_enum)]
    to: Option<FolderFormat>,
    /// Precision; highest: f32, like `snick run`; native: the types of the model, which is faster on many
    /// devices
    #[arg(long, value_name = "HOW", value_enum, default_value = "highest")]
    precision: PrecisionName,
    /// Mesh of devices to shard the arguments over, as named axes with sizes: batch=2,model=4
    #[arg(long, value_name = "AXES", requires = "to")]
    mesh: Option<Mesh>,
    /// Which dims to shard over which axis, by argument name: ids[batch],*.up.weight[model,_]; * matches any
    /// text, ? one character, and _ is an unsharded dim
    #[arg(long, value_name = "RULES", requires = "mesh")]
    shard: Option<ShardRules>,
}

/// Formats that consist of a folder: a StableHLO module with its manifest.
#[derive(Copy, Clone, ValueEnum)]
enum FolderFormat {
    #[value(name = "stablehlo")]
    StableHlo,
}

/// The names of [`Precision`] on the command line.
#[derive(Copy, Clone, ValueEnum)]
pub enum PrecisionName {
    Highest,
    Native,
}

impl From<PrecisionName> for Precision {
    fn from(name: PrecisionName) -> Self {
        match name {
            PrecisionName::Highest => Self::Highest,
            PrecisionName::Native => Self::Native,
        }
    }
}

impl StableHloArgs {
    /// The precision of computations.
    pub fn precision(&self) -> Precision {
        self.precision.into()
    }

    /// The files to write: the files in the folder `output`, or `output` itself if no folder is requested.
    ///
    /// # Errors
    /// A folder is requested but the output is named like a file, or vice versa.
    pub fn files(&self, output: &Path) -> Result<Vec<std::path::PathBuf>, Failure> {
        let is_named_as_folder =
            output.is_dir() || output.as_os_str().to_string_lossy().ends_with(['/', '\\']);
        match self.to {
            Some(FolderFormat::StableHlo) if !is_named_as_folder && Format::to_write(output).is_some() => {
                Err(Failure::usage(format!(
                    "{0}: --to stablehlo writes a folder; end its name with /, or omit --to to write a single file",
                    output.display()
                )))
            }
            Some(FolderFormat::StableHlo) if output.is_file() => {
                Err(Failure::usage(format!("{}: is a file, not a folder", output.display())))
            }
            Some(FolderFormat::StableHlo) => {
                Ok(snick::STABLEHLO_FILES.iter().map(|name| output.join(name)).collect())
            }
            None if is_named_as_folder && !output.is_file() => Err(Failure::usage(format!(
                "{}: a folder; pass --to stablehlo, or name a file whose extension selects the format",
                output.display()
            ))),
            None => Ok(vec![output.to_path_buf()]),
        }
    }

    /// Writes the folder and returns its files; `None` if no folder is requested.
    pub fn save(
        &self,
        model: &Model,
        output: &Path,
        states: Vec<State>,
    ) -> Result<Option<Vec<WrittenFile>>, Failure> {
        if self.to.is_none() {
            return Ok(None);
        }
        let mut options = StableHloOptions::new().precision(self.precision()).states(states);
        if let Some(mesh) = &self.mesh {
            options = options.mesh(mesh.clone(), self.shard.clone().unwrap_or_default());
        }
        Ok(Some(model.write_stablehlo(output, &options)?))
    }
}

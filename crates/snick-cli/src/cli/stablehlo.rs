//! Options for MLIR: the dialect, the precision, the output folder and the mesh of devices.

use std::path::Path;

use clap::{Args, ValueEnum};
use snick::{
    Format, LinalgOptions, Mesh, MlirDialect, Model, Precision, ShardRules, StableHloOptions, State,
    WrittenFile,
};

use snick_ir::Value;

use super::console::Failure;

/// How to write MLIR.
#[derive(Args)]
#[command(next_help_heading = "MLIR: StableHLO and linalg")]
pub struct StableHloArgs {
    /// Dialect, stablehlo for XLA or linalg for compilers such as IREE. Writes a folder: model.mlir with large
    /// constants as arguments, manifest.json with the location of their bytes (weights stay in the files of the
    /// model), and folded.bin with folded constants. linalg also writes a single .mlir file
    #[arg(long, value_name = "FORMAT", value_enum)]
    to: Option<MlirFormat>,
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

/// The dialects of MLIR.
#[derive(Copy, Clone, PartialEq, Eq, ValueEnum)]
enum MlirFormat {
    #[value(name = "stablehlo")]
    StableHlo,
    #[value(name = "linalg")]
    Linalg,
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

    /// The operations of an MLIR file.
    pub fn dialect(&self) -> MlirDialect {
        match self.to {
            Some(MlirFormat::Linalg) => MlirDialect::Linalg,
            _ => MlirDialect::StableHlo,
        }
    }

    /// A hint for models whose sizes are dynamic, if another dialect serves them better.
    pub fn hint(&self, model: &Model) -> Option<&'static str> {
        let graph = model.graph();
        let fact = |node| graph.fact(Value { node, port: 0 });
        let is_dynamic = graph.parameters().filter_map(fact).any(|fact| !fact.shape.is_static());
        (is_dynamic && self.to == Some(MlirFormat::StableHlo))
            .then_some("the inputs have dynamic sizes: compilers such as IREE take --to linalg instead")
    }

    /// The files to write: the files in the folder `output`, or `output` itself if no folder is requested.
    ///
    /// # Errors
    /// A folder is requested but the output is named like a file, or vice versa.
    pub fn files(&self, output: &Path) -> Result<Vec<std::path::PathBuf>, Failure> {
        let is_named_as_folder =
            output.is_dir() || output.as_os_str().to_string_lossy().ends_with(['/', '\\']);
        match self.to {
            Some(MlirFormat::Linalg) if self.mesh.is_some() => {
                Err(Failure::usage("--mesh applies to --to stablehlo"))
            }
            Some(MlirFormat::Linalg) if !is_named_as_folder && Format::to_write(output).is_some() => {
                match Format::to_write(output) {
                    Some(Format::StableHlo) => Ok(vec![output.to_path_buf()]),
                    _ => Err(Failure::usage(format!(
                        "{}: --to linalg writes a folder or a file whose name ends in .mlir",
                        output.display()
                    ))),
                }
            }
            Some(MlirFormat::StableHlo) if !is_named_as_folder && Format::to_write(output).is_some() => {
                Err(Failure::usage(format!(
                    "{0}: --to stablehlo writes a folder; end its name with /, or omit --to to write a single file",
                    output.display()
                )))
            }
            Some(_) if output.is_file() => {
                Err(Failure::usage(format!("{}: is a file, not a folder", output.display())))
            }
            Some(_) => Ok(snick::STABLEHLO_FILES.iter().map(|name| output.join(name)).collect()),
            None if is_named_as_folder && !output.is_file() => Err(Failure::usage(format!(
                "{}: a folder; pass --to stablehlo or --to linalg, or name a file whose extension selects the format",
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
        match self.to {
            None => return Ok(None),
            Some(MlirFormat::Linalg) if self.files(output)?.len() == 1 => return Ok(None),
            Some(MlirFormat::Linalg) => {
                let options = LinalgOptions::new().precision(self.precision()).states(states);
                return Ok(Some(model.write_linalg(output, &options)?));
            }
            Some(MlirFormat::StableHlo) => {}
        }
        let mut options = StableHloOptions::new().precision(self.precision()).states(states);
        if let Some(mesh) = &self.mesh {
            options = options.mesh(mesh.clone(), self.shard.clone().unwrap_or_default());
        }
        Ok(Some(model.write_stablehlo(output, &options)?))
    }
}

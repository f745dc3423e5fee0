//! `snick convert`: writes a model in another format.

use std::path::{Path, PathBuf};

use clap::Args;
use snick::{Format, Model, PictureOptions, SaveOptions, SaveTarget};
use snick_ir::{Located, did_you_mean};
use snick_pass::states::State;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::inner_values::layer_names;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::stablehlo::StableHloArgs;
use crate::cli::target::{TargetOptions, is_stdout};
use crate::cli::{help, json, model, target};

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick convert model.onnx -o model.xml --for openvino=2023.0", "Write an IR and its .bin for this release"),
        ("snick convert model.xml -o folder --to stablehlo", "Write StableHLO with the weights beside it"),
    ],
    "inference finds an error, or the format or release cannot express a layer"
))]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    #[arg(short, long, value_name = "OUT", help = output_help(), help_heading = help::OUTPUTS)]
    output: PathBuf,
    /// Rewrite what a release or opset lacks, for example openvino=2023.0 or onnx=13
    #[arg(long = "for", value_name = "TARGET", conflicts_with = "to", help_heading = help::OUTPUTS)]
    reader: Option<SaveTarget>,
    #[command(flatten)]
    target: TargetOptions,
    #[command(flatten)]
    stablehlo: StableHloArgs,
    #[command(flatten)]
    picture: Picture,
    /// Turn variables into inputs (past…) and outputs (present…), and report their initial values
    #[arg(long, conflicts_with = "stateful", help_heading = help::OUTPUTS)]
    stateless: bool,
    /// Turn inputs named past… and outputs named present… into variables
    #[arg(long, help_heading = help::OUTPUTS)]
    stateful: bool,
}

/// Options for .svg files.
#[derive(Args)]
#[command(next_help_heading = "Pictures (.svg)")]
struct Picture {
    /// Draw each scope at this depth as a single box; scopes are separated by / or . in layer names
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// Draw only the layers around this layer
    #[arg(long, value_name = "LAYER")]
    around: Option<String>,
    /// Open every block of a repeating sequence, instead of only the first
    #[arg(long)]
    each_repeat: bool,
    /// Maximum distance from LAYER, in connections
    #[arg(long, value_name = "N", default_value_t = 3, requires = "around")]
    steps: usize,
}

impl Picture {
    fn is_asked_for(&self) -> bool {
        self.depth.is_some() || self.around.is_some() || self.each_repeat
    }

    /// Fails if `--around` names an unknown layer, or if the output is not an .svg file.
    fn check(&self, model: &Model, output: &Path) -> Result<(), Failure> {
        if self.is_asked_for() && Format::to_write(output) != Some(Format::Svg) {
            return Err(Failure::usage(
                "--depth, --around and --each-repeat apply to pictures: give -o a name that ends in .svg",
            ));
        }
        let graph = model.graph();
        match &self.around {
            Some(layer) if !layer_names(graph).any(|name| name == layer) => {
                let hint = did_you_mean(layer, layer_names(graph));
                Err(Failure::usage(format!("--around {layer}: no such layer{hint}")))
            }
            _ => Ok(()),
        }
    }

    fn options(&self, failed: Vec<String>) -> PictureOptions {
        let options = PictureOptions::new().failed(failed).each_repeat(self.each_repeat);
        let options = match self.depth {
            Some(depth) => options.depth(depth),
            None => options,
        };
        match &self.around {
            Some(layer) => options.around(layer, self.steps),
            None => options,
        }
    }
}

fn output_help() -> String {
    format!("{}; with --to, a folder, or a .mlir file for linalg", target::output_help())
}

/// A model that is ready to be written.
struct Prepared {
    model: Model,
    errors: Vec<Located>,
    states: Vec<State>,
}

/// Reads and infers the model. Inputs with a default value stay inputs if `keeps_optional`, otherwise they
/// become constants.
fn prepare(options: &Options, console: &Console, keeps_optional: bool) -> Result<Prepared, Failure> {
    let mut model = model::load_with_optional_inputs(&options.model, console, |_| keeps_optional)?;
    let errors = model::infer(&mut model, console)?;
    let states = match () {
        () if options.stateless => model.make_stateless()?,
        () if options.stateful => model.make_stateful()?,
        () => Vec::new(),
    };
    Ok(Prepared { model, errors, states })
}

/// Prepares the model for the output format. ONNX is the only format with default values of inputs. Even in
/// ONNX, they become constants if the model cannot be written otherwise, for example because an operator
/// needs a constant.
fn prepare_with_optional_inputs(options: &Options, console: &Console) -> Result<Prepared, Failure> {
    let has_defaults = Format::to_write(&options.output) == Some(Format::Onnx);
    let mut prepared = prepare(options, console, has_defaults)?;
    if prepared.model.optional_inputs().is_empty() {
        return Ok(prepared);
    }
    if has_defaults {
        let graph = prepared.model.graph();
        let written = match options.reader {
            Some(SaveTarget::Onnx(opset)) => snick_emit::onnx::for_opset(graph, "", opset),
            _ => snick_emit::onnx::onnx(graph, ""),
        };
        if prepared.errors.is_empty() && written.is_ok() {
            return Ok(prepared);
        }
        prepared = prepare(options, console, false)?;
    }
    let names: Vec<String> =
        prepared.model.optional_inputs().iter().map(|name| format!("`{name}`")).collect();
    console.note(&format!("inputs with a default value become constants: {}", names.join(", ")));
    Ok(prepared)
}

/// Reads, infers, writes.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let Prepared { mut model, mut errors, states } = prepare_with_optional_inputs(options, console)?;
    if let Some(reader) = options.reader.filter(|reader| !writes(*reader, &options.output)) {
        let extension = reader.format().extension();
        return Err(Failure::usage(format!("--for {reader}: give -o a name that ends in .{extension}")));
    }
    for file in options.stablehlo.files(&options.output)? {
        options.target.check(model.files().iter().map(PathBuf::as_path), &file)?;
    }
    options.picture.check(&model, &options.output)?;
    states.iter().for_each(|state| console.note(&state.to_string()));
    // A DirectML description can only hold slices, so all slice-like layers are lowered.
    if Format::to_write(&options.output) == Some(Format::DirectMl) {
        errors.extend(snick_pass::lower_slices(model.graph_mut()).errors);
    }
    errors.iter().for_each(|error| console.located(error));
    write(&model, states, &errors, options, console)?;
    if common.format == OutputFormat::Json && !is_stdout(&options.output) {
        console.print(&json::written("snick.convert/1", &options.output, &errors))?;
    }
    Ok(Outcome::finding(!errors.is_empty()))
}

/// Whether the output has the format of the target.
fn writes(reader: SaveTarget, output: &Path) -> bool {
    Format::to_write(output) == Some(reader.format())
}

/// Writes the model in the format of the output.
fn write(
    model: &Model,
    states: Vec<State>,
    errors: &[Located],
    options: &Options,
    console: &Console,
) -> Result<(), Failure> {
    if let Some(hint) = options.stablehlo.hint(model) {
        console.note(hint);
    }
    if let Some(files) = options.stablehlo.save(model, &options.output, states)? {
        console.wrote(&files);
        return Ok(());
    }
    let failed = errors.iter().map(|error| error.layer.clone()).collect();
    let save = options.target.save().precision(options.stablehlo.precision());
    let save = save.dialect(options.stablehlo.dialect());
    let save = options.reader.into_iter().fold(save, SaveOptions::target);
    target::write(model, &options.output, save, &options.picture.options(failed), console)
}

//! `snick edit`: changes a model step by step.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use snick::{Editor, ElementType, Error, Op};

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::target::{TargetOptions, is_stdout, output_help};
use crate::cli::value_names::split_names;
use crate::cli::{help, json, model};
use crate::npz;

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick edit model.xml --rename x=image --outputs features -o new.xml", "Rename an input and cut off the head"),
        ("snick edit model.xml --set conv1.strides=1,1 --constant w=w.npy -o new.xml", "Change an attribute and replace weights"),
    ],
    "the model does not infer after an edit, or the format cannot express a layer"
))]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    #[command(flatten)]
    edits: Edits,
    #[arg(short, long, value_name = "OUT", help = output_help(), help_heading = help::OUTPUTS)]
    output: PathBuf,
    #[command(flatten)]
    target: TargetOptions,
}

/// The kinds of edits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum EditKind {
    Rename,
    Set,
    Constant,
    Remove,
    Outputs,
    Type,
}

impl EditKind {
    const ALL: [Self; 6] = [Self::Rename, Self::Set, Self::Constant, Self::Remove, Self::Outputs, Self::Type];

    fn option(self) -> &'static str {
        match self {
            Self::Rename => "rename",
            Self::Set => "set",
            Self::Constant => "constant",
            Self::Remove => "remove",
            Self::Outputs => "outputs",
            Self::Type => "type",
        }
    }

    fn value(self) -> &'static str {
        match self {
            Self::Rename => "OLD=NEW",
            Self::Set => "LAYER.ATTR=VALUE",
            Self::Constant => "LAYER=FILE.npy",
            Self::Remove => "LAYER",
            Self::Outputs => "A,B",
            Self::Type => "INPUT=TYPE",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Rename => "Rename an input, an output, a layer or a tensor",
            Self::Set => "Set an attribute; values are written as in OpenVINO IR",
            Self::Constant => "Replace the value of a constant",
            Self::Remove => "Remove a layer; its only input takes its place",
            Self::Outputs => "Make these values, given as LAYER[:PORT] or by tensor name, the only outputs",
            Self::Type => "Change the element type of an input, and convert it back for its readers",
        }
    }
}

/// Edits in the order of the command line.
struct Edits(Vec<(EditKind, String)>);

impl Args for Edits {
    fn augment_args(command: Command) -> Command {
        let option = |kind: EditKind| {
            Arg::new(kind.option())
                .long(kind.option())
                .value_name(kind.value())
                .help(kind.help())
                .action(ArgAction::Append)
                .help_heading("Edits, applied in the given order")
        };
        command.args(EditKind::ALL.map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Edits {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut edits: Vec<(usize, EditKind, String)> = Vec::new();
        for kind in EditKind::ALL {
            let indices = matches.indices_of(kind.option()).into_iter().flatten();
            let values = matches.get_many::<String>(kind.option()).into_iter().flatten();
            edits.extend(indices.zip(values).map(|(index, value)| (index, kind, value.clone())));
        }
        edits.sort_by_key(|&(index, ..)| index);
        Ok(Self(edits.into_iter().map(|(_, kind, value)| (kind, value)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Reads, edits, writes.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let model = model::load(&options.model, console)?;
    let arrays = options.edits.0.iter().filter(|(kind, _)| *kind == EditKind::Constant);
    let arrays = arrays.filter_map(|(_, value)| value.rsplit_once('=')).map(|(_, file)| Path::new(file));
    let read: Vec<&Path> = model.files().iter().map(PathBuf::as_path).chain(arrays).collect();
    options.target.check(read, &options.output)?;
    let mut editor = model.editor();
    for (kind, value) in &options.edits.0 {
        apply(&mut editor, *kind, value, console).map_err(|failure| match failure {
            // The diagnostics name only the layers that do not infer.
            Failure::Layers(_) => {
                console.error(&format!("cannot apply --{} {value}", kind.option()));
                failure
            }
            Failure::Usage(message) => Failure::Usage(format!("--{} {value}: {message}", kind.option())),
            failure => failure,
        })?;
    }
    options.target.write(&editor.finish(), &options.output, console)?;
    if common.format == OutputFormat::Json && !is_stdout(&options.output) {
        console.print(&json::written("snick.edit/1", &options.output, &[]))?;
    }
    Ok(Outcome::Fine)
}

fn apply(editor: &mut Editor, kind: EditKind, value: &str, console: &Console) -> Result<(), Failure> {
    let has_value = |name: &str| editor.graph().find_value(name).is_some();
    let edited = match kind {
        EditKind::Rename => {
            let (old, new) = split(value, kind, has_value)?;
            editor.rename(old, new)
        }
        EditKind::Set => {
            let (attr, text) =
                split(value, kind, |name| name.rsplit_once('.').is_some_and(|(layer, _)| has_value(layer)))?;
            let Some((layer, attr)) = attr.rsplit_once('.') else { return Err(malformed(kind)) };
            editor.set_attr(layer, attr, text.to_string())
        }
        EditKind::Constant => {
            let (layer, file) = split(value, kind, has_value)?;
            let array = npz::read_npy(Path::new(file), console.memory(), |_| Ok::<(), Failure>(()))?;
            let element_type = match editor.graph().find(layer).map(|id| editor.graph().node(id).op()) {
                Some(Op::Const(constant)) => constant.element_type(),
                _ => array.element_type(),
            };
            let array = npz::fit(array.clone(), element_type, None).unwrap_or(array);
            editor.replace_constant(layer, &array)
        }
        EditKind::Remove => editor.remove(value),
        EditKind::Outputs => {
            let outputs: Vec<String> =
                split_names(value, editor.graph()).into_iter().map(str::to_string).collect();
            editor.set_outputs(&outputs)
        }
        EditKind::Type => {
            let (input, name) = split(value, kind, has_value)?;
            let element_type: ElementType = name.parse().map_err(Failure::usage)?;
            editor.set_input_type(input, element_type)
        }
    };
    match edited {
        // The option is named instead of the edit.
        Err(Error::Edit { error, .. }) => Err((*error).into()),
        edited => Ok(edited?),
    }
}

/// Splits `LEFT=RIGHT` where the left side is known, or at the first `=` if it never is.
fn split(value: &str, kind: EditKind, is_known: impl Fn(&str) -> bool) -> Result<(&str, &str), Failure> {
    let splits = || value.match_indices('=').map(|(at, _)| (&value[..at], &value[at + 1..]));
    splits().find(|(left, _)| is_known(left)).or_else(|| splits().next()).ok_or_else(|| malformed(kind))
}

fn malformed(kind: EditKind) -> Failure {
    Failure::usage(format!("expected {}", kind.value()))
}

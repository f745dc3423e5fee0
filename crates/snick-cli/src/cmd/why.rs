//! `snick why`: where a size, a known value or an error comes from.

use std::collections::HashSet;
use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;
use snick::{
    BoundedOutput, Bounds, Diagnostic, ExplainedError, Model, Part, Suggestion, UnknownOrigin, Unknowns,
    ValuePart, Why, WhyNode, WhyText,
};
use snick_ir::Located;
use snick_ir::text::Escaped;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::help;
use crate::cli::json::Answer;
use crate::cli::layout::Layout;
use crate::cli::many::counted;
use crate::cli::model;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::symbols;

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick why model.xml --unknown", "Why sizes have no upper bound, and input shapes that bound them"),
        (r#"snick why model.xml "layer:2:1""#, "Where axis 1 of output port 2 of a layer comes from"),
    ],
    "inference finds an error"
))]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    /// An output: a layer name, the port number in the file and optionally an axis; or a tensor name
    #[arg(value_name = "LAYER[:PORT[:AXIS]]", required_unless_present_any = ["unknown", "error"])]
    target: Option<String>,
    /// Count the sizes without an upper bound by origin
    #[arg(long, conflicts_with_all = ["target", "error"])]
    unknown: bool,
    /// Explain an inference error, counted from 1 in the order of `snick infer`
    #[arg(long, value_name = "K", conflicts_with = "target")]
    error: Option<usize>,
}

/// Infers and explains.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let mut model = model::load(&options.model, console)?;
    let errors = model::infer(&mut model, console)?;
    if let Some(number) = options.error {
        return explain_error(&model, &errors, number, common, console);
    }
    errors.iter().for_each(|error| console.located(error));
    let text = match &options.target {
        Some(target) => of_target(&model, target, common.format, console.layout())?,
        None => of_unknown(&model, common.format, console.layout()),
    };
    console.print(&text)?;
    Ok(Outcome::finding(!errors.is_empty()))
}

/// The origins of sizes without an upper bound.
pub fn of_unknown(model: &Model, format: OutputFormat, layout: Layout) -> String {
    let unknowns = model.why_unknown();
    let listed = unknowns.origins.iter().filter_map(|origin| origin.symbol.as_deref()).collect();
    match format {
        OutputFormat::Text => {
            let text = with_legend(model, unknowns_text(&unknowns, layout), &listed, layout);
            layout.fold(&text).into_owned()
        }
        OutputFormat::Json => Answer::new("snick.why-unknown/1", &unknowns).with_symbols(model).text(),
    }
}

/// Adds a line for each symbol that the text mentions but does not already list.
fn with_legend(model: &Model, mut text: String, listed: &HashSet<&str>, layout: Layout) -> String {
    let symbols = model.symbols_in(&text);
    let others = symbols.iter().filter(|symbol| !listed.contains(symbol.name.as_str()));
    symbols::write_all(others, layout, &mut text);
    text
}

/// Adds the symbols whose origin is shown by a leaf of a tree.
fn add_leaves<'t>(tree: &'t WhyNode, listed: &mut HashSet<&'t str>) {
    if tree.from.is_empty() {
        listed.insert(&tree.expr);
    }
    tree.from.iter().for_each(|node| add_leaves(node, listed));
}

/// The origin of an output, or of a part of it.
pub fn of_target(
    model: &Model,
    target: &str,
    format: OutputFormat,
    layout: Layout,
) -> Result<String, snick::Error> {
    let target = model.target(target)?;
    let parts: Vec<ValuePart> = target.parts(model);
    let answers: Vec<Why> = parts.into_iter().map(|part| model.why(part)).collect::<Result<_, _>>()?;
    if format == OutputFormat::Text {
        let mut listed = HashSet::new();
        answers.iter().for_each(|why| add_leaves(&why.tree, &mut listed));
        return Ok(match answers.is_empty() {
            true => "the output is a scalar, and its value is not known before a run\n".to_string(),
            false => with_legend(model, WhyText(&answers).to_string(), &listed, layout),
        });
    }
    Ok(match (answers.as_slice(), target.axis) {
        ([why], Some(_)) => Answer::new("snick.why/1", why).with_symbols(model).text(),
        (parts, _) => Answer::new("snick.why/1", Parts { parts }).with_symbols(model).text(),
    })
}

/// The answers for all parts of an output.
#[derive(Serialize)]
struct Parts<'w> {
    parts: &'w [Why],
}

fn explain_error(
    model: &Model,
    errors: &[Located],
    number: usize,
    common: &Common,
    console: &Console,
) -> Result<Outcome, Failure> {
    let error = number.checked_sub(1).and_then(|at| errors.get(at)).ok_or_else(|| {
        Failure::usage(match errors.len() {
            0 => "inference finds no error in this model".to_string(),
            1 => format!("no error {number}; inference finds 1 error"),
            count => format!("no error {number}; inference finds {count} errors, counted from 1"),
        })
    })?;
    console.print(&of_error(model, error, common.format, console.layout())?)?;
    Ok(Outcome::Finding)
}

/// The origins of the operands of an inference error.
pub fn of_error(
    model: &Model,
    error: impl Into<Diagnostic>,
    format: OutputFormat,
    layout: Layout,
) -> Result<String, snick::Error> {
    let explained = model.why_error(&error.into())?;
    Ok(match format {
        OutputFormat::Text => {
            let mut listed = HashSet::new();
            explained.operands.iter().for_each(|operand| add_leaves(operand, &mut listed));
            with_legend(model, error_text(&explained), &listed, layout)
        }
        OutputFormat::Json => Answer::new("snick.why-error/1", &explained).with_symbols(model).text(),
    })
}

fn error_text(explained: &ExplainedError) -> String {
    let error = &explained.error;
    let mut text = format!("{}error: {}{}\n", error.place(), error.headline(), error.inputs_in_parentheses());
    for (operand, (input, part)) in explained.operands.iter().zip(&explained.parts) {
        let _ = match part {
            Part::Element(index) => write!(text, "\ninput {input}, element {index}\n{operand}"),
            Part::Dim(axis) => write!(text, "\ninput {input}, axis {axis}\n{operand}"),
            _ => write!(text, "\n{operand}"),
        };
    }
    text
}

fn unknowns_text(unknowns: &Unknowns, layout: Layout) -> String {
    let mut text = match (unknowns.dims, unknowns.origins.len()) {
        (0, _) => return "every size has an upper bound\n".to_string(),
        (1, _) => "1 size has no upper bound\n".to_string(),
        (dims, 1) => format!("{dims} sizes have no upper bound, all from 1 origin\n"),
        (dims, origins) => format!("{dims} sizes have no upper bound, from {origins} origins\n"),
    };
    if let Some(bounds) = &unknowns.bounds {
        text += &bounds_text(bounds, unknowns.dims);
    }
    text += "\norigins\n";
    unknowns.origins.iter().for_each(|origin| text += &origin_text(origin, layout));
    text
}

/// Maximum number of outputs to show with their shapes before and after.
const MAX_OUTPUTS: usize = 8;

/// The input shapes that bound most sizes, and their effect.
fn bounds_text(bounds: &Bounds, dims: usize) -> String {
    let mut text = format!("\ntry --shape \"{}\"\n", Escaped(&bounds.shape));
    let _ = match bounds.dims {
        0 => writeln!(text, "    bounds all of them"),
        left => writeln!(text, "    bounds {} of them", dims.saturating_sub(left)),
    };
    for BoundedOutput { name, before, after, .. } in bounds.outputs.iter().take(MAX_OUTPUTS) {
        let _ = writeln!(text, "    {}: {} becomes {}", Escaped(name), Escaped(before), Escaped(after));
    }
    if bounds.outputs.len() > MAX_OUTPUTS {
        let _ = writeln!(text, "    and {} more outputs", bounds.outputs.len() - MAX_OUTPUTS);
    }
    text
}

/// The number of sizes from an origin, then its symbol, layer, reason and suggestions.
fn origin_text(origin: &UnknownOrigin, layout: Layout) -> String {
    let symbol = origin.symbol.as_deref().unwrap_or("[...]");
    let axis = origin.axis.map(|axis| format!(", axis {axis}")).unwrap_or_default();
    let loc = if origin.loc.line > 0 { format!("  ({})", origin.loc) } else { String::new() };
    let dims = counted(origin.dims, "size");
    let line = format!("{dims:>10}  {symbol}  {} {}{axis}{loc}", origin.op, origin.layer);
    let line = layout.shorten(Escaped(&line).to_string(), &Escaped(&origin.layer).to_string());
    let mut text = format!("{line}\n");
    // A size that an input declares has no reason or suggestion: the suggestion for the whole model bounds
    // it.
    let Some(reason) = origin.reason.as_deref() else { return text };
    let _ = writeln!(text, "        {}", Escaped(reason));
    for Suggestion { shape, effect, .. } in &origin.suggestions {
        let _ = writeln!(text, "        try --shape \"{}\": {}", Escaped(shape), Escaped(effect));
    }
    text
}

//! `snick cost`: multiply-accumulates, operations and memory of a run, as numbers or as expressions of symbols.

use std::fmt::Write as _;

use clap::Args;
use serde::{Serialize, Serializer};
use snick::{Amount, LayerCost, Model, ModelCost};
use snick_ir::text::Escaped;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::json::Answer;
use crate::cli::model;
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::symbols::{self, COLUMNS};

/// Options of the verb.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    model: ModelOptions,
    /// Number of most expensive layers to list
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
}

/// Reads, infers, counts, prints.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let mut model = model::load(&options.model, console)?;
    let errors = model::infer(&mut model, console)?;
    errors.iter().for_each(|error| console.located(error));
    console.print(&answer(&model, common.format, options.top)?)?;
    Ok(Outcome::finding(!errors.is_empty()))
}

/// The cost of an inferred model; as text, with the `top` most expensive layers.
pub fn answer(model: &Model, format: OutputFormat, top: usize) -> Result<String, snick::Error> {
    let cost = model.cost()?;
    Ok(match format {
        OutputFormat::Text => {
            let mut text = as_text(&cost, top);
            symbols::write_all(cost.symbols_in(model, &text).iter(), &mut text);
            text
        }
        OutputFormat::Json => {
            let answer = Answer::new("snick.cost/1", &cost);
            answer.with_symbols_in(|text| cost.symbols_in(model, text)).text()
        }
    })
}

/// Writes the totals, one per line; also used by `inspect`.
pub fn write_totals(cost: &ModelCost, text: &mut String) {
    for (name, amount, unit) in [
        ("macs", &cost.macs, Unit::Count),
        ("flops", &cost.flops, Unit::Count),
        ("activations", &cost.activation_bytes, Unit::Bytes),
        ("peak", &cost.peak_bytes, Unit::Bytes),
        ("states", &cost.state_bytes, Unit::Bytes),
    ] {
        if amount.number() != Some(0) || name == "macs" {
            let shown = amount_text(amount, cost, unit);
            let _ = writeln!(text, "  {name:11}  {}", wrapped(&shown, 15));
        }
    }
}

/// The unit of an amount.
#[derive(Copy, Clone)]
enum Unit {
    Count,
    Bytes,
}

/// A number with a prefix such as k or M, or an expression.
fn amount_text(amount: &Amount, cost: &ModelCost, unit: Unit) -> String {
    let Some(number) = amount.number() else { return amount.display(&cost.symbols).to_string() };
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let unit = match unit {
        Unit::Count => "",
        Unit::Bytes => "B",
    };
    match prefixes.iter().find(|(factor, _)| number as f64 >= 10.0 * factor) {
        Some((factor, prefix)) => format!("{:.1} {prefix}{unit}", number as f64 / factor),
        None if unit.is_empty() => number.to_string(),
        None => format!("{number} {unit}"),
    }
}

/// Breaks a text into lines after operators and spaces.
fn wrapped(text: &str, indent: usize) -> String {
    let text = Escaped(text).to_string();
    let mut lines = vec![String::new()];
    for piece in text.split_inclusive(['+', '*', ',', ' ']) {
        let room = COLUMNS.saturating_sub(indent);
        match lines.last_mut() {
            Some(line) if line.is_empty() || line.chars().count() + piece.chars().count() <= room => {
                line.push_str(piece);
            }
            _ => lines.push(piece.to_string()),
        }
    }
    lines.join("\n").replace('\n', &format!("\n{}", " ".repeat(indent)))
}

fn as_text(cost: &ModelCost, top: usize) -> String {
    let mut text = String::from("cost of a run\n");
    write_totals(cost, &mut text);
    let bytes = Amount::from(cost.weights_bytes);
    let parameters = amount_text(&Amount::from(cost.parameters), cost, Unit::Count);
    let _ = writeln!(text, "  {:11}  {parameters}", "parameters");
    let _ = writeln!(text, "  {:11}  {}", "weights", amount_text(&bytes, cost, Unit::Bytes));
    let dearest = dearest(cost, top);
    if !dearest.is_empty() {
        let _ = writeln!(text, "\nlayers that cost most, of {}", cost.layers.len());
    }
    for layer in dearest {
        let (macs, is_product) = match layer.macs.number() {
            Some(0) => (&layer.flops, false),
            _ => (&layer.macs, true),
        };
        let shown = amount_text(macs, cost, Unit::Count);
        let unit = if is_product { "macs" } else { "flops" };
        let line = match shown.chars().count() {
            0..=16 => format!("{shown:>16} {unit:5}  "),
            _ => format!("{}\n  {:16} {unit:5}  ", wrapped(&shown, 2), ""),
        };
        let _ = writeln!(text, "  {line}{}", layer_text(layer));
    }
    if !cost.notes.is_empty() {
        let _ = writeln!(text, "\nnotes");
    }
    for note in &cost.notes {
        let _ = writeln!(text, "  {}", wrapped(note, 2));
    }
    text
}

/// Operation and location of a layer, and as much of the end of its name as fits.
fn layer_text(layer: &LayerCost) -> String {
    let loc = if layer.loc.line > 0 { format!("  {}", layer.loc) } else { String::new() };
    let name = Escaped(&layer.name).to_string();
    let room = COLUMNS.saturating_sub(26 + layer.op.chars().count() + 1 + loc.len());
    let name: String = match name.chars().count() {
        count if count <= room => name,
        count => std::iter::once('\u{2026}').chain(name.chars().skip(count + 1 - room.max(1))).collect(),
    };
    format!("{} {name}{loc}", Escaped(&layer.op))
}

/// The most expensive layers, assuming ordinary sizes for symbols.
fn dearest(cost: &ModelCost, top: usize) -> Vec<&LayerCost> {
    let size = |symbol: snick_shape::SymbolId| {
        let interval = cost.symbols.interval(&symbol.into());
        let least = interval.lo().max(32);
        Some(if interval.has_upper() { least.min(interval.hi()) } else { least })
    };
    let of = |amount: &Amount| amount.at(&cost.symbols, &size).unwrap_or_default();
    let mut layers: Vec<&LayerCost> = cost.layers.iter().filter(|layer| of(&layer.flops) > 0).collect();
    layers.sort_by_key(|layer| std::cmp::Reverse(of(&layer.flops)));
    layers.truncate(top);
    layers
}

/// Serialises only the totals.
pub struct Totals(pub ModelCost);

impl Serialize for Totals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(cost) = self;
        serializer.collect_map(cost.totals().map(|(key, amount)| (key, amount.display(&cost.symbols))))
    }
}

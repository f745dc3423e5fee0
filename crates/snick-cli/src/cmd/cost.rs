//! `snick cost`: multiply-accumulates, operations and memory of a run, as numbers or as expressions of symbols.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::Args;
use serde::{Serialize, Serializer};
use snick::{Amount, LayerCost, LeadingTerm, Model, ModelCost};
use snick_ir::text::Escaped;
use snick_shape::SymbolId;

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::example::Example;
use crate::cli::help;
use crate::cli::json::Answer;
use crate::cli::layout::{Layout, column, width};
use crate::cli::options::{Common, ModelOptions, OutputFormat};
use crate::cli::{layout, model, quantity, symbols};

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick cost model.xml", "Cost as a formula of the dynamic sizes, and the most expensive layers"),
        (r#"snick cost model.xml --shape "[1,3,224,224]" --top 20"#, "Numbers for one input shape"),
    ],
    "inference finds an error"
))]
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
    console.print(&answer(&model, common.format, options.top, console.layout())?)?;
    Ok(Outcome::finding(!errors.is_empty()))
}

/// The cost of an inferred model; as text, with the `top` most expensive layers.
pub fn answer(
    model: &Model,
    format: OutputFormat,
    top: usize,
    layout: Layout,
) -> Result<String, snick::Error> {
    let cost = model.cost()?;
    Ok(match format {
        OutputFormat::Text => {
            let mut text = as_text(&Example::of(model, &cost), top, layout);
            symbols::write_all(cost.symbols_in(model, &text).iter(), layout, &mut text);
            layout.fold(&text).into_owned()
        }
        OutputFormat::Json => {
            let answer = Answer::new("snick.cost/1", &cost);
            answer.with_symbols_in(|text| cost.symbols_in(model, text)).text()
        }
    })
}

/// The totals with their names and units.
fn named_totals(cost: &ModelCost) -> impl Iterator<Item = (&'static str, &Amount, &'static str)> {
    let totals = [
        ("macs", &cost.macs, ""),
        ("flops", &cost.flops, ""),
        ("activations", &cost.activation_bytes, "B"),
        ("peak", &cost.peak_bytes, "B"),
        ("states", &cost.state_bytes, "B"),
    ];
    totals.into_iter().filter(|(name, amount, _)| amount.number() != Some(0) || *name == "macs")
}

/// The totals, each as a short text: a number, or the leading terms of a formula and a number for typical
/// sizes. Also used by `inspect`.
pub fn totals(example: &Example, layout: Layout) -> Vec<String> {
    let mut symbols = BTreeSet::new();
    let totals: Vec<_> = named_totals(example.cost)
        .map(|(name, amount, unit)| (name, amount, unit, short_formula(amount, example, unit, &mut symbols)))
        .collect();
    // Only the first formula is followed by the sizes of the example.
    let mut at = Some(example.describe(&symbols)).filter(|at| !at.is_empty());
    let item = |(name, amount, unit, formula): (&str, &Amount, &str, Vec<String>)| {
        let number = example.number(amount).map_or("?".to_string(), |n| quantity::amount(n, unit));
        let at = at.take_if(|_| amount.number().is_none()).map(|at| format!("at {at}")).unwrap_or_default();
        let terms = formula.len();
        let term = |(at, term)| format!("{term}{}", if at + 1 < terms { " +" } else { ";" });
        let terms: Vec<String> = formula.into_iter().enumerate().map(term).collect();
        let words = terms.iter().map(String::as_str).chain([number.as_str()]).chain(at.split_whitespace());
        format!("  {name:11}  {}", layout.fill(words, NAMES))
    };
    totals.into_iter().map(item).collect()
}

/// The width of the column of names, with the spaces around it.
const NAMES: usize = 15;

/// Maximum length of a formula that is shown in full; longer ones are reduced to their leading terms.
const MAX_FORMULA: usize = 20;

/// The terms of a formula; the first starts with `≈` unless the formula is exact. Returns no terms for a
/// number, or if there are no leading terms. Adds the symbols of the terms to `symbols`.
fn short_formula(
    amount: &Amount,
    example: &Example,
    unit: &str,
    symbols: &mut BTreeSet<SymbolId>,
) -> Vec<String> {
    if amount.number().is_some() {
        return Vec::new();
    }
    let exact = Escaped(&amount.display(&example.cost.symbols).to_string()).to_string();
    let has_long_number = exact.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 4);
    if width(&exact) <= MAX_FORMULA && !has_long_number {
        let all = RefCell::new(symbols);
        amount.at(&example.cost.symbols, &|symbol| {
            all.borrow_mut().insert(symbol);
            Some(example.size(symbol))
        });
        return vec![match unit {
            "" => exact,
            unit if layout::is_sum(&exact) => format!("({exact}) {unit}"),
            unit => format!("{exact} {unit}"),
        }];
    }
    let terms = example.leading_terms(amount).unwrap_or_default();
    symbols.extend(terms.iter().flat_map(|term| &term.powers).map(|(symbol, _)| *symbol));
    let mut shown: Vec<String> = terms.iter().map(|term| term_text(term, example, unit)).collect();
    if let Some(first) = shown.first_mut() {
        first.insert_str(0, "≈ ");
    }
    shown
}

/// A term such as `3.4 k·N·T²`.
fn term_text(term: &LeadingTerm, example: &Example, unit: &str) -> String {
    let mut factors = Vec::new();
    if term.coefficient != 1.0 || !unit.is_empty() || term.powers.is_empty() {
        factors.push(quantity::rounded(term.coefficient, 2, unit));
    }
    for &(symbol, exponent) in &term.powers {
        let label = example.label(symbol);
        factors.push(match exponent {
            1 => label,
            2 => format!("{label}²"),
            exponent => format!("{label}^{exponent}"),
        });
    }
    factors.join("·")
}

fn as_text(example: &Example, top: usize, layout: Layout) -> String {
    let cost = example.cost;
    let mut text = String::from("cost of a run\n");
    totals(example, layout).iter().for_each(|item| text += &format!("{item}\n"));
    let _ = writeln!(text, "  {:11}  {}", "parameters", quantity::count(cost.parameters));
    let _ = writeln!(text, "  {:11}  {}", "weights", quantity::bytes(cost.weights_bytes));
    write_dearest(example, top, layout, &mut text);
    let formulas: Vec<_> = named_totals(cost).filter(|(_, amount, _)| amount.number().is_none()).collect();
    if !formulas.is_empty() {
        let _ = writeln!(text, "\nformulas");
    }
    for (name, amount, _) in formulas {
        let formula = Escaped(&amount.display(&cost.symbols).to_string()).to_string();
        let _ = writeln!(text, "  {name:11}  {}", layout.formula(&formula, NAMES));
    }
    if !cost.notes.is_empty() {
        let _ = writeln!(text, "\nnotes");
    }
    for note in &cost.notes {
        let note = Escaped(note).to_string();
        let _ = writeln!(text, "  {}", layout.fill(note.split(' '), 2));
    }
    text
}

/// Writes the most expensive layers, each with a number for the sizes of the example and a short formula.
fn write_dearest(example: &Example, top: usize, layout: Layout, text: &mut String) {
    let cost = example.cost;
    let of = |amount: &Amount| example.number(amount).unwrap_or_default();
    let mut layers: Vec<&LayerCost> = cost.layers.iter().filter(|layer| of(&layer.flops) > 0).collect();
    layers.sort_by_cached_key(|layer| std::cmp::Reverse(of(&layer.flops)));
    layers.truncate(top);
    let rows: Vec<[String; 2]> = layers
        .iter()
        .map(|layer| {
            let (amount, unit) = match layer.macs.number() {
                Some(0) => (&layer.flops, "flops"),
                _ => (&layer.macs, "macs"),
            };
            let terms = short_formula(amount, example, "", &mut BTreeSet::new());
            [format!("{} {unit:5}", quantity::count(of(amount))), terms.join(" + ")]
        })
        .collect();
    if !rows.is_empty() {
        let _ = writeln!(text, "\nmost expensive layers, of {}", cost.layers.len());
    }
    let [numbers, formulas] = [0, 1].map(|at| column(rows.iter().map(|row| row[at].as_str()), 40));
    for (layer, [number, formula]) in layers.into_iter().zip(&rows) {
        let gap = if formulas > 0 { "  " } else { "" };
        let loc = if layer.loc.line > 0 { format!("  {}", layer.loc) } else { String::new() };
        let name = Escaped(&layer.name).to_string();
        let line =
            format!("  {number:>numbers$}{gap}{formula:formulas$}  {} {name}{loc}", Escaped(&layer.op));
        let _ = writeln!(text, "{}", layout.shorten(line, &name));
    }
}

/// Serialises the totals of a cost, without its layers.
pub struct Totals(pub ModelCost);

impl Serialize for Totals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(cost) = self;
        serializer.collect_map(cost.totals().map(|(key, amount)| (key, amount.display(&cost.symbols))))
    }
}

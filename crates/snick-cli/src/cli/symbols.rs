//! Symbols in texts: their declarations in shapes, and the legend.

use std::collections::HashMap;
use std::fmt::Write as _;

use snick::{BirthKind, Fact, Graph, Interval, Symbol};
use snick_ir::text::Escaped;

use super::layout::{Layout, width};

/// Input symbols whose intervals a text has not shown yet. The interval is printed at the first dim that
/// consists only of the symbol.
pub struct Declarations<'s> {
    open: HashMap<&'s str, Interval>,
}

impl<'s> Declarations<'s> {
    /// Creates the declarations for a text that has not shown any symbol yet.
    pub fn new(symbols: &'s [Symbol]) -> Self {
        let inputs = symbols.iter().filter(|symbol| symbol.kind == BirthKind::Input);
        Self { open: inputs.map(|symbol| (symbol.name.as_str(), symbol.interval)).collect() }
    }

    /// Element type and shape: `f32[N,3,H=16..64]`, or `f32[N,3,H]` if `H` is already declared.
    pub fn kind(&mut self, graph: &Graph, fact: &Fact) -> String {
        let symbols = graph.symbols();
        let Some(dims) = fact.shape().dims() else { return format!("{}[...]", fact.element_type()) };
        let mut text = format!("{}[", fact.element_type());
        for (axis, dim) in dims.iter().enumerate() {
            if axis > 0 {
                text.push(',');
            }
            let start = text.len();
            let _ = write!(text, "{}", symbols.display(dim));
            let declared = dim.as_symbol().and_then(|_| self.open.remove(&text[start..]));
            if let Some(interval) = declared.filter(|&interval| interval != Interval::DIM) {
                let _ = write!(text, "={interval}");
            }
        }
        text.push(']');
        text
    }
}

/// Writes a line for each symbol that is not declared by an input: the layer where it originates, and why.
pub fn write_legend<'s>(symbols: impl Iterator<Item = &'s Symbol>, layout: Layout, text: &mut String) {
    write_all(symbols.filter(|symbol| symbol.kind != BirthKind::Input), layout, text);
}

/// Writes a line for each symbol: the layer where it originates, and why.
pub fn write_all<'s>(symbols: impl Iterator<Item = &'s Symbol>, layout: Layout, text: &mut String) {
    let mut symbols = symbols.peekable();
    if symbols.peek().is_some() {
        let _ = writeln!(text, "\nsymbols");
    }
    for symbol in symbols {
        let _ = writeln!(text, "{}", entry(symbol, layout));
    }
}

/// An entry of a legend: a symbol, the layer where it originates, and why.
pub fn entry(symbol: &Symbol, layout: Layout) -> String {
    let place = format!("  {}", Escaped(&symbol.birth_place()));
    let reason = Escaped(symbol.reason.as_deref().unwrap_or_default()).to_string();
    let separator = match (reason.as_str(), width(&place) + width(&reason) + 2 <= layout.columns) {
        ("", _) => "",
        (_, true) => ": ",
        (_, false) => "\n      ",
    };
    let place = layout.shorten(place, &Escaped(&symbol.layer).to_string());
    layout.fold(&format!("{place}{separator}{reason}")).trim_end().to_string()
}

//! Displays a model with other input shapes in the symbols of the original.

use snick_ir::{Graph, Value};
use snick_shape::Symbols;

use super::super::symbols::Births;

/// The symbols of a graph after its input shapes were changed, with the labels that they have in `before`. A
/// symbol that does not occur there is labelled with its interval.
pub(super) fn relabelled(before: &Graph, after: &Graph) -> Symbols {
    let (births, mut symbols) = (Births::new(after), after.symbols().clone());
    for symbol in after.symbols().ids().filter(|&symbol| after.symbols().name(symbol).is_none()) {
        let Some(size) = births.size(symbol) else { continue };
        let same = before.fact(size.value).and_then(|fact| size.part.of(fact)?.as_symbol());
        let label = match same {
            Some(same) => before.symbols().label(same).into_owned(),
            None => symbols.interval(&symbol.into()).to_string(),
        };
        symbols.set_label(symbol, &label);
    }
    symbols
}

/// The element type and shape of a value, displayed with these symbols.
pub(super) fn labelled_type(graph: &Graph, symbols: &Symbols, value: Value) -> Option<String> {
    let fact = graph.fact(value)?;
    Some(format!("{}{}", fact.element_type(), fact.shape().display_labels(symbols)))
}

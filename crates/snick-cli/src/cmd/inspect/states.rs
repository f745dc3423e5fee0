//! The table of states.

use snick::StateSize;
use snick_ir::text::Escaped;

use super::sections::Section;
use crate::cli::layout::Layout;
use crate::cli::quantity;

/// The total size and the table, if there are any states.
pub(super) fn section(states: &[StateSize], layout: Layout) -> Option<Section> {
    let sum = |grows: bool| {
        let bytes = states.iter().filter(|state| state.grows == grows).filter_map(|state| state.bytes);
        quantity::bytes(bytes.fold(0usize, usize::saturating_add) as u64)
    };
    let total = format!("  each sequence takes {} plus {} per token", sum(false), sum(true));
    let line = |state: &StateSize| {
        let bytes = match state.bytes {
            Some(bytes) => {
                let unit = if state.grows { " per token" } else { "" };
                format!("{}{unit}", quantity::bytes(bytes as u64))
            }
            None => "?".into(),
        };
        let name = Escaped(&state.variable_id).to_string();
        layout.shorten(format!("  {name}  {}  {bytes}", Escaped(&state.kind)), &name)
    };
    let items = std::iter::once(total).chain(states.iter().map(line));
    (!states.is_empty()).then(|| Section::new("states", items))
}

//! The table of states.

use std::fmt::Write as _;

use snick::StateSize;
use snick_ir::text::Escaped;

use super::bytes_text;

/// Writes the table and the total size, if there are any states.
pub(super) fn write(states: &[StateSize], text: &mut String) {
    if states.is_empty() {
        return;
    }
    let _ = writeln!(text, "\nstates");
    for state in states {
        let bytes = match state.bytes {
            Some(bytes) => format!("{}{}", bytes_text(bytes), if state.grows { " a token" } else { "" }),
            None => "?".into(),
        };
        let line = format!("{}  {}  {bytes}", state.variable_id, state.kind);
        let _ = writeln!(text, "  {}", Escaped(&line));
    }
    let sum = |grows: bool| {
        let bytes = states.iter().filter(|state| state.grows == grows).filter_map(|state| state.bytes);
        bytes.fold(0usize, usize::saturating_add)
    };
    let _ =
        writeln!(text, "  a sequence takes {} and {} a token", bytes_text(sum(false)), bytes_text(sum(true)));
}

//! States that a model keeps between runs, either in variables (ReadValue, Assign) or as inputs and outputs.
//!
//! [`make_stateless`] turns variables into inputs and outputs, for formats without variables;
//! [`make_stateful`] is the inverse. The names are those that exporters of language models use: a run reads
//! the input `past…` and returns the output `present…` for the next run.

mod names;
mod stateful;
mod stateless;

use std::fmt;

use snick_ir::Located;
use snick_ir::rewrite::{Applied, Trace};

use crate::Pass;

pub use stateful::make_stateful;
pub use stateless::make_stateless;

/// The passes by name. They change the inputs and outputs of a model, so they are not part of the canonical
/// form.
pub(crate) const PASSES: &[Pass] = &[
    Pass::of_model(MAKE_STATELESS, |graph, _| trace(MAKE_STATELESS, make_stateless(graph))),
    Pass::of_model(MAKE_STATEFUL, |graph, _| trace(MAKE_STATEFUL, make_stateful(graph))),
];

const MAKE_STATELESS: &str = "make-stateless";
const MAKE_STATEFUL: &str = "make-stateful";

fn trace(rule: &'static str, states: Result<Vec<State>, Box<Located>>) -> Trace {
    match states {
        Ok(states) => {
            let applied = states.iter().map(|state| {
                let (State::Passed { variable_id, .. } | State::Recomputed { variable_id }) = state;
                Applied {
                    rule: rule.into(),
                    layer: variable_id.as_str().into(),
                    op: "variable".into(),
                    exact: true,
                }
            });
            Trace { applied: applied.collect(), ..Trace::default() }
        }
        Err(error) => Trace { errors: vec![*error], ..Trace::default() },
    }
}

/// A state of a model after conversion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    /// An input provides the state, and an output returns it for the next run.
    Passed {
        /// The variable.
        variable_id: String,
        /// The name of the input.
        input: String,
        /// The name of the output.
        output: String,
        /// The initial value: element type and shape, and the number if all elements are equal. Empty if
        /// unknown.
        initial: String,
    },
    /// The variable always has its initial value, so the model recomputes this value in each run. It depends
    /// on inputs that do not change between runs, such as the output of an encoder.
    Recomputed {
        /// The variable.
        variable_id: String,
    },
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed { variable_id, input, output, initial } => {
                write!(f, "{variable_id}: input {input}, output {output}")?;
                if initial.is_empty() { Ok(()) } else { write!(f, "; first {initial}") }
            }
            Self::Recomputed { variable_id } => write!(f, "{variable_id}: computed in each run"),
        }
    }
}

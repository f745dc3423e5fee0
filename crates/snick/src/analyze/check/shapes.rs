//! Layers whose inference fails.

use std::collections::HashSet;

use snick_ir::{Code, OpError};

use super::finding::Findings;
use super::plug_ins::is_internal;
use super::subject::Subject;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family = Family { codes: &[&SHAPE_ERROR], find, reads_values: true };

static SHAPE_ERROR: CheckCode = CheckCode {
    code: Code::ShapeError,
    meaning: "Shape or type inference fails at a layer.",
    reason: "Loading or running the model fails at this layer.",
    remedy: "`snick why MODEL --error K` shows where the sizes that clash come from",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  %w = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
         %sum = Add-1(%x, %w)\n  %y = Result-1(%sum)\n",
    ),
    on_demand: false,
};

fn find(subject: &Subject, findings: &mut Findings) {
    let has_edges = subject.has_all_edges();
    // The attributes of operations internal to plug-ins change with each release, so snick may misread them.
    // Errors of such layers are ignored; `RUNTIME_REFUSES` reports the layers themselves.
    let internal: HashSet<_> =
        subject.nodes().filter(|node| is_internal(*node)).map(|node| (node.loc(), node.name())).collect();
    for error in subject.errors {
        let follows = subject.is_misled(error)
            || internal.contains(&(error.loc, error.layer.as_str()))
            || !has_edges && is_for_lack_of_input(&error.error);
        if Code::from(&error.error) == Code::ShapeError && !follows {
            findings.add_error(&SHAPE_ERROR, error);
        }
    }
}

/// Whether an error is due to a missing input.
fn is_for_lack_of_input(error: &OpError) -> bool {
    matches!(error, OpError::Arity { .. } | OpError::NotConnected { .. })
}

//! Reports input sizes that are declared dynamic but fixed by layers. `fixed_sizes` finds them.

use std::collections::HashSet;

use snick_ir::{Code, Graph, NodeId};
use snick_shape::Interval;

use super::finding::Findings;
use super::fixed_sizes::{FixedSize, ReshapeTarget};
use super::layers::described;
use super::subject::Subject;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family =
    Family { codes: &[&HARD_CODED_RESHAPE, &BAKED_SIZE], find, reads_values: true };

static HARD_CODED_RESHAPE: CheckCode = CheckCode {
    code: Code::HardCodedReshape,
    meaning: "A Reshape with a constant or partly constant target shape fixes a size that an input declares \
              dynamic.",
    reason: "The model claims to accept any size but fails with all except one. Typically, the exported code \
             contains `x.view(1, 512)` instead of `x.view(x.shape[0], -1)`.",
    remedy: "replace the number in the exported code by -1 or by the size of the input, or declare the input \
             with this size",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: f32, shape: \"1..8,3,4\"}\n  %to = Const-1 i64[2] <2, 12>\n  \
         %flat = Reshape-1(%x, %to) {special_zero: false}\n  %y = Result-1(%flat)\n",
    ),
    on_demand: false,
};

static BAKED_SIZE: CheckCode = CheckCode {
    code: Code::BakedSize,
    meaning: "An input declares a dim as dynamic, but the layers after it accept only one value.",
    reason: "The model claims to accept any size but fails with all except one, because the export fixed the \
             size.",
    remedy: "declare the input with this size, or change the exported code so that it computes the constant \
             from the size of the input",
    example: Example::Text(
        "  %x = Parameter-1 {element_type: f32, shape: \"3,2..9\"}\n  %bias = Const-1 f32[4] <1.0, 2.0, 3.0, 4.0>\n  \
         %sum = Add-1(%x, %bias)\n  %y = Result-1(%sum)\n",
    ),
    on_demand: false,
};

fn find(subject: &Subject, findings: &mut Findings) {
    let mut known: HashSet<(NodeId, usize)> = HashSet::new();
    let mut seen = HashSet::new();
    // Reports sizes that are always fixed before sizes that are fixed only if no axis is empty, and Reshapes
    // before other layers. If several layers fix a size, the first is reported.
    for unless_empty in [false, true] {
        let fixed =
            || subject.fixed_sizes().list.iter().filter(move |size| size.unless_empty == unless_empty);
        for (size, target) in fixed().filter_map(|size| Some((size, size.target?))) {
            let is_known = unless_empty && size.places.iter().all(|place| known.contains(place));
            known.extend(size.places.iter().copied());
            if !is_known && seen.insert(size.layer) {
                let target = match target {
                    ReshapeTarget::Constant => "the constant target",
                    ReshapeTarget::Computed => "the target, which is computed in part,",
                };
                let (node, message) = (subject.graph.node(size.layer), message(size, subject.graph, target));
                findings.add(&HARD_CODED_RESHAPE, node, message).origins.extend(inputs(size, subject.graph));
            }
        }
        for size in fixed().filter(|size| size.target.is_none()) {
            for &(parameter, axis) in &size.places {
                if known.insert((parameter, axis)) {
                    let by = described(subject.graph.node(size.layer));
                    let message = message(size, subject.graph, &by);
                    findings.add(&BAKED_SIZE, subject.graph.node(parameter), message).origins.push(by);
                }
            }
        }
    }
}

/// Describes the difference between the declared sizes and the size that `by` requires.
fn message(size: &FixedSize, graph: &Graph, by: &str) -> String {
    let inputs = inputs(size, graph).join(" and ");
    let Some(value) = size.value else {
        return format!("{by} fixes the number of elements, but {inputs} may be any of {}", size.declared);
    };
    let refused = refused(size.within, value);
    let Some(refused) = refused else {
        return format!("{by} takes only {value} for {inputs}, which declares {}", size.declared);
    };
    format!("{by} takes only {value} for {inputs}, declared {}: {refused} would be refused", size.declared)
}

/// The inputs and axes that have the size, such as ``axis 0 of input `x` ``.
fn inputs(size: &FixedSize, graph: &Graph) -> Vec<String> {
    let text = |&(id, axis): &(NodeId, usize)| format!("axis {axis} of input `{}`", graph.node(id).name());
    size.places.iter().map(text).collect()
}

/// The sizes in `declared` other than `value`, as text; `None` if `declared` does not contain `value`.
fn refused(declared: Interval, value: i64) -> Option<String> {
    let below = value.checked_sub(1).and_then(|hi| Interval::new(declared.lo(), hi));
    let above = value.checked_add(1).and_then(|lo| Interval::new(lo, declared.hi()));
    let text: Vec<String> = below.into_iter().chain(above).map(|part| part.to_string()).collect();
    declared.contains(value).then(|| text.join(" and "))
}

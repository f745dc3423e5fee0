//! Missing weights, and bytes of the weights file that are used by no constant or by several constants.

use std::ops::Range;

use snick_ir::{Code, NodeRef};

use super::finding::Findings;
use super::layers::described;
use super::subject::Subject;
use super::{CheckCode, Example, Family};

pub(super) static FAMILY: Family =
    Family { codes: &[&MISSING, &TRUNCATED, &UNUSED, &OVERLAP], find, reads_values: false };

static MISSING: CheckCode = CheckCode {
    code: Code::WeightsMissing,
    meaning: "Constants need a file of weights that does not exist: the `.bin` of an OpenVINO IR, or external data \
              of an ONNX model.",
    reason: "Without this file, the model does not load.",
    remedy: "copy the missing file to the folder of the model, and do not rename it",
    example: Example::Files("cp model.xml /deploy/  # and not model.bin"),
    on_demand: false,
};
use crate::analyze::counted;

static TRUNCATED: CheckCode = CheckCode {
    code: Code::WeightsTruncated,
    meaning: "Constants extend beyond the end of the `.bin`.",
    reason: "The copy was interrupted, or the `.bin` belongs to another export. Some loaders read beyond the \
             end of the data.",
    remedy: "copy the .bin again, or export the .xml and the .bin together",
    example: Example::Files("truncate -s 100 model.bin"),
    on_demand: false,
};

static UNUSED: CheckCode = CheckCode {
    code: Code::WeightsUnused,
    meaning: "At least 4 KiB of the `.bin` are not used by any constant.",
    reason: "Either the file is larger than necessary, or it belongs to another export and the constants \
             read the wrong bytes.",
    remedy: "compare the .bin with the one that was exported with this .xml, or export both files together",
    example: Example::Files("cat model.bin other.bin > both.bin && mv both.bin model.bin"),
    on_demand: false,
};

static OVERLAP: CheckCode = CheckCode {
    code: Code::WeightsOverlap,
    meaning: "Two constants share some, but not all, of their bytes.",
    reason: "Equal constants may share all of their bytes. A partial overlap nearly always means that an \
             offset is wrong.",
    remedy: "compare the `offset` and `size` of both constants with the intended values",
    example: Example::Files("two Const layers with offset=\"0\" size=\"64\" and offset=\"32\" size=\"64\""),
    on_demand: false,
};

/// Maximum number of unused bytes that are accepted as alignment padding.
const MOST_PADDING: u64 = 4095;

fn find(subject: &Subject, findings: &mut Findings) {
    let mut without_bytes = subject.constants_without_bytes();
    if let Some(node) = without_bytes.next() {
        let count = 1 + without_bytes.count();
        let files = subject.model.missing_weights();
        let needs = if count == 1 { "needs" } else { "need" };
        let which = if files.len() == 1 { "which is" } else { "which are" };
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let (constants, files) = (counted(count, "constant"), files.join(", "));
        let message = format!("{constants} {needs} {files}, {which} not there");
        findings.add(&MISSING, node, message);
    }
    for error in subject.errors {
        match Code::from(&error.error) {
            Code::WeightsMissing => drop(findings.add_error(&MISSING, error)),
            Code::WeightsTruncated => drop(findings.add_error(&TRUNCATED, error)),
            _ => {}
        }
    }
    let Some(survey) = &subject.survey else { return };
    let mut ranges: Vec<(Range<u64>, NodeRef)> = constants(subject, survey.constants.iter().cloned());
    ranges.sort_by_key(|(range, node)| (range.start, range.end, node.loc()));
    find_unused(subject, &ranges, findings);
    find_overlaps(&ranges, findings);
}

/// Pairs each non-empty byte range in the weights file with the constant at the same location in the XML
/// file.
pub(super) fn constants<'m>(
    subject: &Subject<'m>,
    ranges: impl Iterator<Item = (snick_ir::Loc, Range<u64>)>,
) -> Vec<(Range<u64>, NodeRef<'m>)> {
    let nodes: std::collections::HashMap<_, _> = subject.nodes().map(|node| (node.loc(), node)).collect();
    let known = ranges.filter(|(_, range)| !range.is_empty());
    known.filter_map(|(loc, range)| Some((range, *nodes.get(&loc)?))).collect()
}

fn find_unused(subject: &Subject, ranges: &[(Range<u64>, NodeRef)], findings: &mut Findings) {
    let Some(path) = subject.weights_file() else { return };
    let Ok(len) = std::fs::metadata(path).map(|metadata| metadata.len()) else { return };
    let (mut used, mut end) = (0, 0);
    for (range, _) in ranges {
        let (start, stop) = (range.start.max(end).min(len), range.end.min(len));
        used += stop.saturating_sub(start);
        end = end.max(stop);
    }
    let unused = len - used;
    if unused > MOST_PADDING
        && subject.errors.iter().all(|error| Code::from(&error.error) != Code::WeightsTruncated)
    {
        let message = format!("no constant uses {unused} of the {len} bytes of {}", path.display());
        findings.add_file(&UNUSED, message);
    }
}

/// Maximum number of preceding constants to compare a constant with. Without this limit, the time is
/// quadratic if all constants of a file overlap.
const MAX_COMPARED: usize = 16;

/// Reports each pair of constants whose byte ranges overlap but are not equal.
fn find_overlaps(ranges: &[(Range<u64>, NodeRef)], findings: &mut Findings) {
    let mut before: Vec<&(Range<u64>, NodeRef)> = Vec::new();
    for constant in ranges {
        let (range, node) = constant;
        before.retain(|(other, _)| range.start < other.end);
        for (other, first) in before.iter().filter(|(other, _)| range != other) {
            let shared = range.end.min(other.end) - range.start;
            let (start, end, other_start, other_end) = (range.start, range.end, other.start, other.end);
            let message = format!(
                "it shares {shared} of its bytes {start}..{end} of the weights with {}, which has {other_start}..{other_end}",
                described(*first),
            );
            findings.add(&OVERLAP, *node, message).origins.push(described(*first));
        }
        // Equal ranges are represented by their first constant.
        if before.len() < MAX_COMPARED && before.iter().all(|(other, _)| range != other) {
            before.push(constant);
        }
    }
}

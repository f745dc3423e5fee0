//! The overview of a model: its header, the result of `check`, its cost, and its unknown sizes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use snick_ir::{Format, Graph, Op, Severity};
use snick_tensor::ElementType;

use super::numbers::Numbers;
use super::{Expr, Numbered, Text, object, texts};
use crate::{BirthKind, Finding, Model, public_name};

#[derive(Serialize)]
pub(super) struct Overview<'m> {
    model: Head<'m>,
    inputs: Vec<End<'m>>,
    outputs: Vec<End<'m>>,
    check: Check<'m>,
    cost: Option<Cost>,
    unknown: Unknown,
}

#[derive(Serialize)]
struct Head<'m> {
    title: Text<Cow<'m, str>>,
    name: Text<&'m str>,
    format: String,
    files: Vec<Text<Cow<'m, str>>>,
    #[serde(serialize_with = "texts")]
    notes: &'m [String],
    /// The number of elements and the number of bytes of constants, by element type.
    #[serde(serialize_with = "object")]
    constants: Vec<(&'static str, [u64; 2])>,
}

/// An input or output.
#[derive(Serialize)]
struct End<'m> {
    name: Text<&'m str>,
    layer: usize,
}

#[derive(Serialize)]
struct Check<'m> {
    status: &'static str,
    findings: Vec<Found<'m>>,
}

#[derive(Serialize)]
struct Found<'m> {
    code: &'static str,
    name: &'static str,
    severity: &'static str,
    message: Text<&'m str>,
    help: Text<&'m str>,
    layer: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loc: Option<String>,
    #[serde(serialize_with = "texts")]
    origins: &'m [String],
}

#[derive(Serialize)]
struct Cost {
    parameters: u64,
    weights_bytes: u64,
    #[serde(flatten, serialize_with = "object")]
    totals: Vec<(&'static str, Expr)>,
    #[serde(serialize_with = "texts")]
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Unknown {
    dims: usize,
    origins: Vec<Origin>,
}

#[derive(Serialize)]
struct Origin {
    layer: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<Text<String>>,
    kind: BirthKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Text<String>>,
    dims: usize,
    layers: usize,
    outputs: usize,
    suggest: Vec<Suggested>,
}

#[derive(Serialize)]
struct Suggested {
    shape: Text<String>,
    gives: Text<String>,
}

impl<'m> Overview<'m> {
    pub fn new(of: &'m Numbered, findings: &'m [Finding]) -> Self {
        let Numbered { model, numbers } = of;
        let graph = model.graph();
        let end = |id| End { name: Text(public_name(graph, id)), layer: numbers.main().of(id) };
        let files = model.files().iter().filter_map(|path| path.file_name());
        Self {
            model: Head {
                title: Text(title(model)),
                name: Text(&graph.name),
                format: format(model),
                files: files.map(|name| Text(name.to_string_lossy())).collect(),
                notes: model.notes(),
                constants: constants(graph),
            },
            inputs: graph.parameters().map(end).collect(),
            outputs: graph.results().map(end).collect(),
            check: check(numbers, findings),
            cost: cost(model),
            unknown: unknown(model, numbers),
        }
    }
}

/// The name of the file, or of the graph of a model in memory.
pub(super) fn title(model: &Model) -> Cow<'_, str> {
    let file = path(model).file_name().map(|name| name.to_string_lossy());
    file.unwrap_or(Cow::Borrowed(&model.graph().name))
}

/// The path of the model. For a model in memory, `source` may also be a name with a file extension.
fn path(model: &Model) -> &Path {
    model.files().first().map_or(Path::new(&model.graph().source), PathBuf::as_path)
}

/// The format of the file, with its version.
fn format(model: &Model) -> String {
    let format = Format::to_read(path(model));
    match (format, model.graph().ir_version) {
        (_, Some(version)) => format!("{} v{version}", Format::OpenVino.name()),
        (Some(format), None) => format.name().to_string(),
        (None, None) => Format::Text.name().to_string(),
    }
}

/// The number of elements and the number of bytes of constants, by element type. Includes constants in
/// bodies.
fn constants(graph: &Graph) -> Vec<(&'static str, [u64; 2])> {
    let mut types: BTreeMap<ElementType, [u64; 2]> = BTreeMap::new();
    let mut waiting = vec![graph];
    while let Some(graph) = waiting.pop() {
        for op in graph.ids().map(|id| graph.node(id).op()) {
            waiting.extend(op.bodies().map(|(_, body)| body));
            if let Op::Const(constant) = op {
                let count = constant.dims().iter().fold(1usize, |n, &dim| n.saturating_mul(dim));
                let bytes = constant.element_type().byte_len(count).unwrap_or_default();
                let of_type = types.entry(constant.element_type()).or_default();
                of_type[0] = of_type[0].saturating_add(count as u64);
                of_type[1] = of_type[1].saturating_add(bytes as u64);
            }
        }
    }
    types.into_iter().map(|(element_type, numbers)| (element_type.name(), numbers)).collect()
}

fn check<'m>(numbers: &Numbers, findings: &'m [Finding]) -> Check<'m> {
    let status = match findings.iter().map(|finding| finding.severity).max() {
        Some(Severity::Error) => "error",
        Some(Severity::Warning) => "warning",
        _ => "ok",
    };
    let findings = findings.iter().map(|finding| Found {
        code: finding.code,
        name: finding.name,
        severity: finding.severity_name(),
        message: Text(&finding.message),
        help: Text(&finding.help),
        layer: numbers.named(&finding.layer),
        loc: finding.loc.text(),
        origins: &finding.origins,
    });
    Check { status, findings: findings.collect() }
}

fn cost(model: &Model) -> Option<Cost> {
    let cost = model.cost().ok()?;
    let totals = cost.totals().map(|(name, amount)| (name, Expr::amount(amount, &cost.symbols))).into();
    let notes = cost.unknowns.iter().map(ToString::to_string).chain(cost.notes).collect();
    Some(Cost { parameters: cost.parameters, weights_bytes: cost.weights_bytes, totals, notes })
}

fn unknown(model: &Model, numbers: &Numbers) -> Unknown {
    let unknown = model.why_unknown();
    let origins = unknown.origins.into_iter().map(|origin| {
        let suggestions = origin.suggestions.into_iter();
        Origin {
            layer: numbers.named(&origin.layer),
            symbol: origin.symbol.map(Text),
            kind: origin.kind,
            reason: origin.reason.map(Text),
            dims: origin.dims,
            layers: origin.layers,
            outputs: origin.outputs,
            suggest: suggestions
                .map(|tried| Suggested { shape: Text(tried.shape), gives: Text(tried.gives) })
                .collect(),
        }
    });
    Unknown { dims: unknown.dims, origins: origins.collect() }
}

//! `snick ops`: the operations, as snick declares them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Args;
use serde::Serialize;
use snick_ir::ops::{Entry, reference};
use snick_ir::{Arity, AttrSpec, Dialect, OpName, OpSupport, OpTraits, Version, older_form, op_support};

use crate::cli::console::{Console, Failure, Outcome};
use crate::cli::help;
use crate::cli::json::Answer;
use crate::cli::options::{Common, OutputFormat};

/// Options of the verb.
#[derive(Args)]
#[command(after_help = help::ending(
    [
        ("snick ops Convolution", "Attributes, versions and inputs of one operation"),
        ("snick ops --format json", "All operations for programs"),
    ],
    ""
))]
pub struct Options {
    /// An operation type; lists all operations if omitted
    op: Option<String>,
    /// Write the reference as Markdown
    #[arg(long, conflicts_with = "format")]
    markdown: bool,
}

/// Prints the reference of all operations or one.
pub fn run(options: &Options, common: &Common, console: &Console) -> Result<Outcome, Failure> {
    let entries = match &options.op {
        None => reference(),
        Some(op) => vec![find(op)?],
    };
    console.print(&match common.format {
        _ if options.markdown => as_markdown(&entries),
        OutputFormat::Json => as_json(&entries),
        OutputFormat::Text if options.op.is_none() => as_list(&entries),
        OutputFormat::Text => entries.iter().map(|entry| as_text(entry)).collect(),
    })?;
    Ok(Outcome::Fine)
}

/// Finds an operation by name. Ignores case, unless a name matches exactly.
fn find(op: &str) -> Result<&'static Entry, Failure> {
    let entries = reference();
    let named =
        |is_same: &dyn Fn(&str) -> bool| entries.iter().find(|entry| is_same(entry.name.name)).copied();
    let found = named(&|name| name == op).or_else(|| named(&|name| name.eq_ignore_ascii_case(op)));
    found.ok_or_else(|| match snick_ir::Op::by_name(op, snick_ir::Attrs::new()) {
        Err(error) => Failure::usage(error),
        Ok(_) => Failure::usage(format!("unknown operation `{op}`; `snick ops` lists all")),
    })
}

/// The first paragraph of the documentation of an operation, on one line.
fn summary(entry: &Entry) -> String {
    let lines = entry.name.doc.trim().lines().map(str::trim).take_while(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// The operation sets as text, such as `opset1, opset8`, or `primitive of snick`.
fn versions(entry: &Entry) -> String {
    let opsets: Vec<String> = entry.name.since.iter().map(|opset| format!("opset{opset}")).collect();
    if opsets.is_empty() { "primitive of snick".to_string() } else { opsets.join(", ") }
}

/// Since when each version of an operation is read and run.
fn releases(entry: &Entry) -> Vec<(Version, OpSupport)> {
    let name = entry.name;
    let support = |version: Version| Some((op_support(name.name, &version)?, version));
    let known = name.declared_versions().filter_map(support);
    known.map(|(support, version)| (version, support)).collect()
}

/// The releases as text, such as `opset14 since 2024.1 (on the CPU since 2024.2)`.
fn releases_as_text(entry: &Entry) -> String {
    let of_version = |(version, OpSupport { reads, runs }): (Version, OpSupport)| match runs {
        Some(runs) if runs == reads => format!("{version} since {reads}"),
        Some(runs) => format!("{version} since {reads}, on the CPU since {runs}"),
        None => format!("{version} since {reads}, not on the CPU"),
    };
    let each: Vec<_> = releases(entry).into_iter().map(of_version).collect();
    each.join("; ")
}

/// What layers of a version become for releases that do not read it, such as `Pad-opset1`.
fn older_operations(op_type: &str, version: &Version) -> Option<Vec<&'static str>> {
    let Version::Opset(opset) = version else { return None };
    older_form(op_type, *opset).map(Iterator::collect)
}

fn properties(traits: OpTraits) -> Vec<String> {
    traits.iter_names().map(|(name, _)| name.to_ascii_lowercase().replace('_', "-")).collect()
}

/// The type of an attribute as text, such as `integer, default 0, since opset11`.
fn kind(attr: &AttrSpec) -> String {
    let mut text = attr.kind.to_string();
    match &attr.default {
        Some(default) if default.is_empty() => text.push_str(", default \"\""),
        Some(default) => drop(write!(text, ", default {default}")),
        None if attr.required => text.push_str(", required"),
        None => text.push_str(", optional"),
    }
    if attr.since > 0 {
        let _ = write!(text, ", since opset{}", attr.since);
    }
    if let Some(until) = attr.until {
        let _ = write!(text, ", before opset{until}");
    }
    text
}

/// One line per operation: name, versions, summary.
fn as_list(entries: &[&Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let summary = summary(entry);
        let sentence = summary.split_once(". ").map_or(summary.as_str(), |(first, _)| first);
        let _ = writeln!(text, "{:36} {:26} {sentence}", entry.name.name, versions(entry));
    }
    text
}

fn inputs(arity: Arity) -> String {
    match arity {
        Arity { min, max } if min == max => min.to_string(),
        Arity { min, max: usize::MAX } => format!("{min} or more"),
        Arity { min, max } => format!("{min} to {max}"),
    }
}

fn as_text(entry: &Entry) -> String {
    let mut text = format!("{}: {}\n", entry.name.name, versions(entry));
    for line in entry.name.doc.trim().lines() {
        let _ = writeln!(text, "{}", format!("  {}", line.trim()).trim_end());
    }
    let _ = writeln!(text, "\n  inputs      {}", inputs(entry.arity));
    let _ = writeln!(text, "  category    {}", entry.name.category.name());
    let _ = writeln!(text, "  properties  {}", properties(entry.traits).join(", "));
    let support = releases_as_text(entry);
    if !support.is_empty() {
        let _ = writeln!(text, "  OpenVINO    {support}");
    }
    for (version, support) in releases(entry) {
        if let Some(operations) = older_operations(entry.name.name, &version) {
            let operations = if operations.is_empty() { "nothing".into() } else { operations.join(", ") };
            let _ = writeln!(text, "  before {}  {version} becomes {operations}", support.reads);
        }
    }
    let attrs = entry.attrs();
    if !attrs.is_empty() {
        text.push_str("\n  attributes\n");
    }
    for attr in &attrs {
        let _ = writeln!(text, "    {}: {}", attr.name, kind(attr));
        for line in attr.doc.lines() {
            let _ = writeln!(text, "      {}", line.trim());
        }
    }
    text
}

fn as_markdown(entries: &[&Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let _ = writeln!(
            text,
            "### {}\n\n{} Inputs: {}.",
            entry.name.name,
            versions(entry) + ".",
            inputs(entry.arity)
        );
        let category = entry.name.category.name();
        let _ =
            writeln!(text, "Category: {category}. Properties: {}.\n", properties(entry.traits).join(", "));
        for line in entry.name.doc.trim().lines() {
            let _ = writeln!(text, "{}", line.trim());
        }
        let attrs = entry.attrs();
        if !attrs.is_empty() {
            text.push_str("\n| attribute | type | meaning |\n|---|---|---|\n");
        }
        for attr in &attrs {
            let meaning: Vec<&str> = attr.doc.lines().map(str::trim).collect();
            let _ = writeln!(text, "| `{}` | {} | {} |", attr.name, kind(attr), meaning.join(" "));
        }
        text.push('\n');
    }
    text
}

fn as_json(entries: &[&'static Entry]) -> String {
    let ops: Vec<Operation> = entries.iter().map(|entry| operation(entry)).collect();
    Answer::new("snick.ops/1", BTreeMap::from([("ops", ops)])).text()
}

/// An operation.
#[derive(Serialize)]
struct Operation {
    /// The operation type.
    name: &'static str,
    /// `openvino`, or `snick` for a primitive.
    dialect: &'static str,
    /// The operation sets that introduce a version of it; empty for a primitive.
    opsets: &'static [u8],
    /// The OpenVINO releases that support each version; versions that no known release reads are omitted.
    releases: Vec<Support>,
    /// The least number of inputs.
    min_inputs: usize,
    /// Omitted if the number of inputs is unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_inputs: Option<usize>,
    /// The kind of its work.
    category: &'static str,
    /// Its traits.
    properties: Vec<String>,
    /// Its description.
    doc: &'static str,
    /// Its attributes.
    attributes: Vec<Attribute>,
}

/// Since when a version of an operation is supported.
#[derive(Serialize)]
struct Support {
    /// The `version` in files.
    version: String,
    /// The first release that reads it; the oldest known one stands for earlier ones, too.
    reads: String,
    /// The first release whose CPU plug-in runs it, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<String>,
    /// What layers of it become for older releases, if `convert --for` can rewrite them.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Vec<&'static str>>,
}

/// An attribute of an operation.
#[derive(Serialize)]
struct Attribute {
    /// The name.
    name: &'static str,
    /// The type in words.
    r#type: Cow<'static, str>,
    /// Whether it must be given.
    required: bool,
    /// The default value as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    /// The first operation set with the attribute, if it is not the first of the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u8>,
    /// The first operation set that no longer has the attribute.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<u8>,
    /// The description.
    doc: &'static str,
}

fn operation(entry: &'static Entry) -> Operation {
    let OpName { name, dialect, since, category, doc, .. } = entry.name;
    Operation {
        name,
        dialect: match dialect {
            Dialect::OpenVino => "openvino",
            Dialect::Snick => "snick",
        },
        opsets: since,
        releases: releases(entry).into_iter().map(|each| support(name, each)).collect(),
        min_inputs: entry.arity.min,
        max_inputs: Some(entry.arity.max).filter(|&max| max < usize::MAX),
        category: category.name(),
        properties: properties(entry.traits),
        doc: doc.trim(),
        attributes: entry.attrs().into_iter().map(attribute).collect(),
    }
}

fn support(op_type: &str, (version, OpSupport { reads, runs }): (Version, OpSupport)) -> Support {
    Support {
        before: older_operations(op_type, &version),
        version: version.to_string(),
        reads: reads.to_string(),
        runs: runs.map(|runs| runs.to_string()),
    }
}

fn attribute(spec: AttrSpec) -> Attribute {
    let AttrSpec { name, kind, default, required, until, doc, .. } = spec;
    let since = Some(spec.since).filter(|&since| since > 0);
    Attribute { name, r#type: kind, required, default, since, until, doc }
}

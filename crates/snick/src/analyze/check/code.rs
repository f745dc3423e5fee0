//! The documentation of a code.

use snick_ir::Code;

/// What `snick explain` and the documentation say about the findings of a code.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CheckCode {
    /// The code, with its name and its usual severity.
    pub code: Code,
    /// When it is reported, in one sentence.
    pub meaning: &'static str,
    /// Why it matters.
    pub reason: &'static str,
    /// How to fix it.
    pub remedy: &'static str,
    /// A model with such a finding.
    pub example: Example,
    /// Whether it is only checked when selected.
    pub on_demand: bool,
}

/// An example of a finding.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Example {
    /// A model in text form: the body of its graph.
    Text(&'static str),
    /// An OpenVINO IR: its layers and edges.
    Xml(&'static str),
    /// How to create such a file, in words or as commands.
    Files(&'static str),
}

impl Example {
    /// The example as the text of a file.
    pub fn text(&self) -> String {
        match self {
            Self::Text(layers) => format!("snick 1\ngraph \"example\" {{\n{layers}}}\n"),
            Self::Xml(layers) => format!("<net name=\"example\" version=\"11\">\n{layers}</net>\n"),
            Self::Files(words) => format!("{words}\n"),
        }
    }
}

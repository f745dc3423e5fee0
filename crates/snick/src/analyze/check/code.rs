//! The documentation of a code that `snick check` reports.

use snick_ir::Code;

/// The documentation of a code, as `snick explain` and the book show it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CheckCode {
    /// The code, with its name and its usual severity.
    pub code: Code,
    /// The condition that the code reports.
    pub meaning: &'static str,
    /// Why the finding matters.
    pub reason: &'static str,
    /// How to fix it.
    pub remedy: &'static str,
    /// A model with this finding.
    pub example: Example,
    /// Whether the code is off by default: it is only checked if the user selects it.
    pub on_demand: bool,
}

/// An example of a finding.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Example {
    /// The layers of a graph in snick's text form.
    Text(&'static str),
    /// The layers and edges of an OpenVINO IR.
    Xml(&'static str),
    /// How to create a file with the finding, in words or as commands.
    Files(&'static str),
}

impl Example {
    /// The example as the full text of a file.
    pub fn text(&self) -> String {
        match self {
            Self::Text(layers) => format!("snick 1\ngraph \"example\" {{\n{layers}}}\n"),
            Self::Xml(layers) => format!("<net name=\"example\" version=\"11\">\n{layers}</net>\n"),
            Self::Files(words) => format!("{words}\n"),
        }
    }
}

//! What a code stands for.

use snick_ir::Code;

/// What `snick explain` and the documentation say about the findings of a code.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CheckCode {
    /// The code, with its name and its usual severity.
    pub code: Code,
    /// When there is a finding, in a sentence.
    pub meaning: &'static str,
    /// Why it matters.
    pub reason: &'static str,
    /// How to mend it.
    pub remedy: &'static str,
    /// A model that has it.
    pub example: Example,
    /// Whether it is looked for only if it is selected.
    pub on_demand: bool,
}

/// What a code is shown with.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Example {
    /// A model in text form: the body of its graph.
    Text(&'static str),
    /// A model as an OpenVINO IR: its layers and edges.
    Xml(&'static str),
    /// What makes such a file, in words or as commands.
    Files(&'static str),
}

impl Example {
    /// The example as a file would have it.
    pub fn text(&self) -> String {
        match self {
            Self::Text(layers) => format!("snick 1\ngraph \"example\" {{\n{layers}}}\n"),
            Self::Xml(layers) => format!("<net name=\"example\" version=\"11\">\n{layers}</net>\n"),
            Self::Files(words) => format!("{words}\n"),
        }
    }
}

//! Findings and lists of findings.

use std::cmp::Reverse;
use std::fmt;

use snick_ir::text::Escaped;
use snick_ir::{Code, Loc, Located, NodeRef, OpError, Release, Severity};

use super::{CheckCode, CheckOptions};

/// A problem that a check found. Displayed as `line:column: severity code name: message`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Finding {
    /// The code, such as `S015`.
    pub code: &'static str,
    /// The name of the code, such as `unused-layer`.
    pub name: &'static str,
    /// The severity.
    pub severity: Severity,
    /// The layer; empty for a finding about the file.
    pub layer: String,
    /// The operation type of the layer; empty for a finding about the file.
    pub op: String,
    /// The location in the file; line 0 for a finding about the whole file.
    pub loc: Loc,
    /// The problem, with the values involved.
    pub message: String,
    /// How to fix it.
    pub help: String,
    /// The origin of the problem: other layers, or inputs with their shapes.
    pub origins: Vec<String>,
    /// For `needs-openvino`, the oldest release of OpenVINO that reads the model.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub release: Option<Release>,
}

impl Finding {
    /// The severity in lower case.
    pub fn severity_name(&self) -> &'static str {
        match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            _ => "note",
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.loc.line > 0 {
            write!(f, "{}: ", self.loc)?;
        }
        write!(f, "{} {} {}: {}", self.severity_name(), self.code, self.name, Escaped(&self.message))
    }
}

/// The findings so far, and the options that decide which of them are reported.
pub(super) struct Findings<'o> {
    options: &'o CheckOptions,
    list: Vec<Finding>,
}

impl<'o> Findings<'o> {
    pub(super) fn new(options: &'o CheckOptions) -> Self {
        Self { options, list: Vec::new() }
    }

    /// The findings with selected codes, sorted by severity (worst first) and then by location.
    pub(super) fn into_list(mut self) -> Vec<Finding> {
        self.list.sort_by_key(|finding| (Reverse(finding.severity), finding.loc));
        self.list.retain(|finding| self.options.selects_code(finding.code));
        self.list
    }

    /// Whether any finding has this code.
    pub(super) fn has(&self, code: Code) -> bool {
        self.list.iter().any(|finding| finding.code == code)
    }

    /// Adds a finding about a layer.
    pub(super) fn add(
        &mut self,
        code: &CheckCode,
        node: NodeRef,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.push(Finding {
            layer: node.name().to_string(),
            op: node.op().type_name().to_string(),
            loc: node.loc(),
            ..of_file(code, message.into())
        })
    }

    /// Adds a finding about the file.
    pub(super) fn add_file(&mut self, code: &CheckCode, message: impl Into<String>) -> &mut Finding {
        self.push(of_file(code, message.into()))
    }

    /// Adds a finding for an inference error of a layer.
    pub(super) fn add_error(&mut self, code: &CheckCode, located: &Located) -> &mut Finding {
        let inner = innermost(located);
        let (message, origins) = match &inner.error {
            OpError::WithInputs { error, inputs } => {
                (error.to_string(), inputs.iter().map(ToString::to_string).collect())
            }
            error => (error.to_string(), Vec::new()),
        };
        let is_of_model = inner.op == OF_MODEL;
        self.push(Finding {
            layer: if is_of_model { String::new() } else { inner.layer.clone() },
            op: if is_of_model { String::new() } else { inner.op.clone() },
            loc: inner.loc,
            origins,
            ..of_file(code, message)
        })
    }

    fn push(&mut self, finding: Finding) -> &mut Finding {
        self.list.push(finding);
        let last = self.list.len() - 1;
        &mut self.list[last]
    }
}

/// The name that [`Located::of_model`] uses as the operation type.
const OF_MODEL: &str = "model";

/// If an error was passed on from a layer in a body, the original error.
fn innermost(located: &Located) -> &Located {
    match &located.error {
        OpError::Inside(inner) => innermost(inner),
        _ => located,
    }
}

fn of_file(code: &CheckCode, message: String) -> Finding {
    Finding {
        code: code.code.text(),
        name: code.code.name(),
        severity: code.code.severity(),
        layer: String::new(),
        op: String::new(),
        loc: Loc::default(),
        message,
        help: code.remedy.to_string(),
        origins: Vec::new(),
        release: None,
    }
}

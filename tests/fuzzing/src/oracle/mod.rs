//! Oracles: properties that must hold for every graph, regardless of its origin.

mod canonical;
mod compare;
mod run;
mod text;
mod written;

use std::fmt;

use snick_ir::{Graph, Located, infer_with};

use crate::input::limits;

pub(crate) use self::run::RUN_MEMORY;
use self::run::Runs;

/// A violated property.
#[derive(Debug)]
pub struct Finding {
    /// The oracle that found it.
    oracle: &'static str,
    /// A description of the failure.
    detail: String,
    /// The graph in text form.
    graph: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n{}", self.oracle, self.detail, self.graph)
    }
}

impl std::error::Error for Finding {}

impl Finding {
    pub(crate) fn new(oracle: &'static str, detail: impl Into<String>) -> Self {
        Self { oracle, detail: detail.into(), graph: String::new() }
    }

    /// A finding with its graph.
    pub(crate) fn of(oracle: &'static str, detail: impl fmt::Display, graph: &Graph) -> Self {
        Self { graph: text::printed(graph), ..Self::new(oracle, detail.to_string()) }
    }
}

/// An inferred graph.
struct Inferred {
    graph: Graph,
    /// Whether neither the reader nor inference reported an error.
    is_valid: bool,
}

/// Infers a graph; `None` if it reaches a limit.
fn inferred(graph: &Graph) -> Option<(Graph, Vec<Located>)> {
    let mut graph = graph.clone();
    let mut monitor = snick_ir::Watch::new().limits(limits()).start();
    let errors = infer_with(&mut graph, &mut monitor);
    (!monitor.is_stopped()).then_some((graph, errors))
}

impl Inferred {
    fn of(graph: &Graph, is_read: bool) -> Option<Self> {
        let (graph, errors) = inferred(graph)?;
        Some(Self { graph, is_valid: errors.is_empty() && is_read })
    }
}

/// Checks a reader's result: it can be inferred, printed and read back, and if `is_written`, written in every
/// format and read back.
///
/// # Errors
/// The property that does not hold.
pub(crate) fn check_rereading(graph: &Graph, is_read: bool, is_written: bool) -> Result<(), Finding> {
    let Some(Inferred { graph, is_valid }) = Inferred::of(graph, is_read) else { return Ok(()) };
    text::check(&graph)?;
    if is_written { written::check(&graph, is_valid, &Runs::none()) } else { Ok(()) }
}

/// Checks a graph: everything that `check_rereading` checks, that runs agree with inference, and that the
/// canonical form and written files give the same results. `is_read` is whether its reader reported no error.
///
/// # Errors
/// The property that does not hold.
pub fn check_graph(graph: &Graph, is_read: bool) -> Result<(), Finding> {
    let Some(Inferred { graph, is_valid }) = Inferred::of(graph, is_read) else { return Ok(()) };
    text::check(&graph)?;
    let runs = if is_valid { run::check(&graph)? } else { Runs::none() };
    canonical::check(&graph, is_valid, &runs)?;
    written::check(&graph, is_valid, &runs)
}

//! The oracles: what must hold of every graph, however it came to be.

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

/// Something that must hold and does not.
#[derive(Debug)]
pub struct Finding {
    /// Which oracle says so.
    oracle: &'static str,
    /// How it fails.
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

    /// With the graph that it is about.
    pub(crate) fn of(oracle: &'static str, detail: impl fmt::Display, graph: &Graph) -> Self {
        Self { graph: text::printed(graph), ..Self::new(oracle, detail.to_string()) }
    }
}

/// A graph with what inference says of it.
struct Inferred {
    graph: Graph,
    /// Whether neither the reader nor inference found an error.
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

/// What holds of what a reader returns: it can be inferred, prints and reads back, and, if `is_written`, is written in
/// every format and reads back.
///
/// # Errors
/// What does not hold.
pub(crate) fn check_rereading(graph: &Graph, is_read: bool, is_written: bool) -> Result<(), Finding> {
    let Some(Inferred { graph, is_valid }) = Inferred::of(graph, is_read) else { return Ok(()) };
    text::check(&graph)?;
    if is_written { written::check(&graph, is_valid, &Runs::none()) } else { Ok(()) }
}

/// What holds of every graph: what `check_rereading` checks; runs agree with inference; the canonical form and what is
/// written and read back compute the same. `is_read` says that its reader found no error.
///
/// # Errors
/// What does not hold.
pub fn check_graph(graph: &Graph, is_read: bool) -> Result<(), Finding> {
    let Some(Inferred { graph, is_valid }) = Inferred::of(graph, is_read) else { return Ok(()) };
    text::check(&graph)?;
    let runs = if is_valid { run::check(&graph)? } else { Runs::none() };
    canonical::check(&graph, is_valid, &runs)?;
    written::check(&graph, is_valid, &runs)
}

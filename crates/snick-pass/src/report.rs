//! Reports what passes did.

use snick_ir::rewrite::{Applied, CheckFailure, MissedRewrite, RuleWork, Trace};
use snick_ir::{Dialect, Graph, Located, Op, Stopped};

use crate::check::Checker;
use crate::legalize::to_slice::{self, is_slice_like};

/// The result of [`apply`](crate::apply) or [`canonicalise`](crate::canonicalise).
///
/// ```
/// use snick::RewriteOptions;
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %a = ReLU-1(%x)\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer().into_result()?;
/// let report = model.canonicalise_with(&RewriteOptions::default());
/// for applied in &report.applied {
///     println!("{} replaced {}", applied.rule, applied.layer);
/// }
/// assert!(report.errors.is_empty() && report.stopped.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, Debug)]
#[must_use = "the report has the errors of rules and the failures of checks"]
#[non_exhaustive]
pub struct Report {
    /// Number of slice-like layers in the original graph, plus other layers, such as Gather, that were
    /// lowered to slices.
    pub slice_like_before: usize,
    /// Number of `slice` primitives in the resulting graph.
    pub slice_after: usize,
    /// Replacements, in order.
    pub applied: Vec<Applied>,
    /// Layers that a rule matched but declined, with reasons. After canonicalisation, these are the remaining
    /// slice-like layers.
    pub missed: Vec<MissedRewrite>,
    /// Errors of failed rules and of rejected replacements, each located at its layer.
    pub errors: Vec<Located>,
    /// Replacements that failed the check and were not made.
    pub check_failures: Vec<CheckFailure>,
    /// The number of replacements whose old and new results were proved or compared, and are equal.
    pub checked: usize,
    /// The number of replacements among [`Report::checked`] that were proved for all sizes, and therefore not
    /// executed.
    pub proved: usize,
    /// The number of replacements that should have been checked but could not be compared: a layer has no
    /// implementation, a tensor would be too large, or a pass changed inputs or outputs.
    pub unchecked: usize,
    work: Vec<RuleWork>,
    /// The limit or the caller that stopped processing early. In that case the graph is valid, but only
    /// partly rewritten.
    pub stopped: Option<Stopped>,
}

impl Report {
    /// Whether an applied rule changed the order of computation, so that float results may be rounded
    /// differently.
    pub fn may_round(&self) -> bool {
        self.applied.iter().any(|applied| !applied.exact)
    }

    /// Whether no rule failed and, with checks, every replacement was compared and its results are equal.
    ///
    /// ```
    /// use snick::{Pass, RewriteOptions, RewriteResult, Rule};
    ///
    /// // `Fancy` cannot be executed, so the replacement is made but cannot be checked.
    /// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
    ///             %a = Fancy-x(%x) : f32[4]\n  %y = Result-1(%a)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer();
    /// let lower = Rule::new("lower-fancy", |patch| match patch.node().op().type_name() {
    ///     "Fancy" => Ok(RewriteResult::one(patch.input(0)?)),
    ///     _ => Ok(RewriteResult::NoMatch),
    /// });
    /// let report = model.apply(&[Pass::new("mine", [lower])], &RewriteOptions::new().check(true))?;
    /// assert_eq!((report.applied.len(), report.unchecked, report.is_ok()), (1, 1, false));
    /// # Ok::<(), snick::Error>(())
    /// ```
    pub fn is_ok(&self) -> bool {
        self.errors.is_empty() && self.check_failures.is_empty() && self.unchecked == 0
    }

    /// The statistics of each rule and pass, in the order in which they were first tried.
    ///
    /// ```
    /// use snick::RewriteOptions;
    ///
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"10\"}\n  \
    /// #             %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}\n  \
    /// #             %b = slice(%a) {axes: [0], start: [2], len: [4], step: [1]}\n  %y = Result-1(%b)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let report = model.canonicalise_with(&RewriteOptions::new().timed(true));
    /// for work in report.by_rule() {
    ///     println!("{}: {} of {} in {:?}", work.rule, work.applied, work.tried, work.time);
    /// }
    /// let merged = report.by_rule().iter().find(|work| work.rule == "merge-slices").map(|work| work.applied);
    /// assert_eq!(merged, Some(1));
    /// assert!(report.by_rule().iter().any(|work| !work.time.is_zero()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn by_rule(&self) -> &[RuleWork] {
        &self.work
    }

    /// The report before any pass has run.
    pub(crate) fn before(graph: &Graph) -> Self {
        Self { slice_like_before: count(graph, &is_slice_like), ..Self::default() }
    }

    /// The number of replacements that the limit still allows.
    pub(crate) fn remaining(&self, stop_after: Option<usize>) -> Option<usize> {
        stop_after.map(|most| most.saturating_sub(self.applied.len()))
    }

    pub(crate) fn add(&mut self, trace: Trace) {
        self.applied.extend(trace.applied);
        self.missed.extend(trace.missed);
        self.errors.extend(trace.errors);
        self.check_failures.extend(trace.check_failures);
        for later in trace.work {
            match self.work.iter_mut().find(|work| work.rule == later.rule) {
                Some(work) => work.add(&later),
                None => self.work.push(later),
            }
        }
    }

    /// Counts the remaining slices.
    pub(crate) fn finish(&mut self, graph: &Graph, checker: Option<&Checker>) {
        let others =
            |applied: &&Applied| applied.rule == to_slice::RULE.name() && !to_slice::is_family(&applied.op);
        self.slice_like_before += self.applied.iter().filter(others).count();
        self.slice_after = count(graph, &|op| matches!(op, Op::Slice(_)) && op.dialect() == Dialect::Snick);
        if let Some(checker) = checker {
            (self.checked, self.unchecked) = (checker.checked(), checker.unchecked());
            self.proved = checker.proved();
        }
    }
}

/// The number of matching ops in the graph and its bodies.
pub(crate) fn count(graph: &Graph, which: &impl Fn(&Op) -> bool) -> usize {
    let here = |id| usize::from(which(graph.node(id).op()));
    let inside = |id| graph.node(id).op().bodies().map(|(_, body)| count(body, which)).sum::<usize>();
    graph.ids().map(|id| here(id) + inside(id)).sum()
}

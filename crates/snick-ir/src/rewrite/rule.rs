//! Rules: a name, and a function that rewrites one node.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Patch, RewriteResult};
use crate::OpError;

/// A plain function that rewrites one node.
type RuleFn = fn(&mut Patch<'_>) -> Result<RewriteResult, OpError>;

/// A closure that rewrites one node; shared by the clones of its rule.
type RuleClosure = dyn Fn(&mut Patch<'_>) -> Result<RewriteResult, OpError> + Send + Sync;

/// A named rewrite. Cheap to clone.
///
/// [`Rule::new`] takes a closure, which may capture what it likes:
///
/// ```
/// use std::collections::HashSet;
///
/// use snick_ir::rewrite::{self, DriverOptions, RewriteResult, Rule};
///
/// let dropped = HashSet::from(["a".to_string()]);
/// let rule = Rule::new("drop-named", move |patch| match dropped.contains(patch.node().name()) {
///     true => Ok(RewriteResult::one(patch.input(0)?)),
///     false => Ok(RewriteResult::NoMatch),
/// });
///
/// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
///             %a = ReLU-1(%x)\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
/// let mut graph = snick_ir::text::parse(text, None)?;
/// snick_ir::infer(&mut graph);
/// let trace = rewrite::apply(&mut graph, &[rule], DriverOptions::default());
/// assert_eq!((trace.applied.len(), graph.len()), (1, 3));
/// # Ok::<(), snick_ir::text::ParseError>(())
/// ```
///
/// [`Rule::exact`], [`Rule::rounding`] and [`Rule::for_target`] are `const`, for rules that are plain functions.
#[derive(Clone)]
pub struct Rule {
    name: Cow<'static, str>,
    action: Action,
    exact: bool,
    keeps_facts: bool,
}

#[derive(Clone)]
enum Action {
    Function(RuleFn),
    Closure(Arc<RuleClosure>),
}

impl Rule {
    /// A rule whose replacements compute the same bytes. It looks at [`Patch::node`] and builds the replacement; it may
    /// capture values, which the threads that rewrite share.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        apply: impl Fn(&mut Patch<'_>) -> Result<RewriteResult, OpError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), action: Action::Closure(Arc::new(apply)), exact: true, keeps_facts: false }
    }

    /// [`Rule::new`] for a plain function, as a constant.
    pub const fn exact(name: &'static str, apply: RuleFn) -> Self {
        Self::of_function(name, apply, true, false)
    }

    /// A plain function whose replacements may round differently, as a constant.
    pub const fn rounding(name: &'static str, apply: RuleFn) -> Self {
        Self::of_function(name, apply, false, false)
    }

    /// A rule that says an op in ops of a target, which compute the same bytes. What is known of the outputs, and the
    /// notes of the layer, stay with the replacement: ops of a target may say less than those that they stand for.
    pub const fn for_target(name: &'static str, apply: RuleFn) -> Self {
        Self::of_function(name, apply, true, true)
    }

    const fn of_function(name: &'static str, apply: RuleFn, exact: bool, keeps_facts: bool) -> Self {
        Self { name: Cow::Borrowed(name), action: Action::Function(apply), exact, keeps_facts }
    }

    /// The same rule, declared to round differently: a check compares within rounding instead of byte by byte.
    ///
    /// ```
    /// use snick_ir::rewrite::{RewriteResult, Rule};
    ///
    /// let rule = Rule::new("sum-in-another-order", |_| Ok(RewriteResult::NoMatch)).may_round();
    /// assert!(!rule.is_exact());
    /// ```
    #[must_use]
    pub fn may_round(self) -> Self {
        Self { exact: false, ..self }
    }

    /// Its name in traces, and after `--passes` on the command line.
    pub const fn name(&self) -> &str {
        match &self.name {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.as_str(),
        }
    }

    /// Whether replacements compute the same bytes; otherwise they may round differently.
    pub const fn is_exact(&self) -> bool {
        self.exact
    }

    /// Whether what is known of the outputs stays with their replacements, where inference knows less of these.
    pub const fn keeps_facts(&self) -> bool {
        self.keeps_facts
    }

    /// Looks at the node of a patch and builds its replacement.
    ///
    /// # Errors
    /// The error of the rule. The driver undoes what the rule added.
    pub fn apply(&self, patch: &mut Patch<'_>) -> Result<RewriteResult, OpError> {
        match &self.action {
            Action::Function(apply) => apply(patch),
            Action::Closure(apply) => apply(patch),
        }
    }

    /// The name, to be kept.
    pub(super) fn shared_name(&self) -> Cow<'static, str> {
        self.name.clone()
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, exact, keeps_facts, .. } = self;
        f.debug_struct("Rule")
            .field("name", name)
            .field("exact", exact)
            .field("keeps_facts", keeps_facts)
            .finish_non_exhaustive()
    }
}

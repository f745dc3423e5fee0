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

/// How far an element of a replacement may be from the element `x` that it replaces: `absolute + relative * |x|`.
///
/// ```
/// use snick_ir::rewrite::{RewriteResult, Rule, Tolerance};
///
/// let rule = Rule::new("fold-bn", |_| Ok(RewriteResult::NoMatch)).may_round_within(1e-5, 0.0);
/// assert_eq!(rule.tolerance(), Some(Tolerance { relative: 1e-5, absolute: 0.0 }));
/// ```
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Tolerance {
    /// Of the element itself.
    pub relative: f64,
    /// Of any element.
    pub absolute: f64,
}

impl Tolerance {
    /// Of a rule that says that it rounds, and not how far: a few hundred units in the last place of f32.
    pub const UNDECLARED: Self = Self { relative: 1e-5, absolute: 0.0 };
}

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
    /// `None` if the replacement computes the same bytes.
    tolerance: Option<Tolerance>,
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
        Self {
            name: name.into(),
            action: Action::Closure(Arc::new(apply)),
            tolerance: None,
            keeps_facts: false,
        }
    }

    /// [`Rule::new`] for a plain function, as a constant.
    pub const fn exact(name: &'static str, apply: RuleFn) -> Self {
        Self::of_function(name, apply, None, false)
    }

    /// A plain function whose replacements may round differently, as a constant: [`Rule::exact`] with
    /// [`Tolerance::UNDECLARED`], which [`Rule::may_round_within`] replaces.
    pub const fn rounding(name: &'static str, apply: RuleFn) -> Self {
        Self::of_function(name, apply, Some(Tolerance::UNDECLARED), false)
    }

    /// A rule that says an op in ops of a target, which compute the same bytes. What is known of the outputs, and the
    /// notes of the layer, stay with the replacement: ops of a target may say less than those that they stand for.
    pub const fn for_target(name: &'static str, apply: RuleFn) -> Self {
        Self::of_function(name, apply, None, true)
    }

    const fn of_function(
        name: &'static str,
        apply: RuleFn,
        tolerance: Option<Tolerance>,
        keeps_facts: bool,
    ) -> Self {
        Self { name: Cow::Borrowed(name), action: Action::Function(apply), tolerance, keeps_facts }
    }

    /// The same rule, declared to round differently, within [`Tolerance::UNDECLARED`].
    ///
    /// ```
    /// use snick_ir::rewrite::{RewriteResult, Rule};
    ///
    /// let rule = Rule::new("sum-in-another-order", |_| Ok(RewriteResult::NoMatch)).may_round();
    /// assert!(!rule.is_exact());
    /// ```
    #[must_use]
    pub const fn may_round(self) -> Self {
        let Tolerance { relative, absolute } = Tolerance::UNDECLARED;
        self.may_round_within(relative, absolute)
    }

    /// The same rule, declared to round differently: `relative` to each element, and `absolute`. A check compares within
    /// this instead of bit by bit. Where old and new layers only round the same sum in another order, terms of it may
    /// cancel; what rounding can change there is allowed as well.
    ///
    /// ```
    /// use snick_ir::rewrite::{RewriteResult, Rule};
    ///
    /// const RECIPROCAL: Rule =
    ///     Rule::exact("multiply-by-reciprocal", |_| Ok(RewriteResult::NoMatch)).may_round_within(1e-6, 0.0);
    /// assert_eq!(RECIPROCAL.tolerance().map(|tolerance| tolerance.relative), Some(1e-6));
    /// ```
    #[must_use]
    pub const fn may_round_within(mut self, relative: f64, absolute: f64) -> Self {
        self.tolerance = Some(Tolerance { relative, absolute });
        self
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
        self.tolerance.is_none()
    }

    /// How far replacements may differ; `None` if they compute the same bytes.
    pub const fn tolerance(&self) -> Option<Tolerance> {
        self.tolerance
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
        let Self { name, tolerance, keeps_facts, .. } = self;
        f.debug_struct("Rule")
            .field("name", name)
            .field("tolerance", tolerance)
            .field("keeps_facts", keeps_facts)
            .finish_non_exhaustive()
    }
}

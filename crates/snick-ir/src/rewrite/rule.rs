//! Rules: named functions that rewrite a node.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Patch, RewriteResult};
use crate::{Op, OpError};

/// A plain function that rewrites a node.
type RuleFn = fn(&mut Patch<'_>) -> Result<RewriteResult, OpError>;

/// A closure that rewrites a node, shared by clones of its rule.
type RuleClosure = dyn Fn(&mut Patch<'_>) -> Result<RewriteResult, OpError> + Send + Sync;

/// The allowed difference between an element of a replacement and the element `x` that it replaces:
/// `absolute + relative * |x|`.
///
/// ```
/// use snick::{RewriteResult, Rule, Tolerance};
///
/// let rule = Rule::new("fold-bn", |_| Ok(RewriteResult::NoMatch)).may_round_within(1e-5, 0.0);
/// assert_eq!(rule.tolerance(), Some(Tolerance { relative: 1e-5, absolute: 0.0 }));
/// ```
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Tolerance {
    /// The part relative to the magnitude of the element.
    pub relative: f64,
    /// The part independent of the element.
    pub absolute: f64,
}

impl Tolerance {
    /// The default for a rule that rounds: about a hundred units in the last place of f32.
    pub const UNDECLARED: Self = Self { relative: 1e-5, absolute: 0.0 };

    /// Whether an element `got` may replace the element `want`. NaN may replace NaN. Only infinity may replace
    /// infinity, unless the tolerance itself is infinite.
    ///
    /// ```
    /// use snick::Tolerance;
    ///
    /// let tolerance = Tolerance { relative: 0.1, absolute: 0.0 };
    /// assert!(tolerance.admits(10.0, 10.5) && !tolerance.admits(10.0, 12.0));
    /// assert!(tolerance.admits(f64::NAN, f64::NAN) && !tolerance.admits(f64::NAN, 0.0));
    /// assert!(!tolerance.admits(f64::INFINITY, 0.0));
    /// ```
    pub fn admits(self, want: f64, got: f64) -> bool {
        let is_same = want == got || (want.is_nan() && got.is_nan());
        let relative = if want.is_finite() { self.relative * want.abs() } else { 0.0 };
        is_same || (want - got).abs() <= self.absolute + relative
    }
}

/// A named rewrite. Cheap to clone.
///
/// [`Rule::new`] takes a closure, which may capture its environment:
///
/// ```
/// use std::collections::HashSet;
///
/// use snick::rewrite::{self, DriverOptions};
/// use snick::{RewriteResult, Rule};
///
/// let dropped = HashSet::from(["a".to_string()]);
/// let rule = Rule::new("drop-named", move |patch| match dropped.contains(patch.node().name()) {
///     true => Ok(RewriteResult::one(patch.input(0)?)),
///     false => Ok(RewriteResult::NoMatch),
/// });
///
/// let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
///             %a = ReLU-1(%x)\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// snick::infer(&mut graph);
/// let trace = rewrite::apply(&mut graph, &[rule], DriverOptions::default());
/// assert_eq!((trace.applied.len(), graph.len()), (1, 3));
/// # Ok::<(), snick::text::ParseError>(())
/// ```
///
/// For plain functions, [`Rule::exact`], [`Rule::rounding`] and [`Rule::for_target`] are `const`.
#[derive(Clone)]
pub struct Rule {
    name: Cow<'static, str>,
    action: Action,
    /// `None` if replacements are bit-exact.
    tolerance: Option<Tolerance>,
    keeps_facts: bool,
    /// The operation types at which a match can start; `None` for any type.
    roots: Option<Arc<[Cow<'static, str>]>>,
}

#[derive(Clone)]
enum Action {
    Function(RuleFn),
    Closure(Arc<RuleClosure>),
}

impl Rule {
    /// A rule whose replacements are bit-exact. `apply` inspects [`Patch::node`] and builds the replacement.
    /// Values that `apply` captures are shared between threads.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        apply: impl Fn(&mut Patch<'_>) -> Result<RewriteResult, OpError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            action: Action::Closure(Arc::new(apply)),
            tolerance: None,
            keeps_facts: false,
            roots: None,
        }
    }

    /// Like [`Rule::new`], for a plain function; `const`.
    pub const fn exact(name: &'static str, apply: RuleFn) -> Self {
        Self::of_function(name, apply, None, false)
    }

    /// Like [`Rule::exact`], for replacements that may round differently, within [`Tolerance::UNDECLARED`]
    /// unless [`Rule::may_round_within`] overrides it.
    pub const fn rounding(name: &'static str, apply: RuleFn) -> Self {
        Self::of_function(name, apply, Some(Tolerance::UNDECLARED), false)
    }

    /// A rule that expresses an op in bit-exact ops of a target, such as an output format. The replacement
    /// keeps the facts and metadata of the layer, because inference may know less about the ops of the
    /// target.
    pub const fn for_target(name: &'static str, apply: RuleFn) -> Self {
        Self::of_function(name, apply, None, true)
    }

    const fn of_function(
        name: &'static str,
        apply: RuleFn,
        tolerance: Option<Tolerance>,
        keeps_facts: bool,
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            action: Action::Function(apply),
            tolerance,
            keeps_facts,
            roots: None,
        }
    }

    /// Declares that replacements may round differently, within [`Tolerance::UNDECLARED`].
    ///
    /// ```
    /// use snick::{RewriteResult, Rule};
    ///
    /// let rule = Rule::new("sum-in-another-order", |_| Ok(RewriteResult::NoMatch)).may_round();
    /// assert!(!rule.is_exact());
    /// ```
    #[must_use]
    pub const fn may_round(self) -> Self {
        let Tolerance { relative, absolute } = Tolerance::UNDECLARED;
        self.may_round_within(relative, absolute)
    }

    /// Declares that replacements may round differently, and makes checks compare within this tolerance
    /// instead of bit by bit. If both sides compute the same sum in a different order, its terms may cancel;
    /// checks also allow for the resulting rounding error.
    ///
    /// ```
    /// use snick::{RewriteResult, Rule};
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

    /// Declares the types of the operations at which a match can start. The rule is not tried at others, and
    /// need not check the type of [`Patch::node`] if it handles all of them alike.
    ///
    /// ```
    /// use snick::rewrite::{self, DriverOptions, RewriteResult, Rule};
    ///
    /// let drop_zero = Rule::new("drop-zero", |patch| match patch.splat_value(patch.input(1)?) {
    ///     Some(0.0) => Ok(RewriteResult::one(patch.input(0)?)),
    ///     _ => Ok(RewriteResult::NoMatch),
    /// });
    /// let drop_zero = drop_zero.roots(["Add", "Subtract"]);
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
    /// #             %zero = Const-1 f32[] <0>\n  %a = Subtract-1(%x, %zero)\n  %b = Add-1(%a, %zero)\n  \
    /// #             %c = Multiply-1(%b, %zero)\n  %y = Result-1(%c)\n}\n";
    /// let mut graph = snick::text::parse(text, None)?;
    /// snick::infer(&mut graph);
    /// let trace = rewrite::apply(&mut graph, &[drop_zero], DriverOptions::default());
    /// assert_eq!((trace.work[0].tried, trace.work[0].applied), (2, 2));
    /// # Ok::<(), snick::text::ParseError>(())
    /// ```
    #[must_use]
    pub fn roots<N: Into<Cow<'static, str>>>(mut self, types: impl IntoIterator<Item = N>) -> Self {
        self.roots = Some(types.into_iter().map(Into::into).collect());
        self
    }

    /// Whether a match of the rule can start at this op.
    pub(super) fn starts_at(&self, op: &Op) -> bool {
        self.roots.as_ref().is_none_or(|roots| roots.iter().any(|root| root == op.type_name()))
    }

    /// The name of the rule in traces and for `--passes` on the command line.
    pub const fn name(&self) -> &str {
        match &self.name {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.as_str(),
        }
    }

    /// Whether replacements are bit-exact; otherwise they may round differently.
    pub const fn is_exact(&self) -> bool {
        self.tolerance.is_none()
    }

    /// The allowed difference; `None` if replacements are bit-exact.
    pub const fn tolerance(&self) -> Option<Tolerance> {
        self.tolerance
    }

    /// Whether replacements keep the facts of the replaced outputs, even if inference knows less about the
    /// new values.
    pub const fn keeps_facts(&self) -> bool {
        self.keeps_facts
    }

    /// Inspects the node of a patch and builds its replacement.
    ///
    /// # Errors
    /// The error of the rule. The driver then removes the nodes that the rule added.
    pub fn apply(&self, patch: &mut Patch<'_>) -> Result<RewriteResult, OpError> {
        match &self.action {
            Action::Function(apply) => apply(patch),
            Action::Closure(apply) => apply(patch),
        }
    }

    /// The name as a shared value.
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

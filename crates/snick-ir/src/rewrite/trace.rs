//! The log of the driver: what rules replaced, declined and failed at, and how long they took.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Located;

/// An applied rule.
///
/// ```
/// use snick::rewrite::{self, DriverOptions};
/// use snick::{RewriteResult, Rule};
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %a = ReLU-1(%x)\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// assert!(snick::infer(&mut graph).is_empty());
/// let drop_a = Rule::new("drop-a", |patch| match patch.node().name() {
///     "a" => Ok(RewriteResult::one(patch.input(0)?)),
///     _ => Ok(RewriteResult::NoMatch),
/// });
/// let trace = rewrite::apply(&mut graph, &[drop_a], DriverOptions::default());
/// let applied = &trace.applied[0];
/// assert_eq!((&*applied.rule, &*applied.layer, applied.op.as_str()), ("drop-a", "a", "ReLU"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// The rule.
    pub rule: Cow<'static, str>,
    /// The layer that the rule replaced.
    pub layer: Arc<str>,
    /// The layer's operation type.
    pub op: String,
    /// Whether the replacement is bit-exact; otherwise it may round differently.
    pub exact: bool,
}

/// A layer that a rule matched and declined.
///
/// ```
/// use snick::rewrite::{self, DriverOptions};
/// use snick::{RewriteResult, Rule};
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %a = ReLU-1(%x)\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// assert!(snick::infer(&mut graph).is_empty());
/// let never = Rule::new("never", |patch| match patch.node().name() {
///     "a" => Ok(RewriteResult::declined("another layer may read it")),
///     _ => Ok(RewriteResult::NoMatch),
/// });
/// let trace = rewrite::apply(&mut graph, &[never], DriverOptions::default());
/// let missed = &trace.missed[0];
/// assert_eq!((&*missed.layer, missed.reason.as_str()), ("a", "another layer may read it"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissedRewrite {
    /// The rule.
    pub rule: Cow<'static, str>,
    /// The layer that the rule declined.
    pub layer: Arc<str>,
    /// The operation type of the layer.
    pub op: String,
    /// The reason why the rule declined.
    pub reason: String,
}

/// A replacement rejected by a [`Check`](super::Check).
///
/// ```
/// use snick::rewrite::{self, DriverOptions};
/// use snick::{Check, Proposal, RewriteResult, Rule};
///
/// /// Refuses every replacement.
/// struct Refuse;
///
/// impl Check for Refuse {
///     fn check(&mut self, proposal: &Proposal) -> Result<(), String> {
///         Err(format!("{} is not wanted", proposal.rule.name()))
///     }
/// }
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %a = ReLU-1(%x)\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// assert!(snick::infer(&mut graph).is_empty());
/// let drop_a = Rule::new("drop-a", |patch| match patch.node().name() {
///     "a" => Ok(RewriteResult::one(patch.input(0)?)),
///     _ => Ok(RewriteResult::NoMatch),
/// });
/// let options = DriverOptions { check: Some(&mut Refuse), ..DriverOptions::default() };
/// let trace = rewrite::apply(&mut graph, &[drop_a], options);
/// assert!(trace.applied.is_empty());
/// assert_eq!(trace.check_failures[0].report, "drop-a is not wanted");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CheckFailure {
    /// The rule, the layer and its operation type.
    pub applied: Applied,
    /// The report, of one or more lines.
    pub report: String,
}

/// Statistics of one rule.
///
/// ```
/// use snick::rewrite::{self, DriverOptions};
/// use snick::{RewriteResult, Rule};
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  \
/// #             %a = ReLU-1(%x)\n  %b = ReLU-1(%a)\n  %y = Result-1(%b)\n}\n";
/// let mut graph = snick::text::parse(text, None)?;
/// assert!(snick::infer(&mut graph).is_empty());
/// let drop_a = Rule::new("drop-a", |patch| match patch.node().name() {
///     "a" => Ok(RewriteResult::one(patch.input(0)?)),
///     "b" => Ok(RewriteResult::declined("it is the last one")),
///     _ => Ok(RewriteResult::NoMatch),
/// });
/// let trace = rewrite::apply(&mut graph, &[drop_a], DriverOptions::default());
/// let work = &trace.work[0];
/// assert_eq!((&*work.rule, work.applied), ("drop-a", 1));
/// assert!(work.tried > work.applied + work.declined && work.declined > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RuleWork {
    /// The rule.
    pub rule: Cow<'static, str>,
    /// How many layers the rule was tried on.
    pub tried: usize,
    /// How many layers the rule replaced.
    pub applied: usize,
    /// How many layers the rule matched and declined.
    pub declined: usize,
    /// How long the rule took, including the checks of its replacements; zero unless
    /// [`DriverOptions::timed`](super::DriverOptions::timed) is set, and on platforms without a clock.
    pub time: Duration,
}

impl RuleWork {
    /// Statistics of a rule that has not run.
    pub fn new(rule: Cow<'static, str>) -> Self {
        Self { rule, tried: 0, applied: 0, declined: 0, time: Duration::ZERO }
    }

    /// Adds the time since `begun`, and restarts the clock for the next rule. Does nothing if `begun` is
    /// `None`.
    pub(super) fn pause(&mut self, begun: &mut Option<Instant>) {
        if let Some(begun) = begun {
            let now = Instant::now();
            self.time += now.duration_since(*begun);
            *begun = now;
        }
    }

    /// Adds the statistics of a later run of the same rule.
    pub fn add(&mut self, later: &Self) {
        self.tried += later.tried;
        self.applied += later.applied;
        self.declined += later.declined;
        self.time += later.time;
    }
}

/// The current time; `None` on platforms without a clock.
pub fn now() -> Option<Instant> {
    (!cfg!(target_family = "wasm")).then(Instant::now)
}

/// The log of the driver.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    /// Applied rules, in order.
    pub applied: Vec<Applied>,
    /// Declined layers with reasons.
    pub missed: Vec<MissedRewrite>,
    /// Errors of rules and of invalid replacements.
    pub errors: Vec<Located>,
    /// Replacements that failed the check.
    pub check_failures: Vec<CheckFailure>,
    /// Statistics of each rule, in the order of the rules.
    pub work: Vec<RuleWork>,
}

impl CheckFailure {
    /// A rejected replacement, with the report of the check.
    pub fn new(applied: Applied, report: String) -> Self {
        Self { applied, report }
    }
}

impl Trace {
    /// # Errors
    /// The first error of a rule; its layer is unchanged.
    pub fn complete(self) -> Result<(), Box<Located>> {
        self.errors.into_iter().next().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Appends a later log.
    pub fn extend(&mut self, later: Self) {
        self.applied.extend(later.applied);
        self.missed.extend(later.missed);
        self.errors.extend(later.errors);
        self.check_failures.extend(later.check_failures);
        self.work.extend(later.work);
    }
}

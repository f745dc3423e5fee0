//! What was proved of rewrites and of outputs.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};
use snick_ir::{Loc, Stopped};

use crate::Report;

/// How a rewrite was established.
///
/// ```
/// use snick::{CertifyOptions, RewriteStatus};
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
/// #             %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}\n  \
/// #             %b = slice(%a) {axes: [0], start: [2], len: [4], step: [1]}\n  %y = Result-1(%b)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer();
/// let certificate = model.certify(&CertifyOptions::new())?;
/// assert!(certificate.rewrites().iter().all(|rewrite| rewrite.status != RewriteStatus::Refuted));
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RewriteStatus {
    /// Proved for all sizes that the shapes of the model allow.
    Proved,
    /// Not proved. The model was executed before and after the rewrite on some sizes, if its layers can be
    /// executed, and no difference was found.
    Sampled,
    /// The rewrite would change results, and was not made.
    Refuted,
}

impl RewriteStatus {
    /// The status in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Sampled => "sampled",
            Self::Refuted => "refuted",
        }
    }
}

/// A rewrite, and whether it was proved.
///
/// ```
/// use snick::CertifyOptions;
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
/// #             %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}\n  \
/// #             %b = slice(%a) {axes: [0], start: [2], len: [4], step: [1]}\n  %y = Result-1(%b)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer();
/// let certificate = model.certify(&CertifyOptions::new())?;
/// let merged = certificate.rewrites().iter().find(|rewrite| rewrite.rule == "merge-slices").expect("a rewrite");
/// assert_eq!((&*merged.layer, merged.op.as_str(), merged.loc.line), ("b", "slice", 5));
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct CertifiedRewrite {
    /// The rule.
    pub rule: Cow<'static, str>,
    /// The operation type of the replaced layer.
    pub op: String,
    /// The name of the replaced layer.
    #[serde(serialize_with = "text")]
    pub layer: Arc<str>,
    /// The location of the layer in the file; line 0 if unknown.
    #[serde(serialize_with = "text_of_loc")]
    pub loc: Loc,
    /// Whether the rewrite was proved.
    pub status: RewriteStatus,
    /// Why the rewrite was not proved.
    pub reason: Option<String>,
    /// How long the proof or the execution took; zero on platforms without a clock.
    #[serde(skip)]
    pub time: Duration,
}

fn text<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

fn text_of_loc<S: Serializer>(loc: &Loc, serializer: S) -> Result<S::Ok, S::Error> {
    loc.text().serialize(serializer)
}

/// The result of [`certify_rewrites`](crate::certify_rewrites).
#[derive(Clone, Debug)]
pub struct CertifiedRewrites {
    /// The rewrites in order, including refuted ones, which were not made.
    pub rewrites: Vec<CertifiedRewrite>,
    /// The proofs.
    pub certificate: Certificate,
    /// The report of the canonicalisation.
    pub report: Report,
    /// The obligations of the proofs, if asked for.
    pub obligations: Vec<SmtObligation>,
}

/// Whether an output was proved equal to the corresponding output of another graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputProof {
    /// The name of the Result layer.
    pub name: String,
    /// Why the output was not proved equal; `None` if it was.
    pub reason: Option<String>,
}

/// The result of [`certify_equal`](crate::certify_equal).
#[derive(Clone, Debug)]
pub struct OutputProofs {
    /// One proof for each output of the first graph, in order.
    pub outputs: Vec<OutputProof>,
    /// The proofs.
    pub certificate: Certificate,
    /// The limit or the caller that stopped the search early.
    pub stopped: Option<Stopped>,
    /// The obligations of the proofs, if asked for.
    pub obligations: Vec<SmtObligation>,
}

/// An obligation of a proof as a script of SMT-LIB 2, which a solver finds unsatisfiable.
///
/// ```
/// use snick::CertifyOptions;
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
/// #             %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}\n  \
/// #             %b = slice(%a) {axes: [0], start: [2], len: [4], step: [1]}\n  %y = Result-1(%b)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer();
/// let certificate = model.certify(&CertifyOptions::new().smt(true))?;
/// for obligation in certificate.obligations() {
///     println!("; {}\n{}", obligation.name, obligation.text);
/// }
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SmtObligation {
    /// The rule and the layer, or the output.
    pub name: String,
    /// The script.
    pub text: String,
}

/// A certificate that can be saved and checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Certificate(pub(crate) snick_certificate::Certificate);

/// Why a certificate does not prove what it says about some graphs.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CertificateError {
    /// The text is not a certificate.
    #[error("not a certificate of snick: {0}")]
    Unreadable(String),
    /// The certificate is about other models, or about another number of models.
    #[error("the certificate is about other models")]
    OtherModel,
    /// A step proves nothing; contains the step and the reason.
    #[error("the certificate does not prove what it says: {0}")]
    Unproved(String),
}

impl Certificate {
    /// The certificate as JSON.
    pub fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// Reads [`Certificate::to_json`].
    ///
    /// # Errors
    /// [`CertificateError::Unreadable`].
    pub fn from_json(text: &str) -> Result<Self, CertificateError> {
        snick_certificate::Certificate::from_json(text).map(Self).map_err(CertificateError::Unreadable)
    }
}

impl CertifiedRewrite {
    /// A rewrite that is not decided yet.
    pub(super) fn new(rule: Cow<'static, str>, op: &str, layer: Arc<str>, loc: Loc) -> Self {
        let (status, reason, time) = (RewriteStatus::Sampled, None, Duration::ZERO);
        Self { rule, op: op.to_string(), layer, loc, status, reason, time }
    }
}

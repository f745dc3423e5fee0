//! What is proved, and the proofs.

use std::fmt;

use serde::{Serialize, Serializer};
use snick_ir::Diagnostic;
use snick_pass::{CertifiedRewrite, RewriteStatus, SmtObligation};

use super::counterexample::Counterexample;

/// The answer of [`Model::certify`](crate::Model::certify): what is proved, and proofs that can be saved and
/// checked. It serialises to the rewrites or the outputs, and their summary.
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
/// println!("{}", certificate.summary());
/// model.check_certificate_json(&certificate.to_json(), None)?;
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "rewrites or outputs may not be proved"]
pub struct Certificate {
    pub(super) claims: Claims,
    pub(super) proofs: snick_pass::Certificate,
    pub(super) obligations: Vec<SmtObligation>,
    pub(super) errors: Vec<Diagnostic>,
}

/// What is proved or not.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Claims {
    /// Rewrites of a model.
    Rewrites { rewrites: Vec<CertifiedRewrite>, summary: CertificateSummary },
    /// The outputs of two models.
    Outputs {
        outputs: Vec<CertifiedOutput>,
        #[serde(serialize_with = "of_outputs")]
        summary: CertificateSummary,
    },
}

/// Whether an output of a model equals the corresponding output of another model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct CertifiedOutput {
    /// The name of the Result layer in the first model.
    pub name: String,
    /// Whether the output was proved equal.
    pub status: OutputStatus,
    /// Why the output was not proved equal.
    pub reason: Option<String>,
    /// A difference between the models, for a refuted output.
    pub counterexample: Option<Counterexample>,
}

/// The result for an output of two models.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum OutputStatus {
    /// Proved equal for all sizes that the shapes of both models allow, and for all elements of the inputs.
    Proved,
    /// Both models were run, and the output differs.
    Refuted,
    /// Neither proved nor refuted.
    Undecided,
}

impl OutputStatus {
    /// The status in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Refuted => "refuted",
            Self::Undecided => "undecided",
        }
    }
}

/// The number of rewrites or outputs of a [`Certificate`] by status. Displayed as `3 proved, 1 sampled`.
///
/// ```
/// use snick::CertifyOptions;
///
/// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
/// #             %a = slice(%x) {axes: [0], start: [1], len: [8], step: [1]}\n  \
/// #             %b = slice(%a) {axes: [0], start: [2], len: [4], step: [1]}\n  %y = Result-1(%b)\n}\n";
/// let mut model = snick::parse(text)?;
/// model.infer();
/// let summary = model.certify(&CertifyOptions::new())?.summary();
/// assert_eq!((summary.applied, summary.refuted), (summary.proved + summary.sampled, 0));
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct CertificateSummary {
    /// Rewrites, including refuted ones, which were not made; 0 if two models were compared.
    pub applied: usize,
    /// Proved rewrites or outputs.
    pub proved: usize,
    /// Rewrites that were only executed on some sizes.
    pub sampled: usize,
    /// Refuted rewrites or outputs.
    pub refuted: usize,
    /// Outputs that are neither proved nor refuted.
    #[serde(skip)]
    pub undecided: usize,
}

impl fmt::Display for CertificateSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { proved, sampled, refuted, undecided, .. } = *self;
        write!(f, "{proved} proved")?;
        for (count, status) in [(sampled, "sampled"), (refuted, "refuted"), (undecided, "undecided")] {
            if count > 0 {
                write!(f, ", {count} {status}")?;
            }
        }
        Ok(())
    }
}

impl Certificate {
    /// The rewrites in order, including refuted ones, which were not made; empty if two models were compared.
    pub fn rewrites(&self) -> &[CertifiedRewrite] {
        match &self.claims {
            Claims::Rewrites { rewrites, .. } => rewrites,
            Claims::Outputs { .. } => &[],
        }
    }

    /// The outputs of the first model in order; empty unless two models were compared.
    pub fn outputs(&self) -> &[CertifiedOutput] {
        match &self.claims {
            Claims::Rewrites { .. } => &[],
            Claims::Outputs { outputs, .. } => outputs,
        }
    }

    /// The number of rewrites or outputs by status.
    pub fn summary(&self) -> CertificateSummary {
        match &self.claims {
            Claims::Rewrites { summary, .. } | Claims::Outputs { summary, .. } => *summary,
        }
    }

    /// Whether all rewrites or all outputs are proved.
    pub fn is_proved(&self) -> bool {
        let CertificateSummary { sampled, refuted, undecided, .. } = self.summary();
        (sampled, refuted, undecided) == (0, 0, 0)
    }

    /// The proofs as scripts of SMT-LIB 2, if [`CertifyOptions::smt`](crate::CertifyOptions::smt) asked for
    /// them. A solver finds each script unsatisfiable.
    pub fn obligations(&self) -> &[SmtObligation] {
        &self.obligations
    }

    /// The errors of rules that failed. Their layers stay as they are.
    pub fn errors(&self) -> &[Diagnostic] {
        &self.errors
    }

    /// The proofs as JSON, for [`Model::check_certificate_json`](crate::Model::check_certificate_json).
    pub fn to_json(&self) -> String {
        self.proofs.to_json()
    }

    /// Writes [`Certificate::to_json`] to a file, for
    /// [`Model::check_certificate`](crate::Model::check_certificate).
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io).
    #[cfg(feature = "emit")]
    pub fn save(&self, path: impl AsRef<std::path::Path>) -> Result<(), crate::Error> {
        crate::write_file(path.as_ref(), |file| file.write_all(self.to_json().as_bytes()))
    }

    /// Writes each of [`Certificate::obligations`] to a file of its own in a folder, which is created if
    /// needed: `001-merge-slices-conv1.smt2`.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io).
    #[cfg(feature = "emit")]
    pub fn save_smt(&self, folder: impl AsRef<std::path::Path>) -> Result<(), crate::Error> {
        let folder = folder.as_ref();
        std::fs::create_dir_all(folder).map_err(|error| crate::Error::io(folder, error))?;
        let mut files = crate::OutputFiles::new();
        for (number, obligation) in (1..).zip(&self.obligations) {
            let name = format!("{number:03}-{}.smt2", safe_name(&obligation.name));
            files.add(&folder.join(name), |file| file.write_all(obligation.text.as_bytes()))?;
        }
        files.commit()
    }
}

/// Serialises the counts that apply to outputs.
fn of_outputs<S: Serializer>(summary: &CertificateSummary, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct OutputSummary {
        proved: usize,
        refuted: usize,
        undecided: usize,
    }
    let CertificateSummary { proved, refuted, undecided, .. } = *summary;
    OutputSummary { proved, refuted, undecided }.serialize(serializer)
}

/// A name that every file system accepts: other characters become `_`, and long names are cut.
#[cfg(feature = "emit")]
fn safe_name(name: &str) -> String {
    const MAX_LENGTH: usize = 100;
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    name.chars().take(MAX_LENGTH).map(safe).collect()
}

impl Claims {
    pub(super) fn of_rewrites(rewrites: Vec<CertifiedRewrite>) -> Self {
        let count = |status| rewrites.iter().filter(|rewrite| rewrite.status == status).count();
        let summary = CertificateSummary {
            applied: rewrites.len(),
            proved: count(RewriteStatus::Proved),
            sampled: count(RewriteStatus::Sampled),
            refuted: count(RewriteStatus::Refuted),
            undecided: 0,
        };
        Self::Rewrites { rewrites, summary }
    }

    pub(super) fn of_outputs(outputs: Vec<CertifiedOutput>) -> Self {
        let count = |status| outputs.iter().filter(|output| output.status == status).count();
        let summary = CertificateSummary {
            proved: count(OutputStatus::Proved),
            refuted: count(OutputStatus::Refuted),
            undecided: count(OutputStatus::Undecided),
            ..CertificateSummary::default()
        };
        Self::Outputs { outputs, summary }
    }
}

impl Serialize for Certificate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.claims.serialize(serializer)
    }
}

#[cfg(all(test, feature = "emit"))]
mod tests {
    #[test]
    fn names_of_files_are_safe() {
        assert_eq!(super::safe_name("merge-slices-h.0/conv*"), "merge-slices-h.0_conv_");
        assert_eq!(super::safe_name(&"\u{e9}".repeat(1000)), "_".repeat(100));
    }
}

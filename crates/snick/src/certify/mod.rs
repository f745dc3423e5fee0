//! Proofs for all sizes: of the rewrites of the canonical form, and that two models compute the same.

mod answer;
mod counterexample;
mod options;

use std::path::Path;

use snick_ir::Diagnostic;
use snick_pass::{OutputProof, certify_equal, certify_rewrites, check_equal, check_rewrites};
use snick_read::ReadError;

use crate::{Error, Model};

use self::answer::Claims;
pub use self::answer::{Certificate, CertificateSummary, CertifiedOutput, OutputStatus};
pub use self::counterexample::{Counterexample, counterexamples};
pub use self::options::CertifyOptions;

impl Model {
    /// Canonicalises a copy of the inferred model, and proves every rewrite for all sizes that the shapes
    /// allow. With [`CertifyOptions::after`], proves instead that another model computes the same outputs from
    /// the same inputs. What cannot be proved is executed on random inputs, which may refute it.
    ///
    /// Arithmetic on floats is never reasoned about. A proved output is equal to the last bit or, where a rule
    /// may change rounding, sums the same products in some order.
    ///
    /// ```
    /// use snick::{CertifyOptions, OutputStatus};
    ///
    /// let text = r#"snick 1
    /// graph "crop" {
    ///   %x = Parameter-1 {element_type: f32, shape: "N"}
    ///   %start = Const-1 i64[1] <1>
    ///   %stop = Const-1 i64[1] <-1>
    ///   %step = Const-1 i64[1] <1>
    ///   %slice = Slice-8(%x, %start, %stop, %step)
    ///   %y = Result-1(%slice)
    /// }
    /// "#;
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let certificate = model.certify(&CertifyOptions::new())?;
    /// assert_eq!(certificate.summary().applied, certificate.rewrites().len());
    ///
    /// let mut canonical = model.clone();
    /// assert!(canonical.canonicalise().is_ok());
    /// let certificate = model.certify(&CertifyOptions::new().after(&canonical))?;
    /// assert_ne!(certificate.outputs()[0].status, OutputStatus::Refuted);
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for a graph with a cycle; [`Error::Cancelled`], [`Error::Limit`].
    pub fn certify(&self, options: &CertifyOptions) -> Result<Certificate, Error> {
        self.graph().order()?;
        match &options.after {
            None => self.certify_rewrites(options),
            Some(after) => self.certify_outputs(after, options),
        }
    }

    /// Checks a saved certificate without searching for proofs: that it proves what it says about this
    /// inferred model, or about this model and the model `after`.
    ///
    /// # Errors
    /// [`Error::Certificate`] with the step that fails, also for a damaged file or other models;
    /// [`Error::Read`] if the file cannot be read.
    pub fn check_certificate(&self, path: impl AsRef<Path>, after: Option<&Self>) -> Result<(), Error> {
        let path = path.as_ref();
        let json = std::fs::read(path).map_err(|error| ReadError::Io { path: path.into(), error })?;
        self.check_certificate_json(&String::from_utf8_lossy(&json), after)
    }

    /// [`Model::check_certificate`] for a certificate in memory; see [`Certificate::to_json`].
    ///
    /// ```
    /// use snick::{CertifyOptions, Error};
    ///
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %y = Result-1(%x)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let json = model.certify(&CertifyOptions::new())?.to_json();
    /// model.check_certificate_json(&json, None)?;
    /// assert!(matches!(model.check_certificate_json("{}", None), Err(Error::Certificate(_))));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Certificate`].
    pub fn check_certificate_json(&self, json: &str, after: Option<&Self>) -> Result<(), Error> {
        let proofs = snick_pass::Certificate::from_json(json)?;
        match after {
            None => check_rewrites(&proofs, self.graph())?,
            Some(after) => check_equal(&proofs, self.graph(), after.graph())?,
        }
        Ok(())
    }

    fn certify_rewrites(&self, options: &CertifyOptions) -> Result<Certificate, Error> {
        let mut graph = self.graph().clone();
        let certified = certify_rewrites(&mut graph, &options.rewriting, options.has_smt);
        if let Some(stopped) = certified.report.stopped {
            return Err(stopped.into());
        }
        Ok(Certificate {
            claims: Claims::of_rewrites(certified.rewrites),
            proofs: certified.certificate,
            obligations: certified.obligations,
            errors: certified.report.errors.iter().map(Diagnostic::from).collect(),
        })
    }

    fn certify_outputs(&self, after: &Self, options: &CertifyOptions) -> Result<Certificate, Error> {
        let [a, b] = [self.graph(), after.graph()];
        b.order()?;
        let certified = certify_equal(a, b, &options.rewriting, options.has_smt);
        if let Some(stopped) = certified.stopped {
            return Err(stopped.into());
        }
        let unproved = certified.outputs.iter().enumerate().filter(|(_, output)| output.reason.is_some());
        let unproved: Vec<usize> = unproved.map(|(at, _)| at).collect();
        let found = match unproved.is_empty() {
            true => Vec::new(),
            false => counterexamples(self, after, &unproved, options.seed, options.rewriting.watch())?,
        };
        let mut found = found.into_iter();
        let outputs = certified.outputs.into_iter().map(|OutputProof { name, reason }| {
            let counterexample = reason.as_ref().and_then(|_| found.next()?);
            let status = match (&reason, &counterexample) {
                (None, _) => OutputStatus::Proved,
                (_, Some(_)) => OutputStatus::Refuted,
                (_, None) => OutputStatus::Undecided,
            };
            CertifiedOutput { name, status, reason, counterexample }
        });
        Ok(Certificate {
            claims: Claims::of_outputs(outputs.collect()),
            proofs: certified.certificate,
            obligations: certified.obligations,
            errors: Vec::new(),
        })
    }
}

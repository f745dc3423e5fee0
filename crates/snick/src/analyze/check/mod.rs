//! Checks models for defects, obstacles to deployment and likely mistakes. Each file of this module declares
//! a family of codes ([`CheckCode`]) and the function that reports findings with these codes.

mod baked;
mod code;
mod constant_outputs;
mod edges;
mod files;
mod finding;
mod fixed_sizes;
mod layers;
mod names;
mod narrowed;
mod operations;
mod options;
mod plug_ins;
mod ports;
mod releases;
mod rounded;
mod shapes;
mod slices;
mod subject;
mod unbounded;
mod unnamed;
mod unused;
mod values;
mod weights;
mod wrong_weights;

use std::path::Path;

use snick_ir::Code;
use snick_read::openvino::Survey;

use crate::{Error, InferOptions, LoadOptions, Model, load_with};

pub use code::{CheckCode, Example};
pub use finding::Finding;
pub use options::{CheckOptions, UnknownCode};

use finding::Findings;
use subject::Subject;

/// Codes whose findings are reported by the same function.
struct Family {
    codes: &'static [&'static CheckCode],
    find: fn(&Subject, &mut Findings),
    /// Whether the findings depend on the values of constants. If the weights belong to another model, such
    /// findings would be meaningless, so the family is skipped.
    reads_values: bool,
}

/// The families, in the order in which they run. Findings about the whole model come last.
static FAMILIES: &[&Family] = &[
    &files::FAMILY,
    &weights::FAMILY,
    &wrong_weights::FAMILY,
    &names::FAMILY,
    &edges::FAMILY,
    &operations::FAMILY,
    &unused::FAMILY,
    &unnamed::FAMILY,
    &constant_outputs::FAMILY,
    &shapes::FAMILY,
    &ports::FAMILY,
    &unbounded::FAMILY,
    &baked::FAMILY,
    &slices::FAMILY,
    &narrowed::FAMILY,
    &rounded::FAMILY,
    &values::FAMILY,
    &releases::FAMILY,
];

/// The documentation of all codes, in ascending order.
///
/// ```
/// use snick::{Code, check_codes};
///
/// let check = check_codes().into_iter().find(|check| check.code == Code::UnusedLayer).expect("a code");
/// assert_eq!((check.code.text(), check.code.name(), check.on_demand), ("S015", "unused-layer", false));
/// ```
pub fn check_codes() -> Vec<&'static CheckCode> {
    let mut codes: Vec<_> = FAMILIES.iter().flat_map(|family| family.codes).copied().collect();
    codes.sort_by_key(|code| code.code);
    codes
}

/// The result of checking a file: the most severe kind of finding, or the reason why the check stopped.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CheckStatus {
    /// There are no findings, or only notes.
    Ok,
    /// There are warnings, but no errors.
    Warning,
    /// There are errors.
    Error,
    /// The file is not a model, or is too damaged to be read.
    Unreadable,
    /// A limit was reached before the check was complete.
    Limit,
}

impl CheckStatus {
    /// `ok`, `warning`, `error`, `unreadable` or `limit`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Unreadable => "unreadable",
            Self::Limit => "limit",
        }
    }
}

impl Model {
    /// Infers a copy of the model and checks it.
    ///
    /// Use [`check_file`] to also find problems that are only visible in the file.
    ///
    /// ```
    /// use snick::CheckOptions;
    ///
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  \
    /// #             %mask = Parameter-1 {element_type: f32, shape: \"2,3\"}\n  %y = Result-1(%x)\n}\n";
    /// let model = snick::parse(text)?;
    /// let findings = model.check(&CheckOptions::new());
    /// assert_eq!((findings[0].code, findings[0].layer.as_str()), ("S016", "mask"));
    /// assert_eq!(findings[0].to_string(), "4:3: warning S016 unused-input: nothing reads the input `mask`");
    /// # Ok::<(), snick::Error>(())
    /// ```
    pub fn check(&self, options: &CheckOptions) -> Vec<Finding> {
        let mut model = self.clone();
        let errors = model.infer().into_located();
        findings(&Subject::new(&model, &errors, None, options))
    }

    /// Infers a copy of the model, and checks both the copy and the file that the model was loaded from.
    #[cfg(feature = "view")]
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let mut model = self.clone();
        let errors = model.infer().into_located();
        findings(&Subject::new(&model, &errors, survey(&model), &CheckOptions::new()))
    }
}

/// Checks the model in a file or folder. An unreadable file is reported as a finding.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("snick-check-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("model.xml");
/// use snick::{CheckOptions, CheckStatus, InferOptions, LoadOptions};
///
/// std::fs::write(&path, "<html></html>").unwrap();
/// let (status, findings) =
///     snick::check_file(&path, &LoadOptions::new(), &InferOptions::new(), &CheckOptions::new())?;
/// assert_eq!((status, findings[0].code), (CheckStatus::Unreadable, "S001"));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), snick::Error>(())
/// ```
///
/// # Errors
/// [`Error::Cancelled`]; an error if the shapes in the options do not match the inputs of the model.
pub fn check_file(
    path: &Path,
    load: &LoadOptions,
    infer: &InferOptions,
    options: &CheckOptions,
) -> Result<(CheckStatus, Vec<Finding>), Error> {
    let mut model = match load_with(path, load) {
        Ok(model) => model,
        Err(error) => return stopped(error, options),
    };
    model.reshape(&options.shapes)?;
    let errors = match model.infer_with(infer) {
        Ok(inference) => inference.into_located(),
        Err(error) => return stopped(error, options),
    };
    let survey = survey(&model);
    let found = findings(&Subject::new(&model, &errors, survey, options));
    let worst = found.iter().map(|finding| finding.severity).max();
    let status = match worst {
        Some(crate::Severity::Error) => CheckStatus::Error,
        Some(crate::Severity::Warning) => CheckStatus::Warning,
        _ => CheckStatus::Ok,
    };
    Ok((status, found))
}

/// The finding for a file that cannot be read, or for a check that a limit has stopped.
fn stopped(error: Error, options: &CheckOptions) -> Result<(CheckStatus, Vec<Finding>), Error> {
    if matches!(error, Error::Cancelled { .. }) {
        return Err(error);
    }
    let mut findings = Findings::new(options);
    let status = files::add_unreadable(&error, &mut findings);
    Ok((status, findings.into_list()))
}

/// Facts about an OpenVINO IR file that are not kept in the graph. `None` if the model comes from another
/// format, or if the file can no longer be read.
fn survey(model: &Model) -> Option<Survey> {
    let is_ir =
        |path: &&std::path::PathBuf| path.extension().is_some_and(|name| name.eq_ignore_ascii_case("xml"));
    let path = model.files().iter().find(is_ir)?;
    model.graph().ir_version?;
    Survey::of(&std::fs::read(path).ok()?, &path.display().to_string()).ok()
}

fn findings(subject: &Subject) -> Vec<Finding> {
    findings_of(FAMILIES, subject)
}

fn findings_of(families: &[&Family], subject: &Subject) -> Vec<Finding> {
    let mut findings = Findings::new(subject.options);
    for family in families {
        let is_selected = family.codes.iter().any(|code| subject.options.selects(code));
        if is_selected && !(family.reads_values && findings.has(Code::WrongWeights)) {
            (family.find)(subject, &mut findings);
        }
    }
    findings.into_list()
}

#[cfg(test)]
mod tests {
    use super::*;

    static WRONG: CheckCode = CheckCode {
        code: Code::WrongWeights,
        meaning: "A layer is a ReLU.",
        reason: "It is one.",
        remedy: "use another one",
        example: Example::Files("a ReLU"),
        on_demand: false,
    };

    fn find(subject: &Subject, findings: &mut Findings) {
        for node in subject.nodes().filter(|node| node.op().type_name() == "ReLU") {
            findings.add(&WRONG, node, format!("`{}` is a ReLU", node.name()));
        }
    }

    /// Shows that a new check needs only a family like this one with its codes, and an entry in [`FAMILIES`].
    static RELUS: Family = Family { codes: &[&WRONG], find, reads_values: false };

    #[test]
    fn a_family_finds_its_codes_unless_wrong_weights_mislead_it() {
        static OF_VALUES: Family = Family { reads_values: true, ..RELUS };
        let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"4\"}\n  \
                    %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
        let model = crate::parse(text).unwrap();
        let found = |families: &[&Family], options: &CheckOptions| {
            let findings = findings_of(families, &Subject::new(&model, &[], None, options));
            findings.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let finding = "4:3: error S044 wrong-weights: `a` is a ReLU";
        assert_eq!(found(&[&RELUS, &OF_VALUES], &CheckOptions::new()), [finding]);
        assert_eq!(found(&[&OF_VALUES], &CheckOptions::new()), [finding]);
        assert_eq!(found(&[&RELUS], &CheckOptions::new().ignore(["S04"]).unwrap()), [""; 0]);
    }
}

//! Options that select what to check.

use snick_ir::{Release, did_you_mean};

use super::{CheckCode, check_codes};

/// Options that select what to check.
///
/// ```
/// use snick::CheckOptions;
///
/// let options = CheckOptions::new().select(["S02", "unused-layer"])?.ignore(["S022"])?;
/// let error = CheckOptions::new().select(["unusd-layer"]).unwrap_err();
/// assert_eq!(error.to_string(), "no code or name begins with `unusd-layer`; did you mean `unused-layer`?");
/// # Ok::<(), snick::UnknownCode>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CheckOptions {
    /// The codes to check; if empty, all codes that are on by default.
    selected: Vec<String>,
    ignored: Vec<String>,
    pub(super) target: Option<Release>,
    pub(super) shapes: String,
}

/// A text that is neither the name of a code nor the beginning of a code.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("no code or name begins with `{0}`{suggestion}", suggestion = similar(.0))]
pub struct UnknownCode(pub String);

/// The code or name that a text may be a mistake for.
fn similar(text: &str) -> String {
    did_you_mean(text, check_codes().into_iter().flat_map(|code| [code.code.text(), code.code.name()]))
}

impl CheckOptions {
    /// The default options: check the codes that are on by default (see [`CheckCode::on_demand`]), for any
    /// release of OpenVINO.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks only these codes. Each is given as a code, the beginning of a code (`S02`), or a name. `S`
    /// selects all codes, including codes that are off by default.
    ///
    /// # Errors
    /// [`UnknownCode`] if a text matches no code.
    pub fn select<T: AsRef<str>>(mut self, codes: impl IntoIterator<Item = T>) -> Result<Self, UnknownCode> {
        self.selected.extend(known(codes)?);
        Ok(self)
    }

    /// Skips these codes, given as in [`CheckOptions::select`].
    ///
    /// # Errors
    /// [`UnknownCode`] if a text matches no code.
    pub fn ignore<T: AsRef<str>>(mut self, codes: impl IntoIterator<Item = T>) -> Result<Self, UnknownCode> {
        self.ignored.extend(known(codes)?);
        Ok(self)
    }

    /// Sets the release of OpenVINO that must be able to read the models.
    #[must_use]
    pub fn target(self, release: Release) -> Self {
        Self { target: Some(release), ..self }
    }

    /// Sets the input shapes to infer the model with, in the syntax of
    /// [`Model::reshape`](crate::Model::reshape). Declared ports are then not compared with inferred shapes,
    /// because the file declares its ports for its own input shapes.
    ///
    /// ```
    /// use snick::{CheckOptions, InferOptions, LoadOptions};
    ///
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"1,4\"}\n  \
    /// #             %to = Const-1 i64[2] <1, 4>\n  %y = Reshape-1(%x, %to) {special_zero: false}\n  \
    /// #             %r = Result-1(%y)\n}\n";
    /// # let path = std::env::temp_dir().join(format!("snick-check-shapes-{}.snick", std::process::id()));
    /// # std::fs::write(&path, text).unwrap();
    /// let options = CheckOptions::new().shapes("x[2,4]");
    /// let (_, findings) = snick::check_file(&path, &LoadOptions::new(), &InferOptions::new(), &options)?;
    /// assert_eq!((findings[0].code, findings[0].layer.as_str()), ("S020", "y"));
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), snick::Error>(())
    /// ```
    #[must_use]
    pub fn shapes(self, shapes: impl Into<String>) -> Self {
        Self { shapes: shapes.into(), ..self }
    }

    /// Whether a code is checked.
    pub(super) fn selects(&self, code: &CheckCode) -> bool {
        let is_wanted = match self.selected.is_empty() {
            true => !code.on_demand,
            false => self.selected.iter().any(|prefix| is_named(code, prefix)),
        };
        is_wanted && !self.ignored.iter().any(|prefix| is_named(code, prefix))
    }

    pub(super) fn selects_code(&self, code: &str) -> bool {
        check_codes().into_iter().any(|known| code == known.code && self.selects(known))
    }
}

fn known<T: AsRef<str>>(codes: impl IntoIterator<Item = T>) -> Result<Vec<String>, UnknownCode> {
    let all = check_codes();
    let check = |text: T| {
        let text = text.as_ref().trim();
        match !text.is_empty() && all.iter().any(|code| is_named(code, text)) {
            true => Ok(text.to_string()),
            false => Err(UnknownCode(text.to_string())),
        }
    };
    codes.into_iter().map(check).collect()
}

fn is_named(code: &CheckCode, text: &str) -> bool {
    code.code.text().starts_with(text) || code.code.name() == text
}

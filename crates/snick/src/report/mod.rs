//! The report: a page that shows a model, and the data that the page's viewer is given.
//!
//! A part of the data is a file. All of them write JSON of the schema `snick.view/1`, which `docs/src/pictures.md`
//! describes; the viewer is in `crates/snick-view/assets`.

mod changes;
mod layers;
mod overview;
mod slices;
mod symbols;
mod trace;
mod values;

use std::path::Path;

use snick_ir::Graph;
use snick_ir::json::Json;

use self::layers::Numbers;
use crate::{Error, Finding, Model, write_file};

/// The schema of the data.
const SCHEMA: &str = "snick.view/1";

/// What a report shows beside the model.
///
/// ```
/// use snick::ReportOptions;
///
/// # let text = |op: &str| format!("snick 1\ngraph \"g\" {{\n  %x = Parameter-1 {{element_type: f32, shape: \"N\"}}\n  \
/// #             %a = {op}-1(%x)\n  %y = Result-1(%a)\n}}\n");
/// let mut models = [snick::parse(&text("ReLU"))?, snick::parse(&text("Tanh"))?];
/// for model in &mut models {
///     model.infer().into_result()?;
/// }
/// let [old, new] = &models;
/// let page = old.report(&ReportOptions::new().diff(new))?;
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("Tanh"));
/// # Ok::<(), snick::Error>(())
/// ```
#[derive(Copy, Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReportOptions<'m> {
    other: Option<&'m Model>,
}

impl<'m> ReportOptions<'m> {
    /// The model alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// What changed from the model to this one, which is inferred, too.
    #[must_use]
    pub fn diff(self, other: &'m Model) -> Self {
        Self { other: Some(other) }
    }
}

impl Model {
    /// A page that shows the inferred model: one HTML file that loads nothing else. See [`Model::report_data`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for a cycle of layers where models are compared.
    pub fn report(&self, options: &ReportOptions) -> Result<String, Error> {
        Ok(snick_view::page(&self.graph().name, &self.report_data(options)?))
    }

    /// Writes [`Model::report`] to a file.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
    /// use snick::ReportOptions;
    ///
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// # let out = std::env::temp_dir().join(format!("snick-doctest-report-{}.html", std::process::id()));
    /// model.save_report(&out, &ReportOptions::new())?;
    /// assert!(std::fs::read_to_string(&out).unwrap().contains("ReLU"));
    /// # std::fs::remove_file(&out).unwrap();
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Model::report`], and [`Error::Io`].
    pub fn save_report(&self, path: impl AsRef<Path>, options: &ReportOptions) -> Result<(), Error> {
        let page = self.report(options)?;
        write_file(path.as_ref(), |file| file.write_all(page.as_bytes()))
    }

    /// What the page shows, as JSON of the schema `snick.view/1`: for a page of your own, with the viewer
    /// ([`viewer_script`](crate::viewer_script)) or without it. Texts of the model have their control characters
    /// escaped.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
    /// use snick::ReportOptions;
    ///
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let data = model.report_data(&ReportOptions::new())?;
    /// assert!(data.starts_with(r#"{"schema":"snick.view/1","#));
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Model::report`].
    pub fn report_data(&self, options: &ReportOptions) -> Result<String, Error> {
        let mut json = Json::default();
        let numbers = Numbers::new(self.graph());
        json.object(|json| {
            json.key("schema").string(SCHEMA);
            write_model(json, self, &numbers);
            json.line().key("diff");
        });
        let mut data = json.finish();
        // The difference is the last member; what fails leaves no half of it behind.
        data.truncate(data.len() - "}\n".len());
        match options.other {
            None => data.push_str("null"),
            Some(other) => data.push_str(changes::json(self, &numbers, other)?.trim_end()),
        }
        data.push_str("}\n");
        Ok(data)
    }
}

/// All that is shown of one model, as members of an object.
fn write_model(json: &mut Json, model: &Model, numbers: &Numbers) {
    let findings = model.findings();
    overview::write(json, model, numbers, &findings);
    json.line().key("graphs").array(|json| layers::write(json, model, numbers, &failed(&findings)));
    json.line().key("slices").array(|json| slices::write(json, model.graph(), numbers));
    json.line().key("symbols").array(|json| symbols::write(json, model.graph(), numbers));
    json.line().key("steps").object(|json| trace::write(json, numbers));
}

/// The names of the layers that inference could not accept.
fn failed(findings: &[Finding]) -> Vec<&str> {
    let errors = findings.iter().filter(|finding| finding.code == "S020");
    errors.map(|finding| finding.layer.as_str()).collect()
}

/// An expression of a graph: a number, or a text over the names of its symbols.
fn expr(json: &mut Json, graph: &Graph, expr: &snick_shape::SymExpr) {
    match expr.as_const() {
        Some(number) => integer(json, number),
        None => json.escaped(&graph.symbols().display(expr).to_string()),
    }
}

/// An integer; one that a floating-point number cannot hold is a text.
fn integer(json: &mut Json, number: i64) {
    match number.unsigned_abs() {
        0..=EXACT => json.plain(number),
        _ => json.string(&number.to_string()),
    }
}

/// JavaScript's numbers hold all integers up to this one.
const EXACT: u64 = 1 << 53;

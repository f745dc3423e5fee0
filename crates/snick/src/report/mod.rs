//! The report: a page that shows a model, and the data for the viewer on that page.
//!
//! Each file of this module produces a part of the data. Together the parts form JSON of the schema
//! `snick.view/1`, which `docs/src/json.md` describes. The viewer is in `crates/snick-view/assets`.

mod changes;
mod layers;
mod numbers;
mod overview;
mod scopes;
mod slices;
mod symbols;
mod trace;
mod values;

use std::path::Path;

use serde::{Serialize, Serializer};
use snick_ir::text::Escaped;
use snick_ir::{Code, Fact, Graph};
use snick_shape::{SymExpr, Symbols};

use self::changes::Changes;
use self::numbers::Numbers;
use self::overview::Overview;
use crate::{Amount, Error, Model, write_file};

/// The schema of the data.
const SCHEMA: &str = "snick.view/1";

/// Options for what a report shows in addition to the model.
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
    /// Shows only the model.
    pub fn new() -> Self {
        Self::default()
    }

    /// Also shows the changes from the model to `other`, which must be inferred.
    #[must_use]
    pub fn diff(self, other: &'m Model) -> Self {
        Self { other: Some(other) }
    }
}

impl Model {
    /// A page that shows the inferred model. It is a single HTML file that loads no other files. See
    /// [`Model::report_data`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if models are compared and one of them has a cycle of layers.
    pub fn report(&self, options: &ReportOptions) -> Result<String, Error> {
        Ok(snick_view::page(&overview::title(self), &self.report_data(options)?))
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
    /// Same as [`Model::report`], and [`Error::Io`].
    pub fn save_report(&self, path: impl AsRef<Path>, options: &ReportOptions) -> Result<(), Error> {
        let page = self.report(options)?;
        write_file(path.as_ref(), |file| file.write_all(page.as_bytes()))
    }

    /// The data of the page as JSON of the schema `snick.view/1`. It can be used in a custom page, with or
    /// without the viewer ([`viewer_script`](crate::viewer_script)). Control characters in texts from the
    /// model are escaped.
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
    /// Same as [`Model::report`].
    pub fn report_data(&self, options: &ReportOptions) -> Result<String, Error> {
        #[derive(Serialize)]
        struct Data<'m> {
            schema: &'static str,
            #[serde(flatten)]
            model: &'m Numbered<'m>,
            diff: Option<Changes<'m>>,
        }
        let (model, other) = (Numbered::new(self), options.other.map(Numbered::new));
        let diff = other.as_ref().map(|other| Changes::new(&model, other)).transpose()?;
        Ok(snick_emit::json(&Data { schema: SCHEMA, model: &model, diff }) + "\n")
    }
}

/// A model with the ids of its layers. It serialises to the report data of the model. The lists of layers and
/// sizes are generated while they are written, because they can be as long as the model.
struct Numbered<'m> {
    model: &'m Model,
    numbers: Numbers<'m>,
}

impl<'m> Numbered<'m> {
    fn new(model: &'m Model) -> Self {
        Self { model, numbers: Numbers::new(model.graph()) }
    }
}

impl Serialize for Numbered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Members<'m> {
            #[serde(flatten)]
            overview: Overview<'m>,
            graphs: layers::Graphs<'m>,
            #[serde(serialize_with = "slices::serialize")]
            slices: &'m Numbered<'m>,
            #[serde(serialize_with = "symbols::serialize")]
            symbols: &'m Numbers<'m>,
            #[serde(serialize_with = "symbols::equal")]
            equal: &'m Numbers<'m>,
            #[serde(flatten)]
            trace: trace::Trace<'m>,
        }
        let findings = self.model.findings();
        let failed = findings.iter().filter(|finding| finding.code == Code::ShapeError);
        let failed = failed.map(|finding| finding.layer.as_str()).collect();
        Members {
            overview: Overview::new(self, &findings),
            graphs: layers::Graphs { of: self, failed },
            slices: self,
            symbols: &self.numbers,
            equal: &self.numbers,
            trace: trace::Trace(&self.numbers),
        }
        .serialize(serializer)
    }
}

/// An expression in the form that the viewer reads. Its text uses the names of the symbols in its graph.
#[derive(Serialize)]
#[serde(untagged)]
enum Expr {
    Integer(i64),
    Count(u64),
    Text(Text<String>),
}

impl Expr {
    fn new(graph: &Graph, expr: &SymExpr) -> Self {
        let text = || Self::Text(Text(graph.symbols().display(expr).to_string()));
        expr.as_const().map_or_else(text, Self::integer)
    }

    /// An integer; as text if a JavaScript number cannot represent it exactly.
    fn integer(number: i64) -> Self {
        match number.unsigned_abs() {
            0..=EXACT => Self::Integer(number),
            _ => Self::Text(Text(number.to_string())),
        }
    }

    fn amount(amount: &Amount, symbols: &Symbols) -> Self {
        let text = || Self::Text(Text(amount.display(symbols).to_string()));
        amount.number().map_or_else(text, Self::Count)
    }
}

/// JavaScript numbers represent all integers up to this one.
const EXACT: u64 = 1 << 53;

/// The sizes of a value; `None` if its rank is unknown.
fn dims(graph: &Graph, fact: &Fact) -> Option<Vec<Expr>> {
    Some(fact.shape().dims()?.iter().map(|dim| Expr::new(graph, dim)).collect())
}

/// A text from a model; control characters are escaped when it is written.
struct Text<T>(T);

impl<T: AsRef<str>> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Escaped(self.0.as_ref()))
    }
}

fn texts<T: AsRef<str>, S: Serializer>(texts: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(texts.iter().map(Text))
}

/// Serialises pairs as an object and keeps the order of the keys.
fn object<K: Serialize, V: Serialize, S: Serializer>(
    members: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(members.iter().map(|(key, value)| (key, value)))
}

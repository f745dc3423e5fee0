//! Answers in JSON, and their layout.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use serde_json::ser::Formatter;
use snick::{Diagnostic, InputOrigin, Model, Symbol};
use snick_ir::Located;

/// An answer with the name of its schema, and the symbols that it mentions. `docs/src/json.md` describes the
/// members of all answers.
#[derive(Serialize)]
pub struct Answer<T> {
    /// The name of the schema, such as `snick.why/1`.
    schema: &'static str,
    #[serde(flatten)]
    content: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbols: Option<Vec<Symbol>>,
}

impl<T: Serialize> Answer<T> {
    /// An answer without a list of symbols.
    pub fn new(schema: &'static str, content: T) -> Self {
        Self { schema, content, symbols: None }
    }

    /// Adds the symbols of the model that the answer mentions.
    #[must_use]
    pub fn with_symbols(self, model: &Model) -> Self {
        self.with_symbols_in(|text| model.symbols_in(text))
    }

    /// Adds the symbols that `find` returns for the text of the answer.
    #[must_use]
    pub fn with_symbols_in(self, find: impl FnOnce(&str) -> Vec<Symbol>) -> Self {
        Self { symbols: Some(find(&line(&self.content))), ..self }
    }

    /// The text of the answer, with each object of a top-level list on its own line.
    pub fn text(&self) -> String {
        snick_emit::json_with(self, Lines::default()) + "\n"
    }
}

/// The answer of a verb that writes the model to `output`; `errors` are its inference errors.
pub fn written(schema: &'static str, output: &Path, errors: &[Located]) -> String {
    #[derive(Serialize)]
    struct OutputFile {
        /// The file or folder, as given.
        output: String,
        errors: Vec<LayerError>,
    }
    let errors = errors.iter().map(LayerError::of).collect();
    Answer::new(schema, OutputFile { output: output.display().to_string(), errors }).text()
}

/// A value in JSON on one line.
pub fn line(value: &impl Serialize) -> String {
    snick_emit::json(value) + "\n"
}

/// The error of a layer.
#[derive(Serialize)]
pub struct LayerError {
    /// The name of the layer.
    name: String,
    /// Its operation type.
    op: String,
    /// Its place in the file, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    loc: Option<String>,
    message: String,
    /// The inputs that the error is about.
    origins: Vec<Origin>,
}

impl LayerError {
    /// Converts the error of a layer.
    pub fn of(error: &Located) -> Self {
        let error = Diagnostic::from(error);
        Self {
            loc: error.loc.text(),
            message: error.message_with_inputs(),
            name: error.layer,
            op: error.op,
            origins: error.origins.into_iter().map(Origin::from).collect(),
        }
    }
}

/// An input that an error is about.
#[derive(Serialize)]
pub struct Origin {
    /// Its element type, its shape, and its elements if they are known and few.
    value: String,
    /// Omitted for a value computed by a run.
    #[serde(flatten)]
    made_by: Option<MadeBy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loc: Option<String>,
}

/// The layer that computes an input, in JSON.
#[derive(Serialize)]
struct MadeBy {
    layer: String,
    op: String,
}

impl From<InputOrigin> for Origin {
    fn from(InputOrigin { value, layer, op, loc: place, .. }: InputOrigin) -> Self {
        let made_by = (!op.is_empty()).then_some(MadeBy { layer, op });
        Self { value, made_by, loc: place.text() }
    }
}

/// A formatter that starts a new line before each object in a list, if the list is a member of the outermost
/// object.
#[derive(Default)]
struct Lines {
    /// The number of open objects and lists.
    depth: usize,
    is_element: bool,
}

impl Formatter for Lines {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.depth == 2 && std::mem::take(&mut self.is_element) {
            writer.write_all(b"\n")?;
        }
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"}")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        writer.write_all(b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.is_element = true;
        if first { Ok(()) } else { writer.write_all(b",") }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.is_element = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::Answer;

    #[test]
    fn objects_of_lists_have_lines_of_their_own() {
        #[derive(Serialize)]
        struct Item {
            name: &'static str,
            dims: Vec<i64>,
        }
        #[derive(Serialize)]
        struct Content {
            of: Item,
            items: Vec<Item>,
            mean: f64,
        }
        let item = |name| Item { name, dims: vec![2, 3] };
        let content = Content { of: item("a"), items: vec![item("b"), item("c\n")], mean: f64::NAN };
        assert_eq!(
            Answer::new("snick.test/1", content).text(),
            concat!(
                r#"{"schema":"snick.test/1","of":{"name":"a","dims":[2,3]},"items":["#,
                "\n",
                r#"{"name":"b","dims":[2,3]},"#,
                "\n",
                r#"{"name":"c\n","dims":[2,3]}],"mean":null}"#,
                "\n"
            )
        );
    }
}

//! A model and what can be done with it.

use std::path::Path;

use snick_ir::{Graph, Located};
use snick_read::Read;

use crate::{Error, inputs};

/// A model as read, and what was found wrong with it.
#[derive(Debug)]
pub struct Model {
    /// The graph; facts are unknown until [`Model::infer`].
    pub graph: Graph,
    /// Layers that could not be read as what they claim to be: they stay as opaque layers.
    pub errors: Vec<Located>,
    /// What the user should know once, as that the weights were not found.
    pub notes: Vec<String>,
}

/// Reads a model by its extension: `.xml` (OpenVINO IR, its weights in the `.bin` beside it) or `.snick` (text form).
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/slice8_01_basic/model.xml");
/// let model = snick::load(path)?;
/// assert_eq!(model.graph.parameters().count(), 1);
/// # Ok::<(), snick::Error>(())
/// ```
///
/// # Errors
/// [`Error::Read`] for a file that is unreadable or not what its name says.
pub fn load(path: impl AsRef<Path>) -> Result<Model, Error> {
    load_with(path.as_ref(), None)
}

/// As [`load`], with the weights in a file of any name.
///
/// # Errors
/// As [`load`], and where the weights cannot be read.
pub fn load_with(path: &Path, weights: Option<&Path>) -> Result<Model, Error> {
    Ok(snick_read::read_file(path, weights)?.into())
}

/// Reads the text form from memory.
///
/// ```
/// let mut model = snick::parse("snick 1\ngraph \"twice\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,3\"}
///   %y = Result-1(%x)\n}\n")?;
/// assert!(model.infer().is_empty());
/// # Ok::<(), snick::Error>(())
/// ```
///
/// # Errors
/// [`Error::Read`] with line and column.
pub fn parse(text: &str) -> Result<Model, Error> {
    Ok(snick_read::read_text(text, None, "<text>")?.into())
}

impl From<Read> for Model {
    fn from(Read { graph, errors, notes }: Read) -> Self {
        Self { graph, errors, notes }
    }
}

impl Model {
    /// Sets input shapes: `x[1,3,H=32..512],mask[1,?]`, or `[1,3]` for a single input. Inference comes after.
    ///
    /// # Errors
    /// [`Error::NoInput`], [`Error::Shape`].
    pub fn reshape(&mut self, spec: &str) -> Result<(), Error> {
        inputs::reshape(&mut self.graph, spec)
    }

    /// Infers element types, shapes and known values of every output; returns what is wrong, reading included.
    pub fn infer(&mut self) -> Vec<Located> {
        let mut errors = self.errors.clone();
        errors.extend(snick_ir::infer(&mut self.graph));
        errors
    }
}

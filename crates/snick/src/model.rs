//! A model, and the operations on it.

use std::path::Path;

use snick_ir::text::{PrintOptions, print};
use snick_ir::{Graph, Located};
use snick_pass::{Report, RewriteOptions};
use snick_read::Read;
use snick_run::Session;
use snick_tensor::Tensor;

use crate::outputs::named_outputs;
use crate::save::{SaveOptions, save};
use crate::{Error, inputs};

/// A model as read, with its errors.
#[derive(Debug)]
pub struct Model {
    /// The graph; facts are unknown until [`Model::infer`].
    pub graph: Graph,
    /// Errors of layers that could not be read; these are opaque layers of the graph.
    pub errors: Vec<Located>,
    /// Notes for the user, for example that the weights were not found.
    pub notes: Vec<String>,
}

/// Reads a model in the [`Format`](crate::Format) of its extension, its weights from the `.bin` beside it.
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/slice8_01_basic/model.xml");
/// let model = snick::load(path)?;
/// assert_eq!(model.graph.parameters().count(), 1);
/// # Ok::<(), snick::Error>(())
/// ```
///
/// # Errors
/// [`Error::Read`] for a file that is unreadable or not of the format of its extension.
pub fn load(path: impl AsRef<Path>) -> Result<Model, Error> {
    load_with(path.as_ref(), None)
}

/// As [`load`], with the weights in a file of any name.
///
/// # Errors
/// As [`load`], and if the weights cannot be read.
pub fn load_with(path: &Path, weights: Option<&Path>) -> Result<Model, Error> {
    Ok(snick_read::read_file(path, weights)?.into())
}

/// Reads the text form from memory.
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
    /// Sets input shapes: `x[1,3,H=32..512],mask[1,?]`, or `[1,3]` for a single input. Infer afterwards.
    ///
    /// # Errors
    /// [`Error::NoInput`], [`Error::Shape`].
    pub fn reshape(&mut self, spec: &str) -> Result<(), Error> {
        inputs::reshape(&mut self.graph, spec)
    }

    /// Infers element types, shapes and known values of every output; returns all errors, those of reading included.
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/slice8_01_basic/model.xml");
    /// let mut model = snick::load(path)?;
    /// model.reshape("[W]")?;
    /// assert!(model.infer().is_empty());
    /// let y = model.graph.results().next().unwrap();
    /// let shape = &model.graph.node(y).outs[0].fact.shape;
    /// println!("{}", shape.display(model.graph.symbols()));
    /// # Ok::<(), snick::Error>(())
    /// ```
    pub fn infer(&mut self) -> Vec<Located> {
        let mut errors = self.errors.clone();
        errors.extend(snick_ir::infer(&mut self.graph));
        errors
    }

    /// Brings the inferred graph into canonical form: every slice-like layer becomes `slice`, except those that the
    /// report lists with reasons.
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/slice8_01_basic/model.xml");
    /// let mut model = snick::load(path)?;
    /// model.infer();
    /// let report = model.canonicalise();
    /// assert_eq!(report.slice_like_before, 1);
    /// # Ok::<(), snick::Error>(())
    /// ```
    pub fn canonicalise(&mut self) -> Report {
        self.canonicalise_with(&RewriteOptions::new())
    }

    /// [`Model::canonicalise`] with a limit of rewrites, or a check of every rewrite.
    pub fn canonicalise_with(&mut self, options: &RewriteOptions) -> Report {
        snick_pass::canonicalise(&mut self.graph, options)
    }

    /// Runs the inferred graph on inputs by name; returns the outputs by the names of their Result layers and tensors.
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/slice8_01_basic/model.xml");
    /// let mut model = snick::load(path)?;
    /// model.infer();
    /// let x = snick_tensor::Tensor::from_vec(&[10], (0..10u8).map(f32::from).collect())?;
    /// let outputs = model.run([("data", x)])?;
    /// assert_eq!(outputs[0].1.to_i64_vec()?, [1, 2, 3, 4, 5, 6, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoInput`]; [`Error::Layer`] for the layer that failed, or an input not provided.
    pub fn run<'n>(
        &self,
        given: impl IntoIterator<Item = (&'n str, Tensor)>,
    ) -> Result<Vec<(String, Tensor)>, Error> {
        let session = Session::new(&self.graph)?;
        let inputs = inputs::by_parameter(&self.graph, given)?;
        let missing = self.graph.parameters().zip(&inputs).find(|(_, input)| input.is_none());
        if let Some((id, _)) = missing {
            return Err(inputs::not_provided(&self.graph, id).into());
        }
        let inputs: Vec<Tensor> = inputs.into_iter().flatten().collect();
        let values = session.run(&inputs, snick_run::Options::default()).complete()?;
        let named = named_outputs(&self.graph, &values);
        Ok(named.into_iter().map(|(name, value)| (name.to_string(), value.clone())).collect())
    }

    /// Writes the inferred model in the [`Format`](crate::Format) of the file extension, large constants of an OpenVINO
    /// IR or a text form in a `.bin` beside it. A DirectML description holds the slices of a canonical model.
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/slice8_01_basic/model.xml");
    /// let mut model = snick::load(path)?;
    /// model.infer();
    /// # let out = std::env::temp_dir().join(format!("snick-doctest-{}.xml", std::process::id()));
    /// model.save(&out)?;
    /// assert_eq!(snick::load(&out)?.graph, model.graph);
    /// # std::fs::remove_file(&out).and_then(|()| std::fs::remove_file(out.with_extension("bin"))).unwrap();
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Layer`] for what the format cannot express, [`Error::Target`] for an unknown extension, [`Error::Io`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.save_with(path, SaveOptions::default())
    }

    /// As [`Model::save`], with options of the formats.
    ///
    /// # Errors
    /// As [`Model::save`].
    pub fn save_with(&self, path: impl AsRef<Path>, options: SaveOptions) -> Result<(), Error> {
        save(&self.graph, path.as_ref(), options)
    }

    /// The text form: for snapshots and for reading. Weights are digests.
    pub fn to_text(&self) -> String {
        print(&self.graph, PrintOptions::default())
    }
}

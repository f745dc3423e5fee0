//! Edits of a model. Each edit leaves a model that infers, or changes nothing.

mod attributes;
mod layers;
mod names;
mod outputs;
#[cfg(test)]
mod tests;

use std::fmt::Display;

use snick_ir::{Code, Diagnostic, Graph, Located};

use crate::{Error, Model};

pub(crate) use self::names::{LayerNames, find_layer, find_value, find_values};
#[cfg(feature = "run")]
pub(crate) use self::outputs::add_outputs;
pub(crate) use self::outputs::{name_values, result_of};

/// Edits a copy of a model: see [`Model::edit`] and [`Model::editor`].
///
/// Layers are given by name, or by a tensor name of one of their outputs. Values are given as `LAYER`,
/// `LAYER:PORT` (ports count from 0), or by tensor name. Names of layers take precedence.
///
/// After each edit, the model is inferred. If this finds an error that the model did not have before the
/// first edit, the edit is undone and fails with [`Error::Edit`], which names the edit and contains the
/// error. Edits that only infer together can be grouped with [`Editor::together`].
#[derive(Clone, Debug)]
pub struct Editor {
    model: Model,
    /// The errors that the model had before the first edit: layers and codes.
    known_errors: Vec<(String, Code)>,
    /// Whether the edits belong to a group, after which the model is inferred.
    is_grouped: bool,
}

impl Model {
    /// Edits the model: all edits or none. If the closure returns an error, the model stays as it was.
    /// Otherwise the edited model is inferred, and the value of the closure is returned.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,2\"}\n  \
    /// #             %w = Const-1 f32[2,2] <1, 2, 3, 4>\n  \
    /// #             %y = MatMul-1(%x, %w) {transpose_a: false, transpose_b: false}\n  %relu = ReLU-1(%y)\n  \
    /// #             %z = Result-1(%relu)\n}\n";
    /// use snick::Tensor;
    ///
    /// let mut model = snick::parse(text)?;
    /// model.edit(|e| {
    ///     e.rename("x", "image")?;
    ///     e.set_attr("y", "transpose_b", true)?;
    ///     e.replace_constant("w", &Tensor::from_slice(&[1f32, 0., 0., 1., 1., 1.], &[3, 2])?)?;
    ///     e.remove("relu")
    /// })?;
    /// let out = model.graph().find("z").expect("layer");
    /// let shape = model.graph().node(out).outputs().next().expect("an output").shape();
    /// assert_eq!(shape.display(model.graph().symbols()).to_string(), "[N,3]");
    ///
    /// let before = model.clone();
    /// let wrong = model.edit(|e| {
    ///     e.rename("image", "photo")?;
    ///     e.set_attr("y", "transpose_b", false) // [N,2] with [3,2]
    /// });
    /// assert_eq!(wrong.unwrap_err().diagnostics()[0].layer, "y");
    /// assert_eq!(model, before);
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of the closure; usually [`Error::Edit`].
    pub fn edit<T>(&mut self, edits: impl FnOnce(&mut Editor) -> Result<T, Error>) -> Result<T, Error> {
        let mut editor = self.editor();
        let value = edits(&mut editor)?;
        *self = editor.finish();
        Ok(value)
    }

    /// An editor of a copy of the model, for edits that do not fit in one closure. [`Editor::finish`] returns
    /// the edited model.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N\"}\n  \
    /// #             %a = ReLU-1(%x)\n  %y = Result-1(%a)\n}\n";
    /// let model = snick::parse(text)?;
    /// let mut editor = model.editor();
    /// for (old, new) in [("x", "image"), ("y", "label")] {
    ///     editor.rename(old, new)?;
    /// }
    /// let edited = editor.finish();
    /// assert!(edited.graph().find("label").is_some() && model.graph().find("label").is_none());
    /// # Ok::<(), snick::Error>(())
    /// ```
    pub fn editor(&self) -> Editor {
        let mut model = self.clone();
        let errors = snick_ir::infer(model.graph_mut());
        Editor { model, known_errors: errors.iter().map(kind).collect(), is_grouped: false }
    }
}

impl Editor {
    /// The graph as edited so far, with the facts of its values.
    pub fn graph(&self) -> &Graph {
        self.model.graph()
    }

    /// The edited model.
    pub fn finish(self) -> Model {
        self.model
    }

    /// Groups edits that only infer together: the model is inferred once, after the last of them. All of them
    /// apply or none.
    ///
    /// ```
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,2\"}\n  \
    /// #             %w = Const-1 f32[2] <1, 2>\n  %y = Add-1(%x, %w) {auto_broadcast: \"numpy\"}\n  \
    /// #             %z = Result-1(%y)\n}\n";
    /// use snick::Tensor;
    ///
    /// let mut model = snick::parse(text)?;
    /// let wider = Tensor::from_slice(&[1f32, 2., 3.], &[3])?;
    /// assert!(model.edit(|e| e.replace_constant("w", &wider)).is_err()); // does not fit x[N,2]
    /// model.edit(|e| {
    ///     e.together(|e| {
    ///         e.replace_constant("w", &wider)?;
    ///         e.set_attr("x", "shape", "N,3")
    ///     })
    /// })?;
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of the closure; [`Error::Edit`] if the model does not infer.
    pub fn together<T>(&mut self, edits: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let mut group = Self { is_grouped: true, ..self.clone() };
        let value = edits(&mut group)?;
        if !self.is_grouped {
            self.check(&mut group.model).map_err(|error| failed("apply the edits", error))?;
        }
        self.model = group.model;
        Ok(value)
    }

    /// Applies an edit to a copy of the model, and keeps the copy if it infers.
    fn attempt<T>(
        &mut self,
        edit: impl Display,
        change: impl FnOnce(&mut Graph) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut changed = self.model.clone();
        let value = change(changed.graph_mut()).map_err(|error| failed(&edit, error))?;
        if !self.is_grouped {
            self.check(&mut changed).map_err(|error| failed(&edit, error))?;
        }
        self.model = changed;
        Ok(value)
    }

    /// Infers a changed model.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the errors that the model did not have before the first edit.
    fn check(&self, changed: &mut Model) -> Result<(), Error> {
        let mut known = self.known_errors.clone();
        let mut errors = snick_ir::infer(changed.graph_mut());
        errors.retain(|error| match known.iter().position(|known| *known == kind(error)) {
            Some(at) => {
                known.swap_remove(at);
                false
            }
            None => true,
        });
        match errors.is_empty() {
            true => Ok(()),
            false => Err(Error::Invalid { diagnostics: errors.into_iter().map(Diagnostic::from).collect() }),
        }
    }
}

/// What identifies an error before and after an edit. Its message may contain names of symbols, which change.
fn kind(error: &Located) -> (String, Code) {
    (error.layer.clone(), Code::from(&error.error))
}

fn failed(edit: impl Display, error: Error) -> Error {
    Error::Edit { edit: edit.to_string(), error: Box::new(error) }
}

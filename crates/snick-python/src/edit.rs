//! Edits of a model.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::PyUntypedArray;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use snick::{AttrValue, Attrs, ElementType, Error, Op};

use crate::arrays::{self, BadArray};
use crate::errors::{self, Stage};

/// Edits a copy of a model, until [`Model`](crate::model::Model) takes it.
#[pyclass(frozen, module = "snick._snick")]
pub struct Editor {
    /// The editor, and on top of it an editor for each open group of edits. Empty after the edited model was taken.
    editors: Mutex<Vec<snick::Editor>>,
    /// The number of changes of the model before the first edit.
    pub changes: u64,
}

impl Editor {
    pub fn new(editor: snick::Editor, changes: u64) -> Self {
        Self { editors: Mutex::new(vec![editor]), changes }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<snick::Editor>> {
        self.editors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The edited model, without groups of edits that are still open; `None` if it was already taken.
    pub fn take(&self) -> Option<snick::Model> {
        self.lock().drain(..).next().map(snick::Editor::finish)
    }

    fn edit<T: Send>(
        &self,
        py: Python<'_>,
        edit: impl FnOnce(&mut snick::Editor) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| self.lock().last_mut().map(edit));
        let done = done.ok_or_else(|| PyRuntimeError::new_err("the edits have ended"))?;
        done.map_err(|error| errors::exception(py, Stage::Edit, &error, None))
    }
}

#[pymethods]
impl Editor {
    /// Begins a group of edits that only infer together.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        // The editor of a group does not infer after each edit.
        let group = self.edit(py, |editor| editor.together(|group| Ok(group.clone())))?;
        self.lock().push(group);
        Ok(())
    }

    /// Ends the last group, and applies its edits if `is_kept`.
    fn end(&self, py: Python<'_>, is_kept: bool) -> PyResult<()> {
        let group = self.lock().pop();
        match group.filter(|_| is_kept) {
            Some(edited) => self.edit(py, |editor| {
                editor.together(|group| {
                    *group = edited;
                    Ok(())
                })
            }),
            None => Ok(()),
        }
    }

    fn rename(&self, py: Python<'_>, old: &str, new: &str) -> PyResult<()> {
        self.edit(py, |editor| editor.rename(old, new))
    }

    /// Sets attributes of a layer together.
    fn set(&self, py: Python<'_>, layer: &str, attributes: &Bound<'_, PyDict>) -> PyResult<()> {
        let values = values(attributes)?;
        let names: Vec<String> = values.iter().map(|(name, _)| format!("`{name}`")).collect();
        self.edit(py, |editor| {
            let mut is_each_set = false;
            let set = editor.together(|editor| {
                values.into_iter().try_for_each(|(name, value)| editor.set_attr(layer, &name, value))?;
                is_each_set = true;
                Ok(())
            });
            // The attributes contradict other layers, and the error only says that it is about some edits.
            set.map_err(|error| match error {
                Error::Edit { error, .. } if is_each_set => {
                    Error::Edit { edit: format!("set {} of `{layer}`", names.join(", ")), error }
                }
                error => error,
            })
        })
    }

    fn replace_constant(
        &self,
        py: Python<'_>,
        layer: &str,
        array: &Bound<'_, PyUntypedArray>,
    ) -> PyResult<()> {
        let old = self.lock().last().and_then(|editor| {
            let graph = editor.graph();
            let fact = graph.node(graph.find(layer)?).outputs().next()?;
            Some((fact.element_type(), fact.shape().as_static()))
        });
        // The array may hold the bits of a type that numpy lacks. The model keeps the elements, which must not change
        // when the caller changes the array.
        let same = old.and_then(|(element_type, dims)| {
            arrays::to_tensor(array, element_type, dims.as_deref(), true).ok()
        });
        let tensor = same.map_or_else(|| arrays::to_tensor(array, ElementType::Dynamic, None, true), Ok);
        let tensor = tensor.map_err(|error| match error {
            BadArray::Raised(error) => error,
            BadArray::Type(message) | BadArray::Shape(message) => {
                PyTypeError::new_err(format!("cannot replace the constant `{layer}`: {message}"))
            }
        })?;
        self.edit(py, |editor| editor.replace_constant(layer, &tensor))
    }

    fn remove(&self, py: Python<'_>, layer: &str) -> PyResult<()> {
        self.edit(py, |editor| editor.remove(layer))
    }

    /// Inserts a layer behind a value, and returns its name.
    #[pyo3(signature = (value, op, name, attributes))]
    fn insert_after(
        &self,
        py: Python<'_>,
        value: &str,
        op: &str,
        name: Option<&str>,
        attributes: &Bound<'_, PyDict>,
    ) -> PyResult<String> {
        let mut attrs = Attrs::new();
        for (name, value) in values(attributes)? {
            attrs.push(name.into(), value);
        }
        let op = Op::by_name(op, attrs);
        let op = op.map_err(|error| errors::exception(py, Stage::Edit, &error.into(), None))?;
        self.edit(py, |editor| editor.insert_after(value, name, op))
    }

    fn redirect(&self, py: Python<'_>, from: &str, to: &str) -> PyResult<()> {
        self.edit(py, |editor| editor.redirect(from, to))
    }

    fn set_outputs(&self, py: Python<'_>, outputs: Vec<String>) -> PyResult<()> {
        self.edit(py, |editor| editor.set_outputs(&outputs))
    }

    fn set_input_type(&self, py: Python<'_>, input: &str, element_type: &str) -> PyResult<()> {
        let element_type: ElementType = element_type
            .parse()
            .map_err(|_| PyTypeError::new_err(format!("no element type named `{element_type}`")))?;
        self.edit(py, |editor| editor.set_input_type(input, element_type))
    }
}

/// Attributes with their values.
fn values(attributes: &Bound<'_, PyDict>) -> PyResult<Vec<(String, AttrValue<'static>)>> {
    attributes.iter().map(|(name, value)| Ok((name.extract()?, self::value(&value)?))).collect()
}

/// An attribute from a bool, a number, a string, or a list of one of them.
fn value(value: &Bound<'_, PyAny>) -> PyResult<AttrValue<'static>> {
    // In Python, a bool is an integer.
    if value.is_instance_of::<PyBool>() {
        return Ok(AttrValue::Bool(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(AttrValue::Int(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(AttrValue::Float(value.extract()?));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(AttrValue::Text(value.extract::<String>()?.into()));
    }
    let list = value.cast::<PyList>()?;
    if let Ok(numbers) = list.extract::<Vec<i64>>() {
        return Ok(AttrValue::from(numbers));
    }
    if let Ok(numbers) = list.extract::<Vec<f64>>() {
        return Ok(AttrValue::from(numbers));
    }
    Ok(AttrValue::from(list.extract::<Vec<String>>()?))
}

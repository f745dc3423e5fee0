//! A run on inputs in memory.

use std::path::Path;

use serde::Serialize;
use snick::text::Escaped;
use snick::{Diagnostic, Error, Limits, Model};
use snick_ir::{Graph, NodeId};
use snick_tensor::{ElementType, Tensor, TensorError};

use super::DocumentError;
use crate::cli::console::Failure;
use crate::cli::inputs::{GivenInputs, check_header};
use crate::cli::json;
use crate::cli::summary::Summary;
use crate::cmd::run::{RunReport, once};
use crate::npz::{self, ArrayBytes, Header};

/// Maximum number of elements of an output to list.
const MOST_ELEMENTS: usize = 16;

/// The inputs of [`Run::new`]. Inputs without an array are random.
#[derive(Debug, Default)]
pub struct RunInputs {
    arrays: Vec<(String, Tensor)>,
    seed: u64,
}

impl RunInputs {
    /// Random inputs with this seed, like `snick run --seed`.
    pub fn new(seed: u64) -> Self {
        Self { arrays: Vec::new(), seed }
    }

    /// Takes the input with this index from the bytes of an `.npz` file, or of an `.npy` file, whose array
    /// has no name. `file` is the name of the file in messages. The array may take `memory` bytes.
    ///
    /// # Errors
    /// The file cannot be read, or does not contain the array; the array has a wrong element type or shape.
    pub fn give(
        &mut self,
        model: &Model,
        input: usize,
        (file, bytes): (&str, &[u8]),
        array: &str,
        memory: usize,
    ) -> Result<(), DocumentError> {
        let graph = model.graph();
        let missing = |what: &str| DocumentError::Other(format!("{file}: {what}"));
        let id =
            graph.parameters().nth(input).ok_or_else(|| missing("the model does not have this input"))?;
        let file = ArrayBytes { path: Path::new(file), bytes };
        let check = |header: &Header| check_header(graph, id, header);
        let tensor = file.array::<Failure>(array, memory, check)?.ok_or_else(|| missing("no such array"))?;
        self.arrays.push((graph.node(id).name().to_string(), tensor));
        Ok(())
    }
}

/// An array of a file, and the inputs for which it can be given.
#[derive(Serialize)]
struct ListedArray {
    /// The name in an `.npz` file; empty for an `.npy` file.
    name: String,
    element_type: &'static str,
    shape: Vec<usize>,
    /// The index of the input with the name of the array, or with the name of the `.npy` file.
    named: Option<usize>,
    /// The indices of the inputs that accept the element type and shape.
    fits: Vec<usize>,
}

/// The arrays in the bytes of an `.npz` or `.npy` file as JSON: the name, element type and shape of each,
/// and the inputs for which it can be given.
///
/// # Errors
/// The file cannot be read.
pub fn arrays_json(model: &Model, file: &str, bytes: &[u8]) -> Result<String, DocumentError> {
    let graph = model.graph();
    let path = Path::new(file);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let inputs: Vec<NodeId> = graph.parameters().collect();
    let listed = |(name, header): (String, Header)| {
        let wanted = if name.is_empty() { &*stem } else { &name };
        let fits = |(at, &id): (usize, &NodeId)| check_header(graph, id, &header).is_ok().then_some(at);
        ListedArray {
            element_type: header.element_type.name(),
            named: inputs.iter().position(|&id| has_name(graph, id, wanted)),
            fits: inputs.iter().enumerate().filter_map(fits).collect(),
            shape: header.dims,
            name,
        }
    };
    let headers = ArrayBytes { path, bytes }.headers().map_err(Failure::from)?;
    Ok(json::line(&headers.into_iter().map(listed).collect::<Vec<_>>()))
}

/// Whether an input has this name, as a layer or as a tensor.
fn has_name(graph: &Graph, id: NodeId, name: &str) -> bool {
    let node = graph.node(id);
    node.name() == name || node.outs().iter().flat_map(|out| out.names()).any(|tensor| tensor == name)
}

/// A completed run.
pub struct Run {
    inputs: Vec<InputTensor>,
    report: RunReport,
}

#[derive(Serialize)]
struct InputTensor {
    name: String,
    element_type: &'static str,
    shape: Vec<usize>,
    is_random: bool,
}

#[derive(Serialize)]
struct OutputTensor<'r> {
    name: String,
    element_type: &'static str,
    shape: &'r [usize],
    #[serde(flatten)]
    summary: Summary<'r>,
    /// The first elements in row-major order.
    first: Vec<String>,
}

impl Run {
    /// Runs an inferred model like `snick run`. Dynamic sizes of random inputs are the smallest sizes with
    /// which the model runs.
    ///
    /// ```
    /// use snick_cli::documents::{Run, RunInputs};
    ///
    /// # let text = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,4\"}\n  %y = Result-1(%x)\n}\n";
    /// let mut model = snick::parse(text)?;
    /// model.infer().into_result()?;
    /// let run = Run::new(&model, &RunInputs::new(7), snick::Limits::new()).unwrap();
    /// assert!(run.json().contains(r#""name":"y","element_type":"f32","shape":[1,4]"#));
    /// # Ok::<(), snick::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`DocumentError::Invalid`] for a layer that fails, including layers that exceed the limit of memory or
    /// fuel.
    pub fn new(model: &Model, inputs: &RunInputs, limits: Limits) -> Result<Self, DocumentError> {
        let graph = model.graph();
        let given = GivenInputs::single_step(graph, &inputs.arrays, inputs.seed)?;
        let (tensors, report) = once(model, &given, limits)?;
        if !report.errors.is_empty() {
            let diagnostics = report.errors.iter().map(Diagnostic::from).collect();
            return Err(Error::Invalid { diagnostics }.into());
        }
        let inputs = graph.parameters().zip(given.are_random()).zip(&tensors);
        let inputs = inputs.map(|((id, is_random), tensor)| InputTensor {
            name: Escaped(graph.node(id).name()).to_string(),
            element_type: tensor.element_type().name(),
            shape: tensor.dims().to_vec(),
            is_random,
        });
        Ok(Self { inputs: inputs.collect(), report })
    }

    /// The inputs and outputs as JSON: the name, element type and shape of each, and the range and first
    /// elements of each output.
    pub fn json(&self) -> String {
        #[derive(Serialize)]
        struct Answer<'r> {
            inputs: &'r [InputTensor],
            outputs: Vec<OutputTensor<'r>>,
        }
        let outputs = self.report.shown().map(|(name, value)| OutputTensor {
            name: Escaped(name).to_string(),
            element_type: value.element_type().name(),
            shape: value.dims(),
            summary: Summary::of(value),
            first: first_elements(value).unwrap_or_default(),
        });
        json::line(&Answer { inputs: &self.inputs, outputs: outputs.collect() })
    }

    /// The content of the `.npz` file that `snick run -o` would write.
    ///
    /// # Errors
    /// Two outputs have the same name.
    pub fn npz(&self) -> Result<Vec<u8>, DocumentError> {
        let bytes = npz::npz_bytes(self.report.arrays());
        bytes.map_err(|error| DocumentError::Other(error.to_string()))
    }

    /// The content of an `.npy` file with one output. `at` is its index in [`Run::json`].
    pub fn npy(&self, at: usize) -> Option<Vec<u8>> {
        self.report.shown().nth(at).map(|(_, value)| npz::npy_bytes(value))
    }
}

/// The first elements of a tensor as text.
fn first_elements(tensor: &Tensor) -> Result<Vec<String>, TensorError> {
    let mut start = tensor.clone();
    for axis in 0..tensor.dims().len() {
        let inner: usize = start.dims().iter().skip(axis + 1).product();
        let size = start.dims().get(axis).copied().unwrap_or_default();
        start = start.slice(axis, 0, size.min(MOST_ELEMENTS.div_ceil(inner.max(1))), 1)?;
    }
    let texts: Vec<String> = match (start.as_strings(), start.to_i64_vec()) {
        (Ok(texts), _) => texts.iter().map(|text| Escaped(text).to_string()).collect(),
        (_, Ok(integers)) if !start.element_type().is_float() => {
            integers.iter().map(i64::to_string).collect()
        }
        _ => match start.element_type() {
            ElementType::F64 => start.to_f64_vec()?.iter().map(f64::to_string).collect(),
            _ => start.to_f32_vec()?.iter().map(f32::to_string).collect(),
        },
    };
    Ok(texts.into_iter().take(MOST_ELEMENTS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "snick 1\ngraph \"g\" {\n  %x = Parameter-1 {element_type: f32, shape: \"N,2\"}\n  \
                         %y = Parameter-1 {element_type: f32, shape: \"N,2\"}\n  \
                         %s = Add-1(%x, %y) {auto_broadcast: \"numpy\"}\n  %z = Result-1(%s)\n}\n";

    fn model() -> Model {
        let mut model = snick::parse(MODEL).unwrap();
        model.infer().into_result().unwrap();
        model
    }

    #[test]
    fn inputs_come_from_files_and_outputs_can_be_given_again() {
        let model = model();
        let ones = Tensor::from_slice(&[1f32; 6], &[3, 2]).unwrap();
        let file = npz::npz_bytes([("y", &ones), ("x", &ones)]).unwrap();
        let listed = arrays_json(&model, "in.npz", &file).unwrap();
        assert!(
            listed.starts_with(r#"[{"name":"y","element_type":"f32","shape":[3,2],"named":1,"fits":[0,1]}"#)
        );
        let mut inputs = RunInputs::new(0);
        for (input, array) in [(0, "x"), (1, "y")] {
            inputs.give(&model, input, ("in.npz", &file), array, 100).unwrap();
        }
        let run = Run::new(&model, &inputs, Limits::new()).unwrap();
        let json = run.json();
        assert!(json.contains(r#""first":["2","2","2","2","2","2"]"#), "{json}");
        assert!(!json.contains(r#""is_random":true"#), "{json}");
        let array = run.npy(0).unwrap();
        assert!(run.npy(1).is_none());
        assert_eq!(
            ArrayBytes { path: Path::new("z.npz"), bytes: &run.npz().unwrap() }.headers().unwrap().len(),
            1
        );
        let mut again = RunInputs::new(3);
        again.give(&model, 1, ("x.npy", &array), "", 100).unwrap();
        // The random input has the size of the given one.
        let json = Run::new(&model, &again, Limits::new()).unwrap().json();
        assert!(json.contains(r#""name":"x","element_type":"f32","shape":[3,2],"is_random":true"#), "{json}");
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        let model = model();
        let wide = npz::npy_bytes(&Tensor::from_slice(&[1f32; 3], &[1, 3]).unwrap());
        let listed = arrays_json(&model, "y.npy", &wide).unwrap();
        assert!(
            listed.contains(r#""name":"","element_type":"f32","shape":[1,3],"named":1,"fits":[]"#),
            "{listed}"
        );
        let mut inputs = RunInputs::new(0);
        assert!(inputs.give(&model, 1, ("y.npy", &wide), "", 100).is_err());
        assert!(inputs.give(&model, 2, ("y.npy", &wide), "", 100).is_err());
        assert!(arrays_json(&model, "y.npy", b"PK").is_err());
        let fits = npz::npz_bytes([("x", &Tensor::from_slice(&[1f32; 2], &[1, 2]).unwrap())]).unwrap();
        assert!(inputs.give(&model, 0, ("x.npz", &fits), "z", 100).is_err());
        assert!(matches!(inputs.give(&model, 0, ("x.npz", &fits), "x", 7), Err(DocumentError::Limit(_))));
    }

    #[test]
    fn only_the_first_elements_are_listed() {
        let many = Tensor::from_vec(&[3, 5, 7], (0..105i64).collect()).unwrap();
        let expected: Vec<String> = (0..16).map(|n| n.to_string()).collect();
        assert_eq!(first_elements(&many).unwrap(), expected);
        assert_eq!(first_elements(&Tensor::scalar(0.1f32)).unwrap(), ["0.1"]);
        assert!(first_elements(&Tensor::from_slice(&[0u8; 0], &[4, 0]).unwrap()).unwrap().is_empty());
    }
}

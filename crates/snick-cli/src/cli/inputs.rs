//! The model inputs that are given on the command line, for one or several steps. Each step is one run of the
//! model; variables keep their values between the steps.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use snick::{InputSpec, by_parameter, draw_inputs, find_input};
use snick_ir::{Graph, NodeId, Op, OpError};
use snick_tensor::{Listed, Tensor};

use super::console::Failure;
use super::help::INPUTS;
use super::texts;
use crate::npz::{self, Header, UnreadableFile};

/// Options that specify inputs.
#[derive(Args, Clone, Debug, Default)]
pub struct InputOptions {
    /// One input from an .npy file; NAME is a layer name, a tensor name or the index of the input
    #[arg(long = "input", value_name = "NAME=F.npy", help_heading = INPUTS)]
    input: Vec<String>,
    /// Inputs from an .npz file; repeat to run several steps, which share the values of variables
    #[arg(long = "inputs", value_name = "F.npz", help_heading = INPUTS)]
    inputs: Vec<PathBuf>,
    /// Text for the string input; repeat for a batch. With several string inputs, NAME=TEXT
    #[arg(long = "text", value_name = "TEXT", help_heading = INPUTS)]
    text: Vec<String>,
    /// Ignore arrays in --inputs files that are not inputs of the model
    #[arg(long, help_heading = INPUTS)]
    ignore_extra: bool,
    /// Seed of the random inputs that replace missing ones
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = INPUTS)]
    seed: u64,
}

impl InputOptions {
    /// The files that these options refer to.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let single =
            self.input.iter().filter_map(|item| item.rsplit_once('=').map(|(_, path)| Path::new(path)));
        self.inputs.iter().map(PathBuf::as_path).chain(single)
    }

    /// The names given with `--input`, and the names of the arrays in the `--inputs` files. Skips files that
    /// cannot be read.
    pub fn names(&self) -> HashSet<String> {
        let single = self.input.iter().filter_map(|item| Some(item.rsplit_once('=')?.0.to_string()));
        let mut names: HashSet<String> = single.collect();
        for path in &self.inputs {
            let is_wanted = |name: &str| {
                names.insert(name.to_string());
                Ok(false)
            };
            // `InputOptions::read` reports the error.
            let _ = npz::read::<UnreadableFile>(path, 0, is_wanted, |_, _| Ok(()));
        }
        names
    }

    /// The number of steps.
    pub fn steps(&self) -> usize {
        self.inputs.len().max(1)
    }

    /// Whether `--text` is given.
    pub fn has_texts(&self) -> bool {
        !self.text.is_empty()
    }

    /// Reads the files. Each `.npy` array, and all arrays of an `.npz` file together, may take at most
    /// `memory` bytes.
    ///
    /// # Errors
    /// A file cannot be read, or an array is not an input or has a wrong element type or shape.
    pub fn read(&self, graph: &Graph, memory: usize) -> Result<GivenInputs, Failure> {
        let mut single = Vec::new();
        for item in &self.input {
            let Some((name, path)) = item.rsplit_once('=') else {
                return Err(Failure::usage(format!("--input {item}: expected NAME=FILE.npy")));
            };
            let array = npz::read_npy(Path::new(path), memory, |header| match find_input(graph, name) {
                Ok(id) => check_header(graph, id, header),
                Err(error) => Err(error.into()),
            })?;
            single.push((name.to_string(), array));
        }
        single.extend(texts::given(graph, &self.text)?);
        let mut steps = Vec::new();
        for path in self.inputs.iter().map(Some).chain([None]).take(self.steps()) {
            let mut arrays = match path {
                Some(path) => self.of_model(graph, path, memory)?,
                None => Vec::new(),
            };
            arrays.extend(single.iter().cloned());
            // If several arrays are given for an input, the last one counts, so --input takes precedence over
            // --inputs.
            let inputs: Vec<_> = arrays.iter().map(|(name, _)| find_input(graph, name).ok()).collect();
            let mut places = 0..inputs.len();
            arrays.retain(|_| {
                places.next().is_none_or(|i| inputs[i].is_none() || !inputs[i + 1..].contains(&inputs[i]))
            });
            steps.push(in_order(graph, &arrays)?);
        }
        Ok(GivenInputs { steps, seed: self.seed })
    }

    /// Reads the arrays of a file. All of them must be inputs of the model, unless `--ignore-extra` is given.
    fn of_model(&self, graph: &Graph, path: &Path, memory: usize) -> Result<Vec<(String, Tensor)>, Failure> {
        let is_input = |name: &str| match find_input(graph, name) {
            Ok(_) => Ok(true),
            Err(_) if self.ignore_extra => Ok(false),
            Err(error) => {
                let message = "--ignore-extra ignores such arrays";
                Err(Failure::usage(format!("{}: {error} ({message})", path.display())))
            }
        };
        npz::read(path, memory, is_input, |name, header| {
            check_header(graph, find_input(graph, name)?, header)
        })
    }
}

/// Checks the element type and shape in the header of an array against the declaration of the input.
pub fn check_header(graph: &Graph, id: NodeId, header: &Header) -> Result<(), Failure> {
    let node = graph.node(id);
    let (Op::Parameter(parameter), Some(out)) = (node.op(), node.outs().first()) else { return Ok(()) };
    let (stored, expected) = (header.element_type, parameter.element_type);
    let declared = out.fact.shape.as_static();
    let Some(dims) = npz::fitted_dims(stored, &header.dims, expected, declared.as_deref()) else {
        let error = OpError::element_type("the provided tensor", stored, expected.name());
        return Err(Failure::usage(graph.located(id, error)));
    };
    let has_dims = out.fact.shape.dims().is_none_or(|expected| {
        let fits =
            |(dim, &size)| i64::try_from(size).is_ok_and(|n| graph.symbols().interval(dim).contains(n));
        expected.len() == dims.len() && expected.iter().zip(dims).all(fits)
    });
    match has_dims {
        true => Ok(()),
        false => {
            let expected = format!("{expected}{}", out.fact.shape.display_intervals(graph.symbols()));
            let got = format!("{stored}{}", Listed(dims));
            Err(Failure::usage(graph.located(id, OpError::mismatch("the input", got, expected))))
        }
    }
}

/// The inputs given on the command line: for each step, one per Parameter. Inputs that are not given are
/// random.
pub struct GivenInputs {
    steps: Vec<Vec<Option<Tensor>>>,
    seed: u64,
}

impl GivenInputs {
    /// Named inputs for a single step.
    ///
    /// # Errors
    /// An array is not an input, has a wrong element type, or is given twice for one input.
    pub fn single_step(graph: &Graph, arrays: &[(String, Tensor)], seed: u64) -> Result<Self, Failure> {
        Ok(Self { steps: vec![in_order(graph, arrays)?], seed })
    }

    /// Whether an input of the first step is random, in the order of the Parameters.
    pub fn are_random(&self) -> impl Iterator<Item = bool> {
        self.steps.first().into_iter().flatten().map(Option::is_none)
    }

    /// The inputs of each step, completed with random inputs. Every `round` draws different ones from the
    /// same seed.
    ///
    /// # Errors
    /// An input would be too large.
    pub fn complete(
        &self,
        graph: &Graph,
        spec: impl Into<InputSpec>,
        round: u64,
    ) -> Result<Vec<Vec<Tensor>>, Failure> {
        let spec = spec.into();
        let of_step = |(k, given): (usize, &Vec<Option<Tensor>>)| {
            let seed = self.seed.wrapping_add((round << 32).wrapping_add(k as u64).wrapping_mul(0x9e37_79b9));
            draw_inputs(graph, given.clone(), seed, spec).map_err(Failure::layer)
        };
        self.steps.iter().enumerate().map(of_step).collect()
    }

    /// Whether all inputs of every step are given.
    pub fn is_complete(&self) -> bool {
        self.steps.iter().flatten().all(Option::is_some)
    }

    /// A note on each random input of the first step.
    pub fn drawn(&self, graph: &Graph, inputs: &[Vec<Tensor>]) -> Vec<String> {
        let Some(inputs) = inputs.first() else { return Vec::new() };
        let drawn = graph.parameters().zip(self.are_random()).zip(inputs);
        let drawn = drawn.filter(|((_, is_random), _)| *is_random);
        let note = |((id, _), tensor): ((NodeId, _), &Tensor)| {
            let (name, element_type) = (graph.node(id).name(), tensor.element_type());
            let dims = Listed(tensor.dims());
            format!("input {name} is random: {element_type}{dims}, seed {}", self.seed)
        };
        drawn.map(note).collect()
    }
}

/// The arrays by Parameter.
fn in_order(graph: &Graph, arrays: &[(String, Tensor)]) -> Result<Vec<Option<Tensor>>, Failure> {
    let fitted = arrays.iter().map(|(name, array)| (name.as_str(), fit_input(graph, name, array)));
    by_parameter(graph, fitted).map_err(Failure::usage)
}

/// Reinterprets an array as the element type of the input if numpy does not have this type.
fn fit_input(graph: &Graph, name: &str, array: &Tensor) -> Tensor {
    let node = find_input(graph, name).ok().map(|id| graph.node(id));
    let fitted = node.and_then(|node| {
        let Op::Parameter(parameter) = node.op() else { return None };
        let dims = node.outs().first().and_then(|out| out.fact.shape.as_static());
        npz::fit(array.clone(), parameter.element_type, dims.as_deref())
    });
    fitted.unwrap_or_else(|| array.clone())
}

//! The inputs that the command line gives a model, step by step.

use std::path::{Path, PathBuf};

use clap::Args;
use snick::{InputSpec, by_parameter, draw_inputs, find_input, output_names};
use snick_ir::{Graph, Op};
use snick_tensor::Tensor;

use super::console::{Console, Failure};
use crate::npz;

/// The options that give inputs.
#[derive(Args, Clone, Debug)]
pub struct InputOptions {
    /// One input from an .npy file; NAME is a layer name, a tensor name or the index of the input
    #[arg(long = "input", value_name = "NAME=F.npy")]
    input: Vec<String>,
    /// Inputs from an .npz file; repeat for several steps, between which variables are kept
    #[arg(long = "inputs", value_name = "F.npz")]
    inputs: Vec<PathBuf>,
    /// Seed of the random inputs that replace those not provided
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

impl InputOptions {
    /// The inputs of each step, by Parameter; another `round` draws others from the same seed.
    pub fn steps(
        &self,
        graph: &Graph,
        draw: impl Into<InputSpec>,
        round: u64,
        console: &Console,
    ) -> Result<Vec<Vec<Tensor>>, Failure> {
        let draw = draw.into();
        let mut single = Vec::new();
        for item in &self.input {
            let Some((name, path)) = item.rsplit_once('=') else {
                return Err(Failure::usage(format!("--input {item}: expected NAME=FILE.npy")));
            };
            single.push((name.to_string(), npz::read_npy(Path::new(path))?));
        }
        let mut steps = Vec::new();
        for (k, path) in self.inputs.iter().map(Some).chain([None]).take(self.inputs.len().max(1)).enumerate()
        {
            let mut given = match path {
                Some(path) => input_arrays(graph, npz::read(path)?, path, console),
                None => Vec::new(),
            };
            given.extend(single.iter().cloned());
            let fitted = given.iter().map(|(name, array)| (name.as_str(), fit_input(graph, name, array)));
            let given = by_parameter(graph, fitted)?;
            let seed = self.seed.wrapping_add((round << 32).wrapping_add(k as u64).wrapping_mul(0x9e37_79b9));
            steps.push(draw_inputs(graph, given, seed, draw).map_err(Failure::layer)?);
        }
        Ok(steps)
    }
}

/// The array in the element type of the input, where that is one that numpy lacks.
fn fit_input(graph: &Graph, name: &str, array: &Tensor) -> Tensor {
    let node = find_input(graph, name).ok().map(|id| graph.node(id));
    let fitted = node.and_then(|node| {
        let Op::Parameter(parameter) = node.op() else { return None };
        let dims = node.outs().first().and_then(|out| out.fact.shape.as_static());
        npz::fit(array.clone(), parameter.element_type, dims.as_deref())
    });
    fitted.unwrap_or_else(|| array.clone())
}

/// The arrays of a file that are inputs of the model. Others are noted, except recorded outputs.
fn input_arrays(
    graph: &Graph,
    arrays: Vec<(String, Tensor)>,
    path: &Path,
    console: &Console,
) -> Vec<(String, Tensor)> {
    let mut arrays = arrays;
    arrays.retain(|(name, _)| {
        let found = find_input(graph, name);
        let is_output = || graph.results().any(|id| output_names(graph, id).contains(&name.as_str()));
        if let Err(error) = &found
            && !is_output()
        {
            console.note(&format!("{}: {error}", path.display()));
        }
        found.is_ok()
    });
    arrays
}

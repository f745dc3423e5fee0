//! The inputs that a command line gives a model, step by step.

use std::path::{Path, PathBuf};

use clap::Args;
use snick::{InputSpec, by_parameter, draw_inputs, find_input, npz, output_names};
use snick_ir::Graph;
use snick_tensor::Tensor;

use super::console::{Console, Failure};

/// Where inputs come from.
#[derive(Args, Clone, Debug)]
pub struct FeedOptions {
    /// One input from an .npy file; the name is a layer name, tensor name or number
    #[arg(long = "input", value_name = "NAME=F.npy")]
    input: Vec<String>,
    /// Inputs from an .npz file; repeat it for several steps
    #[arg(long = "inputs", value_name = "F.npz")]
    inputs: Vec<PathBuf>,
    /// Inputs that are not given are drawn from this seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

impl FeedOptions {
    /// One list of tensors a step, by Parameter; `round` makes further draws from the same seed.
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
                return Err(Failure::usage(format!("--input {item}: expected NAME=F.npy")));
            };
            single.push((name.to_string(), npz::read_npy(Path::new(path))?));
        }
        let mut steps = Vec::new();
        for (k, path) in self.inputs.iter().map(Some).chain([None]).take(self.inputs.len().max(1)).enumerate()
        {
            let mut given = match path {
                Some(path) => known(graph, npz::read(path)?, path, console),
                None => Vec::new(),
            };
            given.extend(single.iter().cloned());
            let given =
                by_parameter(graph, given.iter().map(|(name, tensor)| (name.as_str(), tensor.clone())))?;
            let seed = self.seed.wrapping_add((round << 32).wrapping_add(k as u64).wrapping_mul(0x9e37_79b9));
            steps.push(draw_inputs(graph, given, seed, draw).map_err(Failure::Layer)?);
        }
        Ok(steps)
    }
}

/// The arrays of a file that are inputs of the model. Of others, but for recorded outputs, the user is told.
fn known(
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

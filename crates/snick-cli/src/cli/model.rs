//! The model named on the command line.

use std::io::Read as _;

use snick::{Format, LoadOptions, Model};

use super::console::{Console, Failure};
use super::options::ModelOptions;

/// Reads the model, prints its notes and sets the shapes of `--shape`.
pub fn load(options: &ModelOptions, console: &Console) -> Result<Model, Failure> {
    let mut model = read(options)?;
    model.notes().iter().for_each(|note| console.note(note));
    reshape(&mut model, options)?;
    Ok(model)
}

/// Reads a model; `-` is text form on standard input.
pub fn read(options: &ModelOptions) -> Result<Model, Failure> {
    let mut load = LoadOptions::new();
    if let Some(weights) = &options.weights {
        load = load.weights(weights);
    }
    if let Some(ops) = &options.ops {
        load = load.ops(&snick::load_ops(ops)?);
    }
    if options.model.as_os_str() != "-" {
        return Ok(snick::load_with(&options.model, &load)?);
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("standard input: {error}")))?;
    Ok(snick::load_bytes(Format::Text, text, None, &load)?)
}

/// Sets the input shapes of `--shape`.
pub fn reshape(model: &mut Model, options: &ModelOptions) -> Result<(), Failure> {
    Ok(model.reshape(&options.shapes.join(","))?)
}

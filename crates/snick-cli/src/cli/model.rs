//! The model named on the command line.

use std::io::Read as _;
use std::path::Path;

use snick::{LoadOptions, Model};

use super::console::{Console, Failure};
use super::options::ModelOptions;

/// Reads the model, prints its notes and sets the shapes of `--shape`.
pub fn load(options: &ModelOptions, console: &Console) -> Result<Model, Failure> {
    let mut model = read(&options.model, options.weights.as_deref())?;
    model.notes().iter().for_each(|note| console.note(note));
    reshape(&mut model, options)?;
    Ok(model)
}

/// Reads a model; `-` is text form on standard input.
pub fn read(path: &Path, weights: Option<&Path>) -> Result<Model, Failure> {
    if path.as_os_str() != "-" {
        let options = weights.map_or_else(LoadOptions::new, |path| LoadOptions::new().weights(path));
        return Ok(snick::load_with(path, &options)?);
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("standard input: {error}")))?;
    Ok(snick::parse(&text)?)
}

/// Sets the input shapes of `--shape`.
pub fn reshape(model: &mut Model, options: &ModelOptions) -> Result<(), Failure> {
    Ok(options.shapes.iter().try_for_each(|spec| model.reshape(spec))?)
}

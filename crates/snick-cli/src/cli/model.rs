//! Reads, infers and rewrites the model named on the command line.

use std::io::Read as _;

use snick::{Format, InferOptions, Inference, LoadOptions, Model, Report, RewriteOptions};
use snick_ir::Located;

use super::console::{Console, Failure};
use super::options::ModelOptions;

/// Reads the model, prints its notes and applies `--shape`.
pub fn load(options: &ModelOptions, console: &Console) -> Result<Model, Failure> {
    load_with_optional_inputs(options, console, |_| false)
}

/// Like [`load`], but an input with a default value stays an input if `is_kept` returns true for its name.
/// [`load`] replaces all such inputs by constants.
pub fn load_with_optional_inputs(
    options: &ModelOptions,
    console: &Console,
    is_kept: impl Fn(&str) -> bool,
) -> Result<Model, Failure> {
    let mut model = read(options, console, &[])?;
    let kept: Vec<&str> =
        model.optional_inputs().iter().map(String::as_str).filter(|name| is_kept(name)).collect();
    if !kept.is_empty() {
        model = read(options, console, &kept)?;
    }
    model.notes().iter().for_each(|note| console.note(note));
    reshape(&mut model, options)?;
    Ok(model)
}

/// Reads a model; `-` means text form on standard input. `optional_inputs` names the inputs with a default
/// value that stay inputs.
pub fn read(options: &ModelOptions, console: &Console, optional_inputs: &[&str]) -> Result<Model, Failure> {
    let mut load =
        LoadOptions::new().limits(console.limits()).optional_inputs(optional_inputs.iter().copied());
    if console.deadline().is_set() {
        let deadline = console.deadline().clone();
        load = load.progress(move |progress| deadline.advance(progress.layer));
    }
    if let Some(weights) = &options.weights {
        load = load.weights(weights);
    }
    if let Some(ops) = &options.ops {
        load = load.ops(&snick::load_ops(ops)?);
    }
    if options.model.as_os_str() != "-" {
        return in_time(snick::load_with(&options.model, &load), console);
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("standard input: {error}")))?;
    in_time(snick::load_bytes(Format::Text, text, None, &load), console)
}

/// Infers the model and returns the errors of layers.
pub fn infer(model: &mut Model, console: &Console) -> Result<Vec<Located>, Failure> {
    let mut options = InferOptions::new().limits(console.limits());
    if console.deadline().is_set() {
        let deadline = console.deadline().clone();
        options = options.progress(move |progress| deadline.advance(progress.layer));
    }
    in_time(model.infer_with(&options), console).map(Inference::into_located)
}

/// Options for rewriting a model within the limits and the deadline.
pub fn rewriting(console: &Console) -> RewriteOptions {
    let options = RewriteOptions::new().limits(console.limits());
    if !console.deadline().is_set() {
        return options;
    }
    let deadline = console.deadline().clone();
    options.progress(move |progress| deadline.advance(progress.layer))
}

/// Returns a report of rewriting, or the error if a limit stopped the rewriting.
pub fn complete(mut report: Report, console: &Console) -> Result<Report, Failure> {
    console.deadline().check()?;
    match report.stopped.take() {
        Some(stopped) => Err(snick::Error::from(stopped).into()),
        None => Ok(report),
    }
}

/// Replaces [`snick::Error::Cancelled`] by the error of the deadline.
pub fn in_time<T>(result: Result<T, snick::Error>, console: &Console) -> Result<T, Failure> {
    match result {
        Err(snick::Error::Cancelled { .. }) => {
            console.deadline().check()?;
            Err(Failure::usage("cancelled"))
        }
        result => Ok(result?),
    }
}

/// Applies `--shape` to the inputs.
pub fn reshape(model: &mut Model, options: &ModelOptions) -> Result<(), Failure> {
    Ok(model.reshape(&options.shapes.join(","))?)
}

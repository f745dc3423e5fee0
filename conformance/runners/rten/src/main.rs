//! Answers one question about an `.onnx` file with RTen, as JSON: `rten-case infer FILE` prints the inferred dims of
//! the output, as texts or `null`; `rten-case run FILE` prints its dims and elements. The inputs of a run are lines on
//! standard input: a name, `f32` or `i32`, the dims and the elements, separated by spaces; lists by commas.

use std::error::Error;
use std::io::stdin;
use std::str::FromStr;

use rten::{Dimension, Model, NodeId, Value, ValueOrView};
use rten_tensor::Tensor;
use rten_tensor::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [command, path] = &arguments[..] else { return Err("usage: rten-case infer|run FILE".into()) };
    let model = Model::load_file(path)?;
    let output = model.output_ids()[0];
    if command == "infer" {
        println!("{}", infer(&model, output));
        return Ok(());
    }
    let inputs = stdin().lines().map(|line| input(&model, &line?)).collect::<Result<Vec<_>, _>>()?;
    let found = model.run(inputs, &[output], None)?.remove(0);
    let Value::FloatTensor(found) = found else { return Err("the output is not f32".into()) };
    let elements: Vec<f32> = found.iter().copied().collect();
    println!("[{:?},{elements:?}]", found.shape().to_vec());
    Ok(())
}

fn infer(model: &Model, output: NodeId) -> String {
    let Some(dims) = model.node_info(output).and_then(|info| info.shape()) else { return "null".into() };
    let texts = dims.iter().map(|dim| match dim {
        Dimension::Fixed(size) => size.to_string(),
        Dimension::Symbolic(text) => text.clone(),
    });
    format!("{:?}", texts.collect::<Vec<_>>())
}

fn input(model: &Model, line: &str) -> Result<(NodeId, ValueOrView<'static>), Box<dyn Error>> {
    let parts: Vec<&str> = line.split(' ').collect();
    let [name, element_type, dims, elements] = parts[..] else {
        return Err("an input has four parts".into());
    };
    let dims = list::<usize>(dims)?;
    let value = match element_type {
        "f32" => Value::from(Tensor::from_data(&dims, list::<f32>(elements)?)),
        _ => Value::from(Tensor::from_data(&dims, list::<i32>(elements)?)),
    };
    Ok((model.node_id(name)?, value.into()))
}

fn list<T: FromStr>(text: &str) -> Result<Vec<T>, T::Err> {
    text.split(',').filter(|item| !item.is_empty()).map(str::parse).collect()
}

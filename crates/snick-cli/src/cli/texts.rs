//! Text inputs from the command line.

use snick::find_input;
use snick_ir::{Graph, NodeId, Op};
use snick_tensor::{ElementType, Tensor};

use super::console::Failure;

/// The inputs given by `--text`, by name. If the model has only one string input, the texts are its batch;
/// otherwise, each text has the form `NAME=TEXT`.
///
/// # Errors
/// The model has no such input, or its shape does not allow this number of texts.
pub fn given(graph: &Graph, options: &[String]) -> Result<Vec<(String, Tensor)>, Failure> {
    if options.is_empty() {
        return Ok(Vec::new());
    }
    let takes_texts = |id: NodeId| match graph.node(id).op() {
        Op::Parameter(parameter) => parameter.element_type == ElementType::String,
        _ => false,
    };
    let inputs: Vec<NodeId> = graph.parameters().filter(|&id| takes_texts(id)).collect();
    let mut texts: Vec<(NodeId, Vec<String>)> = inputs.iter().map(|&id| (id, Vec::new())).collect();
    for option in options {
        match &mut texts[..] {
            [] => return Err(Failure::usage("--text: the model has no string input")),
            [(_, batch)] => batch.push(option.clone()),
            _ => {
                let named = option.split_once('=').and_then(|(name, text)| {
                    let id = find_input(graph, name).ok()?;
                    Some((texts.iter_mut().find(|(of, _)| *of == id)?, text))
                });
                let Some(((_, batch), text)) = named else {
                    let names: Vec<&str> = inputs.iter().map(|&id| graph.node(id).name()).collect();
                    let names = names.join(", ");
                    return Err(Failure::usage(format!(
                        "--text {option}: the model has several string inputs; expected NAME=TEXT, where NAME is one of {names}"
                    )));
                };
                batch.push(text.to_string());
            }
        }
    }
    let given = texts.into_iter().filter(|(_, batch)| !batch.is_empty());
    given.map(|(id, batch)| Ok((graph.node(id).name().to_string(), tensor(graph, id, batch)?))).collect()
}

/// Texts as a tensor with the declared rank of the input.
fn tensor(graph: &Graph, id: NodeId, batch: Vec<String>) -> Result<Tensor, Failure> {
    let node = graph.node(id);
    let shape = node.outs().first().map(|out| &out.fact.shape);
    let dims = match shape.and_then(|shape| shape.rank()) {
        Some(0) => Vec::new(),
        None | Some(1) => vec![batch.len()],
        Some(rank) => {
            let message = format!("--text: the input {} has rank {rank}, expected 0 or 1", node.name());
            return Err(Failure::usage(message));
        }
    };
    let dim = shape.and_then(|shape| shape.dims()?.first().map(|dim| graph.symbols().interval(dim)));
    let fits = match dims.is_empty() {
        true => batch.len() == 1,
        false => dim.is_none_or(|dim| dim.contains(batch.len() as i64)),
    };
    if !fits {
        let message = format!("--text: a batch of {} does not fit the input {}", batch.len(), node.name());
        return Err(Failure::usage(message));
    }
    Tensor::strings(&dims, batch).map_err(Failure::usage)
}

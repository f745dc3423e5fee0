//! Recurrent cells: the order of gates in ONNX and in the IR, and activations.

use snick_ir::OpError;

use crate::onnx::builder::{NodeBuilder, Result};

/// A cell in ONNX and in the IR.
pub(super) struct Cell {
    /// The IR op.
    pub(super) op_type: &'static str,
    /// For each gate in the order of the IR, the index of this gate in ONNX.
    pub(super) gates: &'static [usize],
    /// Number of states.
    pub(super) states: usize,
    /// Default activations.
    activations: &'static [&'static str],
}

pub(super) const GRU: Cell =
    Cell { op_type: "GRUSequence", gates: &[0, 1, 2], states: 1, activations: &["sigmoid", "tanh"] };

/// The order of gates is input, output, forget, cell in ONNX, and forget, input, cell, output in the IR.
pub(super) const LSTM: Cell = Cell {
    op_type: "LSTMSequence",
    gates: &[2, 0, 3, 1],
    states: 2,
    activations: &["sigmoid", "tanh", "tanh"],
};

pub(super) const RNN: Cell = Cell { op_type: "RNNSequence", gates: &[0], states: 1, activations: &["tanh"] };

/// The activations for one direction, with their parameters.
#[derive(PartialEq)]
pub(super) struct Functions {
    pub(super) names: Vec<String>,
    pub(super) alphas: Vec<f64>,
    pub(super) betas: Vec<f64>,
}

/// The activations for each direction. ONNX lists parameters only for activations that have parameters.
pub(super) fn functions(b: &NodeBuilder, cell: &Cell, directions: usize) -> Result<Vec<Functions>, OpError> {
    let count = cell.activations.len();
    let names: Vec<String> = match b.attrs.texts("activations")?.filter(|names| !names.is_empty()) {
        Some(names) if names.len() == count * directions => {
            names.iter().map(|name| name.to_lowercase()).collect()
        }
        Some(_) => return Err(b.attrs.bad("activations", &format!("{} names", count * directions))),
        None => cell.activations.iter().map(ToString::to_string).cycle().take(count * directions).collect(),
    };
    let mut alphas = b.attrs.floats("activation_alpha")?.unwrap_or_default().into_iter();
    let mut betas = b.attrs.floats("activation_beta")?.unwrap_or_default().into_iter();
    let mut all = Vec::new();
    for names in names.chunks(count) {
        let mut functions = Functions { names: names.to_vec(), alphas: vec![], betas: vec![] };
        for name in names {
            let (alpha, beta) = match name.as_str() {
                "sigmoid" | "tanh" | "relu" => (0.0, 0.0),
                "hardsigmoid" => (alphas.next().unwrap_or(0.2), betas.next().unwrap_or(0.5)),
                _ => return Err(OpError::unsupported(format!("activation `{name}`"))),
            };
            functions.alphas.push(alpha);
            functions.betas.push(beta);
        }
        if functions.names.iter().all(|name| name != "hardsigmoid") {
            (functions.alphas, functions.betas) = (vec![], vec![]);
        }
        all.push(functions);
    }
    Ok(all)
}

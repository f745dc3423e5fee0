//! Recurrent cells and sequences as ONNX's GRU, LSTM and RNN. A cell is written as a sequence of one step.

use snick_ir::ops::recurrent::cell::{Cell, CellKind};
use snick_ir::ops::recurrent::direction::Direction;
use snick_ir::{AttrWords, Op, OpError};
use snick_onnx::Attribute;
use snick_tensor::ElementType;

use super::emitter::{Emitter, Result, float, floats, int, ints, text, texts};
use super::row::OpRow;
use super::types::{FLOATS, FLOATS_TO_32_BITS};

pub(super) fn row(op: &Op) -> Option<OpRow<'_>> {
    let (cell, direction) = Cell::of(op)?;
    let gaps = if matches!(cell.kind, CellKind::Rnn) { FLOATS_TO_32_BITS } else { FLOATS };
    let row = match direction {
        Some(direction) => OpRow::new(move |e| sequence(e, &cell, direction)),
        None => OpRow::new(move |e| self::cell(e, &cell)),
    };
    Some(row.lacks(gaps))
}

/// The ONNX operator for a cell.
fn operator(cell: &Cell) -> &'static str {
    match cell.kind {
        CellKind::Lstm => "LSTM",
        CellKind::Gru { .. } => "GRU",
        CellKind::Rnn => "RNN",
    }
}

/// For each gate in ONNX's order, its position in the IR. For example, the gates of an LSTM are in the order
/// forget, input, cell, output in the IR, and input, output, forget, cell in ONNX.
fn gates(cell: &Cell) -> &'static [usize] {
    match cell.kind {
        CellKind::Lstm => &[1, 3, 0, 2],
        CellKind::Gru { .. } => &[0, 1, 2],
        CellKind::Rnn => &[0],
    }
}

/// The attributes of a cell whose states are of size `hidden`.
fn attrs(cell: &Cell, direction: Direction, hidden: i64) -> Result<Vec<Attribute>, OpError> {
    let mut attrs = vec![text("direction", direction.word()), int("hidden_size", hidden)];
    if cell.settings.clip > 0.0 {
        attrs.push(float("clip", cell.settings.clip));
    }
    match cell.kind {
        CellKind::Gru { linear_before_reset: true } => attrs.push(int("linear_before_reset", 1)),
        CellKind::Lstm if cell.input_forget => attrs.push(int("input_forget", 1)),
        _ => {}
    }
    let (mut names, mut alphas, mut betas) = (Vec::new(), Vec::new(), Vec::new());
    for (place, function) in cell.activations.iter().enumerate() {
        names.push(match function.to_ascii_lowercase().as_str() {
            "sigmoid" => "Sigmoid",
            "tanh" => "Tanh",
            "relu" => "Relu",
            "hardsigmoid" => {
                let [alpha, beta] = cell.parameters(place);
                alphas.push(alpha);
                betas.push(beta);
                "HardSigmoid"
            }
            other => return Err(OpError::unsupported(format!("activation `{other}`"))),
        });
    }
    let directions = direction.reversed().len();
    attrs.push(texts("activations", &names.repeat(directions)));
    if !alphas.is_empty() {
        attrs.extend([
            floats("activation_alpha", &alphas.repeat(directions)),
            floats("activation_beta", &betas.repeat(directions)),
        ]);
    }
    Ok(attrs)
}

/// The size of the hidden state, which is the last dim of the weights R at input `i`.
fn hidden(e: &Emitter, i: usize) -> Result<i64, OpError> {
    let size = e.fact(i)?.shape.dims().and_then(|dims| dims.last()?.as_const());
    size.ok_or_else(|| OpError::unsupported("weights of unknown size"))
}

/// W, R and B in ONNX's layout, with an axis of directions. B contains the biases of both W and R, and is
/// empty for a layer without biases.
fn weights(e: &mut Emitter, cell: &Cell, inputs: [String; 3]) -> Result<[String; 3], OpError> {
    let [w, r, b] = inputs;
    let gates = gates(cell);
    let (w, r) = (reordered(e, &w, gates)?, reordered(e, &r, gates)?);
    if b.is_empty() {
        return Ok([w, r, b]);
    }
    let parts = split(e, &b, cell.kind.biases())?;
    let nothing = e.node("Sub", &[&parts[0], &parts[0]], vec![]);
    let mut order: Vec<&String> = gates.iter().map(|&gate| &parts[gate]).collect();
    order.resize(2 * gates.len(), &nothing);
    // With linear-before-reset, the bias of the last gate of R is a separate part.
    if let (Some(inner), Some(last)) = (parts.get(gates.len()), order.last_mut()) {
        *last = inner;
    }
    Ok([w, r, e.joined(&order, 1)])
}

fn split(e: &mut Emitter, value: &str, parts: usize) -> Result<Vec<String>, OpError> {
    Ok(match parts {
        1 => vec![value.to_string()],
        _ => e.nodes("Split", &[value], parts, vec![int("axis", 1), int("num_outputs", parts as i64)]),
    })
}

fn reordered(e: &mut Emitter, weights: &str, gates: &[usize]) -> Result<String> {
    if gates.is_sorted() {
        return Ok(weights.to_string());
    }
    let parts = split(e, weights, gates.len())?;
    let order: Vec<&String> = gates.iter().map(|&gate| &parts[gate]).collect();
    Ok(e.joined(&order, 1))
}

/// Reorders peepholes from forget, input, output to input, output, forget.
fn peepholes(e: &mut Emitter, value: &str) -> Result<String> {
    let parts = split(e, value, 3)?;
    Ok(e.joined(&[&parts[1], &parts[2], &parts[0]], 1))
}

/// Writes a sequence. Inputs: X `[batch, steps, input]`, states `[batch, directions, hidden]`, lengths, W, R,
/// B, and peepholes.
fn sequence(e: &mut Emitter, cell: &Cell, direction: Direction) -> Result {
    let states = cell.kind.states();
    let at = 1 + states;
    let attrs = attrs(cell, direction, hidden(e, at + 2)?)?;
    let x = e.transposed(&e.input(0)?, &[1, 0, 2]);
    let mut first = Vec::new();
    for i in 1..at {
        first.push(e.transposed(&e.input(i)?, &[1, 0, 2]));
    }
    let lengths = e.cast(e.input(at)?, e.element_type(at)?, ElementType::I32)?;
    let own = [e.input(at + 1)?, e.input(at + 2)?, e.input(at + 3)?];
    let [w, r, b] = weights(e, cell, own)?;
    let mut inputs = [vec![x, w, r, b, lengths], first].concat();
    if e.len() > at + 4 {
        let value = e.input(at + 4)?;
        inputs.push(peepholes(e, &value)?);
    }
    let outputs = e.nodes(operator(cell), &inputs, 1 + states, attrs);
    for (port, output) in outputs.iter().enumerate().take(e.outputs().len()) {
        let order = if port == 0 { vec![2, 1, 0, 3] } else { vec![1, 0, 2] };
        e.last_port(port, "Transpose", &[output], vec![ints("perm", order)])?;
    }
    Ok(())
}

/// Writes a cell. Inputs: X `[batch, input]`, states `[batch, hidden]`, W, R, B, and peepholes.
fn cell(e: &mut Emitter, cell: &Cell) -> Result {
    let states = cell.kind.states();
    let attrs = attrs(cell, Direction::Forward, hidden(e, states + 2)?)?;
    let mut lifted = Vec::new();
    for i in 0..e.len() {
        let value = e.input(i)?;
        // Adds an axis of steps to X, and of directions to all other inputs.
        lifted.push(e.unsqueezed(&value, &[0])?);
    }
    let (front, rest) = lifted.split_at(1 + states);
    let [w, r, more @ ..] = rest else { return Err(OpError::NotConnected { port: 4 }) };
    let mut more = more.iter();
    // In ONNX, an empty name means a missing input.
    let b = more.next().cloned().unwrap_or_default();
    let [w, r, b] = weights(e, cell, [w.clone(), r.clone(), b])?;
    let mut inputs = vec![front[0].clone(), w, r, b, String::new()];
    inputs.extend_from_slice(&front[1..]);
    if let Some(value) = more.next() {
        inputs.push(peepholes(e, value)?);
    }
    let outputs = e.nodes(operator(cell), &inputs, 1 + states, attrs);
    for (port, output) in outputs[1..].iter().enumerate().take(e.outputs().len()) {
        let axes = e.vector(&[0])?;
        e.last_port(port, "Squeeze", &[output, &axes], vec![])?;
    }
    Ok(())
}

//! Recurrent cells and sequences as ONNX's GRU, LSTM and RNN: a cell is a sequence of one step.

use snick_ir::OpError;
use snick_onnx::Attribute;

use super::emitter::{Emitter, Named, Written, float, floats, int, text, texts};
use super::table::Form::{self, By};

pub(super) const ROWS: &[(&str, Form)] = &[
    ("GRUCell", By(|e| cell(e, &GRU))),
    ("GRUSequence", By(|e| sequence(e, &GRU))),
    ("LSTMCell", By(|e| cell(e, &LSTM))),
    ("LSTMSequence", By(|e| sequence(e, &LSTM))),
    ("RNNCell", By(|e| cell(e, &RNN))),
    ("RNNSequence", By(|e| sequence(e, &RNN))),
];

/// A cell in words of both sides.
struct Kind {
    /// The ONNX operator.
    op: &'static str,
    /// Where the IR has the gates that ONNX lists.
    gates: &'static [usize],
    /// States that go from step to step.
    states: usize,
}

const GRU: Kind = Kind { op: "GRU", gates: &[0, 1, 2], states: 1 };

/// The IR has forget, input, cell and output; ONNX has input, output, forget and cell.
const LSTM: Kind = Kind { op: "LSTM", gates: &[1, 3, 0, 2], states: 2 };

const RNN: Kind = Kind { op: "RNN", gates: &[0], states: 1 };

fn attrs(e: &Emitter, kind: &Kind) -> Result<Vec<Attribute>, OpError> {
    let direction = match e.word("direction")?.as_str() {
        "reverse" => "reverse",
        "bidirectional" => "bidirectional",
        _ => "forward",
    };
    let directions = if direction == "bidirectional" { 2 } else { 1 };
    let mut attrs = vec![text("direction", direction), int("hidden_size", hidden(e, kind)?)];
    let clip = e.attrs.float("clip")?.unwrap_or(0.0);
    if clip > 0.0 {
        attrs.push(float("clip", clip));
    }
    for flag in ["linear_before_reset", "input_forget"] {
        if e.flag(flag)? {
            attrs.push(int(flag, 1));
        }
    }
    let functions = e.attrs.texts("activations")?.unwrap_or_default();
    let (mut names, mut alphas, mut betas) = (Vec::new(), Vec::new(), Vec::new());
    let number = |name, place: usize, default: f64| -> Result<f64, OpError> {
        Ok(e.attrs.floats(name)?.unwrap_or_default().get(place).copied().unwrap_or(default))
    };
    for (place, function) in functions.iter().enumerate() {
        names.push(match function.to_ascii_lowercase().as_str() {
            "sigmoid" => "Sigmoid",
            "tanh" => "Tanh",
            "relu" => "Relu",
            "hardsigmoid" => {
                alphas.push(number("activations_alpha", place, 0.2)?);
                betas.push(number("activations_beta", place, 0.5)?);
                "HardSigmoid"
            }
            other => return Err(OpError::unsupported(format!("activation `{other}` in ONNX"))),
        });
    }
    attrs.push(texts("activations", &names.repeat(directions)));
    if !alphas.is_empty() {
        attrs.extend([
            floats("activation_alpha", &alphas.repeat(directions)),
            floats("activation_beta", &betas.repeat(directions)),
        ]);
    }
    Ok(attrs)
}

/// The size of a state: the last one of the weights of the states.
fn hidden(e: &Emitter, kind: &Kind) -> Result<i64, OpError> {
    let weights = e.len() - 2 - usize::from(has_peepholes(e, kind));
    let size = e.fact(weights)?.shape.dims().and_then(|dims| dims.last()?.as_const());
    size.ok_or_else(|| OpError::unsupported("weights of unknown size in ONNX"))
}

/// Whether the first definition of an LSTM has its last input.
fn has_peepholes(e: &Emitter, kind: &Kind) -> bool {
    let sequence = usize::from(e.node.op.type_name().ends_with("Sequence"));
    kind.op == LSTM.op && e.len() > 4 + kind.states + sequence
}

/// Weights, with an axis of directions, as ONNX wants them: W, R, and B with both biases.
fn weights(e: &mut Emitter, kind: &Kind, inputs: [String; 3]) -> Result<[String; 3], OpError> {
    let [w, r, b] = inputs;
    let gates = kind.gates.len();
    let (w, r) = (reordered(e, &w, kind)?, reordered(e, &r, kind)?);
    if kind.op == GRU.op && e.flag("linear_before_reset")? {
        // The bias of the reset product stands apart.
        let parts = split(e, &b, 4)?;
        let nothing = e.node("Sub", &[&parts[0], &parts[0]], vec![]);
        let order = [&parts[0], &parts[1], &parts[2], &nothing, &nothing, &parts[3]];
        return Ok([w, r, e.joined(&order, 1)]);
    }
    let parts = split(e, &b, gates)?;
    let nothing = e.node("Sub", &[&parts[0], &parts[0]], vec![]);
    let mut order: Vec<&String> = kind.gates.iter().map(|&gate| &parts[gate]).collect();
    order.resize(2 * gates, &nothing);
    Ok([w, r, e.joined(&order, 1)])
}

fn split(e: &mut Emitter, value: &str, parts: usize) -> Result<Vec<String>, OpError> {
    Ok(match parts {
        1 => vec![value.to_string()],
        _ => e.nodes("Split", &[value], parts, vec![int("axis", 1), int("num_outputs", parts as i64)]),
    })
}

fn reordered(e: &mut Emitter, weights: &str, kind: &Kind) -> Named {
    if kind.gates.is_sorted() {
        return Ok(weights.to_string());
    }
    let parts = split(e, weights, kind.gates.len())?;
    let order: Vec<&String> = kind.gates.iter().map(|&gate| &parts[gate]).collect();
    Ok(e.joined(&order, 1))
}

/// Peepholes of forget, input and output as those of input, output and forget.
fn peepholes(e: &mut Emitter, value: &str) -> Named {
    let parts = split(e, value, 3)?;
    Ok(e.joined(&[&parts[1], &parts[2], &parts[0]], 1))
}

/// Inputs X `[batch, steps, input]`, states `[batch, directions, hidden]`, lengths, W, R, B.
fn sequence(e: &mut Emitter, kind: &Kind) -> Written {
    let attrs = attrs(e, kind)?;
    let x = e.transposed(&e.input(0)?, &[1, 0, 2]);
    let mut states = Vec::new();
    for i in 1..=kind.states {
        states.push(e.transposed(&e.input(i)?, &[1, 0, 2]));
    }
    let at = 1 + kind.states;
    let lengths = e.cast(e.input(at)?, e.element_type(at)?, snick_tensor::ElementType::I32)?;
    let own = [e.input(at + 1)?, e.input(at + 2)?, e.input(at + 3)?];
    let [w, r, b] = weights(e, kind, own)?;
    let mut inputs = [vec![x, w, r, b, lengths], states].concat();
    if has_peepholes(e, kind) {
        let value = e.input(at + 4)?;
        inputs.push(peepholes(e, &value)?);
    }
    let outputs = e.nodes(kind.op, &inputs, 1 + kind.states, attrs);
    for (port, output) in outputs.iter().enumerate().take(e.outputs().len()) {
        let order = if port == 0 { vec![2, 1, 0, 3] } else { vec![1, 0, 2] };
        e.last_port(port, "Transpose", &[output], vec![super::emitter::ints("perm", order)])?;
    }
    Ok(())
}

/// Inputs X `[batch, input]`, states `[batch, hidden]`, W, R, B.
fn cell(e: &mut Emitter, kind: &Kind) -> Written {
    let attrs = attrs(e, kind)?;
    let mut lifted = Vec::new();
    for i in 0..e.len() {
        let value = e.input(i)?;
        // A step, or a direction, in front.
        lifted.push(e.unsqueezed(&value, &[0])?);
    }
    let (front, rest) = lifted.split_at(1 + kind.states);
    let [w, r, b, more @ ..] = rest else { return Err(OpError::NotConnected { port: 4 }) };
    let [w, r, b] = weights(e, kind, [w.clone(), r.clone(), b.clone()])?;
    let mut inputs = vec![front[0].clone(), w, r, b, String::new()];
    inputs.extend_from_slice(&front[1..]);
    if let Some(value) = more.first() {
        inputs.push(peepholes(e, value)?);
    }
    let outputs = e.nodes(kind.op, &inputs, 1 + kind.states, attrs);
    for (port, output) in outputs[1..].iter().enumerate().take(e.outputs().len()) {
        let axes = e.vector(&[0])?;
        e.last_port(port, "Squeeze", &[output, &axes], vec![])?;
    }
    Ok(())
}

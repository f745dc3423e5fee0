//! The work of a layer: multiply-accumulates as usually defined, and element operations.

use snick_ir::{Fact, Graph, NodeId, Op, OpTraits};
use snick_shape::SymExpr;

use super::Amount;
use super::ledger::Ledger;

/// The work of a layer.
#[derive(Default)]
pub(super) struct Operations {
    pub macs: Amount,
    pub flops: Amount,
}

/// The work of a layer, without bodies.
pub(super) fn of(graph: &Graph, id: NodeId, ledger: &mut Ledger) -> Operations {
    let op = graph.node(id).op();
    if moves_only(op) {
        return Operations::default();
    }
    let layer = Layer { graph, id };
    if let Some(macs) = macs(op, &layer, ledger) {
        let flops = ledger.product([&macs, &2.into()]);
        return Operations { macs: ledger.amount(macs), flops: ledger.amount(flops) };
    }
    // Reductions and pooling read more elements than they write.
    let elements = match op {
        Op::Reduce(_) | Op::CumSum(_) | Op::SegmentMax(_) => layer.input_elements(0, ledger),
        Op::AvgPool(op) => windows(&layer, op.window.kernel.iter().copied(), ledger),
        Op::MaxPool(op) => windows(&layer, op.window.kernel.iter().copied(), ledger),
        _ => None,
    };
    let elements = elements.or_else(|| {
        let out = &graph.node(id).outs().first()?.fact;
        Some(ledger.elements(graph, id, out))
    });
    Operations {
        flops: elements.map(|elements| ledger.amount(elements)).unwrap_or_default(),
        ..Operations::default()
    }
}

/// Whether an op only moves elements or reads shapes.
fn moves_only(op: &Op) -> bool {
    op.has(OpTraits::MOVES_ELEMENTS)
        || op.has(OpTraits::HAS_BODIES)
        || matches!(
            op,
            Op::Parameter(_)
                | Op::Result(_)
                | Op::Const(_)
                | Op::ReadValue(_)
                | Op::Assign(_)
                | Op::ShapeOf(_)
                | Op::Opaque(_)
                | Op::Concat(_)
                | Op::Gather(_)
                | Op::GatherElements(_)
                | Op::GatherNd(_)
                | Op::ScatterUpdate(_)
                | Op::ScatterNdUpdate(_)
                | Op::Pad(_)
                | Op::Broadcast(_)
                | Op::Tile(_)
                | Op::Convert(_)
                | Op::ConvertLike(_)
                | Op::Range(_)
        )
}

/// The number of output elements times kernel elements.
fn windows(layer: &Layer, kernel: impl Iterator<Item = i64>, ledger: &mut Ledger) -> Option<SymExpr> {
    let taps = kernel.fold(1i64, |n, size| n.saturating_mul(size));
    let out = layer.output(ledger)?;
    let elements = ledger.product(&out);
    Some(ledger.product([&elements, &taps.into()]))
}

/// A layer and the sizes of its values.
struct Layer<'g> {
    graph: &'g Graph,
    id: NodeId,
}

impl<'g> Layer<'g> {
    fn fact(&self, port: usize) -> Option<&'g Fact> {
        self.graph.fact(self.graph.node(self.id).input(port)?)
    }

    fn input(&self, port: usize, ledger: &mut Ledger) -> Option<Vec<SymExpr>> {
        ledger.dims(self.graph, self.fact(port)?)
    }

    fn input_elements(&self, port: usize, ledger: &mut Ledger) -> Option<SymExpr> {
        let dims = self.input(port, ledger)?;
        Some(ledger.product(&dims))
    }

    fn output(&self, ledger: &mut Ledger) -> Option<Vec<SymExpr>> {
        ledger.dims(self.graph, &self.graph.node(self.id).outs().first()?.fact)
    }
}

/// The multiply-accumulates of a layer of products; `None` for other layers and unknown ranks.
fn macs(op: &Op, layer: &Layer, ledger: &mut Ledger) -> Option<SymExpr> {
    match op {
        Op::MatMul(op) => {
            let a = layer.input(0, ledger)?;
            // A vector is a row, and ignores the attribute.
            let depth = match (a.as_slice(), op.transpose_a) {
                ([.., depth, _], true) => depth,
                ([.., depth], _) => depth,
                _ => return None,
            };
            by_output(layer, std::slice::from_ref(depth), ledger)
        }
        Op::FullyConnected(_)
        | Op::FullyConnectedCompressed(_)
        | Op::GroupedMatMul(_)
        | Op::GroupedMatMulCompressed(_)
        | Op::GatherMatmul(_)
        | Op::GatherMatmulCompressed(_) => {
            let depth = layer.input(0, ledger)?.last()?.clone();
            by_output(layer, &[depth], ledger)
        }
        Op::Convolution(_) | Op::BinaryConvolution(_) => {
            let filters = layer.input(1, ledger)?;
            by_output(layer, filters.get(1..)?, ledger)
        }
        Op::DeformableConvolution(_) => {
            let filters = layer.input(2, ledger)?;
            by_output(layer, filters.get(1..)?, ledger)
        }
        Op::GroupConvolution(_) => {
            let filters = layer.input(1, ledger)?;
            by_output(layer, filters.get(2..)?, ledger)
        }
        // Each input element is multiplied with every filter of its channel.
        Op::ConvolutionBackpropData(_) => by_input(layer, 1, ledger),
        Op::GroupConvolutionBackpropData(_) => by_input(layer, 2, ledger),
        Op::ScaledDotProductAttention(_) => {
            let (query, value) = (layer.input(0, ledger)?, layer.input(2, ledger)?);
            let out = layer.output(ledger)?;
            let (rows, keys) =
                (out.get(..out.len().checked_sub(1)?)?, value.get(value.len().checked_sub(2)?)?);
            let widths = ledger.symbols.add(query.last()?, value.last()?)?;
            Some(ledger.product(rows.iter().chain([keys, &widths])))
        }
        Op::LstmSequence(_) => recurrent(layer, [4, 5], true, ledger),
        Op::GruSequence(_) | Op::RnnSequence(_) => recurrent(layer, [3, 4], true, ledger),
        Op::LstmCell(_) => recurrent(layer, [3, 4], false, ledger),
        Op::GruCell(_) | Op::RnnCell(_) => recurrent(layer, [2, 3], false, ledger),
        Op::Einsum(op) => einsum(&op.equation, layer, ledger),
        Op::Moe(_) => {
            // Tokens, times experts per token, times weights per expert.
            let tokens = layer.input(0, ledger)?;
            let chosen = layer.input(2, ledger)?.last()?.clone();
            let mut weights: Option<SymExpr> = None;
            for port in 3..layer.graph.inputs(layer.id).len() {
                let dims =
                    layer.input(port, ledger).filter(|dims| dims.len() == 3 && dims[1].as_const() != Some(1));
                if let Some(dims) = dims {
                    let own = ledger.product(&dims[1..]);
                    weights = match weights {
                        Some(sum) => ledger.symbols.add(&sum, &own),
                        None => Some(own),
                    };
                }
            }
            let rows = tokens.get(..tokens.len().checked_sub(1)?)?;
            Some(ledger.product(rows.iter().chain([&chosen, &weights?])))
        }
        _ => None,
    }
}

/// The output elements times these factors.
fn by_output(layer: &Layer, factors: &[SymExpr], ledger: &mut Ledger) -> Option<SymExpr> {
    let out = layer.output(ledger)?;
    Some(ledger.product(out.iter().chain(factors)))
}

/// The input elements times the filter sizes from an axis on.
fn by_input(layer: &Layer, axis: usize, ledger: &mut Ledger) -> Option<SymExpr> {
    let (data, filters) = (layer.input(0, ledger)?, layer.input(1, ledger)?);
    // Filters are [C, O, kernel..] or [G, C / G, O / G, kernel..].
    Some(ledger.product(data.iter().chain(filters.get(axis..)?)))
}

/// Each step of each sequence uses all weights of the input and the state.
fn recurrent(layer: &Layer, weights: [usize; 2], is_sequence: bool, ledger: &mut Ledger) -> Option<SymExpr> {
    let data = layer.input(0, ledger)?;
    let steps = data.get(..if is_sequence { 2 } else { 1 })?;
    let [input, state] = weights.map(|port| layer.input_elements(port, ledger));
    let weights = ledger.symbols.add(&input?, &state?)?;
    Some(ledger.product(steps.iter().chain([&weights])))
}

/// The output elements times the sizes of the labels that are summed over.
fn einsum(equation: &str, layer: &Layer, ledger: &mut Ledger) -> Option<SymExpr> {
    let (left, right) = equation.split_once("->")?;
    let mut factors = Vec::new();
    let mut seen: Vec<char> = right.chars().collect();
    for (port, labels) in left.split(',').enumerate() {
        let labels: Vec<char> = labels.chars().filter(|c| !c.is_whitespace()).collect();
        let dims = layer.input(port, ledger)?;
        // Labels after an ellipsis are counted from the end.
        let ellipsis = labels.iter().position(|&c| c == '.');
        for (at, &label) in labels.iter().enumerate().filter(|(_, label)| label.is_alphabetic()) {
            let from_end = labels.len() - at;
            let axis = match ellipsis {
                Some(dots) if dots < at => dims.len().checked_sub(from_end)?,
                _ => at,
            };
            if !seen.contains(&label) {
                seen.push(label);
                factors.push(dims.get(axis)?.clone());
            }
        }
    }
    by_output(layer, &factors, ledger)
}

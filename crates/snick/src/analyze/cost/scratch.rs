//! The scratch memory of layers, that is, the memory that they need only while they compute.

use snick_ir::ops::nn::window::Windows;
use snick_ir::{Graph, NodeId, Op};
use snick_shape::SymExpr;

use super::ledger::Ledger;

/// A convolution with at most this many windows gathers a few of them at a time. The memory for the gathered
/// windows is not counted.
const FEW_WINDOWS: i64 = 8;

/// With at most this many filters per channel, a depthwise convolution processes one channel at a time, and
/// its scratch memory is not counted.
const FEW_FILTERS: i64 = 3;

/// Without a mask, scores and weights are computed for this many queries of one head at a time.
const QUERIES: i64 = 96;

/// Up to this many queries are computed together even without a mask.
const FEW_QUERIES: i64 = 48;

/// The scratch memory of a layer in bytes, without its bodies. `packed` says whether its first input is
/// contiguous.
pub(super) fn of(graph: &Graph, id: NodeId, packed: bool, ledger: &mut Ledger) -> Option<SymExpr> {
    let node = graph.node(id);
    let mut dims = |port: usize| ledger.dims(graph, graph.fact(node.input(port)?)?);
    match node.op() {
        Op::ScaledDotProductAttention(op) => {
            let (query, key) = (dims(0)?, dims(1)?);
            let (rows, keys) = (query.split_last()?.1, key.get(key.len().checked_sub(2)?)?);
            let rank_of_mask = node.input(3).map(|mask| graph.fact(mask).and_then(|mask| mask.shape.rank()));
            let is_plain =
                !op.causal && matches!(rank_of_mask, None | Some(Some(0))) && node.input(5).is_none();
            if is_plain && rows.last()?.as_const().is_none_or(|rows| rows > FEW_QUERIES) {
                let scores = ledger.product([keys, &SymExpr::from(2 * 4 * QUERIES)]);
                let scaled = ledger.product(query.iter().chain([&SymExpr::from(4)]));
                return ledger.symbols.add(&scores, &scaled);
            }
            // Scores and weights, plus the scores with the sink if there is one.
            let copies = if node.input(5).is_some() { 3 } else { 2 };
            Some(ledger.product(rows.iter().chain([keys, &SymExpr::from(4 * copies)])))
        }
        Op::Convolution(op) => {
            let (data, filters) = (dims(0)?, dims(1)?);
            let out = ledger.dims(graph, &node.outs().first()?.fact)?;
            convolution(&op.sliding.windows(), [&data, filters.get(2..)?, &out], packed, ledger)
        }
        Op::GroupConvolution(op) => {
            let (data, filters) = (dims(0)?, dims(1)?);
            let [_, filters_of_one, depth, kernel @ ..] = filters.as_slice() else { return None };
            let is_depthwise =
                depth.as_const() == Some(1) && filters_of_one.as_const().is_some_and(|n| n <= FEW_FILTERS);
            let out = ledger.dims(graph, &node.outs().first()?.fact)?;
            (!is_depthwise)
                .then(|| convolution(&op.sliding.windows(), [&data, kernel, &out], packed, ledger))
                .flatten()
        }
        _ => None,
    }
}

/// The bytes of the planes into which a convolution splits an image, so that each filter element reads
/// contiguous elements: one plane per residue modulo the stride, including padding. `None` if the image
/// itself serves as the plane.
fn convolution(
    windows: &Windows,
    [data, kernel, out]: [&[SymExpr]; 3],
    packed: bool,
    ledger: &mut Ledger,
) -> Option<SymExpr> {
    let (channels, spatial, out) = (data.get(1)?, data.get(2..)?, out.get(2..)?);
    let count = ledger.product(out);
    if count.as_const().is_some_and(|count| count <= FEW_WINDOWS) {
        return None;
    }
    let mut factors = vec![channels.clone(), SymExpr::from(4)];
    let mut is_image = true;
    for (at, ((kernel, size), out)) in kernel.iter().zip(spatial).zip(out).enumerate() {
        let axis = windows.axis(at);
        let taps = kernel.as_const()?;
        let reach = taps.checked_sub(1)?.checked_mul(axis.dilation)?;
        let remainders = taps.min(axis.stride / gcd(axis.dilation, axis.stride));
        let plane = ledger.symbols.add(out, &(reach / axis.stride).into())?;
        is_image &= axis.stride == 1 && plane == *size;
        factors.extend([remainders.into(), plane]);
    }
    if !is_image {
        return Some(ledger.product(&factors));
    }
    // A contiguous image is read in place.
    (!packed).then(|| ledger.product(data.iter().chain([&SymExpr::from(4)])))
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

//! The canonical form of all slices in a small space: axes of up to 6 elements, start and stop from -9 to 9
//! or masked, and steps from -4 to 4. Two slices select the same elements if and only if their canonical
//! forms are equal, and canonicalising again changes nothing.

use std::collections::HashMap;

use snick_ir::{Graph, Op};

use super::model::{canonical, load, printed};
use super::rule::walk;

const STEPS: [i64; 8] = [-4, -3, -2, -1, 1, 2, 3, 4];

fn bounds() -> impl Iterator<Item = Option<i64>> + Clone {
    (-9..=9).map(Some).chain([None])
}

/// Start, stop and step; `None` is a masked bound.
type Numbers = (Option<i64>, Option<i64>, i64);

fn space() -> impl Iterator<Item = Numbers> {
    bounds().flat_map(|start| bounds().flat_map(move |stop| STEPS.map(move |step| (start, stop, step))))
}

/// All slices of one axis in one graph: one StridedSlice each, of the same Parameter.
fn every_slice(dim: i64, stored: &[Numbers]) -> Graph {
    let mut lines = vec![format!("%x = Parameter-1 {{element_type: i32, shape: \"{dim}\"}}")];
    for (i, (start, stop, step)) in stored.iter().enumerate() {
        // The values of masked bounds must not matter.
        let (begin, end) = (start.unwrap_or(77), stop.unwrap_or(-78));
        lines.push(format!("%b{i} = Const-1 i64[1] <{begin}>"));
        lines.push(format!("%e{i} = Const-1 i64[1] <{end}>"));
        lines.push(format!("%s{i} = Const-1 i64[1] <{step}>"));
        let bit = |bound: &Option<i64>| u8::from(bound.is_none());
        let masks = format!("begin_mask: [{}], end_mask: [{}]", bit(start), bit(stop));
        let rest = "new_axis_mask: [], shrink_axis_mask: [], ellipsis_mask: []";
        lines.push(format!("%y{i} = StridedSlice-1(%x, %b{i}, %e{i}, %s{i}) {{{masks}, {rest}}}"));
        lines.push(format!("%r{i} = Result-1(%y{i})"));
    }
    load(&format!("snick 1\ngraph \"all\" {{\n  {}\n}}\n", lines.join("\n  "))).unwrap()
}

#[test]
fn equal_selections_have_one_canonical_layer() {
    for dim in 0..=6 {
        let stored: Vec<Numbers> = space().collect();
        let graph = canonical(&every_slice(dim, &stored));
        let mut layer_of: HashMap<Vec<i64>, Option<Op>> = HashMap::new();
        let mut selection_of: Vec<(Op, Vec<i64>)> = Vec::new();
        for (result, (start, stop, step)) in graph.results().zip(&stored) {
            let source = graph.inputs(result)[0].unwrap().node;
            let layer = match graph.node(source).op() {
                Op::Parameter(_) => None, // the whole axis
                op @ Op::Slice(_) => Some(op.clone()),
                op => panic!("{dim}[{start:?}:{stop:?}:{step}] became {}", op.type_name()),
            };
            let selected = walk(dim, *start, *stop, *step);
            let first = layer_of.entry(selected.clone()).or_insert_with(|| {
                selection_of.extend(layer.clone().map(|op| (op, selected.clone())));
                layer.clone()
            });
            assert_eq!(*first, layer, "{dim}[{start:?}:{stop:?}:{step}]");
        }
        for (i, (op, selected)) in selection_of.iter().enumerate() {
            let twin = selection_of[..i].iter().find(|(other, _)| other == op);
            assert!(twin.is_none(), "of {dim}: {selected:?} and {twin:?}");
        }
        let again = canonical(&graph);
        assert!(again == graph, "canonicalising again changes something of size {dim}");
        assert_eq!(printed(&again), printed(&graph));
    }
}

//! The table of meanings: maps each element of an output to an element of an input.

mod elementwise;
mod integers;
mod layout;
mod pieces;
mod slices;

use crate::case::{Case, Step, fits, stuck};
use crate::graph::{Node, Value};
use crate::poly::Poly;

/// An element: a value and an index along each of its axes.
pub(crate) type Element = (Value, Vec<Poly>);

impl Case<'_> {
    /// An element, and the elements that it is a copy of, up to one that is computed.
    pub(crate) fn origins(&mut self, element: Element) -> Step<Vec<Element>> {
        let mut origins = vec![(self.first(element.0), element.1)];
        while let Some((value, index)) = origins.last().cloned()
            && let Some((source, index)) = self.nested(|case| case.origin(value, &index))?
        {
            origins.push((self.first(source), index));
        }
        Ok(origins)
    }

    /// The element of an input that an element is a copy of.
    fn origin(&mut self, value: Value, index: &[Poly]) -> Step<Option<Element>> {
        let graph = self.graph;
        let node = graph.function(value).filter(|_| self.rank(value) == Some(index.len()));
        let Some(node) = node else { return Ok(None) };
        match node.op.as_str() {
            "Identity" => Ok(copied(node, index)),
            "Convert" | "ConvertLike" => Ok(copied(node, index).filter(|(source, _)| {
                let [from, to] =
                    [*source, value].map(|value| graph.output(value).map(|out| &out.element_type));
                from == to
            })),
            "slice" | "Slice" | "StridedSlice" => self.selected(node, index),
            "Split" | "VariadicSplit" => self.part(node, value, index),
            "Crop" => self.crop(node, index),
            "Reverse" => self.reversed(node, index),
            "Gather" => self.gathered(node, index),
            "GatherND" => self.gathered_by_rows(node, index),
            "Concat" => self.concatenated(node, index),
            "Pad" => self.padded(node, value, index),
            "Transpose" => self.transposed(node, index),
            "Reshape" | "Squeeze" | "Unsqueeze" | "Flatten" => self.reshaped(node, value, index),
            "Broadcast" => self.broadcast(node, value, index),
            "Tile" => self.tiled(node, index),
            "Roll" => self.rolled(node, index),
            _ => Ok(None),
        }
    }

    /// The size of an axis, if it follows from the inputs.
    pub(crate) fn computed_size(&mut self, value: Value, axis: usize) -> Step<Option<Poly>> {
        let graph = self.graph;
        let Some(node) = graph.function(value) else { return Ok(None) };
        match node.op.as_str() {
            "slice" | "Slice" | "StridedSlice" => self.selected_size(node, axis),
            "Concat" => self.concatenated_size(node, axis),
            "VariadicSplit" => self.part_size(node, value.port, axis),
            _ if node.is_elementwise() => self.broadcast_size(node, value, axis),
            _ => Ok(None),
        }
    }

    /// Requires that an index is in range.
    fn in_range(&mut self, index: &Poly, dim: &Poly) -> Step<()> {
        let below = fits(fits(dim.plus_constant(-1))?.plus(-1, index))?;
        self.require(index.clone(), "an index may be out of range")?;
        self.require(below, "an index may be out of range")
    }

    /// Requires that a polynomial is at least 0, or else the value does not exist. For the value
    /// before a change, this is a premise.
    fn require(&mut self, condition: Poly, reason: &str) -> Step<()> {
        if self.is_before {
            self.assume(condition);
        } else if !self.holds(condition)? {
            return stuck(reason);
        }
        Ok(())
    }

    /// The constant elements of an input.
    fn constants(&self, node: &Node, port: usize) -> Option<Vec<i64>> {
        Some(self.graph.integers(node.input(port)?)?.to_vec())
    }

    /// An index with another index on one axis.
    fn at(index: &[Poly], axis: usize, new: Poly) -> Vec<Poly> {
        let mut index = index.to_vec();
        if let Some(old) = index.get_mut(axis) {
            *old = new;
        }
        index
    }

    /// The rank of a value.
    fn rank(&self, value: Value) -> Option<usize> {
        Some(self.graph.dims(value)?.len())
    }

    /// The number of an axis that may be counted from the end.
    fn axis(axis: i64, rank: usize) -> Option<usize> {
        let rank = i64::try_from(rank).ok()?;
        let axis = if axis < 0 { axis + rank } else { axis };
        usize::try_from(axis).ok().filter(|_| axis < rank)
    }
}

fn copied(node: &Node, index: &[Poly]) -> Option<Element> {
    Some((node.input(0)?, index.to_vec()))
}

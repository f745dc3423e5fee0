//! The table of meanings: maps each element of an output to an element of an input.

mod elementwise;
mod integers;
mod layout;
mod pieces;
mod slices;
mod sums;

use crate::case::{Case, Step, Stop, if_known, needed, stuck};
use crate::graph::{Node, Value};
use crate::poly::Poly;

/// An element: a value and an index along each of its axes.
pub(crate) type Element = (Value, Vec<Poly>);

impl Case<'_> {
    /// An element, and the elements that it is a copy of, up to one that is computed.
    pub(crate) fn origins(&mut self, element: Element) -> Step<Vec<Element>> {
        let mut origins = vec![(self.first(element.0), element.1)];
        while let Some((value, index)) = origins.last().cloned()
            && let Some((source, index)) = if_known(self.nested(|case| case.origin(value, &index)))?
        {
            origins.push((self.first(source), index));
        }
        Ok(origins)
    }

    /// The element of an input that an element is a copy of.
    fn origin(&mut self, value: Value, index: &[Poly]) -> Step<Element> {
        let node = needed(self.graph.function(value).filter(|_| self.rank(value) == Ok(index.len())))?;
        let data = needed(node.input(0))?;
        let (source, index) = match node.op.as_str() {
            "Identity" => Ok((data, index.to_vec())),
            "Convert" | "ConvertLike" if self.element_type(data) == self.element_type(value) => {
                Ok((data, index.to_vec()))
            }
            "slice" | "Slice" | "StridedSlice" | "Split" | "VariadicSplit" | "Crop" | "Reverse" => {
                self.selected(node, value, index)
            }
            "Multiply" | "Divide" | "Subtract" => self.unchanged(node, value, index),
            "Gather" => self.gathered(node, data, index),
            "GatherND" => self.gathered_by_rows(node, data, index),
            "Concat" => self.concatenated(node, index),
            "Pad" => self.padded(node, data, index),
            "Transpose" => self.transposed(node, data, index),
            "Reshape" | "Squeeze" | "Unsqueeze" | "Flatten" => self.reshaped(data, value, index),
            "Broadcast" => self.broadcast(node, value, index),
            "Tile" => self.tiled(data, index),
            "Roll" => self.rolled(node, data, index),
            _ => Err(Stop::Opaque),
        }?;
        needed(Some((source, index)).filter(|(source, index)| self.rank(*source) == Ok(index.len())))
    }

    /// The size of an axis, if it follows from the inputs.
    pub(crate) fn computed_size(&mut self, value: Value, axis: usize) -> Step<Poly> {
        let node = needed(self.graph.function(value))?;
        match node.op.as_str() {
            "slice" | "Slice" | "StridedSlice" => self.selected_size(node, value, axis),
            "Concat" => self.concatenated_size(node, axis),
            "VariadicSplit" => self.part_size(node, value.port, axis),
            "Pad" => self.padded_size(node, axis),
            _ if node.is_elementwise() => self.broadcast_size(node, value, axis),
            _ => self.combined_size(node, value, axis),
        }
    }

    /// Requires that an index is in range.
    fn in_range(&mut self, index: &Poly, dim: &Poly) -> Step<()> {
        self.require(index.clone(), "an index may be out of range")?;
        self.require(dim.plus_constant(-1)?.plus(-1, index)?, "an index may be out of range")
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

    /// The name of the element type of a value.
    pub(crate) fn element_type(&self, value: Value) -> Option<&str> {
        Some(&self.graph.output(value)?.element_type)
    }

    /// The constant elements of an input.
    fn constants(&self, node: &Node, port: usize) -> Step<Vec<i64>> {
        Ok(needed(node.input(port).and_then(|input| self.graph.integers(input)))?.to_vec())
    }

    /// The axis that a constant input names.
    fn known_axis(&self, node: &Node, port: usize, rank: usize) -> Step<usize> {
        match self.constants(node, port)?.as_slice() {
            [axis] => Self::axis(*axis, rank),
            _ => Err(Stop::Opaque),
        }
    }

    /// The number of an axis that may be counted from the end.
    fn axis(axis: i64, rank: usize) -> Step<usize> {
        let from_start = if axis < 0 { axis.checked_add_unsigned(rank as u64) } else { Some(axis) };
        let axis = from_start.and_then(|axis| usize::try_from(axis).ok());
        needed(axis.filter(|axis| *axis < rank))
    }
}

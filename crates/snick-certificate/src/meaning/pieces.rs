//! Operations that join or take apart tensors, or select elements by index.

use super::Element;
use crate::case::{Case, Step, fits};
use crate::graph::{Attribute, Node, Value};
use crate::poly::Poly;

impl Case<'_> {
    /// A part of Split and VariadicSplit starts where the parts before it end.
    pub(super) fn part(&mut self, node: &Node, value: Value, index: &[Poly]) -> Step<Option<Element>> {
        let (Some(data), Some(&[axis])) = (node.input(0), self.constants(node, 1).as_deref()) else {
            return Ok(None);
        };
        let Some(axis) = Self::axis(axis, index.len()) else { return Ok(None) };
        let mut at = index[axis].clone();
        let dim = self.dim(data, axis)?;
        let mut rest = dim.clone();
        for port in 0..node.outputs.len() {
            let length = self.dim(Value { port, ..value }, axis)?;
            self.require(length.clone(), "a part may have a negative length")?;
            if port < value.port {
                at = fits(at.plus(1, &length))?;
            }
            rest = fits(rest.plus(-1, &length))?;
        }
        // The parts cover the whole axis.
        self.require(rest.clone(), "parts may be too long")?;
        self.require(fits(rest.times_constant(-1))?, "parts may be too short")?;
        self.in_range(&at, &dim)?;
        Ok(Some((data, Self::at(index, axis, at))))
    }

    /// The length of a part of VariadicSplit; -1 is the rest of the axis.
    pub(super) fn part_size(&mut self, node: &Node, port: usize, axis: usize) -> Step<Option<Poly>> {
        let (Some(data), Some(lengths), Some(&[split])) =
            (node.input(0), node.input(2), self.constants(node, 1).as_deref())
        else {
            return Ok(None);
        };
        if self.rank(data).and_then(|rank| Self::axis(split, rank)) != Some(axis) {
            return self.dim(data, axis).map(Some);
        }
        let own = self.integer(lengths, &[Poly::constant(port as i128)])?;
        if self.ask(own.clone())? {
            return Ok(Some(own));
        }
        let mut rest = self.dim(data, axis)?;
        for other in (0..node.outputs.len()).filter(|other| *other != port) {
            let length = self.integer(lengths, &[Poly::constant(other as i128)])?;
            rest = fits(rest.plus(-1, &length))?;
        }
        Ok(Some(rest))
    }

    pub(super) fn concatenated(&mut self, node: &Node, index: &[Poly]) -> Step<Option<Element>> {
        let Some(axis) = node.int("axis").and_then(|axis| Self::axis(axis, index.len())) else {
            return Ok(None);
        };
        let mut at = index[axis].clone();
        let mut inputs = node.inputs.iter().copied().flatten().peekable();
        while let Some(input) = inputs.next() {
            let length = self.dim(input, axis)?;
            let behind = fits(at.plus(-1, &length))?;
            if inputs.peek().is_none() || !self.ask(behind.clone())? {
                return Ok(Some((input, Self::at(index, axis, at))));
            }
            at = behind;
        }
        Ok(None)
    }

    pub(super) fn concatenated_size(&mut self, node: &Node, axis: usize) -> Step<Option<Poly>> {
        let rank = node.input(0).and_then(|first| self.rank(first));
        let joined = node.int("axis").zip(rank).and_then(|(axis, rank)| Self::axis(axis, rank));
        if joined != Some(axis) {
            return Ok(None);
        }
        let mut size = Poly::ZERO;
        for input in node.inputs.iter().copied().flatten() {
            let length = self.dim(input, axis)?;
            size = fits(size.plus(1, &length))?;
        }
        Ok(Some(size))
    }

    /// Elements outside of the data are the value of input 3.
    pub(super) fn padded(&mut self, node: &Node, value: Value, index: &[Poly]) -> Step<Option<Element>> {
        let (Some(data), Some(pads)) = (node.input(0), node.input(1)) else { return Ok(None) };
        if node.text("pad_mode") != Some("constant") || self.rank(data) != self.rank(value) {
            return Ok(None);
        }
        let mut source = Vec::new();
        for (axis, at) in index.iter().enumerate() {
            let before = self.integer(pads, &[Poly::constant(axis as i128)])?;
            let at = fits(at.plus(-1, &before))?;
            let dim = self.dim(data, axis)?;
            if !self.ask(at.clone())? || self.ask(fits(at.plus(-1, &dim))?)? {
                return Ok(node.input(3).map(|value| (value, Vec::new())));
            }
            source.push(at);
        }
        Ok(Some((data, source)))
    }

    /// An index out of range yields zeros, or is an error with `checks_indices` and if the axis is empty.
    pub(super) fn gathered(&mut self, node: &Node, index: &[Poly]) -> Step<Option<Element>> {
        let (Some(data), Some(indices)) = (node.input(0), node.input(1)) else { return Ok(None) };
        let (Some(rank), Some(indices_rank)) = (self.rank(data), self.rank(indices)) else { return Ok(None) };
        let Some(&[axis]) = self.constants(node, 2).as_deref() else { return Ok(None) };
        let batch = node.int("batch_dims").unwrap_or(0);
        let batch = if batch < 0 { batch + indices_rank as i64 } else { batch };
        let (Some(axis), Ok(batch)) = (Self::axis(axis, rank), usize::try_from(batch)) else {
            return Ok(None);
        };
        if batch > axis || batch > indices_rank {
            return Ok(None);
        }
        let inner = axis + indices_rank - batch;
        let (Some(outer), Some(middle), Some(rest)) =
            (index.get(..axis), index.get(axis..inner), index.get(inner..))
        else {
            return Ok(None);
        };
        let at = self.integer(indices, &[&index[..batch], middle].concat())?;
        let dim = self.dim(data, axis)?;
        self.require(fits(dim.plus_constant(-1))?, "an axis may be empty")?;
        let at = self.counted_from_end(at, &dim)?;
        if node.attributes.get("checks_indices") == Some(&Attribute::Text("true".to_string())) {
            self.in_range(&at, &dim)?;
        } else if !self.ask(at.clone())? || self.ask(fits(at.plus(-1, &dim))?)? {
            return Ok(None);
        }
        Ok(Some((data, [outer, &[at], rest].concat())))
    }

    /// GatherND: each row of the indices is the start of an index.
    pub(super) fn gathered_by_rows(&mut self, node: &Node, index: &[Poly]) -> Step<Option<Element>> {
        let (Some(data), Some(rows)) = (node.input(0), node.input(1)) else { return Ok(None) };
        let (Some(rank), Some(rows_rank)) = (self.rank(data), self.rank(rows)) else { return Ok(None) };
        let length = self.dim(rows, rows_rank.saturating_sub(1))?.as_constant();
        let (Some(length), Some(0) | None) =
            (length.and_then(|length| usize::try_from(length).ok()), node.int("batch_dims"))
        else {
            return Ok(None);
        };
        let (Some(row), Some(rest)) =
            (index.get(..rows_rank.saturating_sub(1)), index.get(rows_rank.saturating_sub(1)..))
        else {
            return Ok(None);
        };
        let mut source = Vec::new();
        for axis in 0..length.min(rank) {
            let at = self.integer(rows, &[row, &[Poly::constant(axis as i128)]].concat())?;
            let dim = self.dim(data, axis)?;
            let at = self.counted_from_end(at, &dim)?;
            self.in_range(&at, &dim)?;
            source.push(at);
        }
        source.extend(rest.iter().cloned());
        Ok((source.len() == rank).then_some((data, source)))
    }
}

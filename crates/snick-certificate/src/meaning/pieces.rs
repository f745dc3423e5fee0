//! Operations that join tensors, or select elements by index.

use super::Element;
use crate::case::{Case, Step, Stop, needed};
use crate::graph::{Node, Value};
use crate::poly::Poly;

impl Case<'_> {
    /// The length of a part of VariadicSplit; -1 is the rest of the axis.
    pub(super) fn part_size(&mut self, node: &Node, port: usize, axis: usize) -> Step<Poly> {
        let (data, lengths) = (needed(node.input(0))?, needed(node.input(2))?);
        let mut size = self.dim(data, axis)?;
        if self.known_axis(node, 1, self.rank(data)?)? != axis {
            return Ok(size);
        }
        let own = self.integer(lengths, &[Poly::constant(port as i128)])?;
        if self.ask(own.clone())? {
            return Ok(own);
        }
        for other in (0..node.outputs.len()).filter(|other| *other != port) {
            size = size.plus(-1, &self.integer(lengths, &[Poly::constant(other as i128)])?)?;
        }
        Ok(size)
    }

    pub(super) fn concatenated(&mut self, node: &Node, index: &[Poly]) -> Step<Element> {
        let axis = Self::axis(needed(node.int("axis"))?, index.len())?;
        let mut source = index.to_vec();
        let mut inputs = node.inputs.iter().copied().flatten().peekable();
        while let Some(input) = inputs.next() {
            let behind = source[axis].plus(-1, &self.dim(input, axis)?)?;
            if inputs.peek().is_none() || !self.ask(behind.clone())? {
                return Ok((input, source));
            }
            source[axis] = behind;
        }
        Err(Stop::Opaque)
    }

    pub(super) fn concatenated_size(&mut self, node: &Node, axis: usize) -> Step<Poly> {
        let rank = self.rank(needed(node.input(0))?)?;
        if Self::axis(needed(node.int("axis"))?, rank)? != axis {
            return Err(Stop::Opaque);
        }
        let mut size = Poly::ZERO;
        for input in node.inputs.iter().copied().flatten() {
            size = size.plus(1, &self.dim(input, axis)?)?;
        }
        Ok(size)
    }

    /// Elements outside of the data are the value of input 3.
    pub(super) fn padded(&mut self, node: &Node, data: Value, index: &[Poly]) -> Step<Element> {
        if node.text("pad_mode") != Some("constant") || self.rank(data)? != index.len() {
            return Err(Stop::Opaque);
        }
        let mut source = Vec::new();
        for (axis, at) in index.iter().enumerate() {
            let before = self.integer(needed(node.input(1))?, &[Poly::constant(axis as i128)])?;
            let (at, dim) = (at.plus(-1, &before)?, self.dim(data, axis)?);
            if !self.is_in_range(&at, &dim)? {
                return Ok((needed(node.input(3))?, Vec::new()));
            }
            source.push(at);
        }
        Ok((data, source))
    }

    pub(super) fn padded_size(&mut self, node: &Node, axis: usize) -> Step<Poly> {
        let mut size = self.dim(needed(node.input(0))?, axis)?;
        for port in [1, 2] {
            size =
                size.plus(1, &self.integer(needed(node.input(port))?, &[Poly::constant(axis as i128)])?)?;
        }
        Ok(size)
    }

    fn is_in_range(&mut self, index: &Poly, dim: &Poly) -> Step<bool> {
        Ok(self.ask(index.clone())? && !self.ask(index.plus(-1, dim)?)?)
    }

    /// An index out of range yields zeros, or is an error with `checks_indices` and if the axis is empty.
    pub(super) fn gathered(&mut self, node: &Node, data: Value, index: &[Poly]) -> Step<Element> {
        let indices = needed(node.input(1))?;
        let indices_rank = self.rank(indices)?;
        let axis = self.known_axis(node, 2, self.rank(data)?)?;
        let batch = node.int("batch_dims").unwrap_or(0);
        let batch = if batch < 0 { batch + indices_rank as i64 } else { batch };
        let batch = needed(usize::try_from(batch).ok().filter(|batch| *batch <= axis.min(indices_rank)))?;
        let inner = axis + indices_rank - batch;
        let (outer, middle) = (needed(index.get(..axis))?, needed(index.get(axis..inner))?);
        let at = self.integer(indices, &[&index[..batch], middle].concat())?;
        let dim = self.dim(data, axis)?;
        self.require(dim.plus_constant(-1)?, "an axis may be empty")?;
        let at = self.counted_from_end(at, &dim)?;
        if node.is_set("checks_indices") {
            self.in_range(&at, &dim)?;
        } else if !self.is_in_range(&at, &dim)? {
            return Err(Stop::Opaque);
        }
        Ok((data, [outer, &[at], &index[inner..]].concat()))
    }

    /// GatherND: each row of the indices is the start of an index.
    pub(super) fn gathered_by_rows(&mut self, node: &Node, data: Value, index: &[Poly]) -> Step<Element> {
        let rows = needed(node.input(1))?;
        let last = needed(self.rank(rows)?.checked_sub(1))?;
        let length = needed(self.dim(rows, last)?.as_constant())?;
        let (rank, length) = (self.rank(data)?, needed(usize::try_from(length).ok())?);
        if node.int("batch_dims").is_some_and(|batch| batch != 0) || length > rank {
            return Err(Stop::Opaque);
        }
        let mut source = Vec::new();
        for axis in 0..length {
            let row = [needed(index.get(..last))?, &[Poly::constant(axis as i128)]].concat();
            let (at, dim) = (self.integer(rows, &row)?, self.dim(data, axis)?);
            let at = self.counted_from_end(at, &dim)?;
            self.in_range(&at, &dim)?;
            source.push(at);
        }
        source.extend_from_slice(&index[last..]);
        Ok((data, source))
    }
}

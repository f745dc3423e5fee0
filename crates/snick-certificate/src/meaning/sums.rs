//! Operations that combine the elements along axes: unknown functions of all these elements, in order. Element-wise
//! operations combine one element of each input, along no axis.

use super::Element;
use crate::atoms::Atom;
use crate::case::{Case, Step, Stop, needed};
use crate::graph::{Attribute, Node, Value};
use crate::poly::Poly;

impl Node {
    /// The attributes that have no entry in the table of meanings.
    pub(crate) fn other_attributes(&self) -> impl Iterator<Item = (&String, &Attribute)> {
        self.attributes.iter().filter(|(name, _)| {
            self.op != "MatMul" || !matches!(name.as_str(), "transpose_a" | "transpose_b")
        })
    }
}

impl Case<'_> {
    /// The size of an axis of the output.
    pub(super) fn combined_size(&mut self, node: &Node, value: Value, axis: usize) -> Step<Poly> {
        let data = needed(node.input(0))?;
        let rank = self.rank(data)?;
        match node.op.as_str() {
            "MatMul" => match self.rank(value)?.wrapping_sub(axis) {
                1 => self.matrix_size(node, 1, 1),
                2 => self.matrix_size(node, 0, 2),
                _ => self.broadcast_size(node, value, axis),
            },
            "Softmax" | "LogSoftmax" => self.dim(data, axis),
            _ => {
                let axes = self.reduced_axes(node, rank)?;
                let mut kept = (0..rank).filter(|axis| node.is_set("keep_dims") || !axes.contains(axis));
                let source = needed(kept.nth(axis))?;
                if axes.contains(&source) { Ok(Poly::constant(1)) } else { self.dim(data, source) }
            }
        }
    }

    /// The number of rows (2) or columns (1) of a factor of a product, after it is transposed.
    fn matrix_size(&mut self, node: &Node, port: usize, from_end: usize) -> Step<Poly> {
        let factor = needed(node.input(port))?;
        let is_transposed = node.is_set(if port == 0 { "transpose_a" } else { "transpose_b" });
        let matrix = needed(self.rank(factor)?.checked_sub(2))?;
        self.dim(factor, matrix + usize::from((from_end == 1) != is_transposed))
    }

    /// The sizes of the axes that are combined. Both factors of a product have such an axis, of the same size.
    fn combined_sizes(&mut self, node: &Node) -> Step<Vec<Poly>> {
        let data = needed(node.input(0))?;
        let rank = self.rank(data)?;
        match node.op.as_str() {
            "MatMul" => Ok(vec![self.matrix_size(node, 0, 1)?, self.matrix_size(node, 1, 2)?]),
            "Softmax" | "LogSoftmax" => {
                let axis = Self::axis(needed(node.int("axis"))?, rank)?;
                Ok(vec![self.dim(data, axis)?])
            }
            _ if node.is_elementwise() => Ok(Vec::new()),
            _ => self.reduced_axes(node, rank)?.into_iter().map(|axis| self.dim(data, axis)).collect(),
        }
    }

    /// The axes of a reduction in ascending order.
    fn reduced_axes(&self, node: &Node, rank: usize) -> Step<Vec<usize>> {
        if !node.op.starts_with("Reduce") {
            return Err(Stop::Opaque);
        }
        let axes = self.constants(node, 1)?.into_iter().map(|axis| Self::axis(axis, rank));
        let axes = axes.collect::<Step<Vec<_>>>()?;
        Ok((0..rank).filter(|axis| axes.contains(axis)).collect())
    }

    /// The elements that an element combines, at one index of the axes that are combined. These are the same for
    /// the compared elements. `None` if there is no such index.
    pub(crate) fn combined(
        &mut self,
        elements: [(Value, &Node, &[Poly]); 2],
    ) -> Step<Option<[Vec<Element>; 2]>> {
        let [sizes, others] = elements.map(|(_, node, _)| self.combined_sizes(node));
        let (sizes, others) = (sizes?, others?);
        if !self.all_equal(&sizes, &others)? {
            return Err(Stop::Opaque);
        }
        let combination = self.next_combination();
        let mut at = Vec::new();
        for (axis, size) in sizes.iter().enumerate() {
            let last = size.plus_constant(-1)?;
            if !self.ask(last.clone())? {
                return Ok(None);
            }
            at.push(self.atom(Atom::Combined(combination, axis), Some(0), Some(last))?);
        }
        let [before, after] = elements.map(|(value, node, index)| self.combined_at(value, node, index, &at));
        Ok(Some([before?, after?]))
    }

    fn combined_at(&mut self, value: Value, node: &Node, index: &[Poly], at: &[Poly]) -> Step<Vec<Element>> {
        let data = needed(node.input(0))?;
        let rank = self.rank(data)?;
        match node.op.as_str() {
            _ if node.is_elementwise() => self.operands(value, node, index),
            "MatMul" => self.multiplied(value, node, index, &at[0]),
            "Softmax" | "LogSoftmax" => {
                let mut other = index.to_vec();
                other[Self::axis(needed(node.int("axis"))?, rank)?] = at[0].clone();
                Ok(vec![(data, index.to_vec()), (data, other)])
            }
            _ => {
                let axes = self.reduced_axes(node, rank)?;
                let (mut at, mut index) = (at.iter(), index.iter());
                let mut source = Vec::new();
                for axis in 0..rank {
                    let is_reduced = axes.contains(&axis);
                    let kept = if is_reduced && !node.is_set("keep_dims") { None } else { index.next() };
                    source.push(needed(if is_reduced { at.next() } else { kept })?.clone());
                }
                Ok(vec![(data, source)])
            }
        }
    }

    /// The factors of a product of matrices, whose leading axes are broadcast.
    fn multiplied(&mut self, value: Value, node: &Node, index: &[Poly], at: &Poly) -> Step<Vec<Element>> {
        let dims = self.dims(value)?;
        let batch = needed(index.len().checked_sub(2))?;
        let (row, column) = (&index[batch], &index[batch + 1]);
        let mut factors = Vec::new();
        for (port, name, pair) in [(0, "transpose_a", [row, at]), (1, "transpose_b", [at, column])] {
            let input = needed(node.input(port))?;
            let own = self.dims(input)?;
            let matrix = needed(own.len().checked_sub(2))?;
            let pair = if node.is_set(name) { [pair[1], pair[0]] } else { pair }.map(Clone::clone);
            let sizes = [&dims[..batch], &own[matrix..]].concat();
            factors.push(self.element_of(input, &sizes, &[&index[..batch], &pair].concat())?);
        }
        Ok(factors)
    }
}

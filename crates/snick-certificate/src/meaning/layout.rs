//! Operations that rearrange or repeat all elements.

use super::Element;
use crate::case::{Case, Step, fits};
use crate::graph::{Node, Value};
use crate::poly::Poly;

impl Case<'_> {
    pub(super) fn transposed(&mut self, node: &Node, index: &[Poly]) -> Step<Option<Element>> {
        let Some(data) = node.input(0) else { return Ok(None) };
        let mut order = match node.input(1) {
            Some(_) => match self.constants(node, 1) {
                Some(order) => order,
                None => return Ok(None),
            },
            None => Vec::new(),
        };
        if order.is_empty() {
            order = (0..index.len() as i64).rev().collect();
        }
        let mut source = vec![None; index.len()];
        for (axis, at) in order.into_iter().zip(index) {
            let Some(axis) = Self::axis(axis, index.len()) else { return Ok(None) };
            source[axis] = Some(at.clone());
        }
        Ok(source.into_iter().collect::<Option<_>>().map(|source| (data, source)))
    }

    /// Elements keep their row-major order.
    pub(super) fn reshaped(&mut self, node: &Node, value: Value, index: &[Poly]) -> Step<Option<Element>> {
        let Some(data) = node.input(0) else { return Ok(None) };
        let (inner, outer) = (self.dims(data)?, self.dims(value)?);
        // Axes of size 1 have the index 0, and do not change the order.
        let one = Poly::constant(1);
        let long = |dims: &[Poly]| (0..dims.len()).filter(|&axis| dims[axis] != one).collect::<Vec<_>>();
        let (mut sources, mut targets) = (long(&inner), long(&outer));
        let mut source = vec![Poly::default(); inner.len()];
        while !(sources.is_empty() && targets.is_empty()) {
            // The first axes with the same number of elements.
            let Some((m, n)) = self.first_equal_groups(&inner, &sources, &outer, &targets)? else {
                return Ok(None);
            };
            let (own, others): (Vec<_>, Vec<_>) =
                (sources.drain(..m).collect(), targets.drain(..n).collect());
            let pick = |list: &[Poly], axes: &[usize]| {
                axes.iter().map(|&axis| list[axis].clone()).collect::<Vec<_>>()
            };
            let mut rest = self.flat(&pick(&outer, &others), &pick(index, &others))?;
            for (i, &axis) in own.iter().enumerate() {
                let stride =
                    own[i + 1..].iter().try_fold(one.clone(), |product, &axis| product.times(&inner[axis]));
                let stride = fits(stride)?;
                let at = if stride == one { Some(rest.clone()) } else { self.quotient(&rest, &stride)? };
                let Some(at) = at else { return Ok(None) };
                rest = fits(rest.plus(-1, &fits(stride.times(&at))?))?;
                source[axis] = at;
            }
        }
        Ok(Some((data, source)))
    }

    /// How many leading axes of each side hold the same number of elements; as few as possible.
    fn first_equal_groups(
        &mut self,
        inner: &[Poly],
        sources: &[usize],
        outer: &[Poly],
        targets: &[usize],
    ) -> Step<Option<(usize, usize)>> {
        let products = |dims: &[Poly], axes: &[usize]| {
            let mut product = Poly::constant(1);
            let mut products = vec![product.clone()];
            for &axis in axes {
                product = fits(product.times(&dims[axis]))?;
                products.push(product.clone());
            }
            Ok(products)
        };
        let (left, right) = (products(inner, sources)?, products(outer, targets)?);
        for is_proved in [false, true] {
            for total in 1..left.len() + right.len() - 1 {
                for m in 0..=total.min(left.len() - 1) {
                    let (Some(a), Some(b)) = (left.get(m), right.get(total - m)) else { continue };
                    if a == b || is_proved && self.equal(a, b)? {
                        return Ok(Some((m, total - m)));
                    }
                }
            }
        }
        let (Some(a), Some(b)) = (left.last(), right.last()) else { return Ok(None) };
        for (a, b) in [(a, b), (b, a)] {
            self.require(fits(a.plus(-1, b))?, "the number of elements may differ")?;
        }
        Ok(Some((sources.len(), targets.len())))
    }

    pub(super) fn broadcast(&mut self, node: &Node, value: Value, index: &[Poly]) -> Step<Option<Element>> {
        let Some(data) = node.input(0) else { return Ok(None) };
        let dims = self.dims(value)?;
        match node.text("mode") {
            Some("numpy" | "bidirectional") => self.element_of(data, &dims, index),
            Some("explicit" | "none") if node.input(2).is_some() => {
                let Some(mapping) = self.constants(node, 2) else { return Ok(None) };
                let mapping: Option<Vec<usize>> =
                    mapping.into_iter().map(|axis| Self::axis(axis, index.len())).collect();
                let Some(mapping) = mapping else { return Ok(None) };
                let pick = |list: &[Poly]| mapping.iter().map(|&axis| list[axis].clone()).collect::<Vec<_>>();
                self.element_of(data, &pick(&dims), &pick(index))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn tiled(&mut self, node: &Node, index: &[Poly]) -> Step<Option<Element>> {
        let Some(data) = node.input(0) else { return Ok(None) };
        let dims = self.dims(data)?;
        let Some(skipped) = index.len().checked_sub(dims.len()) else { return Ok(None) };
        let mut source = Vec::new();
        for (dim, at) in dims.iter().zip(&index[skipped..]) {
            let Some(copies) = self.quotient(at, dim)? else { return Ok(None) };
            source.push(fits(at.plus(-1, &fits(copies.times(dim))?))?);
        }
        Ok(Some((data, source)))
    }

    pub(super) fn rolled(&mut self, node: &Node, index: &[Poly]) -> Step<Option<Element>> {
        let (Some(data), Some(shifts), Some(axes)) =
            (node.input(0), self.constants(node, 1), self.constants(node, 2))
        else {
            return Ok(None);
        };
        let is_scalar = node.input(1).and_then(|shifts| self.rank(shifts)) == Some(0);
        let mut index = index.to_vec();
        for (i, axis) in axes.into_iter().enumerate() {
            let shift = shifts.get(if is_scalar { 0 } else { i });
            let (Some(&shift), Some(axis)) = (shift, Self::axis(axis, index.len())) else { return Ok(None) };
            let dim = self.dim(data, axis)?;
            let moved = fits(index[axis].plus_constant(-i128::from(shift)))?;
            let Some(turns) = self.quotient(&moved, &dim)? else { return Ok(None) };
            index[axis] = fits(moved.plus(-1, &fits(turns.times(&dim))?))?;
        }
        Ok(Some((data, index)))
    }
}

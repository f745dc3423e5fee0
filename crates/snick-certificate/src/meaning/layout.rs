//! Operations that rearrange or repeat all elements.

use super::Element;
use crate::case::{Case, Step, Stop, needed};
use crate::graph::{Node, Value};
use crate::poly::Poly;

impl Case<'_> {
    pub(super) fn transposed(&mut self, node: &Node, data: Value, index: &[Poly]) -> Step<Element> {
        let order = node.input(1).map_or(Ok(Vec::new()), |_| self.constants(node, 1))?;
        let mut source = vec![None; index.len()];
        for (i, at) in index.iter().enumerate() {
            // Without an order, the axes are reversed.
            let reversed = (index.len() - 1 - i) as i64;
            let axis = if order.is_empty() { reversed } else { *needed(order.get(i))? };
            source[Self::axis(axis, index.len())?] = Some(at.clone());
        }
        Ok((data, needed(source.into_iter().collect())?))
    }

    /// Elements keep their row-major order.
    pub(super) fn reshaped(&mut self, data: Value, value: Value, index: &[Poly]) -> Step<Element> {
        let (inner, outer) = (self.dims(data)?, self.dims(value)?);
        // Axes of size 1 have the index 0, and do not change the order.
        let one = Poly::constant(1);
        let long = |dims: &[Poly]| (0..dims.len()).filter(|&axis| dims[axis] != one).collect::<Vec<_>>();
        let (mut sources, mut targets) = (long(&inner), long(&outer));
        let mut source = vec![Poly::ZERO; inner.len()];
        while !(sources.is_empty() && targets.is_empty()) {
            // The first axes with the same number of elements.
            let (m, n) = self.first_equal_groups(&pick(&inner, &sources), &pick(&outer, &targets))?;
            let own: Vec<_> = sources.drain(..m).collect();
            let others: Vec<_> = targets.drain(..n).collect();
            let mut rest = Self::flat(&pick(&outer, &others), &pick(index, &others))?;
            for (i, &axis) in own.iter().enumerate() {
                let mut inside = own[i + 1..].iter();
                let stride = inside.try_fold(one.clone(), |product, &axis| product.times(&inner[axis]))?;
                let at = if stride == one { rest.clone() } else { self.quotient(&rest, &stride)? };
                rest = rest.plus(-1, &stride.times(&at)?)?;
                source[axis] = at;
            }
        }
        Ok((data, source))
    }

    /// How many leading sizes of each side have the same product; as few as possible.
    fn first_equal_groups(&mut self, inner: &[Poly], outer: &[Poly]) -> Step<(usize, usize)> {
        let products = |dims: &[Poly]| {
            let mut products = vec![Poly::constant(1)];
            for (i, dim) in dims.iter().enumerate() {
                products.push(products[i].times(dim)?);
            }
            Step::Ok(products)
        };
        let (left, right) = (products(inner)?, products(outer)?);
        for is_proved in [false, true] {
            for total in 1..=inner.len() + outer.len() {
                for m in total.saturating_sub(outer.len())..=total.min(inner.len()) {
                    let (a, b) = (&left[m], &right[total - m]);
                    if a == b || is_proved && self.equal(a, b)? {
                        return Ok((m, total - m));
                    }
                }
            }
        }
        let (a, b) = (&left[inner.len()], &right[outer.len()]);
        for (a, b) in [(a, b), (b, a)] {
            self.require(a.plus(-1, b)?, "the number of elements may differ")?;
        }
        Ok((inner.len(), outer.len()))
    }

    pub(super) fn broadcast(&mut self, node: &Node, value: Value, index: &[Poly]) -> Step<Element> {
        let (data, dims) = (needed(node.input(0))?, self.dims(value)?);
        match node.text("mode") {
            Some("numpy" | "bidirectional") => self.element_of(data, &dims, index),
            Some("explicit" | "none") => {
                let mapping = self.constants(node, 2)?.into_iter().map(|axis| Self::axis(axis, index.len()));
                let mapping = mapping.collect::<Step<Vec<_>>>()?;
                self.element_of(data, &pick(&dims, &mapping), &pick(index, &mapping))
            }
            _ => Err(Stop::Opaque),
        }
    }

    pub(super) fn tiled(&mut self, data: Value, index: &[Poly]) -> Step<Element> {
        let dims = self.dims(data)?;
        let skipped = needed(index.len().checked_sub(dims.len()))?;
        let source = dims.iter().zip(&index[skipped..]).map(|(dim, at)| self.remainder(at, dim));
        Ok((data, source.collect::<Step<_>>()?))
    }

    pub(super) fn rolled(&mut self, node: &Node, data: Value, index: &[Poly]) -> Step<Element> {
        let (shifts, axes) = (self.constants(node, 1)?, self.constants(node, 2)?);
        let is_scalar = self.rank(needed(node.input(1))?)? == 0;
        let mut source = index.to_vec();
        for (i, axis) in axes.into_iter().enumerate() {
            let shift = *needed(shifts.get(if is_scalar { 0 } else { i }))?;
            let axis = Self::axis(axis, index.len())?;
            let dim = self.dim(data, axis)?;
            source[axis] = self.remainder(&source[axis].plus_constant(-i128::from(shift))?, &dim)?;
        }
        Ok((data, source))
    }

    /// `a` modulo `b`, where `b` must be known to be at least 1.
    pub(super) fn remainder(&mut self, a: &Poly, b: &Poly) -> Step<Poly> {
        Ok(a.plus(-1, &self.quotient(a, b)?.times(b)?)?)
    }
}

fn pick(list: &[Poly], axes: &[usize]) -> Vec<Poly> {
    axes.iter().map(|&axis| list[axis].clone()).collect()
}

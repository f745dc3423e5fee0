//! Integers of shape arithmetic.
//!
//! The checker assumes that arithmetic on sizes does not overflow. It does not assume this for integers that
//! depend on elements of inputs: their sums and products are only known if they are proved to fit in their type.

use crate::atoms::Atom;
use crate::case::{Case, Step, Stop, if_known, needed};
use crate::graph::{Node, Value};
use crate::poly::Poly;

/// Constants with more elements are not distinguished element by element.
const MAX_CASES: usize = 16;

/// Most factors and summands of a reduction that is written out.
const MAX_REDUCED: i64 = 16;

impl Case<'_> {
    /// The only element of a tensor with one element.
    pub(super) fn scalar(&mut self, value: Value) -> Step<Poly> {
        let rank = self.rank(value).unwrap_or(0);
        self.integer(value, &vec![Poly::ZERO; rank])
    }

    /// An element of an integer tensor.
    pub(crate) fn integer(&mut self, value: Value, index: &[Poly]) -> Step<Poly> {
        let mut origins = self.origins((value, index.to_vec()))?;
        let (value, index) = needed(origins.pop())?;
        match self.nested(|case| if_known(case.known_integer(value, &index)))? {
            Some(known) => Ok(known),
            None => {
                let (low, high) = self.type_range(value).unzip();
                self.atom(Atom::Element(value, index), low, high.map(|high| Poly::constant(high.into())))
            }
        }
    }

    /// An element of an integer tensor, as a polynomial.
    pub(crate) fn known_integer(&mut self, value: Value, index: &[Poly]) -> Step<Poly> {
        let graph = self.graph;
        if let Some(integers) = graph.integers(value) {
            return self.constant_element(value, integers, index);
        }
        let node = needed(graph.function(value))?;
        match (node.op.as_str(), index) {
            _ if !self.is_integer(value) && self.element_type(value) != Some("boolean") => Err(Stop::Opaque),
            ("ShapeOf", [at]) => {
                let data = needed(node.input(0))?;
                let rank = self.rank(self.first(data))?;
                self.one_of(rank, at, |case, axis| case.dim(data, axis))
            }
            ("bounds", _) => {
                let (start, length) = self.bounds(node)?;
                Ok(if value.port == 0 { start } else { length })
            }
            ("Range", [at]) => {
                let (start, step) = (needed(node.input(0))?, needed(node.input(2))?);
                if !self.is_integer(start) || !self.is_integer(step) {
                    return Err(Stop::Opaque);
                }
                Ok(self.scalar(start)?.plus(1, &self.scalar(step)?.times(at)?)?)
            }
            ("ReduceProd" | "ReduceSum" | "ReduceMax" | "ReduceMin", _) => self.reduced(node),
            _ => self.computed(value, node, index),
        }
    }

    /// An element of a constant: of an arithmetic progression by its formula, of any other short one by cases.
    fn constant_element(&mut self, value: Value, integers: &[i64], index: &[Poly]) -> Step<Poly> {
        let dims = self.dims(value)?;
        let flat = Self::flat(&dims, index)?;
        if let Some(at) = flat.as_constant() {
            let integer = usize::try_from(at).ok().and_then(|at| integers.get(at));
            return Ok(Poly::constant(i128::from(*needed(integer)?)));
        }
        let number = |at: usize| integers.get(at).map_or(0, |int| i128::from(*int));
        let step = if integers.len() > 1 { number(1) - number(0) } else { 0 };
        if (1..integers.len()).all(|at| number(at) - number(at - 1) == step) {
            return Ok(Poly::constant(number(0)).plus(step, &flat)?);
        }
        if integers.len() > MAX_CASES {
            return Err(Stop::Opaque);
        }
        self.one_of(integers.len(), &flat, |_, at| Ok(Poly::constant(number(at))))
    }

    /// One of several integers, by its number.
    fn one_of(
        &mut self,
        count: usize,
        at: &Poly,
        get: impl Fn(&mut Self, usize) -> Step<Poly>,
    ) -> Step<Poly> {
        let last = needed(count.checked_sub(1))?;
        for i in 0..last {
            if self.ask(Poly::constant(i as i128).plus(-1, at)?)? {
                return get(self, i);
            }
        }
        get(self, last)
    }

    /// The reduction of all elements of a short tensor with one axis.
    fn reduced(&mut self, node: &Node) -> Step<Poly> {
        let data = needed(node.input(0))?;
        let length = self.static_length(data)?;
        self.known_axis(node, 1, 1)?;
        if !(1..=MAX_REDUCED).contains(&length) || !self.is_integer(data) {
            return Err(Stop::Opaque);
        }
        let mut reduced = self.integer(data, &[Poly::ZERO])?;
        for at in 1..length {
            let next = self.integer(data, &[Poly::constant(at.into())])?;
            reduced = match node.op.as_str() {
                "ReduceProd" => next.times(&reduced)?,
                "ReduceSum" => next.plus(1, &reduced)?,
                "ReduceMax" => self.max(&reduced, &next)?,
                _ => self.min(reduced, next)?,
            };
        }
        needed(Some(reduced).filter(|reduced| self.is_size(reduced)))
    }

    /// Arithmetic on sizes.
    fn computed(&mut self, value: Value, node: &Node, index: &[Poly]) -> Step<Poly> {
        let is_boolean = self.element_type(value) == Some("boolean");
        for input in node.inputs.iter().copied().flatten() {
            needed(self.type_range(input))?;
        }
        let mut numbers = Vec::new();
        for (operand, index) in self.operands(value, node, index)? {
            numbers.push(self.integer(operand, &index)?);
        }
        let truth = |is_true: bool| Poly::constant(is_true.into());
        let computed = match (node.op.as_str(), numbers.as_slice()) {
            ("Convert" | "ConvertLike", [a, ..]) if !is_boolean => a.clone(),
            ("Add", [a, b]) => a.plus(1, b)?,
            ("Subtract", [a, b]) => a.plus(-1, b)?,
            ("Multiply" | "LogicalAnd", [a, b]) => a.times(b)?,
            ("Negative", [a]) => a.times_constant(-1)?,
            ("Maximum", [a, b]) => self.max(a, b)?,
            ("Minimum", [a, b]) => self.min(a.clone(), b.clone())?,
            ("Abs", [a]) => self.max(a, &a.times_constant(-1)?)?,
            ("ReLU", [a]) => self.max(a, &Poly::ZERO)?,
            ("Divide" | "FloorMod" | "Mod", [a, b]) => {
                let rounds_down = node.op == "FloorMod" || node.is_set("m_pythondiv");
                if !rounds_down && !self.holds(a.clone())? {
                    return Err(Stop::Opaque);
                }
                if node.op == "Divide" { self.quotient(a, b)? } else { self.remainder(a, b)? }
            }
            ("Select", [condition, yes, no]) => {
                if needed(condition.as_constant())? == 0 {
                    no.clone()
                } else {
                    yes.clone()
                }
            }
            ("LogicalNot", [a]) => Poly::constant(1).plus(-1, a)?,
            ("Less", [a, b]) => truth(!self.ask(a.plus(-1, b)?)?),
            ("GreaterEqual", [a, b]) => truth(self.ask(a.plus(-1, b)?)?),
            ("Greater", [a, b]) => truth(!self.ask(b.plus(-1, a)?)?),
            ("LessEqual", [a, b]) => truth(self.ask(b.plus(-1, a)?)?),
            ("Equal" | "NotEqual", [a, b]) => {
                let is_equal = self.ask(a.plus(-1, b)?)? && self.ask(b.plus(-1, a)?)?;
                truth(is_equal == (node.op == "Equal"))
            }
            _ => return Err(Stop::Opaque),
        };
        // Constants far beyond all sizes, such as the end of a slice that means "all", may overflow.
        let is_small = computed.terms().all(|(_, coefficient)| i32::try_from(coefficient).is_ok());
        let is_size = is_small && computed.as_constant().is_none() && self.is_size(&computed);
        if is_size || self.fits_type(&computed, value)? { Ok(computed) } else { Err(Stop::Opaque) }
    }

    /// Whether an integer is known not to overflow the type of a value.
    fn fits_type(&mut self, integer: &Poly, value: Value) -> Step<bool> {
        let (low, high) = needed(self.type_range(value))?;
        Ok(self.holds(integer.plus_constant(-i128::from(low))?)?
            && self.holds(Poly::constant(high.into()).plus(-1, integer)?)?)
    }

    /// The least and the greatest integer of the element type of a value.
    fn type_range(&self, value: Value) -> Option<(i64, i64)> {
        Some(match self.element_type(value)? {
            "i64" => (i64::MIN, i64::MAX),
            "i32" => (i32::MIN.into(), i32::MAX.into()),
            "i16" => (i16::MIN.into(), i16::MAX.into()),
            "i8" => (i8::MIN.into(), i8::MAX.into()),
            "u32" => (0, u32::MAX.into()),
            "u16" => (0, u16::MAX.into()),
            "u8" => (0, u8::MAX.into()),
            "boolean" => (0, 1),
            _ => return None,
        })
    }

    /// Whether a polynomial consists of sizes, without elements of tensors.
    fn is_size(&self, poly: &Poly) -> bool {
        poly.terms().flat_map(|(monomial, _)| monomial).all(|atom| match self.atoms.get(*atom) {
            Some(Atom::Index(_) | Atom::Combined(..) | Atom::Dim(..)) => true,
            Some(Atom::Quotient(a, b)) => self.is_size(a) && self.is_size(b),
            Some(Atom::Function(_, arguments)) => arguments.iter().flatten().all(|poly| self.is_size(poly)),
            Some(Atom::Element(..)) | None => false,
        })
    }

    /// Whether elements have a type that sizes fit in.
    fn is_integer(&self, value: Value) -> bool {
        matches!(self.element_type(value), Some("i64" | "i32"))
    }

    /// The row-major position of an index.
    pub(crate) fn flat(dims: &[Poly], index: &[Poly]) -> Step<Poly> {
        let mut flat = Poly::ZERO;
        for (dim, index) in dims.iter().zip(index) {
            flat = flat.times(dim)?.plus(1, index)?;
        }
        Ok(flat)
    }
}

//! Integers of shape arithmetic.
//!
//! The checker assumes that arithmetic on sizes does not overflow. It does not assume this for integers that
//! depend on elements of inputs: their sums and products are only known if they are proved to fit in their type.

use super::Element;
use crate::atoms::Atom;
use crate::case::{Case, Step, fits};
use crate::graph::{Node, Value};
use crate::poly::Poly;

/// Constants with more elements are not distinguished element by element.
const MAX_CASES: usize = 16;

/// Most factors and summands of a reduction that is written out.
const MAX_REDUCED: i64 = 16;

impl Case<'_> {
    /// The only element of a tensor with one element.
    pub(crate) fn scalar(&mut self, value: Value) -> Step<Poly> {
        let rank = self.rank(value).unwrap_or(0);
        self.integer(value, &vec![Poly::default(); rank])
    }

    /// An element of an integer tensor.
    pub(crate) fn integer(&mut self, value: Value, index: &[Poly]) -> Step<Poly> {
        let mut origins = self.origins((value, index.to_vec()))?;
        // There is always one: the element itself.
        let Some((value, index)) = origins.pop() else { return Ok(Poly::default()) };
        match self.nested(|case| case.known_integer(value, &index))? {
            Some(known) => Ok(known),
            None => {
                let range = self.type_range(value);
                let high = range.map(|(_, high)| Poly::constant(i128::from(high)));
                self.atom(Atom::Element(value, index), range.map(|(low, _)| low), high)
            }
        }
    }

    /// An element of an integer tensor, as a polynomial.
    pub(crate) fn known_integer(&mut self, value: Value, index: &[Poly]) -> Step<Option<Poly>> {
        let graph = self.graph;
        if let Some(integers) = graph.integers(value) {
            return self.constant_element(value, integers, index);
        }
        let Some(node) = graph.function(value).filter(|_| self.is_exact(value)) else { return Ok(None) };
        match node.op.as_str() {
            "ShapeOf" => {
                let (Some(data), [at]) = (node.input(0), index) else { return Ok(None) };
                let Some(rank) = self.rank(self.first(data)) else { return Ok(None) };
                self.one_of(rank, at, |case, axis| case.dim(data, axis))
            }
            "bounds" => {
                Ok(self.bounds(node)?.map(|[start, length]| if value.port == 0 { start } else { length }))
            }
            "Range" => self.range_element(node, index),
            "ReduceProd" | "ReduceSum" | "ReduceMax" | "ReduceMin" => self.reduced(node),
            _ => self.computed(value, node, index),
        }
    }

    fn range_element(&mut self, node: &Node, index: &[Poly]) -> Step<Option<Poly>> {
        let (Some(start), Some(step), [at]) = (node.input(0), node.input(2), index) else { return Ok(None) };
        let is_whole = [start, step].iter().all(|input| self.is_integer(*input));
        if !is_whole {
            return Ok(None);
        }
        let (start, step) = (self.scalar(start)?, self.scalar(step)?);
        Ok(start.plus(1, &fits(step.times(at))?))
    }

    /// An element of a constant: of an arithmetic progression by its formula, of any other short one by cases.
    fn constant_element(&mut self, value: Value, integers: &[i64], index: &[Poly]) -> Step<Option<Poly>> {
        let flat = match index {
            [] => Poly::default(),
            [at] => at.clone(),
            _ => {
                let dims = self.dims(value)?;
                self.flat(&dims, index)?
            }
        };
        let number = |at: usize| integers.get(at).map_or(0, |int| i128::from(*int));
        if let Some(at) = flat.as_constant().and_then(|at| usize::try_from(at).ok()) {
            return Ok(integers.get(at).map(|int| Poly::constant(i128::from(*int))));
        }
        let step = if integers.len() > 1 { number(1) - number(0) } else { 0 };
        if (1..integers.len()).all(|at| number(at) - number(at - 1) == step) {
            return Ok(Poly::constant(number(0)).plus(step, &flat));
        }
        if integers.len() > MAX_CASES {
            return Ok(None);
        }
        self.one_of(integers.len(), &flat, |_, at| Ok(Poly::constant(number(at))))
    }

    /// One of several integers, by its number.
    fn one_of(
        &mut self,
        count: usize,
        at: &Poly,
        mut get: impl FnMut(&mut Self, usize) -> Step<Poly>,
    ) -> Step<Option<Poly>> {
        for i in 1..count {
            let is_before = fits(Poly::constant(i as i128 - 1).plus(-1, at))?;
            if self.ask(is_before)? {
                return get(self, i - 1).map(Some);
            }
        }
        if count == 0 { Ok(None) } else { get(self, count - 1).map(Some) }
    }

    /// The reduction of all elements of a short tensor with one axis.
    fn reduced(&mut self, node: &Node) -> Step<Option<Poly>> {
        let Some(data) = node.input(0) else { return Ok(None) };
        let length = self.static_length(data).filter(|length| (1..=MAX_REDUCED).contains(length));
        let (Some(length), Some([0 | -1])) = (length, self.constants(node, 1).as_deref()) else {
            return Ok(None);
        };
        if !self.is_integer(data) {
            return Ok(None);
        }
        let mut reduced = None;
        for at in 0..length {
            let next = self.integer(data, &[Poly::constant(i128::from(at))])?;
            reduced = Some(match (reduced, node.op.as_str()) {
                (None, _) => next,
                (Some(before), "ReduceProd") => fits(next.times(&before))?,
                (Some(before), "ReduceSum") => fits(next.plus(1, &before))?,
                (Some(before), "ReduceMax") => self.max(before, next)?,
                (Some(before), _) => self.min(before, next)?,
            });
        }
        Ok(reduced.filter(|reduced| self.is_size(reduced)))
    }

    /// Arithmetic on sizes.
    fn computed(&mut self, value: Value, node: &Node, index: &[Poly]) -> Step<Option<Poly>> {
        let is_boolean = self.graph.output(value).is_some_and(|out| out.element_type == "boolean");
        let inputs: Vec<Value> = node.inputs.iter().copied().flatten().collect();
        let is_convert = matches!(node.op.as_str(), "Convert" | "ConvertLike");
        let is_exact =
            |input: &Value| self.is_exact(*input) || is_convert && self.type_range(*input).is_some();
        if !(self.is_integer(value) || is_boolean)
            || !inputs.iter().take(if is_convert { 1 } else { inputs.len() }).all(is_exact)
        {
            return Ok(None);
        }
        let Some(operands) = self.operands(value, node, index)? else { return Ok(None) };
        let mut numbers = Vec::new();
        for (operand, index) in &operands {
            numbers.push(self.integer(*operand, index)?);
        }
        let one = Poly::constant(1);
        let as_bool = |is_true: bool| Some(Poly::constant(i128::from(is_true)));
        let computed = match (node.op.as_str(), numbers.as_slice()) {
            ("Convert" | "ConvertLike", [a, ..]) if !is_boolean => Some(a.clone()),
            ("Add", [a, b]) => a.plus(1, b),
            ("Subtract", [a, b]) => a.plus(-1, b),
            ("Multiply", [a, b]) => a.times(b),
            ("Negative", [a]) => a.times_constant(-1),
            ("Maximum", [a, b]) => Some(self.max(a.clone(), b.clone())?),
            ("Minimum", [a, b]) => Some(self.min(a.clone(), b.clone())?),
            ("Abs", [a]) => Some(self.max(a.clone(), fits(a.times_constant(-1))?)?),
            ("ReLU", [a]) => Some(self.max(a.clone(), Poly::default())?),
            ("Divide" | "FloorMod" | "Mod", [a, b]) => {
                let rounds_down = node.op == "FloorMod" || node.text("m_pythondiv") == Some("true");
                if !rounds_down && !self.holds(a.clone())? {
                    return Ok(None);
                }
                match (self.quotient(a, b)?, node.op.as_str()) {
                    (Some(quotient), "Divide") => Some(quotient),
                    (Some(quotient), _) => a.plus(-1, &fits(quotient.times(b))?),
                    (None, _) => None,
                }
            }
            ("Select", [condition, yes, no]) => {
                condition.as_constant().map(|condition| if condition == 0 { no.clone() } else { yes.clone() })
            }
            ("LogicalNot", [a]) => one.plus(-1, a),
            ("LogicalAnd", [a, b]) => a.times(b),
            ("Less", [a, b]) => as_bool(!self.ask(fits(a.plus(-1, b))?)?),
            ("GreaterEqual", [a, b]) => as_bool(self.ask(fits(a.plus(-1, b))?)?),
            ("Greater", [a, b]) => as_bool(!self.ask(fits(b.plus(-1, a))?)?),
            ("LessEqual", [a, b]) => as_bool(self.ask(fits(b.plus(-1, a))?)?),
            ("Equal" | "NotEqual", [a, b]) => {
                let is_equal = self.ask(fits(a.plus(-1, b))?)? && self.ask(fits(b.plus(-1, a))?)?;
                as_bool(is_equal == (node.op == "Equal"))
            }
            _ => None,
        };
        let Some(computed) = computed else { return Ok(None) };
        // Constants far beyond all sizes, such as the end of a slice that means "all", may overflow.
        let is_small = computed.terms().all(|(_, coefficient)| i32::try_from(coefficient).is_ok());
        let is_size = is_small && computed.as_constant().is_none() && self.is_size(&computed);
        Ok(if is_size || self.fits_type(&computed, value)? { Some(computed) } else { None })
    }

    /// Whether an integer is known not to overflow the type of a value.
    fn fits_type(&mut self, integer: &Poly, value: Value) -> Step<bool> {
        let Some((low, high)) = self.type_range(value) else { return Ok(true) };
        let above = fits(integer.plus_constant(-i128::from(low)))?;
        let below = fits(Poly::constant(i128::from(high)).plus(-1, integer))?;
        Ok(self.holds(above)? && self.holds(below)?)
    }

    /// The least and the greatest integer of the element type of a value.
    fn type_range(&self, value: Value) -> Option<(i64, i64)> {
        Some(match self.graph.output(value)?.element_type.as_str() {
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
        poly.terms().all(|(monomial, _)| {
            monomial.iter().all(|atom| match self.atoms.get(*atom) {
                Some(Atom::Index(_) | Atom::Dim(..)) => true,
                Some(Atom::Quotient(a, b)) => self.is_size(a) && self.is_size(b),
                Some(Atom::Function(_, arguments)) => {
                    arguments.iter().flatten().all(|poly| self.is_size(poly))
                }
                Some(Atom::Element(..)) | None => false,
            })
        })
    }

    /// Whether elements have a type that sizes fit in.
    fn is_integer(&self, value: Value) -> bool {
        self.graph.output(value).is_some_and(|out| matches!(out.element_type.as_str(), "i64" | "i32"))
    }

    fn is_exact(&self, value: Value) -> bool {
        self.is_integer(value) || self.graph.output(value).is_some_and(|out| out.element_type == "boolean")
    }

    /// The row-major position of an index.
    pub(crate) fn flat(&mut self, dims: &[Poly], index: &[Poly]) -> Step<Poly> {
        let mut flat = Poly::default();
        for (dim, index) in dims.iter().zip(index) {
            flat = fits(fits(flat.times(dim))?.plus(1, index))?;
        }
        Ok(flat)
    }

    /// An element of an input of an element-wise operation.
    pub(super) fn element_of(
        &mut self,
        input: Value,
        dims: &[Poly],
        index: &[Poly],
    ) -> Step<Option<Element>> {
        let own = self.dims(input)?;
        let Some(skipped) = index.len().checked_sub(own.len()) else { return Ok(None) };
        let mut at = Vec::new();
        for (axis, dim) in own.iter().enumerate() {
            let (Some(index), Some(size)) = (index.get(skipped + axis), dims.get(skipped + axis)) else {
                return Ok(None);
            };
            let is_repeated = match dim.as_constant() {
                Some(dim) => dim == 1,
                None => dim != size && !self.ask(fits(dim.plus_constant(-2))?)?,
            };
            at.push(if is_repeated { Poly::default() } else { index.clone() });
            // Sizes are equal, or one of them is 1.
            let size = if is_repeated { &Poly::constant(1) } else { size };
            for (a, b) in [(dim, size), (size, dim)] {
                self.require(fits(a.plus(-1, b))?, "sizes may differ")?;
            }
        }
        Ok(Some((input, at)))
    }
}

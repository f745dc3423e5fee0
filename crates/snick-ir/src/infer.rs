//! Inference: visits the nodes in topological order and computes facts for every output (`infer/walk.rs`).
//! Ops use [`Infer`]: the facts of their inputs, checks, and the arithmetic of dims (`infer/dims.rs`).

mod condition;
mod dependencies;
mod dims;
pub(crate) mod given_up;
mod input_symbols;
mod shared_sizes;
mod variables;
mod walk;

use snick_shape::{Birth, Interval, Origin, Shape, SymExpr, Symbols};
use snick_tensor::{ElementType, SmallVector};

use crate::fact::MAX_ELEMENTS;
use crate::{Declared, Fact, OpError, Output};

pub(crate) use condition::Demands;
pub use condition::{Condition, Conditions, EmptyAxes, IntegerRole};
pub use dependencies::{Dependencies, Part, ValuePart};
pub use given_up::{GIVEN_UP, NO_EXPRESSION, NO_RULE_FOR_RANK};
pub(crate) use variables::{Assumed, VariableValues};
pub(crate) use walk::{InferSession, infer_new};
pub use walk::{conditions, infer, infer_with};

fn saturating_product(dims: &[usize]) -> usize {
    dims.iter().fold(1, |n: usize, &d| n.saturating_mul(d))
}

/// The context in which an op infers its outputs: the facts of its inputs and the symbols of the graph.
///
/// ```
/// use snick::{Fact, Facts, Infer, OpError, Shape};
///
/// /// Doubles the last axis of its input, whatever its size.
/// fn infer(cx: &mut Infer<'_>) -> Result<Facts, OpError> {
///     cx.expect_rank(0, "1 or more", |rank| rank > 0)?;
///     let Some(mut dims) = cx.shape(0).dims().map(<[_]>::to_vec) else {
///         return Ok(Fact::new(cx.element_type(0), Shape::unranked()).into());
///     };
///     if let Some(last) = dims.last_mut() {
///         *last = cx.add(last, last);
///     }
///     Ok(Fact::new(cx.element_type(0), Shape::ranked(dims)).into())
/// }
/// ```
pub struct Infer<'a> {
    inputs: &'a [&'a Fact],
    outs: &'a [Output],
    symbols: &'a mut Symbols,
    errors: &'a mut Vec<OpError>,
    /// The conditions that this layer imposes on a run, if they are recorded.
    demands: Option<&'a mut Demands>,
    node: u32,
    fresh: u32,
}

impl<'a> Infer<'a> {
    /// Reports a recoverable error; inference continues with the facts that the op returns. Any facts are
    /// sound, because every run fails at this op.
    pub fn report(&mut self, error: OpError) {
        self.errors.push(error);
    }

    /// The number of inputs; the arity of the op has already been checked.
    pub fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether the op has no inputs.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// The fact of a required input.
    ///
    /// # Panics
    /// If the op has fewer inputs. The [`Arity`](crate::Arity) check ensures that required inputs exist; use
    /// [`Infer::optional`] for optional ones.
    pub fn input(&self, i: usize) -> &'a Fact {
        self.inputs[i]
    }

    /// The fact of an optional input.
    pub fn optional(&self, i: usize) -> Option<&'a Fact> {
        self.inputs.get(i).copied()
    }

    /// All inputs.
    pub fn inputs(&self) -> &'a [&'a Fact] {
        self.inputs
    }

    /// Shape of input `i`.
    pub fn shape(&self, i: usize) -> &'a Shape {
        &self.inputs[i].shape
    }

    /// Element type of input `i`.
    pub fn element_type(&self, i: usize) -> ElementType {
        self.inputs[i].element_type
    }

    /// The outputs declared in the file, for ops without an inference rule.
    pub fn declared(&self) -> impl Iterator<Item = Option<&'a Declared>> {
        self.outs.iter().map(|o| o.declared.as_ref())
    }

    /// The symbols of the graph.
    pub fn symbols(&mut self) -> &mut Symbols {
        self.symbols
    }

    /// The symbols of the graph, read-only.
    pub(crate) fn known_symbols(&self) -> &Symbols {
        self.symbols
    }

    /// The interval of an expression.
    pub fn interval(&self, expr: &SymExpr) -> Interval {
        self.symbols.interval(expr)
    }

    /// A new symbol that originates at this node and is known only by its interval, because it depends on
    /// run-time data. See [`Infer::born`] for other reasons.
    pub fn unknown(&mut self, interval: Interval) -> SymExpr {
        let origin = self.origin();
        self.symbols.fresh(interval, origin)
    }

    /// Like [`Infer::unknown`], with the reason why no expression is known.
    pub fn born(&mut self, interval: Interval, birth: impl FnOnce() -> Birth) -> SymExpr {
        let origin = self.origin();
        self.symbols.fresh_born(interval, origin, birth)
    }

    /// Like [`Infer::unknown`], with a description of how the size depends on the data:
    /// `one for each element that is not 0`.
    pub fn unknown_data(&mut self, interval: Interval, words: &'static str) -> SymExpr {
        self.born(interval, || Birth::Data(Some(words.into())))
    }

    /// The origin of the next symbol: this node and a sequence number.
    pub fn origin(&mut self) -> Origin {
        let axis = self.fresh;
        self.fresh += 1;
        Origin { node: self.node, port: 0, axis }
    }

    /// An unknown element of an integer type.
    pub fn unknown_element(&mut self, element_type: ElementType) -> SymExpr {
        let range = element_type.integer_range().and_then(|(lo, hi)| Interval::new(lo, hi));
        self.unknown(range.unwrap_or(Interval::ANY))
    }

    /// A shape of this rank with unknown dims.
    pub fn unknown_dims(&mut self, rank: usize) -> Shape {
        Shape::ranked((0..rank).map(|_| self.unknown(Interval::DIM)).collect::<SmallVector<SymExpr, 4>>())
    }

    /// The common element type of some inputs, ignoring `Dynamic`. Reports differences; the first type wins.
    pub fn common_type(&mut self, inputs: impl IntoIterator<Item = usize>) -> ElementType {
        let mut common = ElementType::Dynamic;
        for i in inputs {
            let got = self.element_type(i);
            if common == ElementType::Dynamic {
                common = got;
            } else if got != ElementType::Dynamic && got != common {
                let expected = format!("{common} as for the other inputs");
                self.report(OpError::element_type(format!("input {i}"), got, expected));
            }
        }
        common
    }

    /// Checks the rank of input `i` with `fits`, if the rank is known.
    pub fn expect_rank(&self, i: usize, expected: &str, fits: impl Fn(usize) -> bool) -> Result<(), OpError> {
        match self.shape(i).rank() {
            Some(rank) if !fits(rank) => Err(OpError::rank(format!("input {i}"), rank, expected)),
            _ => Ok(()),
        }
    }

    /// Checks that input `i` has one element and rank 0 or 1, if its shape is known.
    pub fn expect_one(&self, i: usize) -> Result<(), OpError> {
        self.expect_rank(i, "0 or 1", |rank| rank <= 1)?;
        match self.shape(i).dims() {
            Some([count]) if !self.interval(count).contains(1) => {
                Err(OpError::mismatch(format!("the size of input {i}"), self.interval(count), "one element"))
            }
            _ => Ok(()),
        }
    }

    /// Reports an error unless the type of input `i` is an integer type or unknown.
    pub fn expect_integer(&mut self, i: usize) {
        let got = self.element_type(i);
        if got != ElementType::Dynamic && !got.is_integer() {
            self.report(OpError::element_type(format!("input {i}"), got, "an integer type"));
        }
    }

    /// Checks that input `i` is i32 or i64, if its type is known.
    pub fn expect_index(&self, i: usize) -> Result<(), OpError> {
        match self.element_type(i) {
            ElementType::Dynamic | ElementType::I32 | ElementType::I64 => Ok(()),
            got => Err(OpError::element_type(format!("input {i}"), got, "i32 or i64")),
        }
    }

    /// Checks that input `i` has a floating-point type, if its type is known.
    pub fn expect_real(&self, i: usize) -> Result<(), OpError> {
        match self.element_type(i) {
            ElementType::Dynamic => Ok(()),
            got if got.is_float() && got != ElementType::NF4 => Ok(()),
            got => Err(OpError::element_type(format!("input {i}"), got, "a floating-point type")),
        }
    }

    /// The elements of input `i` as expressions: the known elements, or a new symbol for each element if
    /// their number is known and small.
    pub fn elements_or_unknown(&mut self, i: usize) -> Option<Vec<SymExpr>> {
        let fact = self.inputs[i];
        if let Some(elements) = fact.elements() {
            return Some(elements);
        }
        if !fact.element_type.is_integer() && fact.element_type != ElementType::Boolean {
            return None; // an element of another type need not be an integer
        }
        let count = saturating_product(&fact.shape.as_static()?);
        if count > MAX_ELEMENTS {
            return None;
        }
        Some((0..count).map(|_| self.unknown_element(fact.element_type)).collect())
    }
}

/// Resolves an axis that may be negative to a position below `rank`.
pub fn normalize_axis(axis: i64, rank: usize) -> Result<usize, OpError> {
    let r = rank as i64;
    let at = if axis < 0 { axis.checked_add(r) } else { Some(axis) };
    match at {
        Some(at) if (0..r).contains(&at) => Ok(at as usize),
        _ => Err(OpError::out_of_range("axis", axis, axes_of(rank))),
    }
}

/// The valid axes of this rank, for messages.
pub(crate) fn axes_of(rank: usize) -> String {
    match rank {
        0 => "none: a scalar has no axes".into(),
        _ => format!("-{rank}..{} for rank {rank}", rank - 1),
    }
}

/// Applies [`normalize_axis`] to a list; duplicates are an error.
pub fn normalize_axes(axes: &[i64], rank: usize) -> Result<SmallVector<usize, 4>, OpError> {
    let mut seen: SmallVector<usize, 4> = SmallVector::new();
    for &axis in axes {
        let at = normalize_axis(axis, rank)?;
        if seen.contains(&at) {
            return Err(OpError::out_of_range("axis", axis, "each axis at most once"));
        }
        seen.push(at);
    }
    Ok(seen)
}

/// Applies [`normalize_axis`] to a list that may have duplicates.
pub fn normalize_each_axis(axes: &[i64], rank: usize) -> Result<SmallVector<usize, 4>, OpError> {
    axes.iter().map(|&axis| normalize_axis(axis, rank)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The context of a layer with these inputs.
    fn context<'a>(
        inputs: &'a [&'a Fact],
        symbols: &'a mut Symbols,
        errors: &'a mut Vec<OpError>,
    ) -> Infer<'a> {
        Infer { inputs, outs: &[], symbols, errors, demands: None, node: 0, fresh: 0 }
    }

    #[test]
    fn a_dim_that_is_one_whenever_the_other_is_broadcasts_to_it() {
        let (mut symbols, mut errors) = (Symbols::default(), Vec::new());
        let mut cx = context(&[], &mut symbols, &mut errors);
        let [length, other] = [0, 1].map(|_| cx.unknown(Interval::DIM));
        let cut = cx.min(&length, &64.into());
        assert_eq!(cx.broadcast_dim(&cut, &length), Some(length.clone()));
        assert_eq!(cx.broadcast_dim(&length, &cut), Some(length.clone()));
        let both = cx.broadcast_dim(&length, &other);
        assert!(both.is_some() && both != Some(length) && both != Some(other));
    }

    #[test]
    fn a_product_keeps_the_bounds_of_its_factors() {
        let (mut symbols, mut errors) = (Symbols::default(), Vec::new());
        let mut cx = context(&[], &mut symbols, &mut errors);
        let size = cx.unknown(Interval::new(6, 10).unwrap());
        let twice = cx.mul(&size, &2.into());
        let odd = cx.sub(&twice, &1.into());
        let product = cx.mul(&size, &odd);
        assert_eq!(cx.interval(&product), Interval::new(66, 190).unwrap());
    }

    #[test]
    fn a_sum_keeps_the_bounds_of_its_parts() {
        let (mut symbols, mut errors) = (Symbols::default(), Vec::new());
        let mut cx = context(&[], &mut symbols, &mut errors);
        // An axis of any size, split into windows of equal size.
        let size = cx.unknown(Interval::DIM);
        let padded = cx.add(&size, &3.into());
        let whole = cx.floor_div(&padded, &4.into());
        let further = cx.sub(&whole, &1.into());
        let further = cx.max(&further, &0.into());
        let windows = cx.add(&further, &1.into());
        let half = cx.floor_div(&windows, &2.into());
        let pairs = cx.mul(&half, &2.into());
        let odd = cx.sub(&windows, &pairs);
        cx.symbols().refine(&odd, Interval::new(0, 1).unwrap());
        let even = cx.add(&windows, &odd);
        assert!(cx.interval(&even).lo() >= 1, "{}", cx.interval(&even));
    }

    #[test]
    fn axes_are_counted_from_either_end_and_named_once() {
        assert_eq!(normalize_axes(&[-1, 0], 3).unwrap().as_slice(), [2, 0]);
        assert!(normalize_axes(&[2, -1], 3).is_err());
        assert_eq!(normalize_each_axis(&[2, -1], 3).unwrap().as_slice(), [2, 2]);
        assert_eq!([-3, 2].map(|axis| normalize_axis(axis, 3).ok()), [Some(0), Some(2)]);
        assert!([-4, 3].into_iter().all(|axis| normalize_axis(axis, 3).is_err()));
        assert!([-1, 0].into_iter().all(|axis| normalize_axis(axis, 0).is_err()), "a scalar has no axes");
    }

    #[test]
    fn element_types_are_expected_where_they_are_known() {
        let expected = |element_type| {
            let fact = Fact::new(element_type, Shape::from([2]));
            let (mut symbols, mut errors) = (Symbols::default(), Vec::new());
            let inputs = [&fact];
            let mut cx = context(&inputs, &mut symbols, &mut errors);
            cx.expect_integer(0);
            let (is_real, elements) = (cx.expect_real(0).is_ok(), cx.elements_or_unknown(0));
            (errors.is_empty(), is_real, elements.map(|elements| elements.len()))
        };
        assert_eq!(expected(ElementType::F16), (false, true, None));
        assert_eq!(expected(ElementType::NF4), (false, false, None));
        assert_eq!(expected(ElementType::U8), (true, false, Some(2)));
        assert_eq!(expected(ElementType::Boolean), (false, false, Some(2)));
        assert_eq!(expected(ElementType::Dynamic), (true, true, None));
    }
}

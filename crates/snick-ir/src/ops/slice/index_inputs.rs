//! The index inputs of slice dialects: integer vectors of equal length, each of any integer type.

use std::borrow::Borrow;
use std::sync::Arc;

use snick_shape::{Interval, SymExpr};
use snick_tensor::{ElementType, SmallVector, Tensor};

use crate::fact::MAX_ELEMENTS;
use crate::{Fact, IntOrValue, Known, OpError};

/// An entry of an index input.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexEntry {
    /// Index of the input.
    pub input: usize,
    /// Index of the element.
    pub at: usize,
    /// The value of the entry as an expression over sizes, if known.
    pub expr: Option<SymExpr>,
}

impl IntOrValue<IndexEntry> {
    /// Element `at` of input `input`, whose known value is `expr`.
    pub(super) fn entry(input: usize, at: usize, expr: Option<SymExpr>, element_type: ElementType) -> Self {
        if let Some(int) = expr.as_ref().and_then(SymExpr::as_const) {
            return Self::Int(int);
        }
        let range = element_type.integer_range().and_then(|(lo, hi)| Interval::new(lo, hi));
        Self::Value(IndexEntry { input, at, expr }, range.unwrap_or(Interval::ANY))
    }

    /// The expression, if known.
    pub fn as_expr(&self) -> Option<SymExpr> {
        match self {
            Self::Int(int) => Some(SymExpr::from(*int)),
            Self::Value(entry, _) => entry.expr.clone(),
        }
    }
}

/// The index inputs, which follow the data, as far as they are known.
#[derive(Clone, Debug)]
pub struct IndexInputs {
    /// The number of entries of each input, if known.
    pub count: Option<usize>,
    inputs: SmallVector<IndexInput, 4>,
}

/// One input, as far as it is known.
#[derive(Clone, Debug)]
struct IndexInput {
    element_type: ElementType,
    elements: Elements,
}

/// The known elements of an input. Nearly all inputs are constants, whose elements need no expressions.
#[derive(Clone, Debug)]
enum Elements {
    Unknown,
    Ints(SmallVector<i64, 4>),
    Exprs(Arc<[SymExpr]>),
}

impl IndexInputs {
    /// Reads the index inputs from all inputs of an op; the first one is the data.
    ///
    /// # Errors
    /// If an input is not an integer vector, or inputs have different lengths. `names` are the names of the
    /// inputs for messages.
    pub(super) fn new<F: Borrow<Fact>>(inputs: &[F], names: &[&str]) -> Result<Self, OpError> {
        let mut known: Option<(usize, &str)> = None;
        for (fact, &name) in inputs.iter().skip(1).zip(names) {
            match (known, entry_count(fact.borrow(), name)?) {
                (Some((first, first_name)), Some(count)) if first != count => {
                    let sentence = format!("`{first_name}` has length {{}}, `{name}` has length {{}}");
                    return Err(OpError::conflict(sentence, first, count));
                }
                (None, Some(count)) => known = Some((count, name)),
                _ => {}
            }
        }
        let inputs = inputs.iter().skip(1).map(Borrow::borrow);
        let input = |fact: &Fact| IndexInput { element_type: fact.element_type, elements: elements_of(fact) };
        let inputs = inputs.map(input).collect();
        Ok(Self { count: known.map(|(count, _)| count), inputs })
    }

    /// Number of inputs, including the data.
    pub fn input_count(&self) -> usize {
        1 + self.inputs.len()
    }

    /// Element `at` of input `input`; input 0 is the data.
    pub fn entry(&self, input: usize, at: usize) -> IntOrValue<IndexEntry> {
        let IndexInput { element_type, elements } = &self.inputs[input - 1];
        match elements {
            Elements::Ints(ints) if at < ints.len() => IntOrValue::Int(ints[at]),
            Elements::Exprs(exprs) => IntOrValue::entry(input, at, exprs.get(at).cloned(), *element_type),
            _ => IntOrValue::entry(input, at, None, *element_type),
        }
    }

    /// The known elements of an input; empty if none are known.
    pub(super) fn elements(&self, input: usize) -> impl Iterator<Item = IntOrValue<IndexEntry>> {
        let known = match self.inputs.get(input - 1).map(|input| &input.elements) {
            None | Some(Elements::Unknown) => 0,
            Some(Elements::Ints(ints)) => ints.len(),
            Some(Elements::Exprs(exprs)) => exprs.len(),
        };
        (0..known).map(move |at| self.entry(input, at))
    }
}

/// The known elements of an index input. A u64 above the range of i64 stands for the end of the axis.
fn elements_of(fact: &Fact) -> Elements {
    match &fact.known {
        Some(Known::Tensor(tensor))
            if tensor.element_type() == ElementType::U64 && tensor.len() <= MAX_ELEMENTS =>
        {
            tensor.to_i64_vec().map_or(Elements::Unknown, |ints| Elements::Ints(ints.into()))
        }
        Some(Known::Elements(exprs)) => Elements::Exprs(exprs.clone()),
        _ => fact.ints().map_or(Elements::Unknown, Elements::Ints),
    }
}

/// The number of entries of an index input, if known. The input must be a vector of integers.
pub(super) fn entry_count(fact: &Fact, name: &str) -> Result<Option<usize>, OpError> {
    if fact.element_type != ElementType::Dynamic && !fact.element_type.is_integer() {
        return Err(OpError::element_type(format!("`{name}`"), fact.element_type, "an integer type"));
    }
    match fact.shape.dims() {
        None => Ok(None),
        Some([count]) => Ok(count.as_const().and_then(|n| usize::try_from(n).ok())),
        Some(dims) => Err(OpError::rank(format!("`{name}`"), dims.len(), "1")),
    }
}

/// Facts of concrete inputs, so that evaluation decodes its inputs with the same code as inference.
pub(super) fn facts_of(inputs: &[Tensor]) -> SmallVector<Fact, 5> {
    let data = inputs.iter().take(1).map(|t| Fact::new(t.element_type(), t.dims().into()));
    let indices = inputs.iter().skip(1).map(|t| Fact::constant(Arc::new(t.clone())));
    data.chain(indices).collect()
}

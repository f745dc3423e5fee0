//! Computes the start, length and step of a slice at run time. Intermediate results are plain integers
//! instead of tensors.

use snick_ir::OpError;
use snick_ir::ops::slice::primitive::Slice;
use snick_shape::AxisSlice;
use snick_tensor::{SmallVector, Tensor};

/// The operands of a slice, as terms over the inputs of its step.
pub(crate) struct SliceNumbers {
    pub(crate) terms: Terms,
    /// The term of each operand.
    pub(crate) operands: SmallVector<TermId, 6>,
}

/// The index of a term in [`Terms`].
#[derive(Copy, Clone)]
pub(crate) struct TermId(usize);

/// Terms in dependency order.
#[derive(Default)]
pub(crate) struct Terms(Vec<Term>);

/// An i64 that is computed from other terms.
pub(crate) enum Term {
    Fixed(i64),
    /// An element of an input of the step; the input is a scalar or vector.
    Element {
        port: usize,
        at: usize,
    },
    /// The size of an axis of the data.
    Size {
        axis: usize,
    },
    Arithmetic(fn(i64, i64) -> i64, TermId, TermId),
    /// Equal to `then` if `low < high`.
    IfLess {
        low: TermId,
        high: TermId,
        then: TermId,
        other: TermId,
    },
    /// Output `port` of the `bounds` primitive.
    Clamped {
        size: TermId,
        start: Option<TermId>,
        stop: Option<TermId>,
        step: TermId,
        port: usize,
    },
}

impl Terms {
    pub(crate) fn push(&mut self, term: Term) -> TermId {
        self.0.push(term);
        TermId(self.0.len() - 1)
    }

    /// The value of each term. `inputs` are the inputs of the step, starting with `data`.
    fn values(&self, data: &Tensor, inputs: &[Tensor]) -> Result<SmallVector<i64, 24>, OpError> {
        let mut values: SmallVector<i64, 24> = SmallVector::with_capacity(self.0.len());
        for term in &self.0 {
            let of = |term: TermId| values[term.0];
            let value = match *term {
                Term::Fixed(number) => number,
                Term::Element { port, at } => {
                    inputs.get(port).ok_or(OpError::NotConnected { port })?.to_i64(at)?
                }
                Term::Size { axis } => {
                    let size = data.dims().get(axis).copied();
                    let size = size.ok_or_else(|| OpError::rank("the data", data.rank(), "more"))?;
                    i64::try_from(size).unwrap_or(i64::MAX)
                }
                Term::Arithmetic(function, a, b) => function(of(a), of(b)),
                Term::IfLess { low, high, then, other } => of(if of(low) < of(high) { then } else { other }),
                Term::Clamped { size, start, stop, step, port } => {
                    let (first, len) = AxisSlice::clamp(of(size), start.map(of), stop.map(of), of(step))?;
                    if port == 0 { first } else { len }
                }
            };
            values.push(value);
        }
        Ok(values)
    }
}

impl SliceNumbers {
    /// Evaluates the terms and applies the slice to the data, which is the first of `inputs`.
    pub(crate) fn select(&self, slice: &Slice, inputs: &[Tensor]) -> Result<Tensor, OpError> {
        let data = inputs.first().ok_or(OpError::NotConnected { port: 0 })?;
        let values = self.terms.values(data, inputs)?;
        let operands: SmallVector<i64, 6> = self.operands.iter().map(|term| values[term.0]).collect();
        slice.select(data, &operands)
    }
}

//! LSTMSequence-1, LSTMSequence-5, GRUSequence-5, RNNSequence-5: a recurrent cell along whole sequences.

use smallvec::smallvec;
use snick_shape::{Shape, SymExpr};
use snick_tensor::Tensor;

use super::cell::{Cell, CellKind};
use super::shapes::sizes;
use super::unroll::{Unroll, unroll};
use crate::{Arity, Attrs, EvalOp, Fact, Facts, Infer, InferOp, OpDef, OpError, OpName, OpTraits, RawNode};

/// Inputs X `[batch, steps, input]`, the states `[batch, directions, hidden]`, lengths `[batch]`, and W, R, B of the
/// cell with an axis of directions in front; outputs H of every step `[batch, directions, steps, hidden]`, 0 after a
/// sequence's length, and the last states. LSTMSequence-1 has the attributes and the peepholes of LSTMCell-1.
#[derive(Clone, PartialEq, Debug)]
pub struct RecurrentSequence {
    /// Which, and its attributes.
    pub cell: Cell,
    /// Where it starts.
    pub direction: Direction,
}

/// Where a sequence is read from.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Direction {
    /// First step first.
    Forward,
    /// Last step first.
    Reverse,
    /// Both, each with its own weights.
    Bidirectional,
}

const DIRECTIONS: &[(&str, Direction)] = &[
    ("forward", Direction::Forward),
    ("reverse", Direction::Reverse),
    ("bidirectional", Direction::Bidirectional),
];

impl Direction {
    /// For each direction, whether it is reversed.
    pub fn reversed(self) -> &'static [bool] {
        match self {
            Self::Forward => &[false],
            Self::Reverse => &[true],
            Self::Bidirectional => &[false, true],
        }
    }

    /// As files call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Reverse => "reverse",
            Self::Bidirectional => "bidirectional",
        }
    }
}

impl OpDef for RecurrentSequence {
    const NAMES: &'static [OpName] = &[
        OpName::openvino("LSTMSequence", &[1, 5]),
        OpName::openvino("GRUSequence", &[5]),
        OpName::openvino("RNNSequence", &[5]),
    ];
    const ARITY: Arity = Arity::between(6, 8);
    const TRAITS: OpTraits = OpTraits::PURE.union(OpTraits::CONTRACTION);

    fn parse(raw: &RawNode) -> Result<Self, OpError> {
        let direction = raw.attrs.choice("direction", DIRECTIONS)?.unwrap_or(Direction::Forward);
        Ok(Self { cell: Cell::parse(raw)?, direction })
    }

    fn attrs(&self) -> Attrs<'static> {
        self.cell.attrs().with("direction", self.direction.name())
    }

    fn name(&self) -> &'static OpName {
        match self.cell.kind {
            CellKind::Lstm(_) => &Self::NAMES[0],
            CellKind::Gru { .. } => &Self::NAMES[1],
            CellKind::Rnn => &Self::NAMES[2],
        }
    }
}

impl InferOp for RecurrentSequence {
    fn infer(&self, cx: &mut Infer) -> Result<Facts, OpError> {
        let directions = self.direction.reversed().len();
        let sizes = sizes(cx, self.cell.kind, Some(directions))?;
        let directions = SymExpr::from(directions as i64);
        let all = [sizes.batch.clone(), directions.clone(), sizes.steps, sizes.hidden.clone()];
        let state = Fact::new(sizes.element_type, Shape::ranked([sizes.batch, directions, sizes.hidden]));
        let mut facts: Facts = smallvec![Fact::new(sizes.element_type, Shape::ranked(all))];
        facts.extend(std::iter::repeat_n(state, self.cell.kind.states()));
        Ok(facts)
    }
}

impl EvalOp for RecurrentSequence {
    fn eval(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        self.cell.kind.arity(1).check(inputs.len())?;
        let (data, rest) = inputs.split_at(1 + self.cell.kind.states());
        let ([x, states @ ..], [lengths, weights @ ..]) = (data, rest) else { return Ok(Vec::new()) };
        let reversed = self.direction.reversed();
        unroll(&self.cell, &Unroll { x, states, lengths: Some(lengths), weights, reversed })
    }
}
